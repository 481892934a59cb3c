/* hdf5_dataset.c - what a dataset of HDF5 is, and its elements. libhdf5 says where they lie and how they are packed;
 * they are read and unpacked here, within what the file can have. */
#include "lib/io/hdf5.h"

#ifdef EG_HAVE_HDF5

#define FUNCTIONS(X)              \
    X(H5Dget_create_plist)        \
    X(H5Dget_offset)              \
    X(H5Dget_space)               \
    X(H5Dget_type)                \
    X(H5Pclose)                   \
    X(H5Pget_chunk)               \
    X(H5Pget_chunk_opts)          \
    X(H5Pget_external_count)      \
    X(H5Pget_filter2)             \
    X(H5Pget_layout)              \
    X(H5Pget_nfilters)            \
    X(H5Sclose)                   \
    X(H5Sget_simple_extent_dims)  \
    X(H5Sget_simple_extent_ndims) \
    X(H5Sget_simple_extent_type)  \
    X(H5Tclose)                   \
    X(H5Tget_class)               \
    X(H5Tget_ebias)               \
    X(H5Tget_fields)              \
    X(H5Tget_member_index)        \
    X(H5Tget_member_value)        \
    X(H5Tget_nmembers)            \
    X(H5Tget_norm)                \
    X(H5Tget_offset)              \
    X(H5Tget_order)               \
    X(H5Tget_precision)           \
    X(H5Tget_sign)                \
    X(H5Tget_size)
EG__HDF5(lib, FUNCTIONS);

/* ---- before it is opened ---------------------------------------------------------------------------- */

typedef struct looked {
    bool other, layout, number; /* a type that is no number, elements, a type that may be one */
} looked;

/* Class 0 are integers, 1 floats, 8 enumerations, of which only those of two bytes can be booleans. */
static bool may_be_number(eg__hdf5_bytes m)
{
    const uint8_t *p, *base;
    if (!eg__hdf5_take(&m, 8, &p)) {
        return false;
    }
    const int class = p[0] & 15;
    const uint64_t size = eg__hdf5_number(p + 4, 4);
    return class == 8 ? size == 1 && eg__hdf5_number(p + 1, 3) == 2 && eg__hdf5_take(&m, 8, &base) && !(base[0] & 15) &&
                            eg__hdf5_number(base + 4, 4) == 1
                      : class < 2 && size && size <= 8;
}

static eg_status look(void *user, int type, eg__hdf5_bytes m)
{
    looked *l = user;
    if (type == EG__HDF5_TYPE) {
        l->number |= may_be_number(m);
        l->other |= !may_be_number(m);
    }
    l->layout |= type == EG__HDF5_LAYOUT;
    return EG_OK;
}

eg_status eg__hdf5_worth(const eg__hdf5 *h, haddr_t at, const char *name, bool *is)
{
    looked l = {0};
    eg_status st = eg__hdf5_messages(h, at, name, look, &l);
    *is = !l.other && l.number == l.layout;
    return st;
}

/* ---- types ----------------------------------------------------------------------------------------- */

static eg__element integer_of(hid_t type, size_t bytes)
{
    static const eg__element elements[2][9] = {
        {[1] = EG__U8, [2] = EG__U16, [4] = EG__U32, [8] = EG__U64},
        {[1] = EG__I8, [2] = EG__I16, [4] = EG__I32, [8] = EG__I64},
    };
    const bool known = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    return known ? elements[lib.H5Tget_sign(type) == H5T_SGN_2][bytes] : EG__ELEMENTS;
}

