/* warp.c - images turned, moved, scaled and sheared: each pixel of the result is looked for in the image. */
#include <egret/data/image_ops.h>
#include <egret/ops.h>
#include <math.h>

#include "data/image/checks.h"
#include "data/image/loops.h"
#include "data/image/pixels.h"
#include "data/image/tones.h"

static const double pi = 3.14159265358979323846;

/* Where pixel (u, v) of the result comes from, both counted from the middles: (m[0] u + m[1] v + m[2],
 * m[3] u + m[4] v + m[5]). */
typedef struct warp {
    double m[6];
    int64_t height, width, rows, columns; /* of the image and of the result */
    int64_t channels;
    double fill;
    bool nearest;
} warp;

/* ---- pixels: memory runs H, W, C ------------------------------------------------------------------- */

static void look(const warp *t, int64_t i, int64_t j, double *row, double *column)
{
    double u = (double)j - (double)(t->columns - 1) / 2, v = (double)i - (double)(t->rows - 1) / 2;
    *column = t->m[0] * u + t->m[1] * v + t->m[2] + (double)(t->width - 1) / 2;
    *row = t->m[3] * u + t->m[4] * v + t->m[5] + (double)(t->height - 1) / 2;
}

/* The place of a pixel in memory, -1 outside. */
static int64_t at(const warp *t, double row, double column)
{
    bool inside = row >= 0 && row < (double)t->height && column >= 0 && column < (double)t->width;
    return inside ? ((int64_t)row * t->width + (int64_t)column) * t->channels : -1;
}

EG__LOOP(eg__meet_fn, eg__meet_run, best_meet)

/* The same map, of places counted from the corners. */
static void meet(const warp *t, const uint8_t *x, const uint8_t *fill, size_t size, uint8_t *y, int32_t *room)
{
    eg__meeting k = {.from = x,
                     .fill = fill,
                     .to = y,
                     .height = t->height,
                     .width = t->width,
                     .rows = t->rows,
                     .columns = t->columns,
                     .bytes = size * (size_t)t->channels,
                     .place = room};
    double u = -(double)(t->columns - 1) / 2, v = -(double)(t->rows - 1) / 2;
    for (int i = 0; i < 6; i += 3) {
        double middle = (double)((i ? t->height : t->width) - 1) / 2;
        k.m[i] = t->m[i];
        k.m[i + 1] = t->m[i + 1];
        k.m[i + 2] = t->m[i] * u + t->m[i + 1] * v + t->m[i + 2] + middle;
    }
    best_meet()(&k);
}

static void mix(const warp *t, const float *x, float *y)
{
    for (int64_t i = 0; i < t->rows; i++) {
        for (int64_t j = 0; j < t->columns; j++, y += t->channels) {
            double row, column;
            look(t, i, j, &row, &column);
            double top = floor(row), left = floor(column);
            float down = (float)(row - top), right = (float)(column - left), fill = (float)t->fill;
            const int64_t k[4] = {at(t, top, left), at(t, top, left + 1), at(t, top + 1, left),
                                  at(t, top + 1, left + 1)};
            for (int64_t c = 0; c < t->channels; c++) {
                float p[4];
                for (int n = 0; n < 4; n++) {
                    p[n] = k[n] < 0 ? fill : x[k[n] + c];
                }
                float above = p[0] * (1 - right) + p[1] * right, below = p[2] * (1 - right) + p[3] * right;
                y[c] = above * (1 - down) + below * down;
            }
        }
    }
}

/* ---- images ---------------------------------------------------------------------------------------- */

/* A pixel of what lies outside, as x's dtype. */
static eg_tensor *filling(const warp *t, eg_dtype dtype)
{
    const float fill = (float)(dtype == EG_U8 ? t->fill + 0.5 : t->fill);
    eg_tensor *one = eg_cast(eg__from_on(0, EG_SHAPE(1), EG_F32, &fill), dtype);
    return eg_contiguous(eg_expand(one, EG_SHAPE(t->channels)));
}

static eg_tensor *make(eg_tensor *x, warp *t)
{
    eg_dtype dtype = t->nearest ? (eg_dtype)x->dtype : EG_F32;
    eg_tensor *from = eg__channels_inmost(eg_cast(eg_detach(x), dtype), false), *fill = filling(t, dtype);
    from = from && fill ? eg_contiguous(from) : NULL;
    eg_shape shape = from ? eg_shape_of(from) : EG_SCALAR;
    if (from) {
        shape.dim[shape.ndim - 3] = t->rows;
        shape.dim[shape.ndim - 2] = t->columns;
    }
    eg_tensor *to = from ? eg__empty_on(0, shape, dtype) : NULL;
    eg_tensor *room = to ? eg__empty_on(0, EG_SHAPE(t->columns), EG_I32) : NULL;
    int64_t plane = t->height * t->width * t->channels, made = t->rows * t->columns * t->channels;
    size_t size = eg_dtype_size(dtype);
    for (int64_t k = 0; room && plane && k < x->n / plane; k++) {
        const uint8_t *p = (const uint8_t *)eg__ptr(from) + (size_t)(k * plane) * size;
        uint8_t *q = (uint8_t *)eg__ptr(to) + (size_t)(k * made) * size;
        if (t->nearest) {
            meet(t, p, (const uint8_t *)eg__ptr(fill), size, q, (int32_t *)eg__ptr(room));
        } else {
            mix(t, (const float *)(const void *)p, (float *)(void *)q);
        }
    }
    to = room && x->dtype == EG_U8 && dtype == EG_F32 ? eg_add_scalar(to, 0.5) : to;
    return !room ? NULL : eg__channels_as(eg_cast(to, (eg_dtype)x->dtype), x);
}

