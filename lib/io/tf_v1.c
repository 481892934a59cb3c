/* tf_v1.c - TensorFlow's checkpoints of version 1: one sorted-string table with the elements in its values
 * (saved_tensor_slice.proto). */
#include <stdlib.h>

#include "lib/core/counted.h"
#include "lib/io/tf.h"

/* A tensor; its slices are those from `first` on. */
typedef struct tensor {
    uint32_t name; /* where it begins in names */
    eg__element element;
    eg_shape shape;
    uint32_t first, count;
} tensor;

typedef struct reader {
    eg__backing *backing;
    eg__sstable table;
    eg__buffer names, key; /* each name with a 0 behind it */
    tensor *tensors;
    uint32_t count, capacity;
    eg__tf_slices slices;
    eg_tensors *map;
    int64_t bytes; /* of all tensors, and what their names take */
} reader;

/* ---- the table of contents ------------------------------------------------------------------------ */

/* So many more bytes of memory will be taken. */
static eg_status claim(reader *r, int64_t bytes)
{
    r->bytes = bytes > INT64_MAX - r->bytes ? INT64_MAX : r->bytes + bytes;
    return eg__source_unpacks(&r->backing->source, r->table.data.place, "tensors become", r->bytes);
}

/* SavedSliceMeta. */
static eg_status add_tensor(reader *r, eg__wire message)
{
    const eg__source *s = &r->backing->source;
    const int64_t place = r->table.data.place;
    eg__wire w = message, name = eg__wire_of("", 0);
    eg__wire_field f;
    eg__tf_kind k = {.number = 0};
    while (eg__wire_next(&w, &f)) {
        name = f.number == 1 ? f.bytes : name;
        k.number = f.number == 3 ? f.value : k.number;
        if (f.number == 2) {
            eg__tf_read_shape(f.bytes, &k);
        }
    }
    k.element = eg__tf_element(k.number);
    const size_t n = eg__wire_size(&name);
    if (w.bad || !n || memchr(name.at, 0, n)) {
        return eg__source_bad(s, place, "a tensor in the table of contents is none");
    }
    const uint32_t at = r->names.n;
    eg__put(&r->names, name.at, n);
    eg__put(&r->names, "", 1);
    if (r->names.full ||
        (r->count == r->capacity && !eg__counted_grow(&r->tensors, &r->capacity, sizeof *r->tensors))) {
        return eg__no_memory(s->op, (int64_t)n);
    }
    eg_status st = EG_OK;
    eg_tensor_about about;
    if (eg__tf_left_out(r->map, r->names.s + at, &k, &st)) {
        return st;
    }
    const uint32_t first = r->slices.count;
    st = eg__tf_about(s, place, r->names.s + at, &k, &about);
    st = st ? st : claim(r, eg__about_bytes(&about));
    st = st ? st : eg__tf_read_slices(s, place, r->names.s + at, &r->slices, message, 4, &k.shape);
    st = st ? st : claim(r, (int64_t)n * (r->slices.count - first)); /* their keys, each with the name */
    if (!st) {
        r->tensors[r->count++] = (tensor){at, k.element, k.shape, first, r->slices.count - first};
    }
    return st;
}

/* The first entry, of no key: SavedTensorSlices with a SavedTensorSliceMeta. */
static eg_status read_contents(reader *r)
{
    const eg__source *s = &r->backing->source;
    eg_status st = eg__sstable_next(&r->table);
    if (st) {
        return st;
    }
    const eg__sstable_block *b = &r->table.data;
    eg__wire w = eg__wire_of(b->value, r->table.there ? (size_t)b->nvalue : 0);
    eg__wire_field f, g;
    bool found = false;
    while (!st && !b->nkey && eg__wire_next(&w, &f)) {
        found = found || (f.number == 1 && f.kind == EG__WIRE_BYTES);
        while (!st && f.number == 1 && eg__wire_next(&f.bytes, &g)) {
            /* A slice takes a few bytes there, and more here. */
            st = claim(r, (int64_t)(eg__wire_size(&g.bytes) * sizeof(eg__tf_slice) / 4 + EG__TF_NAME));
            st = st || g.number != 1 ? st : add_tensor(r, g.bytes);
        }
        w.bad = w.bad || f.bytes.bad;
    }
    if (!st && (w.bad || !found)) {
        st = eg__source_bad(s, b->place,
                            "it is no checkpoint of version 1; one of version 2 is opened by the path of its index");
    }
    return st;
}

