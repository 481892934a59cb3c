/* pointwise.c - gradients of unary.def and binary.def: the derivative columns as public ops. When nobody
 * records the walk, one tensor's derivative runs as its fused kernel instead, from the same text. */
#include "autograd/rules/rules.h"

/* Constants as 0-dim tensors of the dtype that dy is computed with. */
static eg_tensor *constant(eg__walk *w, double v)
{
    return eg_scalar(v, (eg_dtype)eg__dy_or_null(w, 0)->dtype);
}

#define DY                   eg__dy(w, 0)
#define X                    eg__saved_in(w, 0)
#define A                    eg__saved_in(w, 0)
#define B                    eg__saved_in(w, 1)
#define Y                    eg__saved_out(w, 0)
#define C(v)                 constant(w, v)
#define P                    C(((const eg__params *)w->opts)->p)
#define Q                    C(((const eg__params *)w->opts)->q)
#define ADD(a, b)            eg_add(a, b)
#define SUB(a, b)            eg_sub(a, b)
#define MUL(a, b)            eg_mul(a, b)
#define DIV(a, b)            eg_div(a, b)
#define NEG(a)               eg_neg(a)
#define RECIPROCAL(a)        eg_reciprocal(a)
#define SQUARE(a)            eg_square(a)
#define RSQRT(a)             eg_rsqrt(a)
#define ABS(a)               eg_abs(a)
#define SIGN(a)              eg_sign(a)
#define FLOOR_DIVIDE(a, b)   eg_floor_divide(a, b)
#define EXP(a)               eg_exp(a)
#define SIN(a)               eg_sin(a)
#define COS(a)               eg_cos(a)
#define SINH(a)              eg_sinh(a)
#define COSH(a)              eg_cosh(a)
#define TANH(a)              eg_tanh(a)
#define ERF(a)               eg_erf(a)
#define SIGMOID(a)           eg_sigmoid(a)
#define SOFTPLUS(a)          eg_softplus(a)
#define DIGAMMA(a)           eg_digamma(a)
#define TRIGAMMA(a)          eg_trigamma(a)
#define POLYGAMMA(a, n)      eg_polygamma(a, n)
#define NUMBER_P             ((const eg__params *)w->opts)->p
#define WITHIN(a, low, high) eg_clamp(a, low, high)
#define LT(a, b)             eg_lt(a, b)
#define LE(a, b)             eg_le(a, b)
#define GT(a, b)             eg_gt(a, b)
#define GE(a, b)             eg_ge(a, b)
#define EQ(a, b)             eg_eq(a, b)
#define SEL(c, a, b)         eg_where(c, a, b)
#define BY_SQUARES(a, b)     by_squares(w, a, b)
#define SILU_D(z)            silu_slope(w, z)
#define GELU_D(z)            gelu_slope(w, z)
#define GELU_TANH_D(z)       gelu_tanh_slope(w, z)
#define MISH_D(z)            mish_slope(w, z)
#define SINC_D(x)            sinc_slope(w, x)
#define OR_NAN(c, a)         eg_logical_or(c, eg_isnan(a))

/* s (1 + x (1 - s)), where s = sigmoid(x) */
static eg_tensor *silu_slope(eg__walk *w, eg_tensor *x)
{
    eg_tensor *s = SIGMOID(x);
    return MUL(s, ADD(C(1), MUL(x, SUB(C(1), s))));
}

/* Phi(x) + x phi(x) */
static eg_tensor *gelu_slope(eg__walk *w, eg_tensor *x)
{
    eg_tensor *below = MUL(C(0.5), ADD(C(1), ERF(MUL(x, C(0.70710678118654752440)))));
    eg_tensor *density = MUL(C(0.39894228040143267794), EXP(MUL(C(-0.5), SQUARE(x))));
    return ADD(below, MUL(x, density));
}

/* (1 + t) / 2 + x / 2 (1 - t^2) u', where t = tanh(u(x)) */
static eg_tensor *gelu_tanh_slope(eg__walk *w, eg_tensor *x)
{
    eg_tensor *cube = MUL(C(0.044715), MUL(x, SQUARE(x)));
    eg_tensor *t = TANH(MUL(C(0.79788456080286535588), ADD(x, cube)));
    eg_tensor *du = ADD(C(0.79788456080286535588), MUL(C(0.10703222440890037), SQUARE(x)));
    return ADD(MUL(C(0.5), ADD(C(1), t)), MUL(MUL(C(0.5), x), MUL(SUB(C(1), SQUARE(t)), du)));
}

/* t + x (1 - t^2) sigmoid(x), where t = tanh(softplus(x)) */
static eg_tensor *mish_slope(eg__walk *w, eg_tensor *x)
{
    eg_tensor *t = TANH(SOFTPLUS(x));
    return ADD(t, MUL(MUL(x, SUB(C(1), SQUARE(t))), SIGMOID(x)));
}

/* (cos(pi x) - sinc(x)) / x, the cosine of x less whole turns; near 0 as its series in u = (pi x)^2 */
static eg_tensor *sinc_slope(eg__walk *w, eg_tensor *x)
{
    static const double divisor[] = {88, 54, 28, 10};
    eg_tensor *near = LT(ABS(x), C(0.1)), *series = C(1), *apart = SEL(near, C(1), x);
    eg_tensor *small = SEL(near, x, C(0)), *u = MUL(C(9.86960440108935861883), SQUARE(small));
    eg_tensor *part = SUB(apart, MUL(C(2), eg_round(MUL(C(0.5), apart))));
    for (int i = 0; i < 4; i++) {
        series = SUB(C(1), MUL(DIV(u, C(divisor[i])), series));
    }
    series = MUL(MUL(C(-3.28986813369645287295), small), series);
    eg_tensor *difference = SUB(COS(MUL(C(3.14159265358979323846), part)), eg_sinc(apart));
    return SEL(near, series, DIV(difference, apart));
}

