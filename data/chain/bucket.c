/* bucket.c - batches of samples of similar length. */
#include "data/chain/dataset.h"

#include <stdlib.h>

typedef struct bucket {
    eg__sample *samples;
    int64_t held, size, longest; /* size: of a batch; longest: of the samples held */
    uint32_t room;
} bucket;

typedef struct sorter {
    eg_dataset d;
    eg_bucket_options o;
    int64_t *boundaries;
    int n; /* buckets: one more than boundaries */
    bucket *buckets;
    bool dry;           /* upstream has ended */
    eg__sample waiting; /* of n > 0: its bucket must be emptied before it has a place there */
    bucket *waiting_for;
    int64_t waiting_length;
} sorter;

static void empty(bucket *b)
{
    while (b->held) {
        eg__sample_release(&b->samples[--b->held]);
    }
    b->longest = 0;
}

static eg_status bucket_start(eg_dataset *d, uint64_t epoch)
{
    sorter *s = (sorter *)d;
    for (int i = 0; i < s->n; i++) {
        empty(&s->buckets[i]);
    }
    eg__sample_release(&s->waiting);
    s->dry = false;
    return eg__start(d->from, epoch);
}

/* The bucket that a sample belongs to, or NULL with words; how long it is. */
static bucket *place_of(sorter *s, const eg__sample *one, int64_t *its_length)
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
    *its_length = length;
    return &s->buckets[i];
}

/* Whether one more sample of that length is too much for a batch. */
static bool overflows(const sorter *s, const bucket *b, int64_t length)
{
    int64_t places;
    return s->o.tokens &&
           (__builtin_mul_overflow(b->held + 1, eg__max(b->longest, length), &places) || places > s->o.tokens);
}

static eg_status add(const sorter *s, bucket *b, eg__sample *one, int64_t length)
{
    if (b->held == b->room && !eg__grow(&b->samples, &b->room, sizeof *b->samples)) {
        eg__sample_release(one);
        return eg__no_memory(s->d.is->name, b->held);
    }
    b->samples[b->held++] = *one;
    b->longest = eg__max(b->longest, length);
    one->n = 0;
    return EG_OK;
}

/* Puts a sample into its bucket, or lets it wait until that is emptied. */
static eg_status sort_in(sorter *s, eg__sample *one, bucket **ready)
{
    int64_t length = 0;
    bucket *b = place_of(s, one, &length);
    if (!b) {
        eg__sample_release(one);
        return eg__why();
    }
    if (b->held && overflows(s, b, length)) {
        s->waiting = *one;
        s->waiting_for = b;
        s->waiting_length = length;
        *ready = b;
        return EG_OK;
    }
    eg_status st = add(s, b, one, length);
    *ready = !st && (b->held == b->size || overflows(s, b, 0)) ? b : NULL;
    return st;
}

/* Reads until a bucket is full, or to the end: then the first that holds something. NULL: there is none. */
static eg_status fill(sorter *s, bucket **ready)
{
    *ready = NULL;
    if (s->waiting.n) {
        bucket *b = s->waiting_for;
        eg_status st = add(s, b, &s->waiting, s->waiting_length);
        *ready = !st && (b->held == b->size || overflows(s, b, 0)) ? b : NULL;
        if (st || *ready) {
            return st;
        }
    }
    while (!s->dry) {
        eg__sample one;
        eg_status st = eg__next(s->d.from, &one);
        s->dry = !st && one.n == 0;
        st = st || s->dry ? st : sort_in(s, &one, ready);
        if (st || *ready) {
            return st;
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
    eg__sample_release(&s->waiting);
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
        if (size < !o->tokens || size > 65535) {
            return eg__fail(EG_EINVAL, name, "the batch of bucket %d is %lld, must be 1..65535", i, (long long)size);
        }
    }
    if (o->element < 0 || o->element >= EG_SAMPLE_MAX || o->axis < 0 || o->axis >= EG_MAX_DIMS) {
        return eg__fail(EG_EINVAL, name, "element is %d, must be 0..%d; axis is %d, must be 0..%d", o->element,
                        EG_SAMPLE_MAX - 1, o->axis, EG_MAX_DIMS - 1);
    }
    return o->tokens < 0 ? eg__fail(EG_EINVAL, name, "tokens is %lld", (long long)o->tokens) : EG_OK;
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
        b->size = b->size ? b->size : 65535;
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
