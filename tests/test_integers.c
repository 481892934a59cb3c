/* test_integers.c - integers where numbers meet them: limits, numbers beside tensors, makers, powers; each by
 * the tuned kernels and the reference loops. */
#include "tests/egt.h"

#define OF(dtype, ...) eg_from_values(EG_SHAPE(EG_COUNT_(double, __VA_ARGS__)), dtype, (double[]){__VA_ARGS__})
#define I64(...)       eg_from(EG_SHAPE(EG_COUNT_(int64_t, __VA_ARGS__)), EG_I64, (int64_t[]){__VA_ARGS__})

/* Of one dtype and shape, bit for bit but for NaN. */
static bool same(eg_tensor *a, eg_tensor *b)
{
    if (!a || !b || eg_dtype_of(a) != eg_dtype_of(b) || eg_ndim(a) != eg_ndim(b)) {
        return false;
    }
    for (int d = 0; d < eg_ndim(a); d++) {
        if (eg_size(a, d) != eg_size(b, d)) {
            return false;
        }
    }
    for (int64_t i = 0; i < eg_numel(a); i++) {
        const double x = eg_get(a, i), y = eg_get(b, i);
        if (!(x == y || (isnan(x) && isnan(y))) || (eg_dtype_of(a) == EG_I64 && eg_get_int(a, i) != eg_get_int(b, i))) {
            return false;
        }
    }
    return true;
}

#define EACH_ENGINE for (int engine_ = 0; engine_ < 2; engine_++, eg_debug(engine_ == 1 ? "ref" : ""))

/* ---- limits ------------------------------------------------------------------------------------------ */

static const eg_dtype integers[] = {EG_I64, EG_I32, EG_U8};
static const double least[] = {-0x1p63, -0x1p31, 0}, above[] = {0x1p63, 0x1p31, 256};

EGT(limits_of_integers)
{
    const double far = (double)INFINITY;
    EACH_ENGINE
    {
        EGT_CHECK(same(eg_clamp(I64(-5, 3, INT64_MAX), 0, far), I64(0, 3, INT64_MAX)));
        EGT_CHECK(same(eg_clamp(I64(-5, 3, INT64_MIN), -far, 1), I64(-5, 1, INT64_MIN)));
        EGT_CHECK(same(eg_clamp_min(I64(-5, 3), -0x1p63), I64(-5, 3)));
        EGT_CHECK(same(eg_clamp_max(I64(-5, INT64_MAX), 0x1p63), I64(-5, INT64_MAX)));
        EGT_CHECK(same(eg_clamp(OF(EG_U8, 0, 7, 255), -1, 300), OF(EG_U8, 0, 7, 255)));
        EGT_CHECK(same(eg_clamp(OF(EG_I32, -9, 7, 1e9), -1e12, 1e12), OF(EG_I32, -9, 7, 1e9)));
        eg_tensor *x = OF(EG_I32, -2, 0, 3);
        EGT_CHECK(eg_clamp_(x, -far, 1.5) == x && same(x, OF(EG_I32, -2, 0, 1)));
    }
}

EGT(limits_beyond_doubles)
{
    const int64_t odd = ((int64_t)1 << 53) + 1;
    EACH_ENGINE
    {
        EGT_CHECK(same(eg_clamp_int(I64(0, odd + 1, odd + 9), odd, odd + 2), I64(odd, odd + 1, odd + 2)));
        EGT_CHECK(same(eg_clamp_int(I64(-odd - 9, 0), -odd, INT64_MAX), I64(-odd, 0)));
        EGT_CHECK(same(eg_clamp_min_int(I64(0, INT64_MAX), INT64_MAX - 1), I64(INT64_MAX - 1, INT64_MAX)));
        EGT_CHECK(same(eg_clamp_max_int(I64(0, INT64_MIN), INT64_MIN + 1), I64(INT64_MIN + 1, INT64_MIN)));
        EGT_CHECK(same(eg_clamp_int(OF(EG_U8, 0, 7, 255), -1, 300), OF(EG_U8, 0, 7, 255)));
        EGT_CHECK(same(eg_clamp_int(OF(EG_F32, -9, 0.5, 9), -1, 1), OF(EG_F32, -1, 0.5, 1)));
        eg_tensor *x = I64(0, 5);
        EGT_CHECK(eg_clamp_int_(x, odd, odd) == x && same(x, I64(odd, odd)));
        EGT_CHECK(eg_clamp_max_int_(x, 3) == x && eg_clamp_min_int_(x, 4) == x && same(x, I64(4, 4)));
    }
    EGT_REFUSED(eg_clamp_min_int(OF(EG_U8, 1), 256), EG_EINVAL, "low is 256");
    EGT_REFUSED(eg_clamp_int(OF(EG_I32, 1), 0, INT64_MIN), EG_EINVAL, "high");
}

