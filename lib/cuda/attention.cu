/* attention.cu - attention without its weights in memory: a block goes over the keys of a tile of queries, or over
 * the queries of a tile of keys, with a tile of weights at a time. Products are of registers with what is staged in
 * shared memory; tiles are added up in one order, so results are the same every time.
 *
 * Threads of a block lie 16 x 16; a thread has R x R elements of a tile of scores, and R rows of N times R columns of
 * a result: columns in stretches of 16 R. Results of more columns are made in slices, each with the scores of its own. */
#include "lib/cuda/attention.h"
#include "lib/cuda/draws.cuh"
#include "lib/cuda/element.cuh"
#include "lib/cuda/math.cuh"

enum { SIDE = 16, THREADS = SIDE * SIDE, DEPTH = 32 };

/* ---- tiles in shared memory ------------------------------------------------------------------------------ */

/* What a thread reads at once: 16 bytes. */
template <class T, int R> struct __align__(16) strip {
    T v[R];
};

/* Two staged pieces, and a tile of weights by column, a little apart so that columns are in different banks. */
template <class T, int R> struct __align__(16) room {
    T a[DEPTH][SIDE * R], b[DEPTH][SIDE * R], tile[SIDE * R][SIDE * R + R];
};

template <class T, int R> static EG__FN strip<T, R> strip_at(const T *p)
{
    return *reinterpret_cast<const strip<T, R> *>(p);
}

/* One of the operand's matrices. */
struct matrix {
    char *p;
    int64_t row;
    int rows, columns, wide;

    EG__FN matrix(const eg__attention_operand &o, const eg__attention &a, int64_t b, int m, int n)
        : p(o.p), row(o.row), rows(m), columns(n), wide(o.wide)
    {
        for (int d = a.nlead - 1; d >= 0; d--) {
            p += b % a.lead[d] * o.lead[d];
            b /= a.lead[d];
        }
    }
};

static EG__FN void read_group(const char *p, int dtype, float *v)
{
    eg__get_group(p, dtype, v);
}

static EG__FN void read_group(const char *p, int, double *v)
{
#pragma unroll
    for (int i = 0; i < EG__GROUP; i++) {
        v[i] = ((const double *)p)[i];
    }
}

/* Eight elements of a row from column c on, 0 where there are none. */
template <class T>
static EG__FN void read_row(const eg__attention &a, const matrix &m, int row, int c, T v[EG__GROUP])
{
    const char *p = m.p + row * m.row + (int64_t)c * a.size;
    if (row < m.rows && m.wide && c + EG__GROUP <= m.columns) {
        read_group(p, a.dtype, v);
        return;
    }
#pragma unroll
    for (int i = 0; i < EG__GROUP; i++) {
        v[i] = row < m.rows && c + i < m.columns ? eg__get<T>(p + i * a.size, a.dtype) : 0;
    }
}

/* to[c][r] = m[row + r][column + c] */
template <class T, int R>
static EG__FN void stage_across(T (*to)[SIDE * R], const eg__attention &a, const matrix &m, int row, int column)
{
    for (int g = threadIdx.x; g < SIDE * R * DEPTH / EG__GROUP; g += THREADS) {
        const int r = g % (SIDE * R), c = g / (SIDE * R) * EG__GROUP;
        T v[EG__GROUP];
        read_row(a, m, row + r, column + c, v);
#pragma unroll
        for (int i = 0; i < EG__GROUP; i++) {
            to[c + i][r] = v[i];
        }
    }
}

/* to[r][c] = m[row + r][column + c] */
template <class T, int R>
static EG__FN void stage_along(T (*to)[SIDE * R], const eg__attention &a, const matrix &m, int row, int column)
{
    enum { GROUPS = SIDE * R / EG__GROUP };
    for (int g = threadIdx.x; g < DEPTH * GROUPS; g += THREADS) {
        const int r = g / GROUPS, c = g % GROUPS * EG__GROUP;
        T v[EG__GROUP];
        read_row(a, m, row + r, column + c, v);
#pragma unroll
        for (int i = 0; i < EG__GROUP; i++) {
            to[r][c + i] = v[i];
        }
    }
}

/* ---- products -------------------------------------------------------------------------------------------- */

/* out[i][j] += u[i] w[j] */
template <class T, int R> static EG__FN void add_product(T (*out)[R], const strip<T, R> &u, const strip<T, R> &w)
{
#pragma unroll
    for (int i = 0; i < R; i++) {
#pragma unroll
        for (int j = 0; j < R; j++) {
            out[i][j] += u.v[i] * w.v[j];
        }
    }
}

