/* bytes.h - protocol buffers' wire format, written: fields one behind the other into memory that grows. */
#ifndef EGRET_ONNX_BYTES_H
#define EGRET_ONNX_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised: empty. Free s at the end. */
typedef struct eg__bytes {
    char *s;
    size_t n, room;
    bool failed; /* there was no memory: what came after is missing */
} eg__bytes;

void eg__bytes_put(eg__bytes *b, const void *data, size_t n);
void eg__bytes_int(eg__bytes *b, uint32_t field, int64_t v);
void eg__bytes_float(eg__bytes *b, uint32_t field, double v);
void eg__bytes_data(eg__bytes *b, uint32_t field, const void *data, size_t n);
void eg__bytes_text(eg__bytes *b, uint32_t field, const char *text);
/* A message inside: what is put between the two is its fields. */
size_t eg__bytes_begin(eg__bytes *b, uint32_t field);
void eg__bytes_end(eg__bytes *b, size_t began);

#endif
