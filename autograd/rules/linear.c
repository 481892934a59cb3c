/* linear.c - gradients of the linear layer: two matrix products and a sum over the rows. */
#include "autograd/rules/rules.h"

/* [..., n] as rows of n. */
static eg_tensor *rows_of(eg_tensor *t)
{
    int64_t n = t ? t->shape[t->ndim - 1] : 0, rows = 1;
    for (int d = 0; t && d < t->ndim - 1; d++) {
        rows *= t->shape[d];
    }
    return t && t->ndim > 2 ? eg_reshape(t, EG_SHAPE(rows, n)) : t;
}

/* From dz, the gradient before the activation. */
static eg_status give_all(eg__walk *w, eg_tensor *dz)
{
    if (!dz) {
        return w->status = eg__why();
    }
    if (eg__needs(w, 0)) {
        eg__give_product(w, 0, dz, eg__saved_in(w, 1));
    }
    eg_tensor *rows = eg__needs(w, 1) || eg__needs(w, 2) ? rows_of(dz) : NULL;
    if (eg__needs(w, 1)) {
        eg__give_product(w, 1, eg_transpose(rows, 0, 1), rows_of(eg__saved_in(w, 0)));
    }
    if (eg__needs(w, 2)) {
        eg__give(w, 2, eg_sum(rows, .axes = EG_AXES(0)));
    }
    return w->status;
}

eg_status eg__grad_linear(eg__walk *w)
{
    return give_all(w, eg__dy(w, 0));
}

/* relu, tanh and sigmoid have their derivative from y. */
eg_tensor *eg__before_activation(eg__walk *w, int act, eg_tensor *dy, eg_tensor *y)
{
    if (!y || !eg__walk_recorded(w)) {
        const eg__op *op = act == EG__ACT_RELU   ? &eg__op_relu_grad
                           : act == EG__ACT_TANH ? &eg__op_tanh_grad
                                                 : &eg__op_sigmoid_grad;
        return y ? eg__op2(op, dy, y, NULL) : NULL;
    }
    eg__widen(w);
    dy = eg__dy(w, 0);
    y = eg__saved_out(w, 0);
    if (!dy || !y) {
        return NULL;
    }
    const eg_dtype dtype = (eg_dtype)y->dtype;
    eg_tensor *slope = act == EG__ACT_RELU   ? eg_cast(eg_logical_not(eg_le_scalar(y, 0)), dtype)
                       : act == EG__ACT_TANH ? eg_sub(eg_scalar(1, dtype), eg_square(y))
                                             : eg_mul(y, eg_sub(eg_scalar(1, dtype), y));
    return eg_mul(dy, slope);
}

eg_status eg__grad_linear_act(eg__walk *w)
{
    const eg__linear_opts *o = w->opts;
    return give_all(w, eg__before_activation(w, o->act, eg__dy(w, 0), eg__saved_out(w, 0)));
}
