/* cache.c - what the first pass makes, kept in memory. */
#include "data/chain/dataset.h"
#include "lib/core/counted.h"

typedef struct cache {
    eg_dataset d;
    eg__sample *kept; /* the first samples of a pass */
    uint32_t held, capacity;
    bool complete; /* kept is the whole pass */
    int64_t at;    /* step of this pass */
    bool awake;    /* upstream stands at `at` too, or cannot be started */
    bool lost;     /* it cannot */
} cache;

static eg_status cache_start(eg_dataset *d, uint64_t epoch)
{
    cache *c = (cache *)d;
    (void)epoch; /* what is kept would not go with another */
    c->at = 0;
    c->awake = c->lost = false;
    return EG_OK;
}

static eg_status wake(cache *c)
{
    int64_t done;
    if (c->awake) {
        return EG_OK;
    }
    c->awake = true;
    eg_status st = eg__start(c->d.from, 0);
    st = st ? st : eg__skip(c->d.from, c->at, &done);
    c->lost = st != EG_OK;
    return st;
}

/* Adds the sample to those kept, if it is the next one. */
static eg_status keep(cache *c, eg__sample *s)
{
    if (c->at != c->held) {
        return EG_OK;
    }
    if (c->held == c->capacity && !eg__counted_grow(&c->kept, &c->capacity, sizeof *c->kept)) {
        return eg__no_memory(c->d.is->name, (int64_t)c->capacity * 2 * (int64_t)sizeof *c->kept);
    }
    eg__sample *own = &c->kept[c->held];
    *own = *s;
    if (eg__sample_keep(c->d.is->name, own, s->t, s->n)) {
        return eg__why();
    }
    c->held++;
    return EG_OK;
}

static eg_status cache_next(eg_dataset *d, eg__sample *s)
{
    cache *c = (cache *)d;
    if (c->at < c->held) {
        const eg__sample *own = &c->kept[c->at++];
        eg__sample_origin(s, own);
        return eg__sample_keep(d->is->name, s, own->t, own->n);
    }
    if (c->complete || c->lost) {
        return EG_OK;
    }
    eg_status st = wake(c);
    st = st ? st : eg__next(d->from, s);
    if (!st && s->n == 0) {
        c->complete = c->at == c->held;
        return EG_OK;
    }
    if (!st && (st = keep(c, s))) {
        eg__sample_release(s);
    }
    c->at++;
    return st;
}

static eg_status cache_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    cache *c = (cache *)d;
    int64_t rest = 0, here = eg__max(0, eg__min(n, c->held - c->at));
    eg_status st = EG_OK;
    c->at += here;
    if (here < n && !c->complete && !c->lost && !(st = wake(c))) {
        st = eg__skip(d->from, n - here, &rest);
        c->at += rest;
    }
    *done = here + rest;
    return st;
}

static void cache_free(eg_dataset *d)
{
    cache *c = (cache *)d;
    while (c->held) {
        eg__sample_release(&c->kept[--c->held]);
    }
    eg__counted_free(c->kept);
}

static const eg__dataset_class cache_class = {
    .name = "eg_dataset_cache", .start = cache_start, .next = cache_next, .skip = cache_skip, .free = cache_free};

eg_dataset *eg_dataset_cache(eg_dataset *from)
{
    if (eg__check_dataset(cache_class.name, from)) {
        return NULL;
    }
    return eg__dataset_new(&cache_class, sizeof(cache), from);
}
