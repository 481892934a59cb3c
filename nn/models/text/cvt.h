/* cvt.h - the cross-view encoder, as its heads see it. */
#ifndef EGRET_NN_MODELS_TEXT_CVT_H
#define EGRET_NN_MODELS_TEXT_CVT_H

#include "nn/models/text/text.h"

enum { EG__CVT_FILTERS = 3, EG__CVT_SHORTEST = 2 }; /* convolutions, and letters of the first */

typedef struct eg__cvt_encoder {
    eg_module base;
    eg_cvt_encoder_options o;
    eg_tensor *words, *scale, *letters;
    eg_module *conv[EG__CVT_FILTERS], *near, *deep;
} eg__cvt_encoder;

extern const eg_module_kind eg__cvt_encoder_kind;

/* Lengths must be integers [N]. */
eg_status eg__cvt_check_lengths(const char *op, const eg_tensor *lengths, int64_t rows);

#endif