/* In the order of the table, so that all are read in one pass. */
static eg_status promise_all(reader *r)
{
    const eg__source *s = &r->backing->source;
    eg__tf_named *order = eg__counted_alloc((r->count + 1) * sizeof *order);
    if (!order) {
        return eg__no_memory(s->op, (int64_t)(r->count * sizeof *order));
    }
    for (uint32_t i = 0; i < r->count; i++) {
        order[i] = (eg__tf_named){r->names.s + r->tensors[i].name, i};
    }
    eg__tf_sort(order, r->count);
    eg_status st = EG_OK;
    for (uint32_t k = 0; k < r->count && !st; k++) {
        const tensor *t = &r->tensors[order[k].i];
        eg_tensor_about about;
        st = eg__element_about(s->op, t->element, &t->shape, &about);
        st = st ? st : eg__lazy_promise(r->map, order[k].name, &about, order[k].i);
        if (st == EG_EINDEX) {
            st = eg__source_bad(s, 0, "two tensors are named \"%.80s\"", order[k].name);
        }
    }
    eg__counted_free(order);
    return st;
}

/* ---- elements ------------------------------------------------------------------------------------- */

/* The field of a TensorProto that has a type's elements: as numbers of `fixed` bytes, or as varints (0). */
static const struct {
    uint8_t field, fixed;
} fields[EG__ELEMENTS] = {
    [EG__F32] = {5, 4},   [EG__F64] = {6, 8},  [EG__I32] = {7, 0},   [EG__U8] = {7, 0},   [EG__I16] = {7, 0},
    [EG__I8] = {7, 0},    [EG__U16] = {7, 0},  [EG__C64] = {9, 4},   [EG__I64] = {10, 0}, [EG__BOOL] = {11, 0},
    [EG__C128] = {12, 8}, [EG__F16] = {13, 0}, [EG__BF16] = {13, 0}, [EG__U32] = {16, 0}, [EG__U64] = {17, 0},
};

/* Where elements go that come in several fields, or as varints. */
typedef struct filling {
    uint8_t *at, *end;
    int bytes; /* of an element */
    bool bad;  /* there were too many */
} filling;

static void put_varint(filling *to, uint64_t v)
{
    if (to->end - to->at < to->bytes) {
        to->bad = true;
        return;
    }
    for (int i = 0; i < to->bytes; i++) {
        *to->at++ = (uint8_t)(v >> 8 * i);
    }
}

static void put_bytes(filling *to, const eg__wire *from)
{
    const size_t n = eg__wire_size(from);
    if (n > (size_t)(to->end - to->at)) {
        to->bad = true;
    } else if (n) {
        memcpy(to->at, from->at, n);
        to->at += n;
    }
}

/* The elements of a TensorProto, as they would lie in a file. */
static bool fill(filling *to, eg__wire data, eg__element e)
{
    eg__wire_field f;
    while (!to->bad && eg__wire_next(&data, &f)) {
        if (f.number != fields[e].field) {
            continue;
        }
        if (f.kind != EG__WIRE_BYTES) {
            put_varint(to, f.value);
        } else if (fields[e].fixed) {
            put_bytes(to, &f.bytes);
        }
        while (!fields[e].fixed && !to->bad && f.bytes.at < f.bytes.end) {
            put_varint(to, eg__wire_varint(&f.bytes));
            to->bad = to->bad || f.bytes.bad;
        }
    }
    return !data.bad && !to->bad && to->at == to->end;
}

/* If all elements are of fixed bytes in one field, that field. */
static bool lie_there(eg__wire data, eg__element e, int64_t bytes, eg__wire *there)
{
    eg__wire_field f;
    int n = 0;
    while (eg__wire_next(&data, &f)) {
        if (f.number == fields[e].field && f.kind == EG__WIRE_BYTES) {
            *there = f.bytes;
            n++;
        }
    }
    return fields[e].fixed && n == 1 && !data.bad && (int64_t)eg__wire_size(there) == bytes;
}

static eg_tensor *wrong(const reader *r, const tensor *t, const char *words)
{
    return eg__source_bad(&r->backing->source, r->table.data.place, "\"%.80s\" %s", r->names.s + t->name, words), NULL;
}

