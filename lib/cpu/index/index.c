/* index.c - picking and putting elements; finding what is not 0; one-hot rows. Indices come
 * checked. */
#include "lib/cpu/common/fill.h"
#include "lib/cpu/common/lanes.h"
#include "lib/ops/options.h"
#include "lib/ops/optable.h"

eg__kernel eg__cpu_index_select, eg__cpu_gather, eg__cpu_scatter, eg__cpu_scatter_add, eg__cpu_scatter_reduce,
    eg__cpu_nonzero, eg__cpu_one_hot;

/* ---- index_select ---------------------------------------------------------------------------- */

typedef struct selection {
    const char *x;
    char *y;
    const int64_t *index;
    int64_t n, size, unit; /* of index, of the axis, bytes of what lies behind it */
    int64_t word;          /* unit, if x and y are aligned to it */
} selection;

#define TEMPLATE "lib/cpu/index/index_words.h"
#include "lib/cpu/common/by_words.h"

static void select_rows(const selection *s, const char *x, char *y, int64_t i, int64_t end)
{
    for (; i < end; i++, y += s->unit) {
        memcpy(y, x + s->index[i] * s->unit, (size_t)s->unit);
    }
}

static void select_range(void *ctx, int64_t begin, int64_t end)
{
    const selection *s = ctx;
    while (begin < end) {
        int64_t outer = begin / s->n, i = begin % s->n, run = eg__min(s->n - i, end - begin);
        const char *x = s->x + outer * s->size * s->unit;
        char *y = s->y + begin * s->unit;
        switch (s->word) {
        case 1:
            select_8(s, x, y, i, i + run);
            break;
        case 2:
            select_16(s, x, y, i, i + run);
            break;
        case 4:
            select_32(s, x, y, i, i + run);
            break;
        case 8:
            select_64(s, x, y, i, i + run);
            break;
        default:
            select_rows(s, x, y, i, i + run);
        }
        begin += run;
    }
}

eg_status eg__cpu_index_select(const eg__call *c)
{
    const eg__index_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0];
    if (y->n == 0) {
        return EG_OK;
    }
    int64_t unit = (int64_t)eg__esize(x), outer = 1;
    for (int d = 0; d < x->ndim; d++) {
        outer *= d < o->axis ? x->shape[d] : 1;
        unit *= d > o->axis ? x->shape[d] : 1;
    }
    const bool aligned = ((uintptr_t)eg__ptr(x) | (uintptr_t)eg__ptr(y)) % (uintptr_t)unit == 0;
    selection s = {.x = eg__ptr(x),
                   .y = eg__ptr(y),
                   .index = (const int64_t *)eg__ptr(index),
                   .n = index->n,
                   .size = x->shape[o->axis],
                   .unit = unit,
                   .word = aligned ? unit : 0};
    eg__parallel(outer * index->n, eg__max(1, 4 * EG__GRAIN / eg__max(unit, 4)), select_range, &s);
    return EG_OK;
}

/* ---- gather ---------------------------------------------------------------------------------- */

/* t seen in the index's shape with all places along the axis at its element 0. */
static eg_tensor beneath(const eg_tensor *t, const eg_tensor *index, int axis)
{
    eg_tensor u = *t;
    memcpy(u.shape, index->shape, sizeof u.shape);
    u.strides[axis] = 0;
    u.n = index->n;
    return u;
}

eg_status eg__cpu_gather(const eg__call *c)
{
    static eg__iter_fn *const row[9] = {
        [1] = gather_row_8, [2] = gather_row_16, [4] = gather_row_32, [8] = gather_row_64};
    int axis = ((const eg__axis_opts *)c->opts)->axis;
    eg_tensor *x = c->in[0], *index = c->in[1], under = beneath(x, index, axis);
    int64_t step = x->strides[axis] * (int64_t)eg__esize(x);
    eg__iter it;
    eg__iter_init(&it, (eg_tensor *[]){c->out[0], index, &under}, 3);
    eg__iter_run(&it, EG__GRAIN / 2, row[eg__esize(x)], &step);
    return EG_OK;
}

/* ---- scatter --------------------------------------------------------------------------------- */

typedef enum join { SET, ADD, MUL, MAX, MIN } join;

#define NAN_IN(v) ((v) != (v))

#define T        uint8_t
#define FN(name) name##_u8
#include "lib/cpu/index/index_scatter.h"
#undef T
#undef FN
#define T        uint16_t
#define FN(name) name##_u16
#include "lib/cpu/index/index_scatter.h"
#undef T
#undef FN
#define T        uint32_t
#define FN(name) name##_u32
#include "lib/cpu/index/index_scatter.h"
#undef T
#undef FN
#define T        uint64_t
#define FN(name) name##_u64
#include "lib/cpu/index/index_scatter.h"
#undef T
#undef FN
#define T        float
#define FN(name) name##_f32
#include "lib/cpu/index/index_scatter.h"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "lib/cpu/index/index_scatter.h"
#undef T
#undef FN
#define T        int64_t
#define FN(name) name##_i64
#include "lib/cpu/index/index_scatter.h"
#undef T
#undef FN
#define T        int32_t
#define FN(name) name##_i32
#include "lib/cpu/index/index_scatter.h"
#undef T
#undef FN

