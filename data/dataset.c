/* dataset.c - walking a chain, and the links that need no thread: sources, map, shuffle, batch, take. */
#include "data/dataset.h"

#include <stdlib.h>

/* ---- links -------------------------------------------------------------------------------------- */

eg_dataset *eg__dataset_new(const eg__dataset_class *is, size_t size, eg_dataset *from)
{
    eg_dataset *d = eg__malloc(size);
    if (!d) {
        eg_dataset_free(from);
        return eg__no_memory(is->name, (int64_t)size), NULL;
    }
    memset(d, 0, size);
    d->is = is;
    d->from = from;
    return d;
}

void eg_dataset_free(eg_dataset *d)
{
    while (d) {
        eg_dataset *from = d->from;
        if (d->is->free) {
            d->is->free(d);
        }
        free(d);
        d = from;
    }
}

int64_t eg_dataset_count(const eg_dataset *d)
{
    return !d ? 0 : d->is->count ? d->is->count(d) : eg_dataset_count(d->from);
}

eg_status eg__start(eg_dataset *d, uint64_t epoch)
{
    return d->is->start ? d->is->start(d, epoch) : eg__start(d->from, epoch);
}

eg_status eg__next(eg_dataset *d, eg__sample *s)
{
    s->n = 0;
    return d->is->next(d, s);
}

void eg__sample_release(eg__sample *s)
{
    while (s->n) {
        eg_release(s->t[--s->n]);
    }
}

eg_status eg__sample_keep(const char *op, eg__sample *s, eg_tensor *const *t, int n)
{
    s->n = 0;
    if (n < 1 || n > EG_SAMPLE_MAX) {
        return eg__fail(EG_EINVAL, op, "a sample of %d tensors, 1..%d are possible", n,
                        EG_SAMPLE_MAX);
    }
    for (int i = 0; i < n; i++) {
        if (eg__check(t[i], op, "a tensor of the sample")) {
            eg__sample_release(s);
            return eg__why();
        }
        s->t[s->n++] = eg_keep(t[i]);
    }
    return EG_OK;
}

/* ---- walking ------------------------------------------------------------------------------------- */

eg_tensor *const *eg_dataset_next(eg_dataset *d)
{
    eg__sample s;
    if (!d || d->status || !d->scope.depth) {
        return NULL;
    }
    eg_scope_pop(d->scope, NULL);
    d->scope = eg_scope_push();
    d->status = d->scope.depth ? eg__next(d, &s) : eg__why();
    if (d->status || s.n == 0) {
        eg_scope_pop(d->scope, NULL);
        d->scope = (eg_scope){0, 0};
        return NULL;
    }
    for (int i = 0; i < s.n; i++) {
        if (!(d->sample[i] = eg_scope_adopt(s.t[i]))) {
            d->status = eg__why();
            while (i < s.n) {
                eg_release(s.t[i++]);
            }
            eg_scope_pop(d->scope, NULL);
            d->scope = (eg_scope){0, 0};
            return NULL;
        }
    }
    return d->sample;
}

eg_tensor *const *eg_dataset_first(eg_dataset *d)
{
    if (!d) {
        return eg__null_argument("eg_dataset_first", "dataset"), NULL;
    }
    d->status = eg__start(d, d->epoch++);
    d->scope = d->status ? (eg_scope){0, 0} : eg_scope_push();
    if (!d->status && !d->scope.depth) {
        d->status = eg__why();
    }
    return eg_dataset_next(d);
}

eg_status eg_dataset_status(const eg_dataset *d)
{
    return d ? d->status : eg__why();
}

/* ---- a function as source -------------------------------------------------------------------------- */

typedef struct function_source {
    eg_dataset d;
    eg_sample_fn f;
    void *user;
    void (*free_user)(void *);
    int64_t count, at;
} function_source;

static eg_status function_start(eg_dataset *d, uint64_t epoch)
{
    (void)epoch;
    ((function_source *)d)->at = 0;
    return EG_OK;
}