/* b / (a^2 + b^2) without the squares, which may leave the range; 0 where both are 0. */
static eg_tensor *by_squares(eg__walk *w, eg_tensor *b, eg_tensor *a)
{
    eg_tensor *origin = eg_logical_and(EQ(a, C(0)), EQ(b, C(0)));
    eg_tensor *length = eg_hypot(a, SEL(origin, C(1), b));
    return DIV(DIV(b, length), length);
}

/* Of two equal numbers each gets half. */
static eg_tensor *share(eg__walk *w, eg_tensor *mine, eg_tensor *equal)
{
    return SEL(mine, C(1), SEL(equal, C(0.5), C(0)));
}
#define SHARE(mine, equal) share(w, mine, equal)

/* The same, all where neither is so: of NaN. */
static eg_tensor *unless(eg__walk *w, eg_tensor *other, eg_tensor *equal)
{
    return SEL(other, C(0), SEL(equal, C(0.5), C(1)));
}
#define UNLESS(other, equal) unless(w, other, equal)

/* The quotient rounded towards 0: exactly, which a / b rounded may have passed. */
static eg_tensor *trunc_divide(eg_tensor *a, eg_tensor *b)
{
    return eg_round(DIV(SUB(a, eg_fmod(a, b)), b));
}
#define TRUNC_DIVIDE(a, b) trunc_divide(a, b)

/* b a^(b-1), which is 0 for b = 0 whatever a is, with all of its slopes: no infinity is made there */
static eg_tensor *pow_da(eg__walk *w, eg_tensor *a, eg_tensor *b)
{
    eg_tensor *none = EQ(b, C(0));
    return SEL(none, C(0), MUL(b, eg_pow(SEL(none, C(1), a), SUB(b, C(1)))));
}

/* y log a, which is 0 for a = 0, with all of its slopes: no infinity is made there, which times 0 would be NaN */
static eg_tensor *pow_db(eg__walk *w, eg_tensor *a, eg_tensor *y)
{
    eg_tensor *none = EQ(a, C(0));
    return SEL(none, C(0), MUL(y, eg_log(SEL(none, C(1), a))));
}

/* log b, which counts for 0 where a = 0 leaves it undefined */
static eg_tensor *xlogy_da(eg__walk *w, eg_tensor *a, eg_tensor *b)
{
    return SEL(eg_logical_and(EQ(a, C(0)), LE(b, C(0))), C(0), eg_log(b));
}
#define XLOGY_DA(a, b)  xlogy_da(w, a, b)
#define POW_DA(a, b)    pow_da(w, a, b)
#define POW_DB(a, b, y) pow_db(w, a, y)

#define SAVE_X EG__IN(0)
#define SAVE_Y EG__OUT(0)
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high)    \
    eg_status eg__grad_##name(eg__walk *w)                             \
    {                                                                  \
        if (eg__walk_recorded(w)) {                                    \
            eg__widen(w);                                              \
            return eg__give(w, 0, eg_mul(DY, df));                     \
        }                                                              \
        return eg__give(w, 0, fused(w, &eg__op_##name##_grad, saves)); \
    }

static eg_tensor *fused(eg__walk *w, const eg__op *op, unsigned saves)
{
    eg_tensor *dy = DY, *at = saves == SAVE_X ? X : saves == SAVE_Y ? Y : dy;
    return at ? eg__op2(op, dy, at, w->opts) : NULL;
}

#include "lib/ops/unary.def"
#undef EG_UNARY

/* Nothing flows: zeros of dy's shape, summed to the input's. */
#define ZERO eg_zeros_like(DY)
#define GIVE(i, d)         \
    if (eg__needs(w, i)) { \
        eg__give(w, i, d); \
    }

/* Gradients that are one product, or one product and factors of 0, 1/2 and 1, are rounded once as they are. */
static bool is_one_product(const eg__op *op)
{
    return op == &eg__op_add || op == &eg__op_sub || op == &eg__op_mul || op == &eg__op_maximum ||
           op == &eg__op_minimum || op == &eg__op_fmax || op == &eg__op_fmin || op == &eg__op_copysign ||
           op == &eg__op_heaviside || op == &eg__op_rectify;
}

/* Computes halves in f32 where a gradient is summed over broadcast axes, which comes after the product. */
static void widen_pair(eg__walk *w)
{
    const eg__edge *in = w->e->in;
    const bool summed = (in[0].shape && eg__needs(w, 0)) || (in[1].shape && eg__needs(w, 1));
    if (summed || !is_one_product(w->e->op)) {
        eg__widen(w);
    }
}

#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) \
    eg_status eg__grad_##name(eg__walk *w)                                 \
    {                                                                      \
        widen_pair(w);                                                     \
        GIVE(0, da)                                                        \
        GIVE(1, db)                                                        \
        return w->status;                                                  \
    }
#include "lib/ops/binary.def"
#undef EG_BINARY

eg_status eg__grad_lerp(eg__walk *w)
{
    eg__widen(w);
    eg_tensor *weight = eg__needs(w, 0) || eg__needs(w, 1) ? eg__saved_in(w, 2) : NULL;
    GIVE(0, MUL(DY, SUB(C(1), weight)))
    GIVE(1, MUL(DY, weight))
    GIVE(2, MUL(DY, SUB(B, A)))
    return w->status;
}

eg_status eg__grad_where(eg__walk *w)
{
    eg_tensor *condition = eg__saved_in(w, 0);
    GIVE(1, SEL(condition, DY, C(0)))
    GIVE(2, SEL(condition, C(0), DY))
    return w->status;
}
