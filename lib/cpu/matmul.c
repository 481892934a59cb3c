/* matmul.c - matrix products of tensors: f32 and f64 as they lie, bf16 where oneDNN can, halves in f32
 * otherwise. */
#include "lib/cpu/product.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_matmul);
extern const eg__op eg__op_cast;

/* A tensor like t in f32, which dies with the call. */
static eg_tensor *wide_like(const eg__call *c, const eg_tensor *t)
{
    eg__desc d = {.dtype = EG_F32, .ndim = t->ndim};
    memcpy(d.shape, t->shape, sizeof d.shape);
    eg__desc_dense(&d);
    return eg__new(&d, c->op->name, c->op->id);
}

eg_status ISA(eg__call_in_f32)(const eg__call *c, eg__kernel *kernel)
{
    eg_tensor *in[3] = {NULL, NULL, NULL}, *y = c->out[0];
    for (int i = 0; i < c->nin; i++) {
        if (c->in[i] && !(in[i] = wide_like(c, c->in[i]))) {
            return EG_ENOMEM;
        }
        eg_status st = !in[i] ? EG_OK
                              : eg__run(&eg__op_cast, &c->in[i], 1, &(eg__cast_opts){EG_F32}, in[i]);
        if (st) {
            return st;
        }
    }
    eg__call wide = *c;
    wide.in = in;
    wide.out[0] = wide_like(c, y);
    eg_status st = wide.out[0] ? kernel(&wide) : EG_ENOMEM;
    return st ? st : eg__run(&eg__op_cast, &wide.out[0], 1, &(eg__cast_opts){y->dtype}, y);
}

eg_status ISA(eg__cpu_matmul)(const eg__call *c)
{
    const eg_tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
    bool done, fused;
    if (y->dtype == EG_F16) {
        return ISA(eg__call_in_f32)(c, ISA(eg__cpu_matmul));
    }
    eg__product p = ISA(eg__product_of)(a, b, y);
    p.keep = p.nbatch ? NULL : b->storage;
    p.add = c->opts && ((const eg__matmul_opts *)c->opts)->add;
    eg_status st = ISA(eg__product_run)(c, &p, &done, &fused);
    return st || done ? st : ISA(eg__call_in_f32)(c, ISA(eg__cpu_matmul));
}
