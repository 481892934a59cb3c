/* test_index.c - picking and putting: refusals with position, value and range; duplicates, NaN,
 * padding, any number of threads. */
#include "tests/egt.h"

#define F64(...)   eg_from_values(EG_SHAPE(EG_COUNT_(double, __VA_ARGS__)), EG_F64, (double[]){__VA_ARGS__})
#define I64(...)   eg_from_values(EG_SHAPE(EG_COUNT_(double, __VA_ARGS__)), EG_I64, (double[]){__VA_ARGS__})
#define SAME(a, b) EGT_NEAR(egt_distance(a, b), 0, 0)

static eg_tensor *counted(int64_t rows, int64_t cols)
{
    return eg_reshape(eg_arange(0, (double)(rows * cols), 1, EG_F64), EG_SHAPE(rows, cols));
}

static const int64_t outside[] = {3, -4, INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX};

/* One index [n] with the given number at place 1. */
static eg_tensor *with(int64_t value, int64_t n, eg_dtype dtype)
{
    eg_tensor *t = eg_zeros(EG_SHAPE(n), EG_I64);
    int64_t *p = eg_data_mut(t);
    p[1] = value;
    return eg_cast(t, dtype);
}

EGT(indices_outside_are_refused)
{
    eg_tensor *x = counted(3, 3), *row = counted(2, 3);
    for (int k = 0; k < 6; k++) {
        for (int narrow = 0; narrow < 2; narrow++) {
            eg_dtype t = narrow ? EG_I32 : EG_I64;
            if (narrow && outside[k] != (int32_t)outside[k]) {
                continue;
            }
            eg_tensor *i = with(outside[k], 2, t), *wide = eg_expand(eg_unsqueeze(i, 1), EG_SHAPE(2, 3));
            EGT_REFUSED(eg_index_select(x, 0, i), EG_EINDEX, "at position [1] is outside -3..2");
            EGT_REFUSED(eg_index_select(x, -1, i), EG_EINDEX, "index_select");
            EGT_REFUSED(eg_gather(x, 0, wide), EG_EINDEX, "at position [1, 0] is outside -3..2");
            EGT_REFUSED(eg_take_along(x, 0, eg_unsqueeze(i, 1)), EG_EINDEX, "take_along");
            EGT_REFUSED(eg_index_add(x, 0, i, row), EG_EINDEX, "index_add");
            EGT_REFUSED(eg_index_copy(x, 0, i, row), EG_EINDEX, "index_copy");
            EGT_REFUSED(eg_index_fill(x, 0, i, 1), EG_EINDEX, "index_fill");
            EGT_REFUSED(eg_scatter(x, 0, wide, row), EG_EINDEX, "scatter");
            EGT_REFUSED(eg_scatter_add(x, 0, wide, row), EG_EINDEX, "scatter_add");
            EGT_REFUSED(eg_scatter_reduce(x, 0, wide, row, EG_SCATTER_MAX), EG_EINDEX, "scatter_reduce");
            EGT_REFUSED(eg_gather_nd(x, eg_unsqueeze(i, 1)), EG_EINDEX, "place 1 is outside -3..2");
            EGT_REFUSED(eg_scatter_nd_add(x, eg_unsqueeze(i, 1), row), EG_EINDEX, "scatter_nd_add");
            EGT_REFUSED(eg_scatter_nd(eg_unsqueeze(i, 1), row, EG_SHAPE(3, 3)), EG_EINDEX, "scatter_nd");
            EGT_REFUSED(eg_embedding(x, i), EG_EINDEX, "at position [1] is outside 0..2");
            EGT_REFUSED(eg_one_hot(i, 3), EG_EINDEX, "one_hot");
            EGT_REFUSED(eg_unsorted_segment_sum(row, i, 3), EG_EINDEX, "unsorted_segment_sum");
        }
    }
    EGT_REFUSED(eg_take(x, I64(9)), EG_EINDEX, "index 9 at position [0] is outside -9..8");
    EGT_REFUSED(eg_embedding(x, I64(-1)), EG_EINDEX, "index -1");
    EGT_REFUSED(eg_one_hot(I64(0, -1), 3), EG_EINDEX, "index -1");
    EGT_REFUSED(eg_unsorted_segment_sum(row, I64(0, -1), 3), EG_EINDEX, "index -1");
    SAME(x, counted(3, 3)); /* as it was, and usable */
    SAME(eg_index_select(x, 0, I64(-1, -3)), eg_index_select(x, 0, I64(2, 0)));
}

