/* attention_dnn.h - the graphs of cuDNN that are attention. */
#ifndef EGRET_CUDA_ATTENTION_DNN_H
#define EGRET_CUDA_ATTENTION_DNN_H

#include "lib/cuda/dnn/dnn.h"
#include "lib/ops/attention.h"

/* Matrices the graphs read and write; the forward one has those up to y. */
enum {
    EG__ATTENTION_Q,
    EG__ATTENTION_K,
    EG__ATTENTION_V,
    EG__ATTENTION_Y,
    EG__ATTENTION_DY,
    EG__ATTENTION_DQ,
    EG__ATTENTION_DK,
    EG__ATTENTION_DV,
    EG__ATTENTION_MATRICES
};

/* What runs know parts by: matrices by their number + 1, and these. */
enum {
    EG__ATTENTION_STATS = EG__ATTENTION_MATRICES + 1,
    EG__ATTENTION_SUMS, /* of the gradient: room for a number per row */
    EG__ATTENTION_SCALE,
    EG__ATTENTION_HIDDEN, /* -infinity, where it is causal */
    EG__ATTENTION_ONE,    /* 1, of the gradient */
};

/* All that a plan depends on, without padding. Strides, in elements, are of b, h and rows; columns lie side by side,
 * and all begins at multiples of 16 bytes but for rows of stats. */
typedef struct eg__attention_key {
    int64_t b, h, t, s, d, v;
    int64_t stride[EG__ATTENTION_MATRICES][3]; /* of the forward graph 0 after y */
    uint8_t dtype, causal, backward, align, unused[4];
} eg__attention_key;

void eg__attention_draw(eg__graph *g, const void *key);

/* y and stats of matrices q, k, v; or with dy to dv behind them, dq, dk and dv. done: cuDNN does it; else nothing
 * was. */
eg_status eg__attention_dnn(const eg__call *c, const eg__attended *g, eg_tensor *const *matrices, bool backward,
                            eg_tensor *stats, bool *done);

#endif
