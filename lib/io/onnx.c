/* onnx.c - the tensors of ONNX models (onnx.proto of github.com/onnx/onnx), and files of one tensor. */
#include <stdlib.h>

#include "lib/core/counted.h"
#include "lib/io/formats.h"
#include "lib/io/onnx.h"

/* One tensor: where its message is, and what it says. */
typedef struct entry {
    eg__wire message;
    eg__element element;
    eg_shape shape;
    eg_tensor_about about;
} entry;

/* A file beside the model. */
typedef struct beside {
    char *name;
    eg__backing *backing;
} beside;

typedef struct reader {
    eg__backing *backing;
    const uint8_t *bytes;
    eg_tensors *map;
    entry *entries;
    uint32_t count, capacity;
    beside *files;
    uint32_t nfiles, cfiles;
} reader;

static eg_status bad(const reader *r, const eg__wire *at, const char *words)
{
    return eg__source_bad(&r->backing->source, at->at - r->bytes, "%s", words);
}

static eg__element element_of(uint64_t type)
{
    static const uint8_t of[] = {
        [EG__ONNX_F32] = EG__F32 + 1,
        [EG__ONNX_U8] = EG__U8 + 1,
        [EG__ONNX_I8] = EG__I8 + 1,
        [EG__ONNX_U16] = EG__U16 + 1,
        [EG__ONNX_I16] = EG__I16 + 1,
        [EG__ONNX_I32] = EG__I32 + 1,
        [EG__ONNX_I64] = EG__I64 + 1,
        [EG__ONNX_BOOL] = EG__BOOL + 1,
        [EG__ONNX_F16] = EG__F16 + 1,
        [EG__ONNX_F64] = EG__F64 + 1,
        [EG__ONNX_U32] = EG__U32 + 1,
        [EG__ONNX_U64] = EG__U64 + 1,
        [EG__ONNX_C64] = EG__C64 + 1,
        [EG__ONNX_C128] = EG__C128 + 1,
        [EG__ONNX_BF16] = EG__BF16 + 1,
        [EG__ONNX_F8_E4M3] = EG__F8_E4M3 + 1,
        [EG__ONNX_F8_E4M3FNUZ] = EG__F8_E4M3FNUZ + 1,
        [EG__ONNX_F8_E5M2] = EG__F8_E5M2 + 1,
        [EG__ONNX_F8_E5M2FNUZ] = EG__F8_E5M2FNUZ + 1,
        [EG__ONNX_U4] = EG__U4 + 1,
        [EG__ONNX_I4] = EG__I4 + 1,
        [EG__ONNX_F4] = EG__F4 + 1,
        [EG__ONNX_F8_E8M0] = EG__F8_E8M0 + 1,
        [EG__ONNX_U2] = EG__U2 + 1,
        [EG__ONNX_I2] = EG__I2 + 1,
        [EG__ONNX_F6_E2M3] = EG__F6_E2M3 + 1,
        [EG__ONNX_F6_E3M2] = EG__F6_E3M2 + 1,
    };
    const int e = type < EG__COUNT(of) ? of[type] : 0;
    return e ? (eg__element)(e - 1) : EG__ELEMENTS;
}

/* ---- what the file has --------------------------------------------------------------------------- */

static eg_status add_dim(const reader *r, entry *e, const eg__wire *at, uint64_t size)
{
    if (e->shape.ndim == EG_MAX_DIMS || size > INT64_MAX) {
        return bad(r, at, "a tensor has more than 8 axes, or a negative size");
    }
    e->shape.dim[e->shape.ndim++] = (int64_t)size;
    return EG_OK;
}

