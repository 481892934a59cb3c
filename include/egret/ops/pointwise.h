/* pointwise.h - element by element, any shapes that broadcast (NumPy's rule), any layout: a packed order
 * such as channels-last is kept.
 *
 * Dtypes: [f] floats, integers and bools become f32; [n] any number, kept; [b] integers and bool; [t] any,
 * the result is bool. Two tensors are brought to one dtype first (eg_promote). f16 and bf16 compute in
 * f32. NaN gives NaN where nothing else is said, infinities the limit if there is one; special values and
 * signs of zero are NumPy's where it has the function, else the array API's, else PyTorch's.
 * Every op of this header also has
 *
 *     eg_<op>_(x, ...)            in place: writes over x and returns it. The result must have x's shape
 *                                 and dtype, to which other operands are converted: EG_EDTYPE for floats
 *                                 beside integers, numbers beside bool; never recorded; EG_ESTATE on a
 *                                 tensor an open tape follows, EG_ESHAPE on one with elements that share
 *                                 memory (eg_data_mut)
 *     eg_<op>_scalar(a, number)   the second operand a number: a double
 *     eg_<op>_scalar_(a, number)
 *     eg_<op>_int(a, number)      the number an int64_t, of which no digit is lost; not for [f]
 *     eg_<op>_int_(a, number)
 *
 * A number is weak: it takes a's dtype, rounded to it if that is a float; a half multiplies with or adds a number
 * outside its normal range in f32, and rounds the result. Beside integers
 *   - comparisons are exact: each element is compared with the number as it is, a fraction, NaN or a number
 *     out of the dtype's range too; logic asks whether the number is 0
 *   - arithmetic with a whole number the dtype cannot hold is EG_EINVAL; beside bool a whole number is i64
 *   - arithmetic with another number (a fraction, NaN, an infinity) is done in f32, and so is all of [f]. In
 *     place, where that cannot be the result, it is EG_EDTYPE
 * A 0-dim tensor is not a number but a tensor: it is promoted as eg_promote says, so that beside a tensor
 * with axes of its own category it is converted to that one's dtype, as by eg_cast.
 */
#ifndef EGRET_OPS_POINTWISE_H
#define EGRET_OPS_POINTWISE_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- one tensor --------------------------------------------------------------------------- */
/* [n]  -x; masks have eg_logical_not     saves nothing */
EG_API eg_tensor *eg_neg(eg_tensor *x);
EG_API eg_tensor *eg_neg_(eg_tensor *x);
/* [n]  |x|     dx = dy sign(x)     saves x */
EG_API eg_tensor *eg_abs(eg_tensor *x);
EG_API eg_tensor *eg_abs_(eg_tensor *x);
/* [n]  -1, 0 or 1; NaN stays     dx = 0 */
EG_API eg_tensor *eg_sign(eg_tensor *x);
EG_API eg_tensor *eg_sign_(eg_tensor *x);
/* [n]  x^2     saves x */
EG_API eg_tensor *eg_square(eg_tensor *x);
EG_API eg_tensor *eg_square_(eg_tensor *x);
/* [f]  1 / x     dx = -dy y^2     saves y */
EG_API eg_tensor *eg_reciprocal(eg_tensor *x);
EG_API eg_tensor *eg_reciprocal_(eg_tensor *x);
/* [f]  NaN below 0     dx = dy / 2y     saves y */
EG_API eg_tensor *eg_sqrt(eg_tensor *x);
EG_API eg_tensor *eg_sqrt_(eg_tensor *x);
/* [f]  1 / sqrt(x)     dx = -dy y^3 / 2     saves y */
EG_API eg_tensor *eg_rsqrt(eg_tensor *x);
EG_API eg_tensor *eg_rsqrt_(eg_tensor *x);
/* [f]  the real cube root     saves y */
EG_API eg_tensor *eg_cbrt(eg_tensor *x);
EG_API eg_tensor *eg_cbrt_(eg_tensor *x);

