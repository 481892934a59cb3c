/* softmax.c - softmax and its logarithm. */
#include "tests/cases.h"

#define FUNCTIONS(op)                           \
    CASE_FUNCTION(op##_last, eg_##op(x[0], -1)) \
    CASE_FUNCTION(op##_first, eg_##op(x[0], 0)) \
    CASE_FUNCTION(op##_channels, eg_##op(x[0], 1))
#define CASES(op)                                                                               \
    {#op " " #op "_grad", "rows", op##_last, {{DIMS(3, 75), -4, 4, 0}}},                        \
        {#op " " #op "_grad", "short rows", op##_last, {{DIMS(20, 5), -4, 4, 0}}},              \
        {#op " " #op "_grad", "one short row", op##_last, {{DIMS(5), -4, 4, 0}}},               \
        {#op " " #op "_grad", "number", op##_last, {{{0, {0}}, -4, 4, 0}}},                     \
        {#op " " #op "_grad", "columns", op##_first, {{DIMS(6, 40), -4, 4, 0}}},                \
        {#op " " #op "_grad", "channels", op##_channels, {{DIMS(2, 5, 3, 4), -4, 4, 0}}},       \
        {#op, "rows of a block", op##_last, {{DIMS(2, 1500), -4, 4, 0}}, .flags = EGT_NO_GRAD}, \
        {#op, "rows of quads", op##_last, {{DIMS(70, 36), -4, 4, 0}}, .flags = EGT_NO_GRAD},    \
        {#op, "long rows", op##_last, {{DIMS(2, 5003), -4, 4, 0}}, .flags = EGT_NO_GRAD},       \
        {#op, "long columns", op##_first, {{DIMS(301, 40), -4, 4, 0}}, .flags = EGT_NO_GRAD},   \
    {                                                                                           \
#op " " #op "_grad", "empty", op##_last,                                                \
        {                                                                                       \
            {                                                                                   \
                DIMS(3, 0), -4, 4, 0                                                            \
            }                                                                                   \
        }                                                                                       \
    }
FUNCTIONS(softmax)
FUNCTIONS(log_softmax)

EGT_CASES(softmax, CASES(softmax), CASES(log_softmax))