EGT(fractions_as_limits)
{
    EACH_ENGINE
    {
        EGT_CHECK(same(eg_clamp_min(OF(EG_I32, -1, 0, 1, 2), 0.5), OF(EG_I32, 1, 1, 1, 2)));
        EGT_CHECK(same(eg_clamp_max(OF(EG_I32, -3, -2, -1, 0), -1.5), OF(EG_I32, -3, -2, -2, -2)));
        EGT_CHECK(same(eg_clamp(OF(EG_I32, -3, -2, 1, 2, 3), -1.5, 2.5), OF(EG_I32, -1, -1, 1, 2, 2)));
        EGT_CHECK(same(eg_clamp(OF(EG_U8, 0, 1, 2), 0.25, 0.75), OF(EG_U8, 0, 0, 0)));
    }
}

EGT(limits_no_integer_can_keep)
{
    for (int t = 0; t < 3; t++) {
        eg_tensor *x = eg_ones(EG_SHAPE(3), integers[t]);
        EGT_REFUSED(eg_clamp_min(x, above[t]), EG_EINVAL, eg_dtype_name(integers[t]));
        EGT_REFUSED(eg_clamp(x, (double)INFINITY, (double)INFINITY), EG_EINVAL, "low");
        EGT_REFUSED(eg_clamp_max(x, nextafter(least[t], -1e300)), EG_EINVAL, "clamp_max");
        EGT_REFUSED(eg_clamp(x, 0, (double)NAN), EG_EINVAL, "nan");
        EGT_REFUSED(eg_clamp_min_(x, (double)NAN), EG_EINVAL, "nan");
        EGT_CHECK(same(x, eg_ones(EG_SHAPE(3), integers[t])));
    }
    EGT_REFUSED(eg_clamp_min(OF(EG_U8, 1), 300), EG_EINVAL, "300");
    EGT_REFUSED(eg_clamp_min(OF(EG_U8, 1), 255.5), EG_EINVAL, "255.5");
    EGT_REFUSED(eg_clamp_min(NULL, 0), EG_EINVAL, "NULL");
    EGT_REFUSED(eg_clamp_min(eg_ones(EG_SHAPE(1), EG_BOOL), 7), EG_EDTYPE, "bool");
}

/* min(max(x, low), high) is high where low is above it. */
EGT(limits_that_cross)
{
    for (int t = 0; t < EG_BOOL; t++) {
        EACH_ENGINE
        {
            eg_tensor *x = OF((eg_dtype)t, 1, 2, 3, 4, 5);
            EGT_CHECK(same(eg_clamp(x, 3, 2), OF((eg_dtype)t, 2, 2, 2, 2, 2)));
        }
    }
}

EGT(limits_of_nan)
{
    const double nan = (double)NAN;
    for (int t = 0; t < EG_I64; t++) {
        EACH_ENGINE
        {
            eg_tensor *x = OF((eg_dtype)t, 1, 5, nan), *none = OF((eg_dtype)t, nan, nan, nan);
            EGT_CHECK(same(eg_clamp(x, 2, 3), OF((eg_dtype)t, 2, 3, nan)));
            EGT_CHECK(same(eg_clamp(x, 3, 2), OF((eg_dtype)t, 2, 2, nan)));
            EGT_CHECK(same(eg_clamp(x, nan, 3), none) && same(eg_clamp(x, 3, nan), none));
            EGT_CHECK(same(eg_clamp_min(x, nan), none) && same(eg_clamp_max(x, nan), none));
        }
    }
}

static eg_tensor *slope(double low, double high)
{
    eg_tensor *x = OF(EG_F64, 1, 2, 3, 4, 5), *g = NULL;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = eg_clamp(x, low, high);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &g, .dy = eg_ones_like(y)));
    return g;
}

