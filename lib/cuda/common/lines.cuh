/* lines.cuh - what kernels share that go along lines of elements: places, groups of four elements read at
 * once, and states handed between the threads of a block. */
#ifndef EGRET_CUDA_LINES_CUH
#define EGRET_CUDA_LINES_CUH

#include "lib/cuda/common/axes.h"
#include "lib/cuda/common/element.cuh"

enum { EG__LINE_BLOCK = 256, EG__QUAD = 4 };

/* Blocks that a multiprocessor takes at once at least. */
#define EG__LINE_BLOCKS(T) (sizeof(T) == 4 ? 4 : 2)

/* The blocks that n lines make, so many to a block. */
static inline unsigned eg__line_blocks(int64_t n, unsigned per_block)
{
    return (unsigned)((n + per_block - 1) / per_block);
}

/* The line of this thread, with so many threads to a line. */
static __device__ __forceinline__ int64_t eg__own_line(unsigned lanes)
{
    return (int64_t)blockIdx.x * (EG__LINE_BLOCK / lanes) + threadIdx.x / lanes;
}

/* ---- places -------------------------------------------------------------------------------------------- */

/* Byte offsets of place i in each of N operands. */
template <int N> static __device__ __forceinline__ void eg__places(const eg__axes &a, int64_t i, int64_t at[N])
{
    if (a.ndim <= 1) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            at[k] = i * a.stride[k][0];
        }
        return;
    }
#pragma unroll
    for (int k = 0; k < N; k++) {
        at[k] = 0;
    }
    const bool small = a.n < int64_t(1) << 31;
    for (int d = a.ndim - 1; d >= 0; d--) {
        int64_t q = 0;
        if (d && small) {
            q = (__umulhi((unsigned)i, a.magic[d]) + (unsigned)i) >> a.shift[d];
        } else if (d) {
            q = (int64_t)((double)i * a.inverse[d]); /* or one more or less */
            int64_t r = i - q * a.shape[d];
            q += r < 0 ? -1 : r >= a.shape[d];
        }
        const int64_t r = i - q * a.shape[d];
#pragma unroll
        for (int k = 0; k < N; k++) {
            at[k] += r * a.stride[k][d];
        }
        i = q;
    }
}

static __device__ __forceinline__ int64_t eg__place(const eg__axes &a, int64_t i)
{
    int64_t at[1];
    eg__places<1>(a, i, at);
    return at[0];
}

/* ---- elements in registers, not looked at yet: so that many can be on their way ------------------------- */

template <class T> struct eg__bits_of {
    typedef uint64_t type;
};
template <> struct eg__bits_of<float> {
    typedef uint32_t type;
};

static __device__ __forceinline__ uint32_t eg__bits(const char *p, int size, float)
{
    return size == 4 ? *(const uint32_t *)p : *(const uint16_t *)p;
}

static __device__ __forceinline__ uint64_t eg__bits(const char *p, int, double)
{
    return *(const uint64_t *)p;
}

static __device__ __forceinline__ uint64_t eg__bits(const char *p, int size, int64_t)
{
    return size == 8 ? *(const uint64_t *)p : size == 4 ? *(const uint32_t *)p : *(const uint8_t *)p;
}

static __device__ __forceinline__ float eg__value(uint32_t bits, int dtype, float)
{
    return dtype == EG_F32   ? eg__bits_float(bits)
           : dtype == EG_F16 ? eg__from_f16((uint16_t)bits)
                             : eg__bits_float(bits << 16);
}

static __device__ __forceinline__ double eg__value(uint64_t bits, int, double)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static __device__ __forceinline__ int64_t eg__value(uint64_t bits, int dtype, int64_t)
{
    return dtype == EG_I32 ? (int32_t)bits : dtype == EG_BOOL ? bits != 0 : (int64_t)bits;
}

/* Four elements side by side, aligned to eg__quad_bytes. */
template <class T> struct eg__quad {
    uint4 w[sizeof(T) / 4];
};

static __device__ __forceinline__ unsigned eg__quad_bytes(int size)
{
    return size < 4 ? 4 * size : 16;
}

