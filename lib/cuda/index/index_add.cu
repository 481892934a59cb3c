/* index_add.cu - sorting by place, and joining what falls on each place in order. */
#include "lib/cuda/common/block.cuh"
#include "lib/cuda/common/element.cuh"
#include "lib/cuda/common/fault.cuh"
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/index/index_add.h"

namespace
{

enum { WARPS = EG__BLOCK / 32, DIGITS = 1 << EG__DIGIT };
enum { ROUNDS = EG__SORT_TILE / EG__BLOCK };
static_assert(int(DIGITS) == int(EG__BLOCK), "a thread has a digit");

/* ---- sorting: a stable pass per digit -------------------------------------------------------------- */

struct pass {
    const int64_t *index;
    const unsigned *key;
    const int *value;
    unsigned *to_key;
    int *to_value;
    int n, shift;
    eg__raw_index raw;
};

__device__ __forceinline__ unsigned key_of(const pass &p, int i)
{
    return p.index ? (unsigned)eg__place_of(p.raw, p.index[i]) : p.key[i];
}

__device__ __forceinline__ unsigned digit_of(const pass &p, unsigned key)
{
    return key >> p.shift & (DIGITS - 1);
}

/* Puts a tile's pairs where they belong: `at` is where this thread's digit begins, found here if the tile is
 * all there is. Every warp has a part of the tile, goes through it in order, and
 * knows what the warps before it have of each digit. */
__device__ __forceinline__ void place_tile(const pass &p, int first, bool alone, unsigned at)
{
    __shared__ unsigned next[WARPS][DIGITS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int begin = first + warp * 32 * ROUNDS + lane;
    unsigned key[ROUNDS], total = 0;
    int value[ROUNDS];
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const int i = begin + 32 * r;
        key[r] = i < p.n ? key_of(p, i) : 0;
        value[r] = i < p.n && !p.index ? p.value[i] : i;
    }
    for (int w = 0; w < WARPS; w++) {
        next[w][threadIdx.x] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        if (begin + 32 * r < p.n) {
            atomicAdd(&next[warp][digit_of(p, key[r])], 1u);
        }
    }
    __syncthreads();
    if (alone) {
        for (int w = 0; w < WARPS; w++) {
            total += next[w][threadIdx.x];
        }
        at = eg__block_scan<EG__BLOCK>(total, &total);
    }
    for (int w = 0; w < WARPS; w++) {
        const unsigned count = next[w][threadIdx.x];
        next[w][threadIdx.x] = at;
        at += count;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const bool is = begin + 32 * r < p.n;
        const unsigned digit = is ? digit_of(p, key[r]) : (unsigned)DIGITS;
        const unsigned same = __match_any_sync(0xffffffffu, digit);
        const unsigned before = __popc(same & ((1u << lane) - 1));
        const unsigned to = is ? next[warp][digit] + before : 0;
        __syncwarp();
        if (is && !before) {
            next[warp][digit] += __popc(same);
        }
        __syncwarp();
        if (is) {
            p.to_key[to] = key[r];
            p.to_value[to] = value[r];
        }
    }
}

/* How many of each tile have each digit: counts [DIGITS, tiles]. */
__global__ void __launch_bounds__(EG__BLOCK) count_digits(const pass p, unsigned *counts)
{
    __shared__ unsigned count[DIGITS];
    const int first = blockIdx.x * EG__SORT_TILE + threadIdx.x;
    count[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        if (first + r * EG__BLOCK < p.n) {
            atomicAdd(&count[digit_of(p, key_of(p, first + r * EG__BLOCK))], 1u);
        }
    }
    __syncthreads();
    counts[threadIdx.x * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

/* A block per digit: each tile's count becomes the sum of those before it, and the digit has its total. */
__global__ void __launch_bounds__(EG__BLOCK) scan_counts(unsigned *counts, int tiles, unsigned *totals)
{
    unsigned before = 0, total;
    counts += (int64_t)blockIdx.x * tiles;
    for (int i = 0; i < tiles; i += EG__BLOCK) {
        const int t = i + threadIdx.x;
        const unsigned mine = eg__block_scan<EG__BLOCK>(t < tiles ? counts[t] : 0u, &total);
        if (t < tiles) {
            counts[t] = before + mine;
        }
        before += total;
    }
    if (threadIdx.x == 0) {
        totals[blockIdx.x] = before;
    }
}

__global__ void __launch_bounds__(EG__BLOCK) place_digits(const pass p, const unsigned *counts, const unsigned *totals)
{
    unsigned total;
    const unsigned at = eg__block_scan<EG__BLOCK>(totals[threadIdx.x], &total);
    place_tile(p, blockIdx.x * EG__SORT_TILE, false, at + counts[threadIdx.x * gridDim.x + blockIdx.x]);
}

/* All passes of one tile. */
__global__ void __launch_bounds__(EG__BLOCK) sort_tile(const eg__sorting k)
{
    pass p = {k.index, k.key[1], k.value[1], k.key[0], k.value[0], k.n, 0, k.raw};
    for (int i = 0; i < k.passes; i++) {
        place_tile(p, 0, true, 0);
        __syncthreads();
        p = {NULL, p.to_key, p.to_value, (unsigned *)p.key, (int *)p.value, p.n, p.shift + EG__DIGIT, p.raw};
    }
}

/* ---- keys and runs --------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(EG__BLOCK)
    make_keys(const eg__elements e, int64_t step, int64_t y, int64_t x, unsigned *key, int *value)
{
    const unsigned i = (unsigned)eg__self();
    if (i < e.n) {
        int64_t at[3];
        eg__offsets<3>(e, i, at);
        key[i] = (unsigned)(y + at[1] + *(const int64_t *)(e.at[0].p + at[0]) * step);
        value[i] = (int)(x + at[2]);
    }
}

__global__ void __launch_bounds__(EG__BLOCK) find_edges(const unsigned *key, int n, unsigned *begin, unsigned *end)
{
    const int i = (int)eg__self();
    if (i >= n) {
        return;
    }
    const unsigned k = key[i];
    if (i == 0 || key[i - 1] != k) {
        begin[k] = (unsigned)i;
    }
    if (i == n - 1 || key[i + 1] != k) {
        end[k] = (unsigned)i + 1;
    }
}

/* ---- joining --------------------------------------------------------------------------------------- */

template <class T, int W> struct alignas(sizeof(T) * W) pack {
    T v[W];
};

/* Element i on of p; ahead: how many to read before any is used. */
template <class T, int W> struct memory {
    enum { ahead = 4 };
    static __device__ __forceinline__ pack<T, W> get(const char *p, int, int64_t i)
    {
        return *(const pack<T, W> *)((const T *)p + i);
    }
    static __device__ __forceinline__ void put(char *p, int, int64_t i, const pack<T, W> &v)
    {
        *(pack<T, W> *)((T *)p + i) = v;
    }
};

template <int W> struct memory<int64_t, W> {
    enum { ahead = 2 };
    static __device__ __forceinline__ int size(int dtype)
    {
        return dtype == EG_I64 ? 8 : dtype == EG_I32 ? 4 : 1;
    }
    static __device__ __forceinline__ pack<int64_t, W> get(const char *p, int dtype, int64_t i)
    {
        return {{eg__get<int64_t>(p + i * size(dtype), dtype)}};
    }
    static __device__ __forceinline__ void put(char *p, int dtype, int64_t i, const pack<int64_t, W> &v)
    {
        eg__put(p + i * size(dtype), dtype, v.v[0]);
    }
};

template <class T> __device__ __forceinline__ T joined(int mode, T a, T b)
{
    switch (mode) {
    case EG__JOIN_ADD:
        return a + b;
    case EG__JOIN_MUL:
        return a * b;
    case EG__JOIN_MAX: /* NaN if either is */
        return b > a || (b != b && a == a) ? b : a;
    default:
        return b < a || (b != b && a == a) ? b : a;
    }
}

/* Integers wrap around. */
template <> __device__ __forceinline__ int64_t joined(int mode, int64_t a, int64_t b)
{
    switch (mode) {
    case EG__JOIN_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case EG__JOIN_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case EG__JOIN_MAX:
        return b > a ? b : a;
    default:
        return b < a ? b : a;
    }
}

/* Joins acc with rows from..to of x, or those that order names, in turn. */
template <class T, int W>
__device__ __forceinline__ void join_rows(pack<T, W> &acc, int mode, const char *x, int dtype, int64_t inner,
                                          const int *order, unsigned from, unsigned to)
{
    enum { AHEAD = memory<T, W>::ahead };
    while (from < to) {
        pack<T, W> v[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            const unsigned i = from + u < to ? from + u : to - 1;
            v[u] = memory<T, W>::get(x, dtype, (order ? (int64_t)order[i] : (int64_t)i) * inner);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
#pragma unroll
            for (int w = 0; w < W; w++) {
                if (from + u < to) {
                    acc.v[w] = joined(mode, acc.v[w], v[u].v[w]);
                }
            }
        }
        from += AHEAD;
    }
}

/* A row for each 2^lanes threads, which take W columns each; tiles: groups of threads to a row. */
struct grid {
    int lanes;
    eg__divisor tiles;
};

enum { PART = EG_I64 }; /* dtype of parts; looked at for integers only */
enum { SLOT_BITS = 6 };
static_assert(EG__SLOT == 1 << int(SLOT_BITS), "a slot is a power of two");

/* part[level] where one key has a whole slot. */
template <class T, int W>
__global__ void __launch_bounds__(EG__BLOCK)
    join_slots(const eg__joining k, const grid g, int level, const eg__divisor slots)
{
    const int64_t i = eg__self(), group = i >> g.lanes;
    const int64_t row = eg__divide(group, g.tiles), o = eg__divide(row, slots), slot = row - o * slots.d;
    const int64_t column = (((group - row * g.tiles.d) << g.lanes) + (i & ((1 << g.lanes) - 1))) * W;
    if (o >= k.outer || column >= k.inner) {
        return;
    }
    const int64_t size = level ? EG__SLOT * EG__SLOT : EG__SLOT;
    const unsigned key = k.key[slot * size];
    if (key != k.key[slot * size + size - 1] || (int64_t)key == k.skip) {
        return;
    }
    const int dtype = level ? PART : k.dtype;
    const int es = level ? (int)sizeof(T) : dtype == EG_F32 || dtype == EG_I32 ? 4 : dtype == EG_U8 ? 1 : 8;
    const int64_t n = level ? k.n / EG__SLOT : k.n;
    const char *x = (level ? k.part[0] : k.x) + (o * n * k.inner + column) * es;
    const int *order = level ? NULL : k.order;
    const unsigned from = (unsigned)slot * EG__SLOT;
    pack<T, W> acc = memory<T, W>::get(x, dtype, (order ? (int64_t)order[from] : (int64_t)from) * k.inner);
    join_rows<T, W>(acc, k.mode, x, dtype, k.inner, order, from + 1, from + EG__SLOT);
    memory<T, W>::put(k.part[level] + (row * k.inner + column) * (int64_t)sizeof(T), PART, 0, acc);
}

template <class T, int W> __global__ void __launch_bounds__(EG__BLOCK) join_places(const eg__joining k, const grid g)
{
    const int64_t i = eg__self(), group = i >> g.lanes;
    const int64_t row = eg__divide(group, g.tiles), o = eg__divide(row, k.size), place = row - o * k.size.d;
    const int64_t column = (((group - row * g.tiles.d) << g.lanes) + (i & ((1 << g.lanes) - 1))) * W;
    if (o >= k.outer || column >= k.inner) {
        return;
    }
    const int es = k.dtype == EG_F32 || k.dtype == EG_I32 ? 4 : k.dtype == EG_U8 ? 1 : 8;
    const unsigned begin = k.begin[place], end = place == k.skip ? begin : k.end[place];
    const int64_t at = row * k.inner + column;
    pack<T, W> acc = {};
    if (k.base) {
        acc = memory<T, W>::get(k.base, k.dtype, at);
    }
    /* Sources, slots, slots of slots, slots, sources. */
    unsigned cut[6] = {begin, end, end, end, end, end};
    if (k.part[0] && end - begin >= 2 * EG__SLOT) {
        const unsigned first = (begin + EG__SLOT - 1) / EG__SLOT, last = end / EG__SLOT;
        cut[1] = first * EG__SLOT;
        cut[2] = cut[3] = cut[4] = last * EG__SLOT;
        if (k.part[1] && last - first >= 2 * EG__SLOT) {
            cut[2] = (first + EG__SLOT - 1) / EG__SLOT * (EG__SLOT * EG__SLOT);
            cut[3] = last / EG__SLOT * (EG__SLOT * EG__SLOT);
        }
    }
    for (int step = 0; step < 5; step++) {
        if (cut[step] == cut[step + 1]) {
            continue;
        }
        const int level = step == 0 || step == 4 ? 0 : step == 2 ? 2 : 1;
        const int shift = level * SLOT_BITS;
        const int64_t n = k.n >> shift;
        const char *x = level ? k.part[level - 1] + (o * n * k.inner + column) * (int64_t)sizeof(T)
                              : k.x + (o * n * k.inner + column) * es;
        join_rows<T, W>(acc, k.mode, x, level ? PART : k.dtype, k.inner, level ? NULL : k.order, cut[step] >> shift,
                        cut[step + 1] >> shift);
    }
    memory<T, W>::put(k.y, k.dtype, at, acc);
}

template <class T, int W> cudaError_t start_join(const eg__joining &k, cudaStream_t s)
{
    const int64_t columns = k.inner / W;
    grid g = {0, eg__divisor_of(1)};
    while (g.lanes < 8 && columns > (int64_t)1 << g.lanes) {
        g.lanes++;
    }
    const int64_t tiles = (columns + ((int64_t)1 << g.lanes) - 1) >> g.lanes;
    g.tiles = eg__divisor_of(tiles);
    for (int level = 0; level < 2 && k.part[level]; level++) {
        const int64_t slots = k.n / (level ? EG__SLOT * EG__SLOT : EG__SLOT);
        const int64_t threads = (k.outer * slots * tiles) << g.lanes;
        cudaError_t e =
            EG__LAUNCH((join_slots<T, W>), eg__blocks(threads), EG__BLOCK, 0, s, k, g, level, eg__divisor_of(slots));
        if (e) {
            return e;
        }
    }
    const int64_t threads = (k.outer * k.size.d * tiles) << g.lanes;
    return EG__LAUNCH((join_places<T, W>), eg__blocks(threads), EG__BLOCK, 0, s, k, g);
}

} // namespace

/* ---- starting -------------------------------------------------------------------------------------- */

cudaError_t eg__launch_sort(const eg__sorting *k, cudaStream_t s)
{
    const int tiles = (k->n + EG__SORT_TILE - 1) / EG__SORT_TILE;
    unsigned *totals = k->counts + (int64_t)tiles * DIGITS;
    cudaError_t e = cudaSuccess;
    if (tiles < 2) {
        return EG__LAUNCH(sort_tile, 1, EG__BLOCK, 0, s, *k);
    }
    for (int i = 0; i < k->passes && !e; i++) {
        const int to = i & 1;
        const pass p = {i ? NULL : k->index, k->key[!to], k->value[!to], k->key[to],
                        k->value[to],        k->n,        i * EG__DIGIT, k->raw};
        e = EG__LAUNCH(count_digits, tiles, EG__BLOCK, 0, s, p, k->counts);
        e = e ? e : EG__LAUNCH(scan_counts, DIGITS, EG__BLOCK, 0, s, k->counts, tiles, totals);
        e = e ? e : EG__LAUNCH(place_digits, tiles, EG__BLOCK, 0, s, p, k->counts, totals);
    }
    return e;
}

cudaError_t eg__launch_keys(const eg__elements *e, int64_t step, const char *y, const char *x, unsigned *key,
                            int *value, cudaStream_t s)
{
    return EG__LAUNCH(make_keys, eg__blocks(e->n), EG__BLOCK, 0, s, *e, step, e->at[1].p - y, e->at[2].p - x, key,
                      value);
}

cudaError_t eg__launch_edges(const unsigned *key, int n, unsigned *begin, unsigned *end, cudaStream_t s)
{
    return EG__LAUNCH(find_edges, eg__blocks(n), EG__BLOCK, 0, s, key, n, begin, end);
}

cudaError_t eg__launch_join(const eg__joining *k, cudaStream_t s)
{
    switch (k->dtype) {
    case EG_F32:
        return k->wide ? start_join<float, 4>(*k, s) : start_join<float, 1>(*k, s);
    case EG_F64:
        return k->wide ? start_join<double, 2>(*k, s) : start_join<double, 1>(*k, s);
    default:
        return start_join<int64_t, 1>(*k, s);
    }
}
