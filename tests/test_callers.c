/* test_callers.c - callers that do what they should not: functions that fail in silence, things freed twice, given
 * to two, put into themselves, or asked for in sizes that no memory has. */
#include "tests/egt.h"

#include <float.h>

/* ---- functions that fail without a word ------------------------------------------------------------- */

static eg_tensor *silent(eg_tensor *x)
{
    (void)x;
    return NULL;
}

static eg_tensor *silent_of_many(eg_tensor *const *in, int n, void *user)
{
    (void)in;
    (void)n;
    (void)user;
    return NULL;
}

static eg_status silent_step(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    (void)user;
    (void)in;
    (void)nin;
    (void)out;
    (void)nout;
    return EG_EINVAL;
}

static eg_status silent_map(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)in;
    (void)n;
    (void)out;
    (void)m;
    (void)user;
    return EG_EINVAL;
}

static eg_tensor *silent_forward(eg_module *m, eg_tensor *x)
{
    (void)m;
    (void)x;
    return NULL;
}

EGT(silent_functions)
{
    eg_tensor *x = eg_ones(EG_SHAPE(1, 2, 4, 4), EG_F32), *w = eg_ones(EG_SHAPE(3, 2, 3, 3), EG_F32), *out;
    eg_tensor *y = eg_ones(EG_SHAPE(2, 2), EG_F32);
    EGT_REFUSED(eg_conv2d(x, w, NULL, .activation = silent), EG_EUSER, "activation failed without a word");
    EGT_REFUSED(eg_linear(y, y, NULL, .activation = silent), EG_EUSER, "activation failed without a word");
    EGT_REFUSED(eg_checkpoint(silent_of_many, &x, 1, NULL), EG_EUSER, "failed without a word");
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    EGT_REFUSED(eg_checkpoint(silent_of_many, &x, 1, NULL), EG_EUSER, "failed without a word");
    EGT_OK(eg_tape_close(tape));
    eg_module *m = eg_activation_new(silent);
    EGT_REFUSED(eg_module_forward(m, x), EG_EUSER, "failed without a word");
    EGT_OK(eg_module_free(m));
    static const eg_module_kind kind = {.size = sizeof kind, .name = "mine", .forward = silent_forward};
    m = eg_module_finish(eg_module_new(sizeof(eg_module), &kind));
    EGT_REFUSED(eg_module_forward(m, x), EG_EUSER, "forward failed without a word");
    EGT_OK(eg_module_free(m));
    eg_step *step = eg_step_new(silent_step, NULL);
    EGT_REFUSED(eg_step_run(step, &x, 1, &out, 1), EG_EUSER, "failed without a word");
    eg_step_free(step);
    eg_dataset *d = eg_dataset_map(eg_dataset_from_tensors(&y, 1), silent_map, NULL);
    EGT_REFUSED(eg_dataset_first(d), EG_EUSER, "failed without a word");
    eg_dataset_free(d);
    x = eg_ones(EG_SHAPE(2), EG_F64);
    EGT_REFUSED(eg_gradcheck(silent_of_many, &x, 1, NULL), EG_EUSER, "failed without a word");
}

static eg_tensor *same_backward_is_none(eg_tensor *const *in, int n, void *user)
{
    (void)n;
    (void)user;
    return in[0];
}

static eg_status no_backward(eg_tensor *const *in, int n, eg_tensor *y, eg_tensor *dy, unsigned needed, eg_tensor **dx,
                             void *user)
{
    (void)in, (void)n, (void)y, (void)dy, (void)needed, (void)dx, (void)user;
    return EG_EINVAL;
}

