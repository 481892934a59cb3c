/* test_join.c - joining, cutting, padding, repeating: values by hand, what is refused, what
 * gradients do to memory. */
#include "tests/egt.h"

static eg_tensor *counted(eg_shape shape, eg_dtype dtype)
{
    double n = 1;
    for (int d = 0; d < shape.ndim; d++) {
        n *= (double)shape.dim[d];
    }
    return eg_reshape(eg_arange(0, n, 1, dtype), shape);
}

static void check_values(eg_tensor *t, eg_shape shape, const double *want)
{
    EGT_CHECK(t);
    EGT_NEAR(egt_distance(t, eg_from_values(shape, eg_dtype_of(t), want)), 0, 0);
}
#define VALUES(t, shape, ...) check_values(t, shape, (double[]){__VA_ARGS__})

EGT(concat_by_hand)
{
    eg_tensor *a = counted(EG_SHAPE(2, 2), EG_F32), *b = eg_full(EG_SHAPE(2, 1), 9, EG_I32), *y;
    y = eg_concat((eg_tensor *[]){a, b, a}, 3, -1);
    VALUES(y, EG_SHAPE(2, 5), 0, 1, 9, 0, 1, 2, 3, 9, 2, 3);
    EGT_EQ(eg_dtype_of(y), EG_F32);
    y = eg_stack((eg_tensor *[]){a, a}, 2, 2);
    VALUES(y, EG_SHAPE(2, 2, 2), 0, 0, 1, 1, 2, 2, 3, 3);
}

EGT(concat_keeps_channels_last)
{
    eg_tensor *a = eg_channels_last(counted(EG_SHAPE(2, 3, 4, 5), EG_F32));
    eg_tensor *b = eg_channels_last(counted(EG_SHAPE(2, 8, 4, 5), EG_F32));
    eg_tensor *y = eg_concat((eg_tensor *[]){a, b}, 2, 1);
    EGT_CHECK(eg_is_channels_last(y));
    EGT_NEAR(egt_distance(eg_slice(y, 1, 3, 11, 1), b), 0, 0);
    EGT_CHECK(eg_is_channels_last(eg_pad(a, .before = {0, 1, 1, 1}, .after = {0, 0, 2, 1})));
}

EGT(concat_refuses)
{
    eg_tensor *a = eg_zeros(EG_SHAPE(2, 3), EG_F32), *b = eg_zeros(EG_SHAPE(2, 4), EG_F32);
    eg_tensor *c = eg_zeros(EG_SHAPE(2), EG_F32), *s = eg_scalar(1, EG_F32);
    eg_tensor *huge = eg_expand(eg_zeros(EG_SHAPE(1, 0), EG_F32), EG_SHAPE(INT64_MAX, 0));
    EGT_REFUSED(eg_concat(&a, 0, 0), EG_EINVAL, "n is 0");
    EGT_REFUSED(eg_concat(&a, -1, 0), EG_EINVAL, "n is -1");
    EGT_REFUSED(eg_concat(NULL, 1, 0), EG_EINVAL, "xs");
    EGT_REFUSED(eg_concat((eg_tensor *[]){a, NULL}, 2, 0), EG_EINVAL, "xs[1]");
    EGT_REFUSED(eg_concat((eg_tensor *[]){a, b}, 2, 0), EG_ESHAPE, "[2, 4]");
    EGT_REFUSED(eg_concat((eg_tensor *[]){a, c}, 2, 0), EG_ESHAPE, "[2]");
    EGT_REFUSED(eg_concat((eg_tensor *[]){s, s}, 2, 0), EG_ESHAPE, "rank 0");
    EGT_REFUSED(eg_concat((eg_tensor *[]){huge, huge}, 2, 0), EG_ESHAPE, "does not fit");
    EGT_REFUSED(eg_stack(&a, 0, 0), EG_EINVAL, "n is 0");
    EGT_REFUSED(eg_stack((eg_tensor *[]){a, b}, 2, 0), EG_ESHAPE, "xs[1] is [2, 4]");
    static const int axes[] = {3, -4, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) {
        EGT_REFUSED(eg_concat((eg_tensor *[]){a, a}, 2, axes[i]), EG_ESHAPE, "axis");
        EGT_REFUSED(eg_stack((eg_tensor *[]){a, a}, 2, axes[i]), EG_ESHAPE, "axis");
    }
}

