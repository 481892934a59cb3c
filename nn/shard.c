/* shard.c - modules whose parameters are shared out among ranks (ZeRO 3): they are gathered for a forward, and again
 * for its gradient, and are nowhere else (Rajbhandari et al. 2019; Zhao et al. 2023, "PyTorch FSDP"). */
#include <stdlib.h>

#include <egret/ops.h>
#include <egret/parallel.h>

#include "lib/core/device.h"
#include "lib/io/assign.h"
#include "nn/nn.h"

/* Whole vectors are padded to a multiple of this, so that they do not depend on how many ranks there are. */
enum { MULTIPLE = 46080 };

/* Where a parameter of the body is in the vector. */
typedef struct slot {
    eg_tensor **member;
    eg_shape shape;
    int64_t at, n;
} slot;

typedef struct shard {
    eg_module base;
    eg_tensor *flat; /* [length / ranks]: this rank's part of all parameters, one behind the other */
    eg_module *body;
    eg_comm *comm;
    int64_t length;
    slot *slots;
    uint32_t count, room;
    eg_custom_op gather;
} shard;

/* ---- gathering, on a tape --------------------------------------------------------------------------- */

static eg_tensor *gather_forward(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    const shard *s = user;
    eg_tensor *all = eg_empty(EG_SHAPE(s->length), (eg_dtype)x[0]->dtype);
    all = all ? eg_to(all, eg__device(x[0])) : NULL;
    return all && eg_comm_all_gather(s->comm, eg_detach(x[0]), all) == EG_OK ? all : NULL;
}

/* The mean of what the ranks' losses say of this rank's part. */
static eg_status gather_backward(eg_tensor *const *x, int n, eg_tensor *y, eg_tensor *dy, unsigned needed,
                                 eg_tensor **dx, void *user)
{
    (void)n;
    (void)y;
    (void)needed;
    const shard *s = user;
    dx[0] = eg_zeros_like(x[0]);
    return dx[0] ? eg_comm_reduce_scatter(s->comm, eg_contiguous(dy), dx[0], EG_COMM_MEAN) : eg__why();
}

/* ---- forward ------------------------------------------------------------------------------------------ */

static void leave_members(shard *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        *s->slots[i].member = NULL;
    }
}

/* The body with its parameters, which are views of what was gathered. */
static eg_tensor *run_body(eg_tensor *const *in, int n, void *user)
{
    (void)n;
    shard *s = user;
    eg_tensor *all = eg_custom(&s->gather, &s->flat, 1), *y = NULL;
    bool good = all != NULL;
    for (uint32_t i = 0; i < s->count && good; i++) {
        const slot *p = &s->slots[i];
        eg_tensor *part = eg_reshape(eg_slice(all, 0, p->at, p->at + p->n, 1), p->shape);
        *p->member = part;
        good = part != NULL;
    }
    if (good) {
        y = eg_module_forward(s->body, in[0]);
    }
    leave_members(s);
    return y;
}

static eg_tensor *shard_forward(eg_module *m, eg_tensor *x)
{
    shard *s = (shard *)m;
    eg_status st = m->training ? eg_module_train(s->body) : eg_module_eval(s->body);
    return st ? NULL : eg_checkpoint(run_body, &x, 1, s);
}

static void shard_members(eg_module *m, eg_members *members)
{
    eg_member_parameter(members, "flat", &((shard *)m)->flat);
}

static void shard_free(eg_module *m)
{
    shard *s = (shard *)m;
    leave_members(s);
    eg_module_free(s->body);
    free(s->slots);
}

static const eg_module_kind shard_kind = {.size = sizeof(eg_module_kind),
                                          .name = "shard",
                                          .forward = shard_forward,
                                          .members = shard_members,
                                          .free = shard_free};

/* ---- made --------------------------------------------------------------------------------------------- */

typedef struct collector {
    eg_members walk;
    shard *s;
    int64_t at;
    eg_status status;
} collector;

