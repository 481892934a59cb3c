/* sharded.c - states shared out: each rank keeps and updates its part of every parameter, and gathers the others. Part
 * r of n elements are those from r * ceil(n / ranks) on, so that parts of one parameter lie in line in a gathered row.
 */
#include "optim/parallel.h"

#include <stdlib.h>

int64_t eg__shared_most(const eg__ranks *p, int64_t n)
{
    return (n + p->ranks - 1) / p->ranks;
}

int64_t eg__shared_at(const eg__ranks *p, int64_t n, int rank, int64_t *first)
{
    const int64_t most = eg__shared_most(p, n);
    *first = eg__min(n, rank * most);
    return eg__min(n, *first + most) - *first;
}

eg_tensor *eg__shared_part(const eg__ranks *p, eg_tensor *t, int rank)
{
    int64_t first, n = eg__shared_at(p, t->n, rank, &first);
    eg_tensor *line = eg_reshape(eg_detach(t), EG_SHAPE(t->n));
    return line ? eg_slice(line, 0, first, first + n, 1) : NULL;
}

/* ---- states ------------------------------------------------------------------------------------ */

static bool is_state(int slot)
{
    return slot >= EG__OPTIM_MASTER;
}

static eg_status share_out(eg_optim *o, int at)
{
    eg_tensor *part = eg_keep(eg_copy(eg__shared_part(o->parallel, o->in[at], o->parallel->rank)));
    if (!part) {
        return eg__why();
    }
    eg_release(o->in[at]);
    o->in[at] = part;
    return EG_OK;
}

