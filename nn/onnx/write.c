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

void eg__onnx_failed(eg__onnx_writer *w, eg_status st)
{
    if (st && !w->status) {
        w->status = st;
        snprintf(w->words, sizeof w->words, "%.199s", eg_last_error()->message);
    }
}

/* Fails as the first failure did. */
static eg_status failure(const eg__onnx_writer *w)
{
    return w->status ? eg_failf(w->status, eg__onnx_save_name, "%s", w->words) : EG_OK;
}

static void no_memory(eg__onnx_writer *w)
{
    eg__onnx_failed(w, eg_fail(EG_ENOMEM, eg__onnx_save_name, "no memory for the graph"));
}

/* ---- tensors and names ------------------------------------------------------------------------------ */

struct eg__onnx_text {
    eg__onnx_text *next;
    char s[];
};

const char *eg__onnx_text_new(eg__onnx_writer *w, const char *s)
{
    const size_t n = strlen(s) + 1;
    eg__onnx_text *t = malloc(sizeof *t + n);
    if (!t) {
        no_memory(w);
        return "";
    }
    memcpy(t->s, s, n);
    t->next = w->text;
    w->text = t;
    return t->s;
}

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

void eg__onnx_see(eg__onnx_writer *w, eg_tensor *t, const char *name, eg__onnx_known_as is)
{
    char made[24];
    snprintf(made, sizeof made, "/%u", w->serial++);
    const eg__onnx_seen seen = {t, eg__onnx_text_new(w, name ? name : made), is, {0, 0}};
    if (!grow(w) || !eg_keep(t)) {
        no_memory(w);
        return;
    }
    const uint32_t at = slot_of(w, t);
    if (w->index[at]) { /* it has a new meaning: an op gave its input back */
        w->seen[w->index[at] - 1] = seen;
        eg_release(t);
        return;
    }
    w->seen[w->nseen++] = seen;
    w->index[at] = w->nseen;
}

bool eg__onnx_depends(const eg__onnx_writer *w, const eg_tensor *t)
{
    const eg__onnx_seen *s = eg__onnx_seen_of(w, t);
    return s && s->is >= EG__ONNX_VALUE;
}

eg__batch eg__batch_of(const eg__onnx_writer *w, const eg_tensor *t)
{
    const eg__onnx_seen *s = eg__onnx_seen_of(w, t);
    return s ? s->batch : (eg__batch){0, 0};
}

