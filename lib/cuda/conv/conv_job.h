/* conv_job.h - a convolution on its way to a device: what the host's files about it share. Operands are all of one
 * dtype; the one that is the result is to be written. Nothing is empty. */
#ifndef EGRET_CUDA_CONV_JOB_H
#define EGRET_CUDA_CONV_JOB_H

#include "lib/cuda/runtime/cuda.h"
#include "lib/ops/conv.h"

/* t with its channels innermost and no gaps: itself or a copy that dies with the call. NULL: words
 * are recorded. */
eg_tensor *eg__conv_last(const eg__conv_job *j, eg_tensor *t);
/* A new tensor like t, with its channels innermost. */
eg_tensor *eg__conv_last_like(const eg__conv_job *j, const eg_tensor *t);
eg_status eg__conv_copy(const eg_tensor *from, eg_tensor *to);
/* Adds the bias to the result; puts its activation over it. */
eg_status eg__conv_add_bias(const eg__conv_job *j);
eg_status eg__conv_activate(const eg__conv_job *j);

/* By cuDNN; *done is false if it is not there or has nothing for this shape. */
eg_status eg__conv_dnn(const eg__conv_job *j, bool *done);

#endif
