/* ctc.cu - connectionist temporal classification. A block goes through the frames of a row, a thread per state; the
 * gradient goes back the same way, noting which share of the paths is in each state, and a second kernel makes lines of
 * classes of them, each label's first place adding up the others in their order. Greedy decoding. */
#include "lib/cuda/common/block.cuh"
#include "lib/cuda/reduce/ctc.h"
#include "lib/cuda/common/fault.cuh"
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/common/math.cuh"

namespace
{

enum { AHEAD = 4 }; /* frames whose log_probs are read before they are wanted */

/* Threads of a row at most. */
#define MOST(T) (sizeof(T) == 4 ? 1024 : 512)

/* ---- a row ----------------------------------------------------------------------------------------- */

template <class T> EG__FN T never()
{
    return (T)EG__CTC_NEVER;
}

/* log (e^a + e^b + e^c): of the three the largest counts 1. */
template <class T> EG__FN T sum_of(T a, T b, T c)
{
    const T high = a > b ? a : b, low = a > b ? b : a;
    const T top = high > c ? high : c, middle = high > c ? c : high;
    return top + eg__fn_log(1 + eg__fn_exp(low - top) + eg__fn_exp(middle - top));
}

/* The sum of the lengths of the rows before r, known to the whole block. */
__device__ int64_t before(const int64_t *lengths, int64_t r)
{
    __shared__ int64_t sum;
    if (threadIdx.x < 32) {
        int64_t mine = 0;
        for (int64_t i = threadIdx.x; i < r; i += 32) {
            mine += lengths[i];
        }
        for (int d = 16; d > 0; d /= 2) {
            mine += __shfl_xor_sync(0xffffffffu, mine, d);
        }
        if (threadIdx.x == 0) {
            sum = mine;
        }
    }
    __syncthreads();
    return sum;
}

/* Row r of a batch, as all threads of its block see it; lengths out of range are 0. */
struct row {
    const int64_t *labels;
    int64_t first, count, frames;
    int states, step; /* step: threads */

    __device__ row(const eg__ctc &k, int64_t r, bool tell) : step((int)blockDim.x)
    {
        const bool joined = k.target_lengths && !k.width;
        first = joined ? before(k.target_lengths, r) : r * k.width;
        count = k.target_lengths ? k.target_lengths[r] : k.width;
        frames = k.input_lengths ? k.input_lengths[r] : k.frames;
        tell = tell && threadIdx.x == 0;
        if (frames < 0 || frames > k.frames) {
            report(k, tell, EG__FAULT_LENGTH, frames, r, k.frames);
            frames = 0;
        }
        if (count < 0 || count > k.o.longest) {
            report(k, tell, EG__FAULT_LENGTH, count, r, k.o.longest);
            first = count = 0;
        } else if (joined &&
                   (first < 0 || first > k.ntargets - count || (r == k.rows - 1 && first + count != k.ntargets))) {
            report(k, tell, EG__FAULT_INDEX, first + count, k.ntargets, k.ntargets + 1);
            first = count = 0;
        }
        labels = k.targets + first;
        states = 2 * count + 1 <= k.states ? (int)(2 * count + 1) : 0;
    }
    __device__ static void report(const eg__ctc &k, bool tell, int kind, int64_t v, int64_t low, int64_t high)
    {
        if (tell) {
            eg__report_fault(k.fault, kind, k.op, nullptr, v, low, high);
        }
    }
    /* The class of a state; others than there are become 0. */
    EG__FN int64_t label(const eg__ctc &k, int s) const
    {
        const int64_t v = s & 1 ? labels[s / 2] : k.o.blank;
        return v >= 0 && v < k.classes ? v : 0;
    }
    /* Of its loss in the result. */
    EG__FN double share(const eg__ctc &k) const
    {
        return k.o.shares ? 1 / (double)(count > 1 ? count : 1) : 1;
    }
    EG__FN bool skips(int s) const
    {
        return s & 1 && s > 2 && labels[s / 2] != labels[s / 2 - 1];
    }
    /* The last states' paths. */
    template <class T> EG__FN T loss(const eg__ctc &k, int64_t r) const
    {
        if (!frames || !states) {
            return states == 1 ? 0 : (T)INFINITY;
        }
        const T *end = (const T *)k.alpha + (r * k.frames + frames - 1) * k.states + states;
        const T v = -sum_of(end[-1], states > 1 ? end[-2] : never<T>(), never<T>());
        return EG__CTC_POSSIBLE(v) ? v : (T)INFINITY;
    }
};

/* A thread's first state, and its log_probs in the next frames, which are read before they are wanted. */
template <class T> struct lead {
    const T *x; /* frame 0 of its class */
    int64_t step;
    T now[AHEAD], next[AHEAD];

    EG__FN lead(const eg__ctc &k, const row &w, int64_t r) : x((const T *)k.x + r * k.x_step[1]), step(k.x_step[0])
    {
        if ((int)threadIdx.x < w.states) {
            x += w.label(k, (int)threadIdx.x) * k.x_step[2];
        }
    }
    EG__FN static T bounded(T v)
    {
        return v < never<T>() ? never<T>() : v;
    }
    /* Frames from t on, or down to it, of those there are. */
    EG__FN void read(T *to, int64_t t, int by, int64_t frames) const
    {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int64_t at = t + i * by;
            to[i] = at >= 0 && at < frames ? bounded(x[at * step]) : 0;
        }
    }
    EG__FN void turn()
    {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            now[i] = next[i];
        }
    }
};

