/* resize.c - resizing: checks, inference, public function. */
#include <math.h>

#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* The other sizes along the spatial axes; the channels stay innermost if they are. */
static eg_status infer(eg__call *c, const int64_t *from, const int64_t *to)
{
    const eg__resize_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    eg__desc *d = &c->desc[0];
    if (x->ndim != o->naxes + 2) {
        return eg__fail(EG_ESHAPE, c->op->name, "%s has not %d axes", EG__SHAPE_OF(x), o->naxes + 2);
    }
    d->dtype = x->dtype;
    d->ndim = x->ndim;
    d->shape[0] = x->shape[0];
    d->shape[1] = x->shape[1];
    for (int a = 0; a < o->naxes; a++) {
        if (x->shape[a + 2] != from[a]) {
            return eg__fail(EG_ESHAPE, c->op->name, "%s has not size %lld along axis %d", EG__SHAPE_OF(x),
                            (long long)from[a], a + 2);
        }
        d->shape[a + 2] = to[a];
    }
    d->dense = x->flags & EG__DENSE || !eg_is_channels_last(x);
    if (!d->dense) {
        eg__channels_last(d->ndim, d->shape, d->strides);
    }
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

eg_status eg__infer_resize(eg__call *c)
{
    const eg__resize_opts *o = c->opts;
    bool nearest = o->mode == EG_RESIZE_NEAREST || o->mode == EG_RESIZE_NEAREST_EXACT;
    if (!nearest && !eg__is_float(c->in[0]->dtype)) {
        return eg__fail(EG_EDTYPE, c->op->name, "%s has only the nearest modes",
                        eg_dtype_name((eg_dtype)c->in[0]->dtype));
    }
    return infer(c, o->in, o->out);
}

eg_status eg__infer_resize_grad(eg__call *c)
{
    const eg__resize_opts *o = c->opts;
    return infer(c, o->out, o->in);
}

/* ---- options --------------------------------------------------------------------------------- */

static eg_status check_modes(const eg_resize_options *g)
{
    bool filters = g->mode == EG_RESIZE_LINEAR || g->mode == EG_RESIZE_CUBIC || g->mode == EG_RESIZE_LANCZOS3;
    bool grids = filters || (g->mode == EG_RESIZE_NEAREST && g->grid == EG_GRID_CORNERS);
    if ((unsigned)g->mode > EG_RESIZE_LANCZOS3 || (unsigned)g->grid > EG_GRID_ORIGIN) {
        return eg__fail(EG_EINVAL, "resize", "mode %d or grid %d is unknown", g->mode, g->grid);
    }
    if (g->antialias && !filters) {
        return eg__fail(EG_EINVAL, "resize", "antialias is for the linear, cubic and Lanczos modes");
    }
    if (g->grid != EG_GRID_HALF_PIXEL && !grids) {
        return eg__fail(EG_EINVAL, "resize", "grid %d does not go with mode %d", g->grid, g->mode);
    }
    if (!isfinite(g->cubic) || (g->cubic != 0 && g->mode != EG_RESIZE_CUBIC)) {
        return eg__fail(EG_EINVAL, "resize", "cubic is %g; it is for the cubic mode", g->cubic);
    }
    return EG_OK;
}

static eg_status check_scale(int a, const eg_resize_options *g)
{
    double scale = g->scale[a];
    if (scale != 0 && !(scale > 0 && isfinite(scale))) {
        return eg__fail(EG_EINVAL, "resize", "scale[%d] is %g, must be above 0", a, scale);
    }
    return scale != 0 && (g->grid == EG_GRID_CORNERS || g->mode == EG_RESIZE_AREA)
               ? eg__fail(EG_EINVAL, "resize", "this mode and grid take their scale from the sizes")
               : EG_OK;
}

eg_status eg__check_resize_options(eg_shape size, const eg_resize_options *g)
{
    eg_status st = check_modes(g);
    if (!st && (size.ndim < 1 || size.ndim > 3)) {
        return eg__fail(EG_ESHAPE, "resize", "%d sizes, 1 to 3 are possible", size.ndim);
    }
    for (int a = 0; a < size.ndim && !st; a++) {
        const int64_t n = size.dim[a];
        st = check_scale(a, g);
        if (!st && (n > INT32_MAX || (n < 1 && !(n == -1 && g->scale[a] != 0)))) {
            st = eg__fail(EG_ESHAPE, "resize", "size[%d] is %lld: sizes are 1..2^31 - 1", a, (long long)n);
        }
    }
    return st;
}

/* Size and ratio of one axis. */
static eg_status resolve(eg__resize_opts *o, int a, const eg_tensor *x, int64_t size, const eg_resize_options *g)
{
    const int at = x->ndim - o->naxes + a;
    int64_t in = x->shape[at];
    double scale = g->scale[a];
    if (check_scale(a, g)) {
        return EG_EINVAL;
    }
    if (size == -1 && scale != 0) {
        size = (int64_t)fmin(floor((double)in * scale), 0x1p31);
    }
    if (in < 1 || in > INT32_MAX || size < 1 || size > INT32_MAX) {
        return eg__fail(EG_ESHAPE, "resize", "axis %d of %s to size %lld: sizes are 1..2^31 - 1", at, EG__SHAPE_OF(x),
                        (long long)size);
    }
    bool corners = g->grid == EG_GRID_CORNERS;
    o->in[a] = in;
    o->out[a] = size;
    o->ratio[a] = corners      ? size > 1 ? (double)(in - 1) / (double)(size - 1) : 0
                  : scale != 0 ? 1 / scale
                               : (double)in / (double)size;
    return EG_OK;
}

eg_tensor *eg_resize_with(eg_tensor *x, eg_shape size, const eg_resize_options *given)
{
    static const eg_resize_options defaults = {.size = sizeof defaults};
    const eg_resize_options *g = given ? given : &defaults;
    eg__resize_opts o = {.naxes = size.ndim,
                         .mode = (int)g->mode,
                         .grid = (int)g->grid,
                         .antialias = g->antialias,
                         .cubic = eg__or(g->cubic, g->antialias ? -0.5 : -0.75)};
    if (eg__check(x, "resize", "x") || check_modes(g)) {
        return NULL;
    }
    const bool alone = x->ndim == size.ndim + 1;
    if (size.ndim < 1 || size.ndim > 3 || (size.ndim != x->ndim - 2 && !alone)) {
        return eg__fail_null(EG_ESHAPE, "resize",
                             "%d sizes for %s, which must be [N, C, 1 to 3 axes] or [C, 1 to 3 axes]", size.ndim,
                             EG__SHAPE_OF(x));
    }
    for (int a = 0; a < size.ndim; a++) {
        if (resolve(&o, a, x, size.dim[a], g)) {
            return NULL;
        }
    }
    const bool rounds = size.ndim == 3 && eg__is_half(x->dtype); /* kernels store what two axes gave */
    if (likely(!alone && !rounds)) {
        return eg__op1(&eg__op_resize, x, &o);
    }
    eg__wide s = EG__WIDE_BEGIN(&x);
    eg_tensor *y = eg__op1(&eg__op_resize, alone ? eg_unsqueeze(x, 0) : x, &o);
    return eg__wide_end(s, y && alone ? eg_squeeze(y, EG_AXES(0)) : y);
}
