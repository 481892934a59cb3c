/* test_optim_rules.c - each rule against its formula in double, for the forms the golden files do
 * not have; rows without gradients; parameters in halves. */
#include "tests/egt.h"

enum { STEPS = 5, N = 6 };

/* ---- formulas ---------------------------------------------------------------------------- */

/* x[0] is the parameter, x[1] on its state, g the gradient, t the step from 1. */

static void momentum(double *x, double g, int t)
{
    (void)t;
    x[1] = 0.9 * x[1] + g;
    x[0] -= 0.1 * x[1];
}

static void nesterov(double *x, double g, int t)
{
    (void)t;
    x[1] = 0.9 * x[1] + g;
    x[0] -= 0.1 * g + 0.1 * 0.9 * x[1];
}

static void adam(double *x, double g, int t)
{
    double rate = 0.1 * sqrt(1 - pow(0.999, t)) / (1 - pow(0.9, t));
    x[1] = 0.9 * x[1] + 0.1 * g;
    x[2] = 0.999 * x[2] + 0.001 * g * g;
    x[0] -= rate * x[1] / (sqrt(x[2]) + 1e-8);
}

static void bert(double *x, double g, int t)
{
    (void)t;
    x[1] = 0.9 * x[1] + 0.1 * g;
    x[2] = 0.999 * x[2] + 0.001 * g * g;
    x[0] -= 0.1 * (x[1] / (sqrt(x[2]) + 1e-6) + 0.01 * x[0]);
}

static void rmsprop(double *x, double g, int t)
{
    x[1] = t == 1 ? 1 : x[1];
    x[1] = 0.9 * x[1] + 0.1 * g * g;
    x[2] = 0.8 * x[2] + 0.1 * g / sqrt(x[1] + 1.0);
    x[0] -= x[2];
}

static void rmsprop_centered(double *x, double g, int t)
{
    x[1] = t == 1 ? 1 : x[1];
    x[1] = 0.9 * x[1] + 0.1 * g * g;
    x[2] = 0.9 * x[2] + 0.1 * g;
    x[0] -= 0.1 * g / sqrt(x[1] - x[2] * x[2] + 1e-10);
}

static void adagrad(double *x, double g, int t)
{
    x[1] = t == 1 ? 0.1 : x[1];
    x[1] += g * g;
    x[0] -= 0.1 * g / sqrt(x[1]);
}

static void adadelta(double *x, double g, int t)
{
    (void)t;
    x[1] = 0.95 * x[1] + 0.05 * g * g;
    double u = sqrt(x[2] + 1e-3) / sqrt(x[1] + 1e-3) * g;
    x[0] -= 0.1 * u;
    x[2] = 0.95 * x[2] + 0.05 * u * u;
}

static void ftrl_with(double *x, double g, int t, double power, double l1, double l2)
{
    double n = t == 1 ? 0.1 : x[1], n2 = n + g * g, lr = 0.1;
    x[2] += g - (pow(n2, power) - pow(n, power)) / lr * x[0];
    double sign = x[2] > 0 ? 1 : -1;
    x[0] = fabs(x[2]) <= l1 ? 0 : (sign * l1 - x[2]) / (pow(n2, power) / lr + 2 * l2);
    x[1] = n2;
}

static void ftrl(double *x, double g, int t)
{
    ftrl_with(x, g, t, 0.5, 0, 0);
}

static void ftrl_cut(double *x, double g, int t)
{
    ftrl_with(x, g, t, 0.7, 0.5, 0.2);
}

/* ---- the rules --------------------------------------------------------------------------- */

#define MAKE(name, expression)                    \
    static eg_optim *make_##name(eg_parameters p) \
    {                                             \
        return expression;                        \
    }
MAKE(momentum, eg_sgd_new(p, .lr = 0.1, .momentum = 0.9))
MAKE(nesterov, eg_sgd_new(p, .lr = 0.1, .momentum = 0.9, .nesterov = true))
MAKE(adam, eg_adam_new(p, .lr = 0.1, .epsilon_outside = true))
MAKE(bert, eg_adam_new(p, .lr = 0.1, .eps = 1e-6, .weight_decay = 0.01, .decoupled = true, .no_bias_correction = true))
MAKE(rmsprop, eg_rmsprop_new(p, .lr = 0.1, .momentum = 0.8, .eps = 1, .tensorflow = true))
MAKE(rmsprop_centered, eg_rmsprop_new(p, .lr = 0.1, .centered = true, .tensorflow = true))
MAKE(adagrad, eg_adagrad_new(p, .lr = 0.1, .tensorflow = true))
MAKE(adadelta, eg_adadelta_new(p, .lr = 0.1, .rho = 0.95, .eps = 1e-3))
MAKE(ftrl, eg_ftrl_new(p, .lr = 0.1))
MAKE(ftrl_cut, eg_ftrl_new(p, .lr = 0.1, .lr_power = -0.7, .l1 = 0.5, .l2 = 0.2))
MAKE(adamax, eg_adamax_new(p, .lr = 0.1))
MAKE(nadam, eg_nadam_new(p, .lr = 0.1))
MAKE(rprop, eg_rprop_new(p, .lr = 0.1))

