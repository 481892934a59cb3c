/* test_onnx_cells.c - operators whose forms ONNX's own cases do not have: recurrent layers, quantization, words,
 * chance. Each is a model of one node, made here. */
#include "tests/onnx_bytes.h"

/* ---- models of one node -------------------------------------------------------------------------------- */

static eg_module *load(const spec *s)
{
    bytes graph = {.n = 0};
    char word[64];
    put_spec(&graph, s);
    put_text(&graph, 2, "g");
    int k = 0, n = 0;
    for (const char *at = s->in; sscanf(at, "%63s%n", word, &n) == 1; at += n) {
        if (strcmp(word, "-") != 0) {
            put_value_of(&graph, 11, word, s->types[k] ? s->types[k] : 1);
            k++;
        }
    }
    for (const char *at = s->out; sscanf(at, "%63s%n", word, &n) == 1; at += n) {
        put_value_of(&graph, 12, word, 1);
    }
    return eg_onnx_load(write_graph(&graph, s->version));
}

static eg_status run_all(const spec *s, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    eg_module *m = load(s);
    eg_tensor *all[8] = {0};
    if (!m) {
        return eg_last_error()->code;
    }
    EGT_CHECK(eg_onnx_outputs(m) <= 8);
    const eg_status st = eg_onnx_forward(m, in, nin, all);
    memcpy(out, all, (size_t)nout * sizeof *out);
    if (st) {
        const eg_error e = *eg_last_error();
        EGT_OK(eg_module_free(m));
        return eg_fail(e.code, e.op, e.message);
    }
    return eg_module_free(m);
}

#define RUN(s, ...) \
    run((s), (eg_tensor *[]){__VA_ARGS__}, (int)(sizeof((eg_tensor *[]){__VA_ARGS__}) / sizeof(eg_tensor *)))
static eg_tensor *run(const spec *s, eg_tensor *const *in, int nin)
{
    eg_tensor *y = NULL;
    return run_all(s, in, nin, &y, 1) ? NULL : y;
}

#define NUMBERS(...) numbers((const float[]){__VA_ARGS__}, (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)))
static eg_tensor *numbers(const float *values, int n)
{
    return eg_from(EG_SHAPE(n), EG_F32, values);
}

static bool has(const eg_tensor *t, const double *wanted, int n)
{
    bool same = t && eg_numel(t) == n;
    for (int i = 0; same && i < n; i++) {
        same = fabs(eg_get(t, i) - wanted[i]) <= 1e-6 * (1 + fabs(wanted[i]));
    }
    return same;
}
#define HAS(t, ...) has((t), (const double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))

/* ---- recurrent layers: the op and the walk ----------------------------------------------------------------- */

enum { STEPS = 4, ROWS = 3, INS = 2, CELLS = 3 };

/* A layer with all it may have, its results joined, and the gradients of a loss of them. */
static eg_tensor *layer(const spec *s, eg_tensor *const *in, int nin, eg_tensor **gradients)
{
    eg_tensor *out[3] = {0}, *flat[3];
    const int nout = strcmp(s->op, "LSTM") ? 2 : 3;
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < 4; i++) {
        EGT_OK(eg_tape_watch(tape, in[i]));
    }
    EGT_OK(run_all(s, in, nin, out, nout));
    for (int i = 0; i < nout; i++) {
        flat[i] = eg_reshape(out[i], EG_SHAPE(-1));
    }
    eg_tensor *all = eg_concat(flat, nout, 0), *weight = eg_cos(eg_arange(0, (double)eg_numel(all), 1, EG_F32));
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_mul(all, weight)), in, 4, gradients));
    return all;
}

