/* fft.c - Fourier transforms: options, inference, public functions; signals cut into frames. */
#include <math.h>

#include "lib/core/follower.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

#define TWO_PI 6.283185307179586476925287

/* ---- inference ----------------------------------------------------------------------------- */

eg_status eg__infer_fft(eg__call *c)
{
    eg__desc_like(&c->desc[0], c->in[0]);
    c->desc[0].dense = true;
    return EG_OK;
}

/* x's shape with another size of the axis; `pair` more or fewer axes of 2 behind. */
static eg_status resized(eg__call *c, int64_t n, int pair)
{
    const eg__fft_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    eg__desc *d = &c->desc[0];
    d->dtype = x->dtype;
    d->ndim = (uint8_t)(x->ndim + pair);
    memcpy(d->shape, x->shape, sizeof d->shape);
    d->shape[o->axis] = n;
    if (pair > 0) {
        d->shape[x->ndim] = 2;
    }
    d->dense = true;
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

eg_status eg__infer_rfft(eg__call *c)
{
    return resized(c, c->in[0]->shape[((const eg__fft_opts *)c->opts)->axis] / 2 + 1, 1);
}

eg_status eg__infer_irfft(eg__call *c)
{
    return resized(c, ((const eg__fft_opts *)c->opts)->n, -1);
}

/* ---- transforms ---------------------------------------------------------------------------- */

typedef enum kind { FORWARD, INVERSE, TO_BINS, TO_REAL } kind;

static eg_status check_complex(const char *op, const eg_tensor *x, const char *name)
{
    if (eg__check(x, op, name)) {
        return eg__why();
    }
    return x->ndim && x->shape[x->ndim - 1] == 2
               ? EG_OK
               : eg__fail(EG_ESHAPE, op, "%s is %s, its last axis must be 2: real and imaginary part", name,
                          EG__SHAPE_OF(x));
}

static eg_status check(const char *op, eg_tensor *x, kind what, const eg_fft_options *o)
{
    bool complex = what != TO_BINS;
    if (complex ? check_complex(op, x, "x") : eg__check(x, op, "x")) {
        return eg__why();
    }
    if (!complex && x->ndim == EG_MAX_DIMS) {
        return eg__fail(EG_ESHAPE, op, "x is %s: no axis is left for the pairs", EG__SHAPE_OF(x));
    }
    if (o->n < 0 || (o->n && o->axes.count > 1 && what != TO_REAL)) {
        return eg__fail(EG_EINVAL, op, o->n < 0 ? "n is %lld" : "n is %lld for several axes", (long long)o->n);
    }
    if ((unsigned)o->norm > EG_FFT_ORTHO) {
        return eg__fail(EG_EINVAL, op, "norm is %d", (int)o->norm);
    }
    unsigned mask;
    return o->axes.count ? eg__axes_mask(op, x->ndim - complex, &o->axes, &mask) : EG_OK;
}

/* x with n elements along the axis: cut, or zeros behind. */
static eg_tensor *fit(eg_tensor *x, int axis, int64_t n)
{
    eg_pad_options o = {.size = sizeof o};
    o.after[axis] = n - x->shape[axis];
    return o.after[axis] ? eg_pad_with(x, &o) : x;
}

/* Over an axis whose lines lie neither behind each other nor side by side, as those of a device
 * must: with the axis as the last one, then back. */
static eg_tensor *turned(const eg__op *row, eg_tensor *x, const eg__fft_opts *given)
{
    int axis = given->axis, last = x->ndim - 1 - (row != &eg__op_rfft);
    eg__fft_opts o = *given;
    o.axis = last;
    x = eg__op1(row, eg_movedim(x, EG_AXES(axis), EG_AXES(last)), &o);
    return eg_movedim(x, EG_AXES(last), EG_AXES(axis));
}

/* Whether there are axes of more than one element before the axis and behind it. */
static bool amid(const eg_tensor *x, int axis, bool pairs)
{
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < x->ndim - pairs; d++) {
        outer *= d < axis ? x->shape[d] : 1;
        inner *= d > axis ? x->shape[d] : 1;
    }
    return outer > 1 && inner > 1;
}

