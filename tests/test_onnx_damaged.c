/* test_onnx_damaged.c - ONNX files that lie: fields encoded otherwise than they must be, inputs left out, too many
 * axes, constants far larger than the file. All are refused in words, or cost no more than a file of their size. */
#include "tests/onnx_models.h"

/* ---- fields ----------------------------------------------------------------------------------------------- */

enum { MODEL_GRAPH = 7, MODEL_IMPORT = 8, MODEL_FUNCTION = 25, GRAPH_NODE = 1, NODE_ATTRIBUTE = 5, NODE_OP = 4 };

/* A graph that is one good node, Identity from "x" to "y". */
static void good_graph(bytes *graph)
{
    const spec s = {"Identity", 0, "x", "y", {NULL}, {0}};
    put_spec(graph, &s);
    put_text(graph, 2, "g");
    put_value_of(graph, 11, "x", FLOAT);
    put_value_of(graph, 12, "y", FLOAT);
}

static eg_module *load_graph(const bytes *graph)
{
    return eg_onnx_load(write_graph(graph, 17));
}

static const char *write_model(const bytes *model)
{
    const char *path = egt_path("model.onnx");
    egt_write(path, model->at, model->n);
    return path;
}

EGT(outputs_of_the_wrong_encoding_are_refused)
{
    static const uint8_t four[] = {0x3a, 0x02, 0x60, 0x00}; /* a graph whose output is an integer */
    const char *path = egt_path("four.onnx");
    egt_write(path, four, sizeof four);
    EGT_REFUSED(eg_onnx_load(path), EG_EFORMAT, "damaged");
}

/* Every field that is read as bytes, as an integer, and every integer as bytes. */
EGT(fields_of_the_wrong_encoding_are_refused)
{
    static const struct {
        int field;
        bool is_int;
    } of_graph[] = {{1, 0}, {2, 0}, {5, 0}, {11, 0}, {12, 0}, {15, 0}},
      of_node[] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {7, 0}},
      of_attribute[] = {{1, 0}, {3, 1}, {4, 0}, {5, 0}, {6, 0}, {9, 0}, {20, 1}, {21, 0}},
      of_tensor[] = {{2, 1}, {8, 0}, {9, 0}, {13, 0}, {14, 1}};
    for (int depth = 0; depth < 4; depth++) {
        const int counts[] = {6, 6, 8, 5};
        for (int i = 0; i < counts[depth]; i++) {
            bytes graph = {.n = 0}, inner = {.n = 0}, outer = {.n = 0}, whole = {.n = 0};
            const int field = depth == 0   ? of_graph[i].field
                              : depth == 1 ? of_node[i].field
                              : depth == 2 ? of_attribute[i].field
                                           : of_tensor[i].field;
            const bool is_int = depth == 2 ? of_attribute[i].is_int : depth == 3 && of_tensor[i].is_int;
            good_graph(&graph);
            if (is_int) {
                put_bytes(&inner, field, "\1", 1);
            } else {
                put_int(&inner, field, 1);
            }
            if (depth == 0) {
                memcpy(graph.at + graph.n, inner.at, inner.n);
                graph.n += inner.n;
            } else if (depth == 1) {
                put_part(&graph, GRAPH_NODE, &inner);
            } else if (depth == 2) {
                put_part(&whole, NODE_ATTRIBUTE, &inner);
                put_part(&graph, GRAPH_NODE, &whole);
            } else {
                put_part(&outer, 5, &inner);
                put_part(&whole, NODE_ATTRIBUTE, &outer);
                put_part(&graph, GRAPH_NODE, &whole);
            }
            EGT_REFUSED(load_graph(&graph), EG_EFORMAT, "damaged");
        }
    }
}

EGT(fields_of_a_model_of_the_wrong_encoding_are_refused)
{
    static const int fields[] = {2, MODEL_GRAPH, MODEL_IMPORT, MODEL_FUNCTION};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        bytes graph = {.n = 0}, model = {.n = 0};
        good_graph(&graph);
        put_part(&model, MODEL_GRAPH, &graph);
        put_int(&model, fields[i], 1);
        EGT_REFUSED(eg_onnx_load(write_model(&model)), EG_EFORMAT, "damaged");
    }
}

