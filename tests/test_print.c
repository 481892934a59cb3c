/* test_print.c - tensors as text; the strings are those of NumPy 2.4 with precision 4 and lines of
 * 80. */
#include "tests/egt.h"

#include <locale.h>

static const char *text(const eg_tensor *t)
{
    static char s[8192];
    EGT_CHECK(eg_format(t, s, sizeof s) < (int64_t)sizeof s);
    return s;
}

#define FROM(dtype, shape, ...) eg_from_values(shape, dtype, (double[]){__VA_ARGS__})

EGT(numbers_in_columns)
{
    EGT_STR(text(eg_reshape(eg_arange(0, 6, 1, EG_F32), EG_SHAPE(2, 3))), "[[0. 1. 2.]\n [3. 4. 5.]]");
    EGT_STR(text(FROM(EG_F32, EG_SHAPE(3), 1.5, 2.25, -3)), "[ 1.5   2.25 -3.  ]");
    EGT_STR(text(FROM(EG_F32, EG_SHAPE(3), 0.1, -0.0, 0.33333)), "[ 0.1    -0.      0.3333]");
    EGT_STR(text(eg_zeros(EG_SHAPE(3, 1, 2), EG_F32)), "[[[0. 0.]]\n\n [[0. 0.]]\n\n [[0. 0.]]]");
    EGT_STR(text(FROM(EG_F32, EG_SHAPE(3), 999.5, 1, 12345678.0)), "[9.9950e+02 1.0000e+00 1.2346e+07]");
}

EGT(exponents)
{
    EGT_STR(text(FROM(EG_F32, EG_SHAPE(2), 1e-5, 1)), "[1.e-05 1.e+00]");
    EGT_STR(text(FROM(EG_F32, EG_SHAPE(2), 1e8, 1)), "[1.e+08 1.e+00]");
    EGT_STR(text(FROM(EG_F64, EG_SHAPE(2), 123456.789, -0.001)), "[ 1.2346e+05 -1.0000e-03] f64 [2]");
    EGT_STR(text(FROM(EG_F64, EG_SHAPE(3), 1e-300, 1e300, 1)), "[1.e-300 1.e+300 1.e+000] f64 [3]");
    EGT_STR(text(FROM(EG_F32, EG_SHAPE(3), NAN, -INFINITY, 1e9)), "[   nan   -inf 1.e+09]");
}

EGT(special_values)
{
    EGT_STR(text(FROM(EG_F32, EG_SHAPE(3), NAN, INFINITY, -1.5)), "[ nan  inf -1.5]");
    EGT_STR(text(FROM(EG_F32, EG_SHAPE(1), NAN)), "[nan]");
    EGT_STR(text(FROM(EG_F32, EG_SHAPE(2), -INFINITY, INFINITY)), "[-inf  inf]");
    EGT_STR(text(FROM(EG_F32, EG_SHAPE(2), -INFINITY, 0)), "[-inf   0.]");
}

EGT(dtypes_and_shapes)
{
    EGT_STR(text(eg_scalar(3.14159265, EG_F32)), "3.1416");
    EGT_STR(text(eg_scalar(2, EG_F64)), "2. f64 []");
    EGT_STR(text(eg_scalar(-7, EG_I32)), "-7 i32 []");
    EGT_STR(text(eg_scalar(1, EG_BOOL)), "True bool []");
    EGT_STR(text(FROM(EG_BOOL, EG_SHAPE(2), 1, 0)), "[ True False] bool [2]");
    EGT_STR(text(FROM(EG_I64, EG_SHAPE(3), 1, -20, 300)), "[  1 -20 300] i64 [3]");
    EGT_STR(text(FROM(EG_U8, EG_SHAPE(2, 1), 255, 0)), "[[255]\n [  0]] u8 [2, 1]");
    EGT_STR(text(FROM(EG_F16, EG_SHAPE(2), 0.1, 65504)), "[1.00e-01 6.55e+04] f16 [2]");
    EGT_STR(text(FROM(EG_BF16, EG_SHAPE(2), 0.1, 3)), "[0.1 3. ] bf16 [2]");
    EGT_STR(text(eg_zeros(EG_SHAPE(0, 3), EG_F32)), "[] f32 [0, 3]");
    int64_t least = INT64_MIN;
    EGT_STR(text(eg_from(EG_SCALAR, EG_I64, &least)), "-9223372036854775808 i64 []");
}

EGT(strides_are_followed)
{
    eg_tensor *x = eg_reshape(eg_arange(0, 6, 1, EG_F32), EG_SHAPE(2, 3));
    EGT_STR(text(eg_transpose(x, 0, 1)), "[[0. 3.]\n [1. 4.]\n [2. 5.]]");
    EGT_STR(text(eg_index(x, "::-1, 1:")), "[[4. 5.]\n [1. 2.]]");
    EGT_STR(text(eg_expand(eg_scalar(1, EG_F32), EG_SHAPE(2, 2))), "[[1. 1.]\n [1. 1.]]");
}

