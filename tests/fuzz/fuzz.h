/* fuzz.h - what a fuzz target is. */
#ifndef EGRET_FUZZ_H
#define EGRET_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Limits of a target for one input of n bytes: `bytes` + n * `bytes_per_byte` bytes of memory at any time, and
 * `seconds` + n * `seconds_per_byte` of processor time. The driver checks them in builds without a sanitizer, for
 * targets that have a row. */
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
