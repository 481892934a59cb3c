/* read_node.c - a model's nodes: their attributes, the places they read and write, and where these are last needed. */
#include <string.h>

#include <egret/error.h>

#include "nn/onnx/read.h"

/* ---- attributes ------------------------------------------------------------------------------------- */

static double float_of(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}

/* Returns the number of integers or texts in a list. */
static int count_in(eg__wire w, uint32_t field)
{
    eg__wire_field f;
    int64_t n = 0;
    uint64_t v;
    while (eg__onnx_next(&w, EG__ONNX_IN_ATTRIBUTE, &f)) {
        if (f.number == field && field == EG__ONNX_ATTR_TEXTS) {
            n++;
        }
        while (f.number == field && field != EG__ONNX_ATTR_TEXTS &&
               eg__onnx_next_number(&w, EG__ONNX_IN_ATTRIBUTE, &f, &v)) {
            n++;
        }
    }
    return n < 1 << 24 ? (int)n : 1 << 24;
}

/* The k-th number of a field goes to the list. */
static void set_number(const eg__onnx_attribute *a, int k, uint64_t v)
{
    if (a->kind == EG__ONNX_INTS) {
        ((int64_t *)(uintptr_t)a->ints)[k] = (int64_t)v;
    } else {
        ((float *)(uintptr_t)a->floats)[k] = (float)float_of(v);
    }
}

static eg_status read_list(eg__onnx_reader *r, eg__wire w, eg__onnx_attribute *a)
{
    const bool whole = a->kind == EG__ONNX_INTS;
    const uint32_t field = whole ? EG__ONNX_ATTR_INTS : EG__ONNX_ATTR_FLOATS;
    const int n = count_in(w, field);
    void *list = eg__onnx_memory(r->net, (size_t)n * 8 + 8);
    eg__wire_field f;
    if (!list) {
        return EG_ENOMEM;
    }
    if (whole) {
        a->ints = list;
    } else {
        a->floats = list;
    }
    while (eg__onnx_next(&w, EG__ONNX_IN_ATTRIBUTE, &f)) {
        uint64_t v;
        while (f.number == field && a->count < n && eg__onnx_next_number(&w, EG__ONNX_IN_ATTRIBUTE, &f, &v)) {
            set_number(a, a->count++, v);
        }
    }
    return w.bad ? eg__onnx_damaged(r, "an attribute is damaged") : EG_OK;
}

static eg_status read_texts(eg__onnx_reader *r, eg__wire w, eg__onnx_attribute *a)
{
    const int n = count_in(w, EG__ONNX_ATTR_TEXTS);
    const char **list = eg__onnx_memory(r->net, (size_t)n * sizeof *list + 8);
    eg__wire_field f;
    a->texts = list;
    while (list && eg__onnx_next(&w, EG__ONNX_IN_ATTRIBUTE, &f)) {
        if (f.number == EG__ONNX_ATTR_TEXTS && a->count < n) {
            list[a->count] = eg__onnx_copy_text(r, &f.bytes);
            if (!list[a->count++]) {
                return eg_last_error()->code;
            }
        }
    }
    return list ? EG_OK : EG_ENOMEM;
}

/* What stands in the fields before the lists. */
typedef struct fields {
    eg__wire name, reference, text, graph;
    uint64_t i, f, type;
    eg__wire tensor;
} fields;

static bool read_fields(eg__wire w, fields *to)
{
    eg__wire_field f;
    *to = (fields){.name = eg__wire_of("", 0), .text = eg__wire_of("", 0)};
    while (eg__onnx_next(&w, EG__ONNX_IN_ATTRIBUTE, &f)) {
        to->name = f.number == EG__ONNX_ATTR_NAME ? f.bytes : to->name;
        to->reference = f.number == EG__ONNX_ATTR_REFERENCE ? f.bytes : to->reference;
        to->text = f.number == EG__ONNX_ATTR_TEXT ? f.bytes : to->text;
        to->graph = f.number == EG__ONNX_ATTR_GRAPH ? f.bytes : to->graph;
        to->i = f.number == EG__ONNX_ATTR_INT ? f.value : to->i;
        to->f = f.number == EG__ONNX_ATTR_FLOAT ? f.value : to->f;
        to->type = f.number == EG__ONNX_ATTR_TYPE ? f.value : to->type;
        to->tensor = f.number == EG__ONNX_ATTR_TENSOR ? f.bytes : to->tensor;
        if (!to->type && f.number >= EG__ONNX_ATTR_FLOAT && f.number <= EG__ONNX_ATTR_TEXTS &&
            f.number != EG__ONNX_ATTR_TYPE) { /* older files do not say it */
            static const uint8_t kinds[] = {EG__ONNX_FLOAT, EG__ONNX_INT,    EG__ONNX_STRING_, EG__ONNX_TENSOR,
                                            EG__ONNX_GRAPH, EG__ONNX_FLOATS, EG__ONNX_INTS,    EG__ONNX_STRINGS};
            to->type = kinds[f.number - EG__ONNX_ATTR_FLOAT];
        }
    }
    return !w.bad && eg__wire_size(&to->name) < EG__ONNX_NAME;
}

