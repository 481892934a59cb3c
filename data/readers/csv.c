/* csv.c - rows of tables. */
#include <stdlib.h>

#include "data/readers/lines.h"
#include "lib/core/counted.h"
#include "lib/io/number.h"

/* A field's text, in row->text. */
typedef struct field {
    int64_t at, n;
} field;

typedef struct csv {
    eg__lines l;
    eg_csv_options o;
    eg_column *column;
    int64_t *place; /* where each column is in a row */
    int columns;
    eg__bytes text; /* of a row, unquoted */
    field *field;
    uint32_t fields, room;
    uint32_t width; /* fields of a row of this file; 0: not known yet */
    int64_t begun;  /* line on which the row begins */
} csv;

/* ---- a row into fields ---------------------------------------------------------------------- */

static eg_status no_memory(const csv *c)
{
    return eg__no_memory(c->l.d.is->name, c->text.n);
}

/* Goes on with the next line, inside quotes. */
static eg_status next_line(csv *c)
{
    eg__sample place;
    bool more, fresh;
    for (const char *end = c->l.stream.end_of_line; *end; end++) { /* room for two was made */
        c->text.p[c->text.n++] = (uint8_t)*end;
    }
    c->l.stay = true;
    eg_status st = eg__lines_next(&c->l, &place, &more, &fresh);
    c->l.stay = false;
    if (!st && !more) {
        c->l.number = c->begun; /* of a file that is shut */
        st = eg__lines_bad(&c->l, "a quote is not closed");
    }
    if (!st && c->text.n + c->l.line.n > EG__MOST_LINE) {
        st = eg__lines_bad(&c->l, "a row has more than %d bytes", EG__MOST_LINE);
    }
    return st ? st : eg__bytes_room(&c->text, c->l.line.n + 2) ? EG_OK : no_memory(c);
}

/* From behind the opening quote at *i to behind the closing one. */
static eg_status read_quoted(csv *c, int64_t *i)
{
    for (;;) {
        const uint8_t *from = c->l.line.p + *i;
        const uint8_t *quote = memchr(from, '"', (size_t)(c->l.line.n - *i));
        int64_t n = quote ? quote - from : c->l.line.n - *i;
        memcpy(c->text.p + c->text.n, from, (size_t)n);
        c->text.n += n;
        *i += n;
        if (!quote) {
            eg_status st = next_line(c);
            if (st) {
                return st;
            }
            *i = 0;
            continue;
        }
        if (*i + 1 == c->l.line.n || quote[1] != '"') {
            ++*i;
            return EG_OK;
        }
        c->text.p[c->text.n++] = '"';
        *i += 2;
    }
}

/* Room was made for all of the line's bytes. */
static eg_status read_field(csv *c, int64_t *i)
{
    int64_t begin = c->text.n;
    if (*i < c->l.line.n && c->l.line.p[*i] == '"' && !c->o.no_quotes) {
        ++*i;
        eg_status st = read_quoted(c, i);
        if (!st && *i < c->l.line.n && c->l.line.p[*i] != (uint8_t)c->o.separator) {
            st = eg__lines_bad(&c->l, "text follows a closing quote");
        }
        if (st) {
            return st;
        }
    } else {
        const uint8_t *from = c->l.line.p + *i;
        const uint8_t *end = memchr(from, c->o.separator, (size_t)(c->l.line.n - *i));
        int64_t n = end ? end - from : c->l.line.n - *i;
        memcpy(c->text.p + c->text.n, from, (size_t)n);
        c->text.n += n;
        *i += n;
    }
    if (c->fields == c->room && !eg__counted_grow(&c->field, &c->room, sizeof *c->field)) {
        return no_memory(c);
    }
    c->field[c->fields++] = (field){begin, c->text.n - begin};
    return EG_OK;
}

