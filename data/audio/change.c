/* change.c - sounds cut, moved, mixed and hidden in part, so that a net hears none twice. */
#include <egret/data/audio.h>
#include <egret/ops.h>
#include <math.h>

#include "data/dice.h"
#include "lib/ops/dispatch.h"

static eg_status check_sound(const char *op, const eg_tensor *x, const char *name)
{
    eg_status st = eg__check(x, op, name);
    return st || x->ndim ? st : eg__fail(EG_ESHAPE, op, "%s is [], must be [.., samples]", name);
}

/* ---- lengths and places ------------------------------------------------------------------------ */

/* So many samples more, or with a negative number fewer, at both ends. */
static eg_tensor *ends(eg_tensor *x, int64_t before, int64_t after)
{
    eg_pad_options o = {.size = sizeof o};
    o.before[x->ndim - 1] = before;
    o.after[x->ndim - 1] = after;
    return eg_pad_with(x, &o);
}

eg_tensor *eg_audio_fit(eg_tensor *x, int64_t n)
{
    if (check_sound("eg_audio_fit", x, "x")) {
        return NULL;
    }
    return n < 0 ? eg__fail_null(EG_EINVAL, "eg_audio_fit", "n is %lld", (long long)n)
                 : ends(x, 0, n - x->shape[x->ndim - 1]);
}

eg_tensor *eg_audio_shift(eg_tensor *x, int64_t by)
{
    if (check_sound("eg_audio_shift", x, "x")) {
        return NULL;
    }
    int64_t n = x->shape[x->ndim - 1];
    by = eg__min(eg__max(by, -n), n);
    return ends(x, by, -by);
}

eg_tensor *eg_audio_gain(eg_tensor *x, double decibels)
{
    if (!isfinite(decibels)) {
        return eg__fail_null(EG_EINVAL, "eg_audio_gain", "decibels are %g", decibels);
    }
    return eg_mul_scalar(x, pow(10, decibels / 20));
}

/* ---- noise ------------------------------------------------------------------------------------- */

/* n samples of the noise from any place of it, which goes on at its beginning. */
static eg_tensor *piece(eg_tensor *noise, int64_t n)
{
    int last = noise->ndim - 1;
    int64_t there = noise->shape[last];
    eg__dice dice = eg__dice_take("eg_audio_mix", 1);
    int64_t begin = eg__dice_below(&dice, there > n ? there - n + 1 : there);
    if (begin + n <= there) {
        return eg_slice(noise, last, begin, begin + n, 1);
    }
    eg_tensor *at = eg__arange_on(noise->device, (double)begin, (double)(begin + n), 1, EG_I64);
    return eg_index_select(noise, last, eg_remainder_int(at, there));
}

