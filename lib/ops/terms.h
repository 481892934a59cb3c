/* terms.h - the numbers of arange and linspace. Plain C and CUDA. */
#ifndef EGRET_TERMS_H
#define EGRET_TERMS_H

#include <math.h>
#include <stdint.h>

#include "lib/math/hd.h"

enum {
    EG__TERMS_REAL,    /* eg__term */
    EG__TERMS_COUNTED, /* eg__counted_term */
    EG__TERMS_FLOORED, /* eg__floored_term */
};

typedef struct eg__terms {
    double start, stop, step;
    int64_t ends; /* of so many terms: counted from the nearer end, so that the last is stop exactly; 0: from start */
    int kind;
    int64_t first, by; /* of those counted in integers */
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

EG__HD int64_t eg__counted_term(const eg__terms *t, int64_t i)
{
    return (int64_t)((uint64_t)t->first + (uint64_t)t->by * (uint64_t)i);
}

/* As NumPy has linspace in integers: counted from start whatever end is nearer. */
EG__HD double eg__floored_term(const eg__terms *t, int64_t i)
{
    return floor(i + 1 < t->ends || t->ends < 2 ? eg__plus_times(t->start, t->step, (double)i) : t->stop);
}

#endif
