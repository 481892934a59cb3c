/* serve.c - a model runs: once, for what it gives, or often, for the time it takes. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "onnx.h"

/* ---- run ---------------------------------------------------------------------------------------------- */

/* The output's name, as a file's. */
static eg_status save(const char *folder, const char *name, const eg_tensor *t)
{
    const size_t n = strlen(folder), k = strlen(name);
    char *path = malloc(n + k + 6);
    if (!path) {
        return eg_fail(EG_ENOMEM, "egret-onnx", "no memory for a name");
    }
    sprintf(path, "%s/%s.npy", folder, name);
    for (char *p = path + n + 1; *p; p++) {
        *p = *p == '/' || *p == '\\' || *p == ':' ? '_' : *p;
    }
    eg_status st = eg_npy_save(t, path);
    if (!st) {
        printf("%s\n", path);
    }
    free(path);
    return st;
}

static eg_status tell(const char *name, eg_tensor *t, const onnx_options *o)
{
    char shape[200];
    if (o->out) {
        return save(o->out, name, t);
    }
    printf("%s: %s %s\n", name, eg_dtype_name(eg_dtype_of(t)), tool_shape(eg_shape_of(t), shape));
    return eg_print(t);
}

/* What a command does with a model and its inputs; `out` has room for the outputs. */
typedef eg_status (*work)(eg_module *m, eg_tensor *const *in, int n, eg_tensor **out, const onnx_options *o);

static eg_status run_once(eg_module *m, eg_tensor *const *in, int n, eg_tensor **out, const onnx_options *o)
{
    eg_status st = eg_onnx_forward(m, in, n, out);
    if (!st && o->out && mkdir(o->out, 0777) && errno != EEXIST) {
        st = eg_failf(EG_EIO, "egret-onnx", "cannot make %s: %s", o->out, strerror(errno));
    }
    for (int i = 0; i < eg_onnx_outputs(m) && !st; i++) {
        st = tell(eg_onnx_output_at(m, i).name, out[i], o);
    }
    return st;
}

static eg_status with_inputs(const char *path, const onnx_options *o, work f)
{
    eg_module *m = onnx_open(path, o);
    eg_scope s = m ? eg_scope_push() : (eg_scope){0};
    int n = 0;
    eg_tensor **in = s.depth ? onnx_inputs(m, o, &n) : NULL;
    eg_status st = in ? EG_OK : eg_last_error()->code;
    eg_tensor **out = in ? calloc((size_t)eg_onnx_outputs(m) + 1, sizeof *out) : NULL;
    if (in) {
        st = out ? f(m, in, n, out, o) : eg_fail(EG_ENOMEM, "egret-onnx", "no memory for the outputs");
    }
    free(out);
    free(in);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    eg_module_free(m);
    return st;
}

eg_status onnx_run(char *const *paths, const void *options)
{
    const onnx_options *o = options;
    return with_inputs(paths[0], o, run_once);
}

/* ---- benchmark ---------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static eg_status time_runs(eg_module *m, eg_tensor *const *in, int n, eg_tensor **out, const onnx_options *o)
{
    double *took = calloc((size_t)o->runs, sizeof *took);
    eg_status st = took ? EG_OK : eg_fail(EG_ENOMEM, "egret-onnx", "no memory for times");
    for (int64_t i = -o->warm; i < o->runs && !st; i++) {
        eg_scope s = eg_scope_push();
        const double began = now();
        st = s.depth ? eg_onnx_forward(m, in, n, out) : eg_last_error()->code;
        if (i >= 0) {
            took[i] = now() - began;
        }
        if (s.depth) {
            eg_scope_pop(s, NULL);
        }
    }
    if (!st) {
        qsort(took, (size_t)o->runs, sizeof *took, compare);
        printf("%.3f ms, the median of %lld runs (%.3f to %.3f) by %d threads\n", took[o->runs / 2], (long long)o->runs,
               took[0], took[o->runs - 1], eg_threads());
    }
    free(took);
    return st;
}

eg_status onnx_benchmark(char *const *paths, const void *options)
{
    const onnx_options *o = options;
    return with_inputs(paths[0], o, time_runs);
}
