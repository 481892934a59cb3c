/* onnx.c - calls that are written as ONNX models and read again: the model computes what the call does, of other
 * numbers too, or it is refused. */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include <egret/onnx.h>

#include "tests/differ/differ.h"

const char *differ_models;

/* A call to be written: the roles of its tensors and results. */
typedef struct model {
    call *c;
    eg_tensor *in[MOST_TENSORS];
    int nin, nout;
} model;

/* The call again, of the same tensors. */
static eg_status again(eg_tensor *const *in, int nin, eg_tensor **out, int nout, void *user)
{
    model *m = user;
    (void)in, (void)nin, (void)nout;
    memset(m->c->y, 0, sizeof m->c->y);
    eg_seed(m->c->d->seed);
    eg_status st = run_call(m->c);
    for (int k = 0, j = 0; k < MOST_RESULTS && !st; k++) {
        if (m->c->y[k]) {
            out[j++] = m->c->y[k];
        }
    }
    return st;
}

static model model_of(call *c)
{
    model m = {.c = c};
    for (int k = 0; k < c->d->n; k++) {
        if (c->t[k]) {
            m.in[m.nin++] = c->t[k];
        }
    }
    for (int k = 0; k < MOST_RESULTS; k++) {
        m.nout += c->y[k] != NULL;
    }
    return m;
}

/* Sets the path of the model. With EGT_ONNX the model and its tensors are kept. */
static void name_model(const draw *d, char *path, size_t size)
{
    const char *folder = getenv("TMPDIR");
    if (differ_models) {
        snprintf(path, size, "%s/%s-%d.onnx", differ_models, d->row->name, d->number);
    } else {
        snprintf(path, size, "%s/differ-%d.onnx", folder ? folder : "/tmp", (int)getpid());
    }
}

static void keep_tensors(const model *m, const char *path)
{
    char name[16], file[600];
    eg_tensors *all = eg_tensors_new();
    for (int i = 0; i < m->nin; i++) {
        snprintf(name, sizeof name, "in%d", i);
        eg_tensors_set(all, name, eg_contiguous(m->in[i]));
    }
    for (int k = 0, j = 0; k < MOST_RESULTS; k++) {
        if (m->c->y[k]) {
            snprintf(name, sizeof name, "out%d", j++);
            eg_tensors_set(all, name, eg_contiguous(m->c->y[k]));
        }
    }
    snprintf(file, sizeof file, "%.*s.safetensors", (int)strlen(path) - 5, path);
    eg_tensors_save(all, file);
    eg_tensors_free(all);
}

/* The results of the model beside those of the call. */
static outcome compare_models(trial *t, const model *m, eg_module *read, const char *what)
{
    eg_tensor *out[MOST_RESULTS] = {0};
    eg_clear_error();
    if (eg_onnx_outputs(read) != m->nout) {
        return differs(t, "%s: %d outputs, of the call %d", what, eg_onnx_outputs(read), m->nout);
    }
    if (eg_onnx_forward(read, m->in, m->nin, out)) {
        return differs(t, "%s does not run: %s", what, eg_last_error()->message);
    }
    outcome o = AGREED;
    for (int k = 0, j = 0; k < MOST_RESULTS && !o; k++) {
        if (m->c->y[k]) {
            o = compare_tensor(t, what, j, out[j], m->c->y[k], false);
            j++;
        }
    }
    return o;
}

/* Returns whether sizes in the model depend on the values of the example. */
static bool sized_by_values(eg_module *read)
{
    bool any = false;
    for (int i = 0; i < eg_onnx_nodes(read); i++) {
        any |= !strcmp(eg_onnx_node_at(read, i).op, "NonZero");
    }
    return any;
}

/* The same draw of other numbers. */
static outcome compare_others(trial *t, const call *c, eg_module *read)
{
    call other;
    draw d = *c->d;
    for (int k = 0; k < d.n; k++) {
        d.t[k].seed += 1;
    }
    make_call(&d, AS_DRAWN, NULL, &other);
    eg_seed(d.seed);
    bool same = !run_call(&other);
    for (int k = 0; k < MOST_RESULTS && same; k++) {
        same = !c->y[k] == !other.y[k] && (!c->y[k] || same_shape(c->y[k], other.y[k]));
    }
    if (!same) { /* refused, or sizes hang on the numbers */
        eg_clear_error();
        return AGREED;
    }
    const model m = model_of(&other);
    outcome o = compare_models(t, &m, read, "of other numbers the model's result");
    return o && sized_by_values(read) && strstr(t->why, "does not run") ? AGREED : o;
}

outcome through_model(trial *t, call *c)
{
    char path[560];
    model m = model_of(c);
    /* x sigmoid(x), as runtimes know it, is NaN of -inf (docs/onnx.md) */
    const bool infinite = !strcmp(c->d->row->name, "silu") && c->d->t[0].values >= SPECIAL;
    if (infinite || !m.nin || !m.nout || c->d->row->flags & (IN_PLACE | ZERO)) {
        return AGREED;
    }
    name_model(c->d, path, sizeof path);
    eg_clear_error();
    call traced = *c; /* whose results do not outlive it */
    for (int f = 0; c->d->table && f < c->d->table->count; f++) {
        void **at = (void **)(void *)(traced.options + c->d->table->fields[f].offset);
        if (c->d->table->fields[f].kind == F_RESULT && *at) {
            *at = &traced.y[(eg_tensor **)*at - c->y];
        }
    }
    eg_status st = eg_onnx_save_function(again, &(model){.c = &traced}, NULL, m.in, m.nin, m.nout, path);
    if (st) {
        const bool said = st == EG_ENOKERNEL && eg_last_error()->message[0];
        return said ? AGREED : differs(t, "a model is not written: %s", eg_last_error()->message);
    }
    if (differ_models) {
        keep_tensors(&m, path);
    }
    eg_module *read = eg_onnx_load(path);
    outcome o = read ? compare_models(t, &m, read, "the model's result")
                     : differs(t, "the model cannot be read: %s", eg_last_error()->message);
    o = o ? o : compare_others(t, c, read);
    eg_module_free(read);
    if (!differ_models) {
        unlink(path);
    }
    eg_clear_error();
    return o;
}
