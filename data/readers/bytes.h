/* bytes.h - memory that grows at its end; eg_memory_limit counts it. */
#ifndef EGRET_BYTES_H
#define EGRET_BYTES_H

#include "lib/ops/dispatch.h"

typedef struct eg__bytes {
    uint8_t *p;
    int64_t n, room;
} eg__bytes;

/* Room for `more` bytes behind the n there are; false: out of memory, nothing changed. */
bool eg__bytes_room(eg__bytes *b, int64_t more);
bool eg__bytes_add(eg__bytes *b, const void *data, int64_t n);
void eg__bytes_free(eg__bytes *b);
/* The bytes as a tensor u8 [n], or NULL with words. */
eg_tensor *eg__bytes_tensor(const void *data, int64_t n);

#endif
