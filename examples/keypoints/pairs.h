/* pairs.h - two views of an object each, drawn or out of files. */
#ifndef EXAMPLES_KEYPOINTS_PAIRS_H
#define EXAMPLES_KEYPOINTS_PAIRS_H

#include <egret/run.h>

#include "render.h"

/* What a sample has of a pair, or a batch of them: pictures f32 [2, 4, H, W], 0..1, whose last channel is how much of a
 * pixel is the object's, and matrices f32 [2, 4, 4] into the camera's coordinates and back. */
enum { PICTURES, INTO, BACK };

typedef struct pairs_options {
    const char *shape; /* what is drawn (shapes.h) */
    int64_t side;      /* of pictures that are drawn */
    int64_t shapes;    /* to be learned from, */
    int64_t others;    /* and others to be judged by */
    int64_t each;      /* pairs of each of them */
    int64_t batch;
} pairs_options;

typedef struct pairs pairs;

/* Of a folder of records (records.h); without one shapes are drawn. The run's. */
pairs *pairs_open(eg_run *run, const char *folder, const pairs_options *o);
/* As loss.h has it. */
double pairs_focal(const pairs *p);
/* Batches to learn from, in another order in each pass, or to be judged by. */
eg_dataset *pairs_dataset(pairs *p, bool train, uint64_t seed);

/* Pair number i of all that are drawn, those to be learned from first: pictures u8 [4, side, side] of both views. */
eg_status pairs_draw(const pairs_options *o, int64_t i, eg_tensor **picture, view *v);

#endif
