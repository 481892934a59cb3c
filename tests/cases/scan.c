/* scan.c - running maxima and minima: values and places. */
#include "tests/cases.h"

#define FUNCTION(name, op, axis, values, places)                   \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user) \
    {                                                              \
        eg_tensor *y = NULL;                                       \
        (void)n, (void)user;                                       \
        eg_##op(x[0], axis, values, places);                       \
        return y;                                                  \
    }
#define FUNCTIONS(op)                     \
    FUNCTION(op##_last, op, -1, &y, NULL) \
    FUNCTION(op##_first, op, 0, &y, NULL) \
    FUNCTION(op##_places, op, 1, NULL, &y)
#define EXACT EGT_INTS | EGT_BOOL
#define CASES(op)                                                                                                  \
    {#op, "rows", op##_last, {{DIMS(3, 20), -2, 2, 0}}, .flags = EXACT},                                           \
        {#op, "number", op##_last, {{{0, {0}}, -2, 2, 0}}, .flags = EXACT},                                        \
        {#op, "columns", op##_first, {{DIMS(5, 300), -2, 2, 0}}, .flags = EXACT},                                  \
        {#op, "places", op##_places, {{DIMS(2, 9, 7), -3, 3, 0}}, .flags = EXACT | EGT_NO_GRAD | EGT_NO_HALF},     \
        {#op, "long rows", op##_last, {{DIMS(2, 2051), -200, 200, 0}}, .flags = EXACT | EGT_NO_GRAD},              \
        {#op, "parts of rows", op##_places, {{DIMS(1, 35000), -200, 200, 0}}, .flags = EGT_NO_GRAD | EGT_NO_HALF}, \
        {#op, "parts of columns", op##_first, {{DIMS(301, 40), -200, 200, 0}}, .flags = EXACT | EGT_NO_GRAD},      \
    {                                                                                                              \
#op, "empty", op##_last, {{DIMS(3, 0), -2, 2, 0 } }, .flags = EXACT                                        \
    }
FUNCTIONS(cummax)
FUNCTIONS(cummin)

EGT_CASES(scan, CASES(cummax), CASES(cummin))
