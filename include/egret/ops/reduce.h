/* reduce.h - reductions over chosen axes, and running sums along one.
 *
 * Axes are named by .axes, negative ones counted from the end; none named means all of them. The reduced
 * axes go, or stay with size 1 if .keepdim: eg_sum(x, .axes = EG_AXES(0, -1), .keepdim = true). Any
 * strides are taken as they are, and a packed order such as channels-last goes on to what is left.
 * A 0-dim tensor counts as a line of one: axis 0, or -1, is one it has.
 * EG_ESHAPE: an axis outside the rank or named twice. f16 and bf16 accumulate in f32 or f64. The order of
 * additions depends on the shape alone, so results repeat bit by bit, whatever the number of threads. */
#ifndef EGRET_OPS_REDUCE_H
#define EGRET_OPS_REDUCE_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* Zero-initialised: all axes, which then go. */
typedef struct eg_reduce_options {
    size_t size;
    eg_axes axes; /* none: all */
    bool keepdim; /* reduced axes stay with size 1 */
    /* sum, prod, max and min, EG_EINVAL for others: as if there were one element more, converted like eg_full's; so
     * extremes of nothing are this one. NumPy's initial. */
    bool has_initial;
    double initial;
} eg_reduce_options;
#define EG_REDUCE_(function, x, ...) function(x, EG_OPTIONS_(eg_reduce_options, __VA_ARGS__))
#define EG_REDUCE(function, ...)     EG_REDUCE_(function, __VA_ARGS__, )

/* ---- sums and products -------------------------------------------------------------------------- */

/* Sum of the elements, any dtype; integers and bools give i64, an empty sum is 0. Floats are added in
 * blocks, which are added in f64.
 * grad: dx = dy expanded    saves nothing */
EG_API eg_tensor *eg_sum_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_sum(...) EG_REDUCE(eg_sum_with, __VA_ARGS__)

/* Sum over count; NaN for no elements. Integers and bools become f32 first, so the mean of a comparison is
 * the share that holds.
 * grad: dx = dy / count, expanded    saves nothing */
EG_API eg_tensor *eg_mean_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_mean(...) EG_REDUCE(eg_mean_with, __VA_ARGS__)

/* Product of the elements, any dtype; integers and bools give i64, an empty product is 1.
 * grad: dx_i = dy * product of the others, also where some are 0    saves x */
EG_API eg_tensor *eg_prod_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_prod(...) EG_REDUCE(eg_prod_with, __VA_ARGS__)

/* How many elements are not 0 (NaN is not), any dtype, as i64. No gradient. */
EG_API eg_tensor *eg_count_nonzero_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_count_nonzero(...) EG_REDUCE(eg_count_nonzero_with, __VA_ARGS__)

/* Whether any element is, or all elements are, not 0; any dtype, bool. Of nothing: false, true. */
EG_API eg_tensor *eg_any_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_any(...) EG_REDUCE(eg_any_with, __VA_ARGS__)
EG_API eg_tensor *eg_all_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_all(...) EG_REDUCE(eg_all_with, __VA_ARGS__)

/* log of the sum of e^x, without overflow; floats, others become f32 first. Rows of -inf, and no elements,
 * give -inf; a row with +inf gives +inf.
 * grad: dx = dy e^(x - y), 0 in rows of -inf    saves x and y */
EG_API eg_tensor *eg_logsumexp_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_logsumexp(...) EG_REDUCE(eg_logsumexp_with, __VA_ARGS__)

/* ---- extremes ----------------------------------------------------------------------------------- */

/* Largest and smallest element, any dtype, kept; a NaN wins. EG_ESHAPE for an axis of size 0 without an
 * initial value: eg_max(x, .has_initial = true, .initial = -INFINITY).
 * grad: dy, shared equally among the elements that are the extreme; half of it is an equal initial value's
 * saves x and y */
EG_API eg_tensor *eg_max_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_max(...) EG_REDUCE(eg_max_with, __VA_ARGS__)
EG_API eg_tensor *eg_min_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_min(...) EG_REDUCE(eg_min_with, __VA_ARGS__)

