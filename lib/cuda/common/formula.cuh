/* formula.cuh - kernels from a formula: a struct with
 *
 *   enum { inputs = N };                              how many operands beside the result
 *   static __device__ T at(const T v[N], T p, T q);   the formula
 *
 * as a template over T: float for f32, f16 and bf16, double, or int64_t for integers and bool. */
#ifndef EGRET_CUDA_FORMULA_CUH
#define EGRET_CUDA_FORMULA_CUH

#include "lib/cuda/common/element.cuh"
#include "lib/cuda/common/grid.cuh"

static __device__ __forceinline__ float eg__parameter(const eg__numbers &o, float, bool second)
{
    return (float)(second ? o.q : o.p);
}

static __device__ __forceinline__ double eg__parameter(const eg__numbers &o, double, bool second)
{
    return second ? o.q : o.p;
}

static __device__ __forceinline__ int64_t eg__parameter(const eg__numbers &o, int64_t, bool second)
{
    return second ? o.iq : o.ip;
}

/* One element per thread, whatever the strides. */
template <class F, class T>
__global__ void __launch_bounds__(EG__BLOCK) eg__each(const eg__elements e, const eg__numbers o)
{
    const unsigned i = (unsigned)eg__self();
    if (i >= e.n) {
        return;
    }
    int64_t at[F::inputs + 1];
    T v[F::inputs];
    eg__offsets<F::inputs + 1>(e, i, at);
#pragma unroll
    for (int k = 0; k < F::inputs; k++) {
        const eg__operand &x = e.at[k + 1];
        v[k] = x.p ? eg__get<T>(x.p + at[k + 1], x.dtype) : eg__number<T>(x);
    }
    eg__put(e.at[0].p + at[0], e.at[0].dtype, (T)F::at(v, eg__parameter(o, T(), false), eg__parameter(o, T(), true)));
}

/* Eight elements per thread along the last axis. */
template <class F> __global__ void __launch_bounds__(EG__BLOCK) eg__grouped(const eg__elements e, const eg__numbers o)
{
    const unsigned i = (unsigned)eg__self() * EG__GROUP;
    if (i >= e.n) {
        return;
    }
    int64_t at[F::inputs + 1];
    float v[F::inputs][EG__GROUP], y[EG__GROUP];
    const float p = (float)o.p, q = (float)o.q;
    const int last = e.ndim - 1;
    const bool whole = i + EG__GROUP <= e.n; /* the last group may be less, with one axis */
    eg__offsets<F::inputs + 1>(e, i, at);
#pragma unroll
    for (int k = 0; k < F::inputs; k++) {
        const eg__operand &x = e.at[k + 1];
        if (!x.p || !x.stride[last]) {
            const float one = x.p ? eg__get<float>(x.p + at[k + 1], x.dtype) : eg__number<float>(x);
#pragma unroll
            for (int j = 0; j < EG__GROUP; j++) {
                v[k][j] = one;
            }
        } else if (whole) {
            eg__get_group(x.p + at[k + 1], x.dtype, v[k]);
        } else {
#pragma unroll
            for (int j = 0; j < EG__GROUP; j++) {
                v[k][j] = i + j < e.n ? eg__get<float>(x.p + at[k + 1] + j * x.size, x.dtype) : 1;
            }
        }
    }
#pragma unroll
    for (int j = 0; j < EG__GROUP; j++) {
        float of[F::inputs];
#pragma unroll
        for (int k = 0; k < F::inputs; k++) {
            of[k] = v[k][j];
        }
        y[j] = F::at(of, p, q);
    }
    if (whole) {
        eg__put_group(e.at[0].p + at[0], e.at[0].dtype, y);
        return;
    }
#pragma unroll
    for (int j = 0; j < EG__GROUP; j++) {
        if (i + j < e.n) {
            eg__put(e.at[0].p + at[0] + j * e.at[0].size, e.at[0].dtype, y[j]);
        }
    }
}

template <class F, class T> static cudaError_t eg__start(const eg__elements &e, const eg__numbers &o, cudaStream_t s)
{
    return EG__LAUNCH((eg__each<F, T>), eg__blocks(e.n), EG__BLOCK, 0, s, e, o);
}

template <class F> static cudaError_t eg__start_f32(const eg__elements &e, const eg__numbers &o, cudaStream_t s)
{
    if (e.grouped) {
        unsigned groups = (e.n + EG__GROUP - 1) / EG__GROUP;
        return EG__LAUNCH((eg__grouped<F>), eg__blocks(groups), EG__BLOCK, 0, s, e, o);
    }
    return eg__start<F, float>(e, o, s);
}

typedef cudaError_t eg__starter(const eg__elements &e, const eg__numbers &o, cudaStream_t s);

#endif
