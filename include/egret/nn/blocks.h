/* blocks.h - blocks of several layers that many nets are made of. */
#ifndef EGRET_NN_BLOCKS_H
#define EGRET_NN_BLOCKS_H

#include <egret/nn/attention.h>
#include <egret/nn/layers.h>
#include <egret/nn/module.h>

EG_BEGIN_DECLS

/* A convolution of each channel by itself, "depthwise", in `in` groups and without a bias, then one over channels,
 * "pointwise", of kernel 1: Chollet 2016. The kernel, strides and padding are the first one's, the bias the second's;
 * every channel becomes `multiplier` on the way. EG_EINVAL for groups, which it has of its own. */
EG_API eg_module *eg_separable_conv2d_new_with(int64_t in, int64_t out, int64_t multiplier,
                                               const eg_conv_layer_options *options);
#define eg_separable_conv2d_new(...) EG_SEPARABLE_CONV2D_NEW_(__VA_ARGS__, )
#define EG_SEPARABLE_CONV2D_NEW_(in, out, multiplier, ...) \
    eg_separable_conv2d_new_with(in, out, multiplier, EG_OPTIONS_(eg_conv_layer_options, __VA_ARGS__))

typedef struct eg_squeeze_excite_options {
    size_t size;
    eg_tensor *(*activation)(eg_tensor *x); /* between the two; NULL: eg_relu */
    eg_tensor *(*gate)(eg_tensor *x);       /* behind them; NULL: eg_sigmoid */
} eg_squeeze_excite_options;

/* x times a weight per image and channel, gate(fc2(activation(fc1(mean over spatial axes)))): Hu et al. 2017. x is
 * [N, channels, H, W]; fc1 and fc2 are convolutions of kernel 1 to `squeezed` channels and back, as torchvision has
 * them. */
EG_API eg_module *eg_squeeze_excite_new_with(int64_t channels, int64_t squeezed,
                                             const eg_squeeze_excite_options *options);
#define eg_squeeze_excite_new(...) EG_SQUEEZE_EXCITE_NEW_(__VA_ARGS__, )
#define EG_SQUEEZE_EXCITE_NEW_(channels, squeezed, ...) \
    eg_squeeze_excite_new_with(channels, squeezed, EG_OPTIONS_(eg_squeeze_excite_options, __VA_ARGS__))

/* ---- where in a sequence ------------------------------------------------------------------- */

typedef struct eg_positions_options {
    size_t size;
    bool halves;    /* sines in the first half of the columns, cosines in the other, as tensor2tensor has them; else
                       in turn, as in the paper */
    double longest; /* wavelength, in 2 pi steps; 0: 10000 */
} eg_positions_options;

/* x [N, T, width] plus sines and cosines of each step's number, of wavelengths rising from 2 pi to 2 pi longest:
 * Vaswani et al. 2017. The width is even (EG_ESHAPE). There are no parameters. */
EG_API eg_module *eg_sinusoidal_positions_new_with(const eg_positions_options *options);
#define eg_sinusoidal_positions_new(...) \
    eg_sinusoidal_positions_new_with(EG_OPTIONS_(eg_positions_options, __VA_ARGS__))

/* x [N, T, width] plus the first T rows of a weight [count, width], which begins normal with deviation 0.02. EG_ESHAPE
 * for a T beyond count. */
EG_API eg_module *eg_learned_positions_new(int64_t count, int64_t width);

/* The same from step number `start` on, of either kind, where x goes on with a sequence. EG_EINVAL for another module,
 * or a start below 0. */
EG_API eg_tensor *eg_positions_forward(eg_module *m, eg_tensor *x, int64_t start);

/* ---- transformers -------------------------------------------------------------------------- */

typedef struct eg_transformer_layer_options {
    size_t size;
    double dropout;                         /* of weights of attention, hidden columns and sums; while training */
    eg_tensor *(*activation)(eg_tensor *x); /* NULL: eg_relu */
    bool norm_first;                        /* norms in front of attention and products instead of behind the sums */
    double eps;                             /* of the norms; 0: 1e-5 */
    eg_dtype dtype;                         /* 0: f32 */
    double attention_dropout;               /* of weights of attention alone; 0: dropout, EG_ZERO: none */
    double hidden_dropout;                  /* of hidden columns alone; the same */
    bool no_attention_bias;                 /* attention without biases */
} eg_transformer_layer_options;

/* A layer of an encoder over x [N, T, width], with PyTorch's names: self_attn, linear1 (width to hidden), linear2,
 * norm1, norm2. y = norm1(x + self_attn(x)), y = norm2(y + linear2(activation(linear1(y)))): Vaswani et al. 2017;
 * norm_first: Xiong et al. 2020. forward(x) attends to everything. */
EG_API eg_module *eg_transformer_encoder_layer_new_with(int64_t width, int64_t heads, int64_t hidden,
                                                        const eg_transformer_layer_options *options);
#define eg_transformer_encoder_layer_new(...) \
    EG_TRANSFORMER_LAYER_NEW_(eg_transformer_encoder_layer_new_with, __VA_ARGS__, )
#define EG_TRANSFORMER_LAYER_NEW_(function, width, heads, hidden, ...) \
    function(width, heads, hidden, EG_OPTIONS_(eg_transformer_layer_options, __VA_ARGS__))

/* The same with a mask, or for a decoder alone, causal; .weights is not for here (EG_EINVAL). */
EG_API eg_tensor *eg_transformer_encoder_layer_forward_with(eg_module *m, eg_tensor *x,
                                                            const eg_attend_options *options);
#define eg_transformer_encoder_layer_forward(...) EG_TRANSFORMER_ENCODER_LAYER_FORWARD_(__VA_ARGS__, )
#define EG_TRANSFORMER_ENCODER_LAYER_FORWARD_(m, x, ...) \
    eg_transformer_encoder_layer_forward_with(m, x, EG_OPTIONS_(eg_attend_options, __VA_ARGS__))

/* A layer of a decoder: between the two parts of an encoder's layer it reads a memory, with multihead_attn and norm2;
 * the last norm is norm3. */
EG_API eg_module *eg_transformer_decoder_layer_new_with(int64_t width, int64_t heads, int64_t hidden,
                                                        const eg_transformer_layer_options *options);
#define eg_transformer_decoder_layer_new(...) \
    EG_TRANSFORMER_LAYER_NEW_(eg_transformer_decoder_layer_new_with, __VA_ARGS__, )

typedef struct eg_decoder_masks {
    size_t size;
    eg_tensor *mask;                   /* of self-attention, beside being causal; as eg_attend_options has it */
    eg_tensor *memory_mask;            /* of the memory */
    bool not_causal;                   /* each step of x sees those behind it too */
    eg_cache *cache;                   /* of decoding: both attentions have theirs there, as eg_attend_options says */
    eg_tensor **heads, **memory_heads; /* and where these leave the weights of every head */
} eg_decoder_masks;

/* x [N, T, width] and memory [N, S, width] to [N, T, width]. Steps of x see none behind them. */
EG_API eg_tensor *eg_transformer_decoder_layer_forward_with(eg_module *m, eg_tensor *x, eg_tensor *memory,
                                                            const eg_decoder_masks *masks);
#define eg_transformer_decoder_layer_forward(...) EG_TRANSFORMER_DECODER_LAYER_FORWARD_(__VA_ARGS__, )
#define EG_TRANSFORMER_DECODER_LAYER_FORWARD_(m, x, memory, ...) \
    eg_transformer_decoder_layer_forward_with(m, x, memory, EG_OPTIONS_(eg_decoder_masks, __VA_ARGS__))

EG_END_DECLS

#endif
