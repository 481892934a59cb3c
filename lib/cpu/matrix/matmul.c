/* matmul.c - matrix products of tensors: f32 and f64 as they lie, bf16 where oneDNN can, halves in f32
 * otherwise; integers in loops of their own. */
#include "lib/cpu/matrix/product.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_matmul);
extern const eg__op eg__op_cast, eg__op_copy;

/* A tensor like t of a dtype, without gaps, which dies with the call. */
static eg_tensor *dense_like(const eg__call *c, const eg_tensor *t, int dtype)
{
    eg__desc d = {.dtype = (uint8_t)dtype, .ndim = t->ndim};
    memcpy(d.shape, t->shape, sizeof d.shape);
    eg__desc_dense(&d);
    return eg__new(&d, c->op->name, c->op->id);
}

static eg_tensor *wide_like(const eg__call *c, const eg_tensor *t)
{
    return dense_like(c, t, EG_F32);
}

enum { MERGE_COLUMNS = 16 }; /* of b, below which copying a is not the smaller work */

eg_status ISA(eg__product_merge)(const eg__call *c, eg__product *p, const eg_tensor *a, const eg_tensor *b,
                                 const eg_tensor *y)
{
    bool shared = p->nbatch > 0 && p->n >= MERGE_COLUMNS && y->flags & EG__DENSE && a->ndim == y->ndim;
    for (int d = 0; d < p->nbatch; d++) {
        shared = shared && p->sb[d] == 0 && p->sa[d] != 0;
    }
    if (!shared) {
        return EG_OK;
    }
    eg_tensor *from = (eg_tensor *)(uintptr_t)a, *dense = dense_like(c, a, a->dtype);
    eg_status st = dense ? eg__run(&eg__op_copy, &from, 1, &(eg__copy_opts){EG__TO_DENSE}, dense) : EG_ENOMEM;
    if (!st) {
        *p = ISA(eg__product_of)(dense, b, y);
    }
    return st;
}

eg_status ISA(eg__call_in_f32)(const eg__call *c, eg__kernel *kernel)
{
    eg_tensor *in[3] = {NULL, NULL, NULL}, *y = c->out[0];
    for (int i = 0; i < c->nin; i++) {
        if (c->in[i] && !(in[i] = wide_like(c, c->in[i]))) {
            return EG_ENOMEM;
        }
        eg_status st = !in[i] ? EG_OK : eg__run(&eg__op_cast, &c->in[i], 1, &(eg__cast_opts){EG_F32}, in[i]);
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
    if (unlikely(!eg__is_float(y->dtype))) {
        return ISA(eg__matmul_int)(c);
    }
    eg__product p = ISA(eg__product_of)(a, b, y);
    if (ISA(eg__product_merge)(c, &p, a, b, y)) {
        return eg__why();
    }
    p.keep = p.nbatch ? NULL : b->storage;
    p.add = c->opts && ((const eg__matmul_opts *)c->opts)->add;
    eg_status st = ISA(eg__product_run)(c, &p, &done, &fused);
    return st || done ? st : ISA(eg__call_in_f32)(c, ISA(eg__cpu_matmul));
}
