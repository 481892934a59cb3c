/* capture.c - asks the calling thread's capture, if there is one. */
#include "lib/core/capture.h"

eg_status eg__capture_stop(const char *op, const char *why)
{
    eg__capture *c = eg__thread_get()->capture;
    return c ? c->by->stop(c, op, why) : EG_OK;
}

eg_status eg__capture_look(const eg__call *call)
{
    return call->T->capture->by->look(call->T->capture, call);
}

bool eg__capture_made(eg__thread *T, eg__storage *s)
{
    return !T->capture || T->capture->by->made(T->capture, s);
}

eg_status eg__capture_uses(eg__capture *c, eg__storage *s, bool written)
{
    return c->by->uses(c, s, written);
}

bool eg__capture_draws(eg__thread *T, eg_random_state from, uint64_t *offset)
{
    return T->capture && T->capture->by->draws(T->capture, from, offset);
}
