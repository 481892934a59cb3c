/* shuffle.c - samples drawn at random from a buffer. */
#include "data/dataset.h"

#include <stdlib.h>

typedef struct shuffle {
    eg_dataset d;
    uint64_t seed, state;
    int64_t size, held;
    bool dry; /* upstream has ended */
    eg__sample *buffer;
} shuffle;

static void shuffle_empty(shuffle *s)
{
    while (s->held) {
        eg__sample_release(&s->buffer[--s->held]);
    }
}

static eg_status shuffle_start(eg_dataset *d, uint64_t epoch)
{
    shuffle *s = (shuffle *)d;
    shuffle_empty(s);
    s->dry = false;
    s->state = s->seed;
    s->state = eg__draw(&s->state) ^ (epoch * 0xd1342543de82ef95u + 1);
    return eg__start(d->from, epoch);
}

static eg_status shuffle_next(eg_dataset *d, eg__sample *out)
{
    shuffle *s = (shuffle *)d;
    while (!s->dry && s->held < s->size) {
        eg_status st = eg__next(d->from, &s->buffer[s->held]);
        if (st) {
            return st;
        }
        s->dry = s->buffer[s->held].n == 0;
        s->held += !s->dry;
    }
    if (s->held) {
        /* The bias of the remainder is below 2^-40 for any buffer that fits memory. */
        int64_t k = (int64_t)(eg__draw(&s->state) % (uint64_t)s->held);
        *out = s->buffer[k];
        s->buffer[k] = s->buffer[--s->held];
    }
    return EG_OK;
}

static void shuffle_free(eg_dataset *d)
{
    shuffle *s = (shuffle *)d;
    shuffle_empty(s);
    free(s->buffer);
}

static const eg__dataset_class shuffle_class = {
    .name = "eg_dataset_shuffle", .start = shuffle_start, .next = shuffle_next, .free = shuffle_free};

eg_dataset *eg_dataset_shuffle_with(eg_dataset *from, int64_t buffer, const eg_shuffle_options *o)
{
    if (!from) {
        return eg__null_argument(shuffle_class.name, "d"), NULL;
    }
    if (buffer < 1) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, shuffle_class.name, "buffer is %lld, must be 1 or more",
                             (long long)buffer);
    }
    int64_t count = eg_dataset_count(from), size = count >= 0 ? eg__min(buffer, count + 1) : buffer;
    shuffle *s = (shuffle *)eg__dataset_new(&shuffle_class, sizeof *s, from);
    if (!s) {
        return NULL;
    }
    s->seed = o ? o->seed : 0;
    s->size = size;
    s->buffer = size < INT64_MAX / (int64_t)sizeof *s->buffer
                    ? eg__malloc((size_t)size * sizeof *s->buffer)
                    : NULL;
    if (!s->buffer) {
        eg_dataset_free(&s->d);
        return eg__no_memory(shuffle_class.name, buffer), NULL;
    }
    return &s->d;
}
