/* test_blocks.c - blocks of several layers, names, inner results and copies of modules. */
#include "tests/egt.h"

static eg_tensor *image(void)
{
    return egt_random(EG_SHAPE(3, 4, 6, 5), EG_F32, -1, 1);
}

/* ---- names and branches --------------------------------------------------------------------------- */

EGT(names_take_the_place_of_numbers)
{
    eg_module *net = eg_sequential_new(eg_named("conv1", eg_conv2d_new(4, 2, .kernel = 1)), eg_activation_new(eg_relu),
                                       eg_named("fc", eg_linear_new(5, 3)));
    eg_parameters p = eg_module_parameters(net);
    EGT_STR(p.names[0], "conv1.weight");
    EGT_STR(p.names[3], "fc.bias");
    EGT_CHECK(eg_module_find(net, "1") == eg_module_at(net, 1));
    EGT_CHECK(eg_module_find(net, "fc") == eg_module_at(net, 2));
    EGT_CHECK(eg_named("other", eg_module_at(net, 2)) == eg_module_at(net, 2));
    EGT_CHECK(eg_module_find(net, "other") && !eg_module_find(net, "fc"));
    eg_clear_error();
    EGT_REFUSED(eg_named("", eg_module_at(net, 0)), EG_EINVAL, "empty"); /* the sequence's own: it stays */
    EGT_CHECK(eg_module_find(net, "conv1"));
    EGT_REFUSED(eg_named("a.b", eg_identity_new()), EG_EINVAL, "dot");
    EGT_REFUSED(eg_named(NULL, eg_identity_new()), EG_EINVAL, "name");
    EGT_REFUSED(eg_named("x", NULL), EG_EINVAL, "m");
    char longer[102];
    memset(longer, 'x', 101);
    longer[101] = 0;
    EGT_REFUSED(eg_named(longer, eg_identity_new()), EG_EINVAL, "long");
    EGT_REFUSED(eg_named("x", eg_leaky_relu_new((double)NAN)), EG_EINVAL, "slope"); /* what failed first is told */
    EGT_OK(eg_module_free(net));
}

EGT(branches_stand_side_by_side)
{
    eg_tensor *x = image();
    eg_module *net = eg_branches_new(eg_activation_new(eg_relu), eg_named("neg", eg_activation_new(eg_neg)));
    eg_tensor *both[2] = {eg_relu(x), eg_neg(x)};
    EGT_EQ(egt_distance(eg_module_forward(net, x), eg_concat(both, 2, 1)), 0);
    EGT_EQ(eg_module_count(net), 2);
    EGT_CHECK(eg_module_find(net, "neg") == eg_module_at(net, 1));
    EGT_OK(eg_module_free(net));
    EGT_REFUSED(eg_branches_new(eg_identity_new(), NULL), EG_EINVAL, "1 is NULL");
    EGT_REFUSED(eg_branches_new_with(NULL, 2), EG_EINVAL, "branches");
    EGT_REFUSED(eg_branches_new_with((eg_module *[]){NULL}, 0), EG_EINVAL, "1..64");
}

/* ---- layers by their definitions -------------------------------------------------------------------- */

EGT(norms_without_a_part)
{
    eg_tensor *x = image();
    eg_module *b = eg_batch_norm_new(4, .no_weight = true);
    EGT_EQ(eg_module_parameters(b).count, 1);
    EGT_STR(eg_module_parameters(b).names[0], "bias");
    EGT_EQ(egt_distance(eg_module_forward(b, x), eg_batch_norm(x, NULL, NULL, NULL, NULL, .training = true)), 0);
    eg_module *i = eg_instance_norm_new(4), *r = eg_rms_norm_new(EG_SHAPE(5)),
              *l = eg_local_response_norm_new(.channels = 3);
    EGT_EQ(egt_distance(eg_module_forward(i, x), eg_instance_norm(x, NULL, NULL)), 0);
    EGT_EQ(eg_module_parameters(i).count, 2);
    EGT_CHECK(egt_distance(eg_module_forward(r, x), eg_rms_norm(x, NULL)) < 1e-6);
    EGT_EQ(eg_module_parameters(r).count, 1);
    EGT_EQ(egt_distance(eg_module_forward(l, x), eg_local_response_norm(x, .channels = 3)), 0);
    eg_module *s = eg_layer_scale_new(4, 0.5);
    EGT_EQ(egt_distance(eg_module_forward(s, x), eg_mul_scalar(x, 0.5)), 0);
    eg_module *all[] = {b, i, r, l, s};
    for (int k = 0; k < 5; k++) {
        EGT_OK(eg_module_free(all[k]));
    }
    EGT_REFUSED(eg_instance_norm_new(0), EG_EINVAL, "0 channels");
    EGT_REFUSED(eg_rms_norm_new(EG_SHAPE(0)), EG_EINVAL, "rms_norm");
    EGT_REFUSED(eg_layer_scale_new(0, 1), EG_EINVAL, "0 channels");
}

