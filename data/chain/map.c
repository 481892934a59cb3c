/* map.c - a function over samples, in the thread that asks for them or in threads of its own. Prefetching is
 * the same without a function. */
#include "data/chain/dataset.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/core/subsystem.h"

/* What travels: a sample, the end (n = 0), or a failure with its words. */
typedef struct slot {
    bool ready;
    eg__sample sample;
    eg_error error;
} slot;

typedef struct worker {
    pthread_t thread;
    struct worker *next;
} worker;

typedef struct map {
    eg_dataset d;
    eg_map_fn f; /* NULL: samples stay as they are */
    void *user;
    uint64_t seed, epoch;
    int64_t number; /* of the next step upstream; belongs to who reads there */
    /* the pool, from the first sample of a pass to its end */
    int workers;
    worker *pool;
    bool called; /* for this pass, in vain maybe */
    pthread_mutex_t lock;
    pthread_cond_t turn;  /* a worker may read upstream */
    pthread_cond_t ready; /* for the consumer: the oldest slot, or nobody reads */
    slot *ring;           /* those taken and not yet given */
    int64_t ahead, taken, given;
    bool reading, held; /* a worker, the consumer has upstream to itself */
    bool over, stop;    /* upstream has ended; the pool is to leave */
    uint32_t forks;     /* of the process the pool is in */
    bool told;          /* that it is not this one */
} map;

/* ---- one sample ------------------------------------------------------------------------------------ */

static eg_status read_step(map *m, eg__sample *in, int64_t *number)
{
    eg_status st = eg__next(m->d.from, in);
    *number = m->number;
    m->number += st || in->n > 0;
    return st;
}

static eg_status skip_steps(map *m, int64_t n, int64_t *done)
{
    eg_status st = eg__skip(m->d.from, n, done);
    m->number += *done;
    return st;
}

/* Consumes `in`. */
static eg_status apply(map *m, eg__sample *in, int64_t number, eg__sample *out)
{
    eg_tensor *t[EG_SAMPLE_MAX];
    eg__callback callback;
    int n = 0;
    if (!m->f || in->n == 0) {
        *out = *in;
        return EG_OK;
    }
    eg__sample_origin(out, in);
    eg_status st = eg__callback_enter(&callback, &m->d, m->seed, m->epoch, number);
    st = st ? st : m->f(in->t, in->n, t, &n, m->user);
    st = st ? st : eg__sample_keep(m->d.is->name, out, t, n);
    st = eg__callback_leave(&callback, st, m->d.is->name, out);
    eg__sample_release(in);
    return st;
}

static eg_status next_here(map *m, eg__sample *out)
{
    eg__sample in;
    int64_t number;
    eg_status st = read_step(m, &in, &number);
    return st ? st : apply(m, &in, number, out);
}

/* ---- the pool -------------------------------------------------------------------------------------- */

/* Under the lock. False: there is no more. */
static bool wait_turn(map *m)
{
    while (!m->stop && !m->over && (m->reading || m->held || m->taken - m->given == m->ahead)) {
        pthread_cond_wait(&m->turn, &m->lock);
    }
    return !m->stop && !m->over;
}

static void end_turn(map *m, bool over)
{
    pthread_mutex_lock(&m->lock);
    m->reading = false;
    m->over = over;
    if (over) {
        pthread_cond_broadcast(&m->turn);
    } else {
        pthread_cond_signal(&m->turn);
    }
    if (m->held) {
        pthread_cond_signal(&m->ready);
    }
    pthread_mutex_unlock(&m->lock);
}

static void *work(void *user)
{
    map *m = user;
    eg__thread_get()->alone = true;
    pthread_mutex_lock(&m->lock);
    while (wait_turn(m)) {
        slot *p = &m->ring[m->taken++ % m->ahead];
        eg__sample in;
        int64_t number;
        m->reading = true;
        pthread_mutex_unlock(&m->lock);
        eg_clear_error();
        eg_status st = read_step(m, &in, &number);
        end_turn(m, !st && in.n == 0);
        p->sample.n = 0;
        st = st ? st : apply(m, &in, number, &p->sample);
        p->error = *eg_last_error();
        p->error.code = st;
        pthread_mutex_lock(&m->lock);
        p->ready = true;
        if (p == &m->ring[m->given % m->ahead]) {
            pthread_cond_signal(&m->ready);
        }
    }
    pthread_mutex_unlock(&m->lock);
    eg_thread_end();
    return NULL;
}

