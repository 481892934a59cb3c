/* join.c - joining and cutting: concat, stack, grids; split, chunk, unbind. */
#include <stdlib.h>

#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* ---- joining ------------------------------------------------------------------------------- */

eg_status eg__infer_concat(eg__call *c)
{
    const eg__axis_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    eg__desc *d = &c->desc[0];
    d->dtype = x->dtype;
    d->ndim = x->ndim;
    memcpy(d->shape, x->shape, sizeof d->shape);
    for (int i = 1; i < c->nin; i++) {
        const eg_tensor *t = c->in[i];
        bool fits = t->ndim == x->ndim;
        for (int a = 0; fits && a < x->ndim; a++) {
            fits = a == o->axis ? !__builtin_add_overflow(d->shape[a], t->shape[a], &d->shape[a])
                                : t->shape[a] == x->shape[a];
        }
        if (!fits) {
            return eg__fail(EG_ESHAPE, c->op->name,
                            "input %d, %s, does not fit input 0, %s, along "
                            "axis %d",
                            i, EG__SHAPE_OF(t), EG__SHAPE_OF(x), o->axis);
        }
    }
    eg__desc_order(d, x);
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

static eg_status check_all(const char *op, eg_tensor *const *xs, int n)
{
    if (n < 1) {
        return eg__fail(EG_EINVAL, op, "n is %d, at least one tensor is needed", n);
    }
    if (!xs) {
        return eg__null_argument(op, "xs");
    }
    for (int i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "xs[%d]", i);
        if (eg__check(xs[i], op, name)) {
            return eg__why();
        }
    }
    return EG_OK;
}

static eg_tensor *concat(eg_tensor *const *xs, int n, int axis)
{
    eg_tensor *y;
    return eg__dispatch(&eg__op_concat, xs, n, &(eg__axis_opts){axis}, &y) ? NULL : y;
}

eg_tensor *eg_concat(eg_tensor *const *xs, int n, int axis)
{
    int a = check_all("concat", xs, n) ? -1 : eg__axis("concat", xs[0]->ndim, axis);
    return a < 0 ? NULL : concat(xs, n, a);
}

/* Behind the last axis: each gets the new axis first. */
static eg_tensor *stack_last(eg_tensor *const *xs, int n)
{
    eg_tensor **t = eg__malloc((size_t)n * sizeof *t), *y = NULL;
    if (!t) {
        return eg__no_memory("stack", n), NULL;
    }
    int i = 0;
    while (i < n && (t[i] = eg_unsqueeze(xs[i], -1))) {
        i++;
    }
    if (i == n) {
        y = concat(t, n, xs[0]->ndim);
    }
    free(t);
    return y;
}

eg_tensor *eg_stack(eg_tensor *const *xs, int n, int axis)
{
    int a = check_all("stack", xs, n) ? -1 : eg__axis("stack", xs[0]->ndim + 1, axis);
    if (a < 0) {
        return NULL;
    }
    if (xs[0]->ndim == EG_MAX_DIMS) {
        return eg__fail_null(EG_ESHAPE, "stack", "rank would be %d", EG_MAX_DIMS + 1);
    }
    for (int i = 1; i < n; i++) {
        if (!eg__same_shape(xs[0], xs[i])) {
            return eg__fail_null(EG_ESHAPE, "stack", "xs[%d] is %s, xs[0] is %s", i, EG__SHAPE_OF(xs[i]),
                                 EG__SHAPE_OF(xs[0]));
        }
    }
    eg_scope s = eg_scope_push();
    if (a == xs[0]->ndim) {
        return eg_scope_pop(s, stack_last(xs, n));
    }
    /* In memory it is a concat along the axis that the new one is put before. */
    eg_shape shape = {.ndim = xs[0]->ndim + 1};
    for (int d = 0; d < shape.ndim; d++) {
        shape.dim[d] = d == a ? n : xs[0]->shape[d - (d > a)];
    }
    return eg_scope_pop(s, eg_reshape(concat(xs, n, a), shape));
}

