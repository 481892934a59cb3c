/* nn.h - modules: functions with parameters, put together like building blocks.
 *
 *     eg_module *net = eg_sequential_new(
 *         eg_conv2d_new(1, 32, .kernel = 3, .padding = EG_SAME), eg_activation_new(eg_relu),
 *         eg_max_pool2d_new(.kernel = 2), eg_flatten_new(), eg_linear_new(32 * 14 * 14, 10));
 *     eg_tensor *logits = eg_module_forward(net, images);
 *     eg_module_free(net);
 *
 * A module owns its children, parameters and buffers (running statistics and the like). What is given to a
 * constructor belongs to it from then on, also when it fails: a NULL anywhere frees the others and the result
 * is NULL, so one check at the end covers all. Names are PyTorch's for the same layer ("0.weight",
 * "4.bias"), so that published weights load. Parameters begin as PyTorch's layers begin, with numbers from
 * the calling thread's random sequence (eg_seed). A new module is in training mode.
 *
 * Modules are not locked: use one from several threads only where nothing changes it (eval mode). */
#ifndef EGRET_NN_H
#define EGRET_NN_H

#include <egret/base.h>
#include <egret/io.h>
#include <egret/ops/padding.h>
#include <egret/ops/pool.h>
#include <egret/parameters.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- using modules ----------------------------------------------------------------------- */

typedef struct eg_module eg_module;

/* What the module makes of x. Works in a scope of its own: of its temporaries only the result stays, and
 * what an open tape saves. */
EG_API eg_tensor *eg_module_forward(eg_module *m, eg_tensor *x);

/* Whether dropout drops and batch norm uses the batch's statistics, for the module and all below it. NULL
 * is the recorded failure, or EG_EINVAL. */
EG_API eg_status eg_module_train(eg_module *m);
EG_API eg_status eg_module_eval(eg_module *m);

/* Frees the module and all below it. NULL is fine; EG_ESTATE for a module that another one owns. */
EG_API eg_status eg_module_free(eg_module *m);

/* All parameters with their names, in the order of the members. The list is the module's, until it is asked
 * again or freed. tensors is NULL for a NULL module and after a failure. */
EG_API eg_parameters eg_module_parameters(eg_module *m);
/* Parameters and buffers by name: all that must be saved. A map of the caller's, for eg_tensors_free; the
 * tensors are the module's own, not copies. */
EG_API eg_tensors *eg_module_state(eg_module *m);

/* What loading may leave out. Zero-initialised: names must agree on both sides. */
typedef struct eg_load_options {
    size_t size;
    bool allow_missing;    /* members the source does not have keep their values */
    bool allow_unexpected; /* tensors of the source that are nobody's are ignored */
} eg_load_options;

/* Writes the source's tensors over the members of the same names, converted between float dtypes where they
 * differ. EG_EFORMAT names what is missing or unexpected, EG_ESHAPE or EG_EDTYPE what does not fit;
 * EG_ESTATE while an open tape follows a parameter. After a refusal nothing has changed. */
EG_API eg_status eg_module_load_state_with(eg_module *m, const eg_tensors *source,
                                           const eg_load_options *options);
#define eg_module_load_state(...)                                                                  \
    EG_MODULE_LOAD_STATE_(__VA_ARGS__, .size = sizeof(eg_load_options))
#define EG_MODULE_LOAD_STATE_(m, source, ...)                                                      \
    eg_module_load_state_with(m, source, &(eg_load_options){__VA_ARGS__})

/* The state as a safetensors file (io.h), replaced whole or not at all. */
EG_API eg_status eg_module_save(eg_module *m, const char *path);
EG_API eg_status eg_module_load_with(eg_module *m, const char *path, const eg_load_options *options);
#define eg_module_load(...) EG_MODULE_LOAD_(__VA_ARGS__, .size = sizeof(eg_load_options))
#define EG_MODULE_LOAD_(m, path, ...)                                                              \
    eg_module_load_with(m, path, &(eg_load_options){__VA_ARGS__})

/* ---- containers and layers --------------------------------------------------------------- */

/* One after the other; children are named "0", "1", ... */
EG_API eg_module *eg_sequential_new_with(eg_module *const *modules, int count);
#define eg_sequential_new(...)                                                                     \
    eg_sequential_new_with((eg_module *[]){__VA_ARGS__}, EG_COUNT_(eg_module *, __VA_ARGS__))

/* A function without parameters: eg_activation_new(eg_relu). */
EG_API eg_module *eg_activation_new(eg_tensor *(*function)(eg_tensor *x));

/* Axes 1 and up joined into one. */
EG_API eg_module *eg_flatten_new(void);

/* Drops with probability p while training (eg_dropout); EG_EINVAL unless 0 <= p <= 1. */
EG_API eg_module *eg_dropout_new(double p);

typedef struct eg_linear_layer_options {
    size_t size;
    bool no_bias;
    eg_dtype dtype; /* a float dtype; 0: f32 */
} eg_linear_layer_options;

