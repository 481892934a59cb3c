/* terms.h - the numbers of arange and linspace. Plain C and CUDA. */
#ifndef EGRET_TERMS_H
#define EGRET_TERMS_H

#include <stdint.h>

#include "lib/hd.h"

typedef struct eg__terms {
    double start, stop, step;
    int64_t ends; /* of so many terms: counted from the nearer end, so that the last is stop exactly; 0: from start */
} eg__terms;

/* Rounded twice on every engine. */
EG__HD double eg__plus_times(double a, double b, double c)
{
#ifdef __CUDA_ARCH__
    return __dadd_rn(a, __dmul_rn(b, c));
#else
    return a + b * c;
#endif
}

EG__HD double eg__term(const eg__terms *t, int64_t i)
{
    return i < t->ends / 2 || t->ends < 2 ? eg__plus_times(t->start, t->step, (double)i)
                                          : eg__plus_times(t->stop, -t->step, (double)(t->ends - 1 - i));
}

#endif
