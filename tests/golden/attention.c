/* attention.c - what the golden cases of attention stand for. */
#include "tests/golden/golden.h"

static eg_tensor *attention(const golden_case *c)
{
    return eg_attention(c->x[0], c->x[1], c->x[2], .mask = c->nx > 3 ? c->x[3] : NULL,
                        .causal = golden_is(c, "kind", "causal"), .scale = golden_number(c, "scale", 0));
}

static eg_tensor *shared_heads(const golden_case *c)
{
    const int64_t heads = (int64_t)golden_number(c, "heads", 1);
    const bool alibi = golden_number(c, "alibi", 0) > 0;
    return eg_attention(c->x[0], c->x[1], c->x[2], .causal = golden_number(c, "causal", 0) > 0,
                        .window = (int64_t)golden_number(c, "window", 0),
                        .slopes = alibi ? eg_alibi_slopes(heads, eg_dtype_of(c->x[0])) : NULL);
}

static eg_tensor *rotary(const golden_case *c)
{
    const int64_t start = (int64_t)golden_number(c, "start", 0), steps = eg_size(c->x[0], -2);
    eg_tensor *cos, *sin;
    return eg_rotary_tables(eg_arange_int(start, start + steps, 1, EG_I64), (int64_t)golden_number(c, "width", 0), &cos,
                            &sin, .base = golden_number(c, "base", 0), .dtype = eg_dtype_of(c->x[0]))
               ? NULL
               : eg_rotary_embedding(c->x[0], cos, sin, .interleaved = golden_number(c, "interleaved", 0) > 0);
}

GOLDEN_ROWS(attention, {.op = "attention", .one = attention}, {.op = "shared_heads", .one = shared_heads},
            {.op = "rotary", .one = rotary})
