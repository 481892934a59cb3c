/* scan.cu - running sums, products, extremes and recurrences: what is known of the elements so far is a state,
 * and states of neighbouring stretches join. An op is a struct with
 *
 *   number, state                          what elements are read as
 *   enum { inputs, places };               operands read; whether places are written too
 *   state none() const                     of no elements
 *   state of(const number v[inputs], int64_t j) const
 *   state both(state a, state b) const     a first
 *   number value(state s), int64_t place(state s)
 *
 * Few long lines are cut into parts: a first kernel finds the state of each, a second what is before it, a third
 * goes over the elements again. */
#include "lib/cuda/common/extreme.cuh"
#include "lib/cuda/common/lines.cuh"
#include "lib/cuda/reduce/scan.h"

/* ---- the ops --------------------------------------------------------------------------------------------- */

template <class T> struct plain_scan {
    typedef T number, state;
    enum { inputs = 1, places = 0 };
    EG__FN state of(const T *v, int64_t) const
    {
        return v[0];
    }
    EG__FN T value(state s) const
    {
        return s;
    }
    EG__FN int64_t place(state) const
    {
        return 0;
    }
};

template <class T> struct running_sum : plain_scan<T> {
    EG__FN T none() const
    {
        return 0;
    }
    EG__FN T both(T a, T b) const
    {
        return a + b;
    }
};
template <> EG__FN int64_t running_sum<int64_t>::both(int64_t a, int64_t b) const
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

template <class T> struct running_product : plain_scan<T> {
    EG__FN T none() const
    {
        return 1;
    }
    EG__FN T both(T a, T b) const
    {
        return a * b;
    }
};
template <> EG__FN int64_t running_product<int64_t>::both(int64_t a, int64_t b) const
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* The last of equal ones; NaN for good, the last of it. Places fit into a word for halves and f32. */
template <class T> struct extreme {
    T v;
    int64_t at;
};

template <class T> struct running_extreme {
    typedef T number;
    typedef extreme<T> state;
    enum { inputs = 1, places = 1 };
    bool turn; /* the smallest */

    EG__FN state none() const
    {
        return state{eg__least(T()), 0};
    }
    EG__FN state of(const T *v, int64_t j) const
    {
        return state{eg__turned(v[0], turn), j};
    }
    EG__FN state both(const state &a, const state &b) const
    {
        return b.v >= a.v || b.v != b.v ? b : a;
    }
    EG__FN T value(const state &s) const
    {
        return eg__turned(s.v, turn);
    }
    EG__FN int64_t place(const state &s) const
    {
        return s.at;
    }
};

/* y = factor * (what came before) + term. */
template <class T> struct affine {
    T factor, term;
};

template <class T> struct recurrence {
    typedef T number;
    typedef affine<T> state;
    enum { inputs = 2, places = 0 };

    EG__FN state none() const
    {
        return state{1, 0};
    }
    EG__FN state of(const T *v, int64_t j) const
    {
        return state{j ? v[0] : 0, v[1]};
    }
    EG__FN state both(const state &a, const state &b) const
    {
        /* Factors of a stretch may overflow where nothing came before. */
        const T before = a.term == 0 && isinf(b.factor) ? 0 : b.factor * a.term;
        return state{a.factor * b.factor, before + b.term};
    }
    EG__FN T value(const state &s) const
    {
        return s.term;
    }
    EG__FN int64_t place(const state &) const
    {
        return 0;
    }
};

/* ---- elements -------------------------------------------------------------------------------------------- */

