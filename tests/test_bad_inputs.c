/* test_bad_inputs.c - what the core must survive: shapes and sizes, indices of views, values and dtypes,
 * the tape's life cycle. Families of ops have their own beside their other tests. */
#include "tests/egt.h"

#include <limits.h>

/* ---- shapes and sizes --------------------------------------------------------------------------- */

EGT(shapes_that_are_none)
{
    eg_shape s = {9, {1, 1, 1, 1, 1, 1, 1, 1}};
    EGT_REFUSED(eg_zeros(s, EG_F32), EG_ESHAPE, "rank 9");
    s.ndim = -1;
    EGT_REFUSED(eg_zeros(s, EG_F32), EG_ESHAPE, "rank -1");
    EGT_REFUSED(eg_zeros(EG_SHAPE(2, -3), EG_F32), EG_ESHAPE, "-3");
    EGT_REFUSED(eg_zeros(EG_SHAPE(1LL << 32, 1LL << 32), EG_U8), EG_ESHAPE, "64 bits");
    EGT_REFUSED(eg_zeros(EG_SHAPE(1LL << 61), EG_F64), EG_ESHAPE, "64 bits");
    EGT_REFUSED(eg_zeros(EG_SHAPE(2), (eg_dtype)99), EG_EDTYPE, "99");
    EGT_REFUSED(eg_empty(EG_SHAPE(1LL << 50), EG_F32), EG_ENOMEM, "bytes");
    EGT_CHECK(eg_zeros(EG_SHAPE(0, 1LL << 62, 1LL << 62), EG_F64)); /* empty: no overflow */
}

EGT(more_than_the_cap)
{
    EGT_OK(eg_memory_limit(eg_memory_stats().reserved_bytes + (8 << 20)));
    EGT_REFUSED(eg_zeros(EG_SHAPE(1 << 26), EG_F32), EG_ENOMEM, "limit");
    EGT_CHECK(eg_zeros(EG_SHAPE(1000), EG_F32));
    EGT_REFUSED(eg_memory_limit(-1), EG_EINVAL, "-1");
}

EGT(reshapes_that_do_not_fit)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(4, 6), EG_F32), *none = eg_zeros(EG_SHAPE(0, 6), EG_F32);
    EGT_REFUSED(eg_reshape(x, EG_SHAPE(-1, -1)), EG_ESHAPE, "two sizes");
    EGT_REFUSED(eg_reshape(x, EG_SHAPE(5, -1)), EG_ESHAPE, "24");
    EGT_REFUSED(eg_reshape(x, EG_SHAPE(5, 5)), EG_ESHAPE, "[5, 5]");
    EGT_REFUSED(eg_reshape(x, EG_SHAPE(-2, 12)), EG_ESHAPE, "-2");
    EGT_REFUSED(eg_reshape(none, EG_SHAPE(-1, 0)), EG_ESHAPE, "-1");
    EGT_REFUSED(eg_reshape(x, EG_SHAPE(1LL << 40, 1LL << 40)), EG_ESHAPE, "64 bits");
    EGT_CHECK(eg_size(eg_reshape(none, EG_SHAPE(-1, 3)), 0) == 0);
}

EGT(views_that_leave_the_storage)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(10), EG_F32);
    const int64_t one = 1, three = 3, back = -1, huge = INT64_MAX / 2;
    EGT_REFUSED(eg_as_strided(x, EG_SHAPE(11), &one, 0), EG_EINDEX, "10 elements");
    EGT_REFUSED(eg_as_strided(x, EG_SHAPE(4), &three, 1), EG_EINDEX, "leaves");
    EGT_REFUSED(eg_as_strided(x, EG_SHAPE(2), &back, 0), EG_EINDEX, "leaves");
    EGT_REFUSED(eg_as_strided(x, EG_SHAPE(4), &huge, 0), EG_EINDEX, "leaves");
    EGT_REFUSED(eg_as_strided(x, EG_SHAPE(1), &one, INT64_MAX), EG_EINDEX, "leaves");
    EGT_REFUSED(eg_as_strided(x, EG_SHAPE(1), &one, -1), EG_EINDEX, "leaves");
    EGT_CHECK(eg_as_strided(x, EG_SHAPE(4), &three, 0));
}

