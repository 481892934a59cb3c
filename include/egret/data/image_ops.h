/* image_ops.h - cutting, turning and colouring images, for data chains.
 *
 * x is an image [C, H, W] or a batch [N, C, H, W] (more axes in front are fine), u8 of 0..255 or
 * floats of 0..1. Of u8 the arithmetic is f32 and the result rounded to the nearest u8. The
 * memory's order (H, W, C of what codecs give) is kept. What is made of public ops (ops.h) has a
 * gradient; rotation, affine maps, and what is done in HSV have none. The random ones draw from the calling thread's
 * stream (eg_seed), so they repeat. */
#ifndef EGRET_DATA_IMAGE_OPS_H
#define EGRET_DATA_IMAGE_OPS_H

#include <egret/ops/join.h>
#include <egret/ops/resize.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- cutting and turning: views ------------------------------------------------------------- */

/* Rows top .. top + height - 1, columns alike. EG_EINDEX where they leave x. */
EG_API eg_tensor *eg_image_crop(eg_tensor *x, int64_t top, int64_t left, int64_t height, int64_t width);
/* The middle; an odd rest is split as torchvision does, (H - height) / 2 rounded half to even. */
EG_API eg_tensor *eg_image_center_crop(eg_tensor *x, int64_t height, int64_t width);
/* Any place, all alike. */
EG_API eg_tensor *eg_image_random_crop(eg_tensor *x, int64_t height, int64_t width);
/* Left and right, top and bottom exchanged. */
EG_API eg_tensor *eg_image_flip_horizontal(eg_tensor *x);
EG_API eg_tensor *eg_image_flip_vertical(eg_tensor *x);
/* Each with its own probability; one draw for the whole of x. */
EG_API eg_tensor *eg_image_random_flip(eg_tensor *x, double horizontal, double vertical);
/* Turned by 90 degrees counter-clockwise, `quarters` times; negative: clockwise. */
EG_API eg_tensor *eg_image_turn(eg_tensor *x, int quarters);

/* ---- another size or angle ------------------------------------------------------------------ */

/* Rows and columns added around x, as eg_pad does. */
EG_API eg_tensor *eg_image_pad(eg_tensor *x, int64_t top, int64_t bottom, int64_t left, int64_t right, eg_pad_mode mode,
                               double value);

/* To height x width by eg_resize, whose options these are: .mode, .grid, .antialias, .cubic. */
EG_API eg_tensor *eg_image_resize_with(eg_tensor *x, int64_t height, int64_t width, const eg_resize_options *options);
#define eg_image_resize(...) EG_IMAGE_RESIZE_(__VA_ARGS__, )
#define EG_IMAGE_RESIZE_(x, height, width, ...) \
    eg_image_resize_with(x, height, width, EG_OPTIONS_(eg_resize_options, __VA_ARGS__))

typedef struct eg_rotate_options {
    size_t size;
    bool nearest; /* the pixel met instead of a bilinear mean of four */
    bool expand;  /* make the result as large as the turned image; multiples of 90 degrees move pixels exactly */
    double fill;  /* what lies outside, at the edge by its share; torchvision weighs the image twice
                     there if it is given one */
} eg_rotate_options;

/* Turned counter-clockwise about the centre ((W - 1) / 2, (H - 1) / 2), as torchvision's rotate
 * does; computed in f32. EG_EINVAL for an angle that is not finite. */
EG_API eg_tensor *eg_image_rotate_with(eg_tensor *x, double degrees, const eg_rotate_options *options);
#define eg_image_rotate(...)              EG_IMAGE_ROTATE_(__VA_ARGS__, )
#define EG_IMAGE_ROTATE_(x, degrees, ...) eg_image_rotate_with(x, degrees, EG_OPTIONS_(eg_rotate_options, __VA_ARGS__))

typedef struct eg_affine_options {
    size_t size;
    double degrees;     /* turned clockwise */
    double right, down; /* then moved by so many pixels */
    double scale;       /* larger by this; 0: 1 */
    double shear[2];    /* degrees by which rows move along x, columns along y */
    double centre[2];   /* x, y of what turning, shearing and scaling leave where it is; 0: the middle, EG_ZERO: 0 */
    bool nearest;       /* the pixel met instead of a bilinear mean of four */
    double fill;        /* what lies outside, as in eg_image_rotate */
} eg_affine_options;

/* Sheared, turned, scaled and moved, as torchvision's affine does it; computed in f32. EG_EINVAL for what is not
 * finite, and a scale of 0 or less. */
EG_API eg_tensor *eg_image_affine_with(eg_tensor *x, const eg_affine_options *options);
#define eg_image_affine(...)     EG_IMAGE_AFFINE_(__VA_ARGS__, )
#define EG_IMAGE_AFFINE_(x, ...) eg_image_affine_with(x, EG_OPTIONS_(eg_affine_options, __VA_ARGS__))