EGT(slopes_between_limits)
{
    EACH_ENGINE
    {
        EGT_CHECK(same(slope(2, 4), OF(EG_F64, 0, 1, 1, 1, 0)));
        EGT_CHECK(same(slope(3, 2), OF(EG_F64, 0, 0, 0, 0, 0)));
        EGT_CHECK(same(slope((double)NAN, 9), OF(EG_F64, 0, 0, 0, 0, 0)));
    }
}

/* ---- comparing with a number -------------------------------------------------------------------------- */

typedef eg_tensor *compare(eg_tensor *a, double b);
typedef eg_tensor *compare_int(eg_tensor *a, int64_t b);
static const struct {
    const char *name;
    compare *f, *in_place;
    compare_int *with_int;
    bool below, equal, above, unordered; /* what it says of an element below the number, ... */
} comparisons[] = {
    {"eq", eg_eq_scalar, eg_eq_scalar_, eg_eq_int, false, true, false, false},
    {"ne", eg_ne_scalar, eg_ne_scalar_, eg_ne_int, true, false, true, true},
    {"lt", eg_lt_scalar, eg_lt_scalar_, eg_lt_int, true, false, false, false},
    {"le", eg_le_scalar, eg_le_scalar_, eg_le_int, true, true, false, false},
    {"gt", eg_gt_scalar, eg_gt_scalar_, eg_gt_int, false, false, true, false},
    {"ge", eg_ge_scalar, eg_ge_scalar_, eg_ge_int, false, true, true, false},
};
enum { COMPARISONS = sizeof comparisons / sizeof *comparisons };

/* The elements 0 and 1 and a number: -1 where they lie below it, 0, 1, or 2 beside NaN. */
static void check_comparison(eg_dtype dtype, double number, int zero, int one)
{
    for (int k = 0; k < COMPARISONS; k++) {
        const bool says[] = {comparisons[k].below, comparisons[k].equal, comparisons[k].above,
                             comparisons[k].unordered};
        eg_tensor *x = OF(dtype, 0, 1), *y = comparisons[k].f(x, number);
        snprintf(egt_case, sizeof egt_case, "%s %s %g", eg_dtype_name(dtype), comparisons[k].name, number);
        EGT_CHECK(same(y, OF(EG_BOOL, says[zero + 1], says[one + 1])));
        if (number >= -0x1p63 && number < 0x1p63 && number == floor(number)) {
            EGT_CHECK(same(comparisons[k].with_int(x, (int64_t)number), y));
        }
        if (dtype == EG_BOOL) {
            EGT_CHECK(comparisons[k].in_place(x, number) == x && same(x, y));
        }
    }
}

EGT(comparisons_are_exact)
{
    const double far = (double)INFINITY;
    for (int t = EG_I64; t <= EG_BOOL; t++) {
        EACH_ENGINE
        {
            check_comparison((eg_dtype)t, 0, 0, 1);
            check_comparison((eg_dtype)t, 1, -1, 0);
            check_comparison((eg_dtype)t, 0.5, -1, 1);
            check_comparison((eg_dtype)t, 1e-300, -1, 1);
            check_comparison((eg_dtype)t, -0.5, 1, 1);
            check_comparison((eg_dtype)t, -1, 1, 1);
            check_comparison((eg_dtype)t, 2, -1, -1);
            check_comparison((eg_dtype)t, 300, -1, -1);
            check_comparison((eg_dtype)t, 1e12, -1, -1);
            check_comparison((eg_dtype)t, -1e30, 1, 1);
            check_comparison((eg_dtype)t, 0x1p63, -1, -1);
            check_comparison((eg_dtype)t, far, -1, -1);
            check_comparison((eg_dtype)t, -far, 1, 1);
            check_comparison((eg_dtype)t, (double)NAN, 2, 2);
        }
    }
}