eg_status eg_meshgrid(eg_tensor *const *xs, int n, eg_tensor **out)
{
    eg_shape grid = {.ndim = n};
    for (int i = 0; out && i < n; i++) {
        out[i] = NULL;
    }
    if (check_all("meshgrid", xs, n)) {
        return eg__why();
    }
    if (!out) {
        return eg__null_argument("meshgrid", "out");
    }
    if (n > EG_MAX_DIMS) {
        return eg__fail(EG_ESHAPE, "meshgrid", "%d axes, at most %d are possible", n, EG_MAX_DIMS);
    }
    for (int i = 0; i < n; i++) {
        if (xs[i]->ndim > 1) {
            return eg__fail(EG_ESHAPE, "meshgrid", "xs[%d] is %s, must be 0- or 1-D", i, EG__SHAPE_OF(xs[i]));
        }
        grid.dim[i] = xs[i]->n;
    }
    eg_tensor *made[EG_MAX_DIMS];
    eg_scope s = eg_scope_push();
    for (int i = 0; i < n; i++) {
        eg_shape line = {.ndim = n - i, .dim = {xs[i]->n, 1, 1, 1, 1, 1, 1, 1}};
        if (!(made[i] = eg_expand(eg_reshape(xs[i], line), grid))) {
            eg_scope_pop(s, NULL);
            return eg__why();
        }
    }
    memcpy(out, made, (size_t)n * sizeof *out);
    return eg_scope_pop_n(s, out, n);
}

/* ---- cutting ------------------------------------------------------------------------------- */

/* Pieces from `start` on: sizes[i], or `each` as long as there is something left. */
static eg_status cut(eg_tensor *x, int axis, const int64_t *sizes, int64_t each, int n, eg_tensor **out)
{
    int64_t at = 0;
    eg_scope s = eg_scope_push();
    for (int i = 0; i < n; i++) {
        int64_t size = sizes ? sizes[i] : eg__min(each, x->shape[axis] - at);
        out[i] = NULL;
        if (!sizes && i && !size) {
            continue;
        }
        if (!(out[i] = eg__op1(&eg__op_slice, x, &(eg__slice_opts){axis, at, 1, size}))) {
            memset(out, 0, (size_t)n * sizeof *out);
            eg_scope_pop(s, NULL);
            return eg__why();
        }
        at += size;
    }
    return eg_scope_pop_n(s, out, n);
}

/* The axis, or -1 with words and all of out NULL. */
static int begin_cut(const char *op, eg_tensor *x, int n, int axis, eg_tensor **out)
{
    for (int i = 0; out && i < n; i++) {
        out[i] = NULL;
    }
    if (eg__check(x, op, "x")) {
        return -1;
    }
    if (n < 1) {
        eg__fail(EG_EINVAL, op, "%d pieces asked for, at least 1 must be", n);
        return -1;
    }
    if (!out) {
        eg__null_argument(op, "out");
        return -1;
    }
    return eg__axis(op, x->ndim, axis);
}

eg_status eg_split(eg_tensor *x, const int64_t *sizes, int n, int axis, eg_tensor **out)
{
    int a = begin_cut("split", x, n, axis, out);
    if (a < 0) {
        return eg__why();
    }
    if (!sizes) {
        return eg__null_argument("split", "sizes");
    }
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        if (sizes[i] < 0) {
            return eg__fail(EG_ESHAPE, "split", "sizes[%d] is %lld", i, (long long)sizes[i]);
        }
        if (__builtin_add_overflow(sum, sizes[i], &sum)) {
            return eg__fail(EG_ESHAPE, "split", "the sizes add up to more than 64 bits hold");
        }
    }
    if (sum != x->shape[a]) {
        return eg__fail(EG_ESHAPE, "split", "the sizes add up to %lld, axis %d of %s has %lld", (long long)sum, a,
                        EG__SHAPE_OF(x), (long long)x->shape[a]);
    }
    return cut(x, a, sizes, 0, n, out);
}

eg_status eg_chunk(eg_tensor *x, int n, int axis, eg_tensor **out)
{
    int a = begin_cut("chunk", x, n, axis, out);
    return a < 0 ? eg__why() : cut(x, a, NULL, x->shape[a] / n + (x->shape[a] % n != 0), n, out);
}

eg_status eg_unbind(eg_tensor *x, int axis, eg_tensor **out)
{
    if (eg__check(x, "unbind", "x")) {
        return eg__why();
    }
    int a = eg__axis("unbind", x->ndim, axis);
    if (a < 0) {
        return eg__why();
    }
    if (!out) {
        return eg__null_argument("unbind", "out");
    }
    if (x->shape[a] > INT32_MAX) {
        return eg__fail(EG_ESHAPE, "unbind", "%lld pieces are too many", (long long)x->shape[a]);
    }
    int n = (int)x->shape[a];
    eg_scope s = eg_scope_push();
    for (int i = 0; i < n; i++) {
        if (!(out[i] = eg_select(x, a, i))) {
            memset(out, 0, (size_t)n * sizeof *out);
            eg_scope_pop(s, NULL);
            return eg__why();
        }
    }
    return eg_scope_pop_n(s, out, n);
}