/* The attribute of the node that called the function; false: it has none. */
static bool from_caller(const eg__onnx_reader *r, const eg__wire *name, eg__onnx_attribute *a)
{
    for (int i = 0; r->caller && i < r->caller->nattributes; i++) {
        if (eg__wire_is(name, r->caller->attributes[i].name)) {
            const char *own = a->name;
            *a = r->caller->attributes[i];
            a->name = own;
            return true;
        }
    }
    return false;
}

static eg_status read_tensor(eg__onnx_reader *r, eg__wire tensor, const char *path, const char *node, bool constant,
                             eg__onnx_attribute *a)
{
    char full[2 * EG__ONNX_NAME];
    eg__wire_field f;
    uint64_t type = 0;
    const eg__wire name = eg__wire_of(a->name, strlen(a->name));
    if (constant) {
        snprintf(full, sizeof full, "%s%s", path, node);
    } else if (!eg__onnx_join(full, path, node, &name)) {
        return eg__onnx_damaged(r, "a name of more than 511 bytes");
    }
    if (!eg_tensors_has(r->tensors, full)) {
        a->tensor = NULL; /* of texts */
        return EG_OK;
    }
    eg_tensor *t = eg_keep(eg_tensors_get(r->tensors, full));
    const int place = t ? eg__onnx_new_place(r, a->name) : -1; /* which owns it */
    if (place < 0) {
        eg_release(t);
        return eg_last_error()->code;
    }
    r->net->places[place].t = t;
    r->net->places[place].role = EG__ONNX_CONSTANT;
    r->uses[place] = EG__ONNX_AS_NUMBERS;
    a->tensor = t;
    while (eg__onnx_next(&tensor, EG__ONNX_IN_TENSOR, &f)) {
        type = f.number == EG__ONNX_TENSOR_TYPE ? f.value : type;
    }
    if (type < EG__ONNX_TYPES && eg__onnx_dtype((int64_t)type) != EG_DTYPE_COUNT && eg__onnx_type_of(t) != (int)type) {
        a->type = (uint8_t)type;
    }
    return EG_OK;
}

/* An attribute into the node's list; it may turn out to be none. */
static eg_status read_attribute(eg__onnx_reader *r, eg__wire w, const char *path, const char *first, bool constant,
                                eg__onnx_node *n)
{
    char inner[EG__ONNX_NAME];
    fields in;
    eg__onnx_attribute *a = &n->attributes[n->nattributes];
    if (!read_fields(w, &in)) {
        return eg__onnx_damaged(r, "an attribute is damaged");
    }
    *a = (eg__onnx_attribute){.name = eg__onnx_copy_text(r, &in.name), .kind = (eg__onnx_kind)in.type};
    eg_status st = a->name ? EG_OK : eg_last_error()->code;
    if (!st && in.reference.at && eg__wire_size(&in.reference)) {
        n->nattributes += from_caller(r, &in.reference, a);
        return EG_OK;
    }
    switch (st ? 0 : in.type) {
    case EG__ONNX_FLOAT:
        a->f = float_of(in.f);
        break;
    case EG__ONNX_INT:
        a->i = (int64_t)in.i;
        break;
    case EG__ONNX_STRING_:
        a->text = eg__onnx_copy_text(r, &in.text);
        st = a->text ? EG_OK : eg_last_error()->code;
        break;
    case EG__ONNX_TENSOR:
        st = read_tensor(r, in.tensor, path, first, constant, a);
        break;
    case EG__ONNX_GRAPH:
        if (!eg__onnx_join(inner, path, first, &in.name)) {
            return eg__onnx_damaged(r, "a name of more than 511 bytes");
        }
        memcpy(inner + strlen(inner), "/", 2);
        st = in.graph.at ? eg__onnx_read_graph(r, in.graph, inner, &a->graph)
                         : eg__onnx_damaged(r, "an attribute without its graph");
        break;
    case EG__ONNX_FLOATS:
    case EG__ONNX_INTS:
        st = read_list(r, w, a);
        break;
    case EG__ONNX_STRINGS:
        st = read_texts(r, w, a);
        break;
    default: /* sparse tensors, lists of tensors and graphs, types: the operators that take them are not known */
        break;
    }
    n->nattributes += !st;
    return st;
}

