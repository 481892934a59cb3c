/* repeat.c - several passes as one. */
#include "data/chain/dataset.h"

typedef struct repeat {
    eg_dataset d;
    int64_t times;       /* 0: without end */
    uint64_t first;      /* epoch of the first pass */
    int64_t pass, steps; /* the pass under way, what it has given */
    bool some;           /* more than failures */
    bool over;
} repeat;

/* Starts a pass; after the last, or if that fails, there is nothing more. */
static eg_status begin(repeat *r, int64_t pass)
{
    r->pass = pass;
    r->steps = 0;
    r->some = false;
    r->over = r->times && pass >= r->times;
    eg_status st = r->over ? EG_OK : eg__start(r->d.from, r->first + (uint64_t)pass);
    r->over = r->over || st;
    return st;
}

static eg_status repeat_start(eg_dataset *d, uint64_t epoch)
{
    repeat *r = (repeat *)d;
    r->first = r->times ? epoch * (uint64_t)r->times : epoch << 32;
    return begin(r, 0);
}

/* The pass under way has ended. */
static eg_status turn(repeat *r)
{
    r->over = !r->some;
    return r->over ? EG_OK : begin(r, r->pass + 1);
}

static eg_status repeat_next(eg_dataset *d, eg__sample *s)
{
    repeat *r = (repeat *)d;
    eg_status st = EG_OK;
    while (!st && !r->over) {
        st = eg__next(d->from, s);
        if (st || s->n) {
            r->steps++;
            r->some = r->some || !st;
            return st;
        }
        st = turn(r);
    }
    return st;
}

static eg_status repeat_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    repeat *r = (repeat *)d;
    int64_t count = eg_dataset_count(d->from), steps;
    eg_status st = EG_OK;
    while (!st && *done < n && !r->over) {
        int64_t left = n - *done, whole = count > 0 ? left / count : 0;
        if (r->steps == 0 && whole) { /* whole passes need not even be started */
            whole = r->times ? eg__min(whole, r->times - r->pass) : whole;
            *done += whole * count;
            st = begin(r, r->pass + whole);
            continue;
        }
        st = eg__skip(d->from, count > 0 ? eg__min(left, count - r->steps) : left, &steps);
        *done += steps;
        r->steps += steps;
        r->some = r->some || steps; /* nobody knows */
        if (!st && (steps == 0 || r->steps == count)) {
            st = turn(r);
        }
    }
    return st;
}

static int64_t repeat_count(const eg_dataset *d)
{
    const repeat *r = (const repeat *)d;
    int64_t n = eg_dataset_count(d->from), all;
    return n == 0 ? 0 : n < 0 || !r->times || __builtin_mul_overflow(n, r->times, &all) ? -1 : all;
}

static const eg__dataset_class repeat_class = {.name = "eg_dataset_repeat",
                                               .start = repeat_start,
                                               .next = repeat_next,
                                               .skip = repeat_skip,
                                               .count = repeat_count};

eg_dataset *eg_dataset_repeat(eg_dataset *from, int64_t times)
{
    if (eg__check_dataset(repeat_class.name, from)) {
        return NULL;
    }
    if (times < -1) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, repeat_class.name, "times is %lld, must be -1 or more", (long long)times);
    }
    repeat *r = (repeat *)eg__dataset_new(&repeat_class, sizeof *r, from);
    if (!r) {
        return NULL;
    }
    r->times = eg__max(times, 0);
    return &r->d;
}
