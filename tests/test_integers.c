/* test_integers.c - integers where numbers meet them: limits, numbers beside tensors, makers, powers; each by
 * the tuned kernels and the reference loops. */
#include "tests/egt.h"

#define OF(dtype, ...)                                                                             \
    eg_from_values(EG_SHAPE(EG_COUNT_(double, __VA_ARGS__)), dtype, (double[]){__VA_ARGS__})
#define I64(...)                                                                                   \
    eg_from(EG_SHAPE(EG_COUNT_(int64_t, __VA_ARGS__)), EG_I64, (int64_t[]){__VA_ARGS__})

/* Of one dtype and shape, bit for bit but for NaN. */
static bool same(eg_tensor *a, eg_tensor *b)
{
    if (!a || !b || eg_dtype_of(a) != eg_dtype_of(b) || eg_numel(a) != eg_numel(b)) {
        return false;
    }
    for (int64_t i = 0; i < eg_numel(a); i++) {
        const double x = eg_get(a, i), y = eg_get(b, i);
        if (!(x == y || (isnan(x) && isnan(y))) || (eg_dtype_of(a) == EG_I64 && eg_get_int(a, i) != eg_get_int(b, i))) {
            return false;
        }
    }
    return eg_ndim(a) == eg_ndim(b);
}

#define EACH_ENGINE for (int engine_ = 0; engine_ < 2; engine_++, eg_debug(engine_ == 1 ? "ref" : ""))

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