/* An earlier failure, dealt with, is not theirs, and a call that works leaves it on record. */
EGT(silence_after_an_old_failure)
{
    eg_tensor *y = eg_ones(EG_SHAPE(2, 2), EG_F64), *out = y, *dx;
    static const eg_custom_op custom = {.name = "mine", .forward = same_backward_is_none, .backward = no_backward};
    eg_step *step = eg_step_new(silent_step, NULL);
    eg_module *m = eg_activation_new(silent), *fine = eg_activation_new(eg_relu);
    for (int k = 0; k < 5; k++) {
        snprintf(egt_case, sizeof egt_case, "function %d", k);
        EGT_CHECK(!eg_reshape(y, EG_SHAPE(3)));
        EGT_CHECK(eg_custom(&custom, &y, 1) && eg_module_forward(fine, y));
        EGT_EQ(eg_last_error()->code, EG_ESHAPE);
        EGT_CHECK(k != 0 || !eg_checkpoint(silent_of_many, &y, 1, NULL));
        EGT_CHECK(k != 1 || !eg_module_forward(m, y));
        EGT_CHECK(k != 2 || !eg_linear(y, y, NULL, .activation = silent));
        EGT_CHECK(k != 3 || eg_step_run(step, &y, 1, &out, 1) == EG_EUSER);
        if (k == 4) {
            eg_tape tape = eg_tape_open();
            EGT_OK(eg_tape_watch(tape, y));
            EGT_EQ(eg_tape_gradients(tape, eg_sum(eg_custom(&custom, &y, 1)), &y, 1, &dx), EG_EUSER);
        }
        EGT_CHECK(egt_said(EG_EUSER, "failed without a word"));
    }
    eg_step_free(step);
    EGT_OK(eg_module_free(m));
    EGT_OK(eg_module_free(fine));
}

/* ---- arguments -------------------------------------------------------------------------------------- */

EGT(no_arrays)
{
    eg_tensor *x = eg_ones(EG_SHAPE(2, 2), EG_F64), *g = NULL;
    EGT_REFUSED(eg_as_strided(x, EG_SHAPE(2), NULL, 0), EG_EINVAL, "strides");
    EGT_REFUSED(eg_to_values(x, NULL), EG_EINVAL, "values");
    EGT_REFUSED(eg_copy_out(x, NULL, 32), EG_EINVAL, "data");
    EGT_REFUSED(eg_meshgrid(&g, 1, &g), EG_EINVAL, "xs[0]");
    eg_tensor *line = eg_ones(EG_SHAPE(2), EG_F64);
    EGT_REFUSED(eg_meshgrid(&line, 1, NULL), EG_EINVAL, "out");
    EGT_REFUSED(eg_scope_pop_n(eg_scope_push(), NULL, 2), EG_EINVAL, "results");
    EGT_REFUSED(eg_scope_pop_n(eg_scope_push(), &x, -1), EG_EINVAL, "n is -1");
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = eg_sum(x);
    g = x;
    EGT_REFUSED(eg_tape_gradients(tape, y, NULL, 1, &g), EG_EINVAL, "xs");
    EGT_CHECK(!g);
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, NULL), EG_EINVAL, "out");
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, -1, &g), EG_EINVAL, "n is -1");
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &g)); /* the refusals left it as it was */
    EGT_EQ(eg_get(g, 3), 1);
}

/* ---- freed twice, given to two ------------------------------------------------------------------------ */

static eg_status number(int64_t index, eg_tensor **s, int *n, void *user)
{
    (void)user;
    s[0] = eg_scalar((double)index, EG_F32);
    *n = 1;
    return EG_OK;
}

static eg_dataset *numbers(void)
{
    return eg_dataset_from(number, 10, NULL, NULL);
}

EGT(datasets_are_given_once)
{
    eg_dataset *d = numbers(), *b = eg_dataset_batch(d, 2);
    EGT_REFUSED(eg_dataset_shuffle(d, 4), EG_ESTATE, "eg_dataset_batch, which owns it");
    EGT_REFUSED(eg_dataset_map(d, NULL, NULL), EG_ESTATE, "owns it");
    EGT_REFUSED(eg_dataset_cache(d), EG_ESTATE, "owns it");
    EGT_REFUSED(eg_dataset_batch(d, -1), EG_ESTATE, "owns it");
    EGT_REFUSED(eg_dataset_concat((eg_dataset *[]){numbers(), d}, 2), EG_ESTATE, "owns it");
    EGT_REFUSED(eg_dataset_free(d), EG_ESTATE, "owns it");
    EGT_EQ(eg_item(eg_dataset_first(b)[0]) != eg_item(eg_dataset_first(b)[0]), 1); /* NaN: two numbers */
    eg_dataset *z = eg_dataset_zip((eg_dataset *[]){b, numbers()}, 2);
    EGT_REFUSED(eg_dataset_free(b), EG_ESTATE, "eg_dataset_zip");
    eg_clear_error();
    eg_dataset_free(z);
    EGT_EQ(eg_last_error()->code, EG_OK);
}

