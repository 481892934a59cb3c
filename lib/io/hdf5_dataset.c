/* hdf5_dataset.c - what a dataset of HDF5 is: its type, its shape, where its elements are and how they are packed
 * (HDF5 File Format Specification 3.0: IV.A.2). */
#include "lib/io/hdf5.h"

/* ---- types --------------------------------------------------------------------------------------------- */

/* What all types begin with. */
typedef struct number_type {
    int version, class;
    uint64_t bits, size;
} number_type;

static number_type begin_type(eg__hdf5_bytes *b)
{
    const uint64_t word = eg__hdf5_number(b, 4);
    return (number_type){(int)(word >> 4 & 15), (int)(word & 15), word >> 8, eg__hdf5_number(b, 4)};
}

static eg__element integer_of(const number_type *t, eg__hdf5_bytes b)
{
    static const eg__element elements[2][9] = {
        {[1] = EG__U8, [2] = EG__U16, [4] = EG__U32, [8] = EG__U64},
        {[1] = EG__I8, [2] = EG__I16, [4] = EG__I32, [8] = EG__I64},
    };
    const uint64_t offset = eg__hdf5_number(&b, 2), precision = eg__hdf5_number(&b, 2);
    const bool known = eg__hdf5_power(t->size) >= 0 && t->size <= 8 && !offset && precision == 8 * t->size;
    return known && !b.ended ? elements[t->bits >> 3 & 1][t->size] : EG__ELEMENTS;
}

/* Exponents and fractions as IEEE 754 has them, and bfloat16. */
static eg__element float_of(const number_type *t, eg__hdf5_bytes b)
{
    static const struct {
        eg__element element;
        uint64_t bytes;
        uint8_t exponent, fraction; /* bits */
        uint64_t bias;
    } forms[] = {
        {EG__F16, 2, 5, 10, 15},
        {EG__BF16, 2, 8, 7, 127},
        {EG__F32, 4, 8, 23, 127},
        {EG__F64, 8, 11, 52, 1023},
    };
    enum { IMPLIED = 2 }; /* the first bit of fractions */
    const uint64_t offset = eg__hdf5_number(&b, 2), precision = eg__hdf5_number(&b, 2);
    const uint8_t *p = eg__hdf5_take(&b, 4); /* where the exponent is and its bits, the same of the fraction */
    const uint64_t bias = eg__hdf5_number(&b, 4);
    if (b.ended || offset || precision != 8 * t->size || (t->bits >> 4 & 3) != IMPLIED ||
        t->bits >> 8 != precision - 1 || p[2] || p[0] != p[3]) {
        return EG__ELEMENTS;
    }
    for (int i = 0; i < EG__COUNT(forms); i++) {
        if (forms[i].bytes == t->size && forms[i].exponent == p[1] && forms[i].fraction == p[3] &&
            forms[i].bias == bias) {
            return forms[i].element;
        }
    }
    return EG__ELEMENTS;
}

/* An enumeration as h5py writes it: FALSE is 0, TRUE is 1, and there is no other. */
static bool is_bool(const number_type *t, eg__hdf5_bytes b)
{
    static const char *const names[] = {"FALSE", "TRUE"};
    const number_type base = begin_type(&b);
    int which[2];
    eg__hdf5_take(&b, 4);
    if (t->size != 1 || t->bits != 2 || base.class || base.size != 1) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        const char *end = b.n > 0 ? memchr(b.p, 0, (size_t)b.n) : NULL;
        const size_t n = end ? (size_t)(end - (const char *)b.p) + 1 : 1;
        const uint8_t *name = eg__hdf5_take(&b, t->version < 3 ? (n + 7) / 8 * 8 : n);
        which[i] = name && !memcmp(name, names[0], eg__min(n, 6)) ? 0 : 1;
        if (!name || n != strlen(names[which[i]]) + 1 || memcmp(name, names[which[i]], n)) {
            return false;
        }
    }
    const uint8_t *values = eg__hdf5_take(&b, 2);
    return values && values[0] == which[0] && values[1] == which[1] && which[0] != which[1];
}