template <class T> EG__FN T emission(const eg__ctc &k, const row &w, int64_t r, int64_t t, int s)
{
    return lead<T>::bounded(((const T *)k.x)[t * k.x_step[0] + r * k.x_step[1] + w.label(k, s) * k.x_step[2]]);
}

template <class T> EG__FN T *columns_of(const eg__ctc &k, int64_t r, T *shared)
{
    return k.columns ? (T *)k.columns + 2 * r * k.states : shared;
}

/* ---- the loss -------------------------------------------------------------------------------------- */

template <class T> __device__ void check_labels(const eg__ctc &k, const row &w, int64_t r)
{
    for (int64_t i = threadIdx.x; i < w.count; i += w.step) {
        const int64_t v = w.labels[i];
        if (v < 0 || v >= k.classes) {
            eg__report(k.fault, k.op, nullptr, v, 0, k.classes);
        } else if (v == k.o.blank) {
            eg__report_fault(k.fault, EG__FAULT_BLANK, k.op, nullptr, v, i, r);
        }
    }
}

/* Frame t of the states that are this thread's; e: the first one's log_prob. */
template <class T>
EG__FN void forth(const eg__ctc &k, const row &w, int64_t r, int64_t t, T e, bool skips, const T *from, T *to)
{
    T *alpha = (T *)k.alpha + (r * k.frames + t) * k.states;
    for (int s = threadIdx.x; s < k.states; s += w.step) {
        T v = never<T>();
        if (s < w.states) {
            const bool mine = s == (int)threadIdx.x, skip = mine ? skips : w.skips(s);
            v = t == 0 ? (s < 2 ? 0 : never<T>())
                       : sum_of(from[s], s ? from[s - 1] : never<T>(), skip ? from[s - 2] : never<T>());
            v += mine ? e : emission<T>(k, w, r, t, s);
            to[s] = v;
        }
        alpha[s] = v;
    }
    __syncthreads();
}

template <class T> __global__ void __launch_bounds__(MOST(T), 1) losses(const eg__ctc k)
{
    EG__DYN_SHARED(T, shared);
    const int64_t r = blockIdx.x;
    const row w(k, r, true);
    const bool skips = (int)threadIdx.x < w.states && w.skips((int)threadIdx.x);
    const int64_t frames = w.states ? w.frames : 0;
    T *columns = columns_of(k, r, shared);
    lead<T> l(k, w, r);
    check_labels<T>(k, w, r);
    l.read(l.now, 0, 1, frames);
    for (int64_t t = 0; t < frames; t += AHEAD) {
        l.read(l.next, t + AHEAD, 1, frames);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (t + i < frames) {
                forth(k, w, r, t + i, l.now[i], skips, columns + (i & 1 ? 0 : k.states),
                      columns + (i & 1 ? k.states : 0));
            }
        }
        l.turn();
    }
    T *rest = (T *)k.alpha + (r * k.frames + frames) * k.states;
    for (int64_t i = threadIdx.x; i < (k.frames - frames) * k.states; i += w.step) {
        rest[i] = never<T>();
    }
    if (threadIdx.x == 0) {
        const T loss = w.loss<T>(k, r);
        ((T *)k.loss)[r] = loss == (T)INFINITY && k.o.zero_infinity ? 0 : (T)(loss * w.share(k));
    }
}

