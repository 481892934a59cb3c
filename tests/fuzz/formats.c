/* formats.c - any bytes as a file of named tensors of whatever format they show: all tensors are read or refused in
 * words, and those of a map that is whole come back from safetensors. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

/* In memory where there is such a folder. */
static const char *saved(void)
{
    static char path[80];
    if (!*path) {
        snprintf(path, sizeof path, "%s/egret-fuzz-formats-%ld", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
                 (long)getpid());
    }
    return path;
}

static void compare(const eg_tensors *a, const eg_tensors *b)
{
    for (int64_t i = 0; i < eg_tensors_count(a); i++) {
        const eg_tensor *x = eg_tensors_at(a, i), *y = eg_tensors_get(b, eg_tensors_name(a, i));
        const size_t bytes = (size_t)eg_numel(x) * eg_dtype_size(eg_dtype_of(x));
        if (!y || eg_numel(y) != eg_numel(x) || eg_dtype_of(y) != eg_dtype_of(x) ||
            (bytes && memcmp(eg_data((eg_tensor *)x), eg_data((eg_tensor *)y), bytes))) {
            abort();
        }
    }
    if (eg_tensors_text_count(a) != eg_tensors_text_count(b)) {
        abort();
    }
}

/* Names and texts may not be UTF-8; then it refuses. */
static void save_and_load(const eg_tensors *m)
{
    const char *path = saved();
    eg_clear_error();
    eg_status st = eg_tensors_save(m, path, .format = "safetensors");
    fuzz_expect(st == EG_OK);
    if (!st) {
        eg_tensors *back = eg_tensors_open(path, .format = "safetensors");
        compare(m, back);
        eg_tensors_free(back);
        unlink(path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned count;
    eg_clear_error();
    eg_tensors *m = eg_tensors_parse(data, size, .copy = size % 2);
    fuzz_expect(m != NULL);
    bool all = m != NULL;
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        eg_clear_error();
        const eg_tensor *t = eg_tensors_at(m, i);
        fuzz_expect(t != NULL);
        all = all && t;
    }
    if (all && count++ % 16 == 0) { /* files take longer than all else */
        save_and_load(m);
    }
    eg_tensors_free(m);
    return 0;
}
