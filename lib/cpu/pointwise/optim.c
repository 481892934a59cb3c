/* optim.c - the optimizers' rules in one pass over all parameters: each element is read and written
 * once, and threads share the elements of all tensors together, so that many small ones cost no
 * more. */
#include <math.h>

#include "lib/cpu/pointwise/convert.h"
#include "lib/ops/options.h"

enum {
    STRETCH = 256, /* elements of a gradient looked at for zeros at once */
    BLOCK = 1024,  /* elements of halves converted at once */
    RUN = 16384,   /* elements of rows with a gradient updated at once */
};

/* A loop for each combination of states a rule may keep, for zeros that stay and for those that do not. */
#define LOOP(f, ...)      (o->keep_zeros ? f(o, x, n, __VA_ARGS__, true) : f(o, x, n, __VA_ARGS__, false))
#define WITH_ONE(f)       LOOP(f, true, false, false)
#define WITH_TWO(f)       LOOP(f, true, true, false)
#define WITH_THREE(f)     LOOP(f, true, true, true)
#define WITH_MAYBE_ONE(f) x[2] ? WITH_ONE(f) : LOOP(f, false, false, false)
#define WITH_ONE_MAYBE_THREE(f) \
    x[3] && x[4] ? WITH_THREE(f) : x[3] ? WITH_TWO(f) : x[4] ? LOOP(f, true, false, true) : WITH_ONE(f)

#define K(name)     k.name
#define T           float
#define TYPED(name) name##_f32
#define FN(name)    name##f
#include "lib/cpu/pointwise/optim_loops.h"
#undef T
#undef TYPED
#undef FN
#define T           double
#define TYPED(name) name##_f64
#define FN(name)    name
#include "lib/cpu/pointwise/optim_loops.h"
#undef T
#undef TYPED
#undef FN

/* The rule over n elements. */
typedef void loop(const eg__optim_group *o, char *const *x, int64_t n);

typedef struct job {
    const eg__call *c;
    const eg__optim_opts *opts;
    loop *f32, *f64;
} job;

/* The master stands for the parameter, unless that is not its rounding any more. */
static void follow(int64_t n, int type, const char *parameter, float *restrict master)
{
    float now[BLOCK], was[BLOCK];
    uint16_t rounded[BLOCK];
    ISA(eg__f32_to_halves)(n, type, master, (char *)rounded, 2);
    ISA(eg__halves_to_f32)(n, type, (const char *)rounded, 2, was);
    ISA(eg__halves_to_f32)(n, type, parameter, 2, now);
    for (int64_t i = 0; i < n; i++) {
        master[i] = was[i] == now[i] ? master[i] : now[i];
    }
}

/* Elements begin..end of a parameter in f32 whose gradient is in halves, or which stands for one in
 * halves. */
static void in_blocks(const job *j, const eg__optim_group *o, eg_tensor *const *in, int64_t begin, int64_t end)
{
    const eg_tensor *p = in[EG__OPTIM_PARAMETER], *g = in[EG__OPTIM_GRADIENT];
    const eg_tensor *m = in[EG__OPTIM_MASTER];
    float slope[BLOCK];
    char *x[2 + EG__OPTIM_STATES] = {NULL, (char *)slope};
    for (int64_t at = begin; at < end; at += BLOCK) {
        const int64_t n = eg__min(BLOCK, end - at);
        char *half = eg__ptr(p) + at * 2;
        x[0] = m ? eg__ptr(m) + at * 4 : eg__ptr(p) + at * 4;
        for (int k = 0; k < EG__OPTIM_STATES; k++) {
            const eg_tensor *s = in[EG__OPTIM_STATE + k];
            x[2 + k] = s ? eg__ptr(s) + at * 4 : NULL;
        }
        ISA(eg__halves_to_f32)(n, g->dtype, eg__ptr(g) + at * 2, 2, slope);
        if (m) {
            follow(n, p->dtype, half, (float *)x[0]);
        }
        j->f32(o, x, n);
        if (m) {
            ISA(eg__f32_to_halves)(n, p->dtype, (const float *)x[0], half, 2);
        }
    }
}

static void update(const job *j, const eg__optim_group *o, eg_tensor *const *in, int64_t begin, int64_t end)
{
    const eg_tensor *g = in[EG__OPTIM_GRADIENT];
    const int64_t offset = begin * (int64_t)eg__esize(g);
    char *x[2 + EG__OPTIM_STATES];
    if (g->dtype == EG_F16 || g->dtype == EG_BF16) {
        in_blocks(j, o, in, begin, end);
        return;
    }
    x[0] = eg__ptr(in[EG__OPTIM_PARAMETER]) + offset;
    x[1] = eg__ptr(g) + offset;
    for (int k = 0; k < EG__OPTIM_STATES; k++) {
        const eg_tensor *s = in[EG__OPTIM_STATE + k];
        x[2 + k] = s ? eg__ptr(s) + offset : NULL;
    }
    (g->dtype == EG_F32 ? j->f32 : j->f64)(o, x, end - begin);
}

static bool zeros(const eg_tensor *g, int64_t at, int64_t n)
{
    const char *x = eg__ptr(g) + at * (int64_t)eg__esize(g);
    if (g->dtype == EG_F32 || g->dtype == EG_F64) {
        return (g->dtype == EG_F32 ? zeros_f32 : zeros_f64)(x, n);
    }
    unsigned other = 0;
    for (int64_t i = 0; i < n; i++) {
        other |= ((const uint16_t *)x)[i] & 0x7fffu; /* all but the sign */
    }
    return !other;
}

/* The rows that begin in begin..end and have a gradient, in runs that the cache keeps until they are
 * updated. */
static void update_rows(const job *j, const eg__optim_group *o, eg_tensor *const *in, int64_t begin, int64_t end)
{
    const eg_tensor *g = in[EG__OPTIM_GRADIENT];
    const int64_t row = g->n / g->shape[0], last = (end + row - 1) / row;
    int64_t r = (begin + row - 1) / row;
    while (r < last) {
        const int64_t first = r;
        while (r < last && (r - first) * row < RUN && !zeros(g, r * row, row)) {
            r++;
        }
        if (first < r) {
            update(j, o, in, first * row, r * row);
        } else {
            r++;
        }
    }
}

static void share(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int64_t at = 0;
    for (int t = 0; t < j->c->nin && at < end; t += EG__OPTIM_SLOTS) {
        eg_tensor *const *in = j->c->in + t, *g = in[EG__OPTIM_GRADIENT];
        const eg__optim_group *o = &j->opts->groups[j->opts->group[t / EG__OPTIM_SLOTS]];
        int64_t n = g ? g->n : 0, from = eg__max(begin - at, 0), to = eg__min(end - at, n);
        if (from < to) {
            (o->lazy && g->ndim > 1 ? update_rows : update)(j, o, in, from, to);
        }
        at += n;
    }
}

static eg_status run(const eg__call *c, loop *f32, loop *f64)
{
    job j = {c, c->opts, f32, f64};
    int64_t n = 0;
    for (int t = EG__OPTIM_GRADIENT; t < c->nin; t += EG__OPTIM_SLOTS) {
        n += c->in[t] ? c->in[t]->n : 0;
    }
    eg__parallel(n, EG__GRAIN, share, &j);
    return EG_OK;
}

#define EG_UPDATE(name, ...)                                  \
    eg__kernel ISA(eg__cpu_##name##_update);                  \
    eg_status ISA(eg__cpu_##name##_update)(const eg__call *c) \
    {                                                         \
        return run(c, name##_f32, name##_f64);                \
    }
#include "lib/ops/updates.def"
#undef EG_UPDATE
