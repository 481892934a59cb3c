/* copy.cu - kernels that move elements: copies, casts, where, filling, and numbers in a row. */
#include "lib/cuda/common/formula.cuh"
#include "lib/cuda/pointwise/pointwise.h"

static const eg__numbers no_numbers = {0, 0, 0, 0};

/* ---- casts: the kernels of the formula v ----------------------------------------------------------------- */

template <class T> struct same {
    enum { inputs = 1 };
    static __device__ __forceinline__ T at(const T *v, T, T)
    {
        return v[0];
    }
};

cudaError_t eg__launch_cast(int in, const eg__elements *e, cudaStream_t s)
{
    static eg__starter *const starters[EG__CLASSES] = {eg__start_f32<same<float>>, eg__start<same<double>, double>,
                                                       eg__start<same<int64_t>, int64_t>};
    return starters[in](*e, no_numbers, s);
}

/* ---- copies, bit for bit ----------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(EG__BLOCK) copy_each(const eg__elements e)
{
    const unsigned i = (unsigned)eg__self();
    if (i < e.n) {
        int64_t at[2];
        eg__offsets<2>(e, i, at);
        eg__move(e.at[0].p + at[0], e.at[1].p + at[1], e.at[0].size);
    }
}

/* A group of elements of 2 bytes or more: one or more accesses of 16 bytes. */
__global__ void __launch_bounds__(EG__BLOCK) copy_groups(const eg__elements e)
{
    unsigned i = (unsigned)eg__self() * EG__GROUP;
    if (i >= e.n) {
        return;
    }
    int64_t at[2];
    eg__offsets<2>(e, i, at);
    char *to = e.at[0].p + at[0];
    const char *from = e.at[1].p + at[1];
    const int size = e.at[0].size;
    if (i + EG__GROUP > e.n) {
        for (; i < e.n; i++, to += size, from += size) {
            eg__move(to, from, size);
        }
        return;
    }
    for (int k = 0; k < size / 2; k++) {
        ((uint4 *)to)[k] = ((const uint4 *)from)[k];
    }
}

/* Transposed: x runs along axis `along`, y along the last; tiles of 32 x 32 elements go through shared memory, so
 * that both sides are read and written along memory. What is left of the axes numbers the planes. */
enum { TILE = 32, TILE_ROWS = 8 };

template <class T>
__global__ void __launch_bounds__(TILE *TILE_ROWS) copy_tiles(const eg__elements e, int along, unsigned across)
{
    __shared__ T tile[TILE][TILE + 1];
    const int last = e.ndim - 1;
    unsigned column = blockIdx.x % across, row = blockIdx.x / across; /* of tiles */
    unsigned plane = blockIdx.y;
    int64_t y0 = 0, x0 = 0;
    for (int d = last - 1; d >= 0; d--) {
        if (d != along) {
            unsigned r = plane % e.shape[d];
            plane /= e.shape[d];
            y0 += (int64_t)r * e.at[0].stride[d];
            x0 += (int64_t)r * e.at[1].stride[d];
        }
    }
    unsigned i = row * TILE + threadIdx.x, j = column * TILE + threadIdx.y; /* i: along, j: last */
    for (unsigned k = 0; k < TILE; k += TILE_ROWS) {
        if (i < e.shape[along] && j + k < e.shape[last]) {
            tile[threadIdx.y + k][threadIdx.x] = *(const T *)(e.at[1].p + x0 + (int64_t)i * e.at[1].stride[along] +
                                                              (int64_t)(j + k) * e.at[1].stride[last]);
        }
    }
    __syncthreads();
    i = row * TILE + threadIdx.y;
    j = column * TILE + threadIdx.x;
    for (unsigned k = 0; k < TILE; k += TILE_ROWS) {
        if (i + k < e.shape[along] && j < e.shape[last]) {
            *(T *)(e.at[0].p + y0 + (int64_t)(i + k) * e.at[0].stride[along] + (int64_t)j * e.at[0].stride[last]) =
                tile[threadIdx.x][threadIdx.y + k];
        }
    }
}

template <class T> static cudaError_t start_tiles(const eg__elements &e, int along, cudaStream_t s)
{
    unsigned across = (e.shape[e.ndim - 1] + TILE - 1) / TILE;
    unsigned down = (e.shape[along] + TILE - 1) / TILE;
    unsigned planes = e.n / e.shape[e.ndim - 1] / e.shape[along];
    return EG__LAUNCH((copy_tiles<T>), dim3(across * down, planes), dim3(TILE, TILE_ROWS), 0, s, e, along, across);
}

