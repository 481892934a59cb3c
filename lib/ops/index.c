/* index.c - index_select and index_add, each the other's gradient, and what is made of them. */
#include "lib/core/device.h"
#include "lib/ops/index.h"

/* ---- what all of the family check ------------------------------------------------------------ */

eg_status eg__infer_checked_index(eg__call *c)
{
    eg__desc *d = &c->desc[0];
    d->dtype = EG_I64;
    d->ndim = c->in[0]->ndim;
    memcpy(d->shape, c->in[0]->shape, sizeof d->shape);
    d->dense = true;
    return eg__check_shape(c->op->name, d->ndim, d->shape, EG_I64, &d->n);
}

typedef struct check {
    const int64_t *v;
    int64_t last;
    _Atomic bool odd;
} check;

/* Whether all are in 0..last: v < 0 or last - v < 0 shows in the sign. */
static void check_range(void *ctx, int64_t begin, int64_t end)
{
    check *k = ctx;
    int64_t sign = 0;
    for (int64_t i = begin; i < end; i++) {
        sign |= k->v[i] | (k->last - k->v[i]);
    }
    if (sign < 0) {
        atomic_store_explicit(&k->odd, true, memory_order_relaxed);
    }
}

eg_tensor *eg__wide_index(const char *op, eg_tensor *index)
{
    if (!(EG__INTS >> index->dtype & 1)) {
        return eg__fail_null(EG_EDTYPE, op, "the index is %s, must be i64, i32 or u8",
                             eg_dtype_name((eg_dtype)index->dtype));
    }
    return index->dtype == EG_U8 ? eg_cast(index, EG_I64) : index;
}

eg_tensor *eg__checked_index(const char *op, eg_tensor *index, int64_t size, bool strict)
{
    if (eg__check(index, op, "index")) {
        return NULL;
    }
    if (unlikely(index->dtype != EG_I64) && !(index = eg__wide_index(op, index))) {
        return NULL;
    }
    const eg__check_opts o = {.name = op, .strict = strict, .size = {size}};
    if (unlikely(index->device)) {
        return eg__op1(&eg__op_checked_index, index, &o);
    }
    index = eg_contiguous(eg_cast(index, EG_I64));
    if (!index || index->n == 0) {
        return index;
    }
    check k = {(const int64_t *)eg__ptr(index), size - 1, false};
    eg__parallel(index->n, 2 * EG__GRAIN, check_range, &k);
    return likely(!k.odd) ? index : eg__op1(&eg__op_checked_index, index, &o);
}

eg_tensor *eg__index_for(const char *op, eg_tensor *index, int64_t size, bool strict, bool filled, eg__index_opts *o)
{
    if (eg__check(index, op, "index") || !index->device || index->dtype != EG_I64 || !filled || size < 1) {
        return eg__checked_index(op, index, size, strict);
    }
    o->raw = strict ? EG__RAW_STRICT : EG__RAW_FROM_END;
    o->name = op;
    return eg_contiguous(index);
}

eg_status eg__same_dtype(eg_tensor **x, eg_tensor **source, bool sum)
{
    int dtype = eg__common_dtype((eg_tensor *[]){*x, *source}, 2);
    if (sum && (dtype == EG_F16 || dtype == EG_BF16)) {
        dtype = EG_F32;
    }
    *x = eg_cast(*x, (eg_dtype)dtype);
    *source = eg_cast(*source, (eg_dtype)dtype);
    return *x && *source ? EG_OK : eg__why();
}

/* ---- index_select ---------------------------------------------------------------------------- */

eg_status eg__infer_index_select(eg__call *c)
{
    const eg__index_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1];
    eg__desc *d = &c->desc[0];
    int more = index->ndim - 1;
    if (x->ndim + more > EG_MAX_DIMS) {
        return eg__fail(EG_ESHAPE, c->op->name, "%s by %s would have rank %d", EG__SHAPE_OF(x), EG__SHAPE_OF(index),
                        x->ndim + more);
    }
    d->dtype = x->dtype;
    d->ndim = (uint8_t)(x->ndim + more);
    d->dense = true;
    for (int a = 0; a < d->ndim; a++) {
        d->shape[a] = a < o->axis                 ? x->shape[a]
                      : a < o->axis + index->ndim ? index->shape[a - o->axis]
                                                  : x->shape[a - more];
    }
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

