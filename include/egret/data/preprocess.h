/* preprocess.h - what photos go through before they are shown to a net: the recipes of published nets by name, for
 * training and for evaluation. The first four are slim's (tensorflow/models, research/slim/preprocessing), which
 * published weights were trained with; eg_model_info (models.h) says which a net wants.
 *
 *     recipe          training                                       evaluation                     numbers
 *
 *     inception       a distorted box (eg_image_distorted_box)       the middle 7/8 of each side,   x / 127.5 - 1
 *                     resized, mirrored, brightness by up to         resized
 *                     32/255, saturation by 0.5..1.5, in either
 *                     order, limited to 0..1; .thorough: also hue
 *                     by up to 0.2 and contrast by 0.5..1.5, in
 *                     one of four orders, resized in one of four
 *                     ways
 *     vgg             the shorter side resized to 256..512, a        the shorter side resized to    x minus (123.68,
 *                     random crop, mirrored                          256, the middle                116.78, 103.94)
 *     cifarnet        4 zeros around, a random crop, mirrored,       the middle, or zeros around eg_image_standardise
 *                     brightness by up to 63, contrast by 0.2..1.8
 *     lenet           the middle, or zeros around                    the same                       (x - 128) / 128
 *     torch           RandomResizedCrop, mirrored                    the shorter side resized by    ImageNet's mean
 *                                                                    antialias, the middle 7/8      and std
 *     cnn_benchmarks  inception's box, mirrored, resized; all four   resized so that both sides     x / 127.5 - 1
 *                     colours in one of two orders (tensorflow/      are 1.145 of what is wanted,
 *                     benchmarks, tf_cnn_benchmarks)                 the middle
 *     efficientnet_   a distorted box of 0.08..1, resized            a square in the middle, 7/8    (x - 127) / 128
 *     lite            bicubic, mirrored (tensorflow/tpu, models/     of the shorter side, resized
 *                     official/efficientnet)                         bicubic
 *
 * Mirrored: with probability 1/2. Colours change as eg_image_tf_brightness and its neighbours do it. All but torch
 * resize as TensorFlow 1 does: output pixel o at o in / out, without antialias; bilinear where nothing else is said. */
#ifndef EGRET_DATA_PREPROCESS_H
#define EGRET_DATA_PREPROCESS_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_preprocess_info {
    const char *name;   /* "inception" */
    const char *source; /* whose it is */
    int64_t side;       /* of results where none is given, in pixels */
    int64_t channels;   /* of results where none are given */
} eg_preprocess_info;

/* How many recipes there are, and the i-th; EG_EINDEX outside 0..count - 1, of which all fields are then NULL and 0. */
EG_API int eg_preprocess_count(void);
EG_API eg_preprocess_info eg_preprocess_at(int i);
/* The recipe of that name; EG_EINDEX if there is none, in words that name them all. */
EG_API eg_preprocess_info eg_preprocess_find(const char *name);

/* How TensorFlow 1 resizes: each of these, or one of them, nearest first, by the place in the batch or drawn. */
typedef enum eg_preprocess_filter {
    EG_FILTER_BILINEAR,
    EG_FILTER_NEAREST,
    EG_FILTER_BICUBIC, /* Keys 1981 with a = -3/4 */
    EG_FILTER_AREA,    /* the mean of what an output pixel covers */
    EG_FILTER_IN_TURN,
} eg_preprocess_filter;

/* What a recipe has no use for it leaves alone. */
typedef struct eg_preprocess_options {
    size_t size;
    int64_t side;          /* of the result; 0: the recipe's */
    int64_t height, width; /* of the result where they differ; 0: side */
    int64_t channels;   /* of the result, 1 or 3: gray is 0.2989 R + 0.587 G + 0.114 B, or R = G = B; 0: the recipe's */
    bool train;         /* for training, by chance; else for evaluation */
    bool thorough;      /* inception: slim's fast_mode = False */
    bool no_colours;    /* brightness and so on stay as they are */
    bool no_flip;       /* nothing is mirrored */
    int64_t place;      /* in the batch, from 1: orders of colours and ways of resizing take turns; 0: they are drawn */
    eg_tensor *boxes;   /* objects of which a box must show some, as in eg_image_distorted_box; none: the image */
    double area[2];     /* share of the image in a box, from..to; zeros: 0.05..1 or, torch and lite, 0.08..1 */
    double centre;      /* inception: share of each side that is evaluated; 0: 0.875 */
    int64_t shorter[2]; /* what the shorter side is resized to, vgg: from..to, for evaluation the first; zeros:
                           256..512 for 224 pixels, others in proportion */
    int64_t padding;    /* cifarnet: zeros on each side; 0: 4, EG_ZERO: none */
    int64_t max_pixels; /* of what is decoded; 0: as in eg_image_options */
    eg_preprocess_filter filter; /* cnn_benchmarks: how a box, or the image, is resized */
} eg_preprocess_options;

/* An image u8 [C, H, W] of 1, 3 or 4 channels, the fourth of which is not looked at, as f32 [channels, height, width]
 * whose memory runs H, W, C. Chance comes from the calling thread's stream (eg_seed), so that it repeats, also in
 * eg_dataset_map. EG_EINDEX for a recipe there is not; EG_ESHAPE where a crop is larger than what it is cut from. */
EG_API eg_tensor *eg_preprocess_with(const char *name, eg_tensor *image, const eg_preprocess_options *options);
#define eg_preprocess(...) EG_PREPROCESS_(__VA_ARGS__, )
#define EG_PREPROCESS_(name, image, ...) \
    eg_preprocess_with(name, image, EG_OPTIONS_(eg_preprocess_options, __VA_ARGS__))

/* The same, bit for bit, of an encoded image, of which no more is decoded than that takes: damage elsewhere is not
 * seen. Errors as eg_image_decode (image.h), too. */
EG_API eg_tensor *eg_preprocess_decode_with(const char *name, const void *data, size_t bytes,
                                            const eg_preprocess_options *options);
#define eg_preprocess_decode(...) EG_PREPROCESS_DECODE_(__VA_ARGS__, )
#define EG_PREPROCESS_DECODE_(name, data, bytes, ...) \
    eg_preprocess_decode_with(name, data, bytes, EG_OPTIONS_(eg_preprocess_options, __VA_ARGS__))

EG_END_DECLS

#endif
