/* corpus.h - pairs of texts: a line of one language, and the same line of the other. */
#ifndef EXAMPLES_TRANSFORMER_CORPUS_H
#define EXAMPLES_TRANSFORMER_CORPUS_H

#include <egret/egret.h>

/* Lines of both languages, u8 [n] each, kept. */
typedef struct lines {
    eg_tensor **texts[2];
    int64_t count;
} lines;

/* The first `most` lines of NAME.FROM and NAME.TO in the folder, plain or .gz, NAME being "train", "val" or "test",
 * with whatever behind it ("test_2016_flickr"). EG_EFORMAT where one has more than the other. */
eg_status lines_read(lines *l, const char *folder, const char *name, const char *const languages[2], int64_t most);
/* All lines of a file as one side, 0 or 1; EG_EFORMAT where the other has another number of lines. */
eg_status lines_of(lines *l, const char *path, int side);
/* Numbers in words, English and German. */
eg_status lines_make(lines *l, const eg_tensor *numbers);
void lines_free(lines *l);

/* The subtokens of both languages, of as much of the text as `bytes` says, spread over all of it. */
eg_tokenizer *lines_subtokens(const lines *l, int64_t vocabulary, int64_t bytes);

/* As ids, each text with its end; those longer than `longest` are left out. A dataset of pairs, sources and targets,
 * i32 [S] and [T]; *count says how many. */
eg_dataset *lines_pairs(const lines *l, const eg_tokenizer *words, int64_t longest, int64_t *count);

/* Batches of about as many tokens, padding counted, of pairs of similar length (tensor2tensor's buckets). all: also
 * what is left in the buckets at the end, batches of a few pairs of the rarer lengths. */
eg_dataset *pairs_batches(eg_dataset *pairs, int64_t tokens, int64_t longest, bool all);

/* Fetches Multi30k, captions of pictures. */
eg_status corpus_get(const char *folder, const char *from, void *user);

#endif
