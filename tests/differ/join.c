/* join.c - joining, cutting, padding, repeating, turning. */
#include "tests/differ/differ.h"

/* ---- joining ---------------------------------------------------------------------------------- */

static void draw_concat(draw *d)
{
    eg_shape s = draw_shape(d, 1, 5);
    eg_dtype t = draw_any(d);
    int n = (int)pick(d, 1, 4), axis = (int)pick(d, 0, s.ndim - 1);
    for (int i = 0; i < n; i++) {
        s.dim[axis] = draw_size(d, 30);
        operand(d, s, chance(d, 85) ? t : draw_any(d));
    }
    d->i[0] = chance(d, 50) ? axis : axis - s.ndim;
}
DIFFER(concat, draw_concat, 0, 1, eg_concat(TS, N0, K0))

static void draw_stack(draw *d)
{
    eg_shape s = draw_shape(d, 0, 4);
    eg_dtype t = draw_any(d);
    int n = (int)pick(d, 1, 4);
    for (int i = 0; i < n; i++) {
        operand(d, s, chance(d, 90) ? t : draw_any(d));
    }
    d->i[0] = draw_axis(d, s.ndim + 1);
}
DIFFER(stack, draw_stack, 0, 1, eg_stack(TS, N0, K0))

static void draw_meshgrid(draw *d)
{
    int n = (int)pick(d, 1, 4);
    eg_dtype t = draw_any(d);
    for (int i = 0; i < n; i++) {
        operand(d, chance(d, 10) ? EG_SCALAR : EG_SHAPE(draw_size(d, 9)), t);
    }
}
DIFFER(meshgrid, draw_meshgrid, 0, 1, eg_meshgrid(TS, N0, YS))

/* ---- cutting ---------------------------------------------------------------------------------- */

static void draw_split(draw *d)
{
    eg_shape s = draw_shape(d, 1, 4);
    int axis = (int)pick(d, 0, s.ndim - 1), n = (int)pick(d, 1, 4);
    s.dim[axis] = 0;
    for (int i = 0; i < n; i++) {
        d->i[i + 2] = draw_size(d, 9);
        s.dim[axis] += d->i[i + 2];
    }
    s.dim[axis] += chance(d, 3);
    operand(d, s, draw_any(d));
    d->i[0] = chance(d, 50) ? axis : axis - s.ndim;
    d->i[1] = n;
}
DIFFER(split, draw_split, 0, 1, eg_split(T0, IS + 2, K1, K0, YS))

static void draw_chunk(draw *d)
{
    eg_shape s = draw_shape(d, 1, 4);
    operand(d, s, draw_any(d));
    d->i[0] = pick(d, chance(d, 97), 6);
    d->i[1] = draw_axis(d, s.ndim);
}
DIFFER(chunk, draw_chunk, 0, 1, eg_chunk(T0, K0, K1, YS))

static void draw_unbind(draw *d)
{
    eg_shape s = draw_shape(d, 1, 4);
    int axis = (int)pick(d, 0, s.ndim - 1);
    s.dim[axis] = pick(d, 0, MOST_RESULTS);
    operand(d, s, draw_any(d));
    d->i[0] = chance(d, 50) ? axis : axis - s.ndim;
}
DIFFER(unbind, draw_unbind, 0, 1, eg_unbind(T0, K0, YS))

/* ---- padding, repeating ------------------------------------------------------------------------- */

OPTIONS(eg_pad_options, INT(eg_pad_options, before, 0, 0, 1, 2, 3, -1),
        INT(eg_pad_options, after, 0, 0, 1, 2, 5, -1, -2),
        INT32(eg_pad_options, mode, EG_PAD_CONSTANT, EG_PAD_REFLECT, EG_PAD_REPLICATE, EG_PAD_CIRCULAR),
        DOUBLE(eg_pad_options, value, 0, 1, -2.5, 300, INFINITY))

static void draw_pad(draw *d)
{
    eg_shape s = draw_shape(d, chance(d, 95), 5);
    operand(d, s, draw_any(d));
    eg_pad_options *o = DRAW_OPTIONS(d, eg_pad_options);
    for (int a = 0; a < EG_MAX_DIMS; a++) {
        bool there = a < s.ndim, reflects = o->mode == EG_PAD_REFLECT;
        int64_t most = !there ? 0 : reflects ? s.dim[a] - 1 : s.dim[a];
        if (!there || (o->mode != EG_PAD_CONSTANT && chance(d, 95) && (o->before[a] > most || o->after[a] > most)) ||
            (o->before[a] + s.dim[a] + o->after[a] < 0 && chance(d, 95))) {
            o->before[a] = o->after[a] = 0;
        }
    }
}
DIFFER(pad, draw_pad, 0, 2, eg_pad_with(T0, O0))

