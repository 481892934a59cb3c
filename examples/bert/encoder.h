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

/* Rows of flags for these. */
#define ENCODER_FLAGS(o)                                                                                         \
    EG_FLAG_GROUP("the net"),                                                                                    \
        EG_FLAG_CHOICE("size", &(o)->size, NULL, "tiny|mini|small|medium|base|large",                            \
                       "layers and width, where --init has no config.json; base, of the small world tiny"),      \
        EG_FLAG_TEXT("init", &(o)->init, NULL, "PATH",                                                           \
                     "a folder with config.json, weights and tokenizer, or a file of weights: safetensors, a "   \
                     "checkpoint of TensorFlow or PyTorch"),                                                     \
        EG_FLAG_TEXT("vocabulary", &(o)->vocabulary, NULL, "FILE",                                               \
                     "vocab.txt or tokenizer.json; else --init's or --data's"),                                  \
        EG_FLAG_SWITCH("cased", &(o)->cased, "vocab.txt has words with case and accents"),                       \
        EG_FLAG_REAL("dropout", &(o)->dropout, "0.1", 0, 0.99, "of hidden columns and of weights of attention"), \
        EG_FLAG_SWITCH("exact-gelu", &(o)->exact_gelu, "by the error function, not by tanh")

/* The size, where it was not asked for. */
void encoder_settle(encoder_options *o, bool small);
/* The tokenizer; of the vocabulary's file, else of init's folder, else of DATA/vocab.txt, else that of the small world
 * where there is no DATA. */
eg_tokenizer *encoder_words(const encoder_options *o, const char *data);
/* The net alone, without a head, and without weights. Sizes are those of init's config.json, if it is there. */
eg_module *encoder_new(const encoder_options *o, const eg_tokenizer *words);
/* Puts init's weights where they belong, below a head or without one, and says what came from there and what did not.
 */
eg_status encoder_load(eg_run *run, eg_module *net, const encoder_options *o);

/* How it is tuned to a task. */
typedef struct tuning {
    double rate, warm_up, decay; /* the highest rate; the share of steps over which it rises; of weights */
} tuning;
#define TUNING_FLAGS(t, rate_)                                                                         \
    EG_FLAG_REAL("rate", &(t)->rate, "0", 0, 1, "highest learning rate; 0: " rate_),                   \
        EG_FLAG_REAL("warm-up", &(t)->warm_up, "0.1", 0, 1, "share of the steps over which it rises"), \
        EG_FLAG_REAL("weight-decay", &(t)->decay, "0.01", 0, 1, "of all but biases and norms")

/* The authors' Adam, for the run's steps, without bias correction: rates rise under the line that falls to 0 over all
 * of them. The run's. */
eg_optim *encoder_optim(eg_run *run, eg_module *net, const tuning *t);

#endif
