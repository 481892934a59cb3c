/* attention.cuh - attention without its weights in memory: a block goes over the keys of a tile of queries, or over the
 * queries of a tile of keys, with a tile of weights at a time, in registers. Tiles are added up in one order, so
 * results are the same every time. How threads share a tile and multiply is an engine's, E:
 *
 *   E::number         what it computes in
 *   E::SIDE           rows and columns of a tile
 *   E::THREADS        of a block
 *   E::ROWS, COLUMNS  of a tile, that a thread has: E::row(i) and E::column(j) say which
 *   E::STRETCHES      of SIDE columns of a result that a block makes; there is a slice of blocks for every so many,
 *                     each with the scores of its own
 *   E::room           its shared memory
 *
 *   multiply_rows, multiply_tile, sum_of_row, top_of_row, dropped, dropped_turned: see attention.cu */
#ifndef EGRET_CUDA_ATTENTION_CUH
#define EGRET_CUDA_ATTENTION_CUH

#include "lib/cuda/attention/attention.h"
#include "lib/cuda/random/draws.cuh"
#include "lib/cuda/common/element.cuh"
#include "lib/cuda/common/math.cuh"

/* One of the operand's matrices. */
struct eg__matrix {
    char *p;
    int64_t row;
    int rows, columns, wide;

    EG__FN eg__matrix(const eg__attention_operand &o, const eg__attention &a, int64_t b, int m, int n)
        : p(o.p), row(o.row), rows(m), columns(n), wide(o.wide)
    {
        for (int d = a.nlead - 1; d >= 0; d--) {
            p += b % a.lead[d] * o.lead[d];
            b /= a.lead[d];
        }
    }
};

/* ---- weights --------------------------------------------------------------------------------------------- */

/* What a block knows of its matrix of weights. */
struct eg__weighing_of {
    const char *mask;
    int64_t first, row; /* number of the first weight of the matrix; bytes of a row of the mask */

    EG__FN eg__weighing_of(const eg__attention &a, int64_t b)
        : mask(eg__matrix(a.mask, a, b, a.t, a.s).p), first(0), row(a.mask.row)
    {
        for (int d = a.nlead - 1; d >= 0; d--) {
            first += b % a.lead[d] * a.weights[d];
            b /= a.lead[d];
        }
    }
    EG__FN bool hidden(const eg__attention &a, int t, int s) const
    {
        return t >= a.t || s >= a.s || s - t < a.low || s - t > a.high ||
               (mask && a.mask_dtype == EG_BOOL && !mask[t * row + s * a.mask_column]);
    }
    /* A score with its mask, -infinity where it is hidden. */
    template <class T> EG__FN T masked(const eg__attention &a, T x, int t, int s, bool hide) const
    {
        if (mask && a.mask_dtype != EG_BOOL && t < a.t && s < a.s) {
            x += eg__get<T>(mask + t * row + s * a.mask_column, a.mask_dtype);
        }
        return hide ? -(T)INFINITY : x;
    }
    /* Bit i: weight s + i of row t is dropped. */
    template <int R> EG__FN unsigned dropped(const eg__attention &a, int t, int s) const
    {
        unsigned bits = 0;
        if (a.threshold) {
            const int64_t at = first + (int64_t)t * a.s + s;
            const unsigned skip = (unsigned)at & 3;
            uint32_t w[8] = {0};
            eg__words_of(a.from, at / 4, w);
            if (skip + R > 4) {
                eg__words_of(a.from, at / 4 + 1, w + 4);
            }
#pragma unroll
            for (int i = 0; i < 8; i++) {
                bits |= eg__chance(w[i], a.threshold) << i;
            }
            bits >>= skip;
        }
        return bits;
    }
};

/* ---- blocks ---------------------------------------------------------------------------------------------- */

/* Which tile of which matrix: blocks of a matrix lie side by side. The last tiles, which see the most keys where that
 * is causal, come first. */
template <int ROWS> struct eg__tile_spot {
    int64_t b;
    int row;

    EG__FN eg__tile_spot(int rows, bool back)
    {
        const unsigned tiles = (unsigned)(rows + ROWS - 1) / ROWS, i = blockIdx.x % tiles;
        b = blockIdx.x / tiles;
        row = (int)(back ? tiles - 1 - i : i) * ROWS;
    }
};

/* The keys some of a tile of queries sees by their places, and the queries that see some of a tile of keys: whole
 * tiles from a first one on. */
