/* init.c - what parameters begin with. */
#include <math.h>

#include <egret/ops/random.h>

#include "nn/nn.h"

eg_tensor *eg__init_uniform(eg_shape shape, int64_t fan_in, eg_dtype dtype)
{
    eg_scope s = eg_scope_push();
    double limit = 1 / sqrt((double)eg__max(fan_in, 1));
    eg_tensor *t = eg_parameter(eg_uniform(shape, -limit, limit, dtype));
    eg_scope_pop(s, NULL);
    return t;
}
