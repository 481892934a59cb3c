/* sort.c - gradients of order: what was moved goes back to where it came from. */
#include "autograd/rules/rules.h"
#include "lib/ops/index.h"

static eg_status put_back(eg__walk *w)
{
    eg_shape x = eg__in_shape(w, 0);
    eg__scatter_opts o = {.axis = ((const eg__sort_opts *)w->opts)->axis, .ndim = x.ndim};
    eg_tensor *dy = eg__dy(w, 0), *indices = eg__saved_out(w, 1);
    memcpy(o.shape, x.dim, sizeof o.shape);
    if (!x.ndim) {
        return eg__give(w, 0, dy);
    }
    return eg__give(w, 0, indices ? eg__scatter(&eg__op_scatter, dy, indices, NULL, &o) : NULL);
}

eg_status eg__grad_sort(eg__walk *w)
{
    return put_back(w);
}

eg_status eg__grad_topk(eg__walk *w)
{
    return put_back(w);
}
