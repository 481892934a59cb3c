/* parts.h - what nets for images are made of. Constructors own what they are given, and pass a NULL on. */
#ifndef EGRET_NN_MODELS_VISION_PARTS_H
#define EGRET_NN_MODELS_VISION_PARTS_H

#include "nn/models/parts.h"

/* What the convolutions of one net share. */
typedef struct eg__style {
    double momentum, eps; /* of batch norm */
    bool no_weight;       /* of it */
    eg_tensor *(*activation)(eg_tensor *x);
} eg__style;

/* With these as the family's own. */
eg__style eg__style_of(const eg_model_options *o, double momentum, double eps, eg_tensor *(*activation)(eg_tensor *x));

typedef struct eg__conv {
    size_t size;           /* of no meaning: the first member of an empty list */
    int64_t rows, columns; /* the kernel's, where it is no square */
    int64_t stride, dilation, groups;
    int64_t pad;  /* on both sides; 0: as many as keep the size, or ceil(size / stride) */
    bool valid;   /* no padding */
    bool linear;  /* no activation */
    bool no_norm; /* a bias instead */
} eg__conv;

/* A sequence of convolution, norm and activation. */
eg_module *eg__conv_new_with(const eg__style *s, const char *name, int64_t in, int64_t out, int64_t kernel, eg__conv o);
#define eg__conv_new(s, name, in, out, ...) EG__CONV_NEW_(s, name, in, out, __VA_ARGS__, )
#define EG__CONV_NEW_(s, name, in, out, kernel, ...) \
    eg__conv_new_with(s, name, in, out, kernel, (eg__conv){.size = 0, __VA_ARGS__})

/* Of a kernel one cell high, and one cell wide. */
#define eg__row_new(s, name, in, out, length)    eg__conv_new(s, name, in, out, 0, .rows = 1, .columns = length)
#define eg__column_new(s, name, in, out, length) eg__conv_new(s, name, in, out, 0, .rows = length, .columns = 1)

/* Only the norm, fused with a relu where that is the activation. */
eg_module *eg__norm_new(const eg__style *s, int64_t channels, bool linear);

/* Pools of TensorFlow's paddings. */
eg_module *eg__max_pool_new(int64_t kernel, int64_t stride, int64_t padding);
eg_module *eg__avg_pool_new(int64_t kernel, int64_t stride, int64_t padding);

/* A convolution with a bias and as large as what it is for, most often: then it is computed as the dense layer it is.
 */
eg_module *eg__dense_conv_new(const char *name, int64_t in, int64_t out, int64_t kernel);

/* Mean over all places, dropout, and a dense layer "fc": the end of most nets. What options say to all of these is
 * heard; dropout is the net's own. */
eg_module *eg__head_new(const char *name, int64_t in, int64_t classes, double dropout, const eg_model_options *o);

/* rest(body(x)); what aux makes of body(x) is for eg_model_forward. Children "body", "aux" and "rest". NULL for aux
 * with .no_aux. */
eg_module *eg__with_aux_new(eg_module *body, eg_module *aux, eg_module *rest, const eg_model_options *o);
/* The usual aux: a mean of 5 x 5 places, 1 x 1 to 128, all places to 768, logits. */
eg_module *eg__aux_new(const eg__style *s, int64_t in, int64_t places, int64_t classes, const eg_model_options *o);
/* For modules that hold an aux of their own, inside their forward: whether it is asked for, and what it made. */
bool eg__aux_wanted(const eg_module *m);
void eg__aux_made(eg_tensor *logits);

/* Stages first .. last - 1 of the four of eg_resnet_v1_new, dilated where they would go beyond the stride; the first
 * with what is in front of them. */
eg_module *eg__resnet_v1_stages_new(int layers, int first, int last, int64_t stride, int64_t channels);

/* The multiple of 8 nearest to a number of channels, but no more than a tenth below. */
int64_t eg__divisible(double channels);

/* Checks options and fills in classes and channels. `takes` are the options a net understands beside those all do. */
typedef enum eg__takes {
    EG__TAKES_NOTHING = 0,
    EG__TAKES_SIDE = 1,
    EG__TAKES_DROP_PATH = 2,
    EG__TAKES_WIDTH = 4,
    EG__TAKES_STRIDE = 8,
    EG__TAKES_AUX = 16,
    EG__TAKES_NO_NORM = 32,    /* so no bn_... */
    EG__TAKES_NO_DROPOUT = 64, /* so no dropout */
    EG__TAKES_WHOLE = 128,     /* so no no_global_pool */
} eg__takes;
bool eg__model_options(const char *op, const eg_model_options *given, int64_t classes, int64_t channels, int takes,
                       eg_model_options *o);

#endif
