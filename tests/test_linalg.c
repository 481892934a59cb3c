/* test_linalg.c - small linear algebra: what defines each result, special matrices, refusals. */
#include "tests/egt.h"

static eg_tensor *turned(eg_tensor *x)
{
    return eg_transpose(x, -2, -1);
}

static eg_tensor *eye(int64_t n)
{
    return eg_eye(n, n, 0, EG_F64);
}

static eg_tensor *draw(int64_t m, int64_t n)
{
    return egt_random(EG_SHAPE(m, n), EG_F64, -1, 1);
}

/* Two matrices agree to so many roundings of the largest element, or of 1. */
#define SAME(a, b, tolerance) EGT_NEAR(farthest(a, b), 0, tolerance)
static double farthest(eg_tensor *a, eg_tensor *b)
{
    return eg_numel(a) ? eg_item(eg_max(eg_abs(eg_sub(a, b)))) : 0;
}

static void is_orthonormal(eg_tensor *columns)
{
    SAME(eg_matmul(turned(columns), columns), eye(eg_size(columns, -1)), 1e-12);
}

/* ---- by LU ----------------------------------------------------------------------------------- */

EGT(solutions_solve)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 33, 100, 200};
    for (int i = 0; i < 10; i++) {
        EG_SCOPE {
            int64_t n = sizes[i];
            eg_tensor *a = eg_add(draw(n, n), eg_mul_scalar(eye(n), 2)), *b = draw(n, 3);
            SAME(eg_matmul(a, eg_solve(a, b)), b, 1e-10);
            SAME(eg_matmul(a, eg_inverse(a)), eye(n), 1e-10);
            eg_tensor *sign, *log;
            EGT_OK(eg_slogdet(a, &sign, &log));
            EGT_NEAR(eg_item(eg_det(a)), eg_item(sign) * exp(eg_item(log)), 1e-9 * fabs(eg_item(eg_det(a))));
        }
    }
}

/* Rows exchanged at every step, and determinants known beforehand. */
EGT(determinants)
{
    eg_tensor *swap = eg_from_values(EG_SHAPE(3, 3), EG_F64, (double[]){0, 0, 2, 3, 0, 0, 0, 5, 0});
    EGT_EQ(eg_item(eg_det(swap)), 30);
    EGT_EQ(eg_item(eg_det(eg_flip(eye(2), EG_AXES(0)))), -1);
    EGT_EQ(eg_item(eg_det(eg_zeros(EG_SHAPE(0, 0), EG_F64))), 1);
    EGT_EQ(eg_numel(eg_det(eg_zeros(EG_SHAPE(0, 3, 3), EG_F64))), 0);
    eg_tensor *sign, *log;
    EGT_OK(eg_slogdet(eg_zeros(EG_SHAPE(3, 3), EG_F32), &sign, &log));
    EGT_EQ(eg_item(sign), 0);
    EGT_EQ(eg_item(log), -(double)INFINITY);
    EGT_EQ(eg_item(eg_det(eg_ones(EG_SHAPE(4, 4), EG_F32))), 0);
    eg_tensor *large = eg_mul_scalar(eye(200), 1e3); /* past what a number can be */
    EGT_OK(eg_slogdet(eg_cast(large, EG_F32), &sign, &log));
    EGT_NEAR(eg_item(log), 200 * log1p(999), 1e-6);
    eg_tensor *nan = eg_full(EG_SHAPE(3, 3), (double)NAN, EG_F64);
    EGT_CHECK(isnan(eg_item(eg_det(nan))));
    EGT_OK(eg_slogdet(nan, &sign, &log));
    EGT_CHECK(isnan(eg_item(log)) && isnan(eg_item(sign)));
}

static eg_tensor *gradient(eg_tensor *(*f)(eg_tensor *), eg_tensor *x)
{
    eg_tensor *g = NULL;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = f(x);
    EGT_CHECK(y != NULL);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &g));
    return g;
}

