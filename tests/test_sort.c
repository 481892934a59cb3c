/* test_sort.c - order: NaN, ties, refusals; what the sweep's random numbers do not meet. Runs on the CPU and on
 * the emulated device. */
#include "tests/egt.h"

#define F64(...) eg_from_values(EG_SHAPE(EG_COUNT_(double, __VA_ARGS__)), EG_F64, (double[]){__VA_ARGS__})
#define I64(...) eg_from_values(EG_SHAPE(EG_COUNT_(double, __VA_ARGS__)), EG_I64, (double[]){__VA_ARGS__})

static void check_same(eg_tensor *got, eg_tensor *want)
{
    EGT_NEAR(egt_distance(got, want), 0, 0);
}

static const eg_dtype floats[] = {EG_F64, EG_F32, EG_F16, EG_BF16};

EGT(nan_is_the_largest_and_ties_keep_their_order)
{
    for (int t = 0; t < 4; t++) {
        eg_tensor *x = F64(3, NAN, -1, 3, INFINITY, -0.0, 0.0, -INFINITY, -NAN), *v, *i;
        x = eg_cast(x, floats[t]);
        EGT_OK(eg_sort(x, 0, false, &v, &i));
        check_same(i, I64(7, 2, 5, 6, 0, 3, 4, 1, 8));
        check_same(v, eg_gather(x, 0, i));
        EGT_OK(eg_sort(x, 0, true, &v, &i));
        check_same(i, I64(1, 8, 4, 0, 3, 5, 6, 2, 7));
        EGT_OK(eg_topk(x, 4, 0, true, &v, &i));
        check_same(i, I64(1, 8, 4, 0));
        EGT_OK(eg_topk(x, 4, 0, false, &v, &i));
        check_same(i, I64(7, 2, 5, 6));
    }
}

EGT(integers_sort_by_all_their_bits)
{
    int64_t wide[] = {INT64_MAX, 0, INT64_MIN, -1, 1, (int64_t)1 << 32, -((int64_t)1 << 32), INT64_MAX - 1};
    eg_tensor *i;
    EGT_OK(eg_sort(eg_from(EG_SHAPE(8), EG_I64, wide), 0, false, NULL, &i));
    check_same(i, I64(2, 6, 3, 1, 4, 5, 7, 0));
    int32_t narrow[] = {INT32_MAX, 0, INT32_MIN, -1, 1};
    EGT_OK(eg_sort(eg_from(EG_SHAPE(5), EG_I32, narrow), 0, true, NULL, &i));
    check_same(i, I64(0, 4, 1, 3, 2));
    uint8_t bytes[] = {0, 2, 1, 0, 200}; /* any byte but 0 is true */
    EGT_OK(eg_sort(eg_wrap(bytes, EG_SHAPE(5), EG_BOOL, NULL, NULL), 0, false, NULL, &i));
    check_same(i, I64(0, 3, 1, 2, 4));
}

/* Long lines take other ways: all must agree with what order means. */
EGT(long_lines_are_sorted_stably)
{
    static const int64_t sizes[] = {15, 16, 17, 255, 256, 1000, 40000, 200001};
    for (int k = 0; k < 8; k++) {
        EG_SCOPE {
            eg_tensor *x = eg_floor(egt_random(EG_SHAPE(sizes[k]), EG_F32, -50, 50)), *v, *i;
            for (int down = 0; down < 2; down++) {
                EGT_OK(eg_sort(x, -1, down, &v, &i));
                const float *value = eg_data(eg_to(v, eg_cpu()));
                const int64_t *at = eg_data(eg_to(i, eg_cpu()));
                for (int64_t p = 1; p < sizes[k]; p++) {
                    bool order = down ? value[p] < value[p - 1] : value[p] > value[p - 1];
                    EGT_CHECK(order || (value[p] == value[p - 1] && at[p] > at[p - 1]));
                }
                check_same(v, eg_gather(x, 0, i));
            }
        }
    }
}

EGT(topk_is_the_start_of_sort_whatever_the_order)
{
    static const int64_t ks[] = {1, 5, 100, 700, 5000};
    eg_tensor *up = eg_arange(0, 5000, 1, EG_F32), *drawn = egt_random(EG_SHAPE(5000), EG_F32, 0, 9);
    eg_tensor *lines[] = {up, eg_neg(up), eg_floor(drawn), drawn};
    for (int l = 0; l < 4; l++) {
        for (int k = 0; k < 5; k++) {
            eg_tensor *v, *i, *sv, *si;
            EGT_OK(eg_topk(lines[l], ks[k], 0, true, &v, &i));
            EGT_OK(eg_sort(lines[l], 0, true, &sv, &si));
            check_same(i, eg_slice(si, 0, 0, ks[k], 1));
            check_same(v, eg_slice(sv, 0, 0, ks[k], 1));
        }
    }
}