/* 0-dim tensors are lines of one along axis 0, or -1. */
EGT(numbers_are_lines_of_one)
{
    eg_tensor *x = eg_scalar(5, EG_F64), *zero = eg_scalar(0, EG_I64), *line = F64(1, 2, 3);
    eg_tensor *seven = eg_scalar(7, EG_F64), *back = eg_scalar(-1, EG_I64);
    for (int axis = -1; axis <= 0; axis++) {
        SAME(eg_index_select(x, axis, zero), x);
        SAME(eg_index_select(x, axis, I64(0, -1)), F64(5, 5));
        SAME(eg_gather(x, axis, back), x);
        SAME(eg_gather(x, axis, I64(0, 0)), F64(5, 5));
        SAME(eg_gather(line, axis, back), eg_scalar(3, EG_F64));
        SAME(eg_take_along(x, axis, zero), x);
        SAME(eg_take_along(line, axis, back), eg_scalar(3, EG_F64));
        SAME(eg_index_copy(x, axis, I64(0), F64(7)), seven);
        SAME(eg_index_copy(x, axis, zero, seven), seven);
        SAME(eg_index_copy(line, axis, back, seven), F64(1, 2, 7));
        SAME(eg_index_fill(x, axis, zero, 7), seven);
        SAME(eg_index_fill(line, axis, back, 7), F64(1, 2, 7));
        SAME(eg_index_add(x, axis, I64(0, 0), F64(3, 4)), eg_scalar(12, EG_F64));
        SAME(eg_index_add(line, axis, back, seven), F64(1, 2, 10));
        SAME(eg_scatter(x, axis, zero, seven), seven);
        SAME(eg_scatter_add(x, axis, I64(0, 0), F64(3, 4)), eg_scalar(12, EG_F64));
        SAME(eg_scatter(line, axis, back, seven), F64(1, 2, 7));
        SAME(eg_scatter_reduce(x, axis, zero, seven, EG_SCATTER_MEAN), eg_scalar(6, EG_F64));
        SAME(eg_scatter_reduce(x, axis, zero, seven, EG_SCATTER_MAX), seven);
    }
    EGT_REFUSED(eg_gather(x, 0, eg_scalar(1, EG_I64)), EG_EINDEX, "index 1 at position [0] is outside -1..0");
    EGT_REFUSED(eg_gather(x, 1, zero), EG_ESHAPE, "axis 1 is outside rank 0");
    EGT_REFUSED(eg_gather(x, 0, eg_zeros(EG_SHAPE(1, 1), EG_I64)), EG_ESHAPE, "[1, 1]");
    EGT_REFUSED(eg_scatter(x, 0, zero, F64(1)), EG_ESHAPE, "index is [], source is [1]");
    EGT_REFUSED(eg_index_add(x, 0, I64(0, 0), seven), EG_ESHAPE, "source []");
    EGT_REFUSED(eg_index_add(x, -2, zero, seven), EG_ESHAPE, "outside rank 0");
}