typedef struct eg_translate_options {
    size_t size;
    bool nearest; /* by parts of a pixel too, the nearest one; of two as near that further down or right */
    double fill;  /* of what comes in */
} eg_translate_options;

/* Moved to the right and down by so many pixels, negative: to the left and up; with the same numbers an image and its
 * mask. By whole pixels, and with .nearest, pixels stay as they are and have a gradient; else they are bilinear means.
 * EG_EINVAL for what is not finite. */
EG_API eg_tensor *eg_image_translate_with(eg_tensor *x, double right, double down, const eg_translate_options *options);
#define eg_image_translate(...) EG_IMAGE_TRANSLATE_(__VA_ARGS__, )
#define EG_IMAGE_TRANSLATE_(x, right, down, ...) \
    eg_image_translate_with(x, right, down, EG_OPTIONS_(eg_translate_options, __VA_ARGS__))

/* The middle of x, and zeros around it where it is smaller (tf.image.resize_with_crop_or_pad): of an odd rest the
 * smaller half lies above and to the left. */
EG_API eg_tensor *eg_image_crop_or_pad(eg_tensor *x, int64_t height, int64_t width);

/* ---- colours: 1 or 3 channels; of one, saturation and hue change nothing -----------------------
 * The formulas are torchvision's; max is 255 or 1. EG_EINVAL for a factor below 0 or not finite. */

/* [.., 1, H, W]: 0.2989 R + 0.587 G + 0.114 B; of one channel x itself. */
EG_API eg_tensor *eg_image_gray(eg_tensor *x);
/* x factor, limited to 0..max. */
EG_API eg_tensor *eg_image_brightness(eg_tensor *x, double factor);
/* factor x + (1 - factor) m, limited; m is the mean gray of each image. */
EG_API eg_tensor *eg_image_contrast(eg_tensor *x, double factor);
/* factor x + (1 - factor) gray(x), limited. */
EG_API eg_tensor *eg_image_saturation(eg_tensor *x, double factor);
/* The hue of HSV moved by `shift` turns, -0.5..0.5. */
EG_API eg_tensor *eg_image_hue(eg_tensor *x, double shift);

typedef struct eg_jitter_options {
    size_t size;
    double brightness, contrast, saturation; /* factors from max(0, 1 - v)..1 + v; 0: left alone */
    double hue;                              /* shifts from -v..v, at most 0.5 */
} eg_jitter_options;
/* The four in random order with random amounts (torchvision's ColorJitter). */
EG_API eg_tensor *eg_image_jitter_with(eg_tensor *x, const eg_jitter_options *options);
#define eg_image_jitter(...)     EG_IMAGE_JITTER_(__VA_ARGS__, )
#define EG_IMAGE_JITTER_(x, ...) eg_image_jitter_with(x, EG_OPTIONS_(eg_jitter_options, __VA_ARGS__))

/* ---- colours as tf.image changes them --------------------------------------------------------
 * Beside those above, which are torchvision's. Floats may have any range and are not limited; of u8 the
 * result is limited, and a brightness of 1 is 255. EG_EINVAL for what is not finite, or out of range. */

/* x + delta. */
EG_API eg_tensor *eg_image_tf_brightness(eg_tensor *x, double delta);
/* (x - m) factor + m; m is the mean of each channel of each image. */
EG_API eg_tensor *eg_image_tf_contrast(eg_tensor *x, double factor);
/* The saturation of HSV times a factor, at most 1; 1 or 3 channels. */
EG_API eg_tensor *eg_image_tf_saturation(eg_tensor *x, double factor);
/* The hue of HSV moved by `shift` turns, -1..1; 1 or 3 channels. */
EG_API eg_tensor *eg_image_tf_hue(eg_tensor *x, double shift);

/* The same with a delta of -most..most, factors of low..high, 0 or more, a shift of -most..most, at most 0.5: one for
 * all of x. */
EG_API eg_tensor *eg_image_tf_random_brightness(eg_tensor *x, double most);
EG_API eg_tensor *eg_image_tf_random_contrast(eg_tensor *x, double low, double high);
EG_API eg_tensor *eg_image_tf_random_saturation(eg_tensor *x, double low, double high);
EG_API eg_tensor *eg_image_tf_random_hue(eg_tensor *x, double most);

/* ---- numbers for networks ------------------------------------------------------------------- */

/* f32: u8 divided by 255; other floats converted. */
EG_API eg_tensor *eg_image_to_float(eg_tensor *x);
/* u8: floats times 255, rounded, limited to 0..255. */
EG_API eg_tensor *eg_image_to_u8(eg_tensor *x);
/* (v - mean[c]) / std[c] with v = eg_image_to_float(x), for each of the C channels. EG_EINVAL for a
 * std of 0 or what is not finite. */
EG_API eg_tensor *eg_image_normalise(eg_tensor *x, const double *mean, const double *std);

/* (x - mean) / max(std, 1 / sqrt(n)) of all n numbers of each image (tf.image.per_image_standardization); f32 of u8. */
EG_API eg_tensor *eg_image_standardise(eg_tensor *x);

