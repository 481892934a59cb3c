/* sort.c - order, the different ones, places and counts. */
#include <math.h>

#include "lib/core/device.h"
#include "lib/core/follower.h"
#include "lib/ops/index.h"

/* ---- sort and topk --------------------------------------------------------------------------- */

static eg_status infer(eg__call *c, int64_t k)
{
    const eg__sort_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    for (int j = 0; j < 2; j++) {
        eg__desc *d = &c->desc[j];
        d->dtype = j ? EG_I64 : x->dtype;
        d->ndim = x->ndim;
        memcpy(d->shape, x->shape, sizeof d->shape);
        if (x->ndim) {
            d->shape[o->axis] = k;
        }
        d->dense = true;
        if (eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n)) {
            return EG_ESHAPE;
        }
    }
    if (x->ndim && x->shape[o->axis] > UINT32_MAX) {
        return eg__fail(EG_ESHAPE, c->op->name, "axis %d of %s is longer than 2^32 - 1", o->axis, EG__SHAPE_OF(x));
    }
    return EG_OK;
}

eg_status eg__infer_sort(eg__call *c)
{
    return infer(c, c->in[0]->ndim ? c->in[0]->shape[((const eg__sort_opts *)c->opts)->axis] : 1);
}

eg_status eg__infer_topk(eg__call *c)
{
    return infer(c, ((const eg__sort_opts *)c->opts)->k);
}

/* Hands out the results that are wanted. */
static eg_status give(eg_scope s, eg_status st, eg_tensor *const *made, eg_tensor **a, eg_tensor **b, eg_tensor **c)
{
    eg_tensor **out[3] = {a, b, c}, *keep[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3 && !st; i++) {
        if (out[i]) {
            *out[i] = keep[i] = made[i];
        }
    }
    if (st) {
        eg_scope_pop(s, NULL);
        return st;
    }
    return eg_scope_pop_n(s, keep, 3);
}

static eg_status sorted(const eg__op *op, eg_tensor *x, const eg__sort_opts *o, eg_tensor **values, eg_tensor **indices)
{
    eg_tensor *made[2];
    eg_scope s = eg_scope_push();
    eg_status st = eg__dispatch(op, &x, 1, o, made);
    return give(s, st, made, values, indices, NULL);
}

static void forget(eg_tensor **a, eg_tensor **b, eg_tensor **c)
{
    *(a ? a : &(eg_tensor *){NULL}) = NULL;
    *(b ? b : &(eg_tensor *){NULL}) = NULL;
    *(c ? c : &(eg_tensor *){NULL}) = NULL;
}

static int line_axis(const char *op, eg_tensor *x, int axis)
{
    return eg__check(x, op, "x") ? -1 : eg__line_axis(op, x->ndim, axis);
}

eg_status eg_sort(eg_tensor *x, int axis, bool descending, eg_tensor **values, eg_tensor **indices)
{
    forget(values, indices, NULL);
    int a = line_axis("sort", x, axis);
    return a < 0 ? eg__why() : sorted(&eg__op_sort, x, &(eg__sort_opts){a, descending, 0}, values, indices);
}

eg_tensor *eg_argsort(eg_tensor *x, int axis, bool descending)
{
    eg_tensor *indices;
    int a = line_axis("argsort", x, axis);
    if (a < 0) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_sort(eg_detach(x), a, descending, NULL, &indices);
    return eg_scope_pop(s, indices);
}

static int check_k(const char *op, eg_tensor *x, int64_t k, int64_t least, int axis)
{
    int a = line_axis(op, x, axis);
    int64_t n = a < 0 || !x->ndim ? 1 : x->shape[a];
    if (a >= 0 && (k < least || k > n)) {
        eg__fail(EG_EINVAL, op, "k is %lld, must be %lld..%lld", (long long)k, (long long)least, (long long)n);
        return -1;
    }
    return a;
}

eg_status eg_topk(eg_tensor *x, int64_t k, int axis, bool largest, eg_tensor **values, eg_tensor **indices)
{
    forget(values, indices, NULL);
    int a = check_k("topk", x, k, 0, axis);
    if (a < 0) {
        return eg__why();
    }
    if (!x->ndim && !k) {
        return eg__fail(EG_EINVAL, "topk", "k is 0 for a 0-dim tensor");
    }
    return sorted(&eg__op_topk, x, &(eg__sort_opts){a, largest, k}, values, indices);
}

