/* reduce.c - reductions, running sums and products. */
#include "tests/cases.h"

CASE_FUNCTION(matmul, eg_matmul(x[0], x[1]))
CASE_FUNCTION(max_from, eg_max(x[0], .axes = EG_AXES(0), .has_initial = true, .initial = 0.5))
CASE_FUNCTION(sum_from, eg_sum(x[0], .axes = EG_AXES(-1), .has_initial = true, .initial = 3))
CASE_FUNCTION(norm_1, eg_norm(x[0], .p = 1, .axes = EG_AXES(0)))
CASE_FUNCTION(norm_2, eg_norm(x[0], .axes = EG_AXES(-1), .keepdim = true))
CASE_FUNCTION(norm_3, eg_norm(x[0], .p = 3, .axes = EG_AXES(1)))
CASE_FUNCTION(norm_half, eg_norm(x[0], .p = 0.5))
CASE_FUNCTION(norm_most, eg_norm(x[0], .p = INFINITY, .axes = EG_AXES(-1)))
CASE_FUNCTION(norm_least, eg_norm(x[0], .p = -INFINITY, .axes = EG_AXES(0)))
CASE_FUNCTION(var_all, eg_var(x[0]))
CASE_FUNCTION(var_last, eg_var(x[0], .axes = EG_AXES(-1), .keepdim = true))
CASE_FUNCTION(var_first, eg_var(x[0], .axes = EG_AXES(0), .biased = true))
CASE_FUNCTION(var_channels, eg_var(x[0], .axes = EG_AXES(0, 2, 3), .keepdim = true))
CASE_FUNCTION(std_last, eg_std(x[0], .axes = EG_AXES(-1)))
CASE_FUNCTION(std_all, eg_std(x[0], .biased = true))
CASE_FUNCTION(argmax_all, eg_argmax(x[0], .keepdim = true))
CASE_FUNCTION(argmin_all, eg_argmin(x[0]))
CASE_FUNCTION(argmax_last, eg_argmax(x[0], .axes = EG_AXES(-1)))
CASE_FUNCTION(argmin_first, eg_argmin(x[0], .axes = EG_AXES(0), .keepdim = true))
CASE_FUNCTION(argmax_channels, eg_argmax(x[0], .axes = EG_AXES(1)))
CASE_FUNCTION(cumsum_last, eg_cumsum(x[0], -1))
CASE_FUNCTION(cumsum_first, eg_cumsum(x[0], 0))
CASE_FUNCTION(cumprod_last, eg_cumprod(x[0], -1))
CASE_FUNCTION(cumprod_first, eg_cumprod(x[0], 0))
CASE_FUNCTION(cumprod_channels, eg_cumprod(x[0], 1))
CASE_FUNCTION(diff_last, eg_diff(x[0], -1))

