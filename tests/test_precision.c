/* test_precision.c - autocast: which ops compute in what, how long it lasts, gradients, training. */
#include <math.h>
#include <pthread.h>

#include "tests/egt.h"

static eg_dtype dtype_under(eg_dtype low, eg_tensor *(*f)(eg_tensor *), eg_tensor *x)
{
    eg_tensor *y = NULL;
    EG_AUTOCAST(low) {
        y = f(x);
    }
    return y ? eg_dtype_of(y) : EG_DTYPE_COUNT;
}

/* ---- every row that is named ------------------------------------------------------------------------ */

static eg_tensor *matmul(eg_tensor *x)
{
    return eg_matmul(x, eg_ones(EG_SHAPE(4, 4), EG_F32));
}

static eg_tensor *linear(eg_tensor *x)
{
    return eg_linear(x, eg_ones(EG_SHAPE(3, 4), EG_F32), eg_ones(EG_SHAPE(3), EG_F32));
}

static eg_tensor *image_of(eg_tensor *x)
{
    return eg_reshape(x, EG_SHAPE(1, 1, 4, 4));
}

static eg_tensor *conv(eg_tensor *x)
{
    return eg_conv2d(image_of(x), eg_ones(EG_SHAPE(2, 1, 3, 3), EG_F32), NULL);
}

static eg_tensor *conv_transpose(eg_tensor *x)
{
    return eg_conv_transpose2d(image_of(x), eg_ones(EG_SHAPE(1, 2, 3, 3), EG_F32), NULL);
}

static eg_tensor *power(eg_tensor *x)
{
    return eg_pow_scalar(x, 2);
}

static eg_tensor *softmax(eg_tensor *x)
{
    return eg_softmax(x, -1);
}

static eg_tensor *sum(eg_tensor *x)
{
    return eg_sum(x, .axes = EG_AXES(0));
}

static eg_tensor *cross_entropy(eg_tensor *x)
{
    return eg_cross_entropy(x, eg_zeros(EG_SHAPE(4), EG_I64));
}

static eg_tensor *mse(eg_tensor *x)
{
    return eg_mse_loss(x, x);
}

static eg_tensor *bins(eg_tensor *x)
{
    return eg_rfft(x);
}

static eg_tensor *inverse(eg_tensor *x)
{
    return eg_inverse(eg_add(x, eg_eye(4, 4, 0, EG_F32)));
}

static eg_tensor *doubled(eg_tensor *x)
{
    return eg_add(x, x);
}

static eg_tensor *largest(eg_tensor *x)
{
    return eg_max_pool2d(image_of(x), .kernel = 2);
}

EGT(what_ops_compute_in)
{
    static const struct {
        const char *name;
        eg_tensor *(*f)(eg_tensor *x);
        char of_f32, of_half; /* l: low, f: f32, s: the same */
    } rows[] = {
        {"matmul", matmul, 'l', 'l'},
        {"linear", linear, 'l', 'l'},
        {"conv", conv, 'l', 'l'},
        {"conv_transpose", conv_transpose, 'l', 'l'},
        {"exp", eg_exp, 'f', 'f'},
        {"pow", power, 'f', 'f'},
        {"softmax", softmax, 'f', 'f'},
        {"sum", sum, 'f', 'f'},
        {"cross_entropy", cross_entropy, 'f', 'f'},
        {"mse", mse, 'f', 'f'},
        {"rfft", bins, 'f', 'f'},
        {"inverse", inverse, 'f', 'f'},
        {"add", doubled, 'f', 's'},
        {"relu", eg_relu, 'f', 's'},
        {"max_pool", largest, 'f', 's'},
    };
    static const eg_dtype halves[] = {EG_BF16, EG_F16};
    eg_tensor *x = egt_random(EG_SHAPE(4, 4), EG_F32, 0.1, 1), *wide = eg_cast(x, EG_F64);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int h = 0; h < 2; h++) {
            eg_dtype low = halves[h];
            snprintf(egt_case, sizeof egt_case, "%s %s", rows[i].name, eg_dtype_name(low));
            EGT_EQ(dtype_under(low, rows[i].f, x), rows[i].of_f32 == 'l' ? low : EG_F32);
            EGT_EQ(dtype_under(low, rows[i].f, eg_cast(x, low)), rows[i].of_half == 'f' ? EG_F32 : low);
            EGT_EQ(dtype_under(low, rows[i].f, wide), EG_F64);
            EGT_EQ(eg_dtype_of(rows[i].f(x)), EG_F32); /* and without */
        }
    }
}

