/* index.cu - kernels that check indices, pick and put by them, and find what is not 0. */
#include "lib/cuda/common/block.cuh"
#include "lib/cuda/common/element.cuh"
#include "lib/cuda/common/fault.cuh"
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/index/index.h"

namespace
{

/* ---- checking -------------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(EG__BLOCK) check(const eg__checking k)
{
    const int64_t i = eg__self();
    if (i >= k.n) {
        return;
    }
    int64_t v = k.wide ? ((const int64_t *)k.index)[i] : ((const int32_t *)k.index)[i];
    const int64_t size = k.axes > 1 ? k.size[i % k.axes] : k.size[0], low = k.strict ? 0 : -size;
    if (v < low || v >= size) {
        eg__report(k.fault, k.op, k.name, v, low, size);
        v = 0;
    }
    k.y[i] = v < 0 ? v + size : v;
}

/* ---- whole rows ------------------------------------------------------------------------------------ */

enum { ROUNDS = 4 };

template <class W> __global__ void __launch_bounds__(EG__BLOCK) select(const eg__selecting k)
{
    const int64_t step = (int64_t)gridDim.x * EG__BLOCK, first = eg__self();
    W v[ROUNDS];
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const int64_t i = first + r * step;
        if (i < k.units) {
            const int64_t row = eg__divide(i, k.row), o = eg__divide(row, k.n);
            const int64_t at = o * k.size + eg__place_of(k.raw, k.index[row - o * k.n.d]);
            v[r] = ((const W *)k.x)[at * k.row.d + (i - row * k.row.d)];
        }
    }
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const int64_t i = first + r * step;
        if (i < k.units) {
            ((W *)k.y)[i] = v[r];
        }
    }
}

template <class W> cudaError_t start_select(const eg__selecting &k, cudaStream_t s)
{
    /* Few units: one per thread, so that all multiprocessors have some. */
    const unsigned each = eg__blocks(k.units), grid = each > 4096 ? (each + ROUNDS - 1) / ROUNDS : each;
    return EG__LAUNCH((select<W>), grid, EG__BLOCK, 0, s, k);
}

/* ---- places ---------------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(EG__BLOCK) gather(const eg__elements e, int64_t step)
{
    const unsigned i = (unsigned)eg__self();
    if (i < e.n) {
        int64_t at[3];
        eg__offsets<3>(e, i, at);
        const int64_t k = *(const int64_t *)(e.at[1].p + at[1]);
        eg__move(e.at[0].p + at[0], e.at[2].p + at[2] + k * step, e.at[0].size);
    }
}

__global__ void __launch_bounds__(EG__BLOCK) mark(const eg__elements e, int64_t step, const char *origin)
{
    const unsigned i = (unsigned)eg__self();
    if (i < e.n) {
        int64_t at[3];
        eg__offsets<3>(e, i, at);
        const int64_t k = *(const int64_t *)(e.at[0].p + at[0]);
        atomicMax((unsigned *)(e.at[1].p + at[1] + k * step), (unsigned)(e.at[2].p + at[2] - origin) + 1);
    }
}

__global__ void __launch_bounds__(EG__BLOCK) take(const eg__elements e, int64_t step)
{
    const unsigned i = (unsigned)eg__self();
    if (i >= e.n) {
        return;
    }
    int64_t at[4];
    eg__offsets<4>(e, i, at);
    const unsigned winner = *(const unsigned *)(e.at[1].p + at[1]);
    char *to = e.at[0].p + at[0];
    const int size = e.at[0].size;
    if (winner) {
        eg__move(to, e.at[2].p + at[2] + (int64_t)(winner - 1) * step, size);
    } else if (e.at[3].p != e.at[0].p) {
        eg__move(to, e.at[3].p + at[3], size);
    } else {
        const uint4 zero = make_uint4(0, 0, 0, 0);
        eg__move(to, (const char *)&zero, size);
    }
}

/* ---- numbers of places ----------------------------------------------------------------------------- */

__global__ void __launch_bounds__(EG__BLOCK) one_hot(const eg__marking k)
{
    const int64_t i = eg__self();
    if (i < k.n) {
        const int64_t row = eg__divide(i, k.depth);
        eg__put(k.y + i * k.size, k.dtype, k.ids[row] == i - row * k.depth.d ? k.on : k.off);
    }
}

__global__ void __launch_bounds__(EG__BLOCK) ravel(const eg__numbering k)
{
    const int64_t i = eg__self();
    if (i < k.n) {
        int64_t at = 0;
        for (int d = 0; d < k.ndim; d++) {
            at = at * k.shape[d].d + k.x[i * k.ndim + d];
        }
        k.y[i] = at;
    }
}

/* Writes the places along each axis of row-major element i. */
__device__ __forceinline__ void write_place(int64_t *y, int64_t i, int ndim, const eg__divisor *shape)
{
    for (int d = ndim - 1; d >= 0; d--) {
        const int64_t q = eg__divide(i, shape[d]);
        y[d] = i - q * shape[d].d;
        i = q;
    }
}

