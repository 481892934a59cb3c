/* test_cuda_index.c - indices on a CUDA device: bad ones, and what the sweep has no room for. */
#include "tests/cuda/module.h"

#define THERE(t) eg_to(t, cuda(0))
#define I64(...) eg_from_values(EG_SHAPE(EG_COUNT_(double, __VA_ARGS__)), EG_I64, (const double[]){__VA_ARGS__})

static bool same(eg_tensor *there, eg_tensor *here)
{
    eg_tensor *y = eg_contiguous(eg_to(there, eg_cpu()));
    here = eg_contiguous(here);
    return y && here && eg_numel(y) == eg_numel(here) && egt_distance(y, here) == 0;
}

/* Exact in any order of sums. */
static eg_tensor *whole(eg_shape shape, eg_dtype dtype)
{
    return eg_cast(eg_floor(egt_random(shape, EG_F64, -9, 9)), dtype);
}

static eg_tensor *ids(eg_shape shape, double n)
{
    return eg_cast(eg_floor(egt_random(shape, EG_F64, 0, n)), EG_I64);
}

/* ---- bad ones -------------------------------------------------------------------------------------- */

/* The call is made, the next one that waits says what was wrong, and the device lives. */
#define FOUND_LATER(call, name, words)                                                           \
    do {                                                                                         \
        eg_clear_error();                                                                        \
        EGT_CHECK((call) != NULL);                                                               \
        EGT_CHECK(eg_device_synchronize(cuda(0)) == EG_EINDEX);                                  \
        EGT_CHECK(strstr(eg_last_error()->op, name) && strstr(eg_last_error()->message, words)); \
        EGT_OK(eg_device_synchronize(cuda(0)));                                                  \
        EGT_CHECK(same(eg_add(x, x), eg_mul_scalar(eg_to(x, eg_cpu()), 2)));                     \
    } while (0)

EGT(bad_indices_are_found_later)
{
    eg_tensor *x = THERE(whole(EG_SHAPE(3, 4), EG_F32)), *row = THERE(whole(EG_SHAPE(2, 4), EG_F32));
    eg_tensor *i = THERE(I64(0, 3)), *low = THERE(I64(-4, 1)), *none = THERE(eg_zeros(EG_SHAPE(0, 4), EG_F32));
    eg_tensor *wide = eg_contiguous(eg_expand(eg_unsqueeze(i, 1), EG_SHAPE(2, 4)));
    FOUND_LATER(eg_index_select(x, 0, i), "index_select", "index 3 is outside -3..2");
    FOUND_LATER(eg_index_select(x, 0, low), "index_select", "index -4 is outside -3..2");
    FOUND_LATER(eg_index_select(x, 0, eg_cast(low, EG_I32)), "index_select", "index -4 is outside");
    FOUND_LATER(eg_index_select(none, 0, i), "index_select", "is outside 0..-1");
    FOUND_LATER(eg_embedding(x, low), "embedding", "index -4 is outside 0..2");
    FOUND_LATER(eg_take(x, THERE(I64(12))), "take", "index 12 is outside -12..11");
    FOUND_LATER(eg_gather(x, 0, wide), "gather", "index 3 is outside -3..2");
    FOUND_LATER(eg_gather(none, 0, wide), "gather", "is outside 0..-1");
    FOUND_LATER(eg_take_along(x, 0, eg_unsqueeze(i, 1)), "take_along", "index 3");
    FOUND_LATER(eg_index_add(x, 0, i, row), "index_add", "index 3");
    FOUND_LATER(eg_index_copy(x, 0, i, row), "index_copy", "index 3");
    FOUND_LATER(eg_index_fill(x, 0, i, 1), "index_fill", "index 3");
    FOUND_LATER(eg_scatter(x, 0, wide, row), "scatter", "index 3");
    FOUND_LATER(eg_scatter_add(x, 0, wide, row), "scatter_add", "index 3");
    FOUND_LATER(eg_scatter_reduce(x, 0, wide, row, EG_SCATTER_MIN), "scatter_reduce", "index 3");
    FOUND_LATER(eg_gather_nd(x, eg_unsqueeze(i, 1)), "gather_nd", "index 3 is outside -3..2");
    FOUND_LATER(eg_scatter_nd_add(x, eg_unsqueeze(i, 1), row), "scatter_nd_add", "index 3");
    FOUND_LATER(eg_one_hot(low, 3), "one_hot", "index -4 is outside 0..2");
    FOUND_LATER(eg_one_hot(i, 0), "one_hot", "is outside 0..-1");
    FOUND_LATER(eg_unsorted_segment_sum(row, i, 2), "unsorted_segment_sum", "index 3 is outside 0..1");
    FOUND_LATER(eg_unravel_index(i, EG_SHAPE(1, 2)), "unravel_index", "index 3 is outside -2..1");
    FOUND_LATER(eg_ravel_index(i, EG_SHAPE(4, 2)), "ravel_index", "index 3 is outside -2..1");
    eg_clear_error();
}

