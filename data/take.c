/* take.c - the first samples. */
#include "data/dataset.h"

typedef struct take {
    eg_dataset d;
    int64_t count, given;
} take;

static eg_status take_start(eg_dataset *d, uint64_t epoch)
{
    ((take *)d)->given = 0;
    return eg__start(d->from, epoch);
}

static eg_status take_next(eg_dataset *d, eg__sample *s)
{
    take *t = (take *)d;
    return t->given++ < t->count ? eg__next(d->from, s) : EG_OK;
}

static eg_status take_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    take *t = (take *)d;
    n = eg__max(0, eg__min(n, t->count - t->given));
    t->given += n;
    return eg__skip(d->from, n, done);
}

static int64_t take_count(const eg_dataset *d)
{
    int64_t n = eg_dataset_count(d->from), most = ((const take *)d)->count;
    return n < 0 ? n : eg__min(n, most);
}

static const eg__dataset_class take_class = {.name = "eg_dataset_take",
                                             .start = take_start,
                                             .next = take_next,
                                             .skip = take_skip,
                                             .count = take_count};

eg_dataset *eg_dataset_take(eg_dataset *from, int64_t count)
{
    if (!from) {
        return eg__null_argument(take_class.name, "d"), NULL;
    }
    if (count < 0) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, take_class.name, "count is %lld, must be 0 or more",
                             (long long)count);
    }
    take *t = (take *)eg__dataset_new(&take_class, sizeof *t, from);
    if (t) {
        t->count = count;
    }
    return t ? &t->d : NULL;
}
