/* views.c - the same elements seen otherwise: reshape, expand, permute, slice; copies and casts. */
#include "lib/core/device.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* ---- copies -------------------------------------------------------------------------------- */

eg_status eg__infer_copy(eg__call *c)
{
    const eg__copy_opts *o = c->opts;
    eg__desc *d = &c->desc[0];
    eg__desc_like(d, c->in[0]);
    if (o->layout == EG__TO_DENSE) {
        d->dense = true;
    } else if (o->layout == EG__TO_CHANNELS_LAST) {
        if (d->ndim < 3 || d->ndim > 5) {
            return eg__fail(EG_ESHAPE, c->op->name, "channels-last is for 3 to 5 axes, not %s", EG__SHAPE_OF(c->in[0]));
        }
        d->dense = false;
        eg__channels_last(d->ndim, d->shape, d->strides);
    }
    return EG_OK;
}

eg_status eg__infer_cast(eg__call *c)
{
    eg__desc_like(&c->desc[0], c->in[0]);
    c->desc[0].dtype = (uint8_t)((const eg__cast_opts *)c->opts)->dtype;
    return EG_OK;
}

eg_tensor *eg_copy(eg_tensor *x)
{
    return eg__op1(&eg__op_copy, x, &(eg__copy_opts){EG__KEEP_LAYOUT});
}

eg_tensor *eg_contiguous(eg_tensor *x)
{
    return x && x->flags & EG__DENSE ? x : eg__op1(&eg__op_copy, x, &(eg__copy_opts){EG__TO_DENSE});
}

eg_tensor *eg_channels_last(eg_tensor *x)
{
    return eg_is_channels_last(x) ? x : eg__op1(&eg__op_copy, x, &(eg__copy_opts){EG__TO_CHANNELS_LAST});
}

eg_tensor *eg_cast(eg_tensor *x, eg_dtype dtype)
{
    if ((unsigned)dtype >= EG_DTYPE_COUNT) {
        return eg__fail_null(EG_EDTYPE, "cast", "dtype %d is none of the %d there are", (int)dtype, EG_DTYPE_COUNT);
    }
    return x && x->dtype == dtype ? x : eg__op1(&eg__op_cast, x, &(eg__cast_opts){(int)dtype});
}

eg_tensor *eg_copy_(eg_tensor *x, eg_tensor *source)
{
    if (eg__check(x, "eg_copy_", "x") || eg__check(source, "eg_copy_", "source")) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *v = eg_cast(eg_to(eg_detach(source), eg__device(x)), (eg_dtype)x->dtype);
    if (v && source->storage == x->storage) {
        v = eg_copy(v);
    }
    v = v ? eg_expand(v, eg_shape_of(x)) : NULL;
    eg_status st = v ? eg__begin_write(x, "eg_copy_") : eg__why();
    if (!st) {
        st = eg__run(&eg__op_copy, &v, 1, &(eg__copy_opts){EG__KEEP_LAYOUT}, x);
    }
    eg_scope_pop(s, NULL);
    return st ? NULL : x;
}

/* ---- views --------------------------------------------------------------------------------- */

eg_status eg__infer_view(eg__call *c)
{
    const eg_tensor *x = c->in[0];
    eg__desc *d = &c->desc[0];
    d->dtype = x->dtype;
    d->ndim = x->ndim;
    d->n = x->n;
    d->offset = x->offset;
    memcpy(d->shape, x->shape, sizeof d->shape);
    memcpy(d->strides, x->strides, sizeof d->strides);
    return EG_OK;
}

eg_tensor *eg_detach(eg_tensor *x)
{
    return eg__op1(&eg__op_detach, x, NULL);
}

eg_tensor *eg_alias(eg_tensor *x)
{
    return eg__op1(&eg__op_alias, x, NULL);
}

/* Strides that let `shape` see x's elements in order without a copy: runs of x's axes that merge are
 * matched with runs of the new axes. False if there are none. */
static bool view_strides(const eg_tensor *x, int ndim, const int64_t *shape, int64_t *strides)
{
    int d = ndim - 1, a = x->ndim - 1;
    if (x->n == 0) {
        for (int64_t step = 1; d >= 0; d--) {
            strides[d] = step;
            step *= shape[d] ? shape[d] : 1;
        }
        return true;
    }
    while (d >= 0) {
        while (a >= 0 && x->shape[a] == 1) {
            a--;
        }
        int64_t step = a >= 0 ? x->strides[a] : 1, have = a >= 0 ? x->shape[a] : 1, used = 1;
        for (; a > 0 && (x->shape[a - 1] == 1 || x->strides[a - 1] == step * have); a--) {
            have *= x->shape[a - 1];
        }
        a--;
        for (; d >= 0 && used * shape[d] <= have && (used < have || shape[d] == 1); d--) {
            strides[d] = step * used;
            used *= shape[d];
        }
        if (used != have) {
            return false;
        }
    }
    return true;
}