EGT(a_bad_index_counts_as_zero)
{
    eg_tensor *x = whole(EG_SHAPE(5, 40), EG_F32), *i = I64(4, 9, -6, 2);
    eg_tensor *y = eg_index_select(THERE(x), 0, THERE(i));
    EGT_CHECK(eg_device_synchronize(cuda(0)) == EG_EINDEX);
    eg_clear_error();
    EGT_CHECK(same(y, eg_index_select(x, 0, I64(4, 0, 0, 2))));
}

/* Those from the end and those that are none, in the gradient too, which does not say it again. */
EGT(indices_are_checked_where_they_are_used)
{
    eg_tensor *x = whole(EG_SHAPE(7, 12), EG_F32), *i = eg_sub_scalar(ids(EG_SHAPE(5000), 14), 7);
    eg_tensor *rows = whole(EG_SHAPE(5000, 12), EG_F32), *dx[2];
    EGT_CHECK(same(eg_index_add(THERE(x), 0, THERE(i), THERE(rows)), eg_index_add(x, 0, i, rows)));
    for (int k = 0; k < 2; k++) {
        eg_tensor *in = k ? THERE(x) : x, *at = k ? THERE(i) : i;
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_tape_watch(tape, in));
        eg_tensor *y = eg_mul(eg_index_select(in, 0, at), k ? THERE(rows) : rows);
        EGT_OK(eg_tape_gradients(tape, eg_sum(y), &in, 1, &dx[k]));
    }
    EGT_CHECK(same(dx[1], dx[0]));
    eg_tensor *there = THERE(x);
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, there));
    eg_tensor *y = eg_embedding(there, THERE(I64(1, 7, 1)));
    EGT_EQ(eg_device_synchronize(cuda(0)), EG_EINDEX);
    eg_clear_error();
    EGT_OK(eg_tape_gradients(tape, eg_sum(y), &there, 1, &dx[0]));
    EGT_OK(eg_device_synchronize(cuda(0)));
    EGT_EQ(eg_get(dx[0], 12), 2);
}

EGT(an_index_elsewhere_is_refused)
{
    eg_tensor *x = THERE(whole(EG_SHAPE(3, 4), EG_F32));
    EGT_REFUSED(eg_index_select(x, 0, I64(0)), EG_EDEVICE, "input 1 on cpu");
    EGT_REFUSED(eg_concat((eg_tensor *[]){x, eg_to(x, eg_cpu())}, 2, 0), EG_EDEVICE, "input 1 on cpu");
}

/* ---- sizes ----------------------------------------------------------------------------------------- */

/* Rows whose units are 1, 2, 4, 8 and 16 bytes wide, some not aligned; and more than one unit for a thread. */
EGT(rows_of_any_width)
{
    static const int64_t width[] = {1, 2, 3, 4, 6, 8, 12, 16, 31, 64};
    eg_tensor *i = ids(EG_SHAPE(3, 70), 9);
    for (int k = 0; k < (int)(sizeof width / sizeof *width); k++) {
        eg_tensor *x = whole(EG_SHAPE(10, width[k]), k % 2 ? EG_U8 : EG_F16);
        eg_tensor *part = eg_slice(THERE(x), 0, 1, EG_END, 1); /* aligned to the width alone */
        x = eg_slice(x, 0, 1, EG_END, 1);
        EGT_CHECK(same(eg_index_select(part, 0, THERE(i)), eg_index_select(x, 0, i)));
    }
    eg_tensor *table = whole(EG_SHAPE(50, 2048), EG_F32), *many = ids(EG_SHAPE(2100), 50);
    EGT_CHECK(same(eg_embedding(THERE(table), THERE(many)), eg_embedding(table, many)));
}

/* Sums taken in the order of the sources while there are few, so the same as on the CPU to the bit. */
EGT(sums_in_order)
{
    eg_tensor *x = egt_random(EG_SHAPE(900, 24), EG_F32, -1, 1), *i = ids(EG_SHAPE(900), 40);
    eg_tensor *y = egt_random(EG_SHAPE(900, 7), EG_F32, -1, 1);
    EGT_CHECK(same(eg_unsorted_segment_sum(THERE(x), THERE(i), 40), eg_unsorted_segment_sum(x, i, 40)));
    EGT_CHECK(same(eg_unsorted_segment_sum(THERE(y), THERE(i), 40), eg_unsorted_segment_sum(y, i, 40)));
}

