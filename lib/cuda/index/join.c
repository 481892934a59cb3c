/* join.c - the host side of concat, pad and slice_grad: axes merged, units as wide as they can be. */
#include "lib/cuda/runtime/cuda.h"
#include "lib/cuda/index/join.h"
#include "lib/ops/options.h"
#include "lib/ops/pad.h"

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

/* Whether axis b continues axis a in memory. */
static bool continues(const eg_tensor *t, int a, int b)
{
    return !t->n || t->shape[a] == 1 || t->strides[a] == t->strides[b] * t->shape[b];
}

/* The widest unit of which everything whose bits are set is a multiple. */
static int unit_of(uint64_t bits)
{
    bits |= 16;
    return (int)(bits & -bits);
}

/* ---- concat ---------------------------------------------------------------------------------------- */

/* Merged axes: the innermost of each, whose stride is the stride of all. */
typedef struct merged {
    int ndim, axis; /* axis: which of them has the axis of the concat */
    int inner[EG_MAX_DIMS];
    int64_t size[EG_MAX_DIMS]; /* of the axis: what is behind it only */
} merged;

static bool all_continue(const eg__call *c, int a, int b)
{
    bool all = continues(c->out[0], a, b);
    for (int k = 0; k < c->nin && all; k++) {
        all = continues(c->in[k], a, b);
    }
    return all;
}

static merged merge(const eg__call *c, int axis)
{
    const eg_tensor *y = c->out[0];
    merged m = {.ndim = 0};
    int order[EG_MAX_DIMS];
    axes_in_memory(y, order);
    for (int i = 0; i < y->ndim; i++) {
        const int d = order[i];
        if (d != axis && y->shape[d] == 1) {
            continue;
        }
        if (d == axis || !m.ndim || !all_continue(c, m.inner[m.ndim - 1], d)) {
            m.size[m.ndim++] = 1;
        }
        m.axis = d == axis ? m.ndim - 1 : m.axis;
        m.size[m.ndim - 1] *= d == axis ? 1 : y->shape[d];
        m.inner[m.ndim - 1] = d;
    }
    return m;
}

/* The widest unit for all of the inputs and y. */
static int concat_unit(const eg__call *c, const merged *m, int axis)
{
    const eg_tensor *y = c->out[0];
    const int64_t es = (int64_t)eg__esize(y);
    const int last = m->ndim - 1;
    uint64_t bits = 0;
    for (int k = -1; k < c->nin; k++) {
        const eg_tensor *t = k < 0 ? y : c->in[k];
        if (!t->n) {
            continue;
        }
        const int64_t run = m->size[last] * (m->axis == last ? t->shape[axis] : 1);
        if (run > 1 && t->strides[m->inner[last]] != 1) {
            return (int)es;
        }
        bits |= (uintptr_t)eg__ptr(t) | (uint64_t)(run * es);
        for (int d = 0; d < last; d++) {
            bits |= (uint64_t)(t->strides[m->inner[d]] * es);
        }
    }
    return unit_of(bits);
}

static void set_piece(eg__piece *p, const eg_tensor *x, const merged *m, int axis, int unit)
{
    const int64_t es = (int64_t)eg__esize(x), each = unit / es;
    p->from = eg__ptr(x);
    p->n = x->n / each;
    p->size = eg__divisor_of(m->size[m->axis] * x->shape[axis] / (m->axis == m->ndim - 1 ? each : 1));
    for (int d = 0; d < m->ndim; d++) {
        p->stride[d] = d < m->ndim - 1 || unit == es ? x->strides[m->inner[d]] * es : unit;
    }
}

eg_status eg__cuda_concat(const eg__call *c)
{
    const int axis = ((const eg__axis_opts *)c->opts)->axis;
    const eg_tensor *y = c->out[0];
    const int64_t es = (int64_t)eg__esize(y);
    int64_t start = 0;
    eg_status st = EG_OK;
    eg__pieces k;
    if (!y->n) {
        return EG_OK;
    }
    const merged m = merge(c, axis);
    k.y = eg__ptr(y);
    k.ndim = m.ndim;
    k.axis = m.axis;
    k.unit = concat_unit(c, &m, axis);
    k.count = 0;
    for (int d = 0; d < m.ndim; d++) {
        const bool wide = d == m.ndim - 1 && k.unit > es;
        k.shape[d] = eg__divisor_of(m.size[d] / (wide ? k.unit / es : 1));
        k.stride[d] = wide ? k.unit : y->strides[m.inner[d]] * es;
    }
    for (int i = 0; i < c->nin && !st; i++) {
        const eg_tensor *x = c->in[i];
        if (x->n) {
            k.piece[k.count].start = start * y->strides[axis] * es;
            set_piece(&k.piece[k.count++], x, &m, axis, k.unit);
        }
        start += x->shape[axis];
        if (k.count == EG__PIECES || (i == c->nin - 1 && k.count)) {
            st = eg__launched(c, eg__launch_concat(&k, eg__stream_of(c)));
            k.count = 0;
        }
    }
    return st;
}