eg_status eg_kthvalue(eg_tensor *x, int64_t k, int axis, eg_tensor **value, eg_tensor **index)
{
    forget(value, index, NULL);
    int a = check_k("kthvalue", x, k, 1, axis);
    if (a < 0) {
        return eg__why();
    }
    eg_tensor *made[2];
    eg_scope s = eg_scope_push();
    eg_status st = eg__dispatch(&eg__op_topk, &x, 1, &(eg__sort_opts){a, false, k}, made);
    for (int j = 0; j < 2 && !st && x->ndim; j++) {
        made[j] = eg_select(made[j], a, k - 1);
        st = made[j] ? EG_OK : eg__why();
    }
    return give(s, st, made, value, index, NULL);
}

eg_tensor *eg_in_topk(eg_tensor *x, eg_tensor *targets, int64_t k)
{
    if (eg__check(x, "in_topk", "x") || eg__check(targets, "in_topk", "targets")) {
        return NULL;
    }
    if (x->ndim != 2 || targets->ndim != 1 || targets->n != x->shape[0]) {
        return eg__fail_null(EG_ESHAPE, "in_topk", "targets %s are not one for each row of %s", EG__SHAPE_OF(targets),
                             EG__SHAPE_OF(x));
    }
    if (k < 0) {
        return eg__fail_null(EG_EINVAL, "in_topk", "k is %lld", (long long)k);
    }
    eg_scope s = eg_scope_push();
    x = eg_detach(x);
    eg_tensor *at = eg__checked_index("in_topk", targets, x ? x->shape[1] : 0, true);
    eg_tensor *mine = at ? eg_gather(x, 1, eg_unsqueeze(at, 1)) : NULL;
    eg_tensor *larger = mine ? eg_sum(eg_gt(x, mine), .axes = EG_AXES(1)) : NULL;
    eg_tensor *known = mine ? eg_squeeze(eg_eq(mine, mine), EG_AXES(1)) : NULL;
    eg_tensor *few = larger && known ? eg_lt(larger, eg_scalar((double)k, EG_I64)) : NULL;
    return eg_scope_pop(s, few ? eg_logical_and(few, known) : NULL);
}

/* ---- the different ones ---------------------------------------------------------------- */

/* Which group row order[i] belongs to, where first[i] is true if row i starts one. */
static eg_tensor *group_of(eg_tensor *first, eg_tensor *order)
{
    int64_t n = first->n;
    if (first->device || eg__followed()) {
        eg_tensor *number = eg_sub_scalar(eg_cumsum(first, 0), 1);
        eg__scatter_opts o = {.ndim = 1, .shape = {n}};
        return number ? eg__scatter(&eg__op_scatter, number, order, NULL, &o) : NULL;
    }
    eg_tensor *inverse = eg__empty_on(0, EG_SHAPE(n), EG_I64);
    if (!inverse || !(order = eg_contiguous(order))) {
        return NULL;
    }
    const int64_t *to = n ? (const int64_t *)eg__ptr(order) : NULL;
    const uint8_t *starting = n ? (const uint8_t *)eg__ptr(first) : NULL;
    for (int64_t i = 0, group = -1; i < n; i++) {
        group += starting[i];
        ((int64_t *)eg__ptr(inverse))[to[i]] = group;
    }
    return inverse;
}

/* From rows [n, m] in the order in which equal ones stand together: order[i] is where row i was. */
static eg_status groups(eg_tensor *rows, eg_tensor *order, eg_tensor **made)
{
    int64_t n = rows->shape[0];
    eg_tensor *differs = eg_ne(eg_slice(rows, 0, 1, EG_END, 1), eg_slice(rows, 0, 0, -1, 1));
    differs = eg_gt_scalar(eg_sum(differs, .axes = EG_AXES(1)), 0);
    eg_tensor *one = eg__full_on(rows->device, EG_SHAPE(n > 0), 1, EG_BOOL), *first = NULL;
    if (differs && one) {
        first = eg_concat((eg_tensor *[]){one, differs}, 2, 0); /* starts a group */
    }
    eg_tensor *starts = eg_nonzero(first), *inverse = starts ? group_of(first, order) : NULL;
    if (!inverse) {
        return eg__why();
    }
    starts = eg_reshape(starts, EG_SHAPE(starts->n));
    eg_tensor *end = eg__full_on(rows->device, EG_SHAPE(n > 0), (double)n, EG_I64);
    eg_tensor *ends = end ? eg_concat((eg_tensor *[]){eg_slice(starts, 0, 1, EG_END, 1), end}, 2, 0) : NULL;
    made[0] = eg_index_select(rows, 0, starts);
    made[1] = inverse;
    made[2] = eg_sub(ends, starts);
    return made[0] && made[2] ? EG_OK : eg__why();
}

