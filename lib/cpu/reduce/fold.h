/* fold.h - what reductions do with runs of elements, apart from which runs there are. A fold keeps one to three
 * words for each result: floats in double, integers in int64. */
#ifndef EGRET_FOLD_H
#define EGRET_FOLD_H

#include "lib/cpu/common/isa.h"

typedef union eg__word {
    double d;
    int64_t i;
} eg__word;

enum { EG__FOLD_WORDS = 3, EG__FOLD_COLS = 512 };

/* n elements `step` bytes apart behind each of `cols` results, whose elements lie `across` bytes apart. */
typedef struct eg__tile {
    const char *x;
    int64_t n, step, cols, across;
    int64_t first; /* how many elements behind each result come before these */
    double p;      /* of a norm */
} eg__tile;

/* Word k of result i is w[k * cols + i]. */
typedef struct eg__fold {
    int words;
    int cost;     /* of an element, compared with adding it */
    bool ordered; /* elements must come in order */
    eg__word start[EG__FOLD_WORDS];
    void (*row)(const eg__tile *t, eg__word *w); /* cols is 1 */
    void (*columns)(const eg__tile *t, eg__word *w);
    void (*join)(int64_t cols, eg__word *w, const eg__word *later);
} eg__fold;

/* By dtype; halves that have no fold of their own are widened to f32. */
extern const eg__fold ISA(eg__fold_sum)[EG_DTYPE_COUNT], ISA(eg__fold_prod)[EG_DTYPE_COUNT],
    ISA(eg__fold_count)[EG_DTYPE_COUNT], ISA(eg__fold_max)[EG_DTYPE_COUNT], ISA(eg__fold_min)[EG_DTYPE_COUNT],
    ISA(eg__fold_abs)[EG_DTYPE_COUNT], ISA(eg__fold_square)[EG_DTYPE_COUNT], ISA(eg__fold_power)[EG_DTYPE_COUNT],
    ISA(eg__fold_abs_max)[EG_DTYPE_COUNT], ISA(eg__fold_abs_min)[EG_DTYPE_COUNT];
/* Words: the value; its place. */
extern const eg__fold ISA(eg__fold_argmax)[EG_DTYPE_COUNT], ISA(eg__fold_argmin)[EG_DTYPE_COUNT];
/* Words: mean, sum of squared differences from it, count. */
extern const eg__fold ISA(eg__fold_spread)[EG_DTYPE_COUNT];
/* Words: the largest element; the sum of e^(x - largest), or of e^x where that is infinite. */
extern const eg__fold ISA(eg__fold_logsumexp)[EG_DTYPE_COUNT];

#endif
