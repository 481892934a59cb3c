/* norm.c - normalisation: checks, inference, running statistics. */
#include <math.h>

#include "lib/ops/infer.h"
#include "lib/ops/norm.h"
#include "lib/ops/options.h"

/* ---- inference ------------------------------------------------------------------------------ */

/* What comes beside y or dx: two tensors of this shape, f32 beside halves. */
static void pair(eg__call *c, int dtype, int ndim, const int64_t *shape)
{
    for (int j = 1; j < 3; j++) {
        eg__desc *d = &c->desc[j];
        d->dtype = (uint8_t)(eg__is_half(dtype) ? EG_F32 : dtype);
        d->ndim = (uint8_t)ndim;
        memcpy(d->shape, shape, (size_t)ndim * sizeof *shape);
        eg__desc_dense(d);
    }
}

/* x, weight, bias -> y, mean, var */
eg_status eg__infer_batch_norm(eg__call *c)
{
    const eg_tensor *x = c->in[0];
    eg__desc_like(&c->desc[0], x);
    pair(c, x->dtype, 1, &x->shape[1]);
    return EG_OK;
}

/* dy, x, mean, var, weight, bias -> dx, dweight, dbias */
eg_status eg__infer_batch_norm_grad(eg__call *c)
{
    const eg_tensor *x = c->in[1];
    eg__desc_like(&c->desc[0], x);
    pair(c, x->dtype, 1, &x->shape[1]);
    return EG_OK;
}

eg_status eg__infer_group_norm(eg__call *c)
{
    const eg__norm_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    eg__desc_like(&c->desc[0], x);
    pair(c, x->dtype, 2, (int64_t[]){x->shape[0], o->groups});
    return EG_OK;
}

eg_status eg__infer_layer_norm(eg__call *c)
{
    const eg__norm_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    eg__desc_like(&c->desc[0], x);
    c->desc[0].dense = true;
    pair(c, x->dtype, x->ndim - o->axes, x->shape);
    return EG_OK;
}

eg_status eg__infer_layer_norm_grad(eg__call *c)
{
    const eg__norm_opts *o = c->opts;
    const eg_tensor *x = c->in[1];
    eg__desc_like(&c->desc[0], x);
    c->desc[0].dense = true;
    pair(c, x->dtype, o->axes, x->shape + x->ndim - o->axes);
    return EG_OK;
}

/* ---- what the public functions share --------------------------------------------------------- */

static eg_status check_eps(const char *op, double *eps)
{
    *eps = eg__or(*eps, 1e-5);
    if (!(*eps >= 0) || !isfinite(*eps)) {
        return eg__fail(EG_EINVAL, op, "eps %g must be finite and not negative", *eps);
    }
    return EG_OK;
}

/* x has channels on axis 1. */
static eg_status check_images(const char *op, const eg_tensor *x)
{
    if (eg__check(x, op, "x")) {
        return eg__why();
    }
    if (x->ndim < 2) {
        return eg__fail(EG_ESHAPE, op, "x %s has no channels; it must be [N, C] or [N, C, ...]", EG__SHAPE_OF(x));
    }
    return EG_OK;
}

/* An optional tensor of `channels` floats. */
static eg_status check_channels(const char *op, const eg_tensor *t, const char *name, int64_t channels)
{
    if (!t) {
        return EG_OK;
    }
    if (eg__check(t, op, name)) {
        return eg__why();
    }
    if (!eg__is_float(t->dtype)) {
        return eg__fail(EG_EDTYPE, op, "%s is %s, not a float", name, eg_dtype_name((eg_dtype)t->dtype));
    }
    if (t->ndim != 1 || t->shape[0] != channels) {
        return eg__fail(EG_ESHAPE, op, "%s is %s, must be [%lld], one per channel", name, EG__SHAPE_OF(t),
                        (long long)channels);
    }
    return EG_OK;
}

/* x dense or channels-last; halves as f32, which only devices' kernels take as they are. */
static eg_tensor *settled(eg_tensor *x)
{
    x = eg__is_half(x->dtype) && !x->device ? eg_cast(x, EG_F32) : x;
    return x && eg_is_channels_last(x) ? x : eg_contiguous(x);
}

/* Runs the op on x and parameters brought to its dtype, or to f32 beside halves: out[0] in the dtype x has, the other
 * results as computed. All belong to the caller's scope, with the temporaries. running: of batch norm, or NULL. */
