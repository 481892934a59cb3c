/* join.c - concat, pad and the gradient of slices, in runs as long as memory allows. */
#include "lib/cpu/common/fill.h"
#include "lib/cpu/common/stream.h"
#include "lib/ops/optable.h"
#include "lib/ops/options.h"
#include "lib/ops/pad.h"

eg__kernel eg__cpu_concat, eg__cpu_pad, eg__cpu_slice_grad;

enum { GRAIN_BYTES = 4 * EG__GRAIN };

/* The axes of a packed tensor from the outermost in memory to the innermost. */
static void axes_in_memory(const eg_tensor *t, int *order)
{
    for (int d = 0; d < t->ndim; d++) {
        int at = d;
        for (; at > 0 && t->strides[order[at - 1]] < t->strides[d]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
}

static eg_status copy_into(eg_tensor *x, eg_tensor *part)
{
    return eg__run(&eg__op_copy, &x, 1, &(eg__copy_opts){EG__KEEP_LAYOUT}, part);
}

/* ---- concat ---------------------------------------------------------------------------------- */

/* A row of the result is a run of each input, one behind the other. */
typedef struct piece {
    const char *from;
    int64_t start, end; /* of its run, in bytes of the row */
} piece;

typedef struct rows {
    char *to;
    const piece *pieces;
    int64_t bytes;
    int n;
    bool stream;
} rows;

/* Whole rows piece by piece, for runs of a few bytes. */
static void join_short(void *ctx, int64_t begin, int64_t end)
{
    const rows *r = ctx;
    for (int k = 0; k < r->n; k++) {
        const int64_t start = r->pieces[k].start, run = r->pieces[k].end - start;
        const char *from = r->pieces[k].from;
        char *to = r->to + start;
        for (int64_t i = begin; i < end; i++) {
            const char *x = from + i * run;
            char *y = to + i * r->bytes;
            switch (run) {
            case 4:
                memcpy(y, x, 4);
                break;
            case 8:
                memcpy(y, x, 8);
                break;
            case 12:
                memcpy(y, x, 12);
                break;
            case 16:
                memcpy(y, x, 16);
                break;
            default:
                memcpy(y, x, (size_t)run);
            }
        }
    }
}

static void join_range(void *ctx, int64_t begin, int64_t end)
{
    const rows *r = ctx;
    int64_t row = begin / r->bytes, at = begin % r->bytes;
    const piece *p = r->pieces;
    while (begin < end) {
        while (at >= p->end) {
            p++;
        }
        int64_t size = p->end - p->start, skip = at - p->start;
        int64_t run = eg__min(size - skip, end - begin);
        if (r->stream) {
            eg__stream(r->to + begin, p->from + row * size + skip, run);
        } else {
            memcpy(r->to + begin, p->from + row * size + skip, (size_t)run);
        }
        begin += run;
        at += run;
        if (at == r->bytes) {
            at = 0;
            row++;
            p = r->pieces;
        }
    }
    eg__stream_end();
}

static bool lies_as(const eg_tensor *t, const int *order)
{
    int64_t step = 1;
    for (int i = t->ndim; i-- > 0; step *= t->shape[order[i]]) {
        if (t->shape[order[i]] != 1 && t->strides[order[i]] != step) {
            return false;
        }
    }
    return true;
}

/* Fills the pieces if every input lies in memory as the result does and runs are longer than an
 * element. */
static bool find_pieces(const eg__call *c, const int *order, piece *pieces, rows *r)
{
    const eg_tensor *y = c->out[0];
    int axis = ((const eg__axis_opts *)c->opts)->axis;
    int64_t inner = (int64_t)eg__esize(y), at = 0, longest = 0;
    for (int i = y->ndim; order[--i] != axis;) {
        inner *= y->shape[order[i]];
    }
    for (int k = 0; k < c->nin; k++) {
        const eg_tensor *x = c->in[k];
        if (!lies_as(x, order)) {
            return false;
        }
        int64_t run = x->shape[axis] * inner;
        pieces[k] = (piece){eg__ptr(x), at, at + run};
        at += run;
        longest = eg__max(longest, run);
    }
    *r = (rows){eg__ptr(y), pieces, at, c->nin, eg__streams(y)};
    return longest > (int64_t)eg__esize(y);
}

eg_status eg__cpu_concat(const eg__call *c)
{
    const eg__axis_opts *o = c->opts;
    eg_tensor *y = c->out[0], part = *y;
    int order[EG_MAX_DIMS];
    eg__scratch s;
    rows r;
    if (y->n == 0) {
        return EG_OK;
    }
    if (eg__scratch_get(c, (size_t)c->nin * sizeof(piece), &s)) {
        return EG_ENOMEM;
    }
    axes_in_memory(y, order);
    eg_status st = EG_OK;
    bool runs = find_pieces(c, order, s.data, &r);
    if (runs && r.bytes < 32 * r.n) {
        int64_t n = y->n * (int64_t)eg__esize(y) / r.bytes;
        eg__parallel(n, GRAIN_BYTES / r.bytes + 1, join_short, &r);
    } else if (runs) {
        eg__parallel(y->n * (int64_t)eg__esize(y), GRAIN_BYTES, join_range, &r);
    } else {
        for (int k = 0; k < c->nin && !st; k++) {
            part.shape[o->axis] = c->in[k]->shape[o->axis];
            part.n = c->in[k]->n;
            st = part.n ? copy_into(c->in[k], &part) : EG_OK;
            part.offset += part.shape[o->axis] * part.strides[o->axis];
        }
    }
    eg__scratch_put(c, &s);
    return st;
}

/* ---- pad ------------------------------------------------------------------------------------- */

/* Rows along one axis of units: what lies behind the axis in memory is not padded. */
typedef struct padding {
    const eg__pad_opts *o;
    const eg_tensor *x, *y;
    int order[EG_MAX_DIMS], outer; /* the axis is order[outer] */
    int64_t unit, count;           /* bytes, elements */
    eg__pattern value;
} padding;

/* count units, `step` bytes apart, behind one another. */
static void copy_units(char *to, const char *from, int64_t count, int64_t unit, int64_t step)
{
    if (step == unit) {
        memcpy(to, from, (size_t)(count * unit));
    } else if (unit == 4) { /* of bytes, too, which may lie anywhere */
        for (int64_t i = 0; i < count; i++) {
            memcpy(to + i * 4, from + i * step, 4);
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            memcpy(to + i * unit, from + i * step, (size_t)unit);
        }
    }
}

/* One row of the result from x's row at `from`. */
static void pad_row(const padding *p, char *to, const char *from)
{
    int axis = p->order[p->outer];
    int64_t n = p->x->shape[axis], size = p->y->shape[axis], before = p->o->before[axis];
    int64_t step = p->x->strides[axis] * (int64_t)p->value.size;
    int64_t first = eg__max(before, 0), last = eg__min(before + n, size);
    copy_units(to + first * p->unit, from + (first - before) * step, last - first, p->unit, step);
    if (p->o->mode == EG_PAD_CONSTANT) {
        eg__fill(to, first * p->count, &p->value);
        eg__fill(to + last * p->unit, (size - last) * p->count, &p->value);
        return;
    }
    for (int64_t i = first == 0 ? last : 0; i < size; i = i + 1 == first ? last : i + 1) {
        memcpy(to + i * p->unit, from + eg__pad_source(p->o->mode, i - before, n) * step, (size_t)p->unit);
    }
}

static void pad_range(void *ctx, int64_t begin, int64_t end)
{
    const padding *p = ctx;
    const eg_tensor *x = p->x, *y = p->y;
    int64_t index[EG_MAX_DIMS], rest = begin, row = y->shape[p->order[p->outer]];
    for (int i = p->outer; i-- > 0; rest /= y->shape[p->order[i]]) {
        index[i] = rest % y->shape[p->order[i]];
    }
    for (; begin < end; begin++) {
        int64_t from = 0;
        bool inside = true;
        for (int i = 0; i < p->outer; i++) {
            int d = p->order[i];
            int64_t s = eg__pad_source(p->o->mode, index[i] - p->o->before[d], x->shape[d]);
            inside &= s >= 0;
            from += s * x->strides[d];
        }
        char *to = eg__ptr(y) + begin * row * p->unit;
        if (inside) {
            pad_row(p, to, eg__ptr(x) + from * (int64_t)p->value.size);
        } else {
            eg__fill(to, row * p->count, &p->value);
        }
        for (int i = p->outer; i-- > 0 && ++index[i] == y->shape[p->order[i]];) {
            index[i] = 0;
        }
    }
}

eg_status eg__cpu_pad(const eg__call *c)
{
    const eg__pad_opts *o = c->opts;
    eg_tensor *x = c->in[0], *y = c->out[0];
    padding p = {.o = o, .x = x, .y = y, .count = 1, .value = eg__pattern_of(o->value, y->dtype)};
    if (y->n == 0) {
        return EG_OK;
    }
    axes_in_memory(y, p.order);
    p.outer = y->ndim - 1;
    for (; p.outer >= 0; p.outer--) {
        int d = p.order[p.outer];
        if (o->before[d] || o->after[d] || (x->shape[d] != 1 && x->strides[d] != p.count)) {
            break;
        }
        p.count *= x->shape[d];
    }
    if (p.outer < 0) {
        return copy_into(x, y);
    }
    p.unit = p.count * (int64_t)p.value.size;
    int64_t row = y->shape[p.order[p.outer]] * p.unit, n = y->n * (int64_t)p.value.size / row;
    eg__parallel(n, eg__max(1, GRAIN_BYTES / row), pad_range, &p);
    return EG_OK;
}

/* ---- the gradient of slices ------------------------------------------------------------------ */

eg_status eg__cpu_slice_grad(const eg__call *c)
{
    const eg__slice_grad_opts *o = c->opts;
    const eg__slice_opts *s = &o->slice;
    eg_tensor *dy = c->in[0], *dx = c->out[0], part = *dx;
    if (s->step == 1) {
        eg__pad_opts pad = {.mode = EG_PAD_CONSTANT};
        pad.before[s->axis] = s->start;
        pad.after[s->axis] = o->size - s->start - s->count;
        return eg__run(&eg__op_pad, &dy, 1, &pad, dx);
    }
    memset(eg__ptr(dx), 0, (size_t)dx->n * eg__esize(dx));
    part.offset += s->start * part.strides[s->axis];
    part.strides[s->axis] *= s->step;
    part.shape[s->axis] = s->count;
    part.n = dy->n;
    return dy->n ? copy_into(dy, &part) : EG_OK;
}
