/* observe.c - who looks on while modules are forwarded. */
#include "nn/nn.h"

static _Thread_local eg__observer *watching;

void eg__observer_add(eg__observer *o)
{
    o->before = watching;
    watching = o;
}

void eg__observer_remove(eg__observer *o)
{
    watching = o->before;
}

eg__observed eg__observe_begin(eg_module *m)
{
    return watching ? (eg__observed){m, eg__thread_get()->macs} : (eg__observed){NULL, 0};
}

void eg__observe_end(const eg__observed *seen, eg_tensor *y)
{
    for (eg__observer *o = seen->m ? watching : NULL; o; o = o->before) {
        o->saw(o->user, seen->m, y, eg__thread_get()->macs - seen->macs);
    }
}
