/* test_range.c - results and gradients that fit their dtype although a step on the way to them would not: compositions
 * in halves, the ends of the range of f32 and f64, and loops over doubles that 1 is too small to change. */
#include <float.h>

#include "tests/egt.h"

static eg_tensor *of(eg_dtype t, double v)
{
    return eg_from_values(EG_SHAPE(1), t, &v);
}

static eg_tensor *list(eg_dtype t, int n, const double *v)
{
    return eg_from_values(EG_SHAPE(n), t, v);
}

/* ---- values ----------------------------------------------------------------------------------- */

static eg_tensor *box(double size, eg_dtype t)
{
    return eg_from_values(EG_SHAPE(1, 4), t, (double[]){size / 4, size / 4, size, size});
}

EGT(box_overlaps_of_halves_do_not_overflow)
{
    EGT_EQ(eg_item(eg_box_iou(box(400, EG_F16), box(400, EG_F16))), 1);
    EGT_EQ(eg_item(eg_box_giou(box(60000, EG_F16), box(60000, EG_F16))), 1);
    EGT_EQ(eg_item(eg_box_iou(box(0.004, EG_F16), box(0.004, EG_F16))), 1);
}

static eg_tensor *sides(eg_dtype t, double width, double height)
{
    return eg_from_values(EG_SHAPE(1, 4), t, (double[]){0, 0, width, height});
}

EGT(box_overlaps_of_f32_and_bf16_hold_at_both_ends_of_the_range)
{
    static const eg_dtype types[] = {EG_F32, EG_BF16};
    static const double sizes[] = {1, 0x1p66, 0x1p-100};
    for (int i = 0; i < 6; i++) {
        const eg_dtype t = types[i % 2];
        const double s = sizes[i / 2];
        EGT_NEAR(eg_item(eg_box_iou(sides(t, s, s), sides(t, s, s / 2))), 0.5, 0);
        EGT_NEAR(eg_item(eg_box_giou(sides(t, s, s), sides(t, s, s / 2))), 0.5, 0);
    }
    EGT_EQ(eg_item(eg_box_area(sides(EG_F32, 0x1p-100, 0x1p100))), 1);
    eg_tensor *all = eg_expand(sides(EG_F32, 0x1p100, 0x1p-100), EG_SHAPE(3, 4));
    EGT_EQ(eg_get(eg_box_area(all), 2), 1);
}

EGT(local_response_norm_of_f32_holds_where_squares_do_not)
{
    static const double scales[] = {1e25, 1e-25};
    for (int i = 0; i < 2; i++) {
        eg_tensor *x = eg_from_values(EG_SHAPE(1, 2, 1), EG_F32, (double[]){scales[i], 2 * scales[i]});
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, x);
        eg_tensor *y = eg_local_response_norm(x, .k = EG_ZERO, .beta = 0.5, .alpha = 1);
        EGT_NEAR(eg_get(y, 0), 1, 1e-6); /* x / sqrt((x^2 + (2 x)^2) / 5) */
        EGT_NEAR(eg_get(y, 1), 2, 1e-6);
        eg_tensor *dx = NULL;
        EGT_OK(eg_tape_gradients(tape, eg_sum(y), &x, 1, &dx));
        EGT_CHECK(isfinite(eg_get(dx, 0)) && isfinite(eg_get(dx, 1)));
    }
}

static eg_tensor *batch_norm(eg_tensor *x)
{
    return eg_batch_norm(x, NULL, NULL, NULL, NULL, .training = true, .eps = EG_ZERO);
}

static eg_tensor *group_norm(eg_tensor *x)
{
    return eg_group_norm(x, 2, NULL, NULL, .eps = EG_ZERO);
}

static eg_tensor *layer_norm(eg_tensor *x)
{
    return eg_layer_norm(x, NULL, NULL, .eps = EG_ZERO);
}

static eg_tensor *rms_norm(eg_tensor *x)
{
    return eg_rms_norm(x, NULL, .eps = EG_ZERO);
}

/* norm(x) and the gradient by x of its dot product with numbers. */
static void value_and_slope(eg_tensor *(*norm)(eg_tensor *), eg_tensor *x, eg_tensor **y, eg_tensor **dx)
{
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_seed(3);
    *y = norm(x);
    eg_tensor *by = eg_normal(eg_shape_of(x), 0, 1, EG_F32);
    EGT_OK(eg_tape_gradients(tape, *y, &x, 1, dx, .dy = by));
}

