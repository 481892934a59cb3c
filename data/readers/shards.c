/* shards.c - a set of files as one source: their order, which of them are open, whose turn it is. */
#include "data/readers/shards.h"

#include <pthread.h>
#include <stdlib.h>

#include "data/chain/dataset.h"
#include "lib/core/subsystem.h"

typedef struct slot {
    eg_dataset *d; /* NULL: the next file comes here */
    const char *file;
} slot;

typedef struct shards {
    eg_dataset d;
    eg__shards_plan p;
    eg_shards_options o;
    eg__names files; /* this rank's, sorted */
    uint32_t *order; /* in which they are opened */
    uint32_t next;   /* to open */
    slot *slots;     /* o.cycle of them */
    int at;          /* whose turn it is */
    int64_t left;    /* steps of it */
    uint64_t epoch;
    eg_left_out gone;     /* what files left out that have been closed */
    pthread_mutex_t lock; /* of gone and of who is in the slots: the consumer may look while others walk */
    uint32_t forks;       /* of the process whose threads may hold the lock */
} shards;

static const eg__dataset_class shards_class;

/* ---- files ----------------------------------------------------------------------------------------- */

static void enter(shards *s)
{
    if (s->forks != eg__forks()) {
        pthread_mutex_init(&s->lock, NULL);
        s->forks = eg__forks();
    }
    pthread_mutex_lock(&s->lock);
}

static void shut(shards *s, slot *p)
{
    eg_dataset *d = p->d;
    if (d) {
        enter(s);
        eg__left_out(d, &s->gone);
        p->d = NULL;
        pthread_mutex_unlock(&s->lock);
        d->owner = NULL;
        eg_dataset_free(d);
    }
}

/* Fisher and Yates 1938, in the pass's own order. */
static void draw_order(shards *s)
{
    uint64_t state = s->o.seed;
    state = eg__draw(&state) ^ (s->epoch * 0xd1342543de82ef95u + 1);
    for (uint32_t i = 0; i < s->files.n; i++) {
        uint32_t k = s->o.shuffle ? (uint32_t)(eg__draw(&state) % (i + 1)) : i;
        s->order[i] = i;
        s->order[i] = s->order[k];
        s->order[k] = i;
    }
}

/* What the user's function gives, called as those of chains are. */
static eg_dataset *open_by_user(shards *s, uint32_t file)
{
    eg__sample where = {.file = s->files.name[file]};
    eg__callback callback;
    eg_dataset *d = NULL;
    eg_status st = eg__callback_enter(&callback, &s->d, s->o.seed, s->epoch, (int64_t)file);
    if (!st) {
        d = s->p.open(where.file, s->p.user);
        st = d ? EG_OK : eg_last_error()->code ? eg_last_error()->code : EG_EUSER;
    }
    st = eg__callback_leave(&callback, st, s->p.op, &where);
    if (!st && eg__check_dataset(s->p.op, d)) {
        d = NULL;
    }
    return st ? NULL : d;
}

/* Opens the next file. Its samples are numbered from 0 like those of the others, so that chance in what opened it
 * hangs on the file too. */
static eg_status open_next(shards *s, slot *p)
{
    uint32_t file = s->order[s->next++];
    uint64_t epoch = s->epoch ^ (uint64_t)file * 0x9e3779b97f4a7c15u;
    p->file = s->files.name[file];
    eg_dataset *d = s->p.own ? open_by_user(s, file) : s->p.open(p->file, s->p.user);
    d = d && s->o.ahead ? eg_dataset_prefetch(d, s->o.ahead) : d;
    if (!d) {
        return eg__why();
    }
    enter(s);
    p->d = d;
    pthread_mutex_unlock(&s->lock);
    d->owner = shards_class.name;
    eg_status st = eg__start(d, s->files.n > 1 ? eg__draw(&epoch) : s->epoch);
    if (st) {
        shut(s, p);
    }
    return st;
}

/* ---- turns ----------------------------------------------------------------------------------------- */

static void pass_on(shards *s)
{
    s->at = (s->at + 1) % s->o.cycle;
    s->left = s->o.block;
}

/* Whose turn it is: NULL when all have ended. A file that cannot be opened is a failure of its own. */
static eg_status whose_turn(shards *s, slot **whose)
{
    *whose = NULL;
    for (int passed = 0; passed <= s->o.cycle; passed++) {
        slot *p = &s->slots[s->at];
        if (!p->d && s->next < s->files.n) {
            eg_status st = open_next(s, p);
            s->left = s->o.block;
            if (st) {
                return st;
            }
        }
        if (p->d && s->left > 0) {
            *whose = p;
            return EG_OK;
        }
        pass_on(s);
    }
    return EG_OK;
}

/* The file has ended: its place is the next one's, when the turn comes round to it. */
static void note_end(shards *s, slot *p)
{
    shut(s, p);
    pass_on(s);
}

static eg_status shards_start(eg_dataset *d, uint64_t epoch)
{
    shards *s = (shards *)d;
    for (int i = 0; i < s->o.cycle; i++) {
        shut(s, &s->slots[i]);
    }
    enter(s);
    s->gone = (eg_left_out){.first = {.op = ""}};
    pthread_mutex_unlock(&s->lock);
    s->epoch = epoch;
    s->next = 0;
    s->at = 0;
    s->left = s->o.block;
    draw_order(s);
    return EG_OK;
}

static eg_status shards_next(eg_dataset *d, eg__sample *sample)
{
    shards *s = (shards *)d;
    slot *p;
    eg_status st;
    while (!(st = whose_turn(s, &p)) && p) {
        st = eg__next(p->d, sample);
        if (st || sample->n) {
            s->left--;
            sample->file = sample->file ? p->file : NULL; /* what it named may be closed before the sample is gone */
            return st;
        }
        note_end(s, p);
    }
    return st;
}

