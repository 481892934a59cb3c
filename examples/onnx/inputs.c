/* inputs.c - a model, and tensors for it: from files, or random ones of the shapes that it says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

eg_module *onnx_open(const char *path, const onnx_options *o)
{
    eg_module *m = eg_onnx_load(path, .frozen = o->frozen);
    if (m && eg_module_eval(m)) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}

const char *onnx_type(const eg_onnx_value *v, char *to)
{
    const int n = sprintf(to, "%s ", eg_dtype_name(v->dtype));
    if (v->ranked) {
        tool_shape(v->shape, to + n);
    } else {
        strcpy(to + n, "of any shape");
    }
    return to;
}

/* ---- files -------------------------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), k = strlen(ending);
    return n >= k && !strcmp(path + n - k, ending);
}

/* The tensor of that name in the file, or its only one. */
static eg_tensor *read_file(const char *path, const char *name)
{
    eg_tensors *map = eg_tensors_open(path, .format = ends_with(path, ".pb") ? "onnx-tensor" : NULL);
    eg_tensor *t = NULL;
    if (map && eg_tensors_has(map, name)) {
        t = eg_tensors_get(map, name);
    } else if (map && eg_tensors_count(map) == 1) {
        t = eg_tensors_at(map, 0);
    } else if (map) {
        eg_failf(EG_EINDEX, "egret-onnx", "%s has %lld tensors, and none is \"%s\"", path,
                 (long long)eg_tensors_count(map), name);
    }
    t = t ? eg_copy(t) : NULL;
    eg_tensors_free(map);
    return t;
}

/* The file given for an input, to be freed; NULL: none is, unless *st says that it failed. */
static char *file_of(const char *name, const onnx_options *o, eg_status *st)
{
    const size_t k = strlen(name);
    for (const char *p = o->input; p && *p; p += strcspn(p, ","), p += *p == ',') {
        const size_t n = strcspn(p, ",");
        if (n > k + 1 && !memcmp(p, name, k) && p[k] == '=') {
            char *path = malloc(n - k);
            if (!path) {
                *st = eg_fail(EG_ENOMEM, "egret-onnx", "no memory for a name");
                return NULL;
            }
            memcpy(path, p + k + 1, n - k - 1);
            path[n - k - 1] = '\0';
            return path;
        }
    }
    return NULL;
}

/* Whether each --input names an input. */
static eg_status check_names(eg_module *m, const onnx_options *o)
{
    for (const char *p = o->input; p && *p; p += strcspn(p, ","), p += *p == ',') {
        const size_t k = strcspn(p, "=,");
        bool found = false;
        for (int i = 0; i < eg_onnx_inputs(m); i++) {
            const char *name = eg_onnx_input_at(m, i).name;
            found = found || (strlen(name) == k && !memcmp(name, p, k));
        }
        if (!found || p[k] != '=') {
            return eg_failf(EG_EINVAL, "egret-onnx", "--input wants NAME=FILE with the name of an input, not %.*s",
                            (int)strcspn(p, ","), p);
        }
    }
    return EG_OK;
}

/* ---- inputs ------------------------------------------------------------------------------------------- */

/* Normal numbers; integers are 0 or 1, which most tables have a row for. */
static eg_tensor *draw(const eg_onnx_value *v, const onnx_options *o)
{
    eg_shape shape = v->shape;
    for (int i = 0; i < shape.ndim; i++) {
        shape.dim[i] = shape.dim[i] < 0 ? o->dim : shape.dim[i];
    }
    return v->dtype <= EG_BF16 ? eg_cast(eg_normal(shape, 0, 1, EG_F32), v->dtype)
                               : eg_cast(eg_bernoulli(shape, 0.5, EG_F32), v->dtype);
}

/* NULL without a failure: it keeps the value that it has. */
static eg_tensor *one(const eg_onnx_value *v, const onnx_options *o, eg_status *st)
{
    char *path = file_of(v->name, o, st);
    if (*st || (v->optional && !path)) {
        return NULL;
    }
    eg_tensor *t = path ? read_file(path, v->name) : draw(v, o);
    free(path);
    t = t && eg_dtype_of(t) != v->dtype ? eg_cast(t, v->dtype) : t;
    *st = t ? EG_OK : eg_last_error()->code;
    return t;
}

eg_tensor **onnx_inputs(eg_module *m, const onnx_options *o, int *n)
{
    *n = eg_onnx_inputs(m);
    eg_status st = check_names(m, o);
    eg_tensor **in = st ? NULL : calloc((size_t)*n + 1, sizeof *in);
    if (!st && !in) {
        eg_fail(EG_ENOMEM, "egret-onnx", "no memory for the inputs");
    }
    eg_seed((uint64_t)o->seed);
    for (int i = 0; in && i < *n && !st; i++) {
        const eg_onnx_value v = eg_onnx_input_at(m, i);
        in[i] = one(&v, o, &st);
    }
    if (st) {
        free(in);
        return NULL;
    }
    return in;
}