/* Before, the output of such a branch was the first value of the model. */
EGT(outputs_of_branches_of_the_wrong_encoding_are_refused)
{
    bytes branch = {.n = 0}, attribute = {.n = 0}, node_bytes = {.n = 0}, graph = {.n = 0};
    put_tensor(&branch, "w", F32(EG_SHAPE(1), 7));
    put_int(&branch, 12, 0);
    for (int i = 0; i < 2; i++) {
        attribute.n = 0;
        put_text(&attribute, 1, i ? "then_branch" : "else_branch");
        put_part(&attribute, 6, &branch);
        put_int(&attribute, 20, 5);
        put_part(&node_bytes, NODE_ATTRIBUTE, &attribute);
    }
    put_text(&node_bytes, 1, "x");
    put_text(&node_bytes, 2, "y");
    put_text(&node_bytes, NODE_OP, "If");
    put_part(&graph, GRAPH_NODE, &node_bytes);
    put_tensor(&graph, "secret", F32(EG_SHAPE(1), 42));
    put_value_of(&graph, 11, "x", BOOL);
    put_value_of(&graph, 12, "y", FLOAT);
    EGT_REFUSED(load_graph(&graph), EG_EFORMAT, "damaged");
}

EGT(packed_and_single_numbers_of_lists_are_both_read)
{
    const uint8_t packed[] = {1, 0}; /* perm */
    bytes graph = {.n = 0}, node_bytes = {.n = 0}, a = {.n = 0};
    put_text(&a, 1, "perm");
    put_bytes(&a, 8, packed, sizeof packed);
    put_int(&a, 20, 7);
    put_text(&node_bytes, 1, "x");
    put_text(&node_bytes, 2, "y");
    put_text(&node_bytes, NODE_OP, "Transpose");
    put_part(&node_bytes, NODE_ATTRIBUTE, &a);
    put_part(&graph, GRAPH_NODE, &node_bytes);
    put_value_of(&graph, 11, "x", FLOAT);
    put_value_of(&graph, 12, "y", FLOAT);
    eg_module *m = load_graph(&graph);
    eg_tensor *y = eg_module_forward(m, F32(EG_SHAPE(2, 2), 1, 2, 3, 4));
    EGT_OK(eg_module_free(m));
    EGT_CHECK(VALUES(y, 1, 3, 2, 4));
}

/* ---- axes ------------------------------------------------------------------------------------------------- */

EGT(a_ninth_axis_is_refused_before_it_is_written)
{
    const eg_shape eight = EG_SHAPE(1, 1, 1, 1, 1, 1, 1, 1);
    eg_tensor *x = eg_zeros(eight, EG_I64), *depth = I64(EG_SCALAR, 2), *values = F32(EG_SHAPE(2), 0, 1);
    EGT_REFUSED(RUN("OneHot", 11, &none, x, depth, values), EG_ESHAPE, "9 axes");
    EGT_REFUSED(RUN("Unsqueeze", 13, &none, x, I64(EG_SHAPE(1), 8)), EG_ESHAPE, "9 axes");
    EGT_REFUSED(RUN("Gather", 13, &none, x, eg_zeros(EG_SHAPE(1, 1), EG_I64)), EG_ESHAPE, "9 axes");
    EGT_REFUSED(RUN("Expand", 13, &none, values, eg_ones(EG_SHAPE(9), EG_I64)), EG_EINVAL, "9 numbers");
    EGT_REFUSED(eg_gather_nd(x, eg_zeros(EG_SHAPE(2, 0), EG_I64)), EG_ESHAPE, "no axis");
    eg_tensor *q = eg_zeros(EG_SHAPE(1, 4, 2, 2), EG_F32), *k = eg_zeros(EG_SHAPE(1, 2, 2, 2), EG_F32);
    eg_tensor *mask = eg_ones(EG_SHAPE(1, 1, 1, 1, 1, 4, 2, 2), EG_BOOL);
    EGT_REFUSED(eg_attention(q, k, k, .mask = mask), EG_ESHAPE, "8 axes");
    eg_tensor *slopes = eg_zeros(EG_SHAPE(1, 1, 1, 1, 1, 1, 1, 4), EG_F32);
    EGT_REFUSED(eg_attention(q, k, k, .slopes = slopes), EG_ESHAPE, "8 axes");
}

