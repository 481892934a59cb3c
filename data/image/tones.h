/* tones.h - colours of many pixels at once: a few changes, one after the other, while they are at hand. */
#ifndef EGRET_TONES_H
#define EGRET_TONES_H

#include <egret/tensor.h>

typedef enum eg__tone_kind {
    EG__TONE_LINE,       /* a[c] x + b[c] */
    EG__TONE_LIMIT,      /* to a[0]..b[0] */
    EG__TONE_SATURATION, /* of HSV (Smith 1978) times a[0], up to 1; of three channels */
    EG__TONE_HUE,        /* of HSV moved by a[0] turns, in 0..1; of three channels */
} eg__tone_kind;

typedef struct eg__tone {
    eg__tone_kind kind;
    float a[3], b[3];
} eg__tone;

typedef struct eg__toning {
    float *p; /* pixels of 1 or 3 channels */
    int64_t pixels;
    int channels;
    const eg__tone *tone;
    int tones;
    bool sums;     /* are wanted */
    double sum[3]; /* of the results, by channel */
} eg__toning;

typedef void eg__tone_fn(eg__toning *t);

/* ---- colours as TensorFlow changes them ------------------------------------------------------------ */

typedef enum eg__colour { EG__BRIGHTNESS, EG__CONTRAST, EG__SATURATION, EG__HUE } eg__colour;

typedef struct eg__change {
    eg__colour of;
    float by; /* added; times, about each channel's mean; times; turns */
} eg__change;

enum { EG__MOST_CHANGES = 4 };

/* n changes of pixels [pixels, channels], one after the other; then those of `last`, which may be none. */
void eg__colour_pixels(float *p, int64_t pixels, int channels, const eg__change *change, int n, const eg__tone *last,
                       int lasts);
/* A line with the same numbers for every channel. */
eg__tone eg__tone_line(double a, double b);

/* Axis -3 as the last, or back from there: a view. */
eg_tensor *eg__channels_inmost(eg_tensor *x, bool back);
/* Back from there, in x's order of memory. */
eg_tensor *eg__channels_as(eg_tensor *y, const eg_tensor *x);
/* f(user, pixels of one image [H W, C], H W) over each image of a copy of x in f32, which comes back with x's dtype, u8
 * being rounded, and order of memory. Borrowed. */
eg_tensor *eg__each_image(eg_tensor *x, void (*f)(void *user, float *p, int64_t pixels, int channels), void *user);

#endif
