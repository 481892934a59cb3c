/* macs.c - how many multiply-adds an op does, where products are what it is about. */
#include "lib/ops/options.h"
#include "lib/ops/optable.h"

/* Each element of one operand meets each weight of its output channel. */
static int64_t per_channel(const eg_tensor *outputs, const eg_tensor *weight)
{
    int64_t channels = weight->ndim ? weight->shape[0] : 0;
    return channels ? outputs->n * (weight->n / channels) : 0;
}

static int64_t of_rnn(const eg__call *c)
{
    static const int weights[] = {EG__RNN_W_IH, EG__RNN_W_HH, EG__RNN_W_HR};
    const eg_tensor *x = c->in[EG__RNN_X];
    int64_t macs = 0;
    for (int i = 0; i < EG__COUNT(weights); i++) {
        int k = weights[i];
        if (k < c->nin && c->in[k] && c->in[k]->ndim == 2 && x->ndim == 3) {
            macs += x->shape[0] * x->shape[1] * c->in[k]->n;
        }
    }
    return macs;
}

int64_t eg__macs(const eg__call *c)
{
    const eg_tensor *a = c->in[0];
    switch (c->op->id) {
    case EG__ID_matmul:
        return a->ndim ? c->out[0]->n * a->shape[a->ndim - 1] : 0;
    case EG__ID_linear:
    case EG__ID_linear_act:
    case EG__ID_conv:
    case EG__ID_conv_act:
        return per_channel(c->out[0], c->in[1]);
    case EG__ID_conv_data:
        return per_channel(a, c->in[1]);
    case EG__ID_conv_weight:
        return per_channel(c->in[1], c->out[0]);
    case EG__ID_lstm:
    case EG__ID_gru:
        return of_rnn(c);
    case EG__ID_attention: /* scores, and what they weigh */
        return (c->out[1]->n * a->shape[a->ndim - 1] + c->out[0]->n) * c->in[1]->shape[c->in[1]->ndim - 2];
    default:
        return 0;
    }
}
