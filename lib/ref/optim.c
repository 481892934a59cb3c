/* optim.c - the optimizers' rules, element by element in double. */
#include <math.h>

#include "lib/ops/options.h"
#include "lib/ref/ref.h"

eg_status eg__ref_sgd_update(const eg__call *c)
{
    const eg__optim_opts *o = c->opts;
    for (int t = 0; t < c->nin; t += o->slots) {
        eg_tensor *p = c->in[t], *g = c->in[t + 1], *b = o->slots > 2 ? c->in[t + 2] : NULL;
        for (int64_t i = 0; g && i < p->n; i++) {
            double v = eg__get_at(p, i), d = eg__get_at(g, i) + o->decay * v;
            if (b) {
                double m = o->beta1 * eg__get_at(b, i) + o->gain * d;
                eg__set_at(b, i, m);
                d = o->nesterov ? d + o->beta1 * m : m;
            }
            eg__set_at(p, i, v - o->lr * d);
        }
    }
    return EG_OK;
}

eg_status eg__ref_adam_update(const eg__call *c)
{
    const eg__optim_opts *o = c->opts;
    for (int t = 0; t < c->nin; t += o->slots) {
        eg_tensor *p = c->in[t], *g = c->in[t + 1], *m = c->in[t + 2], *s = c->in[t + 3];
        for (int64_t i = 0; g && i < p->n; i++) {
            double v = eg__get_at(p, i), d = eg__get_at(g, i) + o->decay * v;
            double first = o->beta1 * eg__get_at(m, i) + (1 - o->beta1) * d;
            double second = o->beta2 * eg__get_at(s, i) + (1 - o->beta2) * d * d;
            eg__set_at(m, i, first);
            eg__set_at(s, i, second);
            eg__set_at(p, i, o->shrink * v - o->lr * first / (sqrt(second) * o->gain + o->eps));
        }
    }
    return EG_OK;
}
