/* test_pointwise.c - pointwise ops where formulas end: NaN, signed zeros, infinities, ties; and
 * what the ones with axes refuse. */
#include "tests/egt.h"

#define N(...) eg_from_values(EG_SHAPE(EG_COUNT_(double, __VA_ARGS__)), EG_F32, (double[]){__VA_ARGS__})

static bool same(const eg_tensor *a, const eg_tensor *b)
{
    return egt_distance(a, b) == 0;
}

EGT(larger_and_smaller_skip_nan)
{
    eg_tensor *a = N(1, NAN, 3, NAN), *b = N(2, 2, NAN, NAN);
    EGT_CHECK(same(eg_fmax(a, b), N(2, 2, 3, NAN)));
    EGT_CHECK(same(eg_fmin(a, b), N(1, 2, 3, NAN)));
}

EGT(signs)
{
    EGT_CHECK(same(eg_signbit(N(0, -0.0, -1, INFINITY)), eg_cast(N(0, 1, 1, 0), EG_BOOL)));
    EGT_CHECK(same(eg_reciprocal(eg_copysign(N(0, 0), N(-2, -0.0))), N(-INFINITY, -INFINITY)));
    EGT_CHECK(same(eg_heaviside(N(-1, -0.0, 2, NAN), N(5, 0.5, 5, 5)), N(0, 0.5, 1, NAN)));
}

EGT(sinc_at_integers)
{
    EGT_CHECK(same(eg_sinc(N(0, 1, -2, 1e7)), N(1, 0, 0, 0)));
}

/* The slope near 0, where its formula would cancel. */
EGT(sinc_near_zero)
{
    eg_tensor *x = N(1e-4, 0.0999, 0.1001), *g;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = eg_sinc(x);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &g, .dy = eg_ones_like(y)));
    for (int i = 0; i < 3; i++) {
        double t = 3.14159265358979323846 * eg_get(x, i);
        double slope = 3.14159265358979323846 * (-t / 3 + t * t * t / 30 - pow(t, 5) / 840);
        EGT_CHECK(fabs(eg_get(g, i) - slope) < 1e-5 * fabs(slope));
    }
}

EGT(sums_of_exponentials)
{
    EGT_CHECK(same(eg_logaddexp(N(INFINITY, -INFINITY, 1000, -INFINITY), N(INFINITY, -INFINITY, -1000, 3)),
                   N(INFINITY, -INFINITY, 1000, 3)));
    EGT_NEAR(eg_item(eg_logaddexp2(eg_scalar(3, EG_F64), eg_scalar(3, EG_F64))), 4, 1e-15);
}

EGT(nan_to_num)
{
    eg_tensor *x = N(NAN, INFINITY, -INFINITY, 4);
    EGT_CHECK(same(eg_nan_to_num(x, 0, 7, -7), N(0, 7, -7, 4)));
    eg_tensor *whole = eg_from(EG_SHAPE(2), EG_I32, (int32_t[]){1, -2});
    EGT_CHECK(same(eg_nan_to_num(whole, 0, 7, -7), whole));
}

/* ---- long rows run in vectors, single elements do not ------------------------------------- */

typedef struct formula {
    const char *name;
    eg_tensor *(*run)(eg_tensor *x);
    double low, high;
} formula;

#define LEFT_OUT(name, low, high)
#define FORMULA_P1(p)                     LEFT_OUT
#define FORMULA_P2(p, q)                  LEFT_OUT
#define FORMULA_P0(name, low, high)       {#name, eg_##name, low, high},
#define ROW_FLOAT(make, name, low, high)  make(name, low, high)
#define ROW_NUMBER(make, name, low, high) make(name, low, high)
#define ROW_LIMIT(make, name, low, high)  make(name, low, high)
#define ROW_TEST(make, name, low, high)
#define ROW_BITS(make, name, low, high)
#define EG_UNARY(name, params, kind, cast, y, dy, saves, low, high) ROW_##kind(FORMULA_##params, name, low, high)
static const formula formulas[] = {
#include "lib/ops/unary.def"
#undef EG_UNARY
};

/* a and b, or both NaN or the same infinity. */
static bool close_to(double a, double b, double tolerance)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * (1 + fabs(b));
}

