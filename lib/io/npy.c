/* npy.c - one array per file, as NumPy saves it: magic, version, a Python literal, the data. */
#include <stdio.h>
#include <stdlib.h>

#include <egret/io.h>
#include <egret/ops.h>

#include "lib/core/layout.h"
#include "lib/io/npy.h"

enum { MAGIC_BYTES = 6, MOST_HEADER = 1 << 20 };
static const char magic[] = "\x93NUMPY";

/* What NumPy calls our dtypes, without the byte order. */
static const char *const kinds[EG_DTYPE_COUNT] = {"f4", "f8", "f2", "V2", "i8", "i4", "u1", "b1"};

typedef struct reader {
    eg__source *source;
    const char *s;          /* the literal */
    int64_t at, size, base; /* base: where it begins in the file */
    unsigned has;
    int dtype;
    bool swapped, fortran;
    eg_shape shape;
} reader;

#define BAD(r, ...) eg__source_bad((r)->source, (r)->base + (r)->at, __VA_ARGS__)

/* ---- the literal: { 'key': value, ... }, parsed, never evaluated ----------------------------- */

static int peek(reader *r)
{
    while (r->at < r->size && (r->s[r->at] == ' ' || r->s[r->at] == '\n' || r->s[r->at] == '\t')) {
        r->at++;
    }
    return r->at < r->size ? (unsigned char)r->s[r->at] : -1;
}

static bool take(reader *r, int c)
{
    bool here = peek(r) == c;
    r->at += here;
    return here;
}

/* A quoted text without escapes, copied; longer than `size` is cut. */
static eg_status read_text(reader *r, char *to, size_t size, const char *what)
{
    int quote = peek(r);
    size_t n = 0;
    if (quote != '\'' && quote != '"') {
        return BAD(r, "%s in quotes was expected", what);
    }
    for (r->at++; r->at < r->size && r->s[r->at] != quote; r->at++) {
        if (r->s[r->at] == '\\') {
            return BAD(r, "an escape in %s", what);
        }
        if (n + 1 < size) {
            to[n++] = r->s[r->at];
        }
    }
    to[n] = 0;
    return take(r, quote) ? EG_OK : BAD(r, "%s without its closing quote", what);
}

static eg_status read_descr(reader *r)
{
    char text[24];
    if (peek(r) == '[') {
        return BAD(r, "structured arrays are none Egret has");
    }
    eg_status st = read_text(r, text, sizeof text, "descr");
    if (st) {
        return st;
    }
    const char *order = strchr("<>=|", text[0]);
    for (int d = 0; d < EG_DTYPE_COUNT && order && *order; d++) {
        if (!strcmp(text + 1, kinds[d])) {
            r->dtype = d;
            r->swapped = (*order == '>' && !eg__big_endian()) || (*order == '<' && eg__big_endian());
            bool fits = *order != '|' || eg__dtype_sizes[d] == 1 || d == EG_BF16;
            return fits ? EG_OK : BAD(r, "descr '%s' lacks its byte order", text);
        }
    }
    return BAD(r, "descr '%s' is none Egret has", text);
}

static eg_status read_order(reader *r)
{
    peek(r);
    const char *at = r->s + r->at;
    int64_t left = r->size - r->at;
    r->fortran = left >= 4 && !memcmp(at, "True", 4);
    if (!r->fortran && (left < 5 || memcmp(at, "False", 5))) {
        return BAD(r, "fortran_order is neither True nor False");
    }
    r->at += r->fortran ? 4 : 5;
    return EG_OK;
}

static eg_status read_size(reader *r, int64_t *size)
{
    int c = peek(r);
    if (c < '0' || c > '9') {
        return BAD(r, "shape has something else than sizes from 0");
    }
    for (*size = 0; r->at < r->size && r->s[r->at] >= '0' && r->s[r->at] <= '9'; r->at++) {
        if (__builtin_mul_overflow(*size, 10, size) || __builtin_add_overflow(*size, r->s[r->at] - '0', size)) {
            return BAD(r, "a size past 2^63");
        }
    }
    r->at += r->at < r->size && r->s[r->at] == 'L'; /* Python 2's long */
    return EG_OK;
}

