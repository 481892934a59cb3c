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
CASE_FUNCTION(replicate, eg_pad(x[0], .before = {0, 0, 1, 7}, .after = {2, 0, 2, -1}, .mode = EG_PAD_REPLICATE))
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
    return eg_split(x[0], (int64_t[]){1, 0, 3}, 3, 1, p) ? NULL : eg_concat((eg_tensor *[]){p[2], p[1], p[0]}, 3, 1);
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

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -3, 3, 0 \
    }
enum { MOVES = EGT_INTS | EGT_BOOL };

EGT_CASES(join, {"concat", "first axis", concat0, {IN(2, 3), IN(1, 3), IN(3, 3)}, .flags = MOVES},
          {"concat", "channels", concat1, {IN(2, 3, 4, 5), IN(2, 1, 4, 5), IN(2, 7, 4, 5)}, .flags = MOVES},
          {"concat", "one element each", concat_last, {IN(4, 1), IN(4, 1)}, .flags = MOVES},
          {"concat", "last axis, one empty", concat_last, {IN(3, 2), IN(3, 0), IN(3, 4)}, .flags = MOVES},
          {"concat", "alone", concat0, {IN(3, 2)}, .flags = MOVES},
          {"concat", "some thousands", concat1, {IN(7, 300, 3), IN(7, 500, 3)}, .flags = EGT_NO_GRAD},
          {"concat",
           "eight",
           concat1,
           {IN(5, 3, 4), IN(5, 1, 4), IN(5, 0, 4), IN(5, 9, 4), IN(5, 2, 4), IN(5, 70, 4), IN(5, 4, 4), IN(5, 8, 4)},
           .flags = EGT_NO_GRAD | MOVES},
          {"pad", "whole units", constant, {IN(3, 8, 16, 4)}, .flags = EGT_NO_GRAD | EGT_INTS},
          {"concat reshape", "stack first", stack0, {IN(2, 3), IN(2, 3)}, .flags = MOVES},
          {"concat reshape", "stack between", stack1, {IN(2, 3), IN(2, 3), IN(2, 3)}, .flags = MOVES},
          {"concat reshape", "stack last", stack_last, {IN(2, 3), IN(2, 3)}, .flags = MOVES},
          {"concat reshape", "stack numbers", stack0, {IN(1), IN(1)}, .flags = MOVES},
          {"slice slice_grad", "split", split, {IN(3, 4)}, .flags = MOVES},
          {"slice slice_grad", "chunk", chunk, {IN(2, 7)}, .flags = MOVES},
          {"slice slice_grad", "unbind", unbind, {IN(3, 4, 2)}},
          {"expand", "meshgrid", meshgrid, {IN(2), IN(3), IN(4)}},
          {"pad", "constant", constant, {IN(2, 3, 4)}, .flags = EGT_INTS},
          {"pad", "zeros around images", zeros_2d, {IN(2, 3, 4, 5)}, .flags = MOVES},
          {"pad", "zeros around many", zeros_2d, {IN(2, 3, 60, 80)}, .flags = EGT_NO_GRAD},
          {"pad", "cut", cut, {IN(3, 4, 5)}, .flags = EGT_NO_HALF},
          {"pad", "constant around nothing", constant, {IN(2, 0, 4)}, .flags = EGT_INTS},
          {"pad", "reflect", reflect, {IN(2, 2, 3, 4)}, .flags = MOVES},
          {"pad", "replicate", replicate, {IN(2, 2, 3, 4)}, .flags = MOVES},
          {"pad", "circular", circular, {IN(2, 2, 3, 4)}, .flags = MOVES},
          {"pad", "roll", roll, {IN(3, 4, 2)}, .flags = MOVES}, {"expand", "tile", tile, {IN(2, 1, 3)}, .flags = MOVES},
          {"expand", "tile five axes", tile_five, {IN(1, 2, 1, 2, 1)}, .flags = MOVES},
          {"expand", "repeat_interleave", interleave, {IN(2, 3, 2)}, .flags = MOVES},
          {"alias", "flip number", flip_first, {{{0, {0}}, -3, 3, 0}}, .flags = MOVES},
          {"pad", "roll number", roll_first, {{{0, {0}}, -3, 3, 0}}, .flags = MOVES},
          {"expand", "repeat number", repeat_first, {{{0, {0}}, -3, 3, 0}}, .flags = MOVES},
          {"slice", "flip", flip, {IN(2, 3, 4)}, .flags = MOVES},
          {"slice", "flip all", flip_all, {IN(2, 3)}, .flags = MOVES},
          {"permute", "movedim", movedim, {IN(2, 3, 4)}, .flags = MOVES},
          {"where", "tril", tril, {IN(2, 4, 3)}, .flags = MOVES}, {"where", "triu", triu, {IN(3, 4)}, .flags = MOVES},
          {"where pad", "diag_embed", diag_embed, {IN(2, 3)}, .flags = MOVES},
          {"where pad", "diag of a line", diag, {IN(3)}, .flags = MOVES},
          {"diagonal", "diag of a matrix", diag, {IN(3, 4)}, .flags = MOVES},
          {"diagonal", "trace", trace, {IN(4, 3)}, .flags = EGT_INTS},
          {"permute", "depth_to_space", depth_to_space, {IN(2, 8, 2, 3)}, .flags = MOVES},
          {"permute", "space_to_depth", space_to_depth, {IN(2, 2, 4, 6)}, .flags = MOVES},
          {"permute", "pixel_shuffle", pixel_shuffle, {IN(8, 2, 3)}, .flags = MOVES},
          {"permute", "pixel_unshuffle", pixel_unshuffle, {IN(2, 4, 6)}, .flags = MOVES})
