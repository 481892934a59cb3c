/* hdf5_texts.c - attributes of HDF5's groups that are texts (HDF5 File Format Specification 3.0: IV.A.2.m attributes,
 * III.E global heaps). */
#include "lib/io/hdf5.h"
#include "lib/core/counted.h"

#include <stdio.h>

#include "lib/io/buffer.h"

enum {
    MOST_KEY = 2048,
    STRING = 3, /* classes of types */
    VARIABLE = 9,
    DESCRIPTOR = 16, /* of a text of its own length: length, heap, number */
};

static eg_status bad(const eg__hdf5_texts *t)
{
    return eg__hdf5_bad(t->h, "damaged is a text of group");
}

/* ---- texts of their own lengths ---------------------------------------------------------------------- */

static eg_status load_heap(eg__hdf5_texts *t, uint64_t heap)
{
    eg__hdf5_head k;
    eg_status st = eg__hdf5_look(t->h, heap, 16, "GCOL", &k);
    eg__hdf5_take(&k.b, 4);
    eg__counted_free(t->all);
    t->all = st ? NULL : eg__hdf5_load(t->h, heap, eg__hdf5_number(&k.b, 8), "GCOL", &t->next);
    t->heap = heap;
    eg__hdf5_take(&t->next, 12);
    return t->all ? EG_OK : eg__why();
}

/* The object of that number, which mostly is the one behind the last; else all are looked at. */
static eg_status find_object(eg__hdf5_texts *t, uint64_t heap, uint64_t which, eg__hdf5_bytes *object)
{
    bool again = !t->all || t->heap != heap;
    eg_status st = again ? load_heap(t, heap) : EG_OK;
    while (!st) {
        const uint64_t number = eg__hdf5_number(&t->next, 2);
        eg__hdf5_take(&t->next, 6);
        const uint64_t size = eg__hdf5_number(&t->next, 8);
        *object = (eg__hdf5_bytes){eg__hdf5_take(&t->next, size), (int64_t)size, false};
        eg__hdf5_take(&t->next, eg__min(-size % 8, (uint64_t)t->next.n));
        if (number && number == which && !t->next.ended) {
            return EG_OK;
        }
        st = eg__hdf5_count(t->h, DESCRIPTOR);
        if (!st && (!number || t->next.ended)) {
            st = again ? bad(t) : load_heap(t, heap);
            again = true;
        }
    }
    return st;
}

static void put_text(eg__buffer *b, const void *s, size_t n)
{
    const char *end = memchr(s, 0, n);
    eg__put(b, s, end ? (size_t)(end - (const char *)s) : n);
}

static eg_status put_variable(eg__hdf5_texts *t, eg__hdf5_bytes descriptor, eg__buffer *b)
{
    const uint64_t length = eg__hdf5_number(&descriptor, 4), heap = eg__hdf5_number(&descriptor, 8);
    eg__hdf5_bytes object;
    if (!heap || heap == EG__HDF5_NOWHERE || !length) {
        return EG_OK;
    }
    eg_status st = find_object(t, heap, eg__hdf5_number(&descriptor, 4), &object);
    const uint8_t *text = st ? NULL : eg__hdf5_take(&object, length);
    if (!st && (!text || (int64_t)length > t->h->size - t->bytes - b->n)) {
        return bad(t);
    }
    if (!st) {
        put_text(b, text, (size_t)length);
    }
    return st;
}

/* ---- attributes ---------------------------------------------------------------------------------------- */

typedef struct attribute {
    char name[1024];
    int class;
    uint64_t size, count; /* of an element, and of those */
    eg__hdf5_bytes data;
} attribute;

/* How many elements a dataspace has. */
static uint64_t count_of(eg__hdf5_bytes b)
{
    const uint64_t version = eg__hdf5_number(&b, 1), ndim = eg__hdf5_number(&b, 1);
    eg__hdf5_take(&b, 1);
    uint64_t n = eg__hdf5_number(&b, 1) == 2 && version == 2 ? 0 : 1; /* null */
    eg__hdf5_take(&b, version == 1 ? 4 : 0);
    for (uint64_t d = 0; d < ndim; d++) {
        if (__builtin_mul_overflow(n, eg__hdf5_number(&b, 8), &n)) {
            return 0;
        }
    }
    return b.ended || version < 1 || version > 2 ? 0 : n;
}

