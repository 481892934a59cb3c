/* attention.h - between the files of attention on the CPU: a call of it, and what of it one thread does. */
#ifndef EGRET_CPU_ATTENTION_H
#define EGRET_CPU_ATTENTION_H

#include "lib/cpu/common/lanes.h"
#include "lib/ops/attention.h"

/* Blocks of queries and keys that meet in a tile of weights, and the rows of a product that are added up before they
 * go to what is kept: a tile lives in the inner caches. PART_KEYS: of the parts into which keys are split where there
 * are few matrices, then UNITS parts in all. */
#ifdef EG_TINY_LIMITS
enum { QUERIES = 16, KEYS = 5, DEPTH = 3, UNITS = 4, PART_KEYS = 2 };
#else
enum { QUERIES = 64, KEYS = 128, DEPTH = 64, UNITS = 16, PART_KEYS = 512 };
#endif

/* Products of tiles by instructions for them (AMX), where the processor has them. */
#if defined(__AVX512F__) && defined(__linux__) && defined(__x86_64__) && !defined(EG_TINY_LIMITS)
#define AMX 1
#else
#define AMX 0
#endif

/* An operand: strides in bytes, those of the leading axes 0 where it is repeated. */
typedef struct view {
    char *p; /* NULL: there is none */
    int64_t lead[EG_MAX_DIMS], row, column;
    int dtype;
} view;

/* Work is a unit after the other, in `parts` at once; each has a room of its own. A unit of the forward pass is a block
 * of queries and a part of the keys, one of the backward pass a part of the keys and all queries. */
typedef struct job {
    const eg__attention_opts *o;
    eg__attended g;
    eg__band band;
    int64_t corner;                                      /* the key at which query 0 stands */
    view q, k, v, mask, slopes, y, stat, dy, dq, dk, dv; /* stat: of what is computed in, a column */
    int64_t height, blocks;                              /* queries of a block; blocks of a matrix */
    int64_t width, splits;                               /* keys of a part; parts of a matrix */
    int64_t units, parts;
    bool tiles;            /* values and scores are products of bf16 tiles */
    int64_t whole;         /* queries of a block go up to a multiple of it */
    int64_t keys_padded;   /* of tiles: keys of a matrix, and zeros behind them */
    char *rooms, *partial; /* partial: what parts of the keys give, unit by unit; NULL: there is one part */
    int64_t room, part;    /* bytes of each */
    eg__range_fn *fn;
} job;

/* The i-th unit of n to be done: large and small ones in turn, so that threads get as much of both. */
static inline int64_t in_turn(int64_t i, int64_t n)
{
    return i % 2 ? n - 1 - i / 2 : i / 2;
}

static inline char *at_matrix(const job *j, const view *x, int64_t b)
{
    return x->p + eg__lead_at(&j->g, x->lead, b);
}

#endif