EGT(k_outside_the_axis_is_refused)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 3), EG_F32), *v, *i;
    EGT_REFUSED(eg_topk(x, 4, 1, true, &v, &i), EG_EINVAL, "k is 4, must be 0..3");
    EGT_CHECK(!v && !i);
    EGT_REFUSED(eg_topk(x, -1, 1, true, &v, &i), EG_EINVAL, "k is -1");
    EGT_REFUSED(eg_topk(x, INT64_MIN, 1, true, &v, &i), EG_EINVAL, "topk");
    EGT_REFUSED(eg_kthvalue(x, 0, 1, &v, &i), EG_EINVAL, "k is 0, must be 1..3");
    EGT_REFUSED(eg_kthvalue(x, 4, 1, &v, &i), EG_EINVAL, "k is 4");
    EGT_REFUSED(eg_in_topk(x, eg_zeros(EG_SHAPE(2), EG_I64), -1), EG_EINVAL, "k is -1");
    static const int axes[] = {2, -3, INT32_MIN, INT32_MAX};
    for (int k = 0; k < 4; k++) {
        EGT_REFUSED(eg_sort(x, axes[k], false, &v, &i), EG_ESHAPE, "sort");
        EGT_CHECK(!v && !i);
        EGT_REFUSED(eg_argsort(x, axes[k], false), EG_ESHAPE, "argsort");
        EGT_REFUSED(eg_topk(x, 1, axes[k], true, &v, &i), EG_ESHAPE, "topk");
        EGT_REFUSED(eg_kthvalue(x, 1, axes[k], &v, &i), EG_ESHAPE, "kthvalue");
        EGT_REFUSED(eg_unique_slices(x, axes[k], &v, &i, NULL), EG_ESHAPE, "unique_slices");
    }
}

EGT(empty_lines_have_an_order)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(3, 0), EG_F32), *v, *i, *c;
    EGT_OK(eg_sort(x, 0, false, &v, &i));
    EGT_EQ(eg_numel(i), 0);
    EGT_OK(eg_topk(x, 2, 0, true, &v, &i));
    EGT_EQ(eg_size(v, 0), 2);
    EGT_OK(eg_unique(x, &v, &i, &c));
    EGT_EQ(eg_numel(v) + eg_numel(c), 0);
    EGT_OK(eg_unique_slices(x, 0, &v, &i, &c)); /* three slices of nothing are one */
    EGT_EQ(eg_size(v, 0), 1);
    EGT_EQ(eg_get(c, 0), 3);
    EGT_OK(eg_unique_slices(x, 1, &v, &i, &c));
    EGT_EQ(eg_size(v, 1), 0);
}

EGT(unique_counts_and_numbers)
{
    eg_tensor *v, *i, *c;
    EGT_OK(eg_unique(F64(2.5, -1, 2.5, 0), &v, &i, &c));
    check_same(v, F64(-1, 0, 2.5));
    check_same(i, I64(2, 0, 2, 1));
    check_same(c, I64(1, 1, 2));
    EGT_OK(eg_unique(F64(NAN, 1, NAN), &v, NULL, &c));
    EGT_EQ(eg_numel(v), 3);
    EGT_OK(eg_unique_consecutive(I64(1, 1, 2, 2, 3, 1, 1, 2), &v, &i, &c));
    check_same(v, I64(1, 2, 3, 1, 2));
    check_same(i, I64(0, 0, 1, 1, 2, 3, 3, 4));
    check_same(c, I64(2, 2, 1, 2, 1));
    eg_tensor *x = eg_from_values(EG_SHAPE(3, 4), EG_I32, (double[]){1, 0, 1, 1, 2, 3, 2, 0, 5, 5, 5, 5});
    EGT_OK(eg_unique_slices(x, 1, &v, &i, &c));
    check_same(v, eg_from_values(EG_SHAPE(3, 3), EG_I32, (double[]){0, 1, 1, 3, 0, 2, 5, 5, 5}));
    check_same(i, I64(2, 0, 2, 1));
    check_same(c, I64(1, 1, 2));
    EGT_REFUSED(eg_unique(NULL, &v, &i, &c), EG_EINVAL, "unique");
    EGT_CHECK(!v && !i && !c);
}