/* One line. */
template <class O> struct line {
    typedef typename O::number T;
    typedef typename O::state state;
    enum { IN = O::inputs };
    const eg__lines &l;
    const O &o;
    char *p[EG__AXES_OPERANDS];

    EG__FN line(const eg__lines &lines, const O &op, int64_t i) : l(lines), o(op)
    {
        int64_t at[IN + 1 + O::places];
        eg__places<IN + 1 + O::places>(l.at, i, at);
#pragma unroll
        for (int k = 0; k < IN + 1 + O::places; k++) {
            p[k] = l.p[k] + at[k];
        }
    }

    /* N elements from j on, those below end; the first has no factor to read. */
    template <int N> EG__FN void get(int64_t j, int64_t end, state s[N]) const
    {
        typename eg__bits_of<T>::type bits[IN][N];
#pragma unroll
        for (int i = 0; i < N; i++) {
#pragma unroll
            for (int k = 0; k < IN; k++) {
                bits[k][i] = 0;
                if (j + i < end && (k == IN - 1 || j + i)) {
                    bits[k][i] = eg__bits(p[k] + (j + i) * l.step[k], l.size[k], T());
                }
            }
        }
#pragma unroll
        for (int i = 0; i < N; i++) {
            T v[IN];
#pragma unroll
            for (int k = 0; k < IN; k++) {
                v[k] = eg__value(bits[k][i], l.dtype[k], T());
            }
            s[i] = j + i < end ? o.of(v, j + i) : o.none();
        }
    }

    /* Four at once, side by side and aligned. */
    EG__FN void get4(int64_t j, state s[EG__QUAD]) const
    {
        eg__quad<T> q[IN];
        T v[IN][EG__QUAD];
#pragma unroll
        for (int k = 0; k < IN; k++) {
            q[k] = eg__get_quad<T>(p[k] + j * l.size[k], l.size[k]);
        }
#pragma unroll
        for (int k = 0; k < IN; k++) {
            eg__open_quad(q[k], l.dtype[k], v[k]);
        }
#pragma unroll
        for (int i = 0; i < EG__QUAD; i++) {
            T of[IN];
#pragma unroll
            for (int k = 0; k < IN; k++) {
                of[k] = v[k][i];
            }
            s[i] = o.of(of, j + i);
        }
    }

    EG__FN void put(int64_t j, const state &s) const
    {
        eg__put(p[IN] + j * l.step[IN], l.dtype[IN], o.value(s));
        if (O::places) {
            *(int64_t *)(p[IN + O::places] + j * l.step[IN + O::places]) = o.place(s);
        }
    }

    EG__FN void put4(int64_t j, const state s[EG__QUAD]) const
    {
        T v[EG__QUAD];
        int64_t at[EG__QUAD];
#pragma unroll
        for (int i = 0; i < EG__QUAD; i++) {
            v[i] = o.value(s[i]);
            at[i] = o.place(s[i]);
        }
        eg__put_quad(p[IN] + j * l.size[IN], l.dtype[IN], v);
        if (O::places) {
            eg__put_quad(p[IN + O::places] + j * 8, EG_I64, at);
        }
    }
};

/* ---- kernels --------------------------------------------------------------------------------------------- */

enum phase { WHOLE, TOTALS, AGAIN };
enum { AT_ONCE = 4 };

/* What lies before this lane's state in the tile of its line, and the tile in one. Rooms of neighbouring calls are
 * two. */
template <class O, class S> static EG__FN S before_lane(const O &o, S s, unsigned lanes, S *room, S *whole)
{
    const int width = lanes < 32 ? lanes : 32, lane = threadIdx.x & (width - 1);
    for (int by = 1; by < width; by *= 2) {
        S other = eg__shuffle_up(s, by, width);
        s = lane >= by ? o.both(other, s) : s;
    }
    S before = eg__shuffle_up(s, 1, width);
    before = lane ? before : o.none();
    if (lanes <= 32) {
        *whole = eg__shuffle_from(s, width - 1, width);
        return before;
    }
    const unsigned warp = threadIdx.x / 32, first = threadIdx.x / lanes * (lanes / 32);
    if (lane == 31) {
        room[warp] = s;
    }
    __syncthreads();
    S all = o.none(), mine = o.none();
    for (unsigned k = 0; k < lanes / 32; k++) {
        mine = first + k == warp ? all : mine;
        all = o.both(all, room[first + k]);
    }
    *whole = all;
    return o.both(mine, before);
}

/* Neighbouring threads at neighbouring elements, four each. */
template <class O>
__global__ void __launch_bounds__(EG__LINE_BLOCK, EG__LINE_BLOCKS(typename O::number))
    scan_along(const eg__lines l, const O o, int phase)
{
    typedef typename O::state state;
    __shared__ state room[2][EG__LINE_BLOCK / 32];
    const unsigned lane = threadIdx.x & (l.lanes - 1), part = blockIdx.y;
    const int64_t i = eg__own_line(l.lanes);
    const bool live = i < l.at.n;
    const line<O> x(l, o, live ? i : 0);
    state *const known = (state *)l.parts_at + (live ? i * l.parts + part : 0);
    const int64_t begin = part * l.part, end = begin + l.part < l.n ? begin + l.part : l.n;
    const unsigned tile = EG__QUAD * l.lanes;
    state carry = phase == AGAIN ? *known : o.none();
    unsigned turn = 0;
    for (int64_t from = begin; from < end; from += tile, turn ^= 1) {
        const int64_t j = from + EG__QUAD * lane;
        const bool four = l.side && j + EG__QUAD <= end;
        state s[EG__QUAD];
        if (four) {
            x.get4(j, s);
        } else {
            x.template get<EG__QUAD>(j, end, s);
        }
#pragma unroll
        for (int k = 1; k < EG__QUAD; k++) {
            s[k] = o.both(s[k - 1], s[k]);
        }
        state whole;
        const state before = o.both(carry, before_lane(o, s[EG__QUAD - 1], l.lanes, room[turn], &whole));
        carry = o.both(carry, whole);
        if (phase == TOTALS || !live) {
            continue;
        }
#pragma unroll
        for (int k = 0; k < EG__QUAD; k++) {
            s[k] = o.both(before, s[k]);
        }
        if (four) {
            x.put4(j, s);
        } else {
#pragma unroll
            for (int k = 0; k < EG__QUAD; k++) {
                if (j + k < end) {
                    x.put(j + k, s[k]);
                }
            }
        }
    }
    if (phase == TOTALS && live && !lane) {
        *known = carry;
    }
}

