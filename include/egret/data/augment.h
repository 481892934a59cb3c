/* augment.h - changing images and their labels by chance, so that a net sees none twice.
 *
 * x is an image [C, H, W] or a batch [N, C, H, W] as in image_ops.h, on the CPU; what is drawn comes from the calling
 * thread's stream (eg_seed) and holds for all of x. Nothing but eg_mixup and eg_cutmix has a gradient. */
#ifndef EGRET_DATA_AUGMENT_H
#define EGRET_DATA_AUGMENT_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- one change at a time: as torchvision has them, of u8 rounded to the nearest; max is 255 or 1 -------------- */

/* The upper `bits` bits of 8 stay, 0..8; floats to the lower of 2^bits steps. */
EG_API eg_tensor *eg_image_posterize(eg_tensor *x, int bits);
/* max - x where x is the threshold or more. */
EG_API eg_tensor *eg_image_solarize(eg_tensor *x, double threshold);
/* Each channel of each image stretched to 0..max; one that has a single value stays. */
EG_API eg_tensor *eg_image_autocontrast(eg_tensor *x);
/* Each channel of each image so that all values are about equally frequent; floats in 256 steps. */
EG_API eg_tensor *eg_image_equalize(eg_tensor *x);
/* factor x + (1 - factor) m, limited; m is the mean of 3 x 3 pixels, of which the middle counts 5 times; pixels at the
 * border stay. 0: blurred, 1: x, above: sharper. */
EG_API eg_tensor *eg_image_sharpness(eg_tensor *x, double factor);

typedef struct eg_cutout_options {
    size_t size;
    int holes;   /* 0: 1 */
    double fill; /* what is in them */
} eg_cutout_options;
/* Squares of `side` pixels around any pixel, as far as they are in the image, become `fill` (DeVries and Taylor
 * 2017). */
EG_API eg_tensor *eg_image_cutout_with(eg_tensor *x, int64_t side, const eg_cutout_options *options);
#define eg_image_cutout(...)           EG_IMAGE_CUTOUT_(__VA_ARGS__, )
#define EG_IMAGE_CUTOUT_(x, side, ...) eg_image_cutout_with(x, side, EG_OPTIONS_(eg_cutout_options, __VA_ARGS__))

/* ---- changes with a magnitude ---------------------------------------------------------------------------------- */

/* What RandAugment draws from, as torchvision has it, and what a magnitude m is. */
typedef enum eg_augment {
    EG_AUGMENT_IDENTITY,
    EG_AUGMENT_SHEAR_X, /* rows move by m of their place; m to 0.3, either way */
    EG_AUGMENT_SHEAR_Y,
    EG_AUGMENT_TRANSLATE_X, /* whole pixels; to 150/331 of the width, either way */
    EG_AUGMENT_TRANSLATE_Y,
    EG_AUGMENT_ROTATE,     /* degrees; to 30, either way */
    EG_AUGMENT_BRIGHTNESS, /* factors 1 + m; m to 0.9, either way */
    EG_AUGMENT_COLOUR,
    EG_AUGMENT_CONTRAST,
    EG_AUGMENT_SHARPNESS,
    EG_AUGMENT_POSTERIZE, /* bits; from 8 down to 4 */
    EG_AUGMENT_SOLARIZE,  /* the threshold in 0..255, also of floats; from 255 down to 0 */
    EG_AUGMENT_AUTOCONTRAST,
    EG_AUGMENT_EQUALIZE,
    EG_AUGMENT_COUNT
} eg_augment;

typedef struct eg_augment_options {
    size_t size;
    bool bilinear; /* what is moved is a mean of four pixels instead of the nearest */
    double fill;   /* what comes in */
} eg_augment_options;

/* One change of a given magnitude; of 1 or 3 channels. EG_EINVAL for no such change, or a magnitude it cannot have. */
EG_API eg_tensor *eg_image_augment_with(eg_tensor *x, eg_augment what, double magnitude,
                                        const eg_augment_options *options);
#define eg_image_augment(...) EG_IMAGE_AUGMENT_(__VA_ARGS__, )
#define EG_IMAGE_AUGMENT_(x, what, magnitude, ...) \
    eg_image_augment_with(x, what, magnitude, EG_OPTIONS_(eg_augment_options, __VA_ARGS__))

typedef struct eg_rand_augment_options {
    size_t size;
    int ops;          /* changes, one after the other; 0: 2, EG_ZERO: none */
    double magnitude; /* of each its place in its range, below `bins`; 0: 9 */
    int bins;         /* places of a range; 0: 31 */
    bool bilinear;    /* as above */
    double fill;
} eg_rand_augment_options;

/* .ops changes, any of eg_augment, each of the same place in its range and, where there are two, either way
 * (RandAugment, Cubuk et al. 2019). */
EG_API eg_tensor *eg_image_rand_augment_with(eg_tensor *x, const eg_rand_augment_options *options);
#define eg_image_rand_augment(...)     EG_IMAGE_RAND_AUGMENT_(__VA_ARGS__, )
#define EG_IMAGE_RAND_AUGMENT_(x, ...) eg_image_rand_augment_with(x, EG_OPTIONS_(eg_rand_augment_options, __VA_ARGS__))

/* ---- batches and their labels ---------------------------------------------------------------------------------- */

typedef struct eg_mix_options {
    size_t size;
    double alpha; /* the share of the first is drawn from Beta(alpha, alpha); 0: 1 */
    double share; /* that share itself, 0..1, instead; 0: drawn, EG_ZERO: 0 */
} eg_mix_options;

/* A batch x [N, ...] of floats in which each is mixed with the one before it, the first with the last: `mixed` is
 * share x + (1 - share) other (Zhang et al. 2017). y is its labels [N], integers of 0..classes - 1, or what they should
 * be, floats [N, classes]; `soft` becomes the same mixture of them, f32 [N, classes], which eg_cross_entropy takes.
 * EG_ESHAPE where x and y do not go together; EG_EINVAL for a share outside 0..1, alpha below 0. */
EG_API eg_status eg_mixup_with(eg_tensor *x, eg_tensor *y, int64_t classes, eg_tensor **mixed, eg_tensor **soft,
                               const eg_mix_options *options);
#define eg_mixup(...) EG_MIXUP_(__VA_ARGS__, )
#define EG_MIXUP_(x, y, classes, mixed, soft, ...) \
    eg_mixup_with(x, y, classes, mixed, soft, EG_OPTIONS_(eg_mix_options, __VA_ARGS__))

/* The same of images [N, C, H, W], u8 too, but that a box of 1 - share of the area around any pixel, as far as it is
 * in the image, comes from the other one; labels are mixed by what the areas then are (Yun et al. 2019). */
EG_API eg_status eg_cutmix_with(eg_tensor *x, eg_tensor *y, int64_t classes, eg_tensor **mixed, eg_tensor **soft,
                                const eg_mix_options *options);
#define eg_cutmix(...) EG_CUTMIX_(__VA_ARGS__, )
#define EG_CUTMIX_(x, y, classes, mixed, soft, ...) \
    eg_cutmix_with(x, y, classes, mixed, soft, EG_OPTIONS_(eg_mix_options, __VA_ARGS__))

EG_END_DECLS

#endif
