/* encoder.h - BERT and its tokenizer, new or from what others published. */
#ifndef EXAMPLES_BERT_ENCODER_H
#define EXAMPLES_BERT_ENCODER_H

#include <egret/models.h>
#include <egret/run.h>

typedef struct encoder_options {
    const char *size; /* tiny, mini, small, medium, base, large */
    const char *init; /* a folder with config.json, weights and tokenizer; or a file of weights; NULL: by chance */
    const char *vocabulary; /* vocab.txt or tokenizer.json; NULL: that of init */
    double dropout;
    bool cased, exact_gelu;
} encoder_options;

/* The tokenizer; of the vocabulary's file, else of init's folder, else of DATA/vocab.txt. */
eg_tokenizer *encoder_words(const encoder_options *o, const char *data);
/* The net alone, without a head, and without weights. Sizes are those of init's config.json, if it is there. */
eg_module *encoder_new(const encoder_options *o, const eg_tokenizer *words);
/* Puts init's weights where they belong, below a head or without one, and says what came from there and what did not.
 */
eg_status encoder_load(eg_run *run, eg_module *net, const encoder_options *o);

#endif
