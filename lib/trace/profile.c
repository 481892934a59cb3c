/* profile.c - recording what runs.
 *
 * Records of all threads go one after the other into chunks, under one lock: next to an op and two looks at
 * the clock it does not matter. Open spans are closed in place, and so are filled in the times on devices,
 * which come later: work there is put between two marks on its stream (lib/core/device.h), and these wait in a list
 * until the device has come past them. */
#define _POSIX_C_SOURCE 200809L
#include "lib/trace/profile.h"

#include <pthread.h>
#include <stdlib.h>

#include <egret/profile.h>

#include "lib/core/device.h"
#include "lib/core/subsystem.h"
#include "lib/core/observer.h"
#include "lib/ops/optable.h"
#include "lib/trace/trace.h"

enum { CHUNK = 1 << 16, MOST_SHOWN = 8, MOST_DEEP = 32, MANY_WAIT = 256 };

typedef eg__trace_record record;
typedef eg__trace_chunk chunk;

static struct {
    pthread_mutex_t lock;
    bool on, memory;
    uint64_t serial; /* of the profile, so that threads see that theirs is over */
    chunk *first, *last;
    int64_t start, room, dropped; /* room: bytes that may still be asked for */
    uint32_t threads;
    struct {
        int64_t calls, time, there;
    } total[EG__OP_COUNT][2];
    eg__timer *wait, **wait_end; /* marks that were not read yet */
    int64_t waiting, untimed;
    eg__trace_clock clocks[EG__MAX_DEVICES];
} profile = {.lock = PTHREAD_MUTEX_INITIALIZER, .wait_end = &profile.wait};

/* What a thread knows of the profile that runs. */
typedef struct local {
    uint64_t serial;
    uint32_t number;
    const char *rule;
    int64_t inner; /* ns that ops took inside the op that runs */
    int depth;
    record *open[MOST_DEEP];
} local;

static _Thread_local local mine;

static int64_t now(void)
{
    return (int64_t)(eg__seconds() * 1e9);
}

/* ---- recording ------------------------------------------------------------------------------- */

/* The calling thread's part in the profile that runs, with the lock held; NULL: none runs. */
static local *join(void)
{
    pthread_mutex_lock(&profile.lock);
    if (!profile.on) {
        pthread_mutex_unlock(&profile.lock);
        return NULL;
    }
    if (mine.serial != profile.serial) {
        mine = (local){.serial = profile.serial, .number = ++profile.threads, .rule = mine.rule, .inner = mine.inner};
    }
    return &mine;
}

static void around_fork(eg__fork when)
{
    eg__fork_lock(&profile.lock, when);
}

static void leave(void)
{
    pthread_mutex_unlock(&profile.lock);
}

/* Room for a record with so many bytes behind it; NULL, and counted, if there is none. */
static record *append(const local *l, eg__trace_kind k, size_t behind)
{
    size_t bytes = (sizeof(record) + behind + 7) & ~(size_t)7;
    chunk *c = profile.last;
    if (!c || CHUNK - c->used < bytes) {
        c = (int64_t)sizeof *c + CHUNK <= profile.room && bytes <= CHUNK ? eg__malloc(sizeof *c + CHUNK) : NULL;
        if (!c) {
            profile.dropped++;
            return NULL;
        }
        c->next = NULL;
        c->used = 0;
        profile.room -= (int64_t)sizeof *c + CHUNK;
        *(profile.last ? &profile.last->next : &profile.first) = c;
        profile.last = c;
    }
    record *r = (record *)((char *)c->data + c->used);
    c->used += bytes;
    *r = (record){.of = l->rule,
                  .there_time = -1,
                  .live = -1,
                  .thread = l->number,
                  .bytes = (uint32_t)bytes,
                  .kind = (uint16_t)k};
    return r;
}

static size_t words_of(const eg_tensor *t)
{
    return t ? 1 + (size_t)t->ndim : 0;
}

static int64_t *put_tensor(int64_t *to, const eg_tensor *t)
{
    if (t) {
        *to++ = t->ndim * EG_DTYPE_COUNT + t->dtype;
        memcpy(to, t->shape, t->ndim * sizeof *to);
        to += t->ndim;
    }
    return to;
}