/* ---- exponentials and logarithms ----------------------------------------------------------------- */
/* [f]  e^x     dx = dy y     saves y */
EG_API eg_tensor *eg_exp(eg_tensor *x);
EG_API eg_tensor *eg_exp_(eg_tensor *x);
/* [f]  2^x     saves y */
EG_API eg_tensor *eg_exp2(eg_tensor *x);
EG_API eg_tensor *eg_exp2_(eg_tensor *x);
/* [f]  e^x - 1, exact near 0     saves y */
EG_API eg_tensor *eg_expm1(eg_tensor *x);
EG_API eg_tensor *eg_expm1_(eg_tensor *x);
/* [f]  natural; -inf at 0, NaN below     dx = dy / x     saves x */
EG_API eg_tensor *eg_log(eg_tensor *x);
EG_API eg_tensor *eg_log_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_log2(eg_tensor *x);
EG_API eg_tensor *eg_log2_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_log10(eg_tensor *x);
EG_API eg_tensor *eg_log10_(eg_tensor *x);
/* [f]  log(1 + x), exact near 0     saves x */
EG_API eg_tensor *eg_log1p(eg_tensor *x);
EG_API eg_tensor *eg_log1p_(eg_tensor *x);
/* [f]  log(x / (1 - x)), the inverse of sigmoid; NaN outside 0..1     dx = dy / (x (1 - x))     saves x */
EG_API eg_tensor *eg_logit(eg_tensor *x);
EG_API eg_tensor *eg_logit_(eg_tensor *x);

/* ---- trigonometric, in radians, and hyperbolic; each saves x, but tan and tanh y ----------------- */
/* [f] */
EG_API eg_tensor *eg_sin(eg_tensor *x);
EG_API eg_tensor *eg_sin_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_cos(eg_tensor *x);
EG_API eg_tensor *eg_cos_(eg_tensor *x);
/* [f]  dx = dy (1 + y^2) */
EG_API eg_tensor *eg_tan(eg_tensor *x);
EG_API eg_tensor *eg_tan_(eg_tensor *x);
/* [f]  sin(pi x) / (pi x), 1 at 0, exactly 0 at other integers; NaN at infinities, as NumPy has it */
EG_API eg_tensor *eg_sinc(eg_tensor *x);
EG_API eg_tensor *eg_sinc_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_asin(eg_tensor *x);
EG_API eg_tensor *eg_asin_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_acos(eg_tensor *x);
EG_API eg_tensor *eg_acos_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_atan(eg_tensor *x);
EG_API eg_tensor *eg_atan_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_sinh(eg_tensor *x);
EG_API eg_tensor *eg_sinh_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_cosh(eg_tensor *x);
EG_API eg_tensor *eg_cosh_(eg_tensor *x);
/* [f]  dx = dy (1 - y^2) */
EG_API eg_tensor *eg_tanh(eg_tensor *x);
EG_API eg_tensor *eg_tanh_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_asinh(eg_tensor *x);
EG_API eg_tensor *eg_asinh_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_acosh(eg_tensor *x);
EG_API eg_tensor *eg_acosh_(eg_tensor *x);
/* [f] */
EG_API eg_tensor *eg_atanh(eg_tensor *x);
EG_API eg_tensor *eg_atanh_(eg_tensor *x);

