/* text.h - texts as BERT is trained on them: pairs of pieces, some of whose ids are hidden. */
#ifndef EXAMPLES_BERT_TEXT_H
#define EXAMPLES_BERT_TEXT_H

#include <egret/egret.h>

typedef struct text_options {
    int64_t length, hidden; /* ids of a sample, and of them hidden, at most */
    bool whole;             /* words are hidden with all their pieces */
    uint64_t seed;
} text_options;

/* A text's ids. */
typedef struct text {
    eg_tensor *ids, *sentences, *documents; /* as eg_sentence_pairs_new has them; kept */
    eg_tensor *pieces;                      /* of the tokenizer's words, kept */
    int64_t mask;
    text_options o; /* of its samples */
} text;

/* The lines of a file, or of those that a pattern names, are sentences; an empty line ends a document. pattern NULL: of
 * the small world. */
eg_status text_read(text *t, const char *pattern, const eg_tokenizer *words);
void text_free(text *t);

/* Samples of a batch: ids, types and mask [N, S]; places of what is hidden and what was there, [N, hidden], -1 behind
 * the last of a row; and whether the second piece is from somewhere else, [N]. `t` must outlive it. */
eg_dataset *text_batches(text *t, const eg_tokenizer *words, const text_options *o, int64_t batch);

#endif