EGT(paths_are_dropped_by_rows)
{
    eg_module *d = eg_drop_path_new(0.25);
    eg_tensor *x = eg_ones(EG_SHAPE(4000, 2, 3), EG_F32);
    eg_seed(5);
    eg_tensor *rows = eg_mean(eg_module_forward(d, x), .axes = EG_AXES(1, 2));
    EGT_NEAR(eg_item(eg_mean(rows)), 1, 0.05);
    EGT_NEAR(eg_item(eg_mean(eg_cast(eg_eq_scalar(rows, 0), EG_F32))), 0.25, 0.05);
    EGT_NEAR(eg_item(eg_max(rows)), 4.0 / 3, 1e-6);
    EGT_EQ(eg_item(eg_std(eg_std(eg_module_forward(d, x), .axes = EG_AXES(1, 2)))), 0); /* whole rows */
    EGT_OK(eg_module_eval(d));
    EGT_EQ(egt_distance(eg_module_forward(d, x), x), 0);
    EGT_OK(eg_module_free(d));
    d = eg_drop_path_new(1);
    EGT_EQ(eg_item(eg_sum(eg_module_forward(d, x))), 0);
    EGT_REFUSED(eg_module_forward(d, eg_scalar(1, EG_F32)), EG_ESHAPE, "rows");
    EGT_OK(eg_module_free(d));
    EGT_REFUSED(eg_drop_path_new(1.5), EG_EINVAL, "drop_path");
}

EGT(separable_convolutions_are_two)
{
    eg_tensor *x = image();
    eg_module *s = eg_separable_conv2d_new(4, 7, 2, .kernel = 3, .stride = 2, .padding = EG_SAME);
    eg_parameters p = eg_module_parameters(s);
    EGT_EQ(p.count, 3);
    EGT_STR(p.names[1], "pointwise.weight");
    eg_tensor *deep = eg_conv2d(x, p.tensors[0], NULL, .stride = 2, .padding = EG_SAME, .groups = 4);
    EGT_EQ(egt_distance(eg_module_forward(s, x), eg_conv2d(deep, p.tensors[1], p.tensors[2])), 0);
    EGT_OK(eg_module_free(s));
    EGT_REFUSED(eg_separable_conv2d_new(4, 7, 1, .kernel = 3, .groups = 2), EG_EINVAL, "groups");
    EGT_REFUSED(eg_separable_conv2d_new(4, 7, INT64_MAX, .kernel = 3), EG_EINVAL, "separable");
    EGT_REFUSED(eg_separable_conv2d_new(4, 0, 1, .kernel = 3), EG_EINVAL, "channels");
}

EGT(gates_over_channels)
{
    eg_tensor *x = image();
    eg_module *s = eg_squeeze_excite_new(4, 2, .activation = eg_silu, .gate = eg_hardsigmoid);
    eg_parameters p = eg_module_parameters(s);
    eg_tensor *mean = eg_mean(x, .axes = EG_AXES(2, 3), .keepdim = true);
    eg_tensor *hidden = eg_silu(eg_conv2d(mean, p.tensors[0], p.tensors[1]));
    eg_tensor *gate = eg_hardsigmoid(eg_conv2d(hidden, p.tensors[2], p.tensors[3]));
    EGT_CHECK(egt_distance(eg_module_forward(s, x), eg_mul(x, gate)) < 1e-6);
    EGT_OK(eg_module_free(s));
    EGT_REFUSED(eg_squeeze_excite_new(4, 0), EG_EINVAL, "channels");
}

