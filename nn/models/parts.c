/* parts.c - what nets of all kinds are made with. */
#include <stdio.h>

#include "nn/models/parts.h"

eg_module *eg__begun(eg_module *net, eg_init_rule rule, const eg_init_options *options)
{
    if (net && eg_module_init_with(net, rule, options)) {
        eg_module_free(net);
        return NULL;
    }
    return net;
}

void eg__stack_add(eg__stack *s, eg_module *m)
{
    bool room = s->count < (int)(sizeof s->module / sizeof *s->module);
    if (m && room && !s->failed) {
        s->module[s->count++] = m;
        return;
    }
    if (m && !room) {
        eg_failf(EG_EINVAL, "model", "more than %d layers", s->count);
    }
    eg_module_free(m);
    while (s->count) {
        eg_module_free(s->module[--s->count]);
    }
    s->failed = true;
}

void eg__stack_add_numbered(eg__stack *s, const char *name, int number, eg_module *m)
{
    char full[64];
    snprintf(full, sizeof full, "%s%d", name, number);
    eg__stack_add(s, eg_named(full, m));
}

eg_module *eg__stack_end(eg__stack *s)
{
    return s->failed ? NULL : eg_sequential_new_with(s->module, s->count);
}
