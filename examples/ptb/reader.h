/* reader.h - a language model with the words it knows: what it thinks of a text, and what it writes. */
#ifndef EXAMPLES_PTB_READER_H
#define EXAMPLES_PTB_READER_H

#include <egret/models.h>
#include <egret/run.h>

typedef struct reader {
    eg_module *net; /* the run's */
    eg_vocabulary *words;
    int64_t layers, width;
    int64_t tokens; /* it learns from; only known while it does */
} reader;

/* The states behind the words read so far, [layers, rows, width] each. */
typedef struct states {
    eg_tensor *h, *c;
} states;

/* A new one, whose net is the run's; takes over the words, also when it fails. The options' words are theirs. */
eg_status reader_new(reader *r, eg_run *run, const char *name, eg_lstm_lm_options o, eg_vocabulary *words);
/* Frees the words. */
void reader_free(reader *r);

/* Adds the words to what the run saves: a checkpoint is enough to go on writing with. One of other words, or of another
 * number of tokens, is refused. */
eg_status reader_train_in(eg_run *run, reader *r);

/* The reader of a checkpoint. */
eg_status reader_open(reader *r, eg_run *run, const char *path);

/* Zeros on the run's device, and what becomes of them behind a window. */
eg_status states_new(states *s, eg_run *run, const reader *r, int64_t rows);
eg_status states_carry(states *s, const eg_lm *made);
eg_status states_clear(states *s);
void states_free(states *s);

/* The perplexity of all windows, whose states go from one to the next. NaN after a failure, which is the run's. */
double reader_perplexity(reader *r, eg_run *run, eg_dataset *windows, int64_t rows);

/* What it writes behind the prompt, "" for the beginning of a sentence: so many words, drawn by its probabilities to
 * the power of 1 / temperature (0: always the likeliest), but never "<unk>". Sentences are lines. In the run's device
 * and the net's mode. The caller frees it; NULL after a failure, EG_EINDEX for a prompt with a word it does not know.
 */
char *reader_write(reader *r, eg_run *run, const char *prompt, int64_t words, double temperature);

#endif