/* A thread for each line, or part of one. */
template <class O>
__global__ void __launch_bounds__(EG__LINE_BLOCK, EG__LINE_BLOCKS(typename O::number))
    scan_across(const eg__lines l, const O o, int phase)
{
    typedef typename O::state state;
    const unsigned part = blockIdx.y;
    const int64_t i = (int64_t)blockIdx.x * EG__LINE_BLOCK + threadIdx.x;
    if (i >= l.at.n) {
        return;
    }
    const line<O> x(l, o, i);
    state *const known = (state *)l.parts_at + i * l.parts + part;
    const int64_t begin = part * l.part, end = begin + l.part < l.n ? begin + l.part : l.n;
    state carry = phase == AGAIN ? *known : o.none();
    for (int64_t j = begin; j < end; j += AT_ONCE) {
        state s[AT_ONCE];
        x.template get<AT_ONCE>(j, end, s);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            if (j + k < end) {
                carry = o.both(carry, s[k]);
                if (phase != TOTALS) {
                    x.put(j + k, carry);
                }
            }
        }
    }
    if (phase == TOTALS) {
        *known = carry;
    }
}

/* Of each line's parts, a block for a line: what is known of a part becomes what is known before it. */
template <class O> __global__ void __launch_bounds__(EG__LINE_BLOCK) scan_parts(const eg__lines l, const O o)
{
    typedef typename O::state state;
    __shared__ state room[2][EG__LINE_BLOCK / 32];
    state *known = (state *)l.parts_at + (int64_t)blockIdx.x * l.parts;
    state carry = o.none();
    unsigned turn = 0;
    for (unsigned from = 0; from < l.parts; from += EG__LINE_BLOCK, turn ^= 1) {
        const unsigned k = from + threadIdx.x;
        state whole, s = k < l.parts ? known[k] : o.none();
        s = o.both(carry, before_lane(o, s, EG__LINE_BLOCK, room[turn], &whole));
        carry = o.both(carry, whole);
        if (k < l.parts) {
            known[k] = s;
        }
    }
}

template <class O> static cudaError_t pass(const eg__lines &l, const O &o, phase p, cudaStream_t s)
{
    const dim3 grid(eg__line_blocks(l.at.n, EG__LINE_BLOCK / l.lanes), l.parts);
    return l.along ? EG__LAUNCH(scan_along<O>, grid, EG__LINE_BLOCK, 0, s, l, o, p)
                   : EG__LAUNCH(scan_across<O>, grid, EG__LINE_BLOCK, 0, s, l, o, p);
}

template <class O> static cudaError_t scan(const eg__lines &l, const O &o, cudaStream_t s)
{
    static_assert(sizeof(typename O::state) <= EG__SCAN_BYTES, "scratch has room for it");
    if (l.parts == 1) {
        return pass(l, o, WHOLE, s);
    }
    cudaError_t e = pass(l, o, TOTALS, s);
    if (e == cudaSuccess) {
        e = EG__LAUNCH(scan_parts<O>, (unsigned)l.at.n, EG__LINE_BLOCK, 0, s, l, o);
    }
    return e == cudaSuccess ? pass(l, o, AGAIN, s) : e;
}

template <class T> static cudaError_t start(const eg__lines &l, eg__scanner how, cudaStream_t s)
{
    switch (how) {
    case EG__SCAN_SUM:
        return scan(l, running_sum<T>(), s);
    case EG__SCAN_PRODUCT:
        return scan(l, running_product<T>(), s);
    default:
        return scan(l, running_extreme<T>{how == EG__SCAN_MIN}, s);
    }
}

cudaError_t eg__launch_scan(const eg__lines *l, eg__scanner how, cudaStream_t s)
{
    switch (l->in) {
    case EG__IN_F32:
        return how == EG__SCAN_RECURRENCE ? scan(*l, recurrence<float>(), s) : start<float>(*l, how, s);
    case EG__IN_F64:
        return how == EG__SCAN_RECURRENCE ? scan(*l, recurrence<double>(), s) : start<double>(*l, how, s);
    default:
        return start<int64_t>(*l, how, s);
    }
}
