/* test_nn.c - modules: building, names, ownership, modes, saving and loading, one of the user's own. */
#include "tests/egt.h"

static eg_module *small_net(void)
{
    return eg_sequential_new(eg_conv2d_new(1, 4, .kernel = 3, .padding = EG_SAME), eg_activation_new(eg_relu),
                             eg_flatten_new(), eg_dropout_new(0.5), eg_linear_new(4 * 6 * 6, 3));
}

EGT(forward_and_names)
{
    eg_module *net = small_net();
    eg_parameters p = eg_module_parameters(net);
    eg_tensors *s = eg_module_state(net);
    eg_tensor *y = eg_module_forward(net, egt_random(EG_SHAPE(2, 1, 6, 6), EG_F32, -1, 1));
    EGT_EQ(eg_size(y, 0), 2);
    EGT_EQ(eg_size(y, 1), 3);
    EGT_EQ(p.count, 4);
    EGT_STR(p.names[0], "0.weight");
    EGT_STR(p.names[1], "0.bias");
    EGT_STR(p.names[2], "4.weight");
    EGT_STR(p.names[3], "4.bias");
    EGT_CHECK(eg_is_parameter(p.tensors[2]));
    EGT_EQ(eg_tensors_count(s), 4);
    eg_tensors_free(s);
    EGT_OK(eg_module_free(net));
}

EGT(linear_is_the_formula)
{
    eg_module *l = eg_linear_new(3, 2, .dtype = EG_F64);
    eg_parameters p = eg_module_parameters(l);
    eg_tensor *x = egt_random(EG_SHAPE(5, 3), EG_F64, -1, 1);
    eg_tensor *by_hand = eg_add(eg_matmul(x, eg_transpose(p.tensors[0], 0, 1)), p.tensors[1]);
    EGT_CHECK(egt_distance(eg_module_forward(l, x), by_hand) < 1e-12);
    eg_module_free(l);
    l = eg_linear_new(3, 2, .no_bias = true);
    p = eg_module_parameters(l);
    EGT_EQ(p.count, 1);
    eg_module_free(l);
}

EGT(parameters_begin_within_their_limit)
{
    eg_module *c = eg_conv2d_new(8, 32, .kernels = {3, 5}, .groups = 2);
    eg_parameters p = eg_module_parameters(c);
    eg_tensor *w = p.tensors[0];
    double limit = 1 / sqrt(4 * 3 * 5), worst = 0;
    EGT_EQ(eg_size(w, 1), 4);
    EGT_EQ(eg_size(w, 2), 3);
    EGT_EQ(eg_size(w, 3), 5);
    for (int64_t i = 0; i < eg_numel(w); i++) {
        worst = fmax(worst, fabs(eg_get(w, i)));
    }
    EGT_CHECK(worst <= limit && worst > 0.99 * limit);
    EGT_NEAR(eg_item(eg_sum(w)) / (double)eg_numel(w), 0, 0.01);
    eg_module_free(c);
}

EGT(same_seed_same_parameters)
{
    eg_seed(5);
    eg_module *a = small_net();
    eg_seed(5);
    eg_module *b = small_net();
    eg_tensors *s = eg_module_state(a), *t = eg_module_state(b);
    for (int64_t i = 0; i < eg_tensors_count(s); i++) {
        EGT_EQ(egt_distance(eg_tensors_at(s, i), eg_tensors_at(t, i)), 0);
    }
    eg_tensors_free(s);
    eg_tensors_free(t);
    eg_module_free(a);
    eg_module_free(b);
}

EGT(train_and_eval_reach_everything)
{
    eg_module *net = eg_sequential_new(eg_sequential_new(eg_dropout_new(0.9)), eg_dropout_new(0.9));
    eg_tensor *x = eg_ones(EG_SHAPE(1000), EG_F32);
    EGT_CHECK(eg_item(eg_sum(eg_eq_scalar(eg_module_forward(net, x), 0))) > 900);
    EGT_OK(eg_module_eval(net));
    EGT_EQ(egt_distance(eg_module_forward(net, x), x), 0);
    EGT_OK(eg_module_train(net));
    EGT_CHECK(eg_item(eg_sum(eg_eq_scalar(eg_module_forward(net, x), 0))) > 900);
    eg_module_free(net);
}

