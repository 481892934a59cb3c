/* test_tape.c - recording, walking, nesting; what is refused and what is left behind. */
#include "tests/egt.h"

static eg_tensor *number(double v)
{
    return eg_scalar(v, EG_F64);
}

EGT(gradient_of_a_product)
{
    eg_tensor *x = egt_random(EG_SHAPE(3, 4), EG_F64, -1, 1), *dx;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = eg_sum(eg_mul(eg_add(x, x), x));
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx));
    for (int i = 0; i < 12; i++) {
        EGT_NEAR(eg_get(dx, i), 4 * eg_get(x, i), 1e-12);
    }
}

EGT(third_derivative_of_the_fourth_power)
{
    eg_tensor *x = number(1.5), *d1, *d2, *d3;
    eg_tape outer = eg_tape_open(), middle, inner;
    EGT_OK(eg_tape_watch(outer, x));
    middle = eg_tape_open();
    inner = eg_tape_open();
    eg_tensor *y = eg_square(eg_square(x));
    EGT_OK(eg_tape_gradients(inner, y, &x, 1, &d1));
    EGT_OK(eg_tape_gradients(middle, d1, &x, 1, &d2));
    EGT_OK(eg_tape_gradients(outer, d2, &x, 1, &d3));
    EGT_NEAR(eg_item(d1), 4 * 1.5 * 1.5 * 1.5, 1e-12);
    EGT_NEAR(eg_item(d2), 12 * 1.5 * 1.5, 1e-12);
    EGT_NEAR(eg_item(d3), 24 * 1.5, 1e-12);
}

EGT(a_hessian_vector_product)
{
    /* f = sum(x^3): H v = 6 x v */
    eg_tensor *x = egt_random(EG_SHAPE(5), EG_F64, 1, 2), *v = egt_random(EG_SHAPE(5), EG_F64, -1, 1);
    eg_tensor *g, *hv;
    eg_tape outer = eg_tape_open();
    eg_tape_watch(outer, x);
    eg_tape inner = eg_tape_open();
    eg_tensor *y = eg_sum(eg_mul(x, eg_square(x)));
    EGT_OK(eg_tape_gradients(inner, y, &x, 1, &g));
    EGT_OK(eg_tape_gradients(outer, g, &x, 1, &hv, .dy = v));
    for (int i = 0; i < 5; i++) {
        EGT_NEAR(eg_get(hv, i), 6 * eg_get(x, i) * eg_get(v, i), 1e-12);
    }
}

EGT(a_tape_is_used_up)
{
    eg_tensor *x = number(2), *dx;
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_mul(x, x);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx));
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, &dx), EG_ESTATE, "used up");
    EGT_CHECK(dx == NULL);
    EGT_REFUSED(eg_tape_close(tape), EG_ESTATE, "closed");
}

EGT(a_persistent_tape_answers_again)
{
    eg_tensor *x = number(2), *dx;
    eg_tape tape = eg_tape_open(.persistent = true);
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_mul(x, x), *z = eg_mul(y, x);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx));
    EGT_NEAR(eg_item(dx), 4, 1e-12);
    EGT_OK(eg_tape_gradients(tape, z, &x, 1, &dx));
    EGT_NEAR(eg_item(dx), 12, 1e-12);
    eg_tensor *later = eg_mul(z, x);
    EGT_REFUSED(eg_tape_gradients(tape, later, &x, 1, &dx), EG_ESTATE, "not computed");
    EGT_OK(eg_tape_close(tape));
}

EGT(two_tapes_over_one_forward)
{
    /* As a GAN asks: generator and discriminator each their own question about one computation. */
    eg_tensor *g = eg_parameter(number(3)), *d = eg_parameter(number(5)), *dg, *dd;
    eg_tape first = eg_tape_open(), second = eg_tape_open();
    eg_tensor *fake = eg_mul(g, g), *score = eg_mul(fake, d);
    EGT_OK(eg_tape_gradients(first, score, &g, 1, &dg));
    EGT_OK(eg_tape_gradients(second, score, &d, 1, &dd));
    EGT_NEAR(eg_item(dg), 2 * 3 * 5, 1e-12);
    EGT_NEAR(eg_item(dd), 9, 1e-12);
    eg_release(g);
    eg_release(d);
}

