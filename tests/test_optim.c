/* test_optim.c - optimizers as a training loop meets them. The rules' numbers are in the sweep and
 * the golden files. */
#include "tests/egt.h"

EGT(a_quadratic_comes_to_rest)
{
    eg_tensor *p[2] = {eg_parameter(egt_random(EG_SHAPE(5), EG_F32, -1, 1)),
                       eg_parameter(egt_random(EG_SHAPE(2, 3), EG_F32, -1, 1))};
    eg_optim *adam = eg_adam_new(((eg_parameters){p, NULL, 2}), .lr = 0.05);
    double loss = 1;
    for (int i = 0; i < 300; i++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            eg_tensor *y = eg_add(eg_sum(eg_square(p[0])), eg_sum(eg_square(p[1])));
            EGT_OK(eg_optim_minimize(adam, tape, y));
            loss = eg_item(y);
        }
    }
    EGT_CHECK(loss < 1e-6);
    EGT_EQ(eg_optim_steps(adam), 300);
    eg_optim_free(adam);
    eg_release(p[0]);
    eg_release(p[1]);
}

EGT(parameters_without_a_gradient_stay)
{
    eg_tensor *p[2] = {eg_parameter(eg_ones(EG_SHAPE(2), EG_F64)), eg_parameter(eg_ones(EG_SHAPE(2), EG_F64))};
    eg_optim *sgd = eg_sgd_new(((eg_parameters){p, NULL, 2}), .lr = 0.5, .weight_decay = 1);
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_optim_minimize(sgd, tape, eg_sum(eg_square(p[1]))));
    EGT_EQ(eg_get(p[0], 0), 1);
    EGT_NEAR(eg_get(p[1], 0), 1 - 0.5 * 3, 1e-12);
    eg_optim_free(sgd);
    eg_release(p[0]);
    eg_release(p[1]);
}

EGT(an_update_is_seen_by_the_tape)
{
    eg_tensor *p = eg_parameter(eg_ones(EG_SHAPE(2), EG_F64)), *x = eg_ones(EG_SHAPE(2), EG_F64), *dx;
    eg_tensor *g = eg_ones(EG_SHAPE(2), EG_F64);
    eg_optim *sgd = eg_sgd_new(((eg_parameters){&p, NULL, 1}));
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_sum(eg_mul(x, p));
    EGT_REFUSED(eg_optim_step(sgd, &g), EG_ESTATE, "tape records");
    EGT_EQ(eg_get(p, 0), 1);
    EGT_EQ(eg_optim_steps(sgd), 0);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx));
    EGT_OK(eg_optim_step(sgd, &g));
    eg_optim_free(sgd);
    eg_release(p);
}

EGT(what_is_refused)
{
    eg_tensor *p = eg_parameter(eg_ones(EG_SHAPE(2), EG_F32)), *g = eg_ones(EG_SHAPE(3), EG_F32);
    eg_tensor *whole = eg_ones(EG_SHAPE(2), EG_I32);
    eg_parameters list = {&p, NULL, 1};
    EGT_REFUSED(eg_sgd_new(((eg_parameters){NULL, NULL, 0})), EG_EINVAL, "parameters");
    EGT_REFUSED(eg_sgd_new(((eg_parameters){&p, NULL, 0})), EG_EINVAL, "0 parameters");
    EGT_REFUSED(eg_sgd_new(((eg_parameters){&whole, NULL, 1})), EG_EINVAL, "i32");
    EGT_REFUSED(eg_sgd_new(list, .lr = -1), EG_EINVAL, "lr");
    EGT_REFUSED(eg_sgd_new(list, .momentum = (double)NAN), EG_EINVAL, "momentum");
    EGT_REFUSED(eg_sgd_new(list, .nesterov = true), EG_EINVAL, "nesterov");
    EGT_REFUSED(eg_adam_new(list, .beta1 = 1.5), EG_EINVAL, "beta1");
    eg_optim *o = eg_adam_new(list);
    EGT_NEAR(eg_optim_rate(o), 1e-3, 1e-15);
    EGT_REFUSED(eg_optim_step(o, &g), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_optim_step(o, NULL), EG_EINVAL, "gradients");
    EGT_REFUSED(eg_optim_step(NULL, &g), EG_EINVAL, "optim");
    EGT_REFUSED(eg_optim_set_rate(o, -1), EG_EINVAL, "lr");
    EGT_OK(eg_optim_set_rate(o, 0.5));
    EGT_REFUSED(eg_optim_minimize(o, (eg_tape){0}, NULL), EG_EINVAL, "loss");
    EGT_EQ(eg_get(p, 0), 1);
    eg_optim_free(o);
    eg_optim_free(NULL);
    eg_release(p);
}

