/* test_layers.c - what modules can do as a whole: begin, freeze, move, be found and be summed up; and layers
 * that the golden numbers leave out. */
#include "tests/egt.h"

static eg_module *small_net(void)
{
    return eg_sequential_new(eg_conv2d_new(1, 4, .kernel = 3, .padding = EG_SAME), eg_batch_norm_new(4),
                             eg_leaky_relu_new(0.2), eg_flatten_new(), eg_dropout_new(0.5),
                             eg_linear_new(4 * 6 * 6, 3));
}

/* ---- beginning --------------------------------------------------------------------------------- */

static double deviation(eg_tensor *t)
{
    return sqrt(eg_item(eg_mean(eg_square(eg_cast(t, EG_F64)))));
}

static double largest(eg_tensor *t)
{
    return eg_item(eg_max(eg_abs(t)));
}

EGT(rules_have_their_spread)
{
    eg_tensor *w = eg_empty(EG_SHAPE(64, 32, 3, 5), EG_F32);
    double in = 32 * 15, out = 64 * 15;
    eg_seed(3);
    EGT_OK(eg_init(w, EG_GLOROT_UNIFORM));
    EGT_CHECK(largest(w) <= sqrt(6 / (in + out)) && largest(w) > 0.99 * sqrt(6 / (in + out)));
    EGT_OK(eg_init(w, EG_GLOROT_NORMAL, .gain = 2));
    EGT_NEAR(deviation(w), 2 * sqrt(2 / (in + out)), 0.01);
    EGT_OK(eg_init(w, EG_HE_UNIFORM));
    EGT_CHECK(largest(w) <= sqrt(6 / in) && largest(w) > 0.99 * sqrt(6 / in));
    EGT_OK(eg_init(w, EG_HE_NORMAL, .gain = 1));
    EGT_NEAR(deviation(w), sqrt(1 / in), 0.01);
    EGT_OK(eg_init(w, EG_HE_NORMAL, .gain = 1, .fan_out = true));
    EGT_NEAR(deviation(w), sqrt(1 / out), 0.001);
    EGT_OK(eg_init(w, EG_HE_UNIFORM, .fan_out = true));
    EGT_CHECK(largest(w) <= sqrt(6 / out) && largest(w) > 0.99 * sqrt(6 / out));
    EGT_OK(eg_init(w, EG_UNIFORM, .low = 2, .high = 3));
    EGT_CHECK(eg_item(eg_min(w)) >= 2 && largest(w) < 3);
    EGT_OK(eg_init(w, EG_NORMAL, .std = 0.02));
    EGT_NEAR(deviation(w), 0.02, 0.001);
    EGT_OK(eg_init(w, EG_TRUNCATED_NORMAL, .std = 0.02));
    EGT_CHECK(largest(w) <= 0.0401 && largest(w) > 0.039);
    EGT_OK(eg_init(w, EG_CONSTANT, .value = 7));
    EGT_EQ(eg_item(eg_min(w)), 7);
}

EGT(orthogonal_rows_or_columns)
{
    const eg_shape shapes[] = {EG_SHAPE(3, 5), EG_SHAPE(5, 3), EG_SHAPE(4, 2, 3), EG_SHAPE(1, 1)};
    for (int i = 0; i < 4; i++) {
        eg_tensor *w = eg_empty(shapes[i], EG_F64);
        EGT_OK(eg_init(w, EG_ORTHOGONAL, .gain = 3));
        eg_tensor *a = eg_flatten(w, 1, -1);
        a = eg_size(a, 0) > eg_size(a, 1) ? eg_transpose(a, 0, 1) : a;
        int64_t n = eg_size(a, 0);
        eg_tensor *product = eg_matmul(a, eg_transpose(a, 0, 1));
        EGT_CHECK(egt_distance(product, eg_mul_scalar(eg_eye(n, n, 0, EG_F64), 9)) < 1e-12);
    }
}

