/* linalg.c - small linear algebra. Matrices whose gradient is tried are kept away from singular ones, by n + 1 on
 * their diagonal, and eigenvalues from each other by different multiples of it. */
#include "tests/cases.h"

static eg_tensor *added_diagonal(eg_tensor *x, double step)
{
    const int64_t m = eg_size(x, -2), n = eg_size(x, -1);
    eg_tensor *steps = eg_mul_scalar(eg_arange(1, (double)n + 1, 1, eg_dtype_of(x)), step);
    return eg_add(x, eg_mul(eg_eye(m, n, 0, eg_dtype_of(x)), eg_add_scalar(steps, (double)m)));
}

static eg_tensor *regular(eg_tensor *x)
{
    return x ? added_diagonal(x, 0) : NULL;
}

static eg_tensor *spread(eg_tensor *x)
{
    return x ? added_diagonal(x, 3) : NULL;
}

static eg_tensor *symmetric(eg_tensor *x)
{
    return eg_add(x, eg_transpose(x, -2, -1));
}

CASE_FUNCTION(det, eg_det(x[0]))
CASE_FUNCTION(inverse, eg_inverse(regular(x[0])))
CASE_FUNCTION(solve, eg_solve(regular(x[0]), x[1]))
CASE_FUNCTION(lower, eg_solve_triangular(regular(x[0]), x[1]))
CASE_FUNCTION(lower_transposed, eg_solve_triangular(regular(x[0]), x[1], .transpose = true))
CASE_FUNCTION(upper, eg_solve_triangular(regular(x[0]), x[1], .upper = true))
CASE_FUNCTION(upper_unit, eg_solve_triangular(x[0], x[1], .upper = true, .transpose = true, .unit = true))
CASE_FUNCTION(cholesky, eg_cholesky(symmetric(regular(x[0]))))
CASE_FUNCTION(cholesky_upper, eg_cholesky(symmetric(regular(x[0])), .upper = true))

/* Result number `user` of several. */
static int numbers[3] = {0, 1, 2};
#define SEVERAL(name, call)                                        \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user) \
    {                                                              \
        eg_tensor *y[3];                                           \
        (void)n;                                                   \
        return call ? NULL : y[*(int *)user];                      \
    }
SEVERAL(slogdet, eg_slogdet(x[0], &y[0], &y[1]))
SEVERAL(qr, eg_qr(spread(x[0]), &y[0], &y[1]))
SEVERAL(svd, eg_svd(spread(x[0]), &y[0], &y[1], &y[2]))
SEVERAL(eigh, eg_eigh(symmetric(spread(x[0])), &y[0], &y[1]))

/* Of the factors what has no sign and no order. */
static eg_tensor *rebuilt(eg_tensor *const *x, int n, void *user)
{
    eg_tensor *u, *s, *vh;
    (void)n, (void)user;
    return eg_svd(x[0], &u, &s, &vh) ? NULL : eg_matmul(eg_mul(u, eg_unsqueeze(s, -2)), vh);
}

/* The nearest rotation, by a determinant of 1 or -1. */
static eg_tensor *procrustes(eg_tensor *const *x, int n, void *user)
{
    eg_tensor *u, *vh;
    (void)n, (void)user;
    if (eg_svd(x[0], &u, NULL, &vh)) {
        return NULL;
    }
    eg_tensor *sign = eg_unsqueeze(eg_det(eg_matmul(u, vh)), -1);
    eg_tensor *ones = eg_slice(eg_ones_like(eg_select(u, -1, 0)), -1, 1, EG_END, 1);
    eg_tensor *scale = eg_concat((eg_tensor *[]){ones, sign}, 2, -1);
    return eg_matmul(eg_mul(u, eg_unsqueeze(scale, -2)), vh);
}

static eg_tensor *rebuilt_symmetric(eg_tensor *const *x, int n, void *user)
{
    eg_tensor *w, *v;
    (void)n, (void)user;
    return eg_eigh(symmetric(x[0]), &w, &v) ? NULL : eg_matmul(eg_mul(v, eg_unsqueeze(w, -2)), eg_transpose(v, -2, -1));
}

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -1, 1, 0 \
    }
/* With a gradient to check, and without. */
#define ROW(ops, name, f, ...)                                             \
    {                                                                      \
        ops, name, f, __VA_ARGS__, .flags = EGT_NO_HALF, .tolerance = 2e-5 \
    }
#define PLAIN(ops, name, f, ...)                                                         \
    {                                                                                    \
        ops, name, f, __VA_ARGS__, .flags = EGT_NO_HALF | EGT_NO_GRAD, .tolerance = 2e-5 \
    }

