/* pool.c - pooling: options, inference, public functions. */
#include "lib/ops/pool.h"
#include "lib/ops/index.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

#define LL(v) ((long long)(v))

/* ---- inference ------------------------------------------------------------------------------ */

/* [N, C, sizes...] of batch and channels of t, lying as the options say. */
static void images(eg__desc *d, const eg__pool_opts *o, const eg_tensor *t, const int64_t *sizes, int dtype)
{
    d->dtype = (uint8_t)dtype;
    d->ndim = t->ndim;
    d->shape[0] = t->shape[0];
    d->shape[1] = t->shape[1];
    for (int a = 2; a < t->ndim; a++) {
        d->shape[a] = sizes[a - 2 + 5 - t->ndim];
    }
    eg__desc_dense(d);
    if (o->last) {
        d->dense = false;
        eg__channels_last(d->ndim, d->shape, d->strides);
    }
}

/* Whether where-the-maximum-was fits a byte. */
static int place_dtype(const eg__pool_opts *o)
{
    return o->kernel[0] * o->kernel[1] * o->kernel[2] <= 256 ? EG_U8 : EG_I32;
}

/* x -> y, taps of the maxima */
eg_status eg__infer_max_pool(eg__call *c)
{
    const eg__pool_opts *o = c->opts;
    images(&c->desc[0], o, c->in[0], o->out, c->in[0]->dtype);
    images(&c->desc[1], o, c->in[0], o->out, place_dtype(o));
    return EG_OK;
}

eg_status eg__infer_avg_pool(eg__call *c)
{
    const eg__pool_opts *o = c->opts;
    images(&c->desc[0], o, c->in[0], o->out, c->in[0]->dtype);
    return EG_OK;
}

/* dy (, taps) -> dx */
eg_status eg__infer_pool_grad(eg__call *c)
{
    const eg__pool_opts *o = c->opts;
    images(&c->desc[0], o, c->in[0], o->in, c->in[0]->dtype);
    return EG_OK;
}

/* taps -> places */
eg_status eg__infer_max_pool_places(eg__call *c)
{
    const eg__pool_opts *o = c->opts;
    images(&c->desc[0], o, c->in[0], o->out, EG_I64);
    return EG_OK;
}

/* ---- options -------------------------------------------------------------------------------- */

/* v, or `otherwise` for 0, in 0..2^31-1. */
static eg_status number(const char *op, const char *name, int64_t v, int64_t otherwise, int64_t *to)
{
    if (v < 0 || v > INT32_MAX) {
        return eg__fail(EG_EINVAL, op, "%s is %lld, must be in 0..%d", name, LL(v), INT32_MAX);
    }
    *to = v ? v : otherwise;
    return EG_OK;
}

static eg_status no_such_axes(const char *op, int axes, const eg_pool_options *g)
{
    for (int a = axes; a < 3; a++) {
        if (g->kernels[a] || g->strides[a] || g->dilations[a] || g->pads[a][0] || g->pads[a][1]) {
            return eg__fail(EG_EINVAL, op, "an option is given for spatial axis %d of %d", a, axes);
        }
    }
    return EG_OK;
}

/* Kernel, stride, dilation and explicit padding of spatial axis a, at place d of the three. */
static eg_status axis_numbers(const char *op, const eg_pool_options *g, int a, int d, eg__pool_opts *o)
{
    int64_t all = 0, stride = 0, dilation = 0, both = 0;
    if (number(op, "kernel", g->kernel, 0, &all) ||
        number(op, "an entry of kernels", g->kernels[a], all, &o->kernel[d]) ||
        number(op, "stride", g->stride, o->kernel[d], &stride) ||
        number(op, "an entry of strides", g->strides[a], stride, &o->stride[d]) ||
        number(op, "dilation", g->dilation, 1, &dilation) ||
        number(op, "an entry of dilations", g->dilations[a], dilation, &o->dilation[d]) ||
        (g->padding != EG_SAME && number(op, "padding", g->padding, 0, &both)) ||
        number(op, "an entry of pads", g->pads[a][0], both, &o->before[d]) ||
        number(op, "an entry of pads", g->pads[a][1], both, &o->after[d])) {
        return EG_EINVAL;
    }
    if (o->kernel[d] < 1) {
        return eg__fail(EG_EINVAL, op, "no kernel is given for spatial axis %d", a);
    }
    if (g->padding && (g->pads[a][0] || g->pads[a][1])) {
        return eg__fail(EG_EINVAL, op, "both padding and pads are given");
    }
    return EG_OK;
}