EGT(datasets_are_freed_once)
{
    eg_dataset *d = numbers(), *b = eg_dataset_batch(d, 2), *other = numbers();
    eg_dataset_free(b);
    EGT_REFUSED(eg_dataset_free(b), EG_ESTATE, "freed before");
    EGT_REFUSED(eg_dataset_free(d), EG_ESTATE, "freed before");
    EGT_REFUSED(eg_dataset_shuffle(d, 5), EG_ESTATE, "freed before");
    EGT_REFUSED(eg_dataset_zip((eg_dataset *[]){other, b}, 2), EG_ESTATE, "freed before");
    EGT_REFUSED(eg_dataset_free(other), EG_ESTATE, "freed before");
}

EGT(handles_are_freed_once)
{
    eg_module *m = eg_linear_new(2, 2);
    eg_optim *o = eg_sgd_new(eg_module_parameters(m), .lr = 0.1);
    eg_ema *ema = eg_ema_new(eg_module_parameters(m));
    eg_scaler *s = eg_scaler_new();
    eg_tensors *map = eg_tensors_new();
    eg_step *step = eg_step_new(silent_step, NULL);
    eg_word_counts *c = eg_word_counts_new();
    for (int i = 0; i < 2; i++) {
        eg_optim_free(o);
        EGT_EQ(egt_said(EG_ESTATE, "freed before"), i);
        eg_ema_free(ema);
        EGT_EQ(egt_said(EG_ESTATE, "freed before"), i);
        eg_scaler_free(s);
        EGT_EQ(egt_said(EG_ESTATE, "freed before"), i);
        eg_tensors_free(map);
        EGT_EQ(egt_said(EG_ESTATE, "freed before"), i);
        eg_step_free(step);
        EGT_EQ(egt_said(EG_ESTATE, "freed before"), i);
        eg_word_counts_free(c);
        EGT_EQ(egt_said(EG_ESTATE, "freed before"), i);
        EGT_EQ(eg_module_free(m), i ? EG_ESTATE : EG_OK);
        EGT_EQ(egt_said(EG_ESTATE, "freed before"), i);
    }
}

EGT(modules_are_given_once)
{
    eg_module *m = eg_linear_new(2, 2), *freed = eg_linear_new(2, 2);
    eg_module *first = eg_sequential_new(m, eg_linear_new(2, 2));
    EGT_REFUSED(eg_sequential_new(eg_linear_new(2, 2), m), EG_ESTATE, "belongs to a sequential already");
    EGT_REFUSED(eg_residual_new(m, eg_linear_new(2, 2)), EG_ESTATE, "belongs to a sequential already");
    EGT_REFUSED(eg_module_free(m), EG_ESTATE, "belongs to a sequential");
    EGT_OK(eg_module_free(freed));
    EGT_REFUSED(eg_sequential_new(freed), EG_ESTATE, "freed before");
    EGT_REFUSED(eg_residual_new(freed, freed), EG_ESTATE, "freed before");
    EGT_CHECK(eg_module_forward(first, eg_ones(EG_SHAPE(1, 2), EG_F32)));
    EGT_OK(eg_module_free(first));
    EGT_REFUSED(eg_module_free(m), EG_ESTATE, "freed before");
}

EGT(modules_inside_each_other)
{
    eg_module *m = eg_linear_new(2, 2);
    for (int i = 0; i < 1000 && m; i++) {
        m = eg_sequential_new(m);
    }
    EGT_CHECK(m && eg_module_forward(m, eg_ones(EG_SHAPE(1, 2), EG_F32)));
    EGT_OK(eg_module_eval(m));
    EGT_OK(eg_module_freeze(m));
    EGT_REFUSED(eg_sequential_new(m), EG_EINVAL, "1001 modules inside each other"); /* and frees what it was given */
    EGT_REFUSED(eg_module_free(m), EG_ESTATE, "freed before");
}

typedef struct loop {
    eg_module base;
    eg_module *one, *two;
} loop;

static eg_tensor *loop_forward(eg_module *m, eg_tensor *x)
{
    return eg_module_forward(((loop *)m)->two, eg_module_forward(((loop *)m)->one, x));
}