EGT(concat_gives_gradients_past_the_saved_inputs)
{
    eg_tensor *x[40], *dx[40];
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < 40; i++) {
        x[i] = counted(EG_SHAPE(1 + i % 3, 2), EG_F64);
        if (i % 2) {
            EGT_OK(eg_tape_watch(tape, x[i]));
        }
    }
    eg_tensor *y = eg_concat(x, 40, 0), *w = counted(eg_shape_of(y), EG_F64);
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_mul(y, w)), ((eg_tensor *[]){x[1], x[39]}), 2, dx));
    VALUES(dx[0], EG_SHAPE(2, 2), 2, 3, 4, 5);
    EGT_EQ(eg_get(dx[1], 0), (double)(eg_size(y, 0) - 1) * 2);
}

EGT(cutting_by_hand)
{
    eg_tensor *x = counted(EG_SHAPE(2, 5), EG_I64), *p[5];
    EGT_OK(eg_split(x, (int64_t[]){2, 0, 3}, 3, -1, p));
    VALUES(p[0], EG_SHAPE(2, 2), 0, 1, 5, 6);
    EGT_EQ(eg_size(p[1], 1), 0);
    VALUES(p[2], EG_SHAPE(2, 3), 2, 3, 4, 7, 8, 9);
    EGT_OK(eg_chunk(x, 4, 1, p)); /* pieces of 2: three are enough */
    VALUES(p[2], EG_SHAPE(2, 1), 4, 9);
    EGT_CHECK(!p[3]);
    EGT_OK(eg_unbind(x, 1, p));
    VALUES(p[3], EG_SHAPE(2), 3, 8);
    EGT_OK(eg_chunk(eg_zeros(EG_SHAPE(0), EG_F32), 2, 0, p));
    EGT_CHECK(p[0] && !p[1]);
}

EGT(cutting_refuses)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 5), EG_F32), *p[3] = {x, x, x};
    EGT_REFUSED(eg_split(x, (int64_t[]){2, -1, 4}, 3, 1, p), EG_ESHAPE, "sizes[1] is -1");
    EGT_CHECK(!p[0] && !p[1] && !p[2]);
    EGT_REFUSED(eg_split(x, (int64_t[]){2, 2}, 2, 1, p), EG_ESHAPE, "add up to 4");
    EGT_REFUSED(eg_split(x, (int64_t[]){INT64_MAX, INT64_MAX}, 2, 1, p), EG_ESHAPE, "64 bits");
    EGT_REFUSED(eg_split(x, (int64_t[]){5}, 0, 1, p), EG_EINVAL, "0 pieces");
    EGT_REFUSED(eg_split(x, NULL, 1, 1, p), EG_EINVAL, "sizes");
    EGT_REFUSED(eg_split(x, (int64_t[]){5}, 1, 1, NULL), EG_EINVAL, "out");
    EGT_REFUSED(eg_split(x, (int64_t[]){5}, 1, 2, p), EG_ESHAPE, "axis 2");
    EGT_REFUSED(eg_chunk(x, 0, 1, p), EG_EINVAL, "0 pieces");
    EGT_REFUSED(eg_chunk(x, INT32_MIN, 1, p), EG_EINVAL, "pieces");
    EGT_REFUSED(eg_chunk(x, 2, -3, p), EG_ESHAPE, "axis -3");
    EGT_REFUSED(eg_unbind(x, INT32_MAX, p), EG_ESHAPE, "unbind");
    EGT_REFUSED(eg_unbind(eg_scalar(1, EG_F32), 0, p), EG_ESHAPE, "rank 0");
    EGT_REFUSED(eg_meshgrid(&x, 1, p), EG_ESHAPE, "xs[0] is [2, 5]");
    EGT_REFUSED(eg_meshgrid(&x, 0, p), EG_EINVAL, "n is 0");
}

/* A sequence read step by step: the walk adds to parts of one gradient. */
EGT(gradients_of_slices_add_up)
{
    enum { STEPS = 200, SIZE = 5000 };
    eg_tensor *x = egt_random(EG_SHAPE(STEPS, SIZE), EG_F32, -1, 1), *part[STEPS], *sum, *dx;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    EGT_OK(eg_unbind(x, 0, part));
    sum = eg_mul(part[0], part[STEPS - 1]);
    for (int i = 0; i < STEPS; i += 2) {
        sum = eg_add(sum, part[i]);
    }
    EGT_OK(eg_tape_gradients(tape, eg_sum(sum), &x, 1, &dx));
    for (int i = 0; i < STEPS; i++) {
        double want = i == 0 ? 1 + eg_get(part[STEPS - 1], 7) : i == STEPS - 1 ? eg_get(part[0], 7) : !(i % 2);
        EGT_NEAR(eg_get(dx, (int64_t)i * SIZE + 7), want, 1e-6);
    }
}