EGT(a_module_begins_by_rule)
{
    eg_module *net = eg_sequential_new(small_net(), eg_lstm_new(3, 4));
    EGT_OK(eg_module_init(net, EG_CONSTANT, .value = 2));
    eg_parameters p = eg_module_parameters(net);
    for (int i = 0; i < p.count; i++) {
        bool norm = !strncmp(p.names[i], "0.1.", 4), bias = strstr(p.names[i], "bias") != NULL;
        EGT_EQ(eg_get(p.tensors[i], 0), bias ? 0 : norm ? 1 : 2);
    }
    eg_module_free(net);
    EGT_REFUSED(eg_module_init(NULL, EG_NORMAL), EG_EINVAL, "m");
    eg_tensor *line = eg_zeros(EG_SHAPE(3), EG_F32);
    EGT_REFUSED(eg_init(line, EG_HE_NORMAL), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_init(line, (eg_init_rule)99), EG_EINVAL, "99");
    EGT_REFUSED(eg_init(line, EG_UNIFORM), EG_EINVAL, "uniform");
    EGT_REFUSED(eg_init(line, EG_NORMAL, .std = -1), EG_EINVAL, "std");
    EGT_REFUSED(eg_init(line, EG_NORMAL, .gain = (double)INFINITY), EG_EINVAL, "gain");
    EGT_REFUSED(eg_init(eg_zeros(EG_SHAPE(2, 2), EG_I64), EG_NORMAL), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_init(NULL, EG_NORMAL), EG_EINVAL, "t");
    EGT_EQ(eg_item(eg_sum(line)), 0);
}

/* ---- freezing and moving ------------------------------------------------------------------------ */

EGT(frozen_parts_do_not_learn)
{
    eg_module *net = small_net();
    EGT_OK(eg_module_freeze(eg_module_at(net, 0)));
    EGT_EQ(eg_module_parameters(net).count, 4);
    eg_tensors *state = eg_module_state(net);
    EGT_EQ(eg_tensors_count(state), 9);
    eg_tensor *frozen = eg_tensors_get(state, "0.weight");
    eg_parameters p = eg_module_parameters(net);
    eg_tensor *dx[4], *x = eg_ones(EG_SHAPE(2, 1, 6, 6), EG_F32);
    eg_tape tape = eg_tape_open();
    eg_tensor *y = eg_sum(eg_module_forward(net, x));
    EGT_REFUSED(eg_module_freeze(net), EG_ESTATE, "tape");
    EGT_REFUSED(eg_tape_gradients(tape, y, &frozen, 1, dx), EG_ESTATE, "watched");
    EGT_OK(eg_tape_gradients(tape, y, p.tensors, 4, dx));
    EGT_OK(eg_module_unfreeze(net));
    EGT_EQ(eg_module_parameters(net).count, 6);
    eg_tensors_free(state);
    eg_module_free(net);
    EGT_REFUSED(eg_module_freeze(NULL), EG_EINVAL, "m");
}

EGT(moves_to_another_dtype)
{
    eg_module *net = small_net();
    eg_tensor *before = eg_cast(eg_module_parameters(net).tensors[0], EG_F64);
    EGT_OK(eg_module_to(net, EG_F64));
    eg_parameters p = eg_module_parameters(net);
    for (int i = 0; i < p.count; i++) {
        EGT_EQ(eg_dtype_of(p.tensors[i]), EG_F64);
        EGT_CHECK(eg_is_parameter(p.tensors[i]));
    }
    EGT_EQ(egt_distance(p.tensors[0], before), 0);
    eg_tensors *state = eg_module_state(net);
    EGT_EQ(eg_dtype_of(eg_tensors_get(state, "1.running_var")), EG_F64);
    EGT_EQ(eg_dtype_of(eg_tensors_get(state, "1.num_batches_tracked")), EG_I64);
    eg_tensors_free(state);
    EGT_EQ(eg_dtype_of(eg_module_forward(net, eg_ones(EG_SHAPE(2, 1, 6, 6), EG_F64))), EG_F64);
    EGT_REFUSED(eg_module_to(net, EG_I64), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_module_to(NULL, EG_F32), EG_EINVAL, "m");
    eg_module_free(net);
}

/* ---- parts ---------------------------------------------------------------------------------------- */