EGT(norms_of_f32_do_not_depend_on_the_scale)
{
    static eg_tensor *(*const norms[])(eg_tensor *) = {batch_norm, group_norm, layer_norm, rms_norm};
    eg_seed(5);
    eg_tensor *x = eg_normal(EG_SHAPE(3, 4, 5), 0.5, 1, EG_F32);
    for (int i = 0; i < 16; i++) {
        const double scale = i / 4 % 2 ? 0x1p-83 : 0x1p83;
        eg_tensor *y, *dx, *scaled_y, *scaled_dx, *scaled = eg_mul_scalar(x, scale);
        value_and_slope(norms[i % 4], x, &y, &dx);
        value_and_slope(norms[i % 4], i < 8 ? scaled : eg_channels_last(scaled), &scaled_y, &scaled_dx);
        EGT_NEAR(egt_distance(scaled_y, y), 0, 1e-5);
        EGT_NEAR(egt_distance(eg_mul_scalar(scaled_dx, scale), dx), 0, 1e-5);
    }
    EGT_CHECK(isnan(eg_get(layer_norm(list(EG_F32, 2, (double[]){INFINITY, 1})), 0)));
}

EGT(sums_of_f32_and_bf16_may_pass_the_range_on_the_way)
{
    static const eg_dtype types[] = {EG_F32, EG_BF16};
    for (int i = 0; i < 2; i++) {
        eg_tensor *row = eg_full(EG_SHAPE(600), 0x1.8p127, types[i]);
        EGT_EQ(eg_item(eg_mean(row)), 0x1.8p127);
        eg_tensor *both[] = {row, eg_neg(row)}, *rows = eg_stack(both, 2, 0), *columns = eg_stack(both, 2, 1);
        EGT_EQ(eg_item(eg_sum(rows)), 0);
        EGT_EQ(eg_get(eg_mean(rows, .axes = EG_AXES(1)), 1), -0x1.8p127);
        EGT_EQ(eg_get(eg_mean(rows, .axes = EG_AXES(0)), 599), 0);
        EGT_EQ(eg_get(eg_mean(columns, .axes = EG_AXES(0)), 1), -0x1.8p127);
        EGT_EQ(eg_item(eg_mean(eg_full(EG_SHAPE(70000, 3), 0x1.8p127, types[i]))), 0x1.8p127);
        EGT_EQ(eg_item(eg_sum(row)), INFINITY);
        EGT_CHECK(isnan(eg_item(eg_sum(eg_full(EG_SHAPE(9), NAN, types[i])))));
    }
    eg_tensor *pair = list(EG_F32, 2, (double[]){INFINITY, -3});
    EGT_EQ(eg_item(eg_mean(pair)), INFINITY);
}

EGT(lerp_reaches_both_ends)
{
    EGT_EQ(eg_item(eg_lerp(of(EG_F32, -3e38), of(EG_F32, 3e38), of(EG_F32, 0.5))), 0);
    EGT_NEAR(eg_item(eg_lerp(of(EG_F32, -0x1p127), of(EG_F32, 0x1p127), of(EG_F32, 0.75))), 0x1p126, 0);
    EGT_EQ(eg_item(eg_lerp(of(EG_F64, -0x1p1023), of(EG_F64, 0x1p1023), of(EG_F64, 0.25))), -0x1p1022);
    EGT_EQ(eg_item(eg_lerp(of(EG_BF16, -0x1p127), of(EG_BF16, 0x1p127), of(EG_BF16, 0))), -0x1p127);
    EGT_EQ(eg_item(eg_lerp(of(EG_F16, -60000), of(EG_F16, 60000), of(EG_F16, 0.5))), 0);
    EGT_EQ(eg_item(eg_lerp(of(EG_F32, 1e8), of(EG_F32, 1), of(EG_F32, 1))), 1);
    EGT_EQ(eg_item(eg_lerp(of(EG_F32, 1e8), of(EG_F32, 1), of(EG_F32, 0))), 1e8);
    EGT_EQ(eg_item(eg_lerp(of(EG_F64, 1), of(EG_F64, 1e300), of(EG_F64, 0.0))), 1);
}

EGT(losses_and_norms_of_halves_do_not_overflow)
{
    EGT_EQ(eg_item(eg_mse_loss(list(EG_F16, 4, (double[]){300, 0, 0, 0}), eg_zeros(EG_SHAPE(4), EG_F16))), 22496);
    eg_tensor *x = eg_full(EG_SHAPE(1, 5, 2), 3000, EG_F16);
    double wide = eg_get(eg_local_response_norm(eg_cast(x, EG_F64)), 0);
    EGT_NEAR(eg_get(eg_local_response_norm(x), 0), wide, 1e-3);
}