/* A slice of nothing gives nothing back, wherever it would have begun; alone, and added to what others gave. */
EGT(gradients_of_empty_slices)
{
    static const char *const none[] = {"-3::-1", "5:", "1:1", ":0", "0:2:-1", "-1:-1:-1", ":-9", "9:0:3"};
    for (int i = 0; i < (int)(sizeof none / sizeof *none); i++) {
        for (int both = 0; both < 2; both++) {
            EG_SCOPE {
                eg_tensor *x = egt_random(EG_SHAPE(2, 3), EG_F32, -1, 1), *dx;
                eg_tape tape = eg_tape_open();
                snprintf(egt_case, sizeof egt_case, "gradients of %s", none[i]);
                EGT_OK(eg_tape_watch(tape, x));
                eg_tensor *y = eg_index(x, none[i]);
                EGT_EQ(eg_numel(y), 0);
                y = eg_sum(eg_mul(y, eg_ones_like(y)));
                y = both ? eg_add(y, eg_sum(eg_slice(x, 0, 0, 1, 1))) : y;
                EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx));
                VALUES(dx, EG_SHAPE(2, 3), both, both, both, 0, 0, 0);
            }
        }
    }
}

EGT(padding_by_hand)
{
    eg_tensor *x = counted(EG_SHAPE(3), EG_F32), *grid = counted(EG_SHAPE(2, 2), EG_U8);
    VALUES(eg_pad(x, .before = {2}, .after = {1}, .value = -1), EG_SHAPE(6), -1, -1, 0, 1, 2, -1);
    VALUES(eg_pad(x, .before = {2}, .after = {2}, .mode = EG_PAD_REFLECT), EG_SHAPE(7), 2, 1, 0, 1, 2, 1, 0);
    VALUES(eg_pad(x, .before = {2}, .after = {1}, .mode = EG_PAD_REPLICATE), EG_SHAPE(6), 0, 0, 0, 1, 2, 2);
    VALUES(eg_pad(x, .before = {4}, .after = {1}, .mode = EG_PAD_CIRCULAR), EG_SHAPE(8), 2, 0, 1, 2, 0, 1, 2, 0);
    VALUES(eg_pad(x, .before = {-1}, .after = {1}, .mode = EG_PAD_REFLECT), EG_SHAPE(3), 1, 2, 1);
    VALUES(eg_pad(x, .before = {-1}, .after = {2}, .mode = EG_PAD_CIRCULAR), EG_SHAPE(4), 1, 2, 1, 2);
    VALUES(eg_pad(x, .before = {3}, .after = {-1}, .mode = EG_PAD_CIRCULAR), EG_SHAPE(5), 1, 0, 1, 0, 1);
    VALUES(eg_pad(grid, .before = {1, -1}, .after = {0, 1}, .mode = EG_PAD_CIRCULAR), EG_SHAPE(3, 2), 3, 3, 1, 1, 3, 3);
    VALUES(eg_pad(x, .before = {-1}, .after = {-2}, .mode = EG_PAD_CIRCULAR), EG_SHAPE(0), 0);
    VALUES(eg_pad(grid, .before = {1}, .after = {0, 1}, .value = 300), EG_SHAPE(3, 3), 255, 255, 255, 0, 1, 255, 2, 3,
           255);
    VALUES(eg_pad(x, .before = {-3}), EG_SHAPE(0), 0);
    VALUES(eg_pad(eg_scalar(4, EG_F32)), EG_SCALAR, 4);
    VALUES(eg_roll(x, -1, 0), EG_SHAPE(3), 1, 2, 0);
    VALUES(eg_roll(x, INT64_MIN, 0), EG_SHAPE(3), 2, 0, 1); /* -2^63 = 1 mod 3 */
    EGT_EQ(eg_numel(eg_roll(eg_zeros(EG_SHAPE(0), EG_F32), 5, 0)), 0);
}