/* 77 values of the domain, then what is hard. */
static eg_tensor *hard_values(const formula *f, eg_dtype dtype)
{
    eg_tensor *hard = eg_from_values(EG_SHAPE(18), EG_F64,
                                     (double[]){NAN, INFINITY, -INFINITY, 0.0, -0.0, 1, -1, 0.5, -0.5, 1e-30, -1e-30,
                                                1e-40, 30, -30, 88.5, 1000, -1000, 3e38});
    eg_tensor *parts[2] = {egt_random(EG_SHAPE(77), EG_F64, f->low, f->high), hard};
    return eg_cast(eg_concat(parts, 2, 0), dtype);
}

EGT(rows_are_their_elements)
{
    for (size_t k = 0; k < sizeof formulas / sizeof *formulas; k++) {
        for (int i = 0; i < 2; i++) {
            eg_tensor *x = hard_values(&formulas[k], i ? EG_F64 : EG_F32), *y = formulas[k].run(x);
            for (int64_t at = 0; at < eg_numel(x); at++) {
                double one = eg_item(formulas[k].run(eg_slice(x, 0, at, at + 1, 1)));
                snprintf(egt_case, sizeof egt_case, "%s of %.9g in %s", formulas[k].name, eg_get(x, at),
                         i ? "f64" : "f32");
                EGT_CHECK(close_to(eg_get(y, at), one, i ? 2e-15 : 1e-6));
            }
        }
    }
}

/* ---- each engine is the reference ---------------------------------------------------------- */

static const eg_dtype floats[] = {EG_F32, EG_F64, EG_F16, EG_BF16};
static const double special[] = {
    (double)NAN,
    (double)INFINITY,
    -(double)INFINITY,
    0.0,
    -0.0,
    1,
    -1,
    0.5,
    -0.5,
    2,
    -2,
    3,
    -3,
    1.5,
    2.5,
    -2.5,
    6,
    -6.5,
    1e-3,
    -1e-3,
    10,
    -10,
    88.5,
    -88.5,
    104,
    -104,
    1000,
    -1000,
    65504,
    -65504,
    1e8,
    -1e8,
    1e30,
    -1e30,
    1e-8,
    -1e-8,
    1e-30,
    -1e-30,
    1.17549435e-38,
    -1.17549435e-38,
    1e-40,
    -1e-40,
    1e-45,
    -1e-45,
    3.40282347e38,
    -3.40282347e38,
    0.75,
    -0.75,
    1e300,
    -1e300,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    1e-310,
    -1e-310,
    5e-324,
    -5e-324,
};
enum { SPECIAL = sizeof special / sizeof *special };

/* But for what a few operations round away; with `signs` also those of zeros. */
static void check_alike(const char *what, bool signs, const eg_tensor *x, const eg_tensor *got, const eg_tensor *want)
{
    const eg_dtype dtype = eg_dtype_of(want);
    const double allowed = dtype == EG_F64 ? 1e-14 : dtype == EG_F32 ? 1e-6 : dtype == EG_F16 ? 2e-3 : 1.6e-2;
    for (int64_t i = 0; i < eg_numel(want); i++) {
        const double a = eg_get(got, i), b = eg_get(want, i);
        if (!close_to(a, b, allowed) || (signs && a == 0 && b == 0 && signbit(a) != signbit(b))) {
            egt_fail(__FILE__, __LINE__, "%s in %s at %.9g (place %lld): %.9g, the reference has %.9g", what,
                     eg_dtype_name(dtype), eg_get(x, i), (long long)i, a, b);
        }
    }
}

static void on_every_isa(void (*check)(void))
{
    static const char *const names[] = {"base", "avx2", "avx512"};
    const char *best = eg_cpu_isa();
    for (int i = 0; i < 3; i++) {
        if (eg_debug_isa(names[i]) == EG_OK) {
            check();
        }
    }
    eg_clear_error(); /* one that is not here */
    EGT_OK(eg_debug_isa(best));
}

