/* linear.c - matrix products. Sizes below, at and past the limits between the ways a product can go: small,
 * few rows, one column, blocked with whole and partial tiles, batches that merge and batches that do not. */
#include "tests/cases.h"

#define EINSUM(name, count, equation) CASE_FUNCTION(einsum_##name, eg_einsum(equation, x, count))
EINSUM(chain, 3, "ij,jk,kl->il")
EINSUM(transposed, 2, "ij,kj->ki")
EINSUM(heads, 2, "bqhd,bkhd->bhqk")
EINSUM(trace, 1, "iji->j")
EINSUM(diagonals, 2, "iij,ji->ij")
EINSUM(ellipsis, 2, "...ij,j...->i...")
EINSUM(sizes_of_one, 2, "ij,ij->j")
EINSUM(dots_summed, 2, "...ij,...j->i")
EINSUM(implicit, 2, "cab,ad")

CASE_FUNCTION(matmul, eg_matmul(x[0], x[1]))
CASE_FUNCTION(linear, eg_linear(x[0], x[1], n > 2 ? x[2] : NULL))
CASE_FUNCTION(linear_relu, eg_linear(x[0], x[1], n > 2 ? x[2] : NULL, .activation = eg_relu))
CASE_FUNCTION(linear_tanh, eg_linear(x[0], x[1], n > 2 ? x[2] : NULL, .activation = eg_tanh))
CASE_FUNCTION(linear_sigmoid, eg_linear(x[0], x[1], n > 2 ? x[2] : NULL, .activation = eg_sigmoid))
CASE_FUNCTION(linear_gelu, eg_linear(x[0], x[1], n > 2 ? x[2] : NULL, .activation = eg_gelu))
CASE_FUNCTION(linear_gelu_tanh, eg_linear(x[0], x[1], n > 2 ? x[2] : NULL, .activation = eg_gelu_tanh))
CASE_FUNCTION(linear_silu, eg_linear(x[0], x[1], n > 2 ? x[2] : NULL, .activation = eg_silu))
CASE_FUNCTION(linear_mish, eg_linear(x[0], x[1], n > 2 ? x[2] : NULL, .activation = eg_mish))
CASE_FUNCTION(diagonal, eg_diagonal(x[0], 0, 0, 1))
CASE_FUNCTION(diagonal_above, eg_diagonal(x[0], 1, -1, 0))
CASE_FUNCTION(diagonal_below, eg_diagonal(x[0], -2, 0, 1))
CASE_FUNCTION(diagonal_outside, eg_diagonal(x[0], 9, 0, 1))

#define PAIR(a, b)      \
    {                   \
        {a, -1, 1, 0},  \
        {               \
            b, -1, 1, 0 \
        }               \
    }
#define WHOLE(a, b)     \
    {                   \
        {a, -9, 9, 0},  \
        {               \
            b, -9, 9, 0 \
        }               \
    }
#define TRIPLE(a, b, c)               \
    {                                 \
        {a, -1, 1, 0}, {b, -1, 1, 0}, \
        {                             \
            c, -1, 1, 0               \
        }                             \
    }
#define M(...) DIMS(__VA_ARGS__)
#define MATMUL(name, ...)                                      \
    {                                                          \
        "matmul", name, matmul, __VA_ARGS__, .tolerance = 1e-5 \
    }
#define LINEAR(ops, name, f, ...)                    \
    {                                                \
        ops, name, f, __VA_ARGS__, .tolerance = 1e-5 \
    }
#define DIAGONAL(name, f, a)                                               \
    {                                                                      \
        "diagonal", name, f, {{a, -1, 1, 0}}, .flags = EGT_INTS | EGT_BOOL \
    }
#define EINSUM_CASE(name, f, ...)                                                                 \
    {                                                                                             \
        "matmul diagonal", "einsum " name, f, __VA_ARGS__, .flags = EGT_NO_REF, .tolerance = 1e-5 \
    }