/* out = rows of x from `row` on times rows of y from `other` on. */
template <class T, int R>
static EG__FN void multiply_rows(room<T, R> &s, const eg__attention &a, const matrix &x, int row, const matrix &y,
                                 int other, T out[R][R])
{
    const int ty = threadIdx.x / SIDE * R, tx = threadIdx.x % SIDE * R;
#pragma unroll
    for (int e = 0; e < R * R; e++) {
        out[e / R][e % R] = 0;
    }
    for (int c = 0; c < x.columns; c += DEPTH) {
        const int n = min((int)DEPTH, x.columns - c);
        __syncthreads();
        stage_across<T, R>(s.a, a, x, row, c);
        stage_across<T, R>(s.b, a, y, other, c);
        __syncthreads();
#pragma unroll 4
        for (int d = 0; d < n; d++) {
            add_product(out, strip_at<T, R>(&s.a[d][ty]), strip_at<T, R>(&s.b[d][tx]));
        }
    }
}

/* The block's tile becomes these elements, with the columns as rows. */
template <class T, int R> static EG__FN void put_tile(room<T, R> &s, const T x[R][R])
{
    const int ty = threadIdx.x / SIDE * R, tx = threadIdx.x % SIDE * R;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < R; j++) {
        strip<T, R> u;
#pragma unroll
        for (int i = 0; i < R; i++) {
            u.v[i] = x[i][j];
        }
        *reinterpret_cast<strip<T, R> *>(&s.tile[tx + j][ty]) = u;
    }
}

/* out += the tile times rows of m from `row` on, columns from `column` on. */
template <class T, int R, int N>
static EG__FN void multiply_tile(room<T, R> &s, const eg__attention &a, const matrix &m, int row, int column,
                                 T (*out)[R][R])
{
    const int ty = threadIdx.x / SIDE * R, tx = threadIdx.x % SIDE * R;
    const int rows = min(SIDE * R, m.rows - row);
    for (int r = 0; r < rows; r += DEPTH) {
        const int n = min((int)DEPTH, rows - r);
#pragma unroll
        for (int k = 0; k < N; k++) {
            if (column + k * SIDE * R >= m.columns) {
                break;
            }
            __syncthreads();
            stage_along<T, R>(s.a, a, m, row + r, column + k * SIDE * R);
            __syncthreads();
#pragma unroll 4
            for (int i = 0; i < n; i++) {
                add_product(out[k], strip_at<T, R>(&s.tile[r + i][ty]), strip_at<T, R>(&s.a[i][tx]));
            }
        }
    }
}

/* Rows of a result from `row` on, times a factor for each. */
template <class T, int R, int N>
static EG__FN void put_rows(const eg__attention &a, const matrix &m, int row, int column, T (*out)[R][R],
                            const T factor[R])
{
    const int ty = threadIdx.x / SIDE * R, tx = threadIdx.x % SIDE * R;
#pragma unroll
    for (int i = 0; i < R; i++) {
        char *p = m.p + (row + ty + i) * m.row;
#pragma unroll
        for (int k = 0; k < N; k++) {
            const int c = column + k * SIDE * R + tx;
#pragma unroll
            for (int j = 0; j < R; j++) {
                if (row + ty + i < m.rows && c + j < m.columns) {
                    eg__put(p + (int64_t)(c + j) * a.size, a.dtype, out[k][i][j] * factor[i]);
                }
            }
        }
    }
}

/* ---- weights --------------------------------------------------------------------------------------------- */

/* What a block knows of its matrix of weights. */
struct weighing {
    const char *mask;
    int64_t first, row; /* number of the first weight of the matrix; bytes of a row of the mask */

