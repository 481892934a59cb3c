/* bucket.c - batches of samples of similar length. */
#include "data/chain/dataset.h"

#include <stdlib.h>

typedef struct bucket {
    eg__sample *samples;
    int64_t held, size;
} bucket;

typedef struct sorter {
    eg_dataset d;
    eg_bucket_options o;
    int64_t *boundaries;
    int n; /* buckets: one more than boundaries */
    bucket *buckets;
    bool dry; /* upstream has ended */
} sorter;

static void empty(bucket *b)
{
    while (b->held) {
        eg__sample_release(&b->samples[--b->held]);
    }
}

static eg_status bucket_start(eg_dataset *d, uint64_t epoch)
{
    sorter *s = (sorter *)d;
    for (int i = 0; i < s->n; i++) {
        empty(&s->buckets[i]);
    }
    s->dry = false;
    return eg__start(d->from, epoch);
}

/* The bucket that a sample belongs to, or NULL with words. */
static bucket *place_of(sorter *s, const eg__sample *one)
{
    const int first = s->o.longest ? 0 : s->o.element, axis = s->o.axis;
    const int last = s->o.longest ? one->n - 1 : first;
    int64_t length = 0;
    for (int k = first; k <= last; k++) {
        if (k >= one->n || axis >= one->t[k]->ndim) {
            eg__fail(EG_EINDEX, s->d.is->name, "the sample has no axis %d of tensor %d", axis, k);
            return eg__sample_blame(one), NULL;
        }
        length = one->t[k]->shape[axis] > length ? one->t[k]->shape[axis] : length;
    }
    int i = 0;
    while (i < s->n - 1 && length >= s->boundaries[i]) {
        i++;
    }
    return &s->buckets[i];
}

/* Reads until a bucket is full, or to the end: then the first that holds something. NULL: there is none. */
static eg_status fill(sorter *s, bucket **ready)
{
    *ready = NULL;
    while (!s->dry) {
        eg__sample one;
        eg_status st = eg__next(s->d.from, &one);
        if (st) {
            return st;
        }
        s->dry = one.n == 0;
        bucket *b = s->dry ? NULL : place_of(s, &one);
        if (!s->dry && !b) {
            eg__sample_release(&one);
            return eg__why();
        }
        if (b) {
            b->samples[b->held++] = one;
        }
        if (b && b->held == b->size) {
            *ready = b;
            return EG_OK;
        }
    }
    for (int i = 0; i < s->n && !s->o.drop_last && !*ready; i++) {
        *ready = s->buckets[i].held ? &s->buckets[i] : NULL;
    }
    return EG_OK;
}

static eg_status bucket_next(eg_dataset *d, eg__sample *out)
{
    sorter *s = (sorter *)d;
    bucket *b;
    eg_status st = fill(s, &b);
    if (b) {
        st = eg__stack_padded(d->is->name, b->samples, b->held, s->o.value, NULL, out);
        empty(b);
    }
    return st;
}

static int64_t bucket_count(const eg_dataset *d)
{
    return eg_dataset_count(d->from) ? -1 : 0;
}

static void bucket_free(eg_dataset *d)
{
    sorter *s = (sorter *)d;
    for (int i = 0; s->buckets && i < s->n; i++) {
        empty(&s->buckets[i]);
        free(s->buckets[i].samples);
    }
    free(s->buckets);
    free(s->boundaries);
}

static const eg__dataset_class bucket_class = {.name = "eg_dataset_bucket",
                                               .start = bucket_start,
                                               .next = bucket_next,
                                               .count = bucket_count,
                                               .free = bucket_free};

static eg_status check_options(const eg_bucket_options *o, const int64_t *boundaries, int n)
{
    const char *name = bucket_class.name;
    if (n < 1 || n > 4096 || !boundaries) {
        return eg__fail(EG_EINVAL, name, "needs 1..4096 boundaries, got %d", boundaries ? n : 0);
    }
    for (int i = 1; i < n; i++) {
        if (boundaries[i] <= boundaries[i - 1]) {
            return eg__fail(EG_EINVAL, name, "boundary %d is %lld, must be above %lld", i, (long long)boundaries[i],
                            (long long)boundaries[i - 1]);
        }
    }
    for (int i = 0; i <= n; i++) {
        int64_t size = o->batches ? o->batches[i] : o->batch;
        if (size < 1 || size > 65535) {
            return eg__fail(EG_EINVAL, name, "the batch of bucket %d is %lld, must be 1..65535", i, (long long)size);
        }
    }
    if (o->element < 0 || o->element >= EG_SAMPLE_MAX || o->axis < 0 || o->axis >= EG_MAX_DIMS) {
        return eg__fail(EG_EINVAL, name, "element is %d, must be 0..%d; axis is %d, must be 0..%d", o->element,
                        EG_SAMPLE_MAX - 1, o->axis, EG_MAX_DIMS - 1);
    }
    return EG_OK;
}

static bool make_buckets(sorter *s, const int64_t *boundaries, int n)
{
    s->boundaries = eg__malloc((size_t)n * sizeof *s->boundaries);
    s->buckets = eg__malloc((size_t)(n + 1) * sizeof *s->buckets);
    if (!s->boundaries || !s->buckets) {
        return false;
    }
    memcpy(s->boundaries, boundaries, (size_t)n * sizeof *boundaries);
    for (; s->n <= n; s->n++) {
        bucket *b = &s->buckets[s->n];
        *b = (bucket){.size = s->o.batches ? s->o.batches[s->n] : s->o.batch};
        b->samples = eg__malloc((size_t)b->size * sizeof *b->samples);
        if (!b->samples) {
            return false;
        }
    }
    s->o.batches = NULL;
    return true;
}

eg_dataset *eg_dataset_bucket_with(eg_dataset *from, const int64_t *boundaries, int n, const eg_bucket_options *options)
{
    eg_bucket_options o;
    eg__options(&o, sizeof o, options);
    if (eg__check_dataset(bucket_class.name, from)) {
        return NULL;
    }
    if (check_options(&o, boundaries, n)) {
        eg_dataset_free(from);
        return NULL;
    }
    sorter *s = (sorter *)eg__dataset_new(&bucket_class, sizeof *s, from);
    if (!s) {
        return NULL;
    }
    s->o = o;
    if (!make_buckets(s, boundaries, n)) {
        eg_dataset_free(&s->d);
        return eg__no_memory(bucket_class.name, n), NULL;
    }
    return &s->d;
}
