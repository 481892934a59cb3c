/* look.c - lists, numbers, checksums and differences. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "weights.h"

eg_status weights_list(char *const *paths, const void *options)
{
    const weights_options *o = options;
    eg_tensors *file = weights_open(paths[0], o);
    int64_t bytes = 0, numbers = 0, count = 0;
    int width = 4;
    char shape[200];
    for (int64_t i = 0; i < eg_tensors_count(file); i++) {
        const int n = (int)strlen(eg_tensors_name(file, i));
        width = n > width && n < 80 ? n : width;
    }
    for (int64_t i = 0; i < eg_tensors_count(file); i++) {
        const eg_tensor_about t = eg_tensors_about(file, i);
        const char *name = eg_tensors_name(file, i);
        int64_t n = 1;
        if (!weights_wanted(name, o)) {
            continue;
        }
        for (int d = 0; d < t.shape.ndim; d++) {
            n *= t.shape.dim[d];
        }
        printf("%-*s  %-8s %-22s %12" PRId64 "\n", width, name, t.stored, tool_shape(t.shape, shape), t.bytes);
        bytes += t.bytes;
        numbers += n;
        count++;
    }
    for (int64_t i = 0; i < eg_tensors_text_count(file) && !o->only; i++) {
        const char *key = eg_tensors_text_key(file, i), *text = eg_tensors_text(file, key);
        const size_t n = strcspn(text, "\n");
        printf("text %s: %.*s%s\n", key, n < 100 ? (int)n : 100, text, text[n < 100 ? n : 100] ? " ..." : "");
    }
    if (file) {
        const char *format = eg_tensors_format(file);
        printf("%" PRId64 " tensors of %" PRId64 " numbers, %" PRId64 " bytes%s%s\n", count, numbers, bytes,
               format ? ", " : "", format ? format : "");
    }
    eg_tensors_free(file);
    return file ? EG_OK : eg_last_error()->code;
}

eg_status weights_show(char *const *paths, const void *options)
{
    const weights_options *o = options;
    eg_tensors *file = weights_open(paths[0], o);
    eg_status st = file ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < eg_tensors_count(file) && !st; i++) {
        const char *name = eg_tensors_name(file, i);
        eg_tensor *t = weights_wanted(name, o) ? eg_tensors_at(file, i) : NULL;
        if (t) {
            printf("%s\n", name);
            st = eg_print(t);
        } else if (weights_wanted(name, o)) {
            st = eg_last_error()->code;
        }
    }
    eg_tensors_free(file);
    return st;
}

/* Of the elements as they lie row-major in memory. */
static eg_status sum_of(const eg_tensor *t, int64_t *sum)
{
    eg_scope s = eg_scope_push();
    eg_tensor *dense = s.depth ? eg_contiguous((eg_tensor *)t) : NULL;
    if (dense) {
        *sum = eg_crc32c(0, eg_numel(dense) ? eg_data(dense) : "",
                         (size_t)eg_numel(dense) * eg_dtype_size(eg_dtype_of(dense)));
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return dense ? EG_OK : eg_last_error()->code;
}

eg_status weights_sum(char *const *paths, const void *options)
{
    const weights_options *o = options;
    eg_tensors *file = weights_open(paths[0], o);
    eg_status st = file ? EG_OK : eg_last_error()->code;
    int64_t all = 0;
    for (int64_t i = 0; i < eg_tensors_count(file) && !st; i++) {
        const char *name = eg_tensors_name(file, i);
        int64_t sum = 0;
        eg_tensor *t = weights_wanted(name, o) ? eg_tensors_at(file, i) : NULL;
        if (!weights_wanted(name, o)) {
            continue;
        }
        st = t ? sum_of(t, &sum) : eg_last_error()->code;
        if (!st) {
            printf("%08" PRIx64 "  %s\n", sum, name);
            all = eg_crc32c(all, &sum, sizeof sum);
        }
    }
    if (!st) {
        printf("%08" PRIx64 "  all\n", all);
    }
    eg_tensors_free(file);
    return st;
}

/* ---- differences --------------------------------------------------------------------------------------- */

static bool same_shape(const eg_tensor *a, const eg_tensor *b)
{
    const eg_shape s = eg_shape_of(a), t = eg_shape_of(b);
    return s.ndim == t.ndim && !memcmp(s.dim, t.dim, (size_t)s.ndim * sizeof *s.dim);
}

/* The largest difference, and the largest number of the first; in f64. */
static eg_status compare(eg_tensor *a, eg_tensor *b, double *most, double *largest)
{
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg_last_error()->code;
    *most = *largest = 0;
    if (!st && eg_numel(a)) {
        eg_tensor *x = eg_cast(a, EG_F64), *off = eg_abs(eg_sub(x, eg_cast(b, EG_F64)));
        eg_tensor *size = eg_max(eg_abs(x)), *max = eg_max(off);
        st = max && size ? EG_OK : eg_last_error()->code;
        *most = st ? 0 : eg_item(max);
        *largest = st ? 0 : eg_item(size);
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

/* What is to say of one name; true if there is something. */
static bool differs(const char *name, const eg_tensors *a, const eg_tensors *b, const weights_options *o, eg_status *st)
{
    char left[200], right[160];
    double most, largest;
    if (!eg_tensors_has(b, name)) {
        printf("- %s\n", name);
        return true;
    }
    eg_tensor *x = eg_tensors_get(a, name), *y = eg_tensors_get(b, name);
    if (!x || !y) {
        *st = eg_last_error()->code;
        return true;
    }
    if (!same_shape(x, y)) {
        printf("! %s: %s, %s\n", name, tool_shape(eg_shape_of(x), left), tool_shape(eg_shape_of(y), right));
        return true;
    }
    *st = compare(x, y, &most, &largest);
    if (!*st && !(most <= o->tolerance * largest)) {
        printf("! %s: up to %.3g apart, numbers are up to %.3g\n", name, most, largest);
        return true;
    }
    return *st != EG_OK;
}

eg_status weights_diff(char *const *paths, const void *options)
{
    const weights_options *o = options;
    eg_tensors *a = weights_open(paths[0], o), *b = a ? weights_open(paths[1], o) : NULL;
    eg_status st = b ? EG_OK : eg_last_error()->code;
    int64_t different = 0, same = 0;
    for (int64_t i = 0; i < eg_tensors_count(a) && !st; i++) {
        const char *name = eg_tensors_name(a, i);
        if (weights_wanted(name, o)) {
            const bool d = differs(name, a, b, o, &st);
            different += d;
            same += !d;
        }
    }
    for (int64_t i = 0; i < eg_tensors_count(b) && !st; i++) {
        const char *name = eg_tensors_name(b, i);
        if (weights_wanted(name, o) && !eg_tensors_has(a, name)) {
            printf("+ %s\n", name);
            different++;
        }
    }
    if (!st) {
        printf("%" PRId64 " tensors are the same, %" PRId64 " are not\n", same, different);
    }
    eg_tensors_free(a);
    eg_tensors_free(b);
    return st ? st : different ? EG_EUSER : EG_OK;
}
