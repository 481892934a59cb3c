/* attention.c - the gradient of attention. With weights w = softmax(q k^T scale + mask), of which dropout leaves m w,
 *
 *   dv = (m w)^T dy,  ds = w (dw - sum(w dw)) where dw = m (dy v^T),  dq = ds k scale,  dk = ds^T q scale
 *
 * (ds c'(x) for ds there with a soft cap c), dmask = ds and dslopes = -sum(ds distance), fused without ever holding w;
 * of public ops when the walk is recorded or the mask wants its own. */
#include "autograd/rules/rules.h"
#include "lib/ops/attention.h"

static eg_tensor *drop(eg_tensor *w, const eg__attention_opts *o)
{
    const eg__dropout_opts d = {.p = o->dropout, .from = o->from};
    return o->dropout > 0 ? eg__op1(&eg__op_dropout, w, &d) : w;
}

/* Gives g, of the results' leading axes, to input i. */
static eg_status give(eg__walk *w, int i, eg_tensor *g)
{
    return eg__needs(w, i) ? eg__give(w, i, eg__sum_to(g, eg__in_shape(w, i))) : EG_OK;
}

static eg_status compose(eg__walk *w, const eg__attention_opts *o, eg_tensor *dy, eg_tensor *const *in)
{
    const eg__attention_parts p = eg__attention_compose(in[0], in[1], in[3], in[4], o);
    eg_tensor *weights = p.weights;
    dy = eg__attention_fill(dy, p.empty, 0);
    if (!weights || !dy) {
        return eg__why();
    }
    eg_tensor *back = eg__sum_to(eg_matmul(dy, eg_transpose(in[2], -1, -2)), eg_shape_of(weights));
    eg_tensor *dw = drop(back, o), *sum = eg_sum(eg_mul(dw, weights), .axes = EG_AXES(-1), .keepdim = true);
    eg_tensor *slope = eg__attention_fill(eg_mul(weights, eg_sub(dw, sum)), p.hidden, 0);
    eg_tensor *scaled = eg_mul_scalar(p.slope ? eg_mul(slope, p.slope) : slope, o->scale);
    eg_status st = give(w, 0, eg_matmul(scaled, in[1]));
    st = st ? st : give(w, 1, eg_matmul(eg_transpose(scaled, -1, -2), in[0]));
    st = st ? st : give(w, 2, eg_matmul(eg_transpose(drop(weights, o), -1, -2), dy));
    st = st || !o->mask ? st : give(w, 3, slope);
    if (!st && o->slopes && eg__needs(w, 4)) {
        eg_tensor *near = eg__attention_nearness(in[0], eg_size(in[0], -2), eg_size(in[1], -2), o);
        st = near ? give(w, 4, eg_mul(slope, near)) : eg__why();
    }
    return st;
}

eg_status eg__grad_attention(eg__walk *w)
{
    const eg__attention_opts *o = w->opts;
    const bool composed = eg__walk_recorded(w) || (o->mask && eg__needs(w, 3)) || (o->slopes && eg__needs(w, 4));
    if (composed) {
        eg__widen(w);
    }
    eg_tensor *dy = eg__dy(w, 0), *y = eg__saved_out(w, 0), *stats = eg__saved_out(w, 1), *in[5] = {NULL};
    for (int i = 0; i < 5; i++) {
        if ((i != 3 || o->mask) && (i != 4 || o->slopes) && !(in[i] = eg__saved_in(w, i))) {
            return eg__why();
        }
    }
    if (!dy || !y || !stats) {
        return eg__why();
    }
    if (composed) {
        return compose(w, o, dy, in);
    }
    eg_tensor *all[8] = {dy, in[0], in[1], in[2], y, stats, in[3], in[4]}, *out[EG__MAX_OUT];
    eg_status st = eg__dispatch(&eg__op_attention_grad, all, o->slopes ? 8 : 7, o, out);
    for (int i = 0; i < 3 && !st; i++) {
        st = give(w, i, out[i]);
    }
    return st;
}