EGT(writing_where_elements_share_memory)
{
    eg_tensor *x = eg_expand(eg_zeros(EG_SHAPE(1, 3), EG_F32), EG_SHAPE(4, 3));
    EGT_REFUSED(eg_add_scalar_(x, 1), EG_ESHAPE, "share");
    EGT_REFUSED(eg_copy_(x, eg_ones(EG_SHAPE(4, 3), EG_F32)), EG_ESHAPE, "axis 0");
    EGT_REFUSED(eg_set(x, 2, 1), EG_ESHAPE, "share");
    EGT_REFUSED(eg_data_mut(x), EG_ESHAPE, "share");
    EGT_REFUSED(eg_device_data_mut(x), EG_ESHAPE, "share");
    EGT_EQ(eg_item(eg_sum(x)), 0);
    eg_tensor *mean = eg_expand(eg_zeros(EG_SHAPE(1), EG_F32), EG_SHAPE(3)), *var = eg_ones(EG_SHAPE(3), EG_F32);
    eg_tensor *batch = egt_random(EG_SHAPE(4, 3), EG_F32, 1, 2);
    EGT_REFUSED(eg_batch_norm(batch, NULL, NULL, mean, var, .training = true), EG_ESHAPE, "share");
    eg_tensor *x1 = eg_parameter(eg_ones(EG_SHAPE(3), EG_F32)), *dx;
    eg_tape tape = eg_tape_open();
    eg_tensor *y = eg_sum(eg_mul(x1, var));
    EGT_REFUSED(eg_batch_norm(batch, NULL, NULL, var, mean, .training = true), EG_ESHAPE, "share");
    EGT_OK(eg_tape_gradients(tape, y, &x1, 1, &dx)); /* what the tape keeps counts as untouched */
    eg_release(x1);
    EGT_EQ(eg_get(mean, 0), 0);
}

/* Strides that lead to a place twice though none is 0; and some that only look so. */
EGT(writing_where_strides_meet)
{
    static const struct {
        int64_t shape[3], strides[3], offset, twice;
    } row[] = {{{1, 3, 2}, {0, 1, 1}, 0, 2},  {{1, 3, 4}, {0, 2, 1}, 0, 4},   {{2, 2, 2}, {4, 2, 2}, 0, 2},
               {{1, 3, 2}, {0, -1, 1}, 2, 3}, {{2, 3, 2}, {3, 2, 1}, 0, 6},   {{1, 2, 3}, {0, 3, 2}, 0, -1},
               {{1, 2, 2}, {0, 3, 2}, 0, -1}, {{1, 2, 3}, {0, -3, 2}, 3, -1}, {{2, 1, 3}, {5, 0, -2}, 4, -1},
               {{1, 1, 4}, {7, 0, 3}, 0, -1}, {{0, 3, 2}, {0, 1, 1}, 0, -1}};
    for (int i = 0; i < (int)(sizeof row / sizeof *row); i++) {
        EG_SCOPE {
            eg_tensor *x = eg_zeros(EG_SHAPE(20), EG_F32), *y = NULL;
            const int64_t *n = row[i].shape;
            char word[40];
            snprintf(egt_case, sizeof egt_case, "strides that meet, row %d", i);
            y = eg_as_strided(x, EG_SHAPE(n[0], n[1], n[2]), row[i].strides, row[i].offset);
            if (row[i].twice < 0) {
                EGT_CHECK(eg_add_scalar_(y, 1) && eg_copy_(y, eg_scalar(2, EG_F32)));
                EGT_EQ(eg_item(eg_sum(x)), 2 * (double)eg_numel(y));
                continue;
            }
            snprintf(word, sizeof word, "element %d ", (int)row[i].twice);
            EGT_REFUSED(eg_add_scalar_(y, 1), EG_ESHAPE, word);
            EGT_REFUSED(eg_copy_(y, eg_scalar(1, EG_F32)), EG_ESHAPE, "shares its memory");
            EGT_REFUSED(eg_set(y, 0, 1), EG_ESHAPE, word);
            EGT_REFUSED(eg_data_mut(y), EG_ESHAPE, word);
            EGT_EQ(eg_item(eg_sum(x)), 0);
        }
    }
}