EGT(many_small_parameters_in_one_pass)
{
    enum { N = 256 };
    eg_tensor *p[N], *g[N];
    for (int i = 0; i < N; i++) {
        p[i] = eg_parameter(eg_full(EG_SHAPE(i % 300 + 1), i, EG_F32));
        g[i] = i % 3 ? eg_ones(EG_SHAPE(i % 300 + 1), EG_F32) : NULL;
    }
    eg_optim *sgd = eg_sgd_new(((eg_parameters){p, NULL, N}), .lr = 1);
    EGT_OK(eg_optim_step(sgd, g));
    for (int i = 0; i < N; i++) {
        EGT_EQ(eg_get(p[i], 0), i % 3 ? i - 1 : i);
        EGT_EQ(eg_get(p[i], eg_numel(p[i]) - 1), i % 3 ? i - 1 : i);
    }
    eg_optim_free(sgd);
    for (int i = 0; i < N; i++) {
        eg_release(p[i]);
    }
}

/* ---- groups ------------------------------------------------------------------------------ */

typedef struct three {
    eg_tensor *p[3], *g[3];
} three;

/* A matrix, its bias, and a norm's scale. */
static three make_three(void)
{
    three t;
    for (int i = 0; i < 3; i++) {
        eg_shape shape = i ? EG_SHAPE(2) : EG_SHAPE(2, 2);
        t.p[i] = eg_parameter(eg_ones(shape, EG_F64));
        t.g[i] = eg_zeros(shape, EG_F64);
    }
    return t;
}

static void free_three(three *t, eg_optim *o)
{
    eg_optim_free(o);
    for (int i = 0; i < 3; i++) {
        eg_release(t->p[i]);
    }
}

EGT(groups_have_rates_and_decays_of_their_own)
{
    const char *names[3] = {"fc.weight", "fc.bias", "norm.weight"};
    three t = make_three();
    eg_optim *o = eg_sgd_new(((eg_parameters){t.p, names, 3}), .lr = 0.5, .weight_decay = 0.5);
    EGT_OK(eg_optim_group(o, .max_axes = 1));
    EGT_OK(eg_optim_step(o, t.g));
    EGT_EQ(eg_get(t.p[0], 3), 0.75);
    EGT_EQ(eg_get(t.p[1], 1), 1);
    EGT_EQ(eg_get(t.p[2], 1), 1);
    EGT_OK(eg_optim_group(o, .name = "norm", .weight_decay = 0.5, .lr_scale = 0.5));
    EGT_OK(eg_optim_group(o, .name = "weight", .min_axes = 2));
    EGT_OK(eg_optim_step(o, t.g));
    EGT_EQ(eg_get(t.p[0], 3), 0.75);
    EGT_EQ(eg_get(t.p[1], 1), 1);
    EGT_EQ(eg_get(t.p[2], 1), 0.875);
    EGT_REFUSED(eg_optim_group(o, .name = "gamma"), EG_EINVAL, "\"gamma\"");
    EGT_REFUSED(eg_optim_group(o, .min_axes = 3), EG_EINVAL, "3..8 axes");
    EGT_REFUSED(eg_optim_group(o, .lr_scale = -1), EG_EINVAL, "lr_scale");
    EGT_REFUSED(eg_optim_group(o, .weight_decay = -1), EG_EINVAL, "weight_decay");
    for (int i = 3; i < 63; i++) {
        EGT_OK(eg_optim_group(o, .name = "fc"));
    }
    EGT_REFUSED(eg_optim_group(o, .name = "fc"), EG_EINVAL, "63 groups");
    free_three(&t, o);
}

