/* rnn.cu - the steps of recurrent layers between their products: a thread for each cell. */
#include "lib/cuda/common/element.cuh"
#include "lib/cuda/common/fault.cuh"
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/common/math.cuh"
#include "lib/cuda/rnn/rnn.h"

namespace
{

EG__FN int64_t length_of(const char *lengths, int is_long, int64_t row)
{
    return is_long ? ((const int64_t *)lengths)[row] : ((const int32_t *)lengths)[row];
}

/* The cell of this thread. */
struct cell {
    int64_t i, row, j; /* among all; column j of the row */
    bool there, takes;

    EG__FN cell(const eg__rnn_cells &k)
    {
        i = eg__self();
        there = i < k.n;
        row = eg__divide(i, k.width);
        j = i - row * k.width.d;
        takes = there && (!k.lengths || k.t < length_of(k.lengths, k.long_lengths, row));
    }
    /* Its first gate of several. */
    EG__FN int64_t gate(const eg__rnn_cells &k, int gates) const
    {
        return row * gates * k.width.d + j;
    }
};

/* An element of the row's dtype, 0 where there is none. */
template <class T> EG__FN T get(const char *p, const eg__rnn_cells &k, int64_t i)
{
    return p ? eg__get<T>(p + i * k.size, k.dtype) : T(0);
}

EG__FN void put(char *p, const eg__rnn_cells &k, int64_t i, float v)
{
    eg__put(p + i * k.size, k.dtype, v);
}

EG__FN void put(char *p, const eg__rnn_cells &, int64_t i, double v)
{
    ((double *)p)[i] = v;
}

/* The state after a step, wherever it goes. */
template <class T> EG__FN void put_state(const eg__rnn_step &k, const cell &c, T h)
{
    if (k.h) {
        ((T *)k.h)[c.i] = h;
    }
    if (k.feed) {
        put(k.feed, k.at, c.i, h);
    }
    if (k.y) {
        put(k.y, k.at, c.i, c.takes ? h : T(0));
    }
}

/* What of the gradient goes to the state before as it is: all of it in rows that do not take the step. */
template <class T> EG__FN void put_past(const eg__rnn_back &k, const cell &c, T dh)
{
    if (k.past) {
        ((T *)k.past)[c.i] = c.takes ? T(0) : dh;
    }
}

/* ---- LSTM --------------------------------------------------------------------------------------------- */

template <class T> __global__ void __launch_bounds__(EG__BLOCK) lstm_step(const eg__rnn_step k)
{
    const cell at(k.at);
    if (!at.there) {
        return;
    }
    const int64_t H = k.at.width.d;
    T *z = (T *)k.gates + at.gate(k.at, 4);
    T c = ((const T *)k.c_before)[at.i], h = k.h_before ? ((const T *)k.h_before)[at.i] : T(0);
    T gate[4] = {0, 0, 0, 0}; /* of rows that do not take it too: x may hold anything there */
    if (at.takes) {
#pragma unroll
        for (int g = 0; g < 4; g++) {
            const T v = z[g * H] + (get<T>(k.b_ih, k.at, at.j + g * H) + get<T>(k.b_hh, k.at, at.j + g * H));
            gate[g] = g == 2 ? eg__fn_tanh(v) : eg__fn_sigmoid(v);
        }
        c = gate[1] * c + gate[0] * gate[2];
        c = c > (T)k.clip ? (T)k.clip : c < -(T)k.clip ? -(T)k.clip : c;
        h = gate[3] * eg__fn_tanh(c);
    }
#pragma unroll
    for (int g = 0; g < 4; g++) {
        z[g * H] = gate[g];
    }
    ((T *)k.c)[at.i] = c;
    put_state(k, at, h);
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) lstm_project(const eg__rnn_step k)
{
    const cell at(k.at);
    if (at.there) {
        put_state(k, at, at.takes ? ((const T *)k.h)[at.i] : ((const T *)k.h_before)[at.i]);
    }
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) lstm_back(const eg__rnn_back k)
{
    const cell at(k.at);
    if (!at.there) {
        return;
    }
    const int64_t H = k.at.width.d, first = at.gate(k.at, 4);
    const T dh = ((const T *)k.dh)[at.i];
    T dz[4] = {0, 0, 0, 0};
    if (at.takes) {
        const T *z = (const T *)k.gates + first;
        const T i = z[0], f = z[H], g = z[2 * H], o = z[3 * H], c = ((const T *)k.c)[at.i];
        const T tc = eg__fn_tanh(c), d = dh + get<T>(k.dy, k.at, at.i);
        T dc = ((const T *)k.dc)[at.i] + d * o * (1 - tc * tc);
        dc = eg__fn_abs(c) >= (T)k.clip ? T(0) : dc;
        dz[0] = dc * g * i * (1 - i);
        dz[1] = dc * ((const T *)k.c_before)[at.i] * f * (1 - f);
        dz[2] = dc * i * (1 - g * g);
        dz[3] = d * tc * o * (1 - o);
        ((T *)k.dc)[at.i] = dc * f;
    }
#pragma unroll
    for (int g = 0; g < 4; g++) {
        put(k.dz, k.at, first + g * H, dz[g]);
    }
    put_past(k, at, dh);
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) lstm_project_back(const eg__rnn_back k)
{
    const cell at(k.at);
    if (!at.there) {
        return;
    }
    const T dh = ((const T *)k.dh)[at.i];
    put(k.dz, k.at, at.i, at.takes ? dh + get<T>(k.dy, k.at, at.i) : T(0));
    put_past(k, at, dh);
}

/* ---- GRU ---------------------------------------------------------------------------------------------- */

template <class T> __global__ void __launch_bounds__(EG__BLOCK) gru_step(const eg__rnn_step k)
{
    const cell at(k.at);
    if (!at.there) {
        return;
    }
    const int64_t H = k.at.width.d, first = at.gate(k.at, 3);
    T *g = (T *)k.gates + first;
    T m[3] = {0, 0, 0};
    T h = ((const T *)k.h_before)[at.i], met = 0;
    if (at.takes) {
        const int64_t j = at.j;
#pragma unroll
        for (int i = 0; i < 3; i++) {
            m[i] = k.product ? ((const T *)k.product)[first + i * H] : T(0);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            g[i * H] =
                eg__fn_sigmoid(g[i * H] + m[i] + (get<T>(k.b_ih, k.at, j + i * H) + get<T>(k.b_hh, k.at, j + i * H)));
        }
        met = m[2] + get<T>(k.b_hh, k.at, j + 2 * H);
        const T v = eg__fn_tanh(g[2 * H] + get<T>(k.b_ih, k.at, j + 2 * H) + g[0] * met);
        g[2 * H] = v;
        h = v + g[H] * (h - v);
    }
    ((T *)k.met)[at.i] = met;
    put_state(k, at, h);
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) gru_gates(const eg__rnn_step k)
{
    const cell at(k.at);
    if (!at.there) {
        return;
    }
    const int64_t H = k.at.width.d;
    T *g = (T *)k.gates + at.gate(k.at, 3);
    T met = 0;
    if (at.takes) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            g[i * H] =
                eg__fn_sigmoid(g[i * H] + (get<T>(k.b_ih, k.at, at.j + i * H) + get<T>(k.b_hh, k.at, at.j + i * H)));
        }
        met = g[0] * ((const T *)k.h_before)[at.i];
    }
    ((T *)k.met)[at.i] = met;
    if (k.feed) {
        put(k.feed, k.at, at.i, met);
    }
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) gru_candidate(const eg__rnn_step k)
{
    const cell at(k.at);
    if (!at.there) {
        return;
    }
    const int64_t H = k.at.width.d, j = at.j + 2 * H;
    T *g = (T *)k.gates + at.gate(k.at, 3);
    T h = ((const T *)k.h_before)[at.i];
    if (at.takes) {
        const T v = eg__fn_tanh(g[2 * H] + (get<T>(k.b_ih, k.at, j) + get<T>(k.b_hh, k.at, j)));
        g[2 * H] = v;
        h = v + g[H] * (h - v);
    }
    put_state(k, at, h);
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) gru_back(const eg__rnn_back k)
{
    const cell at(k.at);
    if (!at.there) {
        return;
    }
    const int64_t H = k.at.width.d, first = at.gate(k.at, 3);
    T d = ((const T *)k.dh)[at.i], dr = 0, dz = 0, dv = 0, dm = 0;
    if (at.takes) {
        const T *g = (const T *)k.gates + first;
        const T r = g[0], z = g[H], v = g[2 * H];
        d += get<T>(k.dy, k.at, at.i);
        dv = d * (1 - z) * (1 - v * v);
        dr = dv * ((const T *)k.met)[at.i] * r * (1 - r);
        dz = d * (((const T *)k.h_before)[at.i] - v) * z * (1 - z);
        dm = dv * r;
        d *= z;
    }
    put(k.dz, k.at, first, dr);
    put(k.dm, k.at, first, dr);
    put(k.dz, k.at, first + H, dz);
    put(k.dm, k.at, first + H, dz);
    put(k.dz, k.at, first + 2 * H, dv);
    put(k.dm, k.at, first + 2 * H, dm);
    ((T *)k.past)[at.i] = d;
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) gru_candidate_back(const eg__rnn_back k)
{
    const cell at(k.at);
    if (!at.there) {
        return;
    }
    const int64_t H = k.at.width.d, first = at.gate(k.at, 3);
    T d = ((const T *)k.dh)[at.i], dz = 0, dv = 0;
    if (at.takes) {
        const T *g = (const T *)k.gates + first;
        const T z = g[H], v = g[2 * H];
        d += get<T>(k.dy, k.at, at.i);
        dz = d * (((const T *)k.h_before)[at.i] - v) * z * (1 - z);
        dv = d * (1 - z) * (1 - v * v);
        d *= z;
    }
    put(k.dz, k.at, first + H, dz);
    put(k.dz, k.at, first + 2 * H, dv);
    ((T *)k.past)[at.i] = d;
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) gru_gates_back(const eg__rnn_back k)
{
    const cell at(k.at);
    if (!at.there) {
        return;
    }
    const int64_t first = at.gate(k.at, 3);
    T dr = 0;
    if (at.takes) {
        const T r = ((const T *)k.gates)[first], d = k.drh ? ((const T *)k.drh)[at.i] : T(0);
        dr = d * ((const T *)k.h_before)[at.i] * r * (1 - r);
        ((T *)k.past)[at.i] += d * r;
    }
    put(k.dz, k.at, first, dr);
}