typedef struct row {
    const char *name;
    eg_optim *(*make)(eg_parameters p);
    void (*formula)(double *x, double g, int t); /* NULL: the golden files have it */
} row;
#define ROW(name)                \
    {                            \
#name, make_##name, name \
    }
static const row rows[] = {ROW(momentum),
                           ROW(nesterov),
                           ROW(adam),
                           ROW(bert),
                           ROW(rmsprop),
                           ROW(adagrad),
                           ROW(adadelta),
                           ROW(ftrl),
                           ROW(rmsprop_centered),
                           ROW(ftrl_cut),
                           {"adamax", make_adamax, NULL},
                           {"nadam", make_nadam, NULL},
                           {"rprop", make_rprop, NULL}};
enum { ROWS = (int)(sizeof rows / sizeof *rows) };

static void follow_formula(const row *r, eg_dtype dtype)
{
    double x[N][4] = {{0}}, tolerance = dtype == EG_F64 ? 1e-12 : 2e-5;
    eg_tensor *p = eg_parameter(egt_random(EG_SHAPE(2, 3), dtype, -1, 1));
    eg_optim *o = r->make((eg_parameters){&p, NULL, 1});
    for (int i = 0; i < N; i++) {
        x[i][0] = eg_get(p, i);
    }
    for (int t = 1; t <= STEPS; t++) {
        eg_tensor *g = egt_random(EG_SHAPE(2, 3), dtype, -1, 1);
        EGT_OK(eg_optim_step(o, &g));
        for (int i = 0; i < N; i++) {
            r->formula(x[i], eg_get(g, i), t);
            if (!(fabs(eg_get(p, i) - x[i][0]) <= tolerance)) {
                egt_fail(__FILE__, __LINE__, "%s, %s, step %d: %.17g, by the formula %.17g", r->name,
                         eg_dtype_name(dtype), t, eg_get(p, i), x[i][0]);
            }
        }
    }
    eg_optim_free(o);
    eg_release(p);
}

EGT(rules_do_what_their_formulas_say)
{
    for (int i = 0; i < ROWS; i++) {
        for (eg_dtype dtype = EG_F32; dtype <= EG_F64 && rows[i].formula; dtype++) {
            EG_SCOPE {
                follow_formula(&rows[i], dtype);
            }
        }
    }
}

/* ---- rows without gradients -------------------------------------------------------------- */

static eg_tensor *some_rows(eg_dtype dtype)
{
    double g[15] = {0};
    g[0] = 0.5; /* rows 0 and 3; row 1 holds a negative zero */
    g[4] = -0.0;
    g[11] = -0.25;
    return eg_from_values(EG_SHAPE(5, 3), dtype, g);
}

static void check_lazy(eg_dtype dtype)
{
    eg_tensor *p = eg_parameter(eg_ones(EG_SHAPE(5, 3), dtype)), *before = eg_copy(p);
    eg_tensor *first = egt_random(EG_SHAPE(5, 3), dtype, 0.1, 1), *g = some_rows(dtype);
    eg_optim *o = eg_adam_new(((eg_parameters){&p, NULL, 1}), .lr = 0.1, .weight_decay = 0.1, .lazy = true);
    EGT_OK(eg_optim_step(o, &first)); /* so that momentum would move all rows */
    eg_tensors *state = eg_optim_state(o);
    eg_tensor *m = eg_copy(eg_tensors_get(state, "0.exp_avg"));
    eg_tensor *v = eg_copy(eg_tensors_get(state, "0.exp_avg_sq"));
    eg_copy_(before, p);
    EGT_OK(eg_optim_step(o, &g));
    for (int i = 0; i < 15; i++) {
        bool moves = i / 3 == 0 || i / 3 == 3;
        EGT_EQ(eg_get(p, i) != eg_get(before, i), moves);
        EGT_EQ(eg_get(eg_tensors_get(state, "0.exp_avg"), i) != eg_get(m, i), moves);
        EGT_EQ(eg_get(eg_tensors_get(state, "0.exp_avg_sq"), i) != eg_get(v, i), moves);
    }
    eg_tensors_free(state);
    eg_optim_free(o);
    eg_release(p);
}

