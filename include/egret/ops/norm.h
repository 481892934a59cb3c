/* norm.h - normalisation: over a batch, over features, over groups of channels.
 *
 * All of them compute y = (x - mean) / sqrt(var + eps) * weight + bias, with the mean and the
 * biased variance of the elements named in each comment, in f32 for f16 and bf16, accumulated in
 * blocks so that a large mean costs no digits. weight and bias may be NULL (1 and 0) and may be f32
 * where x is f16 or bf16. Images are [N, C, spatial...]; channels-last ones are read and written as
 * they lie. An eps of 0 means 1e-5.
 *
 * grad: of x, weight and bias by one fused pass over x and dy, or by public ops when the backward pass is
 * recorded; saves x, weight, bias and the means and variances. EG_ESHAPE names the argument whose
 * length is wrong; EG_EINVAL an option that is negative or NaN. */
#ifndef EGRET_OPS_NORM_H
#define EGRET_OPS_NORM_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_batch_norm_options {
    size_t size;
    bool training;   /* statistics of this batch, else the running ones */
    bool biased;     /* the running variance takes the biased variance, else that times n / (n - 1) */
    bool relu;       /* y = max(y, 0) in the same pass */
    double momentum; /* weight of this batch in the running statistics, 0..1; 0: 0.1 */
    double eps;      /* 0: 1e-5 */
} eg_batch_norm_options;

/* Per channel of x [N, C] or [N, C, spatial...], over all the rest (Ioffe and Szegedy 2015).
 * weight, bias, running_mean and running_var are [C].
 *   training    mean and variance of the batch; unless they are NULL or the batch is empty,
 *               running = running * (1 - momentum) + batch * momentum in place. One value per
 *               channel has the variance 0, in the running one too, so that y is the bias and dx 0:
 *               nothing passes but what the bias has learned.
 *   otherwise   the running ones, which must be there; a negative variance is EG_EINVAL, on a
 *               device NaN. */
EG_API eg_tensor *eg_batch_norm_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, eg_tensor *running_mean,
                                     eg_tensor *running_var, const eg_batch_norm_options *options);
#define eg_batch_norm(...) EG_BATCH_NORM_(__VA_ARGS__, )
#define EG_BATCH_NORM_(x, weight, bias, running_mean, running_var, ...) \
    eg_batch_norm_with(x, weight, bias, running_mean, running_var, EG_OPTIONS_(eg_batch_norm_options, __VA_ARGS__))

/* y = x * scale + shift, one of each per channel ([C]); shift may be NULL. What batch norm is with
 * fixed statistics. grad: saves x, scale and shift. */
EG_API eg_tensor *eg_scale_channels(eg_tensor *x, eg_tensor *scale, eg_tensor *shift);

typedef struct eg_group_norm_options {
    size_t size;
    double eps; /* 0: 1e-5 */
} eg_group_norm_options;

/* Over the spatial axes and the channels of each of `groups` equal groups, per image (Wu and He
 * 2018). weight and bias are [C]. EG_ESHAPE unless the groups divide C and hold at least two
 * values. */
EG_API eg_tensor *eg_group_norm_with(eg_tensor *x, int64_t groups, eg_tensor *weight, eg_tensor *bias,
                                     const eg_group_norm_options *options);
#define eg_group_norm(...) EG_GROUP_NORM_(__VA_ARGS__, )
#define EG_GROUP_NORM_(x, groups, weight, bias, ...) \
    eg_group_norm_with(x, groups, weight, bias, EG_OPTIONS_(eg_group_norm_options, __VA_ARGS__))

/* Per image and channel, over the spatial axes (Ulyanov et al. 2016): a group per channel. */
EG_API eg_tensor *eg_instance_norm_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias,
                                        const eg_group_norm_options *options);
#define eg_instance_norm(...) EG_INSTANCE_NORM_(__VA_ARGS__, )
#define EG_INSTANCE_NORM_(x, weight, bias, ...) \
    eg_instance_norm_with(x, weight, bias, EG_OPTIONS_(eg_group_norm_options, __VA_ARGS__))

typedef struct eg_layer_norm_options {
    size_t size;
    int axes;   /* how many trailing axes; 0: as many as weight has, or one */
    double eps; /* 0: 1e-5 */
} eg_layer_norm_options;

/* Over the last axes of x (Ba et al. 2016). weight and bias have the shape of those axes. EG_ESHAPE
 * if one of them is empty. */
EG_API eg_tensor *eg_layer_norm_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias,
                                     const eg_layer_norm_options *options);
#define eg_layer_norm(...) EG_LAYER_NORM_(__VA_ARGS__, )
#define EG_LAYER_NORM_(x, weight, bias, ...) \
    eg_layer_norm_with(x, weight, bias, EG_OPTIONS_(eg_layer_norm_options, __VA_ARGS__))

/* The same without mean and bias (Zhang and Sennrich 2019):
 * y = x / sqrt(mean(x^2) + eps) * weight. */
EG_API eg_tensor *eg_rms_norm_with(eg_tensor *x, eg_tensor *weight, const eg_layer_norm_options *options);
#define eg_rms_norm(...)             EG_RMS_NORM_(__VA_ARGS__, )
#define EG_RMS_NORM_(x, weight, ...) eg_rms_norm_with(x, weight, EG_OPTIONS_(eg_layer_norm_options, __VA_ARGS__))

typedef struct eg_local_response_norm_options {
    size_t size;
    int64_t channels;      /* that a window spans; 0: 5 */
    double alpha, beta, k; /* 0: 1e-4, 0.75, 1 */
} eg_local_response_norm_options;

/* y = x / (k + alpha * mean of x^2 over that many channels around each)^beta, channels outside
 * counting as zeros; an even window has one more in front (Krizhevsky et al. 2012, as PyTorch has
 * it; TensorFlow's depth_radius r and alpha a are 2 r + 1 channels and alpha a (2 r + 1)). A
 * composition; in f64 on the CPU where squares of x pass the range of f32. */
EG_API eg_tensor *eg_local_response_norm_with(eg_tensor *x, const eg_local_response_norm_options *options);
#define eg_local_response_norm(...) EG_LOCAL_RESPONSE_NORM_(__VA_ARGS__, )
#define EG_LOCAL_RESPONSE_NORM_(x, ...) \
    eg_local_response_norm_with(x, EG_OPTIONS_(eg_local_response_norm_options, __VA_ARGS__))

EG_END_DECLS

#endif
