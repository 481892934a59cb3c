/* input.h - the batches: made up once and kept on the device, or read from records. */
#ifndef EXAMPLES_CNN_BENCH_INPUT_H
#define EXAMPLES_CNN_BENCH_INPUT_H

#include "options.h"

/* A data set. To add one, write a row in input.c. */
typedef struct input_set {
    const char *name;
    int64_t classes, train_size, test_size; /* as published */
    const char *train_files, *test_files;   /* patterns in --data_dir */
    const char *recipe;                     /* of preprocess.h; NULL: as small images are prepared */
} input_set;

/* The set of --data_name, or the one that is meant. EG_EINDEX if there is none. */
eg_status input_find(const options *o, const input_set **set);

/* What batches are made of. Datasets read it as long as they live. */
typedef struct input {
    const options *o;
    const input_set *of;
    eg_device *device;
    int64_t side, batch;
    uint64_t seed;
    eg_tensor *made[2]; /* the batch that is made up, on the device */
    struct input_way {
        const struct input *in;
        bool train;
    } ways[2];
} input;

/* Makes the batch up where there are no records. */
eg_status input_begin(input *in);
void input_end(input *in);

/* Batches of images, f32 [batch, 3, side, side], and labels, i64 [batch]: without end and shuffled for training, or
 * `count` of them. All are full: behind the last record comes the first. NULL after a failure. */
eg_dataset *input_batches(input *in, bool train, int64_t count);

#endif