static void count_kinds(const eg_op_info *op, void *user)
{
    int *count = user;
    count[0] += !strcmp(op->autocast, "low");
    count[1] += !strcmp(op->autocast, "f32");
    if (!strcmp(op->name, "matmul")) {
        EGT_CHECK(!strcmp(op->autocast, "low"));
    }
    if (!strcmp(op->name, "exp")) {
        EGT_CHECK(!strcmp(op->autocast, "f32"));
    }
    if (!strcmp(op->name, "add")) {
        EGT_CHECK(!strcmp(op->autocast, ""));
    }
}

EGT(the_table_says_so)
{
    int count[2] = {0, 0};
    eg_op_walk(count_kinds, count);
    EGT_CHECK(count[0] >= 8 && count[1] >= 20);
}

EGT(values_are_those_of_casts)
{
    eg_tensor *a = egt_random(EG_SHAPE(5, 7), EG_F32, -1, 1), *b = egt_random(EG_SHAPE(7, 3), EG_F32, -1, 1);
    eg_tensor *y = NULL;
    EG_AUTOCAST(EG_BF16) {
        y = eg_matmul(a, b);
    }
    eg_tensor *z = eg_matmul(eg_cast(a, EG_BF16), eg_cast(b, EG_BF16));
    EGT_EQ(eg_item(eg_all(eg_eq(y, z))), 1);
}

/* ---- how long it lasts ------------------------------------------------------------------------------ */

EGT(until_the_scope_is_popped)
{
    EGT_EQ(eg_autocast_dtype(), EG_F32);
    eg_scope outer = eg_scope_push();
    EGT_OK(eg_autocast(EG_BF16));
    eg_scope inner = eg_scope_push();
    EGT_EQ(eg_autocast_dtype(), EG_BF16);
    EGT_OK(eg_autocast(EG_F16));
    EGT_OK(eg_autocast(EG_F32));
    eg_scope_pop(inner, NULL);
    EGT_EQ(eg_autocast_dtype(), EG_BF16);
    EG_AUTOCAST(EG_F16) {
        EGT_EQ(eg_autocast_dtype(), EG_F16);
    }
    EGT_EQ(eg_autocast_dtype(), EG_BF16);
    eg_scope_push(); /* left open: closed with the outer one */
    eg_autocast(EG_F16);
    eg_scope_pop(outer, NULL);
    EGT_EQ(eg_autocast_dtype(), EG_F32);
}

static eg_tensor *returns_from_a_block(eg_tensor *x)
{
    eg_scope s = eg_scope_push();
    EG_AUTOCAST(EG_BF16) {
        return eg_scope_pop(s, eg_matmul(x, x));
    }
    return eg_scope_pop(s, NULL);
}

EGT(a_block_may_be_left)
{
    eg_tensor *x = egt_random(EG_SHAPE(3, 3), EG_F32, -1, 1);
    EGT_EQ(eg_dtype_of(returns_from_a_block(x)), EG_BF16);
    EGT_EQ(eg_autocast_dtype(), EG_F32);
}

static void *dtype_of_thread(void *user)
{
    *(eg_dtype *)user = eg_autocast_dtype();
    return NULL;
}

EGT(it_is_a_threads)
{
    pthread_t thread;
    eg_dtype there = EG_BF16;
    EG_AUTOCAST(EG_BF16) {
        EGT_OK(pthread_create(&thread, NULL, dtype_of_thread, &there));
        EGT_OK(pthread_join(thread, NULL));
    }
    EGT_EQ(there, EG_F32);
}

EGT(refusals)
{
    EGT_EQ(eg_autocast(EG_I32), EG_EINVAL);
    EGT_CHECK(strstr(eg_last_error()->message, "i32"));
    EGT_EQ(eg_autocast(EG_F64), EG_EINVAL);
    EGT_EQ(eg_autocast((eg_dtype)77), EG_EINVAL);
    EGT_EQ(eg_autocast_dtype(), EG_F32);
    eg_clear_error();
    EG_AUTOCAST(EG_BF16) {
        eg_tensor *x = eg_ones(EG_SHAPE(2, 3), EG_F32);
        EGT_REFUSED(eg_matmul(x, x), EG_ESHAPE, "[2, 3]");
        EGT_REFUSED(eg_matmul(x, NULL), EG_EINVAL, "NULL");
    }
}

/* ---- gradients -------------------------------------------------------------------------------------- */

