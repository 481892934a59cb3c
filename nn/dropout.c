/* dropout.c - dropout as a layer. */
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

eg_module *eg_dropout_new(double p)
{
    if (!(p >= 0 && p <= 1)) {
        return eg__fail_null(EG_EINVAL, "dropout", "p is %g, must be 0..1", p);
    }
    dropout *d = eg_module_new(sizeof *d, &dropout_kind);
    if (d) {
        d->p = p;
    }
    return d ? &d->base : NULL;
}