template <class T> static __device__ __forceinline__ eg__quad<T> eg__get_quad(const char *p, int size)
{
    eg__quad<T> q;
    if (sizeof(T) == 8 && size == 8) {
        q.w[0] = ((const uint4 *)p)[0];
        q.w[sizeof(T) / 4 - 1] = ((const uint4 *)p)[1];
    } else if (size == 4) {
        q.w[0] = *(const uint4 *)p;
    } else if (size == 2) {
        const uint2 u = *(const uint2 *)p;
        q.w[0] = make_uint4(u.x, u.y, 0, 0);
    } else {
        q.w[0] = make_uint4(*(const uint32_t *)p, 0, 0, 0);
    }
    return q;
}

static __device__ __forceinline__ void eg__open_quad(const eg__quad<float> &q, int dtype, float v[EG__QUAD])
{
    const uint4 &w = q.w[0];
    if (dtype == EG_F32) {
        v[0] = eg__bits_float(w.x), v[1] = eg__bits_float(w.y);
        v[2] = eg__bits_float(w.z), v[3] = eg__bits_float(w.w);
    } else if (dtype == EG_F16) {
        v[0] = eg__from_f16((uint16_t)w.x), v[1] = eg__from_f16((uint16_t)(w.x >> 16));
        v[2] = eg__from_f16((uint16_t)w.y), v[3] = eg__from_f16((uint16_t)(w.y >> 16));
    } else {
        v[0] = eg__bits_float(w.x << 16), v[1] = eg__bits_float(w.x & 0xffff0000u);
        v[2] = eg__bits_float(w.y << 16), v[3] = eg__bits_float(w.y & 0xffff0000u);
    }
}

static __device__ __forceinline__ uint64_t eg__join(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

static __device__ __forceinline__ void eg__open_quad(const eg__quad<double> &q, int dtype, double v[EG__QUAD])
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        v[2 * i] = eg__value(eg__join(q.w[i].x, q.w[i].y), dtype, 0.0);
        v[2 * i + 1] = eg__value(eg__join(q.w[i].z, q.w[i].w), dtype, 0.0);
    }
}

static __device__ __forceinline__ void eg__open_quad(const eg__quad<int64_t> &q, int dtype, int64_t v[EG__QUAD])
{
    if (dtype == EG_I64) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            v[2 * i] = (int64_t)eg__join(q.w[i].x, q.w[i].y);
            v[2 * i + 1] = (int64_t)eg__join(q.w[i].z, q.w[i].w);
        }
    } else if (dtype == EG_I32) {
        v[0] = (int32_t)q.w[0].x, v[1] = (int32_t)q.w[0].y;
        v[2] = (int32_t)q.w[0].z, v[3] = (int32_t)q.w[0].w;
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int64_t byte = q.w[0].x >> 8 * i & 255;
            v[i] = dtype == EG_BOOL ? byte != 0 : byte;
        }
    }
}

static __device__ __forceinline__ void eg__put_quad(char *p, int dtype, const float v[EG__QUAD])
{
    if (dtype == EG_F32) {
        *(float4 *)p = make_float4(v[0], v[1], v[2], v[3]);
        return;
    }
    uint16_t h[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        h[i] = dtype == EG_F16 ? eg__to_f16(v[i]) : eg__to_bf16(v[i]);
    }
    *(uint2 *)p = make_uint2(h[0] | (uint32_t)h[1] << 16, h[2] | (uint32_t)h[3] << 16);
}

static __device__ __forceinline__ void eg__put_quad(char *p, int, const double v[EG__QUAD])
{
    ((double2 *)p)[0] = make_double2(v[0], v[1]);
    ((double2 *)p)[1] = make_double2(v[2], v[3]);
}

static __device__ __forceinline__ void eg__put_quad(char *p, int dtype, const int64_t v[EG__QUAD])
{
    if (dtype == EG_I64) {
        ((longlong2 *)p)[0] = make_longlong2(v[0], v[1]);
        ((longlong2 *)p)[1] = make_longlong2(v[2], v[3]);
        return;
    }
    const int size = dtype == EG_I32 ? 4 : 1;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        eg__put(p + i * size, dtype, v[i]);
    }
}

