/* moments.cuh - mean and variance in one pass, from parts that join. */
#ifndef EGRET_CUDA_MOMENTS_CUH
#define EGRET_CUDA_MOMENTS_CUH

#include "lib/cuda/common/math.cuh"

/* The mean of n elements and the sum of squares about it (Welford 1962; Chan, Golub and LeVeque 1979). */
template <class T> struct eg__about {
    T n, mean, squares;
};

template <class T> struct eg__moments {
    typedef eg__about<T> state;

    EG__FN state none() const
    {
        return state{0, 0, 0};
    }
    EG__FN void take(state &s, T v) const
    {
        const T d = v - s.mean;
        s.n += 1;
        s.mean += d / s.n;
        s.squares += d * (v - s.mean);
    }
    EG__FN void take4(state &s, const T v[4]) const
    {
        state four = {4, (v[0] + v[1] + (v[2] + v[3])) / 4, 0};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            four.squares += (v[i] - four.mean) * (v[i] - four.mean);
        }
        s = both(s, four);
    }
    EG__FN state both(const state &a, const state &b) const
    {
        const T n = a.n + b.n, d = b.mean - a.mean, share = n > 0 ? b.n / n : 0;
        return state{n, a.mean + d * share, a.squares + b.squares + d * d * (a.n * share)};
    }
};

#endif