    EG__FN weighing(const eg__attention &a, int64_t b)
        : mask(matrix(a.mask, a, b, a.t, a.s).p), first(0), row(a.mask.row)
    {
        for (int d = a.nlead - 1; d >= 0; d--) {
            first += b % a.lead[d] * a.weights[d];
            b /= a.lead[d];
        }
    }
    EG__FN bool hidden(const eg__attention &a, int t, int s) const
    {
        return t >= a.t || s >= a.s || (a.causal && s > t + a.s - a.t) ||
               (mask && a.mask_dtype == EG_BOOL && !mask[t * row + s * a.mask_column]);
    }
    /* A score of a product, -infinity where it is hidden. */
    template <class T> EG__FN T score(const eg__attention &a, T product, int t, int s, bool hide) const
    {
        T x = product * (T)a.scale;
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

/* Of R rows of threads that share them. */
template <class T> static EG__FN T sum_of_row(T v)
{
#pragma unroll
    for (int d = SIDE / 2; d > 0; d /= 2) {
        v += __shfl_xor_sync(0xffffffffu, v, d);
    }
    return v;
}

template <class T> static EG__FN T top_of_row(T v)
{
#pragma unroll
    for (int d = SIDE / 2; d > 0; d /= 2) {
        v = max(v, __shfl_xor_sync(0xffffffffu, v, d));
    }
    return v;
}

/* Of so many blocks at a time. */
#define ATTENTION_KERNEL(blocks) __global__ void __launch_bounds__(THREADS, blocks)

/* ---- forward --------------------------------------------------------------------------------------------- */

/* Which tile of which matrix: blocks of a matrix lie side by side. The last tiles, which see the most keys where that
 * is causal, come first. */
template <int ROWS> struct spot {
    int64_t b;
    int row;

    EG__FN spot(int rows, bool back)
    {
        const unsigned tiles = (unsigned)(rows + ROWS - 1) / ROWS, i = blockIdx.x % tiles;
        b = blockIdx.x / tiles;
        row = (int)(back ? tiles - 1 - i : i) * ROWS;
    }
};

/* How many keys the tile of queries sees, at most. */
template <int ROWS> static EG__FN int keys_of(const eg__attention &a, int row)
{
    return a.causal ? max(0, min(a.s, row + ROWS + a.s - a.t)) : a.s;
}

/* A tile of scores becomes powers to the largest of their rows, which `out` and `sum` follow; then dropped. */
template <class T, int R, int N>
static EG__FN void weigh(const eg__attention &a, const weighing &w, int row, int key, T x[R][R], T top[R], T sum[R],
                         T (*out)[R][R])
{
    const int t = row + threadIdx.x / SIDE * R, s = key + threadIdx.x % SIDE * R;
#pragma unroll
    for (int i = 0; i < R; i++) {
        T most = -(T)INFINITY, part = 0;
#pragma unroll
        for (int j = 0; j < R; j++) {
            x[i][j] = w.score(a, x[i][j], t + i, s + j, w.hidden(a, t + i, s + j));
            most = max(most, x[i][j]);
        }
        most = max(top[i], top_of_row(most));
        const T less = most == -(T)INFINITY ? 0 : most, fade = eg__fn_exp(top[i] - less);
        const unsigned dropped = w.dropped<R>(a, t + i, s);
#pragma unroll
        for (int j = 0; j < R; j++) {
            const T v = eg__fn_exp(x[i][j] - less);
            part += v;
            x[i][j] = dropped >> j & 1 ? 0 : v;
        }
        top[i] = most;
        sum[i] = sum[i] * fade + part;
#pragma unroll
        for (int e = 0; e < N * R; e++) {
            out[e / R][i][e % R] *= fade;
        }
    }
}

template <class T, int R, int N> ATTENTION_KERNEL(sizeof(T) == 4 ? 2 : 1) attend(const eg__attention a)
{
    enum { ROWS = SIDE * R };
    __shared__ room<T, R> s;
    const spot<ROWS> at(a.t, a.causal);
    const matrix q(a.q, a, at.b, a.t, a.d), k(a.k, a, at.b, a.s, a.d), v(a.v, a, at.b, a.s, a.columns);
    const weighing w(a, at.b);
    const int column = blockIdx.y * N * ROWS, keys = keys_of<ROWS>(a, at.row);
    T top[R], sum[R], out[N][R][R] = {};
#pragma unroll
    for (int i = 0; i < R; i++) {
        top[i] = -(T)INFINITY;
        sum[i] = 0;
    }
    for (int key = 0; key < keys; key += ROWS) {
        T x[R][R];
        multiply_rows(s, a, q, at.row, k, key, x);
        weigh<T, R, N>(a, w, at.row, key, x, top, sum, out);
        put_tile(s, x);
        multiply_tile<T, R, N>(s, a, v, key, column, out);
    }
    const matrix y(a.y, a, at.b, a.t, a.columns);
#pragma unroll
    for (int i = 0; i < R; i++) {
        const int t = at.row + threadIdx.x / SIDE * R + i;
        const T total = sum_of_row(sum[i]);
        /* A row that sees nothing is NaN, and so is all that its weights are computed of. */
        if (!blockIdx.y && !(threadIdx.x % SIDE) && t < a.t) {
            ((T *)a.stats)[at.b * a.t + t] = total == 0 ? (T)NAN : top[i] + eg__fn_log(total);
        }
        sum[i] = a.s ? (a.threshold ? (T)a.keep : 1) / total : 0;
    }
    put_rows<T, R, N>(a, y, at.row, column, out, sum);
}

/* ---- gradients ------------------------------------------------------------------------------------------- */

/* A warp for each row. */
template <class T> __global__ void __launch_bounds__(THREADS) sum_rows(const eg__attention a)
{
    const int64_t i = (int64_t)blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    if (i >= a.batches * a.t) {
        return;
    }
    const int t = (int)(i % a.t);
    const matrix y(a.y, a, i / a.t, a.t, a.columns), dy(a.dy, a, i / a.t, a.t, a.columns);
    const char *p = y.p + t * y.row, *dp = dy.p + t * dy.row;
    T sum = 0;
    for (int c = threadIdx.x % 32; c < a.columns; c += 32) {
        sum += eg__get<T>(p + (int64_t)c * a.size, a.dtype) * eg__get<T>(dp + (int64_t)c * a.size, a.dtype);
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    }
    if (!(threadIdx.x % 32)) {
        ((T *)a.delta)[i] = sum;
    }
}

/* Of a product of q and k: the weight; of one of dy and v: the gradient of the score. */
template <class T>
static EG__FN void slope_of(const eg__attention &a, const weighing &w, T stat, T delta, int t, int s, bool dropped,
                            T &x, T &g)
{
    const bool hide = w.hidden(a, t, s);
    const T power = t < a.t && s < a.s ? eg__fn_exp(w.score(a, x, t, s, hide) - stat) : 0;
    const T keep = dropped ? 0 : a.threshold ? (T)a.keep : 1;
    g = hide ? 0 : power * (keep * g - delta) * (T)a.scale;
    x = dropped ? 0 : power * keep;
}

template <class T, int R, int N> ATTENTION_KERNEL(sizeof(T) == 4 ? 2 : 1) grad_queries(const eg__attention a)
{
    enum { ROWS = SIDE * R };
    __shared__ room<T, R> s;
    const spot<ROWS> at(a.t, a.causal);
    const matrix q(a.q, a, at.b, a.t, a.d), k(a.k, a, at.b, a.s, a.d), v(a.v, a, at.b, a.s, a.columns);
    const matrix dy(a.dy, a, at.b, a.t, a.columns), dq(a.dq, a, at.b, a.t, a.d);
    const weighing w(a, at.b);
    const int column = blockIdx.y * N * ROWS, keys = keys_of<ROWS>(a, at.row);
    const int t = at.row + threadIdx.x / SIDE * R, tx = threadIdx.x % SIDE * R;
    T stat[R], delta[R], one[R], out[N][R][R] = {};
#pragma unroll
    for (int i = 0; i < R; i++) {
        stat[i] = t + i < a.t ? ((const T *)a.stats)[at.b * a.t + t + i] : 0;
        delta[i] = t + i < a.t ? ((const T *)a.delta)[at.b * a.t + t + i] : 0;
        one[i] = 1;
    }
    for (int key = 0; key < keys; key += ROWS) {
        T x[R][R], g[R][R];
        multiply_rows(s, a, q, at.row, k, key, x);
        multiply_rows(s, a, dy, at.row, v, key, g);
#pragma unroll
        for (int i = 0; i < R; i++) {
            const unsigned dropped = w.dropped<R>(a, t + i, key + tx);
#pragma unroll
            for (int j = 0; j < R; j++) {
                slope_of(a, w, stat[i], delta[i], t + i, key + tx + j, dropped >> j & 1, x[i][j], g[i][j]);
            }
        }
        put_tile(s, g);
        multiply_tile<T, R, N>(s, a, k, key, column, out);
    }
    put_rows<T, R, N>(a, dq, at.row, column, out, one);
}

/* Rows of its tiles are keys, columns queries. */
template <class T, int R, int N> ATTENTION_KERNEL(sizeof(T) == 4 && N == 1 ? 2 : 1) grad_keys(const eg__attention a)
{
    enum { ROWS = SIDE * R };
    __shared__ room<T, R> s;
    const spot<ROWS> at(a.s, false);
    const matrix q(a.q, a, at.b, a.t, a.d), k(a.k, a, at.b, a.s, a.d), v(a.v, a, at.b, a.s, a.columns);
    const matrix dy(a.dy, a, at.b, a.t, a.columns), dk(a.dk, a, at.b, a.s, a.d), dv(a.dv, a, at.b, a.s, a.columns);
    const weighing w(a, at.b);
    const int column = blockIdx.y * N * ROWS;
    const int key = at.row + threadIdx.x / SIDE * R, tx = threadIdx.x % SIDE * R;
    /* Queries from which on the first key is seen; all where some see none and are NaN. */
    const int begin = a.causal && a.s >= a.t ? max(0, at.row - (a.s - a.t)) / ROWS * ROWS : 0;
    T one[R], to_k[N][R][R] = {}, to_v[N][R][R] = {};
#pragma unroll
    for (int i = 0; i < R; i++) {
        one[i] = 1;
    }
    for (int row = begin; row < a.t; row += ROWS) {
        T x[R][R], g[R][R];
        multiply_rows(s, a, k, at.row, q, row, x);
        multiply_rows(s, a, v, at.row, dy, row, g);
#pragma unroll
        for (int j = 0; j < R; j++) {
            const int t = row + tx + j;
            const int64_t i_stat = at.b * a.t + t;
            const T stat = t < a.t ? ((const T *)a.stats)[i_stat] : 0;
            const T delta = t < a.t ? ((const T *)a.delta)[i_stat] : 0;
            const unsigned dropped = w.dropped<R>(a, t, key);
#pragma unroll
            for (int i = 0; i < R; i++) {
                slope_of(a, w, stat, delta, t, key + i, dropped >> i & 1, x[i][j], g[i][j]);
            }
        }
        put_tile(s, x);
        multiply_tile<T, R, N>(s, a, dy, row, column, to_v);
        put_tile(s, g);
        multiply_tile<T, R, N>(s, a, q, row, column, to_k);
    }
    put_rows<T, R, N>(a, dv, at.row, column, to_v, one);
    put_rows<T, R, N>(a, dk, at.row, column, to_k, one);
}

/* ---- launches -------------------------------------------------------------------------------------------- */

/* Tiles of all matrices, slices of so many columns. */
template <int R, int N> static dim3 grid_of(const eg__attention &a, int rows, int columns)
{
    const int slices = (columns + N * SIDE * R - 1) / (N * SIDE * R);
    return dim3((unsigned)(a.batches * ((rows + SIDE * R - 1) / (SIDE * R))), (unsigned)max(slices, 1), 1);
}

template <class T, int R, int N> static cudaError_t forward(const eg__attention &a, cudaStream_t s)
{
    const dim3 grid = grid_of<R, N>(a, a.t, a.columns);
    return EG__LAUNCH((attend<T, R, N>), grid, THREADS, 0, s, a);
}

template <class T, int R, int N> static cudaError_t backward(const eg__attention &a, cudaStream_t s)
{
    const int64_t rows = a.batches * a.t;
    cudaError_t e = cudaSuccess;
    if (rows) {
        const unsigned blocks = (unsigned)((rows + THREADS / 32 - 1) / (THREADS / 32));
        e = EG__LAUNCH((sum_rows<T>), blocks, THREADS, 0, s, a);
    }
    if (!e && a.s) {
        const dim3 grid = grid_of<R, N>(a, a.s, max(a.d, a.columns));
        e = EG__LAUNCH((grad_keys<T, R, N>), grid, THREADS, 0, s, a);
    }
    if (!e && a.t) {
        const dim3 grid = grid_of<R, N>(a, a.t, a.d);
        e = EG__LAUNCH((grad_queries<T, R, N>), grid, THREADS, 0, s, a);
    }
    return e;
}

/* Of floats stretches are 64 columns, of doubles 32. */
cudaError_t eg__launch_attention(const eg__attention *a, cudaStream_t s)
{
    return a->dtype == EG_F64   ? forward<double, 2, 2>(*a, s)
           : a->columns <= 64 ? forward<float, 4, 1>(*a, s)
                              : forward<float, 4, 2>(*a, s);
}

cudaError_t eg__launch_attention_grad(const eg__attention *a, cudaStream_t s)
{
    return a->dtype == EG_F64                     ? backward<double, 2, 2>(*a, s)
           : max(a->d, a->columns) <= 64 ? backward<float, 4, 1>(*a, s)
                                         : backward<float, 4, 2>(*a, s);
}
