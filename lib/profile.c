/* profile.c - recording what runs, and writing it as a Chrome trace.
 *
 * Records of all threads go one after the other into chunks, under one lock: next to an op and two looks at
 * the clock it does not matter. Open spans are closed in place. */
#define _POSIX_C_SOURCE 200809L
#include "lib/profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <egret/profile.h>

#include "lib/engine.h"
#include "lib/io/buffer.h"
#include "lib/io/file.h"
#include "lib/optable.h"

enum { CHUNK = 1 << 16, MOST_SHOWN = 8, MOST_DEEP = 32, WRITE_AT = 1 << 16 };

typedef enum kind { OP, RULE, SPAN, MARK } kind;

/* What happened once. Behind it lie, of an op, its inputs and outputs as words of dtype, ndim, sizes; of a
 * span and a mark, the text with its 0. */
typedef struct record {
    const char *name; /* of an op; the user's texts lie behind */
    const char *of;   /* the op whose gradient this belongs to, or NULL */
    int64_t start, time; /* ns; time -1: a span still open */
    int64_t live;        /* bytes; -1: not noted */
    uint32_t thread, bytes; /* bytes: of the record with what lies behind it */
    uint16_t kind, in, out, left_out; /* tensors behind it, and how many there was no room for */
} record;

typedef struct chunk {
    struct chunk *next;
    size_t used;
    int64_t data[]; /* records */
} chunk;

static struct {
    pthread_mutex_t lock;
    bool on, memory;
    uint64_t serial; /* of the profile, so that threads see that theirs is over */
    chunk *first, *last;
    int64_t start, room, dropped; /* room: bytes that may still be asked for */
    uint32_t threads;
    struct {
        int64_t calls, time;
    } total[EG__OP_COUNT][2];
} profile = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
        mine = (local){.serial = profile.serial, .number = ++profile.threads,
                       .rule = mine.rule,
                       .inner = mine.inner};
    }
    return &mine;
}

static void leave(void)
{
    pthread_mutex_unlock(&profile.lock);
}

