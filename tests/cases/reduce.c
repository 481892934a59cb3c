/* reduce.c - reductions. */
#include "tests/cases.h"

#define CASE_FUNCTION(name, call)                                                                  \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user)                                 \
    {                                                                                              \
        (void)n, (void)user;                                                                       \
        return call;                                                                               \
    }
#define DIMS(...) {EG_COUNT_(int64_t, __VA_ARGS__), {__VA_ARGS__}}

CASE_FUNCTION(sum_all, eg_sum(x[0]))
CASE_FUNCTION(sum_axes, eg_sum(x[0], .axes = EG_AXES(0, -1), .keepdim = true))
CASE_FUNCTION(matmul, eg_matmul(x[0], x[1]))

EGT_CASES(reduce,
    {"sum", "all", sum_all, {{DIMS(3, 4, 2), -2, 2, 0}}, 1, EGT_INTS | EGT_BOOL, 0, 0, NULL},
    {"sum", "two axes", sum_axes, {{DIMS(3, 4, 2), -2, 2, 0}}, 1, EGT_INTS | EGT_BOOL, 0, 0, NULL},
    {"matmul", "batches", matmul, {{DIMS(2, 1, 3, 4), -2, 2, 0}, {DIMS(3, 4, 2), -2, 2, 0}}, 2, 0, 0,
     1e-5, NULL})
