/* histogram.h - how numbers are distributed, in the buckets TensorFlow's summaries have. */
#ifndef EGRET_HISTOGRAM_H
#define EGRET_HISTOGRAM_H

#include "lib/ops/dispatch.h"

enum { EG__BUCKETS = 1600 };

/* A bucket holds what is below its limit and not below the limit before. */
typedef struct eg__histogram {
    double least, most, count, sum, squares;
    int buckets; /* at least one */
    double limit[EG__BUCKETS], in[EG__BUCKETS];
} eg__histogram;

/* Of the finite elements of a dense tensor; runs of empty buckets become one. */
void eg__histogram_fill(eg__histogram *h, const eg_tensor *t);

#endif
