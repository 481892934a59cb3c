/* test_cuda_sort.c - order on a device is that of the CPU: each way of sorting, ties, NaN, faults. */
#include "tests/cuda/module.h"

/* Floats with NaN, infinities and zeros of both signs among them, and many ties. */
static eg_tensor *mixed(eg_shape s, eg_dtype dtype, int spread)
{
    eg_tensor *x = eg_floor(egt_random(s, EG_F32, -(double)spread, spread));
    if (dtype == EG_I64) {
        return eg_mul_scalar(eg_cast(x, EG_I64), 3000000007.0); /* both halves count */
    }
    x = eg_cast(x, dtype);
    bool real = dtype == EG_F32 || dtype == EG_F64 || dtype == EG_F16 || dtype == EG_BF16;
    for (int64_t i = 3; i < eg_numel(x) && real; i += 97) {
        static const double odd[] = {(double)NAN, -(double)INFINITY, -0.0, (double)INFINITY, 0, -(double)NAN};
        eg_set(x, i, odd[i % 6]);
    }
    return x;
}

static void compare(eg_tensor *x, int axis, int64_t k, bool falling)
{
    eg_tensor *v[2], *i[2], *there = eg_to(x, emulated(0));
    if (k < 0) {
        EGT_OK(eg_sort(x, axis, falling, &v[0], &i[0]));
        EGT_OK(eg_sort(there, axis, falling, &v[1], &i[1]));
    } else {
        EGT_OK(eg_topk(x, k, axis, falling, &v[0], &i[0]));
        EGT_OK(eg_topk(there, k, axis, falling, &v[1], &i[1]));
    }
    EGT_CHECK(egt_same_bits(i[0], i[1]));
    EGT_CHECK(egt_same_bits(v[0], v[1]));
}

static const eg_dtype dtypes[] = {EG_F32, EG_F64, EG_F16, EG_BF16, EG_I64, EG_I32, EG_U8, EG_BOOL};

static void try_all(eg_shape s, int axis, int64_t k)
{
    for (int t = 0; t < 8; t++) {
        EG_SCOPE {
            snprintf(egt_case, sizeof egt_case, "%lld x %lld axis %d k %lld %s", (long long)s.dim[0],
                     (long long)s.dim[1], axis, (long long)k, eg_dtype_name(dtypes[t]));
            compare(mixed(s, dtypes[t], dtypes[t] == EG_F32 ? 100000 : 100), axis, k, t % 2);
            compare(mixed(s, dtypes[t], 2), axis, k, t % 2 == 0);
        }
    }
}

EGT(short_lines)
{
    static const int64_t sizes[] = {1, 7, 8, 9, 31, 64, 65, 700, 2047, 2048};
    for (int k = 0; k < (int)(sizeof sizes / sizeof *sizes); k++) {
        try_all(EG_SHAPE(3, sizes[k]), 1, -1);
    }
    try_all(EG_SHAPE(300, 5), 1, -1); /* more than one block */
    try_all(EG_SHAPE(100, 37), 0, -1);
    try_all(EG_SHAPE(40, 90), 1, 3);
}

EGT(long_lines)
{
    try_all(EG_SHAPE(1, 2049), 1, -1);
    try_all(EG_SHAPE(5, 2500), 1, -1);
    try_all(EG_SHAPE(2100, 3), 0, -1);
    try_all(EG_SHAPE(2, 2500), 1, 1025); /* more than is chosen */
}

EGT(the_first_of_long_lines)
{
    try_all(EG_SHAPE(2, 2049), 1, 1);
    try_all(EG_SHAPE(2, 9000), 1, 1024);
    try_all(EG_SHAPE(3000, 2), 0, 40);
    try_all(EG_SHAPE(1, 40000), 1, 50); /* in parts */
    try_all(EG_SHAPE(1, 33000), 1, 1024);
}

/* All alike: the first are the ones with the lowest places. */
EGT(ties_only)
{
    eg_tensor *x = eg_full(EG_SHAPE(1, 20000), 3, EG_F32);
    compare(x, 1, 60, true);
    compare(eg_cast(x, EG_F64), 1, 1024, false);
    compare(eg_full(EG_SHAPE(1, 17000), (double)NAN, EG_F64), 1, 1000, false);
}

EGT(places_in_lines)
{
    eg_tensor *line, *v = mixed(EG_SHAPE(3, 300), EG_F64, 50);
    EGT_OK(eg_sort(egt_random(EG_SHAPE(3, 500), EG_F64, -50, 50), 1, false, &line, NULL));
    for (int right = 0; right < 2; right++) {
        eg_device *d = emulated(0);
        EGT_CHECK(egt_same_bits(eg_searchsorted(line, v, right), eg_searchsorted(eg_to(line, d), eg_to(v, d), right)));
    }
}

EGT(lines_that_fall_are_reported_when_the_host_waits)
{
    eg_device *d = emulated(0);
    eg_tensor *v = eg_to(eg_ones(EG_SHAPE(4), EG_F32), d);
    eg_tensor *falls = eg_from_values(EG_SHAPE(4), EG_F32, (double[]){1, 2, 0, 5});
    eg_tensor *nan = eg_from_values(EG_SHAPE(4), EG_F32, (double[]){1, 2, 3, (double)NAN});
    EGT_CHECK(eg_searchsorted(eg_to(falls, d), v, false) != NULL);
    EGT_EQ(eg_device_synchronize(d), EG_EINVAL);
    EGT_CHECK(strstr(eg_last_error()->message, "falls at 2"));
    EGT_CHECK(eg_searchsorted(eg_to(nan, d), v, false) != NULL);
    EGT_EQ(eg_device_synchronize(d), EG_EINVAL);
    EGT_CHECK(strstr(eg_last_error()->message, "NaN at 3"));
    eg_clear_error();
    EGT_OK(eg_device_synchronize(d));
}

EGT(the_different_ones)
{
    eg_device *d = emulated(0);
    eg_tensor *x = eg_floor(egt_random(EG_SHAPE(30, 100), EG_F32, 0, 40)), *a[3], *b[3];
    EGT_OK(eg_unique(x, &a[0], &a[1], &a[2]));
    EGT_OK(eg_unique(eg_to(x, d), &b[0], &b[1], &b[2]));
    for (int i = 0; i < 3; i++) {
        EGT_CHECK(eg_device_of(b[i]) == d && egt_same_bits(a[i], b[i]));
    }
    x = eg_slice(x, 1, 0, 1, 1);
    EGT_OK(eg_unique_slices(x, 0, &a[0], &a[1], &a[2]));
    EGT_OK(eg_unique_slices(eg_to(x, d), 0, &b[0], &b[1], &b[2]));
    for (int i = 0; i < 3; i++) {
        EGT_CHECK(egt_same_bits(a[i], b[i]));
    }
}

#ifdef EG_TINY_LIMITS
EGT(lines_that_are_too_long_are_refused)
{
    eg_tensor *x = eg_to(eg_zeros(EG_SHAPE(((int64_t)1 << 20) + 1), EG_U8), emulated(0)), *values, *indices;
    EGT_EQ(eg_sort(x, 0, false, &values, &indices), EG_ENOKERNEL);
    EGT_CHECK(!strcmp(eg_last_error()->op, "sort") && strstr(eg_last_error()->message, "lines of 1048577 elements"));
    eg_clear_error();
}
#endif
