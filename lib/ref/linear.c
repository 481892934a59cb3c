/* linear.c - the linear layer as written on paper. */
#include <math.h>

#include "lib/ops/options.h"
#include "lib/ref/ref.h"
#include "lib/math/scalar.h"

double eg__ref_activate(int act, double v)
{
    const double low = v < -1000 ? -1000 : v; /* limits, as unary.def has them */
    switch (act) {
    case EG__ACT_RELU:
        return v < 0 ? 0 : v;
    case EG__ACT_TANH:
        return tanh(v);
    case EG__ACT_SIGMOID:
        return eg__f64_sigmoid(v);
    case EG__ACT_GELU:
        return 0.5 * low * (1 + erf(v * 0.70710678118654752440));
    case EG__ACT_GELU_TANH:
        return 0.5 * low * (1 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v)));
    case EG__ACT_SILU:
        return low * eg__f64_sigmoid(v);
    default:
        return v;
    }
}

eg_status eg__ref_linear(const eg__call *c)
{
    const eg__linear_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *w = c->in[1], *b = c->nin > 2 ? c->in[2] : NULL, *y = c->out[0];
    int64_t in = w->shape[1], out = w->shape[0], last = x->ndim - 1;
    for (int64_t i = 0; i < y->n; i++) {
        int64_t row = i / out, j = i % out;
        int64_t at = eg__place((int)last, x->shape, x->strides, row);
        double sum = b ? eg__get_at(b, j * b->strides[0]) : 0;
        for (int64_t l = 0; l < in; l++) {
            sum += eg__get_at(x, at + l * x->strides[last]) * eg__get_at(w, j * w->strides[0] + l * w->strides[1]);
        }
        eg__set_at(y, i, eg__ref_activate(o->act, sum));
    }
    return EG_OK;
}

eg_status eg__ref_linear_act(const eg__call *c)
{
    return eg__ref_linear(c);
}
