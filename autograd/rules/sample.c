/* sample.c - gradients of reading images at points. The value is linear in the image, so reading
 * and its adjoint are each other's gradient there; the points get the same of both. */
#include <egret/ops/sample.h>

#include "autograd/rules/rules.h"

/* Of <dy, read of x>, either of which lies as it wants. */
static eg_status give_points(eg__walk *w, eg_tensor *dy, eg_tensor *x, eg_tensor *px, eg_tensor *py, eg_tensor *image)
{
    const eg__sample_opts *o = w->opts;
    eg_tensor *d[EG__MAX_OUT] = {NULL};
    if (o->mode == EG_SAMPLE_NEAREST) {
        d[0] = d[1] = eg_zeros_like(px);
    } else if (eg__dispatch(&eg__op_grid_sample_points, (eg_tensor *[]){dy, x, px, py, image}, image ? 5 : 4, o, d)) {
        return w->status = eg__why();
    }
    for (int i = 0; i < 2; i++) {
        if (eg__needs(w, 1 + i)) {
            eg__give(w, 1 + i, d[i]);
        }
    }
    return w->status;
}

/* Of reading or its adjoint: the other one makes the gradient of what is read. */
static eg_status rule(eg__walk *w, const eg__op *other, bool adjoint)
{
    bool points = eg__needs(w, 1) || eg__needs(w, 2);
    eg_tensor *x = points ? eg__saved_in(w, 0) : NULL, *px = eg__saved_in(w, 1), *py = eg__saved_in(w, 2);
    eg_tensor *image = w->e->nin > 3 ? eg__saved_in(w, 3) : NULL, *dy = eg__dy(w, 0), *dx[EG__MAX_OUT];
    if (!px || !py || !dy || (points && !x) || (w->e->nin > 3 && !image)) {
        return w->status = eg__why();
    }
    if (eg__needs(w, 0)) {
        eg_tensor *in[] = {dy, px, py, image};
        eg__give(w, 0, eg__dispatch(other, in, image ? 4 : 3, w->opts, dx) ? NULL : dx[0]);
    }
    if (points && !w->status) {
        give_points(w, adjoint ? x : dy, adjoint ? dy : x, px, py, image);
    }
    return w->status;
}

eg_status eg__grad_grid_sample(eg__walk *w)
{
    return rule(w, &eg__op_grid_sample_grad, false);
}

eg_status eg__grad_grid_sample_grad(eg__walk *w)
{
    return rule(w, &eg__op_grid_sample, true);
}

eg_status eg__grad_grid_sample_points(eg__walk *w)
{
    return w->status = eg__fail(EG_EINVAL, "grid_sample_points",
                                "the gradient of points has none itself: second order is for images alone");
}
