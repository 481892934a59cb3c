/* image_loops.c - image operations that are loops of their own: rotation and hue. */
#include <egret/data/image_ops.h>
#include <egret/ops.h>
#include <math.h>

#include "lib/ops/dispatch.h"
#include "lib/core/device.h"

/* x's values as row-major f32, whatever it is. */
static eg_tensor *dense_float(eg_tensor *x)
{
    return eg_contiguous(eg_cast(eg_detach(x), EG_F32));
}

/* f32 y as the dtype and memory order of x; u8 is rounded. */
static eg_tensor *like(eg_tensor *y, eg_tensor *x)
{
    y = x->dtype == EG_U8 ? eg_add_scalar(y, 0.5) : y;
    y = eg_cast(y, (eg_dtype)x->dtype);
    if (y && x->ndim == 3 && x->strides[0] == 1 && x->shape[0] > 1) {
        return eg_permute(eg_contiguous(eg_permute(y, EG_AXES(1, 2, 0))), EG_AXES(2, 0, 1));
    }
    return x->ndim == 4 && eg_is_channels_last(x) ? eg_channels_last(y) : y;
}

static eg_status check(const eg_tensor *x, const char *op)
{
    eg_status st = eg__check(x, op, "x");
    if (!st && (x->ndim < 3 || (x->dtype != EG_U8 && !eg__is_float(x->dtype)))) {
        st = eg__fail(x->ndim < 3 ? EG_ESHAPE : EG_EDTYPE, op, "%s %s is no image: [C, H, W] of u8 or floats",
                      eg_dtype_name((eg_dtype)x->dtype), EG__SHAPE_OF(x));
    }
    return st ? st : eg__host_only(x, op, "x");
}

/* ---- rotation ------------------------------------------------------------------------------- */

typedef struct turn {
    double cosine, sine;
    int64_t height, width, rows, columns; /* of the image and of the result */
    float fill;
    bool nearest;
} turn;

static float at(const turn *t, const float *x, int64_t row, int64_t column)
{
    bool inside = row >= 0 && row < t->height && column >= 0 && column < t->width;
    return inside ? x[row * t->width + column] : t->fill;
}

static float sample(const turn *t, const float *x, double row, double column)
{
    if (t->nearest) {
        return at(t, x, (int64_t)rint(row), (int64_t)rint(column));
    }
    double top = floor(row), left = floor(column);
    float down = (float)(row - top), right = (float)(column - left);
    int64_t i = (int64_t)top, j = (int64_t)left;
    float above = at(t, x, i, j) * (1 - right) + at(t, x, i, j + 1) * right;
    float below = at(t, x, i + 1, j) * (1 - right) + at(t, x, i + 1, j + 1) * right;
    return above * (1 - down) + below * down;
}

static void turn_plane(const turn *t, const float *x, float *y)
{
    for (int64_t i = 0; i < t->rows; i++) {
        double v = (double)i - (double)(t->rows - 1) / 2;
        for (int64_t j = 0; j < t->columns; j++) {
            double u = (double)j - (double)(t->columns - 1) / 2;
            *y++ = sample(t, x, t->sine * u + t->cosine * v + (double)(t->height - 1) / 2,
                          t->cosine * u - t->sine * v + (double)(t->width - 1) / 2);
        }
    }
}

/* Pixels of a grid that an extent touches whose centre is that of `size` pixels of the grid. */
static int64_t whole_pixels(double size, double extent)
{
    double low = (size - extent) / 2, high = (size + extent) / 2;
    return (int64_t)(ceil(high - 1e-4) - floor(low + 1e-4));
}

static eg_tensor *rotate(eg_tensor *x, turn *t)
{
    eg_shape shape = eg_shape_of(x);
    shape.dim[shape.ndim - 2] = t->rows;
    shape.dim[shape.ndim - 1] = t->columns;
    eg_tensor *from = dense_float(x), *to = from ? eg__empty_on(0, shape, EG_F32) : NULL;
    int64_t plane = t->height * t->width, made = t->rows * t->columns;
    for (int64_t k = 0; to && plane && k < x->n / plane; k++) {
        turn_plane(t, (const float *)eg__ptr(from) + k * plane, (float *)eg__ptr(to) + k * made);
    }
    return like(to, x);
}

