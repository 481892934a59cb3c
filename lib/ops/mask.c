/* mask.c - masks: filling, picking, finding; one-hot rows. */
#include <math.h>

#include "lib/ops/index.h"

/* The shape of x and the mask, which broadcast to each other. */
static eg_status shape_of_both(const char *op, eg_tensor *x, eg_tensor *mask, eg_shape *shape)
{
    eg__desc d;
    if (eg__check(x, op, "x") || eg__check(mask, op, "mask") || eg__broadcast(op, (eg_tensor *[]){x, mask}, 2, &d)) {
        return eg__why();
    }
    *shape = (eg_shape){.ndim = d.ndim};
    memcpy(shape->dim, d.shape, sizeof shape->dim);
    return EG_OK;
}

eg_tensor *eg_masked_fill(eg_tensor *x, eg_tensor *mask, double value)
{
    eg_shape both;
    if (shape_of_both("masked_fill", x, mask, &both)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *m = eg_cast(mask, EG_BOOL);
    return eg_scope_pop(s, m ? eg_where(m, eg_scalar(value, (eg_dtype)x->dtype), x) : NULL);
}

/* ---- finding --------------------------------------------------------------------------------- */

eg_status eg__infer_nonzero(eg__call *c)
{
    const eg__nonzero_opts *o = c->opts;
    eg__desc *d = &c->desc[0];
    d->dtype = EG_I64;
    d->ndim = 2;
    d->shape[0] = o->count;
    d->shape[1] = c->in[0]->ndim;
    d->dense = true;
    return eg__check_shape(c->op->name, 2, d->shape, EG_I64, &d->n);
}

typedef struct tally {
    const uint8_t *p;
    _Atomic int64_t count;
} tally;

static void count_range(void *ctx, int64_t begin, int64_t end)
{
    tally *t = ctx;
    int64_t n = 0;
    for (int64_t i = begin; i < end; i++) {
        n += t->p[i] != 0;
    }
    atomic_fetch_add_explicit(&t->count, n, memory_order_relaxed);
}

/* -1: failed. */
static int64_t count_true(eg_tensor *m)
{
    tally t = {m && m->n ? (const uint8_t *)eg__ptr(m) : NULL, 0};
    if (!m) {
        return -1;
    }
    if (unlikely(m->device)) {
        double count = eg_item(eg_count_nonzero(m));
        return isnan(count) ? -1 : (int64_t)count;
    }
    if (t.p) {
        eg__parallel(m->n, 4 * EG__GRAIN, count_range, &t);
    }
    return t.count;
}

eg_tensor *eg_nonzero(eg_tensor *x)
{
    eg_scope s = eg_scope_push();
    eg_tensor *m = eg_contiguous(eg_cast(eg_detach(x), EG_BOOL));
    int64_t count = count_true(m);
    return eg_scope_pop(s, count < 0 ? NULL : eg__op1(&eg__op_nonzero, m, &(eg__nonzero_opts){count}));
}

/* Row-major positions where the mask is true, 1-D. */
static eg_tensor *where_true(eg_tensor *mask)
{
    eg_tensor *at = eg_nonzero(eg_reshape(mask, EG_SHAPE(-1)));
    return at ? eg_reshape(at, EG_SHAPE(at->n)) : NULL;
}

eg_tensor *eg_masked_select(eg_tensor *x, eg_tensor *mask)
{
    eg_shape full;
    if (shape_of_both("masked_select", x, mask, &full)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *at = where_true(eg_contiguous(eg_expand(eg_cast(mask, EG_BOOL), full)));
    eg_tensor *flat = eg_reshape(eg_expand(x, full), EG_SHAPE(-1));
    return eg_scope_pop(
        s, at && flat ? eg__op2(&eg__op_index_select, flat, at, &(eg__index_opts){.axis = 0, .skip = -1}) : NULL);
}

eg_tensor *eg_masked_scatter(eg_tensor *x, eg_tensor *mask, eg_tensor *source)
{
    eg_shape shape;
    if (shape_of_both("masked_scatter", x, mask, &shape) || eg__check(source, "masked_scatter", "source")) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    x = eg_expand(x, shape);
    eg_tensor *full = eg_expand(eg_cast(mask, EG_BOOL), shape);
    eg_tensor *at = full && x ? where_true(eg_contiguous(full)) : NULL;
    if (!at) {
        return eg_scope_pop(s, NULL);
    }
    if (at->n > source->n) {
        eg_scope_pop(s, NULL);
        return eg__fail_null(EG_ESHAPE, "masked_scatter",
                             "source %s has fewer elements than the mask "
                             "picks",
                             EG__SHAPE_OF(source));
    }
    eg_tensor *first = eg_slice(eg_reshape(source, EG_SHAPE(-1)), 0, 0, at->n, 1);
    eg_tensor *y = eg_index_copy(eg_reshape(x, EG_SHAPE(x->n)), 0, at, first);
    return eg_scope_pop(s, eg_reshape(y, shape));
}

/* ---- rows ------------------------------------------------------------------------------------ */

eg_status eg__infer_one_hot(eg__call *c)
{
    const eg__one_hot_opts *o = c->opts;
    const eg_tensor *ids = c->in[0];
    eg__desc *d = &c->desc[0];
    d->dtype = (uint8_t)o->dtype;
    d->ndim = (uint8_t)(ids->ndim + 1);
    memcpy(d->shape, ids->shape, sizeof d->shape);
    d->shape[ids->ndim] = o->depth;
    d->dense = true;
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

eg_tensor *eg_one_hot_with(eg_tensor *ids, int64_t depth, const eg_one_hot_options *options)
{
    eg__one_hot_opts o = {.depth = depth, .on = 1};
    if (eg__check(ids, "one_hot", "ids")) {
        return NULL;
    }
    if (options) {
        o.dtype = (int)options->dtype;
        o.off = eg__or(options->off, 0);
        o.on = eg__or(options->on, o.off == 0);
    }
    if (depth < 0) {
        return eg__fail_null(EG_ESHAPE, "one_hot", "depth is %lld", (long long)depth);
    }
    if (ids->ndim == EG_MAX_DIMS) {
        return eg__fail_null(EG_ESHAPE, "one_hot", "rank would be %d", EG_MAX_DIMS + 1);
    }
    int64_t shape[EG_MAX_DIMS];
    memcpy(shape, ids->shape, sizeof shape);
    shape[ids->ndim] = depth;
    if (eg__check_room("one_hot", ids->device, ids->ndim + 1, shape, o.dtype)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *i = eg__checked_index("one_hot", ids, depth, true);
    return eg_scope_pop(s, i ? eg__op1(&eg__op_one_hot, i, &o) : NULL);
}

eg_tensor *eg_sequence_mask(eg_tensor *lengths, int64_t count)
{
    if (eg__check(lengths, "sequence_mask", "lengths")) {
        return NULL;
    }
    if (!(EG__INTS >> lengths->dtype & 1)) {
        return eg__fail_null(EG_EDTYPE, "sequence_mask", "lengths are %s, must be integers",
                             eg_dtype_name((eg_dtype)lengths->dtype));
    }
    if (count < 0) {
        return eg__fail_null(EG_ESHAPE, "sequence_mask", "count is %lld", (long long)count);
    }
    if (eg__check_room("sequence_mask", lengths->device, 2, (int64_t[]){eg__max(lengths->n, 8), count}, EG_BOOL)) {
        return NULL; /* 8: the bytes of a place */
    }
    eg_scope s = eg_scope_push();
    eg_tensor *at = eg__arange_on(lengths->device, 0, (double)count, 1, EG_I64);
    return eg_scope_pop(s, at ? eg_lt(at, eg_unsqueeze(lengths, -1)) : NULL);
}
