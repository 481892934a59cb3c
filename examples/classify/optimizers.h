/* optimizers.h - how egret-classify learns, by name. */
#ifndef EXAMPLES_CLASSIFY_OPTIMIZERS_H
#define EXAMPLES_CLASSIFY_OPTIMIZERS_H

#include "options.h"

/* The optimizer of --optimizer over the parameters of the net, or those of --trainable_scopes, with its schedule,
 * weight decay (not of biases and normalization) and limit of the gradients' norm. So many examples are an epoch.
 * names: texts that say what a file calls the parameters; NULL: there is no file. */
eg_optim *optimizer_new(const options *o, eg_module *net, int64_t examples, const eg_tensors *names);

#endif