EGT(comparisons_at_the_ends)
{
    EACH_ENGINE
    {
        eg_tensor *x = I64(INT64_MIN, INT64_MAX - 1, INT64_MAX);
        EGT_CHECK(same(eg_eq_scalar(x, 0x1p63), OF(EG_BOOL, 0, 0, 0)));
        EGT_CHECK(same(eg_lt_scalar(x, 0x1p63), OF(EG_BOOL, 1, 1, 1)));
        EGT_CHECK(same(eg_eq_scalar(x, -0x1p63), OF(EG_BOOL, 1, 0, 0)));
        EGT_CHECK(same(eg_eq_int(x, INT64_MAX), OF(EG_BOOL, 0, 0, 1)));
        EGT_CHECK(same(eg_ge_int(x, INT64_MAX - 1), OF(EG_BOOL, 0, 1, 1)));
        EGT_CHECK(same(eg_eq_int(OF(EG_U8, 0, 255), 256), OF(EG_BOOL, 0, 0)));
        EGT_CHECK(same(eg_gt_int(OF(EG_U8, 0, 255), -1), OF(EG_BOOL, 1, 1)));
    }
}

EGT(logic_with_numbers)
{
    EACH_ENGINE
    {
        for (int t = EG_I64; t <= EG_BOOL; t++) {
            eg_tensor *x = OF((eg_dtype)t, 0, 1);
            EGT_CHECK(same(eg_logical_and_scalar(x, -256), OF(EG_BOOL, 0, 1)));
            EGT_CHECK(same(eg_logical_or_scalar(x, 0.25), OF(EG_BOOL, 1, 1)));
            EGT_CHECK(same(eg_logical_xor_scalar(x, (double)NAN), OF(EG_BOOL, 1, 0)));
            EGT_CHECK(same(eg_logical_or_int(x, INT64_MIN), OF(EG_BOOL, 1, 1)));
            EGT_CHECK(same(eg_logical_or_int(x, 0), OF(EG_BOOL, 0, 1)));
        }
    }
}

/* ---- arithmetic with a number -------------------------------------------------------------------------- */

EGT(numbers_an_integer_cannot_hold)
{
    for (int t = 0; t < 3; t++) {
        eg_tensor *x = eg_ones(EG_SHAPE(3), integers[t]);
        const char *name = eg_dtype_name(integers[t]);
        EGT_REFUSED(eg_add_scalar(x, above[t]), EG_EINVAL, name);
        EGT_REFUSED(eg_mul_scalar_(x, above[t]), EG_EINVAL, name);
        EGT_REFUSED(eg_minimum_scalar(x, 4 * least[t] - 5), EG_EINVAL, "minimum");
        EGT_REFUSED(eg_remainder_scalar(x, 1e300), EG_EINVAL, name);
        EGT_CHECK(same(x, eg_ones(EG_SHAPE(3), integers[t])));
    }
    EGT_REFUSED(eg_add_scalar(OF(EG_U8, 1), -1), EG_EINVAL, "-1 is outside u8");
    EGT_REFUSED(eg_shift_left_scalar(OF(EG_U8, 1), -1), EG_EINVAL, "-1 is outside u8");
    EGT_REFUSED(eg_add_int(OF(EG_I32, 1), (int64_t)1 << 31), EG_EINVAL, "2147483648 is outside i32");
    const int64_t odd = ((int64_t)1 << 60) + ((int64_t)1 << 52) + 1; /* halfway in bf16, once double has it */
    const eg_dtype narrow[] = {EG_BF16, EG_F32};
    for (int k = 0; k < 2; k++) {
        eg_tensor *zero = eg_zeros(EG_SHAPE(1), narrow[k]);
        EGT_EQ(eg_item(eg_add_int(zero, odd)), eg_item(eg_scalar_int(odd, narrow[k])));
        EGT_EQ(eg_item(eg_add_int_(zero, odd)), eg_item(eg_scalar_int(odd, narrow[k])));
    }
    EGT_EQ(eg_item(eg_add_int(eg_zeros(EG_SHAPE(1), EG_BF16), odd)), 0x1.02p60);
    EGT_CHECK(signbit(eg_item(eg_mul_int(eg_scalar(-1, EG_F32), 0))));
    EGT_CHECK(signbit(eg_item(eg_add_scalar(eg_scalar(-0.0, EG_F32), -0.0))));
    EGT_REFUSED(eg_bitwise_and_int_(OF(EG_U8, 1), 256), EG_EINVAL, "256 is outside u8");
    EGT_REFUSED(eg_add_int(NULL, 1), EG_EINVAL, "NULL");
    EGT_REFUSED(eg_add_int_(NULL, 1), EG_EINVAL, "NULL");
}