/* ---- what a node is ----------------------------------------------------------------------------------- */

static int version_of(const eg__onnx_reader *r, const char *domain)
{
    for (int i = r->nimports; i-- > 0;) { /* a function's come last */
        if (!strcmp(r->imports[i].domain, domain)) {
            return r->imports[i].version;
        }
    }
    return 1;
}

static eg_status find_operator(eg__onnx_reader *r, eg__onnx_node *n)
{
    eg__wire function;
    for (int i = 0; i < r->net->nops; i++) {
        const eg_onnx_op *op = &r->net->ops[i];
        if (!strcmp(op->domain ? op->domain : "", n->domain) && !strcmp(op->name, n->op)) {
            n->user = op;
            return EG_OK;
        }
    }
    if (eg__onnx_find_function(r, n->domain, n->op, &function)) {
        return eg__onnx_read_function(r, function, n, &n->function);
    }
    const bool preview = !strcmp(n->domain, "ai.onnx.preview");
    n->row = *n->domain && !preview ? NULL : eg__onnx_find(n->op);
    if (n->row && !(n->row->flags & EG__ONNX_PREVIEW) == preview) {
        n->row = NULL;
    }
    n->least = n->row ? eg__onnx_least(n->row, n->version) : 0;
    if (n->row && (n->nin < n->least || (n->row->most >= 0 && n->nin > n->row->most))) {
        return eg_failf(EG_EFORMAT, "eg_onnx_load", "%.60s \"%.80s\" has %d inputs", n->op, n->name, n->nin);
    }
    for (int i = 0; n->row && i < n->nin; i++) {
        if (n->in[i] < 0 && eg__onnx_is_required(n, i)) {
            return eg_failf(EG_EFORMAT, "eg_onnx_load", "%.60s \"%.80s\" needs input %d, which is left out", n->op,
                            n->name, i);
        }
    }
    if (!n->row) {
        bool said = false;
        for (int i = 0; i < r->nunknown && i < EG__ONNX_UNKNOWN; i++) {
            said = said || !strcmp(r->unknown[i], n->op);
        }
        if (!said && r->nunknown++ < EG__ONNX_UNKNOWN) {
            r->unknown[r->nunknown - 1] = n->op;
        }
    }
    return EG_OK;
}

/* How input i uses its value. */
static int use_of(const eg__onnx_node *n, int i)
{
    const char *roles = n->row ? n->row->roles : ".";
    const int last = (int)strlen(roles) - 1;
    const char role = roles[i < last ? i : last];
    return role == 'h'                                  ? EG__ONNX_AS_NUMBERS
           : role == 'b'                                ? EG__ONNX_AS_BUFFER
           : n->row && n->row->flags & EG__ONNX_FORMULA ? EG__ONNX_AS_FACTOR
                                                        : EG__ONNX_AS_WEIGHT;
}

/* ---- places --------------------------------------------------------------------------------------------- */

