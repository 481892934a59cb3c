/* write.c - following one forward, and the file that it becomes. */
#define _POSIX_C_SOURCE 200809L
#include "nn/onnx/write.h"

#include <stdlib.h>
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>
#include <egret/tape.h>

#include "lib/io/onnx.h"
#include "nn/onnx/graph.h"
#include "nn/onnx/write_rows.h"

const char eg__onnx_save_name[] = "eg_onnx_save";

static void failed(eg__onnx_writer *w, eg_status st)
{
    w->status = w->status ? w->status : st;
}

static void no_memory(eg__onnx_writer *w)
{
    failed(w, eg_fail(EG_ENOMEM, eg__onnx_save_name, "no memory for the graph"));
}

/* ---- tensors and names ------------------------------------------------------------------------------ */

static uint32_t slot_of(const eg__onnx_writer *w, const eg_tensor *t)
{
    uint32_t h = (uint32_t)(((uint64_t)(uintptr_t)t * 0x9e3779b97f4a7c15u) >> 32);
    while (w->index[h & (w->cindex - 1)] && w->seen[w->index[h & (w->cindex - 1)] - 1].t != t) {
        h++;
    }
    return h & (w->cindex - 1);
}

eg__onnx_seen *eg__onnx_seen_of(const eg__onnx_writer *w, const eg_tensor *t)
{
    const uint32_t i = w->cindex && t ? w->index[slot_of(w, t)] : 0;
    return i ? &w->seen[i - 1] : NULL;
}

static bool grow(eg__onnx_writer *w)
{
    if (w->nseen < w->cseen) {
        return true;
    }
    const uint32_t more = w->cseen ? 2 * w->cseen : 256;
    eg__onnx_seen *seen = realloc(w->seen, more * sizeof *seen);
    w->seen = seen ? seen : w->seen;
    uint32_t *index = seen ? calloc(2 * (size_t)more, sizeof *index) : NULL;
    if (!index) {
        return false;
    }
    free(w->index);
    w->index = index;
    w->cindex = 2 * more;
    w->cseen = more;
    for (uint32_t i = 0; i < w->nseen; i++) {
        w->index[slot_of(w, w->seen[i].t)] = i + 1;
    }
    return true;
}

const char *eg__onnx_see(eg__onnx_writer *w, eg_tensor *t, const char *name, eg__onnx_known_as is)
{
    char made[24];
    snprintf(made, sizeof made, "/%u", w->serial++);
    char *copy = strdup(name ? name : made);
    eg_tensor *kept = copy && grow(w) ? eg_keep(t) : NULL;
    if (!kept) {
        free(copy);
        no_memory(w);
        return NULL;
    }
    const uint32_t at = slot_of(w, t);
    if (w->index[at]) { /* it has a new meaning: of an op that gave its input back */
        eg__onnx_seen *s = &w->seen[w->index[at] - 1];
        eg_release(kept);
        free(s->name);
        s->name = copy;
        s->is = is;
        return copy;
    }
    w->seen[w->nseen++] = (eg__onnx_seen){kept, copy, is};
    w->index[at] = w->nseen;
    return copy;
}

void eg__onnx_same(eg__onnx_writer *w, eg_tensor *x, eg_tensor *y)
{
    const char *name = x == y ? NULL : eg__onnx_name_of(w, x);
    if (name) {
        eg__onnx_see(w, y, name, eg__onnx_seen_of(w, x)->is);
    }
}

/* ---- initializers ----------------------------------------------------------------------------------- */

/* Bytes: tensors from LARGE on go into the file beside, so that shapes and numbers stay in the model. */
enum { LARGE = 1024, ALIGNED = 64 };

/* An entry of a tensor's external data. */
static void put_pair(eg__bytes *b, const char *key, const char *value)
{
    const size_t began = eg__bytes_begin(b, 13);
    eg__bytes_text(b, 1, key);
    eg__bytes_text(b, 2, value);
    eg__bytes_end(b, began);
}

