/* pool.cu - pooling: a thread for each window; of gradients for each cell, which asks the windows that may hold
 * it, so that sums have one order. */
#include "lib/cuda/common/element.cuh"
#include "lib/cuda/image/pool.h"
#include "lib/cuda/common/position.cuh"

namespace
{

/* Elements as they lie, of a type S: halves, of either kind, are computed with as floats. */
EG__FN float get(const float *p, int64_t at, int)
{
    return p[at];
}
EG__FN double get(const double *p, int64_t at, int)
{
    return p[at];
}
EG__FN int64_t get(const int64_t *p, int64_t at, int)
{
    return p[at];
}
EG__FN float get(const uint16_t *p, int64_t at, int dtype)
{
    return dtype == EG_F16 ? eg__from_f16(p[at]) : eg__from_bf16(p[at]);
}

EG__FN void put(float *p, int64_t at, int, float v)
{
    p[at] = v;
}
EG__FN void put(double *p, int64_t at, int, double v)
{
    p[at] = v;
}
EG__FN void put(int64_t *p, int64_t at, int, int64_t v)
{
    p[at] = v;
}
EG__FN void put(uint16_t *p, int64_t at, int dtype, float v)
{
    p[at] = dtype == EG_F16 ? eg__to_f16(v) : eg__to_bf16(v);
}

EG__FN int get_tap(const eg__pooling &k, int64_t at)
{
    return k.large ? ((const int32_t *)k.taps)[at] : ((const uint8_t *)k.taps)[at];
}

EG__FN void put_tap(const eg__pooling &k, int64_t at, int tap)
{
    if (k.large) {
        ((int32_t *)k.taps)[at] = tap;
    } else {
        ((uint8_t *)k.taps)[at] = (uint8_t)tap;
    }
}

/* ---- windows ------------------------------------------------------------------------------------------ */

/* f(value, tap) for the cells that are there. */
template <class S, class F> EG__FN void over_window(const eg__pooling &k, const eg__position &s, F &f)
{
    const eg__pool_opts &o = k.o;
    const S *x = (const S *)k.x;
    const eg__window w0 = eg__window_of(&o, 0, s.p[0]), w1 = eg__window_of(&o, 1, s.p[1]);
    const eg__window w2 = eg__window_of(&o, 2, s.p[2]);
    const int d0 = (int)o.dilation[0], d1 = (int)o.dilation[1], d2 = (int)o.dilation[2];
    const int across = (int)o.kernel[2], down = (int)o.kernel[1];
    for (int a = w0.first; a < w0.end; a++) {
        for (int b = w1.first; b < w1.end; b++) {
            for (int c = w2.first; c < w2.end; c++) {
                f(get(x, s.at(k.positions, o.in, w0.begin + a * d0, w1.begin + b * d1, w2.begin + c * d2), k.dtype),
                  (a * down + b) * across + c);
            }
        }
    }
}

template <class T> struct top_of {
    T top;
    int best;
    EG__FN void operator()(T v, int tap)
    {
        if (best < 0 || v > top || (v != v && top == top)) {
            top = v;
            best = tap;
        }
    }
};

template <class T> struct sum_of {
    T sum;
    EG__FN void operator()(T v, int)
    {
        sum += v;
    }
};

template <class T, class S> __global__ void __launch_bounds__(EG__BLOCK) max_pool(const eg__pooling k)
{
    const int64_t i = eg__self();
    if (i < k.positions.n) {
        top_of<T> f = {0, -1};
        over_window<S>(k, eg__position(k.positions, i), f);
        put((S *)k.y, i, k.dtype, f.top);
        put_tap(k, i, f.best);
    }
}

/* How many cells a mean is of. */
template <class T> EG__FN T cells_of(const eg__pool_opts &o, const int *p)
{
    return (T)eg__window_cells(&o, 0, p[0]) * (T)eg__window_cells(&o, 1, p[1]) * (T)eg__window_cells(&o, 2, p[2]);
}

template <class T, class S> __global__ void __launch_bounds__(EG__BLOCK) avg_pool(const eg__pooling k)
{
    const int64_t i = eg__self();
    if (i < k.positions.n) {
        const eg__position s(k.positions, i);
        sum_of<T> f = {0};
        over_window<S>(k, s, f);
        put((S *)k.y, i, k.dtype, f.sum / cells_of<T>(k.o, s.p));
    }
}

/* The cell of a tap; whether it is there. */
EG__FN bool cell_of(const eg__pool_opts &o, const eg__position &s, int tap, int cell[3])
{
    bool there = true;
#pragma unroll
    for (int d = 2; d >= 0; d--) {
        const eg__window w = eg__window_of(&o, d, s.p[d]);
        const int size = (int)o.kernel[d], t = tap % size;
        tap /= size;
        there &= t >= w.first && t < w.end;
        cell[d] = w.begin + t * (int)o.dilation[d];
    }
    return there;
}

template <class T, class S> __global__ void __launch_bounds__(EG__BLOCK) max_pool_take(const eg__pooling k)
{
    const int64_t i = eg__self();
    if (i < k.positions.n) {
        const eg__position s(k.positions, i);
        int cell[3];
        const bool there = cell_of(k.o, s, get_tap(k, i), cell);
        const int64_t at = s.at(k.positions, k.o.in, cell[0], cell[1], cell[2]);
        put((S *)k.y, i, k.dtype, there ? get((const S *)k.x, at, k.dtype) : (T)0);
    }
}

__global__ void __launch_bounds__(EG__BLOCK) max_pool_places(const eg__pooling k)
{
    const int64_t i = eg__self();
    if (i < k.positions.n) {
        int cell[3];
        cell_of(k.o, eg__position(k.positions, i), get_tap(k, i), cell);
        k.places[i] = (cell[0] * k.o.in[1] + cell[1]) * k.o.in[2] + cell[2];
    }
}

/* ---- cells -------------------------------------------------------------------------------------------- */

template <class T, class S, bool MAX> __global__ void __launch_bounds__(EG__BLOCK, 4) pool_grad(const eg__pooling k)
{
    const int64_t i = eg__self();
    if (i >= k.positions.n) {
        return;
    }
    const eg__pool_opts &o = k.o;
    const eg__position s(k.positions, i);
    const eg__span h0 = eg__windows_of(&o, 0, s.p[0]), h1 = eg__windows_of(&o, 1, s.p[1]);
    const eg__span h2 = eg__windows_of(&o, 2, s.p[2]);
    const int across = (int)o.kernel[2], down = (int)o.kernel[1];
    T sum = 0;
#pragma unroll 1
    for (int a = h0.first; a < h0.end; a++) {
        const eg__window w0 = eg__window_of(&o, 0, a);
        const int t0 = eg__tap_of(&o, 0, &w0, s.p[0]), n0 = MAX ? 1 : eg__cells_of(&o, 0, &w0);
#pragma unroll 1
        for (int b = h1.first; t0 >= 0 && b < h1.end; b++) {
            const eg__window w1 = eg__window_of(&o, 1, b);
            const int t1 = eg__tap_of(&o, 1, &w1, s.p[1]);
            const T n1 = MAX ? 1 : (T)n0 * (T)eg__cells_of(&o, 1, &w1);
#pragma unroll 1
            for (int c = h2.first; t1 >= 0 && c < h2.end; c++) {
                const eg__window w2 = eg__window_of(&o, 2, c);
                const int t2 = eg__tap_of(&o, 2, &w2, s.p[2]);
                const int64_t at = s.at(k.positions, o.out, a, b, c);
                if (t2 >= 0 && (!MAX || get_tap(k, at) == (t0 * down + t1) * across + t2)) {
                    const T dy = get((const S *)k.y, at, k.dtype);
                    sum += MAX ? dy : dy / (n1 * (T)eg__cells_of(&o, 2, &w2));
                }
            }
        }
    }
    put((S *)k.x, i, k.dtype, sum);
}

} // namespace