/* EG__ELEMENTS: it is no number, or of a form that none has. */
static eg__element element_of(eg__hdf5_bytes b, bool *swapped)
{
    enum { INTEGER, FLOAT, ENUMERATION = 8 };
    const number_type t = begin_type(&b);
    *swapped = t.size > 1 && t.bits & 1;
    switch (t.class) {
    case INTEGER:
        return integer_of(&t, b);
    case FLOAT:
        return t.bits & 64 ? EG__ELEMENTS : float_of(&t, b); /* VAX has orders of its own */
    case ENUMERATION:
        *swapped = false;
        return is_bool(&t, b) ? EG__BOOL : EG__ELEMENTS;
    default:
        return EG__ELEMENTS;
    }
}

/* Returns the name of a datatype class that is not numeric. */
static const char *not_numbers(eg__hdf5_bytes b)
{
    static const char *const classes[] = {[0] = "integers of an unknown form",
                                          [1] = "floats of an unknown form",
                                          [2] = "times",
                                          [3] = "strings",
                                          [4] = "bits",
                                          [5] = "opaque bytes",
                                          [6] = "structures",
                                          [7] = "references",
                                          [8] = "enumerations",
                                          [9] = "strings or lists of various lengths",
                                          [10] = "arrays"};
    const int class = begin_type(&b).class;
    return class < EG__COUNT(classes) ? classes[class] : "elements of an unknown class";
}

/* ---- shapes --------------------------------------------------------------------------------------------- */

static eg_status read_shape(const eg__hdf5 *h, eg__hdf5_bytes b, eg_shape *shape, int64_t *most, const char **why)
{
    const int version = (int)eg__hdf5_number(&b, 1), ndim = (int)eg__hdf5_number(&b, 1),
              flags = (int)eg__hdf5_number(&b, 1), class = (int)eg__hdf5_number(&b, 1);
    eg__hdf5_take(&b, version == 1 ? 4 : 0);
    *why = version != 1 && class >= 2 ? "a dataset without elements"
           : ndim > EG_MAX_DIMS       ? "more axes than a tensor has"
                                      : NULL;
    *shape = (eg_shape){.ndim = ndim};
    if (version < 1 || version > 2) {
        return eg__hdf5_bad(h, "unreadable axes has");
    }
    if (*why) {
        return EG_OK;
    }
    bool good = true;
    for (int i = 0; i < (flags & 1 ? 2 : 1); i++) {
        for (int d = 0; d < ndim; d++) {
            const uint64_t size = eg__hdf5_number(&b, 8);
            good = good && (size <= INT64_MAX || (i && size == UINT64_MAX));
            shape->dim[d] = i ? shape->dim[d] : (int64_t)size;
            most[d] = (int64_t)size;
            good = good && (most[d] < 0 || most[d] >= shape->dim[d]);
        }
    }
    return !good || b.ended ? eg__hdf5_bad(h, "a size beyond 2^63 - 1, or that it may not have, has") : EG_OK;
}

/* ---- chunks ---------------------------------------------------------------------------------------------- */

static eg_status read_filters(const eg__hdf5 *h, eg__hdf5_bytes b, eg__hdf5_entry *e, const char **why)
{
    const int version = (int)eg__hdf5_number(&b, 1), n = (int)eg__hdf5_number(&b, 1);
    unsigned seen = 0;
    eg__hdf5_take(&b, version == 1 ? 6 : 0);
    for (int i = 0; i < n; i++) {
        const uint64_t f = eg__hdf5_number(&b, 2), name = version == 1 || f >= 256 ? eg__hdf5_number(&b, 2) : 0;
        eg__hdf5_take(&b, 2);
        const uint64_t values = eg__hdf5_number(&b, 2);
        eg__hdf5_take(&b, version == 1 ? (name + 7) / 8 * 8 : name);
        eg__hdf5_bytes value = b;
        eg__hdf5_take(&b, 4 * (version == 1 ? (values + 1) / 2 * 2 : values));
        if (b.ended || (f <= EG__HDF5_FLETCHER32 && seen >> f & 1)) {
            return eg__hdf5_bad(h, "damaged are the filters of");
        }
        if (f < EG__HDF5_DEFLATE || f > EG__HDF5_FLETCHER32) {
            *why = "packed by other than deflate, shuffle and fletcher32";
            return EG_OK;
        }
        seen |= 1u << f;
        e->filter[e->filters++] = (uint8_t)f;
        if (f == EG__HDF5_SHUFFLE) {
            e->shuffled = values ? (uint32_t)eg__hdf5_number(&value, 4) : 1;
        }
    }
    return EG_OK;
}

