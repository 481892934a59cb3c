/* resize.c - gradients of resizing: it is linear, so it and its adjoint are each other's. */
#include "autograd/rules/rules.h"

eg_status eg__grad_resize(eg__walk *w)
{
    return eg__give(w, 0, eg__op1(&eg__op_resize_grad, eg__dy(w, 0), w->opts));
}

eg_status eg__grad_resize_grad(eg__walk *w)
{
    return eg__give(w, 0, eg__op1(&eg__op_resize, eg__dy(w, 0), w->opts));
}
