/* ask.c - the gradients of a loss for an optimizer's parameters: asked of the tape, and of several ranks averaged. */
#include <stdlib.h>

#include "optim/optim.h"
#include "optim/parallel.h"

/* The n tensors that are asked for a gradient: not those that come a second time, nor frozen ones. Refuses tensors that
 * never required one. */
static eg_status who_moves(const eg_optim *o, eg_tensor **ask, int *n)
{
    eg__thread *T = eg__thread_get();
    eg_status st = EG_OK;
    *n = 0;
    for (int i = 0; i < o->count && !st; i++) {
        eg_tensor *p = o->in[i * EG__OPTIM_SLOTS];
        if (o->names[i] && eg__tracked(T, p)) {
            ask[(*n)++] = p;
        } else if (o->names[i] && o->plain[i]) {
            st = eg__fail(
                EG_EINVAL, o->name,
                "tensor \"%.80s\", %s %s, does not require gradients: eg_parameter(x), in Lua x:requires_grad(), "
                "makes it a parameter; eg_module_unfreeze does so for a frozen module",
                o->names[i], eg_dtype_name((eg_dtype)p->dtype), EG__SHAPE_OF(p));
        }
    }
    return st || *n ? st : eg__fail(EG_ESTATE, o->name, "all %d parameters are frozen", o->count);
}

/* The scale as the loss's gradient. */
static eg_tensor *seed(const eg__scaling *s, const eg_tensor *loss)
{
    eg_tensor *scale = eg_select(s->state, 0, EG__SCALER_SCALE);
    return eg_reshape(eg_to(eg_cast(scale, (eg_dtype)loss->dtype), eg__device(loss)), eg_shape_of(loss));
}

/* Of several ranks gradients leave while the tape is walked, and come back averaged. */
static eg_status ask_ranks(eg_optim *o, eg_tape tape, eg_tensor *loss, eg_tensor *dy, eg_tensor *const *ask, int n,
                           eg_tensor **got)
{
    eg__exchange e;
    eg_status st = eg__exchange_begin(&e, o, ask, n);
    if (st) {
        return eg__parallel_tell(o, st);
    }
    st = eg_tape_gradients(tape, loss, ask, n, NULL, .dy = dy, .null_unconnected = true, .ready = eg__exchange_ready,
                           .user = &e);
    return eg__exchange_end(&e, st, got);
}

static eg_status ask_tape(eg_optim *o, eg_tape tape, eg_tensor *loss, const eg__scaling *scaling, bool exchange,
                          eg_tensor **ask, eg_tensor **g)
{
    eg_tensor *dy = NULL, **got = ask + o->count;
    int n;
    if (who_moves(o, ask, &n)) {
        return eg__why();
    }
    if (loss->n != 1) {
        return eg__fail(EG_ESHAPE, o->name, "the loss has shape %s, not one element", EG__SHAPE_OF(loss));
    }
    if (scaling && !(dy = seed(scaling, loss))) {
        return eg__why();
    }
    eg_status st = exchange ? ask_ranks(o, tape, loss, dy, ask, n, got)
                            : eg_tape_gradients(tape, loss, ask, n, got, .dy = dy, .null_unconnected = true);
    for (int i = 0, k = 0; i < o->count && !st; i++) {
        bool asked = k < n && ask[k] == o->in[i * EG__OPTIM_SLOTS] && o->names[i];
        g[i] = asked ? got[k++] : NULL;
    }
    return st;
}

eg_status eg__optim_gradients(eg_optim *o, eg_tape tape, eg_tensor *loss, const eg__scaling *scaling, bool exchange,
                              eg_tensor **gradients)
{
    const size_t bytes = 2 * (size_t)o->count * sizeof *gradients;
    eg_tensor **lists = eg__malloc(bytes); /* asked, got */
    eg_status st =
        lists ? ask_tape(o, tape, loss, scaling, exchange, lists, gradients) : eg__no_memory(o->name, (int64_t)bytes);
    free(lists);
    return st;
}