/* Over one axis; n as in the options. */
static eg_tensor *along(const char *op, eg_tensor *x, kind what, int axis, int64_t n, eg_fft_norm norm)
{
    const eg__op *rows[] = {&eg__op_fft, &eg__op_fft, &eg__op_rfft, &eg__op_irfft};
    int complex = what != TO_BINS, a = x ? eg__axis(op, x->ndim - complex, axis) : -1;
    if (a < 0) {
        return NULL;
    }
    int64_t size = x->shape[a];
    n = n ? n : what == TO_REAL ? 2 * (size - 1) : size;
    if (n < 1 || size < 1) {
        return eg__fail_null(EG_ESHAPE, op, "axis %d of %s: %lld elements make a transform of %lld", a, EG__SHAPE_OF(x),
                             (long long)size, (long long)n);
    }
    bool forward = what == FORWARD || what == TO_BINS;
    eg__fft_opts o = {.axis = a, .inverse = what == INVERSE, .n = n, .scale = 1};
    if (norm == EG_FFT_ORTHO) {
        o.scale = 1 / sqrt((double)n);
    } else if (forward == (norm == EG_FFT_FORWARD)) {
        o.scale = 1 / (double)n;
    }
    x = fit(x, a, what == TO_REAL ? n / 2 + 1 : n);
    return x && x->device && amid(x, a, complex) ? turned(rows[what], x, &o) : eg__op1(rows[what], x, &o);
}

static eg_tensor *transform(const char *op, eg_tensor *x, kind what, const eg_fft_options *given)
{
    eg_fft_options o;
    eg__options(&o, sizeof o, given);
    if (check(op, x, what, &o)) {
        return NULL;
    }
    kind others = what == TO_BINS ? FORWARD : what == TO_REAL ? INVERSE : what;
    int last = o.axes.count ? o.axes.axis[o.axes.count - 1] : -1;
    eg_scope s = eg_scope_push();
    if (what == TO_BINS) {
        x = along(op, x, what, last, o.n, o.norm);
    }
    for (int i = 0; i < o.axes.count - 1 && x; i++) {
        x = along(op, x, others, o.axes.axis[i], 0, o.norm);
    }
    if (what != TO_BINS) {
        x = along(op, x, what, last, o.n, o.norm);
    }
    return eg_scope_pop(s, x);
}

eg_tensor *eg_fft_with(eg_tensor *x, const eg_fft_options *options)
{
    return transform("fft", x, FORWARD, options);
}

eg_tensor *eg_ifft_with(eg_tensor *x, const eg_fft_options *options)
{
    return transform("ifft", x, INVERSE, options);
}

eg_tensor *eg_rfft_with(eg_tensor *x, const eg_fft_options *options)
{
    return transform("rfft", x, TO_BINS, options);
}

eg_tensor *eg_irfft_with(eg_tensor *x, const eg_fft_options *options)
{
    return transform("irfft", x, TO_REAL, options);
}

eg_tensor *eg_complex_mul(eg_tensor *a, eg_tensor *b)
{
    if (check_complex("complex_mul", a, "a") || check_complex("complex_mul", b, "b")) {
        return NULL;
    }
    eg__wide s = EG__WIDE_BEGIN(&a, &b);
    eg_tensor *ar = eg_select(a, -1, 0), *ai = eg_select(a, -1, 1);
    eg_tensor *br = eg_select(b, -1, 0), *bi = eg_select(b, -1, 1);
    eg_tensor *parts[] = {eg_sub(eg_mul(ar, br), eg_mul(ai, bi)), eg_add(eg_mul(ar, bi), eg_mul(ai, br))};
    return eg__wide_end(s, parts[0] && parts[1] ? eg_stack(parts, 2, -1) : NULL);
}

/* ---- signals over time --------------------------------------------------------------------- */

