/* safetensors.c - named tensors in one file: 8 bytes of header length, a JSON header, the data
 * (huggingface.co/docs/safetensors). */
#include "lib/io/safetensors.h"
#include "lib/core/counted.h"

#include <stdlib.h>

#include "lib/io/formats.h"
#include "lib/io/json.h"
#include "lib/io/sparse.h"

enum { LENGTH_BYTES = EG__SAFETENSORS_LENGTH, MOST_HEADER = EG__SAFETENSORS_HEADER };

/* ---- the header ------------------------------------------------------------------------------ */

/* What the header says of one tensor. */
typedef struct header_entry {
    const char *name;
    int64_t at; /* of its place in the file, for words */
    int64_t begin, end;
    eg_shape shape;
    eg__element element;
    eg_tensor_about about;
} header_entry;

typedef struct reader {
    const eg__source *source;
    eg__json json;
    header_entry *entry;
    uint32_t count, capacity;
    int64_t data; /* where they begin */
    eg_tensors *map;
} reader;

static eg_status bad_json(const reader *r)
{
    return eg__source_bad(r->source, LENGTH_BYTES + r->json.at, "%s",
                          r->json.error ? r->json.error : "not what a header may have here");
}

#define BAD(r, ...) eg__source_bad((r)->source, LENGTH_BYTES + (r)->json.start, __VA_ARGS__)

/* The latest key or string as C text: no zero inside. */
static bool plain(const reader *r)
{
    return (int64_t)strlen(r->json.text) == r->json.length;
}

static eg_status expect(reader *r, eg__json_token wanted, const char *what)
{
    eg__json_token t = eg__json_next(&r->json);
    return t == wanted ? EG_OK : t == EG__JSON_ERROR ? bad_json(r) : BAD(r, "%s was expected", what);
}

/* [ n, n, ... ] of at most `most` numbers that are not negative. */
static eg_status read_sizes(reader *r, int64_t *size, int most, int *count, const char *what)
{
    eg_status st = expect(r, EG__JSON_ARRAY, "a list of numbers");
    *count = 0;
    while (!st) {
        eg__json_token t = eg__json_next(&r->json);
        if (t == EG__JSON_ARRAY_END) {
            return EG_OK;
        }
        if (t == EG__JSON_ERROR) {
            return bad_json(r);
        }
        if (*count == most) {
            return BAD(r, "%s has more than %d numbers", what, most);
        }
        if (t != EG__JSON_NUMBER || !eg__json_integer(&r->json, &size[*count]) || size[*count] < 0) {
            return BAD(r, "%s has something else than a number from 0 to 2^63 - 1", what);
        }
        ++*count;
    }
    return st;
}

/* Types that only ONNX has, or of which only it says how they lie in bytes. */
static bool of_onnx_alone(eg__element e)
{
    return e == EG__I4 || e == EG__U4 || e == EG__I2 || e == EG__U2 || e == EG__F6_E2M3 || e == EG__F6_E3M2;
}

static eg_status read_dtype(reader *r, eg__element *e)
{
    eg_status st = expect(r, EG__JSON_STRING, "a dtype's name");
    *e = st ? EG__ELEMENTS : eg__element_named(plain(r) ? r->json.text : "");
    *e = of_onnx_alone(*e) ? EG__ELEMENTS : *e;
    return !st && *e == EG__ELEMENTS ? BAD(r, "dtype \"%.20s\" is none known", r->json.text) : st;
}

enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

