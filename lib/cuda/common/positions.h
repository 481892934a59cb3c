/* positions.h - images [N, C, d, h, w] whose elements threads make one by one: their planes lie behind each other, or
 * their channels are innermost. Plain C and CUDA. */
#ifndef EGRET_CUDA_POSITIONS_H
#define EGRET_CUDA_POSITIONS_H

#include "lib/cuda/common/divide.h"

typedef struct eg__positions {
    int64_t n; /* elements */
    int last;  /* channels are innermost */
    eg__divisor channels, size[3];
} eg__positions;

static inline eg__positions eg__positions_of(int64_t n, int64_t channels, const int64_t *size, int last)
{
    eg__positions s = {n, last, eg__divisor_of(channels), {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}};
    for (int d = 0; d < 3; d++) {
        s.size[d] = eg__divisor_of(size[d]);
    }
    return s;
}

#endif
