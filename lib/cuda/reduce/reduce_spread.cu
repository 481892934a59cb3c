/* reduce_spread.cu - logsumexp, variance and standard deviation, each in one pass. */
#include "lib/cuda/common/moments.cuh"
#include "lib/cuda/reduce/reduce.cuh"
#include "lib/cuda/reduce/softmax.cuh"

template <class T> struct logsumexp {
    typedef T number;
    typedef eg__weighed<T> state;

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
        eg__weigh4(s, v, finite(eg__top(s.top, eg__top4(v))));
    }
    EG__FN state both(const state &a, const state &b) const
    {
        return eg__weigh_both(a, b, finite(eg__top(a.top, b.top)));
    }
    EG__FN void put(char *y, int dtype, const state &s) const
    {
        eg__put(y, dtype, finite(s.top) + eg__fn_log(s.sum));
    }
    /* What exponents are taken less: infinities are summed as they are. */
    static EG__FN T finite(T top)
    {
        return isinf(top) ? 0 : top;
    }
};

template <class T> struct variance : eg__moments<T> {
    typedef T number;
    typedef eg__about<T> state;
    T free;
    bool root;

    __host__ __device__ variance(T by, bool is_root) : free(by), root(is_root) {}
    EG__FN void take(state &s, T v, int64_t) const
    {
        eg__moments<T>::take(s, v);
    }
    EG__FN void take4(state &s, const T v[4], int64_t) const
    {
        eg__moments<T>::take4(s, v);
    }
    EG__FN void put(char *y, int dtype, const state &s) const
    {
        const T v = s.squares / free;
        eg__put(y, dtype, root ? eg__fn_sqrt(v) : v);
    }
};

template <class T> static cudaError_t start(const eg__reduction &r, const eg__reduce_how &how, cudaStream_t s)
{
    switch (how.op) {
    case EG__REDUCE_logsumexp:
        return eg__reduce(r, logsumexp<T>(), s);
    case EG__REDUCE_var:
    case EG__REDUCE_std:
        return eg__reduce(r, variance<T>((T)how.free, how.op == EG__REDUCE_std), s);
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t eg__launch_spread(const eg__reduction *r, const eg__reduce_how *how, cudaStream_t s)
{
    return r->in == EG__IN_F64 ? start<double>(*r, *how, s) : start<float>(*r, *how, s);
}
