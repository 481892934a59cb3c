/* results.h - how well the digits are read, and pictures of it. */
#ifndef EXAMPLES_DIGITS_RESULTS_H
#define EXAMPLES_DIGITS_RESULTS_H

#include <egret/egret.h>

enum { RESULTS_FIRST = 48, RESULTS_WRONG = 24, RESULTS_SIDE = 28 };

typedef struct result {
    uint8_t pixels[RESULTS_SIDE * RESULTS_SIDE];
    int label, guess;
} result;

typedef struct results {
    int64_t seen, right;
    int first_count, wrong_count; /* the first digits, and the wrong ones among the rest */
    result first[RESULTS_FIRST], wrong[RESULTS_WRONG];
} results;

/* Reads every digit of the dataset (in batches) with the network, which is on the device and is left in eval
 * mode. */
eg_status results_collect(results *r, eg_module *net, eg_dataset *digits, eg_device *device);

/* Percent of the digits that were read right. */
double results_accuracy(const results *r);

/* The digits kept in r on one sheet, with what they were read as; wrong ones in red. */
eg_status results_grid(const results *r, const char *path);

#endif
