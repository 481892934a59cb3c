/* skip_errors.c - failures left out and counted. */
#include "data/chain/dataset.h"

#include <pthread.h>

#include "lib/core/subsystem.h"

typedef struct tolerate {
    eg_dataset d;
    int64_t most;
    pthread_mutex_t lock; /* of `out`: the consumer may look while others walk */
    uint32_t forks;       /* of the process whose threads may hold the lock */
    eg_left_out out;
} tolerate;

static void enter(tolerate *t)
{
    if (t->forks != eg__forks()) {
        pthread_mutex_init(&t->lock, NULL);
        t->forks = eg__forks();
    }
    pthread_mutex_lock(&t->lock);
}

static eg_status tolerate_start(eg_dataset *d, uint64_t epoch)
{
    tolerate *t = (tolerate *)d;
    enter(t);
    t->out = (eg_left_out){.count = 0};
    pthread_mutex_unlock(&t->lock);
    return eg__start(d->from, epoch);
}

/* Whether one more may be left out; if so counts it. */
static bool forgive(tolerate *t, eg_status st)
{
    enter(t);
    bool may = st != EG_ENOMEM && t->out.count < t->most;
    if (may && t->out.count++ == 0) {
        t->out.first = *eg_last_error();
    }
    pthread_mutex_unlock(&t->lock);
    return may;
}

static eg_status tolerate_next(eg_dataset *d, eg__sample *s)
{
    tolerate *t = (tolerate *)d;
    eg_error was = *eg_last_error();
    eg_status st;
    while ((st = eg__next(d->from, s)) && forgive(t, st)) {
    }
    if (!st) {
        eg__thread_get()->error = was;
    }
    return st;
}

static int64_t tolerate_count(const eg_dataset *d)
{
    return eg_dataset_count(d->from) ? -1 : 0;
}

static void tolerate_left_out(const eg_dataset *d, eg_left_out *sum)
{
    tolerate *t = (tolerate *)d;
    enter(t);
    if (!sum->first.code && t->out.count) {
        sum->first = t->out.first;
    }
    sum->count += t->out.count;
    pthread_mutex_unlock(&t->lock);
}

static void tolerate_free(eg_dataset *d)
{
    pthread_mutex_destroy(&((tolerate *)d)->lock);
}

static const eg__dataset_class tolerate_class = {.name = "eg_dataset_tolerate",
                                                 .start = tolerate_start,
                                                 .next = tolerate_next,
                                                 .count = tolerate_count,
                                                 .left_out = tolerate_left_out,
                                                 .free = tolerate_free};

eg_dataset *eg_dataset_tolerate_with(eg_dataset *from, const eg_tolerate_options *options)
{
    eg_tolerate_options o;
    eg__options(&o, sizeof o, options);
    o.most = eg__or_count(o.most, INT64_MAX);
    if (eg__check_dataset(tolerate_class.name, from)) {
        return NULL;
    }
    if (o.most < 0) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, tolerate_class.name, "most is %lld, must be 0 or more", (long long)o.most);
    }
    tolerate *t = (tolerate *)eg__dataset_new(&tolerate_class, sizeof *t, from);
    if (!t) {
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    t->forks = eg__forks();
    t->most = o.most;
    return &t->d;
}