EGT(parameters_may_be_added)
{
    const char *names[2] = {"weight", "bias"};
    three t = make_three();
    eg_optim *o = eg_adam_new(((eg_parameters){t.p, names, 2}), .lr = 0.1);
    EGT_REFUSED(eg_optim_add(o, ((eg_parameters){t.p + 2, names, 1})), EG_EINVAL, "named \"weight\"");
    EGT_REFUSED(eg_optim_add(o, ((eg_parameters){t.p + 1, NULL, 2})), EG_EINVAL, "as \"bias\"");
    EGT_OK(eg_optim_add(o, ((eg_parameters){t.p + 2, names, 1}), .prefix = "norm."));
    EGT_REFUSED(eg_optim_add(NULL, ((eg_parameters){t.p, NULL, 1})), EG_EINVAL, "optim");
    t.g[2] = eg_ones(EG_SHAPE(2), EG_F64);
    EGT_OK(eg_optim_step(o, t.g));
    EGT_NEAR(eg_get(t.p[2], 1), 0.9, 1e-6);
    eg_tensors *state = eg_optim_state(o);
    EGT_CHECK(eg_tensors_has(state, "norm.weight.exp_avg"));
    eg_tensors_free(state);
    free_three(&t, o);
}

EGT(tied_weights_count_once)
{
    const char *names[3] = {"embedding", "head", "bias"};
    three t = make_three();
    eg_tensor *tied[3] = {t.p[0], t.p[0], t.p[1]};
    eg_tensor *g[3] = {eg_ones(EG_SHAPE(2, 2), EG_F64), eg_ones(EG_SHAPE(2, 2), EG_F64), t.g[1]};
    eg_optim *o = eg_sgd_new(((eg_parameters){tied, names, 3}), .lr = 0.5, .momentum = 0.5);
    EGT_OK(eg_optim_step(o, g));
    EGT_EQ(eg_get(t.p[0], 0), 0.5);
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_optim_minimize(o, tape, eg_sum(t.p[0])));
    }
    EGT_EQ(eg_get(t.p[0], 0), 0.5 - 0.5 * 1.5);
    eg_tensors *state = eg_optim_state(o);
    EGT_EQ(eg_tensors_count(state), 4); /* two states, steps, lr */
    EGT_CHECK(!eg_tensors_has(state, "head.momentum_buffer"));
    eg_tensors_free(state);
    free_three(&t, o);
}

/* ---- frozen parameters, watched tensors -------------------------------------------------- */

EGT(frozen_parameters_are_passed_over)
{
    eg_module *layer = eg_linear_new(2, 1, .no_bias = true, .dtype = EG_F64);
    eg_tensor *weight = eg_module_parameters(layer).tensors[0];
    EGT_CHECK(eg_copy_(weight, eg_ones_like(weight)));
    eg_tensor *p[2] = {weight, eg_parameter(eg_ones(EG_SHAPE(2), EG_F64))};
    eg_optim *o = eg_sgd_new(((eg_parameters){p, NULL, 2}), .lr = 0.5);
    eg_optim *all = eg_sgd_new(((eg_parameters){p, NULL, 1}));
    EGT_OK(eg_module_freeze(layer));
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_optim_minimize(o, tape, eg_sum(eg_mul(p[0], p[1]))));
    }
    EGT_EQ(eg_get(p[0], 0), 1);
    EGT_EQ(eg_get(p[1], 0), 0.5);
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, p[0]);
        EGT_OK(eg_optim_minimize(o, tape, eg_sum(eg_mul(p[0], p[1]))));
    }
    EGT_EQ(eg_get(p[0], 0), 0.75);
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = eg_sum(eg_mul(p[0], p[1]));
        EGT_REFUSED(eg_optim_minimize(all, tape, loss), EG_ESTATE, "frozen");
        EGT_REFUSED(eg_optim_minimize(o, tape, eg_mul(p[0], p[1])), EG_ESHAPE, "[1, 2]");
    }
    eg_optim_free(o);
    eg_optim_free(all);
    eg_module_free(layer);
    eg_release(p[1]);
}