EGT(parts_are_found)
{
    eg_module *net = eg_sequential_new(eg_residual_new(small_net(), eg_identity_new()),
                                       eg_module_list_new(eg_flatten_new(), eg_linear_new(2, 2)));
    eg_module *body = eg_module_find(net, "0.body"), *last = eg_module_find(net, "1.1");
    EGT_EQ(eg_module_count(body), 6);
    EGT_CHECK(eg_module_find(net, "0.body.5") == eg_module_at(body, -1));
    EGT_CHECK(last == eg_module_at(eg_module_at(net, 1), 1));
    EGT_CHECK(eg_module_find(net, "") == net);
    EGT_REFUSED(eg_module_find(net, "0.bod"), EG_EINDEX, "0.bod");
    EGT_REFUSED(eg_module_find(net, "0.body.weight"), EG_EINDEX, "weight");
    EGT_REFUSED(eg_module_find(NULL, "0"), EG_EINVAL, "m");
    EGT_REFUSED(eg_module_find(net, NULL), EG_EINVAL, "path");
    EGT_REFUSED(eg_module_at(net, 2), EG_EINDEX, "2");
    EGT_REFUSED(eg_module_at(net, -3), EG_EINDEX, "-3");
    EGT_REFUSED(eg_module_at(last, 0), EG_EINVAL, "linear");
    EGT_EQ(eg_module_count(last), -1);
    EGT_REFUSED(eg_module_count(NULL), EG_EINVAL, "list");
    EGT_REFUSED(eg_module_forward(eg_module_at(net, 1), eg_ones(EG_SHAPE(1), EG_F32)), EG_EINVAL, "list");
    eg_module_free(net);
}

EGT(layers_are_the_ops)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 12), EG_F32, -1, 1);
    eg_module *u = eg_unflatten_new(EG_SHAPE(3, 2, 2));
    eg_tensor *image = eg_module_forward(u, x);
    EGT_EQ(egt_distance(image, eg_reshape(x, EG_SHAPE(2, 3, 2, 2))), 0);
    eg_module *r = eg_resize_new(EG_SHAPE(4, 5), .mode = EG_RESIZE_CUBIC);
    EGT_EQ(egt_distance(eg_module_forward(r, image), eg_resize(image, EG_SHAPE(4, 5), .mode = EG_RESIZE_CUBIC)), 0);
    eg_module *turned = eg_permute_new(EG_AXES(0, 2, 3, 1));
    EGT_EQ(egt_distance(eg_module_forward(turned, image), eg_permute(image, EG_AXES(0, 2, 3, 1))), 0);
    eg_module *l = eg_leaky_relu_new(0.2);
    EGT_EQ(egt_distance(eg_module_forward(l, x), eg_leaky_relu(x, 0.2)), 0);
    eg_module *norm = eg_batch_norm_new(3), *fused = eg_batch_norm_new(3, .relu = true);
    EGT_EQ(egt_distance(eg_module_forward(fused, image), eg_relu(eg_module_forward(norm, image))), 0);
    eg_module_free(norm);
    eg_module_free(fused);
    eg_module *add = eg_residual_new(eg_leaky_relu_new(0.2), eg_activation_new(eg_neg));
    EGT_EQ(egt_distance(eg_module_forward(add, x), eg_sub(eg_leaky_relu(x, 0.2), x)), 0);
    eg_module *e = eg_embedding_new(5, 3, .padded = true, .padding = 2);
    eg_tensor *ids = eg_from_values(EG_SHAPE(3), EG_I64, (double[]){2, 0, 4}), *dw;
    eg_parameters p = eg_module_parameters(e);
    eg_tape tape = eg_tape_open();
    eg_tensor *rows = eg_module_forward(e, ids);
    EGT_EQ(eg_item(eg_sum(eg_abs(eg_select(rows, 0, 0)))), 0);
    EGT_OK(eg_tape_gradients(tape, eg_sum(rows), p.tensors, 1, &dw));
    EGT_EQ(eg_item(eg_sum(dw)), 6);
    EGT_EQ(eg_get(dw, 2 * 3), 0);
    eg_module *all[] = {u, r, turned, l, add, e};
    for (int i = 0; i < 6; i++) {
        eg_module_free(all[i]);
    }
    EGT_REFUSED(eg_unflatten_new(EG_SHAPE(2, -1)), EG_ESHAPE, "unflatten");
    EGT_REFUSED(eg_unflatten_new((eg_shape){8, {1}}), EG_EINVAL, "8 axes");
    EGT_REFUSED(eg_leaky_relu_new((double)NAN), EG_EINVAL, "slope");
    EGT_REFUSED(eg_embedding_new(0, 3), EG_EINVAL, "embedding");
    EGT_REFUSED(eg_embedding_new(4, 3, .padded = true, .padding = 4), EG_EINVAL, "padding is 4");
    EGT_REFUSED(eg_residual_new(eg_flatten_new(), NULL), EG_EINVAL, "shortcut");
    EGT_REFUSED(eg_conv2d_new(1, 1, .kernel = 2, .output_padding = {1}), EG_EINVAL, "transposed");
    EGT_REFUSED(eg_conv_transpose2d_new(1, 1, .kernel = 2, .stride = 2, .padding = EG_SAME, .output_padding = {1}),
                EG_EINVAL, "0 with SAME padding");
    EGT_REFUSED(eg_conv_transpose2d_new(3, 4, .kernel = 2, .groups = 2), EG_EINVAL, "groups");
}

