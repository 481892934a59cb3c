/* test_reduce.c - reductions, running sums and softmax where the sweep does not look: special values, ties,
 * refusals, empty tensors. */
#include <limits.h>

#include "tests/egt.h"

#define INF           ((double)INFINITY)
#define OF(type, ...) eg_from_values(EG_SHAPE(EG_COUNT_(double, __VA_ARGS__)), type, (double[]){__VA_ARGS__})
#define ALONG(...)    .axes = EG_AXES(__VA_ARGS__)

static const eg_dtype floats[] = {EG_F32, EG_F64, EG_F16, EG_BF16};
static const eg_dtype integers[] = {EG_I64, EG_I32, EG_U8};

/* d sum(y * dy) / dx for y = f(x), dy = 1, 2, ... */
static eg_tensor *gradient(eg_tensor *(*f)(eg_tensor *), eg_tensor *x)
{
    eg_tensor *dx;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = f(x);
    eg_tensor *dy = eg_reshape(eg_arange(1, (double)eg_numel(y) + 1, 1, eg_dtype_of(x)), eg_shape_of(y));
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx, .dy = dy));
    return dx;
}

/* NaN equals NaN. */
static void check_values(const eg_tensor *t, int n, const double *want, double tolerance)
{
    EGT_EQ(eg_numel(t), n);
    for (int i = 0; i < n; i++) {
        if (isnan(want[i])) {
            EGT_CHECK(isnan(eg_get(t, i)));
        } else if (isinf(want[i])) {
            EGT_EQ(eg_get(t, i), want[i]);
        } else {
            EGT_NEAR(eg_get(t, i), want[i], tolerance);
        }
    }
}
#define VALUES(t, tolerance, ...) check_values(t, EG_COUNT_(double, __VA_ARGS__), (double[]){__VA_ARGS__}, tolerance)

/* ---- special values ------------------------------------------------------------------------------ */

EGT(nan_wins_in_extremes)
{
    for (int k = 0; k < 4; k++) {
        for (int at = 0; at < 100; at += 33) {
            eg_tensor *x = egt_random(EG_SHAPE(100, 5), floats[k], -1, 1);
            eg_set(x, at * 5 + 2, (double)NAN);
            EGT_CHECK(isnan(eg_item(eg_max(x))));
            EGT_CHECK(isnan(eg_item(eg_min(x))));
            EGT_EQ(eg_item(eg_argmax(x)), at * 5 + 2);
            EGT_EQ(eg_item(eg_argmin(x)), at * 5 + 2);
            EGT_CHECK(isnan(eg_get(eg_max(x, ALONG(0)), 2)));
            EGT_CHECK(!isnan(eg_get(eg_max(x, ALONG(0)), 1)));
            EGT_CHECK(isnan(eg_get(eg_min(x, ALONG(1)), at)));
            EGT_EQ(eg_get(eg_argmin(x, ALONG(0)), 2), at);
            EGT_EQ(eg_get(eg_argmax(x, ALONG(1)), at), 2);
            EGT_CHECK(isnan(eg_item(eg_norm(x, .p = INF))));
            EGT_CHECK(isnan(eg_item(eg_logsumexp(x))));
        }
    }
}

EGT(the_first_of_equals_is_found)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(70, 3000), EG_F32);
    VALUES(eg_argmax(x), 0, 0);
    VALUES(eg_argmin(x), 0, 0);
    EGT_EQ(eg_item(eg_max(eg_argmax(x, ALONG(0)))), 0);
    EGT_EQ(eg_item(eg_max(eg_argmax(x, ALONG(1)))), 0);
    eg_set(x, 2000, 1);
    eg_set(x, 2999, 1);
    eg_set(x, 60 * 3000 + 2000, 1);
    EGT_EQ(eg_item(eg_argmax(x)), 2000);
    EGT_EQ(eg_get(eg_argmax(x, ALONG(0)), 2000), 0);
    EGT_EQ(eg_get(eg_argmax(x, ALONG(1)), 0), 2000);
    EGT_EQ(eg_item(eg_argmax(eg_transpose(x, 0, 1))), 2000 * 70);
    eg_tensor *low = eg_full(EG_SHAPE(5), -INF, EG_F32);
    EGT_EQ(eg_item(eg_argmax(low)), 0);
    EGT_EQ(eg_item(eg_argmax(OF(EG_I64, -0x1p63, -0x1p63))), 0);
}