eg_status eg__sharded_begin(eg_optim *o)
{
    const size_t bytes = (size_t)(o->count * EG__OPTIM_SLOTS) * sizeof *o->in;
    if (!(o->parallel->in = eg__malloc(bytes))) {
        return eg__no_memory("eg_optim_parallel", (int64_t)bytes);
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg__why();
    for (int i = 0; i < o->count * EG__OPTIM_SLOTS && !st; i++) {
        st = is_state(i % EG__OPTIM_SLOTS) && o->in[i] ? share_out(o, i) : EG_OK;
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_tensor *eg__sharded_whole(const eg_optim *o, int i, int slot)
{
    const eg__ranks *p = o->parallel;
    eg_tensor *like = o->in[i * EG__OPTIM_SLOTS], *own = o->in[i * EG__OPTIM_SLOTS + slot];
    if (p->zero == 3) {
        eg_tensor *here = eg_to(own, eg_cpu());
        eg_tensor *line = here ? eg__empty_on(0, EG_SHAPE(p->ranks * own->n), (eg_dtype)own->dtype) : NULL;
        return line && eg_comm_all_gather(p->comm, here, line) == EG_OK ? line : NULL;
    }
    const int64_t most = eg__shared_most(p, like->n);
    eg_tensor *part = eg__full_on(0, EG_SHAPE(most), 0, (eg_dtype)own->dtype);
    eg_tensor *all = part ? eg__empty_on(0, EG_SHAPE(p->ranks * most), (eg_dtype)own->dtype) : NULL;
    if (!all || (own->n && !eg_copy_(eg_slice(part, 0, 0, own->n, 1), eg_to(own, eg_cpu()))) ||
        eg_comm_all_gather(p->comm, part, all)) {
        return NULL;
    }
    return eg_reshape(eg_slice(all, 0, 0, like->n, 1), eg_shape_of(like));
}

eg_status eg__sharded_put(eg_optim *o, int i, int slot, eg_tensor *whole)
{
    eg_tensor *own = o->in[i * EG__OPTIM_SLOTS + slot];
    eg_tensor *part = eg__shared_part(o->parallel, whole, o->parallel->rank);
    return part && (!own->n || eg_copy_(own, eg_to(part, eg__device(own)))) ? EG_OK : eg__why();
}

/* ---- a step ------------------------------------------------------------------------------------ */

eg_status eg__sharded_list(eg_optim *o)
{
    eg__ranks *p = o->parallel;
    for (int i = 0; i < o->count; i++) {
        eg_tensor **in = o->in + i * EG__OPTIM_SLOTS, **to = p->in + i * EG__OPTIM_SLOTS;
        memcpy(to, in, EG__OPTIM_SLOTS * sizeof *in);
        to[EG__OPTIM_PARAMETER] = eg__shared_part(p, in[EG__OPTIM_PARAMETER], p->rank);
        if (in[EG__OPTIM_GRADIENT] && p->zero < 2) {
            to[EG__OPTIM_GRADIENT] = eg__shared_part(p, in[EG__OPTIM_GRADIENT], p->rank);
        }
        if (!to[EG__OPTIM_PARAMETER] || (in[EG__OPTIM_GRADIENT] && !to[EG__OPTIM_GRADIENT])) {
            return eg__why();
        }
    }
    return EG_OK;
}

eg_tensor *eg__sharded_norms(eg_optim *o, eg_tensor **gradients, double p)
{
    eg_tensor *own = eg__empty_on(0, EG_SHAPE(1), EG_F64);
    eg_tensor *all = own ? eg__empty_on(0, EG_SHAPE(o->parallel->ranks), EG_F64) : NULL;
    eg_status st = all ? eg__total_norm(o->name, gradients, o->count, p, (double *)eg__ptr(own)) : eg__why();
    st = eg__parallel_tell(o, st);
    st = st ? st : eg_comm_all_gather(o->parallel->comm, own, all);
    return st ? NULL : eg_to(all, eg__devices[eg__optim_device(o)]);
}

/* From parameter `first` on as many as fit into a bucket: *end is the first behind them, *width what a rank has. */
static void cut(const eg_optim *o, int first, int *end, int64_t *width)
{
    const eg_tensor *one = o->in[first * EG__OPTIM_SLOTS];
    *width = 0;
    for (*end = first; *end < o->count; ++*end) {
        const eg_tensor *t = o->in[*end * EG__OPTIM_SLOTS];
        const int64_t all = eg__bytes_of(*width * o->parallel->ranks, (eg_dtype)one->dtype);
        if (t->dtype != one->dtype || t->device != one->device || (*width && all >= o->parallel->bucket)) {
            break;
        }
        *width += o->in[*end * EG__OPTIM_SLOTS + EG__OPTIM_GRADIENT] ? eg__shared_most(o->parallel, t->n) : 0;
    }
}

static eg_status put_parts(eg_optim *o, int first, int end, eg_tensor *all, int64_t width)
{
    const eg__ranks *p = o->parallel;
    int64_t at = 0, begin;
    for (int i = first; i < end; i++) {
        eg_tensor *t = o->in[i * EG__OPTIM_SLOTS];
        for (int r = 0; r < p->ranks && o->in[i * EG__OPTIM_SLOTS + EG__OPTIM_GRADIENT]; r++) {
            const int64_t n = eg__shared_at(p, t->n, r, &begin), from = r * width + at;
            if (r != p->rank && n && !eg_copy_(eg__shared_part(p, t, r), eg_slice(all, 0, from, from + n, 1))) {
                return eg__why();
            }
        }
        at += o->in[i * EG__OPTIM_SLOTS + EG__OPTIM_GRADIENT] ? eg__shared_most(p, t->n) : 0;
    }
    return EG_OK;
}

static eg_status gather(eg_optim *o, int first, int end, int64_t width)
{
    const eg__ranks *p = o->parallel;
    const uint8_t device = o->in[first * EG__OPTIM_SLOTS]->device;
    const eg_dtype dtype = (eg_dtype)o->in[first * EG__OPTIM_SLOTS]->dtype;
    eg_tensor *own = eg__full_on(device, EG_SHAPE(width), 0, dtype);
    eg_tensor *all = own ? eg__empty_on(device, EG_SHAPE(p->ranks * width), dtype) : NULL;
    eg_status st = all ? EG_OK : eg__why();
    int64_t at = 0;
    for (int i = first; i < end && !st; i++) {
        if (o->in[i * EG__OPTIM_SLOTS + EG__OPTIM_GRADIENT]) {
            eg_tensor *t = o->in[i * EG__OPTIM_SLOTS], *part = eg__shared_part(p, t, p->rank);
            st = part && (!part->n || eg_copy_(eg_slice(own, 0, at, at + part->n, 1), part)) ? EG_OK : eg__why();
            at += eg__shared_most(p, t->n);
        }
    }
    st = eg__parallel_tell(o, st);
    st = st ? st : eg_comm_all_gather(p->comm, own, all);
    return st ? st : put_parts(o, first, end, all, width);
}

eg_status eg__sharded_gather(eg_optim *o)
{
    eg_status st = EG_OK;
    for (int first = 0, end; first < o->count && !st; first = end) {
        int64_t width;
        cut(o, first, &end, &width);
        eg_scope s = eg_scope_push();
        st = !s.depth ? eg__why() : width ? gather(o, first, end, width) : EG_OK;
        if (s.depth) {
            eg_scope_pop(s, NULL);
        }
    }
    return st;
}
