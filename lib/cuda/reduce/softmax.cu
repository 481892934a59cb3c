/* softmax.cu - softmax, its logarithm and their gradients along one axis: short lines are held in registers by
 * part of a warp up to a block, longer ones read twice, lines across memory read by neighbouring threads. */
#include "lib/cuda/reduce/softmax.cuh"
#include "lib/cuda/reduce/softmax.h"

/* ---- what is computed --------------------------------------------------------------------------------- */

template <class T> struct largest {
    EG__FN T both(T a, T b) const
    {
        return eg__top(a, b);
    }
};

template <class T> struct total {
    EG__FN T both(T a, T b) const
    {
        return a + b;
    }
};

/* An element from x, given what is known of the line; and the logarithm. */
template <class T> struct forward {
    T top, scale, less;
    bool logarithm;

    EG__FN forward(const eg__weighed<T> &s, bool log)
        : top(s.top), scale(1 / s.sum), less(log ? eg__fn_log(s.sum) : 0), logarithm(log)
    {
    }
    EG__FN T at(T x) const
    {
        return logarithm ? x - top - less : eg__fn_exp(x - top) * scale;
    }
    EG__FN void one(const T *v, T &y, int64_t) const
    {
        y = at(v[0]);
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *y, int64_t) const
    {
#pragma unroll(sizeof(T) == 4 ? 4 : 1)
        for (int i = 0; i < EG__QUAD; i++) {
            y[i] = at(v[0][i]);
        }
    }
};

/* dx from y and dy. */
template <class T> struct backward {
    T sum;
    bool logarithm;

    EG__FN T at(T y, T dy) const
    {
        return logarithm ? dy - eg__fn_exp(y) * sum : y * (dy - sum);
    }
    EG__FN void one(const T *v, T &dx, int64_t) const
    {
        dx = at(v[0], v[1]);
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *dx, int64_t) const
    {
#pragma unroll(sizeof(T) == 4 ? 4 : 1)
        for (int i = 0; i < EG__QUAD; i++) {
            dx[i] = at(v[0][i], v[1][i]);
        }
    }
};

/* The first reading of a line: ... */
template <class T> struct weigh : eg__weighing<T> {
    eg__weighed<T> s;

    EG__FN weigh() : s(this->none()) {}
    EG__FN void one(const T *v, T &, int64_t j)
    {
        this->take(s, v[0], j);
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *, int64_t j)
    {
        this->take4(s, v[0], j);
    }
};

/* ... for the gradient, the sum of dy y, or of dy. */
template <class T> struct slope {
    T s;
    bool logarithm;

    EG__FN void one(const T *v, T &, int64_t)
    {
        s += logarithm ? v[1] : v[0] * v[1];
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *, int64_t)
    {
        T sum = 0;
#pragma unroll
        for (int i = 0; i < EG__QUAD; i++) {
            sum += logarithm ? v[1][i] : v[0][i] * v[1][i];
        }
        s += sum;
    }
};

/* ---- lines held in registers -------------------------------------------------------------------------- */