/* ---- before and after --------------------------------------------------------------------------------- */

EG__FN int size_of(int dtype)
{
    return dtype == EG_F64 ? 8 : dtype == EG_F32 ? 4 : 2;
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) rnn_copies(const eg__rnn_copies k)
{
    const int64_t i = eg__self();
    for (int m = 0; m < k.jobs; m++) {
        if (i < k.job[m].n) {
            const int from = k.job[m].from_dtype, to = k.job[m].to_dtype;
            const T v = k.job[m].from ? eg__get<T>(k.job[m].from + i * size_of(from), from) : T(0);
            eg__put(k.job[m].to + i * size_of(to), to, v);
        }
    }
    if (k.lengths && i < k.rows) {
        const int64_t length = length_of(k.lengths, k.long_lengths, i);
        if (length < 0 || length > k.steps) {
            eg__report_fault(k.fault, EG__FAULT_LENGTH, k.op, 0, length, i, k.steps);
        }
    }
}

/* A row of blocks for each piece. */
__global__ void __launch_bounds__(EG__BLOCK) rnn_pieces(const eg__rnn_pieces k)
{
    const char *from = k.piece[blockIdx.y].from;
    char *to = k.piece[blockIdx.y].to;
    const int64_t n = k.piece[blockIdx.y].bytes / k.unit;
    const uint4 zero = make_uint4(0, 0, 0, 0);
    for (int64_t i = eg__self(); i < n; i += (int64_t)gridDim.x * EG__BLOCK) {
        eg__move(to + i * k.unit, from ? from + i * k.unit : (const char *)&zero, k.unit);
    }
}

} // namespace

