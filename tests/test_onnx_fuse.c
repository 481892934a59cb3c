/* test_onnx_fuse.c - frozen models: fewer nodes, the same results. */
#include "tests/onnx_bytes.h"

typedef struct weight {
    const char *name;
    eg_tensor *t;
} weight;

/* A model of x [2, 3, 5, 4], or a matrix [4, 6]: nodes as "Operator inputs attributes > outputs", between bars; and the
 * operators that are left of it when it is frozen. */
typedef struct model {
    const char *name, *nodes, *left;
    bool matrix;
    const char *outputs; /* NULL: "y" */
} model;

static const weight *weights(int *count)
{
    static weight all[24];
    const struct {
        const char *name;
        eg_shape shape;
    } made[] = {
        {"w", {4, {6, 3, 2, 2}}},
        {"w1", {4, {6, 6, 1, 1}}},
        {"wt", {4, {3, 6, 2, 2}}},
        {"wd", {4, {3, 1, 2, 2}}},
        {"b", {1, {6}}},
        {"s", {4, {1, 6, 1, 1}}},
        {"s3", {3, {6, 1, 1}}},
        {"t", {4, {1, 6, 1, 1}}},
        {"one", {0}},
        {"row", {4, {1, 1, 1, 3}}},
        {"five", {5, {1, 1, 6, 1, 1}}},
        {"mean", {1, {6}}},
        {"m", {2, {6, 8}}},
        {"mt", {2, {8, 6}}},
        {"v", {1, {8}}},
        {"v2", {2, {1, 8}}},
        {"column", {2, {4, 1}}},
        {"d", {3, {3, 1, 1}}},
    };
    int n = 0;
    eg_seed(5);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        all[n++] = (weight){made[i].name, eg_normal(made[i].shape, 0.3, 1, EG_F32)};
    }
    all[n++] = (weight){"var", eg_uniform(EG_SHAPE(6), 0.5, 2, EG_F32)};
    all[n++] = (weight){"zero", eg_scalar(0, EG_F32)};
    all[n++] = (weight){"six", eg_scalar(6, EG_F32)};
    all[n++] = (weight){"seven", eg_scalar(7, EG_F32)};
    *count = n;
    return all;
}

static void put_nodes(bytes *graph, const char *text)
{
    char word[64];
    bytes node = {.n = 0};
    bool first = true, outputs = false;
    for (int n = 0; sscanf(text, "%63s%n", word, &n) == 1; text += n) {
        if (*word == '|') {
            put_part(graph, 1, &node);
            node.n = 0;
            first = true;
            outputs = false;
        } else if (first) {
            put_text(&node, 4, word);
            first = false;
        } else if (*word == '>') {
            outputs = true;
        } else if (strchr(word, '=')) {
            with(&node, word);
        } else {
            put_text(&node, outputs ? 2 : 1, word);
        }
    }
    put_part(graph, 1, &node);
}

static const char *write_model(const model *m)
{
    bytes graph = {.n = 0};
    char word[64];
    int n;
    put_nodes(&graph, m->nodes);
    put_text(&graph, 2, "g");
    const weight *all = weights(&n);
    for (int i = 0; i < n; i++) {
        snprintf(word, sizeof word, " %s ", all[i].name);
        if (strstr(m->nodes, word)) {
            put_tensor(&graph, all[i].name, all[i].t);
        }
    }
    put_value(&graph, 11, "x", NULL);
    for (const char *at = m->outputs ? m->outputs : "y"; sscanf(at, "%63s%n", word, &n) == 1; at += n) {
        put_value(&graph, 12, word, NULL);
    }
    return write_graph(&graph, 20);
}

static void check_operators(const model *m, eg_module *net)
{
    char found[256] = "";
    for (int i = 0; i < eg_onnx_nodes(net); i++) {
        strcat(strcat(found, i ? " " : ""), eg_onnx_node_at(net, i).op);
    }
    if (strcmp(found, m->left) != 0) {
        egt_fail(__FILE__, __LINE__, "%s: \"%s\" is left, not \"%s\"", m->name, found, m->left);
    }
}

/* As it is and frozen: the same results for the values of x and for NaN. */
static void check_model(const model *m)
{
    const char *path = write_model(m);
    eg_module *plain = eg_onnx_load(path), *frozen = eg_onnx_load(path, .frozen = true);
    EGT_CHECK(plain && frozen);
    EGT_OK(eg_module_eval(plain));
    EGT_OK(eg_module_eval(frozen));
    EGT_OK(eg_module_to_device(frozen, eg_device_of(eg_ones(EG_SCALAR, EG_F32))));
    check_operators(m, frozen);
    EGT_CHECK(!eg_module_parameters(frozen).count);
    for (int turn = 0; turn < 3; turn++) {
        eg_tensor *x = eg_normal(m->matrix ? EG_SHAPE(4, 6) : EG_SHAPE(2, 3, 5, 4), 0, 2, EG_F32);
        eg_tensor *a[2], *b[2];
        if (turn == 2) {
            x = eg_mul(x, eg_scalar(NAN, EG_F32));
        }
        EGT_OK(eg_onnx_forward(plain, &x, 1, a));
        EGT_OK(eg_onnx_forward(frozen, &x, 1, b));
        for (int i = 0; i < eg_onnx_outputs(plain); i++) {
            const double off = egt_distance(b[i], a[i]);
            if (!(off < 1e-5)) {
                egt_fail(__FILE__, __LINE__, "%s: output %d is %g off", m->name, i, off);
            }
        }
    }
    EGT_OK(eg_module_free(plain));
    EGT_OK(eg_module_free(frozen));
}

