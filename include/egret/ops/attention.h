/* attention.h - scaled dot-product attention. */
#ifndef EGRET_OPS_ATTENTION_H
#define EGRET_OPS_ATTENTION_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* The key that query t of T stands at among S keys, the same where T = S. By the names of PyTorch, whose is_causal is
 * EG_UPPER_LEFT, as is that of ONNX. */
typedef enum eg_attention_corner {
    EG_LOWER_RIGHT, /* t + S - T: the last query at the last key, as where earlier keys are kept */
    EG_UPPER_LEFT,  /* t: the first query at the first key */
} eg_attention_corner;

typedef struct eg_attention_options {
    size_t size;
    eg_tensor *mask;     /* broadcasts with [..., T, S]: bool, true where attention may go; or floats, added */
    bool causal;         /* a query sees no key behind the one it stands at */
    double dropout;      /* of the weights */
    double scale;        /* 0: 1 / sqrt(D) */
    eg_tensor **weights; /* where to leave the weights [..., T, S] before dropout, borrowed; NULL: nowhere */
    eg_attention_corner corner;
    int64_t window;    /* a query sees so many keys before the one it stands at, that one, and unless it is causal so
                        * many behind it; 0: all. What others call a causal window of W keys is W - 1 */
    double softcap;    /* c: scores x become c tanh(x / c), before the mask; 0: they stay */
    eg_tensor *slopes; /* [..., heads], as eg_alibi_slopes gives them: a head's scores are less by its slope times the
                        * distance of the key from the one where the query stands (Press et al. 2022); NULL: none */
} eg_attention_options;

/* softmax(q k^T scale + mask) v over the last two axes (Vaswani et al. 2017): q [..., T, D], k [..., S, D],
 * v [..., S, V] -> [..., T, V]; axes in front broadcast, and where q has several heads for each of k and v, axis -3,
 * heads in a row share them (Ainslie et al. 2023): q [N, 8, T, D], k and v [N, 2, S, D]. Nothing is copied for it. A
 * row that sees no key, by its place or by a mask of false or -infinity, is 0, and so are its weights and gradients.
 *
 * It is one op that never holds weights (Dao et al. 2022), nor computes those that places alone hide: kept are q, k, v,
 * the mask, the result and a number for each of its rows. Where weights are asked for, on devices where there are
 * slopes, and for gradients of gradients and those of a mask of floats or of slopes, it is a composition of products,
 * softmax and dropout, which has weights [..., T, S]. Dropout drops the same weights either way. Autocast is of q, k
 * and v; a mask stays as it is. Errors are those of products; EG_EINVAL for options: dropout outside 0..1, a scale that
 * is not finite, a window or softcap below 0; EG_ESHAPE for slopes that q has no heads for. A NaN in a key that nothing
 * sees need not spread. */
EG_API eg_tensor *eg_attention_with(eg_tensor *q, eg_tensor *k, eg_tensor *v, const eg_attention_options *options);
#define eg_attention(...)           EG_ATTENTION_(__VA_ARGS__, )
#define EG_ATTENTION_(q, k, v, ...) eg_attention_with(q, k, v, EG_OPTIONS_(eg_attention_options, __VA_ARGS__))

/* Slopes [heads] for so many heads: for n, a power of two, 2^(-8 / n), 2^(-16 / n) .. 2^-8; for another number those of
 * the power of two below it, then every second one of the power above. EG_EINVAL for less than 1 or more than 4096
 * heads, EG_EDTYPE for a dtype without fractions. (Press, Smith, Lewis: "Train Short, Test Long: Attention with Linear
 * Biases Enables Input Length Extrapolation", 2022.) */
EG_API eg_tensor *eg_alibi_slopes(int64_t heads, eg_dtype dtype);

EG_END_DECLS

#endif
