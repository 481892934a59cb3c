/* gguf.c - GGUF, the files of ggml and llama.cpp: keys with values, what the tensors are, the tensors
 * (github.com/ggml-org/ggml, docs/gguf.md). */
#include "lib/io/gguf.h"
#include "lib/core/counted.h"

#include <stdlib.h>

#include "lib/core/parallel.h"
#include "lib/io/formats.h"

/* Bytes of a key with its value, and of what says what a tensor is, at least. */
enum { LEAST_KEY = 14, LEAST_TENSOR = 25 };

typedef struct entry {
    const eg__gguf_type *type;
    eg_shape shape; /* here */
    int64_t at, bytes;
} entry;

typedef struct reader {
    eg__backing *backing;
    entry *entry;
    uint32_t count, capacity;
} reader;

/* ---- what the tensors are -------------------------------------------------------------------------- */

/* Sizes, of which the file has the last first. */
static eg_status read_shape(eg__gguf_cursor *c, eg_shape *shape)
{
    const int64_t at = c->at;
    uint64_t ndim = 0, size = 0;
    eg_status st = eg__gguf_read(c, 4, &ndim);
    if (!st && ndim > EG_MAX_DIMS) {
        return eg__source_bad(c->source, at, "\"%.80s\" has %llu axes, at most %d are possible", c->name.s,
                              (unsigned long long)ndim, EG_MAX_DIMS);
    }
    shape->ndim = (int)ndim;
    for (int d = shape->ndim; d-- > 0 && !st;) {
        st = eg__gguf_read(c, 8, &size);
        shape->dim[d] = (int64_t)size;
        if (size > INT64_MAX) {
            st = eg__source_bad(c->source, at, "an axis of \"%.80s\" has 2^63 elements or more", c->name.s);
        }
    }
    return st;
}

/* What it is here, and its bytes there. */
static eg_status describe(eg__gguf_cursor *c, int64_t at, entry *e, eg_tensor_about *about)
{
    const eg__gguf_type *t = e->type;
    int64_t *row = &e->shape.dim[e->shape.ndim ? e->shape.ndim - 1 : 0];
    bool fits = !t->elements || (e->shape.ndim && *row % t->elements == 0);
    if (fits && t->elements && !t->unpack) {
        fits = !__builtin_mul_overflow(*row / t->elements, t->bytes, row);
    }
    if (!fits || eg__element_about(c->source->op, t->element, &e->shape, about)) {
        return eg__source_bad(c->source, at, "\"%.50s\" of %s: rows are no whole blocks of %s, or too large", c->name.s,
                              eg__shape_text(e->shape.ndim, e->shape.dim).s, t->word);
    }
    if (t->unpack) {
        about->bytes = about->bytes / (int64_t)sizeof(float) / t->elements * t->bytes;
    }
    about->stored = t->word;
    e->bytes = about->bytes;
    return EG_OK;
}

/* Name, shape, type and place of a tensor, counted from where all begin. */
static eg_status read_entry(eg__gguf_cursor *c, reader *r, eg_tensors *map)
{
    const int64_t at = c->at;
    uint64_t number = 0, place = 0;
    entry e = {.type = NULL};
    eg_tensor_about about;
    if (r->count == r->capacity && !eg__counted_grow(&r->entry, &r->capacity, sizeof *r->entry)) {
        return eg__no_memory(c->source->op, (int64_t)sizeof *r->entry);
    }
    eg_status st = eg__gguf_name(c, "tensor");
    st = st ? st : read_shape(c, &e.shape);
    st = st ? st : eg__gguf_read(c, 4, &number);
    st = st ? st : eg__gguf_read(c, 8, &place);
    e.type = eg__gguf_type_of(number);
    e.at = (int64_t)place;
    if (!st && !e.type) {
        return eg__source_bad(c->source, at, "\"%.80s\" is of type %llu, which is none known", c->name.s,
                              (unsigned long long)number);
    }
    if (!st && (place > (uint64_t)c->source->size || place % c->alignment)) {
        return eg__source_bad(c->source, at, "\"%.60s\" begins at %llu, which is %s", c->name.s,
                              (unsigned long long)place, place % c->alignment ? "not aligned" : "behind the file");
    }
    st = st ? st : describe(c, at, &e, &about);
    st = st ? st : eg__lazy_promise(map, c->name.s, &about, r->count);
    r->entry[r->count] = e;
    r->count += !st;
    return st == EG_EINDEX ? eg__source_bad(c->source, at, "two tensors are named \"%.80s\"", c->name.s) : st;
}

static int by_place(const void *a, const void *b)
{
    const entry *p = *(entry *const *)a, *q = *(entry *const *)b;
    int64_t d = p->at != q->at ? p->at - q->at : p->bytes - q->bytes;
    return d < 0 ? -1 : d > 0;
}