/* ---- recurrent ------------------------------------------------------------------------------------ */

EGT(recurrent_options)
{
    eg_module *m = eg_lstm_new(3, 4, .forget_bias = 5, .layers = 2, .dropout = 0.9);
    eg_parameters p = eg_module_parameters(m);
    EGT_STR(p.names[2], "bias_ih_l0");
    for (int64_t i = 0; i < 16; i++) {
        double v = eg_get(p.tensors[2], i);
        EGT_CHECK(i / 4 == 1 ? v > 4.4 && v < 5.6 : fabs(v) <= 0.5);
    }
    eg_tensor *x = egt_random(EG_SHAPE(5, 2, 3), EG_F32, -1, 1);
    EGT_OK(eg_module_eval(m));
    eg_tensor *calm = eg_module_forward(m, x), *again = eg_rnn_forward(m, x).y;
    EGT_EQ(egt_distance(calm, again), 0);
    EGT_OK(eg_module_train(m));
    EGT_CHECK(egt_distance(eg_module_forward(m, x), calm) > 1e-3);
    eg_module_free(m);
    m = eg_gru_new(3, 4, .reset_before = true);
    EGT_EQ(eg_module_parameters(m).count, 3);
    EGT_REFUSED(eg_rnn_forward(m, x, .c0 = x), EG_EINVAL, "c0");
    EGT_REFUSED(eg_rnn_forward(m, x, .h0 = eg_zeros(EG_SHAPE(2, 2, 4), EG_F32)), EG_ESHAPE, "[1, N");
    EGT_REFUSED(eg_rnn_forward(m, eg_zeros(EG_SHAPE(2, 2), EG_F32)), EG_ESHAPE, "gru");
    EGT_CHECK(!eg_rnn_forward(m, NULL).y);
    eg_clear_error();
    eg_module_free(m);
    m = eg_flatten_new();
    EGT_REFUSED(eg_rnn_forward(m, x), EG_EINVAL, "flatten");
    eg_module_free(m);
    EGT_REFUSED(eg_rnn_forward(NULL, x), EG_EINVAL, "m");
    EGT_REFUSED(eg_lstm_new(0, 4), EG_EINVAL, "0 inputs");
    EGT_REFUSED(eg_lstm_new(3, 4, .layers = -1), EG_EINVAL, "-1 layers");
    EGT_REFUSED(eg_lstm_new(3, 4, .reset_before = true), EG_EINVAL, "gru");
    EGT_REFUSED(eg_gru_new(3, 4, .clip = 1), EG_EINVAL, "lstm");
    EGT_REFUSED(eg_gru_new(3, 4, .dropout = 2), EG_EINVAL, "dropout");
    EGT_REFUSED(eg_gru_new(3, 4, .one_bias = true), EG_EINVAL, "one_bias");
    EGT_REFUSED(eg_lstm_new(3, 4, .weight_dropout = -1), EG_EINVAL, "weight_dropout -1");
}