/* Indices of all integers are taken alike. */
EGT(indices_are_any_integers)
{
    static const eg_dtype integers[] = {EG_I32, EG_U8};
    eg_tensor *x = counted(4, 3), *rows = counted(2, 3), *i = I64(3, 1);
    eg_tensor *all = eg_expand(eg_unsqueeze(i, 1), EG_SHAPE(2, 3));
    eg_tensor *places = eg_reshape(I64(3, 1, 0, 2), EG_SHAPE(2, 2));
    for (int k = 0; k < 2; k++) {
        const eg_dtype t = integers[k];
        eg_tensor *j = eg_cast(i, t), *wide = eg_cast(all, t), *at = eg_cast(places, t);
        SAME(eg_index_select(x, 0, j), eg_index_select(x, 0, i));
        SAME(eg_take(x, j), eg_take(x, i));
        SAME(eg_embedding(x, j), eg_embedding(x, i));
        SAME(eg_gather(x, 0, wide), eg_gather(x, 0, all));
        SAME(eg_take_along(x, 0, wide), eg_take_along(x, 0, all));
        SAME(eg_gather_nd(x, at), eg_gather_nd(x, places));
        SAME(eg_index_copy(x, 0, j, rows), eg_index_copy(x, 0, i, rows));
        SAME(eg_index_fill(x, 0, j, 9), eg_index_fill(x, 0, i, 9));
        SAME(eg_index_add(x, 0, j, rows), eg_index_add(x, 0, i, rows));
        SAME(eg_scatter(x, 0, wide, rows), eg_scatter(x, 0, all, rows));
        SAME(eg_scatter_add(x, 0, wide, rows), eg_scatter_add(x, 0, all, rows));
        SAME(eg_scatter_reduce(x, 0, wide, rows, EG_SCATTER_MIN), eg_scatter_reduce(x, 0, all, rows, EG_SCATTER_MIN));
        SAME(eg_scatter_nd_add(x, at, F64(1, 2)), eg_scatter_nd_add(x, places, F64(1, 2)));
        SAME(eg_unsorted_segment_sum(rows, j, 4), eg_unsorted_segment_sum(rows, i, 4));
        SAME(eg_segment_sum(rows, eg_cast(I64(1, 3), t)), eg_segment_sum(rows, I64(1, 3)));
        SAME(eg_one_hot(j, 4), eg_one_hot(i, 4));
        SAME(eg_sequence_mask(j, 4), eg_sequence_mask(i, 4));
        SAME(eg_ravel_index(at, EG_SHAPE(4, 3)), eg_ravel_index(places, EG_SHAPE(4, 3)));
        SAME(eg_unravel_index(j, EG_SHAPE(4, 3)), eg_unravel_index(i, EG_SHAPE(4, 3)));
        SAME(eg_in_topk(x, eg_cast(I64(2, 1, 0, 2), t), 1), eg_in_topk(x, I64(2, 1, 0, 2), 1));
        SAME(eg_bincount(j, NULL, 0), eg_bincount(i, NULL, 0));
    }
    EGT_REFUSED(eg_index_select(x, 0, eg_cast(I64(1, 200), EG_U8)), EG_EINDEX, "index 200 at position [1]");
}

/* x's element and what falls on it, exactly, then rounded down. */
EGT(means_of_integers)
{
    eg_tensor *i = I64(0, 0, 1), *s = I64(4, 4, -8);
    SAME(eg_scatter_reduce(I64(3, 1, 7), 0, i, s, EG_SCATTER_MEAN), I64(3, -4, 7)); /* 11 / 3, -7 / 2 */
    eg_tensor *bytes = eg_full(EG_SHAPE(2), 255, EG_U8);
    eg_tensor *y = eg_scatter_reduce(bytes, 0, I64(0, 0), bytes, EG_SCATTER_MEAN);
    EGT_EQ(eg_dtype_of(y), EG_U8);
    EGT_EQ(eg_get(y, 0), 255); /* though three of them are more than a u8 holds */
    eg_tensor *many = eg_scatter_reduce(eg_zeros(EG_SHAPE(1), EG_U8), 0, eg_zeros(EG_SHAPE(255), EG_I64),
                                        eg_full(EG_SHAPE(255), 2, EG_U8), EG_SCATTER_MEAN);
    EGT_EQ(eg_get(many, 0), 1); /* 510 / 256 */
    EGT_EQ(eg_dtype_of(eg_scatter_reduce(I64(1), 0, I64(0), F64(2), EG_SCATTER_MEAN)), EG_F64);
}

