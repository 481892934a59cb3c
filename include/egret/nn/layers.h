/* layers.h - containers, and layers of one tensor: dense, convolutions, norms, pooling. */
#ifndef EGRET_NN_LAYERS_H
#define EGRET_NN_LAYERS_H

#include <egret/nn/module.h>
#include <egret/ops/norm.h>
#include <egret/ops/padding.h>
#include <egret/ops/pool.h>
#include <egret/ops/resize.h>

EG_BEGIN_DECLS

/* ---- containers and layers --------------------------------------------------------------- */

/* Gives m the name it has in the sequence, list or branches it is put into, instead of its number there, and returns m:
 * eg_sequential_new(eg_named("conv1", eg_conv2d_new(3, 64, .kernel = 7)), ...). The name is copied; m stays the
 * caller's. EG_EINVAL for one that is empty, longer than 100 bytes or has a dot; then, as for a NULL, m is freed and
 * the result NULL. */
EG_API eg_module *eg_named(const char *name, eg_module *m);

/* One after the other; children are named "0", "1", ..., or as eg_named has it. */
EG_API eg_module *eg_sequential_new_with(eg_module *const *modules, int count);
#define eg_sequential_new(...) \
    eg_sequential_new_with(EG_ARRAY_(eg_module *, __VA_ARGS__), EG_COUNT_(eg_module *, __VA_ARGS__))

/* Modules side by side, named "0", "1", ..., for a module of your own to call as it likes. The list itself
 * has no forward: EG_EINVAL. */
EG_API eg_module *eg_module_list_new_with(eg_module *const *modules, int count);
#define eg_module_list_new(...) \
    eg_module_list_new_with(EG_ARRAY_(eg_module *, __VA_ARGS__), EG_COUNT_(eg_module *, __VA_ARGS__))
/* How many children a sequence, a list, branches or a stack (recurrent.h) has, and the i-th, a negative i counted from
 * the end; it stays the list's. -1 and NULL for other modules (EG_EINVAL), NULL and EG_EINDEX for an i outside. */
EG_API int eg_module_count(const eg_module *list);
EG_API eg_module *eg_module_at(eg_module *list, int i);

/* What each of the modules makes of x, one behind the other along axis 1: the branches of an Inception module (Szegedy
 * et al. 2014). Named as those of a sequence are. */
EG_API eg_module *eg_branches_new_with(eg_module *const *modules, int count);
#define eg_branches_new(...) \
    eg_branches_new_with(EG_ARRAY_(eg_module *, __VA_ARGS__), EG_COUNT_(eg_module *, __VA_ARGS__))

/* x itself. */
EG_API eg_module *eg_identity_new(void);
/* body(x) + shortcut(x), children "body" and "shortcut"; most often the shortcut is eg_identity_new().
 * He et al. 2015. */
EG_API eg_module *eg_residual_new(eg_module *body, eg_module *shortcut);

/* A function without parameters: eg_activation_new(eg_relu). */
EG_API eg_module *eg_activation_new(eg_tensor *(*function)(eg_tensor *x));
/* eg_leaky_relu with its slope, for TensorFlow's default 0.2, for PyTorch's 0.01. EG_EINVAL for NaN or
 * infinity. */
EG_API eg_module *eg_leaky_relu_new(double slope);

/* Axes 1 and up joined into one. */
EG_API eg_module *eg_flatten_new(void);
/* [N, features] to [N, shape...]: eg_unflatten_new(EG_SHAPE(64, 7, 7)). */
EG_API eg_module *eg_unflatten_new(eg_shape shape);

/* x with its axes in this order (eg_permute). */
EG_API eg_module *eg_permute_new(eg_axes axes);

/* Drops with probability p while training (eg_dropout); EG_EINVAL unless 0 <= p <= 1. */
EG_API eg_module *eg_dropout_new(double p);
/* Drops whole rows of x, along axis 0, and divides the others by 1 - p, while training: before a sum with a shortcut it
 * leaves out the path for some examples. Stochastic depth (Huang et al. 2016), drop path (Larsson et al. 2017). */
EG_API eg_module *eg_drop_path_new(double p);

typedef struct eg_linear_layer_options {
    size_t size;
    bool no_bias;
    eg_dtype dtype; /* a float dtype; 0: f32 */
} eg_linear_layer_options;

/* y = x weight^T + bias: weight [out, in], bias [out], both uniform within 1 / sqrt(in). */
EG_API eg_module *eg_linear_new_with(int64_t in, int64_t out, const eg_linear_layer_options *options);
#define eg_linear_new(...)           EG_LINEAR_NEW_(__VA_ARGS__, )
#define EG_LINEAR_NEW_(in, out, ...) eg_linear_new_with(in, out, EG_OPTIONS_(eg_linear_layer_options, __VA_ARGS__))

/* As eg_conv_options (ops/conv.h), with the kernel's sizes. A number for all axes or, where an entry of the
 * array is not 0, one per axis. */
