/* tf.c - see tf.h; of the keys of slices saved_tensor_slice_util.h and ordered_code.h of TensorFlow tell. */
#include "lib/io/lazy.h"
#include "lib/io/tf.h"

#include <stdlib.h>

#include "lib/core/counted.h"

/* ---- types --------------------------------------------------------------------------------------- */

static const struct type {
    const char *name;
    eg__element element;
} types[] = {
#define T(number, name, element) [number] = {name, EG__##element},
#include "lib/io/tf_types.def"
#undef T
};

static const struct type *type_of(uint64_t number)
{
    return number < (uint64_t)EG__COUNT(types) && types[number].name ? &types[number] : NULL;
}

eg__element eg__tf_element(uint64_t number)
{
    const struct type *t = type_of(number);
    return t ? t->element : EG__ELEMENTS;
}

int eg__tf_number(eg_dtype dtype)
{
    int i = 1;
    while (!types[i].name || types[i].element != (eg__element)dtype) {
        i++;
    }
    return i;
}

void eg__tf_read_shape(eg__wire w, eg__tf_kind *k)
{
    eg__wire_field f, g;
    k->shape = (eg_shape){0};
    while (eg__wire_next(&w, &f)) {
        int64_t size = 0;
        if (f.number == 2 && f.kind == EG__WIRE_BYTES) {
            eg__wire dim = f.bytes;
            while (eg__wire_next(&dim, &g)) {
                size = g.number == 1 ? (int64_t)g.value : size;
            }
            k->too_many = k->shape.ndim == EG_MAX_DIMS;
            k->bad = k->bad || dim.bad || size < 0;
            if (k->too_many) {
                return;
            }
            k->shape.dim[k->shape.ndim++] = size;
        } else if (f.number == 3 && f.value) {
            k->bad = true; /* of unknown rank */
        }
    }
    k->bad = k->bad || w.bad;
}

eg_status eg__tf_about(const eg__source *s, int64_t place, const char *name, const eg__tf_kind *k,
                       eg_tensor_about *about)
{
    if (k->bad || eg__element_about(s->op, k->element, &k->shape, about)) {
        return eg__source_bad(s, place, "\"%.100s\" has no possible shape", name);
    }
    return EG_OK;
}

bool eg__tf_left_out(eg_tensors *map, const char *name, const eg__tf_kind *k, eg_status *st)
{
    char words[60];
    const struct type *t = type_of(k->number);
    const int axes = k->shape.ndim + (k->element == EG__C64 || k->element == EG__C128);
    if (k->element == EG__ELEMENTS) {
        const unsigned long long number = k->number;
        (void)(t ? snprintf(words, sizeof words, "%s", t->name) : snprintf(words, sizeof words, "dtype %llu", number));
    } else if (k->too_many || axes > EG_MAX_DIMS) {
        snprintf(words, sizeof words, "more than %d axes", EG_MAX_DIMS);
    } else {
        return false;
    }
    *st = eg__lazy_left_out(map, name, words);
    return true;
}

/* ---- names ------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const eg__tf_named *)a)->name, ((const eg__tf_named *)b)->name);
}

void eg__tf_sort(eg__tf_named *all, size_t n)
{
    qsort(all, n, sizeof *all, by_name);
}

/* ---- slices ---------------------------------------------------------------------------------------- */

eg_shape eg__tf_slice_shape(const eg__tf_slice *slice, const eg_shape *full)
{
    eg_shape shape = *full;
    for (int d = 0; d < full->ndim; d++) {
        shape.dim[d] = slice->length[d] < 0 ? full->dim[d] : slice->length[d];
    }
    return shape;
}

/* What the tensor's shape was checked to have room for. */
static int64_t elements(const eg_shape *shape)
{
    int64_t n = 1;
    for (int d = 0; d < shape->ndim; d++) {
        n *= shape->dim[d];
    }
    return n;
}

/* Adds a TensorSliceProto. */
static eg_status add_slice(const eg__source *s, int64_t place, eg__tf_slices *all, eg__wire w, const eg_shape *full)
{
    if (all->count == all->capacity && !eg__counted_grow(&all->slice, &all->capacity, sizeof *all->slice)) {
        return eg__no_memory(s->op, (int64_t)sizeof *all->slice);
    }
    eg__tf_slice *slice = &all->slice[all->count];
    eg__wire_field f, g;
    int d = 0;
    bool good = true;
    *slice = (eg__tf_slice){.start = {0}};
    while (good && eg__wire_next(&w, &f)) {
        eg__wire extent = f.bytes;
        int64_t start = 0, length = -1;
        while (eg__wire_next(&extent, &g)) {
            start = g.number == 1 ? (int64_t)g.value : start;
            length = g.number == 2 ? (int64_t)g.value : length;
        }
        good = f.number == 1 && !extent.bad && d < full->ndim &&
               (length < 0 ? length == -1 && !start : start >= 0 && start <= full->dim[d] - length);
        if (good) {
            slice->start[d] = start;
            slice->length[d++] = length;
        }
    }
    if (!good || w.bad || d != full->ndim) {
        return eg__source_bad(s, place, "a slice that does not fit a tensor of shape %s",
                              eg__shape_text(full->ndim, full->dim).s);
    }
    all->count++;
    return EG_OK;
}