EGT(index_dtypes_and_shapes_are_checked)
{
    eg_tensor *x = counted(3, 3), *i = I64(0, 1), *row = counted(2, 3);
    EGT_REFUSED(eg_index_select(x, 0, F64(1)), EG_EDTYPE, "f64");
    EGT_REFUSED(eg_index_select(x, 0, eg_cast(i, EG_BOOL)), EG_EDTYPE, "bool");
    EGT_REFUSED(eg_embedding(x, eg_cast(i, EG_F32)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_gather_nd(x, F64(1)), EG_EDTYPE, "f64");
    EGT_REFUSED(eg_gather(x, 0, i), EG_ESHAPE, "[2]");
    EGT_REFUSED(eg_gather(x, 0, eg_zeros(EG_SHAPE(1, 4), EG_I64)), EG_ESHAPE, "[1, 4]");
    EGT_REFUSED(eg_take_along(x, 0, eg_zeros(EG_SHAPE(1, 2), EG_I64)), EG_ESHAPE, "[1, 2]");
    EGT_REFUSED(eg_scatter(x, 0, eg_zeros(EG_SHAPE(2, 3), EG_I64), counted(2, 2)), EG_ESHAPE,
                "index is [2, 3], source is [2, 2]");
    EGT_REFUSED(eg_scatter_add(x, 1, eg_zeros(EG_SHAPE(4, 1), EG_I64), counted(4, 1)), EG_ESHAPE, "[4, 1]");
    EGT_REFUSED(eg_index_add(x, 0, i, counted(3, 3)), EG_ESHAPE, "[3, 3]");
    EGT_REFUSED(eg_index_copy(x, 0, eg_unsqueeze(i, 0), row), EG_ESHAPE, "[1, 2]");
    EGT_REFUSED(eg_index_fill(x, 0, eg_unsqueeze(i, 0), 1), EG_ESHAPE, "1-D");
    EGT_REFUSED(eg_scatter_nd_add(x, eg_unsqueeze(i, 1), x), EG_ESHAPE, "[3, 3]");
    EGT_REFUSED(eg_gather_nd(x, eg_zeros(EG_SHAPE(2, 3), EG_I64)), EG_ESHAPE, "at most 2");
    EGT_REFUSED(eg_gather_nd(x, eg_full(EG_SCALAR, 0, EG_I64)), EG_ESHAPE, "[]");
    EGT_REFUSED(
        eg_scatter_add(eg_cast(x, EG_BOOL), 0, eg_zeros(EG_SHAPE(1, 1), EG_I64), eg_zeros(EG_SHAPE(1, 1), EG_BOOL)),
        EG_EDTYPE, "bool");
    EGT_REFUSED(eg_scatter_reduce(x, 0, eg_zeros(EG_SHAPE(1, 1), EG_I64), counted(1, 1), (eg_scatter_mode)7), EG_EINVAL,
                "mode 7");
    EGT_REFUSED(eg_scatter_reduce(eg_cast(x, EG_BOOL), 0, eg_zeros(EG_SHAPE(1, 1), EG_I64),
                                  eg_zeros(EG_SHAPE(1, 1), EG_BOOL), EG_SCATTER_MEAN),
                EG_EDTYPE, "bools");
    static const int axes[] = {2, -3, INT32_MIN, INT32_MAX};
    eg_tensor *wide = eg_zeros(EG_SHAPE(2, 3), EG_I64);
    for (int k = 0; k < 4; k++) {
        EGT_REFUSED(eg_index_select(x, axes[k], i), EG_ESHAPE, "axis");
        EGT_REFUSED(eg_index_add(x, axes[k], i, row), EG_ESHAPE, "axis");
        EGT_REFUSED(eg_index_copy(x, axes[k], i, row), EG_ESHAPE, "axis");
        EGT_REFUSED(eg_index_fill(x, axes[k], i, 0), EG_ESHAPE, "axis");
        EGT_REFUSED(eg_gather(x, axes[k], wide), EG_ESHAPE, "axis");
        EGT_REFUSED(eg_take_along(x, axes[k], wide), EG_ESHAPE, "axis");
        EGT_REFUSED(eg_scatter(x, axes[k], wide, row), EG_ESHAPE, "axis");
    }
}

EGT(nothing_to_pick_from)
{
    eg_tensor *none = eg_zeros(EG_SHAPE(0, 3), EG_F32), *no_index = eg_zeros(EG_SHAPE(0), EG_I64);
    EGT_REFUSED(eg_index_select(none, 0, I64(0)), EG_EINDEX, "index 0");
    EGT_REFUSED(eg_embedding(none, I64(0)), EG_EINDEX, "embedding");
    EGT_REFUSED(eg_gather(none, 0, eg_zeros(EG_SHAPE(1, 3), EG_I64)), EG_EINDEX, "gather");
    EGT_EQ(eg_numel(eg_index_select(none, 0, no_index)), 0);
    EGT_EQ(eg_numel(eg_embedding(none, no_index)), 0);
    EGT_EQ(eg_numel(eg_gather(none, 0, eg_zeros(EG_SHAPE(0, 3), EG_I64))), 0);
    eg_tensor *y = eg_gather_nd(counted(2, 2), eg_zeros(EG_SHAPE(3, 0), EG_I64)); /* whole x, 3 times */
    EGT_CHECK(eg_ndim(y) == 3 && eg_numel(y) == 12);
    EGT_EQ(eg_numel(eg_gather_nd(counted(2, 2), eg_zeros(EG_SHAPE(0, 2), EG_I64))), 0);
    EGT_EQ(eg_size(eg_unsorted_segment_sum(none, no_index, 4), 0), 4);
    EGT_EQ(eg_size(eg_unsorted_segment_sum(none, no_index, 0), 0), 0);
}

EGT(embedding_and_its_padding)
{
    eg_tensor *table = counted(4, 2), *ids, *g;
    ids = eg_from_values(EG_SHAPE(2, 3), EG_I32, (double[]){1, 3, 1, 0, 1, 3});
    EGT_REFUSED(eg_embedding(table, ids, .padded = true, .padding = 4), EG_EINDEX, "padding 4");
    EGT_REFUSED(eg_embedding(table, ids, .padded = true, .padding = -1), EG_EINDEX, "padding -1");
    EGT_REFUSED(eg_embedding(eg_scalar(1, EG_F32), ids), EG_ESHAPE, "0-dim");
    for (int padded = 0; padded < 2; padded++) {
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, table);
        eg_tensor *y = eg_embedding(table, ids, .padded = padded, .padding = 1);
        EGT_EQ(eg_get(y, 2), 6);
        EGT_OK(eg_tape_gradients(tape, eg_sum(eg_mul(y, y)), &table, 1, &g));
        SAME(g, eg_reshape(F64(0, 2, padded ? 0 : 12, padded ? 0 : 18, 0, 0, 24, 28), EG_SHAPE(4, 2)));
    }
    /* The gradient of the gradient leaves the row out too. */
    eg_tape outer = eg_tape_open(), inner;
    eg_tensor *h;
    eg_tape_watch(outer, table);
    inner = eg_tape_open();
    eg_tensor *y = eg_embedding(table, ids, .padded = true, .padding = 1);
    EGT_OK(eg_tape_gradients(inner, eg_sum(eg_mul(y, y)), &table, 1, &g));
    EGT_OK(eg_tape_gradients(outer, eg_sum(g), &table, 1, &h));
    SAME(h, eg_reshape(F64(2, 2, 0, 0, 0, 0, 4, 4), EG_SHAPE(4, 2)));
}