EGT(long_ones_are_cut_in_the_middle)
{
    EGT_STR(text(eg_arange(0, 2000, 1, EG_I64)), "[   0    1    2 ... 1997 1998 1999] i64 [2000]");
    EGT_STR(text(eg_reshape(eg_arange(0, 2000, 1, EG_F32), EG_SHAPE(2, 20, 50))),
            "[[[0.000e+00 1.000e+00 2.000e+00 ... 4.700e+01 4.800e+01 4.900e+01]\n"
            "  [5.000e+01 5.100e+01 5.200e+01 ... 9.700e+01 9.800e+01 9.900e+01]\n"
            "  [1.000e+02 1.010e+02 1.020e+02 ... 1.470e+02 1.480e+02 1.490e+02]\n"
            "  ...\n"
            "  [8.500e+02 8.510e+02 8.520e+02 ... 8.970e+02 8.980e+02 8.990e+02]\n"
            "  [9.000e+02 9.010e+02 9.020e+02 ... 9.470e+02 9.480e+02 9.490e+02]\n"
            "  [9.500e+02 9.510e+02 9.520e+02 ... 9.970e+02 9.980e+02 9.990e+02]]\n"
            "\n"
            " [[1.000e+03 1.001e+03 1.002e+03 ... 1.047e+03 1.048e+03 1.049e+03]\n"
            "  [1.050e+03 1.051e+03 1.052e+03 ... 1.097e+03 1.098e+03 1.099e+03]\n"
            "  [1.100e+03 1.101e+03 1.102e+03 ... 1.147e+03 1.148e+03 1.149e+03]\n"
            "  ...\n"
            "  [1.850e+03 1.851e+03 1.852e+03 ... 1.897e+03 1.898e+03 1.899e+03]\n"
            "  [1.900e+03 1.901e+03 1.902e+03 ... 1.947e+03 1.948e+03 1.949e+03]\n"
            "  [1.950e+03 1.951e+03 1.952e+03 ... 1.997e+03 1.998e+03 1.999e+03]]] f32 [2, 20, 50]");
}

EGT(long_rows_are_broken)
{
    EGT_STR(text(eg_arange(0, 40, 1, EG_I32)),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25\n"
            " 26 27 28 29 30 31 32 33 34 35 36 37 38 39] i32 [40]");
    /* Blanks that fill a column do not end a line. */
    EGT_STR(text(eg_div_scalar(eg_arange(0, 16, 1, EG_F32), 4)),
            "[0.   0.25 0.5  0.75 1.   1.25 1.5  1.75 2.   2.25 2.5  2.75 3.   3.25 3.5\n 3.75]");
}

EGT(options)
{
    char s[256];
    eg_tensor *x = eg_div_scalar(eg_arange(0, 8, 1, EG_F64), 3);
    EGT_CHECK(eg_format_with(x, s, sizeof s, &(eg_print_options){.precision = 1, .line_width = 20}) > 0);
    EGT_STR(s, "[0.  0.3 0.7 1.\n 1.3 1.7 2.  2.3] f64 [8]");
    EGT_CHECK(eg_format_with(x, s, sizeof s, &(eg_print_options){.threshold = 4, .edge_items = 1}) > 0);
    EGT_STR(s, "[0.     ... 2.3333] f64 [8]");
    EGT_CHECK(eg_format_with(eg_scalar(0.1, EG_F32), s, sizeof s, &(eg_print_options){.precision = 20}) > 0);
    EGT_STR(s, "0.1");
    EGT_CHECK(eg_format_with(eg_scalar(1.0 / 3, EG_F64), s, sizeof s, &(eg_print_options){.precision = 40}) > 0);
    EGT_STR(s, "0.3333333333333333 f64 []");
    EGT_REFUSED(eg_format_with(x, s, sizeof s, &(eg_print_options){.precision = 41}), EG_EINVAL, "precision");
    EGT_REFUSED(eg_format_with(x, s, sizeof s, &(eg_print_options){.edge_items = -1}), EG_EINVAL, "edge");
    EGT_REFUSED(eg_format_with(x, s, sizeof s, &(eg_print_options){.edge_items = EG_ZERO}), EG_EINVAL, "edge");
    EGT_REFUSED(eg_format(NULL, s, sizeof s), EG_EINVAL, "t");
}

EGT(text_is_cut_to_the_buffer)
{
    char s[8] = "xxxxxxx";
    eg_tensor *x = eg_ones(EG_SHAPE(3), EG_F32);
    EGT_EQ(eg_format(x, NULL, 0), 10);
    EGT_EQ(eg_format(x, s, 1), 10);
    EGT_STR(s, "");
    EGT_EQ(eg_format(x, s, 5), 10);
    EGT_STR(s, "[1. ");
}

EGT(a_comma_in_the_locale_changes_nothing)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "fr_FR"};
    int i = 0;
    while (i < 4 && !setlocale(LC_NUMERIC, names[i])) {
        i++;
    }
    char s[32];
    int64_t n = i < 4 ? eg_format(eg_scalar(0.1, EG_F32), s, sizeof s) : 0;
    setlocale(LC_NUMERIC, "C");
    if (i == 4) {
        egt_skip("no locale with a decimal comma is installed");
    }
    EGT_EQ(n, 3);
    EGT_STR(s, "0.1");
}

EGT(print_to_a_stream)
{
    FILE *f = tmpfile();
    char s[32] = "";
    EGT_OK(eg_print_to(f, eg_ones(EG_SHAPE(2), EG_F32)));
    rewind(f);
    EGT_EQ(fread(s, 1, sizeof s - 1, f), 8);
    EGT_STR(s, "[1. 1.]\n");
    fclose(f);
    EGT_REFUSED(eg_print_to(stdout, NULL), EG_EINVAL, "t");
    EGT_REFUSED(eg_print_to(NULL, eg_scalar(1, EG_F32)), EG_EINVAL, "stream");
}
