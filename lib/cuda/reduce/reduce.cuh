/* reduce.cuh - the kernels of reductions, over what is reduced how: a struct O with
 *
 *   typedef ... number, state;     what elements are read as, and what is known of some of them
 *   state none() const;            of no elements
 *   void take(state &s, number v, int64_t j) const;       element j as well
 *   void take4(state &s, const number v[4], int64_t j) const;  elements j to j + 3
 *   state both(state a, state b) const;   a being of earlier threads
 *   void put(char *y, int dtype, state s) const;          the result
 */
#ifndef EGRET_CUDA_REDUCE_CUH
#define EGRET_CUDA_REDUCE_CUH

#include "lib/cuda/common/lines.cuh"
#include "lib/cuda/reduce/reduce.h"

/* A state, and where on the line the elements are. */
template <class O> struct eg__taker {
    const O &o;
    typename O::state s;
    int64_t first;

    __device__ __forceinline__ void one(typename O::number v, unsigned j)
    {
        o.take(s, v, first + j);
    }

    __device__ __forceinline__ void four(const typename O::number v[EG__QUAD], unsigned j)
    {
        o.take4(s, v, first + j);
    }
};

/* Result i, or what part `part` gives to it. */
template <class O>
static __device__ __forceinline__ void eg__reduced(const O &o, const eg__reduction &r, int64_t i, int64_t at,
                                                   unsigned part, typename O::state s)
{
    if (r.parts > 1) {
        ((typename O::state *)r.parts_at)[part * r.kept.n + i] = s;
    } else {
        o.put(r.y + at, r.to, s);
    }
}

#define EG__REDUCE_KERNEL(O) \
    template <class O> __global__ void __launch_bounds__(EG__LINE_BLOCK, EG__LINE_BLOCKS(typename O::number))

/* Runs of elements side by side. */
EG__REDUCE_KERNEL(O) eg__reduce_runs(const eg__reduction r, const O o)
{
    __shared__ typename O::state room[EG__LINE_BLOCK / 32];
    const unsigned lane = threadIdx.x & (r.lanes - 1), part = blockIdx.y;
    const int64_t i = eg__own_line(r.lanes);
    const unsigned place = part / r.part_runs, step = r.parts / r.part_runs;
    const int64_t begin = part % r.part_runs * r.part;
    int64_t at[2] = {0, 0};
    eg__taker<O> taker = {o, o.none(), 0};
    if (i < r.kept.n && begin < r.run) {
        const unsigned n = (unsigned)(r.run - begin < r.part ? r.run - begin : r.part);
        eg__places<2>(r.kept, i, at);
        for (int64_t k = place; k < r.reduced.n; k += step) {
            taker.first = k * r.run + begin;
            eg__over_line<typename O::number>(r.x + at[0] + eg__place(r.reduced, k) + begin * r.size, r.dtype, r.size,
                                              n, lane, r.lanes, taker);
        }
    }
    typename O::state s = eg__join_lanes(o, taker.s, r.lanes, room);
    if (i < r.kept.n && !lane) {
        eg__reduced(o, r, i, at[1], part, s);
    }
}

/* Element by element, wherever they lie. */
EG__REDUCE_KERNEL(O) eg__reduce_each(const eg__reduction r, const O o)
{
    enum { AHEAD = 4 };
    typedef typename O::number T;
    __shared__ typename O::state room[EG__LINE_BLOCK];
    const unsigned wide = EG__LINE_BLOCK / r.lanes, part = blockIdx.y;
    const unsigned lane = r.along ? threadIdx.x & (r.lanes - 1) : threadIdx.x / wide;
    const unsigned column = r.along ? threadIdx.x / r.lanes : threadIdx.x & (wide - 1);
    const int64_t i = (int64_t)blockIdx.x * wide + column;
    int64_t at[2] = {0, 0};
    typename O::state s = o.none();
    if (i < r.kept.n) {
        eg__places<2>(r.kept, i, at);
        const char *x = r.x + at[0];
        int64_t j = part * r.part + lane, end = (part + 1) * r.part;
        end = end < r.count ? end : r.count;
        for (; j + (AHEAD - 1) * r.lanes < end; j += AHEAD * r.lanes) {
            typename eg__bits_of<T>::type bits[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                bits[k] = eg__bits(x + eg__place(r.reduced, j + k * r.lanes), r.size, T());
            }
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                o.take(s, eg__value(bits[k], r.dtype, T()), j + k * r.lanes);
            }
        }
        for (; j < end; j += r.lanes) {
            o.take(s, eg__value(eg__bits(x + eg__place(r.reduced, j), r.size, T()), r.dtype, T()), j);
        }
    }
    s = r.along ? eg__join_lanes(o, s, r.lanes, room) : eg__join_columns(o, s, wide, room);
    if (i < r.kept.n && !lane) {
        eg__reduced(o, r, i, at[1], part, s);
    }
}

/* The parts of `wide` results joined by a block. */
template <class O>
__global__ void __launch_bounds__(EG__LINE_BLOCK) eg__reduce_parts(const eg__reduction r, const O o, unsigned wide)
{
    __shared__ typename O::state room[EG__LINE_BLOCK];
    const unsigned column = threadIdx.x & (wide - 1), lane = threadIdx.x / wide;
    const int64_t i = (int64_t)blockIdx.x * wide + column;
    const typename O::state *parts = (const typename O::state *)r.parts_at;
    typename O::state s = o.none();
    if (i < r.kept.n) {
        for (unsigned k = lane; k < r.parts; k += EG__LINE_BLOCK / wide) {
            s = o.both(s, parts[k * r.kept.n + i]);
        }
    }
    s = eg__join_columns(o, s, wide, room);
    if (i < r.kept.n && !lane) {
        int64_t at[2];
        eg__places<2>(r.kept, i, at);
        o.put(r.y + at[1], r.to, s);
    }
}

template <class O> static cudaError_t eg__reduce(const eg__reduction &r, const O &o, cudaStream_t s)
{
    static_assert(sizeof(typename O::state) <= EG__STATE_BYTES, "scratch has room for it");
    const dim3 grid(eg__line_blocks(r.kept.n, EG__LINE_BLOCK / r.lanes), r.parts);
    cudaError_t e = r.run ? EG__LAUNCH(eg__reduce_runs<O>, grid, EG__LINE_BLOCK, 0, s, r, o)
                          : EG__LAUNCH(eg__reduce_each<O>, grid, EG__LINE_BLOCK, 0, s, r, o);
    if (e == cudaSuccess && r.parts > 1) {
        const unsigned wide = (unsigned)eg__power(r.kept.n, 32);
        e = EG__LAUNCH(eg__reduce_parts<O>, eg__line_blocks(r.kept.n, wide), EG__LINE_BLOCK, 0, s, r, o, wide);
    }
    return e;
}

#endif
