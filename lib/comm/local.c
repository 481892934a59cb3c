/* local.c - ranks that are threads of one process. What a rank sends is a letter that says where the bytes lie; whom it
 * is for copies them, and says that it has. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

#include "lib/comm/comm.h"
#include "lib/core/device.h"
#include "lib/core/memory.h"

/* From one rank to another. */
typedef struct letter {
    struct letter *next;
    const char *data;
    const eg__carrier *carrier; /* to that; NULL: it is the CPU's */
    int64_t bytes, number;
    bool held, taken; /* by whom it is for, while it is copied; then */
} letter;

/* What all ranks share, freed by the last. */
typedef struct hub {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t changes;
    int ranks, ends; /* ends: those that are not freed */
    bool *there, *gone;
    char failed[256]; /* why one of them has; "": none */
    int by;
    letter **first; /* [from][to][of all ranks, of two] */
} hub;

typedef struct local {
    eg__transport base;
    hub *hub;
    int64_t seen; /* of the hub's changes */
} local;

/* A move that is under way. */
typedef struct under_way {
    letter *sent;  /* one for each rank, those that are none taken from the start */
    letter **held; /* of each rank, that a device copies */
    bool *got;
} under_way;

static letter **line_of(hub *h, int from, int to, bool of_two)
{
    return &h->first[2 * ((int64_t)from * h->ranks + to) + of_two];
}

static void tell_all(hub *h)
{
    h->changes++;
    pthread_cond_broadcast(&h->changed);
}

/* ---- moves ----------------------------------------------------------------------------------- */

static eg_status begin(eg__transport *t, eg__move *m)
{
    hub *h = ((local *)t)->hub;
    const size_t ranks = (size_t)h->ranks;
    under_way *u = eg__malloc(sizeof *u + ranks * (sizeof *u->sent + sizeof *u->held + sizeof *u->got));
    if (!u) {
        return eg__no_memory("eg_comm", (int64_t)(ranks * sizeof *u->sent));
    }
    u->sent = (letter *)(u + 1);
    u->held = (letter **)(u->sent + ranks);
    u->got = (bool *)(u->held + ranks);
    m->state = u;
    pthread_mutex_lock(&h->lock);
    for (int r = 0; r < h->ranks; r++) {
        const bool other = r != t->rank, sends = other && m->sent[r].bytes;
        u->sent[r] = (letter){NULL, m->send + m->sent[r].at, m->carrier, m->sent[r].bytes, m->number, false, !sends};
        u->held[r] = NULL;
        u->got[r] = !other || !m->received[r].bytes;
        if (sends) {
            letter **at = line_of(h, t->rank, r, m->of_two);
            for (; *at; at = &(*at)->next) {
            }
            *at = &u->sent[r];
        }
    }
    tell_all(h);
    pthread_mutex_unlock(&h->lock);
    return EG_OK;
}

static void took(hub *h, letter *from, bool *got)
{
    from->held = false;
    from->taken = true;
    *got = true;
    tell_all(h);
}

/* The letter of rank r, if it has come. Under the lock, but while it is copied. */
static eg_status take(local *l, eg__move *m, int r)
{
    hub *h = l->hub;
    under_way *u = m->state;
    const eg__part part = m->received[r];
    letter **line = line_of(h, r, l->base.rank, m->of_two), *came = *line;
    if (!came) {
        return h->gone[r] ? eg__fail(EG_EIO, "eg_comm", "rank %d is gone", r) : EG_OK;
    }
    if (!came->carrier != !m->carrier) { /* first: pieces are larger there */
        return eg__fail(EG_EIO, "eg_comm", "tensors of rank %d are on %s, those of this rank are not", r,
                        came->carrier ? "a device" : "the CPU");
    }
    if (came->number != m->number || came->bytes != part.bytes) {
        return eg__fail(EG_EIO, "eg_comm", "rank %d does something else: %lld bytes came of it, not %lld", r,
                        (long long)came->bytes, (long long)part.bytes);
    }
    *line = came->next;
    came->held = true;
    pthread_mutex_unlock(&h->lock);
    eg_status st = EG_OK;
    if (m->carrier) {
        st = eg__carriers_of(m->carrier)->copy(m->carrier, m->receive + part.at, came->carrier, came->data, part.bytes);
    } else {
        memcpy(m->receive + part.at, came->data, (size_t)part.bytes);
    }
    pthread_mutex_lock(&h->lock);
    if (m->carrier && !st) {
        u->held[r] = came;
    } else {
        took(h, came, &u->got[r]);
    }
    return st;
}