EGT(one_result_is_all_that_stays)
{
    eg_module *net = small_net();
    eg_tensor *x = egt_random(EG_SHAPE(2, 1, 6, 6), EG_F32, -1, 1);
    int64_t before = eg_memory_stats().live_tensors;
    eg_module_forward(net, x);
    EGT_EQ(eg_memory_stats().live_tensors, before + 1);
    /* An empty sequence gives x back, which is no new tensor. */
    eg_module *empty = eg_sequential_new_with(NULL, 0);
    EGT_CHECK(eg_module_forward(empty, x) == x);
    eg_module *identities = eg_sequential_new(eg_dropout_new(0), eg_dropout_new(0));
    EGT_CHECK(eg_module_forward(identities, x) == x);
    EGT_EQ(eg_memory_stats().live_tensors, before + 1);
    eg_module_free(identities);
    eg_module_free(empty);
    eg_module_free(net);
}

EGT(gradients_reach_parameters)
{
    eg_module *net = eg_sequential_new(eg_linear_new(3, 4, .dtype = EG_F64), eg_activation_new(eg_tanh),
                                       eg_linear_new(4, 1, .dtype = EG_F64));
    eg_parameters p = eg_module_parameters(net);
    eg_tensor *const *xs = p.tensors, *g[4], *x = egt_random(EG_SHAPE(5, 3), EG_F64, -1, 1);
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_module_forward(net, x)), xs, 4, g));
    for (int i = 0; i < 4; i++) { /* against a difference in one element of each */
        const double h = 1e-5;
        double was = eg_get(xs[i], 0);
        eg_set(xs[i], 0, was + h);
        double up = eg_item(eg_sum(eg_module_forward(net, x)));
        eg_set(xs[i], 0, was - h);
        double down = eg_item(eg_sum(eg_module_forward(net, x)));
        eg_set(xs[i], 0, was);
        EGT_NEAR(eg_get(g[i], 0), (up - down) / (2 * h), 1e-7);
    }
    eg_module_free(net);
}

EGT(batch_norm_counts_and_freezes)
{
    eg_module *b = eg_batch_norm_new(3, .momentum = 0.5);
    eg_tensors *s = eg_module_state(b);
    EGT_EQ(eg_tensors_count(s), 5);
    EGT_STR(eg_tensors_name(s, 2), "running_mean");
    EGT_STR(eg_tensors_name(s, 3), "running_var");
    EGT_STR(eg_tensors_name(s, 4), "num_batches_tracked");
    EGT_EQ(eg_module_parameters(b).count, 2);
    eg_tensor *x = eg_add_scalar(egt_random(EG_SHAPE(50, 3), EG_F32, -1, 1), 4);
    eg_tensor *y = eg_module_forward(b, x);
    EGT_NEAR(eg_item(eg_mean(y)), 0, 1e-5);
    EGT_EQ(eg_item(eg_tensors_at(s, 4)), 1);
    EGT_NEAR(eg_get(eg_tensors_at(s, 2), 0), 2, 0.1);
    EGT_OK(eg_module_eval(b));
    eg_tensor *was = eg_copy(eg_tensors_at(s, 2));
    EGT_CHECK(eg_item(eg_mean(eg_module_forward(b, x))) > 1);
    EGT_EQ(egt_distance(eg_tensors_at(s, 2), was), 0);
    EGT_EQ(eg_item(eg_tensors_at(s, 4)), 1);
    eg_tensors_free(s);
    eg_module_free(b);
    b = eg_batch_norm_new(2, .no_affine = true);
    EGT_EQ(eg_module_parameters(b).count, 0);
    EGT_CHECK(eg_module_parameters(b).tensors != NULL);
    eg_module_free(b);
    EGT_REFUSED(eg_batch_norm_new(0), EG_EINVAL, "features");
}