/* ---- inputs ----------------------------------------------------------------------------------------------- */

EGT(inputs_that_are_needed_are_not_left_out)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(1, 2, 2), EG_F32), *two = F32(EG_SHAPE(2), 1, 1);
    EGT_REFUSED(RUN("BatchNormalization", 15, &none, x, two, two, NULL, two), EG_EFORMAT, "input 3");
    EGT_REFUSED(RUN("Add", 14, &none, NULL, two), EG_EFORMAT, "input 0");
    EGT_REFUSED(RUN("Concat", 13, &none, two, NULL, two), EG_EFORMAT, "input 1");
    EGT_REFUSED(RUN("Sum", 13, &none, two, NULL, two), EG_EFORMAT, "input 1");
    EGT_REFUSED(RUN("OneHot", 11, &none, x, NULL, two), EG_EFORMAT, "input 1");
    EGT_REFUSED(RUN("TopK", 11, &none, two), EG_EFORMAT, "has 1 inputs");
    EGT_REFUSED(RUN("TopK", 1, &none, two), EG_EINVAL, "no k");
    EGT_REFUSED(RUN("Unsqueeze", 13, &none, two), EG_EFORMAT, "has 1 inputs");
    EGT_REFUSED(RUN("Unsqueeze", 11, &none, two), EG_EINVAL, "no axes");
    EGT_REFUSED(RUN("Slice", 13, &none, two, I64(EG_SHAPE(1), 0)), EG_EFORMAT, "has 2 inputs");
    EGT_REFUSED(RUN("Slice", 1, &none, two), EG_EINVAL, "no starts");
    EGT_CHECK(VALUES(RUN("Clip", 13, &none, F32(EG_SHAPE(1), 5), NULL, F32(EG_SCALAR, 3)), 3));
}

/* A function whose second input its caller leaves out, and whose node needs it. */
EGT(inputs_that_functions_were_not_given_are_refused)
{
    bytes function = {.n = 0}, model = {.n = 0}, graph = {.n = 0}, import = {.n = 0}, node_bytes = {.n = 0};
    const spec inside = {"Sub", 0, "a b", "c", {NULL}, {0}};
    put_text(&function, 1, "f");
    put_words(&function, 4, "a b");
    put_words(&function, 5, "c");
    bytes body = {.n = 0};
    put_spec(&body, &inside);
    body.at[0] = 7 << 3 | 2; /* nodes of functions */
    memcpy(function.at + function.n, body.at, body.n);
    function.n += body.n;
    put_text(&import, 1, "");
    put_int(&import, 2, 17);
    put_part(&function, 9, &import);
    put_text(&function, 10, "own");
    put_words(&node_bytes, 1, "x");
    put_words(&node_bytes, 2, "y");
    put_text(&node_bytes, NODE_OP, "f");
    put_text(&node_bytes, 7, "own");
    put_part(&graph, GRAPH_NODE, &node_bytes);
    put_value_of(&graph, 11, "x", FLOAT);
    put_value_of(&graph, 12, "y", FLOAT);
    put_int(&model, 1, 8);
    put_part(&model, MODEL_GRAPH, &graph);
    put_part(&model, MODEL_IMPORT, &import);
    put_part(&model, MODEL_FUNCTION, &function);
    eg_module *m = eg_onnx_load(write_model(&model));
    EGT_CHECK(m);
    EGT_REFUSED(eg_module_forward(m, F32(EG_SHAPE(1), 1)), EG_EINVAL, "input 1");
    EGT_OK(eg_module_free(m));
}

/* ---- work and memory --------------------------------------------------------------------------------------- */

/* A chain of nodes that begins with the initializer "s". */
static eg_module *of_numbers(const spec *nodes, int count, eg_tensor *s, bool frozen)
{
    bytes graph = {.n = 0};
    for (int i = 0; i < count; i++) {
        put_spec(&graph, &nodes[i]);
    }
    put_tensor(&graph, "s", s);
    put_text(&graph, 2, "g");
    put_value_of(&graph, 12, "y", FLOAT);
    return eg_onnx_load(write_graph(&graph, 17), .frozen = frozen);
}

