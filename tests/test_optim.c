/* test_optim.c - optimizers as a training loop meets them. The rules' numbers are in the sweep and the
 * golden files. */
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
    eg_tensor *p[2] = {eg_parameter(eg_ones(EG_SHAPE(2), EG_F64)),
                       eg_parameter(eg_ones(EG_SHAPE(2), EG_F64))};
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

/* After a few steps every buffer of a training step is one that was used before. */
EGT(a_steady_step_asks_nothing_of_the_system)
{
#ifdef __SANITIZE_ADDRESS__
    egt_skip("memory is not cached where its every use is watched");
#endif
    eg_module *net = eg_sequential_new(
        eg_conv2d_new(1, 8, .kernel = 3, .padding = EG_SAME), eg_batch_norm_new(8),
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