static eg_status read_row(csv *c)
{
    eg_status st = EG_OK;
    c->fields = 0;
    c->text.n = 0;
    c->begun = c->l.number;
    if (!eg__bytes_room(&c->text, c->l.line.n + 2)) {
        return no_memory(c);
    }
    for (int64_t i = 0; !st; i++) { /* over the separator */
        st = read_field(c, &i);
        if (i >= c->l.line.n) {
            break;
        }
    }
    if (!st && c->width && c->fields != c->width) {
        st = eg__lines_bad(&c->l, "%u fields, the first row has %u", c->fields, c->width);
    }
    return st;
}

/* ---- which fields --------------------------------------------------------------------------- */

static eg_status find_columns(csv *c, bool named)
{
    c->width = c->fields;
    for (int k = 0; k < c->columns; k++) {
        const eg_column *col = &c->column[k];
        int64_t at = col->at, last = eg__max(1, col->count) - 1;
        if (named && col->name) {
            size_t n = strlen(col->name);
            for (at = 0; at < c->fields; at++) {
                const field *f = &c->field[at];
                if (f->n == (int64_t)n && !memcmp(c->text.p + f->at, col->name, n)) {
                    break;
                }
            }
            if (at == c->fields) {
                return eg__lines_bad(&c->l, "no column \"%.60s\"", col->name);
            }
        }
        if (last >= c->fields || at > c->fields - 1 - last) {
            return eg__lines_bad(&c->l, "no column %llu among %u", (unsigned long long)at + (unsigned long long)last,
                                 c->fields);
        }
        c->place[k] = at;
    }
    return EG_OK;
}

/* ---- fields into tensors -------------------------------------------------------------------- */

static eg_status bad_number(const csv *c, const eg_column *col, int64_t at, const char *s, int64_t n)
{
    return eg__lines_bad(&c->l, "field %lld, \"%.*s\", is no %s", (long long)(at + 1), (int)eg__min(n, 40), s,
                         eg_dtype_name(col->dtype));
}

static eg_status store(const csv *c, const eg_column *col, int64_t at, eg_tensor *t, int64_t i)
{
    const char *s = (const char *)c->text.p + c->field[at].at;
    int64_t n = c->field[at].n, whole;
    double real;
    while (n && (*s == ' ' || *s == '\t')) {
        s++, n--;
    }
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t')) {
        n--;
    }
    if (!n && col->optional) {
        eg__store(eg__ptr(t), t->dtype, i, col->fallback);
        return EG_OK;
    }
    if (eg__is_float(t->dtype)) {
        if (!eg__parse_real(s, n, col->dtype, &real)) {
            return bad_number(c, col, at, s, n);
        }
        eg__store(eg__ptr(t), t->dtype, i, real);
        return EG_OK;
    }
    if (!eg__parse_integer(s, n, &whole) || (t->dtype == EG_I32 && whole != (int32_t)whole) ||
        (t->dtype == EG_BOOL && whole >> 1)) {
        return bad_number(c, col, at, s, n);
    }
    eg__store_int(eg__ptr(t), t->dtype, i, whole);
    return EG_OK;
}

static eg_status make_tensor(const csv *c, int k, eg_tensor **out)
{
    const eg_column *col = &c->column[k];
    const field *f = &c->field[c->place[k]];
    if (col->dtype == EG_U8) {
        *out = eg__bytes_tensor(c->text.p + f->at, f->n);
        return *out ? EG_OK : eg__why();
    }
    *out = eg__empty_on(0, col->count ? EG_SHAPE(col->count) : EG_SCALAR, col->dtype);
    eg_status st = *out ? EG_OK : eg__why();
    for (int64_t i = 0; i < eg__max(1, col->count) && !st; i++) {
        st = store(c, col, c->place[k] + i, *out, i);
    }
    return st;
}