/* The second bias is one of zeros, and weights that are all dropped are zeros too. */
EGT(recurrent_layers_do_without)
{
    for (int i = 0; i < 4; i++) {
        bool lstm = i < 2;
        eg_module *m = lstm
                           ? eg_lstm_new(3, 4, .layers = 2, .bidirectional = true, .one_bias = i, .weight_dropout = 0.5)
                           : eg_gru_new(3, 4, .bidirectional = i == 3, .weight_dropout = 0.5);
        eg_parameters p = eg_module_parameters(m);
        EGT_EQ(p.count, lstm ? 4 * (i ? 3 : 4) : i == 3 ? 8 : 4);
        eg_tensor *x = egt_random(EG_SHAPE(5, 2, 3), EG_F32, -1, 1), *other = eg_module_forward(m, x);
        EGT_CHECK(egt_distance(other, eg_module_forward(m, x)) > 1e-3);
        EGT_OK(eg_module_eval(m));
        EGT_CHECK(egt_distance(eg_module_forward(m, x), eg_module_forward(m, x)) == 0);
        eg_module_free(m);
    }
    eg_module *one = eg_lstm_new(3, 4, .one_bias = true), *two = eg_lstm_new(3, 4, .weight_dropout = 1);
    eg_tensors *all = eg_module_state(one), *both = eg_module_state(two);
    EGT_CHECK(!eg_tensors_has(all, "bias_hh_l0") && eg_tensors_has(all, "bias_ih_l0"));
    EGT_CHECK(eg_mul_scalar_(eg_tensors_get(both, "bias_hh_l0"), 0));
    EGT_OK(eg_module_load_state(two, all, .allow_missing = true));
    EGT_CHECK(eg_mul_scalar_(eg_tensors_get(all, "weight_hh_l0"), 0));
    eg_tensor *x = egt_random(EG_SHAPE(5, 2, 3), EG_F32, -1, 1);
    EGT_CHECK(egt_distance(eg_module_forward(two, x), eg_module_forward(one, x)) < 1e-6);
    eg_tensors_free(all);
    eg_tensors_free(both);
    eg_module_free(one);
    eg_module_free(two);
}

/* ---- attention ------------------------------------------------------------------------------------ */

EGT(attention_masks)
{
    eg_tensor *q = egt_random(EG_SHAPE(2, 3, 4), EG_F64, -1, 1), *k = egt_random(EG_SHAPE(2, 5, 4), EG_F64, -1, 1);
    eg_tensor *v = egt_random(EG_SHAPE(2, 5, 6), EG_F64, -1, 1), *weights, *same;
    eg_tensor *y = eg_attention(q, k, v, .causal = true, .weights = &weights);
    EGT_EQ(eg_size(y, 2), 6);
    EGT_EQ(eg_get(weights, 3), 0); /* the first query sees keys 0..2 */
    EGT_CHECK(eg_get(weights, 2) > 0 && eg_get(weights, 14) > 0);
    eg_tensor *seen = eg_tri(3, 5, 2, EG_BOOL);
    EGT_EQ(egt_distance(eg_attention(q, k, v, .mask = seen, .weights = &same), y), 0);
    eg_tensor *added = eg_where(seen, eg_scalar(0, EG_F64), eg_scalar(-1e300, EG_F64));
    EGT_CHECK(egt_distance(eg_attention(q, k, v, .mask = added), y) < 1e-14);
    EGT_NEAR(eg_item(eg_sum(weights)), 6, 1e-12);
    eg_seed(1);
    EGT_CHECK(egt_distance(eg_attention(q, k, v, .dropout = 0.5), eg_attention(q, k, v)) > 1e-3);
    EGT_REFUSED(eg_attention(q, v, v), EG_ESHAPE, "columns");
    EGT_REFUSED(eg_attention(q, k, v, .dropout = 2), EG_EINVAL, "dropout");
    EGT_REFUSED(eg_attention(q, NULL, v), EG_EINVAL, "k");
    EGT_REFUSED(eg_attention(q, k, eg_ones(EG_SHAPE(3), EG_F64)), EG_ESHAPE, "v is [3]");
}