/* (), (n,), (n, m), (n, m,) */
static eg_status read_shape(reader *r)
{
    eg_status st = take(r, '(') ? EG_OK : BAD(r, "shape is not a tuple");
    bool comma = true;
    while (!st && !take(r, ')')) {
        if (!comma) {
            return BAD(r, "a comma was expected in shape");
        }
        if (r->shape.ndim == EG_MAX_DIMS) {
            return BAD(r, "shape has more than %d axes", EG_MAX_DIMS);
        }
        st = read_size(r, &r->shape.dim[r->shape.ndim++]);
        comma = take(r, ',');
    }
    return !st && r->shape.ndim == 1 && !comma ? BAD(r, "shape is not a tuple") : st;
}

static eg_status read_item(reader *r)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[24];
    int which = 0;
    eg_status st = read_text(r, key, sizeof key, "a key");
    while (which < 3 && strcmp(key, keys[which])) {
        which++;
    }
    if (st || which == 3 || r->has >> which & 1) {
        return st ? st : BAD(r, "key '%s' %s", key, which == 3 ? "is unknown" : "comes twice");
    }
    r->has |= 1u << which;
    if (!take(r, ':')) {
        return BAD(r, "a colon was expected");
    }
    return which == 0 ? read_descr(r) : which == 1 ? read_order(r) : read_shape(r);
}

static eg_status read_literal(reader *r)
{
    eg_status st = take(r, '{') ? EG_OK : BAD(r, "the header is not a dictionary");
    bool comma = true;
    while (!st && !take(r, '}')) {
        st = comma ? read_item(r) : BAD(r, "a comma was expected");
        comma = take(r, ',');
    }
    if (!st && r->has != 7) {
        return BAD(r, "the header lacks descr, fortran_order or shape");
    }
    return !st && peek(r) != -1 ? BAD(r, "something after the dictionary") : st;
}

/* ---- reading --------------------------------------------------------------------------------- */

static eg_status read_data(const reader *r, eg_tensor **t)
{
    const eg_shape *in = &r->shape;
    int64_t n, from = r->base + r->size;
    if (eg__check_shape(r->source->op, in->ndim, in->dim, r->dtype, &n) ||
        n * eg__dtype_sizes[r->dtype] != r->source->size - from) {
        return eg__source_bad(r->source, from, "%s %s does not take the %lld bytes there are",
                              eg_dtype_name((eg_dtype)r->dtype), eg__shape_text(in->ndim, in->dim).s,
                              (long long)(r->source->size - from));
    }
    eg_shape stored = *in;
    eg_axes back = {.count = in->ndim};
    for (int d = 0; d < in->ndim; d++) {
        stored.dim[d] = in->dim[r->fortran ? in->ndim - 1 - d : d];
        back.axis[d] = in->ndim - 1 - d;
    }
    eg_tensor *x = eg__empty_on(0, stored, (eg_dtype)r->dtype);
    eg_status st = x ? eg__source_read(r->source, from, eg__ptr(x), r->source->size - from) : eg__why();
    if (!st && r->swapped) {
        eg__swap_bytes(eg__ptr(x), n, eg__esize(x));
    }
    if (!st && r->fortran && in->ndim > 1) {
        x = eg_contiguous(eg_permute(x, back));
        st = x ? EG_OK : eg__why();
    }
    *t = st ? NULL : x;
    return st;
}