/* y = x weight^T + bias: weight [out, in], bias [out], both uniform within 1 / sqrt(in). */
EG_API eg_module *eg_linear_new_with(int64_t in, int64_t out, const eg_linear_layer_options *options);
#define eg_linear_new(...) EG_LINEAR_NEW_(__VA_ARGS__, .size = sizeof(eg_linear_layer_options))
#define EG_LINEAR_NEW_(in, out, ...) eg_linear_new_with(in, out, &(eg_linear_layer_options){__VA_ARGS__})

/* As eg_conv_options (ops/conv.h), with the kernel's sizes. A number for all axes or, where an entry of the
 * array is not 0, one per axis. */
typedef struct eg_conv_layer_options {
    size_t size;
    int64_t kernel; /* must be given, here or per axis */
    int64_t kernels[3];
    int64_t stride, dilation, groups; /* 0: 1 */
    int64_t padding;                  /* cells on both sides, or EG_SAME; 0: none */
    int64_t strides[3], dilations[3];
    int64_t pads[3][2]; /* cells before and after each axis, instead of padding */
    bool no_bias;
    eg_dtype dtype; /* a float dtype; 0: f32 */
} eg_conv_layer_options;

/* eg_conv1d, 2d, 3d: weight [out, in / groups, kernel...], bias [out], both uniform within
 * 1 / sqrt(in / groups * cells of the kernel). */
EG_API eg_module *eg_conv1d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options);
EG_API eg_module *eg_conv2d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options);
EG_API eg_module *eg_conv3d_new_with(int64_t in, int64_t out, const eg_conv_layer_options *options);
#define eg_conv1d_new(...)                                                                         \
    EG_CONV_NEW_(eg_conv1d_new_with, __VA_ARGS__, .size = sizeof(eg_conv_layer_options))
#define eg_conv2d_new(...)                                                                         \
    EG_CONV_NEW_(eg_conv2d_new_with, __VA_ARGS__, .size = sizeof(eg_conv_layer_options))
#define eg_conv3d_new(...)                                                                         \
    EG_CONV_NEW_(eg_conv3d_new_with, __VA_ARGS__, .size = sizeof(eg_conv_layer_options))
#define EG_CONV_NEW_(function, in, out, ...)                                                       \
    function(in, out, &(eg_conv_layer_options){__VA_ARGS__})

typedef struct eg_batch_norm_layer_options {
    size_t size;
    double momentum; /* weight of the batch in the running statistics; 0: 0.1 */
    double eps;      /* 0: 1e-5 */
    bool no_affine;  /* without weight and bias */
    bool biased;     /* the running variance takes the biased variance */
    eg_dtype dtype;  /* 0: f32 */
} eg_batch_norm_layer_options;

/* eg_batch_norm over [N, features, ...]: weight of ones, bias of zeros; buffers running_mean, running_var and
 * num_batches_tracked (i64), which counts training batches. */
EG_API eg_module *eg_batch_norm_new_with(int64_t features, const eg_batch_norm_layer_options *options);
#define eg_batch_norm_new(...)                                                                     \
    EG_BATCH_NORM_NEW_(__VA_ARGS__, .size = sizeof(eg_batch_norm_layer_options))
#define EG_BATCH_NORM_NEW_(features, ...)                                                          \
    eg_batch_norm_new_with(features, &(eg_batch_norm_layer_options){__VA_ARGS__})

typedef struct eg_norm_layer_options {
    size_t size;
    double eps;     /* 0: 1e-5 */
    bool no_affine; /* without weight and bias */
    bool no_bias;
    eg_dtype dtype; /* 0: f32 */
} eg_norm_layer_options;

/* eg_group_norm over [N, channels, spatial...]: weight of ones, bias of zeros, one per channel. */
EG_API eg_module *eg_group_norm_new_with(int64_t groups, int64_t channels,
                                         const eg_norm_layer_options *options);
#define eg_group_norm_new(...)                                                                     \
    EG_GROUP_NORM_NEW_(__VA_ARGS__, .size = sizeof(eg_norm_layer_options))
#define EG_GROUP_NORM_NEW_(groups, channels, ...)                                                  \
    eg_group_norm_new_with(groups, channels, &(eg_norm_layer_options){__VA_ARGS__})

/* eg_layer_norm over the last axes of x, which have this shape, as weight and bias do:
 * eg_layer_norm_new(EG_SHAPE(768)). */
EG_API eg_module *eg_layer_norm_new_with(eg_shape shape, const eg_norm_layer_options *options);
#define eg_layer_norm_new(...)                                                                     \
    EG_LAYER_NORM_NEW_(__VA_ARGS__, .size = sizeof(eg_norm_layer_options))
#define EG_LAYER_NORM_NEW_(shape, ...)                                                             \
    eg_layer_norm_new_with(shape, &(eg_norm_layer_options){__VA_ARGS__})

