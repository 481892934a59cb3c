/* metrics_ranks.c - what others have gathered: in this process, or on other ranks. */
#include <stdlib.h>

#include <egret/ops.h>

#include "lib/core/device.h"
#include "run/record/metrics.h"

eg_status eg_metrics_add(eg_metrics *m, eg_metrics *others)
{
    static const char op[] = "eg_metrics_add";
    if (!m || !others) {
        return eg__null_argument(op, m ? "others" : "m");
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg__why();
    for (uint32_t i = 0; i < others->count && !st; i++) {
        const eg__metric *own = &others->all[i];
        st = eg__metrics_gather(m, op, own->name, own->kind, eg_copy(own->sums));
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

/* ---- ranks ------------------------------------------------------------------------------------- */

/* What rank 0 tells of each. */
typedef struct entry {
    int64_t kind, ndim, dim[2];
    char name[EG__METRIC_NAME + 4];
} entry;

static const char op[] = "eg_metrics_all_reduce";

/* Brings the metric of that name to place i. */
static void move_to(eg_metrics *m, uint32_t i, const char *name)
{
    for (uint32_t k = i; k < m->count; k++) {
        if (!strcmp(m->all[k].name, name)) {
            const eg__metric found = m->all[k];
            m->all[k] = m->all[i];
            m->all[i] = found;
            return;
        }
    }
}

/* Names that rank 0 has and this one has not are added, with nothing gathered; then all are in its order. */
static eg_status complete(eg_metrics *m, const entry *told, int64_t count)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < count && !st; i++) {
        eg_shape shape = {.ndim = (int)told[i].ndim};
        memcpy(shape.dim, told[i].dim, sizeof told[i].dim);
        st = eg__metrics_gather(m, op, told[i].name, (eg__metric_kind)told[i].kind, eg__full_on(0, shape, 0, EG_F64));
        move_to(m, (uint32_t)i, told[i].name);
    }
    return st || m->count == (uint32_t)count
               ? st
               : eg__fail(EG_ESTATE, op, "%u metrics here, %lld on rank 0", m->count, (long long)count);
}

static eg_status agree_on_names(eg_metrics *m, eg_comm *comm)
{
    const bool first = eg_comm_rank(comm) == 0;
    eg_tensor *count = eg__from_on(0, EG_SHAPE(1), EG_I64, &(int64_t){m->count});
    eg_status st = count ? eg_comm_broadcast(comm, &count, 1, 0) : eg__why();
    const int64_t n = st ? 0 : *(int64_t *)eg__ptr(count);
    eg_tensor *told = st ? NULL : eg__full_on(0, EG_SHAPE(n * (int64_t)sizeof(entry)), 0, EG_U8);
    for (uint32_t i = 0; told && first && i < m->count; i++) {
        entry *e = (entry *)eg__ptr(told) + i;
        const eg__metric *own = &m->all[i];
        e->kind = own->kind;
        e->ndim = own->sums->ndim;
        memcpy(e->dim, own->sums->shape, own->sums->ndim * sizeof *e->dim);
        strcpy(e->name, own->name);
    }
    st = told ? eg_comm_broadcast(comm, &told, 1, 0) : eg__why();
    return st ? st : complete(m, (const entry *)eg__ptr(told), n);
}

/* On the CPU, as those of ranks that had no batch are. */
static eg_status bring_home(eg__metric *own)
{
    eg_tensor *here = eg_to(own->sums, eg_cpu());
    if (here && here != own->sums) {
        eg_release(own->sums);
        own->sums = eg_keep(here);
    }
    return here ? EG_OK : eg__why();
}

static eg_status add_up(eg_metrics *m, eg_comm *comm)
{
    eg_tensor **sums = eg__malloc((size_t)(m->count + 1) * sizeof *sums);
    if (!sums) {
        return eg__no_memory(op, m->count * (int64_t)sizeof *sums);
    }
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < m->count && !st; i++) {
        st = bring_home(&m->all[i]);
        sums[i] = m->all[i].sums;
    }
    st = eg_comm_agree(comm, st);
    st = !st && m->count ? eg_comm_all_reduce(comm, sums, (int)m->count, EG_COMM_SUM) : st;
    free(sums);
    return st;
}

eg_status eg_metrics_all_reduce(eg_metrics *m, eg_comm *comm)
{
    if (!m || !comm) {
        return eg__null_argument(op, m ? "comm" : "m");
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? agree_on_names(m, comm) : eg__why();
    st = st ? st : add_up(m, comm);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}