/* ---- a line that lies side by side ----------------------------------------------------------------------- */

/* How `n` elements fall apart: single ones up to a whole address, quads, single ones. */
struct eg__stretch {
    unsigned n, head, quads;

    __device__ __forceinline__ eg__stretch(const char *p, int size, unsigned count) : n(count)
    {
        const unsigned off = (0u - (unsigned)(uintptr_t)p) & (eg__quad_bytes(size) - 1);
        head = off / (unsigned)size;
        head = head < n ? head : n;
        quads = (n - head) / EG__QUAD;
    }

    /* Of a quad's first element. */
    __device__ __forceinline__ int64_t place(unsigned quad) const
    {
        return head + (int64_t)EG__QUAD * quad;
    }
};

/* f.one(v, j) and f.four(v, j) for the elements j of a line that are this lane's of `lanes`. */
template <class T, class F>
static __device__ __forceinline__ void eg__over_line(const char *p, int dtype, int size, unsigned n, unsigned lane,
                                                     unsigned lanes, F &f)
{
    enum { AHEAD = sizeof(T) == 4 ? 4 : 2 };
    const eg__stretch run(p, size, n);
    const char *from = p + run.head * size;
    const int step = EG__QUAD * size;
    T v[EG__QUAD];
    unsigned i = lane;
    for (; i + (AHEAD - 1) * lanes < run.quads; i += AHEAD * lanes) {
        eg__quad<T> q[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            q[k] = eg__get_quad<T>(from + (int64_t)(i + k * lanes) * step, size);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            eg__open_quad(q[k], dtype, v);
            f.four(v, run.head + EG__QUAD * (i + k * lanes));
        }
    }
    for (; i < run.quads; i += lanes) {
        eg__open_quad(eg__get_quad<T>(from + (int64_t)i * step, size), dtype, v);
        f.four(v, run.head + EG__QUAD * i);
    }
    /* What is single before and behind: as if side by side. */
    const unsigned behind = run.head + EG__QUAD * run.quads, singles = run.head + n - behind;
    for (unsigned k = lane; k < singles; k += lanes) {
        unsigned j = k < run.head ? k : behind + k - run.head;
        f.one(eg__get<T>(p + (int64_t)j * size, dtype), j);
    }
}

/* What there is of a line in each of N operands. */
template <int N> struct eg__line_at {
    char *p[N];

    __device__ __forceinline__ eg__line_at(const eg__lines &l, int64_t i)
    {
        int64_t at[N];
        eg__places<N>(l.at, i, at);
#pragma unroll
        for (int k = 0; k < N; k++) {
            p[k] = l.p[k] + at[k];
        }
    }

    /* Side by side, and whole addresses are at the same elements. */
    __device__ __forceinline__ bool in_step(const eg__lines &l) const
    {
        uintptr_t off = 0;
#pragma unroll
        for (int k = 1; k < N; k++) {
            off |= (uintptr_t)p[k] ^ (uintptr_t)p[0];
        }
        return l.side && !(off & (eg__quad_bytes(l.size[0]) - 1));
    }
};

/* This lane's elements of a line in IN operands: f.four(v, y, j) with v[IN][4], and y[4] for what is written to the
 * OUT (0 or 1) operand behind them, and f.one(v, y, j) with single ones; j is the first's place on the line. */