static eg_status read_places(eg__onnx_reader *r, eg__wire node, uint32_t field, eg__onnx_node *n)
{
    const bool input = field == EG__ONNX_NODE_INPUT;
    int *places = input ? n->in : n->out, k = 0;
    eg__wire_field f;
    eg_status st = EG_OK;
    while (!st && eg__onnx_next(&node, EG__ONNX_IN_NODE, &f)) {
        if (f.number != field) {
            continue;
        }
        const char *name = eg__onnx_copy_text(r, &f.bytes);
        if (!name) {
            return eg_last_error()->code;
        }
        places[k] = -1;
        if (*name && input) {
            places[k] = eg__onnx_look_up(r, name);
            st = places[k] < 0 ? eg_failf(EG_EFORMAT, "eg_onnx_load",
                                          "%.60s \"%.60s\" takes \"%.60s\", which is not there", n->op, n->name, name)
                               : EG_OK;
        } else if (*name) {
            places[k] = eg__onnx_new_place(r, name);
            st = eg__onnx_know(r, name, places[k]);
        }
        k++;
    }
    /* Those left out at the end are none. */
    while (k > 0 && places[k - 1] < 0) {
        k--;
    }
    *(input ? &n->nin : &n->nout) = k;
    return st;
}

static eg_status read_head(eg__onnx_reader *r, eg__wire w, eg__onnx_node *n)
{
    eg__wire_field f;
    eg__wire op = eg__wire_of("", 0), domain = op, name = op;
    enum { MOST_ATTRIBUTES = 256 }; /* they are looked for one by one */
    const int nattributes = eg__onnx_count_fields(w, EG__ONNX_IN_NODE, EG__ONNX_NODE_ATTRIBUTE);
    if (nattributes > MOST_ATTRIBUTES) {
        return eg__onnx_damaged(r, "a node of more than 256 attributes");
    }
    const int nin = eg__onnx_count_fields(w, EG__ONNX_IN_NODE, EG__ONNX_NODE_INPUT),
              nout = eg__onnx_count_fields(w, EG__ONNX_IN_NODE, EG__ONNX_NODE_OUTPUT);
    n->in = eg__onnx_memory(r->net, (size_t)nin * sizeof *n->in + 8);
    n->out = eg__onnx_memory(r->net, (size_t)nout * sizeof *n->out + 8);
    n->attributes = eg__onnx_memory(r->net, (size_t)nattributes * sizeof *n->attributes + 8);
    if (!n->in || !n->out || !n->attributes || nout > EG__ONNX_MOST_OUT) {
        return nout > EG__ONNX_MOST_OUT ? eg__onnx_damaged(r, "a node of more than 64 outputs") : EG_ENOMEM;
    }
    while (eg__onnx_next(&w, EG__ONNX_IN_NODE, &f)) {
        op = f.number == EG__ONNX_NODE_OP ? f.bytes : op;
        domain = f.number == EG__ONNX_NODE_DOMAIN ? f.bytes : domain;
        name = f.number == EG__ONNX_NODE_NAME ? f.bytes : name;
    }
    n->op = eg__onnx_copy_text(r, &op);
    n->domain = eg__wire_is(&domain, "ai.onnx") ? "" : eg__onnx_copy_text(r, &domain);
    n->name = eg__onnx_copy_text(r, &name);
    if (!n->op || !n->domain || !n->name) {
        return eg_last_error()->code;
    }
    n->version = version_of(r, n->domain);
    return EG_OK;
}

/* Of nested graphs: what they take from outside, for the node that has them. */
typedef struct captures {
    uint32_t first, end; /* in the reader's list */
} captures;

static eg_status read_node(eg__onnx_reader *r, eg__wire w, int64_t index, const char *path, eg__onnx_node *n)
{
    enum { ALWAYS = 1 << 16 }; /* functions may be called for so many nodes more than the file has bytes */
    char first[EG__ONNX_NAME];
    bool constant;
    const int64_t most = ALWAYS + (int64_t)eg__wire_size(&r->model);
    if (!eg__onnx_node_name(&w, index, first, &constant) || ++r->expanded > most) {
        return eg__onnx_damaged(
            r, r->expanded > most ? "calls of functions make more than 65536 nodes beside one for each byte of the file"
                                  : "a node is damaged");
    }
    eg_status st = read_head(r, w, n);
    if (!st && !*n->name) {
        const eg__wire own = eg__wire_of(first, strlen(first));
        n->name = eg__onnx_copy_text(r, &own);
        st = n->name ? EG_OK : eg_last_error()->code;
    }
    st = st ? st : read_places(r, w, EG__ONNX_NODE_INPUT, n);
    eg__wire all = w;
    eg__wire_field f;
    while (!st && eg__onnx_next(&all, EG__ONNX_IN_NODE, &f)) {
        if (f.number == EG__ONNX_NODE_ATTRIBUTE) {
            st = read_attribute(r, f.bytes, path, first, constant, n);
        }
    }
    st = st ? st : find_operator(r, n);
    for (int i = 0; i < n->nin && !st; i++) {
        if (n->in[i] >= 0) {
            r->uses[n->in[i]] |= (uint8_t)use_of(n, i);
        }
    }
    return st ? st : read_places(r, w, EG__ONNX_NODE_OUTPUT, n);
}

