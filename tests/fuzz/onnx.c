/* onnx.c - any bytes as an ONNX model: a module, or a refusal in words; and a model runs once on small inputs of
 * zeros. Those with loops do not run: ONNX lets them go round as often as they like.
 * The corpus: for each operator the smallest model of ONNX's own tests of it, those in Debian's libonnx-testdata; of
 * newer ones those that tests/golden/onnx_cases.py writes. */
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>
#include <egret/onnx.h>

#include "tests/fuzz/fuzz.h"

enum { MOST_IN = 8, MOST_NODES = 200 };

static bool small(eg_module *m)
{
    const int n = eg_onnx_nodes(m);
    bool runs = n <= MOST_NODES && eg_onnx_inputs(m) <= MOST_IN;
    for (int i = 0; i < n && runs; i++) {
        const eg_onnx_node node = eg_onnx_node_at(m, i);
        runs = !*node.domain && strcmp(node.op, "Loop") && strcmp(node.op, "Scan") && strcmp(node.op, "If");
    }
    return runs;
}

/* Zeros of the shape that the model says, with sizes up to 4, and open ones 1. */
static eg_tensor *zeros(const eg_onnx_value *v)
{
    eg_shape shape = v->shape;
    for (int i = 0; i < shape.ndim; i++) {
        shape.dim[i] = shape.dim[i] < 0 ? 1 : shape.dim[i] > 4 ? 4 : shape.dim[i];
    }
    return eg_zeros(shape, v->dtype);
}

static void run(eg_module *m)
{
    eg_tensor *in[MOST_IN];
    const int nin = eg_onnx_inputs(m), nout = eg_onnx_outputs(m);
    eg_tensor **out = calloc((size_t)nout + 1, sizeof *out);
    if (!out) {
        abort();
    }
    for (int i = 0; i < nin; i++) {
        const eg_onnx_value v = eg_onnx_input_at(m, i);
        in[i] = zeros(&v);
        fuzz_expect(in[i] != NULL);
    }
    eg_clear_error();
    const eg_status st = eg_onnx_forward(m, in, nin, out);
    fuzz_expect(st == EG_OK);
    for (int i = 0; i < nout; i++) {
        if ((st == EG_OK) != (out[i] != NULL)) {
            abort();
        }
    }
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    eg_memory_limit(64 << 20);
    eg_clear_error();
    eg_scope s = eg_scope_push();
    eg_module *m = eg_onnx_load(path);
    fuzz_expect(m != NULL);
    if (m && small(m)) {
        run(m);
    }
    eg_scope_pop(s, NULL);
    eg_module_free(m);
    return 0;
}