/* Up to QUADS times four elements a thread, of N operands. */
template <class T, int N, int QUADS> struct held {
    T v[N][QUADS][EG__QUAD];
    bool four;
    unsigned lane, lanes, n;

    EG__FN int64_t place(int q, int i) const
    {
        return four ? (q * lanes + lane) * EG__QUAD + i : (q * EG__QUAD + i) * lanes + lane;
    }
    /* Elements there are not become `none`. */
    template <int M> EG__FN void read(const eg__lines &l, const eg__line_at<M> &at, T none)
    {
        const int size = l.size[0];
        four = n % EG__QUAD == 0 && at.in_step(l) && !((uintptr_t)at.p[0] & (eg__quad_bytes(size) - 1));
        if (four) {
            eg__quad<T> raw[QUADS][N];
#pragma unroll
            for (int q = 0; q < QUADS; q++) {
#pragma unroll
                for (int k = 0; k < N; k++) {
                    if (place(q, 0) < n) {
                        raw[q][k] = eg__get_quad<T>(at.p[k] + place(q, 0) * size, size);
                    }
                }
            }
#pragma unroll
            for (int q = 0; q < QUADS; q++) {
#pragma unroll
                for (int k = 0; k < N; k++) {
                    if (place(q, 0) < n) {
                        eg__open_quad(raw[q][k], l.dtype[0], v[k][q]);
                    } else {
                        v[k][q][0] = v[k][q][1] = v[k][q][2] = v[k][q][3] = none;
                    }
                }
            }
            return;
        }
#pragma unroll
        for (int k = 0; k < N; k++) {
            typename eg__bits_of<T>::type bits[QUADS][EG__QUAD];
#pragma unroll
            for (int e = 0; e < QUADS * EG__QUAD; e++) {
                const int64_t j = place(e / EG__QUAD, e % EG__QUAD);
                if (j < n) {
                    bits[e / EG__QUAD][e % EG__QUAD] = eg__bits(at.p[k] + j * l.step[k], l.size[k], T());
                }
            }
#pragma unroll
            for (int e = 0; e < QUADS * EG__QUAD; e++) {
                const int64_t j = place(e / EG__QUAD, e % EG__QUAD);
                v[k][e / EG__QUAD][e % EG__QUAD] =
                    j < n ? eg__value(bits[e / EG__QUAD][e % EG__QUAD], l.dtype[k], T()) : none;
            }
        }
    }
    /* v[0] into an operand. */
    EG__FN void write(const eg__lines &l, char *to, int k) const
    {
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            if (four) {
                if (place(q, 0) < n) {
                    eg__put_quad(to + place(q, 0) * l.size[k], l.dtype[k], v[0][q]);
                }
                continue;
            }
#pragma unroll
            for (int i = 0; i < EG__QUAD; i++) {
                if (place(q, i) < n) {
                    eg__put(to + place(q, i) * l.step[k], l.dtype[k], v[0][q][i]);
                }
            }
        }
    }
};

/* Enough for EG__SOFTMAX_HELD in a block. */
enum { QUADS = EG__SOFTMAX_HELD / EG__LINE_BLOCK / EG__QUAD };

#define HELD_KERNEL(T) __global__ void __launch_bounds__(EG__LINE_BLOCK, sizeof(T) == 4 ? 4 : 2)

template <class T> HELD_KERNEL(T) softmax_held(const eg__lines l, bool logarithm)
{
    __shared__ T room[2][EG__LINE_BLOCK / 32];
    const int64_t i = eg__own_line(l.lanes);
    const eg__line_at<2> at(l, i < l.at.n ? i : 0);
    held<T, 1, QUADS> x;
    x.lane = threadIdx.x & (l.lanes - 1);
    x.lanes = l.lanes;
    x.n = (unsigned)l.n;
    x.read(l, at, -(T)INFINITY);
    eg__weighed<T> s = eg__weighed_none<T>();
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        s.top = eg__top(s.top, eg__top4(x.v[0][q]));
    }
    s.top = eg__join_lanes(largest<T>(), s.top, l.lanes, room[0]);
#pragma unroll
    for (int e = 0; e < QUADS * EG__QUAD; e++) {
        T &v = x.v[0][e / EG__QUAD][e % EG__QUAD];
        const T less = v - s.top, power = eg__fn_exp(less);
        s.sum += power;
        v = logarithm ? less : power;
    }
    s.sum = eg__join_lanes(total<T>(), s.sum, l.lanes, room[1]);
    const T by = logarithm ? eg__fn_log(s.sum) : 1 / s.sum;
#pragma unroll
    for (int e = 0; e < QUADS * EG__QUAD; e++) {
        T &v = x.v[0][e / EG__QUAD][e % EG__QUAD];
        v = logarithm ? v - by : v * by;
    }
    if (i < l.at.n) {
        x.write(l, at.p[1], 1);
    }
}