EGT(group_and_layer_norm_are_the_ops)
{
    eg_module *g = eg_group_norm_new(2, 6, .eps = 1e-3), *l = eg_layer_norm_new(EG_SHAPE(4, 5));
    eg_tensor *x = egt_random(EG_SHAPE(3, 6, 4, 5), EG_F32, -1, 1);
    eg_parameters p = eg_module_parameters(g);
    EGT_EQ(p.count, 2);
    EGT_STR(p.names[0], "weight");
    EGT_STR(p.names[1], "bias");
    EGT_OK(eg_set(p.tensors[0], 2, 3));
    EGT_OK(eg_set(p.tensors[1], 5, -2));
    eg_tensor *want = eg_group_norm(x, 2, p.tensors[0], p.tensors[1], .eps = 1e-3);
    EGT_EQ(egt_distance(eg_module_forward(g, x), want), 0);
    p = eg_module_parameters(l);
    EGT_EQ(eg_size(p.tensors[0], 1), 5);
    EGT_OK(eg_set(p.tensors[0], 7, 3));
    want = eg_layer_norm(x, p.tensors[0], p.tensors[1]);
    EGT_EQ(egt_distance(eg_module_forward(l, x), want), 0);
    eg_module_free(g);
    eg_module_free(l);
    g = eg_group_norm_new(3, 6, .no_affine = true);
    l = eg_layer_norm_new(EG_SHAPE(5), .no_bias = true, .dtype = EG_F64);
    EGT_EQ(eg_module_parameters(g).count, 0);
    EGT_EQ(egt_distance(eg_module_forward(g, x), eg_group_norm(x, 3, NULL, NULL)), 0);
    EGT_EQ(eg_module_parameters(l).count, 1);
    EGT_EQ(eg_dtype_of(eg_module_parameters(l).tensors[0]), EG_F64);
    eg_module_free(g);
    eg_module_free(l);
    EGT_REFUSED(eg_group_norm_new(4, 6), EG_EINVAL, "6 channels in 4 groups");
    EGT_REFUSED(eg_group_norm_new(0, 6), EG_EINVAL, "0 groups");
    EGT_REFUSED(eg_layer_norm_new(EG_SCALAR), EG_EINVAL, "0 axes");
    EGT_REFUSED(eg_layer_norm_new(EG_SHAPE(3, 0)), EG_EINVAL, "axis 1");
}

EGT(pools_are_the_ops)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 8, 9), EG_F32, -1, 1);
    eg_module *max = eg_max_pool2d_new(.kernel = 3, .stride = 2, .padding = 1);
    eg_module *avg = eg_avg_pool2d_new(.kernels = {2, 3}, .exclude_pad = true);
    eg_module *all = eg_global_avg_pool_new();
    eg_tensor *want = eg_max_pool2d(x, .kernel = 3, .stride = 2, .padding = 1);
    EGT_EQ(egt_distance(eg_module_forward(max, x), want), 0);
    want = eg_avg_pool2d(x, .kernels = {2, 3});
    EGT_EQ(egt_distance(eg_module_forward(avg, x), want), 0);
    eg_tensor *y = eg_module_forward(all, eg_channels_last(x));
    EGT_EQ(eg_ndim(y), 2);
    want = eg_reshape(eg_adaptive_avg_pool(x, EG_SHAPE(1, 1)), EG_SHAPE(2, 3));
    EGT_CHECK(egt_distance(y, want) < 1e-6);
    EGT_REFUSED(eg_module_forward(all, eg_ones(EG_SHAPE(2, 3), EG_F32)), EG_ESHAPE, "spatial");
    EGT_REFUSED(eg_module_forward(max, eg_ones(EG_SHAPE(2, 3), EG_F32)), EG_ESHAPE, "max_pool2d");
    eg_module_free(max);
    eg_module_free(avg);
    eg_module_free(all);
    eg_module *line = eg_sequential_new(eg_max_pool1d_new(.kernel = 2), eg_avg_pool1d_new(.kernel = 2));
    EGT_EQ(eg_size(eg_module_forward(line, eg_ones(EG_SHAPE(1, 2, 9), EG_F32)), 2), 2);
    eg_module_free(line);
    line = eg_sequential_new(eg_max_pool3d_new(.kernel = 2), eg_avg_pool3d_new(.kernel = 2));
    EGT_EQ(eg_size(eg_module_forward(line, eg_ones(EG_SHAPE(1, 1, 4, 5, 6), EG_F32)), 4), 1);
    eg_module_free(line);
    EGT_REFUSED(eg_max_pool2d_new(.stride = 2), EG_EINVAL, "axis 0 is 0");
    EGT_REFUSED(eg_avg_pool1d_new(.kernel = -3), EG_EINVAL, "-3");
    EGT_REFUSED(eg_max_pool2d_new(.kernel = 2, .indices = &want), EG_EINVAL, "indices");
}

