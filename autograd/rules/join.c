/* join.c - gradients of joining and padding. */
#include "autograd/rules/rules.h"
#include "lib/ops/pad.h"

eg_status eg__grad_concat(eg__walk *w)
{
    const eg__axis_opts *o = w->opts;
    int64_t start = 0;
    for (int i = 0; i < w->e->nin && !w->status; i++) {
        int64_t size = eg__in_shape(w, i).dim[o->axis];
        if (eg__needs(w, i)) {
            eg__slice_opts part = {o->axis, start, 1, size};
            eg__give(w, i, eg__op1(&eg__op_slice, eg__dy(w, 0), &part));
        }
        start += size;
    }
    return w->status;
}

/* Along one axis: each element of dy added to the one it shows. */
static eg_tensor *unpad_axis(eg_tensor *dy, const eg__pad_opts *o, int axis, int64_t n)
{
    int64_t size = eg_size(dy, axis);
    eg_tensor *from = eg__empty_on(0, EG_SHAPE(size), EG_I64);
    int64_t *p = from && size ? (int64_t *)eg__ptr(from) : NULL;
    for (int64_t i = 0; p && i < size; i++) {
        p[i] = eg__pad_source(o->mode, i - o->before[axis], n);
    }
    eg_tensor *in[2] = {dy, from ? eg_to(from, eg_device_of(dy)) : NULL}, *dx;
    return in[1] && !eg__dispatch(&eg__op_index_add, in, 2, &(eg__index_opts){.axis = axis, .size = n, .skip = -1}, &dx)
               ? dx
               : NULL;
}

eg_status eg__grad_pad(eg__walk *w)
{
    const eg__pad_opts *o = w->opts;
    eg_shape x = eg__in_shape(w, 0);
    eg_tensor *dx = eg__dy(w, 0);
    eg__pad_opts back = {.mode = o->mode};
    bool turned = o->mode == EG_PAD_CIRCULAR;
    for (int d = 0; d < x.ndim; d++) {
        turned &= o->before[d] == -o->after[d];
        back.before[d] = -o->before[d];
        back.after[d] = -o->after[d];
    }
    if (o->mode == EG_PAD_CONSTANT || turned) {
        return eg__give(w, 0, eg__op1(&eg__op_pad, dx, &back));
    }
    if (eg__is_half(dx->dtype)) {
        dx = eg_cast(dx, EG_F32); /* what sums want; eg__give turns it back */
    }
    for (int d = 0; d < x.ndim && dx; d++) {
        if (o->before[d] || o->after[d]) {
            dx = unpad_axis(dx, o, d, x.dim[d]);
        }
    }
    return eg__give(w, 0, dx);
}
