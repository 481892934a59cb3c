/* dropout.c - zeroing and scaling by words made on the way; nothing of the mask is ever stored. */
#include "lib/cpu/pointwise/convert.h"
#include "lib/cpu/random/philox.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_dropout);

typedef struct job {
    const eg__dropout_opts *o;
    const char *y; /* its first element */
    int dtype, esize;
} job;

#define APPLY(type)                                                                                                 \
    static void apply_##type(int64_t n, const uint32_t *restrict w, uint32_t threshold, type scale, const char *xv, \
                             int64_t sx, char *yv)                                                                  \
    {                                                                                                               \
        type *restrict y = (type *)yv;                                                                              \
        if (sx == sizeof(type)) {                                                                                   \
            const type *restrict x = (const type *)xv;                                                              \
            for (int64_t i = 0; i < n; i++) {                                                                       \
                type kept = x[i] * scale;                                                                           \
                y[i] = eg__chance(w[i], threshold) ? 0 : kept;                                                      \
            }                                                                                                       \
            return;                                                                                                 \
        }                                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                           \
            type kept = *(const type *)(xv + i * sx) * scale;                                                       \
            y[i] = eg__chance(w[i], threshold) ? 0 : kept;                                                          \
        }                                                                                                           \
    }
APPLY(float)
APPLY(double)

/* n elements in a row of y's memory; x lies anywhere. */
static void row(void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    const job *j = ctx;
    const eg__dropout_opts *o = j->o;
    const uint32_t threshold = eg__threshold(o->p);
    const double scale = o->p < 1 ? 1 / (1 - o->p) : 0;
    uint32_t words[EG__WORDS + 64];
    float v[EG__WORDS];
    char *y = ptr[0];
    const char *x = ptr[1];
    while (n > 0) {
        int64_t at = (y - j->y) / j->esize, skip = at % 4, k = eg__min(n, EG__WORDS - skip);
        const uint32_t *w = words + skip;
        ISA(eg__philox_words)(o->from.seed, o->from.offset + (uint64_t)at / 4, (skip + k + 3) / 4, words);
        if (j->dtype == EG_F32) {
            apply_float(k, w, threshold, (float)scale, x, s[1], y);
        } else if (j->dtype == EG_F64) {
            apply_double(k, w, threshold, scale, x, s[1], y);
        } else {
            ISA(eg__halves_to_f32)(k, j->dtype, x, s[1], v);
            apply_float(k, w, threshold, (float)scale, (char *)v, sizeof *v, (char *)v);
            ISA(eg__f32_to_halves)(k, j->dtype, v, y, j->esize);
        }
        n -= k;
        x += k * s[1];
        y += k * j->esize;
    }
}

eg_status ISA(eg__cpu_dropout)(const eg__call *c)
{
    eg_tensor *y = c->out[0];
    job j = {c->opts, eg__ptr(y), y->dtype, (int)eg__esize(y)};
    eg__iter it;
    eg__iter_init(&it, (eg_tensor *[]){y, c->in[0]}, 2);
    eg__iter_run(&it, EG__GRAIN / 4, row, &j);
    return EG_OK;
}
