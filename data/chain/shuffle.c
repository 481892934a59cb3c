/* shuffle.c - samples drawn at random from a buffer. */
#include "data/chain/dataset.h"

#include <stdlib.h>

/* A failure has a place too, so that the order does not depend on whether skipped samples could be made. */
typedef struct slot {
    eg__sample sample;
    eg_error *failure; /* NULL: the sample */
    int64_t step;      /* of a failure: the step upstream */
} slot;

typedef struct shuffle {
    eg_dataset d;
    uint64_t seed, state, ordered;
    bool plain; /* this epoch comes as it is */
    int64_t size, held;
    int64_t read; /* steps taken upstream */
    bool dry;     /* it has ended */
    slot *buffer;
} shuffle;

static void slot_empty(slot *p)
{
    eg__sample_release(&p->sample);
    free(p->failure);
    p->failure = NULL;
}

static void shuffle_empty(shuffle *s)
{
    while (s->held) {
        slot_empty(&s->buffer[--s->held]);
    }
}

static eg_status shuffle_start(eg_dataset *d, uint64_t epoch)
{
    shuffle *s = (shuffle *)d;
    shuffle_empty(s);
    s->read = 0;
    s->dry = false;
    s->plain = epoch < s->ordered;
    s->state = s->seed;
    s->state = eg__draw(&s->state) ^ (epoch * 0xd1342543de82ef95u + 1);
    return eg__start(d->from, epoch);
}

/* The next sample's place in the buffer. */
static int64_t pick(shuffle *s)
{
    /* The bias of the remainder is below 2^-40 for any buffer that fits memory. */
    return (int64_t)(eg__draw(&s->state) % (uint64_t)s->held);
}

/* The next step upstream, a failure without its words on record. Fails with EG_ENOMEM only. */
static eg_status read_step(shuffle *s, slot *p)
{
    eg_error was = *eg_last_error();
    eg_status st = eg__next(s->d.from, &p->sample);
    s->read++;
    p->failure = NULL;
    if (!st || st == EG_ENOMEM) {
        return st;
    }
    if (!(p->failure = eg__malloc(sizeof *p->failure))) {
        return eg__no_memory(s->d.is->name, (int64_t)sizeof *p->failure);
    }
    *p->failure = *eg_last_error();
    p->step = s->read - 1;
    eg__thread_get()->error = was;
    return EG_OK;
}

/* Failures come in the order they were read in, whichever of their places is drawn: the first bad line of a file is the
 * first that is reported. */
static void take_first_failure(shuffle *s, slot *drawn)
{
    for (int64_t i = 0; i < s->held; i++) {
        slot *p = &s->buffer[i];
        if (p->failure && p->step < drawn->step) {
            eg_error *failure = p->failure;
            int64_t step = p->step;
            p->failure = drawn->failure;
            p->step = drawn->step;
            drawn->failure = failure;
            drawn->step = step;
        }
    }
}

static eg_status shuffle_next(eg_dataset *d, eg__sample *out)
{
    shuffle *s = (shuffle *)d;
    if (s->plain) {
        return eg__next(d->from, out);
    }
    while (!s->dry && s->held < s->size) {
        slot *p = &s->buffer[s->held];
        eg_status st = read_step(s, p);
        if (st) {
            return st;
        }
        s->dry = p->sample.n == 0 && !p->failure;
        s->held += !s->dry;
    }
    if (s->held == 0) {
        return EG_OK;
    }
    int64_t k = pick(s);
    slot drawn = s->buffer[k];
    eg_status st = EG_OK;
    s->buffer[k] = s->buffer[--s->held];
    *out = drawn.sample;
    if (drawn.failure) {
        take_first_failure(s, &drawn);
        st = eg__fail(drawn.failure->code, drawn.failure->op, "%s", drawn.failure->message);
        free(drawn.failure);
    }
    return st;
}

/* ---- skipping: only samples that stay in the buffer are made ------------------------------------------- */

typedef struct plan {
    int64_t step, place; /* the step upstream that fills a place of the buffer, -1: it is full already */
} plan;

