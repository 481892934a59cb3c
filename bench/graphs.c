/* graphs.c - nets written as ONNX models, read again, and run: compare.py graphs. */
#include "bench.h"

#include <egret/egret.h>
#include <egret/models.h>
#include <egret/onnx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 1000 };

static eg_module *lstm(void)
{
    return eg_lstm_new(256, 512);
}

static eg_module *transformer(void)
{
    eg_module *layers[6];
    for (int i = 0; i < 6; i++) {
        layers[i] = eg_transformer_encoder_layer_new(512, 8, 2048);
    }
    return eg_sequential_new_with(layers, 6);
}

/* From 100 numbers to pixels (Radford et al. 2016). */
static eg_module *generator(void)
{
    return eg_sequential_new(
        eg_conv_transpose2d_new(100, 512, .kernel = 4, .no_bias = true), eg_batch_norm_new(512),
        eg_activation_new(eg_relu), eg_conv_transpose2d_new(512, 256, .kernel = 4, .stride = 2, .padding = 1),
        eg_batch_norm_new(256), eg_activation_new(eg_relu),
        eg_conv_transpose2d_new(256, 128, .kernel = 4, .stride = 2, .padding = 1), eg_batch_norm_new(128),
        eg_activation_new(eg_relu), eg_conv_transpose2d_new(128, 64, .kernel = 4, .stride = 2, .padding = 1),
        eg_batch_norm_new(64), eg_activation_new(eg_relu),
        eg_conv_transpose2d_new(64, 3, .kernel = 4, .stride = 2, .padding = 1), eg_activation_new(eg_tanh));
}

static const struct other {
    const char *name;
    eg_module *(*make)(void);
    eg_shape shape;
} others[] = {
    {"lstm", lstm, {3, {50, 8, 256}}},
    {"transformer", transformer, {3, {1, 128, 512}}},
    {"generator", generator, {4, {16, 100, 1, 1}}},
};

/* A net and the shape of what it takes: one of those above, or of the zoo with its own images. */
static eg_module *make(const char *name, eg_shape *shape)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!strcmp(others[i].name, name)) {
            *shape = others[i].shape;
            return others[i].make();
        }
    }
    const eg_model_info info = eg_model_find(name);
    *shape = EG_SHAPE(1, info.channels, info.side, info.side);
    return info.name ? eg_model_new(name) : NULL;
}

/* Weights that begin as 0 would hide what comes before them. */
static eg_status no_zeros(eg_module *m)
{
    const eg_parameters all = eg_module_parameters(m);
    eg_status st = all.tensors ? EG_OK : eg_last_error()->code;
    for (int i = 0; i < all.count && !st; i++) {
        eg_tensor *t = all.tensors[i], *drawn = eg_normal(eg_shape_of(t), 0, 0.02, EG_F32);
        float *p = eg_count_nonzero(t) && eg_item_int(eg_count_nonzero(t)) == 0 ? eg_data_mut(t) : NULL;
        st = drawn ? EG_OK : eg_last_error()->code;
        for (int64_t k = 0; p && !st && k < eg_numel(t); k++) {
            p[k] = (float)eg_get(drawn, k);
        }
    }
    return st;
}

/* FOLDER/NAME.onnx, and an input and what comes of it beside. */
static eg_status write_net(const char *folder, const char *name)
{
    char path[600];
    eg_shape shape;
    eg_seed(1);
    eg_module *m = make(name, &shape);
    eg_tensor *x = m ? eg_normal(shape, 0, 1, EG_F32) : NULL;
    eg_status st = m ? eg_module_eval(m) : eg_last_error()->code;
    st = st ? st : no_zeros(m);
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    st = st ? st : eg_onnx_save(m, x, path);
    snprintf(path, sizeof path, "%s/%s.x.npy", folder, name);
    st = st ? st : eg_npy_save(x, path);
    snprintf(path, sizeof path, "%s/%s.y.npy", folder, name);
    eg_tensor *y = st ? NULL : eg_module_forward(m, x);
    st = st ? st : y ? eg_npy_save(y, path) : eg_last_error()->code;
    eg_module_free(m);
    return st;
}

/* Forwards for about `budget` microseconds, at least one. */
static eg_status measure(eg_module *m, eg_tensor *x, double budget)
{
    static double times[TIMES];
    const double start = bench_now();
    int n = 0;
    do {
        const double from = bench_now();
        eg_scope s = eg_scope_push();
        eg_tensor *y = eg_module_forward(m, x);
        eg_scope_pop(s, NULL);
        times[n++] = bench_now() - from;
        if (!y) {
            return eg_last_error()->code;
        }
    } while (n < TIMES && bench_now() - start < budget * 1e-6);
    bench_sort(times, n);
    printf("{\"median_ms\": %.4f, \"calls\": %d}\n", 1e3 * times[n / 2], n);
    return EG_OK;
}

/* How far what the model gives is from what the net gave, beside its largest number; 1e30 after a failure. */
static double apart(eg_module *m, eg_tensor *x, const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s.y.npy", folder, name);
    eg_scope s = eg_scope_push();
    eg_tensor *wanted = eg_npy_load(path), *y = eg_module_forward(m, x);
    eg_tensor *off = wanted && y ? eg_div(eg_max(eg_abs(eg_sub(y, wanted))), eg_max(eg_abs(wanted))) : NULL;
    const double result = off ? eg_item(off) : 1e30;
    eg_scope_pop(s, NULL);
    return result;
}

int bench_graph(const char *folder, const char *name)
{
    char path[600], line[256];
    double budget;
    eg_scope s = eg_scope_push();
    eg_status st = write_net(folder, name);
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    eg_module *m = st ? NULL : eg_onnx_load(path, .frozen = true);
    snprintf(path, sizeof path, "%s/%s.x.npy", folder, name);
    eg_tensor *x = m ? eg_npy_load(path) : NULL;
    st = x ? eg_module_eval(m) : eg_last_error()->code;
    while (!st && fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "run %lf", &budget) == 1) {
            st = measure(m, x, budget);
        } else {
            printf("{\"library\": \"Egret %s\", \"apart\": %g}\n", eg_version(), apart(m, x, folder, name));
        }
        fflush(stdout);
    }
    eg_module_free(m);
    eg_scope_pop(s, NULL);
    return st ? eg_error_print(stderr) : 0;
}
