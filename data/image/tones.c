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

/* The tones so far, and the sums of what they make. */
static void add_up(eg__toning *t)
{
    memset(t->sum, 0, sizeof t->sum);
    t->sums = true;
    best_loop()(t);
    t->sums = false;
}

/* Contrast needs the mean of what was done before, and ends a pass. */
void eg__colour_run(eg__toning *t, const eg__change *change, int n, const eg__tone *last, int lasts)
{
    eg__tone tone[EG__MOST_CHANGES + 4];
    t->tone = tone;
    t->tones = 0;
    for (int k = 0; k < n && t->pixels; k++) {
        double by = (double)change[k].by;
        switch (change[k].of) {
        case EG__BRIGHTNESS:
            tone[t->tones++] = one(EG__TONE_LINE, 1, by);
            break;
        case EG__CONTRAST:
            add_up(t);
            t->tones = 1;
            tone[0] = one(EG__TONE_LINE, by, 0);
            for (int c = 0; c < t->channels; c++) {
                tone[0].b[c] = (float)((1 - by) * t->sum[c] / (double)t->pixels);
            }
            break;
        case EG__SATURATION:
        case EG__HUE:
            if (t->channels == 3) {
                tone[t->tones++] =
                    change[k].of == EG__HUE ? one(EG__TONE_HUE, by - floor(by), 0) : one(EG__TONE_SATURATION, by, 0);
            }
            break;
        }
    }
    for (int k = 0; k < lasts; k++) {
        tone[t->tones++] = last[k];
    }
    best_loop()(t);
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

eg_tensor *eg__channels_copied(eg_tensor *x)
{
    eg_tensor *y = eg_contiguous(eg__channels_inmost(eg_detach(x), false));
    return y && x && y->storage == x->storage ? eg_copy(y) : y;
}

eg_tensor *eg__each_image(eg_tensor *x, void (*f)(void *user, eg__toning *t), void *user)
{
    bool bytes = x->dtype == EG_U8;
    eg_tensor *y = bytes || x->dtype == EG_F32
                       ? eg__channels_copied(x)
                       : eg_contiguous(eg_cast(eg__channels_inmost(eg_detach(x), false), EG_F32));
    int64_t pixels = eg_size(x, -1) * eg_size(x, -2), channels = eg_size(x, -3);
    for (int64_t k = 0; y && k < x->n; k += pixels * channels) {
        eg__toning t = {.pixels = pixels, .channels = (int)channels};
        t.bytes = bytes ? (uint8_t *)eg__ptr(y) + k : NULL;
        t.p = bytes ? NULL : (float *)eg__ptr(y) + k;
        f(user, &t);
    }
    return eg__channels_as(eg_cast(y, (eg_dtype)x->dtype), x);
}

/* ---- bytes ----------------------------------------------------------------------------------------- */

bool eg__bytes_at_hand(const eg_tensor *x)
{
    return x->dtype == EG_U8 && !x->device && (eg_size(x, -3) == 3 || eg_size(x, -3) == 1);
}

typedef struct factor {
    eg__colour of;
    double by;
} factor;

static void apply(void *user, eg__toning *t)
{
    static const double weights[] = {0.2989, 0.587, 0.114};
    const factor *f = user;
    double mean = 0;
    if (f->of == EG__CONTRAST) {
        add_up(t);
    }
    for (int c = 0; c < t->channels; c++) {
        mean += (t->channels == 1 ? 1 : weights[c]) * t->sum[c] / (double)t->pixels;
    }
    eg__tone tone =
        f->of == EG__SATURATION ? one(EG__TONE_GRAY, f->by, 1 - f->by) : one(EG__TONE_LINE, f->by, (1 - f->by) * mean);
    t->tone = &tone;
    t->tones = 1;
    best_loop()(t);
}

eg_tensor *eg__colour_bytes(eg_tensor *x, eg__colour of, double by)
{
    if (of == EG__SATURATION && eg_size(x, -3) == 1) {
        return x;
    }
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, eg__each_image(x, apply, &(factor){of, by})) : NULL;
}