EGT(expand_and_permute)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 3), EG_F32);
    EGT_REFUSED(eg_expand(x, EG_SHAPE(4, 3)), EG_ESHAPE, "[2, 3]");
    EGT_REFUSED(eg_expand(x, EG_SHAPE(3)), EG_ESHAPE, "does not expand");
    EGT_REFUSED(eg_expand(x, EG_SHAPE(-1, 2, 3)), EG_ESHAPE, "-1");
    EGT_REFUSED(eg_permute(x, EG_AXES(0)), EG_ESHAPE, "1 axes");
    EGT_REFUSED(eg_permute(x, EG_AXES(0, 0)), EG_ESHAPE, "twice");
    EGT_REFUSED(eg_permute(x, EG_AXES(0, 2)), EG_ESHAPE, "axis 2");
}

EGT(axes_out_of_range)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 3), EG_F32);
    static const int bad[] = {2, -3, INT_MIN, INT_MAX};
    for (int i = 0; i < 4; i++) {
        EGT_REFUSED(eg_slice(x, bad[i], 0, 1, 1), EG_ESHAPE, "rank 2");
        EGT_REFUSED(eg_select(x, bad[i], 0), EG_ESHAPE, "rank 2");
        EGT_REFUSED(eg_transpose(x, 0, bad[i]), EG_ESHAPE, "rank 2");
        EGT_REFUSED(eg_sum(x, .axes = EG_AXES(bad[i])), EG_ESHAPE, "rank 2");
        EGT_REFUSED(eg_flatten(x, 0, bad[i]), EG_ESHAPE, "rank 2");
        EGT_REFUSED(eg_squeeze(x, EG_AXES(bad[i])), EG_ESHAPE, "rank 2");
    }
    EGT_REFUSED(eg_unsqueeze(x, 3), EG_ESHAPE, "rank 3");
    EGT_REFUSED(eg_sum(x, .axes = {9, {0}}), EG_ESHAPE, "9 axes");
    EGT_REFUSED(eg_sum(x, .axes = EG_AXES(1, -1)), EG_ESHAPE, "twice");
}

EGT(ranges)
{
    EGT_REFUSED(eg_arange(0, 1, 0, EG_F32), EG_EINVAL, "step");
    EGT_REFUSED(eg_arange(0, (double)NAN, 1, EG_F32), EG_EINVAL, "finite");
    EGT_REFUSED(eg_arange(0, 1e30, 1, EG_F32), EG_ESHAPE, "too many");
    EGT_REFUSED(eg_arange(0, 1e18, 1, EG_F32), EG_ENOMEM, "bytes");
    EGT_EQ(eg_numel(eg_arange(3, 1, 1, EG_F32)), 0);
    EGT_EQ(eg_get(eg_arange(3, 1, -1, EG_I64), 1), 2);
    EGT_EQ(eg_numel(eg_linspace(0, 1, 0, EG_F32)), 0);
    EGT_EQ(eg_item(eg_linspace(7, 9, 1, EG_F32)), 7);
    EGT_REFUSED(eg_linspace(0, 1, -1, EG_F32), EG_ESHAPE, "-1");
    eg_tensor *e = eg_eye(3, 3, INT64_MAX, EG_F32);
    EGT_EQ(eg_item(eg_sum(e)), 0);
    EGT_EQ(eg_item(eg_sum(eg_eye(3, 3, INT64_MIN, EG_F32))), 0);
}

