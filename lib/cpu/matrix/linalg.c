/* linalg.c - small linear algebra: the algorithms all engines share, vectorised, a thread for some matrices of the
 * batch each. */
#include "lib/cpu/common/isa.h"
#include "lib/ops/linalg.h"
#include "lib/math/team.h"
#include "lib/math/linalg_ops.h"

eg__kernel ISA(eg__cpu_lu), ISA(eg__cpu_lu_det), ISA(eg__cpu_lu_solve), ISA(eg__cpu_triangular_solve),
    ISA(eg__cpu_cholesky), ISA(eg__cpu_qr), ISA(eg__cpu_svd), ISA(eg__cpu_eigh);

typedef int matrix_fn(const eg__team *t, const eg__matrices *k, int64_t at, double *room);

typedef struct job {
    eg__matrices k;
    matrix_fn *matrix;
    double *room;
    int64_t each, pieces; /* each: doubles of a piece */
    int64_t refused[64];  /* of each piece: its first refused matrix, and pivot */
    int pivot[64];
} job;

static void some(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    for (int64_t p = begin; p < end; p++) {
        const int64_t to = (p + 1) * j->k.batch / j->pieces;
        j->refused[p] = -1;
        for (int64_t i = p * j->k.batch / j->pieces; i < to && j->refused[p] < 0; i++) {
            const int bad = j->matrix(NULL, &j->k, i, j->room + p * j->each);
            j->refused[p] = bad >= 0 ? i : -1;
            j->pivot[p] = bad;
        }
    }
}

static eg_status all(const eg__call *c, int64_t (*room)(const eg__matrices *), matrix_fn *const *matrix)
{
    job j = {.k = eg__matrices_of(c)};
    const int64_t worth = j.k.batch * eg__matrix_cost(&j.k) / EG__GRAIN + 1;
    eg__scratch s;
    if (!j.k.batch) {
        return EG_OK;
    }
    j.matrix = matrix[j.k.m != j.k.n ? 0 : j.k.n == 3 ? 1 : j.k.n == 4 ? 2 : 0];
    j.each = eg__round_up(room(&j.k) + 1);
    j.pieces = eg__min(eg__min(worth, j.k.batch), eg__min(eg_threads(), 64));
    eg_status st = eg__scratch_get(c, (size_t)(j.each * j.pieces) * sizeof(double), &s);
    if (st) {
        return st;
    }
    j.room = s.data;
    eg__parallel(j.pieces, 1, some, &j);
    for (int64_t p = 0; p < j.pieces && !st; p++) {
        st = j.refused[p] >= 0 ? eg__refuse_matrix(c, &j.k, j.refused[p], j.pivot[p]) : EG_OK;
    }
    eg__scratch_put(c, &s);
    return st;
}

#define ALL(name, of_3, of_4)                                                 \
    eg_status ISA(eg__cpu_##name)(const eg__call *c)                          \
    {                                                                         \
        static matrix_fn *const matrix[] = {eg__##name##_matrix, of_3, of_4}; \
        return all(c, eg__##name##_room, matrix);                             \
    }
/* The same text for a size the compiler knows: loops over 3 or 4 elements are none. */
#define OF_SIZE(name, size)                                                                         \
    static int name##_of_##size(const eg__team *t, const eg__matrices *k, int64_t at, double *room) \
    {                                                                                               \
        eg__matrices same = *k;                                                                     \
        same.m = same.n = size;                                                                     \
        return eg__##name##_matrix(t, &same, at, room);                                             \
    }
#define ALL_AND_SMALL(name) OF_SIZE(name, 3) OF_SIZE(name, 4) ALL(name, name##_of_3, name##_of_4)
ALL_AND_SMALL(lu)
ALL_AND_SMALL(lu_det)
ALL_AND_SMALL(lu_solve)
ALL_AND_SMALL(svd)
ALL(triangular_solve, eg__triangular_solve_matrix, eg__triangular_solve_matrix)
ALL(cholesky, eg__cholesky_matrix, eg__cholesky_matrix)
ALL(qr, eg__qr_matrix, eg__qr_matrix)
ALL(eigh, eg__eigh_matrix, eg__eigh_matrix)
