/* scan.c - what the golden cases of running sums and the like stand for. */
#include "tests/golden/golden.h"

static int axis(const golden_case *c)
{
    return (int)golden_number(c, "axis", 0);
}

static eg_tensor *cumsum(const golden_case *c)
{
    return eg_cumsum(c->x[0], axis(c));
}

static eg_tensor *cumprod(const golden_case *c)
{
    return eg_cumprod(c->x[0], axis(c));
}

static eg_tensor *diff(const golden_case *c)
{
    eg_tensor *y = c->x[0];
    for (int n = (int)golden_number(c, "n", 1); n > 0; n--) {
        y = eg_diff(y, axis(c));
    }
    return y;
}

static bool cummax(const golden_case *c, eg_tensor **out)
{
    return eg_cummax(c->x[0], axis(c), &out[0], &out[1]) == EG_OK;
}

static bool cummin(const golden_case *c, eg_tensor **out)
{
    return eg_cummin(c->x[0], axis(c), &out[0], &out[1]) == EG_OK;
}

GOLDEN_ROWS(scan, {.op = "cummax", .many = cummax}, {.op = "cummin", .many = cummin}, {.op = "cumsum", .one = cumsum},
            {.op = "cumprod", .one = cumprod}, {.op = "diff", .one = diff})
