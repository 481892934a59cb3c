/* linalg.c - what the golden cases of matrix products stand for. */
#include "tests/golden/golden.h"

static eg_tensor *stored(const golden_case *c, int i, const char *transposed)
{
    return golden_number(c, transposed, 0) != 0 ? eg_transpose(c->x[i], -2, -1) : c->x[i];
}

static eg_tensor *matmul(const golden_case *c)
{
    return eg_matmul(stored(c, 0, "transpose_a"), stored(c, 1, "transpose_b"));
}

static eg_tensor *einsum(const golden_case *c)
{
    return eg_einsum(golden_word(c, "equation"), c->x, c->nx);
}

static eg_tensor *linear(const golden_case *c)
{
    static const struct {
        const char *name;
        eg_tensor *(*function)(eg_tensor *);
    } acts[] = {{"none", NULL}, {"relu", eg_relu}, {"tanh", eg_tanh}, {"sigmoid", eg_sigmoid}, {"gelu", eg_gelu}};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (golden_is(c, "act", acts[i].name)) {
            return eg_linear(c->x[0], c->x[1], c->nx > 2 ? c->x[2] : NULL, .activation = acts[i].function);
        }
    }
    return NULL;
}

GOLDEN_ROWS(linalg, {.op = "matmul", .one = matmul}, {.op = "einsum", .one = einsum}, {.op = "linear", .one = linear},
            GOLDEN_2(outer), GOLDEN_2(dot))
