/* gguf.c - any bytes as a GGUF file: a map whose tensors can be read, or a refusal in words. */
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_clear_error();
    eg_tensors *m = eg_tensors_parse(data, size, .format = "gguf");
    if (!m && eg_last_error()->code != EG_EFORMAT) {
        abort();
    }
    size_t bytes = 0, letters = 0;
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        const eg_tensor_about about = eg_tensors_about(m, i);
        const eg_tensor *t = eg_tensors_at(m, i);
        if (!t || eg_dtype_of(t) != about.dtype || eg_numel(t) < 0 || about.bytes > (int64_t)size) {
            abort();
        }
        bytes += (size_t)eg_numel(t) * eg_dtype_size(eg_dtype_of(t));
    }
    for (int64_t i = 0; i < eg_tensors_text_count(m); i++) {
        letters += strlen(eg_tensors_text(m, eg_tensors_text_key(m, i)));
    }
    if (bytes > 29 * size || letters > 7 * size) { /* a bit becomes f32; a byte "false" and a newline */
        abort();
    }
    eg_tensors_free(m);
    return 0;
}
