/* norm.h - batch norm from inside: of this process, or of all ranks. */
#ifndef EGRET_NN_NORM_H
#define EGRET_NN_NORM_H

#include <egret/parallel.h>

#include "nn/nn.h"

typedef struct eg__batch_norm {
    eg_module base;
    eg_tensor *weight, *bias, *mean, *var, *batches;
    bool no_weight, no_bias;
    eg_batch_norm_options options;
    eg_comm *comm; /* NULL: statistics are of this process */
    eg_custom_op sum;
} eg__batch_norm;
extern const eg_module_kind eg__batch_norm_kind;

/* Training, with the statistics of all ranks' batches. */
eg_tensor *eg__batch_norm_of_ranks(eg__batch_norm *b, eg_tensor *x);

#endif
