/* matmul.c - matrix products of tensors: f32 and f64 as they lie, bf16 where oneDNN can, halves in f32
 * otherwise. */
#include "lib/cpu/product.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_matmul);
extern const eg__op eg__op_cast;

/* The product in f32, rounded at the end. */
static eg_status through_f32(const eg__call *c)
{
    eg_tensor *in[2], *y = c->out[0];
    eg__desc d = {.dtype = EG_F32};
    eg_status st = EG_OK;
    for (int i = 0; i < 2 && !st; i++) {
        const eg_tensor *t = c->in[i];
        d.ndim = t->ndim;
        memcpy(d.shape, t->shape, sizeof d.shape);
        eg__desc_dense(&d);
        in[i] = eg__new(&d, c->op->name, c->op->id);
        st = in[i] ? eg__run(&eg__op_cast, (eg_tensor *[]){c->in[i]}, 1,
                             &(eg__cast_opts){EG_F32}, in[i])
                   : EG_ENOMEM;
    }
    d.ndim = y->ndim;
    memcpy(d.shape, y->shape, sizeof d.shape);
    eg__desc_dense(&d);
    eg_tensor *wide = st ? NULL : eg__new(&d, c->op->name, c->op->id);
    if (!wide) {
        return st ? st : EG_ENOMEM;
    }
    eg__call in_f32 = *c;
    in_f32.in = in;
    in_f32.out[0] = wide;
    st = ISA(eg__cpu_matmul)(&in_f32);
    return st ? st : eg__run(&eg__op_cast, &wide, 1, &(eg__cast_opts){y->dtype}, y);
}

eg_status ISA(eg__cpu_matmul)(const eg__call *c)
{
    const eg_tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
    bool done, fused;
    if (y->dtype == EG_F16) {
        return through_f32(c);
    }
    eg__product p = ISA(eg__product_of)(a, b, y);
    p.keep = b->flags & EG__PARAM && !p.nbatch ? b->storage : NULL;
    eg_status st = ISA(eg__product_run)(c, &p, &done, &fused);
    return st || done ? st : through_f32(c);
}
