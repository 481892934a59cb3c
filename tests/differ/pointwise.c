/* pointwise.c - every row of unary.def and binary.def in its forms, and what is made of them. */
#include "tests/differ/differ.h"

/* ---- one tensor ------------------------------------------------------------------------------- */

/* Results in place must have the dtype of the first. */
static eg_dtype fitting(draw *d, const char *kind, eg_dtype t)
{
    bool flag = !strcmp(kind, "COMPARE") || !strcmp(kind, "TEST");
    return flag                                                      ? EG_BOOL
           : !strcmp(kind, "BITS")                                   ? PICK(d, eg_dtype, EG_I64, EG_I32, EG_U8, EG_BOOL)
           : !strcmp(kind, "FLOAT") && !is_float(t) && chance(d, 90) ? draw_float(d)
                                                                     : t;
}

static void one(draw *d, const char *name, double low, double high, eg_dtype t)
{
    eg_shape s = draw_shape(d, 0, 5);
    if (!strncmp(name, "bitwise", 7) && is_float(t)) {
        t = fitting(d, "BITS", t);
    }
    int k = operand(d, s, t);
    if (is_float(t)) { /* the domain, and now and then past it */
        double wide = chance(d, 20) ? high - low : 0;
        d->t[k].low = low - wide;
        d->t[k].high = high + wide;
        d->rough |= wide > 0 && strstr(name, "gamma"); /* near a pole differences are none */
    }
    d->x[0] = PICK(d, double, -1, 0, 0.5, 1, 2.5);
    d->x[0] = !strncmp(name, "celu", 4) ? PICK(d, double, 0.25, 0.5, 1, 2) : d->x[0];
    d->x[0] = !strncmp(name, "polygamma", 9) ? (double)pick(d, 0, 4) : d->x[0];
    d->x[1] = d->x[0] + PICK(d, double, 0, 0.5, 3);
}