static eg_tensor *slope(eg_tensor *(*f)(eg_tensor *), eg_tensor *x, bool recorded)
{
    eg_tensor *g = NULL;
    eg_tape around = recorded ? eg_tape_open() : (eg_tape){0}, tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = f(x);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &g, .dy = eg_ones_like(y)));
    if (recorded) {
        EGT_OK(eg_tape_close(around));
    }
    return g;
}

/* The slope of the slope. */
static eg_tensor *bend(eg_tensor *(*f)(eg_tensor *), eg_tensor *x)
{
    eg_tensor *g = NULL, *second = NULL;
    eg_tape outer = eg_tape_open();
    EGT_OK(eg_tape_watch(outer, x));
    eg_tape inner = eg_tape_open();
    eg_tensor *y = f(x);
    EGT_OK(eg_tape_gradients(inner, y, &x, 1, &g, .dy = eg_ones_like(y)));
    EGT_OK(eg_tape_gradients(outer, g, &x, 1, &second, .dy = eg_ones_like(g)));
    return second;
}

#define AT_P0       x
#define AT_P1(p)    x, (#p)[0] == 'n' ? 3 : 0.5
#define AT_P2(p, q) x, -0.5, 1.5
#define EG_UNARY(name, params, kind, cast, y, dy, saves, low, high) \
    static eg_tensor *at_##name(eg_tensor *x)                       \
    {                                                               \
        return eg_##name(AT_##params);                              \
    }
#include "lib/ops/unary.def"
#undef EG_UNARY

typedef struct row {
    const char *name;
    eg_tensor *(*run)(eg_tensor *x), *(*pair)(eg_tensor *a, eg_tensor *b);
    enum { FLOAT, NUMBER, LIMIT = NUMBER, ARITH, POWER, TEST, COMPARE, BITS } kind;
} row;
static const row rows[] = {
#define EG_UNARY(name, params, kind, cast, y, dy, saves, low, high) {#name, at_##name, NULL, kind},
#include "lib/ops/unary.def"
#undef EG_UNARY
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) {#name, NULL, eg_##name, kind},
#include "lib/ops/binary.def"
#undef EG_BINARY
};
enum { ROWS = sizeof rows / sizeof *rows };

/* On the device EGT_DEVICE names, if it does. */
static eg_tensor *there(eg_tensor *x)
{
    const char *name = getenv("EGT_DEVICE");
    return eg_to(x, eg_device_open(name && *name ? name : "cpu"));
}

static void check_row(const row *r, eg_dtype dtype)
{
    const eg_shape square = EG_SHAPE(SPECIAL, SPECIAL);
    eg_tensor *x = eg_cast(eg_from_values(EG_SHAPE(SPECIAL), EG_F64, special), dtype), *g = NULL, *wanted = NULL;
    eg_tensor *a = eg_contiguous(eg_expand(eg_unsqueeze(x, 1), square)), *b = eg_contiguous(eg_expand(x, square));
    eg_tensor *y = eg_to(r->run ? r->run(there(x)) : r->pair(there(a), there(b)), eg_cpu());
    const bool bent = r->run && r->kind < TEST;
    g = bent ? eg_to(slope(r->run, there(x), false), eg_cpu()) : NULL;
    EGT_OK(eg_debug("ref"));
    eg_tensor *want = r->run ? r->run(x) : r->pair(a, b);
    wanted = bent ? slope(r->run, x, false) : NULL;
    EGT_OK(eg_debug(NULL));
    check_alike(r->name, true, r->run ? x : a, y, want);
    if (bent) {
        char what[64];
        snprintf(what, sizeof what, "slope of %s", r->name);
        check_alike(what, false, x, g, wanted);
    }
}

static void check_rows(void)
{
    for (int k = 0; k < 4 * ROWS; k++) {
        EG_SCOPE {
            if (rows[k / 4].kind != BITS) {
                check_row(&rows[k / 4], floats[k % 4]);
            }
        }
    }
}

EGT(each_engine_is_the_reference)
{
    on_every_isa(check_rows);
}

