/* join.c - joining, cutting, padding, repeating, turning. */
#include "tests/cases.h"

CASE_FUNCTION(concat0, eg_concat(x, n, 0))
CASE_FUNCTION(concat1, eg_concat(x, n, 1))
CASE_FUNCTION(concat_last, eg_concat(x, n, -1))
CASE_FUNCTION(stack0, eg_stack(x, n, 0))
CASE_FUNCTION(stack1, eg_stack(x, n, 1))
CASE_FUNCTION(stack_last, eg_stack(x, n, -1))
CASE_FUNCTION(constant, eg_pad(x[0], .before = {0, 1, 2}, .after = {1, 0, 3}, .value = 1.5))
CASE_FUNCTION(zeros_2d, eg_pad(x[0], .before = {0, 0, 1, 2}, .after = {0, 0, 2, 1}))
CASE_FUNCTION(cut, eg_pad(x[0], .before = {-1, 2, 0}, .after = {0, -1, -2}, .value = -1))
CASE_FUNCTION(reflect, eg_pad(x[0], .before = {0, 0, 1, 3}, .after = {0, 0, 2, 1}, .mode = EG_PAD_REFLECT))
CASE_FUNCTION(replicate,
              eg_pad(x[0], .before = {0, 0, 1, 7}, .after = {2, 0, 2, -1}, .mode = EG_PAD_REPLICATE))
CASE_FUNCTION(circular, eg_pad(x[0], .before = {0, 1, 0, 9}, .after = {0, 0, 2, 1}, .mode = EG_PAD_CIRCULAR))
CASE_FUNCTION(roll, eg_roll(eg_roll(x[0], 5, 1), -1, 0))
CASE_FUNCTION(tile, eg_tile(x[0], EG_SHAPE(2, 1, 3, 2)))
CASE_FUNCTION(tile_five, eg_tile(x[0], EG_SHAPE(2, 2, 3, 2, 2)))
CASE_FUNCTION(interleave, eg_repeat_interleave(x[0], 3, 1))
CASE_FUNCTION(flip, eg_flip(x[0], EG_AXES(0, -1)))
CASE_FUNCTION(flip_first, eg_flip(x[0], EG_AXES(0)))
CASE_FUNCTION(roll_first, eg_roll(x[0], 2, 0))
CASE_FUNCTION(repeat_first, eg_repeat_interleave(x[0], 3, -1))
CASE_FUNCTION(flip_all, eg_flip(x[0], (eg_axes){0}))
CASE_FUNCTION(movedim, eg_movedim(x[0], EG_AXES(0, -1), EG_AXES(2, 0)))
CASE_FUNCTION(tril, eg_tril(x[0], -1))
CASE_FUNCTION(triu, eg_triu(x[0], 1))
CASE_FUNCTION(diag_embed, eg_diag_embed(x[0], -2))
CASE_FUNCTION(diag, eg_diag(x[0], 1))
CASE_FUNCTION(trace, eg_trace(x[0]))
CASE_FUNCTION(depth_to_space, eg_depth_to_space(x[0], 2))
CASE_FUNCTION(space_to_depth, eg_space_to_depth(x[0], 2))
CASE_FUNCTION(pixel_shuffle, eg_pixel_shuffle(x[0], 2))
CASE_FUNCTION(pixel_unshuffle, eg_pixel_unshuffle(x[0], 2))

/* The pieces in another order, so that each is told from the others. */
static eg_tensor *split(eg_tensor *const *x, int n, void *user)
{
    eg_tensor *p[3];
    (void)n, (void)user;
    return eg_split(x[0], (int64_t[]){1, 0, 3}, 3, 1, p)
               ? NULL
               : eg_concat((eg_tensor *[]){p[2], p[1], p[0]}, 3, 1);
}

static eg_tensor *chunk(eg_tensor *const *x, int n, void *user)
{
    eg_tensor *p[3];
    (void)n, (void)user;
    return eg_chunk(x[0], 3, -1, p) ? NULL : eg_concat((eg_tensor *[]){p[1], p[0], p[2]}, 3, -1);
}

static eg_tensor *unbind(eg_tensor *const *x, int n, void *user)
{
    eg_tensor *p[4];
    (void)n, (void)user;
    return eg_unbind(x[0], 1, p) ? NULL : eg_add(eg_mul(p[0], p[3]), eg_sub(p[1], p[0]));
}

static eg_tensor *meshgrid(eg_tensor *const *x, int n, void *user)
{
    eg_tensor *g[3];
    (void)user;
    return eg_meshgrid(x, n, g) ? NULL : eg_add(g[0], eg_mul(g[1], g[2]));
}

#define X(...)                                                                                     \
    {                                                                                              \
        DIMS(__VA_ARGS__), -3, 3, 0                                                                \
    }
enum { MOVES = EGT_INTS | EGT_BOOL };

#define ROW(ops, name, f, n, flags, ...)                                                           \
    {                                                                                              \
        ops, name, f, {__VA_ARGS__}, n, flags, 0, 0, NULL                                          \
    }

