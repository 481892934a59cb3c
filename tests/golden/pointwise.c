/* pointwise.c - what the golden cases of pointwise ops stand for. */
#include "tests/golden/golden.h"

static eg_tensor *leaky_relu(const golden_case *c)
{
    return eg_leaky_relu(c->x[0], golden_number(c, "negative_slope", 0));
}

static eg_tensor *elu(const golden_case *c)
{
    return eg_elu(c->x[0], golden_number(c, "alpha", 0));
}

static eg_tensor *celu(const golden_case *c)
{
    return eg_celu(c->x[0], golden_number(c, "alpha", 0));
}

static eg_tensor *gelu(const golden_case *c)
{
    return golden_is(c, "approximate", "tanh") ? eg_gelu_tanh(c->x[0]) : eg_gelu(c->x[0]);
}

static eg_tensor *softplus(const golden_case *c)
{
    double beta = golden_number(c, "beta", 1);
    return eg_div_scalar(eg_softplus(eg_mul_scalar(c->x[0], beta)), beta);
}

static eg_tensor *hardtanh(const golden_case *c)
{
    return eg_clamp(c->x[0], golden_number(c, "min_val", -1), golden_number(c, "max_val", 1));
}

static eg_tensor *hardshrink(const golden_case *c)
{
    return eg_hardshrink(c->x[0], golden_number(c, "lambd", 0));
}

static eg_tensor *softshrink(const golden_case *c)
{
    return eg_softshrink(c->x[0], golden_number(c, "lambd", 0));
}

static eg_tensor *threshold(const golden_case *c)
{
    return eg_threshold(c->x[0], golden_number(c, "limit", 0), golden_number(c, "value", 0));
}

static eg_tensor *clamp(const golden_case *c)
{
    double low = golden_number(c, "min", 0), high = golden_number(c, "max", 0);
    if (!golden_has(c, "max")) {
        return eg_clamp_min(c->x[0], low);
    }
    return golden_has(c, "min") ? eg_clamp(c->x[0], low, high) : eg_clamp_max(c->x[0], high);
}

static eg_tensor *glu(const golden_case *c)
{
    return eg_glu(c->x[0], (int)golden_number(c, "axis", 0));
}

static eg_tensor *nan_to_num(const golden_case *c)
{
    return eg_nan_to_num(c->x[0], golden_number(c, "nan", 0), golden_number(c, "posinf", 0),
                         golden_number(c, "neginf", 0));
}

GOLDEN_ROWS(pointwise, GOLDEN_1(abs), GOLDEN_1(neg), GOLDEN_1(sign), GOLDEN_1(square), GOLDEN_1(sqrt), GOLDEN_1(rsqrt),
            GOLDEN_1(reciprocal), GOLDEN_1(exp), GOLDEN_1(exp2), GOLDEN_1(expm1), GOLDEN_1(log), GOLDEN_1(log2),
            GOLDEN_1(log10), GOLDEN_1(log1p), GOLDEN_1(sin), GOLDEN_1(cos), GOLDEN_1(tan), GOLDEN_1(asin),
            GOLDEN_1(acos), GOLDEN_1(atan), GOLDEN_1(sinh), GOLDEN_1(cosh), GOLDEN_1(tanh), GOLDEN_1(asinh),
            GOLDEN_1(acosh), GOLDEN_1(atanh), GOLDEN_1(erf), GOLDEN_1(erfc), GOLDEN_1(lgamma), GOLDEN_1(digamma),
            GOLDEN_1(floor), GOLDEN_1(ceil), GOLDEN_1(round), GOLDEN_1(trunc), GOLDEN_1(frac), GOLDEN_1(isnan),
            GOLDEN_1(isinf), GOLDEN_1(isfinite), GOLDEN_1(logical_not), GOLDEN_1(bitwise_not), GOLDEN_1(relu),
            GOLDEN_1(relu6), GOLDEN_1(selu), GOLDEN_1(silu), GOLDEN_1(mish), GOLDEN_1(sigmoid), GOLDEN_1(logit),
            GOLDEN_1(sinc), GOLDEN_1(erfinv), GOLDEN_1(tanhshrink), GOLDEN_1(signbit), GOLDEN_2(prelu),
            {.op = "glu", .one = glu}, {.op = "nan_to_num", .one = nan_to_num}, GOLDEN_1(log_sigmoid),
            GOLDEN_1(softsign), GOLDEN_1(hardswish), GOLDEN_1(hardsigmoid), GOLDEN_1(trigamma),
            {.op = "leaky_relu", .one = leaky_relu}, {.op = "elu", .one = elu}, {.op = "celu", .one = celu},
            {.op = "gelu", .one = gelu}, {.op = "softplus", .one = softplus}, {.op = "hardtanh", .one = hardtanh},
            {.op = "hardshrink", .one = hardshrink}, {.op = "softshrink", .one = softshrink},
            {.op = "clamp", .one = clamp}, {.op = "threshold", .one = threshold})
