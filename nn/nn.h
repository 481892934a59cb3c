/* nn.h - what the files of this folder share. */
#ifndef EGRET_NN_NN_H
#define EGRET_NN_NN_H

#include <egret/nn.h>

#include "lib/ops/dispatch.h"

enum { EG__CHILD, EG__PARAMETER, EG__BUFFER };

/* One member of a module: `child` for children, `tensor` for the others. */
typedef struct eg__member {
    int kind;
    const char *name;
    eg_module **child;
    eg_tensor **tensor;
} eg__member;

/* A walk over a module's members; embedded first in what a particular walk needs. */
struct eg_members {
    void (*visit)(eg_members *walk, const eg__member *member);
    int depth; /* modules it is in */
};

/* Modules inside each other: walks and forwards are recursive. */
enum { EG__MODULE_DEPTH = 1000 };

/* Calls walk->visit for each direct member. Below too many modules, which one that was put into itself is, it calls
 * no more. */
void eg__members(eg_module *m, eg_members *walk);
/* The same for a whole walk, from its root on. EG_ESTATE, in words, if it did not come to all. */
eg_status eg__walk_members(eg_module *m, eg_members *walk, const char *op);

/* For constructors that are given modules: whether one was freed before, EG_ESTATE, asked before there is anything that
 * could be taken for it; and, what a failed one was given belonged to it, their end. */
eg_status eg__check_given(const char *op, eg_module *const *modules, int count);
void eg__free_given(eg_module *const *modules, int count);

/* Who is told what every module makes in this thread: eg_summary, taps. */
typedef struct eg__observer {
    void (*saw)(void *user, eg_module *m, eg_tensor *y, int64_t macs);
    void *user;
    struct eg__observer *before; /* told too */
} eg__observer;
void eg__observer_add(eg__observer *o);
void eg__observer_remove(eg__observer *o);

/* Modules with several inputs put these around theirs, as eg_module_forward does. */
typedef struct eg__observed {
    eg_module *m; /* NULL: nobody looks */
    int64_t macs;
} eg__observed;
eg__observed eg__observe_begin(eg_module *m);
void eg__observe_end(const eg__observed *seen, eg_tensor *y);

/* A parameter, uniform within 1 / sqrt(fan_in): what kaiming_uniform with a = sqrt(5) comes to (He et al.
 * 2015), which PyTorch starts linear and convolution layers with, biases too. */
eg_tensor *eg__init_uniform(eg_shape shape, int64_t fan_in, eg_dtype dtype);

#endif
