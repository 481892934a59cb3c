/* load.c - loading a state: which tensor of the source each member gets. */
#include "lib/io/assign.h"
#include "lib/io/lazy.h"
#include "nn/nn.h"

/* A member's name and a prefix of theirs have so many bytes at most. */
enum { NAME_MOST = 512 };

typedef struct plan {
    const char *op;
    eg_load_options o;
    const eg_tensors *source;
    const char *prefix;
    size_t length;          /* of it */
    eg_tensors *all, *own;  /* the members, and those that are to be loaded */
    eg_tensors *to, *from;  /* what is written over by what */
    eg_load_report *report; /* NULL: nobody asks */
} plan;

/* ---- from name to name --------------------------------------------------------------------- */

/* What the source says of its i-th tensor. */
static void describe_theirs(const plan *p, int64_t i, eg_load_row *row)
{
    const eg_tensor_about about = eg_tensors_about(p->source, i);
    const char *name = eg_tensors_name(p->source, i);
    const char *before = eg_tensors_format(p->source) ? NULL : eg_tensors_text(p->source, name);
    row->from = before ? before : name;
    row->from_shape = about.shape;
    row->from_dtype = about.dtype;
}

static eg_load_fate fate_of(const eg_load_row *row)
{
    bool same = row->shape.ndim == row->from_shape.ndim;
    for (int d = 0; d < row->shape.ndim && same; d++) {
        same = row->shape.dim[d] == row->from_shape.dim[d];
    }
    return !same                                                       ? EG_LOAD_OTHER_SHAPE
           : row->dtype == row->from_dtype                             ? EG_LOAD_LOADED
           : eg__is_float(row->dtype) && eg__is_float(row->from_dtype) ? EG_LOAD_CONVERTED
                                                                       : EG_LOAD_OTHER_DTYPE;
}

static eg_status place_member(plan *p, const char *name, eg_tensor *mine)
{
    char theirs[2 * NAME_MOST];
    snprintf(theirs, sizeof theirs, "%s%s", p->prefix, name);
    const int64_t i = eg__lazy_number(p->source, theirs);
    eg_load_row row = {
        .name = name, .fate = EG_LOAD_MISSING, .shape = eg_shape_of(mine), .dtype = (eg_dtype)mine->dtype};
    if (i >= 0) {
        describe_theirs(p, i, &row);
        row.fate = fate_of(&row);
    } else if ((row.why = eg__lazy_why_left_out(p->source, theirs))) {
        row.fate = EG_LOAD_NOT_READ;
        row.from = theirs;
    }
    eg_status st = eg__load_report_add(p->report, &row, p->op);
    if (st || (row.fate == EG_LOAD_OTHER_SHAPE && p->o.skip_shape)) {
        return st;
    }
    st = eg_tensors_set(p->to, name, mine);
    if (st || i < 0) {
        return st;
    }
    eg_tensor *t = eg_tensors_at(p->source, i);
    return t ? eg_tensors_set(p->from, name, t) : eg__why();
}

/* What is for no member that is to be loaded. */
static eg_status place_rest(plan *p, int64_t i)
{
    const char *theirs = eg_tensors_name(p->source, i);
    if (strncmp(theirs, p->prefix, p->length) != 0 || eg_tensors_has(p->own, theirs + p->length)) {
        return EG_OK;
    }
    eg_load_row row = {.name = theirs + p->length};
    row.fate = eg_tensors_has(p->all, row.name) ? EG_LOAD_PASSED_OVER : EG_LOAD_LEFT_OVER;
    describe_theirs(p, i, &row);
    eg_status st = eg__load_report_add(p->report, &row, p->op);
    if (st || row.fate == EG_LOAD_PASSED_OVER || p->o.allow_unexpected) {
        return st;
    }
    eg_tensor *t = eg_tensors_at(p->source, i); /* to be refused by its name */
    return t ? eg_tensors_set(p->from, row.name, t) : eg__why();
}

/* Reports an entry that the reader left out and no member of the module needs. */
static eg_status place_left_out(plan *p, int64_t i)
{
    const char *theirs = eg_tensors_text_key(p->source, i), *why = eg__lazy_why_left_out(p->source, theirs);
    if (!why || strncmp(theirs, p->prefix, p->length) != 0 || eg_tensors_has(p->own, theirs + p->length)) {
        return EG_OK;
    }
    const eg_load_row row = {.name = theirs + p->length, .from = theirs, .fate = EG_LOAD_NOT_READ, .why = why};
    return eg__load_report_add(p->report, &row, p->op);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static eg_status begin(plan *p, eg_module *m)
{
    p->prefix = p->o.prefix ? p->o.prefix : "";
    p->length = strlen(p->prefix);
    if (p->length >= NAME_MOST) {
        return eg__fail(EG_EINVAL, p->op, "the prefix \"%.60s...\" has more than %d bytes", p->prefix, NAME_MOST - 1);
    }
    p->all = eg__module_tensors(m, true, p->op);
    p->own = p->all && p->o.trainable_only ? eg__module_tensors(m, false, p->op) : p->all;
    p->to = p->own ? eg_tensors_new() : NULL;
    p->from = p->to ? eg_tensors_new() : NULL;
    p->report = p->from && p->o.report ? eg__load_report_new(p->op) : NULL;
    return p->from && (p->report || !p->o.report) ? EG_OK : eg__why();
}

static eg_status place_all(plan *p)
{
    eg_status st = EG_OK;
    for (int64_t k = 0; k < eg_tensors_count(p->own) && !st; k++) {
        st = place_member(p, eg_tensors_name(p->own, k), eg_tensors_at(p->own, k));
    }
    for (int64_t i = 0; i < eg_tensors_count(p->source) && !st; i++) {
        st = place_rest(p, i);
    }
    for (int64_t i = 0; i < eg_tensors_text_count(p->source) && !st; i++) {
        st = place_left_out(p, i);
    }
    if (st) { /* half a report is none */
        eg_load_report_free(p->report);
        p->report = NULL;
    }
    return st;
}

static eg_load_options options_of(const eg_load_options *given)
{
    eg_load_options o;
    eg__options(&o, sizeof o, given);
    if (o.report) {
        *o.report = NULL;
    }
    return o;
}

static eg_status load(eg_module *m, const eg_tensors *source, eg_load_options o, const char *op)
{
    plan p = {.op = op, .source = source, .o = o};
    eg_status st = source ? begin(&p, m) : eg__null_argument(op, "source");
    st = st ? st : place_all(&p);
    st = st ? st : eg__tensors_assign(op, p.to, p.from, p.o.allow_missing, p.o.allow_unexpected);
    if (!st) {
        eg__load_report_finish(p.report);
    }
    if (p.o.report) {
        *p.o.report = p.report;
    }
    if (p.own != p.all) {
        eg_tensors_free(p.own);
    }
    eg_tensors_free(p.all);
    eg_tensors_free(p.to);
    eg_tensors_free(p.from);
    return st;
}

eg_status eg_module_load_state_with(eg_module *m, const eg_tensors *source, const eg_load_options *options)
{
    return load(m, source, options_of(options), "eg_module_load_state");
}

eg_status eg_module_load_with(eg_module *m, const char *path, const eg_load_options *options)
{
    static const char op[] = "eg_module_load";
    const eg_load_options o = options_of(options);
    if (!m || !path) {
        return eg__null_argument(op, m ? "path" : "m");
    }
    eg_tensors *file = eg_tensors_open(path, .copy = true);
    eg_status st = file ? load(m, file, o, op) : eg__why();
    eg_tensors_free(file);
    return st;
}
