/* batch.c - samples stacked. */
#include "data/dataset.h"

#include <stdlib.h>

typedef struct batch {
    eg_dataset d;
    int64_t size;
    int64_t owed; /* steps to skip before the next batch */
    bool drop_last;
    eg__sample *samples;
    eg_tensor **column;
} batch;

/* Whether the k-th tensor of sample i is like that of the first. */
static eg_status check_alike(const batch *b, const eg__sample *s, int64_t i, int k)
{
    const eg__sample *first = &b->samples[0];
    if (s->n != first->n) {
        return eg__fail(EG_ESHAPE, b->d.is->name, "sample %lld of the batch has %d tensors, the first %d",
                        (long long)i, s->n, first->n);
    }
    if (s->t[k]->dtype != first->t[k]->dtype) {
        return eg__fail(EG_EDTYPE, b->d.is->name, "tensor %d of sample %lld of the batch is %s, of the first %s",
                        k, (long long)i, eg_dtype_name((eg_dtype)s->t[k]->dtype),
                        eg_dtype_name((eg_dtype)first->t[k]->dtype));
    }
    if (!eg__same_shape(s->t[k], first->t[k])) {
        return eg__fail(EG_ESHAPE, b->d.is->name, "tensor %d of sample %lld of the batch is %s, of the first %s",
                        k, (long long)i, EG__SHAPE_OF(s->t[k]), EG__SHAPE_OF(first->t[k]));
    }
    return EG_OK;
}

/* The samples' k-th tensors stacked, for each k. */
static eg_status stack(batch *b, int64_t n, eg__sample *out)
{
    eg_tensor *t[EG_SAMPLE_MAX];
    int width = b->samples[0].n;
    for (int k = 0; k < width; k++) {
        for (int64_t i = 0; i < n; i++) {
            if (check_alike(b, &b->samples[i], i, k)) {
                return eg__sample_blame(&b->samples[i]);
            }
            b->column[i] = b->samples[i].t[k];
        }
        if (!(t[k] = eg_stack(b->column, (int)n, 0))) {
            return eg__sample_blame(&b->samples[0]);
        }
    }
    return eg__sample_keep(b->d.is->name, out, t, width);
}

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
        out->file = b->samples[0].file;
        out->at = b->samples[0].at;
        eg_scope scope = eg_scope_push();
        st = scope.depth ? stack(b, n, out) : eg__why();
        eg_scope_pop(scope, NULL);
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
    return n < 0 ? n : b->drop_last ? n / b->size : (n + b->size - 1) / b->size;
}

static void batch_free(eg_dataset *d)
{
    free(((batch *)d)->samples);
    free(((batch *)d)->column);
}

static const eg__dataset_class batch_class = {.name = "eg_dataset_batch",
                                              .start = batch_start,
                                              .next = batch_next,
                                              .skip = batch_skip,
                                              .count = batch_count,
                                              .free = batch_free};

eg_dataset *eg_dataset_batch_with(eg_dataset *from, int64_t size, const eg_batch_options *o)
{
    if (!from) {
        return eg__null_argument(batch_class.name, "d"), NULL;
    }
    if (size < 1 || size > 65535) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, batch_class.name, "batch is %lld, must be 1..65535",
                             (long long)size);
    }
    batch *b = (batch *)eg__dataset_new(&batch_class, sizeof *b, from);
    if (!b) {
        return NULL;
    }
    b->size = size;
    b->drop_last = o && o->drop_last;
    b->samples = eg__malloc((size_t)size * sizeof *b->samples);
    b->column = eg__malloc((size_t)size * sizeof(eg_tensor *));
    if (!b->samples || !b->column) {
        eg_dataset_free(&b->d);
        return eg__no_memory(batch_class.name, size), NULL;
    }
    return &b->d;
}
