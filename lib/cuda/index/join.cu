/* join.cu - kernels that copy tensors side by side, or into a larger one. */
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/index/join.h"
#include "lib/ops/pad.h"

namespace
{

enum { FEW = 8 };

/* ---- concat: a row of blocks for each piece -------------------------------------------------------- */

/* The first N pieces: arguments of a launch are copied each time. */
template <int N> struct table {
    char *y;
    int ndim, axis, unit;
    eg__divisor shape[EG_MAX_DIMS];
    int64_t stride[EG_MAX_DIMS];
    eg__piece piece[N];
};

template <int N> __global__ void __launch_bounds__(EG__BLOCK) concat(const table<N> k)
{
    const eg__piece &p = k.piece[blockIdx.y];
    const int64_t step = (int64_t)gridDim.x * EG__BLOCK;
    for (int64_t i = eg__self(); i < p.n; i += step) {
        int64_t rest = i, to = p.start, from = 0;
        for (int d = k.ndim - 1; d >= 0; d--) {
            const eg__divisor &size = d == k.axis ? p.size : k.shape[d];
            const int64_t q = d ? eg__divide(rest, size) : 0, r = rest - q * size.d;
            to += r * k.stride[d];
            from += r * p.stride[d];
            rest = q;
        }
        eg__move(k.y + to, p.from + from, k.unit);
    }
}

template <int N> cudaError_t start_concat(const eg__pieces &k, cudaStream_t s)
{
    table<N> t = {k.y, k.ndim, k.axis, k.unit, {}, {}, {}};
    int64_t most = 1;
    for (int d = 0; d < k.ndim; d++) {
        t.shape[d] = k.shape[d];
        t.stride[d] = k.stride[d];
    }
    for (int i = 0; i < k.count; i++) {
        t.piece[i] = k.piece[i];
        most = k.piece[i].n > most ? k.piece[i].n : most;
    }
    const unsigned blocks = eg__blocks(most);
    return EG__LAUNCH((concat<N>), dim3(blocks < 4096 ? blocks : 4096, (unsigned)k.count), EG__BLOCK, 0, s, t);
}

/* ---- pad ------------------------------------------------------------------------------------------- */

/* The place of x that this place of y shows; -1: none. */
__device__ __forceinline__ int64_t source(const eg__padded &a, int mode, int64_t i)
{
    i -= a.before;
    if (a.step != 1) {
        const int64_t at = i / a.step;
        return at * a.step == i && at >= 0 && at < a.n ? at : -1;
    }
    return eg__pad_source(mode, i, a.n);
}

__global__ void __launch_bounds__(EG__BLOCK) pad(const eg__padding k)
{
    const int64_t i = eg__self();
    if (i >= k.n) {
        return;
    }
    int64_t rest = i, from = 0;
    bool inside = true;
    for (int d = k.ndim - 1; d >= 0; d--) {
        const eg__padded &a = k.axis[d];
        const int64_t q = d ? eg__divide(rest, a.size) : 0, at = source(a, k.mode, rest - q * a.size.d);
        inside &= at >= 0;
        from += at * a.stride;
        rest = q;
    }
    const uint64_t value[2] = {k.value, k.value};
    if (inside) {
        eg__move(k.y + i * k.unit, k.x + from, k.unit);
    } else if (k.unit == 16) {
        *(ulonglong2 *)(k.y + i * 16) = make_ulonglong2(value[0], value[1]);
    } else {
        eg__move(k.y + i * k.unit, (const char *)value, k.unit);
    }
}

} // namespace

cudaError_t eg__launch_concat(const eg__pieces *k, cudaStream_t s)
{
    return k->count <= FEW ? start_concat<FEW>(*k, s) : start_concat<EG__PIECES>(*k, s);
}

cudaError_t eg__launch_pad(const eg__padding *k, cudaStream_t s)
{
    return EG__LAUNCH(pad, eg__blocks(k->n), EG__BLOCK, 0, s, *k);
}
