/* linear.c - the linear layer: inference and public function. */
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* x [..., in], weight [out, in], bias [out] or none; the public function has made x at least 2-D. */
eg_status eg__infer_linear(eg__call *c)
{
    const eg_tensor *x = c->in[0], *w = c->in[1], *b = c->nin > 2 ? c->in[2] : NULL;
    eg__desc *d = &c->desc[0];
    if (x->ndim < 2 || w->ndim != 2) {
        return eg__fail(EG_ESHAPE, c->op->name, "x is %s, weight %s; needs [..., in] and [out, in]",
                        EG__SHAPE_OF(x), EG__SHAPE_OF(w));
    }
    if (x->shape[x->ndim - 1] != w->shape[1]) {
        return eg__fail(EG_ESHAPE, c->op->name, "x %s has %lld columns, weight %s needs %lld",
                        EG__SHAPE_OF(x), (long long)x->shape[x->ndim - 1], EG__SHAPE_OF(w),
                        (long long)w->shape[1]);
    }
    if (b && (b->ndim != 1 || b->shape[0] != w->shape[0])) {
        return eg__fail(EG_ESHAPE, c->op->name, "bias is %s, must be [%lld]", EG__SHAPE_OF(b),
                        (long long)w->shape[0]);
    }
    d->dtype = x->dtype;
    d->ndim = x->ndim;
    memcpy(d->shape, x->shape, sizeof d->shape);
    d->shape[x->ndim - 1] = w->shape[0];
    d->dense = true;
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

const eg__fusible *eg__fusible_of(eg_tensor *(*function)(eg_tensor *))
{
    static const eg__fusible fusibles[] = {
        {eg_relu, EG__ACT_RELU, true},
        {eg_tanh, EG__ACT_TANH, true},
        {eg_sigmoid, EG__ACT_SIGMOID, true},
        {eg_gelu, EG__ACT_GELU, false},
        {eg_gelu_tanh, EG__ACT_GELU_TANH, false},
        {eg_silu, EG__ACT_SILU, false},
    };
    for (int i = 0; function && i < EG__COUNT(fusibles); i++) {
        if (fusibles[i].function == function) {
            return &fusibles[i];
        }
    }
    return NULL;
}

eg_tensor *eg_linear_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias,
                          const eg_linear_options *options)
{
    eg_tensor *(*activation)(eg_tensor *) = options ? options->activation : NULL;
    const eg__fusible *f = eg__fusible_of(activation);
    if (eg__check(x, "linear", "x") || eg__check(weight, "linear", "weight")) {
        return NULL;
    }
    if (x->ndim == 0) {
        return eg__fail_null(EG_ESHAPE, "linear", "x is a 0-dim tensor; needs [..., in]");
    }
    if (f && !f->of_y && eg__thread_get()->record.recording) {
        f = NULL;
    }
    const eg__op *op = f && f->of_y ? &eg__op_linear_act : &eg__op_linear;
    eg__linear_opts o = {f ? f->act : EG__ACT_NONE};
    if (likely(x->ndim > 1 && (f || !activation))) {
        return eg__op3(op, x, weight, bias, &o);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg__op3(op, x->ndim == 1 ? eg_unsqueeze(x, 0) : x, weight, bias, &o);
    if (y && activation && !f && !(y = activation(y))) {
        eg__user_failed("linear", "activation");
    }
    if (y && x->ndim == 1) {
        y = eg_squeeze(y, EG_AXES(0));
    }
    return eg_scope_pop(s, y);
}

/* ---- compositions ---------------------------------------------------------------------------- */

static bool vectors(const char *op, const eg_tensor *a, const eg_tensor *b)
{
    if (eg__check(a, op, "a") || eg__check(b, op, "b")) {
        return false;
    }
    if (a->ndim != 1 || b->ndim != 1) {
        eg__fail(EG_ESHAPE, op, "needs two vectors: %s and %s", EG__SHAPE_OF(a), EG__SHAPE_OF(b));
        return false;
    }
    return true;
}

eg_tensor *eg_dot(eg_tensor *a, eg_tensor *b)
{
    return vectors("dot", a, b) ? eg_matmul(a, b) : NULL;
}

eg_tensor *eg_outer(eg_tensor *a, eg_tensor *b)
{
    if (!vectors("outer", a, b)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, eg_mul(eg_unsqueeze(a, 1), b));
}
