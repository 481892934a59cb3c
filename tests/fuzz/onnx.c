/* onnx.c - any bytes as an ONNX model: a module, or a refusal in words. A model that is read runs once on small inputs,
 * of zeros or small numbers as its bytes have it: plain with the gradients of its parameters and inputs, and frozen.
 * Subgraphs run too. A loop may go round as often as it likes, so models with one run in a process of their own that
 * ends after 20 milliseconds.
 * The corpus: for each operator the smallest model of ONNX's own tests of it, those in Debian's libonnx-testdata; of
 * newer ones those that tests/golden/onnx_cases.py writes; and whole models with subgraphs, functions and weights
 * that tests/golden/onnx_models.py writes. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <egret/egret.h>
#include <egret/onnx.h>

#include "tests/fuzz/fuzz.h"

enum { MOST_IN = 8, MOST_NODES = 200, MOST_LEARN = 64 };

static bool small(eg_module *m)
{
    return eg_onnx_nodes(m) <= MOST_NODES && eg_onnx_inputs(m) <= MOST_IN;
}

/* Of the shape that the model says, with sizes up to 4, and open ones 1. */
static eg_tensor *input_for(const eg_onnx_value *v, bool zeros)
{
    eg_shape shape = v->shape;
    for (int i = 0; i < shape.ndim; i++) {
        shape.dim[i] = shape.dim[i] < 0 ? 1 : shape.dim[i] > 4 ? 4 : shape.dim[i];
    }
    if (zeros) {
        return eg_zeros(shape, v->dtype);
    }
    return v->dtype < EG_I64 ? eg_uniform(shape, -1, 1, v->dtype) : eg_cast(eg_uniform(shape, 0, 3, EG_F32), v->dtype);
}

/* The sum of all results of floats; NULL: there are none. */
static eg_tensor *sum_of(eg_tensor *const *out, int n)
{
    eg_tensor *sum = NULL;
    for (int i = 0; i < n; i++) {
        if (eg_dtype_of(out[i]) < EG_I64) {
            eg_tensor *one = eg_sum(eg_cast(out[i], EG_F64));
            sum = sum ? eg_add(sum, one) : one;
        }
    }
    return sum;
}

static void differentiate(eg_tape tape, eg_module *m, eg_tensor *const *in, int nin, eg_tensor *y)
{
    const eg_parameters p = eg_module_parameters(m);
    eg_tensor *learn[MOST_LEARN], *gradients[MOST_LEARN] = {NULL};
    int n = 0;
    for (int i = 0; i < p.count && n < MOST_LEARN; i++) {
        learn[n++] = p.tensors[i];
    }
    for (int i = 0; i < nin && n < MOST_LEARN; i++) {
        if (eg_dtype_of(in[i]) < EG_I64) {
            learn[n++] = in[i];
        }
    }
    if (n) {
        fuzz_expect(!eg_tape_gradients(tape, y, learn, n, gradients));
    }
}

static void run(eg_module *m, bool zeros, bool learns)
{
    eg_tensor *in[MOST_IN];
    const int nin = eg_onnx_inputs(m), nout = eg_onnx_outputs(m);
    eg_tensor **out = calloc((size_t)nout + 1, sizeof *out);
    if (!out) {
        abort();
    }
    for (int i = 0; i < nin; i++) {
        const eg_onnx_value v = eg_onnx_input_at(m, i);
        in[i] = input_for(&v, zeros);
        fuzz_expect(in[i] != NULL);
    }
    eg_clear_error();
    const eg_tape tape = learns ? eg_tape_open() : (eg_tape){0};
    for (int i = 0; i < nin && learns; i++) {
        if (in[i] && eg_dtype_of(in[i]) < EG_I64) {
            fuzz_expect(!eg_tape_watch(tape, in[i]));
        }
    }
    const eg_status st = eg_onnx_forward(m, in, nin, out);
    fuzz_expect(st == EG_OK);
    for (int i = 0; i < nout; i++) {
        if ((st == EG_OK) != (out[i] != NULL)) {
            abort();
        }
    }
    eg_tensor *y = st || !learns ? NULL : sum_of(out, nout);
    if (y) {
        differentiate(tape, m, in, nin, y);
    }
    if (learns) {
        eg_tape_close(tape);
    }
    free(out);
}

static void load_and_run(const char *path, bool zeros, bool frozen)
{
    eg_memory_limit(64 << 20);
    eg_clear_error();
    eg_scope s = eg_scope_push();
    eg_module *m = eg_onnx_load(path, .frozen = frozen);
    fuzz_expect(m != NULL);
    if (m && small(m)) {
        run(m, zeros, !frozen);
    }
    eg_scope_pop(s, NULL);
    eg_module_free(m);
}

static void load_and_run_both(const char *path, bool zeros)
{
    load_and_run(path, zeros, false);
    load_and_run(path, zeros, true);
}

/* In a process of its own; one that takes too long is no fault. */
static void run_apart(const char *path, bool zeros)
{
    int status = 0;
    const pid_t child = fork();
    if (!child) {
        signal(SIGALRM, SIG_DFL);
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 20000}}, NULL);
        load_and_run_both(path, zeros);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        abort();
    }
    const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    if (!late && (!WIFEXITED(status) || WEXITSTATUS(status))) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    const bool zeros = !size || data[size / 2] % 2;
    if (size && memmem(data, size, "Loop", 4)) {
        run_apart(path, zeros);
    } else {
        load_and_run_both(path, zeros);
    }
    return 0;
}
