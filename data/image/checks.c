/* checks.c - what operations on images ask of x. */
#include "data/image/checks.h"

#include <math.h>

eg_status eg__check_image(const eg_tensor *x, const char *op)
{
    eg_status st = eg__check(x, op, "x");
    if (!st && x->ndim < 3) {
        st = eg__fail(EG_ESHAPE, op, "%s is not an image [C, H, W]", EG__SHAPE_OF(x));
    }
    if (!st && x->dtype != EG_U8 && !eg__is_float(x->dtype)) {
        st = eg__fail(EG_EDTYPE, op, "images are u8 or floats, not %s", eg_dtype_name((eg_dtype)x->dtype));
    }
    return st;
}

eg_status eg__check_colours(const eg_tensor *x, const char *op, double factor)
{
    eg_status st = eg__check_image(x, op);
    if (!st && eg_size(x, -3) != 3 && eg_size(x, -3) != 1) {
        st = eg__fail(EG_ESHAPE, op, "%s has %lld channels, 1 or 3 are possible", EG__SHAPE_OF(x),
                      (long long)eg_size(x, -3));
    }
    if (!st && !(factor >= 0 && isfinite(factor))) {
        st = eg__fail(EG_EINVAL, op, "the factor is %g, must be 0 or more", factor);
    }
    return st;
}

eg_status eg__check_finite(const char *op, const char *name, double v)
{
    return isfinite(v) ? EG_OK : eg__fail(EG_EINVAL, op, "%s is %g", name, v);
}
