/* test_recurrent_conv.c - LSTM and GRU over maps. */
#include "tests/egt.h"

enum { T = 4, N = 3, IN = 2, HIDDEN = 3 };

static eg_tensor *drawn(eg_shape shape)
{
    return egt_random(shape, EG_F64, -1, 1);
}

static eg_tensor *some_lengths(void)
{
    return eg_to(eg_from_values(EG_SHAPE(N), EG_I64, (double[]){2, 4, 0}), eg_cpu());
}

static eg_module *make(int kind, int64_t kernel, bool batch_first)
{
    return kind == 0 ? eg_conv_lstm_new(IN, HIDDEN, .kernel = kernel, .batch_first = batch_first, .dtype = EG_F64)
                     : eg_conv_gru_new(IN, HIDDEN, .kernel = kernel, .batch_first = batch_first,
                                       .reset_before = kind == 2, .dtype = EG_F64);
}

/* ---- values --------------------------------------------------------------------------------------- */

static eg_tensor *flat(eg_tensor *t, int ndim)
{
    return eg_reshape(t, ndim == 3 ? EG_SHAPE(eg_size(t, 0), eg_size(t, 1), eg_size(t, 2))
                                   : EG_SHAPE(eg_size(t, 0), eg_size(t, 1)));
}

/* What a layer without maps makes with the same numbers. */
static eg_rnn as_layer(eg_module *m, int kind, eg_tensor *x, eg_tensor *h0, eg_tensor *c0, eg_tensor *n, bool back)
{
    eg_parameters p = eg_module_parameters(m);
    eg_tensor *w_ih = flat(p.tensors[0], 2), *w_hh = flat(p.tensors[1], 2), *b_ih = p.tensors[2];
    return kind == 0 ? eg_lstm(x, w_ih, w_hh, .h0 = h0, .c0 = c0, .b_ih = b_ih, .b_hh = p.tensors[3], .lengths = n,
                               .reverse = back)
                     : eg_gru(x, w_ih, w_hh, .h0 = h0, .b_ih = b_ih, .b_hh = kind == 1 ? p.tensors[3] : NULL,
                              .lengths = n, .reverse = back, .reset_before = kind == 2);
}

EGT(maps_of_one_place_are_vectors)
{
    for (int i = 0; i < 3 * 8; i++) {
        int kind = i % 3;
        bool back = i / 3 & 1, first = i / 6 & 1;
        eg_tensor *lengths = i / 12 ? some_lengths() : NULL;
        eg_module *m = make(kind, 1, first);
        eg_tensor *x = drawn(EG_SHAPE(T, N, IN, 1, 1)), *h0 = drawn(EG_SHAPE(N, HIDDEN, 1, 1));
        eg_tensor *c0 = kind ? NULL : drawn(EG_SHAPE(N, HIDDEN, 1, 1)), *given = first ? eg_transpose(x, 0, 1) : x;
        eg_rnn r = eg_conv_rnn_forward(m, given, .h0 = h0, .c0 = c0, .lengths = lengths, .reverse = back);
        eg_rnn want = as_layer(m, kind, flat(x, 3), flat(h0, 2), c0 ? flat(c0, 2) : NULL, lengths, back);
        EGT_NEAR(egt_distance(flat(first ? eg_transpose(r.y, 0, 1) : r.y, 3), want.y), 0, 1e-14);
        EGT_NEAR(egt_distance(flat(r.h, 2), want.h), 0, 1e-14);
        EGT_CHECK(!r.c == (kind != 0));
        if (r.c) {
            EGT_NEAR(egt_distance(flat(r.c, 2), want.c), 0, 1e-14);
        }
        EGT_OK(eg_module_free(m));
    }
}

/* Of a constant map with constant kernels what is not at the border is as in a vector. */
EGT(kernels_reach_neighbours)
{
    for (int axes = 1; axes <= 3; axes++) {
        eg_module *m = eg_conv_gru_new(1, 1, .axes = axes, .dtype = EG_F64);
        eg_parameters p = eg_module_parameters(m);
        double cells = pow(3, axes);
        for (int i = 0; i < 4; i++) {
            EGT_OK(eg_init(p.tensors[i], EG_CONSTANT, .value = i < 2 ? 0.25 / cells : 0.1));
        }
        eg_shape shape = {axes + 3, {2, 1, 1, 7, 7, 7}};
        eg_tensor *y = eg_module_forward(m, eg_ones(shape, EG_F64));
        double h = 0;
        for (int t = 0; t < 2; t++) {
            double r = 1 / (1 + exp(-(0.25 + 0.1 + 0.25 * h + 0.1))), n = tanh(0.25 + 0.1 + r * (0.25 * h + 0.1));
            h = (1 - r) * n + r * h; /* the update gate has the same numbers */
        }
        for (int i = 0; i < axes; i++) {
            y = eg_select(y, 3, 3);
        }
        EGT_NEAR(eg_get(y, 1), h, 1e-12);
        EGT_OK(eg_module_free(m));
    }
}