/* The axis along which x's elements lie side by side, if both it and the last are long; else -1. */
static int transposed(const eg__elements &e)
{
    const int last = e.ndim - 1;
    if (e.at[0].stride[last] != e.at[0].size || e.shape[last] < 16) {
        return -1;
    }
    for (int d = 0; d < last; d++) {
        if (e.at[1].stride[d] == e.at[1].size && e.shape[d] >= 16) {
            return e.n / e.shape[last] / e.shape[d] <= 65535 ? d : -1;
        }
    }
    return -1;
}

cudaError_t eg__launch_copy(const eg__elements *e, cudaStream_t s)
{
    if (e->grouped && e->at[0].size > 1 && e->at[1].stride[e->ndim - 1]) {
        unsigned groups = (e->n + EG__GROUP - 1) / EG__GROUP;
        return EG__LAUNCH(copy_groups, eg__blocks(groups), EG__BLOCK, 0, s, *e);
    }
    int along = transposed(*e);
    switch (along < 0 ? 0 : e->at[0].size) {
    case 1:
        return start_tiles<uint8_t>(*e, along, s);
    case 2:
        return start_tiles<uint16_t>(*e, along, s);
    case 4:
        return start_tiles<uint32_t>(*e, along, s);
    case 8:
        return start_tiles<uint64_t>(*e, along, s);
    default:
        return EG__LAUNCH(copy_each, eg__blocks(e->n), EG__BLOCK, 0, s, *e);
    }
}

/* ---- where --------------------------------------------------------------------------------------------------- */

/* The bits of element i of an operand, or of the number it stands for. */
static __device__ __forceinline__ void choose(char *to, const eg__operand &x, int64_t at)
{
    if (x.p) {
        eg__move(to, x.p + at, x.size);
    } else if (x.dtype == EG_I64 || x.dtype == EG_I32 || x.dtype == EG_U8 || x.dtype == EG_BOOL) {
        eg__put(to, x.dtype, x.whole);
    } else {
        eg__put(to, x.dtype, x.number);
    }
}

__global__ void __launch_bounds__(EG__BLOCK) where_each(const eg__elements e)
{
    const unsigned i = (unsigned)eg__self();
    if (i < e.n) {
        int64_t at[4];
        eg__offsets<4>(e, i, at);
        const eg__operand &k = e.at[1];
        bool first = k.p ? k.p[at[1]] != 0 : k.whole != 0;
        choose(e.at[0].p + at[0], first ? e.at[2] : e.at[3], first ? at[2] : at[3]);
    }
}

cudaError_t eg__launch_where(const eg__elements *e, cudaStream_t s)
{
    return EG__LAUNCH(where_each, eg__blocks(e->n), EG__BLOCK, 0, s, *e);
}

/* ---- filling ------------------------------------------------------------------------------------------------- */

/* 16 bytes per thread; the bits are repeated to 8 bytes. */
__global__ void __launch_bounds__(EG__BLOCK) fill(char *p, int64_t bytes, uint64_t bits)
{
    int64_t at = eg__self() * 16;
    if (at + 16 <= bytes) {
        *(ulonglong2 *)(p + at) = make_ulonglong2(bits, bits);
    } else {
        for (; at < bytes; at++) {
            p[at] = (char)(bits >> at % 8 * 8);
        }
    }
}

cudaError_t eg__launch_fill(void *p, int64_t n, int size, uint64_t bits, cudaStream_t s)
{
    uint64_t one = size == 8 ? bits : bits & ((1ull << 8 * size) - 1);
    for (int k = size; k < 8; k *= 2) {
        one |= one << 8 * k;
    }
    int64_t bytes = n * size, blocks = (bytes + 16 * EG__BLOCK - 1) / (16 * EG__BLOCK);
    return EG__LAUNCH(fill, (unsigned)blocks, EG__BLOCK, 0, s, (char *)p, bytes, one);
}

__global__ void __launch_bounds__(EG__BLOCK) terms(char *p, int64_t n, int dtype, int size, const eg__terms t)
{
    const int64_t i = eg__self();
    if (i < n) {
        switch (t.kind) {
        case EG__TERMS_COUNTED:
            eg__put(p + i * size, dtype, eg__counted_term(&t, i));
            break;
        case EG__TERMS_FLOORED:
            eg__put(p + i * size, dtype, eg__floored_term(&t, i));
            break;
        default:
            eg__put(p + i * size, dtype, eg__term(&t, i));
        }
    }
}

cudaError_t eg__launch_terms(void *p, int64_t n, int dtype, int size, const eg__terms *t, cudaStream_t s)
{
    return EG__LAUNCH(terms, eg__blocks(n), EG__BLOCK, 0, s, (char *)p, n, dtype, size, *t);
}
