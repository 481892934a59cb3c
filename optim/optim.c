/* optim.c - what all rules share: the parameters, their state, one fused update over all of them. */
#include "optim/optim.h"

#include <math.h>
#include <stdlib.h>

static eg_status check_parameters(const char *name, eg_parameters p)
{
    if (!p.tensors) {
        return eg__null_argument(name, "parameters");
    }
    if (p.count < 1 || p.count > EG__MAX_PARAMETERS) {
        return eg__fail(EG_EINVAL, name, "%d parameters given, 1..%d are possible", p.count,
                        EG__MAX_PARAMETERS);
    }
    for (int i = 0; i < p.count; i++) {
        eg_tensor *t = p.tensors[i];
        if (eg__check(t, name, "a parameter")) {
            return eg__why();
        }
        if (!eg__is_float(t->dtype) || !(t->flags & EG__DENSE)) {
            return eg__fail(EG_EINVAL, name, "parameter %d is %s %s%s; it must be a contiguous float "
                            "tensor", i, eg_dtype_name((eg_dtype)t->dtype), EG__SHAPE_OF(t),
                            t->flags & EG__DENSE ? "" : ", not contiguous");
        }
    }
    return EG_OK;
}

eg_optim *eg__optim_new(const char *name, const eg__optim_rule *rule, eg_parameters p, size_t size)
{
    if (check_parameters(name, p)) {
        return NULL;
    }
    eg_optim *o = eg__malloc(size);
    size_t slots = (size_t)rule->slots;
    eg_tensor **in = eg__malloc((size_t)p.count * slots * sizeof *in);
    if (!o || !in) {
        free(o);
        free(in);
        return eg__no_memory(name, (int64_t)size), NULL;
    }
    memset(o, 0, size);
    memset(in, 0, (size_t)p.count * slots * sizeof *in);
    o->name = name;
    o->rule = rule;
    o->count = p.count;
    o->in = in;
    eg_scope s = eg_scope_push();
    bool ok = s.depth > 0;
    for (int i = 0; i < p.count && ok; i++) {
        in[(size_t)i * slots] = eg_keep(p.tensors[i]);
        for (size_t k = EG__OPTIM_STATE; k < slots && ok; k++) {
            ok = (in[(size_t)i * slots + k] = eg_keep(eg_zeros_like(p.tensors[i]))) != NULL;
        }
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    if (!ok) {
        eg_optim_free(o);
        return NULL;
    }
    return o;
}

void eg_optim_free(eg_optim *o)
{
    if (!o) {
        return;
    }
    for (int i = 0; i < o->count * o->rule->slots; i++) {
        if (i % o->rule->slots != EG__OPTIM_GRADIENT) {
            eg_release(o->in[i]);
        }
    }
    free(o->in);
    free(o);
}

/* Refuses before anything moves; fills the gradients in, dense. */
static eg_status take_gradients(eg_optim *o, eg_tensor *const *gradients)
{
    int slots = o->rule->slots;
    for (int i = 0; i < o->count; i++) {
        eg_tensor *p = o->in[i * slots], *g = gradients[i];
        if (g && eg__check(g, o->name, "a gradient")) {
            return eg__why();
        }
        if (g && (!eg__same_shape(g, p) || g->dtype != p->dtype)) {
            return eg__fail(EG_ESHAPE, o->name, "gradient %d is %s %s, its parameter %s %s", i,
                            eg_dtype_name((eg_dtype)g->dtype), EG__SHAPE_OF(g),
                            eg_dtype_name((eg_dtype)p->dtype), EG__SHAPE_OF(p));
        }
        g = g ? eg_contiguous(g) : NULL;
        if (gradients[i] && !g) {
            return eg__why();
        }
        o->in[i * slots + EG__OPTIM_GRADIENT] = g;
    }
    return EG_OK;
}

static eg_status update(eg_optim *o, eg_tensor *const *gradients)
{
    eg__thread *T = eg__thread_get();
    eg_status st = take_gradients(o, gradients);
    for (int i = 0; i < o->count && !st; i++) {
        if (gradients[i]) {
            st = eg__begin_write(o->in[i * o->rule->slots], o->name);
        }
    }
    if (st) {
        return st;
    }
    eg__optim_opts opts;
    o->steps++;
    o->rule->fill(o, &opts);
    opts.slots = o->rule->slots;
    eg__call c = {.op = o->rule->op,
                  .T = T,
                  .in = o->in,
                  .nin = o->count * o->rule->slots,
                  .opts = &opts};
    return eg__run_kernel(&c, T->kernels[c.op->id]);
}

eg_status eg_optim_step(eg_optim *o, eg_tensor *const *gradients)
{
    if (!o) {
        return eg__null_argument("eg_optim_step", "optim");
    }
    if (!gradients) {
        return eg__null_argument(o->name, "gradients");
    }
    if (eg__thread_get()->record.recording) {
        return eg__fail(EG_ESTATE, o->name, "a tape records: ask or close it before the step");
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? update(o, gradients) : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_status eg_optim_minimize(eg_optim *o, eg_tape tape, eg_tensor *loss)
{
    if (!o || !loss) {
        return eg__null_argument("eg_optim_minimize", o ? "loss" : "optim");
    }
    eg_scope s = eg_scope_push();
    if (!s.depth) {
        return eg__why();
    }
    size_t n = (size_t)o->count;
    eg_tensor **lists = eg__malloc(2 * n * sizeof *lists), **ask = lists, **g = lists + n;
    eg_status st = lists ? EG_OK : eg__no_memory(o->name, (int64_t)(2 * n * sizeof *lists));
    for (size_t i = 0; i < n && !st; i++) {
        ask[i] = o->in[i * (size_t)o->rule->slots];
    }
    if (!st) {
        st = eg_tape_gradients(tape, loss, ask, o->count, g, .null_unconnected = true);
    }
    if (!st) {
        st = eg_optim_step(o, g);
    }
    free(lists);
    eg_scope_pop(s, NULL);
    return st;
}

double eg_optim_rate(const eg_optim *o)
{
    return o ? o->lr : (double)NAN;
}

int64_t eg_optim_steps(const eg_optim *o)
{
    return o ? o->steps : 0;
}

eg_status eg_optim_set_rate(eg_optim *o, double lr)
{
    if (!o) {
        return eg__null_argument("eg_optim_set_rate", "optim");
    }
    eg_status st = eg__optim_number(o->name, "lr", lr, (double)INFINITY);
    o->lr = st ? o->lr : lr;
    return st;
}

eg_status eg__optim_number(const char *name, const char *what, double v, double most)
{
    if (v >= 0 && v <= most && isfinite(v)) {
        return EG_OK;
    }
    return eg__fail(EG_EINVAL, name, "%s is %g, must be finite, 0 or more%s", what, v,
                    most == 1 ? " and at most 1" : "");
}