eg_tensor *eg_audio_mix_with(eg_tensor *x, eg_tensor *noise, const eg_audio_mix_options *options)
{
    static const char op[] = "eg_audio_mix";
    eg_audio_mix_options o;
    eg__options(&o, sizeof o, options);
    double volume = eg__or(o.volume, 1);
    if (check_sound(op, x, "x") || check_sound(op, noise, "noise")) {
        return NULL;
    }
    if (!noise->shape[noise->ndim - 1] || noise->ndim > x->ndim) {
        return eg__fail_null(EG_ESHAPE, op, "noise is %s, for %s", EG__SHAPE_OF(noise), EG__SHAPE_OF(x));
    }
    if (!isfinite(volume) || !isfinite(o.ratio)) {
        return eg__fail_null(EG_EINVAL, op, "volume is %g, ratio %g", volume, o.ratio);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *part = piece(noise, x->shape[x->ndim - 1]);
    if (o.by_ratio) {
        /* louder by the root of the energies' ratio; of noise that is silent nothing is made loud */
        eg_tensor *ours = eg_norm(x, .axes = EG_AXES(-1), .keepdim = true);
        eg_tensor *theirs = eg_norm(part, .axes = EG_AXES(-1), .keepdim = true);
        eg_tensor *factor = eg_div(ours, eg_clamp_min(theirs, 1e-10));
        part = eg_mul(part, eg_mul_scalar(factor, pow(10, -o.ratio / 20)));
    } else {
        part = eg_mul_scalar(part, volume);
    }
    return eg_scope_pop(s, eg_add(x, part));
}

/* ---- silence ----------------------------------------------------------------------------------- */

/* The first and the last frame that is not silent of the loudness of each, both -1 if there is none. */
static void loud_frames(eg_tensor *power, double below, int64_t *first, int64_t *last)
{
    *first = *last = -1;
    double most = 0;
    for (int64_t i = 0; i < power->n; i++) {
        most = fmax(most, eg_get(power, i));
    }
    double least = most * pow(10, -below / 10);
    for (int64_t i = 0; i < power->n; i++) {
        if (most > 0 && eg_get(power, i) > least) {
            *first = *first < 0 ? i : *first;
            *last = i;
        }
    }
}

eg_tensor *eg_audio_trim_with(eg_tensor *x, const eg_audio_trim_options *options)
{
    static const char op[] = "eg_audio_trim";
    eg_audio_trim_options o;
    eg__options(&o, sizeof o, options);
    int64_t frame = o.frame ? o.frame : 2048, hop = o.hop ? o.hop : eg__max(1, frame / 4);
    double below = o.below == 0 ? 60 : o.below;
    if (check_sound(op, x, "x")) {
        return NULL;
    }
    if (frame < 1 || hop < 1 || !(below > 0)) {
        return eg__fail_null(EG_EINVAL, op, "below is %g, frame %lld, hop %lld", below, (long long)frame,
                             (long long)hop);
    }
    int64_t n = x->shape[x->ndim - 1], first, last;
    if (!x->n) {
        return eg_alias(x);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *rows = eg_reshape(eg_to(eg_cast(eg_detach(x), EG_F32), eg_cpu()), EG_SHAPE(x->n / n, n));
    rows = rows ? ends(rows, frame / 2, frame / 2) : NULL; /* frame i has sample i hop in its middle */
    eg_tensor *power = eg_mean(eg_square(eg_frames(rows, frame, hop)), .axes = EG_AXES(2));
    power = eg_max(power, .axes = EG_AXES(0));
    if (!power) {
        return eg_scope_pop(s, NULL);
    }
    loud_frames(power, below, &first, &last);
    return eg_scope_pop(s, eg_slice(x, -1, eg__max(first, 0) * hop, first < 0 ? 0 : eg__min(n, (last + 1) * hop), 1));
}

/* ---- masks ------------------------------------------------------------------------------------- */

/* Zeros over `masks` stretches of up to `width` of n ones. */
static void hide(eg__dice *dice, float *ones, int64_t n, int masks, int64_t width)
{
    for (int m = 0; m < masks; m++) {
        int64_t wide = eg__dice_below(dice, eg__min(width, n) + 1), begin = eg__dice_below(dice, n - wide + 1);
        memset(ones + begin, 0, (size_t)wide * sizeof *ones);
    }
}

/* Ones [matrices, n] with stretches of zeros. */
static eg_tensor *masks_of(eg__dice *dice, int64_t matrices, int64_t n, int masks, int64_t width)
{
    eg_tensor *t = eg__full_on(0, EG_SHAPE(matrices, n), 1, EG_F32);
    for (int64_t i = 0; t && i < matrices; i++) {
        hide(dice, (float *)eg__ptr(t) + i * n, n, masks, width);
    }
    return t;
}

eg_tensor *eg_spec_augment_with(eg_tensor *x, const eg_spec_augment_options *options)
{
    static const char op[] = "eg_spec_augment";
    eg_spec_augment_options o;
    eg__options(&o, sizeof o, options);
    int64_t bands = eg__or_count(o.bands, 2), times = eg__or_count(o.times, 2);
    int64_t band_width = o.band_width ? o.band_width : 27, frame_width = o.frame_width ? o.frame_width : 100;
    double share = o.share == 0 ? 1 : o.share;
    if (eg__check(x, op, "x")) {
        return NULL;
    }
    if (bands < 0 || times < 0 || bands > 4096 || times > 4096 || band_width < 1 || frame_width < 1 ||
        !(share > 0 && share <= 1)) {
        return eg__fail_null(EG_EINVAL, op, "%lld masks of %lld bands, %lld of %lld frames, share %g", (long long)bands,
                             (long long)band_width, (long long)times, (long long)frame_width, share);
    }
    if (x->ndim < 2 || !eg__is_float(x->dtype)) {
        return eg__fail_null(x->ndim < 2 ? EG_ESHAPE : EG_EDTYPE, op, "x is %s %s, must be floats [.., frames, bands]",
                             eg_dtype_name((eg_dtype)x->dtype), EG__SHAPE_OF(x));
    }
    if (!x->n) {
        return eg_alias(x);
    }
    int64_t frames = x->shape[x->ndim - 2], width = x->shape[x->ndim - 1], matrices = x->n / (frames * width);
    eg_shape high = eg_shape_of(x), wide = high;
    high.dim[x->ndim - 1] = 1;
    wide.dim[x->ndim - 2] = 1;
    eg_scope s = eg_scope_push();
    eg__dice dice = eg__dice_take(op, 2 * matrices * (bands + times));
    eg_tensor *over_bands = masks_of(&dice, matrices, width, (int)bands, band_width);
    frame_width = eg__min(frame_width, (int64_t)(share * (double)frames));
    eg_tensor *over_times = masks_of(&dice, matrices, frames, (int)times, frame_width);
    eg_tensor *seen = eg_mul(eg_reshape(over_bands, wide), eg_reshape(over_times, high));
    seen = seen ? eg_cast(eg_to(seen, eg_device_of(x)), EG_BOOL) : NULL;
    return eg_scope_pop(s, eg_where(seen, x, eg__full_on(x->device, EG_SCALAR, o.fill, (eg_dtype)x->dtype)));
}
