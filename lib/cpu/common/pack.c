/* pack.c - rearranged copies of weights, hung on their storage. One lock guards all lists: it is held for a
 * few nanoseconds per product of weights worth packing. */
#include <pthread.h>
#include <stdlib.h>

#include "lib/cpu/common/pack.h"
#include "lib/core/subsystem.h"

/* A weight has one copy per layout its kernels want; more than this many are not kept. */
enum { MAX_COPIES = 6 };
/* Packing costs about as much as a product of a few rows, so it must serve at least this often. */
enum { USES_THAT_PAY = 3 };

struct packs {
    eg__attached head;
    eg__pack *first;
    uint32_t version[2], uses[2]; /* by way */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t now;

static void around_fork(eg__fork when)
{
    eg__fork_lock(&lock, when);
}

static eg__subsystem part = {.fork = around_fork};

static void drop(eg__thread *T, eg__pack **at)
{
    eg__pack *p = *at;
    *at = p->next;
    eg__block_free(T, p->data, p->cls);
    free(p);
}

static void free_packs(eg__thread *T, eg__attached *packs)
{
    struct packs *l = (struct packs *)packs;
    while (l->first) {
        drop(T, &l->first);
    }
    free(l);
}

/* The storage's list; NULL: no memory. */
static struct packs *packs_of(eg__storage *s)
{
    struct packs *l = (struct packs *)s->attached;
    if (!l && (l = eg__malloc(sizeof *l))) {
        memset(l, 0, sizeof *l);
        l->head.free = free_packs;
        s->attached = &l->head;
    }
    return l;
}

static eg__pack *find(struct packs *l, const int64_t *key, int nkey, uint32_t version, bool full)
{
    for (eg__pack *p = l->first; p; p = p->next) {
        bool fits = full ? p->full && p->version == version : p->users == 0;
        if (fits && p->nkey == nkey && !memcmp(p->key, key, (size_t)nkey * sizeof *key)) {
            return p;
        }
    }
    return NULL;
}

/* Makes room for one more copy. */
static void evict(eg__thread *T, struct packs *l)
{
    int n = 0;
    eg__pack **oldest = NULL;
    for (eg__pack **p = &l->first; *p; p = &(*p)->next, n++) {
        oldest = (*p)->users == 0 && (!oldest || (*p)->used < (*oldest)->used) ? p : oldest;
    }
    if (n >= MAX_COPIES && oldest) {
        drop(T, oldest);
    }
}

static eg__pack *add(eg__thread *T, struct packs *l, const int64_t *key, int nkey, size_t bytes)
{
    evict(T, l);
    eg__pack *p = eg__malloc(sizeof *p + (size_t)nkey * sizeof *key);
    if (!p) {
        return NULL;
    }
    p->data = eg__block_alloc(T, bytes, &p->cls);
    if (!p->data) {
        free(p);
        return NULL;
    }
    p->bytes = bytes;
    p->nkey = (uint16_t)nkey;
    memcpy(p->key, key, (size_t)nkey * sizeof *key);
    p->next = l->first;
    l->first = p;
    return p;
}

eg__pack *eg__pack_get(eg__thread *T, eg__storage *s, const int64_t *key, int nkey, size_t bytes)
{
    if (s->cls == EG__CLS_USER) {
        return NULL;
    }
    uint32_t version = atomic_load_explicit(&s->version, memory_order_relaxed);
    eg__subsystem_join(&part);
    pthread_mutex_lock(&lock);
    struct packs *l = packs_of(s);
    eg__pack *p = l ? find(l, key, nkey, version, true) : NULL;
    if (p) {
        p->users++;
    } else if (l) {
        p = find(l, key, nkey, version, false); /* of an older version: its memory serves again */
        p = p ? p : add(T, l, key, nkey, bytes);
        if (p) {
            p->users = 1;
            p->full = false;
            p->version = version;
        }
    }
    if (p) {
        p->used = ++now;
    }
    pthread_mutex_unlock(&lock);
    return p;
}

void eg__pack_filled(eg__pack *p)
{
    pthread_mutex_lock(&lock);
    p->full = true;
    pthread_mutex_unlock(&lock);
}

void eg__pack_put(eg__pack *p)
{
    pthread_mutex_lock(&lock);
    p->users--;
    pthread_mutex_unlock(&lock);
}

bool eg__pack_pays(eg__storage *s, int way)
{
    bool pays = false;
    if (s->cls == EG__CLS_USER) {
        return false;
    }
    uint32_t version = atomic_load_explicit(&s->version, memory_order_relaxed);
    eg__subsystem_join(&part);
    pthread_mutex_lock(&lock);
    struct packs *l = packs_of(s);
    if (l) {
        l->uses[way] = l->version[way] == version ? l->uses[way] + 1 : 1;
        l->version[way] = version;
        bool other = l->version[!way] == version && l->uses[!way] >= USES_THAT_PAY;
        pays = l->uses[way] >= USES_THAT_PAY && !other;
    }
    pthread_mutex_unlock(&lock);
    return pays;
}
