/* binary.c - what the golden cases of ops on two and three tensors stand for. */
#include "tests/golden/golden.h"

static eg_tensor *where(const golden_case *c)
{
    return eg_where(c->x[0], c->x[1], c->x[2]);
}

static eg_tensor *lerp(const golden_case *c)
{
    return eg_lerp(c->x[0], c->x[1], c->x[2]);
}

GOLDEN_ROWS(binary, GOLDEN_2(add), GOLDEN_2(sub), GOLDEN_2(mul), GOLDEN_2(div), GOLDEN_2(pow), GOLDEN_2(atan2),
            GOLDEN_2(maximum), GOLDEN_2(minimum), GOLDEN_2(fmod), GOLDEN_2(remainder), GOLDEN_2(floor_divide),
            GOLDEN_2(hypot), GOLDEN_2(fmax), GOLDEN_2(fmin), GOLDEN_2(copysign), GOLDEN_2(heaviside),
            GOLDEN_2(logaddexp), GOLDEN_2(logaddexp2), GOLDEN_2(xlogy), GOLDEN_2(eq), GOLDEN_2(ne), GOLDEN_2(lt),
            GOLDEN_2(le), GOLDEN_2(gt), GOLDEN_2(ge), GOLDEN_2(logical_and), GOLDEN_2(logical_or),
            GOLDEN_2(logical_xor), GOLDEN_2(bitwise_and), GOLDEN_2(bitwise_or), GOLDEN_2(bitwise_xor),
            {.op = "bitwise_left_shift", .f2 = eg_shift_left}, {.op = "bitwise_right_shift", .f2 = eg_shift_right},
            {.op = "where", .one = where}, {.op = "lerp", .one = lerp})
