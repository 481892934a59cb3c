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

/* What is added to the diagonal: in f64 now and then nothing, whatever the condition then is; else numbers are so small
 * beside it that f32 keeps its digits. */
static void condition(draw *d, spec *s)
{
    bool any = s->dtype == EG_F64 && chance(d, 50);
    d->x[0] = !any;
    d->loose = any ? 1000 : 1;
    s->low = any ? s->low : -0.15;
    s->high = any ? s->high : 0.15;
}

/* Rows go round, so that pivots lie anywhere. */
static void square(draw *d)
{
    int64_t n = rows(d);
    int k = matrix(d, shape_with(shape_with(batch(d), n), n + chance(d, 1)), draw_real(d));
    condition(d, &d->t[k]);
    d->i[0] = pick(d, 0, 3);
}
#define SQUARE(name, flags, loose, f)  \
    DIFFER(name, square, flags, loose, \
           f(eg_roll(eg_add(T0, eg_mul_scalar(eg_eye(eg_size(T0, -2), eg_size(T0, -1), 0, EG_F32), X0)), I0, -2)))
SQUARE(det, 0, 10, eg_det)
SQUARE(inverse, KINKS, 10, eg_inverse)
DIFFER(slogdet, square, 0, 10,
       eg_slogdet(eg_roll(eg_add(T0, eg_mul_scalar(eg_eye(eg_size(T0, -2), eg_size(T0, -1), 0, EG_F32), X0)), I0, -2),
                  Y0, Y1))

/* Whatever its condition is. */
static void any_square(draw *d)
{
    int64_t n = rows(d);
    matrix(d, shape_with(shape_with(batch(d), n), n + chance(d, 1)), EG_F64);
    d->loose = 100;
}
DIFFER(slogdet_sign, any_square, FEW, 100, eg_slogdet(T0, Y0, NULL))
DIFFER(slogdet_log, any_square, FEW, 100, eg_slogdet(T0, NULL, Y0))

static void draw_solve(draw *d)
{
    eg_shape b = batch(d), c = draw_partner(d, b);
    int64_t n = rows(d);
    eg_dtype t = draw_real(d);
    int k = matrix(d, shape_with(shape_with(b, n), n), t);
    if (chance(d, 20)) {
        operand(d, chance(d, 50) ? EG_SHAPE(n) : shape_with(b, n), t);
    } else {
        operand(d, shape_with(shape_with(c, n), rows(d)), t);
    }
    condition(d, &d->t[k]);
    d->i[0] = pick(d, 0, 3);
}
DIFFER(solve, draw_solve, KINKS, 10,
       eg_solve(eg_roll(eg_add(T0, eg_mul_scalar(eg_eye(eg_size(T0, -2), eg_size(T0, -1), 0, EG_F32), X0)), I0, -2),
                T1))

static void draw_triangular(draw *d)
{
    eg_shape b = batch(d);
    int64_t n = rows(d);
    eg_dtype t = draw_real(d);
    int k = matrix(d, shape_with(shape_with(b, n), n), t);
    d->t[k].low = 0.5; /* the diagonal too */
    operand(d, shape_with(shape_with(draw_partner(d, b), n), rows(d)), t);
    DRAW_OPTIONS(d, eg_solve_triangular_options);
    condition(d, &d->t[k]);
}
DIFFER(solve_triangular, draw_triangular, KINKS, 10,
       eg_solve_triangular_with(eg_add(T0, eg_mul_scalar(eg_eye(eg_size(T0, -2), eg_size(T0, -1), 0, EG_F32), X0)), T1,
                                O0))

/* x x^T + 1 is positive definite, and well conditioned. */
static void draw_cholesky(draw *d)
{
    int64_t n = rows(d);
    operand(d, shape_with(shape_with(batch(d), n), n), draw_real(d));
    DRAW_OPTIONS(d, eg_cholesky_options);
}
DIFFER(cholesky, draw_cholesky, 0, 30,
       eg_cholesky_with(eg_add(eg_matmul(T0, eg_transpose(T0, -1, -2)),
                               eg_eye(eg_size(T0, -1), eg_size(T0, -1), 0, EG_F32)),
                        O0))

/* ---- factors ---------------------------------------------------------------------------------- */

/* Factors of matrices that nearly have others too are anything in f32; what they make together is not. */
static void any_factors(draw *d)
{
    matrix(d, shape_with(shape_with(batch(d), rows(d)), rows(d)), EG_F64);
    d->loose = 100;
}
DIFFER(qr, any_factors, KINKS, 1000, eg_qr(T0, Y0, Y1))
DIFFER(svd, any_factors, KINKS, 1000, eg_svd(T0, Y0, Y1, Y2))
DIFFER(eigh, any_square, KINKS, 1000, eg_eigh(T0, Y0, Y1))

static void matrices(draw *d)
{
    operand(d, shape_with(shape_with(batch(d), rows(d)), rows(d)), draw_real(d));
}
static void square_matrices(draw *d)
{
    int64_t n = rows(d);
    operand(d, shape_with(shape_with(batch(d), n), n), draw_real(d));
}
DIFFER(qr_product, matrices, ZERO, 10, eg_qr(T0, Y1, Y2) ? NULL : eg_sub(eg_matmul(*Y1, *Y2), T0))
DIFFER(qr_columns, matrices, ZERO, 10,
       eg_qr(T0, Y1, NULL)
           ? NULL
           : eg_sub(eg_matmul(eg_transpose(*Y1, -1, -2), *Y1), eg_eye(eg_size(*Y1, -1), eg_size(*Y1, -1), 0, EG_F32)))
DIFFER(qr_triangle, matrices, ZERO | FEW, 1, eg_qr(T0, NULL, Y1) ? NULL : eg_tril(*Y1, -1))
DIFFER(svd_product, matrices, ZERO, 10,
       eg_svd(T0, Y1, Y2, Y3) ? NULL : eg_sub(eg_matmul(eg_mul(*Y1, eg_unsqueeze(*Y2, -2)), *Y3), T0))
DIFFER(svd_columns, matrices, ZERO, 10,
       eg_svd(T0, Y1, NULL, NULL)
           ? NULL
           : eg_sub(eg_matmul(eg_transpose(*Y1, -1, -2), *Y1), eg_eye(eg_size(*Y1, -1), eg_size(*Y1, -1), 0, EG_F32)))
DIFFER(svd_rows, matrices, ZERO, 10,
       eg_svd(T0, NULL, NULL, Y1)
           ? NULL
           : eg_sub(eg_matmul(*Y1, eg_transpose(*Y1, -1, -2)), eg_eye(eg_size(*Y1, -2), eg_size(*Y1, -2), 0, EG_F32)))
DIFFER(eigh_product, square_matrices, ZERO, 10,
       eg_eigh(T0, Y1, Y2) ? NULL
                           : eg_sub(eg_matmul(eg_mul(*Y2, eg_unsqueeze(*Y1, -2)), eg_transpose(*Y2, -1, -2)),
                                    eg_add(eg_tril(T0, 0), eg_transpose(eg_tril(T0, -1), -1, -2))))
DIFFER(eigh_columns, square_matrices, ZERO, 10,
       eg_eigh(T0, NULL, Y1)
           ? NULL
           : eg_sub(eg_matmul(eg_transpose(*Y1, -1, -2), *Y1), eg_eye(eg_size(*Y1, -1), eg_size(*Y1, -1), 0, EG_F32)))
