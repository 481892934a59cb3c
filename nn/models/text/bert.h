/* bert.h - BERT's encoder, as its heads see it. */
#ifndef EGRET_NN_MODELS_TEXT_BERT_H
#define EGRET_NN_MODELS_TEXT_BERT_H

#include "nn/models/text/text.h"

typedef struct eg__bert {
    eg_module base;
    eg_tensor *words, *types; /* [vocabulary, width], [types, width] */
    eg_module *positions, *norm, *layers, *pooler;
    int64_t width;
    double dropout, eps;
    eg_tensor *(*activation)(eg_tensor *x);
} eg__bert;

extern const eg_module_kind eg__bert_kind;

/* ids [N, S], within a scope. */
eg_bert_made eg__bert_run(eg__bert *b, eg_tensor *ids, const eg_bert_options *o);
/* Whether ids have so many axes, and what goes with them their shape. */
eg_status eg__bert_check(const char *op, const eg_tensor *ids, const eg_bert_options *o, int ndim);

#endif
