/* options.c - see options.h. */
#include "optim/options.h"

#include <math.h>

#include "lib/core/error.h"

eg_status eg__optim_range(const char *op, const char *what, double v, double least, double most)
{
    if (v >= least && v <= most && isfinite(v)) {
        return EG_OK;
    }
    return isinf(most) ? eg__fail(EG_EINVAL, op, "%s is %g, must be finite, %g or more", what, v, least)
                       : eg__fail(EG_EINVAL, op, "%s is %g, must be in %g..%g", what, v, least, most);
}

eg_status eg__optim_weight(const char *op, const char *what, double v)
{
    return v == 1 ? eg__fail(EG_EINVAL, op, "%s is 1, must be below 1", what) : eg__optim_number(op, what, v, 1);
}
