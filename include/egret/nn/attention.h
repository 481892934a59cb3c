/* attention.h - attention with weights of its own. */
#ifndef EGRET_NN_ATTENTION_H
#define EGRET_NN_ATTENTION_H

#include <egret/nn/decode.h>
#include <egret/nn/module.h>
#include <egret/ops/attention.h>

EG_BEGIN_DECLS

/* Both NULL after a failure. */
typedef struct eg_attended {
    eg_tensor *context; /* what was read */
    eg_tensor *weights; /* from where */
} eg_attended;

/* ---- additive ------------------------------------------------------------------------------ */

/* Bahdanau et al. 2014: weights = softmax over S of v(tanh(w1(keys) + w2(query))), context = sum over S of
 * weights keys. Children w1 (keys to units), w2 (query to units), v (units to 1), each with a bias. */
EG_API eg_module *eg_additive_attention_new(int64_t query, int64_t keys, int64_t units);

/* query [N, query], keys [N, S, keys]: context [N, keys], weights [N, S]. `mask`, bool [N, S], true where
 * there is something to read, may be NULL; of a row without anything context and weights are 0. `projected` is what
 * eg_additive_attention_keys made of the keys, so that it is made once for many queries; NULL: made here. */
EG_API eg_attended eg_additive_attention_forward(eg_module *m, eg_tensor *query, eg_tensor *keys, eg_tensor *projected,
                                                 eg_tensor *mask);
/* w1(keys). */
EG_API eg_tensor *eg_additive_attention_keys(eg_module *m, eg_tensor *keys);

/* ---- multi-head ---------------------------------------------------------------------------- */

typedef struct eg_multi_head_attention_options {
    size_t size;
    int64_t keys, values; /* width of keys and values; 0: width */
    double dropout;       /* of the weights, while training */
    bool no_bias;
    eg_dtype dtype;   /* 0: f32 */
    int64_t kv_heads; /* of keys and values, each for as many heads in a row (Ainslie et al. 2023); 0: heads */
} eg_multi_head_attention_options;

/* Vaswani et al. 2017, with the parameters of PyTorch's MultiheadAttention: in_proj_weight [3 width, width]
 * (or q_proj_weight, k_proj_weight, v_proj_weight where widths differ), in_proj_bias [3 width],
 * out_proj.weight, out_proj.bias; weights glorot uniform, biases 0. Heads divide the width, and kv_heads the heads:
 * with fewer of them keys and values have kv_heads width / heads rows each instead of width. forward(x) is
 * self-attention without a mask. */
EG_API eg_module *eg_multi_head_attention_new_with(int64_t width, int64_t heads,
                                                   const eg_multi_head_attention_options *options);
#define eg_multi_head_attention_new(...) EG_MULTI_HEAD_ATTENTION_NEW_(__VA_ARGS__, )
#define EG_MULTI_HEAD_ATTENTION_NEW_(width, heads, ...) \
    eg_multi_head_attention_new_with(width, heads, EG_OPTIONS_(eg_multi_head_attention_options, __VA_ARGS__))

typedef struct eg_attend_options {
    size_t size;
    eg_tensor *mask; /* broadcast to [N, heads, T, S], as eg_attention takes it */
    bool causal;
    bool weights;               /* give them too: the mean over the heads, [N, T, S] */
    eg_attention_corner corner; /* and these as eg_attention has them */
    int64_t window;
    double softcap;
    eg_tensor *slopes;
    eg_tensor *cos, *sin; /* tables of eg_rotary_tables, by which queries and keys are turned; NULL: they are not */
    bool interleaved;     /* as eg_rotary_embedding has it */
    eg_cache *cache;   /* of decoding (decode.h). Where key is query, keys and values of earlier calls are read too, and
                          these are kept behind them. Else, with another's memory for a key, its keys and values are
                          made by the first call and read by the later ones, whatever key and value then are */
    eg_tensor **heads; /* where to leave the weights of every head, [N, heads, T, S], borrowed; NULL: nowhere */
} eg_attend_options;

/* query [N, T, width], key [N, S, keys], value [N, S, values]: context [N, T, width]. */
EG_API eg_attended eg_multi_head_attention_forward_with(eg_module *m, eg_tensor *query, eg_tensor *key,
                                                        eg_tensor *value, const eg_attend_options *options);
#define eg_multi_head_attention_forward(...) EG_MULTI_HEAD_ATTENTION_FORWARD_(__VA_ARGS__, )
#define EG_MULTI_HEAD_ATTENTION_FORWARD_(m, query, key, value, ...) \
    eg_multi_head_attention_forward_with(m, query, key, value, EG_OPTIONS_(eg_attend_options, __VA_ARGS__))

EG_END_DECLS

#endif
