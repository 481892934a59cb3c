/* ndjson.c - members of JSON objects, one object a line. */
#include <stdlib.h>

#include "data/readers/lines.h"
#include "lib/io/number.h"
#include "lib/io/json.h"
#include "lib/core/device.h"

typedef union number {
    double real;
    int64_t whole;
} number;

/* The value of one field: numbers in order, and how lists hold them. */
typedef struct value {
    bool seen, text, null;
    int rank;                   /* of the numbers; -1: none yet */
    int64_t shape[EG_MAX_DIMS]; /* -1: not known yet */
    int64_t count[EG_MAX_DIMS]; /* of the open lists */
    eg__bytes data, lengths;    /* numbers, or the text; int64_t */
} value;

typedef struct ndjson {
    eg__lines l;
    eg_json_field *field;
    value *value;
    int fields;
} ndjson;

static bool add_number(value *v, number x)
{
    return eg__bytes_add(&v->data, &x, sizeof x);
}

static eg_status no_memory(const ndjson *n, const value *v)
{
    return eg__no_memory(n->l.d.is->name, v->data.n);
}

static eg_status wrong(const ndjson *n, const eg_json_field *f, const char *words)
{
    return eg__lines_bad(&n->l, "\"%.60s\" %s", f->name, words);
}

/* ---- values --------------------------------------------------------------------------------- */

static eg_status take_number(ndjson *n, const eg_json_field *f, value *v, const eg__json *j, eg__json_token token,
                             int depth)
{
    number x = {.whole = token == EG__JSON_TRUE};
    bool real = eg__is_float(f->dtype), ok = true;
    if (token == EG__JSON_NUMBER) {
        ok = real ? eg__parse_real(j->text, j->length, f->dtype, &x.real)
                  : eg__parse_integer(j->text, j->length, &x.whole);
    } else if (real) {
        x.real = token == EG__JSON_TRUE;
    }
    if (!ok || (f->dtype == EG_I32 && x.whole != (int32_t)x.whole)) {
        return eg__lines_bad(&n->l, "\"%.60s\": %.*s is no %s", f->name, (int)eg__min(j->length, 40), j->text,
                             eg_dtype_name(f->dtype));
    }
    if (v->rank >= 0 && v->rank != depth) {
        return wrong(n, f, "has numbers beside lists");
    }
    v->rank = depth;
    if (depth) {
        v->count[depth - 1]++;
    }
    return add_number(v, x) ? EG_OK : no_memory(n, v);
}

/* The list at `depth` (from 1) ends. `leaf`: no list was in it. */
static eg_status end_list(ndjson *n, const eg_json_field *f, value *v, int depth, bool leaf)
{
    int64_t count = v->count[depth - 1], *size = &v->shape[depth - 1];
    if (f->ragged) {
        return !leaf || eg__bytes_add(&v->lengths, &count, sizeof count) ? EG_OK : no_memory(n, v);
    }
    if (*size >= 0 && *size != count) {
        return wrong(n, f, "has lists of several lengths");
    }
    *size = count;
    if (leaf && v->rank >= 0 && v->rank != depth) {
        return wrong(n, f, "has numbers beside lists");
    }
    v->rank = leaf ? depth : v->rank;
    return EG_OK;
}

static eg_status begin_list(ndjson *n, const eg_json_field *f, value *v, int *depth)
{
    if (*depth == EG_MAX_DIMS) {
        return wrong(n, f, "has lists too deep in each other");
    }
    if (v->rank >= 0 && *depth >= v->rank) {
        return wrong(n, f, "has numbers beside lists");
    }
    if (*depth) {
        v->count[*depth - 1]++;
    }
    v->count[(*depth)++] = 0;
    return EG_OK;
}

static eg_status bad_json(const ndjson *n, const eg__json *j)
{
    return eg__lines_bad(&n->l, "byte %lld: %s", (long long)(j->at + 1), j->error);
}

static eg_status read_numbers(ndjson *n, const eg_json_field *f, value *v, eg__json *j, eg__json_token token)
{
    int depth = 0;
    bool leaf = true; /* since the latest bracket that opened */
    for (;; token = eg__json_next(j)) {
        eg_status st = EG_OK;
        switch (token) {
        case EG__JSON_NUMBER:
        case EG__JSON_TRUE:
        case EG__JSON_FALSE:
            st = take_number(n, f, v, j, token, depth);
            break;
        case EG__JSON_ARRAY:
            st = begin_list(n, f, v, &depth);
            leaf = true;
            break;
        case EG__JSON_ARRAY_END:
            st = end_list(n, f, v, depth--, leaf);
            leaf = false;
            break;
        case EG__JSON_ERROR:
            return bad_json(n, j);
        default:
            return wrong(n, f, "holds something that is no number");
        }
        if (st || !depth) {
            return st;
        }
    }
}

