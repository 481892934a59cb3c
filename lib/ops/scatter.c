/* scatter.c - gather and scatter, which are each other's gradient, and their forms with whole
 * places. */
#include "lib/ops/index.h"

/* ---- inference ------------------------------------------------------------------------------- */

eg_status eg__infer_gather(eg__call *c)
{
    const eg_tensor *index = c->in[1];
    eg__desc *d = &c->desc[0];
    d->dtype = c->in[0]->dtype;
    d->ndim = index->ndim;
    memcpy(d->shape, index->shape, sizeof d->shape);
    d->dense = true;
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

eg_status eg__infer_scatter(eg__call *c)
{
    const eg__scatter_opts *o = c->opts;
    eg__desc *d = &c->desc[0];
    d->dtype = c->in[0]->dtype;
    d->ndim = (uint8_t)o->ndim;
    memcpy(d->shape, o->shape, sizeof d->shape);
    d->dense = true;
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

eg_tensor *eg__scatter(const eg__op *op, eg_tensor *source, eg_tensor *index, eg_tensor *base,
                       const eg__scatter_opts *o)
{
    return base ? eg__op3(op, source, index, base, o) : eg__op2(op, source, index, o);
}

/* ---- along an axis --------------------------------------------------------------------------- */

/* The axis, if the index has x's rank and is nowhere larger but along it; else -1 with words. 0-dim tensors are
 * lines of one. */
static int check_places(const char *op, eg_tensor *x, int axis, eg_tensor *index)
{
    int a = eg__check(x, op, "x") || eg__check(index, op, "index") ? -1 : eg__line_axis(op, x->ndim, axis);
    if (a < 0) {
        return -1;
    }
    bool fits = eg__line_rank(index) == eg__line_rank(x);
    for (int d = 0; fits && d < x->ndim; d++) {
        fits = d == a || index->shape[d] <= x->shape[d];
    }
    if (!fits) {
        eg__fail(EG_ESHAPE, op, "index %s is not inside %s but for axis %d", EG__SHAPE_OF(index), EG__SHAPE_OF(x), a);
        return -1;
    }
    return a;
}

eg_tensor *eg_gather(eg_tensor *x, int axis, eg_tensor *index)
{
    int a = check_places("gather", x, axis, index);
    if (a < 0) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    const eg_tensor *was = index;
    x = eg__as_line(x), index = eg__as_line(index);
    eg_tensor *i = x && index ? eg__checked_index("gather", index, x->shape[a], false) : NULL;
    eg_tensor *y = i ? eg__op2(&eg__op_gather, x, i, &(eg__axis_opts){a}) : NULL;
    return eg_scope_pop(s, eg__as_was(y, was));
}

eg_tensor *eg_take_along(eg_tensor *x, int axis, eg_tensor *index)
{
    int a = eg__check(x, "take_along", "x") || eg__check(index, "take_along", "index")
                ? -1
                : eg__line_axis("take_along", x->ndim, axis);
    if (a < 0) {
        return NULL;
    }
    if (!x->ndim || !index->ndim) {
        return eg_gather(x, axis, index); /* lines have no other axes */
    }
    eg_shape from = eg_shape_of(x), at = eg_shape_of(index);
    bool fits = index->ndim == x->ndim;
    for (int d = 0; fits && d < x->ndim; d++) {
        if (d != a && from.dim[d] != at.dim[d]) {
            fits = from.dim[d] == 1 || at.dim[d] == 1;
            from.dim[d] = at.dim[d] = from.dim[d] == 1 ? at.dim[d] : from.dim[d];
        }
    }
    if (!fits) {
        return eg__fail_null(EG_ESHAPE, "take_along", "index %s does not broadcast to %s but for axis %d",
                             EG__SHAPE_OF(index), EG__SHAPE_OF(x), a);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *i = eg__checked_index("take_along", index, x->shape[a], false);
    x = eg_expand(x, from);
    i = i ? eg_expand(i, at) : NULL;
    return eg_scope_pop(s, x && i ? eg__op2(&eg__op_gather, x, i, &(eg__axis_opts){a}) : NULL);
}

/* Any of the scatter ops, its operands checked. */
static eg_tensor *scatter(const eg__op *op, eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source, int mode,
                          bool sum)
{
    int a = check_places(op->name, x, axis, index);
    if (a < 0 || eg__check(source, op->name, "source")) {
        return NULL;
    }
    if (!eg__same_shape(index, source)) {
        return eg__fail_null(EG_ESHAPE, op->name, "index is %s, source is %s", EG__SHAPE_OF(index),
                             EG__SHAPE_OF(source));
    }
    eg_scope s = eg_scope_push();
    const eg_tensor *was = x;
    int dtype = eg__common_dtype((eg_tensor *[]){x, source}, 2);
    x = eg__as_line(x), index = eg__as_line(index), source = eg__as_line(source);
    if (!x || !index || !source) {
        return eg_scope_pop(s, NULL);
    }
    eg__scatter_opts o = {.axis = a, .mode = mode, .ndim = x->ndim};
    memcpy(o.shape, x->shape, sizeof o.shape);
    eg_tensor *i = eg__checked_index(op->name, index, x->shape[a], false);
    if (!i || eg__same_dtype(&x, &source, sum)) {
        return eg_scope_pop(s, NULL);
    }
    eg_tensor *y = eg__as_was(eg__scatter(op, source, i, x, &o), was);
    return eg_scope_pop(s, eg_cast(y, (eg_dtype)dtype));
}

eg_tensor *eg_scatter(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source)
{
    return scatter(&eg__op_scatter, x, axis, index, source, 0, false);
}

eg_tensor *eg_scatter_add(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source)
{
    return scatter(&eg__op_scatter_add, x, axis, index, source, 0, true);
}

/* (x + what falls on it) / (1 + how many do); of integers, summed in i64, rounded down. What a mean of halves divides
 * is often past what halves hold: it is f32. */
static eg_tensor *scatter_mean(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source)
{
    int dtype = x && source ? eg__common_dtype((eg_tensor *[]){x, source}, 2) : EG_F32;
    bool whole = EG__INTS >> dtype & 1;
    if (dtype == EG_BOOL) {
        return eg__fail_null(EG_EDTYPE, "scatter_reduce", "bools have no mean");
    }
    eg_scope s = eg_scope_push();
    const eg_dtype wide = whole ? EG_I64 : dtype == EG_F64 ? EG_F64 : EG_F32;
    x = eg_cast(x, wide);
    source = eg_cast(source, wide);
    eg_tensor *sum = eg_scatter_add(x, axis, index, source);
    eg_tensor *count = sum ? eg_scatter_add(eg_ones_like(sum), axis, index,
                                            eg__full_on(sum->device, eg_shape_of(source), 1, (eg_dtype)sum->dtype))
                           : NULL;
    return eg_scope_pop(s, eg_cast(whole ? eg_floor_divide(sum, count) : eg_div(sum, count), (eg_dtype)dtype));
}

eg_tensor *eg_scatter_reduce(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source, eg_scatter_mode mode)
{
    if ((unsigned)mode > EG_SCATTER_MIN) {
        return eg__fail_null(EG_EINVAL, "scatter_reduce", "mode %d is none of the 4 there are", (int)mode);
    }
    return mode == EG_SCATTER_MEAN ? scatter_mean(x, axis, index, source)
                                   : scatter(&eg__op_scatter_reduce, x, axis, index, source, (int)mode, true);
}

/* ---- whole places ---------------------------------------------------------------------------- */

eg_status eg__infer_ravel_index(eg__call *c)
{
    const eg_tensor *index = c->in[0];
    eg__desc *d = &c->desc[0];
    d->dtype = EG_I64;
    d->ndim = (uint8_t)(index->ndim - 1);
    memcpy(d->shape, index->shape, sizeof d->shape);
    d->dense = true;
    /* Not n / last: the last axis may be empty. */
    return eg__check_shape(c->op->name, d->ndim, d->shape, EG_I64, &d->n);
}

eg_status eg__infer_unravel_index(eg__call *c)
{
    const eg__shape_opts *o = c->opts;
    const eg_tensor *index = c->in[0];
    eg__desc *d = &c->desc[0];
    d->dtype = EG_I64;
    d->ndim = (uint8_t)(index->ndim + 1);
    memcpy(d->shape, index->shape, sizeof d->shape);
    d->shape[index->ndim] = o->ndim;
    d->dense = true;
    return eg__check_shape(c->op->name, d->ndim, d->shape, EG_I64, &d->n);
}

/* Places along the last axis of index, in the first axes of `shape`, as checked positions. */
static eg_tensor *positions(const char *op, eg_tensor *index, int ndim, const int64_t *shape)
{
    eg__shape_opts o = {0};
    eg__check_opts check = {.name = op};
    int64_t n;
    if (index->ndim < 1 || index->shape[index->ndim - 1] > ndim) {
        return eg__fail_null(EG_ESHAPE, op, "index %s has no last axis of at most %d numbers", EG__SHAPE_OF(index),
                             ndim);
    }
    if (eg__check_shape(op, ndim, shape, EG_U8, &n)) {
        return NULL;
    }
    o.ndim = check.axes = (int)index->shape[index->ndim - 1];
    memcpy(o.shape, shape, sizeof o.shape[0] * (size_t)o.ndim);
    memcpy(check.size, o.shape, sizeof o.shape);
    index = eg__wide_index(op, index);
    if (!index) {
        return NULL;
    }
    index = eg__op1(&eg__op_checked_index, index, &check);
    return eg__op1(&eg__op_ravel_index, index, &o);
}

eg_tensor *eg_ravel_index(eg_tensor *index, eg_shape shape)
{
    if (eg__check(index, "ravel_index", "index")) {
        return NULL;
    }
    if (index->ndim < 1 || index->shape[index->ndim - 1] != shape.ndim) {
        return eg__fail_null(EG_ESHAPE, "ravel_index", "the last axis of %s is not the rank %d", EG__SHAPE_OF(index),
                             shape.ndim);
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, positions("ravel_index", index, shape.ndim, shape.dim));
}

eg_tensor *eg_unravel_index(eg_tensor *index, eg_shape shape)
{
    eg__shape_opts o = {.ndim = shape.ndim};
    int64_t n;
    if (eg__check(index, "unravel_index", "index") ||
        eg__check_shape("unravel_index", shape.ndim, shape.dim, EG_U8, &n)) {
        return NULL;
    }
    if (index->ndim == EG_MAX_DIMS) {
        return eg__fail_null(EG_ESHAPE, "unravel_index", "rank would be %d", EG_MAX_DIMS + 1);
    }
    memcpy(o.shape, shape.dim, sizeof o.shape);
    eg_scope s = eg_scope_push();
    eg_tensor *i = eg__checked_index("unravel_index", index, n, false);
    return eg_scope_pop(s, i ? eg__op1(&eg__op_unravel_index, i, &o) : NULL);
}

/* x with its first k axes joined. */
static eg_tensor *join_axes(eg_tensor *x, int k)
{
    eg_shape s = {.ndim = x->ndim - k + 1, .dim = {1}};
    if (s.ndim > EG_MAX_DIMS) {
        return eg__fail_null(EG_ESHAPE, "gather_nd", "no axis of %s is named", EG__SHAPE_OF(x));
    }
    for (int d = 0; d < k; d++) {
        s.dim[0] *= x->shape[d];
    }
    for (int d = k; d < x->ndim; d++) {
        s.dim[d - k + 1] = x->shape[d];
    }
    return eg_reshape(x, s);
}

eg_tensor *eg_gather_nd(eg_tensor *x, eg_tensor *index)
{
    if (eg__check(x, "gather_nd", "x") || eg__check(index, "gather_nd", "index")) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *i = positions("gather_nd", index, x->ndim, x->shape);
    eg_tensor *rows = i ? join_axes(x, (int)index->shape[index->ndim - 1]) : NULL;
    return eg_scope_pop(s,
                        rows ? eg__op2(&eg__op_index_select, rows, i, &(eg__index_opts){.axis = 0, .skip = -1}) : NULL);
}

/* x's places replaced by source, or added to; x NULL: zeros. */
static eg_tensor *scatter_nd(const char *op, eg_tensor *x, eg_tensor *index, eg_tensor *source, const eg_shape *shape,
                             bool sum)
{
    eg_shape want = {.ndim = index->ndim - 1};
    eg_tensor *i = positions(op, index, shape->ndim, shape->dim);
    if (!i) {
        return NULL;
    }
    int k = (int)index->shape[index->ndim - 1];
    memcpy(want.dim, index->shape, sizeof want.dim);
    bool fits = source->ndim == want.ndim + shape->ndim - k;
    for (int d = 0; fits && d < source->ndim; d++) {
        fits = source->shape[d] == (d < want.ndim ? want.dim[d] : shape->dim[d - want.ndim + k]);
    }
    if (!fits || shape->ndim - k + 1 > EG_MAX_DIMS) {
        return eg__fail_null(EG_ESHAPE, op, "source %s does not fit index %s into %s", EG__SHAPE_OF(source),
                             EG__SHAPE_OF(index), eg__shape_text(shape->ndim, shape->dim).s);
    }
    eg_tensor *base = x ? x : source;
    int dtype = eg__common_dtype((eg_tensor *[]){base, source}, 2);
    int64_t places = 1, rest = 1;
    for (int d = 0; d < shape->ndim; d++) {
        *(d < k ? &places : &rest) *= shape->dim[d];
    }
    if (eg__same_dtype(&base, &source, sum)) {
        return NULL;
    }
    base = x ? eg_reshape(base, EG_SHAPE(places, rest)) : NULL;
    i = eg_reshape(i, EG_SHAPE(i->n));
    source = i ? eg_reshape(source, EG_SHAPE(i->n, rest)) : NULL;
    eg_tensor *y = NULL;
    if (source && (base || !x)) {
        y = sum ? eg__index_add(source, i, base, &(eg__index_opts){.size = places, .skip = -1})
                : eg_index_copy(base, 0, i, source);
    }
    return eg_reshape(eg_cast(y, (eg_dtype)dtype), *shape);
}

static eg_tensor *scatter_nd_into(const char *op, eg_tensor *x, eg_tensor *index, eg_tensor *source, bool sum)
{
    if (eg__check(x, op, "x") || eg__check(index, op, "index") || eg__check(source, op, "source")) {
        return NULL;
    }
    eg_shape shape = eg_shape_of(x);
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, scatter_nd(op, x, index, source, &shape, sum));
}

eg_tensor *eg_scatter_nd_add(eg_tensor *x, eg_tensor *index, eg_tensor *source)
{
    return scatter_nd_into("scatter_nd_add", x, index, source, true);
}

eg_tensor *eg_scatter_nd_copy(eg_tensor *x, eg_tensor *index, eg_tensor *source)
{
    return scatter_nd_into("scatter_nd_copy", x, index, source, false);
}

eg_tensor *eg_scatter_nd(eg_tensor *index, eg_tensor *source, eg_shape shape)
{
    int64_t n;
    if (eg__check(index, "scatter_nd", "index") || eg__check(source, "scatter_nd", "source") ||
        eg__check_shape("scatter_nd", shape.ndim, shape.dim, source->dtype, &n)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, scatter_nd("scatter_nd", NULL, index, source, &shape, true));
}
