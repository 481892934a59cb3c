/* prefix.h - the words of the derivative columns as scalar C over T (see autograd/rules/pointwise.c for
 * the same words as public ops). FN and T are the including file's. */
#define ADD(a, b)      ((a) + (b))
#define SUB(a, b)      ((a) - (b))
#define MUL(a, b)      ((a) * (b))
#define DIV(a, b)      ((a) / (b))
#define NEG(a)         (-(a))
#define RECIPROCAL(a)  (1 / (a))
#define SQUARE(a)      ((a) * (a))
#define RSQRT(a)       (1 / FN(sqrt)(a))
#define ABS(a)         FN(abs)(a)
#define SIGN(a)        ((T)(((a) > 0) - ((a) < 0)))
#define EXP(a)         FN(exp)(a)
#define SIN(a)         FN(sin)(a)
#define COS(a)         FN(cos)(a)
#define SINH(a)        FN(sinh)(a)
#define COSH(a)        FN(cosh)(a)
#define TANH(a)        FN(tanh)(a)
#define ERF(a)         FN(erf)(a)
#define SIGMOID(a)     FN(sigmoid)(a)
#define SOFTPLUS(a)    (((a) > 0 ? (a) : 0) + FN(log1p)(FN(exp)(-FN(abs)(a))))
#define DIGAMMA(a)     FN(digamma)(a)
#define TRIGAMMA(a)    FN(trigamma)(a)
#define POLYGAMMA(a, n) FN(polygamma)(a, (T)(n))
#define LT(a, b)       ((a) < (b))
#define LE(a, b)       ((a) <= (b))
#define GT(a, b)       ((a) > (b))
#define GE(a, b)       ((a) >= (b))
#define SEL(c, a, b)   ((c) ? (a) : (b))
#define C(v)           ((T)(v))
#define X              x
#define Y              y
#define P              p
#define Q              q
#define NUMBER_P       p /* P as a number in both */
/* s = sigmoid(x): d silu; t = tanh(u): d gelu_tanh; t = tanh(softplus(x)): d mish */
#define SILU_D(s)      ((s) * (1 + x * (1 - (s))))
#define GELU_TANH_D(t) ((T)0.5 * (1 + (t)) + (T)0.5 * x * (1 - (t) * (t)) *                         \
                        ((T)0.79788456080286535588 + (T)0.10703222440890037 * x * x))
/* u = (pi x)^2: d sinc, which is its series near 0, where the difference would cancel */
#define SINC_D(u)      (FN(abs)(x) < (T)0.1                                                        \
                            ? (T)-3.28986813369645287295 * x *                                     \
                                  (1 - (u) / 10 * (1 - (u) / 28 * (1 - (u) / 54 * (1 - (u) / 88))))\
                            : (FN(cos)((T)3.14159265358979323846 * x) - FN(sinc)(x)) / x)
#define MISH_D(t)      ((t) + x * (1 - (t) * (t)) * FN(sigmoid)(x))