/* The data go into the file beside the model, in a place that can be mapped; here stands where they are. */
static void put_beside(eg__onnx_writer *w, const void *data, size_t bytes)
{
    static const char zeros[ALIGNED];
    char offset[24], length[24];
    eg__bytes_put(&w->data, zeros, (ALIGNED - w->data.n % ALIGNED) % ALIGNED);
    snprintf(offset, sizeof offset, "%zu", w->data.n);
    snprintf(length, sizeof length, "%zu", bytes);
    eg__bytes_put(&w->data, data, bytes);
    put_pair(&w->initializers, "location", w->location);
    put_pair(&w->initializers, "offset", offset);
    put_pair(&w->initializers, "length", length);
    eg__bytes_int(&w->initializers, 14, 1);
}

static void put_raw(eg__onnx_writer *w, const char *name, eg_dtype dtype, const eg_shape *s, const void *data,
                    size_t bytes)
{
    eg__bytes *b = &w->initializers;
    const size_t began = eg__bytes_begin(b, EG__ONNX_GRAPH_INITIALIZER);
    for (int i = 0; i < s->ndim; i++) {
        eg__bytes_int(b, 1, s->dim[i]);
    }
    eg__bytes_int(b, 2, eg__onnx_type_of_dtype(dtype));
    eg__bytes_text(b, 8, name);
    if (w->beside && bytes >= LARGE) {
        put_beside(w, data, bytes);
    } else {
        eg__bytes_data(b, 9, data, bytes);
    }
    eg__bytes_end(b, began);
}

