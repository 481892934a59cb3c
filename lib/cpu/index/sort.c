/* sort.c - sorting, the first k, places in sorted lines.
 *
 * An element becomes a 32-bit key in the order wanted, and key and position one 64-bit word: all
 * words differ, and sorting them is stable. 64-bit elements take two rounds, the lower halves
 * first. */
#include "lib/cpu/common/isa.h"
#include "lib/math/half.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_sort), ISA(eg__cpu_topk), ISA(eg__cpu_searchsorted);

/* ---- keys ------------------------------------------------------------------------------------ */

static inline uint32_t key_f32(float v)
{
    uint32_t u = v == 0 ? 0 : eg__float_bits(v);
    u ^= (uint32_t)((int32_t)u >> 31) | 0x80000000u;
    return v != v ? UINT32_MAX : u;
}

static inline uint64_t key_f64(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    u = v == 0 ? 0 : u;
    u ^= (uint64_t)((int64_t)u >> 63) | (uint64_t)1 << 63;
    return v != v ? UINT64_MAX : u;
}

#define KEY_F16(v)  key_f32(eg__f16_to_f32(v))
#define KEY_BF16(v) key_f32(eg__bf16_to_f32(v))
#define KEY_I32(v)  ((v) ^ 0x80000000u)
#define KEY_U8(v)   (v)
#define KEY_BOOL(v) ((v) != 0)
#define LOW_F64(v)  ((uint32_t)key_f64(v))
#define HIGH_F64(v) ((uint32_t)(key_f64(v) >> 32))
#define LOW_I64(v)  ((uint32_t)(v))
#define HIGH_I64(v) ((uint32_t)((v) >> 32) ^ 0x80000000u)

/* n keys of elements `step` bytes apart. */
#define KEYS(T, KEY)                                         \
    if (step == sizeof(T)) {                                 \
        for (int64_t i = 0; i < n; i++) {                    \
            key[i] = KEY(((const T *)x)[i]) ^ turn;          \
        }                                                    \
    } else {                                                 \
        for (int64_t i = 0; i < n; i++) {                    \
            key[i] = KEY(*(const T *)(x + i * step)) ^ turn; \
        }                                                    \
    }                                                        \
    break;

/* turn: all ones for falling order */
static void find_keys(int dtype, bool high, const char *x, int64_t n, int64_t step, uint32_t turn,
                      uint32_t *restrict key)
{
    switch (dtype) {
    case EG_F32:
        KEYS(float, key_f32)
    case EG_F64:
        if (high) {
            KEYS(double, HIGH_F64)
        }
        KEYS(double, LOW_F64)
    case EG_F16:
        KEYS(uint16_t, KEY_F16)
    case EG_BF16:
        KEYS(uint16_t, KEY_BF16)
    case EG_I64:
        if (high) {
            KEYS(uint64_t, HIGH_I64)
        }
        KEYS(uint64_t, LOW_I64)
    case EG_I32:
        KEYS(uint32_t, KEY_I32)
    case EG_U8:
        KEYS(uint8_t, KEY_U8)
    default:
        KEYS(uint8_t, KEY_BOOL)
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

enum { RUN = 16, FEW = 256 };

static void sort_run(uint64_t *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t v = a[i];
        int64_t k = i;
        for (; k > 0 && a[k - 1] > v; k--) {
            a[k] = a[k - 1];
        }
        a[k] = v;
    }
}

/* The first n of two sorted runs joined. */
static void merge_front(const uint64_t *a, const uint64_t *ae, const uint64_t *b, const uint64_t *be, uint64_t *to,
                        int64_t n)
{
    uint64_t *end = to + n;
    while (to < end && a < ae && b < be) {
        bool second = *b < *a;
        *to++ = second ? *b : *a;
        b += second;
        a += !second;
    }
    for (; to < end && a < ae; to++) {
        *to = *a++;
    }
    for (; to < end; to++) {
        *to = *b++;
    }
}

/* The last n of two sorted runs joined, ending at `to`. */
static void merge_back(const uint64_t *a, const uint64_t *ae, const uint64_t *b, const uint64_t *be, uint64_t *to,
                       int64_t n)
{
    uint64_t *start = to - n;
    while (to > start && a < ae && b < be) {
        bool second = be[-1] > ae[-1];
        *--to = second ? be[-1] : ae[-1];
        be -= second;
        ae -= !second;
    }
    while (to > start && a < ae) {
        *--to = *--ae;
    }
    while (to > start) {
        *--to = *--be;
    }
}

static void sort_few(uint64_t *a, uint64_t *b, int64_t n)
{
    uint64_t *from = a, *to = b;
    for (int64_t i = 0; i < n; i += RUN) {
        sort_run(a + i, eg__min(RUN, n - i));
    }
    for (int64_t run = RUN; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            int64_t middle = eg__min(i + run, n), end = eg__min(i + 2 * run, n);
            merge_front(from + i, from + middle, from + middle, from + end, to + i, end - i);
        }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != a) {
        memcpy(a, from, (size_t)n * sizeof *a);
    }
}