/* Gives back letters that the device has copied; wait: until it has. Under the lock. */
static eg_status give_back(local *l, eg__move *m, bool wait)
{
    hub *h = l->hub;
    under_way *u = m->state;
    bool any = false, settled = wait;
    for (int r = 0; r < h->ranks && !any; r++) {
        any = u->held[r];
    }
    if (!any) {
        return EG_OK;
    }
    eg_status st = EG_OK;
    pthread_mutex_unlock(&h->lock);
    if (wait) {
        eg__carriers_of(m->carrier)->finish(m->carrier);
    } else {
        st = eg__carriers_of(m->carrier)->settled(m->carrier, &settled);
    }
    pthread_mutex_lock(&h->lock);
    for (int r = 0; r < h->ranks && settled; r++) {
        if (u->held[r]) {
            took(h, u->held[r], &u->got[r]);
            u->held[r] = NULL;
        }
    }
    return st;
}

/* Takes back letters that nobody has read; who reads one is waited for. */
static void forget(local *l, eg__move *m)
{
    hub *h = l->hub;
    under_way *u = m->state;
    if (u) {
        give_back(l, m, true);
    }
    for (int r = 0; u && r < h->ranks; r++) {
        while (u->sent[r].held) {
            pthread_cond_wait(&h->changed, &h->lock);
        }
        for (letter **at = line_of(h, l->base.rank, r, m->of_two); *at && !u->sent[r].taken; at = &(*at)->next) {
            if (*at == &u->sent[r]) {
                *at = u->sent[r].next;
                break;
            }
        }
    }
    free(u);
    m->state = NULL;
}

/* Under the lock. */
static eg_status news_of(const hub *h)
{
    return *h->failed ? eg__fail(EG_EIO, "eg_comm", "rank %d has failed: %s", h->by, h->failed) : EG_OK;
}

static eg_status heard(eg__transport *t)
{
    hub *h = ((local *)t)->hub;
    pthread_mutex_lock(&h->lock);
    eg_status st = news_of(h);
    pthread_mutex_unlock(&h->lock);
    return st;
}

static uint8_t home(const eg__transport *t, uint8_t device, bool of_two)
{
    (void)t;
    (void)of_two;
    return eg__devices[device]->engine->carriers ? device : 0;
}

static eg_status poll(eg__transport *t, eg__move *m, bool *done)
{
    local *l = (local *)t;
    hub *h = l->hub;
    under_way *u = m->state;
    eg_status st = EG_OK;
    bool all = true;
    pthread_mutex_lock(&h->lock);
    l->seen = h->changes;
    st = news_of(h);
    for (int r = 0; r < h->ranks && !st; r++) {
        st = u->got[r] || u->held[r] ? EG_OK : take(l, m, r);
    }
    st = st ? st : give_back(l, m, false);
    for (int r = 0; r < h->ranks && !st; r++) {
        if (!st && !u->sent[r].taken && h->gone[r]) {
            st = eg__fail(EG_EIO, "eg_comm", "rank %d is gone", r);
        }
        all = all && u->got[r] && u->sent[r].taken;
    }
    if (!st && all) {
        forget(l, m);
        *done = true;
    }
    pthread_mutex_unlock(&h->lock);
    return st;
}

