/* ops_signal.c - Fourier transforms of signals, windows and mel filters. */
#include <math.h>

#include "nn/onnx/ops.h"

/* x [.., 1] or [.., 2] as complex numbers. */
static eg_tensor *complex_of(eg_tensor *x)
{
    eg_tensor *both[] = {x, eg_zeros_like(x)};
    return eg_size(x, -1) == 2 ? x : eg_concat(both, 2, -1);
}

static eg_tensor *first_half(eg_tensor *y, int axis)
{
    return eg_slice(y, axis, 0, eg_size(y, axis) / 2 + 1, 1);
}

/* The transform of x [.., 1] or [.., 2] along an axis; n 0: of its length. */
static eg_tensor *transform(eg_tensor *x, int axis, int64_t n, bool onesided)
{
    if (onesided && eg_size(x, -1) == 1) {
        return eg_rfft(eg_squeeze(x, EG_AXES(-1)), .n = n, .axes = EG_AXES(axis));
    }
    eg_tensor *y = eg_fft(complex_of(x), .n = n, .axes = EG_AXES(axis));
    return onesided ? first_half(y, axis) : y;
}

static eg_tensor *inverse(eg_tensor *x, int axis, int64_t n, bool onesided)
{
    return onesided ? eg_unsqueeze(eg_irfft(complex_of(x), .n = n, .axes = EG_AXES(axis)), -1)
                    : eg_ifft(complex_of(x), .n = n, .axes = EG_AXES(axis));
}

eg_status eg__onnx_run_dft(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const eg_dtype dtype = eg_dtype_of(x);
    const int ndim = eg_ndim(x);
    int64_t given = eg_onnx_int(c, "axis", 1), n = 0;
    if (c->node->version >= 20) {
        given = -2;
        if (eg__onnx_numbers(c, 2, &given, 1) < 0) {
            return eg__onnx_why();
        }
    }
    const int axis = eg__onnx_axis(given, ndim), lengths = eg__onnx_numbers(c, 1, &n, 1);
    if (axis < 0 || lengths < 0) {
        return eg__onnx_why();
    }
    if (axis == ndim - 1 || (lengths == 1 && n < 1) || eg_size(x, -1) < 1 || eg_size(x, -1) > 2) {
        return eg__onnx_bad(c, "the last axis is not one of 1 or 2, or is to be transformed, or dft_length is below 1");
    }
    x = eg_cast(x, EG_F64); /* bins that come out as 0 are to be small beside the others */
    const bool onesided = eg_onnx_int(c, "onesided", 0);
    eg_tensor *y = eg_onnx_int(c, "inverse", 0) ? inverse(x, axis, n, onesided) : transform(x, axis, n, onesided);
    return eg__onnx_give(c, eg_cast(y, dtype));
}

/* Pieces of a signal [n, samples, 1 or 2] by a window: [n, frames, length, 1 or 2]. */
static eg_tensor *pieces(eg_tensor *x, int64_t length, int64_t hop, eg_tensor *window)
{
    eg_tensor *y = eg_frames(eg_transpose(x, 1, 2), length, hop);
    y = window ? eg_mul(y, eg_cast(window, eg_dtype_of(y))) : y;
    return eg_permute(y, EG_AXES(0, 2, 3, 1));
}

eg_status eg__onnx_run_stft(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *window = eg__onnx_in(c, 2);
    const eg_dtype dtype = eg_dtype_of(x);
    int64_t hop = 0, length = window ? eg_numel(window) : eg_size(x, 1);
    if (eg__onnx_numbers(c, 1, &hop, 1) < 0 || eg__onnx_numbers(c, 3, &length, 1) < 0) {
        return eg__onnx_why();
    }
    if (eg_ndim(x) != 3 || eg_size(x, 2) < 1 || eg_size(x, 2) > 2 || (window && eg_numel(window) != length)) {
        return eg__onnx_bad(c, "the signal is not [n, samples, 1 or 2], or the window not as long as a frame");
    }
    x = eg_cast(x, dtype == EG_F64 ? EG_F64 : EG_F32);
    eg_tensor *y = transform(pieces(x, length, hop, window), 2, 0, eg_onnx_int(c, "onesided", 1));
    return eg__onnx_give(c, eg_cast(y, dtype));
}

/* ---- windows ------------------------------------------------------------------------------------------- */