static void compare_walks(const char *op, int gates, const char *direction, int layout, bool lengths, int after)
{
    const int d = strstr(direction, "bi") ? 2 : 1, lstm = gates == 4;
    char places[16], reset[32];
    snprintf(places, sizeof places, "layout=%d", layout);
    snprintf(reset, sizeof reset, "linear_before_reset=%d", after);
    const char *names = lengths ? lstm ? "X W R B L H C" : "X W R B L H" : lstm ? "X W R B - H C" : "X W R B - H";
    spec s = {op, 14, names, lstm ? "y h c" : "y h", {direction, places, lstm ? "input_forget=0" : reset}, {0}};
    const eg_shape state = layout ? EG_SHAPE(ROWS, d, CELLS) : EG_SHAPE(d, ROWS, CELLS);
    eg_tensor *in[7] = {egt_random(layout ? EG_SHAPE(ROWS, STEPS, INS) : EG_SHAPE(STEPS, ROWS, INS), EG_F32, -1, 1),
                        egt_random(EG_SHAPE(d, gates * CELLS, INS), EG_F32, -1, 1),
                        egt_random(EG_SHAPE(d, gates * CELLS, CELLS), EG_F32, -1, 1),
                        egt_random(EG_SHAPE(d, 2 * gates * CELLS), EG_F32, -1, 1)};
    int n = 4;
    if (lengths) {
        s.types[4] = 6;
        in[n++] = eg_from(EG_SHAPE(ROWS), EG_I32, (int32_t[]){4, 1, 3});
    }
    in[n++] = egt_random(state, EG_F32, -1, 1);
    if (lstm) {
        in[n++] = egt_random(state, EG_F32, -1, 1);
    }
    eg_tensor *fast[4], *slow[4];
    eg_tensor *a = layer(&s, in, n, fast);
    s.attributes[3] = "clip=1000.0"; /* nothing comes there, but it is no ordinary layer */
    eg_tensor *b = layer(&s, in, n, slow);
    EGT_CHECK(egt_distance(a, b) < 1e-5);
    for (int i = 0; i < 4; i++) {
        EGT_CHECK(egt_distance(fast[i], slow[i]) < 1e-5);
    }
}

EGT(layers_as_one_op_are_those_step_by_step)
{
    static const char *const directions[] = {"direction=forward", "direction=reverse", "direction=bidirectional"};
    for (int i = 0; i < 24; i++) {
        EG_SCOPE {
            const char *direction = directions[i / 8];
            compare_walks("LSTM", 4, direction, i & 1, i >> 1 & 1, 0);
            compare_walks("GRU", 3, direction, i & 1, i >> 1 & 1, i >> 2 & 1);
        }
    }
}

/* One cell of one input with weight 1 and no state before it: the activation of x. */
static eg_tensor *activated(const char *activation, const char *alpha, const char *beta, double clip)
{
    char name[64], limit[32];
    snprintf(name, sizeof name, "activations=[%s]", activation);
    snprintf(limit, sizeof limit, "clip=%.1f", clip);
    const spec s = {"RNN", 7, "X W R", "y", {name, limit, alpha, beta}, {0}};
    eg_tensor *one = eg_ones(EG_SHAPE(1, 1, 1), EG_F32);
    return RUN(&s, eg_reshape(NUMBERS(-2, -0.25f, 0.5f, 3), EG_SHAPE(1, 4, 1)), one, one);
}