EGT(lazy_adam_leaves_rows_without_gradient_alone)
{
    check_lazy(EG_F32);
    check_lazy(EG_F64);
    check_lazy(EG_F16);
    EGT_OK(eg_debug("ref"));
    check_lazy(EG_F32);
    check_lazy(EG_BF16);
    EGT_OK(eg_debug(NULL));
}

/* Long and short rows, shared by threads, against the same rows stepped one by one. */
EGT(lazy_rows_of_any_length)
{
    static const int64_t sizes[][2] = {{40000, 3}, {3, 50000}, {700, 300}};
    for (int k = 0; k < 3; k++) {
        eg_shape shape = EG_SHAPE(sizes[k][0], sizes[k][1]);
        eg_tensor *p = eg_parameter(eg_ones(shape, EG_F32)), *g = egt_random(shape, EG_F32, 1, 2);
        eg_tensor *keep = eg_lt(egt_random(EG_SHAPE(sizes[k][0], 1), EG_F32, 0, 1), eg_scalar(0.5, EG_F32));
        eg_optim *o = eg_adam_new(((eg_parameters){&p, NULL, 1}), .lr = 0.5, .lazy = true);
        g = eg_mul(g, keep);
        EGT_OK(eg_optim_step(o, &g));
        eg_tensor *expected = eg_sub(eg_scalar(1, EG_F32), eg_mul(eg_scalar(0.5, EG_F32), keep));
        EGT_CHECK(egt_distance(p, eg_add(expected, eg_zeros(shape, EG_F32))) < 1e-6);
        eg_optim_free(o);
        eg_release(p);
    }
}

EGT(lazy_does_not_concern_vectors)
{
    eg_tensor *p = eg_parameter(eg_ones(EG_SHAPE(2), EG_F32));
    eg_optim *o = eg_adam_new(((eg_parameters){&p, NULL, 1}), .lr = 0.1, .lazy = true);
    eg_tensor *g = eg_ones(EG_SHAPE(2), EG_F32), *none = eg_zeros(EG_SHAPE(2), EG_F32);
    EGT_OK(eg_optim_step(o, &g));
    double after = eg_get(p, 0);
    EGT_OK(eg_optim_step(o, &none));
    EGT_CHECK(eg_get(p, 0) < after);
    eg_optim_free(o);
    eg_release(p);
}

/* ---- halves ------------------------------------------------------------------------------ */

/* A parameter in halves is at each step the rounding of what a parameter in f32 would be. */
static void check_half(const row *r, eg_dtype dtype, double ulp)
{
    eg_tensor *half = eg_parameter(egt_random(EG_SHAPE(1500), dtype, -1, 1));
    eg_tensor *wide = eg_parameter(eg_cast(eg_detach(half), EG_F32));
    eg_optim *a = r->make((eg_parameters){&half, NULL, 1}), *b = r->make((eg_parameters){&wide, NULL, 1});
    for (int t = 0; t < 4; t++) {
        eg_tensor *g = egt_random(EG_SHAPE(1500), dtype, -1, 1), *same = eg_cast(g, EG_F32);
        EGT_OK(eg_optim_step(a, &g));
        EGT_OK(eg_optim_step(b, &same));
        eg_tensor *rounded = eg_cast(eg_detach(wide), dtype);
        double off = egt_distance(eg_detach(half), rounded);
        if (off > ulp) {
            egt_fail(__FILE__, __LINE__, "%s, %s, step %d: off by %g", r->name, eg_dtype_name(dtype), t, off);
        }
    }
    eg_optim_free(a);
    eg_optim_free(b);
    eg_release(half);
    eg_release(wide);
}

EGT(halves_round_what_f32_computes)
{
    for (int i = 0; i < ROWS; i++) {
        EG_SCOPE {
            check_half(&rows[i], EG_F16, 1e-3);
            check_half(&rows[i], EG_BF16, 8e-3);
            EGT_OK(eg_debug("ref"));
            check_half(&rows[i], EG_F16, 1e-3);
            EGT_OK(eg_debug(NULL));
        }
    }
}