/* By the bytes of the key, the lowest first; bytes that are the same everywhere cost nothing. */
static void sort_many(uint64_t *a, uint64_t *b, int64_t n)
{
    uint32_t count[4][256] = {{0}};
    uint64_t *from = a, *to = b;
    for (int64_t i = 0; i < n; i++) {
        count[0][a[i] >> 32 & 255]++;
        count[1][a[i] >> 40 & 255]++;
        count[2][a[i] >> 48 & 255]++;
        count[3][a[i] >> 56]++;
    }
    for (int d = 0; d < 4; d++) {
        int shift = 32 + 8 * d;
        uint32_t next = 0;
        if (count[d][from[0] >> shift & 255] == n) {
            continue;
        }
        for (int i = 0; i < 256; i++) {
            uint32_t here = count[d][i];
            count[d][i] = next;
            next += here;
        }
        for (int64_t i = 0; i < n; i++) {
            to[count[d][from[i] >> shift & 255]++] = from[i];
        }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != a) {
        memcpy(a, from, (size_t)n * sizeof *a);
    }
}

/* Sorts words of which those with the same key come in order. */
static void sort_words(uint64_t *a, uint64_t *b, int64_t n)
{
    if (n < FEW) {
        sort_few(a, b, n);
    } else {
        sort_many(a, b, n);
    }
}

/* ---- one long line on all threads ------------------------------------------------------ */

typedef struct halves {
    uint64_t *a, *b;
    int64_t n, middle;
} halves;

static void sort_half(void *ctx, int64_t begin, int64_t end)
{
    const halves *h = ctx;
    for (int64_t k = begin; k < end; k++) {
        int64_t at = k ? h->middle : 0;
        sort_words(h->a + at, h->b + at, k ? h->n - h->middle : h->middle);
    }
}

/* Both ends of the result at once. */
static void merge_half(void *ctx, int64_t begin, int64_t end)
{
    const halves *h = ctx;
    const uint64_t *a = h->a, *m = a + h->middle, *e = a + h->n;
    for (int64_t k = begin; k < end; k++) {
        if (k) {
            merge_back(a, m, m, e, h->b + h->n, h->n - h->middle);
        } else {
            merge_front(a, m, m, e, h->b, h->middle);
        }
    }
}

/* The sorted words are in the array returned. */
static uint64_t *sort_long(uint64_t *a, uint64_t *b, int64_t n, bool alone)
{
    halves h = {a, b, n, n / 2};
    if (!alone || n < 2 * EG__GRAIN || eg_threads() == 1) {
        sort_words(a, b, n);
        return a;
    }
    eg__parallel(2, 1, sort_half, &h);
    eg__parallel(2, 1, merge_half, &h);
    return b;
}

/* ---- lines ----------------------------------------------------------------------------------- */

typedef struct job {
    const char *x;
    char *values;
    int64_t *indices;
    int dtype;
    uint32_t turn;
    int64_t n, k, inner, lines, slots, size; /* size: bytes of an element */
    uint64_t *space;                         /* SPACE * n words for each slot */
} job;

/* Two arrays of words, keys and an order. */
enum { SPACE = 3 };

typedef struct packing {
    const job *j;
    const char *x;
    uint64_t *a;
    uint32_t *key, *order; /* order: NULL for the first round */
    bool high;
} packing;

static void pack_range(void *ctx, int64_t begin, int64_t end)
{
    const packing *l = ctx;
    const int64_t step = l->j->inner * l->j->size;
    find_keys(l->j->dtype, l->high, l->x + begin * step, end - begin, step, l->j->turn, l->key + begin);
    for (int64_t i = begin; i < end && !l->order; i++) {
        l->a[i] = (uint64_t)l->key[i] << 32 | (uint64_t)i;
    }
}

