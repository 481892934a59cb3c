/* index.c - picking and putting by index, masks. Places are drawn, so some repeat. */
#include <egret/ops/index.h>

#include "tests/cases.h"

CASE_FUNCTION(select0, eg_index_select(x[0], 0, x[1]))
CASE_FUNCTION(select1, eg_index_select(x[0], 1, x[1]))
CASE_FUNCTION(select_last, eg_index_select(x[0], -1, x[1]))
CASE_FUNCTION(take, eg_take(x[0], x[1]))
CASE_FUNCTION(embedding, eg_embedding(x[0], x[1]))
CASE_FUNCTION(padded, eg_embedding(x[0], x[1], .padded = true, .padding = 1))
CASE_FUNCTION(gather0, eg_gather(x[0], 0, x[1]))
CASE_FUNCTION(gather1, eg_gather(x[0], 1, x[1]))
CASE_FUNCTION(gather_last, eg_gather(x[0], -1, x[1]))
CASE_FUNCTION(along, eg_take_along(x[0], 1, x[1]))
CASE_FUNCTION(gather_nd, eg_gather_nd(x[0], x[1]))
CASE_FUNCTION(index_add0, eg_index_add(x[0], 0, x[1], x[2]))
CASE_FUNCTION(index_add1, eg_index_add(x[0], 1, x[1], x[2]))
CASE_FUNCTION(index_copy0, eg_index_copy(x[0], 0, x[1], x[2]))
CASE_FUNCTION(index_copy1, eg_index_copy(x[0], 1, x[1], x[2]))
CASE_FUNCTION(index_fill, eg_index_fill(x[0], 1, x[1], 0.5))
CASE_FUNCTION(scatter0, eg_scatter(x[0], 0, x[1], x[2]))
CASE_FUNCTION(scatter1, eg_scatter(x[0], 1, x[1], x[2]))
CASE_FUNCTION(scatter_add0, eg_scatter_add(x[0], 0, x[1], x[2]))
CASE_FUNCTION(scatter_add1, eg_scatter_add(x[0], 1, x[1], x[2]))
CASE_FUNCTION(scatter_mul, eg_scatter_reduce(x[0], 1, x[1], x[2], EG_SCATTER_MUL))
CASE_FUNCTION(scatter_mean, eg_scatter_reduce(x[0], 1, x[1], x[2], EG_SCATTER_MEAN))
CASE_FUNCTION(scatter_max, eg_scatter_reduce(x[0], 1, x[1], x[2], EG_SCATTER_MAX))
CASE_FUNCTION(scatter_min, eg_scatter_reduce(x[0], 0, x[1], x[2], EG_SCATTER_MIN))
CASE_FUNCTION(scatter_nd_add, eg_scatter_nd_add(x[0], x[1], x[2]))
CASE_FUNCTION(scatter_nd_copy, eg_scatter_nd_copy(x[0], x[1], x[2]))
CASE_FUNCTION(scatter_nd, eg_scatter_nd(x[0], x[1], EG_SHAPE(3, 4, 2)))
CASE_FUNCTION(segments, eg_unsorted_segment_sum(x[0], x[1], 4))
CASE_FUNCTION(masked_fill_wide, eg_masked_fill(x[0], x[1], 1.5))
CASE_FUNCTION(masked_fill, eg_masked_fill(x[0], x[1], -2.5))
CASE_FUNCTION(masked_select, eg_masked_select(x[0], x[1]))
CASE_FUNCTION(masked_scatter, eg_masked_scatter(x[0], x[1], x[2]))
CASE_FUNCTION(nonzero, eg_nonzero(x[0]))
CASE_FUNCTION(one_hot, eg_one_hot(x[0], 5))
CASE_FUNCTION(one_hot_ints, eg_one_hot(x[0], 5, .on = 3, .off = 1, .dtype = EG_I64))
CASE_FUNCTION(sequence_mask, eg_sequence_mask(x[0], 5))
CASE_FUNCTION(ravel, eg_ravel_index(x[0], EG_SHAPE(3, 3, 4)))
CASE_FUNCTION(unravel, eg_unravel_index(x[0], EG_SHAPE(2, 3, 4)))

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -3, 3, 0 \
    }
