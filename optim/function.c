/* function.c - steps that make the loss themselves. */
#include "optim/parallel.h"

bool eg_optim_needs_function(const eg_optim *o)
{
    return o && o->rule->descend;
}

eg_status eg__optim_takes_gradients(const char *op, const eg_optim *o)
{
    return o->rule->descend
               ? eg__fail(EG_ESTATE, op, "%s asks for the loss several times in a step: use eg_optim_minimize_function",
                          o->name)
               : EG_OK;
}

eg_status eg__optim_treats_apart(const char *op, const eg_optim *o)
{
    return o->rule->descend
               ? eg__fail(EG_EINVAL, op, "to %s all parameters and their gradients are one vector as it is", o->name)
               : EG_OK;
}

eg_tensor *eg__loss_of(const eg__loss *f, const char *op)
{
    eg_error before;
    eg__user_begin(&before);
    eg_tensor *loss = f->f(f->user);
    eg_status st = eg__user_end(&before, loss ? EG_OK : EG_EUSER, op, "loss");
    return st || eg__check(loss, op, "loss") ? NULL : loss;
}

/* For rules that ask once. */
static eg_tensor *minimize_once(eg_optim *o, const eg__loss *f)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *loss = tape.id ? eg__loss_of(f, o->name) : NULL;
    if (!loss && o->parallel) {
        eg__parallel_tell(o, eg__why());
    }
    return loss && !eg_optim_minimize(o, tape, loss) ? loss : NULL;
}

eg_tensor *eg_optim_minimize_function(eg_optim *o, eg_tensor *(*loss)(void *user), void *user)
{
    static const char op[] = "eg_optim_minimize_function";
    if (!o || !loss) {
        eg__null_argument(op, o ? "loss" : "optim");
        return NULL;
    }
    if (eg__thread_get()->record->recording) {
        return eg__fail_null(EG_ESTATE, o->name, "a tape records: ask or close it before the step");
    }
    eg_scope s = eg_scope_push();
    if (!s.depth) {
        return NULL;
    }
    const eg__loss f = {loss, user};
    return eg_scope_pop(s, o->rule->descend ? o->rule->descend(o, &f) : minimize_once(o, &f));
}
