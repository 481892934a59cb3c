/* norm.c - normalisation layers. */
#include <math.h>

#include "lib/ops/optable.h"
#include "nn/nn.h"
#include "nn/norm.h"

typedef eg__batch_norm batch_norm;

static eg_tensor *batch_norm_forward(eg_module *m, eg_tensor *x)
{
    batch_norm *b = (batch_norm *)m;
    eg_batch_norm_options o = b->options;
    o.training = m->training;
    eg_tensor *y = b->comm && m->training ? eg__batch_norm_of_ranks(b, x)
                                          : eg_batch_norm_with(x, b->weight, b->bias, b->mean, b->var, &o);
    if (y && m->training && !eg_add_scalar_(b->batches, 1)) {
        return NULL;
    }
    return y;
}

static void batch_norm_members(eg_module *m, eg_members *members)
{
    batch_norm *b = (batch_norm *)m;
    if (!b->no_weight) {
        eg_member_parameter(members, "weight", &b->weight);
    }
    if (!b->no_bias) {
        eg_member_parameter(members, "bias", &b->bias);
    }
    eg_member_buffer(members, "running_mean", &b->mean);
    eg_member_buffer(members, "running_var", &b->var);
    eg_member_buffer(members, "num_batches_tracked", &b->batches);
}

const eg_module_kind eg__batch_norm_kind = {
    .size = sizeof(eg_module_kind), .name = "batch_norm", .forward = batch_norm_forward, .members = batch_norm_members};

/* 0, which is the op's default, and EG_ZERO are fine. */
static eg_status check_eps(const char *op, double eps)
{
    eps = eg__or(eps, 0);
    return eps >= 0 && isfinite(eps) ? EG_OK : eg__fail(EG_EINVAL, op, "eps %g must be finite and not negative", eps);
}

eg_module *eg_batch_norm_new_with(int64_t features, const eg_batch_norm_layer_options *given)
{
    eg_batch_norm_layer_options o;
    eg__options(&o, sizeof o, given);
    if (features < 1) {
        return eg__fail_null(EG_EINVAL, "batch_norm", "%lld features: at least 1", (long long)features);
    }
    if (check_eps("batch_norm", o.eps)) {
        return NULL;
    }
    const double momentum = eg__or(o.momentum, 0);
    if (!(momentum >= 0 && momentum <= 1)) {
        return eg__fail_null(EG_EINVAL, "batch_norm", "momentum %g is outside 0..1", momentum);
    }
    batch_norm *b = eg_module_new(sizeof *b, &eg__batch_norm_kind);
    if (!b) {
        return NULL;
    }
    eg_shape shape = EG_SHAPE(features);
    eg_scope s = eg_scope_push();
    b->no_weight = o.no_affine || o.no_weight;
    b->no_bias = o.no_affine;
    b->options = (eg_batch_norm_options){
        .size = sizeof b->options, .momentum = o.momentum, .eps = o.eps, .biased = o.biased, .relu = o.relu};
    if (!b->no_weight) {
        b->weight = eg_parameter(eg_ones(shape, o.dtype));
    }
    if (!b->no_bias) {
        b->bias = eg_parameter(eg_zeros(shape, o.dtype));
    }
    b->mean = eg_keep(eg_zeros(shape, o.dtype));
    b->var = eg_keep(eg_ones(shape, o.dtype));
    b->batches = eg_keep(eg_zeros(EG_SCALAR, EG_I64));
    eg_scope_pop(s, NULL);
    return eg_module_finish(&b->base);
}

/* ---- group, instance, layer and rms norm ------------------------------------------------------------------- */

typedef struct norm {
    eg_module base;
    eg_tensor *weight, *bias;
    bool no_weight, no_bias;
    int64_t groups;
    int axes;
    double eps;
} norm;

static eg_tensor *group_norm_forward(eg_module *m, eg_tensor *x)
{
    norm *n = (norm *)m;
    return eg_group_norm(x, n->groups, n->weight, n->bias, .eps = n->eps);
}

static eg_tensor *layer_norm_forward(eg_module *m, eg_tensor *x)
{
    norm *n = (norm *)m;
    return eg_layer_norm(x, n->weight, n->bias, .axes = n->axes, .eps = n->eps);
}

static eg_tensor *instance_norm_forward(eg_module *m, eg_tensor *x)
{
    norm *n = (norm *)m;
    return eg_instance_norm(x, n->weight, n->bias, .eps = n->eps);
}

static eg_tensor *rms_norm_forward(eg_module *m, eg_tensor *x)
{
    norm *n = (norm *)m;
    return eg_rms_norm(x, n->weight, .axes = n->axes, .eps = n->eps);
}

static void norm_members(eg_module *m, eg_members *members)
{
    norm *n = (norm *)m;
    if (!n->no_weight) {
        eg_member_parameter(members, "weight", &n->weight);
    }
    if (!n->no_bias) {
        eg_member_parameter(members, "bias", &n->bias);
    }
}

#define KIND(name_)                              \
    static const eg_module_kind name_##_kind = { \
        .size = sizeof(eg_module_kind), .name = #name_, .forward = name_##_forward, .members = norm_members};
KIND(group_norm)
KIND(instance_norm)
KIND(layer_norm)
KIND(rms_norm)

