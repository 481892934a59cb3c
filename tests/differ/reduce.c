/* reduce.c - reductions and running sums. */
#include "tests/differ/differ.h"

OPTIONS(eg_reduce_options, AXES(eg_reduce_options, axes), BOOL(eg_reduce_options, keepdim),
        BOOL(eg_reduce_options, has_initial), DOUBLE(eg_reduce_options, initial, 0, 1, -2, 3))
OPTIONS(eg_norm_options, AXES(eg_norm_options, axes), BOOL(eg_norm_options, keepdim),
        DOUBLE(eg_norm_options, p, 0, EG_ZERO, 1, 2, 3, 0.5, INFINITY, -INFINITY, -1))
OPTIONS(eg_var_options, AXES(eg_var_options, axes), BOOL(eg_var_options, keepdim), BOOL(eg_var_options, biased))

static void reduce(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    operand(d, s, draw_any(d));
    DRAW_OPTIONS(d, eg_reduce_options)->axes = draw_axes(d, s.ndim);
}

static void reduce_product(draw *d)
{
    reduce(d);
    if (is_float(d->t[0].dtype)) { /* halves stay in range */
        d->t[0].low = -1.2;
        d->t[0].high = 1.2;
    }
}

/* One axis or none. */
static void reduce_place(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    operand(d, s, draw_any(d));
    eg_reduce_options *o = DRAW_OPTIONS(d, eg_reduce_options);
    o->has_initial &= chance(d, 10);
    o->axes = chance(d, 60) ? EG_AXES(draw_axis(d, s.ndim)) : chance(d, 10) ? draw_axes(d, s.ndim) : (eg_axes){0};
}

static void reduce_norm(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    operand(d, s, draw_any(d));
    eg_norm_options *o = DRAW_OPTIONS(d, eg_norm_options);
    o->axes = draw_axes(d, s.ndim);
    if (o->p < 1 && o->p != 0 && is_float(d->t[0].dtype)) { /* powers far apart, sums past what halves hold */
        d->t[0].low = 0.5;
        d->t[0].dtype = d->t[0].dtype == EG_F64 ? EG_F64 : EG_F32;
    }
}

static void reduce_spread(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    operand(d, s, draw_any(d));
    DRAW_OPTIONS(d, eg_var_options)->axes = draw_axes(d, s.ndim);
    if (is_float(d->t[0].dtype)) { /* the slope of a root near 0 is anything */
        distinct(d, 0);
    }
}

DIFFER(sum, reduce, NONFINITES, 3, eg_sum_with(T0, O0))
DIFFER(mean, reduce, NONFINITES, 2, eg_mean_with(T0, O0))
DIFFER(prod, reduce_product, NONFINITES, 10, eg_prod_with(T0, O0))
DIFFER(count_nonzero, reduce, SPECIALS, 1, eg_count_nonzero_with(T0, O0))
DIFFER(any, reduce, SPECIALS, 1, eg_any_with(T0, O0))
DIFFER(all, reduce, SPECIALS, 1, eg_all_with(T0, O0))
DIFFER(logsumexp, reduce, SPECIALS, 2, eg_logsumexp_with(T0, O0))
DIFFER(max, reduce, SPECIALS, 1, eg_max_with(T0, O0))
DIFFER(min, reduce, SPECIALS, 1, eg_min_with(T0, O0))
DIFFER(argmax, reduce_place, SPECIALS, 1, eg_argmax_with(T0, O0))
DIFFER(argmin, reduce_place, SPECIALS, 1, eg_argmin_with(T0, O0))
DIFFER(norm, reduce_norm, NONFINITES, 10, eg_norm_with(T0, O0))
DIFFER(var, reduce_spread, NONFINITES, 3, eg_var_with(T0, O0))
DIFFER(std, reduce_spread, 0, 3, eg_std_with(T0, O0))

static void scan(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    operand(d, s, draw_any(d));
    d->i[0] = draw_axis(d, s.ndim);
}
static void scan_product(draw *d)
{
    scan(d);
    if (is_float(d->t[0].dtype)) {
        d->t[0].low = -1.2;
        d->t[0].high = 1.2;
    }
}
DIFFER(cumsum, scan, NONFINITES, 3, eg_cumsum(T0, K0))
DIFFER(cumprod, scan_product, NONFINITES, 10, eg_cumprod(T0, K0))
DIFFER(cummax, scan, SPECIALS, 1, eg_cummax(T0, K0, Y0, Y1))
DIFFER(cummax_values, scan, SPECIALS | FEW, 1, eg_cummax(T0, K0, Y0, NULL))
DIFFER(cummin, scan, SPECIALS, 1, eg_cummin(T0, K0, Y0, Y1))
DIFFER(cummin_indices, scan, SPECIALS | FEW, 1, eg_cummin(T0, K0, NULL, Y0))
DIFFER(diff, scan, 0, 2, eg_diff(T0, K0))