/* A slice of a tensor out of its TensorProto. */
static eg_tensor *parse_slice(const reader *r, const tensor *t, const eg_shape *shape, eg__wire data)
{
    const char *op = r->backing->source.op;
    eg__source memory;
    eg_tensor_about about;
    eg__wire there = eg__wire_of("", 0);
    if (eg__element_about(op, t->element, shape, &about)) {
        return NULL;
    }
    if (lie_there(data, t->element, about.bytes, &there)) {
        return eg__source_memory(&memory, op, there.at, (size_t)about.bytes)
                   ? NULL
                   : eg__element_read(&memory, 0, t->element, shape);
    }
    const int size = eg__element_bits(t->element) / 8;
    if (about.bytes / size > (int64_t)eg__wire_size(&data)) { /* none has less than a byte */
        return wrong(r, t, "has fewer elements than its shape");
    }
    uint8_t *raw = eg__counted_alloc((size_t)about.bytes + 1);
    if (!raw) {
        return eg__no_memory(op, about.bytes), NULL;
    }
    filling to = {raw, raw + about.bytes, fields[t->element].fixed ? fields[t->element].fixed : size, false};
    eg_tensor *made = fill(&to, data, t->element) ? NULL : wrong(r, t, "has other elements than its shape");
    if (!to.bad && to.at == to.end && !eg__source_memory(&memory, op, raw, (size_t)about.bytes)) {
        made = eg__element_read(&memory, 0, t->element, shape);
    }
    eg__counted_free(raw);
    return made;
}

/* ---- reading -------------------------------------------------------------------------------------- */

typedef struct joining {
    reader *r;
    const tensor *t;
} joining;

/* SavedTensorSlices with a SavedSlice. */
static eg_tensor *read_slice(void *user, uint32_t i)
{
    const joining *j = user;
    reader *r = j->r;
    const tensor *t = j->t;
    const eg__tf_slice *slice = &r->slices.slice[t->first + i];
    const eg_shape shape = eg__tf_slice_shape(slice, &t->shape);
    r->key.n = 0;
    eg__tf_key(&r->key, r->names.s + t->name, slice, t->shape.ndim);
    if (r->key.full) {
        return eg__no_memory(r->backing->source.op, r->key.n), NULL;
    }
    if (eg__sstable_seek(&r->table, r->key.s, r->key.n)) {
        return NULL;
    }
    if (!r->table.there) {
        return wrong(r, t, "has a slice that is not there");
    }
    eg__wire w = eg__wire_of(r->table.data.value, (size_t)r->table.data.nvalue), data = eg__wire_of("", 0);
    eg__wire_field f, g;
    while (eg__wire_next(&w, &f)) {
        while (f.number == 2 && eg__wire_next(&f.bytes, &g)) {
            data = g.number == 3 ? g.bytes : data;
        }
        w.bad = w.bad || f.bytes.bad;
    }
    return w.bad ? wrong(r, t, "has a slice that is none") : parse_slice(r, t, &shape, data);
}

static eg_tensor *read_one(void *user, int64_t number)
{
    enum { LARGE = 1 << 24 };
    reader *r = user;
    joining j = {r, &r->tensors[number]};
    eg_tensor_about about;
    if (eg__element_about(r->backing->source.op, j.t->element, &j.t->shape, &about)) {
        return NULL;
    }
    const bool plain = j.t->count == 1 && about.bytes; /* then the slice is the tensor */
    const eg__tf_slice *slices = r->slices.slice + j.t->first;
    eg_tensor *t = plain
                       ? read_slice(&j, 0)
                       : eg__tf_join(&r->backing->source, &about, slices, about.bytes ? j.t->count : 0, read_slice, &j);
    if (r->table.data.bytes && r->table.data.end > LARGE) {
        eg__sstable_rewind(&r->table); /* it would stay in memory until the next is read */
    }
    return t;
}

static void close_all(void *user)
{
    reader *r = user;
    eg__sstable_close(&r->table);
    eg__buffer_free(&r->names);
    eg__buffer_free(&r->key);
    eg__counted_free(r->tensors);
    eg__counted_free(r->slices.slice);
    eg__backing_release(r->backing);
    free(r);
}

static eg_tensors *open_table(eg__backing *b)
{
    static const eg__lazy how = {"tf1", read_one, close_all};
    reader *r = eg__malloc(sizeof *r);
    if (!r) {
        eg__no_memory(b->source.op, (int64_t)sizeof *r);
        return eg__backing_release(b), NULL;
    }
    *r = (reader){.backing = b};
    eg_tensors *map = eg__lazy_new(&how, r);
    if (!map) {
        return NULL;
    }
    r->map = map;
    eg_status st = eg__sstable_open(&r->table, &b->source);
    st = st ? st : read_contents(r);
    st = st ? st : promise_all(r);
    if (st) {
        eg_tensors_free(map);
    }
    return st ? NULL : map;
}

const eg__format eg__format_tf1 = {
    .about = {"tf1", "checkpoints of TensorFlow in one file, of version 1", ".ckpt", false},
    .is = eg__sstable_is,
    .open = open_table,
};
