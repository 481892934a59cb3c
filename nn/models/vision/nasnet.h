/* nasnet.h - nets of cells that a search has found: NASNet and PNASNet. */
#ifndef EGRET_NN_MODELS_VISION_NASNET_H
#define EGRET_NN_MODELS_VISION_NASNET_H

#include "nn/models/vision/nasnet_cell.h"

typedef struct eg__nasnet {
    const char *name;
    const eg__cell_plan *plan, *halving; /* halving NULL: the one plan with a stride */
    int64_t classes, filters, stem;      /* channels of the last third by 4, and of the first convolution */
    int cells;
    double dropout, drop_path, momentum, eps;
    bool skip;  /* a cell behind a reduction reads what was in front of the reduction's input */
    bool cifar; /* no stem of cells */
    int places; /* along each side of what the auxiliary head reads, behind its means */
} eg__nasnet;

eg_module *eg__nasnet_new(const eg__nasnet *of, const eg_model_options *options);

#endif