static void loop_members(eg_module *m, eg_members *members)
{
    eg_member_child(members, "one", &((loop *)m)->one);
    eg_member_child(members, "two", &((loop *)m)->two);
}

static const eg_module_kind loop_kind = {
    .size = sizeof loop_kind, .name = "loop", .forward = loop_forward, .members = loop_members};

static loop *loop_new(eg_module *one, eg_module *two)
{
    loop *l = eg_module_new(sizeof *l, &loop_kind);
    l->one = one;
    l->two = two;
    return (loop *)eg_module_finish(&l->base);
}

EGT(modules_inside_themselves)
{
    eg_tensor *x = eg_ones(EG_SHAPE(1, 2), EG_F32);
    loop *below = loop_new(eg_linear_new(2, 2), eg_linear_new(2, 2));
    loop *root = loop_new(&below->base, eg_linear_new(2, 2));
    eg_module *parted[2] = {below->one, below->two};
    below->one = below->two = &root->base;
    EGT_REFUSED(eg_module_forward(&root->base, x), EG_ESTATE, "below itself");
    EGT_REFUSED(eg_module_eval(&root->base), EG_ESTATE, "below itself");
    EGT_CHECK(root->base.training && below->base.training);
    EGT_REFUSED(eg_module_freeze(&root->base), EG_ESTATE, "below itself");
    EGT_REFUSED(eg_module_to(&root->base, EG_F64), EG_ESTATE, "below itself");
    EGT_REFUSED(eg_module_parameters(&root->base), EG_ESTATE, "below itself");
    EGT_REFUSED(eg_module_init(&root->base, EG_GLOROT_UNIFORM), EG_ESTATE, "below itself");
    EGT_OK(eg_module_free(&root->base));
    for (int i = 0; i < 2; i++) {
        parted[i]->parent = NULL; /* they left without a word */
        EGT_OK(eg_module_free(parted[i]));
    }
}

EGT(views_of_a_parameter)
{
    eg_tensor *p = eg_parameter(eg_ones(EG_SHAPE(2, 4), EG_F32)), *q = eg_parameter(eg_ones(EG_SHAPE(2), EG_F32));
    eg_tensor *view = eg_keep(eg_reshape(eg_detach(p), EG_SHAPE(8))), *rest = eg_keep(eg_select(eg_detach(p), 0, 1));
    eg_tensor *first = eg_keep(eg_select(eg_detach(p), 0, 0));
    for (int i = 0; i < 3; i++) {
        eg_release(eg_parameter((eg_tensor *[]){view, rest, first}[i]));
    }
    EGT_REFUSED(eg_sgd_new(((eg_parameters){(eg_tensor *[]){p, view}, NULL, 2}), .lr = 1), EG_EINVAL,
                "two views of the same memory");
    EGT_REFUSED(eg_ema_new(((eg_parameters){(eg_tensor *[]){q, p, rest}, NULL, 3})), EG_EINVAL, "parameters 1 and 2");
    eg_optim *o = eg_adam_new(((eg_parameters){(eg_tensor *[]){first, rest, first}, NULL, 3}), .lr = 1);
    EGT_CHECK(o);
    EGT_REFUSED(eg_optim_add(o, ((eg_parameters){(eg_tensor *[]){p}, NULL, 1})), EG_EINVAL, "view of the memory");
    EGT_OK(eg_optim_add(o, ((eg_parameters){(eg_tensor *[]){q}, NULL, 1})));
    eg_optim_free(o);
    for (int i = 0; i < 5; i++) {
        eg_release((eg_tensor *[]){p, q, view, rest, first}[i]);
    }
}

/* ---- sizes that no memory has ------------------------------------------------------------------------ */

