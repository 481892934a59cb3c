/* reduce.c - gradients of reductions. */
#include "autograd/rules/rules.h"

/* t, a result of reducing the entry's input, with its reduced axes back as size 1. */
static eg_tensor *with_axes(const eg__walk *w, eg_tensor *t)
{
    const eg__reduce_opts *o = w->opts;
    eg_shape s = eg__in_shape(w, 0);
    if (t && !t->ndim) {
        return t; /* expands to anything */
    }
    for (int d = 0; d < s.ndim; d++) {
        s.dim[d] = o->axes >> d & 1 ? 1 : s.dim[d];
    }
    return o->keepdim ? t : eg_reshape(t, s);
}

eg_status eg__grad_sum(eg__walk *w)
{
    return eg__give(w, 0, eg_expand(with_axes(w, eg__dy(w, 0)), eg__in_shape(w, 0)));
}
