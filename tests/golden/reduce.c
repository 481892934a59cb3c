/* reduce.c - what the golden cases of reductions stand for. */
#include "tests/golden/golden.h"

#define REDUCTION(name)                                                                                            \
    static eg_tensor *name(const golden_case *c)                                                                   \
    {                                                                                                              \
        return eg_##name(c->x[0], .axes = golden_axes(c, "axes"), .keepdim = golden_number(c, "keepdim", 0) != 0); \
    }
REDUCTION(sum)
REDUCTION(mean)
REDUCTION(prod)
REDUCTION(max)
REDUCTION(min)
REDUCTION(any)
REDUCTION(all)
REDUCTION(count_nonzero)
REDUCTION(logsumexp)

static eg_tensor *argmax(const golden_case *c)
{
    return eg_argmax(c->x[0], .axes = golden_axes(c, "axis"), .keepdim = golden_number(c, "keepdim", 0) != 0);
}

static eg_tensor *argmin(const golden_case *c)
{
    return eg_argmin(c->x[0], .axes = golden_axes(c, "axis"), .keepdim = golden_number(c, "keepdim", 0) != 0);
}

static eg_tensor *norm(const golden_case *c)
{
    return eg_norm(c->x[0], .axes = golden_axes(c, "axes"), .p = golden_number(c, "p", 2),
                   .keepdim = golden_number(c, "keepdim", 0) != 0);
}

static eg_tensor *var(const golden_case *c)
{
    return eg_var(c->x[0], .axes = golden_axes(c, "axes"), .keepdim = golden_number(c, "keepdim", 0) != 0,
                  .biased = golden_number(c, "correction", 1) == 0);
}

static eg_tensor *std(const golden_case *c)
{
    return eg_std(c->x[0], .axes = golden_axes(c, "axes"), .keepdim = golden_number(c, "keepdim", 0) != 0,
                  .biased = golden_number(c, "correction", 1) == 0);
}

#define ROW(name)                \
    {                            \
        .op = #name, .one = name \
    }
GOLDEN_ROWS(reduce, ROW(sum), ROW(mean), ROW(prod), ROW(max), ROW(min), ROW(any), ROW(all), ROW(count_nonzero),
            ROW(logsumexp), ROW(argmax), ROW(argmin), ROW(norm), ROW(var), ROW(std))