EGT(gradients_of_results_in_between)
{
    eg_tensor *x = number(2), *out[3];
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tensor *a = eg_square(x), *b = eg_mul(a, a), *xs[3] = {a, x, a};
    EGT_OK(eg_tape_gradients(tape, b, xs, 3, out));
    EGT_NEAR(eg_item(out[0]), 8, 1e-12);
    EGT_NEAR(eg_item(out[1]), 32, 1e-12);
    EGT_NEAR(eg_item(out[2]), 8, 1e-12);
}

EGT(an_x_from_before_the_tape_was_opened)
{
    eg_tensor *x = number(2), *d;
    eg_tape outer = eg_tape_open();
    eg_tape_watch(outer, x);
    eg_tensor *a = eg_square(x);
    eg_tape inner = eg_tape_open();
    eg_tensor *y = eg_mul(a, eg_scalar(7, EG_F64));
    EGT_OK(eg_tape_gradients(inner, y, &a, 1, &d));
    EGT_NEAR(eg_item(d), 7, 1e-12);
    EGT_OK(eg_tape_gradients(outer, y, &x, 1, &d));
    EGT_NEAR(eg_item(d), 28, 1e-12);
}

EGT(unconnected_gives_zeros_or_null)
{
    eg_tensor *x = number(2), *z = number(3), *xs[2] = {x, z}, *out[2];
    eg_tape tape = eg_tape_open(.persistent = true);
    eg_tape_watch(tape, x);
    eg_tape_watch(tape, z);
    eg_tensor *y = eg_square(x);
    EGT_OK(eg_tape_gradients(tape, y, xs, 2, out));
    EGT_EQ(eg_item(out[1]), 0);
    EGT_OK(eg_tape_gradients(tape, y, xs, 2, out, .null_unconnected = true));
    EGT_CHECK(out[1] == NULL);
}

EGT(what_is_refused)
{
    eg_tensor *x = egt_random(EG_SHAPE(3), EG_F64, -1, 1), *dx;
    eg_tensor *loose = egt_random(EG_SHAPE(3), EG_F64, -1, 1);
    EGT_REFUSED(eg_tape_watch(eg_tape_open(), eg_zeros(EG_SHAPE(2), EG_I64)), EG_EDTYPE, "i64");
    eg_tape tape = eg_tape_open(.persistent = true);
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_square(x);
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, &dx), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_tape_gradients(tape, eg_sum(y), &loose, 1, &dx), EG_ESTATE, "never watched");
    EGT_REFUSED(eg_tape_gradients(tape, eg_sum(loose), &x, 1, &dx), EG_ESTATE, "not computed");
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, &dx, .dy = eg_ones(EG_SHAPE(4), EG_F64)), EG_ESHAPE, ".dy");
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, &dx, .dy = eg_ones(EG_SHAPE(3), EG_F32)), EG_ESHAPE, "f32");
    EGT_REFUSED(eg_tape_gradients(tape, NULL, &x, 1, &dx), EG_EINVAL, "y is NULL");
    EGT_REFUSED(eg_add_(x, x), EG_ESTATE, "in-place");
    EGT_OK(eg_tape_gradients(tape, eg_sum(y), &x, 1, &dx)); /* nothing of all that harmed the tape */
}

EGT(in_place_change_of_a_saved_tensor_is_refused)
{
    eg_tensor *x = number(2), *b = number(3), *dx;
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_mul(x, b);
    EGT_CHECK(eg_add_scalar_(b, 1) == b);
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, &dx), EG_ESTATE, "eg_add_scalar_");
}

EGT(an_early_return_leaves_nothing)
{
    for (int i = 0; i < 3; i++) {
        eg_scope outer = eg_scope_push();
        eg_tensor *x = number(2);
        eg_scope_push();
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, x);
        eg_square(eg_square(x));
        eg_scope_push();
        eg_tape_open();
        eg_square(x);
        eg_scope_pop(outer, NULL); /* as if the function had returned in the middle */
    }
}

