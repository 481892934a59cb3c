/* sample.cuh - what kernels that read images at points share: finding a point's pixels, four channels at a time. */
#ifndef EGRET_CUDA_SAMPLE_CUH
#define EGRET_CUDA_SAMPLE_CUH

#include "lib/cuda/common/grid.cuh"

#include <math.h>

#include <egret/ops/sample.h>

#include "lib/cuda/image/sample.h"
#include "lib/math/hd.h"

namespace
{

#define T       float
#define LANE(x) x##_f32
#include "lib/ops/sample_taps.h"
#undef T
#undef LANE

#define T       double
#define LANE(x) x##_f64
#include "lib/ops/sample_taps.h"
#undef T
#undef LANE

__device__ __forceinline__ void taps_at(const eg__sample_opts &o, int axis, float p, int64_t size, taps_f32 *t)
{
    taps_at_f32(&o, axis, p, size, t);
}

__device__ __forceinline__ void taps_at(const eg__sample_opts &o, int axis, double p, int64_t size, taps_f64 *t)
{
    taps_at_f64(&o, axis, p, size, t);
}

template <class T> struct axis_taps;
template <> struct axis_taps<float> {
    typedef taps_f32 of;
};
template <> struct axis_taps<double> {
    typedef taps_f64 of;
};

/* A point's pixels, along both axes. */
template <class T> struct point {
    typename axis_taps<T>::of x, y;

    /* False: it lies nowhere. */
    __device__ __forceinline__ bool find(const eg__sampling &k, int64_t b, int64_t row, int64_t col)
    {
        const int64_t *sx = k.pstride[0], *sy = k.pstride[1];
        taps_at(k.o, 0, ((const T *)k.point[0])[b * sx[0] + row * sx[1] + col * sx[2]], k.w, &x);
        taps_at(k.o, 1, ((const T *)k.point[1])[b * sy[0] + row * sy[1] + col * sy[2]], k.h, &y);
        return x.n && y.n;
    }
};

/* A pixel of a picture. */
struct place {
    int64_t b, row, col;

    __device__ __forceinline__ place(const eg__sampling &k, int64_t pixel)
    {
        const int64_t line = eg__divide(pixel, k.cols);
        b = eg__divide(line, k.rows);
        row = line - b * k.rows.d;
        col = pixel - line * k.cols.d;
    }

    __device__ __forceinline__ int64_t at(const eg__sampling &k) const
    {
        return b * k.ystride[0] + row * k.ystride[2] + col * k.ystride[3];
    }
};

__device__ __forceinline__ int64_t image_of(const eg__sampling &k, int64_t b)
{
    return k.image ? k.image[b * k.image_stride] : b;
}

/* Four channels from p on, `step` apart, of which `there` are; WIDE: side by side and aligned. */
template <class T, bool WIDE> __device__ __forceinline__ void load_four(const T *p, int64_t step, int64_t there, T *v)
{
    if (WIDE) {
        const float4 q = *(const float4 *)p;
        v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
    } else {
#pragma unroll
        for (int c = 0; c < 4; c++) {
            v[c] = c < there ? p[c * step] : 0;
        }
    }
}

template <class T, bool WIDE> __device__ __forceinline__ void store_four(T *p, int64_t step, int64_t there, const T *v)
{
    if (WIDE) {
        *(float4 *)p = make_float4((float)v[0], (float)v[1], (float)v[2], (float)v[3]);
    } else {
#pragma unroll
        for (int c = 0; c < 4; c++) {
            if (c < there) {
                p[c * step] = v[c];
            }
        }
    }
}

/* What this thread does among `items` with k.threads to each: those of one item are neighbours where channels lie
 * side by side, else those of neighbouring items. False: nothing. */
__device__ __forceinline__ bool share_of(const eg__sampling &k, const eg__divisor &items, int64_t *item, int64_t *group)
{
    const int64_t i = eg__self();
    *item = k.last ? eg__divide(i, k.threads) : i - eg__divide(i, items) * items.d;
    *group = k.last ? i - *item * k.threads.d : eg__divide(i, items);
    return *item < items.d && *group < k.threads.d;
}

} // namespace

#endif