EGT(many_heads_in_a_window)
{
    eg_module *m = eg_multi_head_attention_new(4, 2);
    eg_tensor *q = egt_random(EG_SHAPE(1, 3, 4), EG_F32, -1, 1), *k = egt_random(EG_SHAPE(1, 5, 4), EG_F32, -1, 1);
    eg_attended far = eg_multi_head_attention_forward(m, q, k, k, .causal = true, .weights = true);
    eg_attended near = eg_multi_head_attention_forward(m, q, k, k, .causal = true, .weights = true,
                                                       .corner = EG_UPPER_LEFT, .window = 1);
    EGT_CHECK(eg_get(far.weights, 2) > 0);
    for (int t = 0; t < 3; t++) {
        for (int s = 0; s < 5; s++) {
            EGT_EQ(eg_get(near.weights, 5 * t + s) > 0, s == t || s == t - 1);
        }
    }
    eg_attended flat = eg_multi_head_attention_forward(m, q, k, k, .weights = true, .softcap = 1e-9);
    EGT_NEAR(eg_get(flat.weights, 7), 0.2, 1e-6);
    eg_module_free(m);
}

/* One product for queries, keys and values of one x, or one for each: the same; and by hand. */
EGT(many_heads_that_share_keys)
{
    eg_module *m = eg_multi_head_attention_new(8, 4, .kv_heads = 2, .dtype = EG_F64);
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 8), EG_F64, -1, 1), *cos, *sin, *slopes = eg_alibi_slopes(4, EG_F64);
    EGT_OK(eg_rotary_tables(eg_arange_int(4, 7, 1, EG_I64), 2, &cos, &sin, .dtype = EG_F64));
    eg_attended joined = eg_multi_head_attention_forward(m, x, x, x, .causal = true, .cos = cos, .sin = sin,
                                                         .slopes = slopes, .interleaved = true);
    eg_attended each = eg_multi_head_attention_forward(m, x, eg_copy(x), x, .causal = true, .cos = cos, .sin = sin,
                                                       .slopes = slopes, .interleaved = true);
    EGT_CHECK(egt_distance(joined.context, each.context) < 1e-14);
    eg_tensor *const *own = eg_module_parameters(m).tensors, *w = own[0],
                     *part[3]; /* weight, bias of 0, those of out */
    EGT_EQ(eg_size(w, 0), 16);
    for (int i = 0; i < 3; i++) {
        eg_tensor *y = eg_linear(x, eg_slice(w, 0, i ? 4 + 4 * i : 0, 8 + 4 * i, 1), NULL);
        part[i] = eg_transpose(eg_reshape(y, EG_SHAPE(2, 3, i ? 2 : 4, 2)), 1, 2);
        part[i] = i < 2 ? eg_rotary_embedding(part[i], cos, sin, .interleaved = true) : part[i];
    }
    eg_tensor *y = eg_attention(part[0], eg_repeat_interleave(part[1], 2, 1), eg_repeat_interleave(part[2], 2, 1),
                                .causal = true, .slopes = slopes);
    y = eg_flatten(eg_transpose(y, 1, 2), 2, 3);
    EGT_CHECK(egt_distance(eg_linear(y, own[2], NULL), joined.context) < 1e-14);
    EGT_REFUSED(eg_multi_head_attention_new(8, 4, .kv_heads = 3), EG_EINVAL, "kv_heads is 3");
    eg_module_free(m);
}

EGT(nothing_to_read)
{
    eg_module *a = eg_additive_attention_new(3, 4, 5);
    eg_tensor *q = egt_random(EG_SHAPE(2, 3), EG_F32, -1, 1), *k = egt_random(EG_SHAPE(2, 7, 4), EG_F32, -1, 1), *g[2];
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, q));
    EGT_OK(eg_tape_watch(tape, k));
    eg_tensor *both[] = {q, k};
    eg_attended all = eg_additive_attention_forward(a, q, k, NULL, eg_tri(2, 7, -1, EG_BOOL));
    EGT_OK(eg_tape_gradients(tape, eg_sum(all.context), both, 2, g));
    eg_tensor *rows[] = {all.weights, all.context, g[0], g[1]};
    for (int i = 0; i < 4; i++) { /* of the first row */
        EGT_EQ(eg_item(eg_sum(eg_abs(eg_select(rows[i], 0, 0)))), 0);
        EGT_CHECK(isfinite(eg_item(eg_sum(rows[i]))));
    }
    EGT_EQ(eg_get(all.weights, 7), 1);
    eg_module_free(a);
}

