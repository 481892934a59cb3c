/* prefetch.c - samples made ahead in a thread of their own. */
#include "data/dataset.h"

#include <pthread.h>
#include <stdlib.h>

/* What travels: a sample, the end (n = 0), or a failure with its words. */
typedef struct parcel {
    eg__sample sample;
    eg_error error;
} parcel;

typedef struct prefetch {
    eg_dataset d;
    pthread_t thread;
    bool running, stop, over; /* over: the end or a failure has been handed out */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    parcel *queue;
    int depth, head, held;
} prefetch;

static void *work(void *user)
{
    prefetch *p = user;
    bool more = true;
    while (more) {
        parcel out;
        eg_clear_error();
        eg_status st = eg__next(p->d.from, &out.sample);
        out.error = *eg_last_error();
        out.error.code = st;
        more = !st && out.sample.n > 0;
        pthread_mutex_lock(&p->lock);
        while (p->held == p->depth && !p->stop) {
            pthread_cond_wait(&p->changed, &p->lock);
        }
        bool stop = p->stop;
        if (!stop) {
            p->queue[(p->head + p->held++) % p->depth] = out;
            pthread_cond_broadcast(&p->changed);
        }
        pthread_mutex_unlock(&p->lock);
        if (stop) {
            eg__sample_release(&out.sample);
            more = false;
        }
    }
    eg_thread_end();
    return NULL;
}

static void halt(prefetch *p)
{
    if (p->running) {
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_broadcast(&p->changed);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
        p->running = false;
    }
    while (p->held) {
        eg__sample_release(&p->queue[p->head].sample);
        p->head = (p->head + 1) % p->depth;
        p->held--;
    }
}

static eg_status prefetch_start(eg_dataset *d, uint64_t epoch)
{
    prefetch *p = (prefetch *)d;
    halt(p);
    eg_status st = eg__start(d->from, epoch);
    if (st) {
        return st;
    }
    p->stop = p->over = false;
    p->head = 0;
    int e = pthread_create(&p->thread, NULL, work, p);
    p->running = e == 0;
    return e ? eg__fail(EG_ENOMEM, d->is->name, "no thread to be had (error %d)", e) : EG_OK;
}

static eg_status prefetch_next(eg_dataset *d, eg__sample *s)
{
    prefetch *p = (prefetch *)d;
    if (p->over) {
        return EG_OK;
    }
    pthread_mutex_lock(&p->lock);
    while (p->held == 0) {
        pthread_cond_wait(&p->changed, &p->lock);
    }
    parcel in = p->queue[p->head];
    p->head = (p->head + 1) % p->depth;
    p->held--;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    *s = in.sample;
    p->over = in.error.code || s->n == 0;
    return in.error.code ? eg__fail(in.error.code, in.error.op, "%s", in.error.message) : EG_OK;
}

static void prefetch_free(eg_dataset *d)
{
    prefetch *p = (prefetch *)d;
    halt(p);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p->queue);
}

static const eg__dataset_class prefetch_class = {
    .name = "eg_dataset_prefetch", .start = prefetch_start, .next = prefetch_next, .free = prefetch_free};

eg_dataset *eg_dataset_prefetch(eg_dataset *from, int depth)
{
    if (!from) {
        return eg__null_argument(prefetch_class.name, "d"), NULL;
    }
    if (depth < 1 || depth > 1000) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, prefetch_class.name, "depth is %d, must be 1..1000", depth);
    }
    prefetch *p = (prefetch *)eg__dataset_new(&prefetch_class, sizeof *p, from);
    if (!p) {
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    p->depth = depth;
    p->queue = eg__malloc((size_t)depth * sizeof *p->queue);
    if (!p->queue) {
        eg_dataset_free(&p->d);
        return eg__no_memory(prefetch_class.name, depth), NULL;
    }
    return &p->d;
}
