/* blocks.h - rows of elements as contiguous blocks of f32, f64 or integers, for kernels whose loops take only these. */
#ifndef EGRET_CPU_BLOCKS_H
#define EGRET_CPU_BLOCKS_H

#include "lib/cpu/common/stream.h"
#include "lib/cpu/pointwise/convert.h"

enum { EG__BLOCK_ELEMENTS = 512 };

typedef struct eg__blocks {
    int64_t bytes; /* of an element in memory */
    int half;      /* EG_F16 or EG_BF16, which are f32 in blocks; else 0 */
    bool stream;   /* the row is large */
} eg__blocks;

/* k elements of x from the i-th on, contiguous: where they are, or in the buffer. */
static inline const void *eg__block_fetch(const eg__blocks *b, int64_t i, int64_t k, const char *x, int64_t s,
                                          void *buffer)
{
    if (b->stream && s == b->bytes) {
        eg__look_ahead(x + (i + k) * s, k * s);
    }
    if (!b->half && s == b->bytes) {
        return x + i * s;
    }
    if (s || !i) { /* an element that stays is there since the first block */
        if (b->half) {
            ISA(eg__halves_to_f32)(k, b->half, x + i * s, s, buffer);
        } else {
            ISA(eg__copy_row)(k, b->bytes, x + i * s, s, buffer, b->bytes);
        }
    }
    return buffer;
}

/* Returns whether results s bytes apart can be written without a block. */
static inline bool eg__block_is_direct(const eg__blocks *b, int64_t s)
{
    return s == b->bytes && !b->half && !b->stream;
}

/* Writes a block to k elements of y, s bytes apart. */
static inline void eg__block_store(const eg__blocks *b, int64_t k, const void *block, char *y, int64_t s)
{
    if (b->half) {
        ISA(eg__f32_to_halves)(k, b->half, (const float *)block, y, s);
    } else if (b->stream && s == b->bytes) {
        eg__stream(y, block, k * s);
    } else {
        ISA(eg__copy_row)(k, b->bytes, (const char *)block, b->bytes, y, s);
    }
}

#endif