EGT(numbers_that_are_not_whole)
{
    EACH_ENGINE
    {
        for (int t = EG_I64; t <= EG_BOOL; t++) {
            eg_tensor *x = OF((eg_dtype)t, 0, 1);
            EGT_CHECK(same(eg_add_scalar(x, 0.5), OF(EG_F32, 0.5, 1.5)));
            EGT_CHECK(same(eg_add_scalar(x, (double)INFINITY), OF(EG_F32, INFINITY, INFINITY)));
            EGT_CHECK(same(eg_maximum_scalar(x, (double)NAN), OF(EG_F32, NAN, NAN)));
            EGT_REFUSED(eg_add_scalar_(x, 0.5), EG_EDTYPE, "f32");
            EGT_CHECK(same(eg_div_scalar(x, 1e12), eg_div_scalar(eg_cast(x, EG_F32), 1e12)));
            EGT_CHECK(same(eg_hypot_scalar(x, 300), eg_hypot_scalar(eg_cast(x, EG_F32), 300)));
        }
        eg_tensor *mask = OF(EG_BOOL, 0, 1);
        EGT_CHECK(same(eg_add_scalar(mask, 300), I64(300, 301)));
        EGT_CHECK(same(eg_mul_int(mask, INT64_MAX), I64(0, INT64_MAX)));
        EGT_REFUSED(eg_add_scalar_(mask, 1), EG_EDTYPE, "i64");
    }
}

/* What the target cannot hold is not cut off. */
EGT(tensors_an_integer_cannot_hold)
{
    eg_tensor *x = OF(EG_I32, 1, 2), *mask = OF(EG_BOOL, 0, 1), *half = OF(EG_F32, 0.5, 0.5);
    EGT_REFUSED(eg_add_(x, half), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_mul_(x, eg_scalar(0.5, EG_F16)), EG_EDTYPE, "f16");
    EGT_REFUSED(eg_add_(mask, x), EG_EDTYPE, "i32");
    EGT_REFUSED(eg_eq_(mask, half), EG_EDTYPE, "f32");
    EGT_CHECK(same(x, OF(EG_I32, 1, 2)) && same(mask, OF(EG_BOOL, 0, 1)));
    EGT_CHECK(eg_logical_and_(mask, half) == mask && same(mask, OF(EG_BOOL, 0, 1)));
    EGT_CHECK(same(eg_add_(x, I64(1, 1)), OF(EG_I32, 2, 3)) && same(eg_add_(half, x), OF(EG_F32, 2.5, 3.5)));
}

EGT(integers_keep_their_digits)
{
    const int64_t big = ((int64_t)1 << 53) + 1;
    EACH_ENGINE
    {
        EGT_CHECK(same(eg_add_int(I64(0, 1), big), I64(big, big + 1)));
        EGT_CHECK(same(eg_sub_int(I64(big), big), I64(0)));
        EGT_CHECK(same(eg_bitwise_xor_int(I64(0, 1), INT64_MAX), I64(INT64_MAX, INT64_MAX - 1)));
        EGT_CHECK(same(eg_minimum_int(I64(INT64_MAX), big), I64(big)));
        eg_tensor *x = I64(1, 2);
        EGT_CHECK(eg_mul_int_(x, big) == x && same(x, I64(big, 2 * big)));
        EGT_CHECK(same(eg_add_int(OF(EG_F32, 1, 2), 3), OF(EG_F32, 4, 5)));
        EGT_CHECK(same(eg_add_int(OF(EG_F64, 1, 2), -3), OF(EG_F64, -2, -1)));
        EGT_CHECK(same(eg_eq_int(OF(EG_F16, 1, 2), 2), OF(EG_BOOL, 0, 1)));
    }
    EGT_EQ(eg_item_int(eg_scalar_int(big, EG_I64)) - big, 0);
    EGT_EQ(eg_get_int(eg_full_int(EG_SHAPE(2), -big, EG_I64), 1) + big, 0);
    EGT_EQ(eg_get_int(eg_full_like_int(I64(1, 2), big), 1) - big, 0);
    eg_tensor *x = eg_arange_int(big, big + 6, 2, EG_I64);
    EGT_CHECK(same(x, I64(big, big + 2, big + 4)));
    EGT_OK(eg_set_int(x, 1, INT64_MAX - 1));
    EGT_CHECK(same(eg_transpose(x, 0, 0), I64(big, INT64_MAX - 1, big + 4)));
}