EGT(activations)
{
    EGT_CHECK(HAS(activated("Relu", NULL, NULL, 0), 0, 0, 0.5, 3));
    EGT_CHECK(HAS(activated("Tanh", NULL, NULL, 0), tanh(-2), tanh(-0.25), tanh(0.5), tanh(3)));
    EGT_CHECK(HAS(activated("Affine", "activation_alpha=[2.0]", "activation_beta=[1.0]", 0), -3, 0.5, 2, 7));
    EGT_CHECK(HAS(activated("LeakyRelu", NULL, NULL, 0), -0.02, -0.0025, 0.5, 3));
    EGT_CHECK(HAS(activated("LeakyRelu", "activation_alpha=[0.5]", NULL, 0), -1, -0.125, 0.5, 3));
    EGT_CHECK(HAS(activated("ThresholdedRelu", NULL, NULL, 0), 0, 0, 0, 3));
    EGT_CHECK(HAS(activated("ThresholdedRelu", "activation_alpha=[0.25]", NULL, 0), 0, 0, 0.5, 3));
    EGT_CHECK(HAS(activated("ScaledTanh", "activation_alpha=[2.0]", "activation_beta=[0.5]", 0), 2 * tanh(-1),
                  2 * tanh(-0.125), 2 * tanh(0.25), 2 * tanh(1.5)));
    EGT_CHECK(HAS(activated("HardSigmoid", NULL, NULL, 0), 0.1, 0.45, 0.6, 1));
    EGT_CHECK(HAS(activated("Elu", NULL, NULL, 0), expm1(-2), expm1(-0.25), 0.5, 3));
    EGT_CHECK(HAS(activated("Softsign", NULL, NULL, 0), -2 / 3.0, -0.2, 1 / 3.0, 0.75));
    EGT_CHECK(
        HAS(activated("Softplus", NULL, NULL, 0), log1p(exp(-2)), log1p(exp(-0.25)), log1p(exp(0.5)), log1p(exp(3))));
    EGT_CHECK(HAS(activated("Relu", NULL, NULL, 1), 0, 0, 0.5, 1));
}