static record *note_op(const local *l, const eg__call *c, int64_t start, int64_t end)
{
    int in = c->nin < MOST_SHOWN ? c->nin : MOST_SHOWN;
    size_t words = 0;
    for (int i = 0; i < in; i++) {
        words += words_of(c->in[i]);
    }
    for (int j = 0; j < c->op->nout; j++) {
        words += words_of(c->out[j]);
    }
    record *r = append(l, EG__TRACE_OP, words * sizeof(int64_t));
    if (!r) {
        return NULL;
    }
    r->name = c->op->name;
    r->start = start;
    r->time = end - start;
    r->device = c->device;
    r->left_out = (uint16_t)(c->nin - in);
    if (profile.memory) {
        r->live = eg_device_memory(eg__devices[c->device]).live_bytes;
    }
    int64_t *to = (int64_t *)(r + 1);
    for (int i = 0; i < in; i++) {
        r->in += c->in[i] != NULL;
        to = put_tensor(to, c->in[i]);
    }
    for (int j = 0; j < c->op->nout; j++) {
        r->out += c->out[j] != NULL;
        to = put_tensor(to, c->out[j]);
    }
    return r;
}

/* ---- times on devices ------------------------------------------------------------------------- */

/* A moment of the device's clock and ours: the one of some tries that took least. */
static bool read_clock(eg_device *d, bool restart, int64_t *there, int64_t *here)
{
    int64_t least = INT64_MAX;
    bool good = d->engine->timing && (!restart || d->engine->timing->clock(d, true, there));
    for (int i = 0; i < 3 && good; i++) {
        int64_t before = now(), at;
        good = d->engine->timing->clock(d, false, &at);
        int64_t took = now() - before;
        if (good && took < least) {
            least = took;
            *there = at;
            *here = before + took / 2;
        }
    }
    return good;
}

/* Called with the lock held. One that cannot be read is not asked again. */
static void start_clock(eg_device *d)
{
    eg__trace_clock *c = &profile.clocks[d->id];
    if (!c->tried) {
        c->tried = true;
        c->good = read_clock(d, true, &c->there[0], &c->here[0]);
    }
}

/* A mark on the thread's stream of the device; NULL: it gets none. */
static eg__timer *begin_timer(eg__thread *T, eg_device *d)
{
    bool good = join() != NULL;
    if (good) {
        start_clock(d);
        good = profile.clocks[d->id].good;
        leave();
    }
    return good ? d->engine->timing->begin(T, d) : NULL;
}

/* The oldest of what waits is read; false: the device has not come so far. */
static bool read_oldest(bool wait)
{
    eg__timer *s = profile.wait, was = *s;
    int64_t start, time;
    int got = eg__devices[was.device]->engine->timing->read(s, wait, &start, &time);
    if (!got) {
        return false;
    }
    profile.waiting--;
    profile.wait = was.next;
    profile.wait_end = was.next ? profile.wait_end : &profile.wait;
    record *r = was.note;
    if (got < 0) {
        profile.untimed++;
        return true;
    }
    if (was.outer) { /* ends later, so it is still waiting or not even that */
        was.outer->inner += time;
    }
    if (was.op < EG__OP_COUNT) {
        profile.total[was.op][was.backward].there += time - was.inner;
    }
    if (r) {
        r->there_start = start;
        r->there_time = time;
        r->stream = was.stream;
        profile.clocks[was.device].streams |= (uint64_t)1 << was.stream;
    }
    return true;
}

/* Work with these marks is over on the host; with the lock held if a profile runs, which l says. */
static void keep_timer(eg__timer *s, const local *l, record *r, uint16_t op)
{
    if (!s) {
        profile.untimed += l != NULL;
        return;
    }
    if (!l) {
        eg__devices[s->device]->engine->timing->drop(s);
        return;
    }
    s->next = NULL;
    s->note = r;
    s->op = op;
    s->backward = l->rule != NULL;
    *profile.wait_end = s;
    profile.wait_end = &s->next;
    profile.waiting++;
    for (int i = 0; i < 2 && profile.waiting > MANY_WAIT && read_oldest(false); i++) {
    }
}

