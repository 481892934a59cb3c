/* sort.c - order, different ones, places, counts. */
#include "tests/differ/differ.h"

static void ordered(draw *d)
{
    eg_shape s = draw_shape(d, 0, 4);
    operand(d, s, draw_any(d));
    d->i[0] = draw_axis(d, s.ndim);
    d->i[1] = pick(d, 0, 1);
}
DIFFER(sort, ordered, SPECIALS, 1, eg_sort(T0, K0, I1, Y0, Y1))
DIFFER(sort_indices, ordered, SPECIALS | FEW, 1, eg_sort(T0, K0, I1, NULL, Y0))
DIFFER(argsort, ordered, SPECIALS, 1, eg_argsort(T0, K0, I1))

static void some(draw *d)
{
    ordered(d);
    eg_shape s = d->t[0].shape;
    int axis = (int)d->i[0];
    int64_t n = axis >= -s.ndim && axis < s.ndim && s.ndim ? s.dim[(axis + s.ndim) % s.ndim] : 1;
    d->i[2] = pick(d, !chance(d, 5), n ? n : 1) + chance(d, 2);
}
DIFFER(topk, some, SPECIALS, 1, eg_topk(T0, I2, K0, I1, Y0, Y1))
DIFFER(kthvalue, some, SPECIALS, 1, eg_kthvalue(T0, I2, K0, Y0, Y1))

static void draw_in_topk(draw *d)
{
    int64_t n = draw_size(d, 20), c = pick(d, 1, 20);
    operand(d, EG_SHAPE(n, c), draw_float(d));
    indices(d, EG_SHAPE(n), c, false);
    d->i[0] = pick(d, -(int64_t)chance(d, 2), 6);
}
DIFFER(in_topk, draw_in_topk, SPECIALS, 1, eg_in_topk(T0, T1, I0))

/* Few different ones: whole numbers or quarters. */
static void repeated(draw *d)
{
    eg_shape s = draw_shape(d, 0, 3);
    int k = operand(d, s, draw_any(d));
    d->t[k].values = d->t[k].values == UNIFORM ? TIES : d->t[k].values;
    d->i[0] = draw_axis(d, s.ndim);
}
DIFFER(unique, repeated, SPECIALS | NO_GRAD, 1, eg_unique(T0, Y0, Y1, Y2))
DIFFER(unique_values, repeated, SPECIALS | NO_GRAD | FEW, 1, eg_unique(T0, Y0, NULL, NULL))
DIFFER(unique_slices, repeated, SPECIALS | NO_GRAD, 1, eg_unique_slices(T0, K0, Y0, Y1, Y2))
DIFFER(unique_consecutive, repeated, SPECIALS | NO_GRAD, 1, eg_unique_consecutive(T0, Y0, Y1, Y2))

static void draw_searchsorted(draw *d)
{
    eg_shape s = draw_shape(d, 0, 2);
    int64_t n = draw_size(d, 30);
    eg_dtype t = draw_any(d);
    operand(d, chance(d, 50) ? EG_SHAPE(n) : shape_with(s, n), t);
    operand(d, shape_with(s, draw_size(d, 20)), chance(d, 90) ? t : draw_any(d));
    d->i[0] = pick(d, 0, 1);
}
DIFFER(searchsorted, draw_searchsorted, 0, 1, eg_searchsorted(eg_take_along(T0, -1, eg_argsort(T0, -1, false)), T1, I0))

static void draw_bincount(draw *d)
{
    int64_t n = draw_size(d, 60);
    indices(d, EG_SHAPE(n), 9, false);
    if (chance(d, 50)) {
        operand(d, EG_SHAPE(n), draw_number(d));
    } else {
        absent(d);
    }
    d->i[0] = pick(d, 0, 12);
}
DIFFER(bincount, draw_bincount, 0, 3, eg_bincount(T0, T1, I0))

static void draw_histogram(draw *d)
{
    int k = operand(d, draw_shape(d, 0, 3), draw_any(d));
    d->t[k].values = is_float(d->t[k].dtype) ? TIES : WHOLE; /* at borders of parts on purpose */
    d->i[0] = pick(d, chance(d, 97), 8);
    d->x[0] = PICK(d, double, -1, 0, -2);
    d->x[1] = d->x[0] + PICK(d, double, 1, 2, 4, 8);
}
DIFFER(histogram, draw_histogram, NO_GRAD, 1, eg_histogram(T0, I0, X0, X1))
