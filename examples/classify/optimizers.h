/* optimizers.h - how egret-classify learns, by name. */
#ifndef EXAMPLES_CLASSIFY_OPTIMIZERS_H
#define EXAMPLES_CLASSIFY_OPTIMIZERS_H

#include "options.h"

/* The optimizer of --optimizer over all that learns in the net, with its schedule, decay of weights (biases and what
 * norms learn are left out) and limit of the gradients' norm. */
eg_optim *optimizer_new(const options *o, eg_module *net);

#endif
