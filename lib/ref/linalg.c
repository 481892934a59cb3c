/* linalg.c - small linear algebra, one matrix after the other, by the algorithms all engines share: what they find is
 * held against PyTorch's numbers (tests/golden/solve.c) and against what defines it (tests/test_linalg.c). */
#include "lib/ops/linalg.h"
#include "lib/ref/kernels.h"
#include "lib/math/team.h"
#include "lib/math/linalg_ops.h"

static eg_status each(const eg__call *c, int64_t (*room)(const eg__matrices *),
                      int (*matrix)(const eg__team *, const eg__matrices *, int64_t, double *))
{
    const eg__matrices k = eg__matrices_of(c);
    eg__scratch s;
    eg_status st = eg__scratch_get(c, (size_t)(room(&k) + 1) * sizeof(double), &s);
    if (st) {
        return st;
    }
    for (int64_t i = 0; i < k.batch && !st; i++) {
        const int bad = matrix(NULL, &k, i, s.data);
        st = bad >= 0 ? eg__refuse_matrix(c, &k, i, bad) : EG_OK;
    }
    eg__scratch_put(c, &s);
    return st;
}

#define EACH(name)                                              \
    eg_status eg__ref_##name(const eg__call *c)                 \
    {                                                           \
        return each(c, eg__##name##_room, eg__##name##_matrix); \
    }
EACH(lu)
EACH(lu_det)
EACH(lu_solve)
EACH(triangular_solve)
EACH(cholesky)
EACH(qr)
EACH(svd)
EACH(eigh)