static eg_status shards_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    shards *s = (shards *)d;
    eg_error was = *eg_last_error();
    while (*done < n) {
        slot *p;
        int64_t steps = 0;
        eg_status st = whose_turn(s, &p);
        if (st && st != EG_ENOMEM) { /* a step like others, which leaves no words */
            eg__thread_get()->error = was;
            ++*done;
            continue;
        }
        if (st || !p) {
            return st;
        }
        int64_t want = eg__min(n - *done, s->left);
        st = eg__skip(p->d, want, &steps);
        *done += steps;
        s->left -= steps;
        if (st) {
            return st;
        }
        if (steps < want) {
            note_end(s, p);
        }
    }
    return EG_OK;
}

static int64_t shards_count(const eg_dataset *d)
{
    (void)d;
    return -1;
}

static void shards_left_out(const eg_dataset *d, eg_left_out *sum)
{
    shards *s = (shards *)d;
    enter(s);
    sum->count += s->gone.count;
    if (!sum->first.code) {
        sum->first = s->gone.first;
    }
    for (int i = 0; i < s->o.cycle; i++) {
        eg__left_out(s->slots[i].d, sum);
    }
    pthread_mutex_unlock(&s->lock);
}

static void shards_free(eg_dataset *d)
{
    shards *s = (shards *)d;
    for (int i = 0; s->slots && i < s->o.cycle; i++) {
        shut(s, &s->slots[i]);
    }
    free(s->slots);
    free(s->order);
    eg__names_free(&s->files);
    pthread_mutex_destroy(&s->lock);
    if (s->p.free_user) {
        s->p.free_user(s->p.user);
    }
}

static const eg__dataset_class shards_class = {.name = "eg_shards_new",
                                               .start = shards_start,
                                               .next = shards_next,
                                               .skip = shards_skip,
                                               .count = shards_count,
                                               .left_out = shards_left_out,
                                               .free = shards_free};

/* ---- making one ------------------------------------------------------------------------------------ */

enum { MOST_CYCLE = 1024, MOST_AHEAD = 65535 };

static eg_status check_options(const char *op, eg_shards_options *o)
{
    o->cycle = o->cycle ? o->cycle : 1;
    o->block = o->block ? o->block : 1;
    o->ranks = o->ranks ? o->ranks : 1;
    if (o->cycle < 1 || o->cycle > MOST_CYCLE || o->block < 1) {
        return eg__fail(EG_EINVAL, op, "cycle is %d, must be 1..%d, block is %lld, must be 1 or more", o->cycle,
                        MOST_CYCLE, (long long)o->block);
    }
    if (o->rank < 0 || o->rank >= o->ranks) {
        return eg__fail(EG_EINVAL, op, "rank is %lld, must be 0..ranks - 1, ranks is %lld", (long long)o->rank,
                        (long long)o->ranks);
    }
    return o->ahead < 0 || o->ahead > MOST_AHEAD
               ? eg__fail(EG_EINVAL, op, "ahead is %lld, must be 0..%d", (long long)o->ahead, MOST_AHEAD)
               : EG_OK;
}

/* Files rank, rank + ranks, ... of those that match. */
static eg_status find_files(shards *s, const char *pattern)
{
    const char *op = s->p.op;
    eg__names all;
    eg_status st = eg__names_match(&all, op, pattern);
    if (st) {
        return st;
    }
    for (int64_t i = s->o.rank; i < (int64_t)all.n && !st; i += s->o.ranks) {
        st = eg__names_add(&s->files, all.name[i], strlen(all.name[i])) ? EG_OK : eg__no_memory(op, 0);
    }
    if (!st && !s->files.n) {
        st = eg__fail(EG_EINVAL, op, "\"%.120s\" are %u files: none is left for rank %lld of %lld", pattern, all.n,
                      (long long)s->o.rank, (long long)s->o.ranks);
    }
    eg__names_free(&all);
    return st;
}

eg_dataset *eg__shards_new(const eg__shards_plan *p, const char *pattern, const eg_shards_options *o)
{
    eg_shards_options checked = *o;
    eg_status st = check_options(p->op, &checked);
    shards *s = st ? NULL : (shards *)eg__dataset_new(&shards_class, sizeof *s, NULL);
    if (!s) {
        if (p->free_user) {
            p->free_user(p->user);
        }
        return NULL;
    }
    s->p = *p;
    s->o = checked;
    pthread_mutex_init(&s->lock, NULL);
    s->forks = eg__forks();
    s->d.callbacks = p->own;
    st = find_files(s, pattern);
    if (!st) {
        s->order = eg__malloc(s->files.n * sizeof *s->order);
        s->slots = eg__malloc((size_t)checked.cycle * sizeof *s->slots);
        st = s->order && s->slots ? EG_OK : eg__no_memory(p->op, (int64_t)s->files.n);
    }
    if (s->slots) {
        memset(s->slots, 0, (size_t)checked.cycle * sizeof *s->slots);
    }
    if (st) {
        eg_dataset_free(&s->d);
        return NULL;
    }
    (void)shards_start(&s->d, 0);
    return &s->d;
}

eg_dataset *eg_shards_new_with(const char *pattern, eg_open_fn open, void *user, const eg_shards_options *options)
{
    eg_shards_options o;
    eg__options(&o, sizeof o, options);
    if (!open) {
        return eg__null_argument(shards_class.name, "open"), NULL;
    }
    eg__shards_plan p = {.op = shards_class.name, .open = open, .user = user, .own = true};
    return eg__shards_new(&p, pattern, &o);
}