/* One key of a tensor's object, and its value. */
static eg_status read_field(reader *r, header_entry *e, unsigned *has)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    int which = 0, count = 0;
    while (which < 3 && !eg__json_is(&r->json, keys[which])) {
        which++;
    }
    if (which == 3 || *has >> which & 1) {
        return BAD(r, "\"%.40s\" has key \"%.40s\"%s", e->name, r->json.text,
                   which == 3 ? ", which is unknown" : " twice");
    }
    *has |= 1u << which;
    if (which == 0) {
        return read_dtype(r, &e->element);
    }
    if (which == 1) {
        return read_sizes(r, e->shape.dim, EG_MAX_DIMS, &e->shape.ndim, "shape");
    }
    int64_t offsets[2];
    eg_status st = read_sizes(r, offsets, 2, &count, "data_offsets");
    if (!st && count != 2) {
        return BAD(r, "data_offsets has %d numbers, not 2", count);
    }
    if (!st) {
        e->begin = offsets[0];
        e->end = offsets[1];
    }
    return st;
}

/* Whether its elements fill their bytes. */
static bool whole_bytes(const header_entry *e)
{
    const int64_t n = eg__about_bytes(&e->about) / (int64_t)eg_dtype_size(e->about.dtype);
    return eg__element_bits(e->element) >= 8 || n * eg__element_bits(e->element) % 8 == 0;
}

/* The object of a tensor, whose name was just read. */
static eg_status read_tensor(reader *r)
{
    if (!plain(r)) {
        return BAD(r, "a name with a zero inside");
    }
    if (r->count == r->capacity && !eg__counted_grow(&r->entry, &r->capacity, sizeof *r->entry)) {
        return eg__no_memory(r->source->op, (int64_t)sizeof *r->entry);
    }
    header_entry *e = &r->entry[r->count];
    *e = (header_entry){.name = r->json.text, .at = LENGTH_BYTES + r->json.start};
    unsigned has = 0;
    eg_status st = expect(r, EG__JSON_OBJECT, "an object");
    while (!st) {
        eg__json_token t = eg__json_next(&r->json);
        if (t == EG__JSON_OBJECT_END) {
            break;
        }
        st = t == EG__JSON_KEY ? read_field(r, e, &has) : bad_json(r);
    }
    if (!st && has != HAS_ALL) {
        st = eg__source_bad(r->source, e->at, "\"%.60s\" lacks dtype, shape or data_offsets", e->name);
    }
    if (!st && (eg__element_about(r->source->op, e->element, &e->shape, &e->about) ||
                e->about.bytes != e->end - e->begin || e->begin > e->end || !whole_bytes(e))) {
        st = eg__source_bad(r->source, e->at, "\"%.50s\" of %s %s needs other than its bytes %lld..%lld", e->name,
                            eg__element_word(e->element), eg__shape_text(e->shape.ndim, e->shape.dim).s,
                            (long long)e->begin, (long long)e->end);
    }
    r->count += !st;
    return st;
}

/* { "key": "text", ... } */
static eg_status read_texts(reader *r)
{
    eg_status st = expect(r, EG__JSON_OBJECT, "an object of texts");
    while (!st) {
        eg__json_token t = eg__json_next(&r->json);
        if (t == EG__JSON_OBJECT_END) {
            return EG_OK;
        }
        if (t != EG__JSON_KEY) {
            return bad_json(r);
        }
        const char *key = r->json.text;
        if (!plain(r) || eg_tensors_text(r->map, key)) {
            return BAD(r, "__metadata__ has \"%.60s\" twice, or with a zero inside", key);
        }
        st = expect(r, EG__JSON_STRING, "a text");
        if (!st && !plain(r)) {
            st = BAD(r, "a text with a zero inside");
        }
        st = st ? st : eg_tensors_set_text(r->map, key, r->json.text);
    }
    return st;
}

static eg_status read_header(reader *r)
{
    bool metadata = false;
    if (r->json.size == 0 || r->json.s[0] != '{') {
        return eg__source_bad(r->source, LENGTH_BYTES, "the header does not begin with {");
    }
    eg_status st = expect(r, EG__JSON_OBJECT, "an object");
    while (!st) {
        eg__json_token t = eg__json_next(&r->json);
        if (t == EG__JSON_OBJECT_END) {
            return expect(r, EG__JSON_END, "the end of the header");
        }
        if (t != EG__JSON_KEY) {
            return bad_json(r);
        }
        if (!eg__json_is(&r->json, "__metadata__")) {
            st = read_tensor(r);
        } else {
            st = metadata ? BAD(r, "__metadata__ twice") : read_texts(r);
            metadata = true;
        }
    }
    return st;
}

