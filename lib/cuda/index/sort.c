/* sort.c - the host side of order: lines that fit a block are sorted there, the first of longer ones chosen in
 * blocks, and whole long lines sorted as pairs of keys and places. */
#include "lib/cuda/index/order.h"
#include "lib/cuda/index/sort.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

static const int key_bits[EG_DTYPE_COUNT] = {[EG_F32] = 32, [EG_F64] = 64, [EG_F16] = 16, [EG_BF16] = 16,
                                             [EG_I64] = 64, [EG_I32] = 32, [EG_U8] = 8,   [EG_BOOL] = 1};

/* ---- the first of long lines -------------------------------------------------------------------------- */

/* A block should have so many elements before a line is worth more of them. */
enum { PART = 8192 };

static eg_status choose(const eg__call *c, const eg__ordering *o)
{
    const int64_t blocks = eg__cuda_at(c->device)->processors / o->lines;
    const int64_t most = o->n.d / eg__max(PART, 8 * o->k), parts = eg__max(1, eg__min(blocks, most));
    const size_t word = o->bits > 32 ? 16 : 8;
    eg__block *chosen = NULL;
    eg_status st = EG_OK;
    if (parts > 1) {
        st = eg__cuda_scratch(c, (size_t)(o->lines * parts * o->k) * word, &chosen);
    }
    st = st ? st
            : eg__launched(c, eg__launch_select_first(o, (int)parts, chosen ? chosen->data : NULL, eg__stream_of(c)));
    eg__cuda_scratch_end(chosen);
    return st;
}

/* ---- long lines -------------------------------------------------------------------------------------------- */

/* Buffers for sorting pairs; which of each holds them. */
typedef struct buffers {
    void *key[2];
    uint32_t *at[2];
    void *temp;
    size_t temp_bytes;
    int in;
    eg__block *block;
} buffers;

static eg_status order(const eg__call *c, buffers *b, int64_t n, bool wide, int low, int high)
{
    uint64_t *const key64[2] = {b->key[0], b->key[1]};
    uint32_t *const key32[2] = {b->key[0], b->key[1]};
    return eg__launched(
        c, wide ? eg__order64(b->temp, &b->temp_bytes, key64, b->at, (uint32_t)n, low, high, &b->in, eg__stream_of(c))
                : eg__order32(b->temp, &b->temp_bytes, key32, b->at, (uint32_t)n, low, high, &b->in, eg__stream_of(c)));
}