/* Sums come in the order of the index: the same bits on one thread and on all. */
EGT(threads_do_not_change_a_sum)
{
    static const eg_shape shapes[] = {{2, {300, 64}}, {2, {20, 1000}}, {3, {40, 50, 30}}, {2, {30000, 2}}};
    int all = eg_threads();
    for (int k = 0; k < 4; k++) {
        EG_SCOPE {
            int axis = shapes[k].ndim - 2;
            eg_shape from = shapes[k];
            from.dim[axis] = 9000;
            from.dim[0] = axis ? 40 : 9000;
            eg_tensor *source = egt_random(from, EG_F32, -1, 1), *y[2];
            eg_tensor *index =
                eg_cast(eg_floor(egt_random(EG_SHAPE(9000), EG_F64, 0, (double)shapes[k].dim[axis])), EG_I64);
            eg_tensor *x = egt_random(shapes[k], EG_F32, -1, 1);
            for (int one = 0; one < 2; one++) {
                EGT_OK(eg_set_threads(one ? 1 : all));
                y[one] = eg_index_add(x, axis, index, source);
            }
            EGT_OK(eg_set_threads(all));
            SAME(y[0], y[1]);
        }
    }
}

/* A sum of small numbers would stand still in a half. */
EGT(halves_are_summed_in_f32)
{
    for (int k = 0; k < 2; k++) {
        eg_dtype half = k ? EG_BF16 : EG_F16;
        eg_tensor *table = eg_zeros(EG_SHAPE(2, 1), half), *ids = eg_zeros(EG_SHAPE(6000), EG_I64), *g;
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, table);
        eg_tensor *y = eg_embedding(table, ids), *dy = eg_full(eg_shape_of(y), 0.0625, half);
        EGT_OK(eg_tape_gradients(tape, y, &table, 1, &g, .dy = dy));
        EGT_EQ(eg_dtype_of(g), half);
        EGT_NEAR(eg_get(g, 0), 375, 0.005);
        EGT_NEAR(eg_get(eg_index_add(table, 0, ids, dy), 0), 375, 0.005);
        EGT_NEAR(eg_get(eg_scatter_add(table, 0, eg_unsqueeze(ids, 1), dy), 0), 375, 0.005);
        EGT_NEAR(eg_get(eg_unsorted_segment_sum(dy, ids, 2), 0), 375, 0.005);
    }
}

EGT(the_last_of_several_stays)
{
    eg_tensor *x = F64(0, 0, 0), *s = F64(1, 2, 3, 4), *g[2];
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tape_watch(tape, s);
    eg_tensor *y = eg_scatter(x, 0, I64(2, 0, 2, -1), s);
    SAME(y, F64(2, 0, 4));
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_mul(y, F64(5, 6, 7))), ((eg_tensor *[]){x, s}), 2, g));
    SAME(g[0], F64(0, 6, 0));
    SAME(g[1], F64(0, 5, 0, 7));
}

