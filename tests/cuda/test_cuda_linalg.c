/* test_cuda_linalg.c - small linear algebra on a device: each kind of team agrees with the CPU, and what a matrix
 * forbids is said when the host waits. */
#include "tests/cuda/module.h"

static eg_tensor *turned(eg_tensor *x)
{
    return eg_transpose(x, -2, -1);
}

/* As far apart as rounding of numbers of the size of `scale` lets be. */
static void agree(eg_tensor *a, eg_tensor *b, double scale)
{
    EGT_CHECK(a && b);
    double d = egt_distance(eg_to(b, eg_cpu()), a);
    if (!(d <= 1e-11 * scale)) {
        egt_fail(__FILE__, __LINE__, "%s: %g apart", egt_case, d);
    }
}

/* Everything of [batch, n, n]. */
static void compare(int64_t batch, int64_t n)
{
    eg_tensor *a = egt_random(EG_SHAPE(batch, n, n), EG_F64, -1, 1);
    eg_tensor *b = egt_random(EG_SHAPE(batch, n, 3), EG_F64, -1, 1);
    a = eg_add(a, eg_mul_scalar(eg_eye(n, n, 0, EG_F64), 2 + (double)n / 8));
    eg_tensor *s = eg_add(eg_matmul(a, turned(a)), eg_eye(n, n, 0, EG_F64));
    eg_tensor *p = eg_to(a, cuda(0)), *q = eg_to(b, cuda(0)), *t = eg_to(s, cuda(0)), *x[3], *y[3];
    snprintf(egt_case, sizeof egt_case, "%lld of %lld rows", (long long)batch, (long long)n);
    agree(eg_inverse(a), eg_inverse(p), 1);
    agree(eg_solve(a, b), eg_solve(p, q), 1);
    agree(eg_cholesky(s), eg_cholesky(t), 1);
    agree(eg_solve_triangular(a, b, .transpose = true), eg_solve_triangular(p, q, .transpose = true), 10);
    EGT_OK(eg_slogdet(a, &x[0], &x[1]));
    EGT_OK(eg_slogdet(p, &y[0], &y[1]));
    agree(x[0], y[0], 1);
    agree(x[1], y[1], 1);
    EGT_OK(eg_qr(a, &x[0], &x[1]));
    EGT_OK(eg_qr(p, &y[0], &y[1]));
    agree(x[0], y[0], 1);
    agree(x[1], y[1], 1);
    EGT_OK(eg_eigh(s, &x[0], &x[1]));
    EGT_OK(eg_eigh(t, &y[0], &y[1]));
    agree(x[0], y[0], 1);
    EGT_OK(eg_svd(a, &x[0], &x[1], &x[2]));
    EGT_OK(eg_svd(p, &y[0], &y[1], &y[2]));
    agree(x[1], y[1], 1);
    agree(a, eg_matmul(eg_mul(y[0], eg_unsqueeze(y[1], -2)), y[2]), 10);
}

/* A thread for each, in several blocks; a warp; several; room in shared memory, and in the device's. */
EGT(teams)
{
    static const int64_t sizes[][2] = {{300, 2}, {130, 5}, {70, 8}, {5, 9}, {3, 17}, {2, 40}, {1, 60}, {2, 90}};
    for (int i = 0; i < 8; i++) {
        EG_SCOPE {
            compare(sizes[i][0], sizes[i][1]);
        }
    }
}

/* Rank 2: the vectors of zeros are made up. */
EGT(rank)
{
    for (int64_t n = 4; n < 40; n += 30) {
        eg_tensor *a = eg_matmul(egt_random(EG_SHAPE(n, 2), EG_F64, -1, 1), egt_random(EG_SHAPE(2, n), EG_F64, -1, 1));
        eg_tensor *zero = eg_mul_scalar(a, 0), *u, *s, *vh;
        for (int k = 0; k < 2; k++) {
            EGT_OK(eg_svd(eg_to(k ? zero : a, cuda(0)), &u, &s, &vh));
            agree(k ? zero : a, eg_matmul(eg_mul(u, eg_unsqueeze(s, -2)), vh), 1);
            agree(eg_eye(n, n, 0, EG_F64), eg_matmul(turned(u), u), 1);
            agree(eg_eye(n, n, 0, EG_F64), eg_matmul(vh, turned(vh)), 1);
        }
    }
}

static void said(const char *words)
{
    EGT_EQ(eg_device_synchronize(cuda(0)), EG_EINVAL);
    if (!strstr(eg_last_error()->message, words)) {
        egt_fail(__FILE__, __LINE__, "\"%s\" instead of \"%s\"", eg_last_error()->message, words);
    }
    eg_clear_error();
    EGT_OK(eg_device_synchronize(cuda(0)));
}

/* The context lives: the next matrices are solved. */
EGT(what_a_matrix_forbids_is_said_when_the_host_waits)
{
    for (int64_t n = 3; n < 20; n += 9) {
        eg_tensor *a = eg_contiguous(eg_expand(eg_eye(n, n, 0, EG_F64), EG_SHAPE(5, n, n)));
        eg_set(a, 3 * n * n + n * n - 1, 0);
        eg_tensor *there = eg_to(a, cuda(0)), *b = eg_to(eg_ones(EG_SHAPE(n, 1), EG_F64), cuda(0));
        char words[80];
        snprintf(words, sizeof words, "matrix 3 of 5 is singular: pivot %d", (int)n - 1);
        EGT_CHECK(eg_inverse(there) != NULL);
        said(words);
        EGT_CHECK(eg_solve(there, b) != NULL);
        said(words);
        EGT_CHECK(eg_cholesky(there) != NULL);
        said("matrix 3 of 5 is not positive definite");
        eg_tensor *d = eg_to(eg_det(there), eg_cpu());
        EGT_EQ(eg_get(d, 3), 0);
        EGT_EQ(eg_get(d, 4), 1);
        EGT_EQ(eg_get(eg_to(eg_inverse(eg_slice(there, 0, 0, 3, 1)), eg_cpu()), 0), 1);
    }
}

EGT(not_finite)
{
    for (int64_t n = 3; n < 20; n += 9) {
        eg_tensor *a = eg_contiguous(eg_expand(eg_eye(n, n, 0, EG_F32), EG_SHAPE(2, n, n))), *u, *s;
        eg_set(a, n + 1, (double)NAN);
        EGT_OK(eg_svd(eg_to(a, cuda(0)), &u, &s, NULL));
        s = eg_to(s, eg_cpu());
        EGT_CHECK(isnan(eg_get(s, 0)) && isnan(eg_get(s, n - 1)));
        EGT_EQ(eg_get(s, n), 1);
        EGT_OK(eg_eigh(eg_to(a, cuda(0)), &s, &u));
        s = eg_to(s, eg_cpu());
        EGT_CHECK(isnan(eg_get(s, 0)) && isnan(eg_get(s, n - 1)));
        EGT_EQ(eg_get(s, n), 1);
    }
}