EGT(numbers_outside_the_range_of_a_half)
{
    EGT_NEAR(eg_item(eg_div_scalar(of(EG_F16, 60000), 1e6)), 0.06, 1e-4);
    EGT_NEAR(eg_item(eg_mul_scalar(of(EG_F16, 0.01), 1e6)), 10000, 1e-3);
    eg_tensor *x = of(EG_F16, 30000);
    EGT_CHECK(eg_mul_scalar_(x, 1e-7) == x);
    EGT_NEAR(eg_item(x) * 1000, 3, 1e-3);
    EGT_EQ(eg_dtype_of(eg_mul_scalar(x, 1e-9)), EG_F16);
    EGT_EQ(eg_item(eg_gt_scalar(x, 1e9)), 0);
}

EGT(einsum_of_halves_rounds_once)
{
    eg_tensor *a = list(EG_F16, 2, (double[]){60000, 60000}), *b = of(EG_F16, 0.001), *one = of(EG_F16, 0.5);
    EGT_NEAR(eg_item(eg_einsum("i,j->j", (eg_tensor *[]){a, b}, 2)), 120, 1e-3);
    EGT_NEAR(eg_item(eg_einsum("i,j,k->", (eg_tensor *[]){a, b, one}, 3)), 60, 1e-3);
    EGT_EQ(eg_dtype_of(eg_einsum("i,j->j", (eg_tensor *[]){a, b}, 2)), EG_F16);
}

/* ---- gradients -------------------------------------------------------------------------------- */

typedef eg_tensor *function(eg_tensor *a, eg_tensor *b);

/* The gradient of f(a, b) by one of them, for a dy of this value. */
static eg_tensor *gradient(function *f, eg_tensor *a, eg_tensor *b, int by, double dy)
{
    eg_tensor *xs[] = {a, b ? b : a}, *g[2] = {NULL};
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, a);
    if (b) {
        eg_tape_watch(tape, b);
    }
    eg_tensor *y = f(a, b);
    EGT_OK(eg_tape_gradients(tape, y, xs, b ? 2 : 1, g, .dy = eg_full_like(y, dy)));
    return g[by];
}

static eg_tensor *glu(eg_tensor *a, eg_tensor *b)
{
    (void)b;
    return eg_glu(a, 0);
}

static eg_tensor *prod(eg_tensor *a, eg_tensor *b)
{
    (void)b;
    return eg_prod(a);
}

static eg_tensor *cumprod(eg_tensor *a, eg_tensor *b)
{
    (void)b;
    return eg_cumprod(a, 0);
}

static eg_tensor *norm(eg_tensor *a, eg_tensor *b)
{
    (void)b;
    return eg_norm(a);
}

static eg_tensor *mean(eg_tensor *a, eg_tensor *b)
{
    (void)b;
    return eg_mean(a);
}

static eg_tensor *half_way(eg_tensor *a, eg_tensor *b)
{
    return eg_lerp(a, b, eg_scalar(0.5, EG_F16));
}

static eg_tensor *power_of_none(eg_tensor *const *in, int n, void *user)
{
    (void)n, (void)user;
    return eg_mul(eg_pow(in[0], eg_zeros(EG_SHAPE(2), EG_F64)), in[0]);
}

EGT(slopes_of_the_power_0_are_numbers_at_0)
{
    eg_tensor *x = list(EG_F64, 2, (double[]){0, 1.5});
    EGT_OK(eg_gradcheck(power_of_none, &x, 1, NULL, .second = true));
}

EGT(linear_of_bf16_rounds_once_with_a_bias_of_any_strides)
{
    eg_tensor *x = egt_random(EG_SHAPE(4, 16), EG_BF16, -2, 2), *weight = egt_random(EG_SHAPE(9, 16), EG_BF16, -2, 2);
    eg_tensor *bias = eg_select(egt_random(EG_SHAPE(9, 3), EG_BF16, -9, 9), 1, 1);
    eg_tensor *wide = eg_linear(eg_cast(x, EG_F32), eg_cast(weight, EG_F32), eg_cast(bias, EG_F32));
    EGT_EQ(egt_distance(eg_linear(x, weight, bias), eg_cast(wide, EG_BF16)), 0);
}

