/* tones.c - what is done to the colours of an image, in as few passes over it as can be. */
#include "data/image/tones.h"

#include <egret/ops.h>
#include <math.h>

#include "data/image/loops.h"
#include "lib/ops/dispatch.h"

EG__LOOP(eg__tone_fn, eg__tone_run, best_loop)

static eg__tone one(eg__tone_kind kind, double a, double b)
{
    return (eg__tone){kind, {(float)a, (float)a, (float)a}, {(float)b, (float)b, (float)b}};
}

eg__tone eg__tone_line(double a, double b)
{
    return one(EG__TONE_LINE, a, b);
}

/* Contrast needs the mean of what was done before, and ends a pass. */
void eg__colour_pixels(float *p, int64_t pixels, int channels, const eg__change *change, int n, const eg__tone *last,
                       int lasts)
{
    eg__tone tone[EG__MOST_CHANGES + 4];
    eg__toning t = {.p = p, .pixels = pixels, .channels = channels, .tone = tone};
    for (int k = 0; k < n && pixels; k++) {
        double by = (double)change[k].by;
        switch (change[k].of) {
        case EG__BRIGHTNESS:
            tone[t.tones++] = one(EG__TONE_LINE, 1, by);
            break;
        case EG__CONTRAST:
            t.sums = true;
            best_loop()(&t);
            t.sums = false;
            t.tones = 1;
            tone[0] = one(EG__TONE_LINE, by, 0);
            for (int c = 0; c < channels; c++) {
                tone[0].b[c] = (float)((1 - by) * t.sum[c] / (double)pixels);
                t.sum[c] = 0;
            }
            break;
        case EG__SATURATION:
        case EG__HUE:
            if (channels == 3) {
                tone[t.tones++] =
                    change[k].of == EG__HUE ? one(EG__TONE_HUE, by - floor(by), 0) : one(EG__TONE_SATURATION, by, 0);
            }
            break;
        }
    }
    for (int k = 0; k < lasts; k++) {
        tone[t.tones++] = last[k];
    }
    best_loop()(&t);
}

/* ---- images of any layout -------------------------------------------------------------------------- */

eg_tensor *eg__channels_inmost(eg_tensor *x, bool back)
{
    eg_axes order = {.count = x ? x->ndim : 0};
    for (int i = 0; i < order.count; i++) {
        int k = i - order.count + 3; /* of the three last axes */
        order.axis[i] = k < 0 ? i : order.count - 3 + (k + 1 + back) % 3;
    }
    return x ? eg_permute(x, order) : NULL;
}

eg_tensor *eg__channels_as(eg_tensor *y, const eg_tensor *x)
{
    int c = x->ndim - 3;
    y = eg__channels_inmost(y, true);
    return x->strides[c] == 1 && x->shape[c] > 1 ? y : eg_contiguous(y);
}

eg_tensor *eg__each_image(eg_tensor *x, void (*f)(void *user, float *p, int64_t pixels, int channels), void *user)
{
    eg_tensor *y = eg_contiguous(eg__channels_inmost(eg_cast(eg_detach(x), EG_F32), false));
    y = y && y->storage == x->storage ? eg_copy(y) : y;
    int64_t pixels = eg_size(x, -1) * eg_size(x, -2), channels = eg_size(x, -3);
    float *p = y ? (float *)eg__ptr(y) : NULL;
    for (int64_t k = 0; p && k < x->n; k += pixels * channels) {
        f(user, p + k, pixels, (int)channels);
    }
    y = y && x->dtype == EG_U8 ? eg_add_scalar(y, 0.5) : y;
    return eg__channels_as(eg_cast(y, (eg_dtype)x->dtype), x);
}