#define SCATTER(name, type, j)                                                 \
    static void name(void *ctx, int64_t n, char *const *ptr, const int64_t *s) \
    {                                                                          \
        scatter_##type(j, ctx, n, ptr, s);                                     \
    }
SCATTER(set_8, u8, SET)
SCATTER(set_16, u16, SET)
SCATTER(set_32, u32, SET)
SCATTER(set_64, u64, SET)
SCATTER(add_f32, f32, ADD)
SCATTER(add_f64, f64, ADD)
SCATTER(add_i64, i64, ADD)
SCATTER(add_i32, i32, ADD)
SCATTER(add_u8, u8, ADD)
SCATTER(mul_f32, f32, MUL)
SCATTER(mul_f64, f64, MUL)
SCATTER(mul_i64, i64, MUL)
SCATTER(mul_i32, i32, MUL)
SCATTER(mul_u8, u8, MUL)
SCATTER(max_f32, f32, MAX)
SCATTER(max_f64, f64, MAX)
SCATTER(max_i64, i64, MAX)
SCATTER(max_i32, i32, MAX)
SCATTER(max_u8, u8, MAX)
SCATTER(min_f32, f32, MIN)
SCATTER(min_f64, f64, MIN)
SCATTER(min_i64, i64, MIN)
SCATTER(min_i32, i32, MIN)
SCATTER(min_u8, u8, MIN)

#define BY_DTYPE(name)                                                                              \
    {                                                                                               \
        [EG_F32] = name##_f32, [EG_F64] = name##_f64, [EG_I64] = name##_i64, [EG_I32] = name##_i32, \
        [EG_U8] = name##_u8                                                                         \
    }

/* Slabs across another axis than the op's write to different places, so threads take one each. */
typedef struct slabs {
    eg_tensor index, source, y;
    int across;
    int64_t step;
    eg__iter_fn *row;
} slabs;

static void narrow(eg_tensor *t, int axis, int64_t begin, int64_t end)
{
    t->n = t->n / t->shape[axis] * (end - begin);
    t->shape[axis] = end - begin;
    t->offset += begin * t->strides[axis];
}

static void scatter_range(void *ctx, int64_t begin, int64_t end)
{
    const slabs *all = ctx;
    slabs s = *all;
    eg__iter it;
    narrow(&s.index, s.across, begin, end);
    narrow(&s.source, s.across, begin, end);
    narrow(&s.y, s.across, begin, end);
    eg__iter_init(&it, (eg_tensor *[]){&s.index, &s.source, &s.y}, 3);
    eg__iter_run(&it, INT64_MAX, s.row, &s.step); /* in order along the axis */
}

static eg_status scatter(const eg__call *c, eg__iter_fn *row)
{
    const eg__scatter_opts *o = c->opts;
    eg_tensor *source = c->in[0], *index = c->in[1], *y = c->out[0];
    if (c->nin > 2 && c->in[2]) {
        eg_status st = eg__run(&eg__op_copy, &c->in[2], 1, &(eg__copy_opts){EG__KEEP_LAYOUT}, y);
        if (st) {
            return st;
        }
    } else {
        memset(eg__ptr(y), 0, (size_t)y->n * eg__esize(y));
    }
    if (index->n == 0) {
        return EG_OK;
    }
    slabs s = {*index, *source, beneath(y, index, o->axis), -1, y->strides[o->axis] * (int64_t)eg__esize(y), row};
    for (int d = 0; d < index->ndim; d++) {
        if (d != o->axis && (s.across < 0 || index->shape[d] > index->shape[s.across])) {
            s.across = d;
        }
    }
    if (s.across < 0) {
        s.across = o->axis;
        scatter_range(&s, 0, index->shape[o->axis]);
    } else {
        int64_t extent = index->shape[s.across];
        eg__parallel(extent, eg__max(1, EG__GRAIN * extent / index->n), scatter_range, &s);
    }
    return EG_OK;
}

eg_status eg__cpu_scatter(const eg__call *c)
{
    static eg__iter_fn *const row[9] = {[1] = set_8, [2] = set_16, [4] = set_32, [8] = set_64};
    return scatter(c, row[eg__esize(c->in[0])]);
}

eg_status eg__cpu_scatter_add(const eg__call *c)
{
    static eg__iter_fn *const row[EG_DTYPE_COUNT] = BY_DTYPE(add);
    return scatter(c, row[c->in[0]->dtype]);
}

