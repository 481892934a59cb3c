/* dropout.c - dropout and drop path as layers. */
#include "lib/core/device.h"
#include "lib/ops/infer.h"
#include "lib/ops/optable.h"
#include "nn/nn.h"

typedef struct dropout {
    eg_module base;
    double p;
} dropout;

static eg_tensor *dropout_forward(eg_module *m, eg_tensor *x)
{
    return eg_dropout(x, ((dropout *)m)->p, m->training);
}

static const eg_module_kind dropout_kind = {
    .size = sizeof(eg_module_kind), .name = "dropout", .forward = dropout_forward};

static eg_tensor *drop_path_forward(eg_module *m, eg_tensor *x)
{
    double keep = 1 - ((dropout *)m)->p;
    if (!m->training || keep == 1) {
        return x;
    }
    if (eg__check(x, "drop_path", "x")) {
        return NULL;
    }
    if (!x->ndim || keep == 0) {
        return x->ndim ? eg_mul_scalar(x, 0) : eg__fail_null(EG_ESHAPE, "drop_path", "x has no axis of rows");
    }
    eg_shape rows = {x->ndim, {x->shape[0]}};
    for (int d = 1; d < x->ndim; d++) {
        rows.dim[d] = 1;
    }
    eg_device *before = eg_use_device(eg__device(x));
    eg_tensor *kept = eg_bernoulli(rows, keep, (eg_dtype)x->dtype);
    eg_use_device(before);
    return eg_mul(x, eg_mul_scalar(kept, 1 / keep));
}

static const eg_module_kind drop_path_kind = {
    .size = sizeof(eg_module_kind), .name = "drop_path", .forward = drop_path_forward};

static eg_module *make(const eg_module_kind *kind, double p)
{
    if (!(p >= 0 && p <= 1)) {
        return eg__fail_null(EG_EINVAL, kind->name, "p is %g, must be 0..1", p);
    }
    dropout *d = eg_module_new(sizeof *d, kind);
    if (d) {
        d->p = p;
    }
    return d ? &d->base : NULL;
}

eg_module *eg_dropout_new(double p)
{
    return make(&dropout_kind, p);
}

eg_module *eg_drop_path_new(double p)
{
    return make(&drop_path_kind, p);
}
