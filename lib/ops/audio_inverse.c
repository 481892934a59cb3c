/* audio_inverse.c - from spectra back to signals, with their phases or without. */
#include <egret/ops.h>

#include "lib/core/base.h"
#include "lib/core/tensor.h"
#include "lib/ops/dispatch.h"

enum { MOST_TIMES = 10000 }; /* phases are bettered: hundreds do */

/* Pieces [.., count, length] added where they lie in a signal, each `hop` behind the one before. In rows of hop
 * samples piece i fills rows i, i + 1, .. : all first parts are a signal, all second ones another, a row later. */
static eg_tensor *overlap_add(eg_tensor *pieces, int64_t hop)
{
    if (!pieces) {
        return NULL;
    }
    int last = pieces->ndim - 1;
    int64_t length = pieces->shape[last], parts = (length + hop - 1) / hop;
    eg_pad_options whole = {.size = sizeof whole};
    whole.after[last] = parts * hop - length;
    eg_tensor *rows = whole.after[last] ? eg_pad_with(pieces, &whole) : pieces, *y = NULL;
    for (int64_t p = 0; p < parts; p++) {
        eg_pad_options later = {.size = sizeof later};
        later.before[last - 1] = p;
        later.after[last - 1] = parts - 1 - p;
        eg_tensor *part = eg_pad_with(eg_slice(rows, last, p * hop, (p + 1) * hop, 1), &later);
        y = y ? eg_add(y, part) : part;
    }
    y = eg_flatten(y, last - 1, last);
    return y ? eg_slice(y, -1, 0, y->shape[y->ndim - 1] - whole.after[last], 1) : NULL;
}

/* The signal from `begin` on, `samples` of them, zeros where it ends before. */
static eg_tensor *cut(eg_tensor *y, int64_t begin, int64_t samples)
{
    if (!y) {
        return NULL;
    }
    int64_t there = y->shape[y->ndim - 1];
    y = eg_slice(y, -1, begin, begin + samples, 1);
    if (!y || begin + samples <= there) {
        return y;
    }
    eg_pad_options behind = {.size = sizeof behind};
    behind.after[y->ndim - 1] = samples - y->shape[y->ndim - 1];
    return eg_pad_with(y, &behind);
}

static eg_status check(const char *op, eg_tensor *y, int64_t frame, const eg_istft_options *o)
{
    if (eg__check(y, op, "y") || (o->window && eg__check(o->window, op, "window"))) {
        return eg__why();
    }
    if (frame < 1 || o->hop < 1 || o->n_fft < frame || o->samples < 0) {
        return eg__fail(EG_EINVAL, op, "frame is %lld, hop %lld, n_fft %lld, samples %lld", (long long)frame,
                        (long long)o->hop, (long long)o->n_fft, (long long)o->samples);
    }
    int n = y->ndim;
    if (n < 3 || y->shape[n - 1] != 2 || y->shape[n - 3] < 1 || y->shape[n - 2] != o->n_fft / 2 + 1) {
        return eg__fail(EG_ESHAPE, op, "y is %s, must be [.., frames, %lld, 2]", EG__SHAPE_OF(y),
                        (long long)(o->n_fft / 2 + 1));
    }
    if (o->window && (o->window->ndim != 1 || o->window->n != frame)) {
        return eg__fail(EG_ESHAPE, op, "window is %s, must be [%lld]", EG__SHAPE_OF(o->window), (long long)frame);
    }
    return EG_OK;
}

/* How much of each sample the windows let through twice, [samples]: divided by. */
static eg_tensor *envelope(eg_tensor *like, eg_tensor *window, int64_t frames, int64_t frame, int64_t hop)
{
    eg_tensor *square = window ? eg_square(eg_cast(window, (eg_dtype)like->dtype))
                               : eg__full_on(like->device, EG_SHAPE(frame), 1, (eg_dtype)like->dtype);
    return overlap_add(eg_expand(eg_unsqueeze(square, 0), EG_SHAPE(frames, frame)), hop);
}

