/* options.h - numbers among the options of optimizers, schedules and clipping. */
#ifndef EGRET_OPTIM_OPTIONS_H
#define EGRET_OPTIM_OPTIONS_H

#include <egret/error.h>

/* An option in least..most, or words. */
eg_status eg__optim_range(const char *op, const char *what, double v, double least, double most);
/* The weight of a running mean: from 0 to below 1, at which it would never move. */
eg_status eg__optim_weight(const char *op, const char *what, double v);
static inline eg_status eg__optim_number(const char *op, const char *what, double v, double most)
{
    return eg__optim_range(op, what, v, 0, most);
}

#endif