eg_status eg__check_pool_options(const char *op, int axes, const eg_pool_options *g)
{
    eg__pool_opts o = {0};
    eg_status st = no_such_axes(op, axes, g);
    for (int a = 0; a < axes && !st; a++) {
        st = axis_numbers(op, g, a, a, &o);
    }
    return st;
}

/* How many windows, from the numbers of an axis. */
static eg_status count_windows(const char *op, const eg_pool_options *g, int a, int d, eg__pool_opts *o)
{
    int64_t in = o->in[d], s = o->stride[d], span = (o->kernel[d] - 1) * o->dilation[d] + 1;
    if (in == 0) {
        o->out[d] = 0;
        return EG_OK;
    }
    if (g->padding == EG_SAME) {
        o->out[d] = in / s + (in % s != 0);
        int64_t total = eg__max((o->out[d] - 1) * s - in + span, 0);
        o->before[d] = total / 2;
        o->after[d] = total - total / 2;
    } else {
        int64_t room = in + o->before[d] + o->after[d] - span;
        if (room < 0 || o->before[d] >= span || o->after[d] >= span) {
            return eg__fail(EG_ESHAPE, op,
                            "a window of %lld cells on spatial axis %d, %lld + %lld + %lld cells: "
                            "must fit, and the padding be smaller",
                            LL(span), a, LL(o->before[d]), LL(in), LL(o->after[d]));
        }
        o->out[d] = room / s + 1;
        if (g->ceil_mode && room % s && o->out[d] * s < in + o->before[d]) {
            o->out[d]++;
        }
    }
    /* Gaps between taps may straddle the cells there are; without gaps a window that fits holds
     * some. */
    for (int64_t p = 0; o->dilation[d] > 1 && p < o->out[d]; p++) {
        eg__window w = eg__window_of(o, d, p);
        if (w.first >= w.end) {
            return eg__fail(EG_ESHAPE, op, "window %lld of spatial axis %d holds nothing but padding", LL(p), a);
        }
    }
    return EG_OK;
}

static eg_status check_images(const char *op, const eg_tensor *x, int axes)
{
    if (eg__check(x, op, "x")) {
        return eg__why();
    }
    return x->ndim == axes + 2 || x->ndim == axes + 1
               ? EG_OK
               : eg__fail(EG_ESHAPE, op, "x %s must be [N, C] or [C] and %d spatial axes", EG__SHAPE_OF(x), axes);
}

/* Axes that are not there come first, with one cell and one window. */
static void start(eg__pool_opts *o, const eg_tensor *x)
{
    *o = (eg__pool_opts){.last = !(x->flags & EG__DENSE)};
    for (int d = 0; d < 3; d++) {
        int a = d - (5 - x->ndim);
        o->kernel[d] = o->stride[d] = o->dilation[d] = o->out[d] = 1;
        o->in[d] = a < 0 ? 1 : x->shape[a + 2];
    }
}

static eg_status windows(const char *op, const eg_pool_options *g, const eg_tensor *x, eg__pool_opts *o)
{
    int axes = x->ndim - 2;
    start(o, x);
    o->exclude_pad = g->exclude_pad || g->padding == EG_SAME;
    eg_status st = no_such_axes(op, axes, g);
    for (int a = 0; a < axes && !st; a++) {
        int d = a + 3 - axes;
        st = axis_numbers(op, g, a, d, o);
        st = st ? st : count_windows(op, g, a, d, o);
    }
    double cells = (double)o->kernel[0] * (double)o->kernel[1] * (double)o->kernel[2];
    return st || cells <= INT32_MAX ? st : eg__fail(EG_ESHAPE, op, "a window of %g cells is too large", cells);
}

/* ---- public functions ------------------------------------------------------------------------ */

/* What kernels compute in: halves in f32, but for devices'; the mean of integers in f32, as eg_mean's, their
 * largest in what holds them. */