static eg_status csv_next(eg_dataset *d, eg__sample *s)
{
    csv *c = (csv *)d;
    eg_tensor *t[EG_SAMPLE_MAX];
    bool more, fresh, head;
    eg_status st;
    do {
        st = eg__lines_next(&c->l, s, &more, &fresh);
        c->width = fresh ? 0 : c->width;
        head = !st && more && !c->width && c->l.line.n;
        bool lost = st && !c->width && c->o.header;
        if (lost || (head && ((st = read_row(c)) || (st = find_columns(c, c->o.header))))) {
            eg__lines_leave(&c->l);
        }
    } while (!st && more && ((head && c->o.header) || !c->l.line.n));
    if (st || !more) {
        return st;
    }
    st = head ? EG_OK : read_row(c);
    eg_scope scope = eg_scope_push();
    for (int k = 0; k < c->columns && !st; k++) {
        st = make_tensor(c, k, &t[k]);
    }
    st = st ? st : eg__sample_keep(d->is->name, s, t, c->columns);
    eg_scope_pop(scope, NULL);
    return st;
}

static void csv_free(eg_dataset *d)
{
    csv *c = (csv *)d;
    eg__lines_free(d);
    eg__bytes_free(&c->text);
    for (int k = 0; c->column && k < c->columns; k++) {
        free((char *)c->column[k].name);
    }
    free(c->column);
    free(c->place);
    eg__counted_free(c->field);
}

static const eg__dataset_class csv_class = {
    .name = "eg_csv_new", .start = eg__lines_start, .next = csv_next, .count = eg__lines_count, .free = csv_free};

static eg_status check(const eg_column *columns, int n, const eg_csv_options *o)
{
    const char *op = csv_class.name;
    if (!columns) {
        return eg__null_argument(op, "columns");
    }
    if (n < 1 || n > EG_SAMPLE_MAX) {
        return eg__fail(EG_EINVAL, op, "%d columns, 1..%d are possible (.count joins some)", n, EG_SAMPLE_MAX);
    }
    for (int k = 0; k < n; k++) {
        if ((unsigned)columns[k].dtype >= EG_DTYPE_COUNT || columns[k].at < 0 || columns[k].count < 0 ||
            (columns[k].dtype == EG_U8 && columns[k].count)) {
            return eg__fail(EG_EINVAL, op, "column %d: at %lld, count %lld, dtype %s", k, (long long)columns[k].at,
                            (long long)columns[k].count, eg_dtype_name(columns[k].dtype));
        }
    }
    if (o->separator == '"' || o->separator == '\n' || o->separator == '\r') {
        return eg__fail(EG_EINVAL, op, "the separator is a quote or a line's end");
    }
    return EG_OK;
}

static eg_status copy_columns(csv *c, const eg_column *columns, int n)
{
    c->column = eg__malloc((size_t)n * sizeof *c->column);
    c->place = eg__malloc((size_t)n * sizeof *c->place);
    if (!c->column || !c->place) {
        return eg__no_memory(csv_class.name, n);
    }
    for (int k = 0; k < n; k++) {
        c->column[k] = columns[k];
        c->column[k].name = NULL;
        c->columns = k + 1;
        if (columns[k].name) {
            size_t length = strlen(columns[k].name) + 1;
            char *name = eg__malloc(length);
            if (!name) {
                return eg__no_memory(csv_class.name, (int64_t)length);
            }
            c->column[k].name = memcpy(name, columns[k].name, length);
        }
    }
    return EG_OK;
}

eg_dataset *eg_csv_new_with(const char *pattern, const eg_column *columns, int n, const eg_csv_options *options)
{
    eg_csv_options o;
    eg__options(&o, sizeof o, options);
    o.separator = o.separator ? o.separator : ',';
    if (check(columns, n, &o)) {
        return NULL;
    }
    csv *c = (csv *)eg__lines_new(&csv_class, sizeof *c, pattern, o.invalid);
    if (!c) {
        return NULL;
    }
    c->o = o;
    c->l.any_end = true;
    if (copy_columns(c, columns, n)) {
        eg_dataset_free(&c->l.d);
        return NULL;
    }
    return &c->l.d;
}