void eg__batch_set(const eg__onnx_writer *w, const eg_tensor *t, eg__batch b)
{
    eg__onnx_seen *s = eg__onnx_seen_of(w, t);
    if (s) {
        s->batch = b;
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
        eg__onnx_failed(w, eg_last_error()->code);
    } else {
        const eg_shape shape = eg_shape_of(dense);
        put_raw(w, name, eg_dtype_of(dense), &shape, eg_numel(dense) ? eg_data(dense) : "",
                (size_t)eg_numel(dense) * eg_dtype_size(eg_dtype_of(dense)));
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
}

eg__val eg__of(eg__onnx_writer *w, eg_tensor *t)
{
    if (!t) {
        return eg__none();
    }
    if (!eg__onnx_seen_of(w, t)) {
        eg__onnx_see(w, t, NULL, EG__ONNX_WEIGHT_LATER);
    }
    eg__onnx_seen *s = eg__onnx_seen_of(w, t);
    if (s && s->is == EG__ONNX_WEIGHT_LATER) {
        s->is = EG__ONNX_CONSTANT_NOW;
        eg__onnx_initializer(w, t, s->name);
    } else if (s && s->is > EG__ONNX_VALUE) {
        eg__onnx_failed(w,
                        eg_failf(EG_ENOKERNEL, eg__onnx_save_name, "%.60s is used, which cannot be written", s->name));
    }
    return (eg__val){.name = s ? s->name : "", .dtype = eg_dtype_of(t)};
}

eg__val eg__constant(eg__onnx_writer *w, eg_tensor *t)
{
    char name[24];
    snprintf(name, sizeof name, "/%u", w->serial++);
    if (!t) {
        eg__onnx_failed(w, eg_last_error()->code);
        return eg__none();
    }
    eg__onnx_initializer(w, t, name);
    return (eg__val){.name = eg__onnx_text_new(w, name), .dtype = eg_dtype_of(t)};
}

eg__val eg__ints(eg__onnx_writer *w, const int64_t *v, int n)
{
    char name[24];
    const eg_shape s = {1, {n}};
    snprintf(name, sizeof name, "/%u", w->serial++);
    put_raw(w, name, EG_I64, &s, v, (size_t)n * sizeof *v);
    return (eg__val){.name = eg__onnx_text_new(w, name), .dtype = EG_I64};
}

/* ---- following -------------------------------------------------------------------------------------- */

/* Results are constants where no input comes from the graph's, or has elements, or where they have none, but for those
 * that have none by chance. */
static bool is_constant(const eg__onnx_writer *w, const eg_op_call *c)
{
    bool depends = false, elements = false, results = false;
    for (int i = 0; i < c->nin; i++) {
        const bool comes = eg__onnx_depends(w, c->in[i]);
        depends = depends || comes;
        elements = elements || (comes && eg_numel(c->in[i]));
    }
    for (int j = 0; j < c->nout; j++) {
        results = results || eg_numel(c->out[j]) || !strcmp(c->op, "nonzero");
    }
    return w->batch >= 0 ? !depends && !eg__onnx_makes_batch(w, c) : !elements || !results;
}

static eg_status told(const eg_op_call *c, void *user)
{
    eg__onnx_writer *w = user;
    if (w->status) {
        return failure(w);
    }
    if (!c->in_place) {
        eg_status st = is_constant(w, c) ? EG_OK : eg__onnx_write_op(w, c);
        eg__onnx_failed(w, st);
    } else if (eg__onnx_seen_of(w, c->out[0])) {
        eg__onnx_failed(w, eg_failf(EG_ENOKERNEL, eg__onnx_save_name, "%.60s changes a tensor in place", c->op));
    }
    return failure(w);
}

/* Refuses reading values that depend on an input: the result would become a constant of the model. */
static eg_status looked_at(const eg_op_call *c, void *user)
{
    eg__onnx_writer *w = user;
    if (eg__onnx_depends(w, c->in[0])) {
        eg__onnx_failed(w, eg_failf(EG_ENOKERNEL, eg__onnx_save_name,
                                    "%.60s reads elements that depend on the input: only ops can be written", c->op));
        return failure(w);
    }
    return EG_OK;
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
    const eg__batch batch = eg__batch_of(w, t);
    for (int i = 0; i < eg_ndim(t); i++) {
        const size_t dim = eg__bytes_begin(b, 1);
        if (batch.from_end && i == eg_ndim(t) - batch.from_end) {
            if (batch.times == 1) { /* else any size */
                eg__bytes_text(b, 2, "N");
            }
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
        eg__put_output(w, j->out[i], name);
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
        eg__onnx_failed(w, eg_failf(EG_EINVAL, eg__onnx_save_name,
                                    "the model would have %zu bytes, a file has fewer than 2^31", m.n));
    }
    eg_status st = w->status                ? failure(w)
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
        if (w->batch >= 0 && eg_ndim(j->in[i]) && eg_size(j->in[i], 0) == w->batch) {
            eg__batch_set(w, j->in[i], (eg__batch){eg_ndim(j->in[i]), 1});
        }
    }
}

static void end(eg__onnx_writer *w)
{
    for (uint32_t i = 0; i < w->nseen; i++) {
        eg_release(w->seen[i].t);
    }
    for (eg__onnx_text *next = NULL; w->text; w->text = next) {
        next = w->text->next;
        free(w->text);
    }
    free(w->seen);
    free(w->index);
    free(w->nodes.s);
    free(w->attributes.s);
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
    if (o.any_batch && eg_ndim(in[0]) && !eg_size(in[0], 0)) {
        return eg_fail(EG_EINVAL, eg__onnx_save_name,
                       "any_batch wants an example with at least one row, input 0 has none");
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
        st = w.status ? w.status : eg_follow(&(eg_follower){told, &w, looked_at}, body, &j);
        st = w.status ? failure(&w) : st; /* what came of it is not the reason */
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