static int64_t peak_above(int64_t before)
{
    return eg_memory_stats().peak_bytes - before;
}

EGT(large_constants_are_not_computed_at_load)
{
    static const spec chains[][3] = {
        {{"ConstantOfShape", 0, "s", "y", {NULL}, {0}}},
        {{"ConstantOfShape", 0, "s", "t", {NULL}, {0}}, {"Exp", 0, "t", "y", {NULL}, {0}}},
        {{"Constant", 0, "", "one", {"value_float=1.5"}, {0}},
         {"Expand", 0, "one s", "t", {NULL}, {0}},
         {"Exp", 0, "t", "y", {NULL}, {0}}},
    };
    static const int counts[] = {1, 2, 3};
    for (int i = 0; i < 6; i++) {
        eg_memory_trim();
        eg_memory_reset_peak();
        const int64_t before = eg_memory_stats().peak_bytes;
        eg_module *m = of_numbers(chains[i % 3], counts[i % 3], I64(EG_SHAPE(2), 1 << 16, 1 << 14), i >= 3);
        EGT_CHECK(m);
        EGT_CHECK(peak_above(before) < 64 << 20);
        EGT_CHECK(eg_onnx_nodes(m) > 0);
        EGT_OK(eg_module_free(m));
    }
    eg_module *m = of_numbers(chains[1], 2, I64(EG_SHAPE(2), 100, 100), false);
    EGT_EQ(eg_onnx_nodes(m), 0); /* little is */
    EGT_OK(eg_module_free(m));
}

/* Each of many nodes makes a million numbers: only the first few run at load. */
EGT(many_constants_together_are_not_large)
{
    enum { NODES = 100 };
    bytes graph = {.n = 0};
    char out[16];
    for (int i = 0; i < NODES; i++) {
        snprintf(out, sizeof out, "c%d", i);
        const spec s = {"ConstantOfShape", 0, "s", out, {NULL}, {0}};
        put_spec(&graph, &s);
    }
    put_tensor(&graph, "s", I64(EG_SHAPE(1), 1000000));
    put_value_of(&graph, 12, out, FLOAT);
    eg_memory_trim();
    eg_memory_reset_peak();
    const int64_t before = eg_memory_stats().peak_bytes;
    eg_module *m = load_graph(&graph);
    EGT_CHECK(m);
    EGT_CHECK(peak_above(before) < 64 << 20);
    EGT_CHECK(eg_onnx_nodes(m) >= NODES - 5);
    EGT_OK(eg_module_free(m));
}

/* A file of this part over and over, with x and y as ends; its path. */
static const char *repeated(const char *part, size_t n, size_t times, size_t *size)
{
    bytes ends = {.n = 0}, head = {.n = 0};
    put_value_of(&ends, 11, "x", FLOAT);
    put_value_of(&ends, 12, "x", FLOAT);
    put_int(&head, 1, 8);
    put_varint(&head, MODEL_GRAPH << 3 | 2);
    put_varint(&head, ends.n + n * times);
    *size = head.n + ends.n + n * times;
    uint8_t *all = malloc(*size);
    EGT_CHECK(all);
    memcpy(all, head.at, head.n);
    memcpy(all + head.n, ends.at, ends.n);
    for (size_t i = 0; i < times; i++) {
        memcpy(all + head.n + ends.n + i * n, part, n);
    }
    const char *path = egt_path("repeated.onnx");
    egt_write(path, all, *size);
    free(all);
    return path;
}

