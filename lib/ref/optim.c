/* optim.c - the optimizers' rules, element by element in double. x[0] is the parameter, x[1] its
 * gradient, scaled, cut and with the decay added, x[2] on its state. */
#include <math.h>

#include "lib/ops/options.h"
#include "lib/ref/ref.h"

typedef struct numbers {
#define NUMBER(name, value) double name;
#define FLAG(name)          bool name;
    EG__UPDATE_NUMBERS(NUMBER) EG__UPDATE_FLAGS(FLAG)
#undef NUMBER
#undef FLAG
} numbers;

static numbers numbers_of(const eg__optim_group *o)
{
#define NUMBER(name, value) .name = value,
#define FLAG(flag)          .flag = o->flag,
    return (numbers){EG__UPDATE_NUMBERS(NUMBER) EG__UPDATE_FLAGS(FLAG)};
#undef NUMBER
#undef FLAG
}

typedef void rule(const numbers *k, double *x);

/* Of a half: the master, unless the parameter is not its rounding any more, because somebody wrote
 * it. */
static double master(const eg_tensor *m, const eg_tensor *p, int64_t i)
{
    uint16_t rounded;
    double v = eg__get_at(m, i), now = eg__get_at(p, i);
    eg__store(&rounded, p->dtype, 0, v);
    return eg__load(&rounded, p->dtype, 0) == now ? v : now;
}

static void element(const numbers *k, double scale, eg_tensor *const *in, int64_t i, rule *f)
{
    eg_tensor *p = in[EG__OPTIM_PARAMETER], *m = in[EG__OPTIM_MASTER];
    eg_tensor *const *s = in + EG__OPTIM_STATE;
    double x[2 + EG__OPTIM_STATES] = {m ? master(m, p, i) : eg__get_at(p, i)};
    double g = scale * k->scale * eg__get_at(in[EG__OPTIM_GRADIENT], i);
    g = g > k->limit ? k->limit : g < -k->limit ? -k->limit : g;
    const bool stays = k->keep_zeros && x[0] == 0;
    x[1] = stays ? 0 : g + k->decay * x[0];
    for (int j = 0; j < EG__OPTIM_STATES; j++) {
        x[2 + j] = s[j] ? eg__get_at(s[j], i) : 0;
    }
    f(k, x);
    x[0] = stays ? 0 : x[0];
    for (int j = 0; j < EG__OPTIM_STATES; j++) {
        if (s[j]) {
            eg__set_at(s[j], i, x[2 + j]);
        }
    }
    if (m) {
        eg__set_at(m, i, x[0]);
        x[0] = eg__get_at(m, i);
    }
    eg__set_at(p, i, x[0]);
}

/* On devices the gate, which is one of its tensors, says whether the step is done, with which numbers and what
 * gradients are multiplied with. */
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
        const numbers k = numbers_of(o);
        const bool by_row = o->lazy && p->ndim > 1 && p->n;
        const int64_t row = by_row ? p->n / p->shape[0] : p->n;
        for (int64_t at = 0; g && at < p->n; at += row) {
            bool moves = !by_row;
            for (int64_t i = at; i < at + row && !moves; i++) {
                moves = eg__get_at(g, i) != 0;
            }
            for (int64_t i = at; i < at + row && moves; i++) {
                element(&k, scale, c->in + t, i, f);
            }
        }
    }
    return EG_OK;
}

/* ---- the rules ------------------------------------------------------------------------------- */

typedef double T;
#define FN(name) name
#define K(name)  k->name
#define P        x[0]
#define G        x[1]
#define S0       x[2]
#define S1       x[3]
#define S2       x[4]
#define EG_UPDATE(rule, states, ...)                     \
    static void rule(const numbers *k, double *x)        \
    {                                                    \
        __VA_ARGS__;                                     \
    }                                                    \
    eg_status eg__ref_##rule##_update(const eg__call *c) \
    {                                                    \
        return each(c, rule);                            \
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
