/* optim.c - optimizer steps and norms of many tensors: tables of them for kernels, in as few launches as their
 * arguments have room for. */
#include <math.h>

#include "lib/core/capture.h"
#include "lib/cuda/runtime/cuda.h"
#include "lib/cuda/pointwise/optim.h"
#include "lib/ops/options.h"

_Static_assert((int)EG__OPTIM_SLOTS == EG__COUNT(((eg__update_tensor *)0)->at), "slots");

/* Groups of eight elements go as accesses of 16 bytes. */
static bool aligned(const void *p)
{
    return (uintptr_t)p % 16 == 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------- */

/* A parameter with its gradient; its blocks. */
static int64_t describe(eg__update_tensor *t, const eg__optim_opts *o, eg_tensor *const *in, int i)
{
    const eg_tensor *p = in[EG__OPTIM_PARAMETER], *g = in[EG__OPTIM_GRADIENT];
    *t = (eg__update_tensor){
        .n = p->n, .group = (uint8_t)o->group[i], .dtype = p->dtype, .slope = g->dtype, .grouped = true};
    for (int k = 0; k < EG__OPTIM_SLOTS; k++) {
        t->at[k] = in[k] ? eg__ptr(in[k]) : NULL;
        t->grouped &= aligned(t->at[k]);
    }
    if (!o->groups[t->group].lazy || p->ndim < 2) {
        return (p->n + EG__UPDATE_CHUNK - 1) / EG__UPDATE_CHUNK;
    }
    t->row = p->n / p->shape[0];
    t->grouped &= t->row % 8 == 0;
    int64_t rows = eg__max(EG__UPDATE_CHUNK / t->row, 1); /* of a block */
    return (p->shape[0] + rows - 1) / rows;
}

/* Parameters from *at on, f64 ones or the others, as many as fit a launch. */
static void gather(const eg__call *c, eg__update *u, eg__update_tensor *to, int *at)
{
    const eg__optim_opts *o = c->opts;
    int64_t blocks = 0;
    u->count = 0;
    for (; *at * EG__OPTIM_SLOTS < c->nin && u->count < EG__UPDATE_MANY; ++*at) {
        eg_tensor *const *in = c->in + *at * EG__OPTIM_SLOTS;
        const eg_tensor *p = in[EG__OPTIM_PARAMETER];
        if (!in[EG__OPTIM_GRADIENT] || !p->n || (p->dtype == EG_F64) != u->wide) {
            continue;
        }
        eg__update_tensor *t = &to[u->count];
        int64_t more = describe(t, o, in, *at);
        if (blocks && blocks + more > INT32_MAX) {
            break;
        }
        t->first = (unsigned)blocks;
        blocks += more;
        u->count++;
    }
    u->blocks = (unsigned)blocks;
}

/* The inputs but gradients are written. */
static eg_status begin(const eg__call *c, eg_stream *s)
{
    const eg__optim_opts *o = c->opts;
    eg_status st = o->gate ? eg__cuda_reads(s, o->gate->storage, c->op->name) : EG_OK;
    for (int i = 0; i < c->nin && !st; i++) {
        if (c->in[i] && i % EG__OPTIM_SLOTS != EG__OPTIM_GRADIENT) {
            st = eg__cuda_writes(s, c->in[i]->storage, c->op->name);
        }
    }
    return st;
}

static void end(const eg__call *c, eg_stream *s)
{
    atomic_fetch_add_explicit(&s->queued, 1, memory_order_relaxed);
    for (int i = 0; i < c->nin; i++) {
        if (c->in[i] && i % EG__OPTIM_SLOTS != EG__OPTIM_GRADIENT) {
            eg__cuda_wrote(s, c->in[i]->storage);
        }
    }
}

static eg_status update(const eg__call *c, int rule)
{
    const eg__optim_opts *o = c->opts;
    eg_stream *s = c->T->lane[c->device].now;
    eg__update_tensor tensors[EG__UPDATE_MANY];
    eg__update u = {.rule = rule,
                    .tensors = tensors,
                    .groups = o->groups,
                    .ngroups = o->ngroups,
                    .sets = o->sets,
                    .base = o->skipped,
                    .gate = o->gate ? (const double *)eg__ptr(o->gate) : NULL,
                    .now =
                        o->now ? (const eg__optim_now *)(const void *)(eg__ptr(c->T->capture->memory) + o->now) : NULL};
    eg_status st = begin(c, s);
    for (int wide = 0; wide < 2; wide++) {
        u.wide = wide;
        for (int at = 0; at * EG__OPTIM_SLOTS < c->nin && !st;) {
            gather(c, &u, tensors, &at);
            st = u.count ? eg__launched(c, eg__launch_update(&u, s->handle)) : EG_OK;
        }
    }
    end(c, s);
    return st;
}

#define EG_UPDATE(name, ...)                              \
    eg_status eg__cuda_##name##_update(const eg__call *c) \
    {                                                     \
        return update(c, EG__UPDATE_##name);              \
    }
#include "lib/ops/updates.def"
#undef EG_UPDATE

/* ---- norms --------------------------------------------------------------------------------------------------- */

static int64_t chunks(const eg_tensor *x)
{
    return x ? (x->n + EG__NORM_CHUNK - 1) / EG__NORM_CHUNK : 0;
}

static eg_status measure(const eg__call *c, int p, double *parts)
{
    eg__norm_tensor tensors[EG__NORM_MANY];
    eg_status st = EG_OK;
    for (int at = 0; at < c->nin && !st;) {
        int64_t blocks = 0;
        int count = 0;
        for (; at < c->nin && count < EG__NORM_MANY; at++) {
            const eg_tensor *x = c->in[at];
            if (chunks(x)) {
                if (blocks && blocks + chunks(x) > INT32_MAX) {
                    break;
                }
                const char *data = eg__ptr(x);
                tensors[count++] =
                    (eg__norm_tensor){data, x->n, (unsigned)blocks, x->dtype, x->dtype != EG_F64 && aligned(data)};
                blocks += chunks(x);
            }
        }
        if (count) {
            st = eg__launched(c, eg__launch_norm_parts(tensors, count, (unsigned)blocks, p, parts, eg__stream_of(c)));
        }
        parts += blocks;
    }
    return st;
}

static double *data_of(const eg_tensor *t)
{
    return t ? (double *)eg__ptr(t) : NULL;
}

eg_status eg__cuda_total_norm(const eg__call *c)
{
    const eg__total_norm_opts *o = c->opts;
    const int p = isinf(o->p) ? 0 : (int)o->p;
    eg__block *parts;
    int64_t n = 0;
    for (int i = 0; i < c->nin; i++) {
        n += chunks(c->in[i]);
    }
    eg_status st = eg__cuda_scratch(c, (size_t)(n + 1) * sizeof(double), &parts);
    if (st) {
        return st;
    }
    double *sums = (double *)parts->data;
    st = measure(c, p, sums);
    st = st ? st
            : eg__launched(c, eg__launch_norm(sums, n, p, &o->rule, data_of(c->out[EG__NORM_ITSELF]),
                                              data_of(c->out[EG__NORM_GATE]), data_of(c->out[EG__NORM_SCALER]),
                                              eg__stream_of(c)));
    eg__cuda_scratch_end(parts);
    return st;
}
