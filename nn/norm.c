/* norm.c - normalisation layers. */
#include "lib/optable.h"
#include "nn/nn.h"

typedef struct batch_norm {
    eg_module base;
    eg_tensor *weight, *bias, *mean, *var, *batches;
    bool no_affine;
    eg_batch_norm_options options;
} batch_norm;

static eg_tensor *batch_norm_forward(eg_module *m, eg_tensor *x)
{
    batch_norm *b = (batch_norm *)m;
    eg_batch_norm_options o = b->options;
    o.training = m->training;
    eg_tensor *y = eg_batch_norm_with(x, b->weight, b->bias, b->mean, b->var, &o);
    if (y && m->training && eg_set(b->batches, 0, eg_item(b->batches) + 1)) {
        return NULL;
    }
    return y;
}

static void batch_norm_members(eg_module *m, eg_members *members)
{
    batch_norm *b = (batch_norm *)m;
    if (!b->no_affine) {
        eg_member_parameter(members, "weight", &b->weight);
        eg_member_parameter(members, "bias", &b->bias);
    }
    eg_member_buffer(members, "running_mean", &b->mean);
    eg_member_buffer(members, "running_var", &b->var);
    eg_member_buffer(members, "num_batches_tracked", &b->batches);
}

static const eg_module_kind batch_norm_kind = {.size = sizeof(eg_module_kind), .name = "batch_norm",
                                               .forward = batch_norm_forward,
                                               .members = batch_norm_members};

eg_module *eg_batch_norm_new_with(int64_t features, const eg_batch_norm_layer_options *given)
{
    eg_batch_norm_layer_options o;
    eg__options(&o, sizeof o, given);
    if (features < 1) {
        return eg__fail_null(EG_EINVAL, "batch_norm", "%lld features: at least 1", (long long)features);
    }
    batch_norm *b = eg_module_new(sizeof *b, &batch_norm_kind);
    if (!b) {
        return NULL;
    }
    eg_shape shape = EG_SHAPE(features);
    eg_scope s = eg_scope_push();
    b->no_affine = o.no_affine;
    b->options = (eg_batch_norm_options){.size = sizeof b->options, .momentum = o.momentum,
                                         .eps = o.eps, .biased = o.biased};
    if (!o.no_affine) {
        b->weight = eg_parameter(eg_ones(shape, o.dtype));
        b->bias = eg_parameter(eg_zeros(shape, o.dtype));
    }
    b->mean = eg_keep(eg_zeros(shape, o.dtype));
    b->var = eg_keep(eg_ones(shape, o.dtype));
    b->batches = eg_keep(eg_zeros(EG_SCALAR, EG_I64));
    eg_scope_pop(s, NULL);
    return eg_module_finish(&b->base);
}
