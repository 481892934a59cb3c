/* batch.c - samples stacked, equal ones and padded ones. */
#include "data/chain/dataset.h"

#include <stdlib.h>

typedef struct batch {
    eg_dataset d;
    int64_t size;
    int64_t owed; /* steps to skip before the next batch */
    bool drop_last;
    eg__sample *samples;
    eg_padded_batch_options *pad; /* NULL: shapes are equal */
} batch;

static eg_status batch_start(eg_dataset *d, uint64_t epoch)
{
    ((batch *)d)->owed = 0;
    return eg__start(d->from, epoch);
}

/* The steps of a batch that a failure cut short. */
static eg_status settle(batch *b)
{
    int64_t done, n = b->owed;
    b->owed = 0;
    return eg__skip(b->d.from, n, &done);
}

static eg_status stack(const batch *b, int64_t n, eg__sample *out)
{
    const char *name = b->d.is->name;
    return b->pad ? eg__stack_padded(name, b->samples, n, b->pad->value, b->pad->sizes, out)
                  : eg__stack(name, b->samples, n, out);
}

static eg_status batch_next(eg_dataset *d, eg__sample *out)
{
    batch *b = (batch *)d;
    int64_t n = 0;
    eg_status st = settle(b);
    while (n < b->size && !st) {
        st = eg__next(d->from, &b->samples[n]);
        if (st || b->samples[n].n == 0) {
            break;
        }
        n++;
    }
    if (st) {
        b->owed = b->size - n - 1;
    } else if (n && !(b->drop_last && n < b->size)) {
        st = stack(b, n, out);
    }
    while (n) {
        eg__sample_release(&b->samples[--n]);
    }
    return st;
}

static eg_status batch_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    batch *b = (batch *)d;
    int64_t steps;
    eg_status st = settle(b);
    st = st ? st : eg__skip(d->from, n > INT64_MAX / b->size ? INT64_MAX : n * b->size, &steps);
    *done = st ? 0 : steps / b->size + (!b->drop_last && steps % b->size);
    return st;
}

static int64_t batch_count(const eg_dataset *d)
{
    const batch *b = (const batch *)d;
    int64_t n = eg_dataset_count(d->from);
    return n < 0 ? n : n / b->size + (!b->drop_last && n % b->size);
}

/* A rank's batch is as large as one would have been; the ranks' together are one of all. */
static eg_status batch_deal(eg_dataset *d, eg__deal *deal)
{
    deal->block *= ((batch *)d)->size;
    eg_status st = eg__deal_from(d, deal);
    deal->dealt = NULL;
    d->dealt = NULL;
    return st;
}

static void batch_free(eg_dataset *d)
{
    batch *b = (batch *)d;
    free(b->samples);
    free(b->pad);
}

static const eg__dataset_class batch_class = {.name = "eg_dataset_batch",
                                              .start = batch_start,
                                              .next = batch_next,
                                              .skip = batch_skip,
                                              .count = batch_count,
                                              .deal = batch_deal,
                                              .free = batch_free};
static const eg__dataset_class padded_class = {.name = "eg_dataset_padded_batch",
                                               .start = batch_start,
                                               .next = batch_next,
                                               .skip = batch_skip,
                                               .count = batch_count,
                                               .deal = batch_deal,
                                               .free = batch_free};

static batch *batch_new(const eg__dataset_class *is, eg_dataset *from, int64_t size)
{
    if (eg__check_dataset(is->name, from)) {
        return NULL;
    }
    if (size < 1 || size > 65535) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, is->name, "batch is %lld, must be 1..65535", (long long)size);
    }
    batch *b = (batch *)eg__dataset_new(is, sizeof *b, from);
    if (!b) {
        return NULL;
    }
    b->size = size;
    b->samples = eg__malloc((size_t)size * sizeof *b->samples);
    if (!b->samples) {
        eg_dataset_free(&b->d);
        return eg__no_memory(is->name, size * (int64_t)sizeof *b->samples), NULL;
    }
    return b;
}

eg_dataset *eg_dataset_batch_with(eg_dataset *from, int64_t size, const eg_batch_options *options)
{
    eg_batch_options o;
    eg__options(&o, sizeof o, options);
    batch *b = batch_new(&batch_class, from, size);
    if (!b) {
        return NULL;
    }
    b->drop_last = o.drop_last;
    return &b->d;
}

static eg_status check_sizes(const eg_shape *sizes)
{
    for (int k = 0; k < EG_SAMPLE_MAX; k++) {
        bool fits = sizes[k].ndim >= 0 && sizes[k].ndim <= EG_MAX_DIMS;
        for (int a = 0; fits && a < sizes[k].ndim; a++) {
            fits = sizes[k].dim[a] >= -1;
        }
        if (!fits) {
            return eg__fail(EG_EINVAL, padded_class.name, "sizes[%d] must have 0..%d axes of -1 or more", k,
                            EG_MAX_DIMS);
        }
    }
    return EG_OK;
}

eg_dataset *eg_dataset_padded_batch_with(eg_dataset *from, int64_t size, const eg_padded_batch_options *options)
{
    eg_padded_batch_options o;
    eg__options(&o, sizeof o, options);
    batch *b = batch_new(&padded_class, from, size);
    if (!b) {
        return NULL;
    }
    b->drop_last = o.drop_last;
    b->pad = eg__malloc(sizeof *b->pad);
    if (!b->pad || check_sizes(o.sizes)) {
        bool full = !b->pad;
        eg_dataset_free(&b->d);
        return full ? eg__no_memory(padded_class.name, (int64_t)sizeof o), NULL : NULL;
    }
    *b->pad = o;
    return &b->d;
}