/* ---- error and gamma functions; each saves x ----------------------------------------------------- */
/* [f]  2/sqrt(pi) integral of e^-t^2 from 0 to x */
EG_API eg_tensor *eg_erf(eg_tensor *x);
EG_API eg_tensor *eg_erf_(eg_tensor *x);
/* [f]  1 - erf(x), exact for large x */
EG_API eg_tensor *eg_erfc(eg_tensor *x);
EG_API eg_tensor *eg_erfc_(eg_tensor *x);
/* [f]  the inverse of erf: infinite at -1 and 1, NaN outside     saves y */
EG_API eg_tensor *eg_erfinv(eg_tensor *x);
EG_API eg_tensor *eg_erfinv_(eg_tensor *x);
/* [f]  log |Gamma(x)|     dx = dy digamma(x) */
EG_API eg_tensor *eg_lgamma(eg_tensor *x);
EG_API eg_tensor *eg_lgamma_(eg_tensor *x);
/* [f]  d/dx log Gamma(x)     dx = dy trigamma(x) */
EG_API eg_tensor *eg_digamma(eg_tensor *x);
EG_API eg_tensor *eg_digamma_(eg_tensor *x);
/* [f]  d/dx digamma(x)     dx = dy polygamma(x, 2) */
EG_API eg_tensor *eg_trigamma(eg_tensor *x);
EG_API eg_tensor *eg_trigamma_(eg_tensor *x);
/* [f]  d^n/dx^n digamma(x), n a whole number from 0 on, else EG_EINVAL. At the poles 0, -1, ... of n > 0 it is
 * infinite with the sign of (-1)^(n+1)     dx = dy polygamma(x, n + 1)     Abramowitz and Stegun 6.4 */
EG_API eg_tensor *eg_polygamma(eg_tensor *x, double n);
EG_API eg_tensor *eg_polygamma_(eg_tensor *x, double n);

/* ---- rounding; dx = 0 (frac: dy) ----------------------------------------------------------------- */
/* [n]  down */
EG_API eg_tensor *eg_floor(eg_tensor *x);
EG_API eg_tensor *eg_floor_(eg_tensor *x);
/* [n]  up */
EG_API eg_tensor *eg_ceil(eg_tensor *x);
EG_API eg_tensor *eg_ceil_(eg_tensor *x);
/* [n]  to the nearest integer, halves to even */
EG_API eg_tensor *eg_round(eg_tensor *x);
EG_API eg_tensor *eg_round_(eg_tensor *x);
/* [n]  towards 0 */
EG_API eg_tensor *eg_trunc(eg_tensor *x);
EG_API eg_tensor *eg_trunc_(eg_tensor *x);
/* [f]  x - trunc(x), with the sign of x; 0 of infinities */
EG_API eg_tensor *eg_frac(eg_tensor *x);
EG_API eg_tensor *eg_frac_(eg_tensor *x);

/* ---- tests and bits; no gradient ----------------------------------------------------------------- */
/* [t] */
EG_API eg_tensor *eg_isnan(eg_tensor *x);
EG_API eg_tensor *eg_isnan_(eg_tensor *x);
/* [t] */
EG_API eg_tensor *eg_isinf(eg_tensor *x);
EG_API eg_tensor *eg_isinf_(eg_tensor *x);
/* [t] */
EG_API eg_tensor *eg_isfinite(eg_tensor *x);
EG_API eg_tensor *eg_isfinite_(eg_tensor *x);
/* [t]  whether the sign is minus, that of zeros and NaN too */
EG_API eg_tensor *eg_signbit(eg_tensor *x);
EG_API eg_tensor *eg_signbit_(eg_tensor *x);
/* [t]  x == 0 */
EG_API eg_tensor *eg_logical_not(eg_tensor *x);
EG_API eg_tensor *eg_logical_not_(eg_tensor *x);
/* [b]  ~x; on bool the negation */
EG_API eg_tensor *eg_bitwise_not(eg_tensor *x);
EG_API eg_tensor *eg_bitwise_not_(eg_tensor *x);

/* ---- limits; dx = dy inside and at a limit, 0 outside     each saves x --------------------------- */
/* A limit of NaN makes floats NaN. Of integers a fraction is rounded inwards: up if it is a lower limit, down
 * if an upper one; limits outside the dtype limit nothing. EG_EINVAL: a limit that is NaN beside integers, a
 * lower one above all integers of the dtype, an upper one below all. Integers beyond 2^53 need the functions that take
 * integers as limits. */
