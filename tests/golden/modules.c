/* modules.c - whole modules against PyTorch's: x0 is the input, then the parameters in the module's order,
 * then further inputs. */
#include "tests/golden/golden.h"

enum { MOST_OUT = 3 };

static int64_t entry(const golden_case *c, const char *key, int i)
{
    int64_t values[GOLDEN_LIST];
    return golden_list(c, key, values) > i ? values[i] : 0;
}

static bool flag(const golden_case *c, const char *key)
{
    return golden_number(c, key, 0) != 0;
}

/* ---- the modules ------------------------------------------------------------------------------ */

static eg_module *recurrent(const golden_case *c)
{
    eg_rnn_layer_options o = {.size = sizeof o,
                              .layers = (int)golden_number(c, "layers", 1),
                              .bidirectional = flag(c, "bidirectional"),
                              .batch_first = flag(c, "batch_first"),
                              .no_bias = !flag(c, "bias"),
                              .projection = (int64_t)golden_number(c, "projection", 0),
                              .dtype = EG_F64};
    int64_t in = entry(c, "sizes", 0), hidden = entry(c, "sizes", 1);
    return !strcmp(c->op, "lstm") ? eg_lstm_new_with(in, hidden, &o) : eg_gru_new_with(in, hidden, &o);
}

/* Two directions, one layer above them, and one that adds to what it reads. */
static eg_module *reader(const golden_case *c)
{
    eg_module *(*layer)(int64_t, int64_t, const eg_rnn_layer_options *) =
        strstr(c->op, "lstm") ? eg_lstm_new_with : eg_gru_new_with;
    eg_rnn_layer_options o = {.size = sizeof o, .dtype = EG_F64};
    return eg_rnn_stack_new(eg_bidirectional_new(layer(3, 4, &o), layer(3, 4, &o)), layer(8, 4, &o),
                            eg_rnn_residual_new(layer(4, 4, &o)));
}

static eg_module *make(const golden_case *c)
{
    if (strstr(c->op, "reader")) {
        return reader(c);
    }
    int64_t a = entry(c, "sizes", 0), b = entry(c, "sizes", 1);
    int64_t in = entry(c, "channels", 0), out = entry(c, "channels", 1);
    int64_t kernel = (int64_t)golden_number(c, "kernel", 0);
    if (!strcmp(c->op, "conv_transpose2d")) {
        int64_t more = (int64_t)golden_number(c, "output_padding", 0);
        return eg_conv_transpose2d_new(in, out, .kernel = kernel, .stride = (int64_t)golden_number(c, "stride", 1),
                                       .padding = (int64_t)golden_number(c, "padding", 0),
                                       .groups = (int64_t)golden_number(c, "groups", 1), .output_padding = {more, more},
                                       .dtype = EG_F64);
    }
    if (!strcmp(c->op, "conv_transpose1d")) {
        return eg_conv_transpose1d_new(in, out, .kernel = kernel, .stride = 2, .dtype = EG_F64);
    }
    if (!strcmp(c->op, "embedding")) {
        return eg_embedding_new(a, b, .dtype = EG_F64);
    }
    if (!strcmp(c->op, "additive_attention")) {
        eg_module *m = eg_additive_attention_new(a, b, entry(c, "sizes", 2));
        return m && !eg_module_to(m, EG_F64) ? m : NULL;
    }
    if (!strcmp(c->op, "multi_head")) {
        return eg_multi_head_attention_new(a, b, .keys = entry(c, "widths", 0), .values = entry(c, "widths", 1),
                                           .no_bias = golden_has(c, "bias"), .dtype = EG_F64);
    }
    if (strstr(c->op, "coder_layer")) {
        eg_transformer_layer_options o = {.size = sizeof o,
                                          .norm_first = flag(c, "norm_first"),
                                          .activation = flag(c, "gelu") ? eg_gelu : NULL,
                                          .dtype = EG_F64};
        int64_t hidden = entry(c, "sizes", 2);
        return !strcmp(c->op, "encoder_layer") ? eg_transformer_encoder_layer_new_with(a, b, hidden, &o)
                                               : eg_transformer_decoder_layer_new_with(a, b, hidden, &o);
    }
    return recurrent(c);
}