/* A loss would never train a tensor that does not require gradients; gradients in hand do. */
EGT(tensors_without_gradients_are_refused)
{
    eg_tensor *plain = eg_ones(EG_SHAPE(2, 3), EG_F32), *p[2] = {eg_parameter(eg_ones(EG_SHAPE(2), EG_F32)), plain};
    const char *names[2] = {"scale", "shift"};
    eg_optim *o = eg_sgd_new(((eg_parameters){p, names, 2}), .lr = 1),
             *added = eg_sgd_new(((eg_parameters){p, NULL, 1}));
    EGT_OK(eg_optim_add(added, ((eg_parameters){p + 1, NULL, 1})));
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = eg_sum(p[0]);
        EGT_REFUSED(eg_optim_minimize(added, tape, loss), EG_EINVAL,
                    "tensor \"1\", f32 [2, 3], does not require gradients");
        EGT_REFUSED(eg_optim_minimize(o, tape, loss), EG_EINVAL, "tensor \"shift\", f32 [2, 3]");
    }
    EGT_EQ(eg_get(p[0], 0), 1);
    EGT_OK(eg_optim_step(o, (eg_tensor *[]){NULL, eg_ones(EG_SHAPE(2, 3), EG_F32)}));
    EGT_EQ(eg_get(plain, 5), 0);
    EG_SCOPE { /* watched by the tape, it has a gradient */
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, plain);
        EGT_OK(eg_optim_minimize(o, tape, eg_add(eg_sum(p[0]), eg_sum(plain))));
    }
    EGT_EQ(eg_get(plain, 5), -1);
    eg_optim_free(o);
    eg_optim_free(added);
    eg_release(p[0]);
}

/* ---- clipping ---------------------------------------------------------------------------- */

EGT(steps_are_clipped)
{
    eg_tensor *p = eg_parameter(eg_zeros(EG_SHAPE(2), EG_F64));
    eg_tensor *g = eg_from_values(EG_SHAPE(2), EG_F64, (double[]){3, -4});
    eg_optim *o = eg_sgd_new(((eg_parameters){&p, NULL, 1}), .lr = 1);
    EGT_CHECK(isnan(eg_optim_grad_norm(o)));
    EGT_OK(eg_optim_clip_norm(o, 1));
    EGT_OK(eg_optim_step(o, &g));
    EGT_EQ(eg_optim_grad_norm(o), 5);
    EGT_NEAR(eg_get(p, 0), -0.6, 1e-15);
    EGT_NEAR(eg_get(p, 1), 0.8, 1e-15);
    EGT_EQ(eg_get(g, 0), 3); /* the caller's */
    EGT_OK(eg_set(p, 0, 0));
    EGT_OK(eg_set(p, 1, 0));
    EGT_OK(eg_optim_clip_value(o, 0.7));
    EGT_OK(eg_optim_step(o, &g));
    EGT_NEAR(eg_get(p, 0), -0.6, 1e-15);
    EGT_NEAR(eg_get(p, 1), 0.7, 1e-15);
    EGT_OK(eg_optim_clip_norm(o, 10)); /* short enough as it is */
    EGT_OK(eg_optim_clip_value(o, 0));
    EGT_OK(eg_optim_step(o, &g));
    EGT_NEAR(eg_get(p, 0), -3.6, 1e-15);
    EGT_OK(eg_optim_clip_norm(o, 1, .p = 1, .eps = 1));
    EGT_OK(eg_optim_step(o, &g));
    EGT_EQ(eg_optim_grad_norm(o), 7);
    EGT_NEAR(eg_get(p, 0), -3.6 - 3 / 8.0, 1e-15);
    EGT_OK(eg_optim_clip_norm(o, 1, .p = (double)INFINITY));
    EGT_OK(eg_optim_step(o, &g));
    EGT_EQ(eg_optim_grad_norm(o), 4);
    EGT_REFUSED(eg_optim_clip_norm(o, -1), EG_EINVAL, "max is -1");
    EGT_REFUSED(eg_optim_clip_norm(o, (double)NAN), EG_EINVAL, "max");
    EGT_REFUSED(eg_optim_clip_norm(o, 1, .p = 3), EG_EINVAL, "p is 3");
    EGT_REFUSED(eg_optim_clip_value(o, -1), EG_EINVAL, "max is -1");
    eg_optim_free(o);
    eg_release(p);
}

