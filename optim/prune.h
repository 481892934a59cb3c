/* prune.h - what pruning once and pruning in the course of steps share. */
#ifndef EGRET_OPTIM_PRUNE_H
#define EGRET_OPTIM_PRUNE_H

#include <egret/pruning.h>

/* Whether how many elements stay is said, once and in its range; the axis has its default. */
eg_status eg__prune_check(const char *op, const eg_prune_options *o);
/* Whether a parameter of that name (NULL: it has none) is meant. */
bool eg__prune_means(const eg_tensor *t, const char *name, const eg_prune_options *o);

#endif
