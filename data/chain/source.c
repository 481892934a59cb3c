/* source.c - samples from a function, or from tensors in memory. */
#include "data/chain/dataset.h"

#include <stdlib.h>

/* ---- a function as source -------------------------------------------------------------------------- */

typedef struct function_source {
    eg_dataset d;
    eg_sample_fn f;
    void *user;
    void (*free_user)(void *);
    uint64_t epoch;
    int64_t count, at;
} function_source;

static eg_status function_start(eg_dataset *d, uint64_t epoch)
{
    function_source *f = (function_source *)d;
    f->epoch = epoch;
    f->at = 0;
    return EG_OK;
}

static eg_status function_next(eg_dataset *d, eg__sample *s)
{
    function_source *f = (function_source *)d;
    eg_tensor *t[EG_SAMPLE_MAX];
    eg__callback callback;
    int n = 0;
    if (f->at == f->count) {
        return EG_OK;
    }
    s->at = f->at++;
    eg_status st = eg__callback_enter(&callback, d, 0, f->epoch, s->at);
    st = st ? st : f->f(s->at, t, &n, f->user);
    st = st ? st : eg__sample_keep(d->is->name, s, t, n);
    return eg__callback_leave(&callback, st, d->is->name, s);
}

static eg_status function_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    function_source *f = (function_source *)d;
    *done = eg__min(n, f->count - f->at);
    f->at += *done;
    return EG_OK;
}

static int64_t function_count(const eg_dataset *d)
{
    return ((const function_source *)d)->count;
}

static void function_free(eg_dataset *d)
{
    function_source *f = (function_source *)d;
    if (f->free_user) {
        f->free_user(f->user);
    }
}

static const eg__dataset_class function_class = {.name = "eg_dataset_from",
                                                 .start = function_start,
                                                 .next = function_next,
                                                 .skip = function_skip,
                                                 .count = function_count,
                                                 .free = function_free};

eg_dataset *eg_dataset_from(eg_sample_fn f, int64_t count, void *user, void (*free_user)(void *))
{
    if (!f || count < 0) {
        return eg__fail_null(EG_EINVAL, function_class.name,
                             "needs a function and a count of 0 or "
                             "more, got %lld",
                             (long long)count);
    }
    function_source *d = (function_source *)eg__dataset_new(&function_class, sizeof *d, NULL);
    if (!d) {
        return NULL;
    }
    d->f = f;
    d->count = count;
    d->user = user;
    d->free_user = free_user;
    d->d.callbacks = 1;
    return &d->d;
}

/* ---- tensors as source ------------------------------------------------------------------------------ */

static eg_status slice_of_tensors(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const eg__sample *all = user;
    for (*n = 0; *n < all->n; ++*n) {
        if (!(sample[*n] = eg_select(all->t[*n], 0, index))) {
            return eg__why();
        }
    }
    return EG_OK;
}

static void free_tensors(void *user)
{
    eg__sample_release(user);
    free(user);
}

eg_dataset *eg_dataset_from_tensors(eg_tensor *const *tensors, int n)
{
    static const char name[] = "eg_dataset_from_tensors";
    if (!tensors) {
        return eg__null_argument(name, "tensors"), NULL;
    }
    eg__sample *all = eg__malloc(sizeof *all);
    if (!all) {
        return eg__no_memory(name, (int64_t)sizeof *all), NULL;
    }
    if (eg__sample_keep(name, all, tensors, n)) {
        free(all);
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        if (eg_ndim(all->t[i]) < 1 || eg_size(all->t[i], 0) != eg_size(all->t[0], 0)) {
            eg__fail(EG_ESHAPE, name, "tensor %d has shape %s, the first %s: lengths differ", i,
                     EG__SHAPE_OF(all->t[i]), EG__SHAPE_OF(all->t[0]));
            free_tensors(all);
            return NULL;
        }
    }
    eg_dataset *d = eg_dataset_from(slice_of_tensors, eg_size(all->t[0], 0), all, free_tensors);
    if (!d) {
        free_tensors(all);
    }
    return d;
}