static void check_models(const model *models, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check_model(&models[i]);
    }
}

EGT(what_becomes_one)
{
    static const model models[] = {
        {.name = "scale and shift", .nodes = "Conv x w b > c | Mul c s > m | Add t m > y", .left = "Conv"},
        {.name = "no bias", .nodes = "Conv x w > c | Mul s3 c > m | Add m t > y", .left = "Conv"},
        {.name = "a number", .nodes = "Conv x w b > c | Mul c one > m | Add m one > y", .left = "Conv"},
        {.name = "depthwise", .nodes = "Conv x wd group=3 > c | Mul c d > m | Relu m > y", .left = "Conv"},
        {.name = "transposed",
         .nodes = "ConvTranspose x wt strides=[2,2] > c | Mul c s > m | Add m t > a | Relu a > y",
         .left = "ConvTranspose"},
        {.name = "batch norm",
         .nodes = "Conv x w b > c | BatchNormalization c b mean b var epsilon=0.01 > n | Relu n > y",
         .left = "Conv"},
        {.name = "clip", .nodes = "Conv x w > c | Clip c zero six > y", .left = "Conv"},
        {.name = "two layers",
         .nodes = "Conv x w > c | Relu c > r | Conv r w1 > d | Add d t > a | Sigmoid a > y",
         .left = "Conv Conv"},
        {.name = "swish", .nodes = "Conv x w b > c | Sigmoid c > g | Mul g c > y", .left = "Conv"},
        {.name = "swish alone", .nodes = "Sigmoid x > g | Mul x g > y", .left = "Swish"},
        {.name = "gelu", .nodes = "MatMul x m > p | Add p v > a | Gelu a > y", .left = "MatMul", .matrix = true},
        {.name = "gelu by tanh",
         .nodes = "MatMul x m > p | Gelu p approximate=tanh > y",
         .left = "MatMul",
         .matrix = true},
        {.name = "gemm",
         .nodes = "Gemm x mt v transB=1 > p | Mul p v2 > q | Tanh q > y",
         .left = "Gemm",
         .matrix = true},
        {.name = "gemm the other way",
         .nodes = "Gemm x m > p | Add v2 p > a | HardSwish a > y",
         .left = "Gemm",
         .matrix = true},
        {.name = "a shared weight",
         .nodes = "Conv x w > c | Mul c s > m | Conv x w > d | Sub m d > y",
         .left = "Conv Conv Sub"},
    };
    check_models(models, sizeof models / sizeof *models);
}

EGT(what_stays)
{
    static const model models[] = {
        {.name = "used twice", .nodes = "Conv x w > c | Mul c s > m | Add m c > y", .left = "Conv Mul Add"},
        {.name = "an output", .nodes = "Conv x w > c | Relu c > y", .left = "Conv Relu", .outputs = "y c"},
        {.name = "along another axis", .nodes = "Conv x w > c | Add c row > y", .left = "Conv Add"},
        {.name = "another axis more", .nodes = "Conv x w > c | Add c five > y", .left = "Conv Add"},
        {.name = "down the rows", .nodes = "Gemm x m > p | Mul p column > y", .left = "Gemm Mul", .matrix = true},
        {.name = "alpha", .nodes = "Gemm x m v alpha=0.5 > p | Relu p > y", .left = "Gemm Relu", .matrix = true},
        {.name = "behind a function", .nodes = "Conv x w > c | Relu c > r | Mul r s > y", .left = "Conv Mul"},
        {.name = "other limits", .nodes = "Conv x w > c | Clip c zero seven > y", .left = "Conv Clip"},
        {.name = "another gate", .nodes = "Sigmoid x > g | Tanh x > h | Mul h g > y", .left = "Sigmoid Tanh Mul"},
        {.name = "a gate used twice", .nodes = "Sigmoid x > g | Mul x g > y", .left = "Sigmoid Mul", .outputs = "y g"},
        {.name = "by groups", .nodes = "ConvTranspose x wd group=3 > c | Mul c d > y", .left = "ConvTranspose Mul"},
    };
    check_models(models, sizeof models / sizeof *models);
}

