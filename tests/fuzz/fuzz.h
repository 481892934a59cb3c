/* fuzz.h - what a fuzz target is. */
#ifndef EGRET_FUZZ_H
#define EGRET_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* For readers of files: a file with these bytes, the same one at each call. */
const char *fuzz_file(const uint8_t *data, size_t size);
/* Aborts unless what failed has left words. */
void fuzz_expect(int ok);

#endif