/* What every reduction is tried on: all axes; rows; columns; a middle axis; what a channel norm needs. */
#define FUNCTIONS(op)                                                                 \
    CASE_FUNCTION(op##_all, eg_##op(x[0]))                                            \
    CASE_FUNCTION(op##_last, eg_##op(x[0], .axes = EG_AXES(-1)))                      \
    CASE_FUNCTION(op##_first, eg_##op(x[0], .axes = EG_AXES(0), .keepdim = true))     \
    CASE_FUNCTION(op##_middle, eg_##op(x[0], .axes = EG_AXES(1)))                     \
    CASE_FUNCTION(op##_outer, eg_##op(x[0], .axes = EG_AXES(0, -1), .keepdim = true)) \
    CASE_FUNCTION(op##_channels, eg_##op(x[0], .axes = EG_AXES(0, 2, 3)))
#define CASES(op, low, high, how)                                                           \
    {#op, "all", op##_all, {{DIMS(3, 4, 2), low, high, 0}}, .flags = how},                  \
        {#op, "rows", op##_last, {{DIMS(5, 90), low, high, 0}}, .flags = how},              \
        {#op, "columns", op##_first, {{DIMS(7, 90), low, high, 0}}, .flags = how},          \
        {#op, "short rows", op##_last, {{DIMS(40, 3), low, high, 0}}, .flags = how},        \
        {#op, "middle", op##_middle, {{DIMS(2, 9, 5), low, high, 0}}, .flags = how},        \
        {#op, "outer", op##_outer, {{DIMS(3, 4, 2), low, high, 0}}, .flags = how},          \
        {#op, "channels", op##_channels, {{DIMS(2, 3, 4, 5), low, high, 0}}, .flags = how}, \
    {                                                                                       \
#op, "number", op##_first, {{{0, {0 } }, low, high, 0 } }, .flags = how             \
    }

CASE_FUNCTION(argmin_last, eg_argmin(x[0], .axes = EG_AXES(-1)))

#define ALL_TYPES EGT_INTS | EGT_BOOL
FUNCTIONS(sum)
FUNCTIONS(mean)
FUNCTIONS(prod)
FUNCTIONS(max)
FUNCTIONS(min)
FUNCTIONS(any)
FUNCTIONS(all)
FUNCTIONS(count_nonzero)
FUNCTIONS(logsumexp)

/* Sizes at which devices share the work out otherwise: lines longer than a block, lines and columns cut into parts,
 * runs within lines. The gradient does not depend on them. */
#define LARGE(op, f, low, high, how)                                                                  \
    {op, "long rows", f##_last, {{DIMS(2, 5003), low, high, 0}}, .flags = how | EGT_NO_GRAD},         \
        {op, "many rows", f##_last, {{DIMS(300, 21), low, high, 0}}, .flags = how | EGT_NO_GRAD},     \
        {op, "long columns", f##_first, {{DIMS(2001, 3), low, high, 0}}, .flags = how | EGT_NO_GRAD}, \
    {                                                                                                 \
        op, "many columns", f##_first, {{DIMS(20, 300), low, high, 0}}, .flags = how | EGT_NO_GRAD    \
    }
#define PARTS(op, f, low, high)                                                                             \
    {                                                                                                       \
        op, "parts of rows", f##_last, {{DIMS(1, 40001), low, high, 0}}, .flags = EGT_NO_HALF | EGT_NO_GRAD \
    }
#define RUNS(op, f, low, high)                                                                                 \
    {op, "runs", f##_outer, {{DIMS(6, 3, 701), low, high, 0}}, .flags = EGT_NO_HALF | EGT_NO_GRAD},            \
    {                                                                                                          \
        op, "parts of runs", f##_outer, {{DIMS(6, 1, 7001), low, high, 0}}, .flags = EGT_NO_HALF | EGT_NO_GRAD \
    }
#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -2, 2, 0 \
    }

EGT_CASES(reduce, CASES(sum, -2, 2, ALL_TYPES), CASES(mean, -2, 2, ALL_TYPES), CASES(prod, 0.5, 1.5, ALL_TYPES),
          CASES(max, -2, 2, ALL_TYPES), CASES(min, -2, 2, ALL_TYPES), CASES(any, -2, 2, ALL_TYPES | EGT_NO_GRAD),
          CASES(all, 0, 5, ALL_TYPES | EGT_NO_GRAD), CASES(count_nonzero, -2, 2, ALL_TYPES | EGT_NO_GRAD),
          CASES(logsumexp, -2, 2, 0), LARGE("sum", sum, 0, 2, ALL_TYPES),
          LARGE("prod", prod, 0.999, 1.001, EGT_NO_HALF), LARGE("max", max, -200, 200, ALL_TYPES),
          LARGE("logsumexp", logsumexp, -2, 2, 0), LARGE("argmin", argmin, -200, 200, ALL_TYPES),
          LARGE("var", var, -2, 2, 0), PARTS("sum", sum, 0, 2), PARTS("logsumexp", logsumexp, -2, 2),
          PARTS("argmin", argmin, -200, 200), PARTS("var", var, -2, 2), RUNS("sum", sum, 0, 2), RUNS("max", max, -2, 2),
          {"sum", "empty", sum_last, {IN(3, 0)}, .flags = ALL_TYPES},
          {"prod", "empty", prod_last, {IN(3, 0)}, .flags = ALL_TYPES}, {"mean", "no results", mean_last, {IN(0, 3)}},
          {"max", "no results", max_last, {IN(0, 3)}}, {"sum", "one element", sum_all, {IN(1)}, .flags = ALL_TYPES},
          {"max", "no axes", max_all, {{EG_SCALAR, -2, 2, 0}}, .flags = ALL_TYPES}, {"norm", "1", norm_1, {IN(4, 5)}},
          {"max", "initial value", max_from, {IN(5, 4)}, .flags = EGT_INTS},
          {"max", "of nothing", max_from, {IN(0, 4)}, .flags = EGT_INTS},
          {"sum", "initial value", sum_from, {IN(3, 5)}, .flags = EGT_INTS},
          {"norm", "number", norm_2, {{{0}, 1, 2, 0}}}, {"var", "number", var_first, {{{0}, -2, 2, 0}}},
          {"argmin", "number", argmin_first, {{{0}, -9, 9, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
          {"cumsum", "number", cumsum_first, {{{0}, -2, 2, 0}}, .flags = ALL_TYPES},
          {"cumprod recurrence", "number", cumprod_first, {{{0}, -1.5, 1.5, 0}}, .flags = ALL_TYPES},
          {"norm", "2", norm_2, {IN(4, 90)}}, {"norm", "3", norm_3, {IN(4, 5, 3)}},
          {"norm", "1/2", norm_half, {{DIMS(4, 5), 0.5, 2, 0}}}, {"norm", "most", norm_most, {IN(4, 20)}},
          {"norm", "least", norm_least, {IN(4, 20)}}, {"var", "all", var_all, {IN(4, 5)}},
          {"var", "rows", var_last, {IN(4, 90)}}, {"var", "columns", var_first, {IN(40, 30)}},
          {"var", "channels", var_channels, {IN(2, 3, 4, 5)}}, {"std", "rows", std_last, {IN(4, 5)}},
          {"std", "all", std_all, {IN(4, 5)}},
          {"argmax", "all", argmax_all, {{DIMS(3, 4, 5), -9, 9, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
          {"argmin", "all", argmin_all, {{DIMS(3, 4, 5), -9, 9, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
          {"argmax", "rows", argmax_last, {{DIMS(3, 90), -9, 9, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
          {"argmin", "columns", argmin_first, {{DIMS(9, 30), -9, 9, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
          {"argmax", "channels", argmax_channels, {{DIMS(2, 6, 3, 4), -9, 9, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
          {"cumsum", "rows", cumsum_last, {IN(3, 20)}, .flags = ALL_TYPES},
          {"cumsum", "columns", cumsum_first, {IN(5, 20)}, .flags = ALL_TYPES},
          {"cumsum", "empty", cumsum_last, {IN(3, 0)}, .flags = ALL_TYPES},
          {"cumsum", "long rows", cumsum_last, {{DIMS(2, 2101), 0, 1, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
          {"cumsum", "rows of quads", cumsum_last, {{DIMS(40, 132), 0, 1, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
          {"cumsum", "parts of rows", cumsum_last, {{DIMS(1, 40001), 0, 1, 0}}, .flags = EGT_NO_GRAD | EGT_NO_HALF},
          {"cumsum", "parts of columns", cumsum_first, {{DIMS(401, 45), 0, 1, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
          {"cumsum", "two columns", cumsum_first, {{DIMS(20000, 2), 0, 1, 0}}, .flags = EGT_NO_GRAD | EGT_NO_HALF},
          {"cumprod recurrence",
           "long rows",
           cumprod_last,
           {{DIMS(2, 2101), 0.999, 1.001, 0}},
           .flags = EGT_NO_HALF | EGT_NO_GRAD},
          {"cumprod recurrence", "rows", cumprod_last, {{DIMS(11, 6), -1.5, 1.5, 0}}, .flags = ALL_TYPES},
          {"cumprod recurrence", "columns", cumprod_first, {{DIMS(5, 8), -1.5, 1.5, 0}}, .flags = ALL_TYPES},
          {"cumprod", "channels", cumprod_channels, {{DIMS(2, 4, 3, 2), -1.5, 1.5, 0}}, .flags = ALL_TYPES},
          {"sub slice", "diff", diff_last, {IN(3, 5)}, .flags = EGT_INTS},
          {"matmul", "batches", matmul, {IN(2, 1, 3, 4), IN(3, 4, 2)}, .tolerance = 1e-5})