EGT(padding_refuses)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 3), EG_F32), *none = eg_zeros(EG_SHAPE(0), EG_F32);
    EGT_REFUSED(eg_pad(x, .before = {-3}), EG_ESHAPE, "-3 before");
    EGT_REFUSED(eg_pad(x, .before = {-1}, .after = {-2}), EG_ESHAPE, "cut more");
    EGT_REFUSED(eg_pad(x, .before = {INT64_MIN}), EG_ESHAPE, "cut more");
    EGT_REFUSED(eg_pad(x, .after = {INT64_MIN}, .before = {INT64_MAX}), EG_ESHAPE, "cut more");
    EGT_REFUSED(eg_pad(x, .before = {INT64_MAX}), EG_ESHAPE, "too long");
    EGT_REFUSED(eg_pad(x, .before = {INT64_MAX - 2}, .after = {2}), EG_ESHAPE, "too long");
    EGT_REFUSED(eg_pad(x, .before = {INT64_MAX / 2, INT64_MAX / 2}), EG_ESHAPE, "more bytes");
    EGT_REFUSED(eg_pad(x, .before = {0, 0, 1}), EG_ESHAPE, "axis 2");
    EGT_REFUSED(eg_pad(x, .after = {[7] = 1}), EG_ESHAPE, "axis 7");
    EGT_REFUSED(eg_pad(x, .before = {2}, .mode = EG_PAD_REFLECT), EG_ESHAPE, "reflecting 2");
    EGT_REFUSED(eg_pad(none, .after = {1}, .mode = EG_PAD_REFLECT), EG_ESHAPE, "reflecting");
    EGT_REFUSED(eg_pad(none, .after = {1}, .mode = EG_PAD_REPLICATE), EG_ESHAPE, "nothing to copy");
    EGT_REFUSED(eg_pad(none, .after = {1}, .mode = EG_PAD_CIRCULAR), EG_ESHAPE, "nothing to copy");
    EGT_REFUSED(eg_pad(x, .before = {-2}, .after = {1}, .mode = EG_PAD_CIRCULAR), EG_ESHAPE, "nothing to copy");
    EGT_REFUSED(eg_pad(x, .before = {-1}, .after = {-2}, .mode = EG_PAD_CIRCULAR), EG_ESHAPE, "cut more");
    EGT_REFUSED(eg_pad(x, .mode = (eg_pad_mode)4), EG_EINVAL, "mode 4");
    EGT_REFUSED(eg_pad(x, .mode = (eg_pad_mode)-1), EG_EINVAL, "mode");
    EGT_REFUSED(eg_pad(NULL), EG_EINVAL, "pad");
    EGT_REFUSED(eg_roll(x, 1, 2), EG_ESHAPE, "axis 2");
}

EGT(repeating_by_hand)
{
    eg_tensor *x = counted(EG_SHAPE(2, 2), EG_I32);
    VALUES(eg_tile(x, EG_SHAPE(2)), EG_SHAPE(2, 4), 0, 1, 0, 1, 2, 3, 2, 3);
    VALUES(eg_tile(x, EG_SHAPE(2, 1, 1)), EG_SHAPE(2, 2, 2), 0, 1, 2, 3, 0, 1, 2, 3);
    VALUES(eg_tile(x, EG_SHAPE(2, 1)), EG_SHAPE(4, 2), 0, 1, 2, 3, 0, 1, 2, 3);
    VALUES(eg_tile(x, EG_SCALAR), EG_SHAPE(2, 2), 0, 1, 2, 3);
    EGT_EQ(eg_numel(eg_tile(x, EG_SHAPE(0, 3))), 0);
    eg_tensor *many = eg_tile(counted(EG_SHAPE(1, 2, 1, 1, 1, 1, 2, 1), EG_I32), EG_SHAPE(2, 2, 2, 2, 2, 2, 2, 2));
    EGT_EQ(eg_numel(many), 1024);
    EGT_EQ(eg_get(many, 1023 - 512), 3);
    EGT_EQ(eg_get(many, 64 + 4), 0);
    VALUES(eg_repeat_interleave(x, 2, 1), EG_SHAPE(2, 4), 0, 0, 1, 1, 2, 2, 3, 3);
    EGT_EQ(eg_numel(eg_repeat_interleave(x, 0, 0)), 0);
}

