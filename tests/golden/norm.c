/* norm.c - what the golden cases of normalisation stand for. */
#include "tests/golden/golden.h"

/* The running statistics are results too; the case's own must stay as they are. */
static bool batch_norm(const golden_case *c, eg_tensor **out)
{
    bool training = golden_number(c, "training", 0) != 0, affine = golden_number(c, "affine", 0) != 0;
    eg_tensor *mean = training ? eg_copy(c->x[1]) : c->x[1], *var = training ? eg_copy(c->x[2]) : c->x[2];
    out[0] = eg_batch_norm(c->x[0], affine ? c->x[3] : NULL, affine ? c->x[4] : NULL, mean, var, .training = training,
                           .momentum = golden_number(c, "momentum", 0), .eps = golden_number(c, "eps", 0));
    if (training) {
        out[1] = mean;
        out[2] = var;
    }
    return out[0];
}

static eg_tensor *group_norm(const golden_case *c)
{
    return eg_group_norm(c->x[0], (int64_t)golden_number(c, "groups", 0), c->nx > 1 ? c->x[1] : NULL,
                         c->nx > 2 ? c->x[2] : NULL, .eps = golden_number(c, "eps", 0));
}

static eg_tensor *instance_norm(const golden_case *c)
{
    return eg_instance_norm(c->x[0], c->nx > 1 ? c->x[1] : NULL, c->nx > 2 ? c->x[2] : NULL,
                            .eps = golden_number(c, "eps", 0));
}

static eg_tensor *layer_norm(const golden_case *c)
{
    return eg_layer_norm(c->x[0], c->nx > 1 ? c->x[1] : NULL, c->nx > 2 ? c->x[2] : NULL,
                         .axes = (int)golden_number(c, "dims", 0), .eps = golden_number(c, "eps", 0));
}

static eg_tensor *rms_norm(const golden_case *c)
{
    return eg_rms_norm(c->x[0], c->nx > 1 ? c->x[1] : NULL, .axes = (int)golden_number(c, "dims", 0),
                       .eps = golden_number(c, "eps", 0));
}

static eg_tensor *local_response_norm(const golden_case *c)
{
    return eg_local_response_norm(c->x[0], .channels = (int64_t)golden_number(c, "size", 0),
                                  .alpha = golden_number(c, "alpha", 0), .beta = golden_number(c, "beta", 0),
                                  .k = golden_number(c, "k", 0));
}

static eg_tensor *normalize(const golden_case *c)
{
    eg_axes axis = golden_axes(c, "axis");
    eg_tensor *norm = eg_norm(c->x[0], .axes = axis, .keepdim = true, .p = golden_number(c, "p", 2));
    return eg_div(c->x[0], eg_clamp_min(norm, golden_number(c, "eps", 0)));
}

GOLDEN_ROWS(norm, {.op = "batch_norm", .many = batch_norm}, {.op = "group_norm", .one = group_norm},
            {.op = "instance_norm", .one = instance_norm}, {.op = "layer_norm", .one = layer_norm},
            {.op = "rms_norm", .one = rms_norm}, {.op = "local_response_norm", .one = local_response_norm},
            {.op = "normalize", .one = normalize})
