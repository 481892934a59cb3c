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

int64_t eg__macs_matmul(const eg__call *c)
{
    const eg_tensor *a = c->in[0];
    return a->ndim ? c->out[0]->n * a->shape[a->ndim - 1] : 0;
}

#define EACH_OUTPUT(op)                          \
    int64_t eg__macs_##op(const eg__call *c)     \
    {                                            \
        return per_channel(c->out[0], c->in[1]); \
    }
EACH_OUTPUT(linear)
EACH_OUTPUT(linear_act)
EACH_OUTPUT(conv)
EACH_OUTPUT(conv_act)

int64_t eg__macs_conv_data(const eg__call *c)
{
    return per_channel(c->in[0], c->in[1]);
}

int64_t eg__macs_conv_weight(const eg__call *c)
{
    return per_channel(c->in[1], c->out[0]);
}

int64_t eg__macs_lstm(const eg__call *c)
{
    return of_rnn(c);
}

int64_t eg__macs_gru(const eg__call *c)
{
    return of_rnn(c);
}

/* Scores, and what they weigh. */
int64_t eg__macs_attention(const eg__call *c)
{
    const eg_tensor *q = c->in[0], *k = c->in[1];
    return (c->out[1]->n * q->shape[q->ndim - 1] + c->out[0]->n) * k->shape[k->ndim - 2];
}
