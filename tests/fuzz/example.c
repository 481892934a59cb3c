/* example.c - any bytes as an Example and a SequenceExample. */
#include <stdlib.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const eg_feature features[] = {{"text", EG_U8, {0}, true, true, 0},
                                          {"real", EG_F32, {0}, true, true, 0},
                                          {"whole", EG_I32, {1, {2}}, true, true, 0}};
    eg_tensor *t[6];
    eg_clear_error();
    EG_SCOPE {
        eg_tensor *record = eg_from(EG_SHAPE((int64_t)size), EG_U8, size ? data : (const uint8_t *)"");
        for (int i = 0; i < 3; i++) {
            eg_status st = eg_example_read(record, &features[i], 1, t);
            fuzz_expect(st == EG_OK);
            if (!st != (t[0] != NULL)) {
                abort();
            }
        }
        fuzz_expect(eg_sequence_example_read(record, features, 3, features, 3, t) == EG_OK);
    }
    return 0;
}