/* 2^61 bytes seen through one; as wider elements 2^63 bytes and 2^64, which is nothing in 64 bits. */
EGT(results_whose_bytes_no_number_holds)
{
    eg_tensor *x = eg_expand(eg_zeros(EG_SHAPE(1, 1), EG_U8), EG_SHAPE(1LL << 31, 1LL << 30));
    EGT_CHECK(x && eg_numel(x) == 1LL << 61);
    EGT_REFUSED(eg_cast(x, EG_F32), EG_ENOMEM, "no memory for 9223372036854775807 bytes");
    EGT_REFUSED(eg_cast(x, EG_F64), EG_ENOMEM, "no memory for 9223372036854775807 bytes");
    EGT_REFUSED(eg_cast(x, EG_I64), EG_ENOMEM, "bytes");
    EGT_REFUSED(eg_contiguous(x), EG_ENOMEM, "bytes");
}

/* 64 TiB fit the addresses of a process. */
EGT(more_memory_than_the_machine_has)
{
    FILE *f = fopen("/proc/sys/vm/overcommit_memory", "r");
    int mode = f ? fgetc(f) : '?';
    if (f) {
        fclose(f);
    }
    if (mode != '0' && mode != '2') {
        egt_skip("this system promises all memory one asks for");
    }
    EGT_REFUSED(eg_empty(EG_SHAPE(1LL << 46), EG_U8), EG_ENOMEM, "70368744177664 bytes");
}

EGT(tensors_like_another)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 0, 3), EG_I32), *y = eg_full_like(x, 7);
    EGT_CHECK(eg_dtype_of(y) == EG_I32 && eg_ndim(y) == 3 && eg_numel(y) == 0);
    y = eg_full_like(eg_transpose(eg_zeros(EG_SHAPE(2, 3), EG_BF16), 0, 1), -2.5);
    EGT_CHECK(eg_dtype_of(y) == EG_BF16 && eg_size(y, 0) == 3 && eg_is_contiguous(y));
    EGT_EQ(eg_item(eg_sum(eg_cast(y, EG_F32))), -15);
    EGT_REFUSED(eg_full_like(NULL, 1), EG_EINVAL, "x");
}

EGT(broadcasting_of_shapes_that_do_not_match)
{
    eg_tensor *a = eg_zeros(EG_SHAPE(2, 3), EG_F32), *b = eg_zeros(EG_SHAPE(4), EG_F32);
    EGT_REFUSED(eg_add(a, b), EG_ESHAPE, "[2, 3] and [4]");
    EGT_REFUSED(eg_where(eg_zeros(EG_SHAPE(5), EG_BOOL), a, a), EG_ESHAPE, "broadcast");
    EGT_REFUSED(eg_add_(b, a), EG_ESHAPE, "broadcast");
    EGT_REFUSED(eg_add_(eg_zeros(EG_SHAPE(1, 3), EG_F32), a), EG_ESHAPE, "cannot replace");
}

/* ---- indices -------------------------------------------------------------------------------------- */

EGT(slices_and_positions)
{
    eg_tensor *x = eg_arange(0, 5, 1, EG_I64);
    EGT_REFUSED(eg_select(x, 0, 5), EG_EINDEX, "index 5");
    EGT_REFUSED(eg_select(x, 0, -6), EG_EINDEX, "index -6");
    EGT_REFUSED(eg_select(x, 0, INT64_MIN), EG_EINDEX, "outside");
    EGT_REFUSED(eg_slice(x, 0, 0, 5, 0), EG_EINVAL, "step");
    EGT_EQ(eg_numel(eg_slice(x, 0, -INT64_MAX, EG_END, 1)), 5);
    EGT_EQ(eg_numel(eg_slice(x, 0, 4, INT64_MIN + 1, -1)), 5);
    EGT_EQ(eg_numel(eg_slice(x, 0, 0, EG_END, INT64_MAX)), 1);
    EGT_EQ(eg_numel(eg_slice(x, 0, 3, 3, 1)), 0);
    EGT_REFUSED(eg_get(x, 5), EG_EINDEX, "index 5");
    EGT_REFUSED(eg_set(x, -1, 0), EG_EINDEX, "index -1");
}