static eg_status add(collector *c, eg_tensor **member)
{
    static const char op[] = "shard";
    shard *s = c->s;
    const eg_tensor *t = *member;
    const eg_tensor *first = s->count ? *s->slots[0].member : t;
    if (t->dtype != first->dtype || t->device != first->device) {
        return eg__fail(EG_EDTYPE, op, "parameters are %s on %s and %s on %s", eg_dtype_name((eg_dtype)first->dtype),
                        eg__device(first)->name, eg_dtype_name((eg_dtype)t->dtype), eg__device(t)->name);
    }
    if (s->count == s->room && !eg__grow(&s->slots, &s->room, sizeof *s->slots)) {
        return eg__no_memory(op, s->room);
    }
    slot *p = &s->slots[s->count];
    *p = (slot){.member = member, .at = c->at, .n = t->n, .shape = {.ndim = t->ndim}};
    memcpy(p->shape.dim, t->shape, t->ndim * sizeof *t->shape);
    for (uint32_t i = 0; i < s->count; i++) {
        if (*s->slots[i].member == t) { /* tied */
            p->at = s->slots[i].at;
        }
    }
    c->at += p->at == c->at ? p->n : 0;
    s->count++;
    return EG_OK;
}

static void collect(eg_members *walk, const eg__member *member)
{
    collector *c = (collector *)walk;
    if (c->status) {
        return;
    }
    if (member->kind == EG__CHILD) {
        eg__members(*member->child, walk);
    } else if (member->kind == EG__PARAMETER) {
        c->status = add(c, member->tensor);
    } else {
        c->status = eg__fail(EG_EINVAL, "shard",
                             "\"%.60s\" is a buffer: a forward that is made twice would count twice", member->name);
    }
}

/* This rank's part of all parameters, kept. */
static eg_tensor *part_of_all(const shard *s)
{
    const int64_t own = s->length / eg_comm_size(s->comm), first = eg_comm_rank(s->comm) * own;
    const eg_tensor *one = *s->slots[0].member;
    eg_tensor *all = eg__full_on(one->device, EG_SHAPE(s->length), 0, (eg_dtype)one->dtype);
    for (uint32_t i = 0; i < s->count && all; i++) {
        const slot *p = &s->slots[i];
        eg_tensor *line = eg_reshape(eg_detach(*p->member), EG_SHAPE(p->n));
        if (!line || (p->n && !eg_copy_(eg_slice(all, 0, p->at, p->at + p->n, 1), line))) {
            return NULL;
        }
    }
    return all ? eg_parameter(eg_copy(eg_slice(all, 0, first, first + own, 1))) : NULL;
}