/* Exponents and fractions as IEEE 754 has them, and bfloat16. */
static eg__element float_of(hid_t type, size_t bytes)
{
    static const struct {
        eg__element element;
        size_t bytes, exponent, fraction, bias;
    } forms[] = {
        {EG__F16, 2, 5, 10, 15},
        {EG__BF16, 2, 8, 7, 127},
        {EG__F32, 4, 8, 23, 127},
        {EG__F64, 8, 11, 52, 1023},
    };
    size_t sign, exponent, exponent_bits, fraction, fraction_bits;
    if (lib.H5Tget_fields(type, &sign, &exponent, &exponent_bits, &fraction, &fraction_bits) < 0 || fraction ||
        exponent != fraction_bits || sign != 8 * bytes - 1 || lib.H5Tget_norm(type) != H5T_NORM_IMPLIED) {
        return EG__ELEMENTS;
    }
    for (int i = 0; i < EG__COUNT(forms); i++) {
        if (forms[i].bytes == bytes && forms[i].exponent == exponent_bits && forms[i].fraction == fraction_bits &&
            forms[i].bias == lib.H5Tget_ebias(type)) {
            return forms[i].element;
        }
    }
    return EG__ELEMENTS;
}

/* As h5py writes it: FALSE is 0, TRUE is 1, and there is no other. */
static bool is_bool(hid_t type)
{
    static const char *const names[] = {"FALSE", "TRUE"};
    bool same = lib.H5Tget_size(type) == 1 && lib.H5Tget_nmembers(type) == 2;
    for (int i = 0; same && i < 2; i++) {
        const int at = lib.H5Tget_member_index(type, names[i]);
        uint8_t value = 2;
        same = at >= 0 && lib.H5Tget_member_value(type, (unsigned)at, &value) >= 0 && value == i;
    }
    return same;
}

/* EG__ELEMENTS: it is no number, or of a form that none has. */
static eg__element element_of(hid_t type, bool *swapped)
{
    const H5T_class_t kind = lib.H5Tget_class(type);
    const size_t bytes = lib.H5Tget_size(type);
    *swapped = false;
    if (kind == H5T_ENUM) {
        return is_bool(type) ? EG__BOOL : EG__ELEMENTS;
    }
    if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || lib.H5Tget_offset(type) ||
        lib.H5Tget_precision(type) != 8 * bytes) {
        return EG__ELEMENTS;
    }
    const H5T_order_t order = lib.H5Tget_order(type);
    *swapped = bytes > 1 && order == H5T_ORDER_BE;
    if (bytes > 1 && order != H5T_ORDER_BE && order != H5T_ORDER_LE) {
        return EG__ELEMENTS;
    }
    return kind == H5T_INTEGER ? integer_of(type, bytes) : float_of(type, bytes);
}

/* ---- shapes and places ------------------------------------------------------------------------------ */

/* *numbers is false for a dataset that has no elements, not even none. */
static eg_status read_shape(const eg__hdf5 *h, hid_t space, const char *name, eg_shape *shape, bool *numbers)
{
    hsize_t size[H5S_MAX_RANK];
    const H5S_class_t kind = lib.H5Sget_simple_extent_type(space);
    const int ndim = kind == H5S_SIMPLE ? lib.H5Sget_simple_extent_ndims(space) : 0;
    *numbers = kind == H5S_SIMPLE || kind == H5S_SCALAR;
    *shape = (eg_shape){0};
    if (ndim < 0 || ndim > EG_MAX_DIMS || (ndim && lib.H5Sget_simple_extent_dims(space, size, NULL) != ndim)) {
        return eg__hdf5_bad(h, "more axes than a tensor has, or unreadable ones, has", name);
    }
    for (int d = 0; d < ndim; d++) {
        if (size[d] > INT64_MAX) {
            return eg__hdf5_bad(h, "a size beyond 2^63 - 1 has", name);
        }
        shape->dim[d] = (int64_t)size[d];
    }
    shape->ndim = ndim;
    return EG_OK;
}

