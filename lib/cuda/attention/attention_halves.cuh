/* attention_halves.cuh - attention of f16 and bf16 on tensor cores, sums in f32. Each of the four warps of a block
 * has 16 rows of a tile. Tiles of scores are in registers as mma leaves them, which is how it reads its first factor,
 * so that weights go on into the next product without shared memory. */
#ifndef EGRET_CUDA_ATTENTION_HALVES_CUH
#define EGRET_CUDA_ATTENTION_HALVES_CUH

#include "lib/cuda/attention/attention.cuh"

enum { ACROSS = 64, GAP = 8, QUAD_LANES = 4 };

/* ---- mma -------------------------------------------------------------------------------------------------- */

/* c += a b of 16 x 16 and 16 x 8 halves. Lane 4 g + t has of c rows g (0, 1) and g + 8 (2, 3), columns 2 t and 2 t + 1;
 * of a, in pairs, rows g (0, 2) and g + 8 (1, 3), columns 2 t on (0, 1) and 2 t + 8 on (2, 3); of b column g, rows 2
 * t on (0) and 2 t + 8 on (1). */
#ifdef __CUDA_ARCH__
template <int dtype> static EG__FN void multiply(float *c, const uint32_t *a, const uint32_t *b)
{
    if (dtype == EG_F16) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
}
#else
/* The same by hand: what lanes have they show each other. */
template <int dtype> static EG__FN float half_of(uint32_t pair, int which)
{
    const uint16_t h = (uint16_t)(pair >> 16 * which);
    return dtype == EG_F16 ? eg__f16_to_f32(h) : eg__bf16_to_f32(h);
}

template <int dtype> static EG__FN void multiply(float *c, const uint32_t *a, const uint32_t *b)
{
    __shared__ uint32_t shown[4][32][6];
    const int lane = threadIdx.x % 32, g = lane / QUAD_LANES, t = lane % QUAD_LANES;
    uint32_t(*all)[6] = shown[threadIdx.x / 32];
    for (int i = 0; i < 6; i++) {
        all[lane][i] = i < 4 ? a[i] : b[i - 4];
    }
    __syncwarp();
    for (int e = 0; e < 4; e++) {
        for (int k = 0; k < 16; k++) {
            const int pair = k % 8 / 2, high = k / 8;
            c[e] += half_of<dtype>(all[g * QUAD_LANES + pair][e / 2 + 2 * high], k % 2) *
                    half_of<dtype>(all[(2 * t + e % 2) * QUAD_LANES + pair][4 + high], k % 2);
        }
    }
    __syncwarp();
}
#endif

template <int dtype> static EG__FN uint32_t pair_of(float low, float high)
{
    return dtype == EG_F16 ? eg__to_f16(low) | (uint32_t)eg__to_f16(high) << 16
                           : eg__to_bf16(low) | (uint32_t)eg__to_bf16(high) << 16;
}

/* ---- the engine ------------------------------------------------------------------------------------------- */

/* Rows as they are, in pairs, a little apart, so that the same place of eight of them is in different banks. */
struct halves {
    uint32_t v[ACROSS][(ACROSS + GAP) / 2];

    EG__FN void stage(const eg__matrix &m, int row, int column)
    {
        for (int i = threadIdx.x; i < ACROSS * ACROSS / EG__GROUP; i += 128) {
            const int r = i / (ACROSS / EG__GROUP), c = i % (ACROSS / EG__GROUP) * EG__GROUP;
            const char *p = m.p + (row + r) * m.row + (int64_t)(column + c) * 2;
            if (row + r < m.rows && m.wide && column + c + EG__GROUP <= m.columns) {
                *(uint4 *)&v[r][c / 2] = *(const uint4 *)p;
                continue;
            }
#pragma unroll
            for (int e = 0; e < EG__GROUP; e += 2) {
                uint32_t u = 0;
                if (row + r < m.rows) {
                    u |= column + c + e < m.columns ? ((const uint16_t *)p)[e] : 0;
                    u |= column + c + e + 1 < m.columns ? (uint32_t)((const uint16_t *)p)[e + 1] << 16 : 0;
                }
                v[r][(c + e) / 2] = u;
            }
        }
    }
    /* Columns c, which is even, and c + 1 of a row; rows r and r + 1 of a column. */
    EG__FN uint32_t along(int r, int c) const
    {
        return v[r][c / 2];
    }
    EG__FN uint32_t down(int r, int c) const
    {
        return __byte_perm(v[r][c / 2], v[r + 1][c / 2], c & 1 ? 0x7632 : 0x5410);
    }
};