/* Places of an axis of size n, counted from either end or from the front only. */
#define AT(n, ...)                             \
    {                                          \
        DIMS(__VA_ARGS__), -(n), n, 1 + EG_I64 \
    }
#define ID(n, ...)                          \
    {                                       \
        DIMS(__VA_ARGS__), 0, n, 1 + EG_I32 \
    }
#define MASK(...)                            \
    {                                        \
        DIMS(__VA_ARGS__), 0, 2, 1 + EG_BOOL \
    }
#define NO_MASK(...)                         \
    {                                        \
        DIMS(__VA_ARGS__), 0, 1, 1 + EG_BOOL \
    }
enum { MOVES = EGT_INTS | EGT_BOOL, FIXED = EGT_NO_GRAD | EGT_NO_FLOAT | EGT_INTS };

EGT_CASES(
    index, {"index_select checked_index", "rows", select0, {IN(5, 3), AT(5, 7)}, .flags = MOVES},
    {"index_select", "between", select1, {IN(2, 4, 3), AT(4, 2, 3)}, .flags = MOVES},
    {"index_select", "elements", select_last, {IN(3, 6), ID(6, 4)}, .flags = MOVES},
    {"index_select", "one", select1, {IN(3, 6), {{0, {0}}, 0, 6, 1 + EG_I64}}, .flags = MOVES},
    {"index_select", "of a number", select0, {{{0, {0}}, -3, 3, 0}, AT(1, 2, 2)}, .flags = MOVES},
    {"index_select", "none", select0, {IN(3, 6), AT(3, 0)}, .flags = MOVES},
    {"index_select", "take", take, {IN(3, 4), AT(12, 2, 5)}, .flags = MOVES},
    {"index_select index_add", "embedding", embedding, {IN(7, 5), ID(7, 2, 6)}},
    {"index_select index_add", "wide", embedding, {IN(4, 70), ID(4, 9)}, .flags = EGT_NO_SECOND},
    {"index_select index_add", "padded", padded, {IN(3, 2), ID(3, 8)}, .flags = EGT_NO_GRAD},
    {"index_select", "many", embedding, {IN(300, 130), ID(300, 1000)}, .flags = EGT_NO_GRAD},
    {"gather scatter_add", "rows", gather0, {IN(4, 3), AT(4, 6, 2)}, .flags = MOVES},
    {"gather scatter_add", "between", gather1, {IN(2, 3, 4), AT(3, 2, 5, 3)}, .flags = MOVES},
    {"gather scatter_add", "last", gather_last, {IN(3, 4), AT(4, 3, 2)}, .flags = MOVES},
    {"gather scatter_add", "1-D", gather0, {IN(4), AT(4, 9)}, .flags = MOVES},
    {"gather scatter_add",
     "number",
     gather_last,
     {{{0, {0}}, -3, 3, 0}, {{0, {0}}, -1, 1, 1 + EG_I64}},
     .flags = MOVES},
    {"gather scatter_add", "line of a number", gather0, {{{0, {0}}, -3, 3, 0}, AT(1, 3)}, .flags = MOVES},
    {"gather scatter_add", "number of a line", gather0, {IN(4), {{0, {0}}, -4, 4, 1 + EG_I64}}, .flags = MOVES},
    {"gather", "many", gather1, {IN(90, 70, 3), AT(70, 90, 80, 3)}, .flags = EGT_NO_GRAD},
    {"gather", "take_along", along, {IN(2, 3, 1), AT(3, 1, 5, 4)}, .flags = MOVES},
    {"index_select ravel_index", "gather_nd rows", gather_nd, {IN(4, 3), AT(4, 5, 1)}, .flags = MOVES},
    {"index_select ravel_index", "gather_nd", gather_nd, {IN(3, 3, 2), ID(3, 2, 2, 2)}, .flags = MOVES},
    {"index_select ravel_index", "gather_nd of all", gather_nd, {IN(3, 2), AT(1, 4, 0)}, .flags = MOVES},
    {"index_add", "rows", index_add0, {IN(4, 3), AT(4, 6), IN(6, 3)}, .flags = EGT_INTS},
    {"index_add", "number", index_add0, {{{0, {0}}, -3, 3, 0}, AT(1, 1), {{0, {0}}, -3, 3, 0}}, .flags = EGT_INTS},
    {"index_add", "between", index_add1, {IN(2, 4, 3), AT(4, 3), IN(2, 3, 3)}, .flags = EGT_INTS},
    {"index_add", "many outside", index_add1, {IN(20, 40), AT(40, 90), IN(20, 90)}, .flags = EGT_NO_GRAD | EGT_NO_HALF},
    {"index_add", "many wide", index_add0, {IN(30, 700), AT(30, 90), IN(90, 700)}, .flags = EGT_NO_GRAD | EGT_NO_HALF},
    {"index_add",
     "many thin",
     index_add0,
     {IN(9000, 3), AT(9000, 9000), IN(9000, 3)},
     .flags = EGT_NO_GRAD | EGT_NO_HALF},
    {"index_add",
     "long runs",
     index_add0,
     {IN(3, 8), AT(3, 9000), IN(9000, 8)},
     .flags = EGT_NO_GRAD | EGT_NO_HALF | EGT_INTS,
     .tolerance = 1e-4},
    {"index_add",
     "many places",
     index_add0,
     {IN(70000), AT(70000, 5000), IN(5000)},
     .flags = EGT_NO_GRAD | EGT_NO_HALF},
    {"index_add", "segments", segments, {IN(6, 2), ID(4, 6)}, .flags = EGT_INTS},
    {"scatter", "index_copy rows", index_copy0, {IN(4, 3), AT(4, 6), IN(6, 3)}, .flags = MOVES},
    {"scatter", "index_copy", index_copy1, {IN(2, 4, 3), AT(4, 2), IN(2, 2, 3)}, .flags = MOVES},
    {"scatter", "index_fill", index_fill, {IN(3, 4), AT(4, 2)}, .flags = EGT_INTS},
    {"scatter", "index_copy number", index_copy0, {{{0, {0}}, -3, 3, 0}, AT(1, 1), IN(1)}, .flags = MOVES},
    {"scatter",
     "number",
     scatter0,
     {{{0, {0}}, -3, 3, 0}, {{0, {0}}, -1, 1, 1 + EG_I64}, {{0, {0}}, -3, 3, 0}},
     .flags = MOVES},
    {"scatter", "rows", scatter0, {IN(4, 3), AT(4, 6, 2), IN(6, 2)}, .flags = MOVES},
    {"scatter", "between", scatter1, {IN(2, 4, 3), AT(4, 2, 3, 3), IN(2, 3, 3)}, .flags = MOVES},
    {"scatter", "many", scatter1, {IN(40, 30, 7), AT(30, 40, 60, 7), IN(40, 60, 7)}, .flags = EGT_NO_GRAD | MOVES},
    {"scatter", "none", scatter0, {IN(4, 3), AT(4, 0, 3), IN(0, 3)}, .flags = MOVES},
    {"scatter_add gather", "rows", scatter_add0, {IN(4, 3), AT(4, 6, 2), IN(6, 2)}, .flags = EGT_INTS},
    {"scatter_add gather", "between", scatter_add1, {IN(2, 4, 3), AT(4, 2, 3, 3), IN(2, 3, 3)}, .flags = EGT_INTS},
    {"scatter_add",
     "many",
     scatter_add1,
     {IN(80, 40, 7), AT(40, 80, 60, 7), IN(80, 60, 7)},
     .flags = EGT_NO_GRAD | EGT_NO_HALF},
    {"scatter_add",
     "long runs",
     scatter_add1,
     {IN(2, 3), AT(3, 2, 5000), IN(2, 5000)},
     .flags = EGT_NO_GRAD | EGT_NO_HALF | EGT_INTS,
     .tolerance = 1e-4},
    {"scatter_reduce",
     "many",
     scatter_max,
     {IN(2, 3), AT(3, 2, 900), IN(2, 900)},
     .flags = EGT_NO_GRAD | EGT_NO_HALF | EGT_INTS},
    {"scatter_reduce", "product", scatter_mul, {IN(3, 4), AT(4, 3, 5), IN(3, 5)}, .flags = EGT_INTS},
    {"scatter_reduce", "number", scatter_min, {{{0, {0}}, -3, 3, 0}, AT(1, 3), IN(3)}, .flags = EGT_INTS},
    {"scatter_reduce", "greatest", scatter_max, {IN(3, 4), AT(4, 3, 5), IN(3, 5)}, .flags = EGT_INTS},
    {"scatter_reduce", "least", scatter_min, {IN(3, 4), AT(3, 5, 2), IN(5, 2)}, .flags = EGT_INTS},
    {"scatter_add", "mean", scatter_mean, {IN(3, 4), AT(4, 3, 5), IN(3, 5)}, .flags = EGT_INTS},
    {"index_add ravel_index",
     "scatter_nd_add",
     scatter_nd_add,
     {IN(3, 2, 2), ID(2, 4, 2), IN(4, 2)},
     .flags = EGT_INTS},
    {"scatter ravel_index", "scatter_nd_copy", scatter_nd_copy, {IN(3, 2, 2), ID(2, 4, 2), IN(4, 2)}, .flags = MOVES},
    {"index_add ravel_index", "scatter_nd", scatter_nd, {ID(3, 5, 2), IN(5, 2)}, .flags = EGT_INTS},
    {"where", "masked_fill, more axes of the mask", masked_fill_wide, {IN(3, 1), MASK(2, 1, 4)}, .flags = EGT_INTS},
    {"nonzero count_nonzero scatter",
     "masked_scatter, more axes of the mask",
     masked_scatter,
     {IN(4), MASK(3, 1), IN(12)},
     .flags = MOVES},
    {"where", "masked_fill", masked_fill, {IN(3, 4), MASK(4)}},
    {"nonzero count_nonzero index_select", "masked_select", masked_select, {IN(3, 4), MASK(3, 1)}, .flags = MOVES},
    {"nonzero count_nonzero index_select", "nothing", masked_select, {IN(3, 4), NO_MASK(4)}, .flags = MOVES},
    {"nonzero count_nonzero scatter", "masked_scatter", masked_scatter, {IN(3, 4), MASK(3, 4), IN(12)}, .flags = MOVES},
    {"nonzero count_nonzero",
     "4-D",
     nonzero,
     {{DIMS(3, 2, 4, 2), 0, 2, 0}},
     .flags = MOVES | EGT_NO_GRAD | EGT_NO_FLOAT},
    {"nonzero count_nonzero",
     "many",
     nonzero,
     {{DIMS(70, 90), 0, 2, 0}},
     .flags = EGT_NO_GRAD | EGT_NO_FLOAT | EGT_BOOL},
    {"one_hot", "floats", one_hot, {ID(5, 2, 3)}, .flags = FIXED},
    {"one_hot", "integers", one_hot_ints, {ID(5, 2, 3)}, .flags = FIXED},
    {"lt", "sequence_mask", sequence_mask, {AT(7, 2, 3)}, .flags = FIXED},
    {"ravel_index", "places", ravel, {AT(3, 4, 3)}, .flags = FIXED},
    {"unravel_index", "places", unravel, {AT(24, 2, 3)}, .flags = FIXED})