EGT(infinities_in_logsumexp_and_softmax)
{
    for (int k = 0; k < 2; k++) {
        eg_tensor *x = eg_from_values(EG_SHAPE(4, 3), floats[k],
                                      (double[]){-INF, -INF, -INF, 0, -INF, 0, 1, INF, 2, 1e4, 1e4, -1e4});
        VALUES(eg_logsumexp(x, ALONG(1)), 1e-6, -INF, log(2), INF, 1e4 + log(2));
        VALUES(eg_logsumexp(eg_transpose(x, 0, 1), ALONG(0)), 1e-6, -INF, log(2), INF, 1e4 + log(2));
        VALUES(eg_logsumexp(x), 0, INF);
        double n = (double)NAN;
        VALUES(eg_softmax(x, 1), 1e-6, n, n, n, 0.5, 0, 0.5, n, n, n, 0.5, 0.5, 0);
        VALUES(eg_log_softmax(eg_slice(x, 0, 3, 4, 1), 1), 1e-6, -log(2), -log(2), -2e4 - log(2));
    }
    eg_tensor *rest = eg_full(EG_SHAPE(600, 600), -INF, EG_F32);
    eg_set(rest, 599 * 600 + 599, -3e38);
    VALUES(eg_logsumexp(rest), 1e-6, -3e38);
    EGT_NEAR(eg_get(eg_logsumexp(rest, ALONG(0)), 599), -3e38, 1e-6);
    EGT_EQ(eg_get(eg_logsumexp(rest, ALONG(0)), 0), -INF);
}

static eg_tensor *rows_logsumexp(eg_tensor *x)
{
    return eg_logsumexp(x, ALONG(1));
}

EGT(a_row_of_minus_infinity_gets_no_gradient)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(2, 2), EG_F64, (double[]){-INF, -INF, 0, 0});
    VALUES(gradient(rows_logsumexp, x), 1e-12, 0, 0, 1, 1);
}

EGT(empty_tensors)
{
    for (int k = 0; k < 4; k++) {
        eg_tensor *x = eg_empty(EG_SHAPE(2, 0), floats[k]);
        double n = (double)NAN;
        VALUES(eg_sum(x), 0, 0);
        VALUES(eg_sum(x, ALONG(1)), 0, 0, 0);
        VALUES(eg_prod(x, ALONG(1)), 0, 1, 1);
        VALUES(eg_mean(x, ALONG(1)), 0, n, n);
        VALUES(eg_var(x, ALONG(1), .biased = true), 0, n, n);
        VALUES(eg_std(x), 0, n);
        VALUES(eg_norm(x, ALONG(1)), 0, 0, 0);
        VALUES(eg_norm(x, .p = INF), 0, 0);
        VALUES(eg_logsumexp(x, ALONG(1)), 0, -INF, -INF);
        VALUES(eg_any(x, ALONG(1)), 0, 0, 0);
        VALUES(eg_all(x, ALONG(1)), 0, 1, 1);
        VALUES(eg_count_nonzero(x), 0, 0);
        EGT_EQ(eg_numel(eg_sum(x, ALONG(0))), 0);
        EGT_EQ(eg_numel(eg_max(x, ALONG(0))), 0);
        EGT_EQ(eg_numel(eg_argmax(x, ALONG(0))), 0);
        EGT_EQ(eg_numel(eg_cumsum(x, 0)), 0);
        EGT_EQ(eg_numel(eg_cumprod(x, 1)), 0);
        EGT_EQ(eg_numel(eg_softmax(x, 0)), 0);
        EGT_EQ(eg_numel(eg_log_softmax(x, 1)), 0);
        EGT_REFUSED(eg_max(x), EG_ESHAPE, "max");
        EGT_REFUSED(eg_min(x, ALONG(1)), EG_ESHAPE, "axis 1 of [2, 0]");
        EGT_REFUSED(eg_argmax(x), EG_ESHAPE, "argmax");
        EGT_REFUSED(eg_argmin(x, ALONG(-1)), EG_ESHAPE, "argmin");
        EGT_REFUSED(eg_norm(x, .p = -INF), EG_ESHAPE, "norm");
        EGT_REFUSED(eg_diff(x, 1), EG_ESHAPE, "diff");
    }
}