/* ---- ownership --------------------------------------------------------------------------------- */

EGT(a_null_frees_the_others)
{
    EGT_REFUSED(eg_sequential_new(eg_linear_new(2, 2), eg_linear_new(0, 1), eg_dropout_new(0.5)), EG_EINVAL, "linear");
    EGT_REFUSED(eg_sequential_new(eg_linear_new(2, 2), eg_dropout_new(2)), EG_EINVAL, "dropout");
    EGT_REFUSED(eg_sequential_new(eg_flatten_new(), NULL), EG_EINVAL, "1");
}

EGT(one_parent_only)
{
    eg_module *a = eg_linear_new(2, 2), *net = eg_sequential_new(a);
    EGT_REFUSED(eg_sequential_new(eg_flatten_new(), a), EG_ESTATE, "belongs");
    EGT_REFUSED(eg_module_free(a), EG_ESTATE, "belongs");
    eg_tensor *x = eg_ones(EG_SHAPE(1, 2), EG_F32);
    EGT_CHECK(eg_module_forward(net, x) != NULL);
    eg_module *b = eg_flatten_new();
    EGT_REFUSED(eg_sequential_new(b, b), EG_ESTATE, "belongs"); /* and frees it once */
    eg_module_free(net);
}

EGT(null_is_passed_through)
{
    eg_module *net = eg_flatten_new();
    EGT_REFUSED(eg_module_forward(NULL, eg_ones(EG_SHAPE(1), EG_F32)), EG_EINVAL, "m");
    EGT_REFUSED(eg_module_forward(net, NULL), EG_EINVAL, "x");
    EGT_REFUSED(eg_module_parameters(NULL), EG_EINVAL, "m");
    EGT_CHECK(!eg_module_parameters(NULL).tensors);
    eg_clear_error();
    EGT_REFUSED(eg_module_state(NULL), EG_EINVAL, "m");
    EGT_REFUSED(eg_module_train(NULL), EG_EINVAL, "m");
    EGT_REFUSED(eg_module_eval(NULL), EG_EINVAL, "m");
    EGT_REFUSED(eg_module_save(NULL, "file"), EG_EINVAL, "m");
    EGT_REFUSED(eg_module_load(NULL, "file"), EG_EINVAL, "m");
    EGT_REFUSED(eg_module_save(net, NULL), EG_EINVAL, "path");
    EGT_REFUSED(eg_module_load(net, NULL), EG_EINVAL, "path");
    EGT_REFUSED(eg_module_load_state(net, NULL), EG_EINVAL, "source");
    EGT_REFUSED(eg_activation_new(NULL), EG_EINVAL, "function");
    EGT_OK(eg_module_free(NULL));
    eg_module_free(net);
}

