/* rates.h - the learning rate of each step. */
#ifndef EXAMPLES_CNN_BENCH_RATES_H
#define EXAMPLES_CNN_BENCH_RATES_H

#include "models.h"
#include "options.h"

enum { RATES_PIECES = EG_MAX_MILESTONES };

/* "0.3;10;0.2;25;0.1": rates, and the epochs from which the later ones hold. */
typedef struct rates_pieces {
    double rates[RATES_PIECES + 1];
    int64_t epochs[RATES_PIECES];
    int count; /* of epochs */
} rates_pieces;

/* False for a text that is none. */
bool rates_read(const char *text, rates_pieces *pieces);

typedef struct rates {
    eg_schedule plan;
    double least; /* behind the warm-up */
} rates;

/* What the flags say, or else the model's plan, of batches of which `examples` are an epoch. */
eg_status rates_make(const options *o, const model *m, int64_t batch, int64_t examples, rates *out);

/* The rate before step t, from 0. NaN after a failure. */
double rates_at(const rates *r, int64_t t);

#endif