/* Type, shape and name of the message; a tensor of texts has no element, EG__ELEMENTS. */
static eg_status read_head(reader *r, entry *e, eg__wire *name)
{
    eg__wire w = e->message;
    eg__wire_field f;
    eg_status st = EG_OK;
    uint64_t type = 0;
    while (!st && eg__onnx_next(&w, EG__ONNX_IN_TENSOR, &f)) {
        uint64_t size;
        while (!st && f.number == EG__ONNX_TENSOR_DIMS && eg__onnx_next_number(&w, EG__ONNX_IN_TENSOR, &f, &size)) {
            st = add_dim(r, e, &e->message, size);
        }
        type = f.number == EG__ONNX_TENSOR_TYPE ? f.value : type;
        *name = f.number == EG__ONNX_TENSOR_NAME ? f.bytes : *name;
    }
    e->element = element_of(type);
    if (st || w.bad || (e->element == EG__ELEMENTS && type != EG__ONNX_TEXT)) {
        return st ? st : bad(r, &e->message, w.bad ? "a tensor's message is damaged" : "a tensor of an unknown type");
    }
    if (e->element == EG__ELEMENTS) {
        return EG_OK;
    }
    st = eg__element_about(r->backing->source.op, e->element, &e->shape, &e->about);
    return st ? bad(r, &e->message, "a tensor of a size that cannot be") : EG_OK;
}

/* Promises a tensor under a name. Texts are left out; nothing else needs them. */
static eg_status add_tensor(reader *r, eg__wire message, const char *path, const char *name_given)
{
    entry e = {.message = message};
    eg__wire name = eg__wire_of("", 0);
    char full[EG__ONNX_NAME];
    eg_status st = read_head(r, &e, &name);
    if (st || e.element == EG__ELEMENTS) {
        return st;
    }
    const int n = name_given
                      ? snprintf(full, sizeof full, "%s%s", path, name_given)
                      : snprintf(full, sizeof full, "%s%.*s", path,
                                 (int)eg__min((int64_t)eg__wire_size(&name), EG__ONNX_NAME), (const char *)name.at);
    if (n >= (int)sizeof full) {
        return bad(r, &message, "a name of more than 511 bytes");
    }
    if (r->count == r->capacity && !eg__counted_grow(&r->entries, &r->capacity, sizeof *r->entries)) {
        return eg__no_memory(r->backing->source.op, (int64_t)sizeof *r->entries);
    }
    r->entries[r->count] = e;
    st = eg__lazy_promise(r->map, full, &e.about, r->count);
    r->count += !st;
    return st == EG_EINDEX ? bad(r, &message, "two tensors of one name") : st;
}

static eg_status walk_graph(reader *r, eg__wire graph, const char *path, int depth);

/* The tensors and graphs that an attribute has. */
static eg_status walk_attribute(reader *r, eg__wire attribute, const char *path, const char *node, bool constant,
                                int depth)
{
    eg__wire w = attribute, name = eg__wire_of("", 0);
    eg__wire_field f;
    eg_status st = EG_OK;
    char inner[EG__ONNX_NAME];
    while (eg__onnx_next(&w, EG__ONNX_IN_ATTRIBUTE, &f)) {
        name = f.number == EG__ONNX_ATTR_NAME ? f.bytes : name;
    }
    if (w.bad || !eg__onnx_join(inner, path, node, &name)) {
        return bad(r, &attribute, "an attribute is damaged, or names are longer than 511 bytes");
    }
    w = attribute;
    while (!st && eg__onnx_next(&w, EG__ONNX_IN_ATTRIBUTE, &f)) {
        if (f.number == EG__ONNX_ATTR_TENSOR) {
            st = constant ? add_tensor(r, f.bytes, path, node) : add_tensor(r, f.bytes, "", inner);
        } else if (f.number == EG__ONNX_ATTR_GRAPH) {
            const size_t n = strlen(inner);
            memcpy(inner + n, "/", 2);
            st = walk_graph(r, f.bytes, inner, depth + 1);
            inner[n] = '\0';
        }
    }
    return st;
}

static eg_status walk_node(reader *r, eg__wire node, int64_t index, const char *path, int depth)
{
    char name[EG__ONNX_NAME];
    bool constant;
    eg__wire w = node;
    eg__wire_field f;
    if (!eg__onnx_node_name(&node, index, name, &constant)) {
        return bad(r, &node, "a node is damaged");
    }
    eg_status st = EG_OK;
    while (!st && eg__onnx_next(&w, EG__ONNX_IN_NODE, &f)) {
        if (f.number == EG__ONNX_NODE_ATTRIBUTE) {
            st = walk_attribute(r, f.bytes, path, name, constant, depth);
        }
    }
    return st;
}