/* Quotients that a float has just room for, to the last one. */
static void check_quotients(void)
{
    eg_tensor *a = egt_random(EG_SHAPE(4096), EG_F32, 1e4, 2e4), *b = egt_random(EG_SHAPE(4096), EG_F32, 2e-3, 6e-3);
    EGT_OK(eg_set(a, 0, 16413.457));
    EGT_OK(eg_set(b, 0, 0.00383313606));
    for (int sign = 0; sign < 2; sign++, b = eg_neg(b)) {
        eg_tensor *q = eg_to(eg_floor_divide(there(a), there(b)), eg_cpu());
        eg_tensor *exact = eg_floor_divide(eg_cast(a, EG_F64), eg_cast(b, EG_F64));
        EGT_EQ(egt_distance(q, eg_cast(exact, EG_F32)), 0);
    }
}

EGT(each_engine_divides_exactly)
{
    on_every_isa(check_quotients);
}

/* ---- where formulas end ---------------------------------------------------------------------- */

/* Towards -inf and inf: the slope, and what the value comes to; ON where it goes on with the slope. */
#define ON (double)INFINITY
static const struct {
    const char *name;
    eg_tensor *(*run)(eg_tensor *x);
    double slope[2], value[2];
} ends[] = {
#define ENDS(name, left, right, low, high) \
    {                                      \
#name, at_##name, {left, right },  \
        {                                  \
            low, high                      \
        }                                  \
    }
    ENDS(gelu, 0, 1, 0, ON),
    ENDS(gelu_tanh, 0, 1, 0, ON),
    ENDS(silu, 0, 1, 0, ON),
    ENDS(mish, 0, 1, 0, ON),
    ENDS(softplus, 0, 1, 0, ON),
    ENDS(log_sigmoid, 1, 0, ON, 0),
    ENDS(sigmoid, 0, 0, 0, 1),
    ENDS(tanh, 0, 0, -1, 1),
    ENDS(softsign, 0, 0, -1, 1),
    ENDS(tanhshrink, 1, 1, ON, ON),
    ENDS(erf, 0, 0, -1, 1),
    ENDS(relu, 0, 1, 0, ON),
    ENDS(relu6, 0, 0, 0, 6),
    ENDS(hardswish, 0, 1, 0, ON),
    ENDS(hardsigmoid, 0, 0, 0, 1),
    ENDS(elu, 0, 1, -0.5, ON),
    ENDS(celu, 0, 1, -0.5, ON),
    ENDS(leaky_relu, 0.5, 1, ON, ON),
    ENDS(hardshrink, 1, 1, ON, ON),
    ENDS(softshrink, 1, 1, ON, ON),
    ENDS(atan, 0, 0, -1.5707963267948966, 1.5707963267948966),
    ENDS(selu, 0, 1.0507009873554805, -1.7580993408473768, ON),
};

static void check_limits(void)
{
    static const double distances[] = {2000, 6e4, 1e8, 1e38, (double)INFINITY};
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        for (int i = 0; i < 4 * 5 * 2; i++) {
            const int side = i & 1;
            eg_tensor *x = eg_full(EG_SHAPE(33), (side ? 1 : -1) * distances[i / 2 % 5], floats[i / 10]);
            const double v = eg_get(x, 7), y = eg_get(ends[k].run(x), 7), left = ends[k].slope[side];
            const double want = isinf(ends[k].value[side]) ? left * v : ends[k].value[side];
            /* some come to their limit, or the line, as 1 / v does */
            const double near = (i / 10 == 0 ? 1e-6 : i / 10 == 1 ? 1e-12 : 0.01) + 2 / fabs(v);
            snprintf(egt_case, sizeof egt_case, "%s at %g in %s: %g", ends[k].name, v, eg_dtype_name(floats[i / 10]),
                     y);
            EGT_CHECK(y == want || fabs(y - want) <= near * fabs(want));
            EGT_NEAR(eg_get(slope(ends[k].run, x, false), 7), left, near);
            EGT_NEAR(eg_get(slope(ends[k].run, x, true), 7), left, near);
        }
    }
}

EGT(limits)
{
    on_every_isa(check_limits);
}

static eg_tensor *power_of_zero(eg_tensor *b)
{
    return eg_pow(eg_zeros_like(b), b);
}