/* Where the largest or smallest element is, any dtype, as i64: its first place along the one axis given,
 * or in row-major order if none is. The first NaN wins. EG_ESHAPE for an axis of size 0 and for more
 * than one axis. No gradient. */
EG_API eg_tensor *eg_argmax_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_argmax(...) EG_REDUCE(eg_argmax_with, __VA_ARGS__)
EG_API eg_tensor *eg_argmin_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_argmin(...) EG_REDUCE(eg_argmin_with, __VA_ARGS__)

/* ---- norms -------------------------------------------------------------------------------------- */

typedef struct eg_norm_options {
    size_t size;
    eg_axes axes;
    bool keepdim;
    double p; /* 0: 2; EG_ZERO counts what is not 0. INFINITY and -INFINITY: the largest and smallest |x| */
} eg_norm_options;

/* (sum |x|^p)^(1/p); floats, others become f32 first. Squares are added in f64, so that f32 does not
 * overflow. Of nothing 0, but EG_ESHAPE for p = -INFINITY. EG_EINVAL for p = NaN.
 * grad: dx = dy sign(x) (|x| / y)^(p-1), 0 where x = 0 or y = 0; for an infinite p as for eg_max
 * saves x and y */
EG_API eg_tensor *eg_norm_with(eg_tensor *x, const eg_norm_options *options);
#define eg_norm(...)     EG_NORM_(__VA_ARGS__, )
#define EG_NORM_(x, ...) eg_norm_with(x, EG_OPTIONS_(eg_norm_options, __VA_ARGS__))

/* ---- spread ------------------------------------------------------------------------------------- */

typedef struct eg_var_options {
    size_t size;
    eg_axes axes;
    bool keepdim;
    bool biased; /* divide by the count n instead of n - 1 */
} eg_var_options;

/* sum (x - mean)^2 / (n - 1), or / n if .biased; floats, others become f32 first. Blocks are centred on
 * their own means and joined (Chan, Golub, LeVeque 1979, "Updating Formulae and a Pairwise Algorithm for
 * Computing Sample Variances"), so a large mean costs no digits. NaN for n = 0, and for n = 1 unless
 * .biased. eg_std is its square root.
 * grad: dx = 2 dy (x - mean) / (n - 1); of eg_std dy (x - mean) / (y (n - 1)), 0 where y = 0
 * saves x; eg_std also y */
EG_API eg_tensor *eg_var_with(eg_tensor *x, const eg_var_options *options);
#define eg_var(...) EG_VAR_(eg_var_with, __VA_ARGS__, )
EG_API eg_tensor *eg_std_with(eg_tensor *x, const eg_var_options *options);
#define eg_std(...)               EG_VAR_(eg_std_with, __VA_ARGS__, )
#define EG_VAR_(function, x, ...) function(x, EG_OPTIONS_(eg_var_options, __VA_ARGS__))

/* ---- along one axis, same shape ------------------------------------------------------------------ */

/* Running sum and product: y_i from x_0 .. x_i, any dtype; integers and bools give i64; accumulated in
 * f64. From the other end: slice with step -1 before and after.
 * grad of cumsum: dx_i = sum of dy_j, j >= i    saves nothing
 * grad of cumprod: dx_i = sum of dy_j y_j / x_i, j >= i, without the division    saves x and y */
EG_API eg_tensor *eg_cumsum(eg_tensor *x, int axis);
EG_API eg_tensor *eg_cumprod(eg_tensor *x, int axis);
/* Running maximum and minimum, any dtype, and where along the axis they were (i64), the last of equal ones;
 * NaN from the first NaN on. Results that are not wanted may be NULL; both are the scope's.
 * grad: dy added up at the indices    saves these */
EG_API eg_status eg_cummax(eg_tensor *x, int axis, eg_tensor **values, eg_tensor **indices);
EG_API eg_status eg_cummin(eg_tensor *x, int axis, eg_tensor **values, eg_tensor **indices);
/* x_{i+1} - x_i, one shorter along the axis; EG_ESHAPE for an axis of size 0. */
EG_API eg_tensor *eg_diff(eg_tensor *x, int axis);

EG_END_DECLS

#endif
