/* index.c - elements by their number, masks. */
#include "tests/differ/differ.h"

OPTIONS(eg_embedding_options, BOOL(eg_embedding_options, padded), INT(eg_embedding_options, padding, 0, 1, 2))
OPTIONS(eg_one_hot_options, DOUBLE(eg_one_hot_options, on, 0, 1, 5), DOUBLE(eg_one_hot_options, off, 0, 0, -1),
        INT32(eg_one_hot_options, dtype, EG_F32, EG_F64, EG_F16, EG_BF16, EG_I64, EG_I32, EG_U8, EG_BOOL))

/* ---- picking ---------------------------------------------------------------------------------- */

/* x, an axis of it in i[0]; that axis without its sign. */
static int indexed(draw *d, eg_dtype t)
{
    eg_shape s = draw_shape(d, 1, 4);
    int axis = (int)pick(d, 0, s.ndim - 1);
    operand(d, s, t);
    d->i[0] = chance(d, 50) ? axis : axis - s.ndim;
    return axis;
}

static void draw_index_select(draw *d)
{
    int axis = indexed(d, draw_any(d));
    indices(d, draw_shape(d, 0, 2), d->t[0].shape.dim[axis], true);
}
DIFFER(index_select, draw_index_select, 0, 3, eg_index_select(T0, K0, T1))

static void draw_take(draw *d)
{
    eg_shape s = draw_shape(d, 0, 4);
    operand(d, s, draw_any(d));
    indices(d, draw_shape(d, 0, 3), count_of(s), true);
}
DIFFER(take, draw_take, 0, 3, eg_take(T0, T1))

/* Nowhere larger than x but along the axis. */
static eg_shape beside(draw *d, int axis)
{
    eg_shape s = d->t[0].shape;
    for (int a = 0; a < s.ndim; a++) {
        s.dim[a] = a == axis ? draw_size(d, 9) : chance(d, 30) && s.dim[a] ? pick(d, 1, s.dim[a]) : s.dim[a];
    }
    return s;
}

static void draw_gather(draw *d)
{
    int axis = indexed(d, draw_any(d));
    indices(d, beside(d, axis), d->t[0].shape.dim[axis], true);
}
DIFFER(gather, draw_gather, 0, 3, eg_gather(T0, K0, T1))

static void draw_take_along(draw *d)
{
    int axis = indexed(d, draw_any(d));
    eg_shape s = d->t[0].shape;
    for (int a = 0; a < s.ndim; a++) {
        s.dim[a] = a == axis ? draw_size(d, 9) : chance(d, 30) ? 1 : s.dim[a];
    }
    indices(d, s, d->t[0].shape.dim[axis], true);
}
DIFFER(take_along, draw_take_along, 0, 3, eg_take_along(T0, K0, T1))

/* Places in s: [.., rank], rank up to its axes. Returns the shape of what is there. */
static eg_shape places(draw *d, eg_shape s)
{
    eg_shape index = draw_shape(d, 0, 2), rest = index;
    int rank = (int)pick(d, 1, s.ndim);
    int64_t least = 99;
    for (int a = 0; a < s.ndim; a++) {
        if (a < rank) {
            least = s.dim[a] < least ? s.dim[a] : least;
        } else {
            rest = shape_with(rest, s.dim[a]);
        }
    }
    indices(d, shape_with(index, rank), least, true);
    return rest;
}

static void draw_gather_nd(draw *d)
{
    eg_shape s = draw_shape(d, 1, 3);
    operand(d, s, draw_any(d));
    places(d, s);
}
DIFFER(gather_nd, draw_gather_nd, 0, 3, eg_gather_nd(T0, T1))

static void draw_embedding(draw *d)
{
    eg_shape s = draw_shape(d, 1, 3);
    operand(d, s, draw_any(d));
    indices(d, draw_shape(d, 0, 3), s.dim[0], false);
    eg_embedding_options *o = DRAW_OPTIONS(d, eg_embedding_options);
    d->rough |= o->padded; /* whose row has no gradient on purpose */
}
DIFFER(embedding, draw_embedding, 0, 3, eg_embedding_with(T0, T1, O0))

/* ---- putting ---------------------------------------------------------------------------------- */

static void put_at(draw *d, bool numbers)
{
    eg_dtype t = numbers ? draw_number(d) : draw_any(d);
    int axis = indexed(d, t);
    eg_shape s = d->t[0].shape;
    int64_t n = draw_size(d, 9);
    indices(d, EG_SHAPE(n), s.dim[axis], true);
    s.dim[axis] = n;
    operand(d, s, chance(d, 85) ? t : numbers ? draw_number(d) : draw_any(d));
}
static void put(draw *d)
{
    put_at(d, false);
}
static void put_number(draw *d)
{
    put_at(d, true);
}
DIFFER(index_copy, put, 0, 1, eg_index_copy(T0, K0, T1, T2))
DIFFER(index_add, put_number, 0, 3, eg_index_add(T0, K0, T1, T2))

static void draw_index_fill(draw *d)
{
    put(d);
    d->n = 2;
    d->x[0] = PICK(d, double, 0, 1, -2, 3.5);
}
DIFFER(index_fill, draw_index_fill, 0, 1, eg_index_fill(T0, K0, T1, X0))