/* Room for a record with so many bytes behind it; NULL, and counted, if there is none. */
static record *append(const local *l, kind k, size_t behind)
{
    size_t bytes = (sizeof(record) + behind + 7) & ~(size_t)7;
    chunk *c = profile.last;
    if (!c || CHUNK - c->used < bytes) {
        c = (int64_t)sizeof *c + CHUNK <= profile.room && bytes <= CHUNK
                ? eg__malloc(sizeof *c + CHUNK)
                : NULL;
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
    *r = (record){.of = l->rule, .live = -1, .thread = l->number, .bytes = (uint32_t)bytes, .kind = (uint16_t)k};
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

static void note_op(const local *l, const eg__call *c, int64_t start, int64_t end, int64_t live)
{
    int in = c->nin < MOST_SHOWN ? c->nin : MOST_SHOWN;
    size_t words = 0;
    for (int i = 0; i < in; i++) {
        words += words_of(c->in[i]);
    }
    for (int j = 0; j < c->op->nout; j++) {
        words += words_of(c->out[j]);
    }
    record *r = append(l, OP, words * sizeof(int64_t));
    if (!r) {
        return;
    }
    r->name = c->op->name;
    r->start = start;
    r->time = end - start;
    r->live = live;
    r->left_out = (uint16_t)(c->nin - in);
    int64_t *to = (int64_t *)(r + 1);
    for (int i = 0; i < in; i++) {
        r->in += c->in[i] != NULL;
        to = put_tensor(to, c->in[i]);
    }
    for (int j = 0; j < c->op->nout; j++) {
        r->out += c->out[j] != NULL;
        to = put_tensor(to, c->out[j]);
    }
}

eg_status eg__profile_kernel(const eg__call *c, eg__kernel *k)
{
    int64_t outer = mine.inner, start = now();
    mine.inner = 0;
    eg_status st = c->device ? eg__device_run(c, k) : k(c);
    int64_t end = now(), inner = mine.inner;
    mine.inner = outer + end - start;
    local *l = join();
    if (l) {
        int64_t live = profile.memory ? eg_memory_stats().live_bytes : -1;
        profile.total[c->op->id][l->rule != NULL].calls++;
        profile.total[c->op->id][l->rule != NULL].time += end - start - inner;
        note_op(l, c, start, end, live);
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
    record *r = l ? append(l, RULE, 0) : NULL;
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
static record *note_text(const local *l, kind k, const char *text)
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
        note_text(l, MARK, text);
        leave();
    }
}

void eg_profile_push(const char *name)
{
    local *l = name && eg__mode(eg__thread_get()) & EG__MODE_PROFILE ? join() : NULL;
    if (l) {
        record *r = l->depth < MOST_DEEP ? note_text(l, SPAN, name) : NULL;
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

/* ---- writing --------------------------------------------------------------------------------- */

/* Microseconds since the profile began, or of a time. */
static void put_time(eg__buffer *b, int64_t ns)
{
    char s[40];
    eg__put(b, s, (size_t)snprintf(s, sizeof s, "%lld.%03d", (long long)(ns / 1000), (int)(ns % 1000)));
}

static const int64_t *put_shapes(eg__buffer *b, const int64_t *from, int count)
{
    for (int i = 0; i < count; i++) {
        int ndim = (int)(*from / EG_DTYPE_COUNT);
        eg__put_word(b, i ? ", " : "");
        eg__put_word(b, eg_dtype_name((eg_dtype)(*from % EG_DTYPE_COUNT)));
        eg__put_word(b, " ");
        eg__put_word(b, eg__shape_text(ndim, from + 1).s);
        from += 1 + ndim;
    }
    return from;
}

static void put_op(eg__buffer *b, const record *r)
{
    eg__put_word(b, ",\"args\":{\"in\":\"");
    const int64_t *out = put_shapes(b, (const int64_t *)(r + 1), r->in);
    if (r->left_out) {
        eg__put_word(b, " and ");
        eg__put_int(b, r->left_out);
        eg__put_word(b, " more");
    }
    eg__put_word(b, "\",\"out\":\"");
    put_shapes(b, out, r->out);
    eg__put_word(b, "\"");
    if (r->of) {
        eg__put_word(b, ",\"gradient of\":");
        eg__put_string(b, r->of);
    }
    if (r->live >= 0) {
        eg__put_word(b, ",\"live bytes\":");
        eg__put_int(b, r->live);
    }
    eg__put_word(b, "}");
}

static void put_place(eg__buffer *b, const record *r)
{
    eg__put_word(b, ",\"pid\":");
    eg__put_int(b, getpid());
    eg__put_word(b, ",\"tid\":");
    eg__put_int(b, r->thread);
    eg__put_word(b, ",\"ts\":");
    put_time(b, r->start - profile.start);
}

static void put_record(eg__buffer *b, const record *r, int64_t end)
{
    static const char *const category[] = {"forward", "gradient", "span", "mark"};
    char rule[80];
    const char *name = r->name ? r->name : (const char *)(r + 1);
    if (r->kind == RULE) {
        snprintf(rule, sizeof rule, "%.60s backward", r->name);
        name = rule;
    }
    eg__put_word(b, ",\n{\"name\":");
    eg__put_string(b, name);
    eg__put_word(b, ",\"cat\":\"");
    eg__put_word(b, r->kind == OP && r->of ? "backward" : category[r->kind]);
    eg__put_word(b, r->kind == MARK ? "\",\"ph\":\"i\",\"s\":\"g\"" : "\",\"ph\":\"X\"");
    put_place(b, r);
    if (r->kind != MARK) {
        eg__put_word(b, ",\"dur\":");
        put_time(b, r->time < 0 ? end - r->start : r->time);
    }
    if (r->kind == OP) {
        put_op(b, r);
    }
    eg__put_word(b, "}");
}

/* A point of the curve of memory. */
static void put_live(eg__buffer *b, const record *r)
{
    record after = *r;
    after.start += r->time;
    eg__put_word(b, ",\n{\"name\":\"memory\",\"ph\":\"C\"");
    put_place(b, &after);
    eg__put_word(b, ",\"args\":{\"live bytes\":");
    eg__put_int(b, r->live);
    eg__put_word(b, "}}");
}

static eg_status flush(eg__target *file, eg__buffer *b, size_t least)
{
    if (b->full) {
        return eg__no_memory(file->op, b->n);
    }
    eg_status st = b->n >= least ? eg__target_write(file, b->s, b->n) : EG_OK;
    b->n = b->n >= least ? 0 : b->n;
    return st;
}

static eg_status write_all(eg__target *file, eg__buffer *b)
{
    eg_status st = EG_OK;
    int64_t end = now(), live = -1;
    eg__put_word(b, "{\"otherData\":{\"egret\":\"");
    eg__put_word(b, eg_version());
    eg__put_word(b, "\",\"dropped\":\"");
    eg__put_int(b, profile.dropped);
    eg__put_word(b, "\"},\n\"displayTimeUnit\":\"ms\",\n\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":"
                    "\"M\",\"pid\":");
    eg__put_int(b, getpid());
    eg__put_word(b, ",\"tid\":1,\"args\":{\"name\":\"egret\"}}");
    for (const chunk *c = profile.first; c; c = c->next) {
        for (size_t at = 0; at < c->used && !st;) {
            const record *r = (const record *)((const char *)c->data + at);
            put_record(b, r, end);
            if (r->live >= 0 && r->live != live) {
                put_live(b, r);
                live = r->live;
            }
            st = flush(file, b, WRITE_AT);
            at += r->bytes;
        }
    }
    eg__put_word(b, "\n]}\n");
    return st ? st : flush(file, b, 0);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void forget(void)
{
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
    pthread_mutex_lock(&profile.lock);
    bool already = profile.on;
    if (!already) {
        profile.on = true;
        profile.memory = o.memory;
        profile.serial++;
        profile.threads = 0;
        profile.dropped = 0;
        profile.room = o.most_bytes ? o.most_bytes : (int64_t)256 << 20;
        memset(profile.total, 0, sizeof profile.total);
        profile.start = now();
        eg__threads_mode(EG__MODE_PROFILE, true);
    }
    pthread_mutex_unlock(&profile.lock);
    return already ? eg__fail(EG_ESTATE, op, "a profile runs already") : EG_OK;
}

eg_status eg_profile_end(const char *path)
{
    static const char op[] = "eg_profile_end";
    eg__target file = {.fd = -1};
    eg__buffer b = {0};
    pthread_mutex_lock(&profile.lock);
    eg_status st = profile.on ? EG_OK : eg__fail(EG_ESTATE, op, "no profile runs");
    if (path && !st) {
        st = eg__target_open(&file, op, path);
        st = st ? st : write_all(&file, &b);
        st = eg__target_close(&file, st);
    }
    if (!st) {
        eg__threads_mode(EG__MODE_PROFILE, false);
        forget();
    }
    pthread_mutex_unlock(&profile.lock);
    free(b.s);
    return st;
}

void eg__profile_forget(void)
{
    forget();
}

/* ---- totals ---------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const eg_profile_total *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

int eg_profile_totals(eg_profile_total *totals, int most)
{
    eg_profile_total all[2 * EG__OP_COUNT];
    int n = 0;
    pthread_mutex_lock(&profile.lock);
    for (int i = 0; i < 2 * EG__OP_COUNT; i++) {
        if (profile.total[i / 2][i % 2].calls) {
            all[n++] = (eg_profile_total){.name = eg__ops[i / 2]->name,
                                          .backward = i % 2,
                                          .calls = profile.total[i / 2][i % 2].calls,
                                          .seconds = 1e-9 * (double)profile.total[i / 2][i % 2].time};
        }
    }
    pthread_mutex_unlock(&profile.lock);
    qsort(all, (size_t)n, sizeof *all, by_time);
    for (int i = 0; i < n && i < most; i++) {
        totals[i] = all[i];
    }
    return n;
}
