/* test_named.c - named options: EG_ZERO where 0 is another default, and structs shorter or longer than ours. */
#include "tests/egt.h"

static eg_tensor *numbers(void)
{
    return eg_from_values(EG_SHAPE(4), EG_F64, (double[]){3, 0, -4, 0});
}

static eg_parameters only(eg_tensor **w)
{
    return (eg_parameters){.tensors = w, .count = 1};
}

EGT(zero_of_reductions_and_losses)
{
    eg_tensor *x = numbers(), *y = eg_zeros(EG_SHAPE(4), EG_F64);
    EGT_EQ(eg_item(eg_norm(x)), 5);
    EGT_EQ(eg_item(eg_norm(x, .p = EG_ZERO)), 2);
    EGT_EQ(eg_item(eg_norm(eg_cast(x, EG_I32), .p = EG_ZERO)), 2);
    EGT_NEAR(eg_item(eg_smooth_l1_loss(x, y)), 1.5, 1e-12);
    EGT_NEAR(eg_item(eg_smooth_l1_loss(x, y, .beta = EG_ZERO)), 1.75, 1e-12);
    EGT_REFUSED(eg_huber_loss(x, y, .delta = EG_ZERO), EG_EINVAL, "delta");
}

EGT(zero_of_the_count_norms_gradient)
{
    eg_tensor *x = numbers(), *dx;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    EGT_OK(eg_tape_gradients(tape, eg_norm(x, .p = EG_ZERO), &x, 1, &dx));
    EGT_EQ(eg_item(eg_sum(eg_abs(dx))), 0);
}

EGT(zero_of_norms)
{
    eg_tensor *x = eg_reshape(numbers(), EG_SHAPE(2, 2)), *mean = eg_zeros(EG_SHAPE(2), EG_F64);
    eg_tensor *var = eg_ones(EG_SHAPE(2), EG_F64);
    EGT_CHECK(eg_batch_norm(x, NULL, NULL, mean, var, .training = true, .momentum = EG_ZERO) != NULL);
    EGT_EQ(eg_get(mean, 0), 0);
    EGT_EQ(eg_get(var, 0), 1);
    EGT_EQ(eg_get(eg_layer_norm(x, NULL, NULL, .eps = EG_ZERO), 0), 1);
    EGT_CHECK(eg_get(eg_layer_norm(x, NULL, NULL), 0) < 1);
    EGT_EQ(eg_get(eg_local_response_norm(eg_reshape(x, EG_SHAPE(1, 2, 2)), .alpha = EG_ZERO), 0), 3);
}

/* Layers hand what they were given to the ops. */
EGT(zero_of_layers)
{
    eg_tensor *x = eg_reshape(numbers(), EG_SHAPE(2, 2));
    eg_module *batch = eg_batch_norm_new(2, .momentum = EG_ZERO, .eps = EG_ZERO, .dtype = EG_F64);
    eg_module *layer = eg_layer_norm_new(EG_SHAPE(2), .eps = EG_ZERO, .dtype = EG_F64);
    EGT_CHECK(eg_module_forward(batch, x) != NULL);
    EGT_OK(eg_module_eval(batch)); /* of running statistics that stayed 0 and 1 */
    EGT_EQ(egt_distance(eg_module_forward(batch, x), x), 0);
    EGT_EQ(eg_get(eg_module_forward(layer, x), 0), 1);
    EGT_OK(eg_module_free(batch));
    EGT_OK(eg_module_free(layer));
    EGT_REFUSED(eg_scaler_new(.backoff = EG_ZERO), EG_EINVAL, "backoff");
    EGT_REFUSED(eg_scaler_new(.start = EG_ZERO), EG_EINVAL, "start");
}