static size_t whole(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Memory for n pairs: sorting them by any bits of their keys. */
static eg_status make(const eg__call *c, buffers *b, int64_t n, bool wide)
{
    const size_t keys = whole((size_t)n * (wide ? 8 : 4)), ats = whole((size_t)n * 4);
    size_t narrow = 0;
    eg_status st = order(c, b, n, false, 0, 32);
    narrow = b->temp_bytes;
    st = st || !wide ? st : order(c, b, n, true, 0, 64);
    b->temp_bytes = b->temp_bytes > narrow ? b->temp_bytes : narrow;
    st = st ? st : eg__cuda_scratch(c, 2 * (keys + ats) + b->temp_bytes + 1, &b->block);
    if (!st) {
        char *p = b->block->data;
        for (int i = 0; i < 2; i++) {
            b->key[i] = p + (size_t)i * keys;
            b->at[i] = (uint32_t *)(void *)(p + 2 * keys + (size_t)i * ats);
        }
        b->temp = p + 2 * (keys + ats);
    }
    return st;
}

static int bits_below(int64_t n)
{
    return n > 1 ? 64 - __builtin_clzll((unsigned long long)n - 1) : 0;
}

/* The buffers that hold the pairs become the first. */
static void turn(buffers *b)
{
    if (b->in) {
        void *key = b->key[0];
        uint32_t *at = b->at[0];
        b->key[0] = b->key[1];
        b->at[0] = b->at[1];
        b->key[1] = key;
        b->at[1] = at;
    }
}

/* Lines first..first+lines-1. Several are told apart by bits above the key, or if it has 64 by sorting once
 * more, stably, by line. */
static eg_status sort_lines(const eg__call *c, const eg__ordering *o, buffers b, int64_t first, int64_t lines)
{
    const bool long_key = o->bits > 32, wide = long_key || lines > 1;
    const int above = bits_below(lines), low = long_key ? 0 : 32 - o->bits;
    eg__pairing p = {
        .first = first, .count = lines * o->n.d, .lines = eg__divisor_of(lines), .key = b.key[0], .at = b.at[0]};
    eg_status st = eg__launched(c, eg__launch_pairs(o, &p, wide, eg__stream_of(c)));
    st = st ? st : order(c, &b, p.count, wide, low, long_key ? 64 : 32 + above);
    turn(&b);
    p.at = b.at[0];
    if (!st && long_key && lines > 1) {
        p.key = b.key[0];
        st = eg__launched(c, eg__launch_pair_lines(o, &p, eg__stream_of(c)));
        st = st ? st : order(c, &b, p.count, false, 0, above);
        turn(&b);
        p.at = b.at[0];
    }
    return st ? st : eg__launched(c, eg__launch_put_pairs(o, &p, eg__stream_of(c)));
}

/* As many elements at once as fill a large GPU. */
enum { TOGETHER = 1 << 26 };

static eg_status sort_long(const eg__call *c, const eg__ordering *o)
{
    const int64_t most = eg__max(1, eg__min(o->lines, TOGETHER / o->n.d));
    buffers b = {.temp = NULL};
    eg_status st = make(c, &b, most * o->n.d, o->bits > 32 || most > 1);
    for (int64_t first = 0; first < o->lines && !st; first += most) {
        st = sort_lines(c, o, b, first, eg__min(most, o->lines - first));
    }
    eg__cuda_scratch_end(b.block);
    return st;
}

/* Positions in a line have 32 bits; the test build meets the limit. */
#ifdef EG_TINY_LIMITS
static const int64_t longest = (int64_t)1 << 20;
#else
static const int64_t longest = UINT32_MAX;
#endif

static eg_status run(const eg__call *c, int64_t n, int64_t k)
{
    const eg__sort_opts *opts = c->opts;
    const eg_tensor *x = c->in[0];
    int64_t inner = 1;
    if (!x->n || !k) {
        return EG_OK;
    }
    if (n > longest) {
        return eg__fail(EG_ENOKERNEL, c->op->name, "lines of %lld elements: on a GPU they have at most %lld",
                        (long long)n, (long long)longest);
    }
    for (int d = opts->axis + 1; d < x->ndim; d++) {
        inner *= x->shape[d];
    }
    const eg__ordering o = {.x = eg__ptr(x),
                            .values = eg__ptr(c->out[0]),
                            .indices = (int64_t *)(void *)eg__ptr(c->out[1]),
                            .lines = x->n / n,
                            .n = eg__divisor_of(n),
                            .inner = eg__divisor_of(inner),
                            .k = k,
                            .dtype = x->dtype,
                            .size = (int)eg__esize(x),
                            .bits = key_bits[x->dtype],
                            .falling = opts->descending};
    if (n <= EG__TILE) {
        return eg__launched(c, eg__launch_sort_tiles(&o, eg__stream_of(c)));
    }
    return k <= EG__CHOSEN ? choose(c, &o) : sort_long(c, &o);
}

eg_status eg__cuda_sort(const eg__call *c)
{
    const eg_tensor *x = c->in[0];
    int64_t n = x->ndim ? x->shape[((const eg__sort_opts *)c->opts)->axis] : 1;
    return run(c, n, n);
}

eg_status eg__cuda_topk(const eg__call *c)
{
    const eg_tensor *x = c->in[0];
    const eg__sort_opts *o = c->opts;
    return run(c, x->ndim ? x->shape[o->axis] : 1, o->k);
}

eg_status eg__cuda_searchsorted(const eg__call *c)
{
    const eg_tensor *line = c->in[0], *v = c->in[1], *y = c->out[0];
    int64_t lines = 1;
    if (!y->n) {
        return EG_OK;
    }
    for (int d = 0; d < line->ndim - 1; d++) {
        lines *= line->shape[d];
    }
    const eg__searching k = {.line = eg__ptr(line),
                             .values = eg__ptr(v),
                             .y = (int64_t *)(void *)eg__ptr(y),
                             .count = y->n,
                             .n = line->shape[line->ndim - 1],
                             .each = eg__divisor_of(y->n / lines),
                             .dtype = line->dtype,
                             .right = ((const eg__searchsorted_opts *)c->opts)->right,
                             .all = line->n,
                             .op = c->op->id,
                             .fault = eg__fault_of(c)};
    return eg__launched(c, eg__launch_search(&k, eg__stream_of(c)));
}