static eg_status run(const eg__op *op, eg_tensor *x, eg_tensor *weight, eg_tensor *bias, eg_tensor *const *running,
                     eg__norm_opts *o, eg_tensor **out)
{
    eg_tensor *in[5] = {settled(x), NULL, NULL, running ? running[0] : NULL, running ? running[1] : NULL};
    o->weight = weight != NULL;
    o->bias = bias != NULL;
    if (!in[0]) {
        return eg__why();
    }
    const eg_dtype dtype = eg__is_half(in[0]->dtype) ? EG_F32 : (eg_dtype)in[0]->dtype;
    if ((weight && !(in[1] = eg_cast(weight, dtype))) || (bias && !(in[2] = eg_cast(bias, dtype)))) {
        return eg__why();
    }
    eg_status st = eg__dispatch(op, in, running ? 5 : 3, o, out);
    if (!st && !(out[0] = eg_cast(out[0], (eg_dtype)x->dtype))) {
        st = eg__why();
    }
    return st;
}

static eg_tensor *run1(const eg__op *op, eg_tensor *x, eg_tensor *weight, eg_tensor *bias, eg__norm_opts *o)
{
    eg_tensor *out[EG__MAX_OUT];
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, run(op, x, weight, bias, NULL, o, out) ? NULL : out[0]);
}

/* ---- batch norm ----------------------------------------------------------------------------- */

static double element(const eg_tensor *t, int64_t i)
{
    return eg__load(eg__ptr(t), t->dtype, i * t->strides[0]);
}

void eg__norm_follow(const eg__call *c)
{
    const eg__norm_opts *o = c->opts;
    for (int i = 3; i < c->nin; i++) {
        eg_tensor *running = c->in[i], *batch = c->out[i - 2];
        const double factor = i == 4 ? o->factor : 1;
        for (int64_t k = 0; running && k < running->shape[0]; k++) {
            double v = element(running, k);
            eg__store(eg__ptr(running), running->dtype, k * running->strides[0],
                      v + (element(batch, k) * factor - v) * o->momentum);
        }
    }
}

/* What a single value per channel leaves of itself: nothing, exactly, in values and gradients, where the
 * division by the root of eps would blow up their rounding. */
static eg_tensor *single(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, eg__norm_opts *o)
{
    eg__wide s = EG__WIDE_BEGIN(&x);
    x = eg_mul_scalar(x, 0);
    eg_tensor *scale = weight || !x ? weight : eg_ones(EG_SHAPE(x->shape[1]), (eg_dtype)x->dtype);
    return eg__wide_end(s, x && scale ? run1(&eg__op_scale_channels, x, scale, bias, o) : NULL);
}

static eg_tensor *train(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, eg_tensor *mean, eg_tensor *var,
                        eg__norm_opts *o, double momentum, bool biased)
{
    eg_tensor *out[EG__MAX_OUT];
    int64_t channels = x->shape[1], n = channels ? x->n / channels : 0;
    eg_tensor *running[2] = {n ? mean : NULL, n ? var : NULL};
    eg_scope s = eg_scope_push();
    eg_status st = EG_OK;
    o->momentum = momentum;
    o->factor = !biased && n > 1 ? (double)n / (double)(n - 1) : 1;
    for (int i = 0; i < 2 && !st; i++) {
        st = running[i] ? eg__check_write(running[i], "batch_norm") : EG_OK;
    }
    for (int i = 0; i < 2 && !st; i++) {
        st = running[i] ? eg__begin_write(running[i], "batch_norm") : EG_OK;
    }
    st = st ? st : run(&eg__op_batch_norm, x, weight, bias, running, o, out);
    return eg_scope_pop(s, st ? NULL : n == 1 ? single(x, weight, bias, o) : out[0]);
}