typedef struct eg_conv_layer_options {
    size_t size;
    /* As far as eg_conv_options goes the members are its own, in its order. */
    int64_t stride, dilation, groups; /* 0: 1 */
    int64_t padding;                  /* cells on both sides, or EG_SAME; 0: none */
    int64_t strides[3], dilations[3];
    int64_t pads[3][2];        /* cells before and after each axis, instead of padding */
    int64_t output_padding[3]; /* transposes: more at the end of the result */
    int64_t kernel;            /* must be given, here or per axis */
    int64_t kernels[3];
    bool no_bias;
    eg_dtype dtype; /* a float dtype; 0: f32 */
} eg_conv_layer_options;

/* eg_conv1d, 2d, 3d: weight [out, in / groups, kernel...], bias [out], both uniform within
 * 1 / sqrt(in / groups * cells of the kernel). */
EG_API eg_module *eg_conv1d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options);
EG_API eg_module *eg_conv2d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options);
EG_API eg_module *eg_conv3d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options);
#define eg_conv1d_new(...)                   EG_CONV_NEW_(eg_conv1d_new_with, __VA_ARGS__, )
#define eg_conv2d_new(...)                   EG_CONV_NEW_(eg_conv2d_new_with, __VA_ARGS__, )
#define eg_conv3d_new(...)                   EG_CONV_NEW_(eg_conv3d_new_with, __VA_ARGS__, )
#define EG_CONV_NEW_(function, in, out, ...) function(in, out, EG_OPTIONS_(eg_conv_layer_options, __VA_ARGS__))

/* eg_conv_transpose1d, 2d, 3d: weight [in, out / groups, kernel...], bias [out], both uniform within
 * 1 / sqrt(out / groups * cells of the kernel), as PyTorch has it. output_padding as in ops/conv.h. */
EG_API eg_module *eg_conv_transpose1d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options);
EG_API eg_module *eg_conv_transpose2d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options);
EG_API eg_module *eg_conv_transpose3d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options);
#define eg_conv_transpose1d_new(...) EG_CONV_NEW_(eg_conv_transpose1d_new_with, __VA_ARGS__, )
#define eg_conv_transpose2d_new(...) EG_CONV_NEW_(eg_conv_transpose2d_new_with, __VA_ARGS__, )
#define eg_conv_transpose3d_new(...) EG_CONV_NEW_(eg_conv_transpose3d_new_with, __VA_ARGS__, )

typedef struct eg_embedding_layer_options {
    size_t size;
    bool padded; /* the row `padding` begins as zeros and gets no gradient */
    int64_t padding;
    eg_dtype dtype; /* a float dtype; 0: f32 */
} eg_embedding_layer_options;

/* eg_embedding: ids of any shape to ids' axes and `width` more; weight [count, width], normal with mean 0
 * and standard deviation 1. */
EG_API eg_module *eg_embedding_new_with(int64_t count, int64_t width, const eg_embedding_layer_options *options);
#define eg_embedding_new(...) EG_EMBEDDING_NEW_(__VA_ARGS__, )
#define EG_EMBEDDING_NEW_(count, width, ...) \
    eg_embedding_new_with(count, width, EG_OPTIONS_(eg_embedding_layer_options, __VA_ARGS__))

typedef struct eg_batch_norm_layer_options {
    size_t size;
    double momentum; /* weight of the batch in the running statistics; 0: 0.1 */
    double eps;      /* 0: 1e-5 */
    bool no_affine;  /* without weight and bias */
    bool biased;     /* the running variance takes the biased variance */
    bool relu;       /* max(y, 0) in the same pass */
    eg_dtype dtype;  /* 0: f32 */
    bool no_weight;  /* without weight alone: TensorFlow's scale=False */
} eg_batch_norm_layer_options;

/* eg_batch_norm over [N, features, ...]: weight of ones, bias of zeros; buffers running_mean, running_var and
 * num_batches_tracked (i64), which counts training batches. */
EG_API eg_module *eg_batch_norm_new_with(int64_t features, const eg_batch_norm_layer_options *options);
#define eg_batch_norm_new(...) EG_BATCH_NORM_NEW_(__VA_ARGS__, )
#define EG_BATCH_NORM_NEW_(features, ...) \
    eg_batch_norm_new_with(features, EG_OPTIONS_(eg_batch_norm_layer_options, __VA_ARGS__))

typedef struct eg_norm_layer_options {
    size_t size;
    double eps;     /* 0: 1e-5 */
    bool no_affine; /* without weight and bias */
    bool no_bias;
    eg_dtype dtype; /* 0: f32 */
} eg_norm_layer_options;

/* eg_group_norm over [N, channels, spatial...]: weight of ones, bias of zeros, one per channel. */
EG_API eg_module *eg_group_norm_new_with(int64_t groups, int64_t channels, const eg_norm_layer_options *options);
#define eg_group_norm_new(...) EG_GROUP_NORM_NEW_(__VA_ARGS__, )
#define EG_GROUP_NORM_NEW_(groups, channels, ...) \
    eg_group_norm_new_with(groups, channels, EG_OPTIONS_(eg_norm_layer_options, __VA_ARGS__))