/* That slices from `first` on have as many elements as the tensor; if no two overlap, they cover it. */
static eg_status count(const eg__source *s, int64_t place, const char *name, const eg__tf_slices *all, uint32_t first,
                       const eg_shape *full)
{
    int64_t left = elements(full);
    for (uint32_t i = first; i < all->count; i++) {
        const eg_shape shape = eg__tf_slice_shape(&all->slice[i], full);
        const int64_t n = elements(&shape);
        if (n > left || (!n && all->count - first > 1)) {
            return eg__source_bad(s, place, "slices of \"%.100s\" overlap, or are empty", name);
        }
        left -= n;
    }
    return left ? eg__source_bad(s, place, "slices of \"%.80s\" lack %lld elements", name, (long long)left) : EG_OK;
}

eg_status eg__tf_read_slices(const eg__source *s, int64_t place, const char *name, eg__tf_slices *all, eg__wire message,
                             uint32_t field, const eg_shape *full)
{
    const uint32_t first = all->count;
    eg__wire_field f;
    eg_status st = EG_OK;
    while (!st && eg__wire_next(&message, &f)) {
        st = f.number == field ? add_slice(s, place, all, f.bytes, full) : EG_OK;
    }
    return st ? st : count(s, place, name, all, first, full);
}

/* ---- keys of slices ---------------------------------------------------------------------------------- */

/* Numbers so that their bytes are in their order: how many bytes, and the bytes from the high one on. */
static void put_number(eg__buffer *b, uint64_t v)
{
    uint8_t bytes[9];
    int n = 0;
    for (uint64_t rest = v; rest; rest >>= 8) {
        n++;
    }
    bytes[0] = (uint8_t)n;
    for (int i = n; i > 0; i--, v >>= 8) {
        bytes[i] = (uint8_t)v;
    }
    eg__put(b, bytes, (size_t)n + 1);
}

/* n bytes begin with n bits that are the opposite of the sign, which follows. */
static void put_signed(eg__buffer *b, int64_t v)
{
    uint8_t bytes[10];
    int n = 1;
    for (uint64_t rest = (uint64_t)(v < 0 ? ~v : v) >> 6; rest; rest >>= 7) {
        n++;
    }
    for (int i = n; i-- > 0; v >>= 8) {
        bytes[i] = (uint8_t)v;
    }
    for (int i = 0; i < n; i++) {
        bytes[i / 8] ^= (uint8_t)(0x80 >> i % 8);
    }
    eg__put(b, bytes, (size_t)n);
}

void eg__tf_key(eg__buffer *b, const char *name, const eg__tf_slice *slice, int ndim)
{
    put_number(b, 0);
    for (; *name; name++) {
        eg__put(b, name, 1);
        eg__put(b, "", (uint8_t)*name == 255); /* ff is ff 00, a zero would be 00 ff */
    }
    eg__put(b, "\0\1", 2);
    put_number(b, (uint64_t)ndim);
    for (int d = 0; d < ndim; d++) {
        put_signed(b, slice->start[d]);
        put_signed(b, slice->length[d]);
    }
}

/* ---- joining ------------------------------------------------------------------------------------------ */

/* Row by row of the last axis; both are row-major. `seen` has a byte for each element; false: one was there already. */
static bool put_slice(eg_tensor *full, uint8_t *seen, const eg__tf_slice *slice, const eg_tensor *t)
{
    const size_t element = eg__esize(full);
    const int last = full->ndim - 1;
    int64_t index[EG_MAX_DIMS] = {0};
    const int64_t row = last < 0 ? 1 : t->shape[last];
    for (int64_t done = 0; done < t->n; done += row) {
        int64_t at = 0;
        for (int d = 0; d <= last; d++) {
            at = at * full->shape[d] + slice->start[d] + index[d];
        }
        if (memchr(seen + at, 1, (size_t)row)) {
            return false;
        }
        memset(seen + at, 1, (size_t)row);
        memcpy(eg__ptr(full) + (size_t)at * element, eg__ptr(t) + (size_t)done * element, (size_t)row * element);
        for (int d = last - 1; d >= 0 && ++index[d] == t->shape[d]; d--) {
            index[d] = 0;
        }
    }
    return true;
}

eg_tensor *eg__tf_join(const eg__source *s, const eg_tensor_about *about, const eg__tf_slice *slice, uint32_t count,
                       eg_tensor *(*read)(void *user, uint32_t i), void *user)
{
    eg_tensor *full = eg__empty_on(0, about->shape, about->dtype);
    uint8_t *seen = full ? eg__counted_alloc((size_t)full->n + 1) : NULL;
    if (!seen) {
        return full ? eg__no_memory(s->op, full->n), NULL : NULL;
    }
    memset(seen, 0, (size_t)full->n);
    bool good = true;
    for (uint32_t i = 0; i < count && good; i++) {
        eg_scope scope = eg_scope_push();
        const eg_tensor *t = scope.depth ? read(user, i) : NULL;
        good = t != NULL;
        if (t && t->n && !put_slice(full, seen, &slice[i], t)) {
            good = false;
            eg__source_bad(s, 0, "slices of a tensor overlap");
        }
        if (scope.depth) {
            eg_scope_pop(scope, NULL);
        }
    }
    eg__counted_free(seen);
    return good ? full : NULL;
}
