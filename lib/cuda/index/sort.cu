/* sort.cu - sorting lines that fit a block, the first of longer ones, pairs for sorting those whole, and places
 * in sorted lines. */
#include "lib/cuda/common/block.cuh"
#include "lib/cuda/common/fault.cuh"
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/common/key.cuh"

/* ---- words of a block --------------------------------------------------------------------------------- */

/* Where word i is in shared memory: with gaps, so that threads that read runs meet different banks. */
template <class W> static __device__ __forceinline__ int slot(int i)
{
    return i + i / (int)(128 / sizeof(W));
}

template <class W> struct tile {
    W words[EG__TILE + EG__TILE * sizeof(W) / 128];
};

/* The first of those left in a run of sorted words; behind its end all ones. */
template <class W> static __device__ __forceinline__ W head(const W *words, int run, int i, int length)
{
    return i < length ? words[slot<W>(run + i)] : ~(W)0;
}

/* Sorts the words, each run of `length` (a power of two) for itself: a few in each thread's registers, then by
 * merging, where each thread finds its part of the merged run by bisection. */
template <class W, int ITEMS> static __device__ void sort_words(W *words, int length)
{
    const int self = threadIdx.x * ITEMS;
    W v[ITEMS];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        v[j] = words[slot<W>(self + j)];
    }
#pragma unroll
    for (int round = 0; round < ITEMS; round++) {
#pragma unroll
        for (int j = round & 1; j + 1 < ITEMS; j += 2) {
            const W a = v[j], b = v[j + 1];
            const bool swap = b < a;
            v[j] = swap ? b : a;
            v[j + 1] = swap ? a : b;
        }
    }
    for (int run = ITEMS; run < length; run *= 2) {
        __syncthreads();
#pragma unroll
        for (int j = 0; j < ITEMS; j++) {
            words[slot<W>(self + j)] = v[j];
        }
        __syncthreads();
        const int at = self & (2 * run - 1), first = self - at, second = first + run;
        int low = at > run ? at - run : 0, high = at < run ? at : run;
        while (low < high) {
            const int middle = (low + high) / 2;
            if (words[slot<W>(first + middle)] < words[slot<W>(second + at - 1 - middle)]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        int i = low, k = at - low;
        W a = head(words, first, i, run), b = head(words, second, k, run);
#pragma unroll
        for (int j = 0; j < ITEMS; j++) {
            const bool later = b < a;
            v[j] = later ? b : a;
            i += !later;
            k += later;
            const W next = later ? head(words, second, k, run) : head(words, first, i, run);
            a = later ? a : next;
            b = later ? next : b;
        }
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        words[slot<W>(self + j)] = v[j];
    }
    __syncthreads();
}

/* ---- lines that fit a block ------------------------------------------------------------------------------- */

/* 1 << log words to a line. Elements are read, and results written, as they lie in memory: along the line, or
 * across lines. */
template <class W> __global__ void __launch_bounds__(EG__BLOCK) sort_tiles(const eg__ordering o, int log)
{
    __shared__ tile<W> t;
    const int lines = EG__TILE >> log, length = 1 << log, n = (int)o.n.d;
    const int64_t first = (int64_t)blockIdx.x * lines;
    const bool across = o.inner.d > 1;
    for (int i = threadIdx.x; i < EG__TILE; i += EG__BLOCK) {
        const int line = across ? i & (lines - 1) : i >> log, at = across ? i / lines : i & (length - 1);
        W w = ~(W)0;
        if (first + line < o.lines && at < n) {
            w = eg__word_of<W>(o.x + eg__element(o, first + line, n, at) * o.size, (uint32_t)at, o);
        }
        t.words[slot<W>(line * length + at)] = w;
    }
    sort_words<W, EG__TILE / EG__BLOCK>(t.words, length);
    for (int i = threadIdx.x; i < EG__TILE; i += EG__BLOCK) {
        const int line = across ? i & (lines - 1) : i >> log, at = across ? i / lines : i & (length - 1);
        if (first + line < o.lines && at < o.k) {
            eg__put_rank(o, first + line, at, (uint32_t)t.words[slot<W>(line * length + at)]);
        }
    }
}

cudaError_t eg__launch_sort_tiles(const eg__ordering *o, cudaStream_t s)
{
    int log = 3; /* what one thread has */
    while (1 << log < o->n.d) {
        log++;
    }
    const int64_t lines = EG__TILE >> log;
    const unsigned grid = (unsigned)((o->lines + lines - 1) / lines);
    return o->bits > 32 ? EG__LAUNCH(sort_tiles<eg__wide_word>, grid, EG__BLOCK, 0, s, *o, log)
                        : EG__LAUNCH(sort_tiles<eg__word>, grid, EG__BLOCK, 0, s, *o, log);
}

/* ---- the first of long lines --------------------------------------------------------------------------------- */

enum { CHOOSERS = 1024, DIGIT = 11, BINS = 1 << DIGIT, AHEAD = 4 };

/* Words of a line: made of elements, or chosen already. */
template <class W> struct source {
    const W *given;
    int64_t line, count;
};

template <class W> static __device__ __forceinline__ W word_at(const eg__ordering &o, const source<W> &from, int64_t i)
{
    return from.given ? from.given[from.line * from.count + i]
                      : eg__word_of<W>(o.x + eg__element(o, from.line, o.n.d, i) * o.size, (uint32_t)i, o);
}

/* Calls f for words begin..end-1, each in some thread; a few are on their way at a time. */
template <class W, class F>
static __device__ __forceinline__ void for_words(const eg__ordering &o, const source<W> &from, int64_t begin,
                                                 int64_t end, F f)
{
    int64_t i = begin + threadIdx.x;
    for (; i + (AHEAD - 1) * CHOOSERS < end; i += AHEAD * CHOOSERS) {
        W w[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            w[j] = word_at(o, from, i + j * CHOOSERS);
        }
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            f(w[j]);
        }
    }
    for (; i < end; i += CHOOSERS) {
        f(word_at(o, from, i));
    }
}

