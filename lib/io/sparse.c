/* sparse.c - tensors with many zeros, packed and unpacked. */
#include "lib/io/sparse.h"

#include <stdlib.h>

#include <egret/ops.h>

#include "lib/core/counted.h"
#include "lib/core/tensor.h"
#include "lib/io/element.h"
#include "lib/io/file.h"
#include "lib/io/lazy.h"

static const char KEY[] = "egret.sparse/";
enum { NAME_MOST = 600, TEXT_MOST = 24 * EG_MAX_DIMS };

/* "KEY NAME", "NAME.nonzero" or "NAME.places". */
typedef struct words {
    char key[NAME_MOST], nonzero[NAME_MOST], places[NAME_MOST];
} words;

/* Whether the name is not too long. */
static bool name_parts(const char *name, words *w)
{
    snprintf(w->key, sizeof w->key, "%s%s", KEY, name);
    snprintf(w->nonzero, sizeof w->nonzero, "%s.nonzero", name);
    snprintf(w->places, sizeof w->places, "%s.places", name);
    return strlen(name) < NAME_MOST - sizeof KEY;
}

/* Whether element i has a bit that is set: a zero below zero is kept. */
static bool is_there(const char *data, size_t size, int64_t i)
{
    static const char none[8];
    return memcmp(data + (size_t)i * size, none, size) != 0;
}

/* ---- packing --------------------------------------------------------------------------------- */

static int64_t count_of(const eg_tensor *t)
{
    const size_t size = eg__esize(t);
    const char *data = eg__ptr(t);
    int64_t count = 0;
    for (int64_t i = 0; i < t->n; i++) {
        count += is_there(data, size, i);
    }
    return count;
}

/* Both parts of t, which has no gaps. */
static eg_status pack(eg_tensors *to, const words *w, const eg_tensor *t, int64_t count)
{
    const size_t size = eg__esize(t);
    eg_tensor *nonzero = eg__empty_on(0, EG_SHAPE(count), t->dtype);
    eg_tensor *places = eg__full_on(0, EG_SHAPE((t->n + 7) / 8), 0, EG_U8);
    char text[TEXT_MOST] = "";
    if (!nonzero || !places) {
        return eg__why();
    }
    char *next = eg__ptr(nonzero);
    uint8_t *bits = (uint8_t *)eg__ptr(places);
    for (int64_t i = 0; i < t->n; i++) {
        if (is_there(eg__ptr(t), size, i)) {
            memcpy(next, eg__ptr(t) + (size_t)i * size, size);
            next += size;
            bits[i / 8] |= (uint8_t)(1 << i % 8);
        }
    }
    for (int d = 0; d < t->ndim; d++) {
        const size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%lld", d ? " " : "", (long long)t->shape[d]);
    }
    eg_status st = eg_tensors_set(to, w->nonzero, nonzero);
    st = st ? st : eg_tensors_set(to, w->places, places);
    return st ? st : eg_tensors_set_text(to, w->key, text);
}

static eg_status pack_one(eg_tensors *to, const eg_tensors *map, int64_t i)
{
    const char *name = eg_tensors_name(map, i);
    eg_tensor *t = eg__lazy_read(map, i);
    words w;
    if (t && eg__is_float(t->dtype) && name_parts(name, &w) && !eg_tensors_has(map, w.nonzero) &&
        !eg_tensors_has(map, w.places)) {
        eg_tensor *here = eg_contiguous(eg_to(eg_detach(t), eg_cpu()));
        const int64_t count = here ? count_of(here) : 0;
        if (!here) {
            return eg__why();
        }
        if ((t->n - count) * (int64_t)eg__esize(t) > (t->n + 7) / 8) {
            return pack(to, &w, here, count);
        }
    }
    return t ? eg_tensors_set(to, name, t) : eg__why();
}

