/* test_fft.c - Fourier transforms: what they refuse, laws they keep, lengths too long for the sum.
 * Runs on the CPU and on the emulated device. */
#include <math.h>

#include "tests/egt.h"

#define TWO_PI 6.283185307179586476925287

/* e^(2 pi i k j / n) for all j, complex [n, 2]. */
static eg_tensor *tone(int64_t n, int64_t k, eg_dtype dtype)
{
    eg_tensor *x = eg_empty(EG_SHAPE(n, 2), EG_F64);
    double *v = malloc((size_t)n * 2 * sizeof *v);
    for (int64_t j = 0; v && j < n; j++) {
        double angle = TWO_PI * (double)(j * k % n) / (double)n;
        v[2 * j] = cos(angle);
        v[2 * j + 1] = sin(angle);
    }
    x = v ? eg_from(EG_SHAPE(n, 2), EG_F64, v) : x;
    free(v);
    return eg_cast(x, dtype);
}

/* One 1 at k among zeros, complex [n, 2]. */
static eg_tensor *impulse(int64_t n, int64_t k, eg_dtype dtype)
{
    eg_tensor *at = eg_from_values(EG_SHAPE(1), EG_I64, (double[]){(double)(2 * k)});
    eg_tensor *one = eg_index_add(eg_zeros(EG_SHAPE(2 * n), dtype), 0, at, eg_ones(EG_SHAPE(1), dtype));
    return eg_reshape(one, EG_SHAPE(n, 2));
}

static void check_near(eg_tensor *got, eg_tensor *want, double tolerance)
{
    EGT_NEAR(egt_distance(got, want), 0, tolerance);
}

static double energy(eg_tensor *x)
{
    return eg_item(eg_sum(eg_square(eg_cast(x, EG_F64))));
}

static const eg_dtype dtypes[] = {EG_F64, EG_F32};
static const double small[] = {1e-12, 2e-5};

EGT(round_trips_and_energy)
{
    static const int64_t sizes[] = {1,  2,  3,  4,  5,   6,   7,   8,   9,   11,  12,  13,  16,  17,  25,  31,  32, 36,
                                    37, 49, 60, 64, 100, 101, 121, 128, 169, 210, 240, 243, 256, 301, 480, 512, 961};
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        for (int t = 0; t < 2; t++) {
            EG_SCOPE {
                int64_t n = sizes[i];
                eg_tensor *x = egt_random(EG_SHAPE(3, n, 2), dtypes[t], -1, 1), *y = eg_fft(x);
                check_near(eg_ifft(y), x, small[t]);
                EGT_NEAR(energy(y) / (double)n, energy(x), energy(x) * small[t]);
                eg_tensor *r = egt_random(EG_SHAPE(n, 20), dtypes[t], -1, 1);
                eg_tensor *bins = eg_rfft(r, .axes = EG_AXES(0), .norm = EG_FFT_ORTHO);
                check_near(eg_irfft(bins, .axes = EG_AXES(0), .n = n, .norm = EG_FFT_ORTHO), r, small[t]);
                eg_tensor *pairs[] = {r, eg_zeros_like(r)};
                eg_tensor *whole = eg_fft(eg_stack(pairs, 2, -1), .axes = EG_AXES(0), .norm = EG_FFT_ORTHO);
                check_near(bins, eg_slice(whole, 0, 0, n / 2 + 1, 1), small[t]);
            }
        }
    }
}

/* Lines behind each other are done one by one or side by side, as their length and the processor want; lines beside
 * each other are never split at these lengths. Of one, the values were compared with the sum. */
EGT(lines_behind_are_as_lines_beside)
{
    static const char *const sets[] = {"base", "avx2", "avx512"};
    static const int64_t sizes[] = {31, 62, 96, 240, 250, 256, 480, 482, 500, 512, 882, 960, 1024, 1600, 2400, 10240};
    const char *was = eg_cpu_isa();
    for (int set = 0; set < 3; set++) {
        if (eg_debug_isa(sets[set])) {
            eg_clear_error(); /* not in this build, or not on this processor */
            continue;
        }
        for (int i = 0; i < 2 * (int)(sizeof sizes / sizeof *sizes); i++) {
            EG_SCOPE {
                int64_t n = sizes[i / 2], rows = 37;
                eg_dtype dtype = dtypes[i % 2];
                eg_tensor *x = egt_random(EG_SHAPE(n, rows, 2), dtype, -1, 1), *r = eg_select(x, -1, 0);
                eg_tensor *behind = eg_contiguous(eg_permute(x, EG_AXES(1, 0, 2)));
                eg_tensor *y = eg_fft(x, .axes = EG_AXES(0), .norm = EG_FFT_ORTHO);
                check_near(eg_fft(behind, .norm = EG_FFT_ORTHO), eg_permute(y, EG_AXES(1, 0, 2)), small[i % 2]);
                check_near(eg_ifft(eg_fft(behind)), behind, small[i % 2]);
                eg_tensor *lines = eg_contiguous(eg_transpose(r, 0, 1)), *bins = eg_rfft(lines, .norm = EG_FFT_ORTHO);
                eg_tensor *want = eg_rfft(r, .axes = EG_AXES(0), .norm = EG_FFT_ORTHO);
                check_near(bins, eg_permute(want, EG_AXES(1, 0, 2)), small[i % 2]);
                check_near(eg_irfft(bins, .n = n, .norm = EG_FFT_ORTHO), lines, small[i % 2]);
            }
        }
    }
    EGT_OK(eg_debug_isa(was));
}