EGT(powers_of_zero_do_not_bend)
{
    eg_tensor *b = N(0.5, 1, 3), *nothing = N(0, 0, 0);
    EGT_CHECK(same(slope(power_of_zero, b, false), nothing) && same(slope(power_of_zero, b, true), nothing));
    EGT_CHECK(same(bend(power_of_zero, b), nothing));
}

EGT(bends_far_out)
{
    eg_tensor *(*const bent[])(eg_tensor *) = {eg_gelu, eg_gelu_tanh, eg_silu, eg_mish, eg_softplus};
    for (int i = 0; i < 5; i++) {
        EGT_CHECK(same(bend(bent[i], N(-INFINITY, -1e30, 1e4, INFINITY)), N(0, 0, 0, 0)));
    }
}

EGT(parameters_past_the_range)
{
    eg_tensor *x = N(-1, 0, 2, -1e30);
    EGT_CHECK(same(eg_celu(x, 1e39), x));
    EGT_CHECK(same(eg_celu(x, 1e-50), N(0, 0, 2, 0)));
    EGT_CHECK(same(eg_elu(x, 1e39), N(-INFINITY, 0, 2, -INFINITY)));
    EGT_CHECK(same(eg_hardshrink(x, -1), x));
}

EGT(nan_stays)
{
    for (int k = 0; k < 2 * ROWS; k++) {
        const row *r = &rows[k / 2];
        if (r->kind < TEST) {
            eg_tensor *nan = eg_full(EG_SHAPE(19), (double)NAN, floats[k % 2]);
            eg_tensor *y = r->run ? r->run(nan) : r->pair(nan, nan);
            snprintf(egt_case, sizeof egt_case, "%s of NaN in %s", r->name, eg_dtype_name(floats[k % 2]));
            EGT_CHECK(isnan(eg_get(y, 3)) && isnan(eg_get(y, 18)));
        }
    }
    eg_tensor *a = N(NAN, 1, NAN), *b = N(1, NAN, NAN), *one = N(1, 1, 1);
    EGT_CHECK(same(eg_maximum(a, b), N(NAN, NAN, NAN)) && same(eg_minimum(a, b), N(NAN, NAN, NAN)));
    for (int recorded = 0; recorded < 2; recorded++) {
        EGT_CHECK(same(slope(at_hardshrink, a, recorded), one) && same(slope(at_softshrink, a, recorded), one));
        EGT_CHECK(same(slope(at_threshold, a, recorded), one) && same(slope(eg_relu, a, recorded), one));
        EGT_CHECK(same(slope(eg_abs, a, recorded), N(NAN, 1, NAN)));
    }
}

/* A NaN that takes the place of a number takes its slope. */
EGT(slopes_of_the_larger)
{
    eg_tensor *(*const op[])(eg_tensor *, eg_tensor *) = {eg_maximum, eg_minimum};
    for (int i = 0; i < 2; i++) {
        eg_tensor *a = N(NAN, 1, 2, 3), *b = N(1, NAN, 2, 2), *g[2];
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_tape_watch(tape, a));
        EGT_OK(eg_tape_watch(tape, b));
        eg_tensor *y = op[i](a, b);
        EGT_OK(eg_tape_gradients(tape, y, ((eg_tensor *[]){a, b}), 2, g, .dy = eg_ones_like(y)));
        EGT_CHECK(same(g[i], N(1, 1, 0.5, 1)) && same(g[1 - i], N(1, 1, 0.5, 0)));
    }
}

static void check_zeros(void)
{
    eg_tensor *(*const odd[])(eg_tensor *) = {
        eg_expm1, eg_log1p, eg_sin,      eg_tan,   eg_asin,  eg_atan, eg_sinh,  eg_tanh,
        eg_asinh, eg_atanh, eg_erf,      eg_cbrt,  eg_floor, eg_ceil, eg_round, eg_erfinv,
        eg_frac,  eg_sqrt,  eg_softsign, eg_trunc, at_elu,   at_celu, eg_selu,
    };
    for (size_t k = 0; k < sizeof odd / sizeof *odd * 4; k++) {
        eg_tensor *y = odd[k / 4](eg_full(EG_SHAPE(35), -0.0, floats[k % 4]));
        snprintf(egt_case, sizeof egt_case, "function %d of -0 in %s", (int)k / 4, eg_dtype_name(floats[k % 4]));
        EGT_CHECK(eg_get(y, 2) == 0 && signbit(eg_get(y, 2)) && signbit(eg_get(y, 34)));
        EGT_CHECK(!signbit(eg_get(odd[k / 4](eg_full(EG_SHAPE(35), 0, floats[k % 4])), 34)));
    }
}