/* [n]  min(max(x, low), high), which is high where low is above it; NaN stays */
EG_API eg_tensor *eg_clamp(eg_tensor *x, double low, double high);
EG_API eg_tensor *eg_clamp_(eg_tensor *x, double low, double high);
EG_API eg_tensor *eg_clamp_int(eg_tensor *x, int64_t low, int64_t high);
EG_API eg_tensor *eg_clamp_int_(eg_tensor *x, int64_t low, int64_t high);
/* [n]  max(x, low) */
EG_API eg_tensor *eg_clamp_min(eg_tensor *x, double low);
EG_API eg_tensor *eg_clamp_min_(eg_tensor *x, double low);
EG_API eg_tensor *eg_clamp_min_int(eg_tensor *x, int64_t low);
EG_API eg_tensor *eg_clamp_min_int_(eg_tensor *x, int64_t low);
/* [n]  min(x, high) */
EG_API eg_tensor *eg_clamp_max(eg_tensor *x, double high);
EG_API eg_tensor *eg_clamp_max_(eg_tensor *x, double high);
EG_API eg_tensor *eg_clamp_max_int(eg_tensor *x, int64_t high);
EG_API eg_tensor *eg_clamp_max_int_(eg_tensor *x, int64_t high);

/* ---- activations; each saves x unless it says y -------------------------------------------------- */
/* [n]  max(x, 0)     dx = dy, 0 for y <= 0     saves y */
EG_API eg_tensor *eg_relu(eg_tensor *x);
EG_API eg_tensor *eg_relu_(eg_tensor *x);
/* [n]  min(max(x, 0), 6) */
EG_API eg_tensor *eg_relu6(eg_tensor *x);
EG_API eg_tensor *eg_relu6_(eg_tensor *x);
/* [f]  x >= 0 ? x : slope x */
EG_API eg_tensor *eg_leaky_relu(eg_tensor *x, double slope);
EG_API eg_tensor *eg_leaky_relu_(eg_tensor *x, double slope);
/* [f]  x > 0 ? x : alpha (e^x - 1)     Clevert et al. 2015 */
EG_API eg_tensor *eg_elu(eg_tensor *x, double alpha);
EG_API eg_tensor *eg_elu_(eg_tensor *x, double alpha);
/* [f]  x > 0 ? x : alpha (e^(x / alpha) - 1); EG_EINVAL for an alpha of 0     Barron 2017 */
EG_API eg_tensor *eg_celu(eg_tensor *x, double alpha);
EG_API eg_tensor *eg_celu_(eg_tensor *x, double alpha);
/* [f]  1.0507 (x > 0 ? x : 1.67326 (e^x - 1))     Klambauer et al. 2017 */
EG_API eg_tensor *eg_selu(eg_tensor *x);
EG_API eg_tensor *eg_selu_(eg_tensor *x);
/* [f]  x Phi(x) = x/2 (1 + erf(x / sqrt 2))     Hendrycks and Gimpel 2016 */
EG_API eg_tensor *eg_gelu(eg_tensor *x);
EG_API eg_tensor *eg_gelu_(eg_tensor *x);
/* [f]  x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))     the same paper's approximation */
EG_API eg_tensor *eg_gelu_tanh(eg_tensor *x);
EG_API eg_tensor *eg_gelu_tanh_(eg_tensor *x);
/* [f]  1 / (1 + e^-x)     dx = dy y (1 - y)     saves y */
EG_API eg_tensor *eg_sigmoid(eg_tensor *x);
EG_API eg_tensor *eg_sigmoid_(eg_tensor *x);
/* [f]  log sigmoid(x) */
EG_API eg_tensor *eg_log_sigmoid(eg_tensor *x);
EG_API eg_tensor *eg_log_sigmoid_(eg_tensor *x);
/* [f]  x sigmoid(x)     also called swish */
EG_API eg_tensor *eg_silu(eg_tensor *x);
EG_API eg_tensor *eg_silu_(eg_tensor *x);
/* [f]  log(1 + e^x) */
EG_API eg_tensor *eg_softplus(eg_tensor *x);
EG_API eg_tensor *eg_softplus_(eg_tensor *x);
/* [f]  x / (1 + |x|) */
EG_API eg_tensor *eg_softsign(eg_tensor *x);
EG_API eg_tensor *eg_softsign_(eg_tensor *x);
/* [f]  x tanh(softplus(x))     Misra 2019 */
EG_API eg_tensor *eg_mish(eg_tensor *x);
EG_API eg_tensor *eg_mish_(eg_tensor *x);
/* [f]  min(max(x / 6 + 1/2, 0), 1) */
EG_API eg_tensor *eg_hardsigmoid(eg_tensor *x);
EG_API eg_tensor *eg_hardsigmoid_(eg_tensor *x);
/* [f]  x hardsigmoid(x)     Howard et al. 2019 */
EG_API eg_tensor *eg_hardswish(eg_tensor *x);
EG_API eg_tensor *eg_hardswish_(eg_tensor *x);
/* [f]  |x| <= lambda ? 0 : x; NaN stays, and all of x if lambda is below 0 */
EG_API eg_tensor *eg_hardshrink(eg_tensor *x, double lambda);
EG_API eg_tensor *eg_hardshrink_(eg_tensor *x, double lambda);
/* [f]  x shrunk towards 0 by lambda; NaN stays. EG_EINVAL for a lambda below 0 or NaN */
EG_API eg_tensor *eg_softshrink(eg_tensor *x, double lambda);
EG_API eg_tensor *eg_softshrink_(eg_tensor *x, double lambda);
/* [f]  x - tanh(x) */
EG_API eg_tensor *eg_tanhshrink(eg_tensor *x);
EG_API eg_tensor *eg_tanhshrink_(eg_tensor *x);
/* [f]  x <= limit ? value : x; NaN stays */
EG_API eg_tensor *eg_threshold(eg_tensor *x, double limit, double value);
EG_API eg_tensor *eg_threshold_(eg_tensor *x, double limit, double value);

