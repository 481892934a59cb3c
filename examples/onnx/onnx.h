/* onnx.h - what egret-onnx does with models. */
#ifndef EXAMPLES_ONNX_H
#define EXAMPLES_ONNX_H

#include <egret/egret.h>
#include <egret/onnx.h>

#include "../common/tools.h"

typedef struct onnx_options {
    const char *input;   /* name=FILE, between commas */
    const char *out;     /* a folder for outputs; NULL: they are printed */
    const char *net;     /* of the zoo, to be written as a model */
    const char *weights; /* of that net */
    const char *to;      /* format of weights; NULL: by the ending */
    int64_t dim;         /* sizes that a model leaves open */
    int64_t seed, runs, warm, classes, side, threads;
    bool frozen, any_batch, beside;
} onnx_options;

/* The file's module, as one that serves; the caller frees it. */
eg_module *onnx_open(const char *path, const onnx_options *o);
/* The inputs it needs, of the scope, and how many; NULL: failed. The caller frees the list. */
eg_tensor **onnx_inputs(eg_module *m, const onnx_options *o, int *n);
/* "f32 [?, 3, 224, 224]", with ? for sizes that are open, into 200 bytes. */
const char *onnx_type(const eg_onnx_value *v, char *to);

eg_status onnx_check(char *const *paths, const void *options);
eg_status onnx_summary(char *const *paths, const void *options);
eg_status onnx_run(char *const *paths, const void *options);
eg_status onnx_benchmark(char *const *paths, const void *options);
eg_status onnx_convert(char *const *paths, const void *options);

#endif
