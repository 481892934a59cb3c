/* fft.c - what the golden cases of Fourier transforms stand for. */
#include "tests/golden/golden.h"

static eg_fft_options options(const golden_case *c)
{
    eg_fft_options o = {.size = sizeof o, .n = (int64_t)golden_number(c, "n", 0)};
    const char *norm = golden_word(c, "norm");
    o.norm = *norm == 'f' ? EG_FFT_FORWARD : *norm == 'o' ? EG_FFT_ORTHO : EG_FFT_BACKWARD;
    o.axes = golden_axes(c, "axes");
    return o;
}

#define CASE(name)                               \
    static eg_tensor *name(const golden_case *c) \
    {                                            \
        eg_fft_options o = options(c);           \
        return eg_##name##_with(c->x[0], &o);    \
    }
CASE(fft)
CASE(ifft)
CASE(rfft)
CASE(irfft)

static eg_tensor *stft(const golden_case *c)
{
    return eg_stft(c->x[0], (int64_t)golden_number(c, "frame", 0), .hop = (int64_t)golden_number(c, "hop", 0),
                   .window = c->x[1], .center = golden_number(c, "center", 0) != 0);
}

GOLDEN_ROWS(fft, {.op = "fft", .one = fft}, {.op = "ifft", .one = ifft}, {.op = "rfft", .one = rfft},
            {.op = "irfft", .one = irfft}, {.op = "stft", .one = stft})
