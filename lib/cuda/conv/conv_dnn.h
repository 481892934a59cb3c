/* conv_dnn.h - the graphs of cuDNN that are convolutions. */
#ifndef EGRET_CUDA_CONV_DNN_H
#define EGRET_CUDA_CONV_DNN_H

#include "lib/cuda/conv/conv_job.h"
#include "lib/cuda/dnn/dnn.h"

enum { EG__DNN_X = 1, EG__DNN_W, EG__DNN_Y, EG__DNN_BIAS };

/* All that a plan depends on: x, w and y with their channels innermost and no gaps; no padding
 * between members. */
typedef struct eg__conv_key {
    eg__conv_geometry g;
    uint8_t result, dtype, axes, bias; /* result: an eg__conv_result */
    uint8_t align_x, align_w, align_y, align_bias;
    int64_t act; /* NONE or RELU, an eg__act; the latter with a bias, since not all engines have it alone */
} eg__conv_key;

/* bias: with it, and with the ReLU that may follow. */
eg__conv_key eg__conv_key_of(const eg__conv_job *j, bool bias);
/* conv_graph.c: what it is drawn as, and what engines must not do for it; math: an eg_math_mode. */
void eg__conv_draw(eg__graph *g, const void *key);
unsigned eg__conv_rules(int dtype, int math);

#endif