/* The answer of the sum is known where the sum would take hours. */
EGT(long_lines)
{
    static const int64_t sizes[] = {4096, 5040, 65536, 65537, 131071, 1000003, 1 << 20, 994009};
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        for (int t = 0; t < 2; t++) {
            EG_SCOPE {
                int64_t n = sizes[i], k = n / 3 + 1;
                check_near(eg_ifft(impulse(n, k, dtypes[t]), .norm = EG_FFT_FORWARD), tone(n, k, dtypes[t]), 1e-5);
                check_near(eg_fft(tone(n, k, dtypes[t]), .norm = EG_FFT_FORWARD), impulse(n, k, dtypes[t]), 1e-5);
                eg_tensor *wave = eg_select(tone(n, k, dtypes[t]), -1, 0); /* a cosine: half at k, if there */
                eg_tensor *bins = eg_rfft(wave, .norm = EG_FFT_FORWARD);
                check_near(bins, eg_mul_scalar(impulse(n / 2 + 1, k, dtypes[t]), 0.5), 1e-5);
                check_near(eg_irfft(bins, .n = n, .norm = EG_FFT_FORWARD), wave, 1e-5);
            }
        }
    }
}

EGT(a_product_of_spectra_is_a_convolution)
{
    eg_tensor *a = egt_random(EG_SHAPE(30), EG_F64, -1, 1), *b = egt_random(EG_SHAPE(7), EG_F64, -1, 1);
    eg_tensor *y = eg_irfft(eg_complex_mul(eg_rfft(a, .n = 36), eg_rfft(b, .n = 36)), .n = 36);
    double want[36] = {0};
    for (int i = 0; i < 30; i++) {
        for (int j = 0; j < 7; j++) {
            want[i + j] += eg_get(a, i) * eg_get(b, j);
        }
    }
    check_near(y, eg_from_values(EG_SHAPE(36), EG_F64, want), 1e-12);
}

EGT(integers_become_f32)
{
    eg_tensor *y = eg_rfft(eg_from_values(EG_SHAPE(4), EG_I64, (double[]){1, 2, 3, 4}));
    EGT_EQ(eg_dtype_of(y), EG_F32);
    check_near(y, eg_from_values(EG_SHAPE(3, 2), EG_F32, (double[]){10, 0, -2, 2, -2, 0}), 1e-6);
}

EGT(frames_and_windows)
{
    double shape[] = {0, 0.5, 1, 0.5};
    check_near(eg_hann_window(4), eg_from_values(EG_SHAPE(4), EG_F32, shape), 1e-7);
    EGT_NEAR(eg_get(eg_hamming_window(8), 0), 0.08, 1e-7);
    EGT_CHECK(eg_item(eg_hann_window(1)) == 1 && eg_item(eg_hamming_window(1)) == 1);
    eg_tensor *x = eg_arange(0, 10, 1, EG_I32), *y = eg_frames(x, 4, 3);
    double pieces[] = {0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9};
    check_near(y, eg_from_values(EG_SHAPE(3, 4), EG_I32, pieces), 0);
    /* a step down the middle of a tone leaves it at its bin in every frame */
    eg_tensor *wave = eg_cos(eg_mul_scalar(eg_arange(0, 1600, 1, EG_F64), TWO_PI * 5 / 64));
    eg_tensor *power =
        eg_sum(eg_square(eg_stft(wave, 64, .hop = 16, .window = eg_hann_window(64))), .axes = EG_AXES(-1));
    EGT_EQ(eg_size(power, 0), (1600 - 64) / 16 + 1);
    EGT_EQ(eg_size(power, 1), 33);
    EGT_NEAR(eg_item(eg_min(eg_argmax(power, .axes = EG_AXES(1)))), 5, 0);
    EGT_NEAR(eg_item(eg_max(eg_argmax(power, .axes = EG_AXES(1)))), 5, 0);
}