EGT(one_element_has_no_unbiased_variance)
{
    eg_tensor *x = OF(EG_F32, 3);
    EGT_CHECK(isnan(eg_item(eg_var(x))));
    EGT_CHECK(isnan(eg_item(eg_std(x))));
    EGT_EQ(eg_item(eg_var(x, .biased = true)), 0);
}

EGT(integers)
{
    VALUES(eg_sum(OF(EG_I32, INT32_MAX, INT32_MAX)), 0, 2.0 * INT32_MAX);
    VALUES(eg_sum(OF(EG_I64, 0x1p62, 0x1p62)), 0, -0x1p63);
    VALUES(eg_prod(OF(EG_U8, 255, 255, 255)), 0, 255.0 * 255 * 255);
    VALUES(eg_cumsum(OF(EG_U8, 200, 100, 7), 0), 0, 200, 300, 307);
    VALUES(eg_cumprod(OF(EG_I32, -3, 5, 0, 7), 0), 0, -3, -15, 0, 0);
    VALUES(eg_mean(OF(EG_I64, 1, 2)), 0, 1.5);
    EGT_EQ(eg_dtype_of(eg_mean(OF(EG_I64, 1, 2))), EG_F32);
    for (int k = 0; k < 3; k++) {
        eg_tensor *x = OF(integers[k], 5, 3, 9, 9, 1);
        VALUES(eg_max(x), 0, 9);
        EGT_EQ(eg_dtype_of(eg_max(x)), integers[k]);
        VALUES(eg_argmax(x), 0, 2);
        VALUES(eg_argmin(x), 0, 4);
        VALUES(eg_sum(eg_ones(EG_SHAPE(300, 1000), integers[k])), 0, 300000);
        EGT_EQ(eg_item(eg_max(eg_sum(eg_full(EG_SHAPE(3000, 7), 200, integers[k]), ALONG(0)))), 600000);
    }
    VALUES(eg_max(OF(EG_I64, -0x1p63, -0x1p63)), 0, -0x1p63);
    VALUES(eg_min(OF(EG_I32, INT32_MAX, INT32_MIN)), 0, INT32_MIN);
}

EGT(any_byte_is_true)
{
    uint8_t bytes[] = {0, 2, 255, 1};
    eg_tensor *x = eg_wrap(bytes, EG_SHAPE(4), EG_BOOL, NULL, NULL);
    VALUES(eg_sum(x), 0, 3);
    VALUES(eg_count_nonzero(x), 0, 3);
    VALUES(eg_any(x), 0, 1);
    VALUES(eg_all(x), 0, 0);
    VALUES(eg_max(x), 0, 1);
    VALUES(eg_argmax(x), 0, 1);
    VALUES(eg_prod(eg_slice(x, 0, 1, EG_END, 1)), 0, 1);
    VALUES(eg_cumsum(x, 0), 0, 0, 1, 2, 3);
    VALUES(eg_mean(x), 0, 0.75);
}

EGT(tests_of_floats)
{
    eg_tensor *x = OF(EG_F32, 0, -0.0, (double)NAN, 1e-45);
    VALUES(eg_count_nonzero(x), 0, 2);
    VALUES(eg_all(x), 0, 0);
    VALUES(eg_any(eg_slice(x, 0, 0, 2, 1)), 0, 0);
    VALUES(eg_all(eg_slice(x, 0, 2, 4, 1)), 0, 1);
}

/* ---- gradients at edges --------------------------------------------------------------------------- */

static eg_tensor *rows_max(eg_tensor *x)
{
    return eg_max(x, ALONG(1));
}

static eg_tensor *all_min(eg_tensor *x)
{
    return eg_min(x, .keepdim = true);
}

static eg_tensor *rows_most(eg_tensor *x)
{
    return eg_norm(x, .p = INF, ALONG(-1));
}