static int by_place(const void *a, const void *b)
{
    const header_entry *p = *(header_entry *const *)a, *q = *(header_entry *const *)b;
    int64_t d = p->begin != q->begin ? p->begin - q->begin : p->end - q->end;
    return d < 0 ? -1 : d > 0;
}

/* The data of all tensors, side by side, must be all there is. */
static eg_status check_places(const reader *r, int64_t data_size)
{
    header_entry **order = eg__counted_alloc(r->count * sizeof *order);
    if (!order) {
        return eg__no_memory(r->source->op, (int64_t)(r->count * sizeof *order));
    }
    for (uint32_t i = 0; i < r->count; i++) {
        order[i] = &r->entry[i];
    }
    qsort(order, r->count, sizeof *order, by_place);
    int64_t at = 0;
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < r->count && !st; at = order[i++]->end) {
        const header_entry *e = order[i];
        if (e->begin != at) {
            st = eg__source_bad(r->source, e->at,
                                "data of \"%.50s\" begin at %lld, the data before end "
                                "at %lld",
                                e->name, (long long)e->begin, (long long)at);
        } else if (e->end > data_size) {
            st = eg__source_bad(r->source, e->at, "data of \"%.50s\" end at %lld, the file's at %lld", e->name,
                                (long long)e->end, (long long)data_size);
        }
    }
    eg__counted_free(order);
    if (!st && at != data_size) {
        st = eg__source_bad(r->source, r->source->size - (data_size - at), "%lld bytes belong to no tensor",
                            (long long)(data_size - at));
    }
    return st;
}

eg_status eg__safetensors_length(const eg__source *s, int64_t *size)
{
    uint8_t b[LENGTH_BYTES];
    uint64_t n = 0;
    eg_status st = eg__source_read(s, 0, b, LENGTH_BYTES);
    for (int i = LENGTH_BYTES; !st && i-- > 0;) {
        n = n << 8 | b[i];
    }
    if (!st && (n > MOST_HEADER || n > (uint64_t)(s->size - LENGTH_BYTES))) {
        return eg__source_bad(s, 0,
                              "the header's length is %llu, the file has %lld bytes and headers at "
                              "most %d",
                              (unsigned long long)n, (long long)s->size, MOST_HEADER);
    }
    *size = (int64_t)n;
    return st;
}

/* Reads and checks the header, whose bytes it gives to be freed. */
static eg_status read_all_of_header(reader *r, char **header)
{
    int64_t size = 0;
    eg_status st = eg__safetensors_length(r->source, &size);
    if (!st && !(*header = eg__counted_alloc((size_t)size))) {
        st = eg__no_memory(r->source->op, size);
    }
    st = st ? st : eg__source_read(r->source, LENGTH_BYTES, *header, size);
    if (!st) {
        eg__json_begin(&r->json, *header, size);
        st = read_header(r);
    }
    r->data = LENGTH_BYTES + size;
    return st ? st : check_places(r, r->source->size - r->data);
}

static eg_status twice(const reader *r, const header_entry *e)
{
    return eg__source_bad(r->source, e->at, "two tensors are named \"%.80s\"", e->name);
}

/* ---- all at once ------------------------------------------------------------------------------- */

static eg_status read_data(const reader *r)
{
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < r->count && !st; i++) {
        const header_entry *e = &r->entry[i];
        if (eg_tensors_has(r->map, e->name)) {
            return twice(r, e);
        }
        eg_scope s = eg_scope_push();
        eg_tensor *t = s.depth ? eg__element_read(r->source, r->data + e->begin, e->element, &e->shape) : NULL;
        st = t ? eg_tensors_set(r->map, e->name, t) : eg__why();
        if (s.depth) {
            eg_scope_pop(s, NULL);
        }
    }
    return st;
}

