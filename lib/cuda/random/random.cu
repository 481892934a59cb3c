/* random.cu - random tensors and dropout. A thread makes blocks of four words, and with them up to eight
 * elements; permutations follow links. */
#include "lib/cuda/common/element.cuh"
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/random/draws.cuh"
#include "lib/math/philox64.h"

/* ---- numbers ----------------------------------------------------------------------------------------- */

/* Four elements from number i on, as many as there are. */
static __device__ __forceinline__ void put_four(const eg__drawing &d, int64_t i, const float v[4])
{
    char *p = d.y + i * d.size;
    if (!d.aligned || i + 4 > d.n) {
        for (int j = 0; j < 4 && i + j < d.n; j++) {
            eg__put(p + j * d.size, d.dtype, v[j]);
        }
    } else if (d.dtype == EG_F32) {
        *(float4 *)p = make_float4(v[0], v[1], v[2], v[3]);
    } else if (d.dtype == EG_F16) {
        *(uint2 *)p = make_uint2(eg__to_f16(v[0]) | (uint32_t)eg__to_f16(v[1]) << 16,
                                 eg__to_f16(v[2]) | (uint32_t)eg__to_f16(v[3]) << 16);
    } else {
        *(uint2 *)p = make_uint2(eg__to_bf16(v[0]) | (uint32_t)eg__to_bf16(v[1]) << 16,
                                 eg__to_bf16(v[2]) | (uint32_t)eg__to_bf16(v[3]) << 16);
    }
}

template <int kind> __global__ void __launch_bounds__(EG__BLOCK) numbers(const eg__drawing d, const eg__shaping o)
{
    const int64_t block = eg__self(), i = 4 * block;
    if (i >= d.n) {
        return;
    }
    const float a = (float)o.a, b = (float)o.b, range = (float)o.range, last = (float)o.last;
    uint32_t w[4];
    float v[4];
    eg__words_of(d.from, block, w);
    if (kind == EG__DRAW_UNIFORM) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            v[j] = eg__between(eg__word_uniform(w[j]), a, range, last);
        }
    } else if (kind == EG__DRAW_NORMAL) {
#pragma unroll
        for (int j = 0; j < 4; j += 2) {
            float x, y;
            eg__normal_pair(w[j], w[j + 1], &x, &y);
            v[j] = fmaf(b, x, a);
            v[j + 1] = fmaf(b, y, a);
        }
    } else {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            v[j] = fmaf(b, eg__truncated(w[j]), a);
        }
    }
    put_four(d, i, v);
}

/* In f64: two to a block. */
__global__ void __launch_bounds__(EG__BLOCK) numbers64(const eg__drawing d, const eg__shaping o, int kind)
{
    const int64_t block = eg__self(), i = 2 * block;
    if (i >= d.n) {
        return;
    }
    uint32_t w[4];
    double v[2];
    eg__words_of(d.from, block, w);
    const uint64_t u[2] = {(uint64_t)w[0] << 32 | w[1], (uint64_t)w[2] << 32 | w[3]};
    if (kind == EG__DRAW_NORMAL) {
        eg__normal_pair64(u[0], u[1], &v[0], &v[1]);
    }
    for (int j = 0; j < 2; j++) {
        v[j] = kind == EG__DRAW_UNIFORM  ? eg__between64(eg__word_uniform64(u[j]), o.a, o.range, o.last)
               : kind == EG__DRAW_NORMAL ? fma(o.b, v[j], o.a)
                                         : fma(o.b, eg__truncated64(u[j]), o.a);
    }
    double *p = (double *)d.y + i;
    p[0] = v[0];
    if (i + 1 < d.n) {
        p[1] = v[1];
    }
}

cudaError_t eg__launch_numbers(const eg__drawing *d, int kind, const eg__shaping *o, cudaStream_t s)
{
    const unsigned grid = eg__blocks((d->n + 3) / 4);
    if (d->dtype == EG_F64) {
        return EG__LAUNCH(numbers64, eg__blocks((d->n + 1) / 2), EG__BLOCK, 0, s, *d, *o, kind);
    }
    switch (kind) {
    case EG__DRAW_UNIFORM:
        return EG__LAUNCH(numbers<EG__DRAW_UNIFORM>, grid, EG__BLOCK, 0, s, *d, *o);
    case EG__DRAW_NORMAL:
        return EG__LAUNCH(numbers<EG__DRAW_NORMAL>, grid, EG__BLOCK, 0, s, *d, *o);
    default:
        return EG__LAUNCH(numbers<EG__DRAW_TRUNCATED>, grid, EG__BLOCK, 0, s, *d, *o);
    }
}

