/* net.h - an encoder of sentences with a head for each task, and how they learn and are judged. */
#ifndef EXAMPLES_CVT_NET_H
#define EXAMPLES_CVT_NET_H

#include <egret/models.h>

#include "book.h"

typedef struct net {
    eg_module *all; /* the run's; of which the others are parts */
    eg_module *encoder, *heads[TASKS];
    eg_ema *averages;
    eg_tensor *sizes; /* of the encoder; kept */
} net;

/* With a head for each task that the book has; averages with this decay. */
eg_status net_new(net *n, eg_run *run, const book *b, const eg_cvt_encoder_options *o, double decay);
/* As the newest checkpoint of the run has it, the averages in their places. */
eg_status net_open(net *n, eg_run *run, const book *b);
void net_free(net *n);
/* Words that a file has vectors for begin with these. */
eg_status net_words(net *n, const book *b, const char *file);

/* A batch of sentences_batches: the sum over the tasks of their cross entropies, tags and chunks with smoothed labels.
 */
eg_tensor *net_marked_loss(const net *n, eg_tensor *const *batch, double dropout, double smoothing);
/* A batch of texts_batches: what the net says of them without dropout, and how far its views are from that. */
eg_status net_teach(const net *n, eg_tensor *const *batch, eg_tensor *taught[TASKS]);
eg_tensor *net_views_loss(const net *n, eg_tensor *const *batch, eg_tensor *const taught[TASKS], double dropout);

/* In percent; NaN without the task. F1 is of chunks; unlabelled and labelled are the shares of words on the right head,
 * and by the right relation too. */
typedef struct judged {
    double tags, precision, recall, f1, unlabelled, labelled;
} judged;
/* By the averages. */
judged net_judge(net *n, eg_run *run, const book *b, eg_dataset *batches);
/* Writes of each word of a text what the net takes it for, a line a word, as CoNLL has them. */
eg_status net_read(const net *n, eg_run *run, const book *b, eg_tensor *text, FILE *to);

#endif