/* Runs cut into slots, and slots of slots; tiles of the sort, and digits. */
EGT(long_runs)
{
    static const int64_t count[] = {255, 256, 4096, 4097, 9000, 20000};
    static const eg_dtype dtype[] = {EG_F32, EG_F64, EG_I64, EG_I32, EG_U8};
    for (int k = 0; k < 6; k++) {
        for (int t = 0; t < 5; t++) {
            const int64_t n = count[k], places = k % 2 ? 300 : 3;
            eg_tensor *x = whole(EG_SHAPE(n, t % 2 ? 3 : 4), dtype[t]), *i = ids(EG_SHAPE(n), places);
            i = t == 1 ? eg_ones_like(i) : i; /* all of them one */
            EGT_CHECK(same(eg_unsorted_segment_sum(THERE(x), THERE(i), places), eg_unsorted_segment_sum(x, i, places)));
        }
    }
}

/* Columns beyond what one block takes, places beyond two digits, several slices. */
EGT(wide_and_many)
{
    eg_tensor *x = whole(EG_SHAPE(300, 1300), EG_F32), *i = ids(EG_SHAPE(300), 2);
    EGT_CHECK(same(eg_unsorted_segment_sum(THERE(x), THERE(i), 2), eg_unsorted_segment_sum(x, i, 2)));
    eg_tensor *thin = whole(EG_SHAPE(5000), EG_F32), *far = ids(EG_SHAPE(5000), 70000);
    EGT_CHECK(same(eg_unsorted_segment_sum(THERE(thin), THERE(far), 70000), eg_unsorted_segment_sum(thin, far, 70000)));
    eg_tensor *to = whole(EG_SHAPE(3, 5, 8), EG_F64), *from = whole(EG_SHAPE(3, 700, 8), EG_F64);
    eg_tensor *at = ids(EG_SHAPE(700), 5);
    EGT_CHECK(same(eg_index_add(THERE(to), 1, THERE(at), THERE(from)), eg_index_add(to, 1, at, from)));
}

EGT(scatters_with_long_runs)
{
    eg_tensor *x = whole(EG_SHAPE(2, 4, 3), EG_F32), *source = whole(EG_SHAPE(2, 3000, 3), EG_F32);
    eg_tensor *i = ids(EG_SHAPE(2, 3000, 3), 4),
              *sign = eg_where(eg_gt_scalar(source, 0), eg_ones_like(source), eg_neg(eg_ones_like(source)));
    EGT_CHECK(same(eg_scatter_add(THERE(x), 1, THERE(i), THERE(source)), eg_scatter_add(x, 1, i, source)));
    EGT_CHECK(same(eg_scatter(THERE(x), 1, THERE(i), THERE(source)), eg_scatter(x, 1, i, source)));
    for (eg_scatter_mode m = EG_SCATTER_MUL; m <= EG_SCATTER_MIN; m++) {
        eg_tensor *s = m == EG_SCATTER_MUL ? sign : source;
        EGT_CHECK(same(eg_scatter_reduce(THERE(x), 1, THERE(i), THERE(s), m), eg_scatter_reduce(x, 1, i, s, m)));
    }
    /* Turned, cut and spread sources; a base in another order. */
    eg_tensor *turned = eg_flip(source, EG_AXES(1)), *there = eg_contiguous(eg_transpose(THERE(source), 0, 2));
    there = eg_flip(eg_transpose(there, 0, 2), EG_AXES(1));
    eg_tensor *base = eg_transpose(eg_contiguous(eg_transpose(THERE(x), 0, 1)), 0, 1);
    EGT_CHECK(same(eg_scatter_add(base, 1, THERE(i), there), eg_scatter_add(x, 1, i, turned)));
    EGT_CHECK(same(eg_scatter(base, 1, THERE(i), there), eg_scatter(x, 1, i, turned)));
    eg_tensor *one = whole(EG_SHAPE(1), EG_F32), *spread = eg_expand(one, EG_SHAPE(2, 3000, 3));
    EGT_CHECK(same(eg_scatter_add(base, 1, THERE(i), eg_expand(THERE(one), EG_SHAPE(2, 3000, 3))),
                   eg_scatter_add(x, 1, i, spread)));
}

EGT(nan_among_extremes)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2), EG_F32), *i = eg_zeros(EG_SHAPE(400), EG_I64);
    for (int64_t at = 0; at < 400; at += 133) {
        eg_tensor *s = whole(EG_SHAPE(400), EG_F32);
        EGT_OK(eg_set(s, at, NAN));
        eg_tensor *y = eg_scatter_reduce(THERE(x), 0, THERE(i), THERE(s), EG_SCATTER_MAX);
        EGT_CHECK(isnan(eg_get(y, 0)) && eg_get(y, 1) == 0);
    }
}

