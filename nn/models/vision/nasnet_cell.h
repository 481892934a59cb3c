/* nasnet_cell.h - the cells of NASNet and PNASNet: five sums of two operations each, which a search has found. */
#ifndef EGRET_NN_MODELS_VISION_NASNET_CELL_H
#define EGRET_NN_MODELS_VISION_NASNET_CELL_H

#include "nn/models/vision/parts.h"

typedef enum eg__cell_op {
    EG__CELL_NONE,
    EG__CELL_AVG,
    EG__CELL_MAX,
    EG__CELL_SEP3, /* two separable convolutions of 3 x 3 */
    EG__CELL_SEP5,
    EG__CELL_SEP7,
} eg__cell_op;

/* State 0 is the input, state 1 what was in front of it, state 2 + i the sum i. Of those that are in no sum the result
 * is made. */
typedef struct eg__cell_plan {
    struct {
        eg__cell_op op;
        int state;
    } terms[5][2];
    bool used[7];
} eg__cell_plan;

/* What a cell reads or makes: how many channels, how often halved. */
typedef struct eg__cell_state {
    int64_t channels;
    int halved;
} eg__cell_state;

/* `before` of 0 channels: there is nothing in front of the input. *out: what it makes. */
eg_module *eg__cell_new(const eg__style *s, const eg__cell_plan *plan, eg__cell_state in, eg__cell_state before,
                        int64_t filters, int64_t stride, double drop_path, eg__cell_state *out);
/* before: NULL if there is none. */
eg_tensor *eg__cell_forward(eg_module *cell, eg_tensor *x, eg_tensor *before);

/* An operation of a cell, with drop path behind it; a convolution behind a relu; half the places (Zoph et al. 2017). */
eg_module *eg__cell_operation(const eg__style *s, eg__cell_op op, int64_t in, int64_t out, int64_t stride,
                              double drop_path);
eg_module *eg__cell_relu_conv(const eg__style *s, int64_t in, int64_t out, int64_t stride);
eg_module *eg__cell_halved(const eg__style *s, int64_t in, int64_t out);

#endif