static eg_status walk_graph(reader *r, eg__wire graph, const char *path, int depth)
{
    eg__wire w = graph;
    eg__wire_field f;
    eg_status st = depth > EG__ONNX_DEPTH ? bad(r, &graph, "graphs lie too deep inside each other") : EG_OK;
    for (int64_t nodes = 0; !st && eg__onnx_next(&w, EG__ONNX_IN_GRAPH, &f);) {
        if (f.number == EG__ONNX_GRAPH_NODE) {
            st = walk_node(r, f.bytes, nodes++, path, depth);
        } else if (f.number == EG__ONNX_GRAPH_INITIALIZER) {
            st = add_tensor(r, f.bytes, path, NULL);
        }
    }
    return st ? st : w.bad ? bad(r, &graph, "a graph is damaged") : EG_OK;
}

/* A function's nodes are those of a graph under another number. */
static eg_status walk_function(reader *r, eg__wire function)
{
    char path[EG__ONNX_NAME];
    eg__wire w = function;
    eg__wire_field f;
    if (!eg__onnx_function_path(&function, path)) {
        return bad(r, &function, "a function is damaged");
    }
    eg_status st = EG_OK;
    for (int64_t nodes = 0; !st && eg__onnx_next(&w, EG__ONNX_IN_FUNCTION, &f);) {
        if (f.number == EG__ONNX_FUNCTION_NODE) {
            st = walk_node(r, f.bytes, nodes++, path, 1);
        }
    }
    return st;
}

static eg_status walk_model(reader *r)
{
    const eg__wire all = eg__wire_of(r->bytes, (size_t)r->backing->source.size);
    eg__wire w = all;
    eg__wire_field f;
    eg_status st = EG_OK;
    bool graph = false;
    while (!st && eg__onnx_next(&w, EG__ONNX_IN_MODEL, &f)) {
        if (f.number == EG__ONNX_MODEL_GRAPH) {
            st = walk_graph(r, f.bytes, "", 0);
            graph = true;
        } else if (f.number == EG__ONNX_MODEL_FUNCTION) {
            st = walk_function(r, f.bytes);
        }
    }
    return st ? st : w.bad || !graph ? bad(r, &all, "no ONNX model: no graph in it, or damaged") : EG_OK;
}

/* ---- reading one -------------------------------------------------------------------------------- */

/* A number of 6 bits as the next of those in raw data, which are 0 where none was put. */
static void put_six(uint8_t *to, int64_t i, unsigned v)
{
    const int low = (int)(i * 6 % 8);
    v = (v & 63) << low;
    to[i * 6 / 8] |= (uint8_t)v;
    if (low > 2) {
        to[i * 6 / 8 + 1] |= (uint8_t)(v >> 8);
    }
}

/* Numbers that lie in fields of their kinds, as the bytes that raw data would be. Those of 2 and 4 bits lie in bytes
 * there too; those of 6 each by itself. */
static eg_status gather_numbers(const reader *r, const entry *e, uint8_t *to, int64_t bytes)
{
    eg__wire w = e->message;
    eg__wire_field f;
    int64_t at = 0;
    const bool six = eg__element_bits(e->element) == 6;
    const int64_t all = six ? eg__about_bytes(&e->about) / (int64_t)eg_dtype_size(e->about.dtype) : bytes;
    const int element = (int)eg__max(eg__element_bits(e->element) / 8, 1);
    const int part = e->element == EG__C64 ? 4 : e->element == EG__C128 ? 8 : element;
    while (eg__onnx_next(&w, EG__ONNX_IN_TENSOR, &f)) {
        uint64_t v;
        if (f.number == EG__ONNX_TENSOR_DIMS || eg__onnx_coding_of(EG__ONNX_IN_TENSOR, f.number) < EG__ONNX_LIST_INT) {
            continue;
        }
        while (eg__onnx_next_number(&w, EG__ONNX_IN_TENSOR, &f, &v)) {
            if (at + part > all) {
                return bad(r, &e->message, "a tensor has more numbers than its shape");
            }
            if (six) {
                put_six(to, at++, (unsigned)v);
            }
            for (int b = 0; b < part && !six; b++) {
                to[at++] = (uint8_t)(v >> 8 * b);
            }
        }
    }
    return at == all && !w.bad ? EG_OK : bad(r, &e->message, "a tensor has fewer numbers than its shape");
}