eg_tensors *eg__safetensors_read(eg__source *s)
{
    reader r = {.source = s, .map = eg_tensors_new()};
    char *header = NULL;
    eg_status st = r.map ? read_all_of_header(&r, &header) : eg__why();
    st = st ? st : read_data(&r);
    eg__counted_free(r.entry);
    eg__counted_free(header);
    if (st) {
        eg_tensors_free(r.map);
        return NULL;
    }
    return r.map;
}

/* Unpacked at once. */
static eg_tensors *all_of(const char *op, eg_tensors *packed)
{
    eg_tensors *map = eg__sparse_opened(op, packed);
    for (int64_t i = 0; i < eg_tensors_count(map); i++) {
        if (!eg_tensors_at(map, i)) {
            eg_tensors_free(map);
            return NULL;
        }
    }
    return map;
}

eg_tensors *eg_safetensors_load(const char *path)
{
    eg__source s;
    if (eg__source_open(&s, "eg_safetensors_load", path)) {
        return NULL;
    }
    eg_tensors *map = eg__safetensors_read(&s);
    eg__source_close(&s);
    return all_of(s.op, map);
}

eg_tensors *eg_safetensors_parse(const void *data, size_t bytes)
{
    eg__source s;
    return eg__source_memory(&s, "eg_safetensors_parse", data, bytes) ? NULL : all_of(s.op, eg__safetensors_read(&s));
}

/* ---- when asked --------------------------------------------------------------------------------- */

/* What stays open: the entries without their names, and where the data begin. */
typedef struct opened {
    eg__backing *backing;
    header_entry *entry;
    int64_t data;
} opened;

static eg_tensor *read_one(void *user, int64_t i)
{
    const opened *o = user;
    const header_entry *e = &o->entry[i];
    return eg__backing_tensor(o->backing, o->data + e->begin, e->element, &e->shape);
}

static void close_all(void *user)
{
    opened *o = user;
    eg__backing_release(o->backing);
    eg__counted_free(o->entry);
    free(o);
}

static eg_tensors *open_lazily(eg__backing *b)
{
    static const eg__lazy how = {"safetensors", read_one, close_all};
    opened *o = eg__malloc(sizeof *o);
    if (!o) {
        eg__no_memory(b->source.op, (int64_t)sizeof *o);
        return eg__backing_release(b), NULL;
    }
    *o = (opened){.backing = b};
    reader r = {.source = &b->source, .map = eg__lazy_new(&how, o)};
    char *header = NULL;
    eg_status st = r.map ? read_all_of_header(&r, &header) : eg__why();
    for (uint32_t i = 0; i < r.count && !st; i++) {
        st = eg__lazy_promise(r.map, r.entry[i].name, &r.entry[i].about, i);
        st = st == EG_EINDEX ? twice(&r, &r.entry[i]) : st;
    }
    eg__counted_free(header);
    if (!r.map) {
        eg__counted_free(r.entry);
        return NULL;
    }
    o->entry = r.entry;
    o->data = r.data;
    if (st) {
        eg_tensors_free(r.map);
    }
    return st ? NULL : r.map;
}

static bool is_safetensors(const eg__source *s)
{
    uint8_t b[LENGTH_BYTES + 1];
    return s->size > LENGTH_BYTES && !eg__source_read(s, 0, b, sizeof b) && b[LENGTH_BYTES] == '{' && !b[4] && !b[5] &&
           !b[6] && !b[7];
}

const eg__format eg__format_safetensors = {
    .about = {"safetensors", "safetensors of Hugging Face", ".safetensors", true},
    .is = is_safetensors,
    .open = open_lazily,
    .save = eg__safetensors_save,
};
