/* test_vmath.c - how far the vectorised single-precision functions are from the true values, over floats
 * of every exponent; and the half conversions, all of them. */
#include "lib/cpu/pointwise/vmath.h"
#include "tests/egt.h"

static double ulp_error(float got, double want)
{
    float rounded = (float)want;
    if (got == rounded || (isnan(got) && isnan(want))) {
        return 0;
    }
    if (isinf(rounded) || isinf(got) || isnan(got)) {
        return (double)INFINITY;
    }
    int e;
    frexp(want, &e);
    double unit = ldexp(1, (e < -125 ? -125 : e) - 24);
    return fabs((double)got - want) / unit;
}

typedef struct range {
    float low, high;
} range;

static void measure(float (*f)(float), double (*truth)(double), range r, double allowed)
{
    double worst = 0;
    float at = 0;
    for (uint32_t u = 0; u < 0xff800000u; u += 1021) {
        float x;
        memcpy(&x, &u, sizeof x);
        if (!(x >= r.low && x <= r.high)) {
            continue;
        }
        double e = ulp_error(f(x), truth((double)x));
        if (e > worst) {
            worst = e;
            at = x;
        }
    }
    if (worst > allowed) {
        egt_fail(__FILE__, __LINE__, "%.2f ulp at %.9g, %.2f are allowed", worst, (double)at, allowed);
    }
}