EGT(zero_of_optimizers)
{
    eg_tensor *w = eg_parameter(eg_ones(EG_SHAPE(2), EG_F64)), *v = eg_parameter(eg_ones(EG_SHAPE(2), EG_F64));
    eg_optim *plain = eg_adam_new(only(&w), .lr = 0.5, .beta1 = EG_ZERO, .beta2 = EG_ZERO, .eps = EG_ZERO);
    eg_optim *still = eg_sgd_new(only(&v), .lr = EG_ZERO);
    EGT_CHECK(plain && still);
    for (int step = 0; step < 2; step++) {
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_optim_minimize(plain, tape, eg_sum(eg_mul_scalar(w, step ? -7 : 3))));
        EGT_EQ(eg_get(w, 0), step ? 1 : 0.5); /* only this gradient's sign */
        tape = eg_tape_open();
        EGT_OK(eg_optim_minimize(still, tape, eg_sum(v)));
        EGT_EQ(eg_get(v, 1), 1);
    }
    eg_optim_free(plain);
    eg_optim_free(still);
    eg_release(w);
    eg_release(v);
}

EGT(zero_of_averages_and_weights)
{
    eg_tensor *w = eg_parameter(eg_ones(EG_SHAPE(2, 2), EG_F32));
    eg_ema *ema = eg_ema_new(only(&w), .decay = EG_ZERO);
    EGT_CHECK(ema != NULL);
    EGT_OK(eg_init(w, EG_NORMAL, .mean = 3, .std = 1e-3));
    EGT_OK(eg_ema_update(ema));
    EGT_OK(eg_init(w, EG_GLOROT_UNIFORM, .gain = EG_ZERO));
    EGT_EQ(eg_item(eg_sum(eg_abs(w))), 0);
    EGT_OK(eg_ema_swap(ema));
    EGT_NEAR(eg_item(eg_mean(w)), 3, 0.01);
    eg_ema_free(ema);
    eg_release(w);
}

EGT(zero_of_counts)
{
    char text[200];
    eg_tensor *x = numbers();
    EGT_CHECK(eg_format_with(
                  x, text, sizeof text,
                  &(eg_print_options){.size = sizeof(eg_print_options), .threshold = EG_ZERO, .edge_items = 1}) > 0);
    EGT_CHECK(strstr(text, "...") != NULL);
    eg_tensor *padded = eg_pad_sequences(&x, 1, .maxlen = EG_ZERO);
    EGT_EQ(eg_size(padded, 1), 0);
    eg_tensor *boxes = eg_from_values(EG_SHAPE(1, 4), EG_F32, (double[]){0, 0, 1, 1});
    eg_tensor *score = eg_zeros(EG_SHAPE(1), EG_F32);
    EGT_EQ(eg_numel(eg_nms(boxes, score)), 1);
    EGT_EQ(eg_numel(eg_nms(boxes, score, .score_threshold = EG_ZERO)), 0);
    EGT_EQ(eg_numel(eg_nms(boxes, score, .max_output = EG_ZERO)), 0);
}

static eg_tensor *square(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    return eg_square(x[0]);
}

/* A program built when a struct ended earlier gives its size: what lies behind is not looked at. */
EGT(shorter_structs)
{
    eg_tensor *x = numbers();
    eg_norm_options norm = {.size = offsetof(eg_norm_options, p), .p = 1};
    EGT_EQ(eg_item(eg_norm_with(x, &norm)), 5);
    eg_print_options print = {.size = offsetof(eg_print_options, precision), .precision = -1};
    EGT_CHECK(eg_format_with(x, NULL, 0, &print) > 0);
    eg_gradcheck_options check = {.size = offsetof(eg_gradcheck_options, step), .step = -1};
    EGT_OK(eg_gradcheck_with(square, &x, 1, NULL, &check));
}

/* One built with a later header gives a larger size: what is not known here is not looked at. */
EGT(longer_structs)
{
    eg_tensor *x = numbers();
    struct {
        eg_norm_options known;
        unsigned char later[64];
    } norm = {.known = {.size = sizeof norm, .p = 1}};
    memset(norm.later, 0x5a, sizeof norm.later);
    EGT_EQ(eg_item(eg_norm_with(x, &norm.known)), 7);
    struct {
        eg_gradcheck_options known;
        unsigned char later[64];
    } check = {.known = {.size = sizeof check, .step = -1}};
    memset(check.later, 0x5a, sizeof check.later);
    EGT_REFUSED(eg_gradcheck_with(square, &x, 1, NULL, &check.known), EG_EINVAL, "step");
    check.known.step = 1e-5;
    EGT_OK(eg_gradcheck_with(square, &x, 1, NULL, &check.known));
}
