/* linear.h - matrix products, and what is made of them, of any dtype: operands are brought to one. f16 and bf16
 * accumulate in f32; integers are exact and wrap in their dtype, products of bools are true where one of the terms is,
 * as NumPy has them. Integers have no gradient. */
#ifndef EGRET_OPS_LINEAR_H
#define EGRET_OPS_LINEAR_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* [..., m, k] x [..., k, n] -> [..., m, n]; batch axes broadcast; a 1-D operand is a row on the left, a
 * column on the right, and its axis goes. Transposed views are taken as they are. k = 0 gives zeros.
 * EG_ESHAPE: 0-dim operands, inner sizes that differ, batch axes that do not broadcast.
 * grad: da = dy b^T, db = a^T dy, summed over broadcast batches    saves a and b */
EG_API eg_tensor *eg_matmul(eg_tensor *a, eg_tensor *b);

/* Sum of a[i] b[i] over two vectors, on the CPU in f64 and rounded once for f32; 0-dim. A matmul. */
EG_API eg_tensor *eg_dot(eg_tensor *a, eg_tensor *b);
/* y[i, j] = a[i] b[j] of two vectors. A mul. */
EG_API eg_tensor *eg_outer(eg_tensor *a, eg_tensor *b);

/* Zero-initialised: no activation. */
typedef struct eg_linear_options {
    size_t size;
    /* Any function of one tensor: .activation = eg_relu. With eg_relu, eg_tanh and eg_sigmoid it is one op,
     * which saves less; with eg_gelu, eg_gelu_tanh and eg_silu too while no tape records, whose limit at
     * -infinity, 0, may then be NaN. */
    eg_tensor *(*activation)(eg_tensor *x);
} eg_linear_options;

/* activation(x weight^T + bias): x [..., in], weight [out, in], bias [out] or NULL -> [..., out], the layer
 * of PyTorch and its layout of weights: eg_linear(x, w, b, .activation = eg_relu). A weight [in], with a 0-dim bias,
 * is one output without its axis: [...].
 * A weight that is used again and again unchanged is kept a second time in the layout the processor likes,
 * with the weight, until it changes or goes.
 * grad: with dz = dy activation'(y): dx = dz weight, dweight = dz^T x, dbias = sum of dz
 *       saves x and weight, with an activation y too */
EG_API eg_tensor *eg_linear_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, const eg_linear_options *options);
#define EG_LINEAR_(x, weight, bias, ...) eg_linear_with(x, weight, bias, EG_OPTIONS_(eg_linear_options, __VA_ARGS__))
#define eg_linear(...)                   EG_LINEAR_(__VA_ARGS__, )

/* Einstein's sum: each letter (a-z, A-Z) names an axis; letters that are not in the result are summed over.
 *
 *     eg_einsum("bqd,bkd->bqk", (eg_tensor *[]){q, k}, 2)
 *
 * As NumPy has it: without "->" the result has the letters that occur once, in alphabetical order with
 * capitals first; a letter twice in one operand takes the diagonal; sizes of a letter agree or are 1; "..."
 * stands for the axes in front of, between or behind the letters, which broadcast, come first without "->"
 * and are summed over where the result has none (PyTorch's rule; NumPy refuses); blanks do not matter. Any dtype;
 * sums of integers are i64. Operands are contracted from left to right, each step a matmul where a letter is
 * summed, else a mul, so that the order given is the order of work.
 * EG_EINVAL: an equation that does not parse, in words with its place. EG_ESHAPE: letters that do not fit
 * the operands, or more than 8 axes in a step.
 * grad: of the steps    saves what they save */
EG_API eg_tensor *eg_einsum(const char *equation, eg_tensor *const *operands, int n);

EG_END_DECLS

#endif