template <int dtype, int N> struct tensor_cores {
    typedef float number;
    struct __align__(16) room
    {
        halves a, b;
    };
    enum {
        SIDE = ACROSS,
        THREADS = 128,
        ROWS = 2,
        COLUMNS = ACROSS / QUAD_LANES,
        STRETCHES = N,
        BLOCKS = 3 - N / 2,
        FEWER = 2,
        TILES = ACROSS / 8 /* of mma, in a row */
    };

    static EG__FN int of_rows()
    {
        return threadIdx.x % 32 / QUAD_LANES;
    }
    static EG__FN int of_columns()
    {
        return threadIdx.x % QUAD_LANES;
    }
    static EG__FN int row(int i)
    {
        return threadIdx.x / 32 * 16 + of_rows() + 8 * i;
    }
    static EG__FN int column(int j)
    {
        return j / 2 * 8 + of_columns() * 2 + j % 2;
    }
    static EG__FN float sum_of_row(float v)
    {
        v += __shfl_xor_sync(0xffffffffu, v, 1);
        return v + __shfl_xor_sync(0xffffffffu, v, 2);
    }
    static EG__FN float top_of_row(float v)
    {
        v = max(v, __shfl_xor_sync(0xffffffffu, v, 1));
        return max(v, __shfl_xor_sync(0xffffffffu, v, 2));
    }
    /* Two lanes have four keys in a row between them: each finds them for one of the two queries. */
    static EG__FN unsigned dropped(const eg__attention &a, const eg__weighing_of &w, int t, int s)
    {
        const int odd = threadIdx.x & 1;
        unsigned bits = 0;
#pragma unroll
        for (int k = 0; k < TILES; k++) {
            const unsigned mine = w.dropped<4>(a, t + row(odd), s + k * 8 + of_columns() / 2 * 4);
            const unsigned other = __shfl_xor_sync(0xffffffffu, mine, 1);
            bits |= ((odd ? other : mine) >> 2 * odd & 3) << 2 * k;
            bits |= ((odd ? mine : other) >> 2 * odd & 3) << (COLUMNS + 2 * k);
        }
        return bits;
    }
    /* Four lanes have four keys in a row: each finds them for one of four queries. */
    static EG__FN unsigned dropped_turned(const eg__attention &a, const eg__weighing_of &w, int t, int s)
    {
        const int which = of_rows() % 4;
        unsigned bits = 0;
#pragma unroll
        for (int j = 0; j < COLUMNS; j += 4) {
            const int mine = t + (j + which) / 2 * 8 + of_columns() * 2 + which % 2;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const unsigned found = w.dropped<4>(a, mine, s + row(i) - which);
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const int lane = (of_rows() - which + k) * QUAD_LANES + of_columns();
                    bits |= (__shfl_sync(0xffffffffu, found, lane) >> which & 1) << (i * COLUMNS + j + k);
                }
            }
        }
        return bits;
    }
    static EG__FN void multiply_rows(room &s, const eg__attention &, const eg__matrix &x, int from, const eg__matrix &y,
                                     int other, float (*out)[COLUMNS])
    {
        float c[TILES][4] = {};
        const int r = row(0), t = of_columns() * 2;
        for (int first = 0; first < x.columns; first += ACROSS) {
            const int n = min((int)ACROSS, x.columns - first);
            __syncthreads();
            s.a.stage(x, from, first);
            s.b.stage(y, other, first);
            __syncthreads();
            for (int d = 0; d < n; d += 16) {
                const uint32_t u[4] = {s.a.along(r, d + t), s.a.along(r + 8, d + t), s.a.along(r, d + t + 8),
                                       s.a.along(r + 8, d + t + 8)};
#pragma unroll
                for (int k = 0; k < TILES; k++) {
                    const int p = k * 8 + of_rows();
                    const uint32_t v[2] = {s.b.along(p, d + t), s.b.along(p, d + t + 8)};
                    multiply<dtype>(c[k], u, v);
                }
            }
        }
#pragma unroll
        for (int e = 0; e < 4 * TILES; e++) {
            out[e / 2 % 2][e / 4 * 2 + e % 2] = c[e / 4][e % 4];
        }
    }
    static EG__FN void multiply_tile(room &s, const eg__attention &, const float (*x)[COLUMNS], const eg__matrix &m,
                                     int from, int first, float (*out)[2][COLUMNS])
    {
        const int t = of_columns() * 2, rows = min((int)ACROSS, m.rows - from);
#pragma unroll
        for (int k = 0; k < N; k++) {
            if (first + k * SIDE >= m.columns) {
                break;
            }
            __syncthreads();
            s.a.stage(m, from, first + k * SIDE);
            __syncthreads();
#pragma unroll
            for (int d = 0; d < ACROSS; d += 16) {
                if (d >= rows) {
                    break;
                }
                const int j = d / 4;
                const uint32_t u[4] = {pair_of<dtype>(x[0][j], x[0][j + 1]), pair_of<dtype>(x[1][j], x[1][j + 1]),
                                       pair_of<dtype>(x[0][j + 2], x[0][j + 3]),
                                       pair_of<dtype>(x[1][j + 2], x[1][j + 3])};
#pragma unroll
                for (int p = 0; p < TILES; p++) {
                    const int c = p * 8 + of_rows();
                    const uint32_t v[2] = {s.a.down(d + t, c), s.a.down(d + t + 8, c)};
                    float sum[4] = {out[k][0][2 * p], out[k][0][2 * p + 1], out[k][1][2 * p], out[k][1][2 * p + 1]};
                    multiply<dtype>(sum, u, v);
                    out[k][0][2 * p] = sum[0];
                    out[k][0][2 * p + 1] = sum[1];
                    out[k][1][2 * p] = sum[2];
                    out[k][1][2 * p + 1] = sum[3];
                }
            }
        }
    }
};

/* ---- launches --------------------------------------------------------------------------------------------- */

template <int dtype> static cudaError_t eg__attend_halves(const eg__attention &a, cudaStream_t s)
{
    return a.columns <= ACROSS ? eg__attend<tensor_cores<dtype, 1>>(a, s) : eg__attend<tensor_cores<dtype, 2>>(a, s);
}

/* Two results of two stretches are more than there are registers. */
template <int dtype> static cudaError_t eg__attend_halves_back(const eg__attention &a, cudaStream_t s)
{
    return a.d <= ACROSS ? eg__attend_back<tensor_cores<dtype, 1>>(a, s)
                         : eg__attend_back<tensor_cores<dtype, 2>, tensor_cores<dtype, 1>>(a, s);
}

#endif