static eg_status function_next(eg_dataset *d, eg__sample *s)
{
    function_source *f = (function_source *)d;
    eg_tensor *t[EG_SAMPLE_MAX];
    int n = 0;
    if (f->at == f->count) {
        return EG_OK;
    }
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? f->f(f->at, t, &n, f->user) : eg__why();
    if (st && !eg_last_error()->code) {
        st = eg__fail(EG_EUSER, d->is->name, "the function failed at index %lld without a word",
                      (long long)f->at);
    }
    st = st ? st : eg__sample_keep(d->is->name, s, t, n);
    f->at += !st;
    eg_scope_pop(scope, NULL);
    return st;
}

static int64_t function_count(const eg_dataset *d)
{
    return ((const function_source *)d)->count;
}

static void function_free(eg_dataset *d)
{
    function_source *f = (function_source *)d;
    if (f->free_user) {
        f->free_user(f->user);
    }
}

static const eg__dataset_class function_class = {"eg_dataset_from", function_start, function_next,
                                                 function_count, function_free};

eg_dataset *eg_dataset_from(eg_sample_fn f, int64_t count, void *user, void (*free_user)(void *))
{
    if (!f || count < 0) {
        return eg__fail_null(EG_EINVAL, function_class.name, "needs a function and a count of 0 or "
                             "more, got %lld", (long long)count);
    }
    function_source *d = (function_source *)eg__dataset_new(&function_class, sizeof *d, NULL);
    if (!d) {
        return NULL;
    }
    d->f = f;
    d->count = count;
    d->user = user;
    d->free_user = free_user;
    return &d->d;
}

/* ---- tensors as source ------------------------------------------------------------------------------ */

static eg_status slice_of_tensors(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const eg__sample *all = user;
    for (*n = 0; *n < all->n; ++*n) {
        if (!(sample[*n] = eg_select(all->t[*n], 0, index))) {
            return eg__why();
        }
    }
    return EG_OK;
}

static void free_tensors(void *user)
{
    eg__sample_release(user);
    free(user);
}

eg_dataset *eg_dataset_from_tensors(eg_tensor *const *tensors, int n)
{
    static const char name[] = "eg_dataset_from_tensors";
    eg__sample *all = eg__malloc(sizeof *all);
    if (!all) {
        return eg__no_memory(name, (int64_t)sizeof *all), NULL;
    }
    if (eg__sample_keep(name, all, tensors, n)) {
        free(all);
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        if (eg_ndim(all->t[i]) < 1 || eg_size(all->t[i], 0) != eg_size(all->t[0], 0)) {
            eg__fail(EG_ESHAPE, name, "tensor %d has shape %s, the first %s: lengths differ", i,
                     EG__SHAPE_OF(all->t[i]), EG__SHAPE_OF(all->t[0]));
            free_tensors(all);
            return NULL;
        }
    }
    eg_dataset *d = eg_dataset_from(slice_of_tensors, eg_size(all->t[0], 0), all, free_tensors);
    if (!d) {
        free_tensors(all);
    }
    return d;
}

/* ---- map ---------------------------------------------------------------------------------------------- */

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
    eg_scope scope = eg_scope_push();
    st = scope.depth ? m->f(in.t, in.n, t, &n, m->user) : eg__why();
    if (st && !eg_last_error()->code) {
        st = eg__fail(EG_EUSER, d->is->name, "the function failed without a word");
    }
    st = st ? st : eg__sample_keep(d->is->name, s, t, n);
    eg_scope_pop(scope, NULL);
    eg__sample_release(&in);
    return st;
}

static const eg__dataset_class map_class = {"eg_dataset_map", NULL, map_next, NULL, NULL};

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

/* ---- shuffle ------------------------------------------------------------------------------------------- */

typedef struct shuffle {
    eg_dataset d;
    uint64_t seed, state;
    int64_t size, held;
    bool dry; /* upstream has ended */
    eg__sample *buffer;
} shuffle;

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

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
    s->state = draw(&s->state) ^ (epoch * 0xd1342543de82ef95u + 1);
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
        int64_t k = (int64_t)(draw(&s->state) % (uint64_t)s->held);
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