static eg_status read_value(ndjson *n, const eg_json_field *f, value *v, eg__json *j)
{
    eg__json_token token = eg__json_next(j);
    if (v->seen) {
        return wrong(n, f, "is there twice");
    }
    v->seen = true;
    if (token == EG__JSON_ERROR) {
        return bad_json(n, j);
    }
    if (token == EG__JSON_NULL) {
        v->null = true;
        return EG_OK;
    }
    if (f->dtype != EG_U8) {
        eg_status st = read_numbers(n, f, v, j, token);
        return st || !f->ragged || token == EG__JSON_ARRAY ? st : wrong(n, f, "is no list");
    }
    if (token != EG__JSON_STRING) {
        return wrong(n, f, "is no string");
    }
    return eg__bytes_add(&v->data, j->text, j->length) ? EG_OK : no_memory(n, v);
}

/* Passes over a value whose first token has not been read. */
static eg_status pass_over(ndjson *n, eg__json *j)
{
    int depth = 0;
    do {
        switch (eg__json_next(j)) {
        case EG__JSON_ERROR:
            return bad_json(n, j);
        case EG__JSON_OBJECT:
        case EG__JSON_ARRAY:
            depth++;
            break;
        case EG__JSON_OBJECT_END:
        case EG__JSON_ARRAY_END:
            depth--;
            break;
        case EG__JSON_KEY:
            continue;
        default:
            break;
        }
    } while (depth);
    return EG_OK;
}

static eg_status read_object(ndjson *n)
{
    eg__json j;
    eg_status st = EG_OK;
    eg__json_begin(&j, (char *)n->l.line.p, n->l.line.n);
    eg__json_token token = eg__json_next(&j);
    if (token != EG__JSON_OBJECT) {
        return token == EG__JSON_ERROR ? bad_json(n, &j) : eg__lines_bad(&n->l, "is no object");
    }
    while (!st && (token = eg__json_next(&j)) == EG__JSON_KEY) {
        int k = 0;
        while (k < n->fields && !eg__json_is(&j, n->field[k].name)) {
            k++;
        }
        st = k < n->fields ? read_value(n, &n->field[k], &n->value[k], &j) : pass_over(n, &j);
    }
    if (!st && (token == EG__JSON_ERROR || eg__json_next(&j) != EG__JSON_END)) {
        st = bad_json(n, &j);
    }
    return st;
}

/* ---- values into tensors -------------------------------------------------------------------- */

static eg_tensor *numbers(const eg_json_field *f, const value *v, eg_shape shape)
{
    eg_tensor *t = eg__empty_on(0, shape, f->dtype);
    const number *x = (const number *)v->data.p;
    for (int64_t i = 0; t && i < t->n; i++) {
        if (eg__is_float(t->dtype)) {
            eg__store(eg__ptr(t), t->dtype, i, x[i].real);
        } else {
            eg__store_int(eg__ptr(t), t->dtype, i, t->dtype == EG_BOOL ? x[i].whole != 0 : x[i].whole);
        }
    }
    return t;
}

static eg_status make(ndjson *n, int k, eg_tensor **t, int *m)
{
    const eg_json_field *f = &n->field[k];
    const value *v = &n->value[k];
    eg_shape shape = {.ndim = eg__max(0, v->rank)};
    int made = 1;
    if ((!v->seen || v->null) && !f->optional) {
        return wrong(n, f, v->null ? "is null" : "is missing");
    }
    if (f->dtype == EG_U8) {
        t[0] = eg__bytes_tensor(v->data.p, v->data.n);
    } else if (f->ragged) {
        t[0] = numbers(f, v, EG_SHAPE(v->data.n / (int64_t)sizeof(number)));
        t[1] = eg__from_on(0, EG_SHAPE(v->lengths.n / 8), EG_I64, v->lengths.p ? v->lengths.p : (void *)"");
        made = 2;
    } else if (!v->seen || v->null) {
        t[0] = eg__full_on(0, EG_SCALAR, f->fallback, f->dtype);
    } else {
        memcpy(shape.dim, v->shape, sizeof shape.dim);
        t[0] = numbers(f, v, shape);
    }
    *m += made;
    return t[0] && t[made - 1] ? EG_OK : eg__why();
}

static eg_status ndjson_next(eg_dataset *d, eg__sample *s)
{
    ndjson *n = (ndjson *)d;
    eg_tensor *t[EG_SAMPLE_MAX];
    bool more, fresh;
    int m = 0;
    eg_status st;
    do {
        st = eg__lines_next(&n->l, s, &more, &fresh);
    } while (!st && more && eg__lines_blank(&n->l));
    if (st || !more) {
        return st;
    }
    for (int k = 0; k < n->fields; k++) {
        value *v = &n->value[k];
        v->seen = v->null = false;
        v->rank = -1;
        v->data.n = v->lengths.n = 0;
        for (int i = 0; i < EG_MAX_DIMS; i++) {
            v->shape[i] = -1;
        }
    }
    st = read_object(n);
    eg_scope scope = eg_scope_push();
    for (int k = 0; k < n->fields && !st; k++) {
        st = make(n, k, t + m, &m);
    }
    st = st ? st : eg__sample_keep(d->is->name, s, t, m);
    eg_scope_pop(scope, NULL);
    return st;
}

