/* hdf5.c - any bytes as an HDF5 file, or as an archive of Keras with one inside. */
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

enum { LIMIT = 1 << 16 };

static void read_all(const uint8_t *data, size_t size, const char *format)
{
    eg_clear_error();
    eg_tensors *m = eg_tensors_parse(data, size, .format = format);
    const eg_status code = eg_last_error()->code;
    if (!m && code != EG_EFORMAT && code != EG_ENOKERNEL) {
        abort();
    }
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        eg_clear_error();
        const eg_tensor_about about = eg_tensors_about(m, i);
        const eg_tensor *t = eg_tensors_at(m, i);
        fuzz_expect(t != NULL);
        if (about.bytes > LIMIT && about.bytes > (int64_t)size) {
            abort();
        }
        if (t && eg_dtype_of(t) != about.dtype) {
            abort();
        }
    }
    size_t texts = 0;
    for (int64_t i = 0; i < eg_tensors_text_count(m); i++) {
        texts += strlen(eg_tensors_text(m, eg_tensors_text_key(m, i)));
    }
    if (texts > size + LIMIT) {
        abort();
    }
    eg_tensors_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_unpack_limit(LIMIT);
    read_all(data, size, size && *data == 'P' ? "keras" : "hdf5");
    return 0;
}