static const eg__dataset_class shuffle_class = {"eg_dataset_shuffle", shuffle_start, shuffle_next,
                                                NULL, shuffle_free};

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

/* ---- batch ----------------------------------------------------------------------------------------------- */

typedef struct batch {
    eg_dataset d;
    int64_t size;
    bool drop_last;
    eg__sample *samples;
    eg_tensor **column;
} batch;

/* The samples' k-th tensors stacked, for each k. */
static eg_status stack(batch *b, int64_t n, eg__sample *out)
{
    eg_tensor *t[EG_SAMPLE_MAX];
    int width = b->samples[0].n;
    eg_status st = EG_OK;
    eg_scope scope = eg_scope_push();
    for (int k = 0; k < width && !st; k++) {
        for (int64_t i = 0; i < n && !st; i++) {
            if (b->samples[i].n != width) {
                st = eg__fail(EG_ESHAPE, b->d.is->name, "sample %lld of the batch has %d tensors, the "
                              "first %d", (long long)i, b->samples[i].n, width);
            }
            b->column[i] = b->samples[i].t[k];
        }
        st = st ? st : (t[k] = eg_stack(b->column, (int)n, 0)) ? EG_OK : eg__why();
    }
    st = st ? st : eg__sample_keep(b->d.is->name, out, t, width);
    eg_scope_pop(scope, NULL);
    return st;
}

static eg_status batch_next(eg_dataset *d, eg__sample *out)
{
    batch *b = (batch *)d;
    int64_t n = 0;
    eg_status st = EG_OK;
    while (n < b->size && !st) {
        st = eg__next(d->from, &b->samples[n]);
        if (st || b->samples[n].n == 0) {
            break;
        }
        n++;
    }
    if (!st && n && !(b->drop_last && n < b->size)) {
        st = stack(b, n, out);
    }
    while (n) {
        eg__sample_release(&b->samples[--n]);
    }
    return st;
}

static int64_t batch_count(const eg_dataset *d)
{
    const batch *b = (const batch *)d;
    int64_t n = eg_dataset_count(d->from);
    return n < 0 ? n : b->drop_last ? n / b->size : (n + b->size - 1) / b->size;
}

static void batch_free(eg_dataset *d)
{
    free(((batch *)d)->samples);
    free(((batch *)d)->column);
}

static const eg__dataset_class batch_class = {"eg_dataset_batch", NULL, batch_next, batch_count,
                                              batch_free};

eg_dataset *eg_dataset_batch_with(eg_dataset *from, int64_t size, const eg_batch_options *o)
{
    if (!from) {
        return eg__null_argument(batch_class.name, "d"), NULL;
    }
    if (size < 1 || size > 65535) {
        eg_dataset_free(from);
        return eg__fail_null(EG_EINVAL, batch_class.name, "batch is %lld, must be 1..65535",
                             (long long)size);
    }
    batch *b = (batch *)eg__dataset_new(&batch_class, sizeof *b, from);
    if (!b) {
        return NULL;
    }
    b->size = size;
    b->drop_last = o && o->drop_last;
    b->samples = eg__malloc((size_t)size * sizeof *b->samples);
    b->column = eg__malloc((size_t)size * sizeof(eg_tensor *));
    if (!b->samples || !b->column) {
        eg_dataset_free(&b->d);
        return eg__no_memory(batch_class.name, size), NULL;
    }
    return &b->d;
}

/* ---- take -------------------------------------------------------------------------------------------------- */

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
    eg_status st = t->given < t->count ? eg__next(d->from, s) : EG_OK;
    t->given += s->n > 0;
    return st;
}

static int64_t take_count(const eg_dataset *d)
{
    int64_t n = eg_dataset_count(d->from), most = ((const take *)d)->count;
    return n < 0 ? n : eg__min(n, most);
}

static const eg__dataset_class take_class = {"eg_dataset_take", take_start, take_next, take_count,
                                             NULL};

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