static eg_tensor *run(eg_tensor *x, warp *t)
{
    t->channels = eg_size(x, -3);
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, make(x, t)) : NULL;
}

static eg_status check(const eg_tensor *x, const char *op, double fill)
{
    eg_status st = eg__check_image(x, op);
    st = st ? st : eg__host_only(x, op, "x");
    if (!st && eg_size(x, -1) && eg_size(x, -2) > INT32_MAX / eg_size(x, -1)) {
        st = eg__fail(EG_ESHAPE, op, "%s has 2^31 pixels or more", EG__SHAPE_OF(x));
    }
    return st ? st : eg__check_finite(op, "fill", fill);
}

/* The cosine and sine of degrees, exact for multiples of 90. */
static void turn_by(double degrees, double *c, double *s)
{
    double angle = fmod(degrees, 360) * (pi / 180);
    bool right = fmod(degrees, 90) == 0;
    *c = right ? rint(cos(angle)) : cos(angle);
    *s = right ? rint(sin(angle)) : sin(angle);
}

/* ---- rotation -------------------------------------------------------------------------------------- */

/* Pixels of a grid that an extent touches whose centre is that of `size` pixels of the grid. */
static int64_t whole_pixels(double size, double extent)
{
    double low = (size - extent) / 2, high = (size + extent) / 2;
    return (int64_t)(ceil(high - 1e-4) - floor(low + 1e-4));
}

eg_tensor *eg_image_rotate_with(eg_tensor *x, double degrees, const eg_rotate_options *options)
{
    static const char op[] = "eg_image_rotate";
    eg_rotate_options o;
    eg__options(&o, sizeof o, options);
    if (check(x, op, o.fill) || eg__check_finite(op, "degrees", degrees)) {
        return NULL;
    }
    double c, s;
    turn_by(degrees, &c, &s);
    const bool right = c == 0 || s == 0;
    warp t = {.m = {c, -s, 0, s, c, 0},
              .height = eg_size(x, -2),
              .width = eg_size(x, -1),
              .fill = o.fill,
              .nearest = o.nearest};
    double h = (double)t.height, w = (double)t.width;
    if (o.expand && right) { /* the two sizes, or the same two the other way round */
        t.rows = c == 0 ? t.width : t.height;
        t.columns = c == 0 ? t.height : t.width;
    } else {
        t.rows = o.expand ? whole_pixels(h, w * fabs(s) + h * fabs(c)) : t.height;
        t.columns = o.expand ? whole_pixels(w, w * fabs(c) + h * fabs(s)) : t.width;
    }
    /* Pixels meet pixels: they are moved, not mixed. */
    t.nearest |= right && (c != 0 || (t.rows - t.width) % 2 == 0) && (c != 0 || (t.columns - t.height) % 2 == 0);
    return run(x, &t);
}

/* ---- the rest -------------------------------------------------------------------------------------- */

/* The inverse of: sheared, turned, scaled about the centre, moved. */
static void invert(warp *t, const eg_affine_options *o, double scale)
{
    double sx = fmod(o->shear[0], 360) * (pi / 180), sy = fmod(o->shear[1], 360) * (pi / 180);
    double cosine, sine, tilted_cosine, tilted_sine;
    turn_by(o->degrees, &cosine, &sine);
    turn_by(fmod(o->degrees, 360) - fmod(o->shear[1], 360), &tilted_cosine, &tilted_sine);
    double x = o->centre[0] == 0 ? 0 : eg__or(o->centre[0], 0) - (double)t->width / 2;
    double y = o->centre[1] == 0 ? 0 : eg__or(o->centre[1], 0) - (double)t->height / 2;
    double a = tilted_cosine / cos(sy), b = -a * tan(sx) - sine;
    double c = tilted_sine / cos(sy), d = -c * tan(sx) + cosine;
    double m[4] = {d / scale, -b / scale, -c / scale, a / scale};
    double u = -x - o->right, v = -y - o->down;
    memcpy(t->m, ((double[6]){m[0], m[1], m[0] * u + m[1] * v + x, m[2], m[3], m[2] * u + m[3] * v + y}), sizeof t->m);
}

eg_tensor *eg_image_affine_with(eg_tensor *x, const eg_affine_options *options)
{
    static const char op[] = "eg_image_affine";
    eg_affine_options o;
    eg__options(&o, sizeof o, options);
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"degrees", o.degrees},     {"right", o.right},        {"down", o.down},
                   {"scale", o.scale},         {"shear[0]", o.shear[0]},  {"shear[1]", o.shear[1]},
                   {"centre[0]", o.centre[0]}, {"centre[1]", o.centre[1]}};
    eg_status st = check(x, op, o.fill);
    for (int i = 0; i < EG__COUNT(numbers) && !st; i++) {
        st = eg__check_finite(op, numbers[i].name, numbers[i].value);
    }
    double scale = eg__or(o.scale, 1);
    if (!st && !(scale > 0)) {
        st = eg__fail(EG_EINVAL, op, "scale is %g, must be above 0", scale);
    }
    if (st) {
        return NULL;
    }
    warp t = {.height = eg_size(x, -2), .width = eg_size(x, -1), .fill = o.fill, .nearest = o.nearest};
    t.rows = t.height;
    t.columns = t.width;
    invert(&t, &o, scale);
    return run(x, &t);
}