#define MAX 3.4e38f
#define FUNCTION(name, low, high, allowed)                                    \
    EGT(name)                                                                 \
    {                                                                         \
        measure(eg__f32_##name, eg__f64_##name, (range){low, high}, allowed); \
    }

FUNCTION(exp, -120, 120, 2)
FUNCTION(expm1, -MAX, MAX, 2.5)
FUNCTION(log, 0, MAX, 2)
FUNCTION(log2, 0, MAX, 3)
FUNCTION(log10, 0, MAX, 3)
FUNCTION(log1p, -1, MAX, 2.5)
FUNCTION(tanh, -MAX, MAX, 5)
FUNCTION(sigmoid, -80, MAX, 3)
FUNCTION(erf, -MAX, MAX, 6)
FUNCTION(erfinv, -1, 1, 3)
FUNCTION(logit, 0, 1, 3)
FUNCTION(sinc, -1e6f, 1e6f, 3)

EGT(special_values)
{
    const float inf = (float)INFINITY, nan = (float)NAN;
    EGT_EQ(eg__f32_exp(inf), inf);
    EGT_EQ(eg__f32_exp(-inf), 0);
    EGT_EQ(eg__f32_log(0), -inf);
    EGT_EQ(eg__f32_log(inf), inf);
    EGT_EQ(eg__f32_log1p(inf), inf);
    EGT_EQ(eg__f32_log1p(-1), -inf);
    EGT_EQ(eg__f32_expm1(-inf), -1);
    EGT_EQ(eg__f32_expm1(inf), inf);
    EGT_EQ(eg__f32_tanh(inf), 1);
    EGT_EQ(eg__f32_tanh(-inf), -1);
    EGT_EQ(eg__f32_sigmoid(-inf), 0);
    EGT_EQ(eg__f32_sigmoid(inf), 1);
    EGT_EQ(eg__f32_erf(-inf), -1);
    EGT_CHECK(isnan(eg__f32_exp(nan)) && isnan(eg__f32_log(nan)) && isnan(eg__f32_log(-1)));
    EGT_CHECK(isnan(eg__f32_expm1(nan)) && isnan(eg__f32_log1p(nan)) && isnan(eg__f32_log1p(-2)));
    EGT_CHECK(isnan(eg__f32_tanh(nan)) && isnan(eg__f32_sigmoid(nan)) && isnan(eg__f32_erf(nan)));
    EGT_CHECK(signbit(eg__f32_tanh(-0.0f)) && signbit(eg__f32_erf(-0.0f)));
    EGT_CHECK(signbit(eg__f32_expm1(-0.0f)) && signbit(eg__f32_log1p(-0.0f)));
    for (float x = 4; x < 1e30f; x *= 1.7f) { /* what takes them from 1 has nothing left */
        EGT_EQ(eg__f32_erf(-x), -1);
        EGT_EQ(eg__f32_tanh(3 * x), 1);
    }
    EGT_CHECK(signbit(eg__f32_erfinv(-0.0f)) && isnan(eg__f32_erfinv(1.5f)) && isnan(eg__f32_erfinv(nan)));
    EGT_EQ(eg__f32_erfinv(-1), -inf);
    EGT_EQ(eg__f64_erfinv(1), inf);
    EGT_EQ(eg__f32_logit(1), inf);
    EGT_CHECK(isnan(eg__f32_logit(-0.5f)) && isnan(eg__f32_logit(2)) && isnan(eg__f32_logit(nan)));
}

/* The value of a half, from its definition. */
static double half_value(uint16_t h, int exponent_bits)
{
    int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int e = h >> mantissa_bits & ((1 << exponent_bits) - 1), m = h & ((1 << mantissa_bits) - 1);
    double sign = h & 0x8000 ? -1 : 1;
    if (e == (1 << exponent_bits) - 1) {
        return m ? (double)NAN : sign * (double)INFINITY;
    }
    return sign * (e ? ldexp(1 + ldexp(m, -mantissa_bits), e - bias) : ldexp(m, 1 - bias - mantissa_bits));
}

static void check_halves(int exponent_bits, float (*widen)(uint16_t), uint16_t (*narrow)(float),
                         uint16_t (*from_double)(double))
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        double v = half_value((uint16_t)h, exponent_bits);
        float f = widen((uint16_t)h);
        EGT_CHECK(isnan(v) ? isnan(f) : (double)f == v && !signbit(f) == !signbit(v));
        EGT_CHECK(isnan(v) ? isnan(widen(narrow(f))) : narrow(f) == h);
        EGT_CHECK(isnan(v) ? isnan(widen(from_double(v))) : from_double(v) == h);
        if ((h & 0x7fff) + 1 >= 0x7fffu >> (15 - exponent_bits) << (15 - exponent_bits)) {
            continue;
        }
        /* Halfway to the next goes to the even one; a hair to either side to the nearer. */
        double next = half_value((uint16_t)(h + 1), exponent_bits);
        if (isfinite(v) && isfinite(next)) {
            float middle = (float)((v + next) / 2);
            EGT_EQ(narrow(middle), h & 1 ? h + 1 : h);
            EGT_EQ(narrow(nextafterf(middle, (float)v)), h);
            EGT_EQ(narrow(nextafterf(middle, (float)next)), h + 1);
            EGT_EQ(from_double((double)middle), h & 1 ? h + 1 : h); /* no float lies as near as these */
            EGT_EQ(from_double(nextafter((double)middle, v)), h);
            EGT_EQ(from_double(nextafter((double)middle, next)), h + 1);
        }
    }
}

EGT(f16_conversions)
{
    check_halves(5, eg__f16_to_f32, eg__f32_to_f16, eg__f64_to_f16);
    EGT_EQ(eg__f32_to_f16(65520.0f), 0x7c00);
    EGT_EQ(eg__f32_to_f16(65519.0f), 0x7bff);
    EGT_EQ(eg__f64_to_f16(65520 - 1e-11), 0x7bff);
    EGT_EQ(eg__f64_to_f16(-1e300), 0xfc00);
    EGT_EQ(eg__f64_to_f16(-1e-300), 0x8000);
}

EGT(bf16_conversions)
{
    check_halves(8, eg__bf16_to_f32, eg__f32_to_bf16, eg__f64_to_bf16);
    EGT_EQ(eg__f64_to_bf16(1e300), 0x7f80);
    /* 2^60, half a step, and 1 more or less. */
    EGT_EQ(eg__i64_to_bf16(((int64_t)1 << 60) + ((int64_t)1 << 52)), 0x5d80);
    EGT_EQ(eg__i64_to_bf16(((int64_t)1 << 60) + ((int64_t)1 << 52) + 1), 0x5d81);
    EGT_EQ(eg__i64_to_bf16(-((int64_t)1 << 60) - ((int64_t)1 << 52) - 1), 0xdd81);
    EGT_EQ(eg__i64_to_bf16(INT64_MIN), 0xdf00);
}