/* eg_layer_norm over the last axes of x, which have this shape, as weight and bias do:
 * eg_layer_norm_new(EG_SHAPE(768)). */
EG_API eg_module *eg_layer_norm_new_with(eg_shape shape, const eg_norm_layer_options *options);
#define eg_layer_norm_new(...)         EG_LAYER_NORM_NEW_(__VA_ARGS__, )
#define EG_LAYER_NORM_NEW_(shape, ...) eg_layer_norm_new_with(shape, EG_OPTIONS_(eg_norm_layer_options, __VA_ARGS__))

/* eg_instance_norm over [N, channels, spatial...]: weight of ones, bias of zeros, one per channel. */
EG_API eg_module *eg_instance_norm_new_with(int64_t channels, const eg_norm_layer_options *options);
#define eg_instance_norm_new(...) EG_INSTANCE_NORM_NEW_(__VA_ARGS__, )
#define EG_INSTANCE_NORM_NEW_(channels, ...) \
    eg_instance_norm_new_with(channels, EG_OPTIONS_(eg_norm_layer_options, __VA_ARGS__))

/* eg_rms_norm over the last axes of x, which have this shape, as the weight of ones has. There is no bias. */
EG_API eg_module *eg_rms_norm_new_with(eg_shape shape, const eg_norm_layer_options *options);
#define eg_rms_norm_new(...)         EG_RMS_NORM_NEW_(__VA_ARGS__, )
#define EG_RMS_NORM_NEW_(shape, ...) eg_rms_norm_new_with(shape, EG_OPTIONS_(eg_norm_layer_options, __VA_ARGS__))

/* eg_local_response_norm (ops/norm.h): eg_local_response_norm_new(.channels = 9, .alpha = 1e-3). */
EG_API eg_module *eg_local_response_norm_new_with(const eg_local_response_norm_options *options);
#define eg_local_response_norm_new(...) \
    eg_local_response_norm_new_with(EG_OPTIONS_(eg_local_response_norm_options, __VA_ARGS__))

/* x * weight along axis 1, one weight per channel, all `value` at first: layer scale (Touvron et al. 2021). */
EG_API eg_module *eg_layer_scale_new(int64_t channels, double value);

/* eg_max_pool1d, 2d, 3d and eg_avg_pool1d, 2d, 3d (ops/pool.h): eg_max_pool2d_new(.kernel = 2). What
 * can only be told from x is refused at the first forward. EG_EINVAL without a kernel, or with
 * indices, which a layer has no place for. */
EG_API eg_module *eg_max_pool1d_new_with(const eg_pool_options *options);
EG_API eg_module *eg_max_pool2d_new_with(const eg_pool_options *options);
EG_API eg_module *eg_max_pool3d_new_with(const eg_pool_options *options);
EG_API eg_module *eg_avg_pool1d_new_with(const eg_pool_options *options);
EG_API eg_module *eg_avg_pool2d_new_with(const eg_pool_options *options);
EG_API eg_module *eg_avg_pool3d_new_with(const eg_pool_options *options);
#define eg_max_pool1d_new(...)      EG_POOL_NEW_(eg_max_pool1d_new_with, __VA_ARGS__)
#define eg_max_pool2d_new(...)      EG_POOL_NEW_(eg_max_pool2d_new_with, __VA_ARGS__)
#define eg_max_pool3d_new(...)      EG_POOL_NEW_(eg_max_pool3d_new_with, __VA_ARGS__)
#define eg_avg_pool1d_new(...)      EG_POOL_NEW_(eg_avg_pool1d_new_with, __VA_ARGS__)
#define eg_avg_pool2d_new(...)      EG_POOL_NEW_(eg_avg_pool2d_new_with, __VA_ARGS__)
#define eg_avg_pool3d_new(...)      EG_POOL_NEW_(eg_avg_pool3d_new_with, __VA_ARGS__)
#define EG_POOL_NEW_(function, ...) function(EG_OPTIONS_(eg_pool_options, __VA_ARGS__))

/* The mean over all spatial axes of [N, C, spatial...]: [N, C]. */
EG_API eg_module *eg_global_avg_pool_new(void);

/* eg_resize of [N, C, spatial...] (ops/resize.h): to sizes, EG_SHAPE(64, 64), or with sizes of -1 by
 * .scale = {2, 2}. */
EG_API eg_module *eg_resize_new_with(eg_shape sizes, const eg_resize_options *options);
#define eg_resize_new(...)         EG_RESIZE_NEW_(__VA_ARGS__, )
#define EG_RESIZE_NEW_(sizes, ...) eg_resize_new_with(sizes, EG_OPTIONS_(eg_resize_options, __VA_ARGS__))

EG_END_DECLS

#endif