static eg_tensor *index_select(const char *op, eg_tensor *x, int axis, eg_tensor *index, bool strict, int64_t skip)
{
    int a = eg__check(x, op, "x") ? -1 : eg__line_axis(op, x->ndim, axis);
    if (a < 0) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg__index_opts o = {.axis = a, .skip = skip};
    x = eg__as_line(x);
    eg_tensor *i = x ? eg__index_for(op, index, x->shape[a], strict, x->n > 0, &o) : NULL;
    return eg_scope_pop(s, i ? eg__op2(&eg__op_index_select, x, i, &o) : NULL);
}

eg_tensor *eg_index_select(eg_tensor *x, int axis, eg_tensor *index)
{
    return index_select("index_select", x, axis, index, false, -1);
}

eg_tensor *eg_take(eg_tensor *x, eg_tensor *index)
{
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, index_select("take", eg_reshape(x, EG_SHAPE(-1)), 0, index, false, -1));
}

eg_tensor *eg_embedding_with(eg_tensor *table, eg_tensor *ids, const eg_embedding_options *options)
{
    bool padded = options && options->padded;
    if (eg__check(table, "embedding", "table")) {
        return NULL;
    }
    if (table->ndim < 1) {
        return eg__fail_null(EG_ESHAPE, "embedding", "a 0-dim table has no rows");
    }
    if (padded && (options->padding < 0 || options->padding >= table->shape[0])) {
        return eg__fail_null(EG_EINDEX, "embedding", "padding %lld is outside the %lld rows of the table",
                             (long long)options->padding, (long long)table->shape[0]);
    }
    return index_select("embedding", table, 0, ids, true, padded ? options->padding : -1);
}

/* ---- index_add ------------------------------------------------------------------------------- */

eg_status eg__infer_index_add(eg__call *c)
{
    const eg__index_opts *o = c->opts;
    const eg_tensor *source = c->in[0], *index = c->in[1];
    eg__desc *d = &c->desc[0];
    int less = index->ndim - 1;
    d->dtype = source->dtype;
    d->ndim = (uint8_t)(source->ndim - less);
    d->dense = true;
    for (int a = 0; a < d->ndim; a++) {
        d->shape[a] = a < o->axis ? source->shape[a] : a == o->axis ? o->size : source->shape[a + less];
    }
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

eg_tensor *eg__index_add(eg_tensor *source, eg_tensor *index, eg_tensor *base, const eg__index_opts *o)
{
    return base ? eg__op3(&eg__op_index_add, source, index, base, o) : eg__op2(&eg__op_index_add, source, index, o);
}

/* Whether source has x's shape but for one entry of the 1-D index along the axis; checks the axis
 * too. 0-dim tensors are lines of one. */
static int check_parts(const char *op, eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source)
{
    int a = eg__check(x, op, "x") || eg__check(index, op, "index") || eg__check(source, op, "source")
                ? -1
                : eg__line_axis(op, x->ndim, axis);
    if (a < 0) {
        return -1;
    }
    bool fits = index->ndim <= 1 && eg__line_rank(source) == eg__line_rank(x) &&
                (source->ndim ? source->shape[a] : 1) == index->n;
    for (int d = 0; fits && d < x->ndim; d++) {
        fits = d == a || source->shape[d] == x->shape[d];
    }
    if (!fits) {
        eg__fail(EG_ESHAPE, op, "index %s and source %s do not fit axis %d of %s", EG__SHAPE_OF(index),
                 EG__SHAPE_OF(source), a, EG__SHAPE_OF(x));
        return -1;
    }
    return a;
}

eg_tensor *eg_index_add(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source)
{
    int a = check_parts("index_add", x, axis, index, source);
    if (a < 0) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    const eg_tensor *was = x;
    int dtype = eg__common_dtype((eg_tensor *[]){x, source}, 2);
    x = eg__as_line(x), index = eg__as_line(index), source = eg__as_line(source);
    if (!x || !index || !source) {
        return eg_scope_pop(s, NULL);
    }
    eg__index_opts o = {.axis = a, .size = x->shape[a], .skip = -1};
    eg_tensor *i = eg__index_for("index_add", index, o.size, false, x->n > 0, &o);
    if (!i || eg__same_dtype(&x, &source, true)) {
        return eg_scope_pop(s, NULL);
    }
    eg_tensor *y = eg__index_add(source, i, x, &o);
    return eg_scope_pop(s, eg_cast(eg__as_was(y, was), (eg_dtype)dtype));
}

/* As a scatter along the axis with the index spread over the other axes; 0-dim operands as lines. */
static eg_tensor *index_copy(const char *op, eg_tensor *given, int a, eg_tensor *index, eg_tensor *source)
{
    eg_tensor *x = eg__as_line(given);
    if (!x || !(index = eg__as_line(index))) {
        return NULL;
    }
    eg__scatter_opts o = {.axis = a, .ndim = x->ndim};
    eg_shape line = {.ndim = x->ndim}, full = eg_shape_of(x);
    eg_tensor *i = eg__checked_index(op, index, x->shape[a], false);
    memcpy(o.shape, x->shape, sizeof o.shape);
    for (int d = 0; d < x->ndim; d++) {
        line.dim[d] = d == a ? index->n : 1;
    }
    full.dim[a] = index->n;
    i = eg_expand(eg_reshape(i, line), full);
    source = eg_expand(source, full);
    if (!i || !source || eg__same_dtype(&x, &source, false)) {
        return NULL;
    }
    return eg__as_was(eg__scatter(&eg__op_scatter, source, i, x, &o), given);
}

eg_tensor *eg_index_copy(eg_tensor *x, int axis, eg_tensor *index, eg_tensor *source)
{
    int a = check_parts("index_copy", x, axis, index, source);
    if (a < 0) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, index_copy("index_copy", x, a, index, source));
}