/* The adjugate is there for any rank: cofactors worked out by hand. */
EGT(the_gradient_of_a_singular_determinant)
{
    static const double singular[][9] = {
        {1, 2, 3, 2, 4, 6, 1, 0, 1}, {0, 1, 0, 0, 0, 0, 0, 0, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {0}};
    for (int k = 0; k < 4; k++) {
        const double *a = singular[k];
        eg_tensor *g = gradient(eg_det, eg_from_values(EG_SHAPE(3, 3), EG_F64, a));
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                int p = (i + 1) % 3, q = (i + 2) % 3, r = (j + 1) % 3, s = (j + 2) % 3;
                EGT_NEAR(eg_get(g, i * 3 + j), a[p * 3 + r] * a[q * 3 + s] - a[p * 3 + s] * a[q * 3 + r], 1e-13);
            }
        }
    }
    EGT_EQ(eg_item(gradient(eg_det, eg_zeros(EG_SHAPE(1, 1), EG_F64))), 1);
}

/* A solution is as exact as its matrix allows, whatever that is scaled by. */
EGT(bad_condition)
{
    eg_tensor *q, *p, *scale = eg_from_values(EG_SHAPE(4), EG_F64, (double[]){1, 1e-3, 1e-7, 1e-10});
    EGT_OK(eg_qr(draw(4, 4), &q, NULL));
    EGT_OK(eg_qr(draw(4, 4), &p, NULL));
    eg_tensor *a = eg_matmul(eg_mul(q, scale), p), *b = draw(4, 1), *x = eg_solve(a, b);
    SAME(eg_matmul(a, x), b, 1e-15 * eg_item(eg_max(eg_abs(x))));
    EGT_NEAR(eg_item(eg_det(a)) / 1e-20, eg_item(eg_det(eg_matmul(q, p))), 1e-5);
    eg_tensor *u, *s, *vh;
    EGT_OK(eg_svd(a, &u, &s, &vh));
    for (int i = 0; i < 4; i++) {
        EGT_NEAR(eg_get(s, i), eg_get(scale, i), 1e-15);
    }
    is_orthonormal(u);
    is_orthonormal(turned(vh));
    /* columns of very different sizes: each value to all its digits */
    EGT_OK(eg_svd(eg_mul(q, scale), NULL, &s, NULL));
    for (int i = 0; i < 4; i++) {
        EGT_NEAR(eg_get(s, i) / eg_get(scale, i), 1, 1e-14);
    }
}

/* ---- factors --------------------------------------------------------------------------------- */

