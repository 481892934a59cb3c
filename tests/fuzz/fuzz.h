/* fuzz.h - what a fuzz target is. */
#ifndef EGRET_FUZZ_H
#define EGRET_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* What a target may take for one input of n bytes: `bytes` and n times `bytes_per_byte` of memory at any time, and so
 * many seconds of the processors. The driver holds it in builds without a sanitizer. A target that has no row is not
 * measured. */
typedef struct fuzz_bound {
    const char *target; /* how its program's name ends */
    size_t bytes, bytes_per_byte;
    double seconds, seconds_per_byte;
} fuzz_bound;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* For readers of files: a file with these bytes, the same one at each call. */
const char *fuzz_file(const uint8_t *data, size_t size);
/* Aborts unless what failed has left words. */
void fuzz_expect(int ok);

#endif