EGT(a_million_chained_ops)
{
    eg_tensor *x = eg_parameter(eg_scalar(1, EG_F32)), *dx;
    eg_tape tape = eg_tape_open();
    eg_tensor *one = eg_scalar(1, EG_F32), *y = x;
    for (int i = 0; i < 1000000; i++) {
        eg_scope s = eg_scope_push();
        y = eg_scope_pop(s, eg_mul(y, one));
        EGT_CHECK(y);
    }
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx));
    EGT_EQ(eg_item(dx), 1);
    eg_release(x);
}

EGT(many_parameters)
{
    enum { N = 1000 };
    eg_tensor *p[N], *g[N];
    for (int i = 0; i < N; i++) {
        p[i] = eg_parameter(number(i));
    }
    eg_tape tape = eg_tape_open();
    eg_tensor *y = number(0);
    for (int i = 0; i < N; i++) {
        y = eg_add(y, eg_square(p[i]));
    }
    EGT_OK(eg_tape_gradients(tape, y, p, N, g));
    for (int i = 0; i < N; i++) {
        EGT_EQ(eg_item(g[i]), 2 * i);
        eg_release(p[i]);
    }
}

/* ---- custom ops -------------------------------------------------------------------------------- */

static eg_tensor *cube_forward(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    return eg_mul(x[0], eg_mul(x[0], x[0]));
}

static eg_status cube_backward(eg_tensor *const *x, int n, eg_tensor *y, eg_tensor *dy, unsigned needed, eg_tensor **dx,
                               void *user)
{
    (void)n, (void)y, (void)user;
    dx[0] = needed & 1 ? eg_mul(dy, eg_mul_scalar(eg_square(x[0]), 3)) : NULL;
    return dx[0] ? EG_OK : eg_last_error()->code;
}

static const eg_custom_op cube = {sizeof cube, "cube", cube_forward, cube_backward, NULL};

static eg_tensor *call_cube(eg_tensor *const *x, int n, void *user)
{
    return eg_custom(user, x, n);
}

EGT(a_custom_op_differentiates_twice)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 3), EG_F64, 0.5, 1);
    EGT_OK(eg_gradcheck(call_cube, &x, 1, (void *)&cube, .second = true));
}

static eg_status wrong_shape(eg_tensor *const *x, int n, eg_tensor *y, eg_tensor *dy, unsigned needed, eg_tensor **dx,
                             void *user)
{
    (void)x, (void)n, (void)y, (void)dy, (void)needed, (void)user;
    dx[0] = eg_zeros(EG_SHAPE(7), EG_F64);
    return EG_OK;
}

static eg_status silent_failure(eg_tensor *const *x, int n, eg_tensor *y, eg_tensor *dy, unsigned needed,
                                eg_tensor **dx, void *user)
{
    (void)x, (void)n, (void)y, (void)dy, (void)needed, (void)dx, (void)user;
    return EG_EUSER;
}

static eg_status nothing(eg_tensor *const *x, int n, eg_tensor *y, eg_tensor *dy, unsigned needed, eg_tensor **dx,
                         void *user)
{
    (void)x, (void)n, (void)y, (void)dy, (void)needed, (void)dx, (void)user;
    return EG_OK;
}

EGT(custom_gradients_that_misbehave)
{
    eg_custom_op op = cube;
    eg_tensor *x = egt_random(EG_SHAPE(3), EG_F64, 1, 2), *dx;
    eg_status (*const bad[])(eg_tensor *const *, int, eg_tensor *, eg_tensor *, unsigned, eg_tensor **,
                             void *) = {wrong_shape, silent_failure};
    static const char *const words[] = {"[7]", "without a word"};
    for (int i = 0; i < 2; i++) {
        op.backward = bad[i];
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, x);
        eg_tensor *y = eg_sum(eg_custom(&op, &x, 1));
        EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, &dx), EG_EUSER, words[i]);
        EGT_CHECK(dx == NULL);
    }
    op.backward = nothing;
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_sum(eg_custom(&op, &x, 1));
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx));
    EGT_EQ(eg_get(dx, 0), 0);
    EGT_REFUSED(eg_custom(&(eg_custom_op){.size = sizeof op}, &x, 1), EG_EINVAL, "forward");
}