/* All chunks together are what is unpacked. */
static eg_status check_chunks(const eg__hdf5 *h, eg__hdf5_entry *e)
{
    const eg_shape *s = &e->about.shape;
    int64_t all = 1;
    int endless = 0;
    bool fits = true;
    e->bytes = eg__element_bits(e->element) / 8;
    for (int d = 0; d < s->ndim && fits; d++) {
        endless += e->most[d] < 0;
        const int64_t size = e->chunk[d];
        fits = size > 0 && !__builtin_mul_overflow(e->bytes, size, &e->bytes) &&
               !__builtin_mul_overflow(all, s->dim[d] ? (s->dim[d] - 1) / size + 1 : 0, &all);
        e->most[d] = e->most[d] > 0 && fits ? (e->most[d] - 1) / size + 1 : e->most[d];
    }
    if (!fits || e->bytes > INT64_MAX / 4 || __builtin_mul_overflow(all, e->bytes, &all)) {
        return eg__hdf5_bad(h, "more or larger chunks than the file can have has");
    }
    const bool row = e->index == EG__HDF5_IMPLICIT || e->index == EG__HDF5_FIXED;
    if ((row && endless) || (e->index == EG__HDF5_EXTENSIBLE && endless != 1)) {
        return eg__hdf5_bad(h, "another index than its shape can have has");
    }
    return eg__source_unpacks(h->source, h->at, h->name, all);
}

/* The last of sizes is that of an element. */
static bool read_sizes(eg__hdf5_bytes *b, eg__hdf5_entry *e, int count, int bytes)
{
    bool good = count == e->about.shape.ndim + 1 && count > 1 && bytes > 0 && bytes <= 8;
    for (int d = 0; d < count && good; d++) {
        const uint64_t size = eg__hdf5_number(b, bytes);
        if (d < count - 1) {
            e->chunk[d] = (int64_t)(size & INT64_MAX);
        } else {
            good = size == (uint64_t)eg__element_bits(e->element) / 8;
        }
    }
    return good && !b->ended;
}

/* Since version 4 there are several kinds of indexes, each with numbers of its own. */
static bool read_index(eg__hdf5_bytes *b, eg__hdf5_entry *e)
{
    static const uint8_t numbers[] = {
        [EG__HDF5_SINGLE] = 0, [EG__HDF5_FIXED] = 1, [EG__HDF5_EXTENSIBLE] = 5, [EG__HDF5_TREE_2] = 6};
    enum { EDGES_PLAIN = 1, PACKED = 2 };
    const uint64_t flags = eg__hdf5_number(b, 1), count = eg__hdf5_number(b, 1), bytes = eg__hdf5_number(b, 1);
    if (flags & EDGES_PLAIN || !read_sizes(b, e, (int)count, (int)bytes)) {
        return false;
    }
    const uint64_t index = eg__hdf5_number(b, 1);
    e->index = (eg__hdf5_index)index;
    if (index < EG__HDF5_SINGLE || index > EG__HDF5_TREE_2) {
        return false;
    }
    if (index == EG__HDF5_SINGLE && flags & PACKED) {
        e->packed = eg__hdf5_number(b, 8);
        e->left_out = (uint32_t)eg__hdf5_number(b, 4);
    }
    eg__hdf5_take(b, numbers[index]);
    e->at = eg__hdf5_number(b, 8);
    return !b->ended;
}

/* ---- where elements are ------------------------------------------------------------------------------------ */

static eg_status place(const eg__hdf5 *h, eg__hdf5_entry *e, uint64_t at)
{
    e->kind = at == EG__HDF5_NOWHERE ? EG__HDF5_UNWRITTEN : EG__HDF5_PLACED;
    e->at = at;
    if (e->kind == EG__HDF5_UNWRITTEN) {
        return eg__source_unpacks(h->source, h->at, h->name, e->about.bytes);
    }
    return at > (uint64_t)h->size || e->about.bytes > h->size - (int64_t)at
               ? eg__hdf5_bad(h, "the file ends before the elements of")
               : EG_OK;
}