/* ---- the gradient ---------------------------------------------------------------------------------- */

/* Frame t of the states that are this thread's, from the end: from[s] is of what follows, with its log_prob. */
template <class T>
EG__FN void back(const eg__ctc &k, const row &w, int64_t r, int64_t t, T e, bool skips, T loss, const T *from, T *to)
{
    const int64_t at = (r * k.frames + t) * k.states;
    for (int s = threadIdx.x; s < w.states; s += w.step) {
        const bool mine = s == (int)threadIdx.x, skip = mine ? skips : s + 2 < w.states && w.skips(s + 2);
        T v = s + 2 < w.states ? never<T>() : 0;
        if (t < w.frames - 1) {
            v = sum_of(from[s], s + 1 < w.states ? from[s + 1] : never<T>(), skip ? from[s + 2] : never<T>());
        }
        ((T *)k.shares)[at + s] = eg__fn_exp(((const T *)k.alpha)[at + s] + v + loss);
        to[s] = v + (mine ? e : emission<T>(k, w, r, t, s));
    }
    __syncthreads();
}

/* Which equal labels follow each. */
__device__ void link(const eg__ctc &k, const row &w, int64_t r)
{
    for (int64_t i = threadIdx.x; i < w.count; i += w.step) {
        const int64_t v = w.labels[i];
        int64_t next = i + 1, last = i - 1;
        while (next < w.count && w.labels[next] != v) {
            next++;
        }
        while (last >= 0 && w.labels[last] != v) {
            last--;
        }
        k.links[r * (k.states / 2) + i] = 2 * (next < w.count ? next : 0) + (last < 0);
    }
}

template <class T> __global__ void __launch_bounds__(MOST(T), 1) shares(const eg__ctc k)
{
    EG__DYN_SHARED(T, shared);
    const int64_t r = blockIdx.x;
    const row w(k, r, false);
    const T loss = w.loss<T>(k, r);
    const bool possible = !(loss == (T)INFINITY);
    if (threadIdx.x == 0) {
        const T dy = ((const T *)k.dy)[r * k.dy_step];
        k.known[r] = {w.first, possible ? w.count : 0, w.frames,
                      possible            ? dy * w.share(k)
                      : k.o.zero_infinity ? 0
                                          : (double)NAN,
                      possible};
    }
    if (!possible || !w.states) {
        return;
    }
    link(k, w, r);
    const int behind = (int)threadIdx.x + 2;
    const bool skips = behind < w.states && w.skips(behind);
    T *columns = columns_of(k, r, shared);
    lead<T> l(k, w, r);
    l.read(l.now, w.frames - 1, -1, w.frames);
    for (int64_t t = w.frames - 1; t >= 0; t -= AHEAD) {
        l.read(l.next, t - AHEAD, -1, w.frames);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (t - i >= 0) {
                back(k, w, r, t - i, l.now[i], skips, loss, columns + (i & 1 ? 0 : k.states),
                     columns + (i & 1 ? k.states : 0));
            }
        }
        l.turn();
    }
}