/* The first k of a part of a line. Digits of the k-th word are found by counting, from the highest on, until those
 * up to it fit the block's memory; these are sorted. */
template <class W>
__global__ void __launch_bounds__(CHOOSERS, 1)
    select_first(const eg__ordering o, source<W> from, int64_t part, int parts, W *chosen)
{
    __shared__ tile<W> t;
    __shared__ unsigned bins[BINS];
    __shared__ unsigned digit, before, held;
    from.line = blockIdx.x / parts;
    const int64_t begin = blockIdx.x % parts * part;
    const int64_t end = begin + part < from.count ? begin + part : from.count;
    int shift = sizeof(W) > 8 ? 96 : 64; /* of the bits found so far */
    W known = 0;
    int64_t taken = 0, next = end - begin; /* words before those that start as known, and those */
    while (taken + next > EG__TILE) {
        const int width = shift < DIGIT ? shift : DIGIT;
        const int low = shift - width;
        const bool any = known == 0 && taken == 0 && next == end - begin; /* nothing is known */
        for (int i = threadIdx.x; i < BINS; i += CHOOSERS) {
            bins[i] = 0;
        }
        __syncthreads();
        for_words(o, from, begin, end, [=](W w) {
            const W top = w >> low;
            if (any || top >> width == known) {
                atomicAdd(&bins[(unsigned)top & ((1u << width) - 1)], 1u);
            }
        });
        __syncthreads();
        const unsigned b0 = bins[2 * threadIdx.x], b1 = bins[2 * threadIdx.x + 1];
        unsigned all;
        const unsigned below = eg__block_scan<CHOOSERS>(b0 + b1, &all);
        const int64_t wanted = o.k - taken;
        if (below < wanted && wanted <= (int64_t)below + b0) {
            digit = 2 * threadIdx.x;
            before = below;
        } else if (below + b0 < wanted && wanted <= (int64_t)below + b0 + b1) {
            digit = 2 * threadIdx.x + 1;
            before = below + b0;
        }
        __syncthreads();
        known = known << width | digit;
        shift = low;
        taken += before;
        next = bins[digit];
        __syncthreads();
    }
    const int found = shift;
    const bool all = taken == 0 && next == end - begin; /* every word fits */
    if (threadIdx.x == 0) {
        held = 0;
    }
    for (int i = threadIdx.x; i < EG__TILE; i += CHOOSERS) {
        t.words[slot<W>(i)] = ~(W)0;
    }
    __syncthreads();
    for_words(o, from, begin, end, [=](W w) {
        if (all || w >> found <= known) {
            t.words[slot<W>((int)atomicAdd(&held, 1u))] = w;
        }
    });
    sort_words<W, EG__TILE / CHOOSERS>(t.words, EG__TILE);
    for (int i = threadIdx.x; i < o.k; i += CHOOSERS) {
        const W w = t.words[slot<W>(i)];
        if (chosen) {
            chosen[(int64_t)blockIdx.x * o.k + i] = w;
        } else {
            eg__put_rank(o, from.line, i, (uint32_t)w);
        }
    }
}

template <class W> static cudaError_t select_in_parts(const eg__ordering *o, int parts, W *chosen, cudaStream_t s)
{
    const int64_t part = (o->n.d + parts - 1) / parts;
    const source<W> line = {NULL, 0, o->n.d}, rest = {chosen, 0, parts * o->k};
    cudaError_t e =
        EG__LAUNCH(select_first<W>, (unsigned)(o->lines * parts), CHOOSERS, 0, s, *o, line, part, parts, chosen);
    return e || !chosen
               ? e
               : EG__LAUNCH(select_first<W>, (unsigned)o->lines, CHOOSERS, 0, s, *o, rest, rest.count, 1, (W *)NULL);
}

cudaError_t eg__launch_select_first(const eg__ordering *o, int parts, void *chosen, cudaStream_t s)
{
    return o->bits > 32 ? select_in_parts<eg__wide_word>(o, parts, (eg__wide_word *)chosen, s)
                        : select_in_parts<eg__word>(o, parts, (eg__word *)chosen, s);
}

/* ---- pairs --------------------------------------------------------------------------------------------------- */