EGT(gradients_of_halves_do_not_overflow)
{
    EGT_EQ(eg_item(gradient(eg_div, of(EG_F16, 2000), of(EG_F16, 100), 1, 6000)), -1200);
    EGT_NEAR(eg_item(gradient(eg_atan2, of(EG_F16, 300), of(EG_F16, 600), 0, 1)) * 1000, 1.3333, 1e-3);
    EGT_EQ(eg_item(gradient(eg_mul, of(EG_F16, 1), eg_full(EG_SHAPE(2), 300, EG_F16), 0, 100)), 60000);
    EGT_EQ(eg_item(gradient(half_way, of(EG_F16, 1), of(EG_F16, 1), 0, 60000)), 30000);
    /* 2 * 60000 / 4 by x[0] where x[2] is 0.01: through products of 60000 and 2 */
    const double factors[] = {1, 60000, 2, 0.01};
    EGT_NEAR(eg_get(gradient(prod, list(EG_F16, 4, factors), NULL, 0, 1), 0), 1200, 1e-3);
    EGT_NEAR(eg_get(gradient(cumprod, list(EG_F16, 4, (double[]){0.01, 300, 300, 30}), NULL, 0, 0.01), 3), 9, 1e-2);
    const double halves[] = {300, 300, 0, 0}; /* a sigmoid's slope of 1/4 at 0 */
    EGT_EQ(eg_get(gradient(glu, list(EG_F16, 4, halves), NULL, 0, 400), 2), 30000);
    EGT_NEAR(eg_get(gradient(norm, list(EG_F16, 2, (double[]){60000, 60000}), NULL, 0, 1), 0), 0.7071, 1e-3);
    EGT_NEAR(eg_get(gradient(mean, eg_ones(EG_SHAPE(70000), EG_F16), NULL, 0, 7000), 9), 0.1, 1e-3);
}

EGT(gradients_of_f32_do_not_overflow)
{
    EGT_EQ(eg_item(gradient(eg_atan2, of(EG_F32, 0), of(EG_F32, 0), 0, 1)), 0);
    EGT_EQ(eg_item(gradient(eg_atan2, of(EG_F32, 0), of(EG_F32, 0), 1, 1)), 0);
    EGT_NEAR(eg_item(gradient(eg_atan2, of(EG_F32, 3e25), of(EG_F32, 4e25), 0, 1)) * 1e26, 1.6, 1e-5);
    EGT_NEAR(eg_item(gradient(eg_atan2, of(EG_F32, 3e-25), of(EG_F32, 4e-25), 1, 1)) * 1e-24, -1.2, 1e-5);
    EGT_NEAR(eg_item(gradient(eg_div, of(EG_F32, 1e30), of(EG_F32, 1e20), 1, 1e30)) * 1e-20, -1, 1e-5);
    const double factors[] = {1e-30, 1e-30, 7, 1e30, 1e30};
    eg_tensor *x = list(EG_F32, 5, factors);
    EGT_NEAR(eg_get(gradient(prod, x, NULL, 0, 1), 2), 1, 1e-5);
    EGT_NEAR(eg_get(gradient(cumprod, eg_slice(x, 0, 0, 5, 1), NULL, 0, 1), 2), 1, 1e-5);
}

static eg_tensor *angle(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    return eg_atan2(x[0], x[1]);
}

EGT(atan2_is_twice_differentiable)
{
    eg_tensor *x[] = {list(EG_F64, 3, (double[]){1, -2, 0.5}), list(EG_F64, 3, (double[]){2, 0.25, -1})};
    EGT_OK(eg_gradcheck(angle, x, 2, NULL, .second = true));
}

/* ---- draws ------------------------------------------------------------------------------------ */

/* Returns the share of class k among 3000 draws. */
static double share(double a, double b, double c, int k, bool logits)
{
    eg_seed(4);
    eg_tensor *y = eg_categorical(list(EG_F64, 3, (double[]){a, b, c}), 3000, .logits = logits);
    return eg_get(eg_bincount(y, NULL, 3), k);
}

EGT(categorical_draws_by_weights_at_the_ends_of_the_range)
{
    for (int k = 0; k < 3; k++) {
        EGT_CHECK(fabs(share(6e307, 6e307, 6e307, k, false) - 1000) < 120);
        EGT_CHECK(fabs(share(1.7e308, 1.7e308, 1.7e308, k, false) - 1000) < 120);
        EGT_CHECK(fabs(share(4.9e-324, 4.9e-324, 4.9e-324, k, false) - 1000) < 120);
        EGT_EQ(share(0.1, 0.2, 0.3, k, false), share(0.1 * 0x1p900, 0.2 * 0x1p900, 0.3 * 0x1p900, k, false));
    }
    EGT_REFUSED(eg_categorical(of(EG_F64, INFINITY), 1), EG_EINVAL, "probability");
    EGT_REFUSED(eg_categorical(of(EG_F64, 0), 1), EG_EINVAL, "sum to 0");
}

