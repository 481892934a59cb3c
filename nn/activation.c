/* activation.c - layers that apply a function of one tensor, or none. */
#include <math.h>

#include "lib/ops/infer.h"
#include "lib/ops/optable.h"
#include "nn/nn.h"

typedef struct activation {
    eg_module base;
    eg_tensor *(*function)(eg_tensor *x);
} activation;

static eg_tensor *activation_forward(eg_module *m, eg_tensor *x)
{
    return ((activation *)m)->function(x);
}

static const eg_module_kind activation_kind = {
    .size = sizeof(eg_module_kind), .name = "activation", .forward = activation_forward};

eg_module *eg_activation_new(eg_tensor *(*function)(eg_tensor *x))
{
    if (!function) {
        return eg__null_argument("activation", "function"), NULL;
    }
    activation *a = eg_module_new(sizeof *a, &activation_kind);
    if (a) {
        a->function = function;
    }
    return a ? &a->base : NULL;
}

typedef struct leaky_relu {
    eg_module base;
    double slope;
} leaky_relu;

static eg_tensor *leaky_relu_forward(eg_module *m, eg_tensor *x)
{
    return eg_leaky_relu(x, ((leaky_relu *)m)->slope);
}

static const eg_module_kind leaky_relu_kind = {
    .size = sizeof(eg_module_kind), .name = "leaky_relu", .forward = leaky_relu_forward};

eg_module *eg_leaky_relu_new(double slope)
{
    if (!isfinite(slope)) {
        return eg__fail_null(EG_EINVAL, "leaky_relu", "slope is %g, must be finite", slope);
    }
    leaky_relu *l = eg_module_new(sizeof *l, &leaky_relu_kind);
    if (l) {
        l->slope = slope;
    }
    return l ? &l->base : NULL;
}

/* ---- identity -------------------------------------------------------------------------------- */

static eg_tensor *identity_forward(eg_module *m, eg_tensor *x)
{
    (void)m;
    return x;
}

static const eg_module_kind identity_kind = {
    .size = sizeof(eg_module_kind), .name = "identity", .forward = identity_forward};

eg_module *eg_identity_new(void)
{
    return eg_module_new(sizeof(eg_module), &identity_kind);
}
