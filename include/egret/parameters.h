/* parameters.h - a list of parameters with their names, as modules give it and optimizers take it. */
#ifndef EGRET_PARAMETERS_H
#define EGRET_PARAMETERS_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* A view by value of a list somebody else owns (a module, or the caller's own arrays). names may be NULL.
 * tensors NULL stands for a failure on record. */
typedef struct eg_parameters {
    eg_tensor *const *tensors;
    const char *const *names;
    int count;
} eg_parameters;

EG_END_DECLS

#endif