static int computed_in(const eg_tensor *x, bool max)
{
    switch (x->dtype) {
    case EG_F16:
    case EG_BF16:
        return x->device ? x->dtype : EG_F32;
    case EG_U8:
    case EG_BOOL:
        return EG_F32;
    case EG_I32:
        return max ? EG_F64 : EG_F32;
    case EG_I64:
        return max ? EG_I64 : EG_F32;
    default:
        return x->dtype;
    }
}

static int mean_dtype(const eg_tensor *x)
{
    return eg__is_float(x->dtype) ? x->dtype : EG_F32;
}

/* x as kernels want it, dense or channels-last and with an axis of the batch. */
static eg_tensor *settled(eg_tensor *x, int axes, bool max)
{
    x = eg_cast(x, (eg_dtype)computed_in(x, max));
    x = x && unlikely(x->ndim == axes + 1) ? eg_unsqueeze(x, 0) : x;
    return x && eg_is_channels_last(x) ? x : eg_contiguous(x);
}

/* A result for x, of the dtype, without a batch if x has none. */
static eg_tensor *given_back(eg_tensor *y, const eg_tensor *x, int dtype)
{
    y = y && unlikely(y->ndim > x->ndim) ? eg_squeeze(y, EG_AXES(0)) : y;
    return eg_cast(y, (eg_dtype)dtype);
}

static eg_tensor *max_pool(const char *op, int axes, eg_tensor *x, const eg_pool_options *given)
{
    eg_tensor *out[EG__MAX_OUT] = {NULL}, *results[2] = {NULL};
    eg_pool_options g;
    eg__pool_opts o;
    eg__options(&g, sizeof g, given);
    if (g.indices) {
        *g.indices = NULL;
    }
    if (check_images(op, x, axes)) {
        return NULL;
    }
    if (g.exclude_pad) {
        return eg__fail_null(EG_EINVAL, op, "exclude_pad is for means");
    }
    eg_scope s = eg_scope_push();
    eg_tensor *in = settled(x, axes, true);
    eg_status st = in ? windows(op, &g, in, &o) : eg__why();
    st = st ? st : eg__dispatch(&eg__op_max_pool, &in, 1, &o, out);
    results[0] = st ? NULL : given_back(out[0], x, x->dtype);
    results[1] = !st && g.indices ? given_back(eg__op1(&eg__op_max_pool_places, out[1], &o), x, EG_I64) : NULL;
    if (!results[0] || (g.indices && !results[1])) {
        return eg_scope_pop(s, NULL);
    }
    if (eg_scope_pop_n(s, results, 2)) {
        return NULL;
    }
    if (g.indices) {
        *g.indices = results[1];
    }
    return results[0];
}

static eg_tensor *avg_pool(const char *op, int axes, eg_tensor *x, const eg_pool_options *given)
{
    eg_pool_options g;
    eg__pool_opts o;
    eg__options(&g, sizeof g, given);
    if (check_images(op, x, axes)) {
        return NULL;
    }
    if (g.indices || g.dilation || g.dilations[0] || g.dilations[1] || g.dilations[2]) {
        return eg__fail_null(EG_EINVAL, op, "%s for maxima", g.indices ? "indices are" : "dilation is");
    }
    eg_scope s = eg_scope_push();
    eg_tensor *in = settled(x, axes, false);
    eg_status st = in ? windows(op, &g, in, &o) : eg__why();
    return eg_scope_pop(s, st ? NULL : given_back(eg__op1(&eg__op_avg_pool, in, &o), x, mean_dtype(x)));
}

