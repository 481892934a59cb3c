/* idx.c - any bytes as an idx file, and as CIFAR records. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    eg_clear_error();
    EG_SCOPE {
        eg_tensor *t = eg_idx_read(path);
        fuzz_expect(t != NULL);
        if (t && (size_t)eg_numel(t) > 1100 * size + 1) {
            abort();
        }
    }
    eg_clear_error();
    eg_dataset *d = eg_cifar10_new(path);
    fuzz_expect(d != NULL);
    if (d && (size_t)eg_dataset_count(d) * 3073 != size) {
        abort();
    }
    eg_dataset_free(d);
    return 0;
}