eg_tensor *eg_frames(eg_tensor *x, int64_t length, int64_t hop)
{
    if (eg__check(x, "frames", "x")) {
        return NULL;
    }
    if (length < 1 || hop < 1) {
        return eg__fail_null(EG_EINVAL, "frames", "length is %lld, hop is %lld", (long long)length, (long long)hop);
    }
    if (!x->ndim || x->ndim == EG_MAX_DIMS || x->shape[x->ndim - 1] < length) {
        return eg__fail_null(EG_ESHAPE, "frames", "no frames of %lld in %s", (long long)length, EG__SHAPE_OF(x));
    }
    eg_scope s = eg_scope_push();
    eg_shape shape = eg_shape_of(x);
    int last = shape.ndim - 1;
    int64_t count = (shape.dim[last] - length) / hop + 1;
    shape.dim[last] = count;
    shape.dim[shape.ndim++] = length;
    if (eg__check_room("frames", x->device, shape.ndim, shape.dim, x->dtype)) {
        return eg_scope_pop(s, NULL);
    }
    if (!eg__tracked(eg__thread_get(), x) && !eg__followed()) {
        /* A view of elements that meet, which no gradient could take back, and who follows had to read all of. */
        int64_t strides[EG_MAX_DIMS];
        memcpy(strides, x->strides, sizeof strides);
        strides[last + 1] = strides[last];
        strides[last] *= hop;
        return eg_scope_pop(s, eg_contiguous(eg_as_strided(x, shape, strides, x->offset)));
    }
    eg_tensor *start = eg__arange_on(x->device, 0, (double)count, 1, EG_I64);
    eg_tensor *within = eg__arange_on(x->device, 0, (double)length, 1, EG_I64);
    eg_tensor *at = eg_add(eg_unsqueeze(eg_mul_scalar(start, (double)hop), 1), within);
    return eg_scope_pop(s, eg_index_select(x, last, at));
}

/* a - (1 - a) cos(2 pi j / n); 1 for a single sample, which a window leaves as it is */
static eg_tensor *cosine_window(const char *op, int64_t n, double a)
{
    if (n < 1) {
        return eg__fail_null(EG_EINVAL, op, "n is %lld", (long long)n);
    }
    if (n == 1) {
        return eg_ones(EG_SHAPE(1), EG_F32);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *angle = eg_mul_scalar(eg_arange(0, (double)n, 1, EG_F64), TWO_PI / (double)n);
    eg_tensor *w = eg_add_scalar(eg_mul_scalar(eg_cos(angle), a - 1), a);
    return eg_scope_pop(s, eg_cast(w, EG_F32));
}

eg_tensor *eg_hann_window(int64_t n)
{
    return cosine_window("hann_window", n, 0.5);
}

eg_tensor *eg_hamming_window(int64_t n)
{
    return cosine_window("hamming_window", n, 0.54);
}

eg_tensor *eg_stft_with(eg_tensor *x, int64_t frame, const eg_stft_options *options)
{
    eg_stft_options o;
    eg__options(&o, sizeof o, options);
    if (eg__check(x, "stft", "x") || (o.window && eg__check(o.window, "stft", "window"))) {
        return NULL;
    }
    int64_t hop = o.hop ? o.hop : eg__max(1, frame / 4), n = o.n_fft ? o.n_fft : frame;
    if (frame < 1 || hop < 1 || n < frame) {
        return eg__fail_null(EG_EINVAL, "stft", "frame is %lld, hop %lld, n_fft %lld", (long long)frame, (long long)hop,
                             (long long)n);
    }
    if (o.window && (o.window->ndim != 1 || o.window->n != frame)) {
        return eg__fail_null(EG_ESHAPE, "stft", "window is %s, must be [%lld]", EG__SHAPE_OF(o.window),
                             (long long)frame);
    }
    if (eg__check_room("stft", x->device, 2, (int64_t[]){n / 2 + 1, 2}, x->dtype)) { /* of one frame */
        return NULL;
    }
    eg_scope s = eg_scope_push();
    if (o.center && x->ndim) {
        eg_pad_options pad = {.size = sizeof pad, .mode = EG_PAD_REFLECT};
        pad.before[x->ndim - 1] = pad.after[x->ndim - 1] = frame / 2;
        x = eg_pad_with(x, &pad);
    }
    eg_tensor *y = eg_frames(x, frame, hop);
    y = o.window ? eg_mul(y, o.window) : y;
    return eg_scope_pop(s, eg_rfft(y, .n = n));
}