EGT(joins_of_a_scatter)
{
    eg_tensor *x = F64(2, 2, NAN, 5), *i = I64(0, 0, 1, 2, 3), *s = F64(0, 3, NAN, 1, 5), *g[2];
    SAME(eg_scatter_reduce(x, 0, i, s, EG_SCATTER_MAX), F64(3, NAN, NAN, 5));
    SAME(eg_scatter_reduce(x, 0, i, s, EG_SCATTER_MIN), F64(0, NAN, NAN, 5));
    SAME(eg_scatter_reduce(x, 0, i, s, EG_SCATTER_MUL), F64(0, NAN, NAN, 25));
    SAME(eg_scatter_reduce(F64(2, 4), 0, I64(0, 0), F64(3, 7), EG_SCATTER_MEAN), F64(4, 4));
    /* The sum of halves is past what they hold, their mean is not. */
    eg_tensor *mean = eg_scatter_reduce(eg_zeros(EG_SHAPE(1), EG_F16), 0, eg_zeros(EG_SHAPE(100), EG_I64),
                                        eg_full(EG_SHAPE(100), 1000, EG_F16), EG_SCATTER_MEAN);
    EGT_EQ(eg_dtype_of(mean), EG_F16);
    EGT_NEAR(eg_item(mean), 1e5 / 101, 5e-4);
    eg_tape tape = eg_tape_open(.persistent = true);
    eg_tensor *a = F64(5, 1), *b = F64(5, 5, 0, 0);
    eg_tape_watch(tape, a);
    eg_tape_watch(tape, b);
    /* Equal ones share; of a product with one zero only that has a gradient, with two none. */
    eg_tensor *most = eg_scatter_reduce(a, 0, I64(0, 0, 1, 1), b, EG_SCATTER_MAX);
    EGT_OK(eg_tape_gradients(tape, eg_sum(most), ((eg_tensor *[]){a, b}), 2, g));
    SAME(g[0], eg_div_scalar(F64(1, 3), 3));
    SAME(g[1], eg_div_scalar(F64(1, 1, 0, 0), 3));
}

EGT(products_with_zeros)
{
    eg_tensor *a = F64(2, 3, 4), *b = F64(5, 0, 7, 0, 0), *g[2];
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, a);
    eg_tape_watch(tape, b);
    eg_tensor *y = eg_scatter_reduce(a, 0, I64(0, 1, 1, 2, 2), b, EG_SCATTER_MUL);
    EGT_OK(eg_tape_gradients(tape, eg_sum(y), ((eg_tensor *[]){a, b}), 2, g));
    SAME(g[0], F64(5, 0, 0));
    SAME(g[1], F64(2, 21, 0, 0, 0));
}

EGT(segments)
{
    eg_tensor *x = counted(4, 2);
    SAME(eg_segment_sum(x, I64(0, 0, 2, 2)), eg_reshape(F64(2, 4, 0, 0, 10, 12), EG_SHAPE(3, 2)));
    SAME(eg_unsorted_segment_sum(x, I64(1, 0, 1, 1), 3), eg_reshape(F64(2, 3, 10, 13, 0, 0), EG_SHAPE(3, 2)));
    EGT_REFUSED(eg_segment_sum(x, I64(0, 2, 1, 3)), EG_EINVAL, "ids[2] is 1 after 2");
    EGT_REFUSED(eg_segment_sum(x, I64(-1, 0, 1, 3)), EG_EINVAL, "ids[0] is -1");
    EGT_REFUSED(eg_segment_sum(x, I64(0, 1)), EG_ESHAPE, "[2]");
    EGT_REFUSED(eg_segment_sum(x, F64(0, 0, 1, 1)), EG_EDTYPE, "f64");
    EGT_REFUSED(eg_segment_sum(eg_scalar(1, EG_F32), I64(0)), EG_ESHAPE, "[]");
    eg_tensor *huge = eg_full(EG_SHAPE(4), 0, EG_I64);
    int64_t *p = eg_data_mut(huge);
    p[3] = INT64_MAX;
    EGT_REFUSED(eg_segment_sum(x, huge), EG_EINDEX, "too large");
    p[3] = (int64_t)1 << 60;
    EGT_REFUSED(eg_segment_sum(x, huge), EG_ESHAPE, "more bytes");
    EGT_REFUSED(eg_unsorted_segment_sum(x, I64(0, 1, 2, 3, 4), 9), EG_ESHAPE, "[5]");
    EGT_REFUSED(eg_unsorted_segment_sum(x, I64(0, 0, 0, 0), -1), EG_ESHAPE, "count is -1");
    EGT_REFUSED(eg_unsorted_segment_sum(x, I64(0, 0, 0, 0), 0), EG_EINDEX, "outside 0..-1");
    EGT_REFUSED(eg_unsorted_segment_sum(x, I64(0, 0, 0, 0), INT64_MAX), EG_ESHAPE, "more bytes");
}

