/* reduce_extreme.cu - the largest and smallest elements, and where the first of them are. NaN is both. */
#include "lib/cuda/common/extreme.cuh"
#include "lib/cuda/reduce/reduce.cuh"

static EG__FN bool nan(float v)
{
    return v != v;
}
static EG__FN bool nan(double v)
{
    return v != v;
}
static EG__FN bool nan(int64_t)
{
    return false;
}

template <class T> struct extreme {
    typedef T number, state;
    bool turn;     /* the smallest */
    bool absolute; /* of absolute values, of which the largest of none is 0 */

    EG__FN state none() const
    {
        return absolute && !turn ? 0 : eg__least(T());
    }
    EG__FN void take(state &s, T v, int64_t) const
    {
        s = both(s, eg__turned(absolute ? (T)eg__fn_abs(v) : v, turn));
    }
    EG__FN void take4(state &s, const T v[4], int64_t j) const
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            take(s, v[i], j + i);
        }
    }
    EG__FN state both(state a, state b) const
    {
        return b > a || nan(b) ? b : a;
    }
    EG__FN void put(char *y, int dtype, state s) const
    {
        eg__put(y, dtype, eg__turned(s, turn));
    }
};

template <class T> struct placed {
    T v;
    int64_t at;
};
template <> struct placed<float> {
    float v;
    unsigned low, high; /* without a gap */
};

static EG__FN int64_t at_of(const placed<float> &s)
{
    return (int64_t)eg__join(s.low, s.high);
}
template <class T> static EG__FN int64_t at_of(const placed<T> &s)
{
    return s.at;
}
static EG__FN void set_at(placed<float> &s, int64_t at)
{
    s.low = (unsigned)at;
    s.high = (unsigned)((uint64_t)at >> 32);
}
template <class T> static EG__FN void set_at(placed<T> &s, int64_t at)
{
    s.at = at;
}

template <class T> struct place {
    typedef T number;
    typedef placed<T> state;
    bool turn;

    EG__FN state none() const
    {
        state s;
        s.v = eg__least(T());
        set_at(s, INT64_MAX);
        return s;
    }
    /* Whether b comes before a. */
    EG__FN bool before(T b, int64_t b_at, T a, int64_t a_at) const
    {
        const bool equal = b == a || (nan(a) && nan(b));
        return equal ? b_at < a_at : !nan(a) && (nan(b) || b > a);
    }
    EG__FN void take(state &s, T v, int64_t j) const
    {
        const T turn_v = eg__turned(v, turn);
        if (before(turn_v, j, s.v, at_of(s))) {
            s.v = turn_v;
            set_at(s, j);
        }
    }
    EG__FN void take4(state &s, const T v[4], int64_t j) const
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            take(s, v[i], j + i);
        }
    }
    EG__FN state both(const state &a, const state &b) const
    {
        return before(b.v, at_of(b), a.v, at_of(a)) ? b : a;
    }
    EG__FN void put(char *y, int dtype, const state &s) const
    {
        eg__put(y, dtype, at_of(s));
    }
};

template <class T> static cudaError_t start(const eg__reduction &r, const eg__reduce_how &how, cudaStream_t s)
{
    switch (how.op) {
    case EG__REDUCE_argmax:
    case EG__REDUCE_argmin:
        return eg__reduce(r, place<T>{how.op == EG__REDUCE_argmin}, s);
    case EG__REDUCE_norm:
        return eg__reduce(r, extreme<T>{how.p < 0, true}, s);
    case EG__REDUCE_max:
    case EG__REDUCE_min:
        return eg__reduce(r, extreme<T>{how.op == EG__REDUCE_min, false}, s);
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t eg__launch_extreme(const eg__reduction *r, const eg__reduce_how *how, cudaStream_t s)
{
    switch (r->in) {
    case EG__IN_F32:
        return start<float>(*r, *how, s);
    case EG__IN_F64:
        return start<double>(*r, *how, s);
    default:
        return start<int64_t>(*r, *how, s);
    }
}
