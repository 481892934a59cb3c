/* softmax.c - what the golden cases of softmax stand for. */
#include "tests/golden/golden.h"

static eg_tensor *softmax(const golden_case *c)
{
    return eg_softmax(c->x[0], (int)golden_number(c, "axis", 0));
}

static eg_tensor *log_softmax(const golden_case *c)
{
    return eg_log_softmax(c->x[0], (int)golden_number(c, "axis", 0));
}

GOLDEN_ROWS(softmax, {.op = "softmax", .one = softmax}, {.op = "log_softmax", .one = log_softmax})