EGT(odd_functions_keep_signs_of_zero)
{
    on_every_isa(check_zeros);
}

/* As Python and NumPy have it. */
EGT(divisions_keep_signs_of_zero)
{
    static const double known[][4] = {
        /* a, b, a // b, a % b */
        {-0.0, 1, -0.0, 0.0}, {0.0, -1, -0.0, -0.0}, {-0.0, -1, 0.0, -0.0}, {4, -2, -2, -0.0},
        {-4, 2, -2, 0.0},     {0.5, 1, 0.0, 0.5},    {-0.5, -1, 0.0, -0.5}, {0.5, -1, -1, -0.5},
        {7, 7, 1, 0.0},       {-1, 8, -1, 7},        {-7, -7, 1, -0.0},     {0.0, -2.5, -0.0, -0.0},
    };
    for (int i = 0; i < 12 * 4; i++) {
        const double *k = known[i % 12];
        const eg_dtype dtype = floats[i / 12];
        eg_tensor *a = eg_full(EG_SHAPE(18), k[0], dtype), *b = eg_full(EG_SHAPE(18), k[1], dtype);
        const double q = eg_get(eg_floor_divide(a, b), 17), r = eg_get(eg_remainder(a, b), 17);
        snprintf(egt_case, sizeof egt_case, "%g by %g in %s", k[0], k[1], eg_dtype_name(dtype));
        EGT_CHECK(q == k[2] && signbit(q) == signbit(k[2]));
        EGT_CHECK(r == k[3] && signbit(r) == signbit(k[3]));
    }
}

/* Where a / b rounded is the integer that a does not reach. */
EGT(slopes_of_remainders)
{
    eg_tensor *(*const op[])(eg_tensor *, eg_tensor *) = {eg_remainder, eg_fmod};
    static const double want[2][4] = {{-2, 3, 4, -6}, {-2, 2, 3, -6}};
    for (int k = 0; k < 2; k++) {
        eg_tensor *a = eg_from_values(EG_SHAPE(4), EG_F64, (double[]){3.9, -3.9, 7, 0.7}), *g[2];
        eg_tensor *b = eg_from_values(EG_SHAPE(4), EG_F64, (double[]){1.3, 1.3, -2, 0.1});
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_tape_watch(tape, a));
        EGT_OK(eg_tape_watch(tape, b));
        eg_tensor *r = op[k](a, b);
        EGT_OK(eg_tape_gradients(tape, r, ((eg_tensor *[]){a, b}), 2, g, .dy = eg_ones_like(r)));
        EGT_CHECK(same(g[0], eg_ones_like(a)));
        EGT_CHECK(same(g[1], eg_from_values(EG_SHAPE(4), EG_F64, want[k])));
    }
}

/* At 1 the third derivative of log Gamma is -2 zeta(3), the fourth pi^4 / 15, the fifth -24 zeta(5). */
EGT(slopes_of_polygamma)
{
    const double third = -2 * 1.2020569031595942854, fourth = 6.4939394022668291491;
    const double fifth = -24 * 1.0369277551433699263;
    eg_tensor *x = eg_ones(EG_SHAPE(3), EG_F64);
    for (int recorded = 0; recorded < 2; recorded++) {
        EGT_NEAR(eg_get(slope(eg_trigamma, x, recorded), 1), third, 1e-14);
        EGT_NEAR(eg_get(slope(at_polygamma, x, recorded), 1), fifth, 1e-14); /* from n = 3 */
    }
    EGT_NEAR(eg_get(bend(eg_digamma, x), 1), third, 1e-14);
    EGT_NEAR(eg_get(bend(eg_trigamma, x), 1), fourth, 1e-14);
    EGT_CHECK(same(eg_polygamma(x, 0), eg_digamma(x)) && same(eg_polygamma(x, 1), eg_trigamma(x)));
}