EGT_CASES(join, ROW("concat", "first axis", concat0, 3, MOVES, X(2, 3), X(1, 3), X(3, 3)),
          ROW("concat", "channels", concat1, 3, MOVES, X(2, 3, 4, 5), X(2, 1, 4, 5), X(2, 7, 4, 5)),
          ROW("concat", "one element each", concat_last, 2, MOVES, X(4, 1), X(4, 1)),
          ROW("concat", "last axis, one empty", concat_last, 3, MOVES, X(3, 2), X(3, 0), X(3, 4)),
          ROW("concat", "alone", concat0, 1, MOVES, X(3, 2)),
          ROW("concat", "some thousands", concat1, 2, EGT_NO_GRAD, X(7, 300, 3), X(7, 500, 3)),
          ROW("concat", "eight", concat1, 8, EGT_NO_GRAD | MOVES, X(5, 3, 4), X(5, 1, 4), X(5, 0, 4), X(5, 9, 4),
              X(5, 2, 4), X(5, 70, 4), X(5, 4, 4), X(5, 8, 4)),
          ROW("pad", "whole units", constant, 1, EGT_NO_GRAD | EGT_INTS, X(3, 8, 16, 4)),
          ROW("concat reshape", "stack first", stack0, 2, MOVES, X(2, 3), X(2, 3)),
          ROW("concat reshape", "stack between", stack1, 3, MOVES, X(2, 3), X(2, 3), X(2, 3)),
          ROW("concat reshape", "stack last", stack_last, 2, MOVES, X(2, 3), X(2, 3)),
          ROW("concat reshape", "stack numbers", stack0, 2, MOVES, X(1), X(1)),
          ROW("slice slice_grad", "split", split, 1, MOVES, X(3, 4)),
          ROW("slice slice_grad", "chunk", chunk, 1, MOVES, X(2, 7)),
          ROW("slice slice_grad", "unbind", unbind, 1, 0, X(3, 4, 2)),
          ROW("expand", "meshgrid", meshgrid, 3, 0, X(2), X(3), X(4)),
          ROW("pad", "constant", constant, 1, EGT_INTS, X(2, 3, 4)),
          ROW("pad", "zeros around images", zeros_2d, 1, MOVES, X(2, 3, 4, 5)),
          ROW("pad", "zeros around many", zeros_2d, 1, EGT_NO_GRAD, X(2, 3, 60, 80)),
          ROW("pad", "cut", cut, 1, EGT_NO_HALF, X(3, 4, 5)),
          ROW("pad", "constant around nothing", constant, 1, EGT_INTS, X(2, 0, 4)),
          ROW("pad", "reflect", reflect, 1, MOVES, X(2, 2, 3, 4)),
          ROW("pad", "replicate", replicate, 1, MOVES, X(2, 2, 3, 4)),
          ROW("pad", "circular", circular, 1, MOVES, X(2, 2, 3, 4)),
          ROW("pad", "roll", roll, 1, MOVES, X(3, 4, 2)),
          ROW("expand", "tile", tile, 1, MOVES, X(2, 1, 3)),
          ROW("expand", "tile five axes", tile_five, 1, MOVES, X(1, 2, 1, 2, 1)),
          ROW("expand", "repeat_interleave", interleave, 1, MOVES, X(2, 3, 2)),
          ROW("alias", "flip number", flip_first, 1, MOVES, {{0, {0}}, -3, 3, 0}),
          ROW("pad", "roll number", roll_first, 1, MOVES, {{0, {0}}, -3, 3, 0}),
          ROW("expand", "repeat number", repeat_first, 1, MOVES, {{0, {0}}, -3, 3, 0}),
          ROW("slice", "flip", flip, 1, MOVES, X(2, 3, 4)),
          ROW("slice", "flip all", flip_all, 1, MOVES, X(2, 3)),
          ROW("permute", "movedim", movedim, 1, MOVES, X(2, 3, 4)),
          ROW("where", "tril", tril, 1, MOVES, X(2, 4, 3)),
          ROW("where", "triu", triu, 1, MOVES, X(3, 4)),
          ROW("where pad", "diag_embed", diag_embed, 1, MOVES, X(2, 3)),
          ROW("where pad", "diag of a line", diag, 1, MOVES, X(3)),
          ROW("diagonal", "diag of a matrix", diag, 1, MOVES, X(3, 4)),
          ROW("diagonal", "trace", trace, 1, EGT_INTS, X(4, 3)),
          ROW("permute", "depth_to_space", depth_to_space, 1, MOVES, X(2, 8, 2, 3)),
          ROW("permute", "space_to_depth", space_to_depth, 1, MOVES, X(2, 2, 4, 6)),
          ROW("permute", "pixel_shuffle", pixel_shuffle, 1, MOVES, X(8, 2, 3)),
          ROW("permute", "pixel_unshuffle", pixel_unshuffle, 1, MOVES, X(2, 4, 6)))