eg_tensor *eg_istft_with(eg_tensor *y, int64_t frame, const eg_istft_options *options)
{
    eg_istft_options o;
    eg__options(&o, sizeof o, options);
    o.hop = o.hop ? o.hop : eg__max(1, frame / 4);
    o.n_fft = o.n_fft ? o.n_fft : frame;
    if (check("istft", y, frame, &o)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    int64_t frames = y->shape[y->ndim - 3];
    eg_tensor *pieces = eg_slice(eg_irfft(y, .n = o.n_fft), -1, 0, frame, 1);
    pieces = o.window ? eg_mul(pieces, o.window) : pieces;
    eg_tensor *x = overlap_add(pieces, o.hop);
    eg_tensor *sum = x ? envelope(x, o.window, frames, frame, o.hop) : NULL;
    eg_tensor *there = eg_gt_scalar(sum, 1e-11);
    x = eg_where(there, eg_div(x, eg_where(there, sum, eg_ones_like(sum))), eg_zeros_like(sum));
    int64_t begin = o.center ? frame / 2 : 0, reach = (frames - 1) * o.hop + frame - 2 * begin;
    return eg_scope_pop(s, cut(x, begin, o.samples ? o.samples : eg__max(reach, 0)));
}

/* ---- magnitudes alone ---------------------------------------------------------------------- */

/* Complex numbers made as long as 1. */
static eg_tensor *directions(eg_tensor *z)
{
    return eg_div(z, eg_add_scalar(eg_norm(z, .axes = EG_AXES(-1), .keepdim = true), 1e-16));
}

/* Directions by chance, [.., 2], in the shape of m. */
static eg_tensor *any_directions(eg_tensor *m)
{
    eg_device *before = eg_use_device(eg_device_of(m));
    eg_tensor *angle = before ? eg_uniform(eg_shape_of(m), 0, 6.283185307179586, m->dtype) : NULL;
    eg_use_device(before);
    eg_tensor *parts[] = {eg_cos(angle), eg_sin(angle)};
    return parts[0] && parts[1] ? eg_stack(parts, 2, -1) : NULL;
}

eg_tensor *eg_griffin_lim_with(eg_tensor *magnitudes, int64_t frame, const eg_griffin_lim_options *options)
{
    eg_griffin_lim_options o;
    eg__options(&o, sizeof o, options);
    int times = o.iterations ? o.iterations : 32;
    double momentum = eg__or(o.momentum, 0.99);
    if (eg__check(magnitudes, "griffin_lim", "magnitudes")) {
        return NULL;
    }
    if (times < 0 || times > MOST_TIMES || !(momentum >= 0 && momentum < 1)) {
        return eg__fail_null(EG_EINVAL, "griffin_lim", "iterations are %d, momentum is %g", times, momentum);
    }
    const eg_tensor *m = magnitudes;
    if (m->ndim < 2 || frame < 2 || m->shape[m->ndim - 1] != frame / 2 + 1 || !eg__is_float(m->dtype)) {
        return eg__fail_null(eg__is_float(m->dtype) ? EG_ESHAPE : EG_EDTYPE, "griffin_lim",
                             "magnitudes are %s, must be floats [.., frames, %lld]", EG__SHAPE_OF(m),
                             (long long)(frame / 2 + 1));
    }
    eg_istft_options back = {.size = sizeof back, .hop = o.hop, .n_fft = frame, .center = true};
    eg_stft_options there = {.size = sizeof there, .hop = o.hop, .center = true};
    eg_scope s = eg_scope_push();
    back.window = there.window = o.window ? eg_detach(o.window) : NULL;
    eg_tensor *loud = eg_unsqueeze(eg_detach(magnitudes), -1), *phase = any_directions(magnitudes), *before = NULL;
    for (int i = 0; i < times && phase; i++) {
        eg_scope step = eg_scope_push();
        eg_tensor *now = eg_stft_with(eg_istft_with(eg_mul(loud, phase), frame, &back), frame, &there);
        eg_tensor *next = before ? eg_sub(now, eg_mul_scalar(before, momentum / (1 + momentum))) : now;
        eg_tensor *kept[] = {directions(next), now};
        bool fine = kept[0] && kept[1] && !eg_scope_pop_n(step, kept, 2);
        phase = fine ? kept[0] : NULL;
        before = now;
    }
    back.samples = o.samples;
    return eg_scope_pop(s, eg_istft_with(eg_mul(loud, phase), frame, &back));
}