/* Numbers go to those that take some, in order: the second direction's activation has the first alpha. */
EGT(alphas_in_order)
{
    const spec s = {
        "RNN", 7, "X W R", "y", {"direction=bidirectional", "activations=[Relu,LeakyRelu]", "activation_alpha=[0.5]"},
        {0}};
    eg_tensor *one = eg_ones(EG_SHAPE(2, 1, 1), EG_F32), *x = eg_reshape(NUMBERS(-2), EG_SHAPE(1, 1, 1));
    EGT_CHECK(HAS(RUN(&s, x, one, one), 0, -1));
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* i, o, f and c of one cell, with a look at the cell, i and f tied or not. */
EGT(lstm_with_peepholes_and_tied_gates)
{
    const spec s = {"LSTM", 7, "X W R - - H C P", "y h c", {"input_forget=1"}, {0}};
    const spec open = {"LSTM", 7, "X W R - - H C P", "y h c", {NULL}, {0}};
    eg_tensor *w = eg_reshape(NUMBERS(0.5f, -1, 0.25f, 2), EG_SHAPE(1, 4, 1));
    eg_tensor *r = eg_reshape(NUMBERS(1, 0.5f, -0.5f, -1), EG_SHAPE(1, 4, 1));
    eg_tensor *x = eg_reshape(NUMBERS(0.5f), EG_SHAPE(1, 1, 1)), *h = eg_reshape(NUMBERS(0.25f), EG_SHAPE(1, 1, 1));
    eg_tensor *c = eg_reshape(NUMBERS(-0.5f), EG_SHAPE(1, 1, 1)), *p = eg_reshape(NUMBERS(1, 2, 3), EG_SHAPE(1, 3));
    const double i = logistic(0.25 + 0.25 - 0.5), f = logistic(0.125 - 0.125 - 1.5), g = tanh(1 - 0.25);
    for (int tied = 0; tied < 2; tied++) {
        const double cell = (tied ? 1 - i : f) * -0.5 + i * g, o = logistic(-0.5 + 0.125 + 2 * cell);
        eg_tensor *in[] = {x, w, r, h, c, p}, *out[3];
        EGT_OK(run_all(tied ? &s : &open, in, 6, out, 3));
        EGT_CHECK(HAS(out[0], o * tanh(cell)) && HAS(out[1], o * tanh(cell)) && HAS(out[2], cell));
    }
}

EGT(layers_are_refused)
{
    eg_tensor *x = eg_ones(EG_SHAPE(2, 1, 1), EG_F32), *one = eg_ones(EG_SHAPE(1, 1, 1), EG_F32);
    const spec unknown = {"RNN", 7, "X W R", "y", {"activations=[Swish]"}, {0}};
    EGT_REFUSED(RUN(&unknown, x, one, one), EG_EINVAL, "\"Swish\" is not known");
    const spec few = {"RNN", 7, "X W R", "y", {"direction=bidirectional", "activations=[Relu]"}, {0}};
    EGT_REFUSED(RUN(&few, x, eg_ones(EG_SHAPE(2, 1, 1), EG_F32), eg_ones(EG_SHAPE(2, 1, 1), EG_F32)), EG_EINVAL,
                "a name for each");
    const spec plain = {"GRU", 7, "X W R", "y", {NULL}, {0}};
    EGT_REFUSED(RUN(&plain, x, one, one), EG_EINVAL, "shapes of one layer");
    EGT_REFUSED(RUN(&plain, eg_ones(EG_SHAPE(2, 1), EG_F32), one, one), EG_EINVAL, "shapes of one layer");
    const spec rows = {"RNN", 7, "X W R - L", "y", {NULL}, {0, 0, 0, 6}};
    EGT_REFUSED(RUN(&rows, x, one, one, eg_zeros(EG_SHAPE(2), EG_I32)), EG_EINVAL, "a length for each");
    const spec states = {"RNN", 7, "X W R - - H", "y", {NULL}, {0}};
    EGT_REFUSED(RUN(&states, x, one, one, eg_zeros(EG_SCALAR, EG_F32)), EG_ESHAPE, "rank 0");
}

EGT(no_steps)
{
    const spec s = {"RNN", 7, "X W R", "y h", {NULL}, {0}};
    eg_tensor *w = eg_ones(EG_SHAPE(1, 3, 2), EG_F32), *r = eg_ones(EG_SHAPE(1, 3, 3), EG_F32);
    eg_tensor *y = RUN(&s, eg_zeros(EG_SHAPE(0, 2, 2), EG_F32), w, r);
    EGT_CHECK(y && eg_ndim(y) == 4 && eg_size(y, 0) == 0 && eg_size(y, 1) == 1 && eg_size(y, 3) == 3);
}

/* ---- quantization ------------------------------------------------------------------------------------------- */

enum { F32 = 1, U8, I8, U16, I16, I32, I64, F8 = 17, U4 = 21, I4 };

EGT(products_have_scales_for_rows_and_columns)
{
    const spec s = {"QLinearMatMul", 10, "a sa za b sb zb sy zy", "y", {NULL}, {U8, F32, U8, I8, F32, I8, F32, I8}};
    eg_tensor *a = eg_from(EG_SHAPE(2, 2), EG_U8, (uint8_t[]){3, 5, 200, 7});
    eg_tensor *b = eg_from(EG_SHAPE(2, 2), EG_I32, (int32_t[]){-1, 4, 6, -128});
    eg_tensor *za = eg_from(EG_SHAPE(2), EG_U8, (uint8_t[]){1, 2}),
              *zb = eg_from(EG_SHAPE(2), EG_I32, (int32_t[]){0, 4});
    eg_tensor *zy = eg_from(EG_SCALAR, EG_I32, (int32_t[]){-3});
    eg_tensor *y = RUN(&s, a, NUMBERS(0.5f, 0.25f), za, b, NUMBERS(1, 2), zb, NUMBERS(2), zy);
    /* sums: 2 -1 + 4 6 = 22, 2 0 + 4 -132 = -528; 198 -1 + 5 6 = -168, 198 0 + 5 -132 = -660 */
    EGT_CHECK(HAS(y, 3, -128, -24, -128)); /* 5.5 is 6, less 3 */
    const spec whole = {"MatMulInteger", 10, "a b za zb", "y", {NULL}, {U8, I8, U8, I8}};
    EGT_CHECK(HAS(RUN(&whole, a, b, za, zb), 22, -528, -168, -660));
}

EGT(blocks_have_scales)
{
    const spec s = {"DequantizeLinear", 21, "x s z", "y", {"axis=1", "block_size=2"}, {I4, F32, I4}};
    eg_tensor *x = eg_from(EG_SHAPE(1, 3), EG_I32, (int32_t[]){-8, 7, 3});
    eg_tensor *scale = eg_reshape(NUMBERS(0.5f, 2), EG_SHAPE(1, 2)),
              *zero = eg_from(EG_SHAPE(1, 2), EG_I32, (int32_t[]){1, -1});
    EGT_CHECK(HAS(RUN(&s, x, scale, zero), -4.5, 3, 8));
    const spec back = {"QuantizeLinear", 21, "x s z", "y", {"axis=1", "block_size=2"}, {F32, F32, I4}};
    EGT_CHECK(HAS(RUN(&back, eg_reshape(NUMBERS(-4.5f, 3, 100), EG_SHAPE(1, 3)), scale, zero), -8, 7, 7));
}

EGT(numbers_are_held)
{
    const spec s = {"QuantizeLinear", 21, "x s", "y", {"output_dtype=5"}, {0}}; /* i16 */
    EGT_CHECK(HAS(RUN(&s, NUMBERS(-1e30f, 2.5f, 3.5f, INFINITY, NAN), NUMBERS(1)), -32768, 2, 4, 32767, 0));
    const spec small = {"QuantizeLinear", 19, "x s z", "y", {NULL}, {F32, F32, F8}};
    eg_tensor *zero = eg_zeros(EG_SCALAR, EG_F16);
    EGT_CHECK(
        HAS(RUN(&small, NUMBERS(17, 1e9f, 0.0009f, -0.0060f, 459), NUMBERS(1), zero), 16, 448, 0, -0.005859375, 448));
    const spec loose = {"QuantizeLinear", 19, "x s z", "y", {"saturate=0"}, {F32, F32, F8}};
    eg_tensor *y = RUN(&loose, NUMBERS(459, 481), NUMBERS(1), zero);
    EGT_CHECK(eg_get(y, 0) == 448 && isnan(eg_get(y, 1)));
}

EGT(all_equal_has_a_scale)
{
    const spec s = {"DynamicQuantizeLinear", 11, "x", "y s z", {NULL}, {0}};
    eg_tensor *in[] = {eg_zeros(EG_SHAPE(3), EG_F32)}, *out[3];
    EGT_OK(run_all(&s, in, 1, out, 3));
    EGT_CHECK(HAS(out[0], 0, 0, 0) && HAS(out[1], 1) && HAS(out[2], 0));
}

EGT(quantization_is_refused)
{
    eg_tensor *x = NUMBERS(1, 2), *one = NUMBERS(1);
    const spec none = {"QuantizeLinear", 13, "x s z", "y", {NULL}, {F32, F32, F32}};
    EGT_REFUSED(RUN(&none, x, one, one), EG_EDTYPE, "type 1 is none");
    const spec axis = {"QuantizeLinear", 13, "x s", "y", {"axis=3"}, {0}};
    EGT_REFUSED(RUN(&axis, x, x), EG_ESHAPE, "axis 3");
    const spec zeros = {"QuantizeLinear", 13, "x s z", "y", {"axis=0"}, {F32, F32, U8}};
    EGT_REFUSED(RUN(&zeros, x, one, eg_zeros(EG_SHAPE(3), EG_U8)), EG_ESHAPE, "3");
    const spec left = {"DequantizeLinear", 13, "x - z", "y", {NULL}, {U8, U8}};
    EGT_REFUSED(RUN(&left, eg_zeros(EG_SHAPE(2), EG_U8), eg_zeros(EG_SCALAR, EG_U8)), EG_EFORMAT, "input 1");
}

/* ---- words ---------------------------------------------------------------------------------------------------- */

EGT(words_are_weighed)
{
    spec s = {"TfIdfVectorizer",
              9,
              "x",
              "y",
              {"max_gram_length=2", "max_skip_count=1", "min_gram_length=1", "mode=TFIDF", "ngram_counts=[0,2]",
               "ngram_indexes=[2,0,1]", "pool_int64s=[5,7,5,7]", "weights=[0.5,2.0,3.0]"},
              {I64}};
    eg_tensor *x = eg_from(EG_SHAPE(2, 4), EG_I64, (int64_t[]){5, 7, 5, 7, 1, 5, 1, 7});
    /* 5 7 side by side twice, and with one left out never; then once with one left out */
    EGT_CHECK(HAS(RUN(&s, x), 4, 6, 1, 2, 3, 0.5));
    s.attributes[3] = "mode=IDF";
    EGT_CHECK(HAS(RUN(&s, x), 2, 3, 0.5, 2, 3, 0.5));
    s.attributes[3] = "mode=TF";
    EGT_CHECK(HAS(RUN(&s, x), 2, 2, 2, 1, 1, 1));
    s.attributes[3] = "mode=TI";
    EGT_REFUSED(RUN(&s, x), EG_EINVAL, "\"TI\"");
    s.attributes[3] = "mode=TF";
    s.attributes[4] = "ngram_counts=[0,5]";
    EGT_REFUSED(RUN(&s, x), EG_EINVAL, "ngram_counts");
    s.attributes[4] = "ngram_counts=[0,1]"; /* three ids are not twos */
    EGT_REFUSED(RUN(&s, x), EG_EINVAL, "ngram_counts");
    s.attributes[4] = "ngram_counts=[0]"; /* four ones for three columns */
    EGT_REFUSED(RUN(&s, x), EG_EINVAL, "ngram_indexes");
}

/* ---- chance ----------------------------------------------------------------------------------------------------- */

EGT(seeds_give_the_same_and_leave_the_stream)
{
    const spec seeded = {"RandomNormal", 22, "", "y", {"shape=[1000]", "seed=3.0", "mean=2.0", "scale=0.5"}, {0}};
    const spec other = {"RandomNormal", 22, "", "y", {"shape=[1000]", "mean=2.0", "scale=0.5"}, {0}};
    eg_seed(1);
    const eg_random_state before = eg_random_get_state();
    eg_tensor *y[4] = {0};
    EGT_OK(run_all(&seeded, NULL, 0, y, 1));
    EGT_OK(run_all(&seeded, NULL, 0, y + 1, 1));
    EGT_EQ(eg_random_get_state().offset, before.offset);
    EGT_OK(run_all(&other, NULL, 0, y + 2, 1));
    EGT_OK(run_all(&other, NULL, 0, y + 3, 1));
    EGT_CHECK(egt_distance(y[0], y[1]) == 0 && egt_distance(y[2], y[3]) > 0.1);
    EGT_NEAR(eg_item(eg_mean(y[0])), 2, 0.03);
    EGT_NEAR(eg_item(eg_std(y[2])), 0.5, 0.05);
}

EGT(draws_have_their_types)
{
    const spec like = {"RandomUniformLike", 22, "x", "y", {"low=-1.0", "high=3.0", "dtype=11"}, {F32}};
    eg_tensor *y = RUN(&like, eg_zeros(EG_SHAPE(20, 50), EG_F32));
    EGT_CHECK(eg_dtype_of(y) == EG_F64 && eg_size(y, 1) == 50);
    EGT_NEAR(eg_item(eg_mean(y)), 1, 0.1);
    EGT_CHECK(eg_item(eg_min(y)) >= -1 && eg_item(eg_max(y)) <= 3);
    const spec classes = {"Multinomial", 7, "x", "y", {"sample_size=500", "dtype=7"}, {F32}};
    y = RUN(&classes, eg_reshape(NUMBERS(0, logf(3), -INFINITY), EG_SHAPE(1, 3)));
    EGT_CHECK(eg_dtype_of(y) == EG_I64 && eg_size(y, 1) == 500 && eg_item(eg_max(y)) == 1);
    EGT_NEAR(eg_item(eg_mean(y)), 0.75, 0.05);
    const spec coins = {"Bernoulli", 15, "x", "y", {"dtype=9"}, {F32}};
    y = RUN(&coins, NUMBERS(0, 1, 0, 1));
    EGT_CHECK(eg_dtype_of(y) == EG_BOOL && HAS(y, 0, 1, 0, 1));
    const spec none = {"RandomNormal", 22, "", "y", {"shape=[2]", "dtype=8"}, {0}};
    eg_tensor *nothing;
    EGT_REFUSED(run_all(&none, NULL, 0, &nothing, 1), EG_EINVAL, "dtype");
}

EGT(sums_of_integers_stay)
{
    const spec s = {"Einsum", 12, "a b", "y", {"equation=i,i->"}, {I32, I32}};
    eg_tensor *a = eg_from(EG_SHAPE(2), EG_I32, (int32_t[]){3, 4}), *y = RUN(&s, a, a);
    EGT_CHECK(eg_dtype_of(y) == EG_I32 && HAS(y, 25));
}

/* ---- without memory -----------------------------------------------------------------------------------------------
 */

typedef struct forward {
    eg_module *module;
    eg_tensor *in[8];
    int nin;
} forward;

static bool run_once(void *user)
{
    const forward *f = user;
    eg_tensor *y[8];
    return !eg_onnx_forward(f->module, f->in, f->nin, y);
}

static int failures(const spec *s, const forward *given)
{
    forward f = *given;
    f.module = load(s);
    EGT_CHECK(f.module);
    const int n = egt_fail_allocations(run_once, &f);
    EGT_OK(eg_module_free(f.module));
    return n;
}

EGT(no_memory)
{
    const spec rnn = {"LSTM", 14, "X W R B L", "y h c", {"direction=bidirectional", "clip=2.0"}, {0, 0, 0, 0, I32}};
    const forward layer_of = {
        .in = {egt_random(EG_SHAPE(3, 2, 2), EG_F32, -1, 1), egt_random(EG_SHAPE(2, 12, 2), EG_F32, -1, 1),
               egt_random(EG_SHAPE(2, 12, 3), EG_F32, -1, 1), egt_random(EG_SHAPE(2, 24), EG_F32, -1, 1),
               eg_from(EG_SHAPE(2), EG_I32, (int32_t[]){2, 3})},
        .nin = 5};
    EGT_CHECK(failures(&rnn, &layer_of) > 50);
    const spec words = {"TfIdfVectorizer",
                        9,
                        "x",
                        "y",
                        {"max_gram_length=1", "max_skip_count=0", "min_gram_length=1", "mode=TF", "ngram_counts=[0]",
                         "ngram_indexes=[0]", "pool_int64s=[5]"},
                        {I32}};
    EGT_CHECK(failures(&words, &(forward){.in = {eg_from(EG_SHAPE(2), EG_I32, (int32_t[]){5, 6})}, .nin = 1}) > 0);
    const spec small = {"QuantizeLinear", 19, "x s z", "y", {"saturate=0"}, {F32, F32, F8}};
    const forward numbers_of = {.in = {NUMBERS(1, 500), NUMBERS(2), eg_zeros(EG_SCALAR, EG_F16)}, .nin = 3};
    EGT_CHECK(failures(&small, &numbers_of) > 5);
    const spec chance = {"Bernoulli", 15, "x", "y", {"seed=1.0"}, {0}};
    EGT_CHECK(failures(&chance, &(forward){.in = {NUMBERS(0.5f, 0.25f)}, .nin = 1}) > 0);
}
