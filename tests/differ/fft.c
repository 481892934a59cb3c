/* fft.c - Fourier transforms. */
#include "tests/differ/differ.h"

OPTIONS(eg_fft_options, INT(eg_fft_options, n, 0), AXES(eg_fft_options, axes),
        INT32(eg_fft_options, norm, EG_FFT_BACKWARD, EG_FFT_FORWARD, EG_FFT_ORTHO))
OPTIONS(eg_stft_options, INT(eg_stft_options, hop, 0, 1, 2, 5), INT(eg_stft_options, n_fft, 0),
        TENSOR(eg_stft_options, window), BOOL(eg_stft_options, center))

static void transform(draw *d, bool complex, bool to_real)
{
    eg_shape s = draw_shape(d, 1, 4);
    for (int a = 0; a < s.ndim; a++) { /* no empty axis, mostly */
        s.dim[a] += chance(d, 95) && !s.dim[a];
    }
    eg_fft_options *o = DRAW_OPTIONS(d, eg_fft_options);
    o->axes = chance(d, 60) ? (eg_axes){0} : chance(d, 60) ? EG_AXES(draw_axis(d, s.ndim)) : draw_axes(d, s.ndim);
    o->n = o->axes.count < 2 && chance(d, 40) ? draw_size(d, 80) : 0;
    if (to_real && o->axes.count < 2) {
        int a = o->axes.count ? (o->axes.axis[0] + s.ndim) % s.ndim : s.ndim - 1;
        s.dim[a] += s.dim[a] == 1 && !o->n; /* one bin alone is a length of 0 */
    }
    operand(d, complex ? shape_with(s, 2) : s, chance(d, 90) ? draw_real(d) : draw_any(d));
}
static void of_complex(draw *d)
{
    transform(d, true, false);
}
static void of_real(draw *d)
{
    transform(d, false, false);
}
static void to_real(draw *d)
{
    transform(d, true, true);
}
DIFFER(fft, of_complex, 0, 30, eg_fft_with(T0, O0))
DIFFER(ifft, of_complex, 0, 30, eg_ifft_with(T0, O0))
DIFFER(rfft, of_real, 0, 30, eg_rfft_with(T0, O0))
DIFFER(irfft, to_real, 0, 30, eg_irfft_with(T0, O0))

static void draw_complex_mul(draw *d)
{
    eg_shape s = draw_shape(d, 0, 3);
    eg_dtype t = draw_float(d);
    operand(d, shape_with(draw_partner(d, s), 2), t);
    operand(d, shape_with(s, 2), t);
}
DIFFER(complex_mul, draw_complex_mul, 0, 3, eg_complex_mul(T0, T1))

static void draw_frames(draw *d)
{
    eg_shape s = draw_shape(d, 0, 2);
    int64_t n = 1 + draw_size(d, 60);
    operand(d, shape_with(s, n), draw_any(d));
    d->i[0] = pick(d, 1, n) + chance(d, 2);
    d->i[1] = pick(d, chance(d, 98), 6);
}
DIFFER(frames, draw_frames, 0, 3, eg_frames(T0, I0, I1))

static void draw_window(draw *d)
{
    d->i[0] = pick(d, chance(d, 90), 70);
}
DIFFER(hann_window, draw_window, 0, 1, eg_hann_window(I0))
DIFFER(hamming_window, draw_window, 0, 1, eg_hamming_window(I0))

static void draw_stft(draw *d)
{
    eg_shape s = draw_shape(d, 0, 2);
    int64_t n = 2 + draw_size(d, 60), frame = d->i[0] = pick(d, 1, n);
    eg_dtype t = draw_real(d);
    operand(d, shape_with(s, n), t);
    eg_stft_options *o = DRAW_OPTIONS(d, eg_stft_options);
    o->window = chance(d, 50) ? slot(operand(d, EG_SHAPE(frame), t)) : NULL;
    o->n_fft = chance(d, 40) ? frame + pick(d, 0, 9) : 0;
}
DIFFER(stft, draw_stft, 0, 30, eg_stft_with(T0, I0, O0))