static int missing(eg__transport *t, const eg__move *m)
{
    local *l = (local *)t;
    const under_way *u = m->state;
    int found = -1;
    pthread_mutex_lock(&l->hub->lock);
    for (int r = 0; r < l->hub->ranks && found < 0; r++) {
        found = u->got[r] && u->sent[r].taken ? -1 : r;
    }
    pthread_mutex_unlock(&l->hub->lock);
    return found;
}

static bool drop(eg__transport *t, eg__move *m)
{
    local *l = (local *)t;
    pthread_mutex_lock(&l->hub->lock);
    forget(l, m);
    pthread_mutex_unlock(&l->hub->lock);
    return true;
}

static void wait_change(eg__transport *t, bool hurry)
{
    (void)hurry;
    local *l = (local *)t;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 20000000; /* works have limits */
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&l->hub->lock);
    if (l->seen == l->hub->changes) {
        pthread_cond_timedwait(&l->hub->changed, &l->hub->lock, &until);
    }
    pthread_mutex_unlock(&l->hub->lock);
}

static void tell(eg__transport *t, const char *why)
{
    hub *h = ((local *)t)->hub;
    pthread_mutex_lock(&h->lock);
    if (!*h->failed) {
        snprintf(h->failed, sizeof h->failed, "%s", why);
        h->by = t->rank;
        tell_all(h);
    }
    pthread_mutex_unlock(&h->lock);
}

/* ---- made and freed -------------------------------------------------------------------------- */

static void free_hub(hub *h)
{
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->changed);
    free(h->first);
    free(h->there);
    free(h);
}

static void close_end(eg__transport *t, bool orderly, double seconds)
{
    (void)orderly;
    (void)seconds;
    hub *h = ((local *)t)->hub;
    pthread_mutex_lock(&h->lock);
    h->gone[t->rank] = true;
    const bool last = --h->ends == 0;
    tell_all(h);
    pthread_mutex_unlock(&h->lock);
    if (last) {
        free_hub(h);
    }
    free(t);
}

static const eg__transport_class threads_class = {"threads", begin, poll,        home, heard,
                                                  missing,   drop,  wait_change, tell, close_end};

/* A rank's end of the hub. Under its lock, if others have one. */
static eg__transport *end_of(const char *op, hub *h, int rank)
{
    local *l = eg__malloc(sizeof *l);
    if (!l) {
        eg__no_memory(op, sizeof *l);
        return NULL;
    }
    *l = (local){.hub = h, .base = {&threads_class, rank, h->ranks}};
    h->there[rank] = true;
    h->ends++;
    return &l->base;
}

eg__transport *eg__comm_local(const char *op, int ranks)
{
    const size_t n = (size_t)ranks;
    hub *h = eg__malloc(sizeof *h);
    bool *there = h ? eg__malloc(2 * n * sizeof *there) : NULL;
    letter **first = there ? eg__malloc(2 * n * n * sizeof *first) : NULL;
    if (!first) {
        free(there);
        free(h);
        eg__no_memory(op, (int64_t)(2 * n * n * sizeof *first));
        return NULL;
    }
    memset(there, 0, 2 * n * sizeof *there);
    memset(first, 0, 2 * n * n * sizeof *first);
    *h = (hub){.ranks = ranks, .there = there, .gone = there + ranks, .first = first};
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_t steady; /* a clock that nobody sets */
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&h->changed, &steady);
    pthread_condattr_destroy(&steady);
    eg__transport *t = end_of(op, h, 0);
    if (!t) {
        free_hub(h);
    }
    return t;
}

eg__transport *eg__comm_local_other(const char *op, eg__transport *t, int rank)
{
    hub *h = ((local *)t)->hub;
    pthread_mutex_lock(&h->lock);
    eg__transport *other = NULL;
    if (h->there[rank]) {
        eg__fail(EG_ESTATE, op, "rank %d is taken", rank);
    } else {
        other = end_of(op, h, rank);
    }
    pthread_mutex_unlock(&h->lock);
    return other;
}
