/* fft.h - how a transform of n elements is done: its steps and the numbers on the circle they
 * multiply by, remembered from call to call. */
#ifndef EGRET_CPU_FFT_H
#define EGRET_CPU_FFT_H

#include "lib/core/op.h"

typedef enum eg__fft_way {
    EG__FFT_DIRECT, /* passes over lines side by side, each of a small radix */
    EG__FFT_SPLIT,  /* n = rows * columns: a line by itself, as two sets of lines side by side */
    EG__FFT_CHIRP,  /* large prime factors: as a convolution of a smooth length (Bluestein 1970) */
} eg__fft_way;

/* Lines too few to fill lanes are split if they are longer than the one; of others, those not longer than the other
 * only into rows that fill vectors well. */
#ifdef EG_TINY_LIMITS
enum { EG__FFT_ALONE = 15, EG__FFT_CHOOSY = 40 };
#else
enum { EG__FFT_ALONE = 63, EG__FFT_CHOOSY = 2048 };
#endif
/* The largest prime factor that is a radix; the most radices of an n. */
enum { EG__FFT_PRIME = 31, EG__FFT_PASSES = 40 };
/* Rows of factors between the halves of a split line are as long as vectors want. */
enum { EG__FFT_LANES = 16 };

/* Tables are pairs cos, -sin in the element type, f64 if `wide`. */
typedef struct eg__fft_plan {
    struct eg__fft_plan *next;
    int64_t n;
    int64_t most; /* longer ones are split */
    bool wide, real;
    eg__fft_way way;
    int passes, radix[EG__FFT_PASSES];
    int64_t table_at[EG__FFT_PASSES];  /* DIRECT: where the pairs of a pass begin */
    int64_t rows, columns;             /* SPLIT */
    struct eg__fft_plan *first, *then; /* SPLIT: of columns, of rows; CHIRP: `first`, of the
                                          convolution; real: `first`, of n / 2 */
    void *table; /* SPLIT: [rows][2][columns, rounded up to lanes]; CHIRP: n pairs of e^(-pi i j^2 /
                    n); real: n / 4 + 1 pairs */
    size_t bytes;
    int users;
    uint64_t used;
} eg__fft_plan;

/* Of a transform of n elements, split if there are more than `most`; or (real) of what goes before
 * or behind one of n / 2. NULL: no memory, nothing on record. Put it back when done. */
eg__fft_plan *eg__fft_plan_get(int64_t n, bool wide, int64_t most, bool real);
void eg__fft_plan_put(eg__fft_plan *p);

/* SPLIT: elements of a row of factors, and of what they are multiplied with: columns, rounded up to lanes. */
static inline int64_t eg__fft_wide(const eg__fft_plan *p)
{
    return (p->columns + EG__FFT_LANES - 1) / EG__FFT_LANES * EG__FFT_LANES;
}

#endif