/* The gradient of a loss of two products by the f32 parameter w. */
static eg_tensor *slope(eg_dtype low, eg_tensor *x, eg_tensor *w, bool inside)
{
    eg_tensor *g = NULL, *loss = NULL;
    eg_scope s = eg_scope_push();
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, w);
    EG_AUTOCAST(low) {
        loss = eg_mean(eg_square(eg_matmul(eg_tanh(eg_matmul(x, w)), w)));
        if (inside) {
            EGT_OK(eg_tape_gradients(tape, loss, &w, 1, &g));
            EGT_EQ(eg_autocast_dtype(), low);
        }
    }
    EGT_EQ(eg_dtype_of(loss), EG_F32);
    if (!inside) {
        EGT_OK(eg_tape_gradients(tape, loss, &w, 1, &g));
    }
    return eg_scope_pop(s, g);
}

EGT(gradients_of_parameters_are_f32)
{
    eg_tensor *x = egt_random(EG_SHAPE(16, 8), EG_F32, -1, 1), *w = egt_random(EG_SHAPE(8, 8), EG_F32, -0.5, 0.5);
    eg_tensor *exact = slope(EG_F32, x, w, false);
    static const struct {
        eg_dtype low;
        double off;
    } rows[] = {{EG_BF16, 3e-2}, {EG_F16, 4e-3}};
    for (int i = 0; i < 2; i++) {
        eg_tensor *g = slope(rows[i].low, x, w, false), *h = slope(rows[i].low, x, w, true);
        EGT_EQ(eg_dtype_of(g), EG_F32);
        EGT_EQ(eg_item(eg_all(eg_eq(g, h))), 1);
        double off = eg_item(eg_norm(eg_sub(g, exact))) / eg_item(eg_norm(exact));
        EGT_CHECK(off > 1e-6 && off < rows[i].off);
    }
}

static eg_tensor *segment(eg_tensor *const *x, int n, void *w)
{
    (void)n;
    return eg_matmul(eg_tanh(eg_matmul(x[0], w)), w);
}

EGT(a_checkpoint_computes_again_in_the_same_precision)
{
    eg_tensor *x = egt_random(EG_SHAPE(16, 8), EG_F32, -1, 1);
    eg_tensor *w = eg_parameter(egt_random(EG_SHAPE(8, 8), EG_F32, -0.5, 0.5)), *g[2];
    for (int i = 0; i < 2; i++) {
        eg_tape tape = eg_tape_open();
        eg_tensor *y = NULL;
        EG_AUTOCAST(EG_BF16) {
            y = i ? eg_checkpoint(segment, &x, 1, w) : segment(&x, 1, w);
        }
        EGT_EQ(eg_dtype_of(y), EG_BF16);
        EGT_OK(eg_tape_gradients(tape, eg_sum(eg_square(y)), &w, 1, &g[i]));
        EGT_EQ(eg_dtype_of(g[i]), EG_F32);
    }
    EGT_EQ(eg_item(eg_all(eg_eq(g[0], g[1]))), 1);
    EGT_OK(eg_release(w));
}

/* ---- training --------------------------------------------------------------------------------------- */

static double last_loss(eg_dtype low)
{
    eg_seed(3);
    eg_module *net = eg_sequential_new(eg_linear_new(4, 32), eg_activation_new(eg_tanh), eg_linear_new(32, 1));
    eg_optim *optim = eg_adam_new(eg_module_parameters(net), .lr = 1e-2);
    eg_scaler *scaler = eg_scaler_new();
    eg_tensor *x = egt_random(EG_SHAPE(64, 4), EG_F32, -1, 1);
    eg_tensor *y = eg_sum(eg_sin(eg_mul_scalar(x, 2)), .axes = EG_AXES(1), .keepdim = true);
    double last = (double)NAN;
    for (int i = 0; i < 150; i++) {
        eg_scope s = eg_scope_push();
        eg_tape tape = eg_tape_open();
        eg_autocast(low);
        eg_tensor *loss = eg_mse_loss(eg_module_forward(net, x), y);
        EGT_OK(eg_scaler_minimize(scaler, optim, tape, loss));
        last = eg_item(loss);
        eg_scope_pop(s, NULL);
    }
    eg_scaler_free(scaler);
    eg_optim_free(optim);
    eg_module_free(net);
    return last;
}

EGT(training_comes_as_far)
{
    double full = last_loss(EG_F32), bf16 = last_loss(EG_BF16), f16 = last_loss(EG_F16);
    EGT_CHECK(full < 0.1 && bf16 < 0.15 && f16 < 0.12);
    EGT_CHECK(bf16 != full && f16 != full);
}
