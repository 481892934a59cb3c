/* rotary.c - rotary position embedding: tables of angles, and pairs turned by them. */
#include <math.h>

#include <egret/ops.h>

#include "lib/ops/attention.h"
#include "lib/ops/infer.h"

/* ---- tables ----------------------------------------------------------------------------------------- */

enum { MOST_PAIRS = 4096 };

static eg_status check_options(const char *op, const eg_tensor *positions, int64_t width,
                               const eg_rotary_tables_options *o)
{
    const bool floats = (unsigned)o->dtype < EG_DTYPE_COUNT && eg__is_float(o->dtype);
    if (!((EG__INTEGRAL & ~EG__D(BOOL)) >> positions->dtype & 1) || !positions->ndim || !floats) {
        return eg__fail(EG_EDTYPE, op, "positions are %s %s, must be integers [..., T]; dtype is %s, must be of floats",
                        eg_dtype_name((eg_dtype)positions->dtype), EG__SHAPE_OF(positions), eg_dtype_name(o->dtype));
    }
    if (width < 2 || width % 2 || width > 2 * MOST_PAIRS) {
        return eg__fail(EG_EINVAL, op, "width is %lld, must be even, 2..%d", (long long)width, 2 * MOST_PAIRS);
    }
    const bool fine = o->base > 0 && isfinite(o->base) && o->factor > 0 && isfinite(o->factor) && o->length >= 0;
    if (!fine || !(o->low > 0 && o->low < o->high && isfinite(o->high))) {
        return eg__fail(EG_EINVAL, op,
                        "base is %g, factor %g, low %g, high %g: must be finite and above 0, low less than "
                        "high; length is %lld, must not be negative",
                        o->base, o->factor, o->low, o->high, (long long)o->length);
    }
    return EG_OK;
}

/* The angle of a position after the other. */
static double angle(const eg_rotary_tables_options *o, int64_t pair, int64_t width)
{
    const double whole = pow(o->base, -2 * (double)pair / (double)width);
    const double turns = (double)o->length * whole / (2 * 3.14159265358979323846);
    const double keep = !o->length ? 0 : fmin(fmax((turns - o->low) / (o->high - o->low), 0), 1);
    return whole * (keep + (1 - keep) / o->factor);
}

eg_status eg_rotary_tables_with(eg_tensor *positions, int64_t width, eg_tensor **cos, eg_tensor **sin,
                                const eg_rotary_tables_options *given)
{
    static const char op[] = "eg_rotary_tables";
    eg_rotary_tables_options o;
    double angles[MOST_PAIRS];
    eg__options(&o, sizeof o, given);
    if (!cos || !sin) {
        return eg__null_argument(op, cos ? "sin" : "cos");
    }
    *cos = *sin = NULL;
    o.base = o.base == 0 ? 10000 : o.base;
    o.factor = o.factor == 0 ? 1 : o.factor;
    o.low = o.low == 0 ? 1 : o.low;
    o.high = o.high == 0 ? 4 : o.high;
    if (eg__check(positions, op, "positions") || check_options(op, positions, width, &o)) {
        return eg__why();
    }
    for (int64_t i = 0; i < width / 2; i++) {
        angles[i] = angle(&o, i, width);
    }
    eg_scope s = eg_scope_push();
    eg_device *before = eg_use_device(eg_device_of(positions));
    eg_tensor *each = before ? eg_from_values(EG_SHAPE(width / 2), EG_F64, angles) : NULL;
    eg_use_device(before);
    eg_tensor *all = each ? eg_mul(eg_unsqueeze(eg_cast(positions, EG_F64), positions->ndim), each) : NULL;
    eg_tensor *out[2] = {eg_cast(eg_cos(all), o.dtype), NULL};
    out[1] = out[0] ? eg_cast(eg_sin(all), o.dtype) : NULL;
    if (eg_scope_pop_n(s, out, 2) || !out[1]) {
        return eg__why();
    }
    *cos = out[0];
    *sin = out[1];
    return EG_OK;
}

/* ---- pairs ------------------------------------------------------------------------------------------- */

eg_status eg__infer_rotary(eg__call *c)
{
    const eg_tensor *x = c->in[0], *cos = c->in[1], *sin = c->in[2];
    bool fits = x->ndim >= 2 && cos->ndim >= 2 && cos->ndim <= x->ndim && eg__same_shape(cos, sin);
    fits = fits && 2 * cos->shape[cos->ndim - 1] <= x->shape[x->ndim - 1];
    for (int back = 1; fits && back < cos->ndim; back++) {
        const int64_t n = eg__lead_size(cos, back);
        fits = n == 1 || n == eg__lead_size(x, back);
    }
    if (!fits) {
        return eg__fail(EG_ESHAPE, c->op->name, "cosines %s and sines %s do not turn pairs of %s", EG__SHAPE_OF(cos),
                        EG__SHAPE_OF(sin), EG__SHAPE_OF(x));
    }
    const int table = x->dtype == EG_F64 ? EG_F64 : EG_F32;
    if (cos->dtype != table || sin->dtype != table) {
        return eg__fail(EG_EDTYPE, c->op->name, "tables are %s and %s, must be %s", eg_dtype_name((eg_dtype)cos->dtype),
                        eg_dtype_name((eg_dtype)sin->dtype), eg_dtype_name((eg_dtype)table));
    }
    eg__desc_like(&c->desc[0], x);
    eg__desc_by_rows(&c->desc[0], x);
    return EG_OK;
}

/* Tables with the axes of x: those of [N, T, pairs] on the outside. */
static eg_tensor *table_for(const eg_tensor *x, eg_tensor *t)
{
    t = eg_cast(t, x->dtype == EG_F64 ? EG_F64 : EG_F32);
    while (t && t->ndim > 2 && t->ndim < x->ndim) {
        t = eg_unsqueeze(t, t->ndim - 2);
    }
    return t;
}

eg_tensor *eg_rotary_embedding_with(eg_tensor *x, eg_tensor *cos, eg_tensor *sin,
                                    const eg_rotary_embedding_options *given)
{
    static const char op[] = "eg_rotary_embedding";
    eg_rotary_embedding_options o;
    eg__options(&o, sizeof o, given);
    if (eg__check(x, op, "x") || eg__check(cos, op, "cos") || eg__check(sin, op, "sin")) {
        return NULL;
    }
    if (!eg__is_float(x->dtype) || !eg__is_float(cos->dtype) || !eg__is_float(sin->dtype)) {
        return eg__fail_null(EG_EDTYPE, op, "x is %s, cos %s, sin %s, must be floats",
                             eg_dtype_name((eg_dtype)x->dtype), eg_dtype_name((eg_dtype)cos->dtype),
                             eg_dtype_name((eg_dtype)sin->dtype));
    }
    const eg__rotary_opts of = {.interleaved = o.interleaved};
    eg_scope s = eg_scope_push();
    eg_tensor *in[3] = {x, table_for(x, cos), NULL}, *out[EG__MAX_OUT] = {NULL};
    in[2] = in[1] ? table_for(x, sin) : NULL;
    eg_status st = in[2] ? eg__dispatch(&eg__op_rotary, in, 3, &of, out) : eg__why();
    return eg_scope_pop(s, st ? NULL : out[0]);
}
