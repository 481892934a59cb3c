/* npy.c - one array per file, as NumPy saves it: magic, version, a Python literal, the data. */
#include <stdio.h>
#include <stdlib.h>

#include <egret/io.h>
#include <egret/ops.h>

#include "lib/core/layout.h"
#include "lib/core/counted.h"
#include "lib/io/npy.h"

enum { MAGIC_BYTES = 6, MOST_HEADER = 1 << 20 };
static const char magic[] = "\x93NUMPY";

/* What NumPy calls elements, without the byte order; NULL: nothing. */
static const char *const kinds[EG__ELEMENTS] = {
    [EG__F32] = "f4", [EG__F64] = "f8", [EG__F16] = "f2",  [EG__BF16] = "V2", [EG__I64] = "i8",
    [EG__I32] = "i4", [EG__U8] = "u1",  [EG__BOOL] = "b1", [EG__I8] = "i1",   [EG__I16] = "i2",
    [EG__U16] = "u2", [EG__U32] = "u4", [EG__U64] = "u8",  [EG__C64] = "c8",  [EG__C128] = "c16",
};

typedef struct reader {
    const eg__source *source;
    const char *s;          /* the literal */
    int64_t at, size, base; /* base: where it begins in the file */
    int64_t end;            /* of the array */
    unsigned has;
    char *why; /* what was left out; or NULL */
    bool left_out;
    eg__npy *npy;
} reader;

#define BAD(r, ...) eg__source_bad((r)->source, (r)->base + (r)->at, __VA_ARGS__)

/* Marks a well-formed header whose dtype Egret does not have; the rest of the literal is not read. */
#define NONE(r, ...) \
    ((r)->why ? (snprintf((r)->why, EG__NPY_WHY, __VA_ARGS__), (r)->left_out = true, EG_OK) : BAD(r, __VA_ARGS__))

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
        return NONE(r, "structured arrays are none Egret has");
    }
    eg_status st = read_text(r, text, sizeof text, "descr");
    if (st) {
        return st;
    }
    const char *order = strchr("<>=|", text[0]);
    for (int e = 0; e < EG__ELEMENTS && order && *order; e++) {
        if (kinds[e] && !strcmp(text + 1, kinds[e])) {
            r->npy->element = (eg__element)e;
            r->npy->swapped = *order == '>' || (*order == '=' && eg__big_endian());
            bool fits = *order != '|' || eg__element_bits(r->npy->element) == 8 || e == EG__BF16;
            return fits ? EG_OK : BAD(r, "descr '%s' lacks its byte order", text);
        }
    }
    return NONE(r, "descr '%s' is none Egret has", text);
}