EGT(sorted_segments)
{
    eg_tensor *x = whole(EG_SHAPE(5, 3), EG_F32), *i = I64(0, 0, 2, 2, 3);
    EGT_CHECK(same(eg_segment_sum(THERE(x), THERE(i)), eg_segment_sum(x, i)));
    EGT_REFUSED(eg_segment_sum(THERE(x), THERE(I64(0, 2, 1, 3, 3))), EG_EINVAL, "ids[2] is 1 after 2");
    EGT_REFUSED(eg_segment_sum(THERE(x), THERE(I64(-1, 2, 3, 3, 3))), EG_EINVAL, "ids[0] is -1");
}

EGT(found_among_many)
{
    eg_tensor *x = eg_lt_scalar(egt_random(EG_SHAPE(70, 3, 61), EG_F32, 0, 1), 0.3);
    EGT_CHECK(same(eg_nonzero(THERE(x)), eg_nonzero(x)));
    eg_tensor *cut = eg_slice(eg_reshape(x, EG_SHAPE(-1)), 0, 5, EG_END, 1); /* not aligned */
    EGT_CHECK(same(eg_nonzero(eg_slice(eg_reshape(THERE(x), EG_SHAPE(-1)), 0, 5, EG_END, 1)), eg_nonzero(cut)));
}

/* ---- joining --------------------------------------------------------------------------------------- */

static bool concat_same(int n, int axis, eg_dtype dtype, bool cut)
{
    eg_tensor *here[150], *there[150];
    for (int k = 0; k < n; k++) {
        eg_shape s = EG_SHAPE(6, 5, 4);
        s.dim[axis] = k % 7;
        here[k] = whole(s, dtype);
        there[k] = THERE(here[k]);
        if (cut) {
            here[k] = eg_slice(here[k], 0, 1, EG_END, 2);
            there[k] = eg_slice(there[k], 0, 1, EG_END, 2);
        }
    }
    return same(eg_concat(there, n, axis), eg_concat(here, n, axis));
}

EGT(many_are_joined_at_once)
{
    for (int axis = 0; axis < 3; axis++) {
        EGT_CHECK(concat_same(3, axis, EG_F32, false));
        EGT_CHECK(concat_same(9, axis, EG_U8, axis > 0));
        EGT_CHECK(concat_same(150, axis, EG_F16, axis > 0));
    }
    eg_tensor *x[64];
    for (int k = 0; k < 64; k++) {
        x[k] = THERE(whole(EG_SHAPE(3, 4), EG_F32));
    }
    FAKE(eg_fake_zero)();
    EGT_CHECK(eg_concat(x, 64, 1) != NULL);
    EGT_EQ(FAKE(eg_fake_read)().launches, 1);
}

EGT(padded_in_wide_units)
{
    eg_tensor *x = whole(EG_SHAPE(2, 3, 4, 8), EG_F16), *t = THERE(x);
    EGT_CHECK(same(eg_pad(t, .before = {0, 2}, .after = {1, 1}, .value = -2),
                   eg_pad(x, .before = {0, 2}, .after = {1, 1}, .value = -2)));
    EGT_CHECK(same(eg_pad(t, .before = {0, 0, 0, 8}, .after = {0, 0, 0, 16}),
                   eg_pad(x, .before = {0, 0, 0, 8}, .after = {0, 0, 0, 16})));
    EGT_CHECK(same(eg_pad(t, .before = {0, 0, -1, 4}, .after = {0, 0, 3, -2}, .value = 3),
                   eg_pad(x, .before = {0, 0, -1, 4}, .after = {0, 0, 3, -2}, .value = 3)));
    EGT_CHECK(
        same(eg_pad(t, .before = {0, 2}, .mode = EG_PAD_REFLECT), eg_pad(x, .before = {0, 2}, .mode = EG_PAD_REFLECT)));
    EGT_CHECK(same(eg_roll(eg_roll(t, 1, 0), 3, 2), eg_roll(eg_roll(x, 1, 0), 3, 2)));
}

/* ---- what is queued -------------------------------------------------------------------------------- */

EGT(an_embedding_does_not_wait)
{
    eg_tensor *table = THERE(whole(EG_SHAPE(50, 64), EG_F32)), *i = THERE(ids(EG_SHAPE(4, 30), 50)), *g;
    FAKE(eg_fake_zero)();
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, table));
    eg_tensor *y = eg_embedding(table, i);
    EGT_EQ(FAKE(eg_fake_read)().launches, 1);
    EGT_OK(eg_tape_gradients(tape, y, &table, 1, &g, .dy = y));
    eg_fake_counts c = FAKE(eg_fake_read)();
    EGT_CHECK(c.launches <= 4); /* a sort in one block, where runs are, the sums */
    EGT_EQ(c.syncs, 0);
    EGT_EQ(c.copies_in + c.copies_out, 0);
}
