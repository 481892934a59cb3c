/* parts.h - what nets of all kinds are made with. */
#ifndef EGRET_NN_MODELS_PARTS_H
#define EGRET_NN_MODELS_PARTS_H

#include <egret/egret.h>
#include <egret/models.h>

#include "lib/core/base.h"

/* Weights begin as the rule says; a NULL stays one. */
eg_module *eg__begun(eg_module *net, eg_init_rule rule, const eg_init_options *options);
#define eg__begin(...)             EG__BEGIN_(__VA_ARGS__, )
#define EG__BEGIN_(net, rule, ...) eg__begun(net, rule, EG_OPTIONS_(eg_init_options, __VA_ARGS__))

/* A sequence that is still growing, for nets made by loops. After a failure it holds none but takes what it is given,
 * until it ends as NULL. */
typedef struct eg__stack {
    eg_module *module[256];
    int count;
    bool failed;
} eg__stack;
void eg__stack_add(eg__stack *s, eg_module *m);
/* With the name and a number behind it. */
void eg__stack_add_numbered(eg__stack *s, const char *name, int number, eg_module *m);
eg_module *eg__stack_end(eg__stack *s);

#endif