static eg_status read_order(reader *r)
{
    peek(r);
    const char *at = r->s + r->at;
    int64_t left = r->size - r->at;
    r->npy->fortran = left >= 4 && !memcmp(at, "True", 4);
    if (!r->npy->fortran && (left < 5 || memcmp(at, "False", 5))) {
        return BAD(r, "fortran_order is neither True nor False");
    }
    r->at += r->npy->fortran ? 4 : 5;
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
    while (!st && !r->left_out && !take(r, ')')) {
        if (!comma) {
            return BAD(r, "a comma was expected in shape");
        }
        if (r->npy->shape.ndim == EG_MAX_DIMS) {
            return NONE(r, "shape has more than %d axes", EG_MAX_DIMS);
        }
        st = read_size(r, &r->npy->shape.dim[r->npy->shape.ndim++]);
        comma = take(r, ',');
    }
    return !st && !r->left_out && r->npy->shape.ndim == 1 && !comma ? BAD(r, "shape is not a tuple") : st;
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
    while (!st && !r->left_out && !take(r, '}')) {
        st = comma ? read_item(r) : BAD(r, "a comma was expected");
        comma = take(r, ',');
    }
    if (st || r->left_out) {
        return st;
    }
    if (r->has != 7) {
        return BAD(r, "the header lacks descr, fortran_order or shape");
    }
    return peek(r) != -1 ? BAD(r, "something after the dictionary") : EG_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Whether the elements are all there is behind the literal. */
static eg_status check_data(const reader *r)
{
    eg__npy *a = r->npy;
    a->data = r->base + r->size;
    if (eg__element_about(r->source->op, a->element, &a->shape, &a->about) || a->about.bytes != r->end - a->data) {
        return eg__source_bad(r->source, a->data, "%s %s does not take the %lld bytes there are", kinds[a->element],
                              eg__shape_text(a->shape.ndim, a->shape.dim).s, (long long)(r->end - a->data));
    }
    return EG_OK;
}

/* Where the literal lies, from the fixed bytes in front. */
static eg_status read_prefix(reader *r, int64_t from)
{
    uint8_t b[MAGIC_BYTES + 2 + 4] = {0};
    eg_status st = eg__source_read(r->source, from, b, MAGIC_BYTES + 2);
    if (st) {
        return st;
    }
    if (memcmp(b, magic, MAGIC_BYTES)) {
        return eg__source_bad(r->source, from, "not an npy file: it does not begin with \\x93NUMPY");
    }
    if (b[MAGIC_BYTES] < 1 || b[MAGIC_BYTES] > 3 || b[MAGIC_BYTES + 1] != 0) {
        return eg__source_bad(r->source, from + MAGIC_BYTES, "format version %d.%d, known are 1.0 to 3.0",
                              b[MAGIC_BYTES], b[MAGIC_BYTES + 1]);
    }
    int width = b[MAGIC_BYTES] == 1 ? 2 : 4;
    uint8_t *p = b + MAGIC_BYTES + 2;
    st = eg__source_read(r->source, from + MAGIC_BYTES + 2, p, width);
    r->base = from + MAGIC_BYTES + 2 + width;
    r->size = (int64_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
    if (!st && (r->size > MOST_HEADER || r->size > r->end - r->base)) {
        return eg__source_bad(r->source, from + MAGIC_BYTES + 2,
                              "the header's length is %lld, the file has %lld bytes and headers at most %d",
                              (long long)r->size, (long long)(r->end - from), MOST_HEADER);
    }
    return st;
}

eg_status eg__npy_open(eg__npy *a, const eg__source *s, int64_t from, int64_t bytes, char *why)
{
    reader r = {.source = s, .end = from + bytes, .npy = a, .why = why};
    char *header = NULL;
    *a = (eg__npy){0};
    eg_status st = read_prefix(&r, from);
    if (!st && !(header = eg__counted_alloc((size_t)r.size))) {
        st = eg__no_memory(s->op, r.size);
    }
    const int64_t whole = r.size, there = eg__min(r.size, s->size - r.base);
    st = st ? st : eg__source_read(s, r.base, header, there);
    if (!st) {
        r.s = header;
        r.size = there;
        st = read_literal(&r);
        r.size = whole;
    }
    if (r.left_out) {
        a->element = EG__ELEMENTS;
    }
    st = st || r.left_out ? st : check_data(&r);
    eg__counted_free(header);
    return st;
}

/* Elements of the other byte order: turned in memory, then read from there. */
static eg_tensor *read_swapped(const eg__npy *a, const eg__source *s, const eg_shape *shape)
{
    const bool pairs = a->element == EG__C64 || a->element == EG__C128;
    const int64_t width = eg__element_bits(a->element) / (pairs ? 16 : 8), bytes = a->about.bytes;
    char *turned = bytes <= s->size - a->data ? eg__counted_alloc((size_t)bytes + 1) : NULL;
    const eg__source memory = {.op = s->op, .name = s->name, .data = turned, .fd = -1, .size = bytes};
    if (!turned) {
        return eg__no_memory(s->op, bytes), NULL;
    }
    eg_tensor *t = NULL;
    if (!eg__source_read(s, a->data, turned, bytes)) {
        eg__swap_bytes(turned, bytes / width, (size_t)width);
        t = eg__element_read(&memory, 0, a->element, shape);
    }
    eg__counted_free(turned);
    return t;
}

/* The elements in a source, or where it is one in a backing. */
static eg_tensor *tensor_of(const eg__npy *a, const eg__source *s, eg__backing *b)
{
    const int n = a->shape.ndim;
    eg_shape stored = a->shape;
    eg_axes back = {.count = a->about.shape.ndim};
    for (int d = 0; d < back.count; d++) { /* the last, of complex numbers, stays */
        stored.dim[d] = a->shape.dim[a->fortran && d < n ? n - 1 - d : d];
        back.axis[d] = d < n ? n - 1 - d : d;
    }
    eg_tensor *t = a->swapped ? read_swapped(a, s, &stored)
                   : b        ? eg__backing_tensor(b, a->data, a->element, &stored)
                              : eg__element_read(s, a->data, a->element, &stored);
    return t && a->fortran && n > 1 ? eg_permute(t, back) : t;
}

eg_tensor *eg__npy_tensor(const eg__npy *a, eg__backing *b)
{
    return tensor_of(a, &b->source, b);
}

eg_tensor *eg__npy_read(const eg__source *s, char *why)
{
    eg__npy a;
    eg_tensor *t = NULL;
    eg_scope scope = eg_scope_push();
    if (scope.depth && !eg__npy_open(&a, s, 0, s->size, why) && a.element != EG__ELEMENTS) {
        t = tensor_of(&a, s, NULL);
        t = t ? eg_contiguous(t) : NULL;
    }
    return scope.depth ? eg_scope_pop(scope, t) : NULL;
}

eg_tensor *eg_npy_load(const char *path)
{
    eg__source s;
    if (eg__source_open(&s, "eg_npy_load", path)) {
        return NULL;
    }
    eg_tensor *t = eg__npy_read(&s, NULL);
    eg__source_close(&s);
    return t;
}

eg_tensor *eg_npy_parse(const void *data, size_t bytes)
{
    eg__source s;
    return eg__source_memory(&s, "eg_npy_parse", data, bytes) ? NULL : eg__npy_read(&s, NULL);
}

/* ---- writing --------------------------------------------------------------------------------- */

size_t eg__npy_header(const eg_tensor_about *x, char to[EG__NPY_HEADER])
{
    bool wide = eg_dtype_size(x->dtype) > 1;
    memset(to, ' ', EG__NPY_HEADER);
    memcpy(to, "\x93NUMPY\x01\x00", MAGIC_BYTES + 2);
    char *p = to + MAGIC_BYTES + 4, *end = to + EG__NPY_HEADER;
    p += snprintf(p, (size_t)(end - p), "{'descr': '%c%s', 'fortran_order': False, 'shape': (", wide ? '<' : '|',
                  kinds[x->dtype]);
    for (int d = 0; d < x->shape.ndim; d++) {
        p += snprintf(p, (size_t)(end - p), "%s%lld", d ? ", " : "", (long long)x->shape.dim[d]);
    }
    p += snprintf(p, (size_t)(end - p), "%s), }", x->shape.ndim == 1 ? "," : "");
    *p = ' ';
    size_t total = ((size_t)(p - to) + 1 + 63) / 64 * 64, length = total - MAGIC_BYTES - 4;
    to[total - 1] = '\n';
    to[MAGIC_BYTES + 2] = (char)(length & 255);
    to[MAGIC_BYTES + 3] = (char)(length >> 8);
    return total;
}

eg_status eg_npy_save(const eg_tensor *t, const char *path)
{
    char header[EG__NPY_HEADER];
    eg__target file;
    eg_status st = eg__check(t, "eg_npy_save", "t");
    if (st || (st = eg__target_open(&file, "eg_npy_save", path))) {
        return st;
    }
    const eg_tensor_about about = {.dtype = (eg_dtype)t->dtype, .shape = eg_shape_of(t)};
    st = eg__target_write(&file, header, eg__npy_header(&about, header));
    return eg__target_close(&file, st ? st : eg__target_write_tensor(&file, t));
}
