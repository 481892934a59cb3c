/* sets.h - the data sets: a row each. */
#ifndef EXAMPLES_CLASSIFY_SETS_H
#define EXAMPLES_CLASSIFY_SETS_H

#include "options.h"

/* A data set in TFRecord files, or made up. To add one, write a row in sets.c. */
typedef struct set {
    const char *name;
    int64_t classes, channels;
    int64_t train_size, test_size;        /* as published; 0: none */
    const char *train_files, *test_files; /* patterns in --dataset_dir, between commas; NULL: it is made up */
    /* A record, u8 [n], to an encoded image, u8 [m], and its label, i64 []. */
    eg_status (*parse)(eg_tensor *record, eg_tensor **image, eg_tensor **label);
} set;

/* The row of --dataset_name, or one of the files that are named; NULL, and words, if there is none. */
const set *sets_find(const options *o);

/* The recipe of that name, or that of a net of that name; NULL, and words, if there is none. */
const char *sets_recipe(const char *name);

/* Batches of images, f32 [N, C, side, side], and labels, i64 [N]: to train with, shuffled and distorted, or to judge
 * by. `recipe` of preprocess.h; channels of the net. NULL after a failure. */
eg_dataset *sets_batches(eg_run *run, const set *s, const options *o, const char *recipe, int64_t side,
                         int64_t channels, uint64_t seed, bool train);

#endif
