/* sums.cu - what ranks have, made one: in the order of the ranks, as lib/comm/sums.c; a thread for each element. */
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/common/element.cuh"
#include "lib/cuda/ranks/ranks.h"

#include <egret/comm.h>

namespace
{

/* T: of elements, which are added as A. Integers wrap around. */
template <class T, class A> struct plain {
    typedef A as;
    static __device__ A get(const char *p, int64_t i)
    {
        return (A)((const T *)p)[i];
    }
    static __device__ void put(char *p, int64_t i, A v)
    {
        ((T *)p)[i] = (T)v;
    }
    static __device__ A largest(A a, A b)
    {
        return (T)b > (T)a || b != b ? b : a;
    }
};

struct in_f32 {
    typedef float as;
    static __device__ float largest(float a, float b)
    {
        return b > a || b != b ? b : a;
    }
};

struct as_f16 : in_f32 {
    static __device__ float get(const char *p, int64_t i)
    {
        return eg__from_f16(((const uint16_t *)p)[i]);
    }
    static __device__ void put(char *p, int64_t i, float v)
    {
        ((uint16_t *)p)[i] = eg__to_f16(v);
    }
};

struct as_bf16 : in_f32 {
    static __device__ float get(const char *p, int64_t i)
    {
        return eg__from_bf16(((const uint16_t *)p)[i]);
    }
    static __device__ void put(char *p, int64_t i, float v)
    {
        ((uint16_t *)p)[i] = eg__to_bf16(v);
    }
};

template <class E> __global__ void __launch_bounds__(EG__BLOCK) add_up(const eg__rank_sum s)
{
    const int64_t i = eg__self();
    if (i >= s.count) {
        return;
    }
    typename E::as all = E::get(s.parts, i);
    for (int r = 1; r < s.ranks; r++) {
        const typename E::as v = E::get(s.parts + r * s.apart, i);
        all = s.how == EG_COMM_MAX ? E::largest(all, v) : all + v;
    }
    E::put(s.out, i, s.how == EG_COMM_MEAN ? all / (typename E::as)s.ranks : all);
}

template <class E> cudaError_t launch(const eg__rank_sum *s, cudaStream_t stream)
{
    return EG__LAUNCH(add_up<E>, eg__blocks(s->count), EG__BLOCK, 0, stream, *s);
}

} // namespace

cudaError_t eg__launch_rank_sum(const eg__rank_sum *s, cudaStream_t stream)
{
    switch (s->dtype) {
    case EG_F32:
        return launch<plain<float, float>>(s, stream);
    case EG_F64:
        return launch<plain<double, double>>(s, stream);
    case EG_F16:
        return launch<as_f16>(s, stream);
    case EG_BF16:
        return launch<as_bf16>(s, stream);
    case EG_I64:
        return launch<plain<int64_t, uint64_t>>(s, stream);
    case EG_I32:
        return launch<plain<int32_t, uint32_t>>(s, stream);
    default:
        return launch<plain<uint8_t, uint32_t>>(s, stream);
    }
}