EGT(refused_options)
{
    EGT_REFUSED(eg_linear_new(-1, 2), EG_EINVAL, "linear");
    EGT_REFUSED(eg_linear_new(INT64_MAX, INT64_MAX), EG_ESHAPE, "uniform");
    EGT_REFUSED(eg_linear_new(2, 2, .dtype = EG_I64), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_conv2d_new(3, 4), EG_EINVAL, "kernel");
    EGT_REFUSED(eg_conv2d_new(3, 4, .kernel = -1), EG_EINVAL, "kernel");
    EGT_REFUSED(eg_conv2d_new(3, 4, .kernels = {3, 3, 3}), EG_EINVAL, "axis 2");
    EGT_REFUSED(eg_conv2d_new(3, 4, .kernel = 3, .groups = 2), EG_EINVAL, "groups");
    EGT_REFUSED(eg_conv2d_new(1, 1, .kernel = INT64_MAX), EG_ESHAPE, "conv2d");
    EGT_REFUSED(eg_dropout_new((double)NAN), EG_EINVAL, "dropout");
    EGT_REFUSED(eg_sequential_new_with(NULL, 3), EG_EINVAL, "sequential");
    EGT_REFUSED(eg_sequential_new_with(NULL, -1), EG_EINVAL, "sequential");
}

/* ---- a module of the user's own ---------------------------------------------------------------- */

typedef struct block {
    eg_module base;
    eg_module *inner;
    eg_tensor *scale, *calls;
    char *extra;
} block;

static eg_tensor *block_forward(eg_module *m, eg_tensor *x)
{
    block *b = (block *)m;
    eg_set(b->calls, 0, eg_item(b->calls) + 1);
    return eg_add(x, eg_mul(b->scale, eg_module_forward(b->inner, x)));
}

static void block_members(eg_module *m, eg_members *members)
{
    block *b = (block *)m;
    eg_member_child(members, "inner", &b->inner);
    eg_member_parameter(members, "scale", &b->scale);
    eg_member_buffer(members, "calls", &b->calls);
}

static int freed;

static void block_free(eg_module *m)
{
    free(((block *)m)->extra);
    freed++;
}

static const eg_module_kind block_kind = {.size = sizeof(eg_module_kind),
                                          .name = "block",
                                          .forward = block_forward,
                                          .members = block_members,
                                          .free = block_free};

static eg_module *block_new(int64_t width)
{
    block *b = eg_module_new(sizeof *b, &block_kind);
    if (!b) {
        return NULL;
    }
    b->extra = malloc(10);
    b->inner = eg_linear_new(width, width);
    b->scale = eg_parameter(eg_ones(EG_SHAPE(width), EG_F32));
    b->calls = eg_keep(eg_zeros(EG_SCALAR, EG_I64));
    return eg_module_finish(&b->base);
}

EGT(a_module_of_the_users_own)
{
    eg_module *net = eg_sequential_new(block_new(3), eg_linear_new(3, 1));
    eg_parameters p = eg_module_parameters(net);
    eg_tensors *s = eg_module_state(net);
    EGT_EQ(p.count, 5);
    EGT_STR(p.names[0], "0.inner.weight");
    EGT_STR(p.names[2], "0.scale");
    EGT_EQ(eg_tensors_count(s), 6);
    EGT_STR(eg_tensors_name(s, 3), "0.calls");
    eg_module_forward(net, eg_ones(EG_SHAPE(2, 3), EG_F32));
    EGT_EQ(eg_item(eg_tensors_get(s, "0.calls")), 1);
    eg_tensors_free(s);
    freed = 0;
    eg_module_free(net);
    EGT_EQ(freed, 1);
    EGT_REFUSED(block_new(0), EG_EINVAL, "linear");
    EGT_EQ(freed, 2);
    EGT_REFUSED(eg_module_new(1, &block_kind), EG_EINVAL, "size");
    EGT_REFUSED(eg_module_new(sizeof(block), NULL), EG_EINVAL, "kind");
}

static void clash_members(eg_module *m, eg_members *members)
{
    block *b = (block *)m;
    eg_member_parameter(members, "scale", &b->scale);
    eg_member_buffer(members, "scale", &b->calls);
}