#define POOL(kind, axes)                                                             \
    eg_tensor *eg_##kind##axes##d_with(eg_tensor *x, const eg_pool_options *options) \
    {                                                                                \
        return kind(#kind #axes "d", axes, x, options);                              \
    }
POOL(max_pool, 1)
POOL(max_pool, 2)
POOL(max_pool, 3)
POOL(avg_pool, 1)
POOL(avg_pool, 2)
POOL(avg_pool, 3)

static eg_tensor *adaptive(const char *op, const eg__op *pool, eg_tensor *x, eg_shape out)
{
    eg_tensor *results[EG__MAX_OUT];
    eg__pool_opts o;
    if (eg__check(x, op, "x")) {
        return NULL;
    }
    if (out.ndim < 1 || out.ndim > 3) {
        return eg__fail_null(EG_ESHAPE, op, "%d sizes given, 1..3 are possible", out.ndim);
    }
    if (check_images(op, x, out.ndim)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    const bool max = pool == &eg__op_max_pool;
    eg_tensor *in = settled(x, out.ndim, max);
    if (!in) {
        return eg_scope_pop(s, NULL);
    }
    start(&o, in);
    o.adaptive = true;
    bool uneven = x->n == 0;
    double cells = 1;
    for (int a = 0; a < out.ndim; a++) {
        int d = a + 3 - out.ndim;
        if (out.dim[a] < 1 || (o.in[d] && out.dim[a] > INT32_MAX)) {
            eg_scope_pop(s, NULL);
            return eg__fail_null(EG_ESHAPE, op, "size %lld of spatial axis %d must be positive and below 2^31",
                                 LL(out.dim[a]), a);
        }
        o.out[d] = o.in[d] ? out.dim[a] : 0;
        o.kernel[d] = o.in[d] / out.dim[a] + 2; /* no window has more */
        cells *= (double)o.kernel[d];
        uneven |= o.in[d] % out.dim[a] != 0;
    }
    for (int d = 3 - out.ndim; !uneven && d < 3; d++) {
        o.adaptive = false;
        o.kernel[d] = o.stride[d] = o.in[d] / o.out[d];
    }
    if (cells > INT32_MAX) {
        eg_scope_pop(s, NULL);
        return eg__fail_null(EG_ESHAPE, op, "windows of %g cells are too large", cells);
    }
    eg_status st = eg__dispatch(pool, &in, 1, &o, results);
    return eg_scope_pop(s, st ? NULL : given_back(results[0], x, max ? x->dtype : mean_dtype(x)));
}

eg_tensor *eg_adaptive_max_pool(eg_tensor *x, eg_shape out)
{
    return adaptive("adaptive_max_pool", &eg__op_max_pool, x, out);
}

eg_tensor *eg_adaptive_avg_pool(eg_tensor *x, eg_shape out)
{
    return adaptive("adaptive_avg_pool", &eg__op_avg_pool, x, out);
}

eg_tensor *eg_max_unpool(eg_tensor *x, eg_tensor *indices, eg_shape spatial)
{
    static const char op[] = "max_unpool";
    eg_shape shape = EG_SCALAR;
    int64_t n;
    if (spatial.ndim < 0 || spatial.ndim > EG_MAX_DIMS - 2) {
        return eg__fail_null(EG_ESHAPE, op, "%d spatial sizes given, 0..%d are possible", spatial.ndim,
                             EG_MAX_DIMS - 2);
    }
    if (check_images(op, x, spatial.ndim) || eg__check(indices, op, "indices")) {
        return NULL;
    }
    if (x->dtype == EG_BOOL) {
        return eg__fail_null(EG_EDTYPE, op, "not for dtype bool");
    }
    if (!eg__same_shape(x, indices)) {
        return eg__fail_null(EG_ESHAPE, op, "x is %s, indices %s", EG__SHAPE_OF(x), EG__SHAPE_OF(indices));
    }
    shape.ndim = x->ndim;
    const int lead = x->ndim - spatial.ndim;
    for (int a = 0; a < shape.ndim; a++) {
        shape.dim[a] = a < lead ? x->shape[a] : spatial.dim[a - lead];
    }
    if (eg__check_shape(op, shape.ndim, shape.dim, x->dtype, &n)) {
        return NULL;
    }
    int64_t images = lead > 1 ? x->shape[0] : 1, channels = x->shape[lead - 1];
    eg_shape flat = EG_SHAPE(images, channels, x->n ? x->n / images / channels : 0);
    eg_shape planes = EG_SHAPE(images, channels, n ? n / images / channels : 0);
    eg_scope s = eg_scope_push();
    eg_tensor *zeros = eg__full_on(x->device, planes, 0, (eg_dtype)x->dtype);
    eg_tensor *at = zeros ? eg_reshape(indices, flat) : NULL;
    at = at ? eg__checked_index(op, at, planes.dim[2], true) : NULL; /* no place is counted from the end */
    eg_tensor *y = at ? eg_scatter(zeros, 2, at, eg_reshape(x, flat)) : NULL;
    return eg_scope_pop(s, y ? eg_reshape(y, shape) : NULL);
}