/* Steps of a tenth of the last bit add up, and start anew when somebody writes the parameter. */
EGT(steps_too_small_for_a_half_add_up)
{
    for (int ref = 0; ref < 2; ref++) {
        EGT_OK(eg_debug(ref ? "ref" : NULL));
        eg_tensor *p = eg_parameter(eg_full(EG_SHAPE(40), 2, EG_F16)), *g = eg_ones(EG_SHAPE(40), EG_F16);
        eg_optim *o = eg_sgd_new(((eg_parameters){&p, NULL, 1}), .lr = 1e-4);
        for (int t = 0; t < 100; t++) {
            EGT_OK(eg_optim_step(o, &g));
        }
        EGT_NEAR(eg_get(p, 17), 1.99, 5e-4);
        EGT_OK(eg_set(p, 17, 4));
        EGT_OK(eg_optim_step(o, &g));
        EGT_EQ(eg_get(p, 17), 4);
        EGT_NEAR(eg_get(p, 16), 1.9899, 5e-4);
        eg_optim_free(o);
        eg_release(p);
    }
    EGT_OK(eg_debug(NULL));
}

/* ---- threads ----------------------------------------------------------------------------- */

static eg_tensor *three_steps(const row *r, eg_tensor *start, eg_tensor *g, int threads)
{
    eg_tensor *p = eg_copy(start);
    eg_release(eg_parameter(p)); /* the scope keeps it */
    eg_optim *o = r->make((eg_parameters){&p, NULL, 1});
    int before = eg_threads();
    EGT_OK(eg_set_threads(threads));
    for (int t = 0; t < 3; t++) {
        EGT_OK(eg_optim_step(o, &g));
    }
    EGT_OK(eg_set_threads(before));
    eg_optim_free(o);
    return p;
}

/* However the elements are shared out, each comes to the same bits. */
EGT(bits_do_not_depend_on_threads)
{
    eg_tensor *start = egt_random(EG_SHAPE(100003), EG_F32, -1, 1);
    eg_tensor *g = egt_random(EG_SHAPE(100003), EG_F32, -1, 1);
    for (int i = 0; i < ROWS; i++) {
        EG_SCOPE {
            eg_tensor *one = three_steps(&rows[i], start, g, 1);
            eg_tensor *all = three_steps(&rows[i], start, g, eg_threads());
            one = eg_to(one, eg_cpu());
            all = eg_to(all, eg_cpu());
            if (!one || !all || memcmp(eg_data(one), eg_data(all), 4 * 100003)) {
                egt_fail(__FILE__, __LINE__, "%s differs", rows[i].name);
            }
        }
    }
}

/* ---- odds and ends ----------------------------------------------------------------------- */

EGT(nothing_moves_ftrl_at_a_rate_of_zero)
{
    eg_tensor *p = eg_parameter(eg_ones(EG_SHAPE(2), EG_F32)), *g = eg_ones(EG_SHAPE(2), EG_F32);
    eg_optim *o = eg_ftrl_new(((eg_parameters){&p, NULL, 1}), .lr = 0.1);
    EGT_OK(eg_optim_set_rate(o, 0));
    EGT_OK(eg_optim_step(o, &g));
    EGT_EQ(eg_get(p, 0), 1);
    EGT_EQ(eg_optim_steps(o), 1);
    eg_optim_free(o);
    eg_release(p);
}

EGT(options_out_of_range)
{
    eg_tensor *t = eg_parameter(eg_ones(EG_SHAPE(2), EG_F32));
    eg_parameters p = {&t, NULL, 1};
    EGT_REFUSED(eg_adamax_new(p, .beta2 = 2), EG_EINVAL, "beta2 is 2, must be in 0..1");
    EGT_REFUSED(eg_nadam_new(p, .momentum_decay = -1), EG_EINVAL, "momentum_decay");
    EGT_REFUSED(eg_radam_new(p, .eps = -1), EG_EINVAL, "eps");
    EGT_REFUSED(eg_rmsprop_new(p, .alpha = 1.5), EG_EINVAL, "alpha");
    EGT_REFUSED(eg_rmsprop_new(p, .momentum = -1), EG_EINVAL, "momentum");
    EGT_REFUSED(eg_adagrad_new(p, .lr_decay = -1), EG_EINVAL, "lr_decay");
    EGT_REFUSED(eg_adagrad_new(p, .eps = 1, .tensorflow = true), EG_EINVAL, "has none");
    EGT_REFUSED(eg_adadelta_new(p, .rho = (double)NAN), EG_EINVAL, "rho");
    EGT_REFUSED(eg_ftrl_new(p, .lr_power = 0.5), EG_EINVAL, "lr_power");
    EGT_REFUSED(eg_ftrl_new(p, .l1 = -1), EG_EINVAL, "l1");
    EGT_REFUSED(eg_rprop_new(p, .eta_plus = 0.5), EG_EINVAL, "eta_plus");
    EGT_REFUSED(eg_rprop_new(p, .step_min = 2, .step_max = 1), EG_EINVAL, "step_max");
    EGT_REFUSED(eg_sgd_new(p, .weight_decay = (double)INFINITY), EG_EINVAL, "weight_decay");
    eg_release(t);
}
