/* norm.c - normalisation. */
#include "tests/differ/differ.h"

#define EPS 0, EG_ZERO, 1e-3, 0.1
OPTIONS(eg_batch_norm_options, BOOL(eg_batch_norm_options, training), BOOL(eg_batch_norm_options, biased),
        BOOL(eg_batch_norm_options, relu), DOUBLE(eg_batch_norm_options, momentum, 0, EG_ZERO, 0.5, 1),
        DOUBLE(eg_batch_norm_options, eps, EPS))
OPTIONS(eg_group_norm_options, DOUBLE(eg_group_norm_options, eps, EPS))
OPTIONS(eg_layer_norm_options, INT32(eg_layer_norm_options, axes, 0), DOUBLE(eg_layer_norm_options, eps, EPS))
OPTIONS(eg_local_response_norm_options, INT(eg_local_response_norm_options, channels, 0, 1, 2, 3, 5),
        DOUBLE(eg_local_response_norm_options, alpha, 0, EG_ZERO, 0.1, 1),
        DOUBLE(eg_local_response_norm_options, beta, 0, EG_ZERO, 0.5, 1),
        DOUBLE(eg_local_response_norm_options, k, 0, EG_ZERO, 0.5, 2))

static eg_shape image(draw *d, int min_ndim)
{
    eg_shape s = draw_shape(d, min_ndim, 5);
    if (s.ndim > 1 && chance(d, 20)) {
        s.dim[1] = PICK(d, int64_t, 8, 16, 32);
    }
    return s;
}

/* Without an eps slopes are as large as values are near each other: for f64, and for values that differ. */
static void apart(draw *d, double eps)
{
    for (int k = 0; k < d->n && eps == EG_ZERO; k++) {
        d->t[k].dtype = EG_F64;
        distinct(d, k);
    }
}

/* Of x's dtype, or f32 beside halves; or none. */
static void factor(draw *d, eg_shape s, eg_dtype t, bool needed)
{
    if (!needed && chance(d, 30)) {
        absent(d);
        return;
    }
    operand(d, s, (t == EG_F16 || t == EG_BF16) && chance(d, 50) ? EG_F32 : t);
}

static void draw_batch_norm(draw *d)
{
    eg_shape s = image(d, 2), c = EG_SHAPE(s.dim[1]);
    eg_dtype t = draw_float(d);
    eg_batch_norm_options *o = DRAW_OPTIONS(d, eg_batch_norm_options);
    operand(d, s, t);
    if (o->relu) { /* of what is just the mean, one engine may find a little more, the other less */
        distinct(d, 0);
    }
    factor(d, c, t, false);
    factor(d, c, t, false);
    bool running = !o->training || chance(d, 50);
    for (int k = 0; k < 2; k++) {
        if (running) {
            int at = operand(d, c, t == EG_F64 ? EG_F64 : EG_F32);
            d->t[at].low = k ? 0.5 : -1;
            d->t[at].fixed = true; /* statistics have no gradient */
            d->t[at].written = o->training && !d->no_options;
            d->t[at].nsteps = chance(d, 80) ? 0 : d->t[at].nsteps;
            d->t[at].base = d->t[at].nsteps ? d->t[at].base : c;
        } else {
            absent(d);
        }
    }
    /* Few numbers with one mean: differences of the results are large beside them. */
    d->loose = o->training ? 30 : 1;
    apart(d, o->eps);
}
DIFFER(batch_norm, draw_batch_norm, 0, 4, eg_batch_norm_with(T0, T1, T2, T3, T4, O0))

static void draw_scale_channels(draw *d)
{
    eg_shape s = image(d, 2), c = EG_SHAPE(s.dim[1]);
    eg_dtype t = draw_float(d);
    operand(d, s, t);
    factor(d, c, t, true);
    factor(d, c, t, false);
}
DIFFER(scale_channels, draw_scale_channels, 0, 3, eg_scale_channels(T0, T1, T2))

static void draw_group_norm(draw *d)
{
    eg_shape s = image(d, 2);
    d->i[0] = pick(d, 1, 4);
    s.dim[1] = chance(d, 95) ? (s.dim[1] + d->i[0] - 1) / d->i[0] * d->i[0] : s.dim[1];
    eg_dtype t = draw_float(d);
    operand(d, s, t);
    factor(d, EG_SHAPE(s.dim[1]), t, false);
    factor(d, EG_SHAPE(s.dim[1]), t, false);
    apart(d, DRAW_OPTIONS(d, eg_group_norm_options)->eps);
}
DIFFER(group_norm, draw_group_norm, 0, 60, eg_group_norm_with(T0, I0, T1, T2, O0))

static void draw_instance_norm(draw *d)
{
    eg_shape s = image(d, 3);
    eg_dtype t = draw_float(d);
    operand(d, s, t);
    factor(d, EG_SHAPE(s.dim[1]), t, false);
    factor(d, EG_SHAPE(s.dim[1]), t, false);
    apart(d, DRAW_OPTIONS(d, eg_group_norm_options)->eps);
}
DIFFER(instance_norm, draw_instance_norm, 0, 60, eg_instance_norm_with(T0, T1, T2, O0))

static void layer(draw *d, bool bias)
{
    eg_shape s = image(d, 1), last = {(int)pick(d, 1, s.ndim), {0}};
    for (int a = 0; a < last.ndim; a++) {
        last.dim[a] = s.dim[s.ndim - last.ndim + a];
    }
    eg_dtype t = draw_float(d);
    operand(d, s, t);
    factor(d, last, t, false);
    if (bias) {
        factor(d, last, t, false);
    }
    eg_layer_norm_options *o = DRAW_OPTIONS(d, eg_layer_norm_options);
    o->axes = d->t[1].absent || chance(d, 40) ? last.ndim : 0;
    apart(d, o->eps);
}
static void layer_norm(draw *d)
{
    layer(d, true);
}
static void rms_norm(draw *d)
{
    layer(d, false);
}
DIFFER(layer_norm, layer_norm, 0, 60, eg_layer_norm_with(T0, T1, T2, O0))
DIFFER(rms_norm, rms_norm, 0, 60, eg_rms_norm_with(T0, T1, O0))

static void draw_local_response(draw *d)
{
    int k = operand(d, image(d, 3), draw_float(d));
    bool bare = DRAW_OPTIONS(d, eg_local_response_norm_options)->k == EG_ZERO;
    d->t[k].dtype = bare ? EG_F64 : d->t[k].dtype; /* powers far past f16, slopes that cancel */
}
DIFFER(local_response_norm, draw_local_response, 0, 8, eg_local_response_norm_with(T0, O0))
