/* reduce_sum.cu - sums, means, products and norms; what is not zero counted. */
#include "lib/cuda/common/math.cuh"
#include "lib/cuda/reduce/reduce.cuh"

/* Integers wrap around. */
static EG__FN float add(float a, float b)
{
    return a + b;
}
static EG__FN double add(double a, double b)
{
    return a + b;
}
static EG__FN int64_t add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static EG__FN float multiply(float a, float b)
{
    return a * b;
}
static EG__FN double multiply(double a, double b)
{
    return a * b;
}
static EG__FN int64_t multiply(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* ---- sums ------------------------------------------------------------------------------------------------ */

enum addend { PLAIN, ABSOLUTE, SQUARE };

template <class T> struct sum {
    typedef T number, state;
    int of; /* addend */
    int root;
    T divisor; /* of floats */

    EG__FN state none() const
    {
        return 0;
    }
    EG__FN T addend(T v) const
    {
        return of == PLAIN ? v : of == SQUARE ? multiply(v, v) : (T)eg__fn_abs(v);
    }
    EG__FN void take(state &s, T v, int64_t) const
    {
        s = add(s, addend(v));
    }
    EG__FN void take4(state &s, const T v[4], int64_t) const
    {
        s = add(s, add(add(addend(v[0]), addend(v[1])), add(addend(v[2]), addend(v[3]))));
    }
    EG__FN state both(state a, state b) const
    {
        return add(a, b);
    }
    EG__FN void put(char *y, int dtype, state s) const
    {
        eg__put(y, dtype, root ? eg__fn_sqrt(s / divisor) : s / divisor);
    }
};

template <> EG__FN void sum<int64_t>::put(char *y, int dtype, int64_t s) const
{
    eg__put(y, dtype, s);
}

/* Sums of |v|^p for other p. */
template <class T> struct power_sum {
    typedef T number, state;
    T p;

    EG__FN state none() const
    {
        return 0;
    }
    EG__FN void take(state &s, T v, int64_t) const
    {
        s += eg__fn_pow((T)eg__fn_abs(v), p);
    }
    EG__FN void take4(state &s, const T v[4], int64_t) const
    {
#pragma unroll 1
        for (int i = 0; i < 4; i++) {
            s += eg__fn_pow((T)eg__fn_abs(i == 0 ? v[0] : i == 1 ? v[1] : i == 2 ? v[2] : v[3]), p);
        }
    }
    EG__FN state both(state a, state b) const
    {
        return a + b;
    }
    EG__FN void put(char *y, int dtype, state s) const
    {
        eg__put(y, dtype, eg__fn_pow(s, 1 / p));
    }
};

template <class T> struct product {
    typedef T number, state;

    EG__FN state none() const
    {
        return 1;
    }
    EG__FN void take(state &s, T v, int64_t) const
    {
        s = multiply(s, v);
    }
    EG__FN void take4(state &s, const T v[4], int64_t) const
    {
        s = multiply(s, multiply(multiply(v[0], v[1]), multiply(v[2], v[3])));
    }
    EG__FN state both(state a, state b) const
    {
        return multiply(a, b);
    }
    EG__FN void put(char *y, int dtype, state s) const
    {
        eg__put(y, dtype, s);
    }
};

template <class T> static cudaError_t start_sum(const eg__reduction &r, const eg__reduce_how &how, cudaStream_t s)
{
    switch (how.op) {
    case EG__REDUCE_prod:
        return eg__reduce(r, product<T>(), s);
    case EG__REDUCE_mean:
        return eg__reduce(r, sum<T>{PLAIN, 0, (T)r.count}, s);
    case EG__REDUCE_norm:
        return eg__reduce(r, sum<T>{how.p == 1 ? ABSOLUTE : SQUARE, how.p == 2, 1}, s);
    case EG__REDUCE_sum:
        return eg__reduce(r, sum<T>{PLAIN, 0, 1}, s);
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t eg__launch_sum(const eg__reduction *r, const eg__reduce_how *how, cudaStream_t s)
{
    const bool power = how->op == EG__REDUCE_norm && how->p != 1 && how->p != 2;
    switch (r->in) {
    case EG__IN_F32:
        return power ? eg__reduce(*r, power_sum<float>{(float)how->p}, s) : start_sum<float>(*r, *how, s);
    case EG__IN_F64:
        return power ? eg__reduce(*r, power_sum<double>{how->p}, s) : start_sum<double>(*r, *how, s);
    default:
        return start_sum<int64_t>(*r, *how, s);
    }
}

/* ---- counts ---------------------------------------------------------------------------------------------- */

/* What is not zero; as a truth, whether there are some, or as many as all. */
template <class T> struct count {
    typedef T number;
    typedef int64_t state;
    int64_t all; /* 0: the number itself */

    EG__FN state none() const
    {
        return 0;
    }
    EG__FN void take(state &s, T v, int64_t) const
    {
        s += v != 0;
    }
    EG__FN void take4(state &s, const T v[4], int64_t) const
    {
        s += (v[0] != 0) + (v[1] != 0) + (v[2] != 0) + (v[3] != 0);
    }
    EG__FN state both(state a, state b) const
    {
        return a + b;
    }
    EG__FN void put(char *y, int dtype, state s) const
    {
        eg__put(y, dtype, dtype == EG_I64 ? s : (int64_t)(s >= all));
    }
};

cudaError_t eg__launch_count(const eg__reduction *r, const eg__reduce_how *how, cudaStream_t s)
{
    const int64_t all = how->op == EG__REDUCE_any ? 1 : r->count;
    switch (r->in) {
    case EG__IN_F32:
        return eg__reduce(*r, count<float>{all}, s);
    case EG__IN_F64:
        return eg__reduce(*r, count<double>{all}, s);
    default:
        return eg__reduce(*r, count<int64_t>{all}, s);
    }
}