EGT(ties_share_the_gradient)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(2, 3), EG_F64, (double[]){1, 3, 3, 2, -2, 0});
    VALUES(gradient(rows_max, x), 1e-12, 0, 0.5, 0.5, 2, 0, 0);
    VALUES(gradient(all_min, x), 1e-12, 0, 0, 0, 0, 1, 0);
    VALUES(gradient(rows_most, x), 1e-12, 0, 0.5, 0.5, 1, -1, 0);
}

static eg_tensor *rows_prod(eg_tensor *x)
{
    return eg_prod(x, ALONG(1));
}

static eg_tensor *columns_prod(eg_tensor *x)
{
    return eg_prod(x, ALONG(0), .keepdim = true);
}

static eg_tensor *rows_cumprod(eg_tensor *x)
{
    return eg_cumprod(x, 1);
}

EGT(products_with_zeros)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(3, 3), EG_F64, (double[]){2, 3, 4, 2, 0, 4, 0, 3, 0});
    VALUES(gradient(rows_prod, x), 1e-12, 12, 8, 6, 0, 16, 0, 0, 0, 0);
    VALUES(gradient(columns_prod, x), 1e-12, 0, 0, 0, 0, 18, 0, 4, 0, 48);
    eg_tensor *one = eg_from_values(EG_SHAPE(1, 4), EG_F64, (double[]){2, 0, 3, 5});
    /* y = (a, ab, abc, abcd), dy = (1, 2, 3, 4) */
    VALUES(gradient(rows_cumprod, one), 1e-12, 1, 4 + 18 + 120, 0, 0);
}

static eg_tensor *rows_norm(eg_tensor *x)
{
    return eg_norm(x, ALONG(1));
}

static eg_tensor *rows_norm_3(eg_tensor *x)
{
    return eg_norm(x, .p = 3, ALONG(1));
}

static eg_tensor *rows_norm_half(eg_tensor *x)
{
    return eg_norm(x, .p = 0.5, ALONG(1));
}

static eg_tensor *rows_std(eg_tensor *x)
{
    return eg_std(x, ALONG(1));
}

EGT(norms_and_deviations_of_zero_have_no_gradient)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(2, 2), EG_F64, (double[]){0, 0, 0, 2});
    VALUES(gradient(rows_norm, x), 1e-12, 0, 0, 0, 2);
    VALUES(gradient(rows_norm_3, x), 1e-12, 0, 0, 0, 2);
    VALUES(gradient(rows_norm_half, x), 1e-12, 0, 0, 0, 2);
    eg_tensor *level = eg_from_values(EG_SHAPE(2, 2), EG_F64, (double[]){5, 5, 1, 3});
    VALUES(gradient(rows_std, level), 1e-12, 0, 0, -2 / sqrt(2), 2 / sqrt(2));
}

EGT(running_sums_from_the_other_end)
{
    eg_tensor *x = OF(EG_F32, 1, 2, 3, 4);
    eg_tensor *back = eg_slice(eg_cumsum(eg_slice(x, 0, EG_END, EG_END, -1), 0), 0, EG_END, EG_END, -1);
    VALUES(back, 0, 10, 9, 7, 4);
    VALUES(eg_diff(OF(EG_I64, 1, 4, 9, 7), 0), 0, 3, 5, -2);
    EGT_EQ(eg_numel(eg_diff(OF(EG_F32, 1), 0)), 0);
}

/* ---- refusals -------------------------------------------------------------------------------------- */

