/* attention.c - what the golden cases of attention stand for. */
#include "tests/golden/golden.h"

static eg_tensor *attention(const golden_case *c)
{
    return eg_attention(c->x[0], c->x[1], c->x[2], .mask = c->nx > 3 ? c->x[3] : NULL,
                        .causal = golden_is(c, "kind", "causal"), .scale = golden_number(c, "scale", 0));
}

GOLDEN_ROWS(attention, {.op = "attention", .one = attention})