struct eg__reach {
    int first, end;

    EG__FN eg__reach(int tile, int from, int64_t until, int most)
        : first(max(0, from) / tile * tile), end(until < 0      ? 0
                                                 : until < most ? (int)until
                                                                : most)
    {
    }
};

template <int SIDE> static EG__FN eg__reach eg__keys_of(const eg__attention &a, int row)
{
    return eg__reach(SIDE, row + a.low, (int64_t)row + SIDE + a.high, a.s);
}

template <int SIDE> static EG__FN eg__reach eg__queries_of(const eg__attention &a, int key)
{
    return eg__reach(SIDE, key - a.high, (int64_t)key + SIDE - a.low, a.t);
}

/* Rows of a result from `row` on, times a factor for each. */
template <class E>
static EG__FN void eg__put_rows(const eg__attention &a, const eg__matrix &m, int row, int column,
                                typename E::number (*out)[E::ROWS][E::COLUMNS], const typename E::number *factor)
{
#pragma unroll
    for (int i = 0; i < E::ROWS; i++) {
        const int r = row + E::row(i);
        char *p = m.p + r * m.row;
#pragma unroll
        for (int k = 0; k < E::STRETCHES; k++) {
#pragma unroll
            for (int j = 0; j < E::COLUMNS; j++) {
                const int c = column + k * E::SIDE + E::column(j);
                if (r < m.rows && c < m.columns) {
                    eg__put(p + (int64_t)c * a.size, a.dtype, out[k][i][j] * factor[i]);
                }
            }
        }
    }
}

/* Scores of products, in a loop of their own: the cap takes registers. */
template <class E> static EG__FN void eg__score_tile(const eg__attention &a, typename E::number (*x)[E::COLUMNS])
{
    typedef typename E::number T;
    const T scale = (T)a.scale, cap = (T)a.softcap;
#pragma unroll
    for (int i = 0; i < E::ROWS; i++) {
#pragma unroll
        for (int j = 0; j < E::COLUMNS; j++) {
            x[i][j] *= scale;
            if (cap > 0) {
                x[i][j] = cap * eg__fn_tanh(x[i][j] / cap);
            }
        }
    }
}

/* ---- forward --------------------------------------------------------------------------------------------- */

/* A tile of scores becomes powers to the largest of their rows, which `out` and `sum` follow; then dropped. */
template <class E>
static EG__FN void eg__weigh_tile(const eg__attention &a, const eg__weighing_of &w, int row, int key,
                                  typename E::number (*x)[E::COLUMNS], typename E::number *top, typename E::number *sum,
                                  typename E::number (*out)[E::ROWS][E::COLUMNS])
{
    typedef typename E::number T;
    const unsigned dropped = a.threshold ? E::dropped(a, w, row, key) : 0;
    eg__score_tile<E>(a, x);
#pragma unroll
    for (int i = 0; i < E::ROWS; i++) {
        const int t = row + E::row(i);
        T most = -(T)INFINITY, part = 0;
#pragma unroll
        for (int j = 0; j < E::COLUMNS; j++) {
            const int s = key + E::column(j);
            x[i][j] = w.masked(a, x[i][j], t, s, w.hidden(a, t, s));
            most = max(most, x[i][j]);
        }
        most = max(top[i], E::top_of_row(most));
        const T less = most == -(T)INFINITY ? 0 : most, fade = eg__fn_exp(top[i] - less);
#pragma unroll
        for (int j = 0; j < E::COLUMNS; j++) {
            const T v = eg__fn_exp(x[i][j] - less);
            part += v;
            x[i][j] = dropped >> (i * E::COLUMNS + j) & 1 ? 0 : v;
        }
        top[i] = most;
        sum[i] = sum[i] * fade + part;
#pragma unroll
        for (int k = 0; k < E::STRETCHES; k++) {
#pragma unroll
            for (int j = 0; j < E::COLUMNS; j++) {
                out[k][i][j] *= fade;
            }
        }
    }
}