/* Chunks must be indexed in the file, so it has some bytes for each; all of them together are what is unpacked. */
static eg_status check_chunks(const eg__hdf5 *h, hid_t properties, const char *name, const eg__hdf5_entry *e)
{
    hsize_t chunk[EG_MAX_DIMS];
    unsigned options = 0;
    const int ndim = e->shape.ndim, filters = lib.H5Pget_nfilters(properties);
    if (ndim < 1 || lib.H5Pget_chunk(properties, ndim, chunk) != ndim ||
        lib.H5Pget_chunk_opts(properties, &options) < 0 || options) {
        return eg__hdf5_bad(h, "unknown chunks has", name);
    }
    unsigned seen = 0;
    for (int i = 0; i < filters; i++) {
        size_t none = 0;
        unsigned flags;
        const H5Z_filter_t f = lib.H5Pget_filter2(properties, (unsigned)i, &flags, &none, NULL, 0, NULL, NULL);
        if ((f != H5Z_FILTER_DEFLATE && f != H5Z_FILTER_SHUFFLE) || seen >> f & 1) {
            return eg__hdf5_bad(h, "packed by other than deflate and shuffle is", name);
        }
        seen |= 1u << f;
    }
    int64_t count = 1, bytes = eg__element_bits(e->element) / 8;
    bool fits = true;
    for (int d = 0; d < ndim && fits; d++) {
        fits =
            chunk[d] && chunk[d] <= INT64_MAX && !__builtin_mul_overflow(bytes, (int64_t)chunk[d], &bytes) &&
            !__builtin_mul_overflow(count, e->shape.dim[d] ? (e->shape.dim[d] - 1) / (int64_t)chunk[d] + 1 : 0, &count);
    }
    if (!fits || count > h->size / 8 || __builtin_mul_overflow(count, bytes, &bytes)) {
        return eg__hdf5_bad(h, "more or larger chunks than the file can have has", name);
    }
    return eg__source_unpacks(h->source, h->at, name, bytes);
}

static eg_status check_place(const eg__hdf5 *h, hid_t dataset, hid_t properties, const char *name, eg__hdf5_entry *e)
{
    const int64_t bytes = e->about.bytes;
    switch (lib.H5Pget_layout(properties)) {
    case H5D_CONTIGUOUS: {
        const haddr_t at = lib.H5Dget_offset(dataset);
        e->kind = at == HADDR_UNDEF ? EG__HDF5_UNWRITTEN : EG__HDF5_PLACED;
        if (e->kind == EG__HDF5_UNWRITTEN) {
            return eg__source_unpacks(h->source, h->at, name, bytes);
        }
        e->at = h->at + (int64_t)at;
        return at > (haddr_t)h->size || bytes > h->size - (int64_t)at
                   ? eg__hdf5_bad(h, "the file ends before the elements of", name)
                   : EG_OK;
    }
    case H5D_COMPACT:
        e->kind = EG__HDF5_SMALL;
        return bytes > h->size ? eg__hdf5_bad(h, "the file ends before the elements of", name) : EG_OK;
    case H5D_CHUNKED:
        e->kind = EG__HDF5_CHUNKED;
        return check_chunks(h, properties, name, e);
    default:
        return eg__hdf5_bad(h, "no known layout has", name);
    }
}

/* To ask a dataset of parts of others for its shape would open their files. */
static bool elsewhere(hid_t properties)
{
    return lib.H5Pget_layout(properties) == H5D_VIRTUAL || lib.H5Pget_external_count(properties) != 0;
}

eg_status eg__hdf5_describe(const eg__hdf5 *h, hid_t dataset, const char *name, eg__hdf5_entry *e, bool *numbers)
{
    eg_status st = eg__library_open(&lib_library, h->source->op);
    if (st) {
        return st;
    }
    hid_t space = -1;
    const hid_t type = lib.H5Dget_type(dataset), properties = lib.H5Dget_create_plist(dataset);
    *numbers = false;
    if (type < 0 || properties < 0) {
        st = eg__hdf5_bad(h, "libhdf5 does not read", name);
    } else if (elsewhere(properties)) {
        st = eg__hdf5_bad(h, "other files, which are not opened, have the elements of", name);
    } else {
        e->element = element_of(type, &e->swapped);
    }
    if (!st && e->element != EG__ELEMENTS && (space = lib.H5Dget_space(dataset)) < 0) {
        st = eg__hdf5_bad(h, "libhdf5 does not read the shape of", name);
    }
    if (!st && space >= 0) {
        st = read_shape(h, space, name, &e->shape, numbers);
    }
    if (!st && *numbers && eg__element_about(h->source->op, e->element, &e->shape, &e->about)) {
        st = eg__hdf5_bad(h, "no tensor can be of the shape of", name);
    }
    st = st || !*numbers ? st : check_place(h, dataset, properties, name, e);
    if (space >= 0) {
        lib.H5Sclose(space);
    }
    if (properties >= 0) {
        lib.H5Pclose(properties);
    }
    if (type >= 0) {
        lib.H5Tclose(type);
    }
    return st;
}

