/* tones.h - colours of many pixels at once: a few changes, one after the other, while they are at hand. */
#ifndef EGRET_TONES_H
#define EGRET_TONES_H

#include <egret/tensor.h>

typedef enum eg__tone_kind {
    EG__TONE_LINE,       /* a[c] x + b[c] */
    EG__TONE_LIMIT,      /* to a[0]..b[0] */
    EG__TONE_SATURATION, /* of HSV (Smith 1978) times a[0], up to 1; of three channels */
    EG__TONE_HUE,        /* of HSV moved by a[0] turns, in 0..1; of three channels */
    EG__TONE_GRAY,       /* a[0] x + b[0] gray; of three channels */
} eg__tone_kind;

typedef struct eg__tone {
    eg__tone_kind kind;
    float a[3], b[3];
} eg__tone;

typedef struct eg__toning {
    float *p;       /* pixels of 1 or 3 channels */
    uint8_t *bytes; /* or these, which are rounded and limited */
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

/* n changes of the pixels of t, one after the other; then those of `last`, which may be none. */
void eg__colour_run(eg__toning *t, const eg__change *change, int n, const eg__tone *last, int lasts);
/* A line with the same numbers for every channel. */
eg__tone eg__tone_line(double a, double b);

/* ---- colours of bytes as torchvision changes them -------------------------------------------------- */

/* Whether x can go through its bytes at once: 1 or 3 channels on the host, of which nothing is recorded. */
bool eg__bytes_at_hand(const eg_tensor *x);
/* Brightness, contrast about the mean gray, saturation: factor x + (1 - factor) what it is about. Borrowed. */
eg_tensor *eg__colour_bytes(eg_tensor *x, eg__colour of, double factor);

/* ---- images of any layout -------------------------------------------------------------------------- */

/* Axis -3 as the last, or back from there: a view. */
eg_tensor *eg__channels_inmost(eg_tensor *x, bool back);
/* Back from there, in x's order of memory. */
eg_tensor *eg__channels_as(eg_tensor *y, const eg_tensor *x);
/* A copy of x whose memory runs H, W, C, as that: [.., H, W, C]. */
eg_tensor *eg__channels_copied(eg_tensor *x);
/* f(user, one image) over each image of a copy of x: of bytes, or f32 of whatever floats. Borrowed, with x's dtype and
 * order of memory. */
eg_tensor *eg__each_image(eg_tensor *x, void (*f)(void *user, eg__toning *t), void *user);

#endif
