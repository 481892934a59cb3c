/* optim.c - the optimizers' rules, element by element in double. x[0] is the parameter, x[1] its
 * gradient, scaled, cut and with the decay added, x[2] on its state; what a rule keeps is in
 * include/egret/optim.h. */
#include <math.h>

#include "lib/ops/options.h"
#include "lib/ref/ref.h"

typedef void rule(const eg__optim_group *o, double *x);

/* Of a half: the master, unless the parameter is not its rounding any more, because somebody wrote
 * it. */
static double master(const eg_tensor *m, const eg_tensor *p, int64_t i)
{
    uint16_t rounded;
    double v = eg__get_at(m, i), now = eg__get_at(p, i);
    eg__store(&rounded, p->dtype, 0, v);
    return eg__load(&rounded, p->dtype, 0) == now ? v : now;
}

static void element(const eg__optim_group *o, double scale, eg_tensor *const *in, int64_t i, rule *f)
{
    eg_tensor *p = in[EG__OPTIM_PARAMETER], *m = in[EG__OPTIM_MASTER];
    eg_tensor *const *s = in + EG__OPTIM_STATE;
    double x[2 + EG__OPTIM_STATES] = {m ? master(m, p, i) : eg__get_at(p, i)};
    double g = scale * eg__get_at(in[EG__OPTIM_GRADIENT], i);
    g = g > o->limit ? o->limit : g < -o->limit ? -o->limit : g;
    x[1] = g + o->decay * x[0];
    for (int k = 0; k < EG__OPTIM_STATES; k++) {
        x[2 + k] = s[k] ? eg__get_at(s[k], i) : 0;
    }
    f(o, x);
    for (int k = 0; k < EG__OPTIM_STATES; k++) {
        if (s[k]) {
            eg__set_at(s[k], i, x[2 + k]);
        }
    }
    if (m) {
        eg__set_at(m, i, x[0]);
        x[0] = eg__get_at(m, i);
    }
    eg__set_at(p, i, x[0]);
}

/* On devices the gate, which is one of its tensors, says whether the step is done, with which numbers and what gradients
 * are multiplied with. */
static const eg__optim_group *judged(const eg__optim_opts *o, double *scale)
{
    if (!o->gate) {
        return o->groups;
    }
    const double *gate = (const double *)eg__ptr(o->gate);
    const int64_t set = (int64_t)(gate[EG__GATE_SKIPPED] - o->skipped);
    *scale = gate[EG__GATE_SCALE];
    return gate[EG__GATE_CLOSED] ? NULL : o->groups + eg__min(set, o->sets - 1) * o->ngroups;
}

static eg_status each(const eg__call *c, rule *f)
{
    const eg__optim_opts *opts = c->opts;
    double scale = 1;
    const eg__optim_group *groups = judged(opts, &scale);
    if (!groups) {
        return EG_OK;
    }
    for (int t = 0; t < c->nin; t += EG__OPTIM_SLOTS) {
        const eg__optim_group *o = &groups[opts->group[t / EG__OPTIM_SLOTS]];
        const eg_tensor *p = c->in[t], *g = c->in[t + EG__OPTIM_GRADIENT];
        const bool by_row = o->lazy && p->ndim > 1 && p->n;
        const int64_t row = by_row ? p->n / p->shape[0] : p->n;
        for (int64_t at = 0; g && at < p->n; at += row) {
            bool moves = !by_row;
            for (int64_t i = at; i < at + row && !moves; i++) {
                moves = eg__get_at(g, i) != 0;
            }
            for (int64_t i = at; i < at + row && moves; i++) {
                element(o, scale * o->scale, c->in + t, i, f);
            }
        }
    }
    return EG_OK;
}

static void sgd(const eg__optim_group *o, double *x)
{
    x[2] = o->beta1 * x[2] + o->gain * x[1];
    x[0] -= o->lr * (o->nesterov ? x[1] + o->beta1 * x[2] : x[2]);
}

