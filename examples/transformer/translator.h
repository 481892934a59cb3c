/* translator.h - a net, the subtokens it knows, and what becomes of texts. */
#ifndef EXAMPLES_TRANSFORMER_TRANSLATOR_H
#define EXAMPLES_TRANSFORMER_TRANSLATOR_H

#include <egret/models.h>
#include <egret/run.h>

typedef struct translator {
    eg_module *net;      /* the run's */
    eg_tokenizer *words; /* of both languages */
    eg_tensor *sizes;    /* i64 [5]: vocabulary, width, heads, hidden, layers; kept */
} translator;

/* A new one; takes over the subtokens, also when it fails. Its net and sizes are in what the run saves. */
eg_status translator_new(translator *t, eg_run *run, eg_tokenizer *words, const eg_transformer_options *o);
/* Of a checkpoint, NULL: the latest, and a file of subtokens, NULL: that in the run's folder. */
eg_status translator_open(translator *t, eg_run *run, const char *checkpoint, const char *words);
void translator_free(translator *t);

typedef struct search {
    int64_t beams, extra, batch; /* beams of a text; steps beyond its length; texts at once */
    double power;                /* of the length */
} search;

/* The best translation of each of n texts, u8: made[n] are kept, also after a failure, where some may be NULL. */
eg_status translate(const translator *t, eg_run *run, eg_tensor *const *texts, int64_t n, const search *s,
                    eg_tensor **made);

/* Where all heads of all layers look while a text is translated into another: pictures attention-encoder.png,
 * attention-decoder.png and attention-between.png in the run's folder, a row for each layer. */
eg_status translator_draw(const translator *t, eg_run *run, eg_tensor *text, eg_tensor *made);

#endif
