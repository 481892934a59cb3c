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
#define SEVERAL(name, call)                                                                        \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user)                                 \
    {                                                                                              \
        eg_tensor *y[3];                                                                           \
        (void)n;                                                                                   \
        return call ? NULL : y[*(int *)user];                                                      \
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
    return eg_eigh(symmetric(x[0]), &w, &v)
               ? NULL
               : eg_matmul(eg_mul(v, eg_unsqueeze(w, -2)), eg_transpose(v, -2, -1));
}

#define X(...)                                                                                     \
    {                                                                                              \
        DIMS(__VA_ARGS__), -1, 1, 0                                                                \
    }
#define ROW(ops, name, f, n, flags, ...)                                                           \
    {                                                                                              \
        ops, name, f, {__VA_ARGS__}, n, EGT_NO_HALF | (flags), 0, 2e-5, NULL                       \
    }
#define PART(ops, name, f, part, flags, ...)                                                       \
    {                                                                                              \
        ops, name, f, {__VA_ARGS__}, 1, EGT_NO_HALF | (flags), 0, 2e-5, &numbers[part]             \
    }
enum { PLAIN = EGT_NO_GRAD };

EGT_CASES(
    linalg, ROW("lu lu_det", "3 x 3", det, 1, 0, X(2, 3, 3, 3)), ROW("lu lu_det", "one", det, 1, 0, X(1, 1)),
    ROW("lu lu_det", "nothing", det, 1, 0, X(2, 0, 0)), ROW("lu lu_det", "no matrices", det, 1, 0, X(0, 3, 3)),
    ROW("lu lu_det", "4 x 4", det, 1, 0, X(4, 4)), ROW("lu lu_det", "many", det, 1, PLAIN, X(700, 5, 5)),
    ROW("lu lu_det", "9 x 9", det, 1, PLAIN, X(3, 9, 9)), PART("lu lu_det", "sign", slogdet, 0, PLAIN, X(3, 5, 5)),
    PART("lu lu_det", "logarithm", slogdet, 1, 0, X(2, 4, 4)),
    PART("lu lu_det", "large", slogdet, 1, PLAIN, X(2, 70, 70)),

    ROW("lu lu_solve", "3 x 3", inverse, 1, 0, X(2, 3, 3)), ROW("lu lu_solve", "nothing", inverse, 1, 0, X(0, 0)),
    ROW("lu lu_solve", "many", inverse, 1, PLAIN, X(500, 4, 4)),
    ROW("lu lu_solve", "some", inverse, 1, PLAIN, X(3, 40, 40)),
    ROW("lu lu_solve", "columns", solve, 2, 0, X(2, 3, 3), X(2, 3, 2)),
    ROW("lu lu_solve", "a vector", solve, 2, 0, X(3, 3), X(3)),
    ROW("lu lu_solve", "vectors", solve, 2, 0, X(2, 3, 3), X(2, 3)),
    ROW("lu lu_solve", "one a, many b", solve, 2, 0, X(3, 3), X(2, 2, 3, 1)),
    ROW("lu lu_solve", "many a, one b", solve, 2, 0, X(2, 3, 3), X(3, 2)),
    ROW("lu lu_solve", "no columns", solve, 2, 0, X(3, 3), X(3, 0)),
    ROW("lu lu_solve", "large", solve, 2, PLAIN, X(65, 65), X(65, 40)),
    ROW("lu lu_solve", "large, one column", solve, 2, PLAIN, X(2, 80, 80), X(2, 80, 1)),

    ROW("triangular_solve", "lower", lower, 2, 0, X(2, 3, 3), X(2, 3, 2)),
    ROW("triangular_solve", "transposed", lower_transposed, 2, 0, X(3, 3), X(2, 3, 2)),
    ROW("triangular_solve", "upper", upper, 2, 0, X(2, 4, 4), X(4, 1)),
    ROW("triangular_solve", "unit", upper_unit, 2, 0, X(4, 4), X(4, 3)),
    ROW("triangular_solve", "nothing", lower, 2, 0, X(2, 0, 0), X(2, 0, 3)),
    ROW("triangular_solve", "large", upper, 2, PLAIN, X(70, 70), X(70, 33)),

    ROW("cholesky", "3 x 3", cholesky, 1, 0, X(2, 3, 3)), ROW("cholesky", "upper", cholesky_upper, 1, 0, X(4, 4)),
    ROW("cholesky", "nothing", cholesky, 1, 0, X(2, 0, 0)), ROW("cholesky", "large", cholesky, 1, PLAIN, X(2, 75, 75)),

    PART("qr", "q", qr, 0, 0, X(2, 3, 3)), PART("qr", "r", qr, 1, 0, X(4, 3)), PART("qr", "tall q", qr, 0, 0, X(5, 3)),
    PART("qr", "wide q", qr, 0, 0, X(2, 2, 4)), PART("qr", "wide r", qr, 1, 0, X(3, 5)),
    PART("qr", "one column", qr, 0, 0, X(4, 1)), PART("qr", "nothing", qr, 0, 0, X(3, 0)),
    PART("qr", "no rows", qr, 1, 0, X(2, 0, 3)), PART("qr", "large q", qr, 0, PLAIN, X(2, 90, 41)),
    PART("qr", "large r", qr, 1, PLAIN, X(40, 70)),

    PART("svd", "u", svd, 0, 0, X(2, 3, 3)), PART("svd", "s", svd, 1, 0, X(3, 4)),
    PART("svd", "vh", svd, 2, 0, X(3, 3)),
    PART("svd", "tall u", svd, 0, 0, X(2, 4, 2)), PART("svd", "tall vh", svd, 2, 0, X(4, 2)),
    PART("svd", "wide u", svd, 0, 0, X(2, 4)), PART("svd", "wide vh", svd, 2, 0, X(2, 3, 4)),
    PART("svd", "one", svd, 1, 0, X(1, 1)), PART("svd", "one row", svd, 2, 0, X(1, 3)),
    PART("svd", "nothing", svd, 1, 0, X(2, 0, 3)), PART("svd", "large s", svd, 1, PLAIN, X(70, 33)),
    PART("svd", "large u", svd, 0, PLAIN, X(2, 33, 40)), PART("svd", "many", svd, 2, PLAIN, X(300, 3, 3)),
    ROW("svd", "u s vh", rebuilt, 1, 0, X(2, 3, 2)), ROW("svd", "rotations", procrustes, 1, 0, X(2, 3, 3)),

    PART("eigh", "values", eigh, 0, 0, X(2, 3, 3)), PART("eigh", "vectors", eigh, 1, 0, X(2, 3, 3)),
    PART("eigh", "one", eigh, 0, 0, X(1, 1)), PART("eigh", "nothing", eigh, 1, 0, X(2, 0, 0)),
    PART("eigh", "two", eigh, 1, 0, X(2, 2)), PART("eigh", "large", eigh, 0, PLAIN, X(2, 66, 66)),
    PART("eigh", "large vectors", eigh, 1, PLAIN, X(35, 35)),
    ROW("eigh", "v w v^T", rebuilt_symmetric, 1, 0, X(2, 3, 3)))
