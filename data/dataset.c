/* dataset.c - links, and walking a chain of them. */
#include "data/dataset.h"

#include <stdlib.h>

/* ---- links -------------------------------------------------------------------------------------- */

eg_dataset *eg__dataset_new(const eg__dataset_class *is, size_t size, eg_dataset *from)
{
    eg_dataset *d = eg__malloc(size);
    if (!d) {
        eg_dataset_free(from);
        return eg__no_memory(is->name, (int64_t)size), NULL;
    }
    memset(d, 0, size);
    d->is = is;
    d->from = from;
    return d;
}

void eg_dataset_free(eg_dataset *d)
{
    while (d) {
        eg_dataset *from = d->from;
        if (d->is->free) {
            d->is->free(d);
        }
        free(d);
        d = from;
    }
}

int64_t eg_dataset_count(const eg_dataset *d)
{
    return !d ? 0 : d->is->count ? d->is->count(d) : eg_dataset_count(d->from);
}

eg_status eg__start(eg_dataset *d, uint64_t epoch)
{
    return d->is->start ? d->is->start(d, epoch) : eg__start(d->from, epoch);
}

eg_status eg__next(eg_dataset *d, eg__sample *s)
{
    s->n = 0;
    s->file = NULL;
    s->at = -1;
    return d->is->next(d, s);
}

/* A failure on the way is a step like any other, and leaves no words; but without memory the samples to come
 * would be different ones. */
static eg_status skip_by_next(eg_dataset *d, int64_t n, int64_t *done)
{
    eg_error was = *eg_last_error();
    for (*done = 0; *done < n; ++*done) {
        eg__sample s;
        eg_status st = eg__next(d, &s);
        if (st == EG_ENOMEM) {
            return st;
        }
        if (!st && s.n == 0) {
            break;
        }
        eg__sample_release(&s);
    }
    eg__thread_get()->error = was;
    return EG_OK;
}

eg_status eg__skip(eg_dataset *d, int64_t n, int64_t *done)
{
    *done = 0;
    return n < 1 ? EG_OK : d->is->skip ? d->is->skip(d, n, done) : skip_by_next(d, n, done);
}

void eg__sample_release(eg__sample *s)
{
    while (s->n) {
        eg_release(s->t[--s->n]);
    }
}

eg_status eg__sample_keep(const char *op, eg__sample *s, eg_tensor *const *t, int n)
{
    s->n = 0;
    if (n < 1 || n > EG_SAMPLE_MAX) {
        return eg__fail(EG_EINVAL, op, "a sample of %d tensors, 1..%d are possible", n,
                        EG_SAMPLE_MAX);
    }
    for (int i = 0; i < n; i++) {
        if (eg__check(t[i], op, "a tensor of the sample")) {
            eg__sample_release(s);
            return eg__why();
        }
        s->t[s->n++] = eg_keep(t[i]);
    }
    return EG_OK;
}

eg_status eg__sample_blame(const eg__sample *s)
{
    char origin[128];
    eg_error *e = &eg__thread_get()->error;
    if (s->file) {
        size_t n = strlen(s->file), cut = n > 80 ? n - 80 : 0;
        snprintf(origin, sizeof origin, " (%s%s, offset %lld)", cut ? "..." : "", s->file + cut,
                 (long long)s->at);
    } else {
        snprintf(origin, sizeof origin, " (sample %lld)", (long long)s->at);
    }
    if (s->file || s->at >= 0) {
        size_t room = sizeof e->message - 1 - strlen(origin), end = strlen(e->message);
        strcpy(e->message + (end < room ? end : room), origin);
    }
    return e->code;
}

/* ---- walking ------------------------------------------------------------------------------------- */

eg_tensor *const *eg_dataset_next(eg_dataset *d)
{
    eg__sample s;
    if (!d || d->status || !d->scope.depth) {
        return NULL;
    }
    eg_scope_pop(d->scope, NULL);
    d->scope = eg_scope_push();
    d->status = d->scope.depth ? eg__next(d, &s) : eg__why();
    if (d->status || s.n == 0) {
        eg_scope_pop(d->scope, NULL);
        d->scope = (eg_scope){0, 0};
        return NULL;
    }
    for (int i = 0; i < s.n; i++) {
        if (!(d->sample[i] = eg_scope_adopt(s.t[i]))) {
            d->status = eg__why();
            while (i < s.n) {
                eg_release(s.t[i++]);
            }
            eg_scope_pop(d->scope, NULL);
            d->scope = (eg_scope){0, 0};
            return NULL;
        }
    }
    return d->sample;
}

eg_tensor *const *eg_dataset_first(eg_dataset *d)
{
    if (!d) {
        return eg__null_argument("eg_dataset_first", "dataset"), NULL;
    }
    d->status = eg__start(d, d->epoch++);
    d->scope = d->status ? (eg_scope){0, 0} : eg_scope_push();
    if (!d->status && !d->scope.depth) {
        d->status = eg__why();
    }
    return eg_dataset_next(d);
}

eg_status eg_dataset_status(const eg_dataset *d)
{
    return d ? d->status : eg__why();
}
