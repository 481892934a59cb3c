/* npy.c - any bytes as an npy file: a tensor, or a refusal in words. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_clear_error();
    EG_SCOPE {
        eg_tensor *t = eg_npy_parse(data, size);
        if (!t && eg_last_error()->code == EG_OK) {
            abort();
        }
        if (t && (size_t)eg_numel(t) * eg_dtype_size(eg_dtype_of(t)) > size) {
            abort();
        }
    }
    return 0;
}