template <class E> __global__ void __launch_bounds__(E::THREADS, E::BLOCKS) attend(const eg__attention a)
{
    typedef typename E::number T;
    __shared__ typename E::room s;
    const eg__tile_spot<E::SIDE> at(a.t, a.high < a.s - 1);
    const eg__matrix q(a.q, a, at.b, a.t, a.d), k(a.k, a, at.b, a.s, a.d), v(a.v, a, at.b, a.s, a.columns);
    const eg__weighing_of w(a, at.b);
    const int column = blockIdx.y * E::STRETCHES * E::SIDE;
    const eg__reach keys = eg__keys_of<E::SIDE>(a, at.row);
    T top[E::ROWS], sum[E::ROWS], out[E::STRETCHES][E::ROWS][E::COLUMNS] = {};
#pragma unroll
    for (int i = 0; i < E::ROWS; i++) {
        top[i] = -(T)INFINITY;
        sum[i] = 0;
    }
    for (int key = keys.first; key < keys.end; key += E::SIDE) {
        T x[E::ROWS][E::COLUMNS];
        E::multiply_rows(s, a, q, at.row, k, key, x);
        eg__weigh_tile<E>(a, w, at.row, key, x, top, sum, out);
        E::multiply_tile(s, a, x, v, key, column, out);
    }
    const eg__matrix y(a.y, a, at.b, a.t, a.columns);
#pragma unroll
    for (int i = 0; i < E::ROWS; i++) {
        const int t = at.row + E::row(i);
        const T total = E::sum_of_row(sum[i]);
        /* Of a row that sees nothing all that its weights are computed of is 0. */
        if (!blockIdx.y && !E::column(0) && t < a.t) {
            ((T *)a.stats)[at.b * a.t + t] = total == 0 ? (T)INFINITY : top[i] + eg__fn_log(total);
        }
        sum[i] = total == 0 ? 0 : (a.threshold ? (T)a.keep : 1) / total;
    }
    eg__put_rows<E>(a, y, at.row, column, out, sum);
}

/* ---- gradients ------------------------------------------------------------------------------------------- */

/* Of a product of q and k: the weight; of one of dy and v: the gradient of the score. */
template <class T>
static EG__FN void eg__slope_of(const eg__attention &a, const eg__weighing_of &w, T stat, T delta, int t, int s,
                                bool dropped, T &x, T &g)
{
    const bool hide = w.hidden(a, t, s);
    const T power = t < a.t && s < a.s ? eg__fn_exp(w.masked(a, x, t, s, hide) - stat) : 0;
    const T keep = dropped ? 0 : a.threshold ? (T)a.keep : 1;
    const T share = a.softcap > 0 ? x / (T)a.softcap : 0; /* the slope of the cap is 1 less its square */
    g = hide ? 0 : power * (keep * g - delta) * (1 - share * share) * (T)a.scale;
    x = dropped ? 0 : power * keep;
}

template <class E> __global__ void __launch_bounds__(E::THREADS, E::BLOCKS) grad_queries(const eg__attention a)
{
    typedef typename E::number T;
    __shared__ typename E::room s;
    const eg__tile_spot<E::SIDE> at(a.t, a.high < a.s - 1);
    const eg__matrix q(a.q, a, at.b, a.t, a.d), k(a.k, a, at.b, a.s, a.d), v(a.v, a, at.b, a.s, a.columns);
    const eg__matrix dy(a.dy, a, at.b, a.t, a.columns), dq(a.dq, a, at.b, a.t, a.d);
    const eg__weighing_of w(a, at.b);
    const int column = blockIdx.y * E::STRETCHES * E::SIDE;
    const eg__reach keys = eg__keys_of<E::SIDE>(a, at.row);
    T stat[E::ROWS], delta[E::ROWS], one[E::ROWS], out[E::STRETCHES][E::ROWS][E::COLUMNS] = {};
#pragma unroll
    for (int i = 0; i < E::ROWS; i++) {
        const int t = at.row + E::row(i);
        stat[i] = t < a.t ? ((const T *)a.stats)[at.b * a.t + t] : 0;
        delta[i] = t < a.t ? ((const T *)a.delta)[at.b * a.t + t] : 0;
        one[i] = 1;
    }
    for (int key = keys.first; key < keys.end; key += E::SIDE) {
        T x[E::ROWS][E::COLUMNS], g[E::ROWS][E::COLUMNS];
        E::multiply_rows(s, a, q, at.row, k, key, x);
        E::multiply_rows(s, a, dy, at.row, v, key, g);
        eg__score_tile<E>(a, x);
        const unsigned dropped = a.threshold ? E::dropped(a, w, at.row, key) : 0;
#pragma unroll
        for (int i = 0; i < E::ROWS; i++) {
#pragma unroll
            for (int j = 0; j < E::COLUMNS; j++) {
                eg__slope_of(a, w, stat[i], delta[i], at.row + E::row(i), key + E::column(j),
                             dropped >> (i * E::COLUMNS + j) & 1, x[i][j], g[i][j]);
            }
        }
        E::multiply_tile(s, a, g, k, key, column, out);
    }
    eg__put_rows<E>(a, dq, at.row, column, out, one);
}

