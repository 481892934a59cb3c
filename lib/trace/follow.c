/* follow.c - telling somebody of each op that runs. */
#include <egret/debug.h>

#include "lib/core/follower.h"

typedef struct followed {
    eg__follower base;
    const eg_follower *by;
} followed;

/* Tells of one call; what is done meanwhile is not told. */
static eg_status tell(followed *f, const eg_op_call *call)
{
    eg__thread *T = eg__thread_get();
    atomic_fetch_and_explicit(&T->mode, ~(uint32_t)EG__MODE_FOLLOW, memory_order_relaxed);
    eg_clear_error();
    eg_status st = f->by->call(call, f->by->user);
    if (st && !eg_last_error()->code) {
        st = eg__fail(EG_EUSER, "eg_follow", "the function that is told of ops failed without a word");
    }
    atomic_fetch_or_explicit(&T->mode, EG__MODE_FOLLOW, memory_order_relaxed);
    return st;
}

static eg_status told(eg__follower *base, const eg__call *c, eg_tensor *const *in)
{
    const eg_op_call call = {c->op->name, in, c->nin, c->out, c->op->nout, c->opts, false};
    return tell((followed *)base, &call);
}

static eg_status written(eg__follower *base, const eg_tensor *x, const char *name)
{
    eg_tensor *const out = (eg_tensor *)x;
    const eg_op_call call = {name, NULL, 0, &out, 1, NULL, true};
    return tell((followed *)base, &call);
}

static eg_status looked_at(eg__follower *base, const eg_tensor *t, const char *name)
{
    followed *f = (followed *)base;
    if (!f->by->read) {
        return EG_OK;
    }
    eg_tensor *const in = (eg_tensor *)t;
    const eg_op_call call = {name, &in, 1, NULL, 0, NULL, false};
    const eg_follower by = {f->by->read, f->by->user, NULL};
    followed reader = {*base, &by};
    return tell(&reader, &call);
}

eg_status eg_follow(const eg_follower *by, eg_status (*body)(void *user), void *user)
{
    static const char op[] = "eg_follow";
    eg__thread *T = eg__thread_get();
    if (!by || !by->call || !body) {
        return eg__null_argument(op, !by || !by->call ? "by" : "body");
    }
    if (T->follower) {
        return eg__fail(EG_ESTATE, op, "ops of this thread are followed already");
    }
    followed f = {{told, written, looked_at}, by};
    T->follower = &f.base;
    atomic_fetch_or_explicit(&T->mode, EG__MODE_FOLLOW, memory_order_relaxed);
    eg_status st = body(user);
    atomic_fetch_and_explicit(&T->mode, ~(uint32_t)EG__MODE_FOLLOW, memory_order_relaxed);
    T->follower = NULL;
    return st;
}
