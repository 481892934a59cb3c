/* translator.h - a network, the words it knows, and what becomes of a sentence. */
#ifndef EXAMPLES_NMT_TRANSLATOR_H
#define EXAMPLES_NMT_TRANSLATOR_H

#include <egret/run.h>

#include "corpus.h"
#include "net.h"

typedef struct translator {
    eg_module *encoder, *decoder, *both; /* the run's */
    language spanish, english;
    int64_t pairs; /* of its corpus; only known while it learns */
} translator;

/* A new one, whose networks are the run's; takes over the languages' words, also when it fails. */
eg_status translator_new(translator *t, eg_run *run, language spanish, language english, int64_t embedding,
                         int64_t units);
/* Frees the words. */
void translator_free(translator *t);

/* Adds the words to what the run saves: a checkpoint is enough to translate with. One of other words, or another number
 * of pairs, is refused. */
eg_status translator_train_in(eg_run *run, translator *t);

/* The translator of a checkpoint. */
eg_status translator_open(translator *t, eg_run *run, const char *path);

/* Words as numbers, i64 [n], "<start>" first and "<end>" last unless there was no room; weights f32
 * [written, read]: where it looked for each word. They belong to the current scope. */
typedef struct translation {
    eg_tensor *read, *written, *weights;
} translation;

/* Always takes the likeliest word. EG_EINDEX for a sentence that it has not learned to read. */
eg_status translate(const translator *t, eg_run *run, const char *sentence, translation *made);

/* "esta es mi vida . -> this is my life ." */
void translation_print(FILE *to, const translator *t, const translation *made);
/* The second half of that, as a line of a file. */
void translation_write(FILE *to, const translator *t, const translation *made);

/* What it looked at, u8 [3, H, W]. */
eg_tensor *translation_draw(const translator *t, const translation *made);

#endif