/* ---- last uses ------------------------------------------------------------------------------------------ */

/* Marks a place as needed; if it is the graph's own and nobody behind needs it, it is dead after this node. */
static void need(const eg__onnx_graph *g, uint8_t *needed, int place, int end, eg__onnx_node *n)
{
    if (place >= g->first && place < end && !needed[place - g->first]) {
        needed[place - g->first] = 1;
        if (n) {
            n->dead[n->ndead++] = place;
        }
    }
}

static eg_status find_dead(eg__onnx_reader *r, eg__onnx_graph *g, const captures *outside)
{
    const int end = (int)r->net->nplaces;
    uint8_t *needed = eg__onnx_memory(r->net, (size_t)(end - g->first) + 1);
    if (!needed) {
        return eg_last_error()->code;
    }
    for (int i = 0; i < g->nout; i++) {
        need(g, needed, g->out[i], end, NULL);
    }
    for (int place = g->first; place < end; place++) { /* what has a value before anything runs keeps it */
        needed[place - g->first] |= r->net->places[place].t != NULL;
    }
    eg_status st = EG_OK;
    for (int i = g->nnodes; i-- > 0 && !st;) {
        eg__onnx_node *n = &g->nodes[i];
        const int most = n->nin + n->nout + (int)(outside[i].end - outside[i].first);
        n->dead = eg__onnx_memory(r->net, (size_t)most * sizeof *n->dead + 8);
        st = n->dead ? EG_OK : EG_ENOMEM;
        for (int k = 0; k < n->nin && !st; k++) {
            need(g, needed, n->in[k], end, n);
        }
        for (int k = 0; k < n->nout && !st; k++) {
            need(g, needed, n->out[k], end, n);
        }
        for (uint32_t k = outside[i].first; k < outside[i].end && !st; k++) {
            need(g, needed, r->captured[k], end, n);
        }
    }
    return st;
}

eg_status eg__onnx_read_nodes(eg__onnx_reader *r, eg__wire message, eg__onnx_message of, uint32_t field,
                              const char *path, eg__onnx_graph *g, eg__onnx_read_outputs *outputs)
{
    const int count = eg__onnx_count_fields(message, of, field);
    const uint32_t mark = r->ncaptured;
    captures *outside = eg__onnx_memory(r->net, (size_t)count * sizeof *outside + 8);
    g->nodes = eg__onnx_memory(r->net, (size_t)count * sizeof *g->nodes + 8);
    eg_status st = outside && g->nodes ? EG_OK : eg_last_error()->code;
    eg__wire_field f;
    eg__wire w = message;
    while (!st && eg__onnx_next(&w, of, &f)) {
        if (f.number == field) {
            outside[g->nnodes].first = r->ncaptured;
            st = read_node(r, f.bytes, g->nnodes, path, &g->nodes[g->nnodes]);
            outside[g->nnodes].end = r->ncaptured;
            g->nnodes++;
        }
    }
    st = st ? st : w.bad ? eg__onnx_damaged(r, "a graph is damaged") : EG_OK;
    st = st ? st : outputs(r, message, g);
    st = st ? st : find_dead(r, g, outside);
    /* What is not this graph's is taken from outside of it, and so is what its nodes take from there. */
    uint32_t left = mark;
    for (uint32_t k = mark; k < r->ncaptured && !st; k++) {
        if (r->captured[k] < g->first) {
            r->captured[left++] = r->captured[k];
        }
    }
    r->ncaptured = st ? r->ncaptured : left;
    for (int i = 0; i < g->nnodes && !st; i++) {
        for (int k = 0; k < g->nodes[i].nin && !st; k++) {
            if (g->nodes[i].in[k] >= 0 && g->nodes[i].in[k] < g->first) {
                st = eg__onnx_capture(r, g->nodes[i].in[k]);
            }
        }
    }
    return st;
}