static norm *norm_new(const eg_module_kind *kind, eg_shape shape, const eg_norm_layer_options *o)
{
    norm *n = check_eps(kind->name, o->eps) ? NULL : eg_module_new(sizeof *n, kind);
    if (!n) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    n->eps = o->eps;
    n->no_weight = o->no_affine;
    n->no_bias = o->no_affine || o->no_bias;
    if (!n->no_weight) {
        n->weight = eg_parameter(eg_ones(shape, o->dtype));
    }
    if (!n->no_bias) {
        n->bias = eg_parameter(eg_zeros(shape, o->dtype));
    }
    eg_scope_pop(s, NULL);
    return n;
}

eg_module *eg_group_norm_new_with(int64_t groups, int64_t channels, const eg_norm_layer_options *given)
{
    eg_norm_layer_options o;
    eg__options(&o, sizeof o, given);
    if (groups < 1 || channels < 1 || channels % groups) {
        return eg__fail_null(EG_EINVAL, "group_norm",
                             "%lld channels in %lld groups: at least 1 of "
                             "each, and the groups divide the channels",
                             (long long)channels, (long long)groups);
    }
    norm *n = norm_new(&group_norm_kind, EG_SHAPE(channels), &o);
    if (!n) {
        return NULL;
    }
    n->groups = groups;
    return eg_module_finish(&n->base);
}

eg_module *eg_instance_norm_new_with(int64_t channels, const eg_norm_layer_options *given)
{
    eg_norm_layer_options o;
    eg__options(&o, sizeof o, given);
    if (channels < 1) {
        return eg__fail_null(EG_EINVAL, "instance_norm", "%lld channels: at least 1", (long long)channels);
    }
    norm *n = norm_new(&instance_norm_kind, EG_SHAPE(channels), &o);
    return n ? eg_module_finish(&n->base) : NULL;
}

/* Over last axes of this shape. */
static eg_module *over_axes(const eg_module_kind *kind, eg_shape shape, const eg_norm_layer_options *o)
{
    for (int d = 0; d < shape.ndim && d < EG_MAX_DIMS; d++) {
        if (shape.dim[d] < 1) {
            return eg__fail_null(EG_EINVAL, kind->name, "size %lld of axis %d: at least 1", (long long)shape.dim[d], d);
        }
    }
    if (shape.ndim < 1 || shape.ndim > EG_MAX_DIMS) {
        return eg__fail_null(EG_EINVAL, kind->name, "over %d axes: 1..%d are possible", shape.ndim, EG_MAX_DIMS);
    }
    norm *n = norm_new(kind, shape, o);
    if (!n) {
        return NULL;
    }
    n->axes = shape.ndim;
    return eg_module_finish(&n->base);
}

eg_module *eg_layer_norm_new_with(eg_shape shape, const eg_norm_layer_options *given)
{
    eg_norm_layer_options o;
    eg__options(&o, sizeof o, given);
    return over_axes(&layer_norm_kind, shape, &o);
}

eg_module *eg_rms_norm_new_with(eg_shape shape, const eg_norm_layer_options *given)
{
    eg_norm_layer_options o;
    eg__options(&o, sizeof o, given);
    o.no_bias = true;
    return over_axes(&rms_norm_kind, shape, &o);
}

/* ---- over channels, and along them ------------------------------------------------------------ */

typedef struct response_norm {
    eg_module base;
    eg_local_response_norm_options options;
} response_norm;

static eg_tensor *response_norm_forward(eg_module *m, eg_tensor *x)
{
    return eg_local_response_norm_with(x, &((response_norm *)m)->options);
}

static const eg_module_kind response_norm_kind = {
    .size = sizeof(eg_module_kind), .name = "local_response_norm", .forward = response_norm_forward};

/* What is out of order is said at the first forward, as of pooling. */
eg_module *eg_local_response_norm_new_with(const eg_local_response_norm_options *given)
{
    response_norm *n = eg_module_new(sizeof *n, &response_norm_kind);
    if (n) {
        eg__options(&n->options, sizeof n->options, given);
        n->options.size = sizeof n->options;
    }
    return n ? &n->base : NULL;
}

typedef struct layer_scale {
    eg_module base;
    eg_tensor *weight;
} layer_scale;

static eg_tensor *layer_scale_forward(eg_module *m, eg_tensor *x)
{
    return eg_scale_channels(x, ((layer_scale *)m)->weight, NULL);
}

static void layer_scale_members(eg_module *m, eg_members *members)
{
    eg_member_parameter(members, "weight", &((layer_scale *)m)->weight);
}

static const eg_module_kind layer_scale_kind = {.size = sizeof(eg_module_kind),
                                                .name = "layer_scale",
                                                .forward = layer_scale_forward,
                                                .members = layer_scale_members};

eg_module *eg_layer_scale_new(int64_t channels, double value)
{
    if (channels < 1) {
        return eg__fail_null(EG_EINVAL, "layer_scale", "%lld channels: at least 1", (long long)channels);
    }
    layer_scale *l = eg_module_new(sizeof *l, &layer_scale_kind);
    if (!l) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    l->weight = eg_parameter(eg_full(EG_SHAPE(channels), value, EG_F32));
    eg_scope_pop(s, NULL);
    return eg_module_finish(&l->base);
}
