/* linear.c - the linear layer: inference and public function. */
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* x [..., in], weight [out, in], bias [out] or none; the public function has made x at least 2-D. */
eg_status eg__infer_linear(eg__call *c)
{
    const eg_tensor *x = c->in[0], *w = c->in[1], *b = c->nin > 2 ? c->in[2] : NULL;
    eg__desc *d = &c->desc[0];
    if (x->ndim < 2 || w->ndim != 2) {
        return eg__fail(EG_ESHAPE, c->op->name, "x is %s, weight %s; needs [..., in] and [out, in]", EG__SHAPE_OF(x),
                        EG__SHAPE_OF(w));
    }
    if (x->shape[x->ndim - 1] != w->shape[1]) {
        return eg__fail(EG_ESHAPE, c->op->name, "x %s has %lld columns, weight %s needs %lld", EG__SHAPE_OF(x),
                        (long long)x->shape[x->ndim - 1], EG__SHAPE_OF(w), (long long)w->shape[1]);
    }
    if (b && (b->ndim != 1 || b->shape[0] != w->shape[0])) {
        return eg__fail(EG_ESHAPE, c->op->name, "bias is %s, must be [%lld]", EG__SHAPE_OF(b), (long long)w->shape[0]);
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

/* Of integers and bools, which no row of linear layers takes: a product and a sum. */
static eg_tensor *linear_int(eg_tensor *x, eg_tensor *weight, eg_tensor *bias)
{
    if (weight->ndim != 2) {
        return eg__fail_null(EG_ESHAPE, "linear", "x is %s, weight %s; needs [..., in] and [out, in]", EG__SHAPE_OF(x),
                             EG__SHAPE_OF(weight));
    }
    if (bias && (bias->ndim != 1 || bias->shape[0] != weight->shape[0])) {
        return eg__fail_null(EG_ESHAPE, "linear", "bias is %s, must be [%lld]", EG__SHAPE_OF(bias),
                             (long long)weight->shape[0]);
    }
    eg_tensor *y = eg_matmul(x, eg_transpose(weight, 0, 1));
    return y && bias ? eg_add(y, bias) : y;
}

/* A weight [in], and a 0-dim bias, as those of one output. */
static eg_status one_output(eg_tensor **weight, eg_tensor **bias)
{
    if (*bias && (*bias)->ndim) {
        return eg__fail(EG_ESHAPE, "linear", "bias is %s, must be 0-dim for a weight %s", EG__SHAPE_OF(*bias),
                        EG__SHAPE_OF(*weight));
    }
    const bool biased = *bias != NULL;
    *weight = eg_unsqueeze(*weight, 0);
    *bias = biased ? eg_unsqueeze(*bias, 0) : NULL;
    return *weight && !*bias == !biased ? EG_OK : eg__why();
}

/* What the row does not take as it is; it applies the activation of o. */
static EG__COLD eg_tensor *composed(const eg__op *op, eg_tensor *x, eg_tensor *weight, eg_tensor *bias,
                                    const eg__linear_opts *o, eg_tensor *(*activation)(eg_tensor *))
{
    bool row = x->ndim == 1, column = weight->ndim == 1;
    if (bias && eg__check(bias, "linear", "bias")) {
        return NULL;
    }
    bool whole = !eg__is_float(eg__common_dtype((eg_tensor *[]){x, weight, bias}, 3));
    eg_scope s = eg_scope_push();
    if (column && one_output(&weight, &bias)) {
        return eg_scope_pop(s, NULL);
    }
    x = row ? eg_unsqueeze(x, 0) : x;
    eg_tensor *y = !x ? NULL : whole ? linear_int(x, weight, bias) : eg__op3(op, x, weight, bias, o);
    y = y && column ? eg_squeeze(y, EG_AXES(-1)) : y;
    y = y && row ? eg_squeeze(y, EG_AXES(0)) : y;
    return eg_scope_pop(s, eg__activated("linear", y, whole || !o->act ? activation : NULL));
}

eg_tensor *eg__activated(const char *op, eg_tensor *y, eg_tensor *(*activation)(eg_tensor *))
{
    if (!y || !activation) {
        return y;
    }
    eg_error before;
    eg__user_begin(&before);
    y = activation(y);
    eg__user_end(&before, y ? EG_OK : EG_EUSER, op, "activation");
    return y;
}

eg_tensor *eg_linear_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, const eg_linear_options *options)
{
    eg_tensor *(*activation)(eg_tensor *) = options ? options->activation : NULL;
    const eg__fusible *f = eg__fusible_of(activation);
    if (eg__check(x, "linear", "x") || eg__check(weight, "linear", "weight")) {
        return NULL;
    }
    if (x->ndim == 0) {
        return eg__fail_null(EG_ESHAPE, "linear", "x is a 0-dim tensor; needs [..., in]");
    }
    if (f && !f->of_y && eg__thread_get()->record->recording) {
        f = NULL;
    }
    const eg__op *op = f && f->of_y ? &eg__op_linear_act : &eg__op_linear;
    eg__linear_opts o = {f ? f->act : EG__ACT_NONE};
    if (likely(x->ndim > 1 && weight->ndim > 1 && (f || !activation) &&
               (eg__is_float(x->dtype) || eg__is_float(weight->dtype)))) {
        return eg__op3(op, x, weight, bias, &o);
    }
    return composed(op, x, weight, bias, &o, activation);
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