static void draw_tile(draw *d)
{
    eg_shape s = draw_shape(d, 0, 4);
    operand(d, s, draw_any(d));
    d->s[0].ndim = (int)pick(d, 0, s.ndim + 1);
    for (int a = 0; a < d->s[0].ndim; a++) {
        d->s[0].dim[a] = chance(d, 3) ? 0 : chance(d, 1) ? -1 : pick(d, 1, 3);
    }
}
DIFFER(tile, draw_tile, 0, 3, eg_tile(T0, S0))

static void draw_repeat(draw *d)
{
    eg_shape s = draw_shape(d, 1, 4);
    operand(d, s, draw_any(d));
    d->i[0] = chance(d, 3) ? -1 : pick(d, 0, 4);
    d->i[1] = draw_axis(d, s.ndim);
}
DIFFER(repeat_interleave, draw_repeat, 0, 3, eg_repeat_interleave(T0, I0, K1))

/* ---- turning ---------------------------------------------------------------------------------- */

static void draw_flip(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    operand(d, s, draw_any(d));
    d->a[0] = draw_axes(d, s.ndim);
}
DIFFER(flip, draw_flip, 0, 1, eg_flip(T0, A0))

static void draw_roll(draw *d)
{
    eg_shape s = draw_shape(d, 1, 4);
    operand(d, s, draw_any(d));
    d->i[0] = chance(d, 3) ? INT64_MIN : pick(d, -9, 9);
    d->i[1] = draw_axis(d, s.ndim);
}
DIFFER(roll, draw_roll, 0, 1, eg_roll(T0, I0, K1))

static void draw_movedim(draw *d)
{
    eg_shape s = draw_shape(d, 1, 5);
    operand(d, s, draw_any(d));
    d->a[0] = draw_axes(d, s.ndim);
    d->a[1].count = d->a[0].count;
    for (int i = 0, from = (int)pick(d, 0, s.ndim - 1); i < d->a[1].count; i++) {
        d->a[1].axis[i] = (from + i) % s.ndim;
    }
}
DIFFER(movedim, draw_movedim, 0, 1, eg_movedim(T0, A0, A1))

static void matrices(draw *d)
{
    operand(d, draw_shape(d, 2, 4), draw_any(d));
    d->i[0] = pick(d, -6, 6);
}
DIFFER(tril, matrices, 0, 1, eg_tril(T0, I0))
DIFFER(triu, matrices, 0, 1, eg_triu(T0, I0))

static void draw_tri(draw *d)
{
    d->i[0] = draw_size(d, 30);
    d->i[1] = draw_size(d, 30);
    d->i[2] = pick(d, -9, 9);
    d->d[0] = draw_any(d);
}
DIFFER(tri, draw_tri, 0, 1, eg_tri(I0, I1, I2, D0))

static void draw_diag_embed(draw *d)
{
    operand(d, draw_shape(d, 1, 4), draw_any(d));
    d->i[0] = pick(d, -4, 4);
}
DIFFER(diag_embed, draw_diag_embed, 0, 1, eg_diag_embed(T0, I0))

static void draw_diag(draw *d)
{
    operand(d, draw_shape(d, 1, 2), draw_any(d));
    d->i[0] = pick(d, -4, 4);
}
DIFFER(diag, draw_diag, 0, 1, eg_diag(T0, I0))

static void draw_trace(draw *d)
{
    operand(d, draw_shape(d, 2, 2), draw_any(d));
}
DIFFER(trace, draw_trace, 0, 2, eg_trace(T0))

/* Blocks that divide what they are to divide. */
static void blocks(draw *d, bool to_space)
{
    eg_shape s = draw_shape(d, 3, 5);
    int64_t b = d->i[0] = pick(d, 1, 3);
    int c = s.ndim - 3;
    for (int a = c; a < s.ndim && chance(d, 97); a++) {
        s.dim[a] = (s.dim[a] > 12 ? 12 : s.dim[a]) * (to_space ? (a == c ? b * b : 1) : a == c ? 1 : b);
    }
    operand(d, s, draw_any(d));
}
static void into_space(draw *d)
{
    blocks(d, true);
}
static void into_depth(draw *d)
{
    blocks(d, false);
}
DIFFER(depth_to_space, into_space, 0, 1, eg_depth_to_space(T0, I0))
DIFFER(pixel_shuffle, into_space, 0, 1, eg_pixel_shuffle(T0, I0))
DIFFER(space_to_depth, into_depth, 0, 1, eg_space_to_depth(T0, I0))
DIFFER(pixel_unshuffle, into_depth, 0, 1, eg_pixel_unshuffle(T0, I0))
