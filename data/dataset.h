/* dataset.h - the links a chain is made of. */
#ifndef EGRET_DATASET_H
#define EGRET_DATASET_H

#include <egret/data.h>
#include <egret/ops.h>

#include "lib/internal.h"

/* Kept tensors, owned by whoever holds the sample. */
typedef struct eg__sample {
    eg_tensor *t[EG_SAMPLE_MAX];
    int n;
} eg__sample;

typedef struct eg__dataset_class {
    const char *name;
    /* Starts pass number `epoch`, from the source down; may be called in the middle of a pass. */
    eg_status (*start)(eg_dataset *d, uint64_t epoch);
    /* The next sample, or n = 0 at the end. */
    eg_status (*next)(eg_dataset *d, eg__sample *s);
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

/* A link of `size` bytes behind `from`; frees `from` on failure. */
eg_dataset *eg__dataset_new(const eg__dataset_class *is, size_t size, eg_dataset *from);
eg_status eg__start(eg_dataset *d, uint64_t epoch);
eg_status eg__next(eg_dataset *d, eg__sample *s);
void eg__sample_release(eg__sample *s);
/* Keeps n borrowed tensors as a sample. */
eg_status eg__sample_keep(const char *op, eg__sample *s, eg_tensor *const *t, int n);

#endif