EGT(index_expressions)
{
    eg_tensor *x = eg_reshape(eg_arange(0, 24, 1, EG_I64), EG_SHAPE(2, 3, 4));
    EGT_EQ(eg_item(eg_index(x, "1, 2, 3")), 23);
    EGT_EQ(eg_item(eg_index(x, " -1 , ..., -1 , 0 ")), 20);
    EGT_EQ(eg_get(eg_index(x, "0, ::-1, 1:3"), 0), 9);
    EGT_EQ(eg_ndim(eg_index(x, "None, 0, ..., None")), 4);
    EGT_EQ(eg_numel(eg_index(x, "")), 24);
    static const char *const bad[] = {"a",   "1,,2",      "1 2", "0, 0, 0, 0", "..., ...",
                                      "2",   "::0",       ",",   "1:2:3:4",    "99999999999999999999",
                                      "--1", "None None", "1,"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        eg_clear_error();
        snprintf(egt_case, sizeof egt_case, "index_expressions \"%s\"", bad[i]);
        EGT_CHECK(eg_index(x, bad[i]) == NULL && eg_last_error()->message[0]);
    }
    eg_clear_error();
    EGT_REFUSED(eg_index(x, NULL), EG_EINVAL, "expression");
}

/* ---- values and dtypes ------------------------------------------------------------------------------ */

EGT(dtypes_an_op_does_not_take)
{
    eg_tensor *f = eg_ones(EG_SHAPE(2), EG_F32), *b = eg_ones(EG_SHAPE(2), EG_BOOL);
    EGT_REFUSED(eg_bitwise_and(f, f), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_neg(b), EG_EDTYPE, "bool");
    EGT_REFUSED(eg_relu(b), EG_EDTYPE, "bool");
    EGT_REFUSED(eg_avg_pool2d(eg_ones(EG_SHAPE(2, 2), EG_I64), .kernel = 1), EG_ESHAPE, "[2, 2]");
    EGT_REFUSED(eg_conv1d(eg_ones(EG_SHAPE(1, 1, 2), EG_I64), eg_ones(EG_SHAPE(1, 1, 2), EG_I64), NULL), EG_EDTYPE,
                "i64");
    EGT_REFUSED(eg_parameter(eg_ones(EG_SHAPE(2), EG_I32)), EG_EDTYPE, "i32");
    EGT_REFUSED(eg_exp_(eg_ones(EG_SHAPE(2), EG_I32)), EG_EDTYPE, "i32");
    EGT_REFUSED(eg_cast(f, (eg_dtype)-1), EG_EDTYPE, "-1");
    EGT_REFUSED(eg_add_(eg_ones(EG_SHAPE(2), EG_I32), NULL), EG_EINVAL, "input 1");
}

EGT(casts_of_what_does_not_fit)
{
    double v[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e30, -1e30, 3.9, -3.9, 300};
    eg_tensor *x = eg_from_values(EG_SHAPE(8), EG_F64, v);
    static const double i64[] = {0, 0x1p63, -0x1p63, 0x1p63, -0x1p63, 3, -3, 300};
    static const double i32[] = {0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 3, -3, 300};
    static const double u8[] = {0, 255, 0, 255, 0, 3, 0, 255};
    eg_tensor *a = eg_cast(x, EG_I64), *b = eg_cast(x, EG_I32), *c = eg_cast(x, EG_U8);
    for (int i = 0; i < 8; i++) {
        EGT_EQ(eg_get(a, i), i64[i]);
        EGT_EQ(eg_get(b, i), i32[i]);
        EGT_EQ(eg_get(c, i), u8[i]);
    }
}

EGT(a_bool_that_holds_two)
{
    uint8_t bytes[] = {0, 1, 2, 255};
    eg_tensor *x = eg_wrap(bytes, EG_SHAPE(4), EG_BOOL, NULL, NULL);
    EGT_EQ(eg_item(eg_sum(x)), 3);
    EGT_EQ(eg_get(x, 2), 1);
    EGT_EQ(eg_get(eg_logical_not(x), 3), 0);
    EGT_EQ(eg_get(eg_eq(x, eg_ones(EG_SHAPE(4), EG_BOOL)), 2), 1);
    EGT_EQ(eg_get(eg_add(x, x), 3), 1);
    EGT_EQ(eg_get(eg_cast(x, EG_F32), 3), 1);
}