static eg_status take_parameters(shard *s)
{
    collector c = {.walk = {collect, 0}, .s = s};
    const int ranks = eg_comm_size(s->comm);
    eg_status st = eg__walk_members(s->body, &c.walk, "shard");
    st = c.status ? c.status : st;
    if (st || !s->count || MULTIPLE % ranks) {
        const eg_status why =
            st         ? st
            : s->count ? eg__fail(EG_EINVAL, "shard", "%d ranks: their number has to divide %d", ranks, MULTIPLE)
                       : eg__fail(EG_EINVAL, "shard", "a %s has no parameters", s->body->kind->name);
        s->count = 0; /* they stay the body's */
        return why;
    }
    s->length = (c.at + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    s->length = s->length ? s->length : MULTIPLE;
    eg_scope scope = eg_scope_push();
    s->flat = scope.depth ? part_of_all(s) : NULL;
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    if (!s->flat) {
        s->count = 0;
        return eg__why();
    }
    for (uint32_t i = 0; i < s->count; i++) {
        eg_release(*s->slots[i].member);
        *s->slots[i].member = NULL;
    }
    return EG_OK;
}

eg_module *eg_shard_new(eg_module *body, eg_comm *comm)
{
    static const char op[] = "shard";
    if (!body || !comm) {
        eg_module_free(body && !body->parent ? body : NULL);
        return eg__null_argument(op, body ? "comm" : "body"), NULL;
    }
    if (body->parent) {
        return eg__fail_null(EG_ESTATE, op, "the body is part of a %s", body->parent->kind->name);
    }
    shard *s = eg_module_new(sizeof *s, &shard_kind);
    if (!s) {
        eg_module_free(body);
        return NULL;
    }
    s->body = body;
    s->comm = comm;
    s->gather = (eg_custom_op){sizeof s->gather, "gathered parameters", gather_forward, gather_backward, s};
    if (take_parameters(s)) {
        const eg_error why = *eg_last_error();
        s->base.kind = &shard_kind;
        eg_module_free(&s->base);
        eg_fail(why.code, why.op, why.message);
        return NULL;
    }
    return eg_module_finish(&s->base);
}

/* ---- states ------------------------------------------------------------------------------------------- */

typedef struct finder {
    eg_members walk;
    const eg_tensor *flat;
    shard *found;
} finder;

static void find(eg_members *walk, const eg__member *member)
{
    finder *f = (finder *)walk;
    if (member->kind == EG__CHILD) {
        eg_module *m = *member->child;
        if (m->kind == &shard_kind && ((shard *)m)->flat == f->flat) {
            f->found = (shard *)m;
        }
        eg__members(m, walk);
    }
}

/* The shard whose part t is; NULL: it is none's. */
static shard *shard_of(eg_module *m, const eg_tensor *t)
{
    finder f = {.walk = {find, 0}, .flat = t};
    find(&f.walk, &(eg__member){EG__CHILD, "", &m, NULL});
    return f.found;
}

/* All of it, on the CPU. */
static eg_tensor *whole_of(const shard *s)
{
    eg_tensor *own = eg_to(eg_detach(s->flat), eg_cpu());
    eg_tensor *all = own ? eg__empty_on(0, EG_SHAPE(s->length), (eg_dtype)own->dtype) : NULL;
    return all && eg_comm_all_gather(s->comm, own, all) == EG_OK ? all : NULL;
}

eg_tensors *eg_module_full_state(eg_module *m)
{
    eg_tensors *state = m ? eg_module_state(m) : NULL;
    if (!m) {
        return eg__null_argument("eg_module_full_state", "m"), NULL;
    }
    eg_status st = state ? EG_OK : eg__why();
    for (int64_t i = 0; i < eg_tensors_count(state) && !st; i++) {
        const shard *s = shard_of(m, eg_tensors_at(state, i));
        eg_scope scope = eg_scope_push();
        eg_tensor *whole = s && scope.depth ? whole_of(s) : NULL;
        st = !scope.depth || (s && !whole) ? eg__why()
             : s                           ? eg_tensors_set(state, eg_tensors_name(state, i), whole)
                                           : EG_OK;
        if (scope.depth) {
            eg_scope_pop(scope, NULL);
        }
    }
    if (st) {
        eg_tensors_free(state);
    }
    return st ? NULL : state;
}

/* This rank's parts of what was loaded. */
static eg_status share_out(eg_module *m, const eg_tensors *own, const eg_tensors *whole)
{
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? EG_OK : eg__why();
    for (int64_t i = 0; i < eg_tensors_count(own) && !st; i++) {
        const shard *s = shard_of(m, eg_tensors_at(own, i));
        if (s) {
            const int64_t n = s->flat->n, first = eg_comm_rank(s->comm) * n;
            eg_tensor *part = eg_slice(eg_tensors_get(whole, eg_tensors_name(own, i)), 0, first, first + n, 1);
            st = part && eg_copy_(s->flat, eg_to(part, eg__device(s->flat))) ? EG_OK : eg__why();
        }
    }
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}

eg_status eg_module_load_full_state(eg_module *m, const eg_tensors *map)
{
    static const char op[] = "eg_module_load_full_state";
    if (!m || !map) {
        return eg__null_argument(op, m ? "map" : "m");
    }
    eg_tensors *own = eg_module_state(m), *whole = own ? eg_module_full_state(m) : NULL;
    eg_status st = whole ? eg__tensors_assign(op, whole, map, false, false) : eg__why();
    st = st ? st : share_out(m, own, whole);
    eg_tensors_free(own);
    eg_tensors_free(whole);
    return st;
}
