/* join.c - concat and pad, element by element. */
#include "lib/ops/options.h"
#include "lib/ops/pad.h"
#include "lib/ref/ref.h"

eg_status eg__ref_concat(const eg__call *c)
{
    const eg__axis_opts *o = c->opts;
    const eg_tensor *y = c->out[0];
    int64_t start = 0;
    for (int k = 0; k < c->nin; k++) {
        const eg_tensor *x = c->in[k];
        for (int64_t i = 0; i < x->n; i++) {
            int64_t to = eg__place(x->ndim, x->shape, y->strides, i) + start * y->strides[o->axis];
            eg__move(y, to, x, eg__at(x, x, i));
        }
        start += x->shape[o->axis];
    }
    return EG_OK;
}

eg_status eg__ref_pad(const eg__call *c)
{
    const eg__pad_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0];
    for (int64_t i = 0; i < y->n; i++) {
        int64_t rest = i, from = 0;
        bool inside = true;
        for (int d = y->ndim; d-- > 0; rest /= y->shape[d]) {
            int64_t s = eg__pad_source(o->mode, rest % y->shape[d] - o->before[d], x->shape[d]);
            inside &= s >= 0;
            from += s * x->strides[d];
        }
        if (inside) {
            eg__move(y, eg__at(y, y, i), x, from);
        } else {
            eg__set_at(y, eg__at(y, y, i), o->value);
        }
    }
    return EG_OK;
}