/* x broadcasts to the mask, too. */
EGT(masks_of_more_axes)
{
    eg_tensor *x = F64(1, 2, 3), *m = eg_from_values(EG_SHAPE(2, 1), EG_BOOL, (double[]){0, 1}), *dx;
    eg_tensor *wide = eg_from_values(EG_SHAPE(2, 3), EG_BOOL, (double[]){1, 0, 0, 0, 1, 1});
    SAME(eg_masked_fill(x, m, 9), eg_reshape(F64(1, 2, 3, 9, 9, 9), EG_SHAPE(2, 3)));
    SAME(eg_masked_fill(x, eg_ones(EG_SHAPE(1, 1, 3), EG_BOOL), 9), eg_full(EG_SHAPE(1, 1, 3), 9, EG_F64));
    SAME(eg_masked_fill(eg_scalar(5, EG_F64), m, 9), eg_reshape(F64(5, 9), EG_SHAPE(2, 1)));
    SAME(eg_masked_select(x, m), F64(1, 2, 3));
    SAME(eg_masked_scatter(x, wide, F64(7, 8, 9)), eg_reshape(F64(7, 2, 3, 1, 8, 9), EG_SHAPE(2, 3)));
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_masked_fill(x, wide, 9)), &x, 1, &dx));
    SAME(dx, F64(1, 1, 1));
}

EGT(masks)
{
    eg_tensor *x = counted(2, 3), *m = eg_from_values(EG_SHAPE(2, 3), EG_BOOL, (double[]){1, 0, 0, 0, 1, 1});
    SAME(eg_masked_select(x, m), F64(0, 4, 5));
    SAME(eg_masked_select(x, eg_from_values(EG_SHAPE(3), EG_F32, (double[]){0, NAN, 0})), F64(1, 4));
    SAME(eg_masked_fill(x, m, NAN), eg_reshape(F64(NAN, 1, 2, 3, NAN, NAN), EG_SHAPE(2, 3)));
    SAME(eg_masked_scatter(x, m, F64(7, 8, 9, 10)), eg_reshape(F64(7, 1, 2, 3, 8, 9), EG_SHAPE(2, 3)));
    SAME(eg_nonzero(m), eg_reshape(I64(0, 0, 1, 1, 1, 2), EG_SHAPE(3, 2)));
    EGT_EQ(eg_size(eg_nonzero(eg_scalar(3, EG_F32)), 0), 1);
    EGT_EQ(eg_size(eg_nonzero(eg_zeros(EG_SHAPE(4, 0), EG_F32)), 0), 0);
    EGT_REFUSED(eg_masked_select(x, eg_ones(EG_SHAPE(2, 2), EG_BOOL)), EG_ESHAPE, "[2, 2]");
    EGT_REFUSED(eg_masked_fill(x, eg_ones(EG_SHAPE(2), EG_BOOL), 0), EG_ESHAPE, "[2, 3] and [2]");
    EGT_REFUSED(eg_masked_scatter(x, m, F64(7, 8)), EG_ESHAPE, "fewer");
    EGT_REFUSED(eg_masked_scatter(x, eg_ones(EG_SHAPE(4), EG_BOOL), x), EG_ESHAPE, "[2, 3] and [4]");
    uint8_t odd[] = {0, 2, 255};
    eg_tensor *bytes = eg_wrap(odd, EG_SHAPE(3), EG_BOOL, NULL, NULL); /* any byte but 0 is true */
    SAME(eg_nonzero(bytes), eg_reshape(I64(1, 2), EG_SHAPE(2, 1)));
    SAME(eg_sequence_mask(I64(2, 0, -1, 9), 3),
         eg_from_values(EG_SHAPE(4, 3), EG_BOOL, (double[]){1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}));
    EGT_REFUSED(eg_sequence_mask(I64(2), -1), EG_ESHAPE, "count is -1");
    EGT_REFUSED(eg_sequence_mask(F64(2), 3), EG_EDTYPE, "f64");
}

