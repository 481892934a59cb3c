/* linear.c - matrix products. Sizes below, at and past the limits between the ways a product can go: small,
 * few rows, one column, blocked with whole and partial tiles, batches that merge and batches that do not. */
#include "tests/cases.h"

#define CASE_FUNCTION(name, call)                                                                  \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user)                                 \
    {                                                                                              \
        (void)n, (void)user;                                                                       \
        return call;                                                                               \
    }
#define DIMS(...) {EG_COUNT_(int64_t, __VA_ARGS__), {__VA_ARGS__}}
#define PAIR(a, b) {{a, -1, 1, 0}, {b, -1, 1, 0}}, 2

CASE_FUNCTION(matmul, eg_matmul(x[0], x[1]))

#define MATMUL(name, flags, ...) {"matmul", name, matmul, __VA_ARGS__, flags, 0, 1e-5, NULL}
#define M(...)                   DIMS(__VA_ARGS__)

EGT_CASES(linear,
    MATMUL("small", 0, PAIR(M(3, 5), M(5, 4))),
    MATMUL("wider than a vector", EGT_NO_GRAD, PAIR(M(6, 9), M(9, 37))),
    MATMUL("row", 0, PAIR(M(1, 7), M(7, 5))),
    MATMUL("long row", EGT_NO_GRAD, PAIR(M(1, 133), M(133, 1100))),
    MATMUL("column", 0, PAIR(M(6, 7), M(7, 1))),
    MATMUL("long column", EGT_NO_GRAD, PAIR(M(131, 150), M(150, 1))),
    MATMUL("one number", 0, PAIR(M(1, 1), M(1, 1))),
    MATMUL("outer", 0, PAIR(M(4, 1), M(1, 5))),
    MATMUL("few rows", EGT_NO_GRAD, PAIR(M(3, 90), M(90, 130))),
    MATMUL("blocked", EGT_NO_GRAD, PAIR(M(25, 70), M(70, 67))),
    MATMUL("past every block", EGT_NO_GRAD, PAIR(M(101, 260), M(260, 1030))),
    MATMUL("vector on the left", 0, PAIR(M(4), M(4, 3))),
    MATMUL("vector on the right", 0, PAIR(M(3, 4), M(4))),
    MATMUL("vectors", 0, PAIR(M(5), M(5))),
    MATMUL("batches", 0, PAIR(M(2, 3, 4), M(2, 4, 2))),
    MATMUL("broadcast batches", 0, PAIR(M(2, 1, 3, 4), M(3, 4, 2))),
    MATMUL("both broadcast", 0, PAIR(M(2, 1, 2, 3), M(1, 2, 3, 2))),
    MATMUL("one matrix for all", 0, PAIR(M(2, 2, 3, 4), M(4, 2))),
    MATMUL("one matrix on the left", 0, PAIR(M(3, 4), M(2, 4, 2))),
    MATMUL("batches of rows", 0, PAIR(M(3, 2, 1, 4), M(3, 2, 4, 5))),
    MATMUL("blocked batches", EGT_NO_GRAD, PAIR(M(2, 3, 20, 33), M(2, 3, 33, 40))),
    MATMUL("blocked broadcast batches", EGT_NO_GRAD, PAIR(M(2, 1, 20, 33), M(3, 33, 40))),
    MATMUL("eight axes", EGT_NO_GRAD, PAIR(M(2, 1, 2, 1, 2, 1, 3, 20), M(1, 2, 1, 2, 1, 2, 20, 40))),
    MATMUL("nothing to sum", 0, PAIR(M(3, 0), M(0, 2))),
    MATMUL("no rows", 0, PAIR(M(0, 3), M(3, 2))),
    MATMUL("no columns", 0, PAIR(M(2, 3), M(3, 0))),
    MATMUL("no batches", 0, PAIR(M(0, 2, 3), M(3, 2))))