static void forget_timers(void)
{
    while (profile.wait) {
        eg__timer *s = profile.wait;
        profile.wait = s->next;
        eg__devices[s->device]->engine->timing->drop(s);
    }
    profile.wait_end = &profile.wait;
    profile.waiting = 0;
}

static eg__work work_begin(eg__thread *T, eg_device *d, const char *what, int64_t bytes)
{
    eg__timer *s = begin_timer(T, d);
    return (eg__work){what, d, bytes, now(), s};
}

static void work_end(eg__thread *T, const eg__work *w)
{
    int64_t end = now();
    if (w->timer) {
        w->device->engine->timing->end(T, w->timer);
    }
    local *l = join();
    record *r = l ? append(l, EG__TRACE_WORK, sizeof w->bytes) : NULL;
    if (r) {
        r->name = w->what;
        r->start = w->start;
        r->time = end - w->start;
        r->device = w->device->id;
        memcpy(r + 1, &w->bytes, sizeof w->bytes);
    }
    keep_timer(w->timer, l, r, EG__OP_COUNT);
    if (l) {
        leave();
    }
}

/* ---- what runs --------------------------------------------------------------------------------- */

static eg_status run_kernel(const eg__call *c, eg__kernel *k)
{
    eg_device *d = c->device ? eg__devices[c->device] : NULL;
    eg__timer *s = d ? begin_timer(c->T, d) : NULL;
    int64_t outer = mine.inner, start = now();
    mine.inner = 0;
    eg_status st = d ? d->engine->run(c, k) : k(c);
    int64_t end = now(), inner = mine.inner;
    mine.inner = outer + end - start;
    if (s) {
        d->engine->timing->end(c->T, s);
    }
    local *l = join();
    record *r = NULL;
    if (l) {
        profile.total[c->op->id][l->rule != NULL].calls++;
        profile.total[c->op->id][l->rule != NULL].time += end - start - inner;
        r = note_op(l, c, start, end);
    }
    if (d) {
        keep_timer(s, l, r, c->op->id);
    }
    if (l) {
        leave();
    }
    return st;
}

eg__profile_rule eg__profile_rule_begin(const char *op)
{
    eg__profile_rule r = {op, mine.rule, now()};
    mine.rule = op;
    return r;
}

void eg__profile_rule_end(eg__profile_rule rule)
{
    local *l = join();
    record *r = l ? append(l, EG__TRACE_RULE, 0) : NULL;
    if (r) {
        r->name = rule.op;
        r->start = rule.start;
        r->time = now() - rule.start;
    }
    if (l) {
        leave();
    }
    mine.rule = rule.outer;
}

/* A record with the user's text behind it. */
static record *note_text(const local *l, eg__trace_kind k, const char *text)
{
    size_t n = strnlen(text, 1000) + 1;
    record *r = append(l, k, n);
    if (r) {
        char *to = (char *)(r + 1);
        memcpy(to, text, n - 1);
        to[n - 1] = 0;
        r->start = now();
    }
    return r;
}

void eg_profile_mark(const char *text)
{
    local *l = text && eg__mode(eg__thread_get()) & EG__MODE_PROFILE ? join() : NULL;
    if (l) {
        note_text(l, EG__TRACE_MARK, text);
        leave();
    }
}

void eg_profile_push(const char *name)
{
    local *l = name && eg__mode(eg__thread_get()) & EG__MODE_PROFILE ? join() : NULL;
    if (l) {
        record *r = l->depth < MOST_DEEP ? note_text(l, EG__TRACE_SPAN, name) : NULL;
        if (r) {
            r->time = -1;
        }
        if (l->depth < MOST_DEEP) {
            l->open[l->depth] = r;
        }
        l->depth++;
        leave();
    }
}