EGT(repeating_refuses)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 3), EG_F32);
    EGT_REFUSED(eg_tile(x, EG_SHAPE(1, -1)), EG_ESHAPE, "negative");
    EGT_REFUSED(eg_tile(x, EG_SHAPE(1, INT64_MAX)), EG_ESHAPE, "too large");
    EGT_REFUSED(eg_tile(x, EG_SHAPE((int64_t)1 << 31, (int64_t)1 << 31)), EG_ESHAPE, "more bytes");
    EGT_REFUSED(eg_tile(x, ((eg_shape){.ndim = 9})), EG_ESHAPE, "9 counts");
    EGT_REFUSED(eg_tile(x, ((eg_shape){.ndim = -1})), EG_ESHAPE, "-1 counts");
    EGT_REFUSED(eg_repeat_interleave(x, -1, 0), EG_ESHAPE, "count is -1");
    EGT_REFUSED(eg_repeat_interleave(x, INT64_MAX, 0), EG_ESHAPE, "repeat_interleave");
    EGT_REFUSED(eg_repeat_interleave(x, (int64_t)1 << 61, 0), EG_ESHAPE, "more bytes");
    EGT_REFUSED(eg_repeat_interleave(x, 1, 5), EG_ESHAPE, "axis 5");
}

EGT(turning)
{
    eg_tensor *x = counted(EG_SHAPE(2, 3), EG_F64), *y;
    VALUES(eg_flip(x, EG_AXES(1)), EG_SHAPE(2, 3), 2, 1, 0, 5, 4, 3);
    EGT_REFUSED(eg_flip(x, EG_AXES(2)), EG_ESHAPE, "axis 2");
    EGT_REFUSED(eg_flip(x, EG_AXES(1, -1)), EG_ESHAPE, "twice");
    y = eg_movedim(eg_zeros(EG_SHAPE(2, 3, 4), EG_F32), EG_AXES(0), EG_AXES(-1));
    EGT_CHECK(eg_size(y, 0) == 3 && eg_size(y, 1) == 4 && eg_size(y, 2) == 2);
    EGT_REFUSED(eg_movedim(x, EG_AXES(0, 1), EG_AXES(0)), EG_ESHAPE, "2 source axes");
    EGT_REFUSED(eg_movedim(x, EG_AXES(0, 0), EG_AXES(0, 1)), EG_ESHAPE, "twice");
    EGT_REFUSED(eg_movedim(x, EG_AXES(0), EG_AXES(2)), EG_ESHAPE, "axis 2");
    eg_tensor *g[2];
    EGT_OK(eg_meshgrid((eg_tensor *[]){eg_arange(0, 2, 1, EG_F32), eg_arange(5, 8, 1, EG_F32)}, 2, g));
    VALUES(g[0], EG_SHAPE(2, 3), 0, 0, 0, 1, 1, 1);
    VALUES(g[1], EG_SHAPE(2, 3), 5, 6, 7, 5, 6, 7);
}

EGT(triangles_and_diagonals_of_any_k)
{
    eg_tensor *x = counted(EG_SHAPE(2, 3), EG_F32);
    eg_set(x, 2, NAN);
    VALUES(eg_tril(x, 0), EG_SHAPE(2, 3), 0, 0, 0, 3, 4, 0);
    VALUES(eg_triu(x, 1), EG_SHAPE(2, 3), 0, 1, NAN, 0, 0, 5);
    VALUES(eg_tri(2, 3, 1, EG_I64), EG_SHAPE(2, 3), 1, 1, 0, 1, 1, 1);
    static const int64_t far[] = {3, INT32_MAX, INT64_MAX, -2, INT64_MIN + 1, INT64_MIN};
    for (int i = 0; i < 6; i++) {
        double all = far[i] > 0;
        EGT_EQ(eg_item(eg_sum(eg_tri(2, 3, far[i], EG_F32))), 6 * all);
        EGT_NEAR(egt_distance(eg_tril(x, far[i]), all > 0 ? x : eg_zeros_like(x)), 0, 0);
        EGT_NEAR(egt_distance(eg_triu(x, far[i]), all > 0 ? eg_zeros_like(x) : x), 0, 0);
        EGT_EQ(eg_item(eg_sum(eg_eye(2, 3, far[i], EG_F32))), 0);
        EGT_EQ(eg_numel(eg_diag(x, far[i])), 0);
    }
    eg_tensor *line = counted(EG_SHAPE(2), EG_F32);
    VALUES(eg_diag(eg_add_scalar(line, 1), 1), EG_SHAPE(3, 3), 0, 1, 0, 0, 0, 2, 0, 0, 0);
    VALUES(eg_diag(eg_add_scalar(line, 1), -1), EG_SHAPE(3, 3), 0, 0, 0, 1, 0, 0, 0, 2, 0);
    EGT_REFUSED(eg_diag(line, INT64_MIN), EG_ESHAPE, "diagonal");
    EGT_REFUSED(eg_diag(line, INT64_MAX), EG_ESHAPE, "more bytes");
    EGT_REFUSED(eg_diag(line, INT64_MIN + 1), EG_ESHAPE, "more bytes");
    EGT_REFUSED(eg_diag(line, (int64_t)1 << 40), EG_ESHAPE, "more bytes");
    EGT_REFUSED(eg_diag(eg_scalar(1, EG_F32), 0), EG_ESHAPE, "[]");
    EGT_REFUSED(eg_trace(line), EG_ESHAPE, "[2]");
    EGT_REFUSED(eg_tril(line, 0), EG_ESHAPE, "[2]");
    EGT_REFUSED(eg_tri(-1, 2, 0, EG_F32), EG_ESHAPE, "negative");
    EGT_REFUSED(eg_tri((int64_t)1 << 32, (int64_t)1 << 32, 0, EG_F32), EG_ESHAPE, "tri");
    EGT_REFUSED(eg_tri(1, 1, 0, (eg_dtype)99), EG_EDTYPE, "99");
}