EGT(memory_is_in_proportion_to_the_file)
{
    enum { TIMES = 1 << 18, EACH = 256, ALWAYS = 64 << 20 }; /* ALWAYS: memory is taken 32 MB at once */
    static const struct {
        const char *part;
        size_t n;
    } parts[] = {{"\x0a\0", 2},                              /* nodes without anything */
                 {"\x0a\x0c\x22\4Relu\x0a\1x\x12\1y", 14},   /* nodes */
                 {"\x0a\x0a\x22\4Relu\x2a\2\x0a\0", 12},     /* with an attribute without a name */
                 {"\x0a\x0a\x22\2If\x2a\4\x32\0\x0a\0", 12}, /* with an empty graph */
                 {"\x5a\3\x0a\1x", 5}};                      /* inputs */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t size;
        const char *path = repeated(parts[i].part, parts[i].n, TIMES, &size);
        eg_memory_trim();
        eg_memory_reset_peak();
        const int64_t before = eg_memory_stats().peak_bytes;
        eg_module *m = eg_onnx_load(path);
        EGT_CHECK(peak_above(before) <= ALWAYS + EACH * (int64_t)size);
        EGT_OK(m ? eg_module_free(m) : EG_OK);
        eg_clear_error();
    }
}

/* Each function calls the next one twice: 2^20 nodes in a thousand bytes. */
EGT(calls_of_functions_are_bounded)
{
    enum { DEEP = 20 };
    bytes model = {.n = 0}, import = {.n = 0};
    put_text(&import, 1, "own");
    put_int(&import, 2, 1);
    for (int i = 1; i < DEEP; i++) {
        bytes function = {.n = 0}, call = {.n = 0};
        char name[8];
        snprintf(name, sizeof name, "f%d", i);
        put_text(&function, 1, name);
        put_text(&function, 10, "own");
        snprintf(name, sizeof name, "f%d", i + 1);
        put_text(&call, NODE_OP, name);
        put_text(&call, 7, "own");
        for (int k = 0; k < 2 && i < DEEP - 1; k++) {
            put_part(&function, 7, &call);
        }
        put_part(&model, MODEL_FUNCTION, &function);
    }
    bytes call = {.n = 0}, whole = {.n = 0};
    put_text(&call, NODE_OP, "f1");
    put_text(&call, 7, "own");
    for (int k = 0; k < 2; k++) {
        put_part(&whole, GRAPH_NODE, &call);
    }
    put_int(&model, 1, 8);
    put_part(&model, MODEL_IMPORT, &import);
    put_part(&model, MODEL_GRAPH, &whole);
    const char *path = write_model(&model);
    eg_memory_trim();
    eg_memory_reset_peak();
    const int64_t before = eg_memory_stats().peak_bytes;
    EGT_REFUSED(eg_onnx_load(path), EG_EFORMAT, "functions");
    EGT_CHECK(peak_above(before) < 64 << 20);
}

EGT(models_count_towards_the_memory_limit)
{
    enum { NODES = 1000 };
    bytes graph = {.n = 0};
    for (int i = 0; i < NODES; i++) {
        put_bytes(&graph, GRAPH_NODE, "\x22\4Relu\x0a\1x\x12\1y", 12);
    }
    put_value_of(&graph, 11, "x", FLOAT);
    put_value_of(&graph, 12, "y", FLOAT);
    const char *path = write_graph(&graph, 17);
    eg_memory_trim();
    const int64_t before = eg_memory_stats().reserved_bytes;
    EGT_OK(eg_memory_limit(before + (64 << 10)));
    eg_module *m = eg_onnx_load(path);
    const bool refused = !m && egt_said(EG_ENOMEM, "memory");
    EGT_OK(eg_memory_limit(0));
    EGT_OK(m ? eg_module_free(m) : EG_OK);
    EGT_CHECK(refused);
}

EGT(what_operators_need_counts_towards_the_memory_limit)
{
    eg_tensor *bins = I64(EG_SCALAR, 4000), *length = I64(EG_SCALAR, 16000), *rate = I64(EG_SCALAR, 16000);
    eg_tensor *low = F32(EG_SCALAR, 0), *high = F32(EG_SCALAR, 8000);
    eg_memory_trim();
    EGT_OK(eg_memory_limit(eg_memory_stats().reserved_bytes + (100 << 20))); /* it would be 256 MB and 128 MB */
    eg_tensor *y = RUN("MelWeightMatrix", 17, &none, bins, length, rate, low, high);
    const bool refused = !y && egt_said(EG_ENOMEM, "memory");
    EGT_OK(eg_memory_limit(0));
    EGT_CHECK(refused);
}
