/* thin.h - a net of few weights. */
#ifndef EGRET_EXAMPLES_CIFAR10_THIN_H
#define EGRET_EXAMPLES_CIFAR10_THIN_H

#include <egret/nn.h>
#include <egret/run.h>

typedef struct thinning {
    double density;   /* how many stay; 1: all */
    const char *keep; /* "N:M" instead, or NULL */
} thinning;

/* From a quarter to half of the run's steps the smallest weights go, or all but N of every M do at the quarter. */
eg_status thin_out(eg_run *run, eg_optim *optim, const thinning *t);
/* Where weights were to go: thin.safetensors, without them, and how many are left. */
eg_status thin_save(eg_run *run, eg_module *net, const thinning *t);

#endif