/* eg_max_pool1d, 2d, 3d and eg_avg_pool1d, 2d, 3d (ops/pool.h): eg_max_pool2d_new(.kernel = 2). What
 * can only be told from x is refused at the first forward. EG_EINVAL without a kernel, or with
 * indices, which a layer has no place for. */
EG_API eg_module *eg_max_pool1d_new_with(const eg_pool_options *options);
EG_API eg_module *eg_max_pool2d_new_with(const eg_pool_options *options);
EG_API eg_module *eg_max_pool3d_new_with(const eg_pool_options *options);
EG_API eg_module *eg_avg_pool1d_new_with(const eg_pool_options *options);
EG_API eg_module *eg_avg_pool2d_new_with(const eg_pool_options *options);
EG_API eg_module *eg_avg_pool3d_new_with(const eg_pool_options *options);
#define eg_max_pool1d_new(...) EG_POOL_NEW_(eg_max_pool1d_new_with, __VA_ARGS__)
#define eg_max_pool2d_new(...) EG_POOL_NEW_(eg_max_pool2d_new_with, __VA_ARGS__)
#define eg_max_pool3d_new(...) EG_POOL_NEW_(eg_max_pool3d_new_with, __VA_ARGS__)
#define eg_avg_pool1d_new(...) EG_POOL_NEW_(eg_avg_pool1d_new_with, __VA_ARGS__)
#define eg_avg_pool2d_new(...) EG_POOL_NEW_(eg_avg_pool2d_new_with, __VA_ARGS__)
#define eg_avg_pool3d_new(...) EG_POOL_NEW_(eg_avg_pool3d_new_with, __VA_ARGS__)
#define EG_POOL_NEW_(function, ...)                                                                \
    function(&(eg_pool_options){__VA_ARGS__, .size = sizeof(eg_pool_options)})

/* The mean over all spatial axes of [N, C, spatial...]: [N, C]. */
EG_API eg_module *eg_global_avg_pool_new(void);

/* ---- modules of your own ----------------------------------------------------------------- *
 *
 *     typedef struct block {
 *         eg_module base; // first
 *         eg_module *conv, *norm;
 *     } block;
 *
 *     static eg_tensor *block_forward(eg_module *m, eg_tensor *x)
 *     {
 *         block *b = (block *)m;
 *         return eg_relu(eg_add(x, eg_module_forward(b->norm, eg_module_forward(b->conv, x))));
 *     }
 *
 *     static void block_members(eg_module *m, eg_members *members)
 *     {
 *         block *b = (block *)m;
 *         eg_member_child(members, "conv", &b->conv);
 *         eg_member_child(members, "norm", &b->norm);
 *     }
 *
 *     static const eg_module_kind block_kind = {
 *         .size = sizeof(eg_module_kind), .name = "block", .forward = block_forward,
 *         .members = block_members};
 *
 *     eg_module *block_new(int64_t channels)
 *     {
 *         block *b = eg_module_new(sizeof *b, &block_kind);
 *         if (!b) {
 *             return NULL;
 *         }
 *         b->conv = eg_conv2d_new(channels, channels, .kernel = 3, .padding = EG_SAME);
 *         b->norm = eg_batch_norm_new(channels);
 *         return eg_module_finish(&b->base);
 *     }
 */

typedef struct eg_members eg_members;

/* What a kind of module is; must outlive its modules. */
typedef struct eg_module_kind {
    size_t size;
    const char *name; /* for messages */
    eg_tensor *(*forward)(eg_module *m, eg_tensor *x);
    /* Names what the module owns, each time the same in the same order, with eg_member_...; NULL: nothing. */
    void (*members)(eg_module *m, eg_members *members);
    /* Frees what the module owns besides its members and its own memory; NULL: nothing. */
    void (*free)(eg_module *m);
} eg_module_kind;

/* The first member of every module. */
struct eg_module {
    const eg_module_kind *kind;
    eg_module *parent; /* who owns it; NULL: the caller */
    bool training;     /* read by forward */
    void *list;        /* of eg_module_parameters */
    void *reserved[4];
};

/* Zeroed memory for a module of this kind, whose struct has `size` bytes. */
EG_API void *eg_module_new(size_t size, const eg_module_kind *kind);
/* Ends a constructor: returns m, which now owns its members; or frees it with all of them and returns NULL,
 * if one of them is NULL or, EG_ESTATE, is a child of another module already. */
EG_API eg_module *eg_module_finish(eg_module *m);

/* What kind->members calls. Leave out an optional member that is not there. Parameters come from
 * eg_parameter, buffers from eg_keep. */
EG_API void eg_member_child(eg_members *members, const char *name, eg_module **child);
EG_API void eg_member_parameter(eg_members *members, const char *name, eg_tensor **parameter);
EG_API void eg_member_buffer(eg_members *members, const char *name, eg_tensor **buffer);

EG_END_DECLS

#endif