static void repack_range(void *ctx, int64_t begin, int64_t end)
{
    const packing *l = ctx;
    for (int64_t i = begin; i < end; i++) {
        l->a[i] = (uint64_t)l->key[l->order[i]] << 32 | (uint64_t)i;
    }
}

/* Words whose lower halves are x's positions in order. */
static uint64_t *sort_line(const job *j, const char *x, uint64_t *space)
{
    const int64_t n = j->n;
    uint64_t *b = space + n, *sorted;
    packing l = {j, x, space, (uint32_t *)(b + n), NULL, false};
    eg__parallel(n, EG__GRAIN, pack_range, &l);
    sorted = sort_long(l.a, b, n, j->slots == 1);
    if (j->dtype != EG_F64 && j->dtype != EG_I64) {
        return sorted;
    }
    uint32_t *order = l.key + n;
    for (int64_t i = 0; i < n; i++) {
        order[i] = (uint32_t)sorted[i];
    }
    l.order = order;
    l.high = true;
    eg__parallel(n, EG__GRAIN, pack_range, &l);
    eg__parallel(n, EG__GRAIN, repack_range, &l);
    sorted = sort_long(l.a, b, n, j->slots == 1);
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = order[(uint32_t)sorted[i]];
    }
    return sorted;
}

enum { BLOCK = 256, KEPT = 32 };

/* Positions in the block whose keys are at most the limit; how many. */
static int at_most(const uint32_t *key, int64_t n, uint32_t limit, uint8_t *at)
{
    uint32_t any = 0;
    int count = 0;
    for (int64_t p = 0; p < n; p++) {
        any |= key[p] <= limit;
    }
    for (int64_t p = 0; any && p < n; p++) {
        at[count] = (uint8_t)p;
        count += key[p] <= limit;
    }
    return count;
}

/* The k first words of a line. Few are kept in order; more gather, and when there is no more room
 * only the k first of those stay. */
static uint64_t *first_of_line(const job *j, const char *x, uint64_t *space)
{
    const int64_t n = j->n, k = j->k, step = j->inner * j->size, room = eg__min(n, 2 * (k + BLOCK));
    uint64_t *a = space, *b = a + n, bound = UINT64_MAX;
    uint32_t key[BLOCK];
    uint8_t at[BLOCK];
    int64_t held = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t size = eg__min(BLOCK, n - i);
        find_keys(j->dtype, false, x + i * step, size, step, j->turn, key);
        int count = at_most(key, size, (uint32_t)(bound >> 32), at);
        for (int c = 0; c < count; c++) {
            uint64_t word = (uint64_t)key[at[c]] << 32 | (uint64_t)(i + at[c]);
            if (word > bound) {
                continue;
            }
            if (k > KEPT) {
                a[held++] = word;
                continue;
            }
            int64_t p = held < k ? held++ : k - 1;
            for (; p > 0 && a[p - 1] > word; p--) {
                a[p] = a[p - 1];
            }
            a[p] = word;
            bound = held == k ? a[k - 1] : bound;
        }
        if (k > KEPT && (held + BLOCK > room || i + BLOCK >= n)) {
            sort_words(a, b, held);
            held = eg__min(held, k);
            bound = held == k ? a[k - 1] : bound;
        }
    }
    return a;
}

#define PUT(T)                                                         \
    for (int64_t i = begin; i < end; i++) {                            \
        uint32_t from = (uint32_t)p->words[i];                         \
        ((T *)p->values)[i * inner] = ((const T *)p->x)[from * inner]; \
        p->indices[i * inner] = from;                                  \
    }                                                                  \
    break;

typedef struct results {
    const uint64_t *words;
    const char *x;
    char *values;
    int64_t *indices;
    int64_t inner, size;
} results;

static void put_range(void *ctx, int64_t begin, int64_t end)
{
    const results *p = ctx;
    const int64_t inner = p->inner;
    switch (p->size) {
    case 1:
        PUT(uint8_t)
    case 2:
        PUT(uint16_t)
    case 4:
        PUT(uint32_t)
    default:
        PUT(uint64_t)
    }
}