eg_tensor *eg_index_fill(eg_tensor *x, int axis, eg_tensor *index, double value)
{
    int a = eg__check(x, "index_fill", "x") || eg__check(index, "index_fill", "index")
                ? -1
                : eg__line_axis("index_fill", x->ndim, axis);
    if (a < 0) {
        return NULL;
    }
    if (index->ndim > 1) {
        return eg__fail_null(EG_ESHAPE, "index_fill", "the index is %s, must be 1-D", EG__SHAPE_OF(index));
    }
    eg_scope s = eg_scope_push();
    eg_tensor *v = eg__full_on(x->device, EG_SCALAR, value, (eg_dtype)x->dtype);
    return eg_scope_pop(s, index_copy("index_fill", x, a, index, v));
}

/* ---- segments -------------------------------------------------------------------------------- */

static eg_tensor *segments(const char *op, eg_tensor *x, eg_tensor *ids, int64_t count)
{
    if (x->ndim < 1 || ids->ndim != 1 || ids->n != x->shape[0]) {
        return eg__fail_null(EG_ESHAPE, op, "ids %s are not one for each row of %s", EG__SHAPE_OF(ids),
                             EG__SHAPE_OF(x));
    }
    eg_scope s = eg_scope_push();
    eg_dtype dtype = (eg_dtype)x->dtype;
    eg__index_opts o = {.axis = 0, .size = count, .skip = -1};
    eg_tensor *i = eg__index_for(op, ids, count, true, x->n > 0, &o), *same = x;
    if (!i || eg__same_dtype(&x, &same, true)) {
        return eg_scope_pop(s, NULL);
    }
    eg_tensor *y = eg__index_add(x, i, NULL, &o);
    return eg_scope_pop(s, eg_cast(y, dtype));
}

eg_tensor *eg_unsorted_segment_sum(eg_tensor *x, eg_tensor *ids, int64_t count)
{
    if (eg__check(x, "unsorted_segment_sum", "x") || eg__check(ids, "unsorted_segment_sum", "ids")) {
        return NULL;
    }
    if (count < 0) {
        return eg__fail_null(EG_ESHAPE, "unsorted_segment_sum", "count is %lld", (long long)count);
    }
    return segments("unsorted_segment_sum", x, ids, count);
}

eg_tensor *eg_segment_sum(eg_tensor *x, eg_tensor *ids)
{
    if (eg__check(x, "segment_sum", "x") || eg__check(ids, "segment_sum", "ids")) {
        return NULL;
    }
    int64_t last = -1;
    eg_scope s = eg_scope_push();
    const eg_tensor *at = eg__on_host(ids, "segment_sum");
    eg_status st = at ? EG_OK : eg__why();
    for (int64_t i = 0; !st && at->ndim == 1 && i < at->n; i++) {
        int64_t id = eg__load_int(eg__ptr(at), at->dtype, i * at->strides[0]);
        if (id < last || id < 0) {
            st = eg__fail(EG_EINVAL, "segment_sum", "ids[%lld] is %lld after %lld: they must not be negative nor fall",
                          (long long)i, (long long)id, (long long)eg__max(last, 0));
        }
        last = id;
    }
    eg_scope_pop(s, NULL);
    if (st) {
        return NULL;
    }
    if (last == INT64_MAX) {
        return eg__fail_null(EG_EINDEX, "segment_sum", "id %lld is too large", (long long)last);
    }
    return segments("segment_sum", x, ids, last + 1);
}
