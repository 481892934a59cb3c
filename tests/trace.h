/* trace.h - a profile's file, read back. */
#ifndef EGRET_TESTS_TRACE_H
#define EGRET_TESTS_TRACE_H

#include "lib/io/json.h"
#include "tests/egt.h"

enum { MOST = 20000 };

typedef struct event {
    char name[80], cat[16], ph[4], in[200], of[40];
    char row[40]; /* what a row is called */
    double ts, dur, live;
    int64_t tid, bytes;
} event;

static event events[MOST];
static int count;
static int64_t dropped, untimed;

static inline void take(event *e, const char *key, const char *value)
{
    const struct {
        const char *key;
        char *to;
        size_t size;
    } texts[] = {{"name", e->name, sizeof e->name},
                 {"cat", e->cat, sizeof e->cat},
                 {"ph", e->ph, sizeof e->ph},
                 {"in", e->in, sizeof e->in},
                 {"gradient of", e->of, sizeof e->of}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!strcmp(key, texts[i].key) && !(texts[i].to == e->name && e->name[0])) {
            snprintf(texts[i].to, texts[i].size, "%s", value);
        }
    }
    if (!strcmp(key, "name") && strcmp(e->name, value)) { /* a second one is among the arguments */
        snprintf(e->row, sizeof e->row, "%.39s", value);
    }
    e->ts = strcmp(key, "ts") ? e->ts : atof(value);
    e->dur = strcmp(key, "dur") ? e->dur : atof(value);
    e->live = strcmp(key, "live bytes") ? e->live : atof(value);
    e->tid = strcmp(key, "tid") ? e->tid : atoll(value);
    e->bytes = strcmp(key, "bytes") ? e->bytes : atoll(value);
    untimed = strcmp(key, "untimed") ? untimed : atoll(value);
    dropped = strcmp(key, "dropped") ? dropped : atoll(value);
}

/* All events of the file, by one walk over its tokens. */
static inline void read_trace(const char *path)
{
    size_t size;
    char *s = egt_read(path, &size), key[40] = "", value[400];
    eg__json j;
    eg__json_begin(&j, s, (int64_t)size);
    event header = {.live = -1}, *e = &header;
    bool inside = false;
    count = 0;
    dropped = untimed = -1;
    for (eg__json_token t = eg__json_next(&j); t != EG__JSON_END; t = eg__json_next(&j)) {
        if (t == EG__JSON_ERROR) {
            egt_fail(__FILE__, __LINE__, "at %lld: %s", (long long)j.at, j.error);
        }
        snprintf(value, sizeof value, "%.*s", (int)j.length, j.text);
        if (t == EG__JSON_KEY) {
            snprintf(key, sizeof key, "%.39s", value);
            inside = inside || !strcmp(key, "traceEvents");
        } else if (t == EG__JSON_OBJECT && inside && j.depth == 3) {
            EGT_CHECK(count < MOST);
            e = &events[count++];
            *e = header;
            e->name[0] = 0;
        } else if (t == EG__JSON_STRING || t == EG__JSON_NUMBER) {
            take(e, key, value);
        }
    }
    free(s);
    EGT_CHECK(dropped >= 0 && untimed >= 0);
}

static inline int find(const char *name, const char *cat)
{
    for (int i = 0; i < count; i++) {
        if (!strcmp(events[i].name, name) && (!cat || !strcmp(events[i].cat, cat))) {
            return i;
        }
    }
    return -1;
}

static inline bool within(const event *a, const event *b)
{
    return a->tid == b->tid && a->ts >= b->ts - 0.002 && a->ts + a->dur <= b->ts + b->dur + 0.002;
}

#endif