/* y = x scale + shift from fixed statistics. */
static eg_tensor *evaluate(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, eg_tensor *mean, eg_tensor *var,
                           eg__norm_opts *o)
{
    static const char name[] = "batch_norm";
    if (!mean || !var) {
        return eg__fail_null(EG_EINVAL, name, "%s is NULL, and x is normalised with it unless .training",
                             mean ? "running_var" : "running_mean");
    }
    for (int64_t k = 0; !var->device && k < var->shape[0]; k++) { /* on a device it gives NaN */
        if (element(var, k) < 0) {
            return eg__fail_null(EG_EINVAL, name, "running_var[%lld] is %g: a variance is not negative", (long long)k,
                                 element(var, k));
        }
    }
    eg__wide s = EG__WIDE_BEGIN(&mean, &var, &weight, &bias);
    s.dtype = -1; /* the result has the dtype of x */
    eg_tensor *scale = eg_rsqrt(eg_add_scalar(var, o->eps));
    scale = weight ? eg_mul(scale, weight) : scale;
    eg_tensor *shift = eg_neg(eg_mul(mean, scale));
    shift = bias ? eg_add(shift, bias) : shift;
    return eg__wide_end(s, scale && shift ? run1(&eg__op_scale_channels, x, scale, shift, o) : NULL);
}

eg_tensor *eg_batch_norm_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, eg_tensor *running_mean,
                              eg_tensor *running_var, const eg_batch_norm_options *options)
{
    static const char name[] = "batch_norm";
    eg_batch_norm_options given;
    eg__options(&given, sizeof given, options);
    eg__norm_opts o = {.eps = given.eps, .relu = given.relu};
    double momentum = eg__or(given.momentum, 0.1);
    if (check_images(name, x) || check_channels(name, weight, "weight", x->shape[1]) ||
        check_channels(name, bias, "bias", x->shape[1]) ||
        check_channels(name, running_mean, "running_mean", x->shape[1]) ||
        check_channels(name, running_var, "running_var", x->shape[1]) || check_eps(name, &o.eps)) {
        return NULL;
    }
    if (!(momentum >= 0 && momentum <= 1)) {
        return eg__fail_null(EG_EINVAL, name, "momentum %g is outside 0..1", momentum);
    }
    return given.training ? train(x, weight, bias, running_mean, running_var, &o, momentum, given.biased)
                          : evaluate(x, weight, bias, running_mean, running_var, &o);
}

eg_tensor *eg_scale_channels(eg_tensor *x, eg_tensor *scale, eg_tensor *shift)
{
    static const char name[] = "scale_channels";
    if (check_images(name, x) || eg__check(scale, name, "scale") || check_channels(name, scale, "scale", x->shape[1]) ||
        check_channels(name, shift, "shift", x->shape[1])) {
        return NULL;
    }
    return run1(&eg__op_scale_channels, x, scale, shift, &(eg__norm_opts){0});
}

/* ---- group norm ----------------------------------------------------------------------------- */

static eg_tensor *group_norm(const char *name, eg_tensor *x, int64_t groups, eg_tensor *weight, eg_tensor *bias,
                             const eg_group_norm_options *options)
{
    eg__norm_opts o = {.eps = options ? options->eps : 0, .groups = groups};
    int64_t channels = x->shape[1];
    if (check_channels(name, weight, "weight", channels) || check_channels(name, bias, "bias", channels) ||
        check_eps(name, &o.eps)) {
        return NULL;
    }
    if (groups < 1 || channels % groups) {
        return eg__fail_null(EG_ESHAPE, name, "%lld groups do not divide the %lld channels of x %s", (long long)groups,
                             (long long)channels, EG__SHAPE_OF(x));
    }
    int64_t size = channels / groups;
    for (int d = 2; d < x->ndim; d++) {
        size *= x->shape[d];
    }
    if (size < 2) {
        return eg__fail_null(EG_ESHAPE, name, "x %s has %lld values to normalise together, must be 2 or more",
                             EG__SHAPE_OF(x), (long long)size);
    }
    return run1(&eg__op_group_norm, x, weight, bias, &o);
}

eg_tensor *eg_group_norm_with(eg_tensor *x, int64_t groups, eg_tensor *weight, eg_tensor *bias,
                              const eg_group_norm_options *options)
{
    return check_images("group_norm", x) ? NULL : group_norm("group_norm", x, groups, weight, bias, options);
}

eg_tensor *eg_instance_norm_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, const eg_group_norm_options *options)
{
    if (check_images("instance_norm", x)) {
        return NULL;
    }
    return group_norm("instance_norm", x, eg__max(1, x->shape[1]), weight, bias, options);
}

/* ---- layer norm ----------------------------------------------------------------------------- */