/* ---- checkpoints ------------------------------------------------------------------------------- */

static eg_tensor *segment(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    eg_tensor *w = user;
    return eg_tanh(eg_mul(eg_tanh(eg_mul(x[0], w)), w));
}

static eg_tensor *through_checkpoint(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    return eg_checkpoint(segment, x, 1, x[1]);
}

EGT(a_checkpoint_differentiates_as_its_segment)
{
    eg_tensor *x[2] = {egt_random(EG_SHAPE(4), EG_F64, -1, 1), egt_random(EG_SHAPE(4), EG_F64, -1, 1)};
    EGT_OK(eg_gradcheck(through_checkpoint, x, 2, NULL, .second = true));
}

EGT(a_checkpoint_reaches_parameters_inside)
{
    eg_tensor *x = egt_random(EG_SHAPE(4), EG_F64, -1, 1), *want[2], *got[2];
    eg_tensor *w = eg_parameter(egt_random(EG_SHAPE(4), EG_F64, -1, 1)), *xs[2] = {x, w};
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    EGT_OK(eg_tape_gradients(tape, eg_sum(segment(&x, 1, w)), xs, 2, want));
    tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_sum(eg_checkpoint(segment, &x, 1, w));
    EGT_OK(eg_tape_gradients(tape, y, xs, 2, got));
    EGT_CHECK(egt_distance(got[0], want[0]) == 0);
    EGT_CHECK(egt_distance(got[1], want[1]) == 0);
    eg_release(w);
}

