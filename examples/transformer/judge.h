/* judge.h - how good translations are. */
#ifndef EXAMPLES_TRANSFORMER_JUDGE_H
#define EXAMPLES_TRANSFORMER_JUDGE_H

#include "translator.h"

/* Cross entropy of logits [N, T, V] and target [N, T] per subtoken, 0 being padding, with 1 - s of the probability on
 * the right one and s shared by the others, less what even the best would cost. */
eg_tensor *smoothed_loss(eg_tensor *logits, eg_tensor *target, double s);

/* Over pairs with the right subtokens in front: cross entropy per subtoken, the share that is the likeliest, and of
 * texts of which all are. */
typedef struct judged {
    double loss, accuracy, whole;
} judged;
judged judge_pairs(const translator *t, eg_run *run, eg_dataset *batches);

/* BLEU of all n texts, 0..100, as official/transformer splits them into words, without and with case; and the share
 * that is right to the letter. */
typedef struct bleus {
    double uncased, cased, right;
    eg_status st;
} bleus;
bleus judge_texts(eg_tensor *const *made, eg_tensor *const *references, int64_t n);

#endif