static eg_status unique(const char *op, eg_tensor *x, bool sort, eg_tensor **values, eg_tensor **inverse,
                        eg_tensor **counts)
{
    eg_tensor *made[3], *order;
    forget(values, inverse, counts);
    if (eg__check(x, op, "x")) {
        return eg__why();
    }
    eg_scope s = eg_scope_push();
    eg_tensor *line = eg_reshape(eg_detach(x), EG_SHAPE(x->n));
    if (sort) {
        eg_sort(line, 0, false, &line, &order);
    } else {
        order = eg__arange_on(x->device, 0, (double)x->n, 1, EG_I64);
    }
    eg_status st = line && order ? groups(eg_reshape(line, EG_SHAPE(x->n, 1)), order, made) : eg__why();
    if (!st) {
        made[0] = eg_reshape(made[0], EG_SHAPE(made[0]->n));
        made[1] = eg_reshape(made[1], eg_shape_of(x));
        st = made[0] && made[1] ? EG_OK : eg__why();
    }
    return give(s, st, made, values, inverse, counts);
}

eg_status eg_unique(eg_tensor *x, eg_tensor **values, eg_tensor **inverse, eg_tensor **counts)
{
    return unique("unique", x, true, values, inverse, counts);
}

eg_status eg_unique_consecutive(eg_tensor *x, eg_tensor **values, eg_tensor **inverse, eg_tensor **counts)
{
    return unique("unique_consecutive", x, false, values, inverse, counts);
}

eg_status eg_unique_slices(eg_tensor *x, int axis, eg_tensor **values, eg_tensor **inverse, eg_tensor **counts)
{
    eg_tensor *made[3];
    forget(values, inverse, counts);
    int a = eg__check(x, "unique_slices", "x") ? -1 : eg__axis("unique_slices", x->ndim, axis);
    if (a < 0) {
        return eg__why();
    }
    eg_scope s = eg_scope_push();
    eg_tensor *front = eg_movedim(eg_detach(x), EG_AXES(a), EG_AXES(0));
    int64_t n = x->shape[a], m = n ? x->n / n : 0;
    eg_tensor *rows = eg_reshape(front, EG_SHAPE(n, m)), *order = eg__arange_on(x->device, 0, (double)n, 1, EG_I64);
    /* By the last column, then stably by the one before, and so on. */
    for (int64_t k = m; k-- > 0 && rows && order;) {
        eg_tensor *column = eg_index_select(eg_select(rows, 1, k), 0, order);
        order = column ? eg_index_select(order, 0, eg_argsort(column, 0, false)) : NULL;
    }
    rows = rows && order ? eg_index_select(rows, 0, order) : NULL;
    eg_status st = rows ? groups(rows, order, made) : eg__why();
    if (!st) {
        eg_shape shape = eg_shape_of(front);
        shape.dim[0] = made[0]->shape[0];
        made[0] = eg_movedim(eg_reshape(made[0], shape), EG_AXES(0), EG_AXES(a));
        st = made[0] ? EG_OK : eg__why();
    }
    return give(s, st, made, values, inverse, counts);
}

/* ---- places ---------------------------------------------------------------------------- */

eg_status eg__infer_searchsorted(eg__call *c)
{
    eg__desc *d = &c->desc[0];
    const eg_tensor *values = c->in[1];
    d->dtype = EG_I64;
    d->ndim = values->ndim;
    memcpy(d->shape, values->shape, sizeof d->shape);
    d->dense = true;
    return eg__check_shape(c->op->name, d->ndim, d->shape, EG_I64, &d->n);
}

/* Returns the number of true elements of a bool tensor, -1 on failure. For messages and sizes. */
static double count_true(eg_tensor *t)
{
    eg_tensor *n = eg_sum(t);
    const eg_tensor *here = n ? eg__on_host(n, "eg_sum") : NULL;
    return here ? eg__load(eg__ptr(here), here->dtype, 0) : -1;
}

static eg_status check_line(eg_tensor *line)
{
    eg_tensor *next = eg_slice(line, -1, 1, EG_END, 1), *here = eg_slice(line, -1, 0, -1, 1);
    double nans = count_true(eg_ne(line, line)), falls = nans < 0 ? -1 : count_true(eg_lt(next, here));
    if (nans < 0 || falls < 0) {
        return eg__why();
    }
    if (nans > 0) {
        return eg__fail(EG_EINVAL, "searchsorted", "the line has %g NaN", nans);
    }
    for (int64_t i = 0; falls > 0 && i < next->n; i++) {
        if (eg_get(next, i) < eg_get(here, i)) {
            return eg__fail(EG_EINVAL, "searchsorted", "the line falls from %g to %g", eg_get(here, i),
                            eg_get(next, i));
        }
    }
    return falls > 0 ? eg__fail(EG_EINVAL, "searchsorted", "the line falls") : EG_OK;
}