/* ---- pad ------------------------------------------------------------------------------------------- */

/* The value's bytes, as often as eight of them hold. */
static uint64_t repeated(double value, int dtype, size_t size)
{
    uint64_t bits = 0;
    eg__store(&bits, dtype, 0, value);
    for (size_t n = size; n < 8; n *= 2) {
        bits |= bits << 8 * n;
    }
    return bits;
}

/* Axes from the outermost in memory of y to the innermost, merged where they are not padded, or filled around;
 * stride: in bytes. */
static void merge_padded(eg__padding *k, const eg_tensor *x, const eg_tensor *y, const eg__padded *axis)
{
    int order[EG_MAX_DIMS], before = 0;
    axes_in_memory(y, order);
    k->ndim = 0;
    for (int i = 0; i < y->ndim; i++) {
        const int d = order[i];
        const eg__padded *a = &axis[d];
        eg__padded *last = k->ndim ? &k->axis[k->ndim - 1] : NULL;
        const bool plain = !a->before && a->step == 1 && a->size.d == a->n;
        if (plain && a->n == 1) {
            continue;
        }
        if (last && plain && continues(x, before, d) && last->step == 1 &&
            (k->mode == EG_PAD_CONSTANT || (!last->before && last->size.d == last->n))) {
            last->size = eg__divisor_of(last->size.d * a->n);
            last->n *= a->n;
            last->before *= a->n;
            last->stride = a->stride;
        } else {
            k->axis[k->ndim++] = *a;
        }
        before = d;
    }
}

/* Makes units wider than elements if they can be. */
static void widen(eg__padding *k, int64_t es)
{
    eg__padded *last = &k->axis[k->ndim ? k->ndim - 1 : 0];
    const bool plain = !last->before && last->size.d == last->n;
    uint64_t bits = (uintptr_t)k->x | (uintptr_t)k->y;
    k->unit = (int)es;
    if (!k->ndim || last->step != 1 || (last->n > 1 && last->stride != es) || (k->mode != EG_PAD_CONSTANT && !plain)) {
        return;
    }
    bits |= (uint64_t)(last->size.d * es) | (uint64_t)(last->n * es) | (uint64_t)(last->before * es);
    for (int d = 0; d < k->ndim - 1; d++) {
        bits |= (uint64_t)k->axis[d].stride;
    }
    k->unit = unit_of(bits);
    const int64_t each = k->unit / es;
    last->size = eg__divisor_of(last->size.d / each);
    last->n /= each;
    last->before /= each;
    last->stride = k->unit;
}

/* axis: of every axis of y, in elements; strides are filled in here. */
static eg_status pad(const eg__call *c, int mode, double value, eg__padded *axis)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    const int64_t es = (int64_t)eg__esize(y);
    eg__padding k = {.y = eg__ptr(y), .x = eg__ptr(x), .value = repeated(value, y->dtype, (size_t)es), .mode = mode};
    if (!y->n) {
        return EG_OK;
    }
    for (int d = 0; d < y->ndim; d++) {
        axis[d].size = eg__divisor_of(y->shape[d]);
        axis[d].n = x->shape[d];
        axis[d].stride = x->strides[d] * es;
    }
    merge_padded(&k, x, y, axis);
    widen(&k, es);
    k.n = y->n * es / k.unit;
    return eg__launched(c, eg__launch_pad(&k, eg__stream_of(c)));
}

eg_status eg__cuda_pad(const eg__call *c)
{
    const eg__pad_opts *o = c->opts;
    eg__padded axis[EG_MAX_DIMS];
    for (int d = 0; d < c->out[0]->ndim; d++) {
        axis[d].before = o->before[d];
        axis[d].step = 1;
    }
    return pad(c, o->mode, o->value, axis);
}

eg_status eg__cuda_slice_grad(const eg__call *c)
{
    const eg__slice_opts *o = &((const eg__slice_grad_opts *)c->opts)->slice;
    eg__padded axis[EG_MAX_DIMS];
    for (int d = 0; d < c->out[0]->ndim; d++) {
        axis[d].before = d == o->axis ? o->start : 0;
        axis[d].step = d == o->axis ? o->step : 1;
    }
    return pad(c, EG_PAD_CONSTANT, 0, axis);
}
