/* dataset.h - the links a chain is made of, and how a source is written.
 *
 * A source or link is a struct that begins with an eg_dataset, and a class:
 *
 *     static const eg__dataset_class lines_class = {
 *         .name = "eg_lines_new", .start = ..., .next = ..., .skip = ..., .count = ..., .free = ...};
 *     lines *l = (lines *)eg__dataset_new(&lines_class, sizeof *l, NULL);
 *
 * What a chain asks of it: after the end `next` gives the end again. After a failure it goes on behind the bad
 * record, or gives the end where that cannot be; so a failure is one step like a sample. Calls come one at a
 * time, but from any thread. */
#ifndef EGRET_DATASET_H
#define EGRET_DATASET_H

#include <egret/data.h>
#include <egret/ops.h>

#include "lib/ops/dispatch.h"

/* Kept tensors, owned by whoever holds the sample, and where they come from. */
typedef struct eg__sample {
    eg_tensor *t[EG_SAMPLE_MAX];
    int n;
    const char *file; /* the source's, until it is freed; NULL: there is only a number */
    int64_t at;       /* offset in the file, else number of the sample; -1: not known */
} eg__sample;

/* What a rank has of a chain (distribute.c). */
typedef struct eg__deal {
    int64_t block; /* steps of a rank's turn */
    int64_t rank, ranks;
    eg_dataset *dealt; /* the link that was put in, while links behind it count its steps: theirs are numbered as of all
                        * ranks' steps; NULL: none, or they are batches by now */
} eg__deal;

typedef struct eg__dataset_class {
    const char *name;
    /* Starts pass number `epoch`, from the source down; may be called in the middle of a pass. NULL: starts
     * what is before. */
    eg_status (*start)(eg_dataset *d, uint64_t epoch);
    /* The next sample, or n = 0 at the end. `s` comes empty; a source fills file and at before it can fail. */
    eg_status (*next)(eg_dataset *d, eg__sample *s);
    /* What n calls of next would leave behind, without making the samples; *done: the steps there were, fewer
     * than n only at the end. NULL: calls next. */
    eg_status (*skip)(eg_dataset *d, int64_t n, int64_t *done);
    /* Samples of one pass, -1: not known. NULL: as many as before. */
    int64_t (*count)(const eg_dataset *d);
    /* How it is walked by several ranks: hands the deal on to what is before, by eg__deal_from at least. NULL: it is
     * the first link, from the end of the chain, that is walked whole. */
    eg_status (*deal)(eg_dataset *d, eg__deal *deal);
    /* Adds what was left out. NULL: nothing is. */
    void (*left_out)(const eg_dataset *d, eg_left_out *sum);
    void (*free)(eg_dataset *d); /* its own parts; the upstream link is freed by the caller */
} eg__dataset_class;

struct eg_dataset {
    const eg__dataset_class *is;
    eg_dataset *from;
    const char *owner;       /* the name of the link that has taken it; NULL: the caller's */
    int callbacks;           /* functions of the user in the chain up to here */
    const eg_dataset *dealt; /* eg__deal's */
    bool is_dealt;           /* it is a rank's share from the start */
    /* of the link the user walks */
    eg_dataset_position at;
    bool under_way;
    eg_scope scope;
    eg_status status;
    eg_tensor *sample[EG_SAMPLE_MAX];
    int width; /* tensors in it */
};

/* Whether a dataset that is given to `op` is there, alive and nobody's; what is not is not `op`'s to free. */
eg_status eg__check_dataset(const char *op, eg_dataset *d);
/* Frees what was given to a constructor that failed, if it passes that check. */
void eg__dataset_drop(eg_dataset *d);
/* A zeroed link of `size` bytes behind `from`, NULL for a source; takes `from`, which was checked, and frees it on
 * failure. */
eg_dataset *eg__dataset_new(const eg__dataset_class *is, size_t size, eg_dataset *from);
eg_status eg__start(eg_dataset *d, uint64_t epoch);
eg_status eg__next(eg_dataset *d, eg__sample *s);
eg_status eg__skip(eg_dataset *d, int64_t n, int64_t *done);
/* By making the samples. A failure on the way is a step like any other, and leaves no words; but EG_ENOMEM is
 * passed on: the samples to come would be different ones. */
eg_status eg__skip_by_next(eg_dataset *d, int64_t n, int64_t *done);
void eg__left_out(const eg_dataset *d, eg_left_out *sum);

/* Deals out what is before d, which gets a link more before it; and what `*link` gives. */
eg_status eg__deal_from(eg_dataset *d, eg__deal *deal);
eg_status eg__deal_out(eg_dataset **link, eg__deal *deal);
/* The number that step `number` behind a link that deals has among all ranks' steps. */
int64_t eg__dealt_number(const eg_dataset *dealt, int64_t number);

void eg__sample_release(eg__sample *s);
/* Keeps n borrowed tensors in a sample. */
eg_status eg__sample_keep(const char *op, eg__sample *s, eg_tensor *const *t, int n);
/* The origin of another sample. */
void eg__sample_origin(eg__sample *s, const eg__sample *from);
/* Appends " (digits.rec, offset 1234)" or " (sample 17)" to the failure on record; returns its code. */
eg_status eg__sample_blame(const eg__sample *s);

/* A call of the user's function: in a scope of its own, its random numbers depending on nothing but seed, place
 * among the functions of the chain, epoch and number, and without the words of earlier failures. */
typedef struct eg__callback {
    eg_scope scope;
    eg_random_state random;
    eg_error before;
} eg__callback;
eg_status eg__callback_enter(eg__callback *g, const eg_dataset *d, uint64_t seed, uint64_t epoch, int64_t number);
/* What it returned, with words at least of `op` and the origin of `s` if it failed. */
eg_status eg__callback_leave(eg__callback *g, eg_status st, const char *op, const eg__sample *s);

/* Samples of equal shapes with a new axis 0. */
eg_status eg__stack(const char *op, const eg__sample *s, int64_t n, eg__sample *out);
/* The same with every axis as long as the longest, or as `sizes` (may be NULL) asks, filled up with value[k]. */
eg_status eg__stack_padded(const char *op, const eg__sample *s, int64_t n, const double *value, const eg_shape *sizes,
                           eg__sample *out);

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t eg__draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#endif
