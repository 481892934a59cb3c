/* norm.c - normalisation and its gradients over groups of elements, one loop for all kinds. */
#include <math.h>

#include "lib/ops/norm.h"
#include "lib/ops/options.h"
#include "lib/ref/ref.h"

enum kind { BATCH, GROUP, LAYER };

/* Which statistics element i (row-major) of x belongs to, and which entry of weight and bias. */
static int64_t group_of(enum kind kind, const eg__norm_opts *o, const eg_tensor *x, int64_t i, int64_t *parameter)
{
    if (kind == LAYER) {
        int64_t width = 1;
        for (int d = x->ndim - o->axes; d < x->ndim; d++) {
            width *= x->shape[d];
        }
        *parameter = i % width;
        return i / width;
    }
    int64_t channels = x->shape[1], spatial = x->n / x->shape[0] / channels, image = i / spatial / channels;
    *parameter = i / spatial % channels;
    return kind == BATCH ? *parameter : image * o->groups + *parameter / (channels / o->groups);
}

static double parameter_of(const eg_tensor *t, int64_t i, double otherwise)
{
    return t ? eg__get_at(t, eg__place(t->ndim, t->shape, t->strides, i)) : otherwise;
}

static eg_status forward(const eg__call *c, enum kind kind)
{
    const eg__norm_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0], *mean = c->out[1], *var = c->out[2];
    eg__scratch s;
    int64_t groups = mean->n, k;
    if (eg__scratch_get(c, (size_t)groups * 3 * sizeof(double), &s)) {
        return EG_ENOMEM;
    }
    double *n = s.data, *sum = n + groups, *square = sum + groups;
    memset(n, 0, (size_t)groups * 3 * sizeof(double));
    for (int64_t i = 0; i < x->n; i++) {
        int64_t g = group_of(kind, o, x, i, &k);
        n[g]++;
        sum[g] += o->root ? 0 : eg__get_at(x, eg__at(x, x, i));
    }
    for (int64_t i = 0; i < x->n; i++) {
        int64_t g = group_of(kind, o, x, i, &k);
        double d = eg__get_at(x, eg__at(x, x, i)) - sum[g] / n[g];
        square[g] += d * d;
    }
    for (int64_t g = 0; g < groups; g++) {
        eg__set_at(mean, g, n[g] > 0 ? sum[g] / n[g] : 0);
        eg__set_at(var, g, n[g] > 0 ? square[g] / n[g] : 0);
    }
    for (int64_t i = 0; i < x->n; i++) {
        int64_t g = group_of(kind, o, x, i, &k);
        double v = (eg__get_at(x, eg__at(x, x, i)) - sum[g] / n[g]) / sqrt(square[g] / n[g] + o->eps);
        v = v * parameter_of(c->in[1], k, 1) + parameter_of(c->in[2], k, 0);
        eg__set_at(y, eg__at(y, y, i), o->relu && v < 0 ? 0 : v);
    }
    eg__scratch_put(c, &s);
    return EG_OK;
}

/* dy, x, mean, var, weight, bias -> dx, dweight, dbias */
static eg_status backward(const eg__call *c, enum kind kind)
{
    const eg__norm_opts *o = c->opts;
    const eg_tensor *dy = c->in[0], *x = c->in[1], *mean = c->in[2], *var = c->in[3], *dx = c->out[0];
    eg__scratch s;
    int64_t groups = mean->n, parameters = c->out[1]->n, k;
    size_t doubles = (size_t)groups * 3 + (size_t)parameters * 2;
    if (eg__scratch_get(c, doubles * sizeof(double), &s)) {
        return EG_ENOMEM;
    }
    double *n = s.data, *sum = n + groups, *product = sum + groups, *dw = product + groups, *db = dw + parameters;
    memset(n, 0, doubles * sizeof(double));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < x->n; i++) {
            int64_t g = group_of(kind, o, x, i, &k);
            double rstd = 1 / sqrt(eg__get_at(var, g) + o->eps), w = parameter_of(c->in[4], k, 1);
            double hat = (eg__get_at(x, eg__at(x, x, i)) - eg__get_at(mean, g)) * rstd;
            double slope = eg__get_at(dy, eg__at(dy, dy, i));
            slope = o->relu && !(hat * w + parameter_of(c->in[5], k, 0) > 0) ? 0 : slope;
            if (pass == 0) {
                n[g]++;
                sum[g] += o->root ? 0 : slope * w;
                product[g] += slope * w * hat;
                dw[k] += slope * hat;
                db[k] += slope;
            } else {
                double v = rstd * (slope * w - sum[g] / n[g] - hat * product[g] / n[g]);
                eg__set_at(dx, eg__at(dx, dx, i), v);
            }
        }
    }
    for (k = 0; k < parameters; k++) {
        eg__set_at(c->out[1], k, dw[k]);
        eg__set_at(c->out[2], k, db[k]);
    }
    eg__scratch_put(c, &s);
    return EG_OK;
}

eg_status eg__ref_batch_norm(const eg__call *c)
{
    eg_status st = forward(c, BATCH);
    if (!st) {
        eg__norm_follow(c);
    }
    return st;
}

eg_status eg__ref_batch_norm_grad(const eg__call *c)
{
    return backward(c, BATCH);
}

eg_status eg__ref_group_norm(const eg__call *c)
{
    return forward(c, GROUP);
}

eg_status eg__ref_group_norm_grad(const eg__call *c)
{
    return backward(c, GROUP);
}

eg_status eg__ref_layer_norm(const eg__call *c)
{
    return forward(c, LAYER);
}

eg_status eg__ref_layer_norm_grad(const eg__call *c)
{
    return backward(c, LAYER);
}

eg_status eg__ref_scale_channels(const eg__call *c)
{
    const eg__norm_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0];
    for (int64_t i = 0; i < x->n; i++) {
        int64_t k;
        group_of(BATCH, o, x, i, &k);
        double v = eg__get_at(x, eg__at(x, x, i)) * parameter_of(c->in[1], k, 1) + parameter_of(c->in[2], k, 0);
        eg__set_at(y, eg__at(y, y, i), o->relu && v < 0 ? 0 : v);
    }
    return EG_OK;
}
