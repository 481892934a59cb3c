/* fill.h - one value over and over. */
#ifndef EGRET_FILL_H
#define EGRET_FILL_H

#include "lib/core/tensor.h"

typedef struct eg__pattern {
    size_t size; /* of an element */
    uint64_t bits;
} eg__pattern;

static inline eg__pattern eg__pattern_of(double value, int dtype)
{
    eg__pattern p = {eg__dtype_sizes[dtype], 0};
    eg__store(&p.bits, dtype, 0, value);
    return p;
}

/* n elements from `to` on. */
static inline void eg__fill(char *to, int64_t n, const eg__pattern *p)
{
    if (p->bits == 0 || p->size == 1) {
        memset(to, (int)(p->bits & 0xff), (size_t)n * p->size);
    } else if (p->size == 2) {
        for (int64_t i = 0; i < n; i++) {
            ((uint16_t *)to)[i] = (uint16_t)p->bits;
        }
    } else if (p->size == 4) {
        for (int64_t i = 0; i < n; i++) {
            ((uint32_t *)to)[i] = (uint32_t)p->bits;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            ((uint64_t *)to)[i] = p->bits;
        }
    }
}

#endif
