/* product.h - matrix products of any geometry, for the kernels of matmul, linear and whoever needs one. */
#ifndef EGRET_PRODUCT_H
#define EGRET_PRODUCT_H

#include "lib/cpu/dnnl/dnnl.h"
#include "lib/cpu/common/isa.h"

enum { EG__PRODUCT_BATCH = EG_MAX_DIMS - 2 };

/* y[..., m, n] (+)= a[..., m, k] b[..., k, n], then + bias[n] and act if oneDNN does the work. Strides in
 * elements and of any sign, of batch axes 0 where an operand is repeated; rows of y are contiguous. */
typedef struct eg__product {
    uint8_t dtype, act; /* of a, b, y and bias; act: an eg__act */
    bool add;
    int64_t m, n, k;
    char *a, *b, *y, *bias; /* bias: NULL if there is none */
    int64_t ra, ca, rb, cb, ry;
    int nbatch;
    int64_t batch[EG__PRODUCT_BATCH], sa[EG__PRODUCT_BATCH], sb[EG__PRODUCT_BATCH], sy[EG__PRODUCT_BATCH];
    eg__storage *keep; /* of b, if it is a weight whose packed copy may serve again; else NULL */
    bool often;        /* b comes several times within a call, so that packing it pays at once */
} eg__product;

/* f32 and f64 are always done. bf16 gives EG_OK with *done false if oneDNN has no kernel for it here.
 * *fused: bias and act were applied; otherwise the caller does. */
eg_status ISA(eg__product_run)(const eg__call *c, const eg__product *p, bool *done, bool *fused);

/* From tensors: batch axes of a and b broadcast to those of y and merge where they can; a matrix b shared
 * by all batches gives one product of many rows. */
eg__product ISA(eg__product_of)(const eg_tensor *a, const eg_tensor *b, const eg_tensor *y);

/* Where all batches share b but rows of a do not lie evenly, one product of many rows needs a copy of a: makes
 * it, which is far less work than a product per batch, and the product anew. b as product_of took it. */
eg_status ISA(eg__product_merge)(const eg__call *c, eg__product *p, const eg_tensor *a, const eg_tensor *b,
                                 const eg_tensor *y);

/* matmul of integers and bools. */
extern eg__kernel ISA(eg__matmul_int);

/* Runs the kernel on f32 copies of c's inputs and rounds its result into c->out[0]. */
eg_status ISA(eg__call_in_f32)(const eg__call *c, eg__kernel *kernel);

#endif