EGT(two_directions)
{
    eg_tensor *x = egt_random(EG_SHAPE(5, 2, 3), EG_F32, -1, 1);
    eg_module *both = eg_lstm_new(3, 4, .bidirectional = true), *there = eg_lstm_new(3, 4), *back = eg_lstm_new(3, 4);
    eg_parameters from = eg_module_parameters(both), to[2] = {eg_module_parameters(there), eg_module_parameters(back)};
    for (int i = 0; i < 8; i++) {
        EGT_CHECK(eg_copy_(to[i / 4].tensors[i % 4], from.tensors[i]));
    }
    eg_module *two = eg_bidirectional_new(there, back);
    EGT_CHECK(egt_distance(eg_module_forward(two, x), eg_module_forward(both, x)) < 1e-6);
    EGT_OK(eg_module_free(two));
    EGT_OK(eg_module_free(both));
    EGT_REFUSED(eg_bidirectional_new(eg_identity_new(), NULL), EG_EINVAL, "back");
}

EGT(positions_are_added)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 7, 6), EG_F32);
    eg_module *turns = eg_sinusoidal_positions_new(),
              *halves = eg_sinusoidal_positions_new(.halves = true, .longest = 100);
    eg_tensor *a = eg_module_forward(turns, x), *b = eg_module_forward(halves, x);
    for (int t = 0; t < 7; t++) {
        for (int i = 0; i < 3; i++) {
            double turn = t / pow(10000, 2 * i / 6.0), half = t / pow(100, i / 2.0);
            EGT_NEAR(eg_get(a, 42 + 6 * t + 2 * i), sin(turn), 1e-6);
            EGT_NEAR(eg_get(a, 42 + 6 * t + 2 * i + 1), cos(turn), 1e-6);
            EGT_NEAR(eg_get(b, 6 * t + i), sin(half), 1e-6);
            EGT_NEAR(eg_get(b, 6 * t + 3 + i), cos(half), 1e-6);
        }
    }
    EGT_REFUSED(eg_module_forward(turns, eg_zeros(EG_SHAPE(2, 7, 5), EG_F32)), EG_ESHAPE, "even");
    EGT_REFUSED(eg_module_forward(turns, eg_zeros(EG_SHAPE(2, 7, 6), EG_I64)), EG_ESHAPE, "i64");
    eg_module *learned = eg_learned_positions_new(8, 6);
    eg_tensor *w = eg_module_parameters(learned).tensors[0];
    EGT_EQ(egt_distance(eg_module_forward(learned, x), eg_expand(eg_slice(w, 0, 0, 7, 1), EG_SHAPE(2, 7, 6))), 0);
    EGT_REFUSED(eg_module_forward(learned, eg_zeros(EG_SHAPE(2, 9, 6), EG_F32)), EG_ESHAPE, "[8, 6]");
    eg_module *all[] = {turns, halves, learned};
    for (int k = 0; k < 3; k++) { /* where x goes on with a sequence */
        eg_tensor *whole = eg_module_forward(all[k], x), *later = eg_slice(x, 1, 4, 7, 1);
        EGT_CHECK(egt_distance(eg_positions_forward(all[k], later, 4), eg_slice(whole, 1, 4, 7, 1)) < 1e-6);
        EGT_EQ(egt_distance(eg_positions_forward(all[k], x, 0), whole), 0);
        EGT_REFUSED(eg_positions_forward(all[k], x, -1), EG_EINVAL, "-1");
    }
    EGT_REFUSED(eg_positions_forward(learned, x, 2), EG_ESHAPE, "[8, 6]");
    EGT_REFUSED(eg_positions_forward(NULL, x, 0), EG_EINVAL, "");
    for (int k = 0; k < 3; k++) {
        EGT_OK(eg_module_free(all[k]));
    }
    EGT_REFUSED(eg_sinusoidal_positions_new(.longest = 0.5), EG_EINVAL, "longest");
    EGT_REFUSED(eg_learned_positions_new(0, 4), EG_EINVAL, "0 positions");
}