eg_tensors *eg__sparse_packed(const char *op, const eg_tensors *map)
{
    eg_tensors *to = eg_tensors_new();
    eg_status st = to ? EG_OK : eg__why();
    for (int64_t i = 0; i < eg_tensors_text_count(map) && !st; i++) {
        const char *key = eg_tensors_text_key(map, i);
        st = strncmp(key, KEY, sizeof KEY - 1)
                 ? eg_tensors_set_text(to, key, eg_tensors_text(map, key))
                 : eg__fail(EG_EINVAL, op, "a text is named \"%.80s\", as those of tensors with zeros are", key);
    }
    for (int64_t i = 0; i < eg_tensors_count(map) && !st; i++) {
        eg_scope s = eg_scope_push();
        st = s.depth ? pack_one(to, map, i) : eg__why();
        if (s.depth) {
            eg_scope_pop(s, NULL);
        }
    }
    if (st) {
        eg_tensors_free(to);
    }
    return st ? NULL : to;
}

/* ---- unpacking ------------------------------------------------------------------------------- */

/* Where a tensor is in the map that was packed. */
typedef struct place {
    int64_t nonzero, places; /* -1: it is the former itself */
    eg_tensor_about about;
} place;

typedef struct reader {
    eg__lazy how;
    const char *op;
    eg_tensors *packed;
    place *place;
    uint32_t count, capacity;
} reader;

static eg_status bad(const reader *r, const char *name, const char *what)
{
    return eg__fail(EG_EFORMAT, r->op, "of \"%.120s\", which is said to have zeros left out, %s", name, what);
}

static eg_tensor *unpack(const reader *r, const place *p)
{
    eg_tensor *nonzero = eg__lazy_read(r->packed, p->nonzero), *places = eg__lazy_read(r->packed, p->places);
    eg_tensor *t = nonzero && places ? eg__full_on(0, p->about.shape, 0, p->about.dtype) : NULL;
    if (!t) {
        return NULL;
    }
    const size_t size = eg__esize(t);
    const uint8_t *bits = (const uint8_t *)eg__ptr(places);
    int64_t next = 0;
    for (int64_t i = 0; i < 8 * places->n; i++) {
        if (bits[i / 8] >> i % 8 & 1) {
            if (next == nonzero->n || i >= t->n) {
                next = nonzero->n + 1;
                break;
            }
            memcpy(eg__ptr(t) + (size_t)i * size, eg__ptr(nonzero) + (size_t)next++ * size, size);
        }
    }
    return next == nonzero->n ? t
                              : (bad(r, eg_tensors_name(r->packed, p->nonzero), "places and elements differ"), NULL);
}

static eg_tensor *read_one(void *user, int64_t i)
{
    const reader *r = user;
    const place *p = &r->place[i];
    return p->places < 0 ? eg__lazy_read(r->packed, p->nonzero) : unpack(r, p);
}

static void close_all(void *user)
{
    reader *r = user;
    eg_tensors_free(r->packed);
    eg__counted_free(r->place);
    free(r);
}

static bool read_shape(const char *text, eg_shape *shape)
{
    *shape = (eg_shape){0};
    while (*text) {
        int n = 0;
        long long size;
        if (shape->ndim == EG_MAX_DIMS || sscanf(text, "%18lld%n", &size, &n) != 1 || size < 0) {
            return false;
        }
        shape->dim[shape->ndim++] = size;
        text += n;
    }
    return true;
}

