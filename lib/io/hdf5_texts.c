/* hdf5_texts.c - attributes of HDF5's groups that are texts, read without libhdf5, which believes what they say of
 * their lengths (HDF5 File Format Specification 3.0: IV.A.1 headers, IV.A.2.m attributes, III.E global heaps). */
#include "lib/io/hdf5.h"

#ifdef EG_HAVE_HDF5
#include <stdio.h>
#include <stdlib.h>

#include "lib/io/buffer.h"

enum {
    MOST_KEY = 2048,
    MOST_STEPS = 1 << 20, /* from object to object in heaps */
    STRING = 3,           /* classes of types */
    VARIABLE = 9,
    DESCRIPTOR = 16, /* of a text of its own length: length, heap, number */
};

typedef struct texts {
    const eg__hdf5 *h;
    const char *group;
    eg_tensors *map;
    eg__hdf5_room *room;
} texts;

typedef struct attribute {
    char name[1024];
    int class, size; /* of an element */
    int64_t count;
    eg__hdf5_bytes data;
} attribute;

#define number eg__hdf5_number

static eg_status bad(const texts *d)
{
    return eg__hdf5_bad(d->h, "damaged is a text of group", d->group);
}

static eg_status read_at(const texts *d, uint64_t at, void *to, int64_t n)
{
    return eg__hdf5_read_at(d->h, at, to, n, d->group);
}

/* ---- texts of their own lengths ---------------------------------------------------------------------- */

/* Where in a heap the object of that number is, and how long. */
static eg_status find_object(const texts *d, uint64_t heap, uint32_t which, uint64_t *at, uint64_t *size)
{
    uint8_t b[16];
    eg_status st = read_at(d, heap, b, sizeof b);
    const uint64_t whole = st ? 0 : number(b + 8, 8);
    if (!st && (memcmp(b, "GCOL\1", 5) || whole > (uint64_t)d->h->size - heap)) {
        st = bad(d);
    }
    for (*at = sizeof b; !st; *at += (*size + 7) / 8 * 8) {
        if (whole < sizeof b || *at > whole - sizeof b || ++d->room->steps > MOST_STEPS) {
            return bad(d);
        }
        st = read_at(d, heap + *at, b, sizeof b);
        *at += sizeof b;
        *size = number(b + 8, 8);
        if (!st && (*size > whole - *at || !number(b, 2))) {
            return bad(d);
        }
        if (!st && number(b, 2) == which) {
            *at += heap;
            return EG_OK;
        }
    }
    return st;
}

static void put_text(eg__buffer *b, const void *s, size_t n)
{
    const char *end = memchr(s, 0, n);
    eg__put(b, s, end ? (size_t)(end - (const char *)s) : n);
}

static eg_status put_variable(const texts *d, const uint8_t *descriptor, eg__buffer *b)
{
    const uint64_t heap = number(descriptor + 4, 8), length = number(descriptor, 4);
    uint64_t at = 0, size = 0;
    if (!heap || heap == UINT64_MAX || !length) {
        return EG_OK;
    }
    eg_status st = find_object(d, heap, (uint32_t)number(descriptor + 12, 4), &at, &size);
    if (!st && (length > size || (int64_t)length > d->h->size - d->room->bytes - b->n)) {
        st = bad(d);
    }
    char *text = st ? NULL : eg__malloc((size_t)length);
    if (!st && !text) {
        return eg__no_memory(d->h->source->op, (int64_t)length);
    }
    st = st ? st : read_at(d, at, text, (int64_t)length);
    if (!st) {
        put_text(b, text, (size_t)length);
    }
    free(text);
    return st;
}

/* ---- attributes ---------------------------------------------------------------------------------------- */

/* How many elements a dataspace has; -1: it is none. */
static int64_t count_of(eg__hdf5_bytes space)
{
    const uint8_t *p, *dims;
    if (!eg__hdf5_take(&space, 4, &p) || p[0] < 1 || p[0] > 2 || (p[0] == 1 && !eg__hdf5_take(&space, 4, &dims))) {
        return -1;
    }
    int64_t n = p[0] == 2 && p[3] == 2 ? 0 : 1; /* null */
    for (int d = 0; d < p[1]; d++) {
        if (!eg__hdf5_take(&space, 8, &dims) || number(dims, 8) > INT64_MAX ||
            __builtin_mul_overflow(n, (int64_t)number(dims, 8), &n)) {
            return -1;
        }
    }
    return n;
}

/* Whether it is one whose elements are told here; versions differ in what fills up to 8 bytes. */
static bool parse(eg__hdf5_bytes m, attribute *a)
{
    const uint8_t *p, *name, *type, *space;
    if (!eg__hdf5_take(&m, 8, &p) || p[0] < 1 || p[0] > 3 || (p[0] > 1 && p[1]) ||
        (p[0] == 3 && !eg__hdf5_take(&m, 1, &name))) {
        return false;
    }
    const int64_t fill = p[0] == 1 ? 7 : 0, name_size = (int64_t)number(p + 2, 2),
                  space_size = (int64_t)number(p + 6, 2);
    if (!eg__hdf5_take(&m, (name_size + fill) & ~fill, &name) ||
        !eg__hdf5_take(&m, ((int64_t)number(p + 4, 2) + fill) & ~fill, &type) ||
        !eg__hdf5_take(&m, (space_size + fill) & ~fill, &space) || number(p + 4, 2) < 8 ||
        name_size > (int64_t)sizeof a->name) {
        return false;
    }
    a->class = type[0] & 15;
    a->size = (int)(number(type + 4, 4) & INT32_MAX);
    a->count = count_of((eg__hdf5_bytes){space, space_size});
    a->data = m;
    const bool text = a->class == STRING || (a->class == VARIABLE && (type[1] & 15) == 1 && a->size == DESCRIPTOR);
    memcpy(a->name, name, (size_t)name_size);
    return text && name_size && !a->name[name_size - 1] && a->size > 0 && a->count > 0 && a->count <= m.n / a->size;
}

/* One text in a line. */
static eg_status read_attribute(texts *d, const attribute *a)
{
    eg__buffer b = {0};
    char key[MOST_KEY];
    eg_status st = EG_OK;
    for (int64_t i = 0; i < a->count && !st; i++) {
        const uint8_t *element = a->data.p + i * a->size;
        eg__put(&b, "\n", i > 0);
        if (a->class == STRING) {
            put_text(&b, element, (size_t)a->size);
        } else {
            st = put_variable(d, element, &b);
        }
    }
    eg__put(&b, "", 1);
    d->room->bytes += b.n;
    if (!st && (b.full || d->room->bytes > d->h->size)) {
        st = b.full ? eg__no_memory(d->h->source->op, b.n) : bad(d);
    }
    snprintf(key, sizeof key, "%s%s%s", d->group, *d->group ? "@" : "", a->name);
    st = st ? st : eg_tensors_set_text(d->map, key, b.s);
    free(b.s);
    return st;
}

static eg_status read_message(void *user, int type, eg__hdf5_bytes m)
{
    attribute a;
    return type == EG__HDF5_ATTRIBUTE && parse(m, &a) ? read_attribute(user, &a) : EG_OK;
}

eg_status eg__hdf5_texts(const eg__hdf5 *h, haddr_t group, const char *name, eg_tensors *map, eg__hdf5_room *room)
{
    texts d = {.h = h, .group = name, .map = map, .room = room};
    return eg__hdf5_messages(h, group, name, read_message, &d);
}

#endif