EGT(a_norm_that_is_not_finite_stops_the_step)
{
    static const double bad[] = {(double)NAN, (double)INFINITY}, p[] = {1, 2, (double)INFINITY};
    if (eg_device_of(eg_zeros(EG_SCALAR, EG_F32)) != eg_cpu()) {
        egt_skip("on a device nobody waits for the norm: tests/cuda/test_cuda_optim.c");
    }
    eg_tensor *w = eg_parameter(eg_ones(EG_SHAPE(40), EG_F32)), *g = eg_ones(EG_SHAPE(40), EG_F32);
    eg_optim *o = eg_sgd_new(((eg_parameters){&w, NULL, 1}), .lr = 1);
    for (int ref = 0; ref < 2; ref++) {
        EGT_OK(eg_debug(ref ? "ref" : NULL));
        for (int k = 0; k < 6; k++) {
            double norm = 0;
            EGT_OK(eg_set(g, 5, bad[k % 2]));
            EGT_OK(eg_optim_clip_norm(o, (double)INFINITY, .p = p[k / 2]));
            EGT_REFUSED(eg_optim_step(o, &g), EG_EINVAL, k % 2 ? "is inf" : "nan");
            EGT_REFUSED(eg_clip_grad_norm(&g, 1, 1, &norm, .p = p[k / 2]), EG_EINVAL, k % 2 ? "is inf" : "nan");
            EGT_CHECK(k % 2 ? isinf(norm) : isnan(norm));
        }
    }
    EGT_OK(eg_debug(NULL));
    EGT_EQ(eg_get(g, 0), 1);
    EGT_EQ(eg_get(w, 0), 1);
    EGT_EQ(eg_optim_steps(o), 0);
    EGT_OK(eg_optim_clip_norm(o, 0)); /* nobody looks, and NaN passes the cut */
    EGT_OK(eg_optim_clip_value(o, 0.5));
    EGT_OK(eg_set(g, 5, (double)NAN));
    EGT_OK(eg_optim_step(o, &g));
    EGT_EQ(eg_get(w, 0), 0.5);
    EGT_CHECK(isnan(eg_get(w, 5)));
    eg_optim_free(o);
    eg_release(w);
}

EGT(gradients_in_hand_are_clipped)
{
    eg_tensor *wide = eg_full(EG_SHAPE(2, 8), 3, EG_F32);
    eg_tensor *g[4] = {eg_slice(wide, 1, 0, 8, 2), NULL, eg_full(EG_SHAPE(7), 4, EG_F16),
                       eg_zeros(EG_SHAPE(0), EG_F64)};
    double norm;
    EGT_OK(eg_clip_grad_norm(g, 4, 92, &norm));
    EGT_NEAR(norm, sqrt(8 * 9 + 7 * 16), 1e-12);
    EGT_EQ(eg_get(g[0], 1), 3);
    EGT_OK(eg_clip_grad_norm(g, 4, norm / 2, NULL));
    EGT_NEAR(eg_get(g[0], 1), 1.5, 1e-6);
    EGT_EQ(eg_get(wide, 1), 3); /* between the view's elements */
    EGT_NEAR(eg_get(g[2], 6), 2, 1e-3);
    EGT_OK(eg_clip_grad_value(g, 4, 1.75));
    EGT_NEAR(eg_get(g[0], 1), 1.5, 1e-6);
    EGT_EQ(eg_get(g[2], 6), 1.75);
    EGT_REFUSED(eg_clip_grad_norm(g, 4, 0, &norm), EG_EINVAL, "max is 0");
    EGT_REFUSED(eg_clip_grad_value(NULL, 4, 1), EG_EINVAL, "gradients");
    EGT_REFUSED(eg_clip_grad_value(g, -1, 1), EG_EINVAL, "n is -1");
    eg_tensor *whole = eg_ones(EG_SHAPE(2), EG_I64);
    EGT_REFUSED(eg_clip_grad_value(&whole, 1, 1), EG_EDTYPE, "i64");
    EGT_OK(eg_clip_grad_norm(g, 0, 1, &norm));
    EGT_EQ(norm, 0);
}

/* The same bits whatever the number of threads. */
EGT(a_norm_does_not_depend_on_threads)
{
    eg_tensor *g = egt_random(EG_SHAPE(300001), EG_F32, -1, 1);
    double one, all;
    int threads = eg_threads();
    EGT_OK(eg_clip_grad_norm(&g, 1, 1e9, &all));
    EGT_OK(eg_set_threads(1));
    EGT_OK(eg_clip_grad_norm(&g, 1, 1e9, &one));
    EGT_OK(eg_set_threads(threads));
    EGT_EQ(one, all);
    EGT_NEAR(one, sqrt(300001 / 3.0), 1e-2);
}