EGT(integers_divide_and_shift_without_a_signal)
{
    eg_tensor *a = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){7, INT64_MIN, -7});
    eg_tensor *b = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){0, -1, 2});
    EGT_EQ(eg_get(eg_floor_divide(a, b), 0), 0);
    EGT_EQ(eg_get(eg_floor_divide(a, b), 1), -0x1p63);
    EGT_EQ(eg_get(eg_floor_divide(a, b), 2), -4);
    EGT_EQ(eg_get(eg_remainder(a, b), 0), 0);
    EGT_EQ(eg_get(eg_remainder(a, b), 1), 0);
    EGT_EQ(eg_get(eg_remainder(a, b), 2), 1);
    EGT_EQ(eg_get(eg_fmod(a, b), 2), -1);
    eg_tensor *s = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){64, -1, INT64_MAX});
    for (int i = 0; i < 3; i++) {
        EGT_EQ(eg_get(eg_shift_left(a, s), i), 0);
        EGT_EQ(eg_get(eg_shift_right(a, s), i), i == 0 ? 0 : -1);
    }
    EGT_REFUSED(eg_pow(a, eg_neg(eg_ones(EG_SHAPE(3), EG_I64))), EG_EINVAL, "negative");
    EGT_EQ(eg_get(eg_pow_scalar(a, 2), 2), 49);
    EGT_CHECK(isinf(eg_get(eg_div(a, b), 0)));
}

/* ---- life cycle ------------------------------------------------------------------------------------- */

EGT(tensors_that_are_gone)
{
    eg_scope s = eg_scope_push();
    eg_tensor *dead = eg_zeros(EG_SHAPE(3), EG_F32);
    eg_scope_pop(s, NULL);
    EGT_REFUSED(eg_neg(dead), EG_EINVAL, "not a live tensor");
    EGT_REFUSED(eg_keep(dead), EG_EINVAL, "not a live tensor");
    EGT_REFUSED(eg_release(dead), EG_EINVAL, "not a live tensor");
    EGT_REFUSED(eg_item(dead), EG_EINVAL, "not a live tensor");
    EGT_REFUSED(eg_scope_pop(s, NULL), EG_ESTATE, "popped already");
    EGT_REFUSED(eg_scope_pop((eg_scope){1000000, 7}, NULL), EG_ESTATE, "popped already");
    eg_tensor *x = eg_zeros(EG_SHAPE(3), EG_F32);
    EGT_REFUSED(eg_release(x), EG_ESTATE, "not kept");
    eg_keep(x);
    EGT_OK(eg_release(x));
    EGT_REFUSED(eg_release(x), EG_ESTATE, "not kept");
    EGT_OK(eg_release(NULL));
}

EGT(null_passes_through_and_keeps_the_first_cause)
{
    eg_tensor *a = eg_zeros(EG_SHAPE(2, 3), EG_F32), *b = eg_zeros(EG_SHAPE(2, 3), EG_F32);
    eg_clear_error();
    EGT_CHECK(eg_relu(eg_add(eg_matmul(a, b), a)) == NULL);
    EGT_STR(eg_last_error()->op, "matmul");
    EGT_STR(eg_last_error()->message, "inner sizes differ: [2, 3] x [2, 3]");
    eg_clear_error();
    EGT_CHECK(eg_relu(NULL) == NULL);
    EGT_STR(eg_last_error()->op, "relu");
    eg_clear_error();
}

static int freed;

static void count_free(void *data, void *user)
{
    freed++;
    *(void **)user = data;
}

