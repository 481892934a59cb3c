/* total_norm.c - the norm of many tensors as one vector. Stretches of fixed length are added up in
 * double and their sums one after the other, so that the number of threads does not change a bit of
 * it. */
#include <math.h>

#include "lib/cpu/pointwise/convert.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_total_norm);

enum { STRETCH = 2048, LANES = 16 };

typedef struct job {
    const eg__call *c;
    double p, *sums; /* of each stretch */
} job;

static inline double join(double p, double a, double b)
{
    /* Once NaN, the largest stays it: no comparison holds. */
    return p == INFINITY ? (b > a || b != b ? b : a) : a + b;
}

/* Inlined with a constant p. */
#define MEASURE(name, T)                                                                              \
    static inline double name##_of(const T *restrict x, int64_t n, double p)                          \
    {                                                                                                 \
        double acc[LANES] = {0};                                                                      \
        int64_t i = 0;                                                                                \
        for (; i + LANES <= n; i += LANES) {                                                          \
            for (int l = 0; l < LANES; l++) {                                                         \
                double v = x[i + l];                                                                  \
                acc[l] = join(p, acc[l], p == 2 ? v * v : fabs(v));                                   \
            }                                                                                         \
        }                                                                                             \
        for (; i < n; i++) {                                                                          \
            double v = x[i];                                                                          \
            acc[0] = join(p, acc[0], p == 2 ? v * v : fabs(v));                                       \
        }                                                                                             \
        for (int l = 1; l < LANES; l++) {                                                             \
            acc[0] = join(p, acc[0], acc[l]);                                                         \
        }                                                                                             \
        return acc[0];                                                                                \
    }                                                                                                 \
    static double name(const T *x, int64_t n, double p)                                               \
    {                                                                                                 \
        return p == 2 ? name##_of(x, n, 2) : p == 1 ? name##_of(x, n, 1) : name##_of(x, n, INFINITY); \
    }
MEASURE(measure_f32, float)
MEASURE(measure_f64, double)

static double stretch(const eg_tensor *x, int64_t at, double p)
{
    const int64_t n = eg__min(STRETCH, x->n - at);
    const char *data = eg__ptr(x) + at * (int64_t)eg__esize(x);
    float wide[STRETCH];
    if (x->dtype == EG_F64) {
        return measure_f64((const double *)data, n, p);
    }
    if (x->dtype != EG_F32) {
        ISA(eg__halves_to_f32)(n, x->dtype, data, 2, wide);
        return measure_f32(wide, n, p);
    }
    return measure_f32((const float *)data, n, p);
}

static int64_t stretches(const eg_tensor *x)
{
    return x ? (x->n + STRETCH - 1) / STRETCH : 0;
}

static void share(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int64_t at = 0;
    for (int t = 0; t < j->c->nin && at < end; t++) {
        const eg_tensor *x = j->c->in[t];
        int64_t n = stretches(x), to = eg__min(end - at, n);
        for (int64_t s = eg__max(begin - at, 0); s < to; s++) {
            j->sums[at + s] = stretch(x, s * STRETCH, j->p);
        }
        at += n;
    }
}

eg_status ISA(eg__cpu_total_norm)(const eg__call *c)
{
    job j = {c, ((const eg__total_norm_opts *)c->opts)->p, NULL};
    int64_t n = 0;
    double total = 0;
    eg__scratch sums;
    for (int t = 0; t < c->nin; t++) {
        n += stretches(c->in[t]);
    }
    eg_status st = eg__scratch_get(c, (size_t)(n + 1) * sizeof *j.sums, &sums);
    if (st) {
        return st;
    }
    j.sums = sums.data;
    eg__parallel(n, 2 * EG__GRAIN / STRETCH, share, &j);
    for (int64_t s = 0; s < n; s++) {
        total = join(j.p, total, j.sums[s]);
    }
    eg__norm_known(c, j.p == 2 ? sqrt(total) : total);
    eg__scratch_put(c, &sums);
    return EG_OK;
}