static void adam(const eg__optim_group *o, double *x)
{
    x[2] = o->beta1 * x[2] + (1 - o->beta1) * x[1];
    x[3] = o->beta2 * x[3] + (1 - o->beta2) * x[1] * x[1];
    double step = o->lr * x[2] + o->fresh * x[1];
    x[0] = o->shrink * x[0] - step / (sqrt(x[3]) * o->gain + o->eps);
}

static void adamax(const eg__optim_group *o, double *x)
{
    x[2] = o->beta1 * x[2] + (1 - o->beta1) * x[1];
    x[3] = fmax(o->beta2 * x[3], fabs(x[1]) + o->eps);
    x[0] -= o->lr * x[2] / x[3];
}

/* States: of the squares, momentum, of the gradients (centered). */
static void rmsprop(const eg__optim_group *o, double *x)
{
    x[2] = o->beta2 * x[2] + (1 - o->beta2) * x[1] * x[1];
    x[4] = o->beta2 * x[4] + (1 - o->beta2) * x[1];
    double spread = o->centered ? x[2] - x[4] * x[4] : x[2];
    double step = o->gain * x[1] / (sqrt((spread < 0 ? 0 : spread) + o->inside) + o->eps);
    x[3] = o->beta1 * x[3] + step;
    x[0] -= o->lr * x[3];
}

static void adagrad(const eg__optim_group *o, double *x)
{
    x[2] += x[1] * x[1];
    x[0] -= o->lr * x[1] / (sqrt(x[2]) + o->eps);
}

static void adadelta(const eg__optim_group *o, double *x)
{
    x[2] = o->beta2 * x[2] + (1 - o->beta2) * x[1] * x[1];
    double step = sqrt(x[3] + o->eps) / sqrt(x[2] + o->eps) * x[1];
    x[3] = o->beta2 * x[3] + (1 - o->beta2) * step * step;
    x[0] -= o->lr * step;
}

/* low: l1, high: l2. */
static void ftrl(const eg__optim_group *o, double *x)
{
    double before = pow(x[2], o->power);
    x[2] += x[1] * x[1];
    double after = pow(x[2], o->power);
    x[3] += x[1] - (after - before) / o->lr * x[0];
    double cut = x[3] > 0 ? o->low : -o->low;
    x[0] = fabs(x[3]) <= o->low ? 0 : (cut - x[3]) / (after / o->lr + 2 * o->high);
}

/* States: the last gradient, the size of the step; low and high: its limits. */
static void rprop(const eg__optim_group *o, double *x)
{
    double turn = x[1] * x[2];
    double factor = turn > 0 ? o->beta2 : turn < 0 ? o->beta1 : 1;
    x[3] = fmin(fmax(x[3] * factor, o->low), o->high);
    x[2] = turn < 0 ? 0 : x[1];
    x[0] -= x[2] > 0 ? x[3] : x[2] < 0 ? -x[3] : 0;
}

#define EG_UPDATE(name)                                                                            \
    eg_status eg__ref_##name##_update(const eg__call *c)                                           \
    {                                                                                              \
        return each(c, name);                                                                      \
    }
#include "lib/ops/updates.def"
#undef EG_UPDATE

/* Once NaN, the largest stays it: no comparison holds. */
eg_status eg__ref_total_norm(const eg__call *c)
{
    const double p = ((const eg__total_norm_opts *)c->opts)->p;
    double total = 0;
    for (int t = 0; t < c->nin; t++) {
        for (int64_t i = 0; c->in[t] && i < c->in[t]->n; i++) {
            double v = fabs(eg__get_at(c->in[t], i));
            if (isinf(p)) {
                total = v > total || isnan(v) ? v : total;
            } else {
                total += p == 1 ? v : v * v;
            }
        }
    }
    eg__norm_known(c, p == 2 ? sqrt(total) : total);
    return EG_OK;
}