static const int64_t shapes[][2] = {{1, 1}, {3, 3},   {4, 4},   {5, 2},     {2, 5}, {1, 6}, {6, 1}, {8, 8},
                                    {9, 9}, {40, 17}, {17, 40}, {200, 200}, {0, 3}, {3, 0}, {0, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

EGT(triangular_factors)
{
    for (int i = 0; i < SHAPES; i++) {
        EG_SCOPE {
            eg_tensor *a = draw(shapes[i][0], shapes[i][1]), *q, *r;
            EGT_OK(eg_qr(a, &q, &r));
            SAME(eg_matmul(q, r), a, 1e-12);
            is_orthonormal(q);
            SAME(eg_triu(r, 0), r, 0);
            EGT_CHECK(!eg_numel(r) || eg_item(eg_min(eg_diagonal(r, 0, 0, 1))) >= 0);
            eg_tensor *full = eg_add(eg_matmul(a, turned(a)), eye(eg_size(a, 0))), *l = eg_cholesky(full);
            SAME(eg_matmul(l, turned(l)), full, 1e-11);
            SAME(eg_tril(l, 0), l, 0);
            SAME(eg_cholesky(full, .upper = true), turned(l), 1e-12);
        }
    }
}

static void check_svd(eg_tensor *a)
{
    eg_tensor *u, *s, *vh;
    EGT_OK(eg_svd(a, &u, &s, &vh));
    SAME(eg_matmul(eg_mul(u, eg_unsqueeze(s, 0)), vh), a, 1e-12 * (1 + (eg_numel(s) ? eg_get(s, 0) : 0)));
    is_orthonormal(u);
    is_orthonormal(turned(vh));
    for (int64_t i = 0; i < eg_numel(s); i++) {
        EGT_CHECK(eg_get(s, i) >= 0 && (!i || eg_get(s, i) <= eg_get(s, i - 1)));
    }
}

EGT(singular_values)
{
    for (int i = 0; i < SHAPES; i++) {
        EG_SCOPE {
            check_svd(draw(shapes[i][0], shapes[i][1]));
        }
    }
    eg_tensor *q;
    EGT_OK(eg_qr(draw(6, 6), &q, NULL));
    check_svd(q); /* all equal */
    check_svd(eye(5));
    check_svd(eg_zeros(EG_SHAPE(4, 3), EG_F64));
    check_svd(eg_ones(EG_SHAPE(5, 5), EG_F64));     /* rank 1 */
    check_svd(eg_matmul(draw(30, 4), draw(4, 20))); /* rank 4 */
    check_svd(eg_matmul(draw(9, 2), eg_matmul(eg_ones(EG_SHAPE(2, 2), EG_F64), draw(2, 12))));
    check_svd(eg_tril(eg_ones(EG_SHAPE(50, 50), EG_F64), 0));
    for (double least = 1e-100; least > 0; least *= 1e-11) { /* down to where its square is nothing */
        check_svd(eg_from_values(EG_SHAPE(2, 2), EG_F64, (double[]){1, 1, 0, least}));
    }
    check_svd(eg_mul_scalar(draw(4, 4), 1e200)); /* squares of which are too large, or too small */
    eg_tensor *s;
    EGT_OK(eg_svd(eg_mul_scalar(eye(3), 1e-200), NULL, &s, NULL));
    EGT_NEAR(eg_get(s, 2) / 1e-200, 1, 1e-15);
}

static void check_eigh(eg_tensor *a)
{
    eg_tensor *w, *v;
    EGT_OK(eg_eigh(a, &w, &v));
    double size = eg_numel(w) ? eg_item(eg_max(eg_abs(w))) : 0;
    SAME(eg_matmul(a, v), eg_mul(v, eg_unsqueeze(w, 0)), 1e-12 * (1 + size));
    is_orthonormal(v);
    for (int64_t i = 1; i < eg_numel(w); i++) {
        EGT_CHECK(eg_get(w, i) >= eg_get(w, i - 1));
    }
}

EGT(eigenvalues)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 8, 9, 50, 200};
    for (int i = 0; i < 9; i++) {
        EG_SCOPE {
            eg_tensor *x = draw(sizes[i], sizes[i]);
            check_eigh(eg_add(x, turned(x)));
        }
    }
    check_eigh(eye(6));
    check_eigh(eg_zeros(EG_SHAPE(5, 5), EG_F64));
    check_eigh(eg_ones(EG_SHAPE(7, 7), EG_F64));
    check_eigh(eg_diag(eg_from_values(EG_SHAPE(4), EG_F64, (double[]){3, -1, 3, 1e-12}), 0));
    check_eigh(eg_mul_scalar(eg_ones(EG_SHAPE(3, 3), EG_F64), 1e200));
    eg_tensor *w; /* the upper triangle is not looked at */
    EGT_OK(eg_eigh(eg_from_values(EG_SHAPE(2, 2), EG_F64, (double[]){2, 99, 1, 2}), &w, NULL));
    EGT_NEAR(eg_get(w, 0), 1, 1e-15);
    EGT_NEAR(eg_get(w, 1), 3, 1e-15);
}

