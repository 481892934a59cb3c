/* attention.cu - attention of f32 and f64 on the ordinary units, and what all kinds have in common. Products are of
 * registers with what is staged in shared memory. Threads of a block lie 16 x 16; a thread has R x R elements of a
 * tile, and R columns of each of N stretches of a result. */
#include "lib/cuda/attention/attention.cuh"

enum { ACROSS = 16, DEPTH = 32 };

/* ---- tiles in shared memory ------------------------------------------------------------------------------ */

/* What a thread reads at once: 16 bytes. */
template <class T, int R> struct __align__(16) strip
{
    T v[R];
};

/* Two staged pieces, and a tile of weights by column, a little apart so that columns are in different banks. */
template <class T, int R> struct __align__(16) room
{
    T a[DEPTH][ACROSS * R], b[DEPTH][ACROSS * R], tile[ACROSS * R][ACROSS * R + R];
};

template <class T, int R> static EG__FN strip<T, R> strip_at(const T *p)
{
    return *reinterpret_cast<const strip<T, R> *>(p);
}

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
static EG__FN void read_row(const eg__attention &a, const eg__matrix &m, int row, int c, T v[EG__GROUP])
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
static EG__FN void stage_across(T (*to)[ACROSS * R], const eg__attention &a, const eg__matrix &m, int row, int column)
{
    for (int g = threadIdx.x; g < ACROSS * R * DEPTH / EG__GROUP; g += ACROSS * ACROSS) {
        const int r = g % (ACROSS * R), c = g / (ACROSS * R) * EG__GROUP;
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
static EG__FN void stage_along(T (*to)[ACROSS * R], const eg__attention &a, const eg__matrix &m, int row, int column)
{
    enum { GROUPS = ACROSS * R / EG__GROUP };
    for (int g = threadIdx.x; g < DEPTH * GROUPS; g += ACROSS * ACROSS) {
        const int r = g / GROUPS, c = g % GROUPS * EG__GROUP;
        T v[EG__GROUP];
        read_row(a, m, row + r, column + c, v);
#pragma unroll
        for (int i = 0; i < EG__GROUP; i++) {
            to[r][c + i] = v[i];
        }
    }
}

/* ---- the engine ------------------------------------------------------------------------------------------ */

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

template <class T, int R, int N> struct plain {
    typedef T number;
    typedef ::room<T, R> room;
    enum {
        SIDE = ACROSS * R,
        THREADS = ACROSS * ACROSS,
        ROWS = R,
        COLUMNS = R,
        STRETCHES = N,
        BLOCKS = sizeof(T) == 4 ? 2 : 1,         /* on a processor at a time */
        FEWER = sizeof(T) == 4 && N == 1 ? 2 : 1 /* of the kernel that has two results */
    };

    static EG__FN int row(int i)
    {
        return threadIdx.x / ACROSS * R + i;
    }
    static EG__FN int column(int j)
    {
        return threadIdx.x % ACROSS * R + j;
    }
    /* Of all threads that have the row. */
    static EG__FN T sum_of_row(T v)
    {
#pragma unroll
        for (int d = ACROSS / 2; d > 0; d /= 2) {
            v += __shfl_xor_sync(0xffffffffu, v, d);
        }
        return v;
    }
    static EG__FN T top_of_row(T v)
    {
#pragma unroll
        for (int d = ACROSS / 2; d > 0; d /= 2) {
            v = max(v, __shfl_xor_sync(0xffffffffu, v, d));
        }
        return v;
    }
    /* Bit i COLUMNS + j: the weight of query t + row(i) for key s + column(j) is dropped. */
    static EG__FN unsigned dropped(const eg__attention &a, const eg__weighing_of &w, int t, int s)
    {
        unsigned bits = 0;
#pragma unroll
        for (int i = 0; i < R; i++) {
            bits |= (w.dropped<R>(a, t + row(i), s + column(0)) & ((1u << R) - 1)) << i * R;
        }
        return bits;
    }
    /* ... of query t + column(j) for key s + row(i). */
    static EG__FN unsigned dropped_turned(const eg__attention &a, const eg__weighing_of &w, int t, int s)
    {
        unsigned bits = 0;
#pragma unroll
        for (int j = 0; j < R; j++) {
            const unsigned b = w.dropped<R>(a, t + column(j), s + row(0));
#pragma unroll
            for (int i = 0; i < R; i++) {
                bits |= (b >> i & 1) << (i * R + j);
            }
        }
        return bits;
    }
    /* out = rows of x from `row` on times rows of y from `other` on. */
    static EG__FN void multiply_rows(room &s, const eg__attention &a, const eg__matrix &x, int from,
                                     const eg__matrix &y, int other, T out[R][R])
    {
#pragma unroll
        for (int e = 0; e < R * R; e++) {
            out[e / R][e % R] = 0;
        }
        for (int c = 0; c < x.columns; c += DEPTH) {
            const int n = min((int)DEPTH, x.columns - c);
            __syncthreads();
            stage_across<T, R>(s.a, a, x, from, c);
            stage_across<T, R>(s.b, a, y, other, c);
            __syncthreads();
#pragma unroll 4
            for (int d = 0; d < n; d++) {
                add_product(out, strip_at<T, R>(&s.a[d][row(0)]), strip_at<T, R>(&s.b[d][column(0)]));
            }
        }
    }
    /* out += a tile times rows of m from `from` on, columns from `first` on. The tile goes through shared memory, its
     * columns as rows. */
    static EG__FN void multiply_tile(room &s, const eg__attention &a, const T (*x)[R], const eg__matrix &m, int from,
                                     int first, T (*out)[R][R])
    {
        const int rows = min((int)SIDE, m.rows - from);
        __syncthreads();
#pragma unroll
        for (int j = 0; j < R; j++) {
            strip<T, R> u;
#pragma unroll
            for (int i = 0; i < R; i++) {
                u.v[i] = x[i][j];
            }
            *reinterpret_cast<strip<T, R> *>(&s.tile[column(j)][row(0)]) = u;
        }
        for (int r = 0; r < rows; r += DEPTH) {
            const int n = min((int)DEPTH, rows - r);
#pragma unroll
            for (int k = 0; k < N; k++) {
                if (first + k * SIDE >= m.columns) {
                    break;
                }
                __syncthreads();
                stage_along<T, R>(s.a, a, m, from + r, first + k * SIDE);
                __syncthreads();
#pragma unroll 4
                for (int i = 0; i < n; i++) {
                    add_product(out[k], strip_at<T, R>(&s.tile[r + i][row(0)]), strip_at<T, R>(&s.a[i][column(0)]));
                }
            }
        }
    }
};

/* ---- delta ----------------------------------------------------------------------------------------------- */

enum { WARPS = 8 };

/* A warp for each row. */
template <class T> __global__ void __launch_bounds__(32 * WARPS) sum_rows(const eg__attention a)
{
    const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (i >= a.batches * a.t) {
        return;
    }
    const int t = (int)(i % a.t);
    const eg__matrix y(a.y, a, i / a.t, a.t, a.columns), dy(a.dy, a, i / a.t, a.t, a.columns);
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

template <class T> static cudaError_t start_sums(const eg__attention &a, cudaStream_t s)
{
    const int64_t rows = a.batches * a.t;
    const unsigned blocks = (unsigned)((rows + WARPS - 1) / WARPS);
    return rows ? EG__LAUNCH(sum_rows<T>, blocks, 32 * WARPS, 0, s, a) : cudaSuccess;
}

/* ---- launches -------------------------------------------------------------------------------------------- */

/* Stretches are 64 columns of floats, 32 of doubles. */
cudaError_t eg__launch_attention(const eg__attention *a, cudaStream_t s)
{
    switch (a->dtype) {
    case EG_F64:
        return eg__attend<plain<double, 2, 2>>(*a, s);
    case EG_F16:
        return eg__launch_attention_f16(a, s);
    case EG_BF16:
        return eg__launch_attention_bf16(a, s);
    default:
        return a->columns <= 64 ? eg__attend<plain<float, 4, 1>>(*a, s) : eg__attend<plain<float, 4, 2>>(*a, s);
    }
}

cudaError_t eg__launch_attention_grad(const eg__attention *a, cudaStream_t s)
{
    const cudaError_t e = a->dtype == EG_F64 ? start_sums<double>(*a, s) : start_sums<float>(*a, s);
    if (e) {
        return e;
    }
    switch (a->dtype) {
    case EG_F64:
        return eg__attend_back<plain<double, 2, 2>>(*a, s);
    case EG_F16:
        return eg__launch_attention_grad_f16(a, s);
    case EG_BF16:
        return eg__launch_attention_grad_bf16(a, s);
    default:
        return max(a->d, a->columns) <= 64 ? eg__attend_back<plain<float, 4, 1>>(*a, s)
                                           : eg__attend_back<plain<float, 4, 2>>(*a, s);
    }
}
