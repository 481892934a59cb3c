/* index.c - gradients of picking and putting. */
#include "lib/ops/index.h"
#include "autograd/rules/rules.h"

/* t in f32 if it is one of the halves, which sums do not take; eg__give turns the sum back. */
static eg_tensor *summable(eg_tensor *t)
{
    return t && eg__is_half(t->dtype) ? eg_cast(t, EG_F32) : t;
}

static eg_tensor *gather(eg_tensor *x, eg_tensor *index, int axis)
{
    return eg__op2(&eg__op_gather, x, index, &(eg__axis_opts){axis});
}

/* ---- whole slices ---------------------------------------------------------------------------- */

eg_status eg__grad_index_select(eg__walk *w)
{
    eg__index_opts o = *(const eg__index_opts *)w->opts;
    o.size = eg__in_shape(w, 0).dim[o.axis];
    o.name = NULL; /* what is wrong with the indices was said */
    return eg__give(w, 0, eg__index_add(summable(eg__dy(w, 0)), eg__saved_in(w, 1), NULL, &o));
}

eg_status eg__grad_index_add(eg__walk *w)
{
    eg__index_opts o = *(const eg__index_opts *)w->opts;
    eg_tensor *dy = eg__dy(w, 0);
    if (eg__needs(w, 2)) {
        eg__give(w, 2, dy);
    }
    if (!eg__needs(w, 0) || w->status) {
        return w->status;
    }
    o.name = NULL;
    eg_tensor *index = eg__saved_in(w, 1), *dx = eg__op2(&eg__op_index_select, dy, index, &o);
    if (dx && o.skip >= 0) {
        eg_shape rows = EG_SCALAR;
        for (int d = 0; d < dx->ndim; d++) {
            rows.dim[rows.ndim++] = d >= o.axis && d < o.axis + index->ndim ? dx->shape[d] : 1;
        }
        eg_tensor *skip = eg_eq_scalar(index, (double)o.skip);
        dx = eg_where(eg_reshape(skip, rows), eg_scalar(0, (eg_dtype)dx->dtype), dx);
    }
    return eg__give(w, 0, dx);
}

/* ---- places ---------------------------------------------------------------------------------- */

eg_status eg__grad_gather(eg__walk *w)
{
    eg_shape x = eg__in_shape(w, 0);
    eg__scatter_opts o = {.axis = ((const eg__axis_opts *)w->opts)->axis, .ndim = x.ndim};
    memcpy(o.shape, x.dim, sizeof o.shape);
    return eg__give(w, 0, eg__scatter(&eg__op_scatter_add, summable(eg__dy(w, 0)), eg__saved_in(w, 1), NULL, &o));
}

eg_status eg__grad_scatter_add(eg__walk *w)
{
    eg_tensor *dy = eg__dy(w, 0);
    if (eg__needs(w, 2)) {
        eg__give(w, 2, dy);
    }
    if (eg__needs(w, 0) && !w->status) {
        const eg__scatter_opts *o = w->opts;
        eg__give(w, 0, gather(dy, eg__saved_in(w, 1), o->axis));
    }
    return w->status;
}

/* True where the element of source stays: every place keeps the number, along the axis, of the last that was
 * put there. */
static eg_tensor *stays(eg_tensor *index, const eg__scatter_opts *o)
{
    eg_shape line = eg_shape_of(index);
    for (int d = 0; d < line.ndim; d++) {
        line.dim[d] = d == o->axis ? line.dim[d] : 1;
    }
    eg_tensor *number = eg__arange_on(index->device, 0, (double)line.dim[o->axis], 1, EG_I64);
    number = eg_expand(eg_reshape(number, line), eg_shape_of(index));
    eg_tensor *last = number ? eg__scatter(&eg__op_scatter, number, index, NULL, o) : NULL;
    return last ? eg_eq(gather(last, index, o->axis), number) : NULL;
}

eg_status eg__grad_scatter(eg__walk *w)
{
    const eg__scatter_opts *o = w->opts;
    eg_tensor *dy = eg__dy(w, 0), *index = eg__saved_in(w, 1), *zero = NULL;
    zero = index ? eg__full_on(dy->device, EG_SCALAR, 0, (eg_dtype)dy->dtype) : NULL;
    if (!zero) {
        return w->status = eg__why();
    }
    if (eg__needs(w, 2)) {
        eg_tensor *none = eg_expand(zero, eg_shape_of(index));
        eg__give(w, 2, none ? eg__scatter(&eg__op_scatter, none, index, dy, o) : NULL);
    }
    if (eg__needs(w, 0) && !w->status) {
        eg_tensor *keep = stays(index, o);
        eg__give(w, 0, keep ? eg_where(keep, gather(dy, index, o->axis), zero) : NULL);
    }
    return w->status;
}