/* That they lie in the file, and in no other's place; from now on places are those of the file. */
static eg_status place_all(const eg__gguf_cursor *c, reader *r, const eg_tensors *map)
{
    const int64_t mask = (int64_t)c->alignment - 1, data = (c->at + mask) & ~mask;
    const size_t room = r->count * sizeof(entry *);
    entry **order = eg__counted_alloc(room);
    if (!order) {
        return eg__no_memory(c->source->op, (int64_t)room);
    }
    for (uint32_t i = 0; i < r->count; i++) {
        order[i] = &r->entry[i];
        order[i]->at += data;
    }
    qsort(order, r->count, sizeof *order, by_place);
    int64_t end = data;
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < r->count && !st; i++) {
        const entry *e = order[i];
        const bool over = e->at > c->source->size || e->bytes > c->source->size - e->at;
        if (e->at < end || over) {
            st = eg__source_bad(c->source, e->at, "the %lld bytes of \"%.60s\" %s", (long long)e->bytes,
                                eg_tensors_name(map, e - r->entry),
                                over ? "go beyond the file" : "begin in those of another tensor");
        }
        end = over ? end : e->at + e->bytes;
    }
    eg__counted_free(order);
    return st;
}

/* ---- the header --------------------------------------------------------------------------------- */

static eg_status read_version(eg__gguf_cursor *c)
{
    uint64_t word = 0, version = 0;
    eg_status st = eg__gguf_read(c, 4, &word);
    st = st ? st : eg__gguf_read(c, 4, &version);
    if (st || (word == 0x46554747 && (version == 2 || version == 3))) {
        return st;
    }
    return word != 0x46554747 ? eg__source_bad(c->source, 0, "it does not begin as GGUF")
           : version && !(version & 0xffff)
               ? eg__source_bad(c->source, 4, "GGUF with the highest bytes first")
               : eg__source_bad(c->source, 4, "GGUF of version %llu, those known are 2 and 3",
                                (unsigned long long)version);
}

static eg_status read_header(reader *r, eg_tensors *map)
{
    eg__gguf_cursor c = {.source = &r->backing->source, .alignment = EG__GGUF_ALIGNMENT};
    uint64_t tensors = 0, keys = 0;
    eg_status st = read_version(&c);
    st = st ? st : eg__gguf_count(&c, LEAST_TENSOR, "tensors", &tensors);
    st = st ? st : eg__gguf_count(&c, LEAST_KEY, "keys", &keys);
    st = st ? st : eg__gguf_texts(&c, keys, map);
    for (uint64_t i = 0; i < tensors && !st; i++) {
        st = read_entry(&c, r, map);
    }
    st = st ? st : place_all(&c, r, map);
    eg__buffer_free(&c.name);
    eg__buffer_free(&c.text);
    return st;
}

/* ---- tensors ------------------------------------------------------------------------------------ */

typedef struct job {
    const eg__gguf_type *type;
    const uint8_t *from;
    float *to;
} job;

static void unpack_some(void *user, int64_t begin, int64_t end)
{
    const job *j = user;
    for (int64_t i = begin; i < end; i++) {
        j->type->unpack(j->from + i * j->type->bytes, j->to + i * j->type->elements);
    }
}

/* Piece by piece, so that nothing is in memory twice. */
static eg_tensor *unpack(const eg__source *s, const entry *e)
{
    enum { PIECE = 1 << 20 };
    const eg__gguf_type *t = e->type;
    const int64_t blocks = e->bytes / t->bytes, most = PIECE / t->bytes;
    if (eg__source_unpacks(s, e->at, "a tensor has", blocks * t->elements * (int64_t)sizeof(float))) {
        return NULL;
    }
    uint8_t *piece = eg__malloc(PIECE);
    eg_tensor *x = piece ? eg__empty_on(0, e->shape, EG_F32) : NULL;
    eg_status st = x ? EG_OK : piece ? eg__why() : eg__no_memory(s->op, PIECE);
    for (int64_t done = 0, some; done < blocks && !st; done += some) {
        some = eg__min(blocks - done, most);
        st = eg__source_read(s, e->at + done * t->bytes, piece, some * t->bytes);
        if (!st) {
            job j = {t, piece, (float *)eg__ptr(x) + done * t->elements};
            eg__parallel(some, EG__GRAIN / t->elements, unpack_some, &j);
        }
    }
    free(piece);
    return st ? NULL : x;
}

static eg_tensor *read_one(void *user, int64_t i)
{
    const reader *r = user;
    const entry *e = &r->entry[i];
    return e->type->unpack ? unpack(&r->backing->source, e)
                           : eg__backing_tensor(r->backing, e->at, e->type->element, &e->shape);
}

static void close_all(void *user)
{
    reader *r = user;
    eg__backing_release(r->backing);
    eg__counted_free(r->entry);
    free(r);
}

static eg_tensors *open_lazily(eg__backing *b)
{
    static const eg__lazy how = {"gguf", read_one, close_all};
    reader *r = eg__malloc(sizeof *r);
    if (!r) {
        eg__no_memory(b->source.op, (int64_t)sizeof *r);
        return eg__backing_release(b), NULL;
    }
    *r = (reader){.backing = b};
    eg_tensors *map = eg__lazy_new(&how, r);
    if (map && read_header(r, map)) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}

static bool is_gguf(const eg__source *s)
{
    return eg__source_begins(s, "GGUF", 4);
}

const eg__format eg__format_gguf = {
    .about = {"gguf", "GGUF of ggml and llama.cpp", ".gguf", true},
    .is = is_gguf,
    .open = open_lazily,
    .save = eg__gguf_save,
};