EGT(large_results)
{
    const int64_t big = (int64_t)1 << 28;
    eg_memory before = eg_memory_stats();
    eg_tensor *x = eg_ones(EG_SHAPE(1, 1, 4, 4), EG_F32), *box = eg_ones(EG_SHAPE(1, 4), EG_F32);
    eg_tensor *image = eg_zeros(EG_SHAPE(1), EG_I64), *theta = eg_ones(EG_SHAPE(1, 2, 3), EG_F32);
    eg_memory_reset_peak();
    EGT_REFUSED(eg_crop_and_resize(x, box, image, big, big), EG_ENOMEM, "crop_and_resize");
    EGT_REFUSED(eg_roi_align(x, box, image, big, big), EG_ENOMEM, "roi_align");
    EGT_REFUSED(eg_roi_align(x, box, image, big, 1, .sampling_ratio = 4096), EG_ENOMEM, "roi_align");
    EGT_REFUSED(eg_affine_grid(theta, big, big, false), EG_ENOMEM, "affine_grid");
    EGT_REFUSED(eg_anchors(big, big, .sizes = {1}), EG_ENOMEM, "anchors");
    EGT_REFUSED(eg_one_hot(image, big * big / 16), EG_ENOMEM, "one_hot");
    EGT_REFUSED(eg_sequence_mask(image, big * big / 16), EG_ENOMEM, "sequence_mask");
    EGT_REFUSED(eg_eye(big, big, 0, EG_F32), EG_ENOMEM, "eye");
    EGT_REFUSED(eg_tri(big, big, 0, EG_F32), EG_ENOMEM, "tri");
    EGT_REFUSED(eg_diag_embed(eg_expand(eg_ones(EG_SHAPE(1), EG_F32), EG_SHAPE(big)), 0), EG_ENOMEM, "diag_embed");
    EGT_REFUSED(eg_tile(x, EG_SHAPE(big, big)), EG_ENOMEM, "tile");
    eg_tensor *line = eg_expand(eg_ones(EG_SHAPE(1), EG_F32), EG_SHAPE(big));
    EGT_REFUSED(eg_outer(line, line), EG_ENOMEM, "no memory");
    EGT_REFUSED(eg_frames(line, big / 2, 1), EG_ENOMEM, "frames");
    EGT_REFUSED(eg_stft(line, big / 2, .hop = 1), EG_ENOMEM, "no memory");
    EGT_REFUSED(eg_resize(x, EG_SHAPE(big, big)), EG_ENOMEM, "no memory");
    EGT_REFUSED(eg_pad(x, .before = {big, big}), EG_ENOMEM, "pad");
    EGT_CHECK(eg_memory_stats().peak_bytes - before.reserved_bytes < (64 << 20));
    EGT_OK(eg_memory_limit(before.reserved_bytes + (64 << 20)));
    eg_affine_grid(theta, 1 << 14, 1 << 14, false); /* the cap counts as well */
    EGT_OK(eg_memory_limit(0));
    EGT_CHECK(egt_said(EG_ENOMEM, "affine_grid") && eg_memory_stats().peak_bytes - before.reserved_bytes < (64 << 20));
}

/* ---- options that are said to be wrong where they are given ------------------------------------------------ */

EGT(options_of_optimizers)
{
    eg_tensor *p = eg_parameter(eg_ones(EG_SHAPE(2), EG_F32));
    eg_parameters one = {&p, NULL, 1};
    EGT_REFUSED(eg_adam_new(one, .beta1 = 1), EG_EINVAL, "beta1 is 1");
    EGT_REFUSED(eg_adam_new(one, .beta2 = 1), EG_EINVAL, "beta2 is 1");
    EGT_REFUSED(eg_adamax_new(one, .beta1 = 1), EG_EINVAL, "beta1");
    EGT_REFUSED(eg_nadam_new(one, .beta1 = 1), EG_EINVAL, "beta1");
    EGT_REFUSED(eg_radam_new(one, .beta2 = 1), EG_EINVAL, "beta2");
    EGT_REFUSED(eg_adam_new(one, .beta1 = NAN), EG_EINVAL, "beta1");
    EGT_REFUSED(eg_rmsprop_new(one, .alpha = 1), EG_EINVAL, "alpha is 1");
    EGT_REFUSED(eg_adadelta_new(one, .rho = 1), EG_EINVAL, "rho is 1");
    eg_schedule up = EG_SCHEDULE(.kind = EG_RATE_EXPONENTIAL, .lr = 1, .factor = 10);
    EGT_EQ(eg_schedule_at(&up, 2), 100);
    EGT_REFUSED(eg_schedule_at(&up, 400), EG_EINVAL, "the rate of step 400 is inf");
    eg_release(p);
}