/* ---- starting ----------------------------------------------------------------------------------------- */

#define START(name, kernel, ...)                                                                 \
    cudaError_t eg__launch_##name(const eg__pooling *k, cudaStream_t s)                          \
    {                                                                                            \
        const unsigned grid = eg__blocks(k->positions.n);                                        \
        switch (k->dtype) {                                                                      \
        case EG_F64:                                                                             \
            return EG__LAUNCH((kernel<double, double __VA_ARGS__>), grid, EG__BLOCK, 0, s, *k);  \
        case EG_F32:                                                                             \
            return EG__LAUNCH((kernel<float, float __VA_ARGS__>), grid, EG__BLOCK, 0, s, *k);    \
        default:                                                                                 \
            return EG__LAUNCH((kernel<float, uint16_t __VA_ARGS__>), grid, EG__BLOCK, 0, s, *k); \
        }                                                                                        \
    }
#define AND ,
START(max_pool, max_pool)
START(avg_pool, avg_pool)
START(max_pool_take, max_pool_take)
START(max_pool_grad, pool_grad, AND true)
START(avg_pool_grad, pool_grad, AND false)

cudaError_t eg__launch_max_pool_int(const eg__pooling *k, cudaStream_t s)
{
    return EG__LAUNCH((max_pool<int64_t, int64_t>), eg__blocks(k->positions.n), EG__BLOCK, 0, s, *k);
}

cudaError_t eg__launch_max_pool_places(const eg__pooling *k, cudaStream_t s)
{
    return EG__LAUNCH(max_pool_places, eg__blocks(k->positions.n), EG__BLOCK, 0, s, *k);
}