static void call_crew(map *m)
{
    m->called = true;
    m->forks = eg__forks();
    for (int i = 0; i < m->workers; i++) {
        worker *w = eg__malloc(sizeof *w);
        if (!w || pthread_create(&w->thread, NULL, work, m)) {
            free(w);
            break;
        }
        w->next = m->pool;
        m->pool = w;
    }
}

static void dismiss_crew(map *m)
{
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_cond_broadcast(&m->turn);
    pthread_mutex_unlock(&m->lock);
    while (m->pool) {
        worker *w = m->pool;
        pthread_join(w->thread, NULL);
        m->pool = w->next;
        free(w);
    }
    for (; m->given < m->taken; m->given++) {
        slot *p = &m->ring[m->given % m->ahead];
        eg__sample_release(&p->sample);
        p->ready = false;
    }
    m->taken = m->given = m->number = 0;
    m->called = m->over = m->stop = false;
}

/* A fork left the pool with the parent. Locks and what is before are as a worker left them, in the middle of
 * anything. */
static bool crew_is_lost(const map *m)
{
    return m->pool && m->forks != eg__forks();
}

static eg_status no_crew(map *m)
{
    m->told = true;
    return eg__fail(EG_ESTATE, m->d.is->name,
                    "the threads of this dataset are in the process that forked this one: "
                    "free it and make another");
}

/* What a worker was busy with stays where it is. */
static void forget_crew(map *m)
{
    for (worker *w; (w = m->pool); free(w)) {
        m->pool = w->next;
    }
    for (; m->given < m->taken; m->given++) {
        slot *p = &m->ring[m->given % m->ahead];
        if (p->ready) {
            eg__sample_release(&p->sample);
        }
    }
    if (m->reading) {
        m->d.from = NULL;
    }
}

/* The oldest slot, which stays. Under the lock. */
static slot *wait_for(map *m)
{
    slot *p = &m->ring[m->given % m->ahead];
    while (!p->ready) {
        pthread_cond_wait(&m->ready, &m->lock);
    }
    return p;
}

/* Takes the oldest slot out, unless it is the end. Workers that the full ring stopped are woken for half a ring
 * of work, not for each slot; one wakes the next. */
static bool hand_over(map *m, slot *p)
{
    if (!p->error.code && p->sample.n == 0) {
        return false;
    }
    p->ready = false;
    m->given++;
    if (m->taken - m->given <= m->ahead / 2) {
        pthread_cond_signal(&m->turn);
    }
    return true;
}

/* ---- the link -------------------------------------------------------------------------------------- */

static eg_status map_start(eg_dataset *d, uint64_t epoch)
{
    map *m = (map *)d;
    if (crew_is_lost(m)) {
        return no_crew(m);
    }
    dismiss_crew(m);
    m->epoch = epoch;
    return eg__start(d->from, epoch);
}

static eg_status map_next(eg_dataset *d, eg__sample *s)
{
    map *m = (map *)d;
    if (crew_is_lost(m)) {
        return m->told ? EG_OK : no_crew(m); /* the end, for those who go on behind a failure */
    }
    if (!m->called) {
        call_crew(m);
    }
    if (!m->pool) {
        return next_here(m, s);
    }
    pthread_mutex_lock(&m->lock);
    slot *p = wait_for(m);
    eg_error error = p->error;
    *s = p->sample;
    hand_over(m, p);
    pthread_mutex_unlock(&m->lock);
    return error.code ? eg__fail(error.code, error.op, "%s", error.message) : EG_OK;
}

