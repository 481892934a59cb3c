/* linalg.c - the host side of small linear algebra: who works on a matrix, and where. */
#include "lib/cuda/runtime/cuda.h"
#include "lib/cuda/matrix/linalg.h"
#include "lib/ops/linalg.h"

/* A thread alone is the better team for these: 32 of them at once have room in shared memory. */
enum { SMALL = 8, WARP = 32 };

static eg_status run(const eg__call *c, eg__matrix_op what, int64_t (*room)(const eg__matrices *))
{
    const eg__matrix_opts *o = c->opts;
    eg__teams k = {.k = eg__matrices_of(c), .op = c->op->id, .fault = eg__fault_of(c)};
    const int64_t most = EG__TEAM_SHARED / (int64_t)sizeof(double);
    const int rows = k.k.m > k.k.n ? k.k.m : k.k.n;
    eg__block *scratch = NULL;
    eg_status st = EG_OK;
    if (!k.k.batch) {
        return EG_OK;
    }
    k.kind = o->strict ? EG__FAULT_SINGULAR : EG__FAULT_NOT_POSITIVE;
    k.name = o->strict;
    k.each = (room(&k.k) + 1) | 1; /* odd: rooms side by side start in different banks */
    k.alone = rows <= SMALL && k.each * WARP <= most;
    if (k.alone) {
        k.threads = (int)eg__min(128, most / k.each / WARP * WARP);
        k.blocks = (unsigned)eg__min((k.k.batch + k.threads - 1) / k.threads, 1 << 20);
    } else {
        k.threads = WARP * (int)eg__max(1, eg__min(rows / 8, 8));
        k.blocks = (unsigned)eg__min(k.k.batch, 1 << 20);
    }
    if (!k.alone && k.each > most) {
        k.blocks = (unsigned)eg__min(k.k.batch, 2 * eg__cuda_at(c->device)->processors);
        st = eg__cuda_scratch(c, (size_t)(k.blocks * k.each) * sizeof(double), &scratch);
        k.room = st ? NULL : (double *)(void *)scratch->data;
    }
    st = st ? st : eg__launched(c, eg__launch_matrices(what, &k, eg__stream_of(c)));
    eg__cuda_scratch_end(scratch);
    return st;
}

#define RUN(name, what)                          \
    eg_status eg__cuda_##name(const eg__call *c) \
    {                                            \
        return run(c, what, eg__##name##_room);  \
    }
RUN(lu, EG__DO_LU)
RUN(lu_det, EG__DO_LU_DET)
RUN(lu_solve, EG__DO_LU_SOLVE)
RUN(triangular_solve, EG__DO_TRIANGULAR_SOLVE)
RUN(cholesky, EG__DO_CHOLESKY)
RUN(qr, EG__DO_QR)
RUN(svd, EG__DO_SVD)
RUN(eigh, EG__DO_EIGH)