/* Where the literal lies, from the fixed bytes in front. */
static eg_status read_prefix(reader *r)
{
    uint8_t b[MAGIC_BYTES + 2 + 4] = {0};
    eg_status st = eg__source_read(r->source, 0, b, MAGIC_BYTES + 2);
    if (st) {
        return st;
    }
    if (memcmp(b, magic, MAGIC_BYTES)) {
        return eg__source_bad(r->source, 0, "not an npy file: it does not begin with \\x93NUMPY");
    }
    if (b[MAGIC_BYTES] < 1 || b[MAGIC_BYTES] > 3 || b[MAGIC_BYTES + 1] != 0) {
        return eg__source_bad(r->source, MAGIC_BYTES, "format version %d.%d, known are 1.0 to 3.0", b[MAGIC_BYTES],
                              b[MAGIC_BYTES + 1]);
    }
    int width = b[MAGIC_BYTES] == 1 ? 2 : 4;
    uint8_t *p = b + MAGIC_BYTES + 2;
    st = eg__source_read(r->source, MAGIC_BYTES + 2, p, width);
    r->base = MAGIC_BYTES + 2 + width;
    r->size = (int64_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
    if (!st && (r->size > MOST_HEADER || r->size > r->source->size - r->base)) {
        return eg__source_bad(r->source, MAGIC_BYTES + 2,
                              "the header's length is %lld, the file has %lld bytes and headers at most %d",
                              (long long)r->size, (long long)r->source->size, MOST_HEADER);
    }
    return st;
}

eg_tensor *eg__npy_read(eg__source *s)
{
    reader r = {.source = s};
    eg_tensor *t = NULL;
    char *header = NULL;
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? read_prefix(&r) : eg__why();
    if (!st && !(header = eg__malloc((size_t)r.size))) {
        st = eg__no_memory(s->op, r.size);
    }
    st = st ? st : eg__source_read(s, r.base, header, r.size);
    if (!st) {
        r.s = header;
        st = read_literal(&r);
    }
    if (!st) {
        read_data(&r, &t);
    }
    free(header);
    return eg_scope_pop(scope, t);
}

eg_tensor *eg_npy_load(const char *path)
{
    eg__source s;
    if (eg__source_open(&s, "eg_npy_load", path)) {
        return NULL;
    }
    eg_tensor *t = eg__npy_read(&s);
    eg__source_close(&s);
    return t;
}

eg_tensor *eg_npy_parse(const void *data, size_t bytes)
{
    eg__source s;
    return eg__source_memory(&s, "eg_npy_parse", data, bytes) ? NULL : eg__npy_read(&s);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Everything before the data: a multiple of 64 bytes, ended by a newline. */
static size_t make_header(const eg_tensor *t, char *to, size_t size)
{
    bool wide = eg__esize(t) > 1;
    memset(to, ' ', size);
    memcpy(to, "\x93NUMPY\x01\x00", MAGIC_BYTES + 2);
    char *p = to + MAGIC_BYTES + 4, *end = to + size;
    p += snprintf(p, (size_t)(end - p), "{'descr': '%c%s', 'fortran_order': False, 'shape': (", wide ? '<' : '|',
                  kinds[t->dtype]);
    for (int d = 0; d < t->ndim; d++) {
        p += snprintf(p, (size_t)(end - p), "%s%lld", d ? ", " : "", (long long)t->shape[d]);
    }
    p += snprintf(p, (size_t)(end - p), "%s), }", t->ndim == 1 ? "," : "");
    *p = ' ';
    size_t total = ((size_t)(p - to) + 1 + 63) / 64 * 64, length = total - MAGIC_BYTES - 4;
    to[total - 1] = '\n';
    to[MAGIC_BYTES + 2] = (char)(length & 255);
    to[MAGIC_BYTES + 3] = (char)(length >> 8);
    return total;
}

eg_status eg_npy_save(const eg_tensor *t, const char *path)
{
    char header[320]; /* 8 sizes of at most 19 digits */
    eg__target file;
    eg_status st = eg__check(t, "eg_npy_save", "t");
    if (st || (st = eg__target_open(&file, "eg_npy_save", path))) {
        return st;
    }
    st = eg__target_write(&file, header, make_header(t, header, sizeof header));
    return eg__target_close(&file, st ? st : eg__target_write_tensor(&file, t));
}
