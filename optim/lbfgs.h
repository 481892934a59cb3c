/* lbfgs.h - what L-BFGS keeps from step to step. All parameters are one vector here, one behind the other: in f64 if
 * one of them is, else in f32. */
#ifndef EGRET_OPTIM_LBFGS_H
#define EGRET_OPTIM_LBFGS_H

#include "optim/optim.h"

/* How the gradient changed in an iteration, y, and how far the parameters went, s. */
typedef struct eg__pair {
    eg_tensor *y, *s;
    double inverse; /* 1 / (y s) */
} eg__pair;

/* Vectors are kept, and never written to: copies share them. */
typedef struct eg__memory {
    int64_t iterations, evaluations;
    eg_tensor *direction, *gradient; /* of the latest iteration, and where it began; NULL before the first */
    double t;                        /* how far along the direction */
    double scale;                    /* of the first guess of the inverse Hessian */
    eg__pair *pair;                  /* room for `most`, the latest last */
    int pairs, most;
} eg__memory;

typedef struct eg__lbfgs {
    eg_optim base;
    eg_lbfgs_options o;
    eg__memory memory;
} eg__lbfgs;

/* An empty one has to have room first. */
eg_status eg__memory_room(const char *op, eg__memory *m, int most);
/* The same again; on failure it is empty. */
eg_status eg__memory_copy(const char *op, const eg__memory *from, eg__memory *to);
void eg__memory_free(eg__memory *m);
/* Beside that tensor. */
eg_status eg__memory_beside(eg__memory *m, const eg_tensor *t);
/* What an iteration that led to this gradient says of the curvature. */
eg_status eg__memory_learn(eg__memory *m, eg_tensor *gradient);
/* Where to go from there; NULL: a failure. */
eg_tensor *eg__memory_direction(const char *op, const eg__memory *m, eg_tensor *gradient);

/* The rule's part of eg_optim_state and eg_optim_load_state. */
eg_status eg__lbfgs_put(const eg_optim *optim, eg_tensors *map);
eg_status eg__lbfgs_load(const char *op, eg_optim *optim, const eg_tensors *map);

/* How long the vector is, and of what. */
eg_shape eg__lbfgs_shape(const eg_optim *optim);
eg_dtype eg__lbfgs_dtype(const eg_optim *optim);

/* a b of two vectors, computed in f64. */
eg_tensor *eg__dot(eg_tensor *a, eg_tensor *b);
/* The number in a tensor of one element, or a failure. Waits for it. */
eg_status eg__number(eg_tensor *t, double *value);
/* Keeps t there instead of what was kept; NULL is a failure. */
eg_status eg__hold(eg_tensor **there, eg_tensor *t);

#endif
