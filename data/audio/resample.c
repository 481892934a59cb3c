/* resample.c - sounds at other rates, through libsamplerate. */
#include <egret/data/audio.h>
#include <egret/ops.h>

#include "lib/ops/dispatch.h"

enum { MOST_TIMES = 256 }; /* what libsamplerate does */

#ifdef EG_HAVE_SAMPLERATE
#include <samplerate.h>

#include "lib/core/library.h"

#define FUNCTIONS(X) \
    X(src_simple)    \
    X(src_strerror)
EG__LIBRARY(lib, FUNCTIONS, .title = "libsamplerate", .files = {EG_SO_SAMPLERATE}, .package = "libsamplerate0");

/* Rows of n samples become rows of m; what the filter leaves behind at the end is silence. */
static eg_status convert(const char *op, const float *from, int64_t rows, int64_t n, float *to, int64_t m, double ratio,
                         eg_resample_quality quality)
{
    static const int kinds[] = {SRC_SINC_MEDIUM_QUALITY, SRC_SINC_BEST_QUALITY, SRC_SINC_FASTEST, SRC_LINEAR};
    eg_status st = eg__library_open(&lib_library, op);
    for (int64_t r = 0; r < rows && !st; r++) {
        SRC_DATA d = {.data_in = from + r * n,
                      .data_out = to + r * m,
                      .input_frames = (long)n,
                      .output_frames = (long)m,
                      .src_ratio = ratio};
        int failed = lib.src_simple(&d, kinds[quality], 1);
        if (failed) {
            st = eg__fail(EG_EINVAL, op, "libsamplerate: %s", lib.src_strerror(failed));
        } else {
            memset(to + r * m + d.output_frames_gen, 0, (size_t)(m - d.output_frames_gen) * sizeof *to);
        }
    }
    return st;
}

#else

static eg_status convert(const char *op, const float *from, int64_t rows, int64_t n, float *to, int64_t m, double ratio,
                         eg_resample_quality quality)
{
    (void)from, (void)rows, (void)n, (void)to, (void)m, (void)ratio, (void)quality;
    return eg__fail(EG_ENOKERNEL, op, "this build has no libsamplerate");
}

#endif

eg_tensor *eg_audio_resample_with(eg_tensor *x, int64_t from, int64_t to, const eg_resample_options *options)
{
    static const char op[] = "eg_audio_resample";
    eg_resample_options o;
    eg__options(&o, sizeof o, options);
    if (eg__check(x, op, "x")) {
        return NULL;
    }
    if (from < 1 || to < 1 || from / MOST_TIMES > to || to / MOST_TIMES > from ||
        (unsigned)o.quality > EG_RESAMPLE_LINEAR) {
        return eg__fail_null(EG_EINVAL, op, "from %lld to %lld samples a second, quality %d", (long long)from,
                             (long long)to, (int)o.quality);
    }
    int64_t n = x->ndim ? x->shape[x->ndim - 1] : 0, m;
    if (!x->ndim || !eg__is_float(x->dtype) || n > INT32_MAX || __builtin_mul_overflow(n, to, &m)) {
        return eg__fail_null(eg__is_float(x->dtype) ? EG_ESHAPE : EG_EDTYPE, op,
                             "x is %s %s, must be floats [.., samples]", eg_dtype_name((eg_dtype)x->dtype),
                             EG__SHAPE_OF(x));
    }
    m = m / from + (m % from != 0);
    eg_scope s = eg_scope_push();
    eg_shape shape = eg_shape_of(x);
    shape.dim[shape.ndim - 1] = m;
    eg_tensor *in = eg_contiguous(eg_to(eg_cast(eg_detach(x), EG_F32), eg_cpu()));
    eg_tensor *y = in ? eg__empty_on(0, shape, EG_F32) : NULL;
    if (y && in->n &&
        convert(op, (const float *)eg__ptr(in), in->n / n, n, (float *)eg__ptr(y), m, (double)to / (double)from,
                o.quality)) {
        y = NULL;
    }
    return eg_scope_pop(s, y);
}