EGT(attention_modules_refuse)
{
    eg_module *a = eg_additive_attention_new(3, 4, 5), *m = eg_multi_head_attention_new(6, 2);
    eg_tensor *q = egt_random(EG_SHAPE(2, 3), EG_F32, -1, 1), *k = egt_random(EG_SHAPE(2, 7, 4), EG_F32, -1, 1);
    eg_attended first = eg_additive_attention_forward(a, q, k, NULL, NULL);
    eg_attended second = eg_additive_attention_forward(a, q, k, eg_additive_attention_keys(a, k), NULL);
    EGT_EQ(egt_distance(first.context, second.context), 0);
    eg_tensor *mask = eg_tri(2, 7, 2, EG_BOOL);
    first = eg_additive_attention_forward(a, q, k, NULL, mask);
    EGT_EQ(eg_get(first.weights, 3), 0);
    EGT_NEAR(eg_item(eg_sum(first.weights)), 2, 1e-6);
    EGT_REFUSED(eg_additive_attention_forward(a, k, k, NULL, NULL), EG_ESHAPE, "query");
    EGT_REFUSED(eg_additive_attention_forward(a, NULL, k, NULL, NULL), EG_EINVAL, "query");
    EGT_REFUSED(eg_additive_attention_forward(m, q, k, NULL, NULL), EG_EINVAL, "multi_head");
    EGT_REFUSED(eg_module_forward(a, q), EG_EINVAL, "additive_attention");
    EGT_REFUSED(eg_multi_head_attention_forward(m, q, q, q), EG_ESHAPE, "[2, 3]");
    EGT_REFUSED(eg_multi_head_attention_forward(NULL, q, q, q), EG_EINVAL, "m");
    EGT_REFUSED(eg_multi_head_attention_new(6, 4), EG_EINVAL, "4 heads");
    EGT_REFUSED(eg_multi_head_attention_new(6, 2, .dropout = -1), EG_EINVAL, "dropout");
    EGT_REFUSED(eg_additive_attention_new(0, 1, 1), EG_EINVAL, "linear");
    eg_module_free(a);
    eg_module_free(m);
}

/* ---- summary ---------------------------------------------------------------------------------------- */

EGT(the_summary_counts)
{
    char text[4096] = "";
    eg_module *net = eg_sequential_new(small_net(), eg_identity_new());
    eg_tensor *x = eg_ones(EG_SHAPE(2, 1, 6, 6), EG_F32);
    EGT_OK(eg_module_freeze(eg_module_find(net, "0.0")));
    FILE *f = tmpfile();
    EGT_CHECK(f);
    EGT_OK(eg_summary(f, net, x));
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    EGT_CHECK(strstr(text, "0 conv2d") && strstr(text, "[2, 4, 6, 6]") && strstr(text, "5 linear"));
    EGT_CHECK(strstr(text, "1 identity"));
    /* 2 * 4 * 36 outputs of 9 products each; 2 * 3 of 144 */
    EGT_CHECK(strstr(text, "2.59 K") && strstr(text, "864") && strstr(text, "3.46 K"));
    EGT_CHECK(strstr(text, "443 parameters learn, 40 are frozen"));
    EGT_CHECK(eg_module_find(net, "0.4")->training);
    EGT_REFUSED(eg_summary(NULL, net, x), EG_EINVAL, "stream");
    EGT_REFUSED(eg_summary(stdout, NULL, x), EG_EINVAL, "m");
    EGT_REFUSED(eg_summary(stdout, net, eg_ones(EG_SHAPE(2), EG_F32)), EG_ESHAPE, "conv");
    EGT_CHECK(eg_module_find(net, "0.4")->training);
    eg_module_free(net);
}