EGT(axes_outside_the_rank)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 3), EG_F32), *zero_dim = eg_scalar(1, EG_F32);
    const int outside[] = {2, -3, INT_MIN, INT_MAX};
    eg_tensor *(*const with[])(eg_tensor *, const eg_reduce_options *) = {
        eg_sum_with,           eg_mean_with, eg_prod_with,      eg_max_with,    eg_min_with,   eg_any_with,
        eg_count_nonzero_with, eg_all_with,  eg_logsumexp_with, eg_argmax_with, eg_argmin_with};
    eg_tensor *(*const along[])(eg_tensor *, int) = {eg_cumsum, eg_cumprod, eg_diff, eg_softmax, eg_log_softmax};
    for (int i = 0; i < 4; i++) {
        const eg_reduce_options o = {.size = sizeof o, .axes = EG_AXES(outside[i])};
        for (size_t k = 0; k < sizeof with / sizeof *with; k++) {
            EGT_REFUSED(with[k](x, &o), EG_ESHAPE, "outside rank 2");
        }
        for (size_t k = 0; k < sizeof along / sizeof *along; k++) {
            EGT_REFUSED(along[k](x, outside[i]), EG_ESHAPE, "outside rank 2");
            EGT_REFUSED(along[k](zero_dim, outside[i]), EG_ESHAPE, "outside rank 0");
        }
        EGT_REFUSED(eg_norm(x, ALONG(outside[i])), EG_ESHAPE, "norm");
        EGT_REFUSED(eg_var(x, ALONG(outside[i])), EG_ESHAPE, "var");
        EGT_REFUSED(eg_std(x, ALONG(outside[i])), EG_ESHAPE, "std");
    }
    EGT_REFUSED(eg_sum(x, ALONG(1, -1)), EG_ESHAPE, "given twice");
    EGT_REFUSED(eg_sum(x, .axes = {.count = 9}), EG_ESHAPE, "9 axes");
    EGT_REFUSED(eg_sum(x, .axes = {.count = -1}), EG_ESHAPE, "-1 axes");
    EGT_REFUSED(eg_argmax(x, ALONG(0, 1)), EG_ESHAPE, "2 axes");
    EGT_REFUSED(eg_argmax(x, .axes = {.count = -1}), EG_ESHAPE, "-1 axes");
    EGT_REFUSED(eg_norm(x, .p = (double)NAN), EG_EINVAL, "NaN");
    EGT_REFUSED(eg_sum(NULL), EG_EINVAL, "sum");
    EGT_REFUSED(eg_argmax(NULL), EG_EINVAL, "argmax");
    EGT_REFUSED(eg_softmax(NULL, 0), EG_EINVAL, "softmax");
}

/* A 0-dim tensor is a line of one along axis 0, or -1. */
EGT(numbers_are_lines_of_one)
{
    eg_tensor *x = eg_scalar(-3, EG_F64), *values, *places;
    eg_tensor *(*const with[])(eg_tensor *, const eg_reduce_options *) = {eg_sum_with, eg_mean_with, eg_prod_with,
                                                                          eg_max_with, eg_min_with,  eg_logsumexp_with};
    for (int axis = -1; axis <= 0; axis++) {
        for (int keep = 0; keep < 2; keep++) {
            const eg_reduce_options o = {.size = sizeof o, .axes = EG_AXES(axis), .keepdim = keep};
            for (size_t k = 0; k < sizeof with / sizeof *with; k++) {
                EGT_EQ(eg_item(with[k](x, &o)), -3);
                EGT_EQ(eg_ndim(with[k](x, &o)), 0);
            }
            EGT_EQ(eg_item(eg_argmax_with(x, &o)), 0);
            EGT_EQ(eg_item(eg_all_with(x, &o)), 1);
            EGT_EQ(eg_item(eg_count_nonzero_with(x, &o)), 1);
        }
        EGT_EQ(eg_item(eg_norm(x, ALONG(axis))), 3);
        EGT_EQ(eg_ndim(eg_norm(x, ALONG(axis), .keepdim = true)), 0);
        EGT_EQ(eg_item(eg_var(x, ALONG(axis), .biased = true)), 0);
        EGT_EQ(eg_item(eg_cumsum(x, axis)), -3);
        EGT_EQ(eg_item(eg_cumprod(x, axis)), -3);
        EGT_EQ(eg_item(eg_softmax(x, axis)), 1);
        EGT_EQ(eg_item(eg_log_softmax(x, axis)), 0);
        EGT_EQ(eg_ndim(eg_softmax(x, axis)), 0);
        EGT_OK(eg_cummax(x, axis, &values, &places));
        EGT_EQ(eg_ndim(values), 0);
        EGT_EQ(eg_item(values), -3);
        EGT_EQ(eg_ndim(places), 0);
        EGT_EQ(eg_item(places), 0);
    }
    EGT_REFUSED(eg_sum(x, ALONG(1)), EG_ESHAPE, "axis 1 is outside rank 0");
    EGT_REFUSED(eg_sum(x, ALONG(0, -1)), EG_ESHAPE, "given twice");
    EGT_REFUSED(eg_cummin(x, -2, &values, NULL), EG_ESHAPE, "outside rank 0");
    EGT_REFUSED(eg_diff(x, 0), EG_ESHAPE, "outside rank 0"); /* as NumPy and PyTorch */
}