static void ndjson_free(eg_dataset *d)
{
    ndjson *n = (ndjson *)d;
    eg__lines_free(d);
    for (int k = 0; k < n->fields; k++) {
        eg__bytes_free(&n->value[k].data);
        eg__bytes_free(&n->value[k].lengths);
        free((char *)n->field[k].name);
    }
    free(n->field);
    free(n->value);
}

static const eg__dataset_class ndjson_class = {.name = "eg_ndjson_new",
                                               .start = eg__lines_start,
                                               .next = ndjson_next,
                                               .count = eg__lines_count,
                                               .free = ndjson_free};

static eg_status check(const eg_json_field *fields, int n)
{
    const char *op = ndjson_class.name;
    int tensors = 0;
    for (int k = 0; fields && k < n; k++) {
        if (!fields[k].name) {
            return eg__null_argument(op, "a field's name");
        }
        if ((unsigned)fields[k].dtype >= EG_DTYPE_COUNT || (fields[k].dtype == EG_U8 && fields[k].ragged)) {
            return eg__fail(EG_EINVAL, op, "field \"%.60s\": dtype %s%s", fields[k].name,
                            eg_dtype_name(fields[k].dtype), fields[k].ragged ? ", ragged" : "");
        }
        tensors += 1 + fields[k].ragged;
    }
    if (fields && (n < 1 || tensors > EG_SAMPLE_MAX)) {
        return eg__fail(EG_EINVAL, op, "%d fields of %d tensors, 1..%d are possible", n, tensors, EG_SAMPLE_MAX);
    }
    return fields ? EG_OK : eg__null_argument(op, "fields");
}

static eg_status copy_fields(ndjson *n, const eg_json_field *fields, int count)
{
    n->field = eg__malloc((size_t)count * sizeof *n->field);
    n->value = eg__malloc((size_t)count * sizeof *n->value);
    for (int k = 0; n->field && n->value && k < count; k++) {
        size_t length = strlen(fields[k].name) + 1;
        char *name = eg__malloc(length);
        if (!name) {
            break;
        }
        n->field[k] = fields[k];
        n->field[k].name = memcpy(name, fields[k].name, length);
        n->value[k] = (value){0};
        n->fields++;
    }
    return n->fields == count ? EG_OK : eg__no_memory(ndjson_class.name, count);
}

eg_dataset *eg_ndjson_new(const char *pattern, const eg_json_field *fields, int n)
{
    if (check(fields, n)) {
        return NULL;
    }
    ndjson *d = (ndjson *)eg__lines_new(&ndjson_class, sizeof *d, pattern, EG_UTF8_REFUSE);
    if (d && copy_fields(d, fields, n)) {
        eg_dataset_free(&d->l.d);
        return NULL;
    }
    return d ? &d->l.d : NULL;
}

/* ---- drawings ------------------------------------------------------------------------------- */

static eg_tensor *join(const eg_tensor *values, const eg_tensor *lengths)
{
    static const char op[] = "eg_strokes";
    const int64_t *n = (const int64_t *)eg__ptr(lengths);
    int64_t total = 0;
    bool fits = lengths->n % 2 == 0;
    for (int64_t i = 0; i < lengths->n && fits; i++) {
        fits = n[i] >= 0 && n[i] <= values->n - total && n[i] == n[i & ~(int64_t)1];
        total += n[i];
    }
    if (!fits || total != values->n) {
        return eg__fail_null(EG_ESHAPE, op, "%lld lists of together %lld values are no pairs of x and y",
                             (long long)lengths->n, (long long)values->n);
    }
    eg_tensor *t = eg__full_on(0, EG_SHAPE(total / 2, 3), 0, EG_F32);
    float *to = t ? (float *)eg__ptr(t) : NULL;
    int64_t at = 0;
    for (int64_t i = 0; to && i < lengths->n; i += 2) {
        for (int64_t k = 0; k < n[i]; k++) {
            *to++ = (float)eg__load(eg__ptr(values), values->dtype, at + k);
            *to++ = (float)eg__load(eg__ptr(values), values->dtype, at + n[i] + k);
            *to++ = k + 1 == n[i];
        }
        at += 2 * n[i];
    }
    return t;
}

eg_tensor *eg_strokes(eg_tensor *values, eg_tensor *lengths)
{
    static const char op[] = "eg_strokes";
    if (eg__check(values, op, "values") || eg__check(lengths, op, "lengths") || eg__host_only(values, op, "values") ||
        eg__host_only(lengths, op, "lengths")) {
        return NULL;
    }
    if (values->ndim != 1 || lengths->ndim != 1 || lengths->dtype != EG_I64) {
        return eg__fail_null(EG_ESHAPE, op, "values %s and lengths %s %s are not [n] and i64 [lists]",
                             EG__SHAPE_OF(values), eg_dtype_name((eg_dtype)lengths->dtype), EG__SHAPE_OF(lengths));
    }
    eg_scope s = eg_scope_push();
    eg_tensor *v = s.depth ? eg_contiguous(eg_detach(values)) : NULL;
    eg_tensor *n = v ? eg_contiguous(eg_detach(lengths)) : NULL;
    return s.depth ? eg_scope_pop(s, n ? join(v, n) : NULL) : NULL;
}