/* ---- elements ---------------------------------------------------------------------------------------- */

typedef struct filling {
    uint8_t value[8];
    int64_t bytes; /* of an element */
    bool last;     /* the newer message was seen */
} filling;

/* Of libhdf5 it would be asked with a type, which need not be that of the value. */
static eg_status see_fill(void *user, int type, eg__hdf5_bytes m)
{
    filling *f = user;
    const uint8_t *p = m.p;
    if ((type != EG__HDF5_FILL_OLD || f->last) && type != EG__HDF5_FILL) {
        return EG_OK;
    }
    f->last = type == EG__HDF5_FILL;
    /* In front: nothing; version, two times and whether there is one; version and flags. */
    const int front = !f->last ? 0 : m.n > 0 && *p < 3 ? 4 : 2;
    if (eg__hdf5_take(&m, front + 4, &p) && (!f->last || (*p < 3 ? p[3] : p[1] & 32)) &&
        (int64_t)eg__hdf5_number(p + front, 4) == f->bytes && m.n >= f->bytes) {
        memcpy(f->value, m.p, (size_t)f->bytes);
    }
    return EG_OK;
}

/* With zeros where the file leaves it open. */
static eg_status fill(const eg__hdf5 *h, const eg__hdf5_entry *e, char *to)
{
    filling f = {.bytes = eg__element_bits(e->element) / 8};
    eg_status st = eg__hdf5_messages(h, e->object, h->source->name, see_fill, &f);
    for (int64_t i = 0; i < e->about.bytes && !st; i += f.bytes) {
        memcpy(to + i, f.value, (size_t)f.bytes);
    }
    return st;
}

typedef struct small {
    void *to;
    int64_t bytes;
    bool found;
} small;

/* The layout of what lies in the header: version, class, size, elements. */
static eg_status see_layout(void *user, int type, eg__hdf5_bytes m)
{
    small *s = user;
    const uint8_t *p;
    if (type == EG__HDF5_LAYOUT && eg__hdf5_take(&m, 4, &p) && (p[0] == 3 || p[0] == 4) && !p[1] &&
        (int64_t)eg__hdf5_number(p + 2, 2) == s->bytes && m.n >= s->bytes) {
        memcpy(s->to, m.p, (size_t)s->bytes);
        s->found = true;
    }
    return EG_OK;
}

static eg_status read_small(const eg__hdf5 *h, const eg__hdf5_entry *e, void *to)
{
    small s = {.to = to, .bytes = e->about.bytes};
    eg_status st = eg__hdf5_messages(h, e->object, h->source->name, see_layout, &s);
    return st || s.found ? st : eg__hdf5_bad(h, "other sizes than its shape say has a dataset of", h->source->name);
}

eg_status eg__hdf5_read(eg__hdf5 *h, hid_t dataset, const eg__hdf5_entry *e, void *to)
{
    if (e->kind == EG__HDF5_PLACED || !e->about.bytes) {
        return eg__source_read(h->source, e->at, to, e->about.bytes);
    }
    if (e->kind == EG__HDF5_SMALL) {
        return read_small(h, e, to);
    }
    eg_status st = fill(h, e, to);
    return st || e->kind == EG__HDF5_UNWRITTEN ? st : eg__hdf5_read_chunks(h, dataset, e, to);
}

#endif