/* Rows of its tiles are keys, columns queries. */
template <class E> __global__ void __launch_bounds__(E::THREADS, E::FEWER) grad_keys(const eg__attention a)
{
    typedef typename E::number T;
    __shared__ typename E::room s;
    const eg__tile_spot<E::SIDE> at(a.s, false);
    const eg__matrix q(a.q, a, at.b, a.t, a.d), k(a.k, a, at.b, a.s, a.d), v(a.v, a, at.b, a.s, a.columns);
    const eg__matrix dy(a.dy, a, at.b, a.t, a.columns);
    const eg__matrix dk(a.dk, a, at.b, a.s, a.d), dv(a.dv, a, at.b, a.s, a.columns);
    const eg__weighing_of w(a, at.b);
    const int column = blockIdx.y * E::STRETCHES * E::SIDE;
    const eg__reach queries = eg__queries_of<E::SIDE>(a, at.row);
    T one[E::ROWS], to_k[E::STRETCHES][E::ROWS][E::COLUMNS] = {}, to_v[E::STRETCHES][E::ROWS][E::COLUMNS] = {};
#pragma unroll
    for (int i = 0; i < E::ROWS; i++) {
        one[i] = 1;
    }
    for (int row = queries.first; row < queries.end; row += E::SIDE) {
        T x[E::ROWS][E::COLUMNS], g[E::ROWS][E::COLUMNS];
        E::multiply_rows(s, a, k, at.row, q, row, x);
        E::multiply_rows(s, a, v, at.row, dy, row, g);
        eg__score_tile<E>(a, x);
        const unsigned dropped = a.threshold ? E::dropped_turned(a, w, row, at.row) : 0;
#pragma unroll
        for (int j = 0; j < E::COLUMNS; j++) {
            const int t = row + E::column(j);
            const int64_t number = at.b * a.t + t;
            const T stat = t < a.t ? ((const T *)a.stats)[number] : 0;
            const T delta = t < a.t ? ((const T *)a.delta)[number] : 0;
#pragma unroll
            for (int i = 0; i < E::ROWS; i++) {
                eg__slope_of(a, w, stat, delta, t, at.row + E::row(i), dropped >> (i * E::COLUMNS + j) & 1, x[i][j],
                             g[i][j]);
            }
        }
        E::multiply_tile(s, a, x, dy, row, column, to_v);
        E::multiply_tile(s, a, g, q, row, column, to_k);
    }
    eg__put_rows<E>(a, dv, at.row, column, to_v, one);
    eg__put_rows<E>(a, dk, at.row, column, to_k, one);
}

/* ---- launches -------------------------------------------------------------------------------------------- */

/* Tiles of all matrices, slices of so many columns. */
template <class E> static dim3 eg__grid_of(const eg__attention &a, int rows, int columns)
{
    const int wide = E::STRETCHES * E::SIDE, slices = (columns + wide - 1) / wide;
    return dim3((unsigned)(a.batches * ((rows + E::SIDE - 1) / E::SIDE)), (unsigned)max(slices, 1), 1);
}

template <class E> static cudaError_t eg__attend(const eg__attention &a, cudaStream_t s)
{
    const dim3 grid = eg__grid_of<E>(a, a.t, a.columns);
    return EG__LAUNCH(attend<E>, grid, E::THREADS, 0, s, a);
}

/* Once delta is there. K: of the kernel that has two results. */
template <class E, class K = E> static cudaError_t eg__attend_back(const eg__attention &a, cudaStream_t s)
{
    cudaError_t e = cudaSuccess;
    if (a.s) {
        const dim3 grid = eg__grid_of<K>(a, a.s, max(a.d, a.columns));
        e = EG__LAUNCH(grad_keys<K>, grid, K::THREADS, 0, s, a);
    }
    if (!e && a.t) {
        const dim3 grid = eg__grid_of<E>(a, a.t, a.d);
        e = EG__LAUNCH(grad_queries<E>, grid, E::THREADS, 0, s, a);
    }
    return e;
}

#endif
