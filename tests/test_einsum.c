/* test_einsum.c - einsum: its grammar, what equations mean, and what stands for "...". */
#include "tests/egt.h"

#define OPS(...) ((eg_tensor *[]){__VA_ARGS__})

static eg_tensor *f32(int64_t rows, int64_t cols)
{
    return egt_random(EG_SHAPE(rows, cols), EG_F32, -1, 1);
}

EGT(malformed_equations)
{
    eg_tensor *a = f32(3, 3), *v = eg_ones(EG_SHAPE(3), EG_F32), *s = eg_scalar(2, EG_F32);
    char letters[201];
    memset(letters, 'i', 200);
    letters[200] = 0;
    EGT_REFUSED(eg_einsum("", OPS(a), 1), EG_ESHAPE, "operand 0 is [3, 3]");
    EGT_REFUSED(eg_einsum("ij,", OPS(a), 1), EG_EINVAL, "more terms");
    EGT_REFUSED(eg_einsum("ij,", OPS(a, a), 2), EG_ESHAPE, "operand 1");
    EGT_REFUSED(eg_einsum("i->ii", OPS(v), 1), EG_EINVAL, "'i' is twice in the result");
    EGT_REFUSED(eg_einsum(letters, OPS(a), 1), EG_EINVAL, "more than 8 letters");
    EGT_REFUSED(eg_einsum("ij->k", OPS(a), 1), EG_EINVAL, "'k' of the result is in no operand");
    EGT_REFUSED(eg_einsum("i$->i", OPS(a), 1), EG_EINVAL, "at place 2 of \"i$->i\"");
    EGT_REFUSED(eg_einsum("ij->ij->", OPS(a), 1), EG_EINVAL, "behind the result");
    EGT_REFUSED(eg_einsum("ij->i,j", OPS(a), 1), EG_EINVAL, "behind the result");
    EGT_REFUSED(eg_einsum("ij-i", OPS(a), 1), EG_EINVAL, "a dash");
    EGT_REFUSED(eg_einsum("ij>i", OPS(a), 1), EG_EINVAL, "neither letter");
    EGT_REFUSED(eg_einsum("..ij", OPS(a), 1), EG_EINVAL, "a dot");
    EGT_REFUSED(eg_einsum("...i...", OPS(a), 1), EG_EINVAL, "a second ellipsis");
    EGT_REFUSED(eg_einsum("ij,jk", OPS(a), 1), EG_EINVAL, "more terms");
    EGT_REFUSED(eg_einsum("ij", OPS(a, a), 2), EG_EINVAL, "has 1 terms");
    EGT_REFUSED(eg_einsum("i", OPS(a), 1), EG_ESHAPE, "names 1 axes");
    EGT_REFUSED(eg_einsum("ijk", OPS(a), 1), EG_ESHAPE, "names 3 axes");
    EGT_REFUSED(eg_einsum("ijk...", OPS(a), 1), EG_ESHAPE, "names 3 axes");
    EGT_REFUSED(eg_einsum("ij,jk", OPS(a, f32(4, 3)), 2), EG_ESHAPE, "'j' is 4 in operand 1");
    EGT_REFUSED(eg_einsum("ii", OPS(f32(3, 1)), 1), EG_ESHAPE, "different sizes");
    EGT_REFUSED(eg_einsum("ij", NULL, 1), EG_EINVAL, "operands");
    EGT_REFUSED(eg_einsum(NULL, OPS(a), 1), EG_EINVAL, "equation");
    EGT_REFUSED(eg_einsum("ij", OPS(a), 0), EG_EINVAL, "0 operands");
    EGT_REFUSED(eg_einsum("ij,jk", OPS(a, NULL), 2), EG_EINVAL, "operand");
    EGT_REFUSED(eg_einsum("abcde,fghij",
                          OPS(eg_ones(EG_SHAPE(1, 1, 1, 1, 1), EG_F32), eg_ones(EG_SHAPE(1, 1, 1, 1, 1), EG_F32)), 2),
                EG_ESHAPE, "more than 8 axes");
    EGT_EQ(eg_item(eg_einsum("", OPS(s), 1)), 2);
    EGT_EQ(eg_item(eg_einsum("->", OPS(s), 1)), 2);
}

static bool same(const char *equation, eg_tensor *const *x, int n, eg_tensor *want)
{
    eg_tensor *y = eg_einsum(equation, x, n);
    return y && egt_distance(y, want) < 1e-5;
}