/* ---- starting ----------------------------------------------------------------------------------------- */

#define START(name, args)                                                                        \
    cudaError_t eg__launch_##name(const args *k, cudaStream_t s)                                 \
    {                                                                                            \
        return !k->at.n     ? cudaSuccess                                                        \
               : k->at.wide ? EG__LAUNCH(name<double>, eg__blocks(k->at.n), EG__BLOCK, 0, s, *k) \
                            : EG__LAUNCH(name<float>, eg__blocks(k->at.n), EG__BLOCK, 0, s, *k); \
    }
START(lstm_step, eg__rnn_step)
START(lstm_project, eg__rnn_step)
START(gru_step, eg__rnn_step)
START(gru_gates, eg__rnn_step)
START(gru_candidate, eg__rnn_step)
START(lstm_back, eg__rnn_back)
START(lstm_project_back, eg__rnn_back)
START(gru_back, eg__rnn_back)
START(gru_candidate_back, eg__rnn_back)
START(gru_gates_back, eg__rnn_back)

cudaError_t eg__launch_rnn_copies(const eg__rnn_copies *k, cudaStream_t s)
{
    int64_t n = k->lengths ? k->rows : 0;
    for (int m = 0; m < k->jobs; m++) {
        n = k->job[m].n > n ? k->job[m].n : n;
    }
    return !n        ? cudaSuccess
           : k->wide ? EG__LAUNCH(rnn_copies<double>, eg__blocks(n), EG__BLOCK, 0, s, *k)
                     : EG__LAUNCH(rnn_copies<float>, eg__blocks(n), EG__BLOCK, 0, s, *k);
}

cudaError_t eg__launch_rnn_pieces(const eg__rnn_pieces *given, cudaStream_t s)
{
    enum { MOST = 256 }; /* blocks to a piece */
    eg__rnn_pieces k = *given;
    uint64_t bits = 16, longest = 0;
    for (int i = 0; i < k.n; i++) {
        bits |= (uint64_t)(uintptr_t)k.piece[i].from | (uint64_t)(uintptr_t)k.piece[i].to | (uint64_t)k.piece[i].bytes;
        longest = (uint64_t)k.piece[i].bytes > longest ? (uint64_t)k.piece[i].bytes : longest;
    }
    k.unit = (int)(bits & (~bits + 1));
    const unsigned blocks = eg__blocks((int64_t)(longest / (uint64_t)k.unit));
    const dim3 grid(blocks < MOST ? blocks : (unsigned)MOST, (unsigned)k.n);
    return k.n && longest ? EG__LAUNCH(rnn_pieces, grid, EG__BLOCK, 0, s, k) : cudaSuccess;
}