eg_tensor *eg_image_rotate_with(eg_tensor *x, double degrees, const eg_rotate_options *options)
{
    static const char op[] = "eg_image_rotate";
    eg_rotate_options o;
    eg__options(&o, sizeof o, options);
    if (check(x, op)) {
        return NULL;
    }
    if (!isfinite(degrees) || !isfinite(o.fill)) {
        return eg__fail_null(EG_EINVAL, op, "degrees %g, fill %g", degrees, o.fill);
    }
    double angle = fmod(degrees, 360) * (3.14159265358979323846 / 180);
    turn t = {.cosine = cos(angle),
              .sine = sin(angle),
              .height = eg_size(x, -2),
              .width = eg_size(x, -1),
              .fill = (float)o.fill,
              .nearest = o.nearest};
    double h = (double)t.height, w = (double)t.width, c = fabs(t.cosine), s = fabs(t.sine);
    t.rows = o.expand ? whole_pixels(h, w * s + h * c) : t.height;
    t.columns = o.expand ? whole_pixels(w, w * c + h * s) : t.width;
    eg_scope scope = eg_scope_push();
    return scope.depth ? eg_scope_pop(scope, rotate(x, &t)) : NULL;
}

/* ---- hue ------------------------------------------------------------------------------------ */

/* HSV as Smith 1978 defines it: the largest component stays, the smallest too, and the one between
 * moves as the hue walks round the hexagon. */
static void shift_hue(float *red, float *green, float *blue, float shift)
{
    float r = *red, g = *green, b = *blue;
    float most = fmaxf(r, fmaxf(g, b)), least = fminf(r, fminf(g, b)), range = most - least;
    if (!(range > 0)) {
        return;
    }
    float h = most == r ? (g - b) / range : most == g ? 2 + (b - r) / range : 4 + (r - g) / range;
    h += 6 * shift;
    h -= 6 * floorf(h / 6);
    float sector = floorf(h), f = h - sector;
    float rising = least + range * f, falling = most - range * f;
    switch ((int)sector) {
    case 0:
        *red = most, *green = rising, *blue = least;
        break;
    case 1:
        *red = falling, *green = most, *blue = least;
        break;
    case 2:
        *red = least, *green = most, *blue = rising;
        break;
    case 3:
        *red = least, *green = falling, *blue = most;
        break;
    case 4:
        *red = rising, *green = least, *blue = most;
        break;
    case 5:
        *red = most, *green = least, *blue = falling;
        break;
    default: /* h was rounded up to 6 */
        *red = most, *green = least, *blue = least;
    }
}

static eg_tensor *move_hue(eg_tensor *x, float shift)
{
    eg_tensor *y = dense_float(x);
    y = y && y->storage == x->storage ? eg_copy(y) : y;
    int64_t plane = eg_size(x, -1) * eg_size(x, -2);
    float *p = y ? (float *)eg__ptr(y) : NULL;
    for (int64_t k = 0; y && plane && k < x->n / (3 * plane); k++, p += 3 * plane) {
        for (int64_t i = 0; i < plane; i++) {
            shift_hue(p + i, p + plane + i, p + 2 * plane + i, shift);
        }
    }
    return like(y, x);
}

eg_tensor *eg_image_hue(eg_tensor *x, double shift)
{
    static const char op[] = "eg_image_hue";
    if (check(x, op)) {
        return NULL;
    }
    int64_t channels = eg_size(x, -3);
    if (channels != 1 && channels != 3) {
        return eg__fail_null(EG_ESHAPE, op, "%s has %lld channels, 1 or 3 are possible", EG__SHAPE_OF(x),
                             (long long)channels);
    }
    if (!(shift >= -0.5 && shift <= 0.5)) {
        return eg__fail_null(EG_EINVAL, op, "shift is %g, must be in -0.5..0.5", shift);
    }
    if (channels == 1) {
        return x;
    }
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, move_hue(x, (float)shift)) : NULL;
}