eg_status eg__infer_reshape(eg__call *c)
{
    const eg__shape_opts *o = c->opts;
    eg__desc *d = &c->desc[0];
    d->dtype = c->in[0]->dtype;
    d->ndim = (uint8_t)o->ndim;
    d->n = c->in[0]->n;
    d->offset = c->in[0]->offset;
    memcpy(d->shape, o->shape, sizeof d->shape);
    return view_strides(c->in[0], o->ndim, o->shape, d->strides)
               ? EG_OK
               : eg__fail(EG_ESTATE, c->op->name, "the layout needs a copy first");
}

/* Replaces one -1 and checks the count. */
static eg_status complete(const eg_tensor *x, eg__shape_opts *o)
{
    int unknown = -1;
    int64_t n, known = 1;
    for (int d = 0; d < o->ndim; d++) {
        if (o->shape[d] == -1) {
            if (unknown >= 0) {
                return eg__fail(EG_ESHAPE, "reshape", "two sizes are -1 in %s", eg__shape_text(o->ndim, o->shape).s);
            }
            unknown = d;
            o->shape[d] = 1;
        }
    }
    if (eg__check_shape("reshape", o->ndim, o->shape, EG_U8, &known)) {
        return EG_ESHAPE;
    }
    if (unknown >= 0) {
        if (known == 0 || x->n % known) {
            return eg__fail(EG_ESHAPE, "reshape",
                            "-1 cannot be found: %s has %lld elements, the "
                            "other sizes make %lld",
                            EG__SHAPE_OF(x), (long long)x->n, (long long)known);
        }
        o->shape[unknown] = x->n / known;
    }
    n = unknown >= 0 ? known * o->shape[unknown] : known;
    if (n != x->n) {
        return eg__fail(EG_ESHAPE, "reshape", "%s has not as many elements as %s", eg__shape_text(o->ndim, o->shape).s,
                        EG__SHAPE_OF(x));
    }
    return EG_OK;
}

static eg_status shape_options(const char *op, eg_shape shape, eg__shape_opts *o)
{
    if (shape.ndim < 0 || shape.ndim > EG_MAX_DIMS) {
        return eg__fail(EG_ESHAPE, op, "rank %d is outside 0..%d", shape.ndim, EG_MAX_DIMS);
    }
    o->ndim = shape.ndim;
    memcpy(o->shape, shape.dim, sizeof o->shape);
    return EG_OK;
}

eg_tensor *eg_reshape(eg_tensor *x, eg_shape shape)
{
    eg__shape_opts o;
    int64_t strides[EG_MAX_DIMS];
    if (eg__check(x, "reshape", "x") || shape_options("reshape", shape, &o) || complete(x, &o)) {
        return NULL;
    }
    if (x->flags & EG__DENSE || view_strides(x, o.ndim, o.shape, strides)) {
        return eg__op1(&eg__op_reshape, x, &o);
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, eg__op1(&eg__op_reshape, eg_contiguous(x), &o));
}

