/* corpus.h - a text as numbers: read or made. */
#ifndef EXAMPLES_PTB_CORPUS_H
#define EXAMPLES_PTB_CORPUS_H

#include <egret/egret.h>

typedef struct corpus {
    eg_vocabulary *words; /* by falling count in what is learned from, equally frequent ones by their bytes */
    eg_tensor *train, *valid, *test; /* i64 [n], one text after the other; kept */
    double least;                    /* of a made text: the lowest perplexity there can be; else 0 */
} corpus;

/* ptb.train.txt, ptb.valid.txt and ptb.test.txt in the folder, plain or .gz: a sentence a line, behind each of which
 * comes the word "<eos>". Words that are not in the first are left out of the others. */
eg_status corpus_read(corpus *c, const char *folder);

/* As many sentences of a small grammar to learn from, and a tenth of that for each of the others, by the thread's
 * random numbers. */
eg_status corpus_make(corpus *c, int64_t sentences);

/* Frees the tensors; the words go on. */
void corpus_free(corpus *c);

/* The words of a checkpoint, in their order. */
eg_vocabulary *corpus_words(eg_tensor *text);

eg_status corpus_get(const char *folder, const char *from, void *user);

#endif