/* ---- getting and putting -------------------------------------------------------------------------------- */

EGT(integers_by_place)
{
    eg_tensor *x = eg_transpose(eg_reshape(OF(EG_U8, 1, 2, 3, 4, 5, 6), EG_SHAPE(2, 3)), 0, 1);
    EGT_EQ(eg_get_int(x, 1), 4);
    EGT_OK(eg_set_int(x, 1, 300));
    EGT_EQ(eg_get_int(x, 1), 255);
    EGT_OK(eg_set_int(x, 1, -300));
    EGT_EQ(eg_get_int(x, 1), 0);
    EGT_EQ(eg_item_int(OF(EG_BOOL, 1)), 1);
    eg_tensor *f = OF(EG_F32, 1.5, 2);
    EGT_OK(eg_set_int(f, 0, 7));
    EGT_EQ(eg_get(f, 0), 7);
    EGT_REFUSED(eg_get_int(f, 0), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_item_int(f), EG_ESHAPE, "[2]");
    EGT_REFUSED(eg_item_int(OF(EG_F32, 2)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_get_int(x, 6), EG_EINDEX, "index 6");
    EGT_REFUSED(eg_set_int(x, -1, 0), EG_EINDEX, "index -1");
    EGT_REFUSED(eg_get_int(NULL, 0), EG_EINVAL, "NULL");
    EGT_REFUSED(eg_set_int(NULL, 0, 0), EG_EINVAL, "NULL");
    eg_clear_error();
    EGT_CHECK(eg_item_int(NULL) == INT64_MIN);
    EGT_CHECK(egt_said(EG_EINVAL, "NULL"));
}

/* What fills takes the nearest number the dtype has. */
EGT(fillings_saturate)
{
    EGT_CHECK(same(eg_full(EG_SHAPE(2), 300, EG_U8), OF(EG_U8, 255, 255)));
    EGT_CHECK(same(eg_full_int(EG_SHAPE(1), 300, EG_U8), OF(EG_U8, 255)));
    EGT_CHECK(same(eg_full_int(EG_SHAPE(1), -300, EG_U8), OF(EG_U8, 0)));
    EGT_CHECK(same(eg_full_int(EG_SHAPE(1), INT64_MIN, EG_I32), OF(EG_I32, -0x1p31)));
    EGT_CHECK(same(eg_full_int(EG_SHAPE(1), -256, EG_BOOL), OF(EG_BOOL, 1)));
    EGT_CHECK(same(eg_full_int(EG_SHAPE(1), -3, EG_BF16), OF(EG_BF16, -3)));
    EACH_ENGINE
    {
        eg_tensor *x = OF(EG_U8, 1, 2), *mask = OF(EG_BOOL, 0, 1);
        EGT_CHECK(same(eg_masked_fill(x, mask, 300), OF(EG_U8, 1, 255)));
        EGT_CHECK(same(eg_index_fill(x, 0, I64(0), -7), OF(EG_U8, 0, 2)));
        EGT_CHECK(same(eg_pad(x, .before = {1}, .value = 300), OF(EG_U8, 255, 1, 2)));
        EGT_CHECK(same(eg_pad(x, .before = {1}, .value = (double)NAN), OF(EG_U8, 0, 1, 2)));
        EGT_CHECK(same(eg_reshape(eg_one_hot(I64(1), 2, .on = 1e9, .off = -1, .dtype = EG_U8), EG_SHAPE(2)),
                       OF(EG_U8, 0, 255)));
    }
    EGT_REFUSED(eg_full_int(EG_SHAPE(-1), 0, EG_U8), EG_ESHAPE, "full");
    EGT_REFUSED(eg_full_like_int(NULL, 0), EG_EINVAL, "NULL");
}

/* ---- numbers in a row ----------------------------------------------------------------------------------- */

/* As NumPy has them: the first two truncated, then in steps of their difference. */
EGT(rows_of_integers)
{
    EACH_ENGINE
    {
        EGT_CHECK(same(eg_arange(-3, 3, 0.5, EG_I64), I64(-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8)));
        EGT_CHECK(same(eg_arange(0.5, 5.2, 1, EG_I64), I64(0, 1, 2, 3, 4)));
        EGT_CHECK(same(eg_arange(-1.5, 5.2, 1.5, EG_I32), OF(EG_I32, -1, 0, 1, 2, 3)));
        EGT_CHECK(same(eg_arange(0, 2, 0.5, EG_U8), OF(EG_U8, 0, 0, 0, 0)));
        EGT_CHECK(same(eg_arange(5, 0, -2, EG_U8), OF(EG_U8, 5, 3, 1)));
        EGT_CHECK(same(eg_arange(0, 2, 1, EG_BOOL), OF(EG_BOOL, 0, 1)));
        EGT_CHECK(same(eg_arange(254, 256, 9, EG_U8), OF(EG_U8, 254)));
        EGT_CHECK(same(eg_arange_int(3, -4, -3, EG_I32), OF(EG_I32, 3, 0, -3)));
        EGT_CHECK(same(eg_arange_int(0, 3, 2, EG_F16), OF(EG_F16, 0, 2)));
        EGT_CHECK(same(eg_arange_int(INT64_MIN, INT64_MAX, INT64_MAX, EG_I64), I64(INT64_MIN, -1, INT64_MAX - 1)));
        EGT_CHECK(same(eg_arange_int(INT64_MAX, INT64_MIN, INT64_MIN, EG_I64), I64(INT64_MAX, -1)));
    }
    EGT_EQ(eg_numel(eg_arange_int(3, 3, 1, EG_I64)), 0);
    EGT_EQ(eg_numel(eg_arange_int(3, 4, -1, EG_U8)), 0);
    EGT_REFUSED(eg_arange(0, 300, 1, EG_U8), EG_EINVAL, "outside u8");
    EGT_REFUSED(eg_arange(3, -3, -1, EG_U8), EG_EINVAL, "outside u8");
    EGT_REFUSED(eg_arange(0, 3, 1, EG_BOOL), EG_EINVAL, "outside bool");
    EGT_REFUSED(eg_arange(0, 2e19, 1e18, EG_I64), EG_EINVAL, "outside i64");
    EGT_REFUSED(eg_arange(1e10, 2e10, 1e10, EG_I32), EG_EINVAL, "outside i32");
    EGT_REFUSED(eg_arange_int(0, 300, 1, EG_U8), EG_EINVAL, "outside u8");
    EGT_REFUSED(eg_arange_int(0, 3, 0, EG_I64), EG_EINVAL, "step");
    EGT_REFUSED(eg_arange_int(INT64_MIN, INT64_MAX, 1, EG_F32), EG_ESHAPE, "too many");
}

EGT(evenly_spaced_integers)
{
    EACH_ENGINE
    {
        EGT_CHECK(same(eg_linspace(-1.5, 3.7, 6, EG_I64), I64(-2, -1, 0, 1, 2, 3)));
        EGT_CHECK(same(eg_linspace(0, -1, 4, EG_I32), OF(EG_I32, 0, -1, -1, -1)));
        EGT_CHECK(same(eg_linspace(0, 255, 4, EG_U8), OF(EG_U8, 0, 85, 170, 255)));
        EGT_CHECK(same(eg_linspace(0, 2, 4, EG_BOOL), OF(EG_BOOL, 0, 1, 1, 1)));
        EGT_CHECK(same(eg_linspace(-2.5, 9, 1, EG_I64), I64(-3)));
    }
    EGT_REFUSED(eg_linspace(0, 300, 4, EG_U8), EG_EINVAL, "300");
    EGT_REFUSED(eg_linspace(-0.5, 3, 4, EG_U8), EG_EINVAL, "-0.5");
    EGT_REFUSED(eg_linspace(0, (double)NAN, 4, EG_I64), EG_EINVAL, "nan");
    EGT_REFUSED(eg_linspace(0, (double)INFINITY, 4, EG_I64), EG_EINVAL, "inf");
}

/* ---- bool, and powers ------------------------------------------------------------------------------------ */

EGT(bool_minus_bool)
{
    eg_tensor *a = OF(EG_BOOL, 0, 1, 1), *b = OF(EG_BOOL, 1, 1, 0);
    EGT_REFUSED(eg_sub(a, b), EG_EDTYPE, "logical_xor");
    EGT_REFUSED(eg_sub_(a, b), EG_EDTYPE, "logical_xor");
    EGT_REFUSED(eg_neg(a), EG_EDTYPE, "logical_not");
    EGT_CHECK(same(eg_sub(a, I64(1, 1, 1)), I64(-1, 0, 0)));
    EGT_CHECK(same(eg_sub_scalar(a, 1), I64(-1, 0, 0)));
    EGT_CHECK(same(a, OF(EG_BOOL, 0, 1, 1)));
}

EGT(negative_powers)
{
    EACH_ENGINE
    {
        eg_tensor *a = I64(1, -1, -1, 2, -3), *b = I64(-3, -3, INT64_MIN, 3, 3);
        EGT_CHECK(same(eg_pow(a, b), I64(1, -1, 1, 8, -27)));
        EGT_CHECK(same(eg_pow_scalar(OF(EG_I32, 1, -1), -5), OF(EG_I32, 1, -1)));
        EGT_CHECK(same(eg_pow_int(OF(EG_I32, 1, -1), -4), OF(EG_I32, 1, 1)));
        eg_tensor *row = eg_reshape(I64(1, -1), EG_SHAPE(1, 2)), *column = eg_reshape(I64(-1, -2), EG_SHAPE(2, 1));
        EGT_CHECK(same(eg_reshape(eg_pow(row, column), EG_SHAPE(4)), I64(1, -1, 1, 1)));
    }
    eg_tensor *x = I64(1, 2);
    EGT_REFUSED(eg_pow(I64(1, 2), I64(-1, -2)), EG_EINVAL, "exponent -2 of 2 is negative");
    EGT_REFUSED(eg_pow_(x, I64(-1, -2)), EG_EINVAL, "exponent -2 of 2 is negative");
    EGT_REFUSED(eg_pow_scalar(I64(1, 0), -1), EG_EINVAL, "exponent -1 of 0 is negative");
    EGT_REFUSED(eg_pow(eg_ones(EG_SHAPE(3), EG_I64), I64(-1, -1)), EG_ESHAPE, "[3] and [2]");
    EGT_CHECK(same(x, I64(1, 2)));
    EGT_EQ(eg_numel(eg_pow_scalar(eg_ones(EG_SHAPE(0), EG_I64), -1)), 0);
}

/* ---- random integers in floats --------------------------------------------------------------------------- */

EGT(whole_floats)
{
    static const struct {
        eg_dtype dtype;
        int64_t most;
    } rows[] = {{EG_F64, (int64_t)1 << 53}, {EG_F32, 1 << 24}, {EG_F16, 2048}, {EG_BF16, 256}};
    for (int k = 0; k < 4; k++) {
        const int64_t most = rows[k].most;
        eg_seed(7);
        eg_tensor *x = eg_randint(EG_SHAPE(50), -most, most + 1, rows[k].dtype);
        const eg_random_state after = eg_random_get_state();
        eg_seed(7);
        EGT_CHECK(same(x, eg_cast(eg_randint(EG_SHAPE(50), -most, most + 1, EG_I64), rows[k].dtype)));
        EGT_CHECK(eg_random_get_state().offset == after.offset);
        EGT_REFUSED(eg_randint(EG_SHAPE(1), 0, most + 2, rows[k].dtype), EG_EINVAL, eg_dtype_name(rows[k].dtype));
        EGT_REFUSED(eg_randint(EG_SHAPE(1), -most - 1, 0, rows[k].dtype), EG_EINVAL, "within");
        EGT_CHECK(eg_random_get_state().offset == after.offset);
    }
    EGT_REFUSED(eg_randint(EG_SHAPE(1), 0, 1, EG_BOOL), EG_EDTYPE, "bool");
}

static bool draw(void *user)
{
    (void)user;
    const eg_random_state before = eg_random_get_state();
    eg_scope s = eg_scope_push();
    const bool well = s.depth && eg_randint(EG_SHAPE(50000), 0, 9, EG_F16);
    eg_scope_pop(s, NULL);
    if (!well) {
        EGT_CHECK(eg_random_get_state().offset == before.offset);
    }
    return well;
}

EGT(whole_floats_without_memory)
{
    EGT_CHECK(egt_fail_allocations(draw, NULL) >= 0);
}
