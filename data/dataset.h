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

#include "lib/internal.h"

/* Kept tensors, owned by whoever holds the sample, and where they come from. */
typedef struct eg__sample {
    eg_tensor *t[EG_SAMPLE_MAX];
    int n;
    const char *file; /* the source's, until it is freed; NULL: there is only a number */
    int64_t at;       /* offset in the file, else number of the sample; -1: not known */
} eg__sample;

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
    void (*free)(eg_dataset *d); /* its own parts; the upstream link is freed by the caller */
} eg__dataset_class;

struct eg_dataset {
    const eg__dataset_class *is;
    eg_dataset *from;
    /* of the link the user walks */
    uint64_t epoch;
    eg_scope scope;
    eg_status status;
    eg_tensor *sample[EG_SAMPLE_MAX];
};

/* A zeroed link of `size` bytes behind `from`, NULL for a source; frees `from` on failure. */
eg_dataset *eg__dataset_new(const eg__dataset_class *is, size_t size, eg_dataset *from);
eg_status eg__start(eg_dataset *d, uint64_t epoch);
eg_status eg__next(eg_dataset *d, eg__sample *s);
eg_status eg__skip(eg_dataset *d, int64_t n, int64_t *done);
void eg__sample_release(eg__sample *s);
/* Keeps n borrowed tensors in a sample. */
eg_status eg__sample_keep(const char *op, eg__sample *s, eg_tensor *const *t, int n);
/* Appends " (digits.rec, offset 1234)" or " (sample 17)" to the failure on record; returns its code. */
eg_status eg__sample_blame(const eg__sample *s);

#endif
