/* work.h - how a case of ops.txt becomes something that can be run over and over. */
#ifndef EGRET_BENCH_WORK_H
#define EGRET_BENCH_WORK_H

#include <egret/egret.h>

#include "bench.h"

enum { WORK_TENSORS = 12 };

/* A prepared case. Its tensors belong to `scope`, which is popped when the case is dropped. */
typedef struct work {
    const bench_case *c;
    eg_scope scope;
    /* Runs the case once, in a scope of its own: the number of elements made, -1 after a failure.
     */
    int64_t (*step)(struct work *w);
    eg_tensor *x[WORK_TENSORS]; /* inputs */
    int n;
    eg_tensor *(*f1)(eg_tensor *a); /* ops of one and of two tensors */
    eg_tensor *(*f2)(eg_tensor *a, eg_tensor *b);
    eg_tensor *(*forward)(struct work *w);
    eg_tensor *(*reduce)(eg_tensor *x, const eg_reduce_options *options);
    /* What a walk alone repeats: a persistent tape on which the first `wanted` x gave y. */
    eg_tape tape;
    eg_tensor *y, *dy;
    int wanted;
    eg_optim *optim; /* freed when the case is dropped */
} work;

/* Fills w from w->c. False when a tensor could not be made or the words of the case are unknown. */
typedef bool (*make_fn)(work *w);

typedef struct work_op {
    const char *name;
    make_fn make;
} work_op;

/* The families, each ended by a row of NULL. */
extern const work_op work_basic[], work_layers[], work_train[];

/* A tensor of the shape, of the case's dtype and where this thread computes, with numbers in low..high, the same
 * ones at every call; NULL on failure. */
eg_tensor *work_random(eg_shape shape, double low, double high);
/* As many numbers in 0..below, i64. */
eg_tensor *work_indices(int64_t count, int64_t below);
/* Elements of y; -1 for NULL. Closes the scope of a step. */
int64_t work_done(eg_scope scope, eg_tensor *y);
/* Opens w->tape; everything made from the first `wanted` inputs from now on is recorded. */
bool work_watch(work *w, int wanted);
/* Ends the recording with y, gives it a random dy, and makes the walk w's step. */
bool work_walk(work *w, eg_tensor *y);

#endif