/* Draws as next would, with step numbers in place of samples. */
static int64_t draw_steps(shuffle *s, plan *p, int64_t n, int64_t count, int64_t *read)
{
    int64_t done = 0;
    for (int64_t i = 0; i < s->held; i++) {
        p[i].step = -1;
    }
    for (*read = s->read; done < n; done++) {
        for (; *read < count && s->held < s->size; s->held++) {
            s->buffer[s->held] = (slot){.failure = NULL};
            p[s->held].step = (*read)++;
        }
        if (s->held == 0) {
            break;
        }
        int64_t k = pick(s);
        slot_empty(&s->buffer[k]);
        s->buffer[k] = s->buffer[--s->held];
        p[k].step = p[s->held].step;
    }
    return done;
}

static int by_step(const void *a, const void *b)
{
    int64_t x = ((const plan *)a)->step, y = ((const plan *)b)->step;
    return (x > y) - (x < y);
}

static eg_status advance(shuffle *s, int64_t to)
{
    int64_t done;
    eg_status st = eg__skip(s->d.from, to - s->read, &done);
    s->read = to;
    return st;
}

/* Makes the samples that are still planned; places left empty are closed. */
static eg_status fill_places(shuffle *s, plan *p, int64_t read)
{
    eg_status st = EG_OK;
    int64_t n = 0, held = 0;
    for (int64_t i = 0; i < s->held; i++) {
        if (p[i].step >= 0) {
            p[n++] = (plan){p[i].step, i};
        }
    }
    qsort(p, (size_t)n, sizeof *p, by_step);
    for (int64_t i = 0; i < n && !st; i++) {
        st = advance(s, p[i].step);
        st = st ? st : read_step(s, &s->buffer[p[i].place]);
    }
    st = st ? st : advance(s, read);
    for (int64_t i = 0; i < s->held; i++) {
        if (s->buffer[i].sample.n || s->buffer[i].failure) {
            s->buffer[held++] = s->buffer[i];
        }
    }
    s->held = held;
    return st;
}

static eg_status shuffle_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    shuffle *s = (shuffle *)d;
    int64_t count = eg_dataset_count(d->from), read;
    if (s->plain) {
        return eg__skip(d->from, n, done);
    }
    if (count < 0 || n < s->size / 4) { /* the end cannot be foreseen, or it would not pay */
        return eg__skip_by_next(d, n, done);
    }
    plan *p = eg__malloc((size_t)s->size * sizeof *p);
    if (!p) {
        return eg__no_memory(d->is->name, s->size * (int64_t)sizeof *p);
    }
    *done = draw_steps(s, p, n, count, &read);
    eg_status st = fill_places(s, p, read);
    free(p);
    return st;
}

static void shuffle_free(eg_dataset *d)
{
    shuffle *s = (shuffle *)d;
    shuffle_empty(s);
    free(s->buffer);
}

static const eg__dataset_class shuffle_class = {.name = "eg_dataset_shuffle",
                                                .start = shuffle_start,
                                                .next = shuffle_next,
                                                .skip = shuffle_skip,
                                                .free = shuffle_free};

eg_dataset *eg_dataset_shuffle_with(eg_dataset *from, int64_t buffer, const eg_shuffle_options *options)
{
    eg_shuffle_options o;
    eg__options(&o, sizeof o, options);
    if (eg__check_dataset(shuffle_class.name, from)) {
        return NULL;
    }
    if (buffer < 1 || o.ordered < 0) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, shuffle_class.name, "buffer is %lld, must be 1 or more; ordered %lld",
                             (long long)buffer, (long long)o.ordered);
    }
    int64_t count = eg_dataset_count(from), size = count >= 0 && count < buffer ? count + 1 : buffer;
    shuffle *s = (shuffle *)eg__dataset_new(&shuffle_class, sizeof *s, from);
    if (!s) {
        return NULL;
    }
    s->seed = o.seed;
    s->ordered = (uint64_t)o.ordered;
    s->size = size;
    s->buffer = size < INT64_MAX / (int64_t)sizeof *s->buffer ? eg__malloc((size_t)size * sizeof *s->buffer) : NULL;
    if (!s->buffer) {
        eg_dataset_free(&s->d);
        return eg__no_memory(shuffle_class.name, buffer), NULL;
    }
    return &s->d;
}
