/* softmax.cuh - sums of exponentials that never overflow: the largest number, and the sum of e^(v - largest). */
#ifndef EGRET_CUDA_SOFTMAX_CUH
#define EGRET_CUDA_SOFTMAX_CUH

#include "lib/cuda/common/lines.cuh"
#include "lib/cuda/common/math.cuh"

template <class T> struct eg__weighed {
    T top, sum;
};

template <class T> static EG__FN eg__weighed<T> eg__weighed_none()
{
    return eg__weighed<T>{-(T)INFINITY, 0};
}

/* The larger; NaN if one of them is. */
template <class T> static EG__FN T eg__top(T a, T b)
{
    return b > a || b != b ? b : a;
}

template <class T> static EG__FN T eg__top4(const T v[4])
{
    return eg__top(eg__top(v[0], v[1]), eg__top(v[2], v[3]));
}

/* sum e^(v - less), where less is not -infinity: as much as is in a state. */
template <class T> static EG__FN T eg__weight(const eg__weighed<T> &s, T less)
{
    return s.sum * eg__fn_exp(s.top - less);
}

template <class T> static EG__FN eg__weighed<T> eg__weigh_both(const eg__weighed<T> &a, const eg__weighed<T> &b, T less)
{
    return eg__weighed<T>{eg__top(a.top, b.top), eg__weight(a, less) + eg__weight(b, less)};
}

template <class T> static EG__FN void eg__weigh4(eg__weighed<T> &s, const T v[4], T less)
{
    T sum = eg__weight(s, less);
    /* Of doubles one after the other: four exponentials at once are more than there are registers. */
#pragma unroll(sizeof(T) == 4 ? 4 : 1)
    for (int i = 0; i < 4; i++) {
        sum += eg__fn_exp((i == 0 ? v[0] : i == 1 ? v[1] : i == 2 ? v[2] : v[3]) - less);
    }
    s.top = eg__top(s.top, eg__top4(v));
    s.sum = sum;
}

/* ... for softmax: infinity gives NaN, and so does a line of nothing but -infinity, later. */
template <class T> struct eg__weighing {
    typedef T number;
    typedef eg__weighed<T> state;

    static EG__FN T less(T top)
    {
        return top == -(T)INFINITY ? 0 : top;
    }
    EG__FN state none() const
    {
        return eg__weighed_none<T>();
    }
    EG__FN void take(state &s, T v, int64_t) const
    {
        s = both(s, state{v, 1});
    }
    EG__FN void take4(state &s, const T v[4], int64_t) const
    {
        eg__weigh4(s, v, less(eg__top(s.top, eg__top4(v))));
    }
    EG__FN state both(const state &a, const state &b) const
    {
        return eg__weigh_both(a, b, less(eg__top(a.top, b.top)));
    }
};

#endif