static eg_status check_trailing(const char *op, const eg_tensor *x, const eg_tensor *t, const char *name, int axes)
{
    if (!t) {
        return EG_OK;
    }
    if (eg__check(t, op, name)) {
        return eg__why();
    }
    if (!eg__is_float(t->dtype)) {
        return eg__fail(EG_EDTYPE, op, "%s is %s, not a float", name, eg_dtype_name((eg_dtype)t->dtype));
    }
    bool same = t->ndim == axes;
    for (int d = 0; same && d < axes; d++) {
        same = t->shape[d] == x->shape[x->ndim - axes + d];
    }
    return same ? EG_OK
                : eg__fail(EG_ESHAPE, op, "%s is %s, not the last %d axes of x %s", name, EG__SHAPE_OF(t), axes,
                           EG__SHAPE_OF(x));
}

static eg_tensor *layer_norm(const char *name, eg_tensor *x, eg_tensor *weight, eg_tensor *bias, bool root,
                             const eg_layer_norm_options *options)
{
    eg__norm_opts o = {.eps = options ? options->eps : 0, .root = root, .axes = options ? options->axes : 0};
    if (eg__check(x, name, "x") || (weight && eg__check(weight, name, "weight"))) {
        return NULL;
    }
    o.axes = o.axes ? o.axes : weight ? weight->ndim : 1;
    if (o.axes < 1 || o.axes > x->ndim) {
        return eg__fail_null(EG_ESHAPE, name, "%d trailing axes of x %s, 1..%d are possible", o.axes, EG__SHAPE_OF(x),
                             x->ndim);
    }
    if (check_trailing(name, x, weight, "weight", o.axes) || check_trailing(name, x, bias, "bias", o.axes) ||
        check_eps(name, &o.eps)) {
        return NULL;
    }
    for (int d = x->ndim - o.axes; d < x->ndim; d++) {
        if (x->shape[d] == 0) {
            return eg__fail_null(EG_ESHAPE, name, "axis %d of x %s is empty: nothing to normalise", d, EG__SHAPE_OF(x));
        }
    }
    return run1(&eg__op_layer_norm, x, weight, bias, &o);
}

eg_tensor *eg_layer_norm_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, const eg_layer_norm_options *options)
{
    return layer_norm("layer_norm", x, weight, bias, false, options);
}

eg_tensor *eg_rms_norm_with(eg_tensor *x, eg_tensor *weight, const eg_layer_norm_options *options)
{
    return layer_norm("rms_norm", x, weight, NULL, true, options);
}

/* ---- local response norm --------------------------------------------------------------------- */

eg_tensor *eg_local_response_norm_with(eg_tensor *x, const eg_local_response_norm_options *options)
{
    static const char name[] = "local_response_norm";
    eg_local_response_norm_options o;
    eg__options(&o, sizeof o, options);
    if (check_images(name, x)) {
        return NULL;
    }
    o.channels = eg__or_count(o.channels, 5);
    o.alpha = eg__or(o.alpha, 1e-4);
    o.beta = eg__or(o.beta, 0.75);
    o.k = eg__or(o.k, 1);
    if (o.channels < 1 || o.channels > INT32_MAX || !isfinite(o.alpha + o.beta + o.k)) {
        return eg__fail_null(EG_EINVAL, name, "%lld channels, alpha %g, beta %g, k %g: at least 1, and finite",
                             (long long)o.channels, o.alpha, o.beta, o.k);
    }
    /* The channels as an axis to pool along. */
    int64_t spatial = x->n / eg__max(1, x->shape[0]) / eg__max(1, x->shape[1]);
    eg_pool_options window = {
        .kernels = {o.channels, 1}, .stride = 1, .pads = {{o.channels / 2, (o.channels - 1) / 2}}};
    eg__wide s = EG__WIDE_BEGIN_AS(eg__squares_pass(x) ? EG_F64 : EG_F32, &x);
    eg_tensor *squares = x ? eg_reshape(eg_square(x), EG_SHAPE(x->shape[0], 1, x->shape[1], spatial)) : NULL;
    eg_tensor *mean = squares ? eg_avg_pool2d_with(squares, &window) : NULL;
    mean = mean ? eg_reshape(mean, eg_shape_of(x)) : NULL;
    if (!mean) {
        return eg__wide_end(s, NULL);
    }
    eg_tensor *scale = eg_add_scalar(eg_mul_scalar(mean, o.alpha), o.k);
    return eg__wide_end(s, eg_mul(x, eg_pow_scalar(scale, -o.beta)));
}
