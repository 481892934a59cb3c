/* reduce.c - reductions over chosen axes: options, inference, public functions. */
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* Shape of the result of reducing the masked axes. */
static void reduced(eg__desc *d, const eg_tensor *x, const eg__reduce_opts *o)
{
    int k = 0;
    for (int a = 0; a < x->ndim; a++) {
        if (!(o->axes >> a & 1)) {
            d->shape[k++] = x->shape[a];
        } else if (o->keepdim) {
            d->shape[k++] = 1;
        }
    }
    d->ndim = (uint8_t)k;
    eg__desc_dense(d);
}

eg_status eg__infer_sum(eg__call *c)
{
    const eg_tensor *x = c->in[0];
    reduced(&c->desc[0], x, c->opts);
    c->desc[0].dtype = eg__is_float(x->dtype) ? x->dtype : EG_I64;
    return EG_OK;
}

static eg_tensor *reduce(const eg__op *op, eg_tensor *x, const eg_reduce_options *given)
{
    eg__reduce_opts o = {.keepdim = given && given->keepdim};
    if (eg__check(x, op->name, "x") ||
        eg__axes_mask(op->name, x->ndim, given ? &given->axes : NULL, &o.axes)) {
        return NULL;
    }
    return eg__op1(op, x, &o);
}

eg_tensor *eg_sum_with(eg_tensor *x, const eg_reduce_options *options)
{
    return reduce(&eg__op_sum, x, options);
}
