/* state.c - where training stands, as a map of tensors. */
#include <stdlib.h>

#include "lib/io/assign.h"
#include "optim/optim.h"
#include "optim/parallel.h"

/* ---- beside parameters --------------------------------------------------------------------- */

eg_tensor *eg__numbers_on(uint8_t device, const double *v, int n)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg__empty_on(0, EG_SHAPE(n), EG_F64) : NULL;
    if (t) {
        memcpy(eg__ptr(t), v, (size_t)n * sizeof *v);
        t = eg_keep(eg_to(t, eg__devices[device]));
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return t;
}

eg_status eg__beside(eg_tensor **own, const eg_tensor *t)
{
    return eg__at(own, t->device);
}

eg_status eg__at(eg_tensor **own, uint8_t device)
{
    if (likely(!*own || (*own)->device == device)) {
        return EG_OK;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *moved = s.depth ? eg_keep(eg_to(*own, eg__devices[device])) : NULL;
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    if (!moved) {
        return eg__why();
    }
    eg_release(*own);
    *own = moved;
    return EG_OK;
}

/* ---- numbers in maps ----------------------------------------------------------------------- */

eg_status eg__put_number(eg_tensors *map, const char *name, double value, eg_dtype dtype)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg_scalar(value, dtype) : NULL;
    eg_status st = t ? eg_tensors_set(map, name, t) : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_status eg__get_number(const char *op, const eg_tensors *map, const char *name, double least, double most,
                         double *value)
{
    const eg_tensor *t = eg_tensors_has(map, name) ? eg_tensors_get(map, name) : NULL;
    double v = t && t->n == 1 ? eg_item(t) : *value;
    if (!(v >= least && v <= most) || !isfinite(v)) {
        return eg__fail(EG_EFORMAT, op, "\"%s\" is %g; nothing was loaded", name, v);
    }
    *value = v;
    return EG_OK;
}

eg_status eg__put_back(const char *op, eg_tensors *own, const eg_tensors *map)
{
    eg_status st = own ? eg__tensors_assign(op, own, map, false, false) : eg__why();
    eg_tensors_free(own);
    return st;
}

/* ---- optimizers ---------------------------------------------------------------------------- */

static eg_status put_state(const eg_optim *o, eg_tensors *map, int i, int slot, const char *what)
{
    static const char op[] = "eg_optim_state";
    eg_tensor *t = o->in[i * EG__OPTIM_SLOTS + slot];
    if (!t) {
        return EG_OK;
    }
    eg_scope s = eg_scope_push();
    char *name = s.depth ? eg__joined(op, o->names[i], ".", what) : NULL;
    if (name && o->parallel && o->parallel->zero) {
        t = eg__sharded_whole(o, i, slot);
    }
    eg_status st = !name || !t                 ? eg__why()
                   : eg_tensors_has(map, name) ? eg__fail(EG_EINVAL, op, "two states are named \"%.160s\"", name)
                                               : eg_tensors_set(map, name, t);
    free(name);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

static eg_status allocate_all(eg_optim *o)
{
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg__why();
    for (int i = 0; i < o->count && !st; i++) {
        st = eg__optim_allocate(o, i);
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_tensors *eg_optim_state(eg_optim *o)
{
    eg_tensors *map = o ? eg_tensors_new() : NULL;
    if (!map) {
        return o ? NULL : (eg__null_argument("eg_optim_state", "optim"), NULL);
    }
    eg_status st = allocate_all(o);
    st = st ? st : eg__put_number(map, "steps", (double)eg_optim_steps(o), EG_I64);
    st = st ? st : eg__put_number(map, "lr", o->lr, EG_F64);
    for (int i = 0; i < o->count && !st; i++) {
        st = o->names[i] ? put_state(o, map, i, EG__OPTIM_MASTER, "master") : EG_OK;
        for (int k = 0; k < EG__OPTIM_STATES && o->names[i] && !st; k++) {
            st = put_state(o, map, i, EG__OPTIM_STATE + k, o->slot[k]);
        }
    }
    st = st || !o->rule->put ? st : o->rule->put(o, map);
    if (st) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}

/* Puts states shared out back from what was loaded, in which each is whole. */
static eg_status share_out(eg_optim *o, const eg_tensors *whole)
{
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg__why();
    for (int i = 0; i < o->count * EG__OPTIM_SLOTS && !st; i++) {
        const int of = i / EG__OPTIM_SLOTS, slot = i % EG__OPTIM_SLOTS;
        if (slot < EG__OPTIM_MASTER || !o->in[i] || !o->names[of]) {
            continue;
        }
        char *name = eg__joined("eg_optim_load_state", o->names[of], ".",
                                slot == EG__OPTIM_MASTER ? "master" : o->slot[slot - EG__OPTIM_STATE]);
        st = name ? eg__sharded_put(o, of, slot, eg_tensors_get(whole, name)) : eg__why();
        free(name);
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

static eg_status load_shared(const char *op, eg_optim *o, const eg_tensors *map)
{
    eg_tensors *whole = eg_optim_state(o);
    eg_status st = whole ? eg__tensors_assign(op, whole, map, false, false) : eg__why();
    st = st ? st : share_out(o, whole);
    eg_tensors_free(whole);
    return st;
}

eg_status eg_optim_load_state(eg_optim *o, const eg_tensors *map)
{
    static const char op[] = "eg_optim_load_state";
    if (!o || !map) {
        return eg__null_argument(op, o ? "map" : "optim");
    }
    double steps = 0, lr = 0;
    if (eg__get_number(op, map, "steps", 0, eg__most_steps, &steps) ||
        eg__get_number(op, map, "lr", 0, (double)INFINITY, &lr)) {
        return eg__why();
    }
    eg_status st = o->rule->load                      ? o->rule->load(op, o, map)
                   : o->parallel && o->parallel->zero ? load_shared(op, o, map)
                                                      : eg__put_back(op, eg_optim_state(o), map);
    if (!st) {
        o->for_scaler = true; /* steps that were not done are of the past */
        eg__optim_settle(o);
        o->steps = (int64_t)steps;
        o->lr = lr;
    }
    return st;
}