/* What is wanted alone, a matrix that is not finite beside one that is, and its neighbour untouched. */
EGT(not_finite)
{
    static const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int k = 0; k < 3; k++) {
        eg_tensor *a = eg_expand(eye(3), EG_SHAPE(2, 3, 3)), *u, *s, *vh;
        a = eg_contiguous(a);
        eg_set(a, 3, odd[k]);
        EGT_OK(eg_svd(a, &u, &s, &vh));
        EGT_CHECK(isnan(eg_get(s, 0)) && isnan(eg_get(u, 8)) && isnan(eg_get(vh, 4)));
        EGT_EQ(eg_get(s, 5), 1);
        EGT_OK(eg_eigh(a, &s, &u));
        EGT_CHECK(isnan(eg_get(s, 2)) && isnan(eg_get(u, 0)));
        EGT_EQ(eg_get(s, 3), 1);
        EGT_OK(eg_qr(a, &u, &s));
        EGT_CHECK(isnan(eg_item(eg_sum(eg_select(u, 0, 0)))) && isnan(eg_item(eg_sum(eg_select(s, 0, 0)))));
        EGT_REFUSED(eg_inverse(a), EG_EINVAL, "matrix 0 of 2 is singular: pivot");
        EGT_REFUSED(eg_cholesky(a), EG_EINVAL, k ? "matrix 0 of 2" : "pivot 1");
    }
}

/* The gradient of the nearest rotation of a rotation times a number: equal singular values do no harm. */
static eg_tensor *rotation(eg_tensor *x)
{
    eg_tensor *u, *vh, *weight = eg_reshape(eg_arange(0, 9, 1, EG_F64), EG_SHAPE(3, 3));
    return eg_svd(x, &u, NULL, &vh) ? NULL : eg_sum(eg_mul(eg_matmul(u, vh), weight));
}

EGT(the_gradient_at_equal_singular_values)
{
    eg_tensor *g = gradient(rotation, eg_mul_scalar(eye(3), 2)); /* the skew part of the weight / 2 */
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            EGT_NEAR(eg_get(g, i * 3 + j), (double)(i * 3 + j - j * 3 - i) / 4, 1e-14);
        }
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

EGT(refusals)
{
    eg_tensor *a = eg_ones(EG_SHAPE(5, 3, 3), EG_F32), *wide = eg_ones(EG_SHAPE(2, 3), EG_F32), *y, *z;
    eg_tensor *row = eg_ones(EG_SHAPE(3), EG_F32), *half = eg_ones(EG_SHAPE(3, 3), EG_F16);
    EGT_REFUSED(eg_det(wide), EG_ESHAPE, "square matrices [.., n, n]");
    EGT_REFUSED(eg_slogdet(wide, &y, &z), EG_ESHAPE, "[2, 3]");
    EGT_REFUSED(eg_inverse(row), EG_ESHAPE, "inverse");
    EGT_REFUSED(eg_cholesky(wide), EG_ESHAPE, "cholesky");
    EGT_REFUSED(eg_eigh(wide, &y, &z), EG_ESHAPE, "eigh");
    EGT_REFUSED(eg_qr(row, &y, &z), EG_ESHAPE, "must be matrices");
    EGT_CHECK(!y && !z);
    EGT_REFUSED(eg_svd(half, &y, NULL, NULL), EG_EDTYPE, "f16");
    EGT_REFUSED(eg_det(eg_ones(EG_SHAPE(2, 2), EG_I64)), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_solve(eye(3), row), EG_EDTYPE, "a is f64, b f32");
    EGT_REFUSED(eg_solve(a, wide), EG_ESHAPE, "a is [5, 3, 3], b [2, 3]");
    EGT_REFUSED(eg_solve(a, eg_ones(EG_SHAPE(4, 3, 1), EG_F32)), EG_ESHAPE, "[4, 3, 1]");
    EGT_REFUSED(eg_solve_triangular(a, row), EG_ESHAPE, "b is [3]");
    EGT_REFUSED(eg_solve_triangular(eg_ones(EG_SHAPE(2, 3), EG_F32), wide), EG_ESHAPE, "square");
    EGT_REFUSED(eg_inverse(a), EG_EINVAL, "matrix 0 of 5 is singular: pivot 1");
    eg_tensor *b = eg_contiguous(eg_expand(eye(3), EG_SHAPE(5, 3, 3)));
    eg_set(b, 3 * 9 + 8, 0);
    EGT_REFUSED(eg_inverse(b), EG_EINVAL, "matrix 3 of 5 is singular: pivot 2");
    EGT_REFUSED(eg_solve(b, eg_ones(EG_SHAPE(3, 1), EG_F64)), EG_EINVAL, "solve");
    eg_set(b, 4 * 9, -1);
    EGT_REFUSED(eg_cholesky(b), EG_EINVAL, "matrix 3 of 5 is not positive definite: pivot 2");
    EGT_REFUSED(eg_cholesky(eg_neg(eye(2))), EG_EINVAL, "pivot 0");
    EGT_REFUSED(eg_det(NULL), EG_EINVAL, "det");
    EGT_REFUSED(eg_svd(eg_mul(wide, NULL), &y, NULL, NULL), EG_EINVAL, "mul");
    eg_clear_error();
}