EGT(options_of_layers)
{
    EGT_REFUSED(eg_batch_norm_new(3, .eps = -1), EG_EINVAL, "eps -1");
    EGT_REFUSED(eg_batch_norm_new(3, .eps = NAN), EG_EINVAL, "eps");
    EGT_REFUSED(eg_batch_norm_new(3, .momentum = -0.5), EG_EINVAL, "momentum -0.5");
    EGT_REFUSED(eg_batch_norm_new(3, .momentum = NAN), EG_EINVAL, "momentum");
    EGT_REFUSED(eg_group_norm_new(1, 2, .eps = -1), EG_EINVAL, "eps -1");
    EGT_REFUSED(eg_layer_norm_new(EG_SHAPE(2), .eps = (double)INFINITY), EG_EINVAL, "eps inf");
    EGT_REFUSED(eg_conv2d_new(1, 1, .kernel = 3, .stride = -1), EG_EINVAL, "stride is -1");
    EGT_REFUSED(eg_conv2d_new(1, 1, .kernel = 3, .dilation = -1), EG_EINVAL, "dilation is -1");
    EGT_REFUSED(eg_conv2d_new(1, 1, .kernel = 3, .padding = -7), EG_EINVAL, "padding is -7");
    EGT_REFUSED(eg_conv2d_new(1, 1, .kernel = 3, .strides = {1, -2}), EG_EINVAL, "entry of strides is -2");
    EGT_REFUSED(eg_conv2d_new(1, 1, .kernel = 3, .output_padding = {1}), EG_EINVAL, "output_padding");
    EGT_REFUSED(eg_conv_transpose2d_new(1, 1, .kernel = 3, .output_padding = {-1}), EG_EINVAL, "output_padding -1");
    EGT_REFUSED(eg_max_pool2d_new(.kernel = 2, .stride = -1), EG_EINVAL, "stride is -1");
    EGT_REFUSED(eg_avg_pool1d_new(.kernel = 2, .padding = -9), EG_EINVAL, "padding is -9");
    EGT_REFUSED(eg_dropout_new(NAN), EG_EINVAL, "p is");
    EGT_REFUSED(eg_resize_new(EG_SHAPE(4, -2)), EG_ESHAPE, "size[1] is -2");
    EGT_REFUSED(eg_resize_new(EG_SHAPE(1, 2, 3, 4)), EG_ESHAPE, "4 sizes");
    EGT_REFUSED(eg_resize_new(EG_SHAPE(4, 4), .mode = 99), EG_EINVAL, "mode 99");
    EGT_REFUSED(eg_resize_new(EG_SHAPE(4, 4), .scale = {1, NAN}), EG_EINVAL, "scale[1] is nan");
    EGT_REFUSED(eg_resize_new(EG_SHAPE(4, 4), .mode = EG_RESIZE_CUBIC, .cubic = NAN), EG_EINVAL, "cubic");
    eg_module *kept[] = {eg_conv2d_new(1, 1, .kernel = 3, .padding = EG_SAME), eg_max_pool2d_new(.kernel = 2),
                         eg_conv_transpose2d_new(1, 1, .kernel = 3, .stride = 2, .output_padding = {1, 1}),
                         eg_batch_norm_new(2, .momentum = 1), eg_resize_new(EG_SHAPE(-1, 8), .scale = {2})};
    for (int i = 0; i < 5; i++) {
        EGT_CHECK(kept[i]);
        EGT_OK(eg_module_free(kept[i]));
    }
}

EGT(random_numbers_of_a_dtype)
{
    EGT_REFUSED(eg_uniform(EG_SHAPE(2), 0, 1e300, EG_F32), EG_EINVAL, "numbers of f32");
    EGT_REFUSED(eg_uniform(EG_SHAPE(2), -1e5, 0, EG_F16), EG_EINVAL, "numbers of f16");
    EGT_REFUSED(eg_normal(EG_SHAPE(2), 1e300, 1, EG_F32), EG_EINVAL, "numbers of f32");
    EGT_REFUSED(eg_truncated_normal(EG_SHAPE(2), 0, 1e39, EG_BF16), EG_EINVAL, "numbers of bf16");
    EGT_CHECK(isfinite(eg_get(eg_uniform(EG_SHAPE(2), 0, 1e300, EG_F64), 1)));
    EGT_CHECK(isfinite(eg_get(eg_uniform(EG_SHAPE(2), -FLT_MAX / 4, FLT_MAX / 4, EG_F32), 1)));
}
