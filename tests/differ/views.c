/* views.c - views and copies. */
#include "tests/differ/differ.h"

static void any_tensor(draw *d)
{
    operand(d, draw_shape(d, 0, 5), draw_any(d));
}

/* The same count in other sizes: neighbours joined, an axis split, one of them left to be found. */
static void draw_reshape(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5), to = {0, {0}};
    operand(d, s, draw_any(d));
    for (int a = 0; a < s.ndim; a++) {
        if (to.ndim && chance(d, 40)) {
            to.dim[to.ndim - 1] *= s.dim[a];
        } else if (s.dim[a] > 1 && s.dim[a] % 2 == 0 && chance(d, 40)) {
            to = shape_with(shape_with(to, 2), s.dim[a] / 2);
        } else {
            to = shape_with(to, s.dim[a]);
        }
    }
    if (to.ndim && chance(d, 40)) {
        to.dim[pick(d, 0, to.ndim - 1)] = -1;
    }
    if (to.ndim < 7 && chance(d, 20)) {
        to = shape_with(to, 1);
    }
    d->s[0] = to;
}
DIFFER(reshape, draw_reshape, 0, 1, eg_reshape(T0, S0))

static void draw_expand(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    operand(d, draw_partner(d, s), draw_any(d));
    for (int a = 0; a < d->t[0].shape.ndim; a++) {
        int at = s.ndim - d->t[0].shape.ndim + a;
        int64_t have = d->t[0].shape.dim[a];
        s.dim[at] = chance(d, 15) ? -1 : have == 1 ? s.dim[at] : have;
    }
    d->s[0] = s;
}
DIFFER(expand, draw_expand, 0, 3, eg_expand(T0, S0))

static void draw_permute(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    operand(d, s, draw_any(d));
    eg_axes axes = {s.ndim, {0}};
    for (int a = 0; a < s.ndim; a++) {
        int b = (int)pick(d, 0, a);
        axes.axis[a] = axes.axis[b];
        axes.axis[b] = a;
    }
    for (int a = 0; a < s.ndim; a++) {
        axes.axis[a] -= chance(d, 20) ? s.ndim : 0;
    }
    d->a[0] = axes;
}
DIFFER(permute, draw_permute, 0, 1, eg_permute(T0, A0))

static void two_axes(draw *d)
{
    any_tensor(d);
    d->i[0] = draw_axis(d, d->t[0].shape.ndim);
    d->i[1] = draw_axis(d, d->t[0].shape.ndim);
}
DIFFER(transpose, two_axes, 0, 1, eg_transpose(T0, K0, K1))
DIFFER(flatten, two_axes, 0, 1, eg_flatten(T0, K0, K1))

static void draw_squeeze(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    for (int a = 0; a < s.ndim; a++) {
        s.dim[a] = chance(d, 40) ? 1 : s.dim[a];
    }
    operand(d, s, draw_any(d));
    d->a[0] = draw_axes(d, s.ndim);
}
DIFFER(squeeze, draw_squeeze, 0, 1, eg_squeeze(T0, A0))

static void draw_unsqueeze(draw *d)
{
    any_tensor(d);
    d->i[0] = draw_axis(d, d->t[0].shape.ndim + 1);
}
DIFFER(unsqueeze, draw_unsqueeze, 0, 1, eg_unsqueeze(T0, K0))

static void draw_slice(draw *d)
{
    eg_shape s = draw_shape(d, 1, 5);
    operand(d, s, draw_any(d));
    int axis = (int)(d->i[0] = draw_axis(d, s.ndim));
    int64_t n = axis < s.ndim && axis >= -s.ndim ? s.dim[(axis + s.ndim) % s.ndim] : 3;
    d->i[1] = chance(d, 10) ? EG_END : pick(d, -n - 2, n + 2);
    d->i[2] = chance(d, 20) ? EG_END : chance(d, 10) ? INT64_MIN : pick(d, -n - 2, n + 2);
    d->i[3] = chance(d, 2) ? 0 : chance(d, 3) ? INT64_MIN : PICK(d, int64_t, 1, 1, 2, 3, -1, -1, -2, -3, 100);
}
DIFFER(slice, draw_slice, 0, 1, eg_slice(T0, K0, I1, I2, I3))

static void draw_select(draw *d)
{
    eg_shape s = draw_shape(d, 1, 5);
    operand(d, s, draw_any(d));
    int axis = (int)(d->i[0] = draw_axis(d, s.ndim));
    int64_t n = axis < s.ndim && axis >= -s.ndim ? s.dim[(axis + s.ndim) % s.ndim] : 3;
    d->i[1] = pick(d, -n, n ? n - 1 : 0) + chance(d, 4);
}
DIFFER(select, draw_select, 0, 1, eg_select(T0, K0, I1))

static void draw_index(draw *d)
{
    static const char *const parts[] = {":", "1:", ":-1",     "::2", "::-1", "None",
                                        "0", "-1", "-1:0:-2", "...", "2:1",  "0:3"};
    eg_shape s = draw_shape(d, 1, 4);
    operand(d, s, draw_any(d));
    int n = (int)pick(d, 1, s.ndim);
    for (int i = 0; i < n; i++) {
        size_t at = strlen(d->w[0]);
        snprintf(d->w[0] + at, sizeof d->w[0] - at, "%s%s", i ? ", " : "",
                 parts[pick(d, 0, (int)(sizeof parts / sizeof *parts) - 1)]);
    }
}
DIFFER(index, draw_index, 0, 1, eg_index(T0, W0))

static void draw_diagonal(draw *d)
{
    eg_shape s = draw_shape(d, 2, 5);
    operand(d, s, draw_any(d));
    d->i[0] = pick(d, -4, 4);
    d->i[1] = pick(d, 0, s.ndim - 1);
    d->i[2] = (d->i[1] + pick(d, chance(d, 97), s.ndim - 1)) % s.ndim - (chance(d, 30) ? s.ndim : 0);
}
DIFFER(diagonal, draw_diagonal, 0, 1, eg_diagonal(T0, I0, K1, K2))

DIFFER(alias, any_tensor, 0, 1, eg_alias(T0))
DIFFER(detach, any_tensor, 0, 1, eg_detach(T0))
DIFFER(copy, any_tensor, SPECIALS, 1, eg_copy(T0))
DIFFER(contiguous, any_tensor, SPECIALS, 1, eg_contiguous(T0))

static void image_tensor(draw *d)
{
    operand(d, draw_shape(d, chance(d, 5) ? 2 : 3, 5), draw_any(d));
}
DIFFER(channels_last, image_tensor, 0, 1, eg_channels_last(T0))

static void draw_cast(draw *d)
{
    any_tensor(d);
    d->d[0] = draw_any(d);
    if (is_float(d->t[0].dtype) && chance(d, 20)) {
        d->t[0].low = -300;
        d->t[0].high = 300;
    }
}
DIFFER(cast, draw_cast, SPECIALS | KINKS, 1, eg_cast(T0, D0))

static void draw_copy_(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    operand(d, s, draw_any(d));
    operand(d, draw_partner(d, s), draw_any(d));
    if (chance(d, 15)) {
        overlap(d, 1, 0);
    }
}
DIFFER(copy_, draw_copy_, IN_PLACE | SPECIALS, 1, eg_copy_(T0, T1))