/* ---- two tensors -------------------------------------------------------------------------- */

/* ---- arithmetic ---------------------------------------------------------------------------------- */
/* [n]  a + b; bool: or     saves nothing */
EG_API eg_tensor *eg_add(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_add_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_add_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_add_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_add_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_add_int_(eg_tensor *a, int64_t b);
/* [n]  a - b; not for bool with bool, for which there is eg_logical_xor     saves nothing */
EG_API eg_tensor *eg_sub(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_sub_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_sub_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_sub_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_sub_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_sub_int_(eg_tensor *a, int64_t b);
/* [n]  a b; bool: and     saves a for db, b for da */
EG_API eg_tensor *eg_mul(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_mul_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_mul_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_mul_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_mul_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_mul_int_(eg_tensor *a, int64_t b);
/* [f]  a / b     da = dy / b, db = -dy y / b     saves b, y */
EG_API eg_tensor *eg_div(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_div_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_div_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_div_scalar_(eg_tensor *a, double b);
/* [n]  the floor of the exact a / b, a zero with its sign; a / b where b is 0, of integers 0     no gradient */
EG_API eg_tensor *eg_floor_divide(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_floor_divide_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_floor_divide_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_floor_divide_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_floor_divide_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_floor_divide_int_(eg_tensor *a, int64_t b);
/* [n]  a - b floor(a / b), the quotient exact: the sign of b, that of a zero too; NaN where b is 0, of integers
 * 0     db = -dy floor(a / b)     saves a, b */
EG_API eg_tensor *eg_remainder(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_remainder_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_remainder_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_remainder_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_remainder_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_remainder_int_(eg_tensor *a, int64_t b);
/* [n]  a - b trunc(a / b), the quotient exact: the sign of a; NaN where b is 0, of integers 0
 * db = -dy trunc(a / b)     saves a, b */
EG_API eg_tensor *eg_fmod(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_fmod_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_fmod_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_fmod_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_fmod_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_fmod_int_(eg_tensor *a, int64_t b);
/* [n]  a^b; a negative exponent of an integer other than 1 and -1 is EG_EINVAL (on a device this waits)     saves
 * a, b, y */
EG_API eg_tensor *eg_pow(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_pow_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_pow_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_pow_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_pow_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_pow_int_(eg_tensor *a, int64_t b);
/* [n]  the larger; NaN if either is, and then dy goes to both; equal ones share dy     saves a, b */
EG_API eg_tensor *eg_maximum(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_maximum_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_maximum_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_maximum_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_maximum_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_maximum_int_(eg_tensor *a, int64_t b);
/* [n]  the smaller, likewise */
EG_API eg_tensor *eg_minimum(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_minimum_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_minimum_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_minimum_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_minimum_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_minimum_int_(eg_tensor *a, int64_t b);
/* [n]  the larger, or the one that is a number; equal ones share dy     saves a, b */
EG_API eg_tensor *eg_fmax(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_fmax_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_fmax_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_fmax_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_fmax_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_fmax_int_(eg_tensor *a, int64_t b);
/* [n]  the smaller, likewise */
EG_API eg_tensor *eg_fmin(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_fmin_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_fmin_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_fmin_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_fmin_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_fmin_int_(eg_tensor *a, int64_t b);
/* [f]  |a| with the sign of b; dy flows to a, but for a = 0     saves a, y */
EG_API eg_tensor *eg_copysign(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_copysign_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_copysign_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_copysign_scalar_(eg_tensor *a, double b);
/* [n]  0 for a < 0, b for a = 0, 1 for a > 0, NaN stays; dy flows to b     saves a */
EG_API eg_tensor *eg_heaviside(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_heaviside_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_heaviside_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_heaviside_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_heaviside_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_heaviside_int_(eg_tensor *a, int64_t b);
/* [f]  a > 0 ? a : b a     saves a, b */
EG_API eg_tensor *eg_rectify(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_rectify_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_rectify_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_rectify_scalar_(eg_tensor *a, double b);
/* [f]  the angle of (b, a) in -pi..pi     saves a, b */
EG_API eg_tensor *eg_atan2(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_atan2_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_atan2_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_atan2_scalar_(eg_tensor *a, double b);
/* [f]  sqrt(a^2 + b^2)     saves a, b, y */
EG_API eg_tensor *eg_hypot(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_hypot_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_hypot_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_hypot_scalar_(eg_tensor *a, double b);
/* [f]  log(e^a + e^b)     saves a, b */
EG_API eg_tensor *eg_logaddexp(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_logaddexp_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_logaddexp_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_logaddexp_scalar_(eg_tensor *a, double b);
/* [f]  log2(2^a + 2^b)     saves a, b */
EG_API eg_tensor *eg_logaddexp2(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_logaddexp2_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_logaddexp2_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_logaddexp2_scalar_(eg_tensor *a, double b);
/* [f]  a log b; 0 where a is 0, whatever number b is     saves a, b */
EG_API eg_tensor *eg_xlogy(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_xlogy_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_xlogy_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_xlogy_scalar_(eg_tensor *a, double b);

/* ---- comparisons and logic; the result is bool, no gradient -------------------------------------- */
/* [t]  a == b */
EG_API eg_tensor *eg_eq(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_eq_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_eq_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_eq_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_eq_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_eq_int_(eg_tensor *a, int64_t b);
/* [t]  a != b */
EG_API eg_tensor *eg_ne(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_ne_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_ne_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_ne_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_ne_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_ne_int_(eg_tensor *a, int64_t b);
/* [t]  a < b */
EG_API eg_tensor *eg_lt(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_lt_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_lt_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_lt_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_lt_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_lt_int_(eg_tensor *a, int64_t b);
/* [t]  a <= b */
EG_API eg_tensor *eg_le(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_le_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_le_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_le_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_le_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_le_int_(eg_tensor *a, int64_t b);
/* [t]  a > b */
EG_API eg_tensor *eg_gt(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_gt_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_gt_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_gt_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_gt_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_gt_int_(eg_tensor *a, int64_t b);
/* [t]  a >= b */
EG_API eg_tensor *eg_ge(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_ge_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_ge_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_ge_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_ge_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_ge_int_(eg_tensor *a, int64_t b);
/* [t]  both not 0 */
EG_API eg_tensor *eg_logical_and(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_logical_and_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_logical_and_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_logical_and_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_logical_and_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_logical_and_int_(eg_tensor *a, int64_t b);
/* [t]  either not 0 */
EG_API eg_tensor *eg_logical_or(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_logical_or_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_logical_or_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_logical_or_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_logical_or_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_logical_or_int_(eg_tensor *a, int64_t b);
/* [t]  exactly one not 0 */
EG_API eg_tensor *eg_logical_xor(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_logical_xor_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_logical_xor_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_logical_xor_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_logical_xor_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_logical_xor_int_(eg_tensor *a, int64_t b);
/* [b] */
EG_API eg_tensor *eg_bitwise_and(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_bitwise_and_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_bitwise_and_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_bitwise_and_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_bitwise_and_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_bitwise_and_int_(eg_tensor *a, int64_t b);
/* [b] */
EG_API eg_tensor *eg_bitwise_or(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_bitwise_or_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_bitwise_or_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_bitwise_or_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_bitwise_or_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_bitwise_or_int_(eg_tensor *a, int64_t b);
/* [b] */
EG_API eg_tensor *eg_bitwise_xor(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_bitwise_xor_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_bitwise_xor_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_bitwise_xor_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_bitwise_xor_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_bitwise_xor_int_(eg_tensor *a, int64_t b);
/* [b]  a 2^b; 0 when b is negative or past 63 */
EG_API eg_tensor *eg_shift_left(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_shift_left_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_shift_left_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_shift_left_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_shift_left_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_shift_left_int_(eg_tensor *a, int64_t b);
/* [b]  a / 2^b rounded down; 0 or -1 when b is negative or past 63 */
EG_API eg_tensor *eg_shift_right(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_shift_right_(eg_tensor *a, eg_tensor *b);
EG_API eg_tensor *eg_shift_right_scalar(eg_tensor *a, double b);
EG_API eg_tensor *eg_shift_right_scalar_(eg_tensor *a, double b);
EG_API eg_tensor *eg_shift_right_int(eg_tensor *a, int64_t b);
EG_API eg_tensor *eg_shift_right_int_(eg_tensor *a, int64_t b);

/* ---- three tensors ------------------------------------------------------------------------ */
/* condition ? a : b; condition becomes bool, a and b one dtype     saves condition */
EG_API eg_tensor *eg_where(eg_tensor *condition, eg_tensor *a, eg_tensor *b);
/* a + weight (b - a), from the nearer of the two: weights of 0 and 1 give a and b
 * saves weight, and a and b for the gradient of weight */
EG_API eg_tensor *eg_lerp(eg_tensor *a, eg_tensor *b, eg_tensor *weight);

/* ---- compositions that know about axes or special values ---------------------------------- */
/* x > 0 ? x : weight x; weight has one element, or one per channel on axis 1. Gradients to both:
 * eg_rectify. EG_ESHAPE.     He et al. 2015 */
EG_API eg_tensor *eg_prelu(eg_tensor *x, eg_tensor *weight);
/* a sigmoid(b) of the halves a and b of x along the axis. EG_ESHAPE for an odd size.
 * Dauphin et al. 2017 */
EG_API eg_tensor *eg_glu(eg_tensor *x, int axis);
/* NaN and the infinities replaced by these numbers, in x's dtype; integers stay. dx = dy elsewhere */
EG_API eg_tensor *eg_nan_to_num(eg_tensor *x, double nan, double positive, double negative);

EG_END_DECLS

#endif