/* Halves are brought to f32, and no product is one of halves. */
EGT(autocast)
{
    eg_tensor *a = eg_cast(draw(3, 5), EG_BF16), *whole = eg_cast(a, EG_F32), *q, *r, *x = NULL;
    EG_AUTOCAST(EG_BF16) {
        EGT_OK(eg_qr(a, &q, &r));
        x = eg_solve(eg_slice(whole, 1, 0, 3, 1), eg_slice(a, 1, 3, 5, 1));
    }
    EGT_CHECK(r && eg_dtype_of(r) == EG_F32 && x && eg_dtype_of(x) == EG_F32);
    SAME(eg_matmul(q, r), whole, 1e-6);
    SAME(eg_matmul(eg_slice(whole, 1, 0, 3, 1), x), eg_slice(whole, 1, 3, 5, 1), 1e-5);
}

/* Many matrices on all threads: the first refused is named. */
EGT(the_first_is_named)
{
    eg_tensor *b = eg_contiguous(eg_expand(eye(8), EG_SHAPE(3000, 8, 8)));
    for (int64_t i = 2999; i > 700; i -= 100) {
        eg_set(b, i * 64 + 27, 0);
    }
    EGT_REFUSED(eg_inverse(b), EG_EINVAL, "matrix 799 of 3000 is singular: pivot 3");
}

/* ---- memory that fails ------------------------------------------------------------------------------- */

/* The gradient of what is made of all results of one decomposition. */
static eg_tensor *slope_of_parts(eg_tensor *a, bool svd)
{
    eg_tensor *u, *s, *vh, *g = NULL;
    eg_scope scope = eg_scope_push();
    eg_tape tape = eg_tape_open();
    if (eg_tape_watch(tape, a) || (svd ? eg_svd(a, &u, &s, &vh) : eg_eigh(a, &s, &u))) {
        return eg_scope_pop(scope, NULL);
    }
    eg_tensor *y = eg_add(eg_sum(eg_square(eg_matmul(u, eg_diag_embed(s, 0)))), eg_sum(eg_mul(u, s)));
    y = y && svd ? eg_add(y, eg_sum(eg_mul(vh, s))) : y;
    return eg_scope_pop(scope, !y || eg_tape_gradients(tape, y, &a, 1, &g) ? NULL : g);
}

EGT(slopes_are_right_or_none)
{
    eg_tensor *a = egt_random(EG_SHAPE(3, 3), EG_F64, -1, 1);
    for (int svd = 0; svd < 2; svd++) {
        eg_tensor *x = svd ? a : eg_add(a, eg_transpose(a, 0, 1)), *want = slope_of_parts(x, svd), *g = NULL;
        int n = 0;
        while (!g && n < 2000) {
            eg_debug_fail_alloc(++n);
            g = slope_of_parts(x, svd);
            eg_debug_fail_alloc(0);
            EGT_CHECK(g || egt_said(EG_ENOMEM, ""));
            EGT_CHECK(!g || egt_distance(g, want) == 0);
            eg_clear_error();
        }
        EGT_CHECK(n > 20 && n < 2000);
    }
}