/* ---- gradients ------------------------------------------------------------------------------------ */

typedef struct checking {
    eg_module *m;
    eg_tensor *lengths;
} checking;

static eg_tensor *everything(eg_tensor *const *in, int n, void *user)
{
    (void)n;
    const checking *c = user;
    eg_rnn r = eg_conv_rnn_forward(c->m, in[0], .h0 = in[1], .lengths = c->lengths);
    eg_tensor *sum = eg_add(eg_sum(eg_square(r.y)), eg_sum(eg_mul(r.h, in[1])));
    return r.c ? eg_add(sum, eg_sum(eg_tanh(r.c))) : sum;
}

EGT(gradients_are_those_of_differences)
{
    eg_device *before = eg_use_device(eg_cpu()); /* where differences are taken */
    for (int i = 0; i < 6; i++) {
        eg_module *m = make(i % 3, 3, false);
        checking c = {m, i / 3 ? some_lengths() : NULL};
        eg_parameters p = eg_module_parameters(m);
        eg_tensor *in[5] = {drawn(EG_SHAPE(2, N, IN, 2, 3)), drawn(EG_SHAPE(N, HIDDEN, 2, 3)), p.tensors[0],
                            p.tensors[1], p.tensors[2]};
        c.lengths = c.lengths ? eg_clamp_max(c.lengths, 2) : NULL;
        EGT_OK(eg_gradcheck(everything, in, 5, &c));
        EGT_OK(eg_gradcheck(everything, in, 2, &c, .second = true));
        EGT_OK(eg_module_free(m));
    }
    eg_use_device(before);
}

/* ---- what is odd ---------------------------------------------------------------------------------- */

EGT(empty_and_wrong_ones)
{
    eg_module *m = make(0, 3, false), *relu = eg_activation_new(eg_relu), *copy = eg_module_copy(m);
    eg_tensor *x = drawn(EG_SHAPE(T, N, IN, 4, 5));
    EGT_EQ(egt_distance(eg_module_forward(copy, x), eg_module_forward(m, x)), 0);
    eg_tensor *none = eg_module_forward(m, eg_zeros(EG_SHAPE(0, N, IN, 4, 5), EG_F64));
    EGT_EQ(eg_numel(none), 0);
    EGT_EQ(eg_size(none, 2), HIDDEN);
    EGT_EQ(eg_size(eg_module_forward(m, eg_zeros(EG_SHAPE(T, 0, IN, 4, 5), EG_F64)), 1), 0);
    EGT_REFUSED(eg_module_forward(m, drawn(EG_SHAPE(T, N, IN, 4))), EG_ESHAPE, "5 axes");
    EGT_REFUSED(eg_module_forward(m, drawn(EG_SHAPE(T, N, IN + 1, 4, 5))), EG_ESHAPE, "3");
    EGT_REFUSED(eg_conv_rnn_forward(m, x, .h0 = drawn(EG_SHAPE(N, HIDDEN, 4, 4))).y, EG_ESHAPE, "h0");
    EGT_REFUSED(eg_conv_rnn_forward(m, x, .lengths = eg_zeros(EG_SHAPE(2), EG_I64)).y, EG_ESHAPE, "lengths");
    EGT_REFUSED(eg_conv_rnn_forward(m, x, .lengths = eg_full_int(EG_SHAPE(N), T + 1, EG_I64)).y, EG_EINDEX,
                "outside 0..4");
    EGT_REFUSED(eg_conv_rnn_forward(m, x, .lengths = eg_zeros(EG_SHAPE(N), EG_F32)).y, EG_EDTYPE, "lengths are f32");
    EGT_REFUSED(eg_conv_rnn_forward(relu, x).y, EG_EINVAL, "activation");
    EGT_REFUSED(eg_conv_rnn_forward(NULL, x).y, EG_EINVAL, "m");
    EGT_REFUSED(eg_conv_gru_new(0, 1), EG_EINVAL, "0 channels");
    EGT_REFUSED(eg_conv_gru_new(1, 1, .axes = 4), EG_EINVAL, "4 axes");
    EGT_REFUSED(eg_conv_gru_new(1, 1, .kernel = -1), EG_EINVAL, "kernel of -1");
    EGT_REFUSED(eg_conv_gru_new(1, 1, .forget_bias = 1), EG_EINVAL, "lstm");
    EGT_REFUSED(eg_conv_lstm_new(1, 1, .reset_before = true), EG_EINVAL, "gru");
    EGT_OK(eg_module_free(m));
    EGT_OK(eg_module_free(copy));
    EGT_OK(eg_module_free(relu));
    m = eg_conv_lstm_new(1, 2, .forget_bias = 5);
    EGT_CHECK(eg_get(eg_module_parameters(m).tensors[2], 2) > 4 && eg_get(eg_module_parameters(m).tensors[2], 4) < 1);
    EGT_OK(eg_module_free(m));
}