__global__ void __launch_bounds__(EG__BLOCK) unravel(const eg__numbering k)
{
    const int64_t i = eg__self();
    if (i < k.n) {
        write_place(k.y + i * k.ndim, k.x[i], k.ndim, k.shape);
    }
}

/* ---- finding --------------------------------------------------------------------------------------- */

enum { EACH = EG__TILE / EG__BLOCK }; /* bytes of a thread */

/* Bit j: byte j of this thread is not 0. */
__device__ __forceinline__ unsigned found(const eg__finding &k)
{
    const int64_t first = eg__self() * EACH;
    unsigned bits = 0;
    if (first + EACH <= k.n && (uintptr_t)k.x % EACH == 0) {
        const uint4 v = *(const uint4 *)(k.x + first);
        const unsigned w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            bits |= (unsigned)((w[j / 4] >> j % 4 * 8 & 255) != 0) << j;
        }
        return bits;
    }
    for (int j = 0; j < EACH && first + j < k.n; j++) {
        bits |= (unsigned)(k.x[first + j] != 0) << j;
    }
    return bits;
}

__global__ void __launch_bounds__(EG__BLOCK) count_tiles(const eg__finding k)
{
    int total;
    eg__block_scan<EG__BLOCK>(__popc(found(k)), &total);
    if (threadIdx.x == 0) {
        k.tiles[blockIdx.x] = total;
    }
}

/* Each number becomes the sum of those before it; one block. */
__global__ void __launch_bounds__(EG__BLOCK) scan_tiles(int64_t *tiles, int64_t n)
{
    int64_t before = 0, total;
    for (int64_t i = threadIdx.x; i - threadIdx.x < n; i += EG__BLOCK) {
        const int64_t mine = eg__block_scan<EG__BLOCK>(i < n ? tiles[i] : (int64_t)0, &total);
        if (i < n) {
            tiles[i] = before + mine;
        }
        before += total;
    }
}

__global__ void __launch_bounds__(EG__BLOCK) find(const eg__finding k)
{
    int total;
    const unsigned bits = found(k);
    int64_t row = k.tiles[blockIdx.x] + eg__block_scan<EG__BLOCK>(__popc(bits), &total);
    for (int j = 0; j < EACH; j++) {
        if (bits >> j & 1) {
            write_place(k.y + row++ * k.ndim, eg__self() * EACH + j, k.ndim, k.shape);
        }
    }
}

} // namespace

/* ---- starting -------------------------------------------------------------------------------------- */

cudaError_t eg__launch_check(const eg__checking *k, cudaStream_t s)
{
    return EG__LAUNCH(check, eg__blocks(k->n), EG__BLOCK, 0, s, *k);
}

cudaError_t eg__launch_select(const eg__selecting *k, cudaStream_t s)
{
    switch (k->unit) {
    case 16:
        return start_select<uint4>(*k, s);
    case 8:
        return start_select<uint64_t>(*k, s);
    case 4:
        return start_select<uint32_t>(*k, s);
    case 2:
        return start_select<uint16_t>(*k, s);
    default:
        return start_select<uint8_t>(*k, s);
    }
}

cudaError_t eg__launch_gather(const eg__elements *e, int64_t step, cudaStream_t s)
{
    return EG__LAUNCH(gather, eg__blocks(e->n), EG__BLOCK, 0, s, *e, step);
}

cudaError_t eg__launch_mark(const eg__elements *e, int64_t step, const char *origin, cudaStream_t s)
{
    return EG__LAUNCH(mark, eg__blocks(e->n), EG__BLOCK, 0, s, *e, step, origin);
}

cudaError_t eg__launch_take(const eg__elements *e, int64_t step, cudaStream_t s)
{
    return EG__LAUNCH(take, eg__blocks(e->n), EG__BLOCK, 0, s, *e, step);
}

cudaError_t eg__launch_one_hot(const eg__marking *k, cudaStream_t s)
{
    return EG__LAUNCH(one_hot, eg__blocks(k->n), EG__BLOCK, 0, s, *k);
}

cudaError_t eg__launch_ravel(const eg__numbering *k, cudaStream_t s)
{
    return EG__LAUNCH(ravel, eg__blocks(k->n), EG__BLOCK, 0, s, *k);
}

cudaError_t eg__launch_unravel(const eg__numbering *k, cudaStream_t s)
{
    return EG__LAUNCH(unravel, eg__blocks(k->n), EG__BLOCK, 0, s, *k);
}

cudaError_t eg__launch_nonzero(const eg__finding *k, cudaStream_t s)
{
    const int64_t tiles = (k->n + EG__TILE - 1) / EG__TILE;
    cudaError_t e = EG__LAUNCH(count_tiles, (unsigned)tiles, EG__BLOCK, 0, s, *k);
    if (!e) {
        e = EG__LAUNCH(scan_tiles, 1, EG__BLOCK, 0, s, k->tiles, tiles);
    }
    return e ? e : EG__LAUNCH(find, (unsigned)tiles, EG__BLOCK, 0, s, *k);
}