EGT(layers_of_transformers_refuse)
{
    eg_module *e = eg_transformer_encoder_layer_new(6, 2, 8), *d = eg_transformer_decoder_layer_new(6, 2, 8);
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 6), EG_F32, -1, 1);
    EGT_EQ(egt_distance(eg_module_forward(e, x), eg_transformer_encoder_layer_forward(e, x)), 0);
    eg_tensor *causal = eg_transformer_encoder_layer_forward(e, x, .causal = true);
    eg_tensor *masked = eg_transformer_encoder_layer_forward(e, x, .mask = eg_tri(3, 3, 0, EG_BOOL));
    EGT_CHECK(egt_distance(causal, masked) < 1e-6 && egt_distance(causal, eg_module_forward(e, x)) > 1e-4);
    EGT_REFUSED(eg_transformer_encoder_layer_forward(e, x, .weights = true), EG_EINVAL, "weights");
    EGT_REFUSED(eg_transformer_encoder_layer_forward(d, x), EG_EINVAL, "decoder");
    EGT_REFUSED(eg_transformer_decoder_layer_forward(d, x, NULL), EG_EINVAL, "memory");
    EGT_REFUSED(eg_module_forward(d, x), EG_EINVAL, "decoder");
    EGT_OK(eg_module_free(e));
    EGT_OK(eg_module_free(d));
    EGT_REFUSED(eg_transformer_encoder_layer_new(6, 4, 8), EG_EINVAL, "4 heads");
    EGT_REFUSED(eg_transformer_decoder_layer_new(6, 2, 8, .dropout = 2), EG_EINVAL, "dropout");
}

/* ---- inner results ---------------------------------------------------------------------------------- */

static eg_module *deep_net(void)
{
    return eg_sequential_new(
        eg_named("stem", eg_conv2d_new(4, 3, .kernel = 3)),
        eg_named("block1", eg_sequential_new(eg_named("norm", eg_batch_norm_new(3)), eg_activation_new(eg_relu))),
        eg_named("block2", eg_sequential_new(eg_named("norm", eg_batch_norm_new(3)), eg_activation_new(eg_tanh))));
}

EGT(inner_results_by_name)
{
    eg_module *net = deep_net();
    eg_tensors *taps = eg_tensors_new();
    eg_tensor *x = image(), *y = eg_module_forward_taps(net, x, "stem, block*.norm\n,**.1", taps);
    EGT_OK(eg_module_eval(net));
    EGT_EQ(eg_tensors_count(taps), 5);
    EGT_EQ(egt_distance(eg_tensors_get(taps, "block2.1"), y), 0);
    EGT_EQ(egt_distance(eg_relu(eg_tensors_get(taps, "block1.norm")), eg_tensors_get(taps, "block1.1")), 0);
    eg_parameters p = eg_module_parameters(net);
    EGT_EQ(egt_distance(eg_tensors_get(taps, "stem"), eg_conv2d(x, p.tensors[0], p.tensors[1])), 0);
    eg_tensors_free(taps);
    taps = eg_tensors_new(); /* and tapes follow them */
    eg_tensor *dw;
    eg_tape tape = eg_tape_open();
    EGT_CHECK(eg_module_forward_taps(net, x, "stem", taps));
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_tensors_get(taps, "stem")), p.tensors + 1, 1, &dw));
    EGT_EQ(eg_get(dw, 0), 3 * 4 * 3);
    EGT_REFUSED(eg_module_forward_taps(net, x, "stem,block3", taps), EG_EINDEX, "block3");
    EGT_REFUSED(eg_module_forward_taps(net, x, " , ", taps), EG_EINVAL, "no module");
    EGT_REFUSED(eg_module_forward_taps(net, x, "block", taps), EG_EINDEX, "block");
    EGT_REFUSED(eg_module_forward_taps(net, x, NULL, taps), EG_EINVAL, "paths");
    EGT_REFUSED(eg_module_forward_taps(net, x, "stem", NULL), EG_EINVAL, "taps");
    EGT_REFUSED(eg_module_forward_taps(NULL, x, "stem", taps), EG_EINVAL, "m");
    EGT_REFUSED(eg_module_forward_taps(net, eg_ones(EG_SHAPE(1), EG_F32), "stem", taps), EG_ESHAPE, "conv2d");
    eg_tensors_free(taps);
    EGT_OK(eg_module_free(net));
}

typedef struct tapping {
    eg_module *net;
    eg_tensor *x;
} tapping;

static bool tap_all(void *user)
{
    tapping *t = user;
    eg_tensors *taps = eg_tensors_new();
    bool good = taps && eg_module_forward_taps(t->net, t->x, "**", taps);
    eg_tensors_free(taps);
    return good;
}

static bool copy_once(void *user)
{
    eg_module *copy = eg_module_copy(((tapping *)user)->net);
    return copy && eg_module_free(copy) == EG_OK;
}