void eg_profile_pop(void)
{
    local *l = eg__mode(eg__thread_get()) & EG__MODE_PROFILE ? join() : NULL;
    if (l && l->depth > 0 && --l->depth < MOST_DEEP && l->open[l->depth]) {
        record *r = l->open[l->depth];
        r->time = now() - r->start;
    }
    if (l) {
        leave();
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void forget(void)
{
    forget_timers();
    while (profile.first) {
        chunk *next = profile.first->next;
        free(profile.first);
        profile.first = next;
    }
    profile.last = NULL;
    profile.on = false;
}

eg_status eg_profile_begin_with(const eg_profile_options *options)
{
    static const char op[] = "eg_profile_begin";
    eg_profile_options o;
    eg__options(&o, sizeof o, options);
    if (o.most_bytes < 0) {
        return eg__fail(EG_EINVAL, op, "most_bytes is %lld", (long long)o.most_bytes);
    }
    static eg__subsystem part = {.fork = around_fork, .end = forget};
    static const eg__observer observer = {run_kernel, work_begin, work_end};
    eg__subsystem_join(&part);
    eg__observe(&observer);
    pthread_mutex_lock(&profile.lock);
    bool already = profile.on;
    if (!already) {
        profile.on = true;
        profile.memory = o.memory;
        profile.serial++;
        profile.threads = 0;
        profile.dropped = 0;
        profile.untimed = 0;
        profile.room = o.most_bytes ? o.most_bytes : (int64_t)256 << 20;
        memset(profile.total, 0, sizeof profile.total);
        memset(profile.clocks, 0, sizeof profile.clocks);
        for (int i = 1; i < EG__MAX_DEVICES && eg__devices[i]; i++) {
            start_clock(eg__devices[i]);
        }
        profile.start = now();
        eg__threads_mode(EG__MODE_PROFILE, true);
    }
    pthread_mutex_unlock(&profile.lock);
    return already ? eg__fail(EG_ESTATE, op, "a profile runs already") : EG_OK;
}

/* Waits for the times of all that is queued. */
static void settle(void)
{
    while (profile.wait) {
        read_oldest(true);
    }
}

static eg_status write_trace(const char *op, const char *path)
{
    eg__target file = {.fd = -1};
    for (int i = 1; i < EG__MAX_DEVICES; i++) {
        eg__trace_clock *c = &profile.clocks[i];
        if (c->good && !read_clock(eg__devices[i], false, &c->there[1], &c->here[1])) {
            c->there[1] = c->there[0];
        }
    }
    eg__trace t = {profile.first, profile.start, now(), profile.dropped, profile.untimed, profile.clocks};
    eg_status st = eg__target_open(&file, op, path);
    st = st ? st : eg__trace_write(&t, &file);
    return eg__target_close(&file, st);
}

eg_status eg_profile_end(const char *path)
{
    static const char op[] = "eg_profile_end";
    pthread_mutex_lock(&profile.lock);
    eg_status st = profile.on ? EG_OK : eg__fail(EG_ESTATE, op, "no profile runs");
    if (!st) {
        settle();
    }
    if (path && !st) {
        st = write_trace(op, path);
    }
    if (!st) {
        eg__threads_mode(EG__MODE_PROFILE, false);
        forget();
    }
    pthread_mutex_unlock(&profile.lock);
    return st;
}

/* ---- totals ---------------------------------------------------------------------------------- */

static double longest(const eg_profile_total *t)
{
    return t->seconds > t->device_seconds ? t->seconds : t->device_seconds;
}

static int by_time(const void *a, const void *b)
{
    double x = longest(a), y = longest(b);
    return (x < y) - (x > y);
}

int eg_profile_totals_with(eg_profile_total *totals, int most, size_t size)
{
    eg_profile_total all[2 * EG__OP_COUNT];
    int n = 0;
    pthread_mutex_lock(&profile.lock);
    settle();
    for (int i = 0; i < 2 * EG__OP_COUNT; i++) {
        if (profile.total[i / 2][i % 2].calls) {
            all[n++] = (eg_profile_total){.name = eg__ops[i / 2]->name,
                                          .backward = i % 2,
                                          .calls = profile.total[i / 2][i % 2].calls,
                                          .seconds = 1e-9 * (double)profile.total[i / 2][i % 2].time,
                                          .device_seconds = 1e-9 * (double)profile.total[i / 2][i % 2].there};
        }
    }
    pthread_mutex_unlock(&profile.lock);
    qsort(all, (size_t)n, sizeof *all, by_time);
    for (int i = 0; totals && i < n && i < most; i++) {
        memcpy((char *)totals + (size_t)i * size, &all[i], size < sizeof *all ? size : sizeof *all);
    }
    return n;
}