/* ---- their forwards --------------------------------------------------------------------------- */

static void run(const golden_case *c, eg_module *m, eg_tensor *const *more, int n, eg_tensor **out)
{
    eg_tensor *x = c->x[0];
    if (!strcmp(c->op, "lstm") || !strcmp(c->op, "gru") || strstr(c->op, "reader")) {
        eg_tensor *lengths =
            golden_has(c, "lengths")
                ? eg_from_values(EG_SHAPE(2), EG_I64,
                                 (double[]){(double)entry(c, "lengths", 0), (double)entry(c, "lengths", 1)})
                : NULL;
        eg_rnn r = eg_rnn_forward(m, x, .h0 = more[0], .c0 = n > 1 ? more[1] : NULL, .lengths = lengths);
        out[0] = r.y;
        out[1] = r.h;
        out[2] = r.c;
    } else if (!strcmp(c->op, "additive_attention")) {
        eg_attended r = eg_additive_attention_forward(m, x, more[0], NULL, NULL);
        out[0] = r.context;
        out[1] = r.weights;
    } else if (!strcmp(c->op, "multi_head")) {
        eg_tensor *key = n > 0 ? more[0] : x;
        eg_attended r = eg_multi_head_attention_forward(m, x, key, n > 1 ? more[1] : key, .causal = flag(c, "causal"),
                                                        .weights = true);
        out[0] = r.context;
        out[1] = r.weights;
    } else if (!strcmp(c->op, "decoder_layer")) {
        out[0] = eg_transformer_decoder_layer_forward(m, x, more[0]);
    } else {
        out[0] = eg_module_forward(m, x);
    }
}

/* The sum of all results, each weighted by the gradient given for it. */
static eg_tensor *weighted(const golden_case *c, eg_tensor *const *out)
{
    eg_tensor *sum = NULL;
    for (int i = 0; i < c->ny; i++) {
        eg_tensor *part = c->dy[i] ? eg_sum(eg_mul(out[i], c->dy[i])) : NULL;
        sum = !part ? sum : sum ? eg_add(sum, part) : part;
    }
    return sum;
}

static void replay(const golden_case *c)
{
    int count = (int)golden_number(c, "parameters", 0), n = c->nx - 1 - count;
    eg_module *m = make(c);
    eg_parameters p = eg_module_parameters(m);
    eg_tensor *out[MOST_OUT] = {NULL}, *xs[GOLDEN_INPUTS], *g[GOLDEN_INPUTS];
    int asked = 0, which[GOLDEN_INPUTS];
    snprintf(egt_case, sizeof egt_case, "%s", c->name);
    EGT_EQ(p.count, count);
    for (int i = 0; i < count; i++) {
        EGT_CHECK(eg_copy_(p.tensors[i], c->x[1 + i]));
    }
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < c->nx; i++) {
        bool parameter = i >= 1 && i <= count;
        if (c->g[i]) {
            xs[asked] = parameter ? p.tensors[i - 1] : c->x[i];
            EGT_OK(eg_tape_watch(tape, xs[asked]));
            which[asked++] = i;
        }
    }
    run(c, m, c->x + 1 + count, n, out);
    for (int i = 0; i < c->ny; i++) {
        EGT_CHECK(egt_distance(out[i], c->y[i]) < 1e-11);
    }
    EGT_OK(eg_tape_gradients(tape, weighted(c, out), xs, asked, g));
    for (int i = 0; i < asked; i++) {
        EGT_CHECK(egt_distance(g[i], c->g[which[i]]) < 1e-11);
    }
    eg_module_free(m);
}

static void replay_all(const char *family)
{
    eg_tensors *file;
    golden_case *cases;
    int n = golden_load(family, &file, &cases);
    for (int i = 0; i < n; i++) {
        eg_scope s = eg_scope_push();
        golden_case c = golden_there(&cases[i]);
        replay(&c);
        eg_scope_pop(s, NULL);
    }
    free(cases);
    eg_tensors_free(file);
}

EGT(golden_modules)
{
    replay_all("modules");
}

EGT(golden_modules_recurrent)
{
    replay_all("recurrent");
}