/* Means and deviations of ImageNet's photos in 0..1, as torchvision has them. */
#define EG_IMAGENET_MEAN EG_ARRAY_(const double, 0.485, 0.456, 0.406)
#define EG_IMAGENET_STD  EG_ARRAY_(const double, 0.229, 0.224, 0.225)

/* The three ways of keras-applications to prepare RGB, u8 or floats of 0..255; f32. */
typedef enum eg_keras_mode {
    EG_KERAS_CAFFE, /* B, G, R minus (103.939, 116.779, 123.68): VGG, ResNet */
    EG_KERAS_TF,    /* x / 127.5 - 1: Inception, Xception, MobileNet, NASNet */
    EG_KERAS_TORCH, /* x / 255, then ImageNet's mean and std: DenseNet */
} eg_keras_mode;
EG_API eg_tensor *eg_image_preprocess(eg_tensor *x, eg_keras_mode mode);

/* ---- training on photos --------------------------------------------------------------------- */

/* As a map of a chain, from eg_image_folder_new:
 *
 *     static eg_status prepare(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
 *     {
 *         out[0] = eg_image_decode_crop(eg_data(in[0]), (size_t)eg_numel(in[0]), 224, 224);
 *         out[1] = in[1];
 *         *m = 2;
 *         return out[0] ? EG_OK : eg_last_error()->code;
 *     }
 *     d = eg_dataset_map(eg_dataset_shuffle(photos, 10000), prepare, NULL, .workers = 8); */

/* Which part, and what is made of it. */
typedef struct eg_random_crop_options {
    size_t size;
    double scale[2];        /* share of the area, from..to; zeros: 0.08..1 */
    double ratio[2];        /* width / height, from..to; zeros: 3/4..4/3 */
    double centre;          /* above 0: no chance; the middle, this share of the shorter side (0.875) */
    bool no_flip;           /* otherwise mirrored left to right with probability 1/2 */
    bool exact;             /* decode JPEG in full even where it is then shrunk by 2, 4 or 8 */
    double mean[3], std[3]; /* zeros: left in 0..1 */
    int64_t max_pixels;     /* 0: as in eg_image_options */
} eg_random_crop_options;

/* Decodes an image and makes of a random part of it (Szegedy et al. 2015; drawn as torchvision's
 * RandomResizedCrop draws) an f32 [3, height, width] whose memory runs H, W, C: bilinear with
 * antialias, mirrored by chance, (v / 255 - mean) / std. Only the part is decoded. Errors as
 * eg_image_decode; EG_EINVAL for ranges that are none. */
EG_API eg_tensor *eg_image_decode_crop_with(const void *data, size_t bytes, int64_t height, int64_t width,
                                            const eg_random_crop_options *options);
#define eg_image_decode_crop(...) EG_IMAGE_DECODE_CROP_(__VA_ARGS__, )
#define EG_IMAGE_DECODE_CROP_(data, bytes, height, width, ...) \
    eg_image_decode_crop_with(data, bytes, height, width, EG_OPTIONS_(eg_random_crop_options, __VA_ARGS__))

/* Which part of a height x width image torchvision's RandomResizedCrop would take, from 22 numbers
 * of the calling thread's stream: out = top, left, height, width. */
EG_API eg_status eg_image_random_box(int64_t height, int64_t width, const double *scale, const double *ratio,
                                     int64_t out[4]);

typedef struct eg_distorted_box_options {
    size_t size;
    eg_tensor *boxes; /* objects, floats [n, 4]: top, left, bottom, right in 0..1; NULL: the image is the only one */
    bool or_image;    /* it also is where n is 0, instead of EG_EINVAL */
    double covered;   /* the share of at least one object that must be in the part; 0: 0.1 */
    double ratio[2];  /* width / height, from..to; zeros: 0.75..1.33 */
    double area[2];   /* share of the image, from..to; zeros: 0.05..1 */
    int attempts;     /* after which the whole image is taken; 0: 100 */
} eg_distorted_box_options;

/* Which part of a height x width image tf.image.sample_distorted_bounding_box would take: out = top, left, height,
 * width. Each attempt draws a ratio, then a height between those that the areas ask for, then a place, and is given up
 * if too little of every object is in it. Reads 4 words of the calling thread's stream for each attempt there may be;
 * after eg_seed(s) the parts are those of TensorFlow's op with seed = s and seed2 = 0. */
EG_API eg_status eg_image_distorted_box_with(int64_t height, int64_t width, int64_t out[4],
                                             const eg_distorted_box_options *options);
#define eg_image_distorted_box(...) EG_IMAGE_DISTORTED_BOX_(__VA_ARGS__, )
#define EG_IMAGE_DISTORTED_BOX_(height, width, out, ...) \
    eg_image_distorted_box_with(height, width, out, EG_OPTIONS_(eg_distorted_box_options, __VA_ARGS__))

EG_END_DECLS

#endif
