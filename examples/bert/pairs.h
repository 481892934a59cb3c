/* pairs.h - pairs of sentences that say the same or not (Dolan and Brockett 2005). */
#ifndef EXAMPLES_BERT_PAIRS_H
#define EXAMPLES_BERT_PAIRS_H

#include <egret/egret.h>

typedef enum pairs_part { PAIRS_TRAIN, PAIRS_DEV } pairs_part;

typedef struct pairs {
    eg_tensor *ids, *types, *mask; /* [count, longest], kept */
    eg_tensor *labels;             /* i64 [count], kept */
    int64_t count;
    double positive; /* the share of class 1 */
} pairs;

/* The first `most` pairs of a part, cut to `length` ids. GLUE's train.tsv or dev.tsv if the folder has them, else
 * msr_paraphrase_train.txt or _test.txt; of the small world if there is no folder. */
eg_status pairs_read(pairs *p, const char *folder, pairs_part part, const eg_tokenizer *words, int64_t length,
                     int64_t most);
/* Samples are ids, types, mask and label. */
eg_dataset *pairs_dataset(const pairs *p);
void pairs_free(pairs *p);

#endif