EGT(plain_functions_take_no_options)
{
    eg_tensor *x = OF(EG_F32, 3, -4);
    VALUES(eg_sum_with(x, NULL), 0, -1);
    VALUES(eg_norm_with(x, NULL), 0, 5);
    VALUES(eg_var_with(x, NULL), 0, 24.5);
    VALUES(eg_argmin_with(x, NULL), 0, 1);
    VALUES(eg_max_with(eg_scalar(2, EG_F32), NULL), 0, 2);
    VALUES(eg_argmax_with(eg_scalar(2, EG_F32), NULL), 0, 0);
}

/* ---- initial values -------------------------------------------------------------------------------- */

#define FROM(v) .has_initial = true, .initial = v

static eg_tensor *max_from_2(eg_tensor *x)
{
    return eg_max(x, ALONG(1), FROM(2));
}

/* One element more, as NumPy has it. */
EGT(reductions_begin_with_a_value)
{
    eg_tensor *none = eg_zeros(EG_SHAPE(2, 0), EG_F64), *x = eg_reshape(OF(EG_F64, 1, 5, 2, 0), EG_SHAPE(2, 2));
    VALUES(eg_max(none, ALONG(1), FROM(-INF)), 0, -INF, -INF);
    VALUES(eg_min(none, ALONG(1), FROM(7), .keepdim = true), 0, 7, 7);
    EGT_EQ(eg_ndim(eg_min(none, ALONG(1), FROM(7), .keepdim = true)), 2);
    VALUES(eg_max(none, FROM(3)), 0, 3);
    EGT_EQ(eg_numel(eg_max(none, ALONG(0), FROM(3))), 0);
    VALUES(eg_max(x, ALONG(1), FROM(2)), 0, 5, 2);
    VALUES(eg_max(x, ALONG(1), FROM(NAN)), 0, NAN, NAN);
    VALUES(eg_min(x, ALONG(0), FROM(1)), 0, 1, 0);
    VALUES(eg_sum(x, ALONG(1), FROM(10)), 0, 16, 12);
    VALUES(eg_sum(none, ALONG(1), FROM(10)), 0, 10, 10);
    VALUES(eg_prod(x, ALONG(0), FROM(3)), 0, 6, 0);
    VALUES(eg_sum(eg_scalar(1, EG_F32), ALONG(0), FROM(2)), 0, 3);
    for (int k = 0; k < 3; k++) {
        eg_tensor *whole = eg_zeros(EG_SHAPE(0), integers[k]);
        EGT_EQ(eg_dtype_of(eg_max(whole, FROM(4))), integers[k]);
        VALUES(eg_max(whole, FROM(4)), 0, 4);
        VALUES(eg_sum(eg_ones(EG_SHAPE(3), integers[k]), FROM(4)), 0, 7);
    }
    VALUES(eg_max(eg_zeros(EG_SHAPE(0), EG_U8), FROM(-INF)), 0, 0); /* the least there is */
    eg_tensor *b = eg_zeros(EG_SHAPE(0), EG_BOOL);
    EGT_EQ(eg_dtype_of(eg_min(b, FROM(1))), EG_BOOL);
    VALUES(eg_min(b, FROM(1)), 0, 1);
    VALUES(eg_max(OF(EG_BOOL, 0, 0), FROM(1)), 0, 1);
    VALUES(eg_min(OF(EG_BOOL, 1, 0), FROM(1)), 0, 0);
    /* Equal ones share dy; what is greater takes it all. */
    VALUES(gradient(max_from_2, x), 0, 0, 1, 1, 0);
    VALUES(gradient(max_from_2, eg_full(EG_SHAPE(1, 2), 2, EG_F64)), 0, 0.25, 0.25); /* the other half is the value's */
    EGT_EQ(eg_numel(gradient(max_from_2, none)), 0);
    EGT_REFUSED(eg_max(none, ALONG(1), .initial = 3), EG_ESHAPE, "no elements");
    EGT_REFUSED(eg_mean(x, FROM(1)), EG_EINVAL, "mean");
    EGT_REFUSED(eg_logsumexp(x, FROM(1)), EG_EINVAL, "initial");
    EGT_REFUSED(eg_argmax(x, FROM(1)), EG_EINVAL, "argmax");
    EGT_REFUSED(eg_any(x, FROM(1)), EG_EINVAL, "initial");
    EGT_REFUSED(eg_sum(NULL, FROM(1)), EG_EINVAL, "sum");
    EGT_REFUSED(eg_max(x, ALONG(2), FROM(1)), EG_ESHAPE, "outside rank 2");
}