EGT(the_record_as_a_graph)
{
    char text[2000] = "";
    FILE *f = tmpfile();
    eg_tensor *x = number(2);
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_mul(eg_exp(x), x);
    EGT_OK(eg_graph_dot(f));
    rewind(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    EGT_CHECK(n > 0 && strstr(text, "digraph") && strstr(text, "exp") && strstr(text, "->"));
    EGT_OK(eg_tape_close(tape));
}

/* ---- gradients one by one ------------------------------------------------------------------------ */

typedef struct arrivals {
    int at[8], n, fail_at; /* fail_at: the arrival that fails, counted from 1 */
    double value[8];       /* the first element */
    bool spoil;
} arrivals;

static eg_status arrived(int i, eg_tensor *gradient, void *user)
{
    arrivals *a = user;
    a->at[a->n] = i;
    a->value[i] = gradient ? eg_get(gradient, 0) : (double)NAN;
    if (++a->n == a->fail_at) {
        return eg_fail(EG_EUSER, "arrived", "enough");
    }
    return a->spoil && gradient ? eg_set(gradient, 0, 1e9) : EG_OK;
}

/* y = sum(exp(a) * b + a), of parameters or watched; xs: a, b, exp(a), c, a. */
static eg_tensor *of_three(eg_tape tape, eg_tensor **xs)
{
    eg_tape_watch(tape, xs[0]);
    eg_tape_watch(tape, xs[1]);
    eg_tape_watch(tape, xs[3]);
    xs[2] = eg_exp(xs[0]);
    xs[4] = xs[0];
    return eg_sum(eg_add(eg_mul(xs[2], xs[1]), xs[0]));
}

/* c is not connected; b is whole before exp(a) is used up, a last; and what is done to one is not seen by others. */
EGT(gradients_arrive_when_they_are_whole)
{
    for (int kept = 0; kept < 2; kept++) {
        arrivals a = {.spoil = true};
        eg_tensor *xs[5] = {number(0.5), number(2), NULL, number(1)}, *out[5], *want[5];
        eg_tape tape = eg_tape_open(.persistent = true);
        eg_tensor *y = of_three(tape, xs);
        EGT_OK(eg_tape_gradients(tape, y, xs, 5, want));
        EGT_OK(eg_tape_gradients(tape, y, xs, 5, kept ? out : NULL, .null_unconnected = true, .ready = arrived,
                                 .user = &a));
        EGT_EQ(a.n, 5);
        EGT_EQ(a.at[0], 3);
        EGT_CHECK(a.at[1] + a.at[2] == 3);
        EGT_CHECK(a.at[3] == 0 && a.at[4] == 4);
        EGT_CHECK(isnan(a.value[3]));
        for (int i = 0; i < 5; i++) {
            EGT_CHECK(i == 3 || a.value[i] == eg_item(want[i]));
            EGT_CHECK(!kept || (i == 3 ? !out[i] : eg_item(out[i]) == 1e9));
        }
        EGT_OK(eg_tape_close(tape));
    }
}

EGT(a_gradient_that_is_not_wanted_ends_the_walk)
{
    for (int at = 1; at <= 5; at++) {
        arrivals a = {.fail_at = at};
        eg_tensor *xs[5] = {number(0.5), number(2), NULL, number(1)}, *out[5];
        eg_tape tape = eg_tape_open();
        eg_tensor *y = of_three(tape, xs);
        EGT_REFUSED(eg_tape_gradients(tape, y, xs, 5, out, .ready = arrived, .user = &a), EG_EUSER, "enough");
        EGT_EQ(a.n, at);
        EGT_CHECK(!out[0] && !out[4]);
    }
}

/* Recorded by a tape outside, as the walk itself is. */
static eg_status squares(int i, eg_tensor *gradient, void *user)
{
    (void)i;
    eg_tensor **sum = user;
    *sum = eg_keep(eg_square(gradient));
    return *sum ? EG_OK : eg_last_error()->code;
}

EGT(gradients_that_arrive_are_differentiated)
{
    eg_tensor *x = number(2), *sum = NULL, *dx; /* ((x^3)')^2 = 9 x^4, whose gradient is 36 x^3 */
    eg_tape outer = eg_tape_open();
    eg_tape_watch(outer, x);
    eg_tape inner = eg_tape_open();
    EGT_OK(eg_tape_gradients(inner, eg_mul(eg_square(x), x), &x, 1, NULL, .ready = squares, .user = &sum));
    EGT_OK(eg_tape_gradients(outer, sum, &x, 1, &dx));
    EGT_NEAR(eg_item(dx), 36 * 8, 1e-9);
    eg_release(sum);
}

/* ---- failing allocations ------------------------------------------------------------------------- */

/* Of a weight, a bias and an input. */
static bool step(void *user)
{
    eg_tensor *g[2], **ps = user, *w = ps[0], *b = ps[1], *x = eg_transpose(ps[2], 0, 1);
    eg_tape tape = eg_tape_open();
    eg_tensor *y = eg_sum(eg_square(eg_tanh(eg_add(eg_matmul(x, w), b))));
    eg_status st = eg_tape_gradients(tape, y, ps, 2, g);
    for (int i = 0; i < 2 && !st; i++) {
        st = eg_sub_(ps[i], eg_mul_scalar(g[i], 0.1)) ? EG_OK : eg_last_error()->code;
    }
    return !st;
}

static bool step_of_arrivals(void *user)
{
    arrivals a = {.n = 0};
    eg_tensor *xs[5] = {((eg_tensor **)user)[0], ((eg_tensor **)user)[1], NULL, ((eg_tensor **)user)[1]};
    eg_tape tape = eg_tape_open();
    xs[2] = eg_exp(xs[0]);
    xs[4] = xs[1];
    eg_tensor *y = eg_sum(eg_add(eg_sum(xs[2]), xs[1]));
    return y && !eg_tape_gradients(tape, y, xs, 5, NULL, .ready = arrived, .user = &a) && a.n == 5;
}

EGT(every_allocation_of_a_step_may_fail)
{
    eg_tensor *w = eg_parameter(egt_random(EG_SHAPE(4, 3), EG_F32, -1, 1));
    eg_tensor *b = eg_parameter(egt_random(EG_SHAPE(3), EG_F32, -1, 1));
    eg_tensor *x = egt_random(EG_SHAPE(4, 5), EG_F32, -1, 1);
    EGT_CHECK(egt_fail_allocations(step, (eg_tensor *[]){w, b, x}) > 10);
    EGT_CHECK(egt_fail_allocations(step_of_arrivals, (eg_tensor *[]){w, b}) > 5);
    eg_release(w);
    eg_release(b);
}
