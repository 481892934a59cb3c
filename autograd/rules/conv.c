/* conv.c - gradients of convolutions. The three rows are each other's derivatives, of the same geometry, so that every
 * order is made of them; only what is asked for is computed. */
#include "autograd/rules/rules.h"

static void give_bias(eg__walk *w, eg_tensor *dy)
{
    eg_axes axes = {.count = dy ? dy->ndim - 1 : 0};
    for (int a = 1; a < axes.count; a++) {
        axes.axis[a] = a + 1;
    }
    eg__give(w, 2, eg_sum(dy, .axes = axes));
}

static eg_status give_all(eg__walk *w, eg_tensor *dy)
{
    if (!dy) {
        return w->status = eg__why();
    }
    if (eg__needs(w, 0)) {
        eg__give(w, 0, eg__op2(&eg__op_conv_data, dy, eg__saved_in(w, 1), w->opts));
    }
    if (eg__needs(w, 1)) {
        eg__give(w, 1, eg__op2(&eg__op_conv_weight, eg__saved_in(w, 0), dy, w->opts));
    }
    if (eg__needs(w, 2)) {
        give_bias(w, dy);
    }
    return w->status;
}

eg_status eg__grad_conv(eg__walk *w)
{
    return give_all(w, eg__dy(w, 0));
}

eg_status eg__grad_conv_act(eg__walk *w)
{
    const eg__conv_opts *o = w->opts;
    return give_all(w, eg__before_activation(w, (int)o->act, eg__dy(w, 0), eg__saved_out(w, 0)));
}

/* y = conv_data(x, weight) is linear in both: <y, dy> = <x, conv(dy, weight)>. */
eg_status eg__grad_conv_data(eg__walk *w)
{
    eg_tensor *dy = eg__dy(w, 0);
    if (eg__needs(w, 0)) {
        eg__give(w, 0, eg__op2(&eg__op_conv, dy, eg__saved_in(w, 1), w->opts));
    }
    if (eg__needs(w, 1)) {
        eg__give(w, 1, eg__op2(&eg__op_conv_weight, dy, eg__saved_in(w, 0), w->opts));
    }
    if (eg__needs(w, 2)) {
        give_bias(w, dy);
    }
    return w->status;
}

/* dw = conv_weight(x, g): <dw, d> = <g, conv(x, d)>. */
eg_status eg__grad_conv_weight(eg__walk *w)
{
    eg_tensor *d = eg__dy(w, 0);
    if (eg__needs(w, 0)) {
        eg__give(w, 0, eg__op2(&eg__op_conv_data, eg__saved_in(w, 1), d, w->opts));
    }
    if (eg__needs(w, 1)) {
        eg__give(w, 1, eg__op2(&eg__op_conv, eg__saved_in(w, 0), d, w->opts));
    }
    return w->status;
}
