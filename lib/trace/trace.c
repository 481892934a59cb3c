/* trace.c - writing what a profile recorded in Chrome's trace format. Threads of the host are rows of their
 * numbers; streams of devices follow behind. */
#define _POSIX_C_SOURCE 200809L
#include "lib/trace/trace.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/core/device.h"
#include "lib/io/buffer.h"

enum { WRITE_AT = 1 << 16, DEVICE_ROWS = 100000 };

typedef eg__trace_record record;

/* Where something is shown: a row, and ns since the profile began. */
typedef struct place {
    int64_t row, start, time;
} place;

/* Device time on the host's clock: the drift between two moments that are known is spread. */
static int64_t on_host(const eg__trace_clock *c, int64_t there)
{
    enum { LEAST = 10000000 }; /* ns; over less the errors of the moments would be more than any drift */
    double ran = (double)(c->there[1] - c->there[0]), seen = (double)(c->here[1] - c->here[0]);
    double rate = ran > LEAST && seen > 0 ? seen / ran : 1;
    return c->here[0] + (int64_t)((double)(there - c->there[0]) * rate);
}

static place on_thread(const eg__trace *t, const record *r)
{
    int64_t time = r->time < 0 ? t->end - r->start : r->time;
    return (place){r->thread, r->start - t->start, time};
}

static place on_stream(const eg__trace *t, const record *r)
{
    const eg__trace_clock *c = &t->clocks[r->device];
    int64_t start = on_host(c, r->there_start), end = on_host(c, r->there_start + r->there_time);
    return (place){(int64_t)r->device * DEVICE_ROWS + r->stream, start - t->start, end - start};
}

/* Microseconds. */
static void put_time(eg__buffer *b, int64_t ns)
{
    char s[40];
    int n = snprintf(s, sizeof s, "%s%lld.%03lld", ns < 0 ? "-" : "", llabs(ns) / 1000, llabs(ns) % 1000);
    eg__put(b, s, (size_t)n);
}

static void put_row(eg__buffer *b, int64_t row)
{
    eg__put_word(b, ",\"pid\":");
    eg__put_int(b, getpid());
    eg__put_word(b, ",\"tid\":");
    eg__put_int(b, row);
}

static void put_place(eg__buffer *b, const record *r, place p)
{
    put_row(b, p.row);
    eg__put_word(b, ",\"ts\":");
    put_time(b, p.start);
    if (r->kind != EG__TRACE_MARK) {
        eg__put_word(b, ",\"dur\":");
        put_time(b, p.time);
    }
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

static void put_record(eg__buffer *b, const record *r, place p)
{
    static const char *const category[] = {"forward", "gradient", "span", "mark", "memory"};
    char rule[80];
    const char *name = r->name ? r->name : (const char *)(r + 1);
    if (r->kind == EG__TRACE_RULE) {
        snprintf(rule, sizeof rule, "%.60s backward", r->name);
        name = rule;
    }
    eg__put_word(b, ",\n{\"name\":");
    eg__put_string(b, name);
    eg__put_word(b, ",\"cat\":\"");
    eg__put_word(b, r->kind == EG__TRACE_OP && r->of ? "backward" : category[r->kind]);
    eg__put_word(b, r->kind == EG__TRACE_MARK ? "\",\"ph\":\"i\",\"s\":\"g\"" : "\",\"ph\":\"X\"");
    put_place(b, r, p);
    if (r->kind == EG__TRACE_OP) {
        put_op(b, r);
    } else if (r->kind == EG__TRACE_WORK) {
        eg__put_word(b, ",\"args\":{\"bytes\":");
        eg__put_int(b, *(const int64_t *)(r + 1));
        eg__put_word(b, "}");
    }
    eg__put_word(b, "}");
}

/* A point of a device's curve of memory. */
static void put_live(eg__buffer *b, const record *r, place p)
{
    eg__put_word(b, ",\n{\"name\":\"memory ");
    eg__put_word(b, eg__devices[r->device]->name);
    eg__put_word(b, "\",\"ph\":\"C\"");
    put_row(b, p.row);
    eg__put_word(b, ",\"ts\":");
    put_time(b, p.start + p.time);
    eg__put_word(b, ",\"args\":{\"live bytes\":");
    eg__put_int(b, r->live);
    eg__put_word(b, "}}");
}

static void put_stream_names(eg__buffer *b, const eg__trace *t)
{
    for (int d = 1; d < EG__MAX_DEVICES; d++) {
        for (int s = 0; s < 64; s++) {
            if (t->clocks[d].streams >> s & 1) {
                eg__put_word(b, ",\n{\"name\":\"thread_name\",\"ph\":\"M\"");
                put_row(b, (int64_t)d * DEVICE_ROWS + s);
                eg__put_word(b, ",\"args\":{\"name\":\"");
                eg__put_word(b, eg__devices[d]->name);
                eg__put_word(b, " stream ");
                eg__put_int(b, s);
                eg__put_word(b, "\"}}");
            }
        }
    }
}

static void put_head(eg__buffer *b, const eg__trace *t)
{
    eg__put_word(b, "{\"otherData\":{\"egret\":\"");
    eg__put_word(b, eg_version());
    eg__put_word(b, "\",\"dropped\":\"");
    eg__put_int(b, t->dropped);
    eg__put_word(b, "\",\"untimed\":\"");
    eg__put_int(b, t->untimed);
    eg__put_word(b, "\"},\n\"displayTimeUnit\":\"ms\",\n\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":"
                    "\"M\"");
    put_row(b, 1);
    eg__put_word(b, ",\"args\":{\"name\":\"egret\"}}");
    put_stream_names(b, t);
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

eg_status eg__trace_write(const eg__trace *t, eg__target *file)
{
    eg__buffer b = {0};
    eg_status st = EG_OK;
    int64_t live[EG__MAX_DEVICES];
    memset(live, -1, sizeof live);
    put_head(&b, t);
    for (const eg__trace_chunk *c = t->first; c; c = c->next) {
        for (size_t at = 0; at < c->used && !st;) {
            const record *r = (const record *)((const char *)c->data + at);
            place p = on_thread(t, r);
            put_record(&b, r, p);
            if (r->there_time >= 0) {
                put_record(&b, r, on_stream(t, r));
            }
            if (r->live >= 0 && r->live != live[r->device]) {
                put_live(&b, r, p);
                live[r->device] = r->live;
            }
            st = flush(file, &b, WRITE_AT);
            at += r->bytes;
        }
    }
    eg__put_word(&b, "\n]}\n");
    st = st ? st : flush(file, &b, 0);
    eg__buffer_free(&b);
    return st;
}
