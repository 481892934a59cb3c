/* prefix.h - the words of the derivative columns as scalar C over T (see autograd/rules/pointwise.c for
 * the same words as public ops). FN and T are the including file's. */
#define ADD(a, b)       ((a) + (b))
#define SUB(a, b)       ((a) - (b))
#define MUL(a, b)       ((a) * (b))
#define DIV(a, b)       ((a) / (b))
#define NEG(a)          (-(a))
#define RECIPROCAL(a)   (1 / (a))
#define SQUARE(a)       ((a) * (a))
#define RSQRT(a)        (1 / FN(sqrt)(a))
#define ABS(a)          FN(abs)(a)
#define SIGN(a)         ((a) != (a) ? (a) : (T)(((a) > 0) - ((a) < 0)))
#define EXP(a)          FN(exp)(a)
#define SIN(a)          FN(sin)(a)
#define COS(a)          FN(cos)(a)
#define SINH(a)         FN(sinh)(a)
#define COSH(a)         FN(cosh)(a)
#define TANH(a)         FN(tanh)(a)
#define ERF(a)          FN(erf)(a)
#define SIGMOID(a)      FN(sigmoid)(a)
#define SOFTPLUS(a)     (((a) > 0 ? (a) : 0) + FN(log1p)(FN(exp)(-FN(abs)(a))))
#define DIGAMMA(a)      FN(digamma)(a)
#define TRIGAMMA(a)     FN(trigamma)(a)
#define POLYGAMMA(a, n) FN(polygamma)(a, (T)(n))
#define LT(a, b)        ((a) < (b))
#define LE(a, b)        ((a) <= (b))
#define GT(a, b)        ((a) > (b))
#define GE(a, b)        ((a) >= (b))
#define SEL(c, a, b)    ((c) ? (a) : (b))
#define C(v)            ((T)(v))
/* Limits that may be NaN, which then is the result; without branches, so that loops are vectors. */
#define NO_LESS(a, low)  ((((a) < (low)) | ((low) != (low))) ? (low) : (a))
#define NO_MORE(a, high) ((((a) > (high)) | ((high) != (high))) ? (high) : (a))
/* a, within what is so far out that the formula has its limits, which infinities would make NaN; of several WITHINs
 * compilers make one. */
#define AT_LEAST(a, low)     ((a) < (T)(low) ? (T)(low) : (a))
#define WITHIN(a, low, high) FN(limit)(a, (T)(low), (T)(high))
#define X                    x
#define Y                    y
#define P                    p
#define Q                    q
#define NUMBER_P             p /* P as a number in both */
/* Of activations at z: d silu; d gelu; d gelu_tanh; d mish */
#define SILU_D(z) (SIGMOID(z) * (1 + (z) * (1 - SIGMOID(z))))
#define GELU_D(z) \
    ((T)0.5 * (1 + ERF((z) * (T)0.70710678118654752440)) + (z) * ((T)0.39894228040143267794 * EXP((T)-0.5 * (z) * (z))))
#define GELU_TANH_T(z) TANH((T)0.79788456080286535588 * ((z) + (T)0.044715 * (z) * (z) * (z)))
#define GELU_TANH_D(z)                                                                      \
    ((T)0.5 * (1 + GELU_TANH_T(z)) + (T)0.5 * (z) * (1 - GELU_TANH_T(z) * GELU_TANH_T(z)) * \
                                         ((T)0.79788456080286535588 + (T)0.10703222440890037 * (z) * (z)))
/* d sinc, which is its series near 0, where the difference would cancel; the cosine of x less whole turns */
#define SINC_U(x) ((T)9.86960440108935861883 * (x) * (x))
#define SINC_NEAR(x)                    \
    ((T)-3.28986813369645287295 * (x) * \
     (1 - SINC_U(x) / 10 * (1 - SINC_U(x) / 28 * (1 - SINC_U(x) / 54 * (1 - SINC_U(x) / 88)))))
#define SINC_COS(x) FN(cos)((T)3.14159265358979323846 * ((x)-2 * FN(rint)((T)0.5 * (x))))
#define SINC_D(x)   (FN(abs)(x) < (T)0.1 ? SINC_NEAR(x) : (SINC_COS(x) - FN(sinc)(x)) / (x))
/* With e = e^z and n = e (e + 2), of which tanh(softplus(z)) is n / (n + 2). */
#define MISH_N(z) (EXP(z) * (EXP(z) + 2))
#define MISH_D(z) ((MISH_N(z) + 4 * (z)*EXP(z) * (1 + EXP(z)) / (MISH_N(z) + 2)) / (MISH_N(z) + 2))
