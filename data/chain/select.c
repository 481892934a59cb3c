/* select.c - some of the samples: the first, all but the first, every n-th, those that a function keeps. */
#include "data/chain/dataset.h"

/* ---- take and skip ---------------------------------------------------------------------------------- */

typedef struct part {
    eg_dataset d;
    int64_t count, given;
} part;

static eg_dataset *part_new(const eg__dataset_class *is, eg_dataset *from, int64_t count)
{
    if (eg__check_dataset(is->name, from)) {
        return NULL;
    }
    if (count < 0) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, is->name, "count is %lld, must be 0 or more", (long long)count);
    }
    part *p = (part *)eg__dataset_new(is, sizeof *p, from);
    if (p) {
        p->count = count;
    }
    return p ? &p->d : NULL;
}

static eg_status take_start(eg_dataset *d, uint64_t epoch)
{
    ((part *)d)->given = 0;
    return eg__start(d->from, epoch);
}

static eg_status take_next(eg_dataset *d, eg__sample *s)
{
    part *t = (part *)d;
    if (t->given == t->count) {
        return EG_OK;
    }
    t->given++;
    return eg__next(d->from, s);
}

static eg_status take_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    part *t = (part *)d;
    n = eg__min(n, t->count - t->given);
    t->given += n;
    return eg__skip(d->from, n, done);
}

static int64_t take_count(const eg_dataset *d)
{
    int64_t n = eg_dataset_count(d->from), most = ((const part *)d)->count;
    return n < 0 ? n : eg__min(n, most);
}

static const eg__dataset_class take_class = {
    .name = "eg_dataset_take", .start = take_start, .next = take_next, .skip = take_skip, .count = take_count};

eg_dataset *eg_dataset_take(eg_dataset *from, int64_t count)
{
    return part_new(&take_class, from, count);
}

static eg_status skip_start(eg_dataset *d, uint64_t epoch)
{
    int64_t done;
    eg_status st = eg__start(d->from, epoch);
    return st ? st : eg__skip(d->from, ((part *)d)->count, &done);
}

static eg_status skip_next(eg_dataset *d, eg__sample *s)
{
    return eg__next(d->from, s);
}

static eg_status skip_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    return eg__skip(d->from, n, done);
}

static int64_t skip_count(const eg_dataset *d)
{
    int64_t n = eg_dataset_count(d->from);
    return n < 0 ? n : eg__max(0, n - ((const part *)d)->count);
}

static const eg__dataset_class skip_class = {
    .name = "eg_dataset_skip", .start = skip_start, .next = skip_next, .skip = skip_skip, .count = skip_count};

eg_dataset *eg_dataset_skip(eg_dataset *from, int64_t count)
{
    return part_new(&skip_class, from, count);
}

/* ---- shard -------------------------------------------------------------------------------------------- */

typedef struct shard {
    eg_dataset d;
    int64_t index, of;
    int64_t gap; /* steps between here and the next sample */
} shard;

static eg_status shard_start(eg_dataset *d, uint64_t epoch)
{
    shard *h = (shard *)d;
    h->gap = h->index;
    return eg__start(d->from, epoch);
}

static eg_status shard_next(eg_dataset *d, eg__sample *s)
{
    shard *h = (shard *)d;
    int64_t done;
    eg_status st = eg__skip(d->from, h->gap, &done);
    if (st || done < h->gap) {
        return st;
    }
    h->gap = h->of - 1;
    return eg__next(d->from, s);
}

static eg_status shard_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    shard *h = (shard *)d;
    int64_t steps, gap = h->gap;
    int64_t want = n - 1 > (INT64_MAX - gap - 1) / h->of ? INT64_MAX : gap + 1 + (n - 1) * h->of;
    eg_status st = eg__skip(d->from, want, &steps);
    *done = st || steps <= gap ? 0 : 1 + (steps - gap - 1) / h->of;
    h->gap = h->of - 1;
    return st;
}

static int64_t shard_count(const eg_dataset *d)
{
    const shard *h = (const shard *)d;
    int64_t n = eg_dataset_count(d->from);
    return n < 0 ? n : n <= h->index ? 0 : 1 + (n - h->index - 1) / h->of;
}

static const eg__dataset_class shard_class = {
    .name = "eg_dataset_shard", .start = shard_start, .next = shard_next, .skip = shard_skip, .count = shard_count};

eg_dataset *eg_dataset_shard(eg_dataset *from, int64_t index, int64_t count)
{
    if (eg__check_dataset(shard_class.name, from)) {
        return NULL;
    }
    if (index < 0 || index >= count) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, shard_class.name, "index is %lld, must be 0..count - 1, count is %lld",
                             (long long)index, (long long)count);
    }
    shard *h = (shard *)eg__dataset_new(&shard_class, sizeof *h, from);
    if (!h) {
        return NULL;
    }
    h->index = index;
    h->of = count;
    return &h->d;
}

/* ---- filter ------------------------------------------------------------------------------------------- */

typedef struct filter {
    eg_dataset d;
    eg_filter_fn f;
    void *user;
    uint64_t epoch;
    int64_t number;
} filter;

static eg_status filter_start(eg_dataset *d, uint64_t epoch)
{
    filter *f = (filter *)d;
    f->epoch = epoch;
    f->number = 0;
    return eg__start(d->from, epoch);
}

static eg_status filter_next(eg_dataset *d, eg__sample *s)
{
    filter *f = (filter *)d;
    for (;;) {
        eg__callback callback;
        bool keep = false;
        eg_status st = eg__next(d->from, s);
        if (st || s->n == 0) {
            return st;
        }
        st = eg__callback_enter(&callback, d, 0, f->epoch, f->number++);
        st = st ? st : f->f(s->t, s->n, &keep, f->user);
        st = eg__callback_leave(&callback, st, d->is->name, s);
        if (!st && keep) {
            return EG_OK;
        }
        eg__sample_release(s);
        if (st) {
            return st;
        }
    }
}

static int64_t filter_count(const eg_dataset *d)
{
    return eg_dataset_count(d->from) ? -1 : 0;
}

static const eg__dataset_class filter_class = {
    .name = "eg_dataset_filter", .start = filter_start, .next = filter_next, .count = filter_count};

eg_dataset *eg_dataset_filter(eg_dataset *from, eg_filter_fn f, void *user)
{
    if (eg__check_dataset(filter_class.name, from)) {
        return NULL;
    }
    if (!f) {
        eg_dataset_free(from);
        return eg__null_argument(filter_class.name, "f"), NULL;
    }
    filter *l = (filter *)eg__dataset_new(&filter_class, sizeof *l, from);
    if (!l) {
        return NULL;
    }
    l->d.callbacks++;
    l->f = f;
    l->user = user;
    return &l->d;
}