template <class T, int IN, int OUT, class F>
static __device__ __forceinline__ void eg__along_line(const eg__lines &l, const eg__line_at<IN + OUT> &at,
                                                      unsigned lane, unsigned lanes, F &f)
{
    enum { AHEAD = sizeof(T) * IN > 8 ? 1 : sizeof(T) * IN > 4 ? 2 : 4, TO = IN + OUT - 1 };
    const unsigned n = (unsigned)l.n;
    const int size = l.size[0], dtype = l.dtype[0];
    const eg__stretch run(at.p[0], size, at.in_step(l) ? n : 0);
    T v[IN][EG__QUAD], y[EG__QUAD];
    for (unsigned i = lane; i < run.quads; i += AHEAD * lanes) {
        eg__quad<T> q[AHEAD][IN];
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            if (i + a * lanes < run.quads) {
#pragma unroll
                for (int k = 0; k < IN; k++) {
                    q[a][k] = eg__get_quad<T>(at.p[k] + run.place(i + a * lanes) * size, size);
                }
            }
        }
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            if (i + a * lanes < run.quads) {
#pragma unroll
                for (int k = 0; k < IN; k++) {
                    eg__open_quad(q[a][k], dtype, v[k]);
                }
                f.four(v, y, run.place(i + a * lanes));
                if (OUT) {
                    eg__put_quad(at.p[TO] + run.place(i + a * lanes) * size, dtype, y);
                }
            }
        }
    }
    const unsigned behind = run.head + EG__QUAD * run.quads, singles = run.head + n - behind;
    for (unsigned k = lane; k < singles; k += lanes) {
        const int64_t j = k < run.head ? k : behind + k - run.head;
        T one[IN];
#pragma unroll
        for (int m = 0; m < IN; m++) {
            one[m] = eg__value(eg__bits(at.p[m] + j * l.step[m], l.size[m], T()), l.dtype[m], T());
        }
        f.one(one, y[0], j);
        if (OUT) {
            eg__put(at.p[TO] + j * l.step[TO], l.dtype[TO], y[0]);
        }
    }
}

/* ---- states between threads ------------------------------------------------------------------------------ */

/* Any struct of 32-bit words, moved within groups of `width` lanes. */
#define EG__SHUFFLE(name, shuffle)                                                             \
    template <class S> static __device__ __forceinline__ S name(const S &s, int by, int width) \
    {                                                                                          \
        uint32_t w[sizeof(S) / 4];                                                             \
        S r;                                                                                   \
        memcpy(w, &s, sizeof s);                                                               \
        _Pragma("unroll") for (unsigned i = 0; i < sizeof(S) / 4; i++)                         \
        {                                                                                      \
            w[i] = shuffle(0xffffffffu, w[i], by, width);                                      \
        }                                                                                      \
        memcpy(&r, w, sizeof r);                                                               \
        return r;                                                                              \
    }
EG__SHUFFLE(eg__shuffle_xor, __shfl_xor_sync)
EG__SHUFFLE(eg__shuffle_up, __shfl_up_sync)
EG__SHUFFLE(eg__shuffle_from, __shfl_sync)
#undef EG__SHUFFLE

/* The states of each group of `lanes` (a power of two, neighbours) threads of the block in one, known to all of
 * them; o.both(a, b) with a of lower lanes. All threads come. The room must not be in use. */
template <class O, class S> static __device__ __forceinline__ S eg__join_lanes(const O &o, S s, unsigned lanes, S *room)
{
    const int width = lanes < 32 ? lanes : 32, lane = threadIdx.x & 31;
    for (int bits = 1; bits < width; bits *= 2) {
        S other = eg__shuffle_xor(s, bits, width);
        s = lane & bits ? o.both(other, s) : o.both(s, other);
    }
    if (lanes > 32) {
        const unsigned warp = threadIdx.x / 32, first = threadIdx.x / lanes * (lanes / 32);
        if (!lane) {
            room[warp] = s;
        }
        __syncthreads();
        s = room[first];
        for (unsigned k = 1; k < lanes / 32; k++) {
            s = o.both(s, room[first + k]);
        }
    }
    return s;
}

/* The same for threads t, t + wide, t + 2 wide ...: the result is in those below `wide` and room[t % wide]. */
template <class O, class S>
static __device__ __forceinline__ S eg__join_columns(const O &o, S s, unsigned wide, S *room)
{
    const unsigned t = threadIdx.x;
    if (wide == blockDim.x) {
        return s;
    }
    room[t] = s;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half >= wide; half /= 2) {
        if (t < half) {
            room[t] = o.both(room[t], room[t + half]);
        }
        __syncthreads();
    }
    return room[t < wide ? t : t % wide];
}

#endif