static void scatter_of(draw *d, bool numbers)
{
    eg_dtype t = numbers ? draw_number(d) : draw_any(d);
    int axis = indexed(d, t);
    eg_shape s = beside(d, axis);
    indices(d, s, d->t[0].shape.dim[axis], true);
    operand(d, s, chance(d, 85) ? t : numbers ? draw_number(d) : draw_any(d));
    d->i[1] = pick(d, EG_SCATTER_MUL, EG_SCATTER_MIN);
}
static void draw_scatter(draw *d)
{
    scatter_of(d, false);
}
static void draw_scatter_add(draw *d)
{
    scatter_of(d, true);
}
DIFFER(scatter, draw_scatter, 0, 1, eg_scatter(T0, K0, T1, T2))
DIFFER(scatter_add, draw_scatter_add, 0, 3, eg_scatter_add(T0, K0, T1, T2))
DIFFER(scatter_reduce, draw_scatter_add, 0, 10, eg_scatter_reduce(T0, K0, T1, T2, (eg_scatter_mode)I1))

static void places_of(draw *d, bool numbers)
{
    eg_shape s = draw_shape(d, 1, 3);
    eg_dtype t = numbers ? draw_number(d) : draw_any(d);
    operand(d, s, t);
    eg_shape rest = places(d, s);
    operand(d, rest, chance(d, 85) ? t : draw_number(d));
    d->s[0] = s;
}
static void draw_scatter_nd_add(draw *d)
{
    places_of(d, true);
}
static void draw_scatter_nd_copy(draw *d)
{
    places_of(d, false);
}
DIFFER(scatter_nd_add, draw_scatter_nd_add, 0, 3, eg_scatter_nd_add(T0, T1, T2))
DIFFER(scatter_nd_copy, draw_scatter_nd_copy, 0, 1, eg_scatter_nd_copy(T0, T1, T2))
DIFFER(scatter_nd, draw_scatter_nd_add, 0, 3, eg_scatter_nd(T1, T2, S0))

static void draw_segments(draw *d)
{
    eg_shape s = draw_shape(d, 1, 3);
    operand(d, s, draw_number(d));
    d->i[0] = pick(d, 1, 9);
    indices(d, EG_SHAPE(s.dim[0]), d->i[0], false);
}
DIFFER(unsorted_segment_sum, draw_segments, 0, 3, eg_unsorted_segment_sum(T0, T1, I0))

/* Ids that rise, or seldom fall. */
static void draw_segment_sum(draw *d)
{
    draw_segments(d);
    d->i[1] = chance(d, 5);
}
DIFFER(segment_sum, draw_segment_sum, 0, 3, eg_segment_sum(T0, eg_take_along(T1, 0, eg_argsort(T1, 0, I1))))

/* ---- masks ------------------------------------------------------------------------------------ */

static void masked(draw *d)
{
    eg_shape s = draw_shape(d, 0, 4);
    operand(d, s, draw_any(d));
    mask(d, draw_partner(d, s));
    d->x[0] = PICK(d, double, 0, 1, -2.5, 7);
}
DIFFER(masked_fill, masked, 0, 1, eg_masked_fill(T0, T1, X0))
DIFFER(masked_select, masked, 0, 1, eg_masked_select(T0, T1))

static void draw_masked_scatter(draw *d)
{
    masked(d);
    operand(d, EG_SHAPE(count_of(d->t[0].shape) - (chance(d, 10) ? pick(d, 0, count_of(d->t[0].shape)) : 0)),
            d->t[0].dtype);
}
DIFFER(masked_scatter, draw_masked_scatter, 0, 1, eg_masked_scatter(T0, T1, T2))

static void draw_nonzero(draw *d)
{
    mask(d, draw_shape(d, 0, 4));
}
DIFFER(nonzero, draw_nonzero, 0, 1, eg_nonzero(T0))

static void draw_one_hot(draw *d)
{
    d->i[0] = pick(d, chance(d, 95), 9);
    indices(d, draw_shape(d, 0, 3), d->i[0], false);
    DRAW_OPTIONS(d, eg_one_hot_options);
}
DIFFER(one_hot, draw_one_hot, 0, 1, eg_one_hot_with(T0, I0, O0))

static void draw_sequence_mask(draw *d)
{
    indices(d, draw_shape(d, 0, 3), 9, true);
    d->i[0] = pick(d, 0, 9);
}
DIFFER(sequence_mask, draw_sequence_mask, 0, 1, eg_sequence_mask(T0, I0))

static void draw_ravel(draw *d)
{
    d->s[0] = draw_shape(d, 1, 4);
    int64_t least = 99;
    for (int a = 0; a < d->s[0].ndim; a++) {
        least = d->s[0].dim[a] < least ? d->s[0].dim[a] : least;
    }
    indices(d, shape_with(draw_shape(d, 0, 2), d->s[0].ndim), least, false);
}
DIFFER(ravel_index, draw_ravel, 0, 1, eg_ravel_index(T0, S0))

static void draw_unravel(draw *d)
{
    d->s[0] = draw_shape(d, 1, 4);
    indices(d, draw_shape(d, 0, 3), count_of(d->s[0]), false);
}
DIFFER(unravel_index, draw_unravel, 0, 1, eg_unravel_index(T0, S0))
