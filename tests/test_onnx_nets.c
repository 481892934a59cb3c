/* test_onnx_nets.c - nets that PyTorch exported: their outputs, and their weights after a step of SGD, are PyTorch's.
 */
#include "tests/egt.h"

#include <egret/onnx.h>

typedef struct net {
    eg_module *module;
    eg_tensors *golden; /* written by tests/golden/onnx_nets.py */
} net;

static net open_net(const char *name)
{
    char model[128], golden[128];
    snprintf(model, sizeof model, "tests/golden/onnx/%s.onnx", name);
    snprintf(golden, sizeof golden, "tests/golden/onnx/%s.safetensors", name);
    net n = {eg_onnx_load(model), eg_tensors_open(golden)};
    EGT_CHECK(n.module && n.golden);
    return n;
}

static void close_net(net *n)
{
    eg_tensors_free(n->golden);
    EGT_OK(eg_module_free(n->module));
}

/* All tensors of the model that PyTorch's step made others of. */
static void check_weights(const net *n)
{
    eg_tensors *state = eg_module_state(n->module);
    int seen = 0;
    for (int i = 0; i < eg_tensors_count(n->golden); i++) {
        const char *name = eg_tensors_name(n->golden, i);
        if (strncmp(name, "after/", 6) != 0) {
            continue;
        }
        const double off = egt_distance(eg_tensors_get(state, name + 6), eg_tensors_at(n->golden, i));
        if (!(off < 1e-5)) {
            egt_fail(__FILE__, __LINE__, "%s is %g off", name, off);
        }
        seen++;
    }
    EGT_CHECK(seen >= 7);
    eg_tensors_free(state);
}

static void check_net(const char *name)
{
    net n = open_net(name);
    eg_tensor *x = eg_tensors_get(n.golden, "x"), *target = eg_tensors_get(n.golden, "target");
    EGT_OK(eg_module_eval(n.module));
    EGT_CHECK(egt_distance(eg_module_forward(n.module, x), eg_tensors_get(n.golden, "eval")) < 1e-5);
    EGT_OK(eg_module_train(n.module));
    eg_optim *sgd = eg_sgd_new(eg_module_parameters(n.module), .lr = 0.1);
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        eg_tensor *y = eg_module_forward(n.module, x), *loss = eg_mse_loss(y, target);
        EGT_CHECK(egt_distance(y, eg_tensors_get(n.golden, "y")) < 1e-5);
        EGT_CHECK(egt_distance(loss, eg_tensors_get(n.golden, "loss")) < 1e-5);
        EGT_OK(eg_optim_minimize(sgd, tape, loss));
    }
    check_weights(&n);
    eg_optim_free(sgd);
    close_net(&n);
}

EGT(residual_net)
{
    check_net("residual");
}

EGT(inverted_residuals_with_gates)
{
    check_net("mobile");
}

EGT(lstm)
{
    check_net("lstm");
}

EGT(lstm_of_the_newer_exporter)
{
    check_net("lstm_new");
}

EGT(gru)
{
    check_net("gru");
}

EGT(transformer_encoder)
{
    check_net("encoder");
}

EGT(perceptron)
{
    check_net("perceptron");
}

/* The same numbers, and nothing learns. */
EGT(frozen)
{
    eg_module *m = eg_onnx_load("tests/golden/onnx/lstm.onnx", .frozen = true);
    eg_tensors *golden = eg_tensors_open("tests/golden/onnx/lstm.safetensors");
    EGT_CHECK(m && !eg_module_parameters(m).count);
    eg_tensor *y = eg_module_forward(m, eg_tensors_get(golden, "x"));
    EGT_CHECK(egt_distance(y, eg_tensors_get(golden, "y")) < 1e-5);
    eg_tensors_free(golden);
    EGT_OK(eg_module_free(m));
}
