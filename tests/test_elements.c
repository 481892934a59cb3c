/* test_elements.c - what elements of all types that safetensors has become here, by PyTorch's conversions. */
#include "tests/egt.h"

#include <stdint.h>

#include <egret/io.h>

static const struct {
    const char *stored;
    eg_dtype dtype;
} types[] = {
    {"F32", EG_F32},         {"F64", EG_F64},         {"F16", EG_F16},     {"BF16", EG_BF16},   {"I64", EG_I64},
    {"I32", EG_I32},         {"U8", EG_U8},           {"BOOL", EG_BOOL},   {"I8", EG_I32},      {"I16", EG_I32},
    {"U16", EG_I32},         {"U32", EG_I64},         {"U64", EG_I64},     {"F8_E4M3", EG_F16}, {"F8_E5M2", EG_F16},
    {"F8_E4M3FNUZ", EG_F16}, {"F8_E5M2FNUZ", EG_F16}, {"F8_E8M0", EG_F32}, {"F4", EG_F16},      {"C64", EG_F32},
};
enum { TYPES = sizeof types / sizeof *types };

/* To the bit; NaN is NaN. */
static void same_values(const eg_tensor *t, const eg_tensor *expected)
{
    EGT_CHECK(t && expected);
    EGT_EQ(eg_ndim(t), eg_ndim(expected));
    for (int d = 0; d < eg_ndim(t); d++) {
        EGT_EQ(eg_size(t, d), eg_size(expected, d));
    }
    if (eg_dtype_of(t) == EG_I64) { /* whose numbers a double may not hold */
        EGT_CHECK(!memcmp(eg_data((eg_tensor *)t), eg_data((eg_tensor *)expected), (size_t)eg_numel(t) * 8));
        return;
    }
    for (int64_t i = 0; i < eg_numel(t); i++) {
        const double x = eg_get(t, i), y = eg_get(expected, i);
        EGT_CHECK((isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y)));
    }
}

static void compare(const eg_tensors *m, const eg_tensors *values)
{
    EGT_EQ(eg_tensors_count(m), TYPES);
    for (int i = 0; i < TYPES; i++) {
        snprintf(egt_case, sizeof egt_case, "%s", types[i].stored);
        EGT_EQ(eg_dtype_of(eg_tensors_get(m, types[i].stored)), types[i].dtype);
        same_values(eg_tensors_get(m, types[i].stored), eg_tensors_get(values, types[i].stored));
    }
}

EGT(all_types_have_the_values_that_pytorch_gives_them)
{
    const char *path = "tests/golden/elements.safetensors";
    eg_tensors *values = eg_safetensors_load("tests/golden/elements_values.safetensors");
    eg_tensors *loaded = eg_safetensors_load(path), *views = eg_tensors_open(path);
    eg_tensors *copies = eg_tensors_open(path, .copy = true);
    compare(loaded, values);
    compare(views, values);
    compare(copies, values);
    eg_tensors_free(copies);
    eg_tensors_free(views);
    eg_tensors_free(loaded);
    eg_tensors_free(values);
}

EGT(what_is_stored_is_said)
{
    eg_tensors *m = eg_tensors_open("tests/golden/elements.safetensors");
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        EGT_STR(eg_tensors_about(m, i).stored, eg_tensors_name(m, i));
        EGT_EQ(eg_tensors_about(m, i).dtype, eg_dtype_of(eg_tensors_at(m, i)));
    }
    eg_tensors_free(m);
}

/* A file of one tensor, of 8 bytes. */
static eg_tensors *one(const char *dtype, int size, const void *bytes, bool lazily)
{
    char file[200] = {0};
    const int n = snprintf(file + 8, sizeof file - 8,
                           "{\"a\":{\"dtype\":\"%s\",\"shape\":[%d],\"data_offsets\":[0,8]}}", dtype, size);
    file[0] = (char)n;
    memcpy(file + 8 + n, bytes, 8);
    return lazily ? eg_tensors_parse(file, (size_t)n + 16) : eg_safetensors_parse(file, (size_t)n + 16);
}

EGT(what_has_no_value_here_is_refused)
{
    const uint64_t beyond = (uint64_t)1 << 63;
    EGT_REFUSED(one("U64", 1, &beyond, false), EG_EFORMAT, "i64");
    eg_tensors *m = one("U64", 1, &beyond, true);
    EGT_CHECK(m);
    EGT_REFUSED(eg_tensors_get(m, "a"), EG_EFORMAT, "i64");
    eg_tensors_free(m);
    for (int lazily = 0; lazily < 2; lazily++) {
        EGT_REFUSED(one("F4", 15, &beyond, lazily), EG_EFORMAT, "needs other than its bytes");
        EGT_REFUSED(one("F6_E2M3", 8, &beyond, lazily), EG_EFORMAT, "none known");
        EGT_REFUSED(one("I4", 16, &beyond, lazily), EG_EFORMAT, "none known");
    }
}