EGT(blocks_and_channels)
{
    eg_tensor *x = counted(EG_SHAPE(4, 1, 2), EG_F32);
    VALUES(eg_depth_to_space(x, 2), EG_SHAPE(1, 2, 4), 0, 2, 1, 3, 4, 6, 5, 7);
    eg_tensor *y = counted(EG_SHAPE(8, 1, 1), EG_F32);
    VALUES(eg_depth_to_space(y, 2), EG_SHAPE(2, 2, 2), 0, 2, 4, 6, 1, 3, 5, 7);
    VALUES(eg_pixel_shuffle(y, 2), EG_SHAPE(2, 2, 2), 0, 1, 2, 3, 4, 5, 6, 7);
    EGT_NEAR(egt_distance(eg_space_to_depth(eg_depth_to_space(y, 2), 2), y), 0, 0);
    EGT_NEAR(egt_distance(eg_pixel_unshuffle(eg_pixel_shuffle(y, 2), 2), y), 0, 0);
    EGT_NEAR(egt_distance(eg_depth_to_space(y, 1), y), 0, 0);
    static eg_tensor *(*const ops[])(eg_tensor *, int64_t) = {eg_depth_to_space, eg_space_to_depth, eg_pixel_shuffle,
                                                              eg_pixel_unshuffle};
    for (int i = 0; i < 4; i++) {
        EGT_REFUSED(ops[i](y, 0), EG_EINVAL, "block is 0");
        EGT_REFUSED(ops[i](y, -2), EG_EINVAL, "block is -2");
        EGT_REFUSED(ops[i](y, 3), EG_ESHAPE, "3 x 3");
        EGT_REFUSED(ops[i](y, INT64_MAX), EG_EINVAL, "block");
        EGT_REFUSED(ops[i](eg_zeros(EG_SHAPE(4, 4), EG_F32), 2), EG_ESHAPE, "[4, 4]");
        EGT_REFUSED(ops[i](NULL, 2), EG_EINVAL, "x");
    }
}

/* A 0-dim tensor is a line of one along axis 0, or -1. */
EGT(numbers_are_lines_of_one)
{
    eg_tensor *x = eg_scalar(5, EG_F64);
    for (int axis = -1; axis <= 0; axis++) {
        eg_tensor *same[] = {eg_flip(x, EG_AXES(axis)), eg_roll(x, 3, axis), eg_transpose(x, axis, 0),
                             eg_squeeze(x, EG_AXES(axis)), eg_movedim(x, EG_AXES(axis), EG_AXES(0))};
        for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
            EGT_EQ(eg_ndim(same[k]), 0);
            EGT_EQ(eg_item(same[k]), 5);
        }
        EGT_EQ(eg_size(eg_repeat_interleave(x, 3, axis), 0), 3);
        EGT_EQ(eg_item(eg_sum(eg_repeat_interleave(x, 3, axis))), 15);
    }
    EGT_REFUSED(eg_transpose(x, 0, 1), EG_ESHAPE, "axis 1 is outside rank 0");
    EGT_REFUSED(eg_flip(x, EG_AXES(1)), EG_ESHAPE, "outside rank 0");
    EGT_REFUSED(eg_roll(x, 1, -2), EG_ESHAPE, "outside rank 0");
}