/* ---- halves ---------------------------------------------------------------------------------- */

/* A little beside the middle of two halves, which f32 cannot tell from it. */
static void check_halves(void)
{
    static const struct {
        eg_dtype dtype;
        double v, want;
    } known[] = {{EG_F16, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10},
                 {EG_BF16, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-7},
                 {EG_F16, -65520 + 0x1p-30, -65504},
                 {EG_F16, 0x1p-25 + 0x1p-60, 0x1p-24},
                 {EG_BF16, 0x1p40 + 0x1p32 + 1, 0x1p40 + 0x1p33}};
    for (int i = 0; i < 2 * 5; i++) {
        const eg_dtype to = known[i / 2].dtype;
        const double v = known[i / 2].v, want = known[i / 2].want;
        eg_tensor *x = eg_full(EG_SHAPE(2, 40), v, EG_F64), *y = eg_zeros(EG_SHAPE(2), to);
        EGT_OK(eg_debug(i % 2 ? "ref" : NULL));
        EGT_EQ(eg_get(eg_cast(x, to), 77), want);
        EGT_EQ(eg_get(eg_cast(eg_transpose(x, 0, 1), to), 77), want);
        EGT_EQ(eg_get(eg_full(EG_SHAPE(3), v, to), 2), want);
        EGT_EQ(eg_get(eg_from_values(EG_SHAPE(1), to, &v), 0), want);
        EGT_OK(eg_set(y, 1, v));
        EGT_EQ(eg_get(y, 1), want);
        EGT_OK(eg_debug(NULL));
    }
}

EGT(halves_are_rounded_once)
{
    on_every_isa(check_halves);
}

EGT(integers_are_rounded_once)
{
    const int64_t far = ((int64_t)1 << 60) + ((int64_t)1 << 52) + 1;
    const int64_t near = ((int64_t)1 << 53) + ((int64_t)1 << 29) + 1;
    const int32_t less = (1 << 30) + (1 << 22) + 1;
    for (int i = 0; i < 2; i++) {
        EGT_OK(eg_debug(i ? "ref" : NULL));
        EGT_EQ(eg_get(eg_cast(eg_from(EG_SHAPE(1), EG_I64, &far), EG_BF16), 0), 0x1p60 + 0x1p53);
        EGT_EQ(eg_get(eg_cast(eg_from(EG_SHAPE(1), EG_I64, &near), EG_F32), 0), 0x1p53 + 0x1p30);
        EGT_EQ(eg_get(eg_cast(eg_from(EG_SHAPE(1), EG_I32, &less), EG_BF16), 0), 0x1p30 + 0x1p23);
        EGT_OK(eg_debug(NULL));
    }
}

EGT(refusals)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 3, 4), EG_F32);
    EGT_REFUSED(eg_prelu(x, eg_zeros(EG_SHAPE(2), EG_F32)), EG_ESHAPE, "[2]");
    EGT_REFUSED(eg_prelu(x, eg_zeros(EG_SHAPE(3, 1), EG_F32)), EG_ESHAPE, "[3, 1]");
    EGT_REFUSED(eg_prelu(x, NULL), EG_EINVAL, "weight is NULL");
    EGT_REFUSED(eg_glu(x, 1), EG_ESHAPE, "axis 1");
    EGT_REFUSED(eg_glu(x, 3), EG_ESHAPE, "axis");
    EGT_REFUSED(eg_nan_to_num(NULL, 0, 1, 2), EG_EINVAL, "x is NULL");
    EGT_REFUSED(eg_softshrink(x, -1), EG_EINVAL, "lambda is -1");
    EGT_REFUSED(eg_softshrink_(x, NAN), EG_EINVAL, "lambda is");
    EGT_REFUSED(eg_celu(x, 0), EG_EINVAL, "alpha is 0");
    EGT_REFUSED(eg_polygamma(x, -1), EG_EINVAL, "n is -1");
    EGT_REFUSED(eg_polygamma(x, 1.5), EG_EINVAL, "n is 1.5");
    EGT_REFUSED(eg_polygamma_(x, INFINITY), EG_EINVAL, "n is inf");
}