/* Element e is number `at` of line `line` of those in hand: neighbours in memory have neighbouring numbers. */
static __device__ __forceinline__ void place_of(const eg__ordering &o, const eg__pairing &p, int64_t e, int64_t *line,
                                                int64_t *at)
{
    if (o.inner.d > 1) {
        *at = eg__divide(e, p.lines);
        *line = e - *at * p.lines.d;
    } else {
        *line = eg__divide(e, o.n);
        *at = e - *line * o.n.d;
    }
}

template <class K> __global__ void __launch_bounds__(EG__BLOCK) make_pairs(const eg__ordering o, const eg__pairing p)
{
    const int64_t e = eg__self();
    if (e >= p.count) {
        return;
    }
    int64_t line, at;
    place_of(o, p, e, &line, &at);
    const char *x = o.x + eg__element(o, p.first + line, o.n.d, at) * o.size;
    ((K *)p.key)[e] =
        o.bits > 32 ? (K)eg__key64(x, o) : (K)((uint64_t)(sizeof(K) > 4 ? line : 0) << 32 | eg__key32(x, o));
    p.at[e] = (uint32_t)e;
}

__global__ void __launch_bounds__(EG__BLOCK) pair_lines(const eg__ordering o, const eg__pairing p)
{
    const int64_t r = eg__self();
    if (r < p.count) {
        int64_t line, at;
        place_of(o, p, p.at[r], &line, &at);
        ((uint32_t *)p.key)[r] = (uint32_t)line;
    }
}

__global__ void __launch_bounds__(EG__BLOCK) put_pairs(const eg__ordering o, const eg__pairing p)
{
    const int64_t r = eg__self();
    if (r >= p.count) {
        return;
    }
    const int64_t own = eg__divide(r, o.n), rank = r - own * o.n.d;
    if (rank < o.k) {
        int64_t line, at;
        place_of(o, p, p.at[r], &line, &at);
        eg__put_rank(o, p.first + own, rank, (uint32_t)at);
    }
}

cudaError_t eg__launch_pairs(const eg__ordering *o, const eg__pairing *p, int wide, cudaStream_t s)
{
    return wide ? EG__LAUNCH(make_pairs<uint64_t>, eg__blocks(p->count), EG__BLOCK, 0, s, *o, *p)
                : EG__LAUNCH(make_pairs<uint32_t>, eg__blocks(p->count), EG__BLOCK, 0, s, *o, *p);
}

cudaError_t eg__launch_pair_lines(const eg__ordering *o, const eg__pairing *p, cudaStream_t s)
{
    return EG__LAUNCH(pair_lines, eg__blocks(p->count), EG__BLOCK, 0, s, *o, *p);
}

cudaError_t eg__launch_put_pairs(const eg__ordering *o, const eg__pairing *p, cudaStream_t s)
{
    return EG__LAUNCH(put_pairs, eg__blocks(p->count), EG__BLOCK, 0, s, *o, *p);
}

/* ---- places in sorted lines ------------------------------------------------------------------------------------ */

/* NaN goes further than everything. */
template <class T> __global__ void __launch_bounds__(EG__BLOCK) search(const eg__searching k)
{
    const int64_t i = eg__self();
    if (i >= k.count) {
        return;
    }
    const T v = ((const T *)k.values)[i];
    const T *start = (const T *)k.line + eg__divide(i, k.each) * k.n, *p = start;
    int64_t left = k.n;
    while (left > 0) {
        const int64_t half = (left + 1) / 2;
        const T at = p[half - 1];
        p += (k.right ? !(v < at) : !(v <= at)) ? half : 0;
        left -= half;
    }
    k.y[i] = p - start;
}

/* Lines must rise, and NaN is nowhere in them. */
template <class T> __global__ void __launch_bounds__(EG__BLOCK) check_lines(const eg__searching k)
{
    const int64_t i = eg__self();
    if (i >= k.all) {
        return;
    }
    const T *p = (const T *)k.line + i, v = *p;
    if (v != v) {
        eg__report_row(k.fault, EG__FAULT_NAN, k.op, i % k.n, 0);
    } else if (i % k.n && v < p[-1]) {
        eg__report_row(k.fault, EG__FAULT_FALL, k.op, i % k.n, 0);
    }
}

template <class T> static cudaError_t search_lines(const eg__searching *k, cudaStream_t s)
{
    cudaError_t e = k->all ? EG__LAUNCH(check_lines<T>, eg__blocks(k->all), EG__BLOCK, 0, s, *k) : cudaSuccess;
    return e ? e : EG__LAUNCH(search<T>, eg__blocks(k->count), EG__BLOCK, 0, s, *k);
}

cudaError_t eg__launch_search(const eg__searching *k, cudaStream_t s)
{
    switch (k->dtype) {
    case EG_F32:
        return search_lines<float>(k, s);
    case EG_F64:
        return search_lines<double>(k, s);
    case EG_I64:
        return search_lines<int64_t>(k, s);
    case EG_I32:
        return search_lines<int32_t>(k, s);
    default:
        return search_lines<uint8_t>(k, s);
    }
}