eg_status eg__cpu_scatter_reduce(const eg__call *c)
{
    static eg__iter_fn *const row[3][EG_DTYPE_COUNT] = {BY_DTYPE(mul), BY_DTYPE(max), BY_DTYPE(min)};
    int mode = ((const eg__scatter_opts *)c->opts)->mode;
    return scatter(c, row[mode == EG_SCATTER_MUL ? 0 : mode == EG_SCATTER_MAX ? 1 : 2][c->in[0]->dtype]);
}

/* ---- finding and marking --------------------------------------------------------------------- */

/* Pieces of x, each with the number of places found before it. */
typedef struct finding {
    const eg_tensor *x;
    int64_t *y, *before, pieces;
} finding;

static int64_t piece_start(const finding *f, int64_t k)
{
    return f->x->n / f->pieces * k + eg__min(k, f->x->n % f->pieces);
}

static void count_pieces(void *ctx, int64_t begin, int64_t end)
{
    const finding *f = ctx;
    const uint8_t *p = (const uint8_t *)eg__ptr(f->x);
    for (int64_t k = begin; k < end; k++) {
        int64_t count = 0;
        for (int64_t i = piece_start(f, k); i < piece_start(f, k + 1); i++) {
            count += p[i] != 0;
        }
        f->before[k] = count;
    }
}

/* Writes the places of the elements i..end of one row that are not 0; place: those of the other
 * axes. */
static int64_t *find_in_row(const uint8_t *p, int64_t at, int64_t n, const int64_t *place, int outer, int64_t *to)
{
    uint8_t found[256];
    for (int64_t i = 0; i < n; i += 256) {
        int count = 0;
        for (int k = 0; k < 256 && i + k < n; k++) {
            found[count] = (uint8_t)k; /* kept only if the count moves: no branch to guess */
            count += p[i + k] != 0;
        }
        for (int k = 0; k < count; k++) {
            for (int d = 0; d < outer; d++) {
                *to++ = place[d];
            }
            *to++ = at + i + found[k];
        }
    }
    return to;
}

static void find_pieces_range(void *ctx, int64_t begin, int64_t end)
{
    const finding *f = ctx;
    const eg_tensor *x = f->x;
    const uint8_t *p = (const uint8_t *)eg__ptr(x);
    int outer = x->ndim - 1;
    int64_t row = x->shape[outer];
    for (int64_t k = begin; k < end; k++) {
        int64_t *to = f->y + f->before[k] * x->ndim, stop = piece_start(f, k + 1);
        for (int64_t i = piece_start(f, k); i < stop;) {
            int64_t place[EG_MAX_DIMS], rest = i / row, at = i % row, run = eg__min(row - at, stop - i);
            for (int d = outer; d-- > 0; rest /= x->shape[d]) {
                place[d] = rest % x->shape[d];
            }
            to = find_in_row(p + i, at, run, place, outer, to);
            i += run;
        }
    }
}

eg_status eg__cpu_nonzero(const eg__call *c)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    eg__scratch s;
    if (y->n == 0) {
        return EG_OK;
    }
    finding f = {x, (int64_t *)eg__ptr(y), NULL, x->n < 4 * EG__GRAIN ? 1 : eg_threads()};
    if (eg__scratch_get(c, (size_t)f.pieces * sizeof *f.before, &s)) {
        return EG_ENOMEM;
    }
    f.before = s.data;
    eg__parallel(f.pieces, 1, count_pieces, &f);
    for (int64_t k = 0, sum = 0; k < f.pieces; k++) {
        int64_t here = f.before[k];
        f.before[k] = sum;
        sum += here;
    }
    eg__parallel(f.pieces, 1, find_pieces_range, &f);
    eg__scratch_put(c, &s);
    return EG_OK;
}

typedef struct marks {
    char *y;
    const int64_t *ids;
    int64_t depth;
    eg__pattern on, off;
} marks;

static void mark_range(void *ctx, int64_t begin, int64_t end)
{
    const marks *m = ctx;
    int64_t size = (int64_t)m->on.size;
    for (int64_t i = begin; i < end; i++) {
        char *row = m->y + i * m->depth * size;
        eg__fill(row, m->depth, &m->off);
        memcpy(row + m->ids[i] * size, &m->on.bits, (size_t)size);
    }
}

eg_status eg__cpu_one_hot(const eg__call *c)
{
    const eg__one_hot_opts *o = c->opts;
    const eg_tensor *ids = c->in[0], *y = c->out[0];
    marks m = {eg__ptr(y), (const int64_t *)eg__ptr(ids), o->depth, eg__pattern_of(o->on, y->dtype),
               eg__pattern_of(o->off, y->dtype)};
    if (y->n) {
        eg__parallel(ids->n, eg__max(1, 4 * EG__GRAIN / o->depth), mark_range, &m);
    }
    return EG_OK;
}
