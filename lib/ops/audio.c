/* audio.c - spectrograms, mel bands, cepstra and their changes, of steps that exist. */
#include <egret/ops.h>
#include <math.h>

#include "lib/core/base.h"
#include "lib/core/tensor.h"
#include "lib/ops/dispatch.h"

#define PI 3.141592653589793238462643

enum { MOST_REACH = 4096 }; /* each frame to either side is an op */

/* ---- spectra ------------------------------------------------------------------------------- */

eg_tensor *eg_spectrogram_with(eg_tensor *x, int64_t frame, const eg_spectrogram_options *options)
{
    eg_spectrogram_options o;
    eg__options(&o, sizeof o, options);
    double power = o.power == 0 ? 2 : o.power;
    if (!(power > 0)) {
        return eg__fail_null(EG_EINVAL, "spectrogram", "power is %g", power);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg_stft(x, frame, .hop = o.hop, .n_fft = o.n_fft, .window = o.window, .center = o.center);
    if (power == 2) {
        y = eg_sum(eg_square(y), .axes = EG_AXES(-1));
    } else {
        y = eg_norm(y, .axes = EG_AXES(-1));
        y = power == 1 ? y : eg_pow_scalar(y, power);
    }
    return eg_scope_pop(s, y);
}

eg_tensor *eg_decibels_with(eg_tensor *x, const eg_decibels_options *options)
{
    eg_decibels_options o;
    eg__options(&o, sizeof o, options);
    double reference = o.reference == 0 ? 1 : o.reference, least = o.floor == 0 ? 1e-10 : o.floor;
    if (!(reference > 0) || !(least > 0) || !(o.range >= 0)) {
        return eg__fail_null(EG_EINVAL, "decibels", "reference is %g, floor %g, range %g", reference, least, o.range);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg_mul_scalar(eg_log10(eg_clamp_min(x, least)), 10);
    y = eg_sub_scalar(y, 10 * log10(reference));
    if (o.range > 0 && y && eg_numel(y)) {
        y = eg_maximum(y, eg_sub_scalar(eg_max(y), o.range));
    }
    return eg_scope_pop(s, y);
}

/* ---- bands --------------------------------------------------------------------------------- */

/* Hz as mels, and back. */
static double to_mels(double f, eg_mel_scale scale)
{
    if (scale != EG_MEL_SLANEY) {
        return 2595 * log10(1 + f / 700);
    }
    return f < 1000 ? 3 * f / 200 : 15 + 27 * log(f / 1000) / log(6.4);
}

static double to_hz(double m, eg_mel_scale scale)
{
    if (scale != EG_MEL_SLANEY) {
        return 700 * (pow(10, m / 2595) - 1);
    }
    return m < 15 ? 200 * m / 3 : 1000 * exp((m - 15) * log(6.4) / 27);
}

/* The triangle over left, middle and right at f. */
static double triangle(double f, double left, double middle, double right)
{
    double up = (f - left) / (middle - left), down = (right - f) / (right - middle);
    return fmax(0, fmin(up, down));
}

eg_tensor *eg_mel_filters_with(int64_t n_fft, double rate, int64_t bands, const eg_mel_options *options)
{
    eg_mel_options o;
    eg__options(&o, sizeof o, options);
    double high = o.high == 0 ? rate / 2 : o.high;
    if (n_fft < 1 || bands < 1 || !(rate >= 1) || !isfinite(rate) || o.first < 0 ||
        (unsigned)o.scale > EG_MEL_TENSORFLOW) {
        return eg__fail_null(EG_EINVAL, "mel_filters", "n_fft is %lld, rate %g, bands %lld, first %lld, scale %d",
                             (long long)n_fft, rate, (long long)bands, (long long)o.first, (int)o.scale);
    }
    if (!(o.low >= 0 && o.low < high && high <= rate / 2)) {
        return eg__fail_null(EG_EINVAL, "mel_filters", "bands from %g to %g Hz: not in 0 to %g", o.low, high, rate / 2);
    }
    int64_t bins = n_fft / 2 + 1, first = eg__max(o.first, o.scale == EG_MEL_TENSORFLOW);
    eg_scope s = eg_scope_push();
    eg_tensor *host = eg__full_on(0, EG_SHAPE(bins, bands), 0, EG_F32);
    float *to = host ? (float *)eg__ptr(host) : NULL;
    double from = to_mels(o.low, o.scale), step = (to_mels(high, o.scale) - from) / (double)(bands + 1);
    for (int64_t b = 0; to && b < bands; b++) {
        double edge[3], hz[3];
        for (int i = 0; i < 3; i++) {
            edge[i] = from + (double)(b + i) * step;
            hz[i] = to_hz(edge[i], o.scale);
        }
        const double *at = o.scale == EG_MEL_TENSORFLOW ? edge : hz;
        double share = o.area ? 2 / (hz[2] - hz[0]) : 1;
        int64_t begin = (int64_t)(hz[0] / rate * (double)n_fft), end = (int64_t)(hz[2] / rate * (double)n_fft) + 2;
        for (int64_t k = eg__max(first, begin); k < eg__min(bins, end); k++) {
            double f = (double)k * rate / (double)n_fft;
            f = o.scale == EG_MEL_TENSORFLOW ? to_mels(f, o.scale) : f;
            to[k * bands + b] = (float)(share * triangle(f, at[0], at[1], at[2]));
        }
    }
    return eg_scope_pop(s, to ? eg_from(EG_SHAPE(bins, bands), EG_F32, to) : NULL);
}

/* ---- cepstra ------------------------------------------------------------------------------- */

eg_tensor *eg_dct_matrix(int64_t n, int64_t coefficients, bool ortho)
{
    if (coefficients < 1 || coefficients > n) {
        return eg__fail_null(EG_EINVAL, "dct_matrix", "%lld coefficients of %lld", (long long)coefficients,
                             (long long)n);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *i = eg_add_scalar(eg_arange(0, (double)n, 1, EG_F64), 0.5);
    eg_tensor *k = eg_mul_scalar(eg_arange(0, (double)coefficients, 1, EG_F64), PI / (double)n);
    eg_tensor *y = eg_mul_scalar(eg_cos(eg_mul(eg_unsqueeze(i, 1), k)), sqrt(2 / (double)n));
    if (ortho && y) {
        eg_mul_scalar_(eg_select(y, 1, 0), sqrt(0.5));
    }
    return eg_scope_pop(s, eg_cast(y, EG_F32));
}

eg_tensor *eg_deltas(eg_tensor *x, int64_t reach)
{
    if (eg__check(x, "deltas", "x")) {
        return NULL;
    }
    if (x->ndim < 2 || !x->shape[x->ndim - 2]) {
        return eg__fail_null(EG_ESHAPE, "deltas", "x is %s, must be [.., frames, bands]", EG__SHAPE_OF(x));
    }
    if (reach < 1 || reach > MOST_REACH) {
        return eg__fail_null(EG_EINVAL, "deltas", "reach is %lld", (long long)reach);
    }
    int axis = x->ndim - 2;
    int64_t frames = x->shape[axis];
    eg_pad_options o = {.size = sizeof o, .mode = EG_PAD_REPLICATE};
    o.before[axis] = o.after[axis] = reach;
    double squares = (double)reach * (double)(reach + 1) * (double)(2 * reach + 1) / 3;
    eg__wide s = EG__WIDE_BEGIN(&x);
    eg_tensor *wide = eg_pad_with(x, &o), *y = NULL;
    for (int64_t k = 1; k <= reach; k++) {
        eg_tensor *later = eg_slice(wide, axis, reach + k, reach + k + frames, 1);
        eg_tensor *change = eg_sub(later, eg_slice(wide, axis, reach - k, reach - k + frames, 1));
        change = eg_mul_scalar(change, (double)k / squares);
        y = y ? eg_add(y, change) : change;
    }
    return eg__wide_end(s, y);
}

eg_tensor *eg_pre_emphasis(eg_tensor *x, double k)
{
    if (eg__check(x, "pre_emphasis", "x")) {
        return NULL;
    }
    if (!x->ndim || !isfinite(k)) {
        return eg__fail_null(x->ndim ? EG_EINVAL : EG_ESHAPE, "pre_emphasis", "x is %s, k %g", EG__SHAPE_OF(x), k);
    }
    eg_pad_options one = {.size = sizeof one}; /* one sample later, the last one cut */
    one.before[x->ndim - 1] = 1;
    one.after[x->ndim - 1] = -1;
    eg__wide s = EG__WIDE_BEGIN(&x);
    return eg__wide_end(s, !x ? NULL : x->n ? eg_sub(x, eg_mul_scalar(eg_pad_with(x, &one), k)) : eg_alias(x));
}