eg_tensor *eg_searchsorted(eg_tensor *line, eg_tensor *values, bool right)
{
    if (eg__check(line, "searchsorted", "line") || eg__check(values, "searchsorted", "values")) {
        return NULL;
    }
    bool fits = line->ndim == 1 || line->ndim == values->ndim;
    for (int d = 0; fits && d < line->ndim - 1; d++) {
        fits = line->shape[d] == values->shape[d];
    }
    if (!fits || line->ndim < 1) {
        return eg__fail_null(EG_ESHAPE, "searchsorted", "line %s and values %s do not go together", EG__SHAPE_OF(line),
                             EG__SHAPE_OF(values));
    }
    eg_scope s = eg_scope_push();
    eg_tensor *l = eg_detach(line), *v = eg_detach(values);
    v = v && v->ndim == 0 && !v->device ? eg_to(v, eg_device_of(line)) : v; /* a number of the CPU */
    if (!l || !v || eg__same_dtype(&l, &v, true) || (!l->device && check_line(l))) {
        return eg_scope_pop(s, NULL);
    }
    return eg_scope_pop(s, eg__op2(&eg__op_searchsorted, l, v, &(eg__searchsorted_opts){right}));
}

/* ---- counts ---------------------------------------------------------------------------- */

eg_tensor *eg_bincount(eg_tensor *x, eg_tensor *weights, int64_t least)
{
    if (eg__check(x, "bincount", "x") || (weights && eg__check(weights, "bincount", "weights"))) {
        return NULL;
    }
    if (!(EG__INTS >> x->dtype & 1)) {
        return eg__fail_null(EG_EDTYPE, "bincount", "x is %s, must be integers", eg_dtype_name((eg_dtype)x->dtype));
    }
    if (x->ndim != 1 || (weights && !eg__same_shape(x, weights))) {
        return eg__fail_null(EG_ESHAPE, "bincount", "x is %s, weights %s: both must be 1-D and alike", EG__SHAPE_OF(x),
                             weights ? EG__SHAPE_OF(weights) : "none");
    }
    if (least < 0) {
        return eg__fail_null(EG_EINVAL, "bincount", "least is %lld", (long long)least);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *ids = eg_contiguous(eg_cast(x, EG_I64));
    const eg_tensor *seen = ids ? eg__on_host(ids, "bincount") : NULL;
    const int64_t *v = seen && seen->n ? (const int64_t *)eg__ptr(seen) : NULL;
    if (!seen) {
        return eg_scope_pop(s, NULL);
    }
    for (int64_t i = 0; v && i < ids->n; i++) {
        if (v[i] < 0 || v[i] >= INT32_MAX) {
            long long at = i, is = v[i];
            eg_scope_pop(s, NULL);
            return eg__fail_null(EG_EINDEX, "bincount", "x[%lld] is %lld, must be 0..2^31 - 2", at, is);
        }
        least = eg__max(least, v[i] + 1);
    }
    if (weights || ids->device || eg__followed()) {
        weights = weights ? weights : eg_ones_like(ids);
        return eg_scope_pop(s, eg_unsorted_segment_sum(weights, ids, least));
    }
    eg_tensor *y = eg__full_on(0, EG_SHAPE(least), 0, EG_I64);
    int64_t *count = y && v ? (int64_t *)eg__ptr(y) : NULL;
    for (int64_t i = 0; count && i < ids->n; i++) {
        count[v[i]]++;
    }
    return eg_scope_pop(s, y);
}

eg_tensor *eg_histogram(eg_tensor *x, int64_t bins, double low, double high)
{
    if (eg__check(x, "histogram", "x")) {
        return NULL;
    }
    if (bins < 1 || !isfinite(low) || !isfinite(high) || !(low < high)) {
        return eg__fail_null(EG_EINVAL, "histogram", "%lld bins from %g to %g", (long long)bins, low, high);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *flat = eg_cast(eg_reshape(eg_detach(x), EG_SHAPE(x->n)), EG_F64);
    double nans = flat ? count_true(eg_ne(flat, flat)) : -1;
    if (nans != 0) {
        eg_scope_pop(s, NULL);
        return nans > 0 ? eg__fail_null(EG_EINVAL, "histogram", "x has %g NaN", nans) : NULL;
    }
    eg_tensor *edges = eg_to(eg_linspace(low, high, bins + 1, EG_F64), eg_device_of(x));
    eg_tensor *inside = eg_logical_and(eg_ge_scalar(flat, low), eg_le_scalar(flat, high));
    flat = inside ? eg_masked_select(flat, inside) : NULL;
    eg_tensor *at = edges && flat ? eg_searchsorted(edges, flat, true) : NULL;
    at = at ? eg_minimum_scalar(eg_sub_scalar(at, 1), (double)(bins - 1)) : NULL;
    return eg_scope_pop(s, at ? eg_bincount(at, NULL, bins) : NULL);
}