/* Nets that PyTorch exported. */
EGT(nets)
{
    static const char *const names[] = {"residual", "mobile", "lstm", "lstm_new", "gru", "encoder", "perceptron"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/golden/onnx/%s.onnx", names[i]);
        eg_module *plain = eg_onnx_load(path), *m = eg_onnx_load(path, .frozen = true);
        snprintf(path, sizeof path, "tests/golden/onnx/%s.safetensors", names[i]);
        eg_tensors *golden = eg_tensors_open(path);
        EGT_CHECK(plain && m && golden);
        EGT_OK(eg_module_eval(m));
        EGT_CHECK(eg_onnx_nodes(m) < eg_onnx_nodes(plain));
        EGT_CHECK(egt_distance(eg_module_forward(m, eg_tensors_get(golden, "x")), eg_tensors_get(golden, "eval")) <
                  1e-5);
        eg_tensors_free(golden);
        EGT_OK(eg_module_free(m));
        EGT_OK(eg_module_free(plain));
    }
}

/* An input with a value of its own: another may be given, but not to a frozen model. */
EGT(inputs_with_values)
{
    bytes graph = {.n = 0};
    const float two = 2;
    put_nodes(&graph, "Neg k > n | Mul x n > y");
    put_text(&graph, 2, "g");
    put_tensor(&graph, "k", eg_from(EG_SHAPE(1), EG_F32, &two));
    put_value(&graph, 11, "x", NULL);
    put_value(&graph, 11, "k", NULL);
    put_value(&graph, 12, "y", NULL);
    const char *path = write_graph(&graph, 20);
    eg_module *plain = eg_onnx_load(path), *frozen = eg_onnx_load(path, .frozen = true);
    eg_tensor *in[2] = {eg_ones(EG_SHAPE(3), EG_F32), NULL}, *y;
    EGT_CHECK(eg_onnx_inputs(plain) == 2 && eg_onnx_inputs(frozen) == 1);
    EGT_OK(eg_onnx_forward(plain, in, 2, &y));
    EGT_CHECK(eg_get(y, 0) == -2);
    EGT_OK(eg_onnx_forward(frozen, in, 1, &y));
    EGT_CHECK(eg_get(y, 0) == -2);
    in[1] = eg_full(EG_SHAPE(1), 5, EG_F32);
    EGT_OK(eg_onnx_forward(plain, in, 2, &y));
    EGT_CHECK(eg_get(y, 0) == -5);
    EGT_REFUSED(eg_onnx_forward(frozen, in, 2, &y), EG_EINVAL, "the model has 1");
    EGT_OK(eg_module_free(plain));
    EGT_OK(eg_module_free(frozen));
}

/* Recurrent layers that the op does not take as they are: their gates lie in its order all the same. */
EGT(gates_of_layers_that_go_step_by_step)
{
    static const spec layers[] = {
        {"LSTM", 14, "x W R B", "y", {"hidden_size=3", "activations=[Sigmoid,Relu,Tanh]"}, {0}},
        {"LSTM", 14, "x W R", "y", {"hidden_size=3"}, {0}},
        {"GRU", 14, "x W R B", "y", {"hidden_size=3", "activations=[HardSigmoid,Tanh]"}, {0}},
        {"GRU", 14, "x W R B", "y", {"hidden_size=3", "linear_before_reset=1"}, {0}},
        {"GRU", 14, "x W R B", "y", {"hidden_size=3", "clip=0.5", "direction=reverse"}, {0}},
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const int64_t all = 3 * (layers[i].op[0] == 'L' ? 4 : 3);
        bytes graph = {.n = 0};
        put_spec(&graph, &layers[i]);
        put_text(&graph, 2, "g");
        put_tensor(&graph, "W", eg_normal(EG_SHAPE(1, all, 2), 0, 1, EG_F32));
        put_tensor(&graph, "R", eg_normal(EG_SHAPE(1, all, 3), 0, 1, EG_F32));
        put_tensor(&graph, "B", eg_normal(EG_SHAPE(1, 2 * all), 0, 1, EG_F32));
        put_value(&graph, 11, "x", NULL);
        put_value(&graph, 12, "y", NULL);
        const char *path = write_graph(&graph, layers[i].version);
        eg_module *plain = eg_onnx_load(path), *frozen = eg_onnx_load(path, .frozen = true);
        eg_tensor *x = eg_normal(EG_SHAPE(4, 2, 2), 0, 1, EG_F32);
        EGT_CHECK(egt_distance(eg_module_forward(frozen, x), eg_module_forward(plain, x)) < 1e-6);
        EGT_OK(eg_module_free(plain));
        EGT_OK(eg_module_free(frozen));
    }
}

static bool load_and_run(void *user)
{
    eg_module *net = eg_onnx_load(user, .frozen = true);
    bool ok = net != NULL;
    EG_SCOPE {
        eg_tensor *x = eg_ones(EG_SHAPE(2, 3, 5, 4), EG_F32);
        ok = ok && x && eg_module_forward(net, x);
    }
    eg_module_free(net);
    return ok;
}

EGT(memory_may_run_out_anywhere)
{
    const model m = {.nodes = "Conv x w > c | Mul c s > m | Add m t > a | Sigmoid a > g | Mul a g > y"};
    EGT_CHECK(egt_fail_allocations(load_and_run, (void *)(uintptr_t)write_model(&m)) > 10);
}