EGT(the_summary_counts_recurrent_layers)
{
    char text[2048] = "";
    eg_module *m = eg_lstm_new(3, 4, .layers = 2);
    FILE *f = tmpfile();
    EGT_OK(eg_summary(f, m, eg_ones(EG_SHAPE(5, 2, 3), EG_F32)));
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    /* 10 rows of 16 x 3 + 16 x 4, and of 16 x 4 twice */
    EGT_CHECK(strstr(text, "2.4 K") && strstr(text, "[5, 2, 4]") && strstr(text, "304"));
    eg_module_free(m);
}

static void expect_row(eg_tensor *one, eg_tensor *all, int axis)
{
    EGT_EQ(eg_ndim(one), eg_ndim(all) - 1);
    EGT_CHECK(egt_distance(one, eg_select(all, axis, 0)) < 1e-6);
}

/* One image, one sequence: layers take them without an axis of rows. */
EGT(layers_take_rows_alone)
{
    eg_tensor *x = egt_random(EG_SHAPE(1, 3, 6, 5), EG_F32, -1, 1), *one = eg_select(x, 0, 0);
    eg_module *nets[] = {eg_conv2d_new(3, 4, .kernel = 3), eg_conv_transpose2d_new(3, 2, .kernel = 2, .stride = 2),
                         eg_max_pool2d_new(.kernel = 2), eg_avg_pool2d_new(.kernel = 3)};
    for (int i = 0; i < 4; i++) {
        expect_row(eg_module_forward(nets[i], one), eg_module_forward(nets[i], x), 0);
        eg_module_free(nets[i]);
    }
    for (int k = 0; k < 4; k++) {
        bool lstm = k & 1, first = k & 2;
        const int64_t rows = 1;
        eg_rnn_layer_options o = {.size = sizeof o, .layers = 2, .bidirectional = true, .batch_first = first};
        eg_module *m = (lstm ? eg_lstm_new_with : eg_gru_new_with)(5, 4, &o);
        eg_tensor *t = first ? eg_reshape(one, EG_SHAPE(rows, 18, 5)) : eg_reshape(one, EG_SHAPE(18, rows, 5));
        eg_tensor *h0 = egt_random(EG_SHAPE(4, rows, 4), EG_F32, -1, 1), *c0 = lstm ? eg_neg(h0) : NULL;
        eg_rnn all = eg_rnn_forward(m, t, .h0 = h0, .c0 = c0);
        eg_rnn r = eg_rnn_forward(m, eg_reshape(one, EG_SHAPE(18, 5)), .h0 = eg_select(h0, 1, 0),
                                  .c0 = lstm ? eg_select(c0, 1, 0) : NULL);
        expect_row(r.y, all.y, first ? 0 : 1);
        expect_row(r.h, all.h, 1);
        EGT_CHECK(!r.c == !lstm);
        if (lstm) {
            expect_row(r.c, all.c, 1);
        }
        EGT_REFUSED(eg_rnn_forward(m, eg_reshape(one, EG_SHAPE(18, 5)), .h0 = h0).y, EG_ESHAPE, "must be [4, size]");
        eg_module_free(m);
    }
}

/* ---- memory ----------------------------------------------------------------------------------------- */

static bool everything(void *user)
{
    eg_module *net = eg_sequential_new(
        eg_conv_transpose2d_new(1, 2, .kernel = 2, .stride = 2), eg_flatten_new(), eg_unflatten_new(EG_SHAPE(8, 8)),
        eg_lstm_new(8, 4, .batch_first = true, .layers = 2, .bidirectional = true), eg_multi_head_attention_new(8, 2));
    bool ok = net && !eg_module_init(net, EG_ORTHOGONAL) && !eg_module_to(net, EG_F64);
    eg_tensor *x = ok ? eg_ones(EG_SHAPE(2, 1, 4, 2), EG_F64) : NULL;
    ok = x && !eg_summary(user, net, x) && eg_module_forward(net, x);
    eg_module_free(net);
    return ok;
}

EGT(every_allocation_may_fail_here_too)
{
    FILE *f = tmpfile();
    EGT_CHECK(egt_fail_allocations(everything, f) > 60);
    fclose(f);
}
