/* wolfe.h - how far to go along a direction: a line search for the strong Wolfe conditions. */
#ifndef EGRET_OPTIM_WOLFE_H
#define EGRET_OPTIM_WOLFE_H

#include <egret/tensor.h>

/* A place on the line. */
typedef struct eg__point {
    double t, loss;
    double slope;        /* of the loss along the direction */
    eg_tensor *gradient; /* the scope's */
} eg__point;

typedef struct eg__line {
    /* Fills in the rest of the point at to->t. A loss that is not finite is infinite, and its slope NaN. */
    eg_status (*look)(void *user, eg__point *to);
    void *user;
    double reach;     /* the largest element of the direction */
    double tolerance; /* a bracket in which no element would move that much is small enough */
    int most;         /* evaluations behind the first */
} eg__line;

/* Finds a point where the loss is lower than at `from` by a share of what the slope promises, and the slope has become
 * much flatter (Nocedal and Wright 2006, algorithms 3.5 and 3.6), trying t first; or, when it has looked often enough,
 * the best of the last two. */
eg_status eg__wolfe(const eg__line *line, const eg__point *from, double t, eg__point *found);

#endif