/* The dtype that is asked for, of the first output. */
static bool output_dtype(eg_onnx_call *c, eg_dtype *dtype)
{
    const int64_t type = eg_onnx_int(c, "output_datatype", EG__ONNX_F32);
    *dtype = eg__onnx_dtype(type);
    if (*dtype == EG_DTYPE_COUNT) {
        eg__onnx_bad(c, "output_datatype is none that is known");
        return false;
    }
    c->out_type[0] = (uint8_t)type;
    return true;
}

/* a + b cos(2 pi i / n) + d cos(4 pi i / n) for n samples, or n + 1 where the window is not to continue periodically;
 * 1 of a single one. */
static eg_status window(eg_onnx_call *c, double a, double b, double d)
{
    int64_t n = 0;
    eg_dtype dtype;
    if (eg__onnx_numbers(c, 0, &n, 1) < 0 || !output_dtype(c, &dtype)) {
        return eg__onnx_why();
    }
    const int64_t period = n - !eg_onnx_int(c, "periodic", 1);
    if (period < 1) {
        return n < 0 ? eg__onnx_bad(c, "size is below 0") : eg__onnx_give(c, eg_ones(EG_SHAPE(n), dtype));
    }
    eg_tensor *at = eg_mul_scalar(eg_arange(0, (double)n, 1, EG_F64), 6.283185307179586476925 / (double)period);
    eg_tensor *y = eg_add_scalar(eg_mul_scalar(eg_cos(at), b), a);
    y = eg_add(y, eg_mul_scalar(eg_cos(eg_mul_scalar(at, 2)), d));
    return eg__onnx_give(c, eg_cast(y, dtype));
}

eg_status eg__onnx_run_hann_window(eg_onnx_call *c)
{
    return window(c, 0.5, -0.5, 0);
}

eg_status eg__onnx_run_hamming_window(eg_onnx_call *c)
{
    return window(c, 25.0 / 46, -21.0 / 46, 0);
}

eg_status eg__onnx_run_blackman_window(eg_onnx_call *c)
{
    return window(c, 0.42, -0.5, 0.08);
}

/* ---- mel filters ----------------------------------------------------------------------------------------- */

static double mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

typedef struct filters {
    int64_t rows, bins;
    double length, rate, low, step; /* the edges, in mel, of bin 0 from `low` on in steps */
} filters;

/* The row of edge i, within the rows and one behind. */
static int64_t edge(const filters *f, int64_t i)
{
    const double hertz = 700 * (pow(10, (f->low + (double)i * f->step) / 2595) - 1);
    const double row = floor((f->length + 1) * hertz / f->rate);
    return (int64_t)fmax(0, fmin(row, (double)f->rows));
}

/* Each filter rises from one edge to the next and falls to the one behind: [rows, bins]. */
static void fill(const filters *f, double *to)
{
    for (int64_t i = 0; i < f->bins; i++) {
        const int64_t low = edge(f, i), middle = edge(f, i + 1), high = edge(f, i + 2);
        for (int64_t row = low; row < middle; row++) {
            to[row * f->bins + i] = (double)(row - low) / (double)(middle - low);
        }
        if (middle < f->rows) {
            to[middle * f->bins + i] = 1;
        }
        for (int64_t row = middle + 1; row < high; row++) {
            to[row * f->bins + i] = (double)(high - row) / (double)(high - middle);
        }
    }
}

eg_status eg__onnx_run_mel_weight_matrix(eg_onnx_call *c)
{
    const double length = floor(eg__onnx_number(c, 1, 0)), bins = floor(eg__onnx_number(c, 0, 0));
    const double low = mel(eg__onnx_number(c, 3, 0)), high = mel(eg__onnx_number(c, 4, 0));
    eg_dtype dtype;
    if (!output_dtype(c, &dtype)) {
        return eg__onnx_why();
    }
    if (!(length >= 1 && length <= INT32_MAX && bins >= 1 && bins <= INT32_MAX) || !isfinite(low + high)) {
        return eg__onnx_bad(c, "num_mel_bins or dft_length is outside of 1..2147483647, or an edge is no frequency");
    }
    filters f = {.rows = (int64_t)length / 2 + 1,
                 .bins = (int64_t)bins,
                 .length = length,
                 .rate = eg__onnx_number(c, 2, 1),
                 .low = low,
                 .step = (high - low) / (bins + 2)};
    double *values = eg__onnx_scratch(f.rows, (size_t)f.bins * sizeof *values);
    if (!values) {
        return eg__onnx_why();
    }
    fill(&f, values);
    eg_tensor *t = eg_cast(eg_from(EG_SHAPE(f.rows, f.bins), EG_F64, values), dtype);
    return eg__onnx_give(c, t);
}