EGT(names_that_clash)
{
    static const eg_module_kind kind = {
        .size = sizeof kind, .name = "clash", .forward = block_forward, .members = clash_members};
    block *b = eg_module_new(sizeof *b, &kind);
    b->scale = eg_parameter(eg_ones(EG_SHAPE(1), EG_F32));
    b->calls = eg_keep(eg_zeros(EG_SCALAR, EG_I64));
    eg_module *m = eg_module_finish(&b->base);
    EGT_REFUSED(eg_module_state(m), EG_EINVAL, "scale");
    eg_module_free(m);
}

EGT(nests_as_deep_as_names_go)
{
    eg_module *m = eg_linear_new(2, 2);
    for (int i = 0; i < 250; i++) {
        m = eg_sequential_new(m);
    }
    eg_tensor *x = eg_ones(EG_SHAPE(1, 2), EG_F32);
    eg_parameters p = eg_module_parameters(m);
    EGT_EQ(p.count, 2);
    EGT_CHECK(eg_module_forward(m, x) != NULL);
    for (int i = 0; i < 10; i++) {
        m = eg_sequential_new(m);
    }
    EGT_REFUSED(eg_module_parameters(m), EG_EINVAL, "name");
    eg_module_free(m);
}

/* ---- state ------------------------------------------------------------------------------------- */

EGT(loaded_from_other_formats)
{
    static const char *const files[] = {"net.npz", "net.gguf", "net.ckpt.index"};
    eg_module *a = small_net(), *b = small_net();
    eg_tensor *x = egt_random(EG_SHAPE(2, 1, 6, 6), EG_F32, -1, 1);
    eg_module_eval(a);
    eg_module_eval(b);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *file = egt_path(files[i]);
        eg_tensors *state = eg_module_state(a), *less = eg_tensors_new();
        EGT_OK(eg_tensors_save(state, file));
        EGT_OK(eg_module_load(b, file));
        EGT_EQ(egt_distance(eg_module_forward(a, x), eg_module_forward(b, x)), 0);
        EGT_OK(eg_tensors_set(less, eg_tensors_name(state, 0), eg_tensors_at(state, 0)));
        EGT_OK(eg_tensors_save(less, file));
        EGT_REFUSED(eg_module_load(b, file), EG_EFORMAT, eg_tensors_name(state, 1));
        EGT_OK(eg_module_load(b, file, .allow_missing = true));
        EG_SCOPE {
            eg_optim *sgd = eg_sgd_new(eg_module_parameters(a), .lr = 0.1);
            eg_tape tape = eg_tape_open();
            EGT_OK(eg_optim_minimize(sgd, tape, eg_mean(eg_module_forward(a, x))));
            eg_optim_free(sgd);
        }
        eg_tensors_free(less);
        eg_tensors_free(state);
    }
    EGT_OK(eg_file_write(egt_path("net.npz"), "no such thing", 13));
    EGT_REFUSED(eg_module_load(b, egt_path("net.npz")), EG_EFORMAT, "net.npz");
    eg_module_free(a);
    eg_module_free(b);
}

EGT(saved_and_loaded)
{
    const char *file = egt_path("net.safetensors");
    eg_module *a = small_net(), *b = small_net();
    eg_tensor *x = egt_random(EG_SHAPE(2, 1, 6, 6), EG_F32, -1, 1);
    eg_module_eval(a);
    eg_module_eval(b);
    EGT_CHECK(egt_distance(eg_module_forward(a, x), eg_module_forward(b, x)) > 0.001);
    EGT_OK(eg_module_save(a, file));
    EGT_OK(eg_module_load(b, file));
    EGT_EQ(egt_distance(eg_module_forward(a, x), eg_module_forward(b, x)), 0);
    remove(file);
    EGT_REFUSED(eg_module_load(b, file), EG_EIO, file);
    eg_module_free(a);
    eg_module_free(b);
}

static eg_tensors *state_with(const char *name, eg_tensor *t, bool bias)
{
    eg_tensors *s = eg_tensors_new();
    eg_tensors_set(s, name, t);
    if (bias) {
        eg_tensors_set(s, "bias", eg_full(EG_SHAPE(2), 7, EG_F32));
    }
    return s;
}