EGT(searching_a_line)
{
    eg_tensor *line = F64(1, 3, 3, 7);
    check_same(eg_searchsorted(line, F64(0, 1, 3, 5, 7, 8, NAN, INFINITY, -INFINITY), false),
               I64(0, 0, 1, 3, 3, 4, 4, 4, 0));
    check_same(eg_searchsorted(line, F64(0, 1, 3, 5, 7, 8, NAN, INFINITY, -INFINITY), true),
               I64(0, 1, 3, 3, 4, 4, 4, 4, 0));
    EGT_EQ(eg_item(eg_searchsorted(line, eg_scalar(4, EG_F32), false)), 3);
    if (eg_device_of(line) == eg_cpu()) { /* others say it later */
        EGT_REFUSED(eg_searchsorted(F64(1, 3, 2), line, false), EG_EINVAL, "falls from 3 to 2");
        EGT_REFUSED(eg_searchsorted(F64(1, NAN, 2), line, false), EG_EINVAL, "NaN");
        EGT_REFUSED(eg_searchsorted(F64(1, 2, NAN), line, false), EG_EINVAL, "NaN");
    }
    EGT_REFUSED(eg_searchsorted(eg_zeros(EG_SHAPE(2, 3), EG_F64), line, false), EG_ESHAPE, "[2, 3]");
    EGT_REFUSED(eg_searchsorted(eg_scalar(1, EG_F64), line, false), EG_ESHAPE, "[]");
    EGT_REFUSED(eg_searchsorted(NULL, line, false), EG_EINVAL, "line");
}

EGT(counting)
{
    check_same(eg_bincount(I64(1, 0, 1, 5), NULL, 0), I64(1, 2, 0, 0, 0, 1));
    check_same(eg_bincount(I64(1, 0, 1), NULL, 4), I64(1, 2, 0, 0));
    check_same(eg_bincount(I64(1, 0, 1), F64(-1, 2, 0.5), 0), F64(2, -0.5));
    EGT_EQ(eg_numel(eg_bincount(eg_zeros(EG_SHAPE(0), EG_I64), NULL, 3)), 3);
    EGT_REFUSED(eg_bincount(I64(1, -2), NULL, 0), EG_EINDEX, "x[1] is -2");
    EGT_REFUSED(eg_bincount(I64(1, 9e18), NULL, 0), EG_EINDEX, "9000000000000000000");
    EGT_REFUSED(eg_bincount(F64(1, 2), NULL, 0), EG_EDTYPE, "f64");
    EGT_REFUSED(eg_bincount(I64(1, 2), F64(1), 0), EG_ESHAPE, "[1]");
    EGT_REFUSED(eg_bincount(I64(1, 2), NULL, -1), EG_EINVAL, "least is -1");
    EGT_REFUSED(eg_bincount(eg_zeros(EG_SHAPE(1, 2), EG_I64), NULL, 0), EG_ESHAPE, "1-D");
    EGT_REFUSED(eg_bincount(NULL, NULL, 0), EG_EINVAL, "x");
}

EGT(histograms)
{
    eg_tensor *x = F64(0, 0.5, 1, 1.5, 2, -0.1, 2.1, INFINITY);
    check_same(eg_histogram(x, 2, 0, 2), I64(2, 3));
    check_same(eg_histogram(eg_cast(x, EG_F16), 4, 0, 2), I64(1, 1, 1, 2));
    EGT_REFUSED(eg_histogram(x, 0, 0, 1), EG_EINVAL, "0 bins");
    EGT_REFUSED(eg_histogram(x, INT64_MIN, 0, 1), EG_EINVAL, "histogram");
    EGT_REFUSED(eg_histogram(x, INT64_MAX, 0, 1), EG_ESHAPE, "negative");
    EGT_REFUSED(eg_histogram(x, 4, 1, 1), EG_EINVAL, "from 1 to 1");
    EGT_REFUSED(eg_histogram(x, 4, 0, INFINITY), EG_EINVAL, "inf");
    EGT_REFUSED(eg_histogram(x, 4, NAN, 1), EG_EINVAL, "nan");
    EGT_REFUSED(eg_histogram(F64(1, NAN), 4, 0, 1), EG_EINVAL, "NaN");
}

EGT(in_topk_counts_what_is_larger)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(3, 3), EG_F32, (double[]){1, 2, 3, 5, 5, 5, NAN, 1, 0});
    eg_tensor *y = eg_in_topk(x, I64(1, 2, 0), 2);
    EGT_EQ(eg_get(y, 0), 1);
    EGT_EQ(eg_get(y, 1), 1);
    EGT_EQ(eg_get(y, 2), 0);
    if (eg_device_of(x) == eg_cpu()) { /* others say it later */
        EGT_REFUSED(eg_in_topk(x, I64(1, 2, 3), 2), EG_EINDEX, "index 3 at position [2] is outside 0..2");
    }
    EGT_REFUSED(eg_in_topk(x, I64(1, 2), 2), EG_ESHAPE, "[3, 3]");
}