static eg__hdf5_bytes part(eg__hdf5_bytes *m, uint64_t n, bool filled)
{
    return (eg__hdf5_bytes){eg__hdf5_take(m, filled ? (n + 7) / 8 * 8 : n), (int64_t)n, false};
}

/* Whether it is one whose elements are told here; the first version fills up to 8 bytes. */
static bool parse(eg__hdf5_bytes m, attribute *a)
{
    const uint64_t version = eg__hdf5_number(&m, 1), shared = eg__hdf5_number(&m, 1),
                   name_size = eg__hdf5_number(&m, 2), type_size = eg__hdf5_number(&m, 2),
                   space_size = eg__hdf5_number(&m, 2);
    eg__hdf5_take(&m, version == 3);
    const eg__hdf5_bytes name = part(&m, name_size, version == 1);
    eg__hdf5_bytes type = part(&m, type_size, version == 1);
    const eg__hdf5_bytes space = part(&m, space_size, version == 1);
    if (m.ended || version < 1 || version > 3 || (version > 1 && shared) || !name_size || name_size > sizeof a->name ||
        name.p[name_size - 1]) {
        return false;
    }
    const uint64_t word = eg__hdf5_number(&type, 4);
    memcpy(a->name, name.p, name_size);
    a->class = (int)(word & 15);
    a->size = eg__hdf5_number(&type, 4);
    a->count = count_of(space);
    a->data = m;
    return (a->class == STRING || (a->class == VARIABLE && (word >> 8 & 15) == 1 && a->size == DESCRIPTOR)) &&
           a->size && a->count && a->count <= (uint64_t)m.n / a->size;
}

/* One text in a line. */
static eg_status read_attribute(eg__hdf5_texts *t, attribute *a)
{
    eg__buffer b = {0};
    char key[MOST_KEY];
    eg_status st = EG_OK;
    for (uint64_t i = 0; i < a->count && !st; i++) {
        const eg__hdf5_bytes element = part(&a->data, a->size, false);
        eg__put(&b, "\n", i > 0);
        if (a->class == STRING) {
            put_text(&b, element.p, a->size);
        } else {
            st = put_variable(t, element, &b);
        }
    }
    eg__put(&b, "", 1);
    t->bytes += b.n;
    if (!st && (b.full || t->bytes > t->h->size)) {
        st = b.full ? eg__no_memory(t->h->source->op, b.n) : bad(t);
    }
    snprintf(key, sizeof key, "%s%s%s", t->h->name, *t->h->name ? "@" : "", a->name);
    st = st ? st : eg_tensors_set_text(t->map, key, b.s);
    eg__buffer_free(&b);
    return st;
}

static eg_status read_message(void *user, eg__hdf5_bytes m)
{
    attribute a;
    return parse(m, &a) ? read_attribute(user, &a) : EG_OK;
}

eg_status eg__hdf5_read_texts(eg__hdf5_texts *t, const eg__hdf5_header *d)
{
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < d->count && !st; i++) {
        eg__hdf5_bytes m = d->message[i].bytes;
        if (d->message[i].type == EG__HDF5_ATTRIBUTE) {
            st = read_message(t, m);
        } else if (d->message[i].type == EG__HDF5_ATTRIBUTE_INFO) {
            eg__hdf5_dense apart = {.type = 8};
            eg__hdf5_take(&m, 1);
            eg__hdf5_take(&m, eg__hdf5_number(&m, 1) & 1 ? 2 : 0);
            apart.heap = eg__hdf5_number(&m, 8);
            apart.tree = eg__hdf5_number(&m, 8);
            st = m.ended || apart.heap == EG__HDF5_NOWHERE ? EG_OK : eg__hdf5_objects(t->h, &apart, read_message, t);
        }
    }
    return st;
}