/* ---- products and extremes ------------------------------------------------------------------- */

/* Equal ones share dy: each gets dy / (how many equal y) where it equals y. */
static eg_status extreme(eg__walk *w, const eg__scatter_opts *o)
{
    eg_tensor *dy = eg__dy(w, 0), *y = eg__saved_out(w, 0), *index = eg__saved_in(w, 1);
    eg_tensor *x = eg__saved_in(w, 2), *source = eg__saved_in(w, 0);
    if (!y || !index || !x || !source) {
        return w->status = eg__why();
    }
    eg_dtype dtype = (eg_dtype)dy->dtype;
    eg_tensor *mine = eg_cast(eg_eq(x, y), dtype);
    eg_tensor *theirs = eg_cast(eg_eq(source, gather(y, index, o->axis)), dtype);
    eg_tensor *count = mine && theirs ? eg__scatter(&eg__op_scatter_add, theirs, index, mine, o) : NULL;
    /* Where no one equals y, it is NaN and so is its share. */
    eg_tensor *share = count ? eg_div(dy, count) : NULL;
    if (eg__needs(w, 2)) {
        eg__give(w, 2, eg_mul(share, mine));
    }
    if (eg__needs(w, 0) && !w->status) {
        eg__give(w, 0, share ? eg_mul(gather(share, index, o->axis), theirs) : NULL);
    }
    return w->status;
}

/* t with 1 where it is 0. */
static eg_tensor *without_zeros(eg_tensor *t)
{
    return t ? eg_where(eg_eq_scalar(t, 0), eg_scalar(1, (eg_dtype)t->dtype), t) : NULL;
}

static eg_tensor *zeros_of(eg_tensor *t)
{
    return t ? eg_cast(eg_eq_scalar(t, 0), (eg_dtype)t->dtype) : NULL;
}

/* dy times the product of the other factors: with p the product of those that are not 0, p / t
 * where no factor is 0; where one is, p for it and 0 for the others. */
static eg_tensor *others(eg_tensor *t, eg_tensor *all, eg_tensor *one)
{
    return t && all && one ? eg_where(eg_eq_scalar(t, 0), one, eg_div(all, without_zeros(t))) : NULL;
}

static eg_status product(eg__walk *w, const eg__scatter_opts *o)
{
    eg_tensor *dy = eg__dy(w, 0), *index = eg__saved_in(w, 1);
    eg_tensor *x = eg__saved_in(w, 2), *source = eg__saved_in(w, 0);
    if (!index || !x || !source) {
        return w->status = eg__why();
    }
    eg_tensor *in[3] = {without_zeros(source), index, without_zeros(x)};
    eg_tensor *none[3] = {zeros_of(source), index, zeros_of(x)}, *p, *zeros;
    if (!in[0] || !in[2] || !none[0] || !none[2] || eg__dispatch(&eg__op_scatter_reduce, in, 3, o, &p) ||
        eg__dispatch(&eg__op_scatter_add, none, 3, o, &zeros)) {
        return w->status = eg__why();
    }
    eg_tensor *zero = eg_scalar(0, (eg_dtype)dy->dtype), *g = eg_mul(dy, p);
    eg_tensor *all = eg_where(eg_eq_scalar(zeros, 0), g, zero);
    eg_tensor *one = eg_where(eg_eq_scalar(zeros, 1), g, zero);
    if (eg__needs(w, 2)) {
        eg__give(w, 2, others(x, all, one));
    }
    if (eg__needs(w, 0) && !w->status) {
        eg__give(w, 0, all && one ? others(source, gather(all, index, o->axis), gather(one, index, o->axis)) : NULL);
    }
    return w->status;
}

eg_status eg__grad_scatter_reduce(eg__walk *w)
{
    const eg__scatter_opts *o = w->opts;
    eg__widen(w);
    return o->mode == EG_SCATTER_MUL ? product(w, o) : extreme(w, o);
}
