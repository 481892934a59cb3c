/* tfrecord.c - any bytes as a TFRecord file: records no larger than the file, or a refusal in
 * words. The second byte-flip that a checksum would catch passes without checksums. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

static void walk(eg_dataset *d, size_t most)
{
    size_t bytes = 0;
    fuzz_expect(d != NULL);
    EG_FOR_EACH(sample, d) {
        bytes += (size_t)eg_numel(sample[0]);
    }
    if (bytes > most || eg_dataset_status(d) != EG_OK) {
        abort();
    }
    eg_dataset_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    eg_clear_error();
    walk(eg_dataset_tolerate(eg_tfrecord_new(path)), 1100 * size);
    walk(eg_dataset_tolerate(eg_tfrecord_new(path, .no_crc = true, .compression = EG_COMPRESSION_NONE)), size);
    return 0;
}
