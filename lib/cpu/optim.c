/* optim.c - the optimizers' rules in one pass over all parameters: each element is read and written once,
 * and threads share the elements of all tensors together, so that many small ones cost no more. */
#include <math.h>

#include "lib/cpu/isa.h"
#include "lib/ops/options.h"

eg__kernel eg__ref_sgd_update, eg__ref_adam_update; /* for halves */
eg__kernel ISA(eg__cpu_sgd_update), ISA(eg__cpu_adam_update);

/* A run of elements begin..end of the parameter at in[0]. */
typedef void run_fn(const eg__optim_opts *o, eg_tensor *const *in, int64_t begin, int64_t end);

typedef struct job {
    const eg__call *c;
    const eg__optim_opts *o;
    run_fn *const *runs; /* f32, f64 */
} job;

static void share(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int64_t at = 0;
    for (int t = 0; t < j->c->nin && at < end; t += j->o->slots) {
        eg_tensor *const *in = j->c->in + t;
        int64_t n = in[1] ? in[0]->n : 0, from = eg__max(begin - at, 0), to = eg__min(end - at, n);
        if (from < to) {
            j->runs[in[0]->dtype == EG_F64](j->o, in, from, to);
        }
        at += n;
    }
}

#define SGD(name, T)                                                                               \
    static void name(const eg__optim_opts *o, eg_tensor *const *in, int64_t begin, int64_t end)    \
    {                                                                                              \
        const T lr = (T)o->lr, momentum = (T)o->beta1, gain = (T)o->gain, decay = (T)o->decay;     \
        T *restrict p = (T *)eg__ptr(in[0]);                                                       \
        const T *restrict g = (const T *)eg__ptr(in[1]);                                           \
        if (o->slots == 2) {                                                                       \
            for (int64_t i = begin; i < end; i++) {                                                \
                p[i] -= lr * (g[i] + decay * p[i]);                                                \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        T *restrict b = (T *)eg__ptr(in[2]);                                                       \
        const T old = o->nesterov ? 1 : 0, fresh = o->nesterov ? momentum : 1;                     \
        for (int64_t i = begin; i < end; i++) {                                                    \
            T d = g[i] + decay * p[i], m = momentum * b[i] + gain * d;                             \
            b[i] = m;                                                                              \
            p[i] -= lr * (old * d + fresh * m);                                                    \
        }                                                                                          \
    }

#define ADAM(name, T, root)                                                                        \
    static void name(const eg__optim_opts *o, eg_tensor *const *in, int64_t begin, int64_t end)    \
    {                                                                                              \
        const T lr = (T)o->lr, beta1 = (T)o->beta1, beta2 = (T)o->beta2, eps = (T)o->eps;          \
        const T rest1 = (T)(1 - o->beta1), rest2 = (T)(1 - o->beta2), gain = (T)o->gain;           \
        const T decay = (T)o->decay, shrink = (T)o->shrink;                                        \
        T *restrict p = (T *)eg__ptr(in[0]), *restrict m = (T *)eg__ptr(in[2]);                    \
        T *restrict s = (T *)eg__ptr(in[3]);                                                       \
        const T *restrict g = (const T *)eg__ptr(in[1]);                                           \
        for (int64_t i = begin; i < end; i++) {                                                    \
            T d = g[i] + decay * p[i];                                                             \
            m[i] = beta1 * m[i] + rest1 * d;                                                       \
            s[i] = beta2 * s[i] + rest2 * d * d;                                                   \
            p[i] = shrink * p[i] - lr * m[i] / (root(s[i]) * gain + eps);                          \
        }                                                                                          \
    }

SGD(sgd_f32, float)
SGD(sgd_f64, double)
ADAM(adam_f32, float, sqrtf)
ADAM(adam_f64, double, sqrt)

/* Halves are rare as parameters: the reference does them. */
static eg_status update(const eg__call *c, run_fn *const *runs, eg__kernel *reference)
{
    job j = {c, c->opts, runs};
    int64_t n = 0;
    for (int t = 0; t < c->nin; t += j.o->slots) {
        if (c->in[t]->dtype != EG_F32 && c->in[t]->dtype != EG_F64) {
            return reference(c);
        }
        n += c->in[t + 1] ? c->in[t]->n : 0;
    }
    eg__parallel(n, EG__GRAIN, share, &j);
    return EG_OK;
}

eg_status ISA(eg__cpu_sgd_update)(const eg__call *c)
{
    static run_fn *const runs[] = {sgd_f32, sgd_f64};
    return update(c, runs, eg__ref_sgd_update);
}

eg_status ISA(eg__cpu_adam_update)(const eg__call *c)
{
    static run_fn *const runs[] = {adam_f32, adam_f64};
    return update(c, runs, eg__ref_adam_update);
}
