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
    const struct eg__fold *wide; /* NULL, or the same in f64, for sums that pass the range of f32 on the way */
} eg__fold;

/* By dtype; halves that have no fold of their own are widened to f32. One word but for argmax and argmin: the value,
 * its place; spread: the mean, the sum of squared differences from it, the count; logsumexp: the largest element, the
 * sum of e^(x - largest), or of e^x where that is infinite. */
#define EG__FOLD(name) extern const eg__fold ISA(eg__fold_##name)[EG_DTYPE_COUNT];

#define EG_REDUCTION(name, public, grad, cast, dtypes, flags, infer, saves, fold, ...) EG__FOLD(fold)
#include "lib/ops/reduce.def"
#undef EG_REDUCTION
/* Those of norms. */
EG__FOLD(abs)
EG__FOLD(square)
EG__FOLD(power)
EG__FOLD(abs_max)
EG__FOLD(abs_min)
#undef EG__FOLD

#endif
