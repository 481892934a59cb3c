/* net.h - the Neural GPU (Kaiser and Sutskever 2015): a tape of cells that all change at once, by what is around them,
 * as often as the tape is long. */
#ifndef EXAMPLES_NEURAL_GPU_NET_H
#define EXAMPLES_NEURAL_GPU_NET_H

#include <egret/nn.h>

typedef struct neural_gpu_options {
    int64_t maps, height, layers; /* of the state; convolutional GRUs of a step */
    int64_t relaxed;              /* sets of parameters that take turns, step by step */
    double dropout;               /* of the state behind each step, times 3 / sqrt(length) */
} neural_gpu_options;

/* ids, i64 [N, length] of `symbols`, to logits [N, length, symbols] (eg_module_forward). */
eg_module *neural_gpu_new(int64_t symbols, const neural_gpu_options *o);

/* The same, which gives the states too, before the first step and behind each: [steps + 1, N, maps, length, height]. */
eg_tensor *neural_gpu_states(eg_module *net, eg_tensor *ids);

/* How far the sets of parameters are from their means: the sum of squares. 0, without a gradient, of one set. */
eg_tensor *neural_gpu_apart(eg_module *net);
/* Makes all sets their mean. */
eg_status neural_gpu_unite(eg_module *net);

#endif
