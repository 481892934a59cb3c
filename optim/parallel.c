/* parallel.c - optimizers whose steps are those of all ranks: made, checked, and told of failures. */
#include "optim/parallel.h"

#include <stdlib.h>

#include "lib/io/crc32c.h"

static const char me[] = "eg_optim_parallel";

/* Bytes of a bucket, on a device, where an exchange begins and ends with the host looking; and of a rank's part of it,
 * or its messages cost more than what is in them. */
enum { BUCKET = 1 << 20, DEVICES_BUCKET = 25 << 20, LEAST = 16 << 10 };

/* ---- the same on all ranks? -------------------------------------------------------------------- */

static eg_status digest(const eg_tensor *t, int64_t *sum)
{
    const int64_t bytes = eg__bytes_of(t->n, (eg_dtype)t->dtype);
    const uint32_t of_shape = eg__crc32c(0, t->shape, t->ndim * sizeof *t->shape);
    char *copy = t->device ? eg__malloc((size_t)bytes + 1) : NULL;
    if (t->device && !copy) {
        return eg__no_memory(me, bytes);
    }
    eg_status st = copy ? eg_copy_out(t, copy, (size_t)bytes) : EG_OK;
    *sum = eg__crc32c(of_shape, copy ? copy : eg__ptr(t), (size_t)bytes);
    free(copy);
    return st;
}

static eg_status compare(eg_optim *o, eg_tensor *own, eg_tensor *all)
{
    const int64_t *sums = (const int64_t *)eg__ptr(all);
    int64_t *mine = memset(eg__ptr(own), 0, (size_t)own->n * sizeof(int64_t));
    eg_status st = EG_OK;
    for (int i = 0; i < o->count && o->parallel->zero < 3 && !st; i++) {
        st = digest(o->in[i * EG__OPTIM_SLOTS], &mine[i]);
    }
    mine[o->count] = o->steps;
    st = eg__parallel_tell(o, st);
    st = st ? st : eg_comm_all_gather(o->parallel->comm, own, all);
    for (int r = 1; r < o->parallel->ranks && !st; r++) {
        for (int i = 0; i <= o->count && !st; i++) {
            if (sums[r * (o->count + 1) + i] != sums[i]) {
                st = i == o->count ? eg__fail(EG_ESTATE, me, "rank 0 has done %lld steps, rank %d %lld",
                                              (long long)sums[i], r, (long long)sums[r * (o->count + 1) + i])
                                   : eg__fail(EG_ESTATE, me, "parameter \"%.160s\" of rank %d is not that of rank 0",
                                              o->names[i] ? o->names[i] : "", r);
            }
        }
    }
    return st;
}

static eg_status look(eg_optim *o)
{
    eg_scope s = eg_scope_push();
    eg_tensor *own = s.depth ? eg__empty_on(0, EG_SHAPE(o->count + 1), EG_I64) : NULL;
    eg_tensor *all = own ? eg__empty_on(0, EG_SHAPE((int64_t)o->parallel->ranks * (o->count + 1)), EG_I64) : NULL;
    eg_status st = all ? compare(o, own, all) : eg__parallel_tell(o, eg__why());
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_status eg__parallel_check(eg_optim *o)
{
    eg__ranks *p = o->parallel;
    if (++p->updates < p->check_every) {
        return EG_OK;
    }
    p->updates = 0;
    return look(o);
}

/* ---- made and ended ---------------------------------------------------------------------------- */

eg_status eg__parallel_tell(const eg_optim *o, eg_status st)
{
    if (st) {
        const eg_error why = *eg_last_error();
        eg_comm_give_up(o->parallel->comm);
        eg_fail(why.code, why.op, why.message);
    }
    return st;
}

void eg__parallel_free(eg_optim *o)
{
    if (o->parallel) {
        free(o->parallel->in);
        free(o->parallel);
        o->parallel = NULL;
    }
}

static int64_t usual_bucket(const eg_optim *o, int ranks)
{
    const bool on_device = o->count && eg__optim_device(o);
    return eg__max(on_device ? DEVICES_BUCKET : BUCKET, ranks * (int64_t)LEAST);
}

static eg_status check(const eg_optim *o, const eg_parallel_options *p)
{
    if (o->parallel) {
        return eg__fail(EG_ESTATE, me, "%s is of several ranks already", o->name);
    }
    if (o->gathered) {
        return eg__fail(EG_ESTATE, me, "gradients are gathered: eg_optim_update comes first");
    }
    if (p->bucket < 0 || p->check_every < 0) {
        return eg__fail(EG_EINVAL, me, "bucket is %lld, check_every %lld, must be 0 or more", (long long)p->bucket,
                        (long long)p->check_every);
    }
    if (p->zero < 0 || p->zero > 3) {
        return eg__fail(EG_EINVAL, me, "zero is %d, must be 0..3", p->zero);
    }
    return p->zero && o->whole_rows ? eg__fail(EG_EINVAL, me, "a lazy %s needs whole rows, not parts of them", o->name)
           : p->zero                ? eg__optim_takes_gradients(me, o)
                                    : EG_OK;
}

eg_status eg_optim_parallel_with(eg_optim *o, eg_comm *comm, const eg_parallel_options *options)
{
    eg_parallel_options p;
    eg__options(&p, sizeof p, options);
    if (!o || !comm) {
        return eg__null_argument(me, o ? "comm" : "optim");
    }
    if (check(o, &p) || eg__optim_settle(o)) {
        return eg__why();
    }
    if (eg_comm_size(comm) == 1) {
        return EG_OK;
    }
    if (!(o->parallel = eg__malloc(sizeof *o->parallel))) {
        return eg__no_memory(me, sizeof *o->parallel);
    }
    *o->parallel = (eg__ranks){.comm = comm,
                               .rank = eg_comm_rank(comm),
                               .ranks = eg_comm_size(comm),
                               .bucket = p.bucket ? p.bucket : usual_bucket(o, eg_comm_size(comm)),
                               .check_every = eg__or_count(p.check_every, 1000)};
    o->parallel->zero = p.zero == 3 ? 3 : 0;
    eg_status st = look(o);
    if (!st && p.zero && p.zero < 3) {
        o->parallel->zero = p.zero;
        st = eg__parallel_tell(o, eg__sharded_begin(o));
    }
    if (st) {
        eg__parallel_free(o);
    }
    return st;
}
