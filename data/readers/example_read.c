/* example_read.c - features of Example and SequenceExample messages as tensors. */
#include "data/readers/example.h"
#include "lib/io/file.h"
#include "lib/core/device.h"

/* Passes the status on with nothing in out. */
static eg_status refuse(int n, eg_tensor **out, eg_status st)
{
    for (int i = 0; out && i < n; i++) {
        out[i] = NULL;
    }
    return st;
}

#ifdef EG_HAVE_PROTOBUF

enum { MOST_PADDED = 1 << 30 }; /* bytes of a tensor that padding makes larger than its record */

/* What one feature's tensor must hold, over all its steps. */
typedef struct extent {
    const char *op;
    int64_t record; /* bytes of the message */
    const eg_feature *f;
    int64_t steps;  /* -1: no axis of steps */
    int64_t each;   /* elements of f->shape */
    int64_t n;      /* most groups of `each` numbers, or strings, of a step */
    int64_t length; /* longest string */
} extent;

static const char *kind_words(int kind)
{
    return kind == EG_PB__VALUES__KIND_STRINGS    ? "byte strings"
           : kind == EG_PB__VALUES__KIND_REALS    ? "floats"
           : kind == EG_PB__VALUES__KIND_INTEGERS ? "integers"
                                                  : "nothing";
}

static int wanted_kind(const eg_feature *f)
{
    return f->dtype == EG_U8    ? EG_PB__VALUES__KIND_STRINGS
           : f->dtype == EG_F32 ? EG_PB__VALUES__KIND_REALS
                                : EG_PB__VALUES__KIND_INTEGERS;
}

static int64_t count(const EgPb__Values *v)
{
    switch (v->kind_case) {
    case EG_PB__VALUES__KIND_STRINGS:
        return (int64_t)v->strings->n_value;
    case EG_PB__VALUES__KIND_REALS:
        return (int64_t)v->reals->n_value;
    case EG_PB__VALUES__KIND_INTEGERS:
        return (int64_t)v->integers->n_value;
    default:
        return 0;
    }
}

/* ---- how large ------------------------------------------------------------------------------ */