/* ---- bits and integers ---------------------------------------------------------------------------------- */

static __device__ __forceinline__ void put_bits(const eg__drawing &d, int64_t i, const uint64_t v[4])
{
    char *p = d.y + i * d.size;
    if (!d.aligned || i + 4 > d.n) {
        for (int j = 0; j < 4 && i + j < d.n; j++, p += d.size) {
            eg__move(p, (const char *)&v[j], d.size);
        }
        return;
    }
    const uint32_t w[4] = {(uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2], (uint32_t)v[3]};
    switch (d.size) {
    case 1:
        *(uint32_t *)p = (w[0] & 255) | (w[1] & 255) << 8 | (w[2] & 255) << 16 | w[3] << 24;
        break;
    case 2:
        *(uint2 *)p = make_uint2((w[0] & 65535) | w[1] << 16, (w[2] & 65535) | w[3] << 16);
        break;
    case 4:
        *(uint4 *)p = make_uint4(w[0], w[1], w[2], w[3]);
        break;
    default:
        ((ulonglong2 *)p)[0] = make_ulonglong2(v[0], v[1]);
        ((ulonglong2 *)p)[1] = make_ulonglong2(v[2], v[3]);
    }
}

__global__ void __launch_bounds__(EG__BLOCK) chances(const eg__drawing d, uint32_t threshold, uint64_t one)
{
    const int64_t block = eg__self(), i = 4 * block;
    if (i < d.n) {
        uint32_t w[4];
        uint64_t v[4];
        eg__words_of(d.from, block, w);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            v[j] = eg__chance(w[j], threshold) ? one : 0;
        }
        put_bits(d, i, v);
    }
}

cudaError_t eg__launch_chances(const eg__drawing *d, uint32_t threshold, uint64_t one, cudaStream_t s)
{
    return EG__LAUNCH(chances, eg__blocks((d->n + 3) / 4), EG__BLOCK, 0, s, *d, threshold, one);
}

/* Two to a block, two blocks to a thread. */
__global__ void __launch_bounds__(EG__BLOCK) integers(const eg__drawing d, int64_t low, uint64_t range)
{
    const int64_t i = 4 * eg__self();
    if (i < d.n) {
        uint64_t v[4];
#pragma unroll
        for (int j = 0; j < 4; j += 2) {
            uint32_t w[4];
            eg__words_of(d.from, (i + j) / 2, w);
            v[j] = (uint64_t)low + eg__below((uint64_t)w[0] << 32 | w[1], range);
            v[j + 1] = (uint64_t)low + eg__below((uint64_t)w[2] << 32 | w[3], range);
        }
        put_bits(d, i, v);
    }
}

cudaError_t eg__launch_integers(const eg__drawing *d, int64_t low, uint64_t range, cudaStream_t s)
{
    return EG__LAUNCH(integers, eg__blocks((d->n + 3) / 4), EG__BLOCK, 0, s, *d, low, range);
}

/* ---- permutations ------------------------------------------------------------------------------------------
 * The steps of Fisher and Yates go from the last place down; step i exchanges places i and partner(i) <= i, after
 * which place i is done. What place p holds just before step t was put there by the step before it that met
 * p, the smallest j > t of partner p, and was in place j before step j; and so on until there is none, when
 * it is what the place began with. So places can be followed independently of each other, over
 * about log n steps at the most; steps of one partner are in a list, as long on average as 1. */

static __device__ __forceinline__ int64_t partner(const eg__drawing &d, int64_t i)
{
    return (int64_t)eg__below(eg__word64_of(d.from, i), (uint64_t)i + 1);
}

/* Lists begin at head[p] and go on at next[j]; 0 ends them. */
template <class I> __global__ void __launch_bounds__(EG__BLOCK) link_steps(const eg__drawing d, I *head, I *next)
{
    const int64_t i = eg__self();
    if (i > 0 && i < d.n) {
        next[i] = atomicExch(&head[partner(d, i)], (I)i);
    }
}