/* Rows of a larger tensor, back to front, every other element, repeated; a tape that follows changes nothing. */
EGT(frames_of_views)
{
    eg_tensor *b = eg_reshape(eg_arange(0, 24, 1, EG_F32), EG_SHAPE(2, 12));
    EGT_EQ(eg_get(eg_stft(eg_slice(eg_select(b, 0, 1), 0, 0, 8, 1), 8, .hop = 8), 0), 124);
    eg_tensor *views[] = {eg_select(b, 0, 1),
                          eg_slice(b, 1, 3, 11, 1),
                          eg_flip(b, EG_AXES(1)),
                          eg_flip(b, EG_AXES(0)),
                          eg_slice(b, 1, 1, 12, 2),
                          eg_transpose(b, 0, 1),
                          eg_expand(eg_select(b, 0, 1), EG_SHAPE(3, 12)),
                          eg_slice(b, 0, 2, 2, 1)};
    for (int i = 0; i < (int)(sizeof views / sizeof *views); i++) {
        EG_SCOPE {
            eg_tensor *x = views[i], *copy = eg_contiguous(eg_copy(x));
            const int64_t length = i == 5 ? 2 : 4;
            snprintf(egt_case, sizeof egt_case, "frames of view %d", i);
            eg_tensor *y = eg_frames(x, length, 3);
            check_near(y, eg_frames(copy, length, 3), 0);
            eg_tape tape = eg_tape_open();
            EGT_OK(eg_tape_watch(tape, x));
            check_near(eg_frames(x, length, 3), y, 0);
        }
    }
}

EGT(what_is_refused)
{
    eg_tensor *z = eg_zeros(EG_SHAPE(3, 4, 2), EG_F32), *r = eg_zeros(EG_SHAPE(3, 4), EG_F32);
    EGT_REFUSED(eg_fft(r), EG_ESHAPE, "x is [3, 4], its last axis must be 2");
    EGT_REFUSED(eg_irfft(eg_zeros(EG_SCALAR, EG_F32)), EG_ESHAPE, "last axis must be 2");
    EGT_REFUSED(eg_fft(z, .n = -1), EG_EINVAL, "n is -1");
    EGT_REFUSED(eg_rfft(r, .n = INT64_MIN), EG_EINVAL, "n is -9223372036854775808");
    EGT_REFUSED(eg_rfft(r, .n = INT64_MAX), EG_ESHAPE, "");
    EGT_REFUSED(eg_irfft(z, .n = INT64_MAX), EG_ESHAPE, "");
    EGT_REFUSED(eg_fft(z, .n = 4, .axes = EG_AXES(0, 1)), EG_EINVAL, "n is 4 for several axes");
    EGT_REFUSED(eg_fft(z, .axes = EG_AXES(2)), EG_ESHAPE, "axis 2");
    EGT_REFUSED(eg_fft(z, .axes = EG_AXES(0, -2)), EG_ESHAPE, "axis");
    EGT_REFUSED(eg_rfft(r, .axes = EG_AXES(-3)), EG_ESHAPE, "axis -3");
    EGT_REFUSED(eg_rfft(eg_zeros(EG_SCALAR, EG_F32)), EG_ESHAPE, "");
    EGT_REFUSED(eg_fft(z, .norm = (eg_fft_norm)3), EG_EINVAL, "norm is 3");
    EGT_REFUSED(eg_fft(eg_zeros(EG_SHAPE(3, 0, 2), EG_F32)), EG_ESHAPE, "axis 1 of [3, 0, 2]: 0 elements");
    EGT_REFUSED(eg_irfft(eg_zeros(EG_SHAPE(1, 2), EG_F32)), EG_ESHAPE, "1 elements make a transform of 0");
    EGT_REFUSED(eg_irfft(eg_zeros(EG_SHAPE(0, 2), EG_F32)), EG_ESHAPE, "0 elements");
    EGT_REFUSED(eg_fft(eg_cast(z, EG_F16)), EG_EDTYPE, "not for dtype f16");
    EGT_REFUSED(eg_rfft(eg_zeros(EG_SHAPE(1, 1, 1, 1, 1, 1, 1, 2), EG_F32)), EG_ESHAPE,
                "no axis is left for the pairs");
    EGT_REFUSED(eg_complex_mul(z, r), EG_ESHAPE, "b is [3, 4]");
    EGT_REFUSED(eg_frames(r, 5, 1), EG_ESHAPE, "no frames of 5 in [3, 4]");
    EGT_REFUSED(eg_frames(r, 2, 0), EG_EINVAL, "hop is 0");
    EGT_REFUSED(eg_frames(r, 0, 1), EG_EINVAL, "length is 0");
    EGT_REFUSED(eg_hann_window(0), EG_EINVAL, "n is 0");
    EGT_REFUSED(eg_stft(r, 0), EG_EINVAL, "frame is 0");
    EGT_REFUSED(eg_stft(r, 4, .hop = -1), EG_EINVAL, "hop -1");
    EGT_REFUSED(eg_stft(r, 4, .n_fft = 3), EG_EINVAL, "n_fft 3");
    EGT_REFUSED(eg_stft(r, 4, .window = eg_hann_window(5)), EG_ESHAPE, "window is [5], must be [4]");
    EGT_REFUSED(eg_stft(r, 5), EG_ESHAPE, "no frames of 5");
}
