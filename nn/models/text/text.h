/* text.h - what nets of attention for texts share. */
#ifndef EGRET_NN_MODELS_TEXT_TEXT_H
#define EGRET_NN_MODELS_TEXT_TEXT_H

#include "nn/models/parts.h"

enum { EG__TEXT_LAYERS = 200 }; /* at most */

/* A size's numbers, where options do not say otherwise. */
typedef struct eg__text_size {
    int64_t width, heads, hidden, layers;
} eg__text_size;

/* Fills in what was not given; false, in words, for what is out of order. `rest` has the net's own vocabulary,
 * positions, types and eps. */
bool eg__text_options(const char *op, const eg_transformer_options *given, const eg__text_size *of,
                      const eg_transformer_options *rest, eg_transformer_options *o);

/* Whether m is of this kind, and t a tensor, of so many axes if that is not 0; else why not. */
eg_status eg__check_text_input(const char *op, const eg_module *m, const eg_module_kind *kind, const eg_tensor *t,
                               const char *name, int ndim);

/* x with so much of it dropped while m trains. */
eg_tensor *eg__dropped(eg_tensor *x, double share, const eg_module *m);

/* A sequence of so many layers. */
eg_module *eg__text_layers(int64_t count, eg_module *(*make)(const eg_transformer_options *o),
                           const eg_transformer_options *o);

#endif
