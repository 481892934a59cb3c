/* test_reduce_large.c - reductions and softmax of large tensors: against the reference, by several threads and
 * instruction sets, in every layout. */
#include "tests/egt.h"

static const eg_dtype floats[] = {EG_F32, EG_F64, EG_F16, EG_BF16};

static eg_tensor *reduce_as(int op, eg_tensor *x, eg_axes axes)
{
    switch (op) {
    case 0:
        return eg_sum(x, .axes = axes);
    case 1:
        return eg_mean(x, .axes = axes);
    case 2:
        return eg_max(x, .axes = axes);
    case 3:
        return eg_min(x, .axes = axes);
    case 4:
        return eg_norm(x, .axes = axes);
    case 5:
        return eg_norm(x, .axes = axes, .p = 1);
    case 6:
        return eg_var(x, .axes = axes);
    case 7:
        return eg_std(x, .axes = axes);
    case 8:
        return eg_logsumexp(x, .axes = axes);
    case 9:
        return eg_count_nonzero(x, .axes = axes);
    case 10:
        return eg_norm(x, .axes = axes, .p = 3);
    default:
        return axes.count == 1 ? eg_argmax(x, .axes = axes) : eg_argmin(x);
    }
}
enum { OPS = 12 };

/* Rows, columns, pieces, narrow columns, short rows, several axes. */
static const struct {
    eg_shape shape;
    eg_axes axes;
} large[] = {
    {{1, {140001}}, {1, {0}}},          {{2, {3, 40003}}, {1, {1}}},
    {{2, {40003, 3}}, {1, {0}}},        {{2, {40003, 3}}, {1, {1}}},
    {{2, {300, 600}}, {1, {0}}},        {{2, {30, 1501}}, {1, {0}}},
    {{2, {2003, 40}}, {1, {0}}},        {{2, {200, 301}}, {1, {1}}},
    {{3, {20, 31, 67}}, {1, {1}}},      {{4, {4, 5, 41, 53}}, {3, {0, 2, 3}}},
    {{4, {4, 5, 41, 53}}, {2, {2, 3}}}, {{4, {4, 5, 41, 53}}, {2, {0, 1}}},
    {{4, {4, 5, 41, 53}}, {2, {1, 3}}},
};

/* Tuned kernels against the reference in f64 on the same numbers, in three layouts. */
static void check_large(eg_dtype dtype, int layouts, double tolerance)
{
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        for (int layout = 0; layout < layouts; layout++) {
            eg_scope s = eg_scope_push();
            int nd = large[i].shape.ndim;
            eg_tensor *x = egt_random(large[i].shape, dtype, -1, 2);
            x = layout == 1 && nd > 1    ? eg_transpose(eg_contiguous(eg_transpose(x, 0, nd - 1)), 0, nd - 1)
                : layout == 2 && nd == 4 ? eg_channels_last(x)
                                         : x;
            eg_tensor *wide = eg_cast(x, EG_F64);
            for (int op = 0; op < OPS; op++) {
                eg_tensor *y = reduce_as(op, x, large[i].axes);
                EGT_OK(eg_debug("ref"));
                eg_tensor *want = reduce_as(op, wide, large[i].axes);
                EGT_OK(eg_debug(NULL));
                y = eg_dtype_of(y) == dtype ? eg_cast(y, EG_F64) : y;
                double d = egt_distance(y, want);
                if (!(d <= tolerance)) {
                    egt_fail(__FILE__, __LINE__, "shape %d, layout %d, op %d: off by %g", (int)i, layout, op, d);
                }
            }
            eg_scope_pop(s, NULL);
            if (nd == 1) {
                break;
            }
        }
    }
}

EGT(large_f64)
{
    check_large(EG_F64, 3, 1e-12);
}

EGT(large_f32)
{
    check_large(EG_F32, 3, 5e-7);
}

EGT(large_bf16)
{
    check_large(EG_BF16, 2, 4e-3);
}