/* In double, where the single-precision ones are measured against it. */
EGT(inverse_of_erf)
{
    for (double x = 1e-12; x < 5; x *= 1.01) {
        EGT_CHECK(fabs(eg__f64_erfinv(erf(x)) - x) <= x * (1e-15 + 2e-16 / erfc(x)));
    }
    EGT_NEAR(eg__f64_erfinv(0.5), 0.47693627620446987338, 1e-15);
}

EGT(gamma_functions)
{
    /* Known values: psi(1) = -gamma, psi(1/2) = -gamma - 2 log 2, psi'(1) = pi^2/6, psi'(1/2) = pi^2/2. */
    const double gamma = 0.57721566490153286061, pi = 3.14159265358979323846;
    EGT_NEAR(eg__f64_digamma(1), -gamma, 1e-14);
    EGT_NEAR(eg__f64_digamma(0.5), -gamma - 2 * log(2), 1e-14);
    EGT_NEAR(eg__f64_digamma(-0.5), eg__f64_digamma(0.5) + 2, 1e-13);
    EGT_NEAR(eg__f64_trigamma(1), pi * pi / 6, 1e-14);
    EGT_NEAR(eg__f64_trigamma(0.5), pi * pi / 2, 1e-14);
    EGT_NEAR(eg__f64_trigamma(-0.5), pi * pi / 2 + 4, 1e-13);
    EGT_CHECK(isnan(eg__f64_digamma(-1)) && isinf(eg__f64_trigamma(-2)));
    EGT_NEAR(eg__f64_digamma(-1e9 + 0.25), 17.58167318360662, 1e-15); /* log 10^9 - pi cot(pi / 4) */
}

/* Computed with 500 digits: order, argument, value. */
EGT(polygamma_of_any_order)
{
    static const double known[][3] = {{2, 1.0, -2.4041138063191885},
                                      {2, 0.5, -16.82879664423432},
                                      {2, 0.001, -2000000002.3976321},
                                      {2, 37.5, -0.0007303268536904836},
                                      {2, 1000000.0, -1.0000010000005e-12},
                                      {3, 0.5, 97.40909103400244},
                                      {3, 1.0, 6.493939402266829},
                                      {3, -0.5, 193.40909103400244},
                                      {4, -1.75, -24481.777338295888},
                                      {5, 2.5, 0.5785691785671835},
                                      {2, -2.5, -0.1082040516417274},
                                      {3, -123.25, 1558.5454554887287},
                                      {12, 9.0, -0.0002573301734239233},
                                      {40, 20.0, -4.301466908235026e-06},
                                      {80, 248.0, -2.9087688372858326e-75},
                                      {160, 8.25, -1.3315900106289922e+137},
                                      {160, 400.0, -1.6739190263253343e-134},
                                      {200, 100.0, -9.125424691096223e-28}};
    for (int i = 0; i < (int)(sizeof known / sizeof *known); i++) {
        double got = eg__f64_polygamma(known[i][1], known[i][0]), want = known[i][2];
        if (!(fabs(got - want) <= 2e-13 * fabs(want))) {
            egt_fail(__FILE__, __LINE__, "polygamma(%g, %g) is %.17g, not %.17g", known[i][1], known[i][0], got, want);
        }
    }
    EGT_EQ(eg__f64_polygamma(1.5, 0), eg__f64_digamma(1.5));
    EGT_EQ(eg__f64_polygamma(1.5, 1), eg__f64_trigamma(1.5));
    EGT_EQ(eg__f64_polygamma(0, 2), -(double)INFINITY);
    EGT_EQ(eg__f64_polygamma(-3, 3), (double)INFINITY);
    EGT_EQ(eg__f64_polygamma((double)INFINITY, 2), 0);
    EGT_CHECK(isnan(eg__f64_polygamma(-(double)INFINITY, 2)) && isnan(eg__f64_polygamma((double)NAN, 5)));
}