/* What the pool has made already is thrown away, the rest never made. */
static eg_status map_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    map *m = (map *)d;
    eg_status st = EG_OK;
    int64_t rest = 0;
    if (crew_is_lost(m)) {
        return m->told ? EG_OK : no_crew(m);
    }
    if (!m->pool) {
        return skip_steps(m, n, done);
    }
    pthread_mutex_lock(&m->lock);
    m->held = true;
    while (m->reading) {
        pthread_cond_wait(&m->ready, &m->lock);
    }
    for (; *done < n && m->given < m->taken; ++*done) {
        slot *p = wait_for(m);
        eg__sample s = p->sample;
        if (p->error.code == EG_ENOMEM) { /* as eg__skip_by_next has it */
            st = eg__fail(p->error.code, p->error.op, "%s", p->error.message);
            hand_over(m, p);
            break;
        }
        if (!hand_over(m, p)) {
            break;
        }
        eg__sample_release(&s);
    }
    if (!st && *done < n && !m->over) {
        pthread_mutex_unlock(&m->lock);
        st = skip_steps(m, n - *done, &rest);
        pthread_mutex_lock(&m->lock);
    }
    m->held = false;
    pthread_cond_signal(&m->turn);
    pthread_mutex_unlock(&m->lock);
    *done += rest;
    return st;
}

static void map_free(eg_dataset *d)
{
    map *m = (map *)d;
    if (crew_is_lost(m)) { /* and conditions that it waits for cannot be destroyed */
        forget_crew(m);
    } else {
        dismiss_crew(m);
        pthread_cond_destroy(&m->ready);
        pthread_cond_destroy(&m->turn);
        pthread_mutex_destroy(&m->lock);
    }
    free(m->ring);
}

static const eg__dataset_class map_class = {.name = "eg_dataset_map",
                                            .start = map_start,
                                            .next = map_next,
                                            .skip = map_skip,
                                            .deal = eg__deal_from,
                                            .free = map_free};
static const eg__dataset_class prefetch_class = {.name = "eg_dataset_prefetch",
                                                 .start = map_start,
                                                 .next = map_next,
                                                 .skip = map_skip,
                                                 .deal = eg__deal_from,
                                                 .free = map_free};

enum { MOST_AHEAD = 65535, MOST_WORKERS = 256 };

static map *map_new(const eg__dataset_class *is, eg_dataset *from, int workers, int64_t ahead)
{
    map *m = (map *)eg__dataset_new(is, sizeof *m, from);
    if (!m) {
        return NULL;
    }
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->turn, NULL);
    pthread_cond_init(&m->ready, NULL);
    m->workers = workers;
    m->ahead = ahead;
    m->ring = eg__malloc((size_t)ahead * sizeof *m->ring);
    if (!m->ring) {
        eg_dataset_free(&m->d);
        return eg__no_memory(is->name, ahead * (int64_t)sizeof *m->ring), NULL;
    }
    memset(m->ring, 0, (size_t)ahead * sizeof *m->ring);
    return m;
}

eg_dataset *eg_dataset_map_with(eg_dataset *from, eg_map_fn f, void *user, const eg_map_options *options)
{
    eg_map_options o;
    eg__options(&o, sizeof o, options);
    if (eg__check_dataset(map_class.name, from)) {
        return NULL;
    }
    if (!f) {
        eg_dataset_free(from);
        return eg__null_argument(map_class.name, "f"), NULL;
    }
    if (o.workers < 0 || o.workers > MOST_WORKERS || o.ahead < 0 || o.ahead > MOST_AHEAD) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, map_class.name,
                             "workers is %d, must be 0..%d; ahead is %lld, must be "
                             "0..%d",
                             o.workers, MOST_WORKERS, (long long)o.ahead, MOST_AHEAD);
    }
    map *m = map_new(&map_class, from, o.workers, o.ahead ? o.ahead : eg__max(1, 4 * o.workers));
    if (!m) {
        return NULL;
    }
    m->d.callbacks++;
    m->f = f;
    m->user = user;
    m->seed = o.seed;
    return &m->d;
}

eg_dataset *eg_dataset_prefetch(eg_dataset *from, int64_t depth)
{
    if (eg__check_dataset(prefetch_class.name, from)) {
        return NULL;
    }
    if (depth < 1 || depth > MOST_AHEAD) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, prefetch_class.name, "depth is %lld, must be 1..%d", (long long)depth,
                             MOST_AHEAD);
    }
    map *m = map_new(&prefetch_class, from, 1, depth);
    return m ? &m->d : NULL;
}