eg_status eg__infer_expand(eg__call *c)
{
    const eg__shape_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    eg__desc *d = &c->desc[0];
    int lead = o->ndim - x->ndim;
    d->dtype = x->dtype;
    d->ndim = (uint8_t)o->ndim;
    d->offset = x->offset;
    for (int a = 0; a < o->ndim; a++) {
        int64_t have = a < lead ? 1 : x->shape[a - lead];
        d->shape[a] = o->shape[a] == -1 && a >= lead ? have : o->shape[a];
        if (lead < 0 || (have != d->shape[a] && have != 1)) {
            return eg__fail(EG_ESHAPE, c->op->name, "%s does not expand to %s", EG__SHAPE_OF(x),
                            eg__shape_text(o->ndim, o->shape).s);
        }
        d->strides[a] = a < lead || have != d->shape[a] ? 0 : x->strides[a - lead];
    }
    if (lead < 0) {
        return eg__fail(EG_ESHAPE, c->op->name, "%s does not expand to %s", EG__SHAPE_OF(x),
                        eg__shape_text(o->ndim, o->shape).s);
    }
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

eg_tensor *eg_expand(eg_tensor *x, eg_shape shape)
{
    eg__shape_opts o;
    return shape_options("expand", shape, &o) ? NULL : eg__op1(&eg__op_expand, x, &o);
}

eg_status eg__infer_permute(eg__call *c)
{
    const eg__permute_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    eg__desc *d = &c->desc[0];
    d->dtype = x->dtype;
    d->ndim = x->ndim;
    d->n = x->n;
    d->offset = x->offset;
    for (int a = 0; a < x->ndim; a++) {
        d->shape[a] = x->shape[o->axis[a]];
        d->strides[a] = x->strides[o->axis[a]];
    }
    return EG_OK;
}

eg_tensor *eg_permute(eg_tensor *x, eg_axes axes)
{
    eg__permute_opts o = {.ndim = axes.count};
    unsigned seen = 0;
    if (eg__check(x, "permute", "x")) {
        return NULL;
    }
    if (axes.count != x->ndim) {
        return eg__fail_null(EG_ESHAPE, "permute", "%d axes given for %s", axes.count, EG__SHAPE_OF(x));
    }
    for (int i = 0; i < axes.count; i++) {
        int a = eg__axis("permute", x->ndim, axes.axis[i]);
        if (a < 0) {
            return NULL;
        }
        if (seen >> a & 1) {
            return eg__fail_null(EG_ESHAPE, "permute", "axis %d is given twice", a);
        }
        seen |= 1u << a;
        o.axis[i] = a;
    }
    return eg__op1(&eg__op_permute, x, &o);
}

eg_tensor *eg_transpose(eg_tensor *x, int axis0, int axis1)
{
    if (eg__check(x, "transpose", "x")) {
        return NULL;
    }
    int a = eg__line_axis("transpose", x->ndim, axis0);
    int b = a < 0 ? a : eg__line_axis("transpose", x->ndim, axis1);
    if (b < 0) {
        return NULL;
    }
    eg__permute_opts o = {.ndim = x->ndim};
    for (int d = 0; d < x->ndim; d++) {
        o.axis[d] = d == a ? b : d == b ? a : d;
    }
    return eg__op1(&eg__op_permute, x, &o);
}

eg_tensor *eg_squeeze(eg_tensor *x, eg_axes axes)
{
    unsigned mask;
    eg_shape s = EG_SCALAR;
    if (eg__check(x, "squeeze", "x") || eg__axes_mask("squeeze", x->ndim, &axes, &mask)) {
        return NULL;
    }
    for (int d = 0; d < x->ndim; d++) {
        if (!(mask >> d & 1 && x->shape[d] == 1)) {
            s.dim[s.ndim++] = x->shape[d];
        }
    }
    return eg_reshape(x, s);
}

eg_tensor *eg_unsqueeze(eg_tensor *x, int axis)
{
    eg_shape s = EG_SCALAR;
    if (eg__check(x, "unsqueeze", "x")) {
        return NULL;
    }
    int a = eg__axis("unsqueeze", x->ndim + 1, axis);
    if (a < 0) {
        return NULL;
    }
    if (x->ndim == EG_MAX_DIMS) {
        return eg__fail_null(EG_ESHAPE, "unsqueeze", "rank would be %d", EG_MAX_DIMS + 1);
    }
    s.ndim = x->ndim + 1;
    for (int d = 0; d < s.ndim; d++) {
        s.dim[d] = d < a ? x->shape[d] : d == a ? 1 : x->shape[d - 1];
    }
    return eg_reshape(x, s);
}

eg_tensor *eg_flatten(eg_tensor *x, int first, int last)
{
    eg_shape s = EG_SCALAR;
    if (eg__check(x, "flatten", "x")) {
        return NULL;
    }
    if (x->ndim == 0) {
        return eg_reshape(x, EG_SHAPE(1));
    }
    int a = eg__axis("flatten", x->ndim, first), b = eg__axis("flatten", x->ndim, last);
    if (a < 0 || b < 0) {
        return NULL;
    }
    if (a > b) {
        return eg__fail_null(EG_ESHAPE, "flatten", "first axis %d is behind last axis %d", a, b);
    }
    for (int d = 0; d < x->ndim; d++) {
        if (d > a && d <= b) {
            s.dim[s.ndim - 1] *= x->shape[d];
        } else {
            s.dim[s.ndim++] = x->shape[d];
        }
    }
    return eg_reshape(x, s);
}

/* Both axes have one size: the public function has cut them. */
eg_status eg__infer_diagonal(eg__call *c)
{
    const eg__diagonal_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    eg__desc *d = &c->desc[0];
    d->dtype = x->dtype;
    d->offset = x->offset;
    d->ndim = 0;
    d->n = 1;
    for (int a = 0; a <= x->ndim; a++) {
        bool last = a == x->ndim;
        if (a != o->first && a != o->second) {
            d->shape[d->ndim] = x->shape[last ? o->first : a];
            d->strides[d->ndim] = last ? x->strides[o->first] + x->strides[o->second] : x->strides[a];
            d->n *= d->shape[d->ndim++];
        }
    }
    return EG_OK;
}