void eg__onnx_initializer(eg__onnx_writer *w, eg_tensor *t, const char *name)
{
    eg_scope s = eg_scope_push();
    eg_tensor *dense = s.depth ? eg_contiguous(eg_to(eg_detach(t), eg_cpu())) : NULL;
    if (!dense) {
        failed(w, eg_last_error()->code);
    } else {
        const eg_shape shape = eg_shape_of(dense);
        put_raw(w, name, eg_dtype_of(dense), &shape, eg_numel(dense) ? eg_data(dense) : "",
                (size_t)eg_numel(dense) * eg_dtype_size(eg_dtype_of(dense)));
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
}

/* The name of a tensor; one that nothing is known of is a constant. */
const char *eg__onnx_name_of(eg__onnx_writer *w, eg_tensor *t)
{
    eg__onnx_seen *s = eg__onnx_seen_of(w, t);
    if (!s) {
        const char *name = eg__onnx_see(w, t, NULL, EG__ONNX_CONSTANT_NOW);
        if (name) {
            eg__onnx_initializer(w, t, name);
        }
        return name;
    }
    if (s->is == EG__ONNX_WEIGHT_LATER) {
        s->is = EG__ONNX_CONSTANT_NOW;
        eg__onnx_initializer(w, t, s->name);
    }
    return s->name;
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

void eg__onnx_begin(eg__onnx_writer *w, const char *op)
{
    w->node = eg__bytes_begin(&w->nodes, EG__ONNX_GRAPH_NODE);
    eg__bytes_text(&w->nodes, EG__ONNX_NODE_OP, op);
}

void eg__onnx_end(eg__onnx_writer *w)
{
    eg__bytes_end(&w->nodes, w->node);
    w->node = 0;
}

void eg__onnx_from(eg__onnx_writer *w, eg_tensor *x)
{
    const char *name = x ? eg__onnx_name_of(w, x) : "";
    eg__onnx_from_name(w, name ? name : "");
}

void eg__onnx_from_name(eg__onnx_writer *w, const char *name)
{
    eg__bytes_text(&w->nodes, EG__ONNX_NODE_INPUT, name);
}

void eg__onnx_from_ints(eg__onnx_writer *w, const int64_t *v, int n)
{
    char name[24];
    const eg_shape s = {1, {n}};
    snprintf(name, sizeof name, "/%u", w->serial++);
    put_raw(w, name, EG_I64, &s, v, (size_t)n * sizeof *v);
    eg__onnx_from_name(w, name);
}

void eg__onnx_from_number(eg__onnx_writer *w, double v, eg_dtype dtype)
{
    char name[24];
    snprintf(name, sizeof name, "/%u", w->serial++);
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg_scalar(v, dtype) : NULL;
    if (t) {
        eg__onnx_initializer(w, t, name);
    } else {
        failed(w, eg_last_error()->code);
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    eg__onnx_from_name(w, name);
}

void eg__onnx_to(eg__onnx_writer *w, eg_tensor *y)
{
    const char *name = eg__onnx_see(w, y, NULL, EG__ONNX_VALUE);
    eg__bytes_text(&w->nodes, EG__ONNX_NODE_OUTPUT, name ? name : "");
}

void eg__onnx_no_output(eg__onnx_writer *w)
{
    eg__bytes_text(&w->nodes, EG__ONNX_NODE_OUTPUT, "");
}

eg__onnx_temp eg__onnx_to_temp(eg__onnx_writer *w)
{
    eg__onnx_temp t;
    snprintf(t.name, sizeof t.name, "/%u", w->serial++);
    eg__bytes_text(&w->nodes, EG__ONNX_NODE_OUTPUT, t.name);
    return t;
}

static size_t begin_attribute(eg__onnx_writer *w, const char *name, eg__onnx_kind kind)
{
    const size_t began = eg__bytes_begin(&w->nodes, EG__ONNX_NODE_ATTRIBUTE);
    eg__bytes_text(&w->nodes, EG__ONNX_ATTR_NAME, name);
    eg__bytes_int(&w->nodes, EG__ONNX_ATTR_TYPE, kind);
    return began;
}

void eg__onnx_set_int(eg__onnx_writer *w, const char *name, int64_t v)
{
    const size_t began = begin_attribute(w, name, EG__ONNX_INT);
    eg__bytes_int(&w->nodes, EG__ONNX_ATTR_INT, v);
    eg__bytes_end(&w->nodes, began);
}

void eg__onnx_set_float(eg__onnx_writer *w, const char *name, double v)
{
    const size_t began = begin_attribute(w, name, EG__ONNX_FLOAT);
    eg__bytes_float(&w->nodes, EG__ONNX_ATTR_FLOAT, v);
    eg__bytes_end(&w->nodes, began);
}

void eg__onnx_set_text(eg__onnx_writer *w, const char *name, const char *v)
{
    const size_t began = begin_attribute(w, name, EG__ONNX_STRING_);
    eg__bytes_text(&w->nodes, EG__ONNX_ATTR_TEXT, v);
    eg__bytes_end(&w->nodes, began);
}

void eg__onnx_set_ints(eg__onnx_writer *w, const char *name, const int64_t *v, int n)
{
    const size_t began = begin_attribute(w, name, EG__ONNX_INTS);
    for (int i = 0; i < n; i++) {
        eg__bytes_int(&w->nodes, EG__ONNX_ATTR_INTS, v[i]);
    }
    eg__bytes_end(&w->nodes, began);
}

/* ---- following -------------------------------------------------------------------------------------- */

/* A call none of whose inputs comes from the graph's makes constants. */
static eg_status told(const eg_op_call *c, void *user)
{
    eg__onnx_writer *w = user;
    bool comes = false;
    for (int i = 0; i < c->nin; i++) {
        const eg__onnx_seen *s = eg__onnx_seen_of(w, c->in[i]);
        comes = comes || (s && s->is == EG__ONNX_VALUE);
    }
    comes = comes || (!c->in_place && eg__onnx_makes_batch(w, c));
    if (c->in_place) {
        return eg__onnx_seen_of(w, c->out[0])
                   ? eg_failf(EG_ENOKERNEL, eg__onnx_save_name, "%.60s changes a tensor in place", c->op)
                   : EG_OK;
    }
    eg_status st = comes ? eg__onnx_write_op(w, c) : EG_OK;
    return st ? st : w->status;
}

typedef struct job {
    eg_onnx_function f;
    void *user;
    eg_tensor *const *in;
    eg_tensor **out;
    int nin, nout;
} job;

static eg_status body(void *user)
{
    const job *j = user;
    eg_clear_error();
    eg_status st = j->f(j->in, j->nin, j->out, j->nout, j->user);
    for (int i = 0; i < j->nout && !st; i++) {
        st = j->out[i]               ? EG_OK
             : eg_last_error()->code ? eg_last_error()->code
                                     : eg_fail(EG_EUSER, eg__onnx_save_name, "the forward gave no result");
    }
    return st;
}

/* ---- the file --------------------------------------------------------------------------------------- */

static void put_value(eg__onnx_writer *w, eg__bytes *b, uint32_t field, const char *name, const eg_tensor *t)
{
    const size_t value = eg__bytes_begin(b, field);
    eg__bytes_text(b, EG__ONNX_VALUE_NAME, name);
    const size_t type = eg__bytes_begin(b, EG__ONNX_VALUE_TYPE), tensor = eg__bytes_begin(b, 1);
    eg__bytes_int(b, 1, eg__onnx_type_of(t));
    const size_t shape = eg__bytes_begin(b, 2);
    for (int i = 0; i < eg_ndim(t); i++) {
        const size_t dim = eg__bytes_begin(b, 1);
        if (!i && eg_size(t, 0) == w->batch) {
            eg__bytes_text(b, 2, "N");
        } else {
            eg__bytes_int(b, 1, eg_size(t, i));
        }
        eg__bytes_end(b, dim);
    }
    eg__bytes_end(b, shape);
    eg__bytes_end(b, tensor);
    eg__bytes_end(b, type);
    eg__bytes_end(b, value);
}

/* Outputs get their names by nodes of their own, for a value may be two of them, or an input. */
static void name_outputs(eg__onnx_writer *w, const job *j, const char *const *names, int count, eg__bytes *graph)
{
    for (int i = 0; i < j->nout; i++) {
        char made[24];
        snprintf(made, sizeof made, "output%d", i);
        const char *name = i < count && names && names[i] ? names[i] : j->nout == 1 ? "output" : made;
        eg__onnx_begin(w, "Identity");
        eg__onnx_from(w, j->out[i]);
        eg__bytes_text(&w->nodes, EG__ONNX_NODE_OUTPUT, name);
        eg__onnx_end(w);
        put_value(w, graph, EG__ONNX_GRAPH_OUTPUT, name, j->out[i]);
    }
}

static eg_status write_file(eg__onnx_writer *w, const job *j, const char *path, const eg_onnx_save_options *o)
{
    eg__bytes m = {0}, ends = {0};
    for (int i = 0; i < j->nin; i++) {
        const eg__onnx_seen *s = eg__onnx_seen_of(w, j->in[i]);
        put_value(w, &ends, EG__ONNX_GRAPH_INPUT, s ? s->name : "", j->in[i]);
    }
    name_outputs(w, j, o->output_names, o->output_names_count, &ends);
    eg__bytes_int(&m, EG__ONNX_MODEL_IR, 9);
    eg__bytes_text(&m, EG__ONNX_MODEL_PRODUCER, "egret");
    eg__bytes_text(&m, 3, eg_version());
    const size_t opset = eg__bytes_begin(&m, EG__ONNX_MODEL_OPSET);
    eg__bytes_text(&m, EG__ONNX_OPSET_DOMAIN, "");
    eg__bytes_int(&m, EG__ONNX_OPSET_VERSION, EG__ONNX_WRITTEN_OPSET);
    eg__bytes_end(&m, opset);
    const size_t graph = eg__bytes_begin(&m, EG__ONNX_MODEL_GRAPH);
    eg__bytes_text(&m, EG__ONNX_GRAPH_NAME, o->name ? o->name : "egret");
    eg__bytes_put(&m, w->nodes.s, w->nodes.n);
    eg__bytes_put(&m, w->initializers.s, w->initializers.n);
    eg__bytes_put(&m, ends.s, ends.n);
    eg__bytes_end(&m, graph);
    if (m.failed || ends.failed || w->nodes.failed || w->initializers.failed || w->data.failed) {
        no_memory(w);
    } else if (m.n > INT32_MAX) {
        failed(w, eg_failf(EG_EINVAL, eg__onnx_save_name, "the model would have %zu bytes, a file has fewer than 2^31",
                           m.n));
    }
    eg_status st = w->status                ? w->status
                   : w->data.n && w->beside ? eg_file_write(w->beside, w->data.s, w->data.n)
                                            : EG_OK;
    st = st ? st : eg_file_write(path, m.s, m.n);
    free(m.s);
    free(ends.s);
    return st;
}

/* ---- saving ----------------------------------------------------------------------------------------- */

/* The file beside has the model's name and an ending. */
static void name_beside(eg__onnx_writer *w, const char *path)
{
    static const char ending[] = ".data";
    const size_t n = strlen(path);
    w->beside = malloc(n + sizeof ending);
    if (!w->beside) {
        no_memory(w);
        return;
    }
    memcpy(w->beside, path, n);
    memcpy(w->beside + n, ending, sizeof ending);
    const char *slash = strrchr(w->beside, '/');
    w->location = slash ? slash + 1 : w->beside;
}

static void begin(eg__onnx_writer *w, const job *j, const eg_tensors *named, const eg_onnx_save_options *o)
{
    w->batch = o->any_batch && j->nin && eg_ndim(j->in[0]) ? eg_size(j->in[0], 0) : -1;
    w->first = j->in[0];
    for (int64_t i = 0; i < eg_tensors_count(named) && !w->status; i++) {
        eg__onnx_see(w, eg_tensors_at(named, i), eg_tensors_name(named, i), EG__ONNX_WEIGHT_LATER);
    }
    for (int i = 0; i < j->nin && !w->status; i++) {
        char made[24];
        snprintf(made, sizeof made, "input%d", i);
        const bool named_here = o->input_names && i < o->input_names_count && o->input_names[i];
        eg__onnx_see(w, j->in[i], named_here ? o->input_names[i] : j->nin == 1 ? "input" : made, EG__ONNX_VALUE);
    }
}

static void end(eg__onnx_writer *w)
{
    for (uint32_t i = 0; i < w->nseen; i++) {
        eg_release(w->seen[i].t);
        free(w->seen[i].name);
    }
    free(w->seen);
    free(w->index);
    free(w->nodes.s);
    free(w->initializers.s);
    free(w->data.s);
    free(w->beside);
}

eg_status eg_onnx_save_function_with(eg_onnx_function f, void *user, const eg_tensors *named, eg_tensor *const *in,
                                     int nin, int nout, const char *path, const eg_onnx_save_options *options)
{
    enum { MOST = 64 };
    eg_onnx_save_options o;
    eg_tensor *out[MOST] = {0};
    eg__options(&o, sizeof o, options);
    if (!f || !path || nin < 1 || nout < 1 || nout > MOST || !in) {
        return eg_fail(EG_EINVAL, eg__onnx_save_name, "f, in or path is NULL, or there are not 1 to 64 results");
    }
    for (int i = 0; i < nin; i++) {
        if (!in[i]) {
            return eg_failf(EG_EINVAL, eg__onnx_save_name, "input %d is NULL", i);
        }
    }
    eg__onnx_writer w = {0};
    job j = {f, user, in, out, nin, nout};
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg_last_error()->code;
    if (!st && o.beside) {
        name_beside(&w, path);
    }
    if (!st) {
        begin(&w, &j, named, &o);
        st = w.status ? w.status : eg_follow(&(eg_follower){told, &w}, body, &j);
    }
    st = st ? st : write_file(&w, &j, path, &o);
    end(&w);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

static eg_status forward(eg_tensor *const *in, int nin, eg_tensor **out, int nout, void *user)
{
    (void)nin, (void)nout;
    out[0] = eg_module_forward(user, in[0]);
    return out[0] ? EG_OK : eg_last_error()->code;
}

eg_status eg_onnx_save_with(eg_module *m, eg_tensor *x, const char *path, const eg_onnx_save_options *options)
{
    if (!m || !x) {
        return eg_fail(EG_EINVAL, eg__onnx_save_name, m ? "x is NULL" : "m is NULL");
    }
    eg_tensors *state = eg_module_state(m);
    eg_status st =
        state ? eg_onnx_save_function_with(forward, m, state, &x, 1, 1, path, options) : eg_last_error()->code;
    eg_tensors_free(state);
    return st;
}