EGT(memory_of_the_user)
{
    _Alignas(8) char bytes[64] = {0};
    void *seen = NULL;
    freed = 0;
    EGT_REFUSED(eg_wrap(bytes + 1, EG_SHAPE(4), EG_F32, count_free, &seen), EG_EINVAL, "aligned");
    EGT_REFUSED(eg_wrap(NULL, EG_SHAPE(4), EG_F32, count_free, &seen), EG_EINVAL, "data");
    EGT_REFUSED(eg_wrap(bytes, EG_SHAPE(INT64_MAX), EG_F32, count_free, &seen), EG_ESHAPE, "64 bits");
    EGT_EQ(freed, 0);
    eg_scope s = eg_scope_push();
    eg_tensor *x = eg_wrap(bytes, EG_SHAPE(4), EG_F32, count_free, &seen);
    eg_tensor *view = eg_keep(eg_slice(x, 0, 1, 3, 1));
    eg_scope_pop(s, NULL);
    EGT_EQ(freed, 0);
    EGT_CHECK(eg_add_scalar_(view, 2.5) == view);
    EGT_EQ(((float *)(void *)bytes)[1], 2.5);
    eg_release(view);
    EGT_EQ(freed, 1);
    EGT_CHECK(seen == bytes);
}

EGT(format_characters_are_text)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2), EG_F32);
    eg_clear_error();
    EGT_CHECK(eg_index(x, "%n%s%d") == NULL);
    EGT_CHECK(strstr(eg_last_error()->message, "%n%s"));
    eg_clear_error();
}

EGT(failures_of_ones_own)
{
    EGT_EQ(eg_failf(EG_OK, "mine", "%d", 1), EG_OK);
    EGT_EQ(eg_last_error()->code, EG_OK);
    EGT_EQ(eg_fail(EG_EIO, "mine", "100 %s"), EG_EIO);
    EGT_STR(eg_last_error()->message, "100 %s");
    EGT_EQ(eg_failf(EG_EUSER, "load", "%s: %s (%d)", "a.txt", eg_last_error()->message, 7), EG_EUSER);
    EGT_EQ(eg_last_error()->code, EG_EUSER);
    EGT_STR(eg_last_error()->op, "load");
    EGT_STR(eg_last_error()->message, "a.txt: 100 %s (7)");
    EGT_EQ(eg_fail(EG_EUSER, "again", eg_last_error()->message), EG_EUSER);
    EGT_STR(eg_last_error()->message, "a.txt: 100 %s (7)");
    EGT_EQ(eg_failf(EG_EINVAL, NULL, "%400s", "cut"), EG_EINVAL);
    EGT_STR(eg_last_error()->op, "");
    EGT_EQ(strlen(eg_last_error()->message), sizeof eg_last_error()->message - 1);
    eg_clear_error();
}

EGT(debug_words)
{
    EGT_REFUSED(eg_debug("nan,nonsense"), EG_EINVAL, "nonsense");
    EGT_OK(eg_debug("nan"));
    eg_tensor *zero = eg_zeros(EG_SHAPE(2), EG_F32);
    EGT_REFUSED(eg_log(zero), EG_EUSER, "non-finite");
    EGT_STR(eg_last_error()->op, "");
    EGT_OK(eg_debug("poison,ref"));
    EGT_CHECK(isnan(eg_get(eg_empty(EG_SHAPE(2), EG_F32), 0)));
    EGT_EQ(eg_get(eg_add(zero, zero), 1), 0);
    EGT_OK(eg_debug(""));
    EGT_REFUSED(eg_debug_isa("vax"), EG_ENODEVICE, "vax");
    EGT_REFUSED(eg_set_threads(0), EG_EINVAL, "n is 0");
}

EGT(a_root_scope_that_is_never_left)
{
    /* Results made outside any scope of ours belong to the test's; the count is what leaks are told by. */
    int64_t before = eg_memory_stats().live_tensors;
    EG_SCOPE {
        eg_zeros(EG_SHAPE(3), EG_F32);
        EGT_EQ(eg_memory_stats().live_tensors, before + 1);
    }
    EGT_EQ(eg_memory_stats().live_tensors, before);
}