template <class I>
__global__ void __launch_bounds__(EG__BLOCK) follow_steps(const eg__drawing d, const I *head, const I *next)
{
    const int64_t i = eg__self();
    if (i >= d.n) {
        return;
    }
    I at = (I)partner(d, i), after = (I)i;
    for (;;) {
        I first = 0;
        for (I j = head[at]; j; j = next[j]) {
            first = j > after && (!first || j < first) ? j : first;
        }
        if (!first) {
            break;
        }
        at = after = first;
    }
    ((int64_t *)d.y)[i] = (int64_t)at;
}

template <class I> static cudaError_t permute(const eg__drawing *d, void *links, cudaStream_t s)
{
    I *head = (I *)links, *next = head + d->n;
    cudaError_t e = EG__LAUNCH(link_steps<I>, eg__blocks(d->n), EG__BLOCK, 0, s, *d, head, next);
    return e ? e : EG__LAUNCH(follow_steps<I>, eg__blocks(d->n), EG__BLOCK, 0, s, *d, head, next);
}

cudaError_t eg__launch_permutation(const eg__drawing *d, void *links, cudaStream_t s)
{
    return d->n >> 32 ? permute<unsigned long long>(d, links, s) : permute<unsigned>(d, links, s);
}

/* ---- dropout ------------------------------------------------------------------------------------------------ */

/* Eight elements along the last axis, and two blocks of words. */
__global__ void __launch_bounds__(EG__BLOCK) drop_groups(const eg__elements e, const eg__dropping o)
{
    unsigned i = (unsigned)eg__self() * EG__GROUP;
    if (i >= e.n) {
        return;
    }
    int64_t at[2];
    float v[EG__GROUP];
    uint32_t w[EG__GROUP];
    const float scale = (float)o.scale;
    const int size = e.at[0].size, dtype = e.at[0].dtype;
    const bool whole = i + EG__GROUP <= e.n, same = !e.at[1].stride[e.ndim - 1];
    eg__offsets<2>(e, i, at);
    const char *x = e.at[1].p + at[1];
    if (whole && !same) {
        eg__get_group(x, dtype, v);
    } else {
#pragma unroll
        for (int j = 0; j < EG__GROUP; j++) {
            v[j] = same ? eg__get<float>(x, dtype) : i + j < e.n ? eg__get<float>(x + j * size, dtype) : 0;
        }
    }
    eg__words_of(o.from, (o.first + i) / 4, w);
    eg__words_of(o.from, (o.first + i) / 4 + 1, w + 4);
#pragma unroll
    for (int j = 0; j < EG__GROUP; j++) {
        v[j] = eg__chance(w[j], o.threshold) ? 0 : v[j] * scale;
    }
    if (whole) {
        eg__put_group(e.at[0].p + at[0], dtype, v);
        return;
    }
#pragma unroll
    for (int j = 0; j < EG__GROUP; j++) {
        if (i + j < e.n) {
            eg__put(e.at[0].p + at[0] + j * size, dtype, v[j]);
        }
    }
}

/* The elements of one block of words, whatever the strides. */
template <class T> __global__ void __launch_bounds__(EG__BLOCK) drop_each(const eg__elements e, const eg__dropping o)
{
    const int64_t block = o.first / 4 + eg__self(), start = 4 * block - o.first;
    if (start >= (int64_t)e.n) {
        return;
    }
    uint32_t w[4];
    eg__words_of(o.from, block, w);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int64_t i = start + j;
        if (i >= 0 && i < (int64_t)e.n) {
            int64_t at[2];
            eg__offsets<2>(e, (unsigned)i, at);
            const T v = eg__get<T>(e.at[1].p + at[1], e.at[1].dtype) * (T)o.scale;
            eg__put(e.at[0].p + at[0], e.at[0].dtype, eg__chance(w[j], o.threshold) ? 0 : v);
        }
    }
}

cudaError_t eg__launch_dropout(const eg__elements *e, const eg__dropping *o, cudaStream_t s)
{
    const int64_t words = (int64_t)e->n + o->first % 4;
    if (e->at[0].dtype == EG_F64) {
        return EG__LAUNCH(drop_each<double>, eg__blocks((words + 3) / 4), EG__BLOCK, 0, s, *e, *o);
    }
    if (e->grouped && o->first % 4 == 0) {
        return EG__LAUNCH(drop_groups, eg__blocks((words + EG__GROUP - 1) / EG__GROUP), EG__BLOCK, 0, s, *e, *o);
    }
    return EG__LAUNCH(drop_each<float>, eg__blocks((words + 3) / 4), EG__BLOCK, 0, s, *e, *o);
}