template <class T> HELD_KERNEL(T) softmax_grad_held(const eg__lines l, bool logarithm)
{
    __shared__ T room[EG__LINE_BLOCK / 32];
    const int64_t i = eg__own_line(l.lanes);
    const eg__line_at<3> at(l, i < l.at.n ? i : 0);
    held<T, 2, QUADS> x;
    x.lane = threadIdx.x & (l.lanes - 1);
    x.lanes = l.lanes;
    x.n = (unsigned)l.n;
    x.read(l, at, 0);
    slope<T> sum = {0, logarithm};
#pragma unroll
    for (int e = 0; e < QUADS * EG__QUAD; e++) {
        const T v[2] = {x.v[0][e / EG__QUAD][e % EG__QUAD], x.v[1][e / EG__QUAD][e % EG__QUAD]};
        T none;
        sum.one(v, none, 0);
    }
    const backward<T> f = {eg__join_lanes(total<T>(), sum.s, l.lanes, room), logarithm};
#pragma unroll
    for (int e = 0; e < QUADS * EG__QUAD; e++) {
        T &y = x.v[0][e / EG__QUAD][e % EG__QUAD];
        y = f.at(y, x.v[1][e / EG__QUAD][e % EG__QUAD]);
    }
    if (i < l.at.n) {
        x.write(l, at.p[2], 2);
    }
}

/* ---- longer lines: a block of many threads each ------------------------------------------------------- */

enum { LONG_BLOCK = 512 };

template <class T>
__global__ void __launch_bounds__(LONG_BLOCK, sizeof(T) == 4 ? 2 : 1) softmax_long(const eg__lines l, bool logarithm)
{
    __shared__ eg__weighed<T> room[LONG_BLOCK / 32];
    const eg__line_at<2> at(l, blockIdx.x);
    eg__line_at<1> from(l, blockIdx.x);
    weigh<T> w;
    eg__along_line<T, 1, 0>(l, from, threadIdx.x, LONG_BLOCK, w);
    const forward<T> f(eg__join_lanes(eg__weighing<T>(), w.s, LONG_BLOCK, room), logarithm);
    eg__along_line<T, 1, 1>(l, at, threadIdx.x, LONG_BLOCK, f);
}

template <class T>
__global__ void __launch_bounds__(LONG_BLOCK, sizeof(T) == 4 ? 2 : 1)
    softmax_grad_long(const eg__lines l, bool logarithm)
{
    __shared__ T room[LONG_BLOCK / 32];
    const eg__line_at<3> at(l, blockIdx.x);
    const eg__line_at<2> from(l, blockIdx.x);
    slope<T> sum = {0, logarithm};
    eg__along_line<T, 2, 0>(l, from, threadIdx.x, LONG_BLOCK, sum);
    const backward<T> f = {eg__join_lanes(total<T>(), sum.s, LONG_BLOCK, room), logarithm};
    eg__along_line<T, 2, 1>(l, at, threadIdx.x, LONG_BLOCK, f);
}

/* ---- lines across memory ------------------------------------------------------------------------------ */

/* Thread t is of line t % wide, and takes every (block / wide)th element: f.one(v, y, j). */
template <class T, int IN, int OUT, class F>
static EG__FN void across(const eg__lines &l, const eg__line_at<IN + OUT> &at, F &f)
{
    enum { AHEAD = 4, TO = IN + OUT - 1 };
    const unsigned wide = EG__LINE_BLOCK / l.lanes;
    for (int64_t j = threadIdx.x / wide; j < l.n; j += AHEAD * l.lanes) {
        typename eg__bits_of<T>::type bits[AHEAD][IN];
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
#pragma unroll
            for (int k = 0; k < IN; k++) {
                if (j + a * l.lanes < l.n) {
                    bits[a][k] = eg__bits(at.p[k] + (j + a * l.lanes) * l.step[k], l.size[k], T());
                }
            }
        }
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            if (j + a * l.lanes < l.n) {
                T v[IN], y;
#pragma unroll
                for (int k = 0; k < IN; k++) {
                    v[k] = eg__value(bits[a][k], l.dtype[k], T());
                }
                f.one(v, y, j + a * l.lanes);
                if (OUT) {
                    eg__put(at.p[TO] + (j + a * l.lanes) * l.step[TO], l.dtype[TO], y);
                }
            }
        }
    }
}