/* An options struct without a size is as long as this header's. */
EGT(options_without_a_size)
{
    eg_tensor *x = OF(EG_F32, 1, 2);
    const eg_reduce_options o = {.initial = 10, .has_initial = true};
    VALUES(eg_sum_with(x, &o), 0, 13);
    VALUES(eg_max_with(x, &o), 0, 10);
    EGT_REFUSED(eg_argmax_with(x, &o), EG_EINVAL, "initial");
}

static eg_tensor *how_many(eg_tensor *x)
{
    return eg_norm(x, .p = EG_ZERO);
}

EGT(norms_that_count)
{
    VALUES(eg_norm(OF(EG_F32, NAN, 1, 0, -0.0, INF, -2), .p = EG_ZERO), 0, 4);
    VALUES(eg_norm(OF(EG_I64, 3, 0, -1), .p = EG_ZERO), 0, 2);
    VALUES(eg_norm(eg_zeros(EG_SHAPE(2, 0), EG_F64), .p = EG_ZERO, ALONG(1)), 0, 0, 0);
    VALUES(gradient(how_many, OF(EG_F64, 3, 0, -1)), 0, 0, 0, 0);
    EGT_REFUSED(eg_norm(NULL, .p = EG_ZERO), EG_EINVAL, "x is NULL");
}

/* ---- shapes and layouts ---------------------------------------------------------------------------- */

EGT(the_packed_order_goes_on)
{
    eg_tensor *x = eg_channels_last(egt_random(EG_SHAPE(2, 3, 4, 5), EG_F32, -1, 1));
    EGT_CHECK(eg_is_channels_last(eg_sum(x, ALONG(0), .keepdim = true)));
    eg_tensor *y = eg_max(x, ALONG(0)); /* [3, 4, 5] */
    EGT_EQ(eg_stride(y, 0), 1);
    EGT_EQ(eg_stride(y, 1), 15);
    EGT_EQ(eg_stride(y, 2), 3);
    EGT_CHECK(eg_is_channels_last(eg_softmax(x, 1)));
    EGT_CHECK(eg_is_channels_last(eg_cumsum(x, 2)));
    EGT_CHECK(eg_is_contiguous(eg_sum(x, ALONG(0, 2, 3))));
}

EGT(keepdim_of_places)
{
    eg_tensor *y = eg_argmax(eg_eye(3, 3, 0, EG_F32), .keepdim = true);
    EGT_EQ(eg_ndim(y), 2);
    EGT_EQ(eg_item(y), 0);
    EGT_EQ(eg_ndim(eg_argmax(OF(EG_F32, 1, 2), .keepdim = true)), 1);
}

EGT(expanded_and_reversed_inputs)
{
    eg_tensor *x = eg_expand(OF(EG_F32, 1, 2, 3), EG_SHAPE(50, 3));
    VALUES(eg_sum(x, ALONG(0)), 0, 50, 100, 150);
    VALUES(eg_sum(eg_expand(eg_scalar(2, EG_F32), EG_SHAPE(100, 100))), 0, 20000);
    VALUES(eg_max(eg_expand(eg_scalar(2, EG_F64), EG_SHAPE(3, 100)), ALONG(1)), 0, 2, 2, 2);
    eg_tensor *back = eg_slice(eg_arange(0, 1000, 1, EG_F32), 0, EG_END, EG_END, -1);
    VALUES(eg_sum(back), 0, 499500);
    VALUES(eg_argmax(back), 0, 0);
    VALUES(eg_slice(eg_softmax(eg_expand(OF(EG_F32, 0, 0), EG_SHAPE(60, 2)), 0), 0, 0, 1, 1), 1e-6, 1.0 / 60, 1.0 / 60);
}