EGT(every_instruction_set)
{
    static const char *const names[] = {"avx2", "base"};
    const char *best = eg_cpu_isa();
    for (int k = 0; k < 2; k++) {
        if (eg_debug_isa(names[k])) {
            eg_clear_error();
            continue;
        }
        check_large(EG_F32, 1, 5e-7);
        eg_tensor *x = egt_random(EG_SHAPE(5, 999), EG_F32, -9, 9);
        eg_tensor *want = eg_cast(eg_softmax(eg_cast(x, EG_F64), 1), EG_F32);
        EGT_CHECK(egt_distance(eg_softmax(x, 1), want) < 1e-6);
        EGT_CHECK(egt_distance(eg_softmax(eg_contiguous(eg_transpose(x, 0, 1)), 0), eg_transpose(want, 0, 1)) < 1e-6);
    }
    EGT_OK(eg_debug_isa(best));
}

/* Same bits whatever the number of threads. */
EGT(threads_do_not_change_results)
{
    enum { MANY = 5 }; /* also where there is one processor */
    int threads = eg_threads();
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        EG_SCOPE {
            eg_tensor *x = egt_random(large[i].shape, EG_F32, -1, 2);
            for (int op = 0; op < OPS; op++) {
                EGT_OK(eg_set_threads(1));
                eg_tensor *one = reduce_as(op, x, large[i].axes);
                EGT_OK(eg_set_threads(MANY));
                EGT_EQ(egt_distance(reduce_as(op, x, large[i].axes), one), 0);
            }
            EGT_OK(eg_set_threads(1));
            eg_tensor *one = eg_softmax(x, -1);
            EGT_OK(eg_set_threads(MANY));
            EGT_EQ(egt_distance(eg_softmax(x, -1), one), 0);
        }
    }
    EGT_OK(eg_set_threads(threads));
}

EGT(sums_stay_close_to_exact)
{
    /* 0.1 in f32, four million times: naive f32 addition is off by a tenth. */
    eg_tensor *x = eg_full(EG_SHAPE(4096, 1024), 0.1, EG_F32);
    double want = 4096.0 * 1024 * (double)0.1f;
    EGT_NEAR(eg_item(eg_sum(x)), want, 1e-6);
    EGT_NEAR(eg_get(eg_sum(x, .axes = EG_AXES(0)), 5), want / 1024, 1e-6);
    EGT_NEAR(eg_get(eg_cumsum(eg_reshape(x, EG_SHAPE(-1)), 0), 4096 * 1024 - 1), want, 1e-7);
    /* A large mean costs the variance no digits. */
    eg_tensor *far = eg_add_scalar(egt_random(EG_SHAPE(100000), EG_F64, -1, 1), 1e8);
    eg_tensor *near = eg_sub_scalar(far, 1e8);
    EGT_NEAR(eg_item(eg_var(far)), eg_item(eg_var(near)), 1e-9);
    /* Squares beyond the range of f32. */
    EGT_NEAR(eg_item(eg_norm(eg_full(EG_SHAPE(4), 1e30, EG_F32))), 2e30, 1e-6);
    EGT_NEAR(eg_get(eg_norm(eg_full(EG_SHAPE(4, 2), 1e-30, EG_F32), .axes = EG_AXES(0)), 1) * 1e30, 2, 1e-6);
}

EGT(long_lines_of_every_layout)
{
    for (int k = 0; k < 4; k++) {
        EG_SCOPE {
            double tolerance = k == 1 ? 1e-12 : k == 0 ? 1e-6 : 1e-2;
            eg_tensor *x = egt_random(EG_SHAPE(3, 9001), floats[k], -3, 3);
            eg_tensor *want = eg_cast(eg_softmax(eg_cast(x, EG_F64), 1), floats[k]);
            EGT_CHECK(egt_distance(eg_softmax(x, 1), want) < tolerance);
            eg_tensor *columns = eg_contiguous(eg_transpose(x, 0, 1));
            EGT_CHECK(egt_distance(eg_softmax(columns, 0), eg_transpose(want, 0, 1)) < tolerance);
            eg_tensor *gaps = eg_zeros(EG_SHAPE(3, 9001, 2), floats[k]);
            gaps = eg_copy_(eg_select(gaps, 2, 1), x);
            EGT_CHECK(egt_distance(eg_softmax(gaps, 1), want) < tolerance);
            eg_tensor *log_of = eg_cast(eg_log_softmax(gaps, 1), EG_F64);
            EGT_CHECK(egt_distance(eg_exp(log_of), eg_cast(want, EG_F64)) < 3 * tolerance + 1e-5 * (k > 1));
        }
    }
}
