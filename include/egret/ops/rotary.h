/* rotary.h - rotary position embedding: pairs of columns turned by angles that grow with a token's position. */
#ifndef EGRET_OPS_ROTARY_H
#define EGRET_OPS_ROTARY_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_rotary_tables_options {
    size_t size;
    double base;   /* 0: 10000 */
    double factor; /* what angles are divided by, so that longer texts have the angles of shorter ones; 0: 1 */
    /* 0: all angles are divided. L, as Llama 3.1 does it: those of pairs that turn less than `low` times in L positions
     * are, those of pairs that turn more than `high` times are not, and those between are mixed. */
    int64_t length;
    double low, high; /* 0: 1 and 4 */
    eg_dtype dtype;   /* of the tables, 0: f32; angles are computed in f64 */
} eg_rotary_tables_options;

/* Cosines and sines [..., T, width / 2] of the angles position base^(-2 i / width) of pair i, for integers `positions`
 * [..., T], where eg_arange_int gives those from a start. Made once, they serve all layers and both queries and keys.
 * No gradient. Errors: EG_EDTYPE for positions that are no integers or a dtype without fractions, EG_EINVAL for a width
 * that is odd, less than 2 or more than 8192, and for options that are not finite or below 0. (Su et al.: "RoFormer:
 * Enhanced Transformer with Rotary Position Embedding", 2021.) */
EG_API eg_status eg_rotary_tables_with(eg_tensor *positions, int64_t width, eg_tensor **cos, eg_tensor **sin,
                                       const eg_rotary_tables_options *options);
#define eg_rotary_tables(...) EG_ROTARY_TABLES_(__VA_ARGS__, )
#define EG_ROTARY_TABLES_(positions, width, cos, sin, ...) \
    eg_rotary_tables_with(positions, width, cos, sin, EG_OPTIONS_(eg_rotary_tables_options, __VA_ARGS__))

typedef struct eg_rotary_embedding_options {
    size_t size;
    bool interleaved; /* pairs are columns 2 i and 2 i + 1, as in RoFormer and GPT-J; else i and i + width / 2, as in
                       * GPT-NeoX and Llama */
} eg_rotary_embedding_options;

/* x [..., T, D] with the pairs (a, b) of its first `width` columns turned: (a cos - b sin, a sin + b cos). Tables are
 * [T, width / 2], or [N, T, width / 2] where x is [N, ..., T, D]; x keeps its dtype, and the result lies as x does.
 * grad: all; that of x is dy turned back and saves the tables, those of tables save x. On devices a composition.
 * Errors: EG_ESHAPE for tables that do not fit, EG_EDTYPE for what is no float. */
EG_API eg_tensor *eg_rotary_embedding_with(eg_tensor *x, eg_tensor *cos, eg_tensor *sin,
                                           const eg_rotary_embedding_options *options);
#define eg_rotary_embedding(...) EG_ROTARY_EMBEDDING_(__VA_ARGS__, )
#define EG_ROTARY_EMBEDDING_(x, cos, sin, ...) \
    eg_rotary_embedding_with(x, cos, sin, EG_OPTIONS_(eg_rotary_embedding_options, __VA_ARGS__))

EG_END_DECLS

#endif