EGT(without_memory)
{
    tapping t = {deep_net(), image()};
    EGT_OK(eg_module_eval(t.net));
    EGT_CHECK(egt_fail_allocations(tap_all, &t) > 0);
    EGT_CHECK(egt_fail_allocations(copy_once, &t) > 0);
    EGT_OK(eg_module_free(t.net));
}

/* ---- copies ----------------------------------------------------------------------------------------- */

EGT(copies_stand_alone)
{
    eg_module *net = deep_net(), *more = eg_sequential_new(net, eg_named("rnn", eg_lstm_new(3, 2)));
    EGT_OK(eg_module_freeze(eg_module_find(net, "block1")));
    eg_tensor *x = image();
    EGT_CHECK(eg_module_forward(net, x));
    eg_module *copy = eg_module_copy(net);
    EGT_EQ(eg_module_parameters(copy).count, eg_module_parameters(net).count);
    EGT_EQ(eg_module_parameters(copy).count, 4);
    EGT_OK(eg_module_eval(net));
    EGT_CHECK(egt_distance(eg_module_forward(copy, x), eg_module_forward(net, x)) > 0); /* which trains still */
    EGT_OK(eg_module_eval(copy));
    eg_module *calm = eg_module_copy(net);
    EGT_EQ(egt_distance(eg_module_forward(calm, x), eg_module_forward(net, x)), 0);
    EGT_CHECK(eg_mul_scalar_(eg_module_parameters(calm).tensors[0], 0));
    EGT_CHECK(egt_distance(eg_module_forward(calm, x), eg_module_forward(net, x)) > 0);
    EGT_OK(eg_module_free(calm));
    EGT_OK(eg_module_free(copy));
    copy = eg_module_copy(more);
    EGT_OK(eg_module_free(more));
    EGT_EQ(eg_module_parameters(copy).count, 8);
    EGT_OK(eg_module_free(copy));
    EGT_REFUSED(eg_module_copy(NULL), EG_EINVAL, "m");
}

typedef struct tied {
    eg_module base;
    eg_tensor *one, *other;
    int *heap;
} tied;

static void tied_members(eg_module *m, eg_members *members)
{
    eg_member_parameter(members, "one", &((tied *)m)->one);
    eg_member_parameter(members, "other", &((tied *)m)->other);
}

static void tied_free(eg_module *m)
{
    free(((tied *)m)->heap);
}

static eg_status tied_copy(eg_module *to, const eg_module *from)
{
    int *heap = malloc(sizeof *heap);
    ((tied *)to)->heap = heap;
    if (!heap) {
        return eg_fail(EG_ENOMEM, "tied", "no memory");
    }
    *heap = *((const tied *)from)->heap + 1;
    return *heap < 3 ? EG_OK : eg_fail(EG_EUSER, "tied", "enough copies");
}

static eg_module *tied_new(const eg_module_kind *kind)
{
    tied *t = eg_module_new(sizeof *t, kind);
    t->one = eg_parameter(eg_ones(EG_SHAPE(2), EG_F32));
    t->other = eg_keep(t->one);
    t->heap = calloc(1, sizeof *t->heap);
    return eg_module_finish(&t->base);
}

EGT(what_else_a_module_holds)
{
    static const eg_module_kind able = {
        .size = sizeof able, .name = "tied", .members = tied_members, .free = tied_free, .copy = tied_copy};
    static const eg_module_kind unable = {
        .size = sizeof unable, .name = "lonely", .members = tied_members, .free = tied_free};
    eg_module *m = tied_new(&able), *copy = eg_module_copy(m), *second = eg_module_copy(copy);
    EGT_CHECK(((tied *)copy)->one == ((tied *)copy)->other && ((tied *)copy)->one != ((tied *)m)->one);
    EGT_EQ(*((tied *)second)->heap, 2);
    EGT_REFUSED(eg_module_copy(second), EG_EUSER, "enough");
    eg_module *inside = eg_sequential_new(eg_linear_new(2, 2), second, eg_linear_new(2, 2));
    EGT_REFUSED(eg_module_copy(inside), EG_EUSER, "enough");
    EGT_OK(eg_module_free(inside));
    EGT_OK(eg_module_free(copy));
    EGT_OK(eg_module_free(m));
    m = tied_new(&unable);
    EGT_REFUSED(eg_module_copy(m), EG_ESTATE, "lonely");
    EGT_OK(eg_module_free(m));
}