/* What is packed under a name. */
static eg_status find(const reader *r, const char *name, const char *text, place *p)
{
    words w;
    eg_shape shape;
    if (!name_parts(name, &w)) {
        return bad(r, name, "the name is too long");
    }
    p->nonzero = eg__lazy_number(r->packed, w.nonzero);
    p->places = eg__lazy_number(r->packed, w.places);
    if (p->nonzero < 0 || p->places < 0) {
        return bad(r, name, p->places < 0 ? "there are no places" : "there are no elements");
    }
    const eg_tensor_about nonzero = eg_tensors_about(r->packed, p->nonzero),
                          places = eg_tensors_about(r->packed, p->places);
    int64_t n = 1;
    bool fits = read_shape(text, &shape) && nonzero.shape.ndim == 1 && places.shape.ndim == 1;
    for (int d = 0; fits && d < shape.ndim; d++) {
        fits = !__builtin_mul_overflow(n, shape.dim[d], &n);
    }
    if (!fits || places.dtype != EG_U8 || n / 8 + (n % 8 != 0) != places.shape.dim[0] || nonzero.shape.dim[0] > n) {
        return bad(r, name, "shape, places and elements do not fit each other");
    }
    if (eg__element_about(r->op, (eg__element)nonzero.dtype, &shape, &p->about)) {
        return bad(r, name, "no tensor has such a shape");
    }
    p->about.stored = nonzero.stored;
    p->about.bytes = nonzero.bytes + places.bytes;
    return n * (int64_t)eg_dtype_size(nonzero.dtype) > eg__unpack_most(p->about.bytes)
               ? bad(r, name, "too many (eg_unpack_limit)")
               : EG_OK;
}

static eg_status promise(reader *r, eg_tensors *map, const char *name, const place *p)
{
    if (r->count == r->capacity && !eg__counted_grow(&r->place, &r->capacity, sizeof *r->place)) {
        return eg__no_memory(r->op, (int64_t)sizeof *r->place);
    }
    r->place[r->count] = *p;
    eg_status st = eg__lazy_promise(map, name, &p->about, r->count++);
    return st == EG_EINDEX ? bad(r, name, "another tensor has the name") : st;
}

/* Whether a tensor of the packed map is a part of another one. */
static bool is_part(const reader *r, int64_t i)
{
    static const char *const endings[] = {".nonzero", ".places"};
    const char *name = eg_tensors_name(r->packed, i);
    for (int k = 0; k < 2; k++) {
        char key[NAME_MOST];
        const size_t n = strlen(name), ending = strlen(endings[k]);
        if (n > ending && !strcmp(name + n - ending, endings[k])) {
            snprintf(key, sizeof key, "%s%.*s", KEY, (int)(n - ending), name);
            if (eg_tensors_text(r->packed, key)) {
                return true;
            }
        }
    }
    return false;
}

static eg_status promise_all(reader *r, eg_tensors *map)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < eg_tensors_count(r->packed) && !st; i++) {
        if (!is_part(r, i)) {
            const place own = {i, -1, eg_tensors_about(r->packed, i)};
            st = promise(r, map, eg_tensors_name(r->packed, i), &own);
        }
    }
    for (int64_t i = 0; i < eg_tensors_text_count(r->packed) && !st; i++) {
        const char *key = eg_tensors_text_key(r->packed, i), *text = eg_tensors_text(r->packed, key);
        place p;
        if (strncmp(key, KEY, sizeof KEY - 1)) {
            st = eg_tensors_set_text(map, key, text);
        } else {
            st = find(r, key + sizeof KEY - 1, text, &p);
            st = st ? st : promise(r, map, key + sizeof KEY - 1, &p);
        }
    }
    return st;
}

static bool has_packed(const eg_tensors *map)
{
    for (int64_t i = 0; i < eg_tensors_text_count(map); i++) {
        if (!strncmp(eg_tensors_text_key(map, i), KEY, sizeof KEY - 1)) {
            return true;
        }
    }
    return false;
}

eg_tensors *eg__sparse_opened(const char *op, eg_tensors *packed)
{
    if (!packed || !has_packed(packed)) {
        return packed;
    }
    reader *r = eg__malloc(sizeof *r);
    if (!r) {
        eg__no_memory(op, (int64_t)sizeof *r);
        return eg_tensors_free(packed), NULL;
    }
    *r = (reader){{eg_tensors_format(packed), read_one, close_all}, op, packed, NULL, 0, 0};
    eg_tensors *map = eg__lazy_new(&r->how, r);
    if (map && promise_all(r, map)) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}