EGT(multinomial_draws_by_weights_at_the_ends_of_the_range)
{
    eg_seed(8);
    double first = 0, tiny = 4.9e-324;
    eg_tensor *rows = eg_expand(list(EG_F64, 4, (double[]){tiny, 0, 3 * tiny, 0}), EG_SHAPE(2000, 4));
    eg_tensor *y = eg_multinomial(rows, 2);
    for (int i = 0; i < 2000; i++) {
        first += eg_get(y, 2 * i) == 0;
        EGT_EQ(eg_get(y, 2 * i) + eg_get(y, 2 * i + 1), 2); /* both of them, and no class of weight 0 */
    }
    EGT_CHECK(fabs(first - 500) < 80);
}

/* ---- steps of optimizers ------------------------------------------------------------------------ */

static void step(eg_optim *o, eg_tensor *gradient)
{
    EGT_OK(eg_optim_step(o, &gradient));
}

EGT(radam_steps_without_the_second_moment_at_first)
{
    eg_tensor *p = eg_parameter(of(EG_F32, 1));
    eg_optim *o = eg_radam_new(((eg_parameters){&p, NULL, 1}), .lr = 1e-3);
    step(o, of(EG_F32, 3e25));
    EGT_NEAR(eg_item(p) / 3e22, -1, 1e-5);
    eg_optim_free(o);
    eg_release(p);
}

EGT(rprop_sees_the_signs_of_tiny_gradients)
{
    eg_tensor *p = eg_parameter(of(EG_F32, 0));
    eg_optim *o = eg_rprop_new(((eg_parameters){&p, NULL, 1}), .lr = 0.1);
    step(o, of(EG_F32, 1e-30));
    step(o, of(EG_F32, 1e-30));
    EGT_NEAR(eg_item(p), -0.1 - 0.12, 1e-5);
    eg_optim_free(o);
    eg_release(p);
}

/* ---- loops ------------------------------------------------------------------------------------ */

static double polygamma(double x, double n)
{
    return eg_item(eg_polygamma(of(EG_F64, x), n));
}

EGT(polygamma_of_any_argument_and_order_ends)
{
    static const double numbers[] = {1e-300, 1e-8, 1, 170, 1e8, 9e15, 1e17, 1e18, 1e100, DBL_MAX};
    enum { N = sizeof numbers / sizeof *numbers };
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            (void)polygamma(numbers[i], floor(numbers[k]));
            (void)polygamma(-numbers[i] - 0.25, floor(numbers[k]));
        }
    }
    EGT_CHECK(isinf(polygamma(1e17, 1e18)));
    /* (n - 1)! / x^n (1 + n / (2 x)) for x far above n */
    EGT_NEAR(polygamma(1e17, 3) * 1e51, 2 * (1 + 1.5e-17), 1e-12);
    /* psi(n, x + 1) - psi(n, x) is n! / x^(n + 1) with the sign (-1)^n */
    for (double x = 0.5; x < 40; x *= 3) {
        for (double n = 2; n < 30; n += 5) {
            double want = exp(lgamma(n + 1) - (n + 1) * log(x)) * (fmod(n, 2) != 0 ? -1 : 1);
            EGT_NEAR((polygamma(x + 1, n) - polygamma(x, n)) / want, 1, 1e-9);
        }
    }
}

EGT(nadam_resumes_at_any_step)
{
    eg_tensor *p = eg_parameter(of(EG_F32, 1));
    eg_optim *o = eg_nadam_new(((eg_parameters){&p, NULL, 1}), .beta1 = 0.999999999, .momentum_decay = 10);
    step(o, of(EG_F32, 1));
    eg_tensors *state = eg_optim_state(o);
    eg_tensor *steps = eg_full_int(EG_SCALAR, (int64_t)1 << 50, EG_I64);
    EGT_OK(eg_tensors_set(state, "steps", steps));
    EGT_OK(eg_optim_load_state(o, state));
    step(o, of(EG_F32, 1));
    EGT_CHECK(isfinite(eg_item(p)));
    eg_tensors_free(state);
    eg_optim_free(o);
    eg_release(p);
}
