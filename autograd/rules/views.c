/* views.c - gradients of views, copies and casts: the view of dy turned back. */
#include "autograd/rules/rules.h"

eg_status eg__grad_copy(eg__walk *w)
{
    return eg__give(w, 0, eg__dy(w, 0));
}

eg_status eg__grad_to(eg__walk *w)
{
    return eg__give(w, 0, eg__dy(w, 0)); /* which brings it to where x was */
}

eg_status eg__grad_alias(eg__walk *w)
{
    return eg__give(w, 0, eg__dy(w, 0));
}

eg_status eg__grad_cast(eg__walk *w)
{
    return eg__give(w, 0, eg_cast(eg__dy(w, 0), eg__in_dtype(w, 0)));
}

eg_status eg__grad_reshape(eg__walk *w)
{
    return eg__give(w, 0, eg_reshape(eg__dy(w, 0), eg__in_shape(w, 0)));
}

eg_status eg__grad_expand(eg__walk *w)
{
    return eg__give(w, 0, eg__sum_to(eg__dy(w, 0), eg__in_shape(w, 0)));
}

eg_status eg__grad_permute(eg__walk *w)
{
    const eg__permute_opts *o = w->opts;
    eg_axes back = {.count = o->ndim};
    for (int d = 0; d < o->ndim; d++) {
        back.axis[o->axis[d]] = d;
    }
    return eg__give(w, 0, eg_permute(eg__dy(w, 0), back));
}

eg_status eg__grad_slice(eg__walk *w)
{
    return eg__give_slice(w, 0, eg__dy(w, 0), w->opts);
}

eg_status eg__grad_slice_grad(eg__walk *w)
{
    const eg__slice_grad_opts *o = w->opts;
    return eg__give(w, 0, eg__op1(&eg__op_slice, eg__dy(w, 0), &o->slice));
}

eg_status eg__grad_diagonal(eg__walk *w)
{
    const eg__diagonal_opts *o = w->opts;
    eg_tensor *dy = eg__dy(w, 0);
    int nd = dy->ndim + 1, other = 0;
    int64_t n = dy->shape[dy->ndim - 1];
    eg_tensor *g =
        eg_where(eg__eye_on(dy->device, n, n, 0, EG_BOOL), eg_unsqueeze(dy, -1), eg_scalar(0, (eg_dtype)dy->dtype));
    eg_axes back = {.count = nd};
    for (int d = 0; d < nd; d++) {
        back.axis[d] = d == o->first ? nd - 2 : d == o->second ? nd - 1 : other++;
    }
    return eg__give(w, 0, g ? eg_permute(g, back) : NULL);
}
