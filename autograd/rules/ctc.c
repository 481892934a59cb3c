/* ctc.c - the gradient of connectionist temporal classification. */
#include "autograd/rules/rules.h"

eg_status eg__grad_ctc_loss(eg__walk *w)
{
    const eg__ctc_opts *o = w->opts;
    if (eg__walk_recorded(w)) {
        return w->status = eg__fail(EG_EINVAL, "ctc_loss", "its gradient has none itself");
    }
    eg_tensor *x = eg__saved_in(w, 0), *targets = eg__saved_in(w, 1), *alpha = eg__saved_out(w, 1);
    eg_tensor *frames = o->frames ? eg__saved_in(w, 2) : NULL, *lengths = o->lengths ? eg__saved_in(w, 3) : NULL;
    eg_tensor *in[] = {eg__dy(w, 0), x, targets, alpha, frames, lengths}, *out[EG__MAX_OUT];
    if (!in[0] || !x || !targets || !alpha || (o->frames && !frames) || (o->lengths && !lengths)) {
        return eg__why();
    }
    eg_status st = eg__dispatch(&eg__op_ctc_loss_grad, in, 6, o, out);
    return st ? st : eg__give(w, 0, out[0]);
}