EGT_CASES(
    linear, MATMUL("small", PAIR(M(3, 5), M(5, 4))),
    MATMUL("wider than a vector", PAIR(M(6, 9), M(9, 37)), .flags = EGT_NO_GRAD), MATMUL("row", PAIR(M(1, 7), M(7, 5))),
    MATMUL("long row", PAIR(M(1, 133), M(133, 1100)), .flags = EGT_NO_GRAD), MATMUL("column", PAIR(M(6, 7), M(7, 1))),
    MATMUL("long column", PAIR(M(131, 150), M(150, 1)), .flags = EGT_NO_GRAD),
    MATMUL("one number", PAIR(M(1, 1), M(1, 1))), MATMUL("outer", PAIR(M(4, 1), M(1, 5))),
    MATMUL("few rows", PAIR(M(3, 90), M(90, 130)), .flags = EGT_NO_GRAD),
    MATMUL("blocked", PAIR(M(25, 70), M(70, 67)), .flags = EGT_NO_GRAD),
    MATMUL("past every block", PAIR(M(101, 260), M(260, 1030)), .flags = EGT_NO_GRAD),
    MATMUL("vector on the left", PAIR(M(4), M(4, 3))), MATMUL("vector on the right", PAIR(M(3, 4), M(4))),
    MATMUL("vectors", PAIR(M(5), M(5))), MATMUL("batches", PAIR(M(2, 3, 4), M(2, 4, 2))),
    MATMUL("broadcast batches", PAIR(M(2, 1, 3, 4), M(3, 4, 2))),
    MATMUL("both broadcast", PAIR(M(2, 1, 2, 3), M(1, 2, 3, 2))),
    MATMUL("one matrix for all", PAIR(M(2, 2, 3, 4), M(4, 2))),
    MATMUL("one matrix on the left", PAIR(M(3, 4), M(2, 4, 2))),
    MATMUL("batches of rows", PAIR(M(3, 2, 1, 4), M(3, 2, 4, 5))),
    MATMUL("blocked batches", PAIR(M(2, 3, 20, 33), M(2, 3, 33, 40)), .flags = EGT_NO_GRAD),
    MATMUL("blocked broadcast batches", PAIR(M(2, 1, 20, 33), M(3, 33, 40)), .flags = EGT_NO_GRAD),
    MATMUL("eight axes", PAIR(M(2, 1, 2, 1, 2, 1, 3, 20), M(1, 2, 1, 2, 1, 2, 20, 40)), .flags = EGT_NO_GRAD),
    MATMUL("many broadcast batches", PAIR(M(9, 1, 2, 3), M(1, 10, 3, 4)), .flags = EGT_NO_GRAD),
    MATMUL("three axes of batches", PAIR(M(3, 2, 5, 4, 3), M(3, 2, 5, 3, 2)), .flags = EGT_NO_GRAD),
    MATMUL("a matrix for batches of rows", PAIR(M(3, 2, 5, 4), M(4, 20)), .flags = EGT_NO_GRAD),
    MATMUL("whole numbers", WHOLE(M(3, 7), M(7, 5)), .flags = EGT_INTS | EGT_BOOL),
    MATMUL("whole numbers, blocks of rows", WHOLE(M(70, 90), M(90, 130)), .flags = EGT_INTS | EGT_BOOL | EGT_NO_FLOAT),
    MATMUL("whole numbers, batches", WHOLE(M(2, 1, 3, 4), M(3, 4, 2)), .flags = EGT_INTS | EGT_BOOL | EGT_NO_FLOAT),
    MATMUL("whole numbers, one matrix for all", WHOLE(M(2, 2, 3, 4), M(4, 5)), .flags = EGT_INTS | EGT_NO_FLOAT),
    MATMUL("whole numbers, eight axes", WHOLE(M(2, 1, 2, 1, 2, 1, 3, 4), M(1, 2, 1, 2, 1, 2, 4, 3)),
           .flags = EGT_INTS | EGT_NO_FLOAT),
    MATMUL("whole numbers, nothing to sum", WHOLE(M(3, 0), M(0, 2)), .flags = EGT_INTS | EGT_BOOL | EGT_NO_FLOAT),
    MATMUL("whole numbers, no rows", WHOLE(M(0, 3), M(3, 2)), .flags = EGT_INTS | EGT_NO_FLOAT),
    MATMUL("nothing to sum", PAIR(M(3, 0), M(0, 2))), MATMUL("no rows", PAIR(M(0, 3), M(3, 2))),
    MATMUL("no columns", PAIR(M(2, 3), M(3, 0))), MATMUL("no batches", PAIR(M(0, 2, 3), M(3, 2))),
    LINEAR("linear", "plain", linear, TRIPLE(M(3, 4), M(2, 4), M(2))),
    LINEAR("linear", "one output without an axis", linear,
           {{M(3, 4), -1, 1, 0}, {M(4), -1, 1, 0}, {{0, {0}}, -1, 1, 0}}),
    LINEAR("linear_act", "one output, tanh", linear_tanh, PAIR(M(3, 4), M(4))),
    LINEAR("matmul", "linear of integers", linear, {{M(3, 4), -9, 9, 0}, {M(2, 4), -9, 9, 0}, {M(2), -9, 9, 0}},
           .flags = EGT_INTS | EGT_NO_FLOAT),
    LINEAR("linear", "no bias", linear, PAIR(M(3, 4), M(2, 4))),
    LINEAR("linear", "one row", linear, TRIPLE(M(4), M(3, 4), M(3))),
    LINEAR("linear", "four axes", linear, TRIPLE(M(2, 1, 3, 4), M(2, 4), M(2))),
    LINEAR("linear", "nothing to sum", linear, TRIPLE(M(3, 0), M(2, 0), M(2))),
    LINEAR("linear", "no rows", linear, TRIPLE(M(0, 3), M(2, 3), M(2))),
    LINEAR("linear", "no columns", linear, TRIPLE(M(2, 3), M(0, 3), M(0))),
    LINEAR("linear", "blocked", linear, TRIPLE(M(2, 21, 70), M(67, 70), M(67)), .flags = EGT_NO_GRAD),
    LINEAR("linear", "blocked four axes", linear, TRIPLE(M(3, 2, 5, 40), M(20, 40), M(20)), .flags = EGT_NO_GRAD),
    LINEAR("linear_act", "blocked relu of four axes", linear_relu, TRIPLE(M(3, 2, 5, 40), M(20, 40), M(20)),
           .flags = EGT_NO_GRAD),
    LINEAR("linear_act", "relu", linear_relu, TRIPLE(M(3, 4), M(2, 4), M(2)), .flags = EGT_NO_SECOND),
    LINEAR("linear_act", "relu without bias", linear_relu, PAIR(M(3, 4), M(2, 4)), .flags = EGT_NO_SECOND),
    LINEAR("linear_act", "tanh", linear_tanh, TRIPLE(M(2, 3, 4), M(2, 4), M(2))),
    LINEAR("linear_act", "sigmoid", linear_sigmoid, TRIPLE(M(3, 4), M(2, 4), M(2))),
    LINEAR("linear_act", "sigmoid of one row", linear_sigmoid, TRIPLE(M(4), M(2, 4), M(2))),
    LINEAR("linear_act", "blocked relu", linear_relu, TRIPLE(M(42, 70), M(67, 70), M(67)), .flags = EGT_NO_GRAD),
    LINEAR("linear_act", "blocked tanh", linear_tanh, TRIPLE(M(42, 70), M(67, 70), M(67)), .flags = EGT_NO_GRAD),
    LINEAR("linear_act", "blocked sigmoid", linear_sigmoid, TRIPLE(M(42, 70), M(67, 70), M(67)), .flags = EGT_NO_GRAD),
    LINEAR("linear", "gelu", linear_gelu, TRIPLE(M(3, 4), M(2, 4), M(2))),
    LINEAR("linear", "blocked gelu", linear_gelu, TRIPLE(M(42, 70), M(67, 70), M(67)), .flags = EGT_NO_GRAD),
    LINEAR("linear", "blocked gelu_tanh", linear_gelu_tanh, TRIPLE(M(42, 70), M(67, 70), M(67)), .flags = EGT_NO_GRAD),
    LINEAR("linear", "blocked silu", linear_silu, TRIPLE(M(42, 70), M(67, 70), M(67)), .flags = EGT_NO_GRAD),
    LINEAR("linear", "gelu_tanh of a row", linear_gelu_tanh, TRIPLE(M(4), M(2, 4), M(2))),
    LINEAR("linear", "silu", linear_silu, TRIPLE(M(3, 4), M(2, 4), M(2))),
    LINEAR("linear", "another activation", linear_mish, TRIPLE(M(3, 4), M(2, 4), M(2))),
    EINSUM_CASE("chain", einsum_chain, TRIPLE(M(2, 3), M(3, 4), M(4, 2))),
    EINSUM_CASE("transposed", einsum_transposed, PAIR(M(2, 3), M(4, 3))),
    EINSUM_CASE("heads", einsum_heads, PAIR(M(2, 3, 2, 4), M(2, 5, 2, 4))),
    EINSUM_CASE("trace", einsum_trace, {{M(3, 2, 3), -1, 1, 0}}),
    EINSUM_CASE("diagonals", einsum_diagonals, PAIR(M(3, 3, 2), M(2, 3))),
    EINSUM_CASE("ellipsis", einsum_ellipsis, PAIR(M(2, 3, 4), M(4, 2))),
    EINSUM_CASE("sizes of one", einsum_sizes_of_one, PAIR(M(1, 3), M(4, 3))),
    EINSUM_CASE("dots summed", einsum_dots_summed, PAIR(M(2, 3, 4), M(2, 4))),
    EINSUM_CASE("implicit", einsum_implicit, PAIR(M(2, 3, 4), M(3, 2))),
    EINSUM_CASE("nothing to sum", einsum_transposed, PAIR(M(2, 0), M(3, 0))), DIAGONAL("square", diagonal, M(3, 3)),
    DIAGONAL("batched, of a high matrix", diagonal, M(4, 3, 2)), DIAGONAL("above", diagonal_above, M(3, 2, 4)),
    DIAGONAL("below", diagonal_below, M(4, 5)), DIAGONAL("outside", diagonal_outside, M(4, 5)))