EGT(einsum_means_what_numpy_means)
{
    eg_tensor *a = f32(3, 4), *b = f32(4, 5), *q = f32(3, 3), *v = eg_ones(EG_SHAPE(4), EG_F32);
    eg_tensor *t = egt_random(EG_SHAPE(2, 3, 4), EG_F32, -1, 1);
    EGT_CHECK(same("ba", OPS(a), 1, eg_transpose(a, 0, 1)));
    EGT_CHECK(same("bA", OPS(a), 1, eg_transpose(a, 0, 1)));
    EGT_CHECK(same(" i j , j k -> i k ", OPS(a, b), 2, eg_matmul(a, b)));
    EGT_CHECK(same("ij,jk", OPS(a, b), 2, eg_matmul(a, b)));
    EGT_CHECK(same("ij,jk->ki", OPS(a, b), 2, eg_transpose(eg_matmul(a, b), 0, 1)));
    EGT_CHECK(same("ii", OPS(q), 1, eg_sum(eg_diagonal(q, 0, 0, 1))));
    EGT_CHECK(same("ii->i", OPS(q), 1, eg_diagonal(q, 0, 0, 1)));
    EGT_CHECK(same("...", OPS(t), 1, t));
    EGT_CHECK(same("...j", OPS(t), 1, t));
    EGT_CHECK(same("j...", OPS(t), 1, eg_permute(t, EG_AXES(1, 2, 0))));
    EGT_CHECK(same("...ij->...ji", OPS(t), 1, eg_transpose(t, 1, 2)));
    EGT_CHECK(same("...ij,jk->...ik", OPS(t, b), 2, eg_matmul(t, b)));
    EGT_CHECK(same("...,...", OPS(t, v), 2, eg_mul(t, v)));
    EGT_CHECK(same("i...,j...->ij...", OPS(a, t), 2, eg_einsum("ib,jab->ijab", OPS(a, t), 2)));
    EGT_CHECK(same("ij,j", OPS(a, v), 2, eg_matmul(a, v)));
    EGT_CHECK(same("ij,ij->", OPS(a, a), 2, eg_sum(eg_square(a))));
    EGT_CHECK(same("i,j,k->kji", OPS(v, v, v), 3, eg_ones(EG_SHAPE(4, 4, 4), EG_F32)));
    eg_tensor *thin = f32(3, 1);
    EGT_CHECK(same("ij,jk->ik", OPS(thin, b), 2, eg_matmul(eg_expand(thin, EG_SHAPE(3, 4)), b)));
    EGT_CHECK(same("iij,jk->k", OPS(egt_random(EG_SHAPE(3, 3, 4), EG_F32, 0, 0), b), 2, eg_zeros(EG_SHAPE(5), EG_F32)));
}

EGT(einsum_of_integers)
{
    eg_tensor *a = eg_from_values(EG_SHAPE(2, 2), EG_I32, (double[]){1, 2, 3, 4});
    eg_tensor *y = eg_einsum("ij,jk->ik", OPS(a, a), 2);
    EGT_EQ(eg_dtype_of(y), EG_I64);
    EGT_EQ(eg_get(y, 0), 7);
    EGT_EQ(eg_get(y, 3), 22);
    eg_tensor *h = eg_einsum("ij,jk->ik", OPS(a, eg_cast(a, EG_F32)), 2);
    EGT_EQ(eg_dtype_of(h), EG_F32);
    EGT_EQ(eg_get(h, 3), 22);
    a = eg_arange(0, 3, 1, EG_I64);
    EGT_EQ(eg_get(eg_outer(a, a), 8), 4);
}

EGT(einsum_borrows_nothing_of_the_callers)
{
    eg_tensor *a = f32(3, 4), *y = NULL;
    EG_SCOPE {
        y = eg_keep(eg_einsum("ij", OPS(a), 1));
    }
    EGT_CHECK(y != a && egt_distance(y, a) == 0);
    EGT_OK(eg_release(y));
}

/* Axes of "..." that the result has not are summed over, broadcast or not. */
EGT(einsum_sums_what_dots_stand_for)
{
    eg_tensor *a = egt_random(EG_SHAPE(2, 3, 4), EG_F64, -1, 1), *b = egt_random(EG_SHAPE(3, 4), EG_F64, -1, 1);
    EGT_CHECK(egt_distance(eg_einsum("...i->i", &a, 1), eg_sum(a, .axes = EG_AXES(0, 1))) < 1e-12);
    EGT_CHECK(egt_distance(eg_einsum("i...->", &a, 1), eg_sum(a)) < 1e-12);
    eg_tensor *pair[] = {a, b}, *want = eg_sum(eg_mul(a, b), .axes = EG_AXES(0, 1));
    EGT_CHECK(egt_distance(eg_einsum("...i,...i->i", pair, 2), want) < 1e-12);
    pair[1] = eg_slice(b, 0, 0, 1, 1);
    want = eg_sum(eg_mul(a, pair[1]), .axes = EG_AXES(0, 1));
    EGT_CHECK(egt_distance(eg_einsum("...i,...i->i", pair, 2), want) < 1e-12);
    eg_tensor *bytes = eg_full(EG_SHAPE(3, 4), 200, EG_U8);
    eg_tensor *sums = eg_einsum("ij,kj->ik", (eg_tensor *[]){bytes, bytes}, 2);
    EGT_EQ(eg_dtype_of(sums), EG_I64); /* as eg_sum's */
    EGT_EQ(eg_get(sums, 0), 160000);
    EGT_EQ(eg_get(eg_einsum("ij,kj->i", (eg_tensor *[]){eg_cast(bytes, EG_BOOL), eg_cast(bytes, EG_BOOL)}, 2), 0), 12);
    eg_tensor *whole = eg_einsum("...i->i", (eg_tensor *[]){eg_ones(EG_SHAPE(2, 3, 4), EG_I32)}, 1);
    EGT_EQ(eg_get(whole, 3), 6);
}
