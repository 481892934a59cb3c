/* rotary.c - the host side of rotary position embedding: a thread for each pair of columns. */
#include "lib/cuda/common/launches.h"
#include "lib/cuda/pointwise/pointwise.h"
#include "lib/ops/options.h"

/* Columns from, from + step, ...: n of them. */
static eg_tensor columns(const eg_tensor *t, int64_t from, int64_t n, int64_t step)
{
    const int last = t->ndim - 1;
    eg_tensor v = *t;
    v.offset += from * v.strides[last];
    v.n = v.shape[last] ? v.n / v.shape[last] * n : 0;
    v.shape[last] = n;
    v.strides[last] *= step;
    v.flags = eg__layout_flags(v.ndim, v.shape, v.strides);
    return v;
}

eg_status eg__cuda_rotary(const eg__call *c)
{
    const eg__rotary_opts *o = c->opts;
    eg_tensor *x = c->in[0], *y = c->out[0];
    const int last = x->ndim - 1;
    const int64_t pairs = c->in[1]->shape[c->in[1]->ndim - 1], size = (int64_t)eg__esize(x);
    const int64_t each = o->interleaved ? 2 : 1, apart = o->interleaved ? 1 : pairs; /* columns */
    eg_tensor from = columns(x, 0, pairs, each), to = columns(y, 0, pairs, each);
    eg_tensor rest = columns(x, 2 * pairs, x->shape[last] - 2 * pairs, 1);
    eg_tensor kept = columns(y, 2 * pairs, rest.shape[last], 1);
    eg__launches w;
    eg_status st = EG_OK;
    if (to.n) {
        eg__launches_begin(&w, c, (eg_tensor *[]){&to, &from, c->in[1], c->in[2]}, 4);
        while (!st && eg__launches_next(&w)) {
            st = eg__launched(c, eg__launch_rotary(eg__class_of(x->dtype), &w.elements, apart * y->strides[last] * size,
                                                   apart * x->strides[last] * size, eg__stream_of(c)));
        }
    }
    if (kept.n && !st) {
        eg_tensor *in = &rest;
        st = eg__run(eg__host_ops()[EG__ID_copy], &in, 1, &(eg__copy_opts){EG__KEEP_LAYOUT}, &kept);
    }
    return st;
}
