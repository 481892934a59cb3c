/* pickle.c - any bytes as a file of PyTorch's, of both forms. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_clear_error();
    eg_unpack_limit(1 << 20);
    eg_tensors *m = eg_tensors_parse(data, size, .format = "pt");
    if (!m && eg_last_error()->code != EG_EFORMAT && eg_last_error()->code != EG_ENOKERNEL) {
        abort();
    }
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        const eg_tensor *t = eg_tensors_at(m, i);
        if (!t && eg_last_error()->code != EG_EFORMAT && eg_last_error()->code != EG_ENOKERNEL) {
            abort();
        }
        if (t && (size_t)eg_numel(t) > size + (1 << 20)) {
            abort();
        }
        eg_scope s = eg_scope_push();
        eg_tensor *sum = t ? eg_sum(eg_cast((eg_tensor *)t, EG_F32)) : NULL;
        if (t && !sum) {
            abort();
        }
        eg_scope_pop(s, NULL);
    }
    eg_tensors_free(m);
    return 0;
}