EGT(strict_unless_told)
{
    eg_module *l = eg_linear_new(3, 2);
    eg_tensors *own = eg_module_state(l);
    eg_tensor *before = eg_copy(eg_tensors_get(own, "bias"));
    eg_tensor *w = eg_full(EG_SHAPE(2, 3), 5, EG_F32);

    eg_tensors *s = state_with("weight", w, false);
    EGT_REFUSED(eg_module_load_state(l, s), EG_EFORMAT, "missing: \"bias\"");
    EGT_OK(eg_module_load_state(l, s, .allow_missing = true));
    EGT_EQ(eg_get(eg_tensors_get(own, "weight"), 5), 5);
    EGT_EQ(egt_distance(eg_tensors_get(own, "bias"), before), 0);
    eg_tensors_free(s);

    s = state_with("weigth", w, true);
    EGT_REFUSED(eg_module_load_state(l, s), EG_EFORMAT, "unexpected: \"weigth\"");
    EGT_REFUSED(eg_module_load_state(l, s, .allow_unexpected = true), EG_EFORMAT, "\"weight\"");
    EGT_EQ(egt_distance(eg_tensors_get(own, "bias"), before), 0);
    eg_tensors_free(s);

    s = state_with("weight", eg_ones(EG_SHAPE(3, 2), EG_F32), true);
    EGT_REFUSED(eg_module_load_state(l, s), EG_ESHAPE, "[3, 2] there and [2, 3] here");
    EGT_EQ(egt_distance(eg_tensors_get(own, "bias"), before), 0);
    eg_tensors_free(s);

    s = state_with("weight", eg_ones(EG_SHAPE(2, 3), EG_I32), true);
    EGT_REFUSED(eg_module_load_state(l, s), EG_EDTYPE, "i32 there and f32 here");
    eg_tensors_free(s);

    /* Other floats are converted, other layouts walked. */
    eg_tensor *odd = eg_transpose(eg_arange(0, 6, 1, EG_BF16), 0, 0);
    s = state_with("weight", eg_transpose(eg_reshape(odd, EG_SHAPE(3, 2)), 0, 1), true);
    EGT_OK(eg_module_load_state(l, s));
    EGT_EQ(eg_get(eg_tensors_get(own, "weight"), 1), 2);
    EGT_EQ(eg_get(eg_tensors_get(own, "weight"), 3), 1);
    EGT_EQ(eg_get(eg_tensors_get(own, "bias"), 0), 7);
    eg_tensors_free(s);

    s = eg_tensors_new();
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "a.rather.long.name.%d", i);
        eg_tensors_set(s, name, w);
    }
    EGT_REFUSED(eg_module_load_state(l, s), EG_EFORMAT, "more; nothing was loaded");
    eg_tensors_free(s);
    eg_tensors_free(own);
    eg_module_free(l);
}

EGT(not_under_an_open_tape)
{
    const char *file = egt_path("net.safetensors");
    eg_module *l = eg_linear_new(3, 2);
    EGT_OK(eg_module_save(l, file));
    eg_tape tape = eg_tape_open();
    EGT_REFUSED(eg_module_load(l, file), EG_ESTATE, "tape");
    EGT_OK(eg_tape_close(tape));
    EGT_OK(eg_module_load(l, file));
    eg_module_free(l);
}

static bool small_net_runs(void *user)
{
    (void)user;
    eg_module *net = small_net();
    eg_tensors *state = net ? eg_module_state(net) : NULL;
    bool listed = state && eg_module_parameters(net).tensors;
    eg_tensor *y = listed ? eg_module_forward(net, eg_ones(EG_SHAPE(1, 1, 6, 6), EG_F32)) : NULL;
    eg_tensors_free(state);
    eg_module_free(net);
    return y;
}

EGT(every_allocation_may_fail)
{
    EGT_CHECK(egt_fail_allocations(small_net_runs, NULL) > 20);
}
