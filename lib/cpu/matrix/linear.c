/* linear.c - the linear layer: one product against the transposed weight, with bias and activation in the
 * same pass where oneDNN does them well, in passes over the finished rows otherwise. */
#include "lib/cpu/matrix/product.h"

eg__kernel ISA(eg__cpu_linear), ISA(eg__cpu_linear_act);
extern const eg__op eg__op_add, eg__op_relu, eg__op_tanh, eg__op_sigmoid, eg__op_gelu, eg__op_gelu_tanh, eg__op_silu;

/* What the product left to do: y + bias, then act. */
static eg_status finish(eg_tensor *y, eg_tensor *bias, int act)
{
    static const eg__op *const acts[] = {
        [EG__ACT_RELU] = &eg__op_relu, [EG__ACT_TANH] = &eg__op_tanh, [EG__ACT_SIGMOID] = &eg__op_sigmoid,
        [EG__ACT_GELU] = &eg__op_gelu, [EG__ACT_SILU] = &eg__op_silu, [EG__ACT_GELU_TANH] = &eg__op_gelu_tanh,
    };
    eg_status st = bias ? eg__run(&eg__op_add, (eg_tensor *[]){y, bias}, 2, NULL, y) : EG_OK;
    return st || !act ? st : eg__run(acts[act], &y, 1, NULL, y);
}

eg_status ISA(eg__cpu_linear)(const eg__call *c)
{
    const eg_tensor *x = c->in[0], *w = c->in[1];
    eg_tensor *bias = c->nin > 2 ? c->in[2] : NULL, *y = c->out[0];
    int act = ((const eg__linear_opts *)c->opts)->act;
    bool done, fused;
    const bool contiguous = bias && (bias->strides[0] == 1 || bias->n == 1);
    if (y->dtype == EG_F16 || (y->dtype == EG_BF16 && bias && !contiguous)) { /* one pass, which rounds once */
        return ISA(eg__call_in_f32)(c, ISA(eg__cpu_linear));
    }
    eg__product p = ISA(eg__product_of)(x, w, y);
    if (ISA(eg__product_merge)(c, &p, x, w, y)) {
        return eg__why();
    }
    p.k = w->shape[1];
    p.rb = w->strides[1];
    p.cb = w->strides[0];
    p.keep = w->storage;
    p.bias = contiguous ? eg__ptr(bias) : NULL;
    /* relu comes afterwards: oneDNN's makes NaN 0 */
    p.act = (uint8_t)(act == EG__ACT_RELU || (bias && !contiguous) ? EG__ACT_NONE : act);
    eg_status st = ISA(eg__product_run)(c, &p, &done, &fused);
    if (st || !done) {
        return st ? st : ISA(eg__call_in_f32)(c, ISA(eg__cpu_linear));
    }
    return finish(y, fused && contiguous ? NULL : bias, fused && p.act ? EG__ACT_NONE : act);
}

eg_status ISA(eg__cpu_linear_act)(const eg__call *c)
{
    return ISA(eg__cpu_linear)(c);
}