/* dx = dy (e^x - the sum of the shares of the states of the class): a warp for each frame of each row. */
template <class T> __global__ void __launch_bounds__(EG__BLOCK) slopes(const eg__ctc k)
{
    const int64_t line = eg__self() / 32, t = line / k.rows, r = line - t * k.rows;
    const int lane = threadIdx.x & 31;
    if (t >= k.frames) {
        return;
    }
    const eg__ctc_known w = k.known[r];
    const bool zero = t >= w.frames || (!w.possible && k.o.zero_infinity);
    const T scale = (T)w.share;
    const T *x = (const T *)k.x + t * k.x_step[0] + r * k.x_step[1];
    T *dx = (T *)k.dx + t * k.dx_step[0] + r * k.dx_step[1];
#pragma unroll 4
    for (int64_t j = lane; j < k.classes; j += 32) {
        dx[j * k.dx_step[2]] = zero ? 0 : scale * eg__fn_exp(x[j * k.x_step[2]]);
    }
    if (zero || !w.possible) {
        return;
    }
    const T *share = (const T *)k.shares + (r * k.frames + t) * k.states;
    T blank = 0;
    for (int64_t i = lane; i <= w.count; i += 32) {
        blank += share[2 * i];
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        blank += __shfl_xor_sync(0xffffffffu, blank, d);
    }
    __syncwarp(); /* what other lanes wrote is there */
    if (lane == 0) {
        dx[k.o.blank * k.dx_step[2]] -= scale * blank;
    }
    __syncwarp();
    const int64_t *links = k.links + r * (k.states / 2);
    for (int64_t i = lane; i < w.count; i += 32) {
        const int64_t label = k.targets[w.labels + i];
        int64_t at = links[i];
        if (!(at & 1) || label < 0 || label >= k.classes) {
            continue;
        }
        T sum = share[2 * i + 1];
        for (at /= 2; at; at = links[at] / 2) {
            sum += share[2 * at + 1];
        }
        dx[label * k.dx_step[2]] -= scale * sum;
    }
}

/* ---- decoding -------------------------------------------------------------------------------------- */

/* A block per row: which frames count, and where what they say goes. */
__global__ void __launch_bounds__(EG__BLOCK) collapse(const eg__collapsing k)
{
    const int64_t r = blockIdx.x;
    int64_t frames = k.input_lengths ? k.input_lengths[r] : k.frames, n = 0;
    if (frames < 0 || frames > k.frames) {
        if (threadIdx.x == 0) {
            eg__report_fault(k.fault, EG__FAULT_LENGTH, k.op, nullptr, frames, r, k.frames);
        }
        frames = 0;
    }
    for (int64_t t = threadIdx.x; t - threadIdx.x < frames; t += EG__BLOCK) {
        const int64_t v = t < frames ? k.path[t * k.rows + r] : k.blank;
        const int says = v != k.blank && (t == 0 || v != k.path[(t - 1) * k.rows + r]);
        int total;
        const int64_t at = n + eg__block_scan<EG__BLOCK>(says, &total);
        if (says) {
            k.labels[r * k.frames + at] = v;
        }
        n += total;
    }
    for (int64_t t = n + threadIdx.x; t < k.frames; t += EG__BLOCK) {
        k.labels[r * k.frames + t] = -1;
    }
    if (threadIdx.x == 0) {
        k.lengths[r] = n;
    }
}

/* ---- starting -------------------------------------------------------------------------------------- */

unsigned threads_of(const eg__ctc *k)
{
    const unsigned most = k->f64 ? MOST(double) : MOST(float);
    return k->states < most ? ((unsigned)k->states + 31) / 32 * 32 : most;
}

unsigned shared_of(const eg__ctc *k)
{
    return k->columns ? 0 : 2 * (unsigned)k->states * (k->f64 ? 8 : 4);
}

} // namespace

cudaError_t eg__launch_ctc_loss(const eg__ctc *k, cudaStream_t s)
{
    const unsigned rows = (unsigned)k->rows;
    return k->f64 ? EG__LAUNCH(losses<double>, rows, threads_of(k), shared_of(k), s, *k)
                  : EG__LAUNCH(losses<float>, rows, threads_of(k), shared_of(k), s, *k);
}

cudaError_t eg__launch_ctc_loss_grad(const eg__ctc *k, cudaStream_t s)
{
    const unsigned rows = (unsigned)k->rows, lines = eg__blocks(32 * k->rows * k->frames);
    cudaError_t e = k->f64 ? EG__LAUNCH(shares<double>, rows, threads_of(k), shared_of(k), s, *k)
                           : EG__LAUNCH(shares<float>, rows, threads_of(k), shared_of(k), s, *k);
    if (e) {
        return e;
    }
    return k->f64 ? EG__LAUNCH(slopes<double>, lines, EG__BLOCK, 0, s, *k)
                  : EG__LAUNCH(slopes<float>, lines, EG__BLOCK, 0, s, *k);
}

cudaError_t eg__launch_ctc_collapse(const eg__collapsing *k, cudaStream_t s)
{
    return EG__LAUNCH(collapse, (unsigned)k->rows, EG__BLOCK, 0, s, *k);
}