#define P0       0
#define P1(p)    1
#define P2(p, q) 2
#define SAVE_X   0
#define SAVE_Y   0
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) \
    static void draw_##name(draw *d)                                \
    {                                                               \
        one(d, #name, low, high, draw_any(d));                      \
    }                                                               \
    static void draw_##name##_(draw *d)                             \
    {                                                               \
        one(d, #name, low, high, fitting(d, #kind, draw_any(d)));   \
    }                                                               \
    UNARY_FORM(name, params, 0)                                     \
    UNARY_FORM(name##_, params, IN_PLACE | FEW)
#define UNARY_FORM(form, params, flags) UNARY_FORM_(form, params, flags)
#define UNARY_FORM_(form, count, flags) UNARY_##count(form, (flags) | SPECIALS)
#define UNARY_0(form, flags)            DIFFER(form, draw_##form, flags, 4, eg_##form(T0))
#define UNARY_1(form, flags)            DIFFER(form, draw_##form, flags, 4, eg_##form(T0, X0))
#define UNARY_2(form, flags)            DIFFER(form, draw_##form, flags, 4, eg_##form(T0, X0, X1))
#include "lib/ops/unary.def"
#undef EG_UNARY

/* ---- limits that are integers ------------------------------------------------------------------- */

static void int_limits(draw *d)
{
    const bool far = d->t[0].dtype == EG_I64 && chance(d, 20);
    d->i[0] = far ? ((int64_t)1 << 53) + 1 : pick(d, -3, 5);
    d->i[1] = d->i[0] + pick(d, -1, 5);
}

#define INT_LIMITS(name, ...)                                                                  \
    static void draw_##name##_int(draw *d)                                                     \
    {                                                                                          \
        draw_##name(d);                                                                        \
        int_limits(d);                                                                         \
    }                                                                                          \
    static void draw_##name##_int_(draw *d)                                                    \
    {                                                                                          \
        draw_##name##_(d);                                                                     \
        int_limits(d);                                                                         \
    }                                                                                          \
    DIFFER(name##_int, draw_##name##_int, SPECIALS | FEW, 4, eg_##name##_int(T0, __VA_ARGS__)) \
    DIFFER(name##_int_, draw_##name##_int_, SPECIALS | IN_PLACE | FEW, 4, eg_##name##_int_(T0, __VA_ARGS__))
INT_LIMITS(clamp, I0, I1)
INT_LIMITS(clamp_min, I0)
INT_LIMITS(clamp_max, I0)

/* ---- two tensors ------------------------------------------------------------------------------ */

static void two(draw *d, const char *kind, double low, double high, double second_low, double second_high, bool same)
{
    eg_shape s = draw_shape(d, 0, 5);
    eg_dtype t = !strcmp(kind, "BITS") && chance(d, 90) ? fitting(d, kind, EG_I64) : draw_any(d);
    int a = operand(d, same ? s : draw_partner(d, s), t);
    int b = operand(d, same ? draw_partner(d, s) : s, same || chance(d, 75) ? t : draw_any(d));
    if (is_float(t) && chance(d, 70)) {
        d->t[a].low = low;
        d->t[a].high = high;
    }
    if (is_float(d->t[b].dtype) && chance(d, 70)) {
        d->t[b].low = second_low;
        d->t[b].high = second_high;
    }
    bool whole = chance(d, 50) || !strcmp(kind, "BITS");
    d->x[0] = whole ? (double)pick(d, -3, 5) : rint(8 * number(d, second_low, second_high)) / 8;
    if (!strcmp(kind, "POWER") && is_float(t)) { /* far from 0, whose powers go anywhere */
        d->t[a].low = low;
        d->t[a].high = high;
    }
}

/* Those with an integer, of what keeps integers. */
#define INT_FORMS(name)                                                               \
    static void draw_##name##_int(draw *d)                                            \
    {                                                                                 \
        draw_##name##_scalar(d);                                                      \
        bool far = !is_float(d->t[0].dtype) && chance(d, 5);                          \
        d->i[0] = far ? INT64_MAX - 1 : pick(d, -3, 5);                               \
    }                                                                                 \
    static void draw_##name##_int_(draw *d)                                           \
    {                                                                                 \
        draw_##name##_scalar_(d);                                                     \
        d->i[0] = pick(d, -3, 5);                                                     \
    }                                                                                 \
    DIFFER(name##_int, draw_##name##_int, SPECIALS | FEW, 4, eg_##name##_int(T0, I0)) \
    DIFFER(name##_int_, draw_##name##_int_, SPECIALS | IN_PLACE | FEW, 4, eg_##name##_int_(T0, I0))
#define INT_FORMS_ARITH   INT_FORMS
#define INT_FORMS_NUMBER  INT_FORMS
#define INT_FORMS_POWER   INT_FORMS
#define INT_FORMS_COMPARE INT_FORMS
#define INT_FORMS_BITS    INT_FORMS
#define INT_FORMS_FLOAT(name)

#define SAVE_A 0
#define SAVE_B 0
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, alow, ahigh, blow, bhigh)                         \
    static void draw_##name(draw *d)                                                                         \
    {                                                                                                        \
        two(d, #kind, alow, ahigh, blow, bhigh, false);                                                      \
    }                                                                                                        \
    static void draw_##name##_(draw *d)                                                                      \
    {                                                                                                        \
        two(d, #kind, alow, ahigh, blow, bhigh, true);                                                       \
        d->t[0].dtype = d->t[1].dtype = fitting(d, #kind, d->t[0].dtype);                                    \
        fit_values(d);                                                                                       \
        if (chance(d, 15)) {                                                                                 \
            overlap(d, 1, 0);                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void draw_##name##_scalar(draw *d)                                                                \
    {                                                                                                        \
        two(d, #kind, alow, ahigh, blow, bhigh, false);                                                      \
        d->n = 1;                                                                                            \
    }                                                                                                        \
    static void draw_##name##_scalar_(draw *d)                                                               \
    {                                                                                                        \
        draw_##name##_(d);                                                                                   \
        d->n = 1;                                                                                            \
    }                                                                                                        \
    DIFFER(name, draw_##name, SPECIALS, 4, eg_##name(T0, T1))                                                \
    DIFFER(name##_, draw_##name##_, SPECIALS | IN_PLACE | FEW, 4, eg_##name##_(T0, T1))                      \
    DIFFER(name##_scalar, draw_##name##_scalar, SPECIALS | FEW, 4, eg_##name##_scalar(T0, X0))               \
    DIFFER(name##_scalar_, draw_##name##_scalar_, SPECIALS | IN_PLACE | FEW, 4, eg_##name##_scalar_(T0, X0)) \
    INT_FORMS_##kind(name)

static void fit_values(draw *d)
{
    for (int k = 0; k < d->n; k++) {
        spec *s = &d->t[k];
        bool real = is_float(s->dtype);
        s->values = real ? s->values : WHOLE;
        if (!real && (s->dtype == EG_U8 || s->dtype == EG_BOOL)) {
            s->low = 0;
            s->high = s->dtype == EG_BOOL ? 2 : 10;
        }
    }
}
#include "lib/ops/binary.def"
#undef EG_BINARY

/* ---- three, and compositions -------------------------------------------------------------------- */

static void draw_where(draw *d)
{
    eg_shape s = draw_shape(d, 0, 4);
    mask(d, draw_partner(d, s));
    eg_dtype t = draw_any(d);
    operand(d, draw_partner(d, s), t);
    operand(d, s, chance(d, 80) ? t : draw_any(d));
}
DIFFER(where, draw_where, SPECIALS, 1, eg_where(T0, T1, T2))

static void draw_lerp(draw *d)
{
    eg_shape s = draw_shape(d, 0, 4);
    eg_dtype t = draw_float(d);
    operand(d, s, t);
    operand(d, draw_partner(d, s), t);
    operand(d, draw_partner(d, s), chance(d, 80) ? t : draw_float(d));
}
DIFFER(lerp, draw_lerp, 0, 4, eg_lerp(T0, T1, T2))

static void draw_prelu(draw *d)
{
    eg_shape s = draw_shape(d, 2, 5);
    eg_dtype t = draw_float(d);
    operand(d, s, t);
    operand(d, chance(d, 30) ? EG_SHAPE(1) : EG_SHAPE(s.dim[1]), t);
}
DIFFER(prelu, draw_prelu, SPECIALS, 2, eg_prelu(T0, T1))

static void draw_glu(draw *d)
{
    eg_shape s = draw_shape(d, 1, 4);
    int a = (int)pick(d, 0, s.ndim - 1);
    s.dim[a] = chance(d, 90) ? 2 * ((s.dim[a] + 1) / 2) : s.dim[a];
    operand(d, s, draw_float(d));
    d->i[0] = chance(d, 50) ? a : a - s.ndim;
}
DIFFER(glu, draw_glu, 0, 3, eg_glu(T0, K0))

static void draw_nan_to_num(draw *d)
{
    operand(d, draw_shape(d, 0, 4), draw_any(d));
    d->x[0] = PICK(d, double, 0, -1.5, 7);
    d->x[1] = PICK(d, double, 0, 100, 7);
    d->x[2] = PICK(d, double, 0, -100, 7);
}
DIFFER(nan_to_num, draw_nan_to_num, SPECIALS, 1, eg_nan_to_num(T0, X0, X1, X2))
