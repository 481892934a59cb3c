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

/* The members by name: all that must be saved, or what learns. */
eg_tensors *eg__module_tensors(eg_module *m, bool all, const char *op);

/* A report that is still empty, and a row more, whose texts are copied; of NULL nothing. EG_ENOMEM. */
eg_load_report *eg__load_report_new(const char *op);
eg_status eg__load_report_add(eg_load_report *report, const eg_load_row *row, const char *op);
void eg__load_report_finish(eg_load_report *report);

/* Modules one behind the other, named by their numbers or as eg_named has it: sequences, lists, branches, stacks. */
typedef struct eg__list {
    eg_module base;
    int count;
    eg_module *child[];
} eg__list;

/* The .members of all such kinds, by which they are known. */
void eg__list_members(eg_module *m, eg_members *members);
/* A module of such a kind, with so many bytes more behind its children; what was given belongs to it, also when it
 * fails. */
eg_module *eg__list_new(const eg_module_kind *kind, eg_module *const *modules, int count, size_t more);

/* What recurrent layers, and what is put around them, read and make. */
typedef struct eg__rnn_sizes {
    int64_t in, out; /* columns of x and y */
    int64_t states;  /* in front of h and c: layers x directions */
    int64_t h, c;    /* columns of h and c; a c of 0: there is none */
    bool batch_first;
} eg__rnn_sizes;

/* Their kinds, with eg__rnn_y for a forward, by which they are known. */
typedef struct eg__rnn_kind {
    eg_module_kind base;
    /* Within a scope, of checked arguments. The module itself looks after s->reverse. */
    eg_rnn (*run)(eg_module *m, eg_tensor *x, const eg_rnn_start *s);
    eg__rnn_sizes (*sizes)(const eg_module *m);
} eg__rnn_kind;

/* y of zeros as states. */
eg_tensor *eg__rnn_y(eg_module *m, eg_tensor *x);
/* NULL for a module of another kind. */
const eg__rnn_kind *eg__rnn_kind_of(const eg_module *m);
/* The same as EG_EINVAL, in words. */
eg_status eg__rnn_check(const char *op, const eg_module *m);
/* Of a module that has such a kind. */
eg__rnn_sizes eg__rnn_sizes_of(const eg_module *m);
/* eg_rnn_forward of a module that has such a kind. */
eg_rnn eg__rnn_run(eg_module *m, eg_tensor *x, const eg_rnn_start *start);

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