static eg_status measure_strings(extent *e, const EgPb__Values *v, int64_t n)
{
    if (!e->f->variable && n != 1) {
        return eg__fail(EG_EFORMAT, e->op, "feature \"%.60s\" has %lld byte strings, not 1", e->f->name, (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t length = (int64_t)v->strings->value[i].len;
        if (e->f->shape.ndim && length != e->each) {
            return eg__fail(EG_EFORMAT, e->op, "feature \"%.60s\" has %lld bytes, not %s", e->f->name,
                            (long long)length, eg__shape_text(e->f->shape.ndim, e->f->shape.dim).s);
        }
        e->length = eg__max(e->length, length);
    }
    e->n = eg__max(e->n, n);
    return EG_OK;
}

/* Checks one step's values and makes room for them. */
static eg_status measure(extent *e, const EgPb__Values *v)
{
    int kind = wanted_kind(e->f);
    int64_t n = count(v);
    if ((int)v->kind_case != kind) {
        return eg__fail(EG_EFORMAT, e->op, "feature \"%.60s\" holds %s, not %s", e->f->name,
                        kind_words((int)v->kind_case), kind_words(kind));
    }
    if (kind == EG_PB__VALUES__KIND_STRINGS) {
        return measure_strings(e, v, n);
    }
    if (e->f->variable ? n % e->each : n != e->each) {
        return eg__fail(EG_EFORMAT, e->op, "feature \"%.60s\" has %lld values, not %s%s", e->f->name, (long long)n,
                        e->f->variable ? "rows of " : "", eg__shape_text(e->f->shape.ndim, e->f->shape.dim).s);
    }
    e->n = eg__max(e->n, n / e->each);
    return EG_OK;
}

/* [steps] [n] shape, strings without a shape [length]. */
static eg_status shape_of(const extent *e, eg_shape *shape)
{
    const eg_feature *f = e->f;
    shape->ndim = 0;
    if (e->steps >= 0) {
        shape->dim[shape->ndim++] = e->steps;
    }
    if (f->variable) {
        shape->dim[shape->ndim++] = e->n;
    }
    if (shape->ndim + f->shape.ndim > EG_MAX_DIMS) {
        return eg__fail(EG_ESHAPE, e->op, "feature \"%.60s\" has more than %d axes", f->name, EG_MAX_DIMS);
    }
    for (int d = 0; d < f->shape.ndim; d++) {
        shape->dim[shape->ndim++] = f->shape.dim[d];
    }
    if (f->dtype == EG_U8 && !f->shape.ndim) {
        shape->dim[shape->ndim++] = e->length;
    }
    double bytes = (double)eg_dtype_size(f->dtype);
    for (int d = 0; d < shape->ndim; d++) {
        bytes *= (double)shape->dim[d];
    }
    double most = (double)eg__min(MOST_PADDED, eg__unpack_most(e->record));
    return bytes <= most ? EG_OK
                         : eg__fail(EG_EFORMAT, e->op,
                                    "feature \"%.60s\" would be %s of a record of %lld bytes, at most %.0f "
                                    "bytes are made (eg_unpack_limit)",
                                    f->name, eg__shape_text(shape->ndim, shape->dim).s, (long long)e->record, most);
}

/* ---- what is in it -------------------------------------------------------------------------- */

/* The values of step i into their place. */
static eg_status place(const extent *e, const EgPb__Values *v, eg_tensor *t, int64_t i)
{
    int64_t n = count(v);
    if (e->f->dtype == EG_U8) {
        int64_t length = e->f->shape.ndim ? e->each : e->length;
        char *to = eg__ptr(t) + i * e->n * length;
        for (int64_t k = 0; k < n; k++) {
            if (v->strings->value[k].len) {
                memcpy(to + k * length, v->strings->value[k].data, v->strings->value[k].len);
            }
        }
        return EG_OK;
    }
    int64_t at = i * e->n * e->each;
    for (int64_t k = 0; k < n; k++) {
        if (e->f->dtype == EG_F32) {
            ((float *)eg__ptr(t))[at + k] = v->reals->value[k];
            continue;
        }
        int64_t value = v->integers->value[k];
        if (e->f->dtype == EG_I32 && value != (int32_t)value) {
            return eg__fail(EG_EFORMAT, e->op, "feature \"%.60s\": %lld is no i32", e->f->name, (long long)value);
        }
        eg__store_int(eg__ptr(t), t->dtype, at + k, e->f->dtype == EG_BOOL ? value != 0 : value);
    }
    return EG_OK;
}

static eg_status read_feature(extent *e, EgPb__Values *const *steps, int64_t n, eg_tensor **out)
{
    eg_shape shape;
    eg_status st = EG_OK;
    for (int64_t i = 0; i < n && !st; i++) {
        st = measure(e, steps[i]);
    }
    if (st || (st = shape_of(e, &shape))) {
        return st;
    }
    /* Only what is padded shows anything but the values. */
    eg_tensor *t =
        e->f->dtype == EG_U8 ? eg__full_on(0, shape, 0, EG_U8) : eg__full_on(0, shape, e->f->fallback, e->f->dtype);
    st = t ? EG_OK : eg__why();
    for (int64_t i = 0; i < n && !st; i++) {
        st = place(e, steps[i], t, i);
    }
    *out = t;
    return st;
}

/* A feature that is not there. */
static eg_status read_nothing(extent *e, eg_tensor **out)
{
    eg_shape shape;
    if (!e->f->optional) {
        return eg__fail(EG_EFORMAT, e->op, "feature \"%.60s\" is missing", e->f->name);
    }
    e->steps = e->steps < 0 ? -1 : 0;
    eg_status st = shape_of(e, &shape);
    *out = st ? NULL : eg__full_on(0, shape, e->f->fallback, e->f->dtype);
    return st ? st : *out ? EG_OK : eg__why();
}

static eg_status check(const char *op, int64_t record, const eg_feature *f, extent *e)
{
    *e = (extent){.op = op, .record = record, .f = f, .steps = -1};
    if (!f->name) {
        return eg__null_argument(op, "a feature's name");
    }
    if (f->dtype != EG_F32 && f->dtype != EG_I64 && f->dtype != EG_I32 && f->dtype != EG_BOOL && f->dtype != EG_U8) {
        return eg__fail(EG_EDTYPE, op, "feature \"%.60s\": %s, possible are f32, i64, i32, bool, u8", f->name,
                        eg_dtype_name(f->dtype));
    }
    eg_status st = eg__check_shape(op, f->shape.ndim, f->shape.dim, f->dtype, &e->each);
    if (!st && !e->each) {
        st = eg__fail(EG_ESHAPE, op, "feature \"%.60s\" is empty: %s", f->name,
                      eg__shape_text(f->shape.ndim, f->shape.dim).s);
    }
    e->n = !f->variable; /* of nothing: no rows */
    return st;
}

static eg_status twice(const extent *e)
{
    return eg__fail(EG_EFORMAT, e->op, "feature \"%.60s\" is there twice", e->f->name);
}

static eg_status read_context(const char *op, int64_t record, const EgPb__Table *t, const eg_feature *f,
                              eg_tensor **out)
{
    extent e;
    const EgPb__Entry *found = NULL;
    eg_status st = check(op, record, f, &e);
    for (size_t i = 0; !st && t && i < t->n_entry; i++) {
        if (!strcmp(t->entry[i]->key, f->name)) {
            st = found ? twice(&e) : EG_OK;
            found = t->entry[i];
        }
    }
    if (st) {
        return st;
    }
    bool empty = !found || !found->value || !found->value->kind_case;
    return empty ? read_nothing(&e, out) : read_feature(&e, &found->value, 1, out);
}

static eg_status read_list(const char *op, int64_t record, const EgPb__ListTable *t, const eg_feature *f,
                           eg_tensor **out)
{
    extent e;
    const EgPb__ListEntry *found = NULL;
    eg_status st = check(op, record, f, &e);
    for (size_t i = 0; !st && t && i < t->n_entry; i++) {
        if (!strcmp(t->entry[i]->key, f->name)) {
            st = found ? twice(&e) : EG_OK;
            found = t->entry[i];
        }
    }
    if (st) {
        return st;
    }
    e.steps = found && found->value ? (int64_t)found->value->n_step : 0;
    return !found ? read_nothing(&e, out) : read_feature(&e, found->value ? found->value->step : NULL, e.steps, out);
}

/* ---- messages ------------------------------------------------------------------------------- */

static eg_status check_record(const char *op, eg_tensor *record)
{
    eg_status st = eg__check(record, op, "record");
    if (!st && (record->dtype != EG_U8 || record->ndim != 1 || !(record->flags & EG__DENSE))) {
        st = eg__fail(EG_ESHAPE, op, "a record is dense u8 [n], not %s %s", eg_dtype_name((eg_dtype)record->dtype),
                      EG__SHAPE_OF(record));
    }
    return st ? st : eg__host_only(record, op, "record");
}

static eg_status no_message(const char *op, const eg_tensor *record, const char *what)
{
    return eg__fail(EG_EFORMAT, op, "%lld bytes that are no %s", (long long)record->n, what);
}

/* The features of both tables, in a scope of their own but for the results. */
static eg_status read_tables(const char *op, int64_t record, const EgPb__Table *table, const eg_feature *context,
                             int nc, const EgPb__ListTable *list_table, const eg_feature *lists, int nl,
                             eg_tensor **out)
{
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg__why();
    for (int i = 0; i < nc + nl && !st; i++) {
        st = i < nc ? read_context(op, record, table, &context[i], &out[i])
                    : read_list(op, record, list_table, &lists[i - nc], &out[i]);
    }
    if (st && s.depth) {
        eg_scope_pop(s, NULL);
    }
    st = st ? st : eg_scope_pop_n(s, out, nc + nl);
    return st ? refuse(nc + nl, out, st) : EG_OK;
}

eg_status eg_example_read(eg_tensor *record, const eg_feature *features, int n, eg_tensor **out)
{
    static const char op[] = "eg_example_read";
    eg_status st = check_record(op, record);
    if (st || n < 0 || (n && (!features || !out))) {
        st = st      ? st
             : n < 0 ? eg__fail(EG_EINVAL, op, "n is %d", n)
                     : eg__null_argument(op, features ? "out" : "features");
        return refuse(n, out, st);
    }
    if ((st = eg__protobuf_open(op))) {
        return refuse(n, out, st);
    }
    EgPb__Record *m = eg_pb__record__unpack(NULL, (size_t)record->n, (const uint8_t *)eg__ptr(record));
    if (!m) {
        return refuse(n, out, no_message(op, record, "Example"));
    }
    st = read_tables(op, record->n, m->table, features, n, NULL, NULL, 0, out);
    eg_pb__record__free_unpacked(m, NULL);
    return st;
}

eg_status eg_sequence_example_read(eg_tensor *record, const eg_feature *context, int nc, const eg_feature *lists,
                                   int nl, eg_tensor **out)
{
    static const char op[] = "eg_sequence_example_read";
    eg_status st = check_record(op, record);
    bool missing = (nc > 0 && !context) || (nl > 0 && !lists) || !out;
    if (st || nc < 0 || nl < 0 || missing) {
        st = st        ? st
             : missing ? eg__null_argument(op, out ? "features" : "out")
                       : eg__fail(EG_EINVAL, op, "counts are %d and %d", nc, nl);
        return refuse(nc < 0 || nl < 0 ? 0 : nc + nl, out, st);
    }
    if ((st = eg__protobuf_open(op))) {
        return refuse(nc + nl, out, st);
    }
    EgPb__SequenceRecord *m = eg_pb__sequence_record__unpack(NULL, (size_t)record->n, (const uint8_t *)eg__ptr(record));
    if (!m) {
        return refuse(nc + nl, out, no_message(op, record, "SequenceExample"));
    }
    st = read_tables(op, record->n, m->context, context, nc, m->lists, lists, nl, out);
    eg_pb__sequence_record__free_unpacked(m, NULL);
    return st;
}

#else

eg_status eg_example_read(eg_tensor *record, const eg_feature *features, int n, eg_tensor **out)
{
    static const char op[] = "eg_example_read";
    (void)record, (void)features;
    return refuse(n, out, eg__fail(EG_ENOKERNEL, op, EG__NO_PROTOBUF));
}

eg_status eg_sequence_example_read(eg_tensor *record, const eg_feature *context, int nc, const eg_feature *lists,
                                   int nl, eg_tensor **out)
{
    static const char op[] = "eg_sequence_example_read";
    (void)record, (void)context, (void)lists;
    return refuse(nc + nl, out, eg__fail(EG_ENOKERNEL, op, EG__NO_PROTOBUF));
}

#endif