static eg_tensor *read_numbers(const reader *r, const entry *e)
{
    eg__source s;
    const int64_t bytes = e->about.bytes;
    /* Each number takes a byte or more of the message. */
    if (bytes / 16 > (int64_t)eg__wire_size(&e->message)) {
        return bad(r, &e->message, "a tensor has fewer numbers than its shape"), NULL;
    }
    uint8_t *raw = eg__counted_alloc((size_t)bytes + 1);
    if (!raw) {
        return eg__no_memory(r->backing->source.op, bytes), NULL;
    }
    if (eg__element_bits(e->element) == 6) {
        memset(raw, 0, (size_t)bytes);
    }
    eg_status st = gather_numbers(r, e, raw, bytes);
    st = st ? st : eg__source_memory(&s, r->backing->source.op, raw, (size_t)bytes);
    eg_tensor *t = st ? NULL : eg__element_read(&s, 0, e->element, &e->shape);
    eg__counted_free(raw);
    return t;
}

/* The file of that name beside the model, opened when it is first named. */
static eg__backing *find_beside(reader *r, const eg__wire *name)
{
    const eg__source *s = &r->backing->source;
    const size_t n = eg__wire_size(name);
    for (uint32_t i = 0; i < r->nfiles; i++) {
        if (strlen(r->files[i].name) == n && !memcmp(r->files[i].name, name->at, n)) {
            return r->files[i].backing;
        }
    }
    const char *slash = strrchr(s->name, '/');
    const size_t folder = slash ? (size_t)(slash - s->name) + 1 : 0;
    char *path = eg__counted_alloc(folder + n + 1), *copy = eg__counted_alloc(n + 1);
    eg__backing *b = NULL;
    if (!path || !copy || (r->nfiles == r->cfiles && !eg__counted_grow(&r->files, &r->cfiles, sizeof *r->files))) {
        eg__no_memory(s->op, (int64_t)(folder + n));
    } else {
        memcpy(path, s->name, folder);
        memcpy(path + folder, name->at, n);
        memcpy(copy, name->at, n);
        path[folder + n] = copy[n] = '\0';
        b = s->data ? bad(r, name, "data of a file beside a model in memory"),
        NULL        : eg__backing_open(s->op, path, r->backing->copy);
    }
    eg__counted_free(path);
    if (!b) {
        eg__counted_free(copy);
        return NULL;
    }
    r->files[r->nfiles++] = (beside){copy, b};
    return b;
}

/* No way out of the model's folder. */
static bool leads_out(const eg__wire *name)
{
    const char *p = (const char *)name->at, *end = (const char *)name->end;
    bool out = p == end || *p == '/' || memchr(p, 0, (size_t)(end - p)) || memchr(p, '\\', (size_t)(end - p));
    for (; p < end && !out; p++) {
        const bool begins = p == (const char *)name->at || p[-1] == '/';
        out = begins && end - p >= 2 && p[0] == '.' && p[1] == '.' && (end - p == 2 || p[2] == '/');
    }
    return out;
}

static int64_t number_in(const eg__wire *text)
{
    int64_t v = 0;
    for (const uint8_t *p = text->at; p < text->end; p++) {
        if (*p < '0' || *p > '9' || v > INT64_MAX / 16) {
            return -1;
        }
        v = 10 * v + (*p - '0');
    }
    return v;
}

