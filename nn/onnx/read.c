/* read.c - a model's file as a net: graphs, the places of their values, and which of these learn. */
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64
#include "nn/onnx/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <egret/device.h>
#include <egret/error.h>
#include <egret/ops.h>

static const char op[] = "eg_onnx_load";

eg_status eg__onnx_damaged(const eg__onnx_reader *r, const char *words)
{
    const size_t n = strlen(r->path);
    return eg_failf(EG_EFORMAT, op, "%s: %s", r->path + (n > 80 ? n - 80 : 0), words);
}

/* ---- memory ----------------------------------------------------------------------------------------- */

enum { BLOCK = 1 << 14 };

void *eg__onnx_memory(eg__onnx_net *net, size_t bytes)
{
    bytes = (bytes + 15) / 16 * 16;
    eg__onnx_block *b = net->memory;
    if (!b || bytes > b->size - b->used) {
        const size_t head = (sizeof *b + 15) / 16 * 16, size = head + (bytes > BLOCK ? bytes : BLOCK);
        eg_scope s = eg_scope_push();
        eg_tensor *memory = s.depth ? eg_keep(eg_to(eg_zeros(EG_SHAPE((int64_t)size), EG_U8), eg_cpu())) : NULL;
        b = memory ? eg_data_mut(memory) : NULL;
        if (s.depth) {
            eg_scope_pop(s, NULL);
        }
        if (!b) {
            return NULL;
        }
        *b = (eg__onnx_block){net->memory, head, size, memory};
        net->memory = b;
    }
    void *p = (char *)b + b->used;
    b->used += bytes;
    return p;
}

bool eg__onnx_grow(eg__onnx_net *net, void *array, uint32_t count, uint32_t *capacity, size_t element)
{
    if (count < *capacity) {
        return true;
    }
    const uint32_t more = *capacity ? 2 * *capacity : 64;
    void *old, *p = more > count ? eg__onnx_memory(net, more * element) : NULL;
    if (!p) {
        return false;
    }
    memcpy(&old, array, sizeof old);
    if (count) {
        memcpy(p, old, count * element);
    }
    memcpy(array, &p, sizeof p);
    *capacity = more;
    return true;
}

const char *eg__onnx_copy_text(eg__onnx_reader *r, const eg__wire *bytes)
{
    const size_t n = eg__wire_size(bytes);
    if (n && memchr(bytes->at, 0, n)) {
        eg__onnx_damaged(r, "a name with a zero inside");
        return NULL;
    }
    char *text = eg__onnx_memory(r->net, n + 1);
    return text && n ? memcpy(text, bytes->at, n) : text;
}

/* ---- names and places --------------------------------------------------------------------------------- */

