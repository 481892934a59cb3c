/* map.c - a function over samples. */
#include "data/dataset.h"

typedef struct map {
    eg_dataset d;
    eg_map_fn f;
    void *user;
} map;

static eg_status map_next(eg_dataset *d, eg__sample *s)
{
    map *m = (map *)d;
    eg__sample in;
    eg_tensor *t[EG_SAMPLE_MAX];
    int n = 0;
    eg_status st = eg__next(d->from, &in);
    if (st || in.n == 0) {
        return st;
    }
    s->file = in.file;
    s->at = in.at;
    eg_scope scope = eg_scope_push();
    st = scope.depth ? m->f(in.t, in.n, t, &n, m->user) : eg__why();
    if (st && !eg_last_error()->code) {
        st = eg__fail(EG_EUSER, d->is->name, "the function failed without a word");
    }
    st = st ? st : eg__sample_keep(d->is->name, s, t, n);
    st = st ? eg__sample_blame(s) : EG_OK;
    eg_scope_pop(scope, NULL);
    eg__sample_release(&in);
    return st;
}

static eg_status map_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    return eg__skip(d->from, n, done);
}

static const eg__dataset_class map_class = {
    .name = "eg_dataset_map", .next = map_next, .skip = map_skip};

eg_dataset *eg_dataset_map(eg_dataset *from, eg_map_fn f, void *user)
{
    if (!from || !f) {
        eg_dataset_free(from);
        return eg__null_argument(map_class.name, from ? "f" : "d"), NULL;
    }
    map *m = (map *)eg__dataset_new(&map_class, sizeof *m, from);
    if (!m) {
        return NULL;
    }
    m->f = f;
    m->user = user;
    return &m->d;
}
