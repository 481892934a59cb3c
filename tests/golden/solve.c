/* solve.c - what the golden cases of small linear algebra stand for. */
#include "tests/golden/golden.h"

static bool flag(const golden_case *c, const char *key)
{
    return golden_number(c, key, 0) != 0;
}

static eg_tensor *solve_triangular(const golden_case *c)
{
    return eg_solve_triangular(c->x[0], c->x[1], .upper = flag(c, "upper"), .transpose = flag(c, "transpose"),
                               .unit = flag(c, "unit"));
}

static eg_tensor *cholesky(const golden_case *c)
{
    return eg_cholesky(c->x[0], .upper = flag(c, "upper"));
}

static bool slogdet(const golden_case *c, eg_tensor **out)
{
    return eg_slogdet(c->x[0], &out[0], &out[1]) == EG_OK;
}

static bool qr(const golden_case *c, eg_tensor **out)
{
    return eg_qr(c->x[0], &out[0], &out[1]) == EG_OK;
}

static bool svd(const golden_case *c, eg_tensor **out)
{
    return eg_svd(c->x[0], &out[0], &out[1], &out[2]) == EG_OK;
}

static bool eigh(const golden_case *c, eg_tensor **out)
{
    return eg_eigh(c->x[0], &out[0], &out[1]) == EG_OK;
}

GOLDEN_ROWS(solve, GOLDEN_1(det), GOLDEN_1(inverse), GOLDEN_2(solve),
            {.op = "solve_triangular", .one = solve_triangular}, {.op = "cholesky", .one = cholesky},
            {.op = "slogdet", .many = slogdet}, {.op = "qr", .many = qr}, {.op = "svd", .many = svd},
            {.op = "eigh", .many = eigh})
