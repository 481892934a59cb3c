/* read_function.c - the functions of a model, found by name and read once for each call. */
#include <string.h>

#include <egret/error.h>

#include "nn/onnx/read.h"

static uint32_t *bucket_of(eg__onnx_reader *r, const eg__wire *domain, const eg__wire *name)
{
    const uint64_t a = eg__onnx_hash(r, domain->at, eg__wire_size(domain));
    const uint64_t b = eg__onnx_hash(r, name->at, eg__wire_size(name));
    return &r->function_bucket[(3 * a + b) % EG__ONNX_FUNCTION_BUCKETS];
}

eg_status eg__onnx_index_functions(eg__onnx_reader *r)
{
    eg__wire w = r->model;
    eg__wire_field f, g;
    while (eg__onnx_next(&w, EG__ONNX_IN_MODEL, &f)) {
        if (f.number != EG__ONNX_MODEL_FUNCTION) {
            continue;
        }
        eg__onnx_function its = {.name = eg__wire_of("", 0), .domain = eg__wire_of("", 0), .body = f.bytes};
        while (eg__onnx_next(&f.bytes, EG__ONNX_IN_FUNCTION, &g)) {
            its.name = g.number == EG__ONNX_FUNCTION_NAME ? g.bytes : its.name;
            its.domain = g.number == EG__ONNX_FUNCTION_DOMAIN ? g.bytes : its.domain;
        }
        if (!eg__onnx_grow(r->net, &r->functions, r->nfunctions, &r->cfunctions, sizeof *r->functions)) {
            return eg_last_error()->code;
        }
        uint32_t *bucket = bucket_of(r, &its.domain, &its.name);
        its.next = *bucket;
        r->functions[r->nfunctions++] = its;
        *bucket = r->nfunctions;
    }
    return EG_OK;
}

bool eg__onnx_find_function(eg__onnx_reader *r, const char *domain, const char *name, eg__wire *function)
{
    const eg__wire of = eg__wire_of(domain, strlen(domain)), called = eg__wire_of(name, strlen(name));
    uint32_t k = *bucket_of(r, &of, &called);
    while (k && !(eg__wire_is(&r->functions[k - 1].name, name) && eg__wire_is(&r->functions[k - 1].domain, domain))) {
        k = r->functions[k - 1].next;
    }
    if (k) {
        *function = r->functions[k - 1].body;
    }
    return k;
}

/* The names of a function's inputs or outputs. */
static eg_status read_names(eg__onnx_reader *r, eg__wire function, uint32_t field, int *places, bool input)
{
    eg__wire_field f;
    eg_status st = EG_OK;
    for (int n = 0; !st && eg__onnx_next(&function, EG__ONNX_IN_FUNCTION, &f);) {
        if (f.number != field) {
            continue;
        }
        const char *name = eg__onnx_copy_text(r, &f.bytes);
        if (!name) {
            return eg_last_error()->code;
        }
        places[n] = input ? eg__onnx_new_place(r, name) : eg__onnx_look_up(r, name);
        st = input           ? eg__onnx_know(r, name, places[n])
             : places[n] < 0 ? eg__onnx_damaged(r, "a function's output that no node makes")
                             : EG_OK;
        n++;
    }
    return st;
}

static eg_status read_outputs(eg__onnx_reader *r, eg__wire function, eg__onnx_graph *g)
{
    return read_names(r, function, EG__ONNX_FUNCTION_OUTPUT, g->out, false);
}

/* What calls may make of a file: so many times its bytes, of small files as if they had so many more. */
enum { CALLED_TIMES = 64, CALLED_LEAST = 1 << 16 };

eg_status eg__onnx_read_function(eg__onnx_reader *r, eg__wire function, const eg__onnx_node *caller,
                                 eg__onnx_graph **out)
{
    eg__onnx_net *net = r->net;
    char path[EG__ONNX_NAME];
    /* Inside, nothing of outside is seen. */
    const uint32_t mark = r->nknown, wall = r->wall;
    const int imports = r->nimports;
    const eg__onnx_node *outer = r->caller;
    eg__onnx_graph *g = eg__onnx_memory(net, sizeof *g);
    r->called += (int64_t)eg__wire_size(&function);
    if (r->called / CALLED_TIMES > (int64_t)eg__wire_size(&r->model) + CALLED_LEAST) {
        return eg__onnx_damaged(r, "calls of functions make far more of the model than its file has");
    }
    if (!g || ++r->depth > EG__ONNX_DEPTH || !eg__onnx_function_path(&function, path)) {
        return g ? eg__onnx_damaged(r, "functions call each other too deep, or are damaged") : EG_ENOMEM;
    }
    r->wall = mark;
    r->caller = caller;
    g->first = (int)net->nplaces;
    g->nin = eg__onnx_count_fields(function, EG__ONNX_IN_FUNCTION, EG__ONNX_FUNCTION_INPUT);
    g->nout = eg__onnx_count_fields(function, EG__ONNX_IN_FUNCTION, EG__ONNX_FUNCTION_OUTPUT);
    g->in = eg__onnx_memory(net, (size_t)g->nin * sizeof *g->in);
    g->out = eg__onnx_memory(net, (size_t)g->nout * sizeof *g->out);
    eg_status st =
        g->in && g->out ? eg__onnx_read_imports(r, function, EG__ONNX_IN_FUNCTION, EG__ONNX_FUNCTION_OPSET) : EG_ENOMEM;
    st = st ? st : read_names(r, function, EG__ONNX_FUNCTION_INPUT, g->in, true);
    st =
        st ? st : eg__onnx_read_nodes(r, function, EG__ONNX_IN_FUNCTION, EG__ONNX_FUNCTION_NODE, path, g, read_outputs);
    for (int i = 0; i < g->nout && !st; i++) {
        r->uses[g->out[i]] |= EG__ONNX_AS_WEIGHT;
    }
    eg__onnx_forget(r, mark);
    r->wall = wall;
    r->caller = outer;
    r->nimports = imports;
    r->depth--;
    g->end = (int)net->nplaces;
    *out = g;
    return st;
}
