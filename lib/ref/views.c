/* views.c - copies, casts and what little views compute. */
#include "lib/core/device.h"
#include "lib/ops/options.h"
#include "lib/ref/ref.h"

eg_status eg__ref_copy(const eg__call *c)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    for (int64_t i = 0; i < y->n; i++) {
        int64_t from = eg__at(x, y, i), to = eg__at(y, y, i);
        if (eg__is_float(x->dtype)) {
            eg__set_at(y, to, eg__get_at(x, from));
        } else {
            eg__set_int_at(y, to, eg__get_int_at(x, from));
        }
    }
    return EG_OK;
}

/* Results on the CPU; engines have their own for the other way. */
eg_status eg__ref_to(const eg__call *c)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    const size_t bytes = (size_t)x->n * eg__esize(x);
    if (x->device) {
        return bytes ? eg__download(c->op->name, c->T, x, eg__ptr(y), bytes) : EG_OK;
    }
    memcpy(eg__ptr(y), eg__ptr(x), bytes);
    return EG_OK;
}

eg_status eg__ref_cast(const eg__call *c)
{
    return eg__ref_copy(c); /* load and store convert */
}

eg_status eg__ref_slice_grad(const eg__call *c)
{
    const eg__slice_grad_opts *o = c->opts;
    const eg_tensor *dy = c->in[0], *dx = c->out[0];
    int64_t step = dx->strides[o->slice.axis];
    memset(eg__ptr(dx), 0, (size_t)dx->n * eg__esize(dx));
    for (int64_t i = 0; i < dy->n; i++) {
        int64_t rest = i, to = o->slice.start * step;
        for (int d = dy->ndim; d-- > 0; rest /= dy->shape[d]) {
            to += rest % dy->shape[d] * dx->strides[d] * (d == o->slice.axis ? o->slice.step : 1);
        }
        eg__set_at(dx, to, eg__get_at(dy, eg__at(dy, dy, i)));
    }
    return EG_OK;
}

/* Inference has done all there is to do. */
#define VIEW(name)                              \
    eg_status eg__ref_##name(const eg__call *c) \
    {                                           \
        (void)c;                                \
        return EG_OK;                           \
    }
VIEW(reshape) VIEW(expand) VIEW(permute) VIEW(slice) VIEW(detach) VIEW(alias) VIEW(as_strided) VIEW(diagonal)