/* ---- memory ------------------------------------------------------------------------------ */

/* After a few steps every buffer of a training step is one that was used before. */
EGT(a_steady_step_asks_nothing_of_the_system)
{
#ifdef __SANITIZE_ADDRESS__
    egt_skip("memory is not cached where its every use is watched");
#endif
    if (eg_device_of(eg_zeros(EG_SCALAR, EG_F32)) != eg_cpu()) {
        egt_skip("this counts what the CPU asks for");
    }
    eg_module *net = eg_sequential_new(eg_conv2d_new(1, 8, .kernel = 3, .padding = EG_SAME), eg_batch_norm_new(8),
                                       eg_activation_new(eg_relu), eg_max_pool2d_new(.kernel = 2), eg_flatten_new(),
                                       eg_dropout_new(0.5), eg_linear_new(8 * 7 * 7, 10));
    eg_optim *adam = eg_adam_new(eg_module_parameters(net));
    eg_tensor *x = egt_random(EG_SHAPE(16, 1, 14, 14), EG_F32, -1, 1);
    eg_tensor *labels = eg_randint(EG_SHAPE(16), 0, 10, EG_I64);
    int64_t calls = 0;
    for (int i = 0; i < 30; i++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = eg_cross_entropy(eg_module_forward(net, x), labels);
            EGT_OK(eg_optim_minimize(adam, tape, loss));
        }
        if (i == 9) {
            calls = eg_memory_stats().system_calls;
        }
    }
    EGT_CHECK(calls > 0);
    EGT_EQ(eg_memory_stats().system_calls, calls);
    eg_optim_free(adam);
    eg_module_free(net);
}

/* ---- in halves ----------------------------------------------------------------------------------- */

static eg_tensor *distance_from(eg_tensor *p, double v)
{
    return eg_sum(eg_square(eg_sub_scalar(p, v)));
}

EGT(gathered_gradients_are_summed)
{
    eg_tensor *p = eg_parameter(eg_ones(EG_SHAPE(2), EG_F64)), *q = eg_parameter(eg_ones(EG_SCALAR, EG_F64));
    eg_optim *a = eg_sgd_new(((eg_parameters){&p, NULL, 1}), .lr = 0.1);
    eg_optim *b = eg_sgd_new(((eg_parameters){&q, NULL, 1}), .lr = 0.1);
    EGT_REFUSED(eg_optim_update(a), EG_ESTATE, "eg_optim_backward");
    EG_SCOPE {
        eg_tape tape = eg_tape_open(.persistent = true);
        eg_tensor *first = distance_from(p, 3), *second = eg_add(distance_from(p, 0), distance_from(q, 2));
        EGT_REFUSED(eg_optim_backward(a, tape, p), EG_ESHAPE, "one element");
        EGT_REFUSED(eg_optim_update(a), EG_ESTATE, "eg_optim_backward"); /* nothing was gathered */
        EGT_OK(eg_optim_backward(a, tape, first));                       /* -4 */
        EGT_OK(eg_optim_backward(a, tape, second));                      /* +2 */
        EGT_OK(eg_optim_backward(b, tape, second));                      /* -2 */
        EGT_REFUSED(eg_optim_add(a, ((eg_parameters){&q, NULL, 1})), EG_ESTATE, "gathered");
        eg_tape other = eg_tape_open();
        EGT_REFUSED(eg_optim_update(a), EG_ESTATE, "records");
        EGT_OK(eg_tape_close(other));
        EGT_OK(eg_optim_update(a));
        EGT_OK(eg_optim_update(b));
    }
    EGT_NEAR(eg_get(p, 1), 1.2, 1e-12);
    EGT_NEAR(eg_item(q), 1.2, 1e-12);
    EGT_REFUSED(eg_optim_update(a), EG_ESTATE, "eg_optim_backward");
    EG_SCOPE { /* what is gathered goes with the optimizer */
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_optim_backward(a, tape, distance_from(p, 3)));
    }
    EGT_REFUSED(eg_optim_backward(NULL, (eg_tape){0}, NULL), EG_EINVAL, "optim");
    EGT_REFUSED(eg_optim_update(NULL), EG_EINVAL, "optim");
    eg_optim_free(a);
    eg_optim_free(b);
    eg_release(p);
    eg_release(q);
}
