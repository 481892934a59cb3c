/* index_add.c - rows added up where an index says: the gradient of embeddings. Threads share the
 * result out, never the sources, so that every sum is taken in the order of the index on any number
 * of threads. */
#include "lib/cpu/common/stream.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_index_add);

typedef struct sums {
    char *y;
    const char *x, *base;
    const int64_t *index;
    int64_t outer, n, size, inner, skip;
    size_t esize;
    bool stream;
    void (*add)(const struct sums *s, char *y, const char *x, int64_t low, int64_t high, int64_t cols);
} sums;

/* Adds the first cols of every row of x to the row of y its index says, if in low..high. */
#define ADD(name, T)                                                                                       \
    static void add_##name(const sums *s, char *y, const char *x, int64_t low, int64_t high, int64_t cols) \
    {                                                                                                      \
        const uint64_t rows = (uint64_t)(high - low);                                                      \
        for (int64_t i = 0; i < s->n; i++) {                                                               \
            const int64_t k = s->index[i];                                                                 \
            T *restrict to = (T *)y + k * s->inner;                                                        \
            const T *restrict from = (const T *)x + i * s->inner;                                          \
            if ((uint64_t)(k - low) >= rows || k == s->skip) {                                             \
                continue;                                                                                  \
            }                                                                                              \
            if (cols == 1) {                                                                               \
                *to = (T)(*to + *from);                                                                    \
                continue;                                                                                  \
            }                                                                                              \
            for (int64_t c = 0; c < cols; c++) {                                                           \
                to[c] = (T)(to[c] + from[c]);                                                              \
            }                                                                                              \
        }                                                                                                  \
    }
ADD(f32, float)
ADD(f64, double)
ADD(i64, int64_t)
ADD(i32, int32_t)
ADD(u8, uint8_t)

/* The rows low..high of slice `o`, columns from..to of each. */
static void add_block(const sums *s, int64_t o, int64_t low, int64_t high, int64_t from, int64_t to)
{
    const int64_t es = (int64_t)s->esize, row = s->inner * es;
    const size_t bytes = (size_t)(to - from) * s->esize;
    const bool whole = to - from == s->inner;
    char *y = s->y + o * s->size * row + from * es;
    const char *base = s->base ? s->base + o * s->size * row + from * es : NULL;
    for (int64_t k = low; k < high; k += whole ? high - low : 1) {
        size_t run = whole ? (size_t)(high - low) * bytes : bytes;
        if (base) {
            memcpy(y + k * row, base + k * row, run);
        } else if (s->stream) {
            eg__stream_zeros(y + k * row, (int64_t)run);
        } else {
            memset(y + k * row, 0, run);
        }
    }
    eg__stream_end();
    s->add(s, y, s->x + o * s->n * row + from * es, low, high, to - from);
}

static void by_outer(void *ctx, int64_t begin, int64_t end)
{
    const sums *s = ctx;
    for (int64_t o = begin; o < end; o++) {
        add_block(s, o, 0, s->size, 0, s->inner);
    }
}

static void by_column(void *ctx, int64_t begin, int64_t end)
{
    const sums *s = ctx;
    for (int64_t o = 0; o < s->outer; o++) {
        add_block(s, o, 0, s->size, begin, end);
    }
}

static void by_row(void *ctx, int64_t begin, int64_t end)
{
    const sums *s = ctx;
    for (int64_t o = 0; o < s->outer; o++) {
        add_block(s, o, begin, end, 0, s->inner);
    }
}

eg_status ISA(eg__cpu_index_add)(const eg__call *c)
{
    static void (*const add[EG_DTYPE_COUNT])(const sums *, char *, const char *, int64_t, int64_t, int64_t) = {
        [EG_F32] = add_f32, [EG_F64] = add_f64, [EG_I64] = add_i64, [EG_I32] = add_i32, [EG_U8] = add_u8};
    const eg__index_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0];
    if (y->n == 0) {
        return EG_OK;
    }
    sums s = {.y = eg__ptr(y),
              .x = eg__ptr(x),
              .base = c->nin > 2 && c->in[2] ? eg__ptr(c->in[2]) : NULL,
              .index = (const int64_t *)eg__ptr(index),
              .outer = 1,
              .n = index->n,
              .size = o->size,
              .inner = 1,
              .skip = o->skip,
              .esize = eg__esize(y),
              .stream = eg__streams(y),
              .add = add[y->dtype]};
    for (int d = 0; d < y->ndim; d++) {
        s.outer *= d < o->axis ? y->shape[d] : 1;
        s.inner *= d > o->axis ? y->shape[d] : 1;
    }
    int64_t work = y->n + x->n;
    if (s.outer >= 16) {
        eg__parallel(s.outer, eg__max(1, EG__GRAIN * s.outer / work), by_outer, &s);
    } else if (s.inner >= 64 && x->n > y->n) { /* some rows may get most of the sums */
        eg__parallel(s.inner, eg__max(32, EG__GRAIN * s.inner / work), by_column, &s);
    } else {
        eg__parallel(s.size, eg__max(1, EG__GRAIN * s.size / work), by_row, &s);
    }
    return EG_OK;
}