uint64_t eg__onnx_hash(const eg__onnx_reader *r, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = 0x9e3779b97f4a7c15u ^ (uintptr_t)r;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

int eg__onnx_new_place(eg__onnx_reader *r, const char *name)
{
    eg__onnx_net *net = r->net;
    if (!eg__onnx_grow(net, &net->places, net->nplaces, &net->cplaces, sizeof *net->places) ||
        !eg__onnx_grow(net, &r->uses, net->nplaces, &r->cuses, sizeof *r->uses)) {
        return -1;
    }
    net->places[net->nplaces] = (eg__onnx_place){.name = name};
    r->uses[net->nplaces] = 0;
    return (int)net->nplaces++;
}

static void put_into_bucket(eg__onnx_reader *r, uint32_t i)
{
    uint32_t *bucket = &r->bucket[r->known[i].hash & (r->nbuckets - 1)];
    r->known[i].next = *bucket;
    *bucket = i + 1;
}

/* Room for one name more, and twice as many buckets where they are fewer than names. */
static bool room_for_name(eg__onnx_reader *r)
{
    enum { FIRST = 1 << 10 };
    if (!eg__onnx_grow(r->net, &r->known, r->nknown, &r->cknown, sizeof *r->known)) {
        return false;
    }
    if (r->nknown < r->nbuckets) {
        return true;
    }
    const uint32_t more = r->nbuckets ? 2 * r->nbuckets : FIRST;
    r->bucket = eg__onnx_memory(r->net, (size_t)more * sizeof *r->bucket);
    r->nbuckets = r->bucket ? more : 0;
    for (uint32_t i = 0; i < r->nknown && r->bucket; i++) {
        put_into_bucket(r, i);
    }
    return r->bucket;
}

eg_status eg__onnx_know(eg__onnx_reader *r, const char *name, int place)
{
    if (place < 0 || !room_for_name(r)) {
        return eg_last_error()->code;
    }
    r->known[r->nknown] = (eg__onnx_known){name, eg__onnx_hash(r, name, strlen(name)), (uint32_t)place, 0};
    put_into_bucket(r, r->nknown++);
    return EG_OK;
}

int eg__onnx_look_up(eg__onnx_reader *r, const char *name)
{
    const uint64_t hash = eg__onnx_hash(r, name, strlen(name));
    uint32_t k = r->nbuckets ? r->bucket[hash & (r->nbuckets - 1)] : 0;
    while (k > r->wall && (r->known[k - 1].hash != hash || strcmp(r->known[k - 1].name, name))) {
        k = r->known[k - 1].next;
    }
    return k > r->wall ? (int)r->known[k - 1].place : -1;
}

void eg__onnx_forget(eg__onnx_reader *r, uint32_t down_to)
{
    while (r->nknown > down_to && r->nbuckets) {
        const eg__onnx_known *k = &r->known[--r->nknown];
        r->bucket[k->hash & (r->nbuckets - 1)] = k->next;
    }
}

/* ---- inputs and outputs ------------------------------------------------------------------------------- */

/* Sizes of TensorShapeProto; -1 for one that has no number. */
static eg_status read_shape(eg__onnx_reader *r, eg__wire shape, eg_shape *to)
{
    eg__wire_field dim, f;
    while (eg__onnx_next(&shape, EG__ONNX_IN_SHAPE, &dim)) {
        int64_t size = -1;
        while (eg__onnx_next(&dim.bytes, EG__ONNX_IN_DIM, &f)) {
            size = (int64_t)f.value >= 0 ? (int64_t)f.value : size;
        }
        if (to->ndim == EG_MAX_DIMS || dim.bytes.bad) {
            return eg__onnx_damaged(r, dim.bytes.bad ? "a shape is damaged" : "a value has more than 8 axes");
        }
        to->dim[to->ndim++] = size;
    }
    return shape.bad ? eg__onnx_damaged(r, "a shape is damaged") : EG_OK;
}

static eg_status read_tensor_type(eg__onnx_reader *r, eg__wire w, eg_onnx_value *out, uint64_t *type)
{
    eg__wire_field f;
    eg_status st = EG_OK;
    while (!st && eg__onnx_next(&w, EG__ONNX_IN_TENSOR_TYPE, &f)) {
        if (f.number == EG__ONNX_TENSOR_TYPE_ELEMENT) {
            *type = f.value;
        } else {
            out->ranked = true;
            out->shape = (eg_shape){.ndim = 0};
            st = read_shape(r, f.bytes, &out->shape);
        }
    }
    return st ? st : w.bad ? eg__onnx_damaged(r, "a type is damaged") : EG_OK;
}

eg_status eg__onnx_read_value(eg__onnx_reader *r, eg__wire value, eg_onnx_value *out, uint8_t *type)
{
    eg__wire_field f, kind;
    eg_status st = EG_OK;
    bool tensor = false, other = false;
    uint64_t element = EG__ONNX_F32;
    *out = (eg_onnx_value){.dtype = EG_F32};
    while (!st && eg__onnx_next(&value, EG__ONNX_IN_VALUE, &f)) {
        if (f.number == EG__ONNX_VALUE_NAME) {
            out->name = eg__onnx_copy_text(r, &f.bytes);
            st = out->name ? EG_OK : eg_last_error()->code;
            continue;
        }
        while (!st && eg__onnx_next(&f.bytes, EG__ONNX_IN_TYPE, &kind)) {
            tensor = tensor || kind.number == EG__ONNX_TYPE_TENSOR;
            other = other || kind.number != EG__ONNX_TYPE_TENSOR;
            st = kind.number == EG__ONNX_TYPE_TENSOR ? read_tensor_type(r, kind.bytes, out, &element) : EG_OK;
        }
        st = st ? st : f.bytes.bad ? eg__onnx_damaged(r, "a type is damaged") : EG_OK;
    }
    *type = element < EG__ONNX_TYPES ? (uint8_t)element : 0;
    out->dtype = eg__onnx_dtype(*type);
    if (!st && other && !tensor) {
        return eg_failf(EG_ENOKERNEL, op, "\"%.80s\" is a sequence, a map or optional: only tensors are known",
                        out->name ? out->name : "");
    }
    if (!st && element == EG__ONNX_TEXT) {
        return eg_failf(EG_ENOKERNEL, op, "\"%.80s\" is a tensor of texts", out->name ? out->name : "");
    }
    return st ? st : !out->name || value.bad ? eg__onnx_damaged(r, "a value is damaged") : EG_OK;
}

/* ---- graphs -------------------------------------------------------------------------------------------- */

int eg__onnx_count_fields(eg__wire message, eg__onnx_message of, uint32_t field)
{
    eg__wire_field f;
    int n = 0;
    while (eg__onnx_next(&message, of, &f)) {
        n += f.number == field;
    }
    return n;
}

/* An initializer's tensor into its place. */
static eg_status read_initializer(eg__onnx_reader *r, const char *path, const char *name)
{
    char full[2 * EG__ONNX_NAME];
    int place = eg__onnx_look_up(r, name);
    eg_status st = EG_OK;
    if (place < 0) {
        place = eg__onnx_new_place(r, name);
        st = eg__onnx_know(r, name, place);
    }
    snprintf(full, sizeof full, "%s%s", path, name);
    eg_tensor *t = st ? NULL : eg_tensors_get(r->tensors, full);
    if (!t) {
        return st ? st : eg_last_error()->code;
    }
    eg__onnx_place *p = &r->net->places[place];
    const char *kept =
        *path ? eg__onnx_copy_text(r, &(eg__wire){(uint8_t *)full, (uint8_t *)full + strlen(full), false}) : name;
    if (!kept || p->t) {
        return p->t ? eg__onnx_damaged(r, "two initializers of one name") : eg_last_error()->code;
    }
    p->name = kept;
    p->t = eg_keep(t);
    p->role = EG__ONNX_CONSTANT;
    return p->t ? EG_OK : eg_last_error()->code;
}

static eg_status read_initializers(eg__onnx_reader *r, eg__wire graph, const char *path)
{
    eg__wire_field f, g;
    eg_status st = EG_OK;
    while (!st && eg__onnx_next(&graph, EG__ONNX_IN_GRAPH, &f)) {
        if (f.number == EG__ONNX_GRAPH_SPARSE) {
            return eg_fail(EG_ENOKERNEL, op, "the model has sparse initializers");
        }
        if (f.number != EG__ONNX_GRAPH_INITIALIZER) {
            continue;
        }
        eg__wire tensor = f.bytes, name = eg__wire_of("", 0);
        uint64_t type = 0;
        while (eg__onnx_next(&tensor, EG__ONNX_IN_TENSOR, &g)) {
            name = g.number == EG__ONNX_TENSOR_NAME ? g.bytes : name;
            type = g.number == EG__ONNX_TENSOR_TYPE ? g.value : type;
        }
        const char *text = eg__onnx_copy_text(r, &name);
        st = !text ? eg_last_error()->code : type == EG__ONNX_TEXT ? EG_OK : read_initializer(r, path, text);
        const int place = st || !text ? -1 : eg__onnx_look_up(r, text);
        if (place >= 0 && eg__onnx_dtype((int64_t)type) != EG_DTYPE_COUNT &&
            eg__onnx_type_of(r->net->places[place].t) != (int)type) {
            r->net->places[place].type = (uint8_t)type;
        }
    }
    return st;
}

/* Inputs or outputs, by their names. */
static eg_status read_ends(eg__onnx_reader *r, eg__wire graph, uint32_t field, int *places, bool input)
{
    eg__wire_field f;
    eg_status st = EG_OK;
    for (int n = 0; !st && eg__onnx_next(&graph, EG__ONNX_IN_GRAPH, &f);) {
        eg_onnx_value value;
        uint8_t type;
        if (f.number != field) {
            continue;
        }
        st = eg__onnx_read_value(r, f.bytes, &value, &type);
        if (!st && input) {
            places[n] = eg__onnx_new_place(r, value.name);
            st = eg__onnx_know(r, value.name, places[n]);
            if (!st) {
                r->net->places[places[n]].type = type;
            }
        } else if (!st) {
            places[n] = eg__onnx_look_up(r, value.name);
            st = places[n] < 0 ? eg__onnx_damaged(r, "an output that no node makes") : EG_OK;
        }
        n++;
    }
    return st;
}

static eg_status read_outputs(eg__onnx_reader *r, eg__wire graph, eg__onnx_graph *g)
{
    return read_ends(r, graph, EG__ONNX_GRAPH_OUTPUT, g->out, false);
}

eg_status eg__onnx_capture(eg__onnx_reader *r, int place)
{
    if (!eg__onnx_grow(r->net, &r->captured, r->ncaptured, &r->ccaptured, sizeof *r->captured)) {
        return eg_last_error()->code;
    }
    r->captured[r->ncaptured++] = place;
    return EG_OK;
}

eg_status eg__onnx_read_graph(eg__onnx_reader *r, eg__wire graph, const char *path, eg__onnx_graph **out)
{
    eg__onnx_net *net = r->net;
    const uint32_t mark = r->nknown;
    eg__onnx_graph *g = eg__onnx_memory(net, sizeof *g);
    if (++r->depth > EG__ONNX_DEPTH || !g) {
        return g ? eg__onnx_damaged(r, "graphs lie too deep inside each other") : EG_ENOMEM;
    }
    g->first = (int)net->nplaces;
    g->nin = eg__onnx_count_fields(graph, EG__ONNX_IN_GRAPH, EG__ONNX_GRAPH_INPUT);
    g->nout = eg__onnx_count_fields(graph, EG__ONNX_IN_GRAPH, EG__ONNX_GRAPH_OUTPUT);
    g->in = eg__onnx_memory(net, (size_t)g->nin * sizeof *g->in);
    g->out = eg__onnx_memory(net, (size_t)g->nout * sizeof *g->out);
    eg_status st = g->in && g->out ? EG_OK : EG_ENOMEM;
    st = st ? st : read_ends(r, graph, EG__ONNX_GRAPH_INPUT, g->in, true);
    st = st ? st : read_initializers(r, graph, path);
    st = st ? st : eg__onnx_read_nodes(r, graph, EG__ONNX_IN_GRAPH, EG__ONNX_GRAPH_NODE, path, g, read_outputs);
    for (int i = 0; i < g->nout && !st; i++) {
        r->uses[g->out[i]] |= EG__ONNX_AS_WEIGHT;
        if (g->out[i] < g->first) {
            st = eg__onnx_capture(r, g->out[i]);
        }
    }
    eg__onnx_forget(r, mark);
    g->end = (int)net->nplaces;
    r->depth--;
    *out = g;
    return st;
}

/* ---- the model ------------------------------------------------------------------------------------------ */

eg_status eg__onnx_read_imports(eg__onnx_reader *r, eg__wire message, eg__onnx_message of, uint32_t field)
{
    eg__wire_field f, g;
    while (eg__onnx_next(&message, of, &f)) {
        eg__wire domain = eg__wire_of("", 0);
        uint64_t version = 0;
        if (f.number != field) {
            continue;
        }
        while (eg__onnx_next(&f.bytes, EG__ONNX_IN_OPSET, &g)) {
            domain = g.number == EG__ONNX_OPSET_DOMAIN ? g.bytes : domain;
            version = g.number == EG__ONNX_OPSET_VERSION ? g.value : version;
        }
        if (f.bytes.bad) {
            return eg__onnx_damaged(r, "an imported set of operators is damaged");
        }
        const char *text = eg__wire_is(&domain, "ai.onnx") ? "" : eg__onnx_copy_text(r, &domain);
        if (!text || r->nimports == EG__ONNX_IMPORTS) {
            return text ? eg__onnx_damaged(r, "more than 64 domains") : eg_last_error()->code;
        }
        if (!*text && version > EG_ONNX_OPSET) {
            return eg_failf(EG_ENOKERNEL, op, "the model uses operators of version %llu, known are those up to %d",
                            (unsigned long long)version, EG_ONNX_OPSET);
        }
        r->imports[r->nimports++] = (eg__onnx_import){text, (int)(version < 1000 ? version : 1000)};
    }
    return message.bad ? eg__onnx_damaged(r, "no ONNX model, or damaged") : EG_OK;
}

/* What the module says of its inputs: those without values of their own first. */
static eg_status describe_inputs(eg__onnx_reader *r, eg__wire graph)
{
    eg__onnx_net *net = r->net;
    eg__onnx_graph *g = net->graph;
    int *order = eg__onnx_memory(net, (size_t)g->nin * sizeof *order);
    net->inputs = eg__onnx_memory(net, (size_t)g->nin * sizeof *net->inputs);
    if (!order || !net->inputs) {
        return EG_ENOMEM;
    }
    eg_status st = EG_OK;
    uint8_t type; /* the places have theirs */
    for (int own = 0; own < 2; own++) {
        eg__wire w = graph;
        eg__wire_field f;
        for (int i = 0; !st && eg__onnx_next(&w, EG__ONNX_IN_GRAPH, &f);) {
            if (f.number != EG__ONNX_GRAPH_INPUT) {
                continue;
            }
            if ((net->places[g->in[i]].t != NULL) == own) {
                st = eg__onnx_read_value(r, f.bytes, &net->inputs[net->ninputs], &type);
                net->inputs[net->ninputs].optional = net->places[g->in[i]].open = own;
                order[net->ninputs++] = g->in[i];
            }
            i++;
        }
        net->required = own ? net->required : net->ninputs;
    }
    g->in = order;
    return st;
}

static eg_status describe_outputs(eg__onnx_reader *r, eg__wire graph)
{
    eg__onnx_net *net = r->net;
    eg__wire_field f;
    uint8_t type;
    eg_status st = EG_OK;
    net->outputs = eg__onnx_memory(net, (size_t)net->graph->nout * sizeof *net->outputs);
    while (net->outputs && !st && eg__onnx_next(&graph, EG__ONNX_IN_GRAPH, &f)) {
        if (f.number == EG__ONNX_GRAPH_OUTPUT) {
            st = eg__onnx_read_value(r, f.bytes, &net->outputs[net->noutputs++], &type);
        }
    }
    return net->outputs ? st : EG_ENOMEM;
}

/* Which initializers are weights: all floats that a node takes as more than numbers to look at, and large arrays of
 * integers, which are to go to a device with them. Numbers without an axis are those of formulas: they do not learn. */
static void find_weights(eg__onnx_reader *r)
{
    enum { LARGE = 64 };
    for (uint32_t i = 0; i < r->net->nplaces; i++) {
        eg__onnx_place *p = &r->net->places[i];
        const bool real = p->t && eg_dtype_of(p->t) <= EG_BF16;
        const int uses = r->uses[i];
        if (p->t && (real ? uses & ~EG__ONNX_AS_NUMBERS : eg_numel(p->t) > LARGE && uses != EG__ONNX_AS_NUMBERS)) {
            p->role = EG__ONNX_WEIGHT;
            const int learn = EG__ONNX_AS_WEIGHT | (eg_numel(p->t) > 1 ? EG__ONNX_AS_FACTOR : 0);
            p->buffer = !real || !(uses & learn) || !eg_ndim(p->t);
        }
    }
}

static eg_status say_unknown(const eg__onnx_reader *r)
{
    char words[200] = "";
    for (int i = 0; i < r->nunknown && i < EG__ONNX_UNKNOWN; i++) {
        const size_t n = strlen(words);
        snprintf(words + n, sizeof words - n, "%s%.40s", i ? ", " : "", r->unknown[i]);
    }
    return r->nunknown ? eg_failf(EG_ENOKERNEL, op, "operators that are not known: %s%s", words,
                                  r->nunknown > EG__ONNX_UNKNOWN ? ", ..." : "")
                       : EG_OK;
}

/* What the file says of itself, once its imports are read. */
static eg_status describe_file(eg__onnx_reader *r)
{
    eg__wire w = r->model, producer = eg__wire_of("", 0);
    eg__wire_field f;
    uint64_t ir = 0;
    while (eg__onnx_next(&w, EG__ONNX_IN_MODEL, &f)) {
        ir = f.number == EG__ONNX_MODEL_IR ? f.value : ir;
        producer = f.number == EG__ONNX_MODEL_PRODUCER ? f.bytes : producer;
    }
    eg_onnx_info *to = &r->net->info;
    *to = (eg_onnx_info){.ir = (int)(ir < 1000 ? ir : 1000), .producer = eg__onnx_copy_text(r, &producer)};
    for (int i = 0; i < r->nimports; i++) {
        to->opset = *r->imports[i].domain ? to->opset : r->imports[i].version;
    }
    return to->producer ? EG_OK : eg_last_error()->code;
}

static eg_status read_model(eg__onnx_reader *r)
{
    eg__wire w = r->model, graph = {0};
    eg__wire_field f;
    while (eg__onnx_next(&w, EG__ONNX_IN_MODEL, &f)) {
        graph = f.number == EG__ONNX_MODEL_GRAPH ? f.bytes : graph;
    }
    if (w.bad || !graph.at) {
        return eg__onnx_damaged(r, "no ONNX model, or damaged");
    }
    eg_status st = eg__onnx_read_imports(r, r->model, EG__ONNX_IN_MODEL, EG__ONNX_MODEL_OPSET);
    if (!st && !r->nimports) {
        r->imports[r->nimports++] = (eg__onnx_import){"", 1};
    }
    st = st ? st : describe_file(r);
    st = st ? st : eg__onnx_index_functions(r);
    st = st ? st : eg__onnx_read_graph(r, graph, "", &r->net->graph);
    st = st ? st : say_unknown(r);
    st = st ? st : describe_inputs(r, graph);
    st = st ? st : describe_outputs(r, graph);
    if (!st) {
        find_weights(r);
    }
    return st;
}

/* The file's bytes, mapped while they are read; what stays is copied. */
static eg_status map_file(const char *path, eg__wire *bytes)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) || !about.st_size) {
        eg_failf(EG_EIO, op, "cannot read \"%.140s\": %s", path, fd < 0 ? strerror(errno) : "it is empty");
        if (fd >= 0) {
            close(fd);
        }
        return EG_EIO;
    }
    void *base = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (base == MAP_FAILED) {
        return eg_failf(EG_EIO, op, "cannot map \"%.140s\": %s", path, strerror(errno));
    }
    *bytes = eg__wire_of(base, (size_t)about.st_size);
    return EG_OK;
}

eg_status eg__onnx_read(eg__onnx_net *net, const char *path)
{
    eg__onnx_reader *r = calloc(1, sizeof *r);
    if (!r) {
        return eg_fail(EG_ENOMEM, op, "no memory");
    }
    r->net = net;
    r->path = path;
    r->tensors = eg_tensors_open(path, .format = "onnx");
    eg_status st = r->tensors ? map_file(path, &r->model) : eg_last_error()->code;
    if (!st) {
        st = read_model(r);
        munmap((void *)(uintptr_t)(r->model.at), eg__wire_size(&r->model));
    }
    eg_tensors_free(r->tensors);
    free(r);
    return st;
}