#define ACROSS_KERNEL(T) __global__ void __launch_bounds__(EG__LINE_BLOCK, EG__LINE_BLOCKS(T))

template <class T> ACROSS_KERNEL(T) softmax_across(const eg__lines l, bool logarithm)
{
    __shared__ eg__weighed<T> room[EG__LINE_BLOCK];
    const unsigned wide = EG__LINE_BLOCK / l.lanes;
    const int64_t i = (int64_t)blockIdx.x * wide + (threadIdx.x & (wide - 1));
    const eg__line_at<2> at(l, i < l.at.n ? i : 0);
    const eg__line_at<1> from(l, i < l.at.n ? i : 0);
    weigh<T> w;
    if (i < l.at.n) {
        across<T, 1, 0>(l, from, w);
    }
    const forward<T> f(eg__join_columns(eg__weighing<T>(), w.s, wide, room), logarithm);
    if (i < l.at.n) {
        across<T, 1, 1>(l, at, f);
    }
}

template <class T> ACROSS_KERNEL(T) softmax_grad_across(const eg__lines l, bool logarithm)
{
    __shared__ T room[EG__LINE_BLOCK];
    const unsigned wide = EG__LINE_BLOCK / l.lanes;
    const int64_t i = (int64_t)blockIdx.x * wide + (threadIdx.x & (wide - 1));
    const eg__line_at<3> at(l, i < l.at.n ? i : 0);
    const eg__line_at<2> from(l, i < l.at.n ? i : 0);
    slope<T> sum = {0, logarithm};
    if (i < l.at.n) {
        across<T, 2, 0>(l, from, sum);
    }
    const backward<T> f = {eg__join_columns(total<T>(), sum.s, wide, room), logarithm};
    if (i < l.at.n) {
        across<T, 2, 1>(l, at, f);
    }
}

/* ---- launches ----------------------------------------------------------------------------------------- */

template <class T> static cudaError_t start(const eg__lines &l, bool logarithm, cudaStream_t s)
{
    const unsigned grid = eg__line_blocks(l.at.n, EG__LINE_BLOCK / l.lanes);
    if (!l.along) {
        return EG__LAUNCH(softmax_across<T>, grid, EG__LINE_BLOCK, 0, s, l, logarithm);
    }
    return l.n <= EG__SOFTMAX_HELD ? EG__LAUNCH(softmax_held<T>, grid, EG__LINE_BLOCK, 0, s, l, logarithm)
                                   : EG__LAUNCH(softmax_long<T>, (unsigned)l.at.n, LONG_BLOCK, 0, s, l, logarithm);
}

template <class T> static cudaError_t start_grad(const eg__lines &l, bool logarithm, cudaStream_t s)
{
    const unsigned grid = eg__line_blocks(l.at.n, EG__LINE_BLOCK / l.lanes);
    if (!l.along) {
        return EG__LAUNCH(softmax_grad_across<T>, grid, EG__LINE_BLOCK, 0, s, l, logarithm);
    }
    return l.n <= EG__SOFTMAX_HELD ? EG__LAUNCH(softmax_grad_held<T>, grid, EG__LINE_BLOCK, 0, s, l, logarithm)
                                   : EG__LAUNCH(softmax_grad_long<T>, (unsigned)l.at.n, LONG_BLOCK, 0, s, l, logarithm);
}

cudaError_t eg__launch_softmax(const eg__lines *l, int logarithm, cudaStream_t s)
{
    return l->in == EG__IN_F64 ? start<double>(*l, logarithm, s) : start<float>(*l, logarithm, s);
}

cudaError_t eg__launch_softmax_grad(const eg__lines *l, int logarithm, cudaStream_t s)
{
    return l->in == EG__IN_F64 ? start_grad<double>(*l, logarithm, s) : start_grad<float>(*l, logarithm, s);
}
