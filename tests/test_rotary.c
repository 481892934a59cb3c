/* test_rotary.c - rotary embeddings: angles by hand, both pairings, positions of each sequence, refusals. */
#include "tests/egt.h"

/* The angle of pair i of `width` columns at a position. */
static double angle(double position, int i, int width, double base)
{
    return position * pow(base, -2.0 * i / width);
}

EGT(pairs_by_hand)
{
    for (int beside = 0; beside < 2; beside++) {
        eg_tensor *x = egt_random(EG_SHAPE(2, 3, 8), EG_F64, -1, 1), *c, *s;
        eg_tensor *at = eg_arange_int(5, 8, 1, EG_I64);
        EGT_OK(eg_rotary_tables(at, 6, &c, &s, .base = 100, .dtype = EG_F64));
        eg_tensor *y = eg_rotary_embedding(x, c, s, .interleaved = beside);
        for (int i = 0; i < 48; i++) {
            const int k = i % 8, row = i - k, pair = beside ? k / 2 : k % 3;
            const int a = row + (beside ? 2 * pair : pair), b = row + (beside ? 2 * pair + 1 : pair + 3);
            const double turn = angle(5 + row / 8 % 3, pair, 6, 100), p = eg_get(x, a), q = eg_get(x, b);
            const double want = i == a ? p * cos(turn) - q * sin(turn) : p * sin(turn) + q * cos(turn);
            EGT_NEAR(eg_get(y, i), k >= 6 ? eg_get(x, i) : want, 1e-13);
        }
    }
}

/* A product of a turned query and a turned key knows but how far they are apart. */
EGT(products_know_distances)
{
    eg_tensor *q = egt_random(EG_SHAPE(1, 16), EG_F64, -1, 1), *k = egt_random(EG_SHAPE(1, 16), EG_F64, -1, 1);
    double product[2];
    for (int way = 0; way < 2; way++) {
        eg_tensor *turned[2];
        for (int i = 0; i < 2; i++) {
            eg_tensor *c, *s, *at = eg_arange_int(way * 1000 + 7 * i, way * 1000 + 7 * i + 1, 1, EG_I32);
            EGT_OK(eg_rotary_tables(at, 16, &c, &s, .dtype = EG_F64));
            turned[i] = eg_rotary_embedding(i ? k : q, c, s);
        }
        product[way] = eg_item(eg_sum(eg_mul(turned[0], turned[1])));
    }
    EGT_NEAR(product[0], product[1], 1e-10);
}

/* [N, T] positions turn each sequence by its own, and heads in between alike. */
EGT(positions_of_each_sequence)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 4, 8), EG_F32, -1, 1), *c, *s;
    eg_tensor *at = eg_stack((eg_tensor *[]){eg_arange_int(0, 4, 1, EG_I64), eg_arange_int(9, 13, 1, EG_I64)}, 2, 0);
    EGT_OK(eg_rotary_tables(at, 8, &c, &s));
    eg_tensor *y = eg_rotary_embedding(x, c, s);
    for (int n = 0; n < 2; n++) {
        EGT_OK(eg_rotary_tables(eg_select(at, 0, n), 8, &c, &s));
        EGT_EQ(egt_distance(eg_select(y, 0, n), eg_rotary_embedding(eg_select(x, 0, n), c, s)), 0);
    }
}

/* Halves as f32 rounds them; heads side by side stay so. */
EGT(dtypes_and_layouts)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 5, 3, 3, 6), EG_BF16, -1, 1), *c, *s;
    EGT_OK(eg_rotary_tables(eg_arange_int(0, 5, 1, EG_U8), 4, &c, &s));
    x = eg_permute(eg_select(x, 2, 1), EG_AXES(0, 2, 1, 3));
    eg_tensor *y = eg_rotary_embedding(x, c, s), *wide = eg_rotary_embedding(eg_cast(x, EG_F32), c, s);
    EGT_EQ(egt_distance(y, eg_cast(wide, EG_BF16)), 0);
    EGT_EQ(eg_dtype_of(y), EG_BF16);
    EGT_CHECK(eg_is_contiguous(eg_permute(y, EG_AXES(0, 2, 1, 3))));
}

/* Frequencies divided by a factor, all of them or, with a length, those of long waves. */
EGT(scaled_frequencies)
{
    eg_tensor *at = eg_arange_int(1, 2, 1, EG_I64), *s, *c;
    EGT_OK(eg_rotary_tables(at, 4, &c, &s, .factor = 8, .dtype = EG_F64));
    EGT_NEAR(eg_get(s, 0), sin(1.0 / 8), 1e-15);
    EGT_NEAR(eg_get(s, 1), sin(0.01 / 8), 1e-15);
    /* Of 8192 positions pairs turn 1304, 13.04, 2.608 and 0.1304 times: kept, kept, mixed, divided. */
    EGT_OK(eg_rotary_tables(at, 2, &c, &s, .factor = 8, .length = 8192, .dtype = EG_F64));
    EGT_NEAR(eg_get(s, 0), sin(1), 1e-15);
    EGT_OK(eg_rotary_tables(at, 4, &c, &s, .base = 250000, .factor = 8, .length = 8192, .dtype = EG_F64));
    const double turns = 8192 * 0.002 / (8 * atan(1)), keep = (turns - 1) / 3;
    EGT_NEAR(eg_get(s, 1), sin(0.002 * (keep + (1 - keep) / 8)), 1e-15);
    EGT_OK(eg_rotary_tables(at, 4, &c, &s, .base = 1e8, .factor = 8, .length = 8192, .dtype = EG_F64));
    EGT_NEAR(eg_get(s, 1), sin(1e-4 / 8), 1e-15);
}

EGT(refusals)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 4), EG_F32, -1, 1), *at = eg_arange_int(0, 3, 1, EG_I64), *c, *s;
    EGT_EQ(eg_rotary_tables(x, 4, &c, &s), EG_EDTYPE);
    EGT_EQ(eg_rotary_tables(at, 5, &c, &s), EG_EINVAL);
    EGT_EQ(eg_rotary_tables(at, 0, &c, &s), EG_EINVAL);
    EGT_EQ(eg_rotary_tables(at, 9000, &c, &s), EG_EINVAL);
    EGT_EQ(eg_rotary_tables(at, 4, &c, &s, .base = -1), EG_EINVAL);
    EGT_EQ(eg_rotary_tables(at, 4, &c, &s, .low = 4, .high = 3), EG_EINVAL);
    EGT_EQ(eg_rotary_tables(at, 4, NULL, &s), EG_EINVAL);
    eg_clear_error();
    EGT_OK(eg_rotary_tables(at, 4, &c, &s));
    EGT_REFUSED(eg_rotary_embedding(eg_slice(x, 1, 0, 2, 1), c, s), EG_ESHAPE, "do not turn pairs of [2, 2, 4]");
    EGT_REFUSED(eg_rotary_embedding(eg_slice(x, 2, 0, 3, 1), c, s), EG_ESHAPE, "do not turn");
    EGT_REFUSED(eg_rotary_embedding(at, c, s), EG_EDTYPE, "x is i64");
    EGT_REFUSED(eg_rotary_embedding(x, c, eg_slice(s, 1, 0, 1, 1)), EG_ESHAPE, "sines [3, 1]");
}