EGT(nonzero_of_many)
{
    eg_tensor *m = eg_gt_scalar(egt_random(EG_SHAPE(7, 301, 101), EG_F32, 0, 1), 0.7), *at = eg_nonzero(m);
    int64_t row = 0;
    for (int64_t i = 0; i < eg_numel(m); i++) {
        if (eg_get(m, i) != 0) {
            EGT_CHECK(row < eg_size(at, 0));
            EGT_EQ((eg_get(at, 3 * row) * 301 + eg_get(at, 3 * row + 1)) * 101 + eg_get(at, 3 * row + 2), i);
            row++;
        }
    }
    EGT_EQ(row, eg_size(at, 0));
}

EGT(one_hot_depths)
{
    SAME(eg_one_hot(I64(1, 0), 3, .dtype = EG_F64), eg_reshape(F64(0, 1, 0, 1, 0, 0), EG_SHAPE(2, 3)));
    SAME(eg_one_hot(I64(1), 2, .on = EG_ZERO), eg_zeros(EG_SHAPE(1, 2), EG_F32));
    SAME(eg_one_hot(I64(1), 2, .off = EG_ZERO), eg_one_hot(I64(1), 2));
    SAME(eg_one_hot(I64(1), 2, .on = EG_ZERO, .off = 3), eg_one_hot(I64(1), 2, .off = 3));
    SAME(eg_one_hot(I64(1, 0), 2, .on = 0, .off = -1, .dtype = EG_F64), eg_reshape(F64(-1, 0, 0, -1), EG_SHAPE(2, 2)));
    EGT_EQ(eg_numel(eg_one_hot(eg_zeros(EG_SHAPE(0), EG_I64), 0)), 0);
    EGT_REFUSED(eg_one_hot(I64(0), 0), EG_EINDEX, "outside 0..-1");
    EGT_REFUSED(eg_one_hot(I64(0), -1), EG_ESHAPE, "depth is -1");
    EGT_REFUSED(eg_one_hot(I64(0), INT64_MIN), EG_ESHAPE, "depth");
    EGT_REFUSED(eg_one_hot(I64(0), INT64_MAX), EG_ESHAPE, "more bytes");
    EGT_REFUSED(eg_one_hot(F64(0), 2), EG_EDTYPE, "f64");
    EGT_REFUSED(eg_one_hot(I64(0), 2, .dtype = (eg_dtype)77), EG_EDTYPE, "77");
    eg_memory_limit(eg_memory_stats().reserved_bytes + (64 << 20));
    EGT_REFUSED(eg_one_hot(I64(0), (int64_t)1 << 40), EG_ENOMEM, "one_hot");
    EGT_CHECK(eg_one_hot(I64(0), 10));
}

EGT(numbers_of_places)
{
    eg_tensor *at = eg_reshape(I64(1, 2, 0, -1), EG_SHAPE(2, 2));
    SAME(eg_ravel_index(at, EG_SHAPE(2, 3)), I64(5, 2));
    SAME(eg_unravel_index(I64(5, -1, 2), EG_SHAPE(2, 3)), eg_reshape(I64(1, 2, 1, 2, 0, 2), EG_SHAPE(3, 2)));
    EGT_REFUSED(eg_unravel_index(I64(6), EG_SHAPE(2, 3)), EG_EINDEX, "index 6");
    EGT_REFUSED(eg_unravel_index(I64(0), EG_SHAPE(2, 0)), EG_EINDEX, "index 0");
    EGT_EQ(eg_numel(eg_unravel_index(eg_zeros(EG_SHAPE(0), EG_I64), EG_SHAPE(2, 0))), 0);
    EGT_REFUSED(eg_unravel_index(I64(0), EG_SHAPE((int64_t)1 << 32, (int64_t)1 << 32)), EG_ESHAPE, "bytes");
    EGT_REFUSED(eg_unravel_index(I64(0), EG_SHAPE(-2, 3)), EG_ESHAPE, "negative");
    EGT_REFUSED(eg_unravel_index(I64(0), ((eg_shape){.ndim = 9})), EG_ESHAPE, "rank 9");
    EGT_REFUSED(eg_unravel_index(F64(0), EG_SHAPE(2)), EG_EDTYPE, "f64");
    EGT_REFUSED(eg_ravel_index(at, EG_SHAPE(2)), EG_ESHAPE, "rank 1");
    EGT_REFUSED(eg_ravel_index(at, EG_SHAPE(2, 2)), EG_EINDEX, "index 2 of axis 1 at place 0");
    EGT_REFUSED(eg_ravel_index(at, EG_SHAPE((int64_t)1 << 32, (int64_t)1 << 32)), EG_ESHAPE, "bytes");
    EGT_EQ(eg_item(eg_unravel_index(eg_full(EG_SCALAR, 4, EG_I64), EG_SHAPE(5))), 4);
}