static void lines_range(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    bool wide = j->dtype == EG_F64 || j->dtype == EG_I64;
    for (int64_t s = begin; s < end; s++) {
        uint64_t *space = j->space + s * SPACE * j->n;
        for (int64_t l = j->lines * s / j->slots; l < j->lines * (s + 1) / j->slots; l++) {
            int64_t outer = l / j->inner, at = l % j->inner;
            int64_t from = outer * j->n * j->inner + at, to = outer * j->k * j->inner + at;
            const char *x = j->x + from * j->size;
            bool few = !wide && j->k < j->n / 4;
            results r = {few ? first_of_line(j, x, space) : sort_line(j, x, space),
                         x,
                         j->values + to * j->size,
                         j->indices + to,
                         j->inner,
                         j->size};
            eg__parallel(j->k, EG__GRAIN, put_range, &r);
        }
    }
}

static eg_status run(const eg__call *c, int64_t n, int64_t k)
{
    const eg__sort_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    job j = {.x = eg__ptr(x),
             .values = eg__ptr(c->out[0]),
             .indices = (int64_t *)eg__ptr(c->out[1]),
             .dtype = x->dtype,
             .turn = o->descending ? UINT32_MAX : 0,
             .n = n,
             .k = k,
             .inner = 1,
             .size = (int64_t)eg__esize(x)};
    if (c->out[0]->n == 0) {
        return EG_OK;
    }
    for (int d = o->axis + 1; d < x->ndim; d++) {
        j.inner *= x->shape[d];
    }
    j.lines = x->n / n;
    j.slots = x->n < EG__GRAIN / 4 ? 1 : eg__min(j.lines, eg_threads());
    eg__scratch s;
    if (eg__scratch_get(c, (size_t)(j.slots * SPACE * n) * sizeof *j.space, &s)) {
        return EG_ENOMEM;
    }
    j.space = s.data;
    eg__parallel(j.slots, 1, lines_range, &j);
    eg__scratch_put(c, &s);
    return EG_OK;
}

eg_status ISA(eg__cpu_sort)(const eg__call *c)
{
    const eg_tensor *x = c->in[0];
    int64_t n = x->ndim ? x->shape[((const eg__sort_opts *)c->opts)->axis] : 1;
    return run(c, n, n);
}

eg_status ISA(eg__cpu_topk)(const eg__call *c)
{
    const eg_tensor *x = c->in[0];
    const eg__sort_opts *o = c->opts;
    return run(c, x->ndim ? x->shape[o->axis] : 1, o->k);
}

/* ---- places in sorted lines
 * ---------------------------------------------------------------------- */

typedef struct search {
    const char *line, *values;
    int64_t *y;
    int64_t n, each; /* of a line, values for each line */
    bool right;
} search;

#define T        float
#define FN(name) name##_f32
#include "lib/cpu/index/sort_search.h"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "lib/cpu/index/sort_search.h"
#undef T
#undef FN
#define T        int64_t
#define FN(name) name##_i64
#include "lib/cpu/index/sort_search.h"
#undef T
#undef FN
#define T        int32_t
#define FN(name) name##_i32
#include "lib/cpu/index/sort_search.h"
#undef T
#undef FN
#define T        uint8_t
#define FN(name) name##_u8
#include "lib/cpu/index/sort_search.h"
#undef T
#undef FN

eg_status ISA(eg__cpu_searchsorted)(const eg__call *c)
{
    static eg__range_fn *const find[EG_DTYPE_COUNT] = {
        [EG_F32] = search_f32, [EG_F64] = search_f64, [EG_I64] = search_i64,
        [EG_I32] = search_i32, [EG_U8] = search_u8,   [EG_BOOL] = search_u8};
    const eg_tensor *line = c->in[0], *v = c->in[1], *y = c->out[0];
    int64_t n = line->shape[line->ndim - 1], lines = 1;
    for (int d = 0; d < line->ndim - 1; d++) {
        lines *= line->shape[d];
    }
    if (y->n == 0) {
        return EG_OK;
    }
    search s = {eg__ptr(line),         eg__ptr(v),
                (int64_t *)eg__ptr(y), n,
                y->n / lines,          ((const eg__searchsorted_opts *)c->opts)->right};
    eg__parallel(y->n, EG__GRAIN / 16, find[line->dtype], &s);
    return EG_OK;
}
