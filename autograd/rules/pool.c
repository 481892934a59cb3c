/* pool.c - gradients of pooling. Each is linear in dy, and the gradient of it the pooling again:
 * maxima are taken where they were. */
#include "autograd/rules/rules.h"

/* t lying as the images do. */
static eg_tensor *laid(const eg__walk *w, eg_tensor *t)
{
    return ((const eg__pool_opts *)w->opts)->last ? eg_channels_last(t) : eg_contiguous(t);
}

eg_status eg__grad_max_pool(eg__walk *w)
{
    return eg__give(w, 0, eg__op2(&eg__op_max_pool_grad, laid(w, eg__dy(w, 0)), eg__saved_out(w, 1), w->opts));
}

eg_status eg__grad_max_pool_grad(eg__walk *w)
{
    return eg__give(w, 0, eg__op2(&eg__op_max_pool_take, laid(w, eg__dy(w, 0)), eg__saved_in(w, 1), w->opts));
}

eg_status eg__grad_max_pool_take(eg__walk *w)
{
    return eg__give(w, 0, eg__op2(&eg__op_max_pool_grad, laid(w, eg__dy(w, 0)), eg__saved_in(w, 1), w->opts));
}

eg_status eg__grad_avg_pool(eg__walk *w)
{
    return eg__give(w, 0, eg__op1(&eg__op_avg_pool_grad, laid(w, eg__dy(w, 0)), w->opts));
}

eg_status eg__grad_avg_pool_grad(eg__walk *w)
{
    return eg__give(w, 0, eg__op1(&eg__op_avg_pool, laid(w, eg__dy(w, 0)), w->opts));
}