EGT_CASES(linalg, ROW("lu lu_det", "3 x 3", det, {IN(2, 3, 3, 3)}), ROW("lu lu_det", "one", det, {IN(1, 1)}),
          ROW("lu lu_det", "nothing", det, {IN(2, 0, 0)}), ROW("lu lu_det", "no matrices", det, {IN(0, 3, 3)}),
          ROW("lu lu_det", "4 x 4", det, {IN(4, 4)}), PLAIN("lu lu_det", "many", det, {IN(700, 5, 5)}),
          PLAIN("lu lu_det", "9 x 9", det, {IN(3, 9, 9)}),
          PLAIN("lu lu_det", "sign", slogdet, {IN(3, 5, 5)}, .user = &numbers[0]),
          ROW("lu lu_det", "logarithm", slogdet, {IN(2, 4, 4)}, .user = &numbers[1]),
          PLAIN("lu lu_det", "large", slogdet, {IN(2, 70, 70)}, .user = &numbers[1]),

          ROW("lu lu_solve", "3 x 3", inverse, {IN(2, 3, 3)}), ROW("lu lu_solve", "nothing", inverse, {IN(0, 0)}),
          PLAIN("lu lu_solve", "many", inverse, {IN(500, 4, 4)}),
          PLAIN("lu lu_solve", "some", inverse, {IN(3, 40, 40)}),
          ROW("lu lu_solve", "columns", solve, {IN(2, 3, 3), IN(2, 3, 2)}),
          ROW("lu lu_solve", "a vector", solve, {IN(3, 3), IN(3)}),
          ROW("lu lu_solve", "vectors", solve, {IN(2, 3, 3), IN(2, 3)}),
          ROW("lu lu_solve", "one a, many b", solve, {IN(3, 3), IN(2, 2, 3, 1)}),
          ROW("lu lu_solve", "many a, one b", solve, {IN(2, 3, 3), IN(3, 2)}),
          ROW("lu lu_solve", "no columns", solve, {IN(3, 3), IN(3, 0)}),
          PLAIN("lu lu_solve", "large", solve, {IN(65, 65), IN(65, 40)}),
          PLAIN("lu lu_solve", "large, one column", solve, {IN(2, 80, 80), IN(2, 80, 1)}),

          ROW("triangular_solve", "lower", lower, {IN(2, 3, 3), IN(2, 3, 2)}),
          ROW("triangular_solve", "transposed", lower_transposed, {IN(3, 3), IN(2, 3, 2)}),
          ROW("triangular_solve", "upper", upper, {IN(2, 4, 4), IN(4, 1)}),
          ROW("triangular_solve", "unit", upper_unit, {IN(4, 4), IN(4, 3)}),
          ROW("triangular_solve", "nothing", lower, {IN(2, 0, 0), IN(2, 0, 3)}),
          PLAIN("triangular_solve", "large", upper, {IN(70, 70), IN(70, 33)}),

          ROW("cholesky", "3 x 3", cholesky, {IN(2, 3, 3)}), ROW("cholesky", "upper", cholesky_upper, {IN(4, 4)}),
          ROW("cholesky", "nothing", cholesky, {IN(2, 0, 0)}), PLAIN("cholesky", "large", cholesky, {IN(2, 75, 75)}),

          ROW("qr", "q", qr, {IN(2, 3, 3)}, .user = &numbers[0]), ROW("qr", "r", qr, {IN(4, 3)}, .user = &numbers[1]),
          ROW("qr", "tall q", qr, {IN(5, 3)}, .user = &numbers[0]),
          ROW("qr", "wide q", qr, {IN(2, 2, 4)}, .user = &numbers[0]),
          ROW("qr", "wide r", qr, {IN(3, 5)}, .user = &numbers[1]),
          ROW("qr", "one column", qr, {IN(4, 1)}, .user = &numbers[0]),
          ROW("qr", "nothing", qr, {IN(3, 0)}, .user = &numbers[0]),
          ROW("qr", "no rows", qr, {IN(2, 0, 3)}, .user = &numbers[1]),
          PLAIN("qr", "large q", qr, {IN(2, 90, 41)}, .user = &numbers[0]),
          PLAIN("qr", "large r", qr, {IN(40, 70)}, .user = &numbers[1]),

          ROW("svd", "u", svd, {IN(2, 3, 3)}, .user = &numbers[0]),
          ROW("svd", "s", svd, {IN(3, 4)}, .user = &numbers[1]), ROW("svd", "vh", svd, {IN(3, 3)}, .user = &numbers[2]),
          ROW("svd", "tall u", svd, {IN(2, 4, 2)}, .user = &numbers[0]),
          ROW("svd", "tall vh", svd, {IN(4, 2)}, .user = &numbers[2]),
          ROW("svd", "wide u", svd, {IN(2, 4)}, .user = &numbers[0]),
          ROW("svd", "wide vh", svd, {IN(2, 3, 4)}, .user = &numbers[2]),
          ROW("svd", "one", svd, {IN(1, 1)}, .user = &numbers[1]),
          ROW("svd", "one row", svd, {IN(1, 3)}, .user = &numbers[2]),
          ROW("svd", "nothing", svd, {IN(2, 0, 3)}, .user = &numbers[1]),
          PLAIN("svd", "large s", svd, {IN(70, 33)}, .user = &numbers[1]),
          PLAIN("svd", "large u", svd, {IN(2, 33, 40)}, .user = &numbers[0]),
          PLAIN("svd", "many", svd, {IN(300, 3, 3)}, .user = &numbers[2]), ROW("svd", "u s vh", rebuilt, {IN(2, 3, 2)}),
          ROW("svd", "rotations", procrustes, {IN(2, 3, 3)}),

          ROW("eigh", "values", eigh, {IN(2, 3, 3)}, .user = &numbers[0]),
          ROW("eigh", "vectors", eigh, {IN(2, 3, 3)}, .user = &numbers[1]),
          ROW("eigh", "one", eigh, {IN(1, 1)}, .user = &numbers[0]),
          ROW("eigh", "nothing", eigh, {IN(2, 0, 0)}, .user = &numbers[1]),
          ROW("eigh", "two", eigh, {IN(2, 2)}, .user = &numbers[1]),
          PLAIN("eigh", "large", eigh, {IN(2, 66, 66)}, .user = &numbers[0]),
          PLAIN("eigh", "large vectors", eigh, {IN(35, 35)}, .user = &numbers[1]),
          ROW("eigh", "v w v^T", rebuilt_symmetric, {IN(2, 3, 3)}))