static eg_tensor *read_external(reader *r, const entry *e)
{
    eg__wire w = e->message, location = eg__wire_of("", 0);
    eg__wire_field f, g;
    int64_t offset = 0, length = e->about.bytes;
    while (eg__onnx_next(&w, EG__ONNX_IN_TENSOR, &f)) {
        eg__wire key = eg__wire_of("", 0), text = key;
        if (f.number != EG__ONNX_TENSOR_EXTERNAL) {
            continue;
        }
        while (eg__onnx_next(&f.bytes, EG__ONNX_IN_PAIR, &g)) {
            *(g.number == EG__ONNX_PAIR_KEY ? &key : &text) = g.bytes;
        }
        if (f.bytes.bad) {
            return bad(r, &e->message, "a tensor's message is damaged"), NULL;
        }
        location = eg__wire_is(&key, "location") ? text : location;
        offset = eg__wire_is(&key, "offset") ? number_in(&text) : offset;
        length = eg__wire_is(&key, "length") ? number_in(&text) : length;
    }
    if (leads_out(&location) || offset < 0 || length != e->about.bytes) {
        return bad(r, &e->message, "a tensor's data are in no file beside it, or of another length"), NULL;
    }
    eg__backing *b = find_beside(r, &location);
    return b ? eg__backing_tensor(b, offset, e->element, &e->shape) : NULL;
}

static eg_tensor *read_one(void *user, int64_t i)
{
    reader *r = user;
    const entry *e = &r->entries[i];
    eg__wire w = e->message, raw = {0};
    eg__wire_field f;
    bool external = false;
    while (eg__onnx_next(&w, EG__ONNX_IN_TENSOR, &f)) {
        raw = f.number == EG__ONNX_TENSOR_RAW ? f.bytes : raw;
        external = external || (f.number == EG__ONNX_TENSOR_LOCATION && f.value == 1);
    }
    if (external) {
        return read_external(r, e);
    }
    if (!raw.at) {
        return read_numbers(r, e);
    }
    if ((int64_t)eg__wire_size(&raw) != e->about.bytes) {
        return bad(r, &raw, "a tensor's data are not of its shape"), NULL;
    }
    return eg__backing_tensor(r->backing, raw.at - r->bytes, e->element, &e->shape);
}

static void close_all(void *user)
{
    reader *r = user;
    for (uint32_t i = 0; i < r->nfiles; i++) {
        eg__backing_release(r->files[i].backing);
        eg__counted_free(r->files[i].name);
    }
    eg__counted_free(r->files);
    eg__counted_free(r->entries);
    eg__backing_release(r->backing);
    free(r);
}

/* ---- opening ------------------------------------------------------------------------------------ */

static eg_tensors *open_with(eg__backing *b, const eg__lazy *how, eg_status (*walk)(reader *r))
{
    reader *r = eg__malloc(sizeof *r);
    if (!r) {
        eg__no_memory(b->source.op, (int64_t)sizeof *r);
        return eg__backing_release(b), NULL;
    }
    *r = (reader){.backing = b};
    eg_tensors *map = eg__lazy_new(how, r); /* a failure has closed the reader */
    if (!map) {
        return NULL;
    }
    r->map = map;
    r->bytes = eg__backing_bytes(b);
    if (!r->bytes || walk(r)) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}

static eg_tensors *open_model(eg__backing *b)
{
    static const eg__lazy how = {"onnx", read_one, close_all};
    return open_with(b, &how, walk_model);
}

static eg_status only_tensor(reader *r)
{
    return add_tensor(r, eg__wire_of(r->bytes, (size_t)r->backing->source.size), "", "tensor");
}

static eg_tensors *open_tensor(eg__backing *b)
{
    static const eg__lazy how = {"onnx-tensor", read_one, close_all};
    return open_with(b, &how, only_tensor);
}

static bool is_model(const eg__source *s)
{
    return eg__ends_with(s->name, ".onnx");
}

const eg__format eg__format_onnx = {
    .about = {"onnx", "the tensors of an ONNX model", ".onnx", false},
    .is = is_model,
    .open = open_model,
};

const eg__format eg__format_onnx_tensor = {
    .about = {"onnx-tensor", "a TensorProto of ONNX", ".pb", false},
    .open = open_tensor,
};
