/* linalg.c - determinants, systems, factors. What is not unique or nearly singular is kept away from. */
#include "tests/differ/differ.h"

OPTIONS(eg_solve_triangular_options, BOOL(eg_solve_triangular_options, upper),
        BOOL(eg_solve_triangular_options, transpose), BOOL(eg_solve_triangular_options, unit))
OPTIONS(eg_cholesky_options, BOOL(eg_cholesky_options, upper))

static eg_shape batch(draw *d)
{
    eg_shape s = draw_shape(d, 0, 2);
    for (int a = 0; a < s.ndim; a++) {
        s.dim[a] = s.dim[a] > 3 ? 3 : s.dim[a];
    }
    return s;
}

static int64_t rows(draw *d)
{
    return chance(d, 3) ? 0 : chance(d, 80) ? pick(d, 1, 4) : pick(d, 5, 12);
}

/* Neither equal rows nor ties, which make matrices singular. */
static int matrix(draw *d, eg_shape s, eg_dtype t)
{
    int k = operand(d, s, t);
    distinct(d, k);
    return k;
}

/* Whatever chance gives is worse conditioned the larger it is. */
static void square(draw *d)
{
    int64_t n = rows(d);
    matrix(d, shape_with(shape_with(batch(d), n), n + chance(d, 1)), draw_real(d));
    d->loose = 30;
}
DIFFER(det, square, 0, 100, eg_det(T0))
DIFFER(slogdet, square, 0, 100, eg_slogdet(T0, Y0, Y1))
DIFFER(slogdet_sign, square, FEW, 100, eg_slogdet(T0, Y0, NULL))
DIFFER(slogdet_log, square, FEW, 100, eg_slogdet(T0, NULL, Y0))
DIFFER(inverse, square, KINKS, 1000, eg_inverse(T0))

static void draw_solve(draw *d)
{
    eg_shape b = batch(d), c = draw_partner(d, b);
    int64_t n = rows(d);
    eg_dtype t = draw_real(d);
    matrix(d, shape_with(shape_with(b, n), n), t);
    if (chance(d, 20)) {
        operand(d, chance(d, 50) ? EG_SHAPE(n) : shape_with(b, n), t);
    } else {
        operand(d, shape_with(shape_with(c, n), rows(d)), t);
    }
    d->loose = 30;
}
DIFFER(solve, draw_solve, KINKS, 1000, eg_solve(T0, T1))

static void draw_triangular(draw *d)
{
    eg_shape b = batch(d);
    int64_t n = rows(d);
    eg_dtype t = draw_real(d);
    int k = matrix(d, shape_with(shape_with(b, n), n), t);
    d->t[k].low = 0.5; /* the diagonal too */
    operand(d, shape_with(shape_with(draw_partner(d, b), n), rows(d)), t);
    DRAW_OPTIONS(d, eg_solve_triangular_options);
    d->loose = 100;
}
DIFFER(solve_triangular, draw_triangular, KINKS, 1000, eg_solve_triangular_with(T0, T1, O0))

/* x x^T + 1 is positive definite, and well conditioned. */
static void draw_cholesky(draw *d)
{
    int64_t n = rows(d);
    operand(d, shape_with(shape_with(batch(d), n), n), draw_real(d));
    DRAW_OPTIONS(d, eg_cholesky_options);
    d->loose = 30;
}
DIFFER(cholesky, draw_cholesky, 0, 100,
       eg_cholesky_with(eg_add(eg_matmul(T0, eg_transpose(T0, -1, -2)), eg_eye(eg_size(T0, -1), eg_size(T0, -1), 0, EG_F32)),
                        O0))

static void matrices(draw *d)
{
    matrix(d, shape_with(shape_with(batch(d), rows(d)), rows(d)), draw_real(d));
    d->loose = 100;
}
DIFFER(qr, matrices, KINKS, 1000, eg_qr(T0, Y0, Y1))
DIFFER(svd, matrices, KINKS, 1000, eg_svd(T0, Y0, Y1, Y2))
DIFFER(eigh, square, KINKS, 1000, eg_eigh(T0, Y0, Y1))
