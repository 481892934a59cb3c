/* net.h - a translator that looks back at what it reads (Bahdanau, Cho, Bengio 2014). Words are numbers;
 * 0 is padding. */
#ifndef EXAMPLES_NMT_NET_H
#define EXAMPLES_NMT_NET_H

#include <egret/egret.h>

/* A table of words and a GRU over them; children "embedding" and "gru". */
eg_module *nmt_encoder(int64_t words, int64_t embedding, int64_t units);
/* Writes one word at a time; children "embedding", "gru", "attention", "word". */
eg_module *nmt_decoder(int64_t words, int64_t embedding, int64_t units);

/* Sentences [N, S] i64: y [N, S, units], h [1, N, units]. */
eg_rnn nmt_encode(eg_module *encoder, eg_tensor *source);

typedef struct written {
    eg_tensor *logits;  /* [N, words]: of the next word */
    eg_tensor *state;   /* [N, units] */
    eg_tensor *weights; /* [N, S]: where it looked */
} written;

/* One step: after the words `before` [N], in `state`, looking at keys [N, S, units]; `projected` is
 * nmt_keys of them. As in the tutorial this comes from, the GRU itself begins from zeros at each word:
 * the state is only what attention asks with. */
written nmt_decode(eg_module *decoder, eg_tensor *before, eg_tensor *state, eg_tensor *keys, eg_tensor *projected);
eg_tensor *nmt_keys(eg_module *decoder, eg_tensor *keys);

/* Teacher forcing: the sum over the words after the first of the target [N, T] of their cross entropy's
 * mean over the batch, padding counted as 0. */
eg_tensor *nmt_loss(eg_module *encoder, eg_module *decoder, eg_tensor *source, eg_tensor *target);

#endif