static const char elsewhere[] = "elements in other files, which are not opened";

static eg_status read_layout(const eg__hdf5 *h, const eg__hdf5_message *m, eg__hdf5_entry *e, const char **why)
{
    enum { COMPACT, CONTIGUOUS, CHUNKED, VIRTUAL };
    eg__hdf5_bytes b = m->bytes;
    const int version = (int)eg__hdf5_number(&b, 1), class = (int)eg__hdf5_number(&b, 1);
    if (version < 3 || version > 5 || class > VIRTUAL) {
        return eg__hdf5_bad(h, "no known layout has");
    }
    if (class == VIRTUAL) {
        *why = elsewhere;
        return EG_OK;
    }
    if (class == COMPACT) {
        const uint64_t size = eg__hdf5_number(&b, 2);
        return size != (uint64_t)e->about.bytes || size > (uint64_t)b.n
                   ? eg__hdf5_bad(h, "other sizes than its shape says has")
                   : place(h, e, m->at + 4);
    }
    if (class == CONTIGUOUS) {
        const uint64_t at = eg__hdf5_number(&b, 8);
        return b.ended ? eg__hdf5_bad(h, "no known layout has") : place(h, e, at);
    }
    bool good = true;
    e->kind = EG__HDF5_CHUNKED;
    e->index = EG__HDF5_TREE_1;
    if (version == 3) {
        const int count = (int)eg__hdf5_number(&b, 1);
        e->at = eg__hdf5_number(&b, 8);
        good = read_sizes(&b, e, count, 4);
    } else {
        good = read_index(&b, e);
    }
    return good ? check_chunks(h, e) : eg__hdf5_bad(h, "unknown chunks has");
}

/* The value may be of another type than the elements; then, and where the file leaves it open, it is zero. */
static void read_fill(const eg__hdf5_header *d, eg__hdf5_entry *e)
{
    const eg__hdf5_message *new = eg__hdf5_find(d, EG__HDF5_FILL), *m = new ? new : eg__hdf5_find(d, EG__HDF5_FILL_OLD);
    if (!m) {
        return;
    }
    eg__hdf5_bytes b = m->bytes;
    bool there = true;
    /* In front: nothing; version, two times and whether there is one; version and flags. */
    if (new) {
        const uint64_t version = eg__hdf5_number(&b, 1);
        eg__hdf5_take(&b, version < 3 ? 2 : 0);
        there = eg__hdf5_number(&b, 1) & (version < 3 ? 0xff : 32);
    }
    const uint64_t size = eg__hdf5_number(&b, 4);
    const uint8_t *value = there && size == (uint64_t)eg__element_bits(e->element) / 8 ? eg__hdf5_take(&b, size) : NULL;
    if (value) {
        memcpy(e->fill, value, size);
    }
}

eg_status eg__hdf5_describe(eg__hdf5 *h, const eg__hdf5_header *d, eg__hdf5_entry *e, const char **why)
{
    const eg__hdf5_message *type = eg__hdf5_find(d, EG__HDF5_TYPE), *space = eg__hdf5_find(d, EG__HDF5_SPACE),
                           *layout = eg__hdf5_find(d, EG__HDF5_LAYOUT), *filters = eg__hdf5_find(d, EG__HDF5_FILTERS);
    eg_shape shape;
    *e = (eg__hdf5_entry){.element = EG__ELEMENTS};
    if (!type || !space || !layout) {
        *why = "no dataset";
        return EG_OK;
    }
    e->element = element_of(type->bytes, &e->swapped);
    *why = e->element == EG__ELEMENTS            ? not_numbers(type->bytes)
           : eg__hdf5_find(d, EG__HDF5_EXTERNAL) ? elsewhere
                                                 : NULL;
    eg_status st = *why ? EG_OK : read_shape(h, space->bytes, &shape, e->most, why);
    if (st || *why) {
        return st;
    }
    if (eg__element_about(h->source->op, e->element, &shape, &e->about)) {
        return eg__hdf5_bad(h, "no tensor can be of the shape of");
    }
    read_fill(d, e);
    st = filters ? read_filters(h, filters->bytes, e, why) : EG_OK;
    return st || *why ? st : read_layout(h, layout, e, why);
}
