/* join.h - joining, cutting, padding, repeating and turning tensors. Any dtype unless a line says
 * otherwise; nothing here saves anything but the masks of eg_tril and eg_triu. Functions with
 * several results write them to `out` and return a status; after a failure all of `out` is NULL. */
#ifndef EGRET_OPS_JOIN_H
#define EGRET_OPS_JOIN_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- joining ------------------------------------------------------------------------------ */

/* n tensors one behind the other along an axis that exists; the other sizes agree. Brought to one
 * dtype (eg_promote); a packed order such as channels-last is kept if the first has it. grad: dy's
 * parts. EG_EINVAL: n < 1; EG_ESHAPE: ranks or other sizes differ. */
EG_API eg_tensor *eg_concat(eg_tensor *const *xs, int n, int axis);
/* n tensors of one shape along a new axis, `axis` of the result. grad: dy's parts. */
EG_API eg_tensor *eg_stack(eg_tensor *const *xs, int n, int axis);
/* out[i]: xs[i], 0- or 1-D, laid along axis i of a grid with n axes; views ("ij" order). */
EG_API eg_status eg_meshgrid(eg_tensor *const *xs, int n, eg_tensor **out);

/* ---- cutting: views ----------------------------------------------------------------------- */

/* n pieces of the given sizes, which add up to the axis. EG_EINVAL: n < 1; EG_ESHAPE: a negative
 * size or another sum. grad: each dy written to its place. */
EG_API eg_status eg_split(eg_tensor *x, const int64_t *sizes, int n, int axis, eg_tensor **out);
/* At most n pieces of one size, rounded up; the last may be smaller, and where the axis runs out of
 * elements the rest of out is NULL. */
EG_API eg_status eg_chunk(eg_tensor *x, int n, int axis, eg_tensor **out);
/* out[i] = x[..., i, ...] for every i: eg_size(x, axis) tensors without the axis. */
EG_API eg_status eg_unbind(eg_tensor *x, int axis, eg_tensor **out);

/* ---- padding ------------------------------------------------------------------------------ */

typedef enum eg_pad_mode {
    EG_PAD_CONSTANT,  /* `value` outside */
    EG_PAD_REFLECT,   /* c b | a b c | b a: less than the size on each side */
    EG_PAD_REPLICATE, /* a a | a b c | c c */
    EG_PAD_CIRCULAR,  /* b c | a b c | a b */
} eg_pad_mode;

/* By axis, first axis first; a negative count cuts. What is cut does not go round in EG_PAD_CIRCULAR; the
 * other modes look at x as it was. */
typedef struct eg_pad_options {
    size_t size;
    int64_t before[EG_MAX_DIMS], after[EG_MAX_DIMS];
    eg_pad_mode mode;
    double value; /* of EG_PAD_CONSTANT, converted like eg_full's */
} eg_pad_options;

/* x with elements added around it: eg_pad(x, .before = {0, 0, 1, 1}, .after = {0, 0, 1, 1}). A
 * packed order is kept. grad: dy cut for a constant, else summed over the copies of each element.
 * EG_ESHAPE: counts for an axis x has not, cutting more than there is, reflecting beyond the size,
 * nothing to copy. */
EG_API eg_tensor *eg_pad_with(eg_tensor *x, const eg_pad_options *options);
#define EG_PAD_(x, ...) eg_pad_with(x, EG_OPTIONS_(eg_pad_options, __VA_ARGS__))
#define eg_pad(...)     EG_PAD_(__VA_ARGS__, )

/* ---- repeating ---------------------------------------------------------------------------- */

/* The whole of x counts.dim[d] times along axis d; missing counts or axes in front are 1. A count
 * of 0 is empty; EG_ESHAPE for a negative one. May be a view if all are 1. grad: dy summed over the
 * copies. */
EG_API eg_tensor *eg_tile(eg_tensor *x, eg_shape counts);
/* Each element of an axis `count` times in a row. grad: dy summed over the copies. */
EG_API eg_tensor *eg_repeat_interleave(eg_tensor *x, int64_t count, int axis);

/* ---- turning ------------------------------------------------------------------------------ */

/* Back to front along the axes (none: all). A view. */
EG_API eg_tensor *eg_flip(eg_tensor *x, eg_axes axes);
/* Moved by `shift` places towards the end of an axis; what leaves comes in at the start. */
EG_API eg_tensor *eg_roll(eg_tensor *x, int64_t shift, int axis);
/* Axis source[i] becomes axis destination[i]; the others keep their order. A view. */
EG_API eg_tensor *eg_movedim(eg_tensor *x, eg_axes source, eg_axes destination);

/* The last two axes below and on (tril), or above and on (triu), diagonal k (column - row = k),
 * zeros elsewhere. Any k. grad: the same part of dy. */
EG_API eg_tensor *eg_tril(eg_tensor *x, int64_t k);
EG_API eg_tensor *eg_triu(eg_tensor *x, int64_t k);
/* [rows, cols]: ones on diagonal k and below, zeros above. Any k. */
EG_API eg_tensor *eg_tri(int64_t rows, int64_t cols, int64_t k, eg_dtype dtype);

/* [.., n] -> [.., n + |k|, n + |k|], zeros but for x on diagonal k. grad: that diagonal of dy.
 * EG_ESHAPE: k makes it too large. */
EG_API eg_tensor *eg_diag_embed(eg_tensor *x, int64_t k);
/* Of a 1-D tensor the matrix with it on diagonal k, of a 2-D one a view of its diagonal k (NumPy's
 * diag). */
EG_API eg_tensor *eg_diag(eg_tensor *x, int64_t k);
/* Sum of the main diagonal of a matrix. */
EG_API eg_tensor *eg_trace(eg_tensor *x);

/* [..., C, H, W] and blocks of b x b places: depth_to_space makes [..., C / b^2, H b, W b], its
 * inverse
 * [..., C b^2, H / b, W / b]. Channel (i b + j) C' + c goes to place (i, j) of its block and
 * channel c, as TensorFlow orders them; the pixel_ forms take channel c b^2 + i b + j, as PyTorch
 * does (Shi et al. 2016). EG_EINVAL: b < 1; EG_ESHAPE: fewer than 3 axes or a size that b or b^2
 * does not divide. */
EG_API eg_tensor *eg_depth_to_space(eg_tensor *x, int64_t block);
EG_API eg_tensor *eg_space_to_depth(eg_tensor *x, int64_t block);
EG_API eg_tensor *eg_pixel_shuffle(eg_tensor *x, int64_t block);
EG_API eg_tensor *eg_pixel_unshuffle(eg_tensor *x, int64_t block);

EG_END_DECLS

#endif
