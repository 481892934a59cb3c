/* conll.c - sentences, a word a line. */
#include <stdlib.h>

#include "data/readers/fields.h"
#include "data/readers/lines.h"
#include "lib/io/number.h"

/* A column, and what the sentence has there so far. */
typedef struct column {
    eg_column of;    /* its name is ours */
    bool comment;    /* of the sentence, not of words */
    bool seen;       /* the comment */
    eg__bytes words; /* texts with blanks between, or int64_t, or double */
} column;

typedef struct conll {
    eg__lines l;
    char separator;
    bool comments, u; /* u: CoNLL-U */
    eg_conllu_options o;
    column *column;
    int columns;
    eg__fields fields;
    int64_t rows;  /* of the sentence that are there */
    int64_t words; /* of CoNLL-U: the latest number; */
    int64_t until; /* the last one that another row stands for */
    bool lost;     /* within a sentence that has failed */
} conll;

static eg_status no_memory(const conll *c)
{
    return eg__no_memory(c->l.d.is->name, c->l.line.n);
}

/* ---- a row ---------------------------------------------------------------------------------- */

static eg_status add_text(conll *c, column *col, eg__field f, bool first)
{
    if (!eg__bytes_room(&col->words, f.n + 1)) {
        return no_memory(c);
    }
    if (!first) {
        eg__bytes_add(&col->words, " ", 1);
    }
    for (int64_t i = 0; i < f.n; i++) {
        const uint8_t b = c->l.line.p[f.at + i];
        eg__bytes_add(&col->words, b == ' ' && !col->comment ? "_" : (const char *)&b, 1);
    }
    return col->words.n > EG__MOST_LINE
               ? eg__lines_bad(&c->l, "a column of a sentence has more than %d bytes", EG__MOST_LINE)
               : EG_OK;
}

static eg_status add_number(conll *c, column *col, eg__field f)
{
    const char *s = (const char *)c->l.line.p + f.at;
    const bool none = col->of.optional && (!f.n || eg__field_is(&c->l.line, f, "_"));
    const bool real = eg__is_float(col->of.dtype);
    double x = col->of.fallback;
    int64_t whole = none ? (int64_t)col->of.fallback : 0;
    if (!none && real && !eg__parse_real(s, f.n, col->of.dtype, &x)) {
        return eg__lines_bad(&c->l, "\"%.*s\" is no number", (int)eg__min(f.n, 40), s);
    }
    if (!none && !real &&
        (!eg__parse_integer(s, f.n, &whole) || (col->of.dtype == EG_I32 && whole != (int32_t)whole) ||
         (col->of.dtype == EG_BOOL && whole >> 1))) {
        return eg__lines_bad(&c->l, "\"%.*s\" is no %s", (int)eg__min(f.n, 40), s, eg_dtype_name(col->of.dtype));
    }
    return (real ? eg__bytes_add(&col->words, &x, sizeof x) : eg__bytes_add(&col->words, &whole, sizeof whole))
               ? EG_OK
               : no_memory(c);
}

static eg_status add_row(conll *c)
{
    eg_status st = EG_OK;
    for (int k = 0; k < c->columns && !st; k++) {
        column *col = &c->column[k];
        if (col->comment) {
            continue;
        }
        const int64_t at = col->of.at < 0 ? c->fields.n + col->of.at : col->of.at;
        if (at < 0 || at >= c->fields.n) {
            return eg__lines_bad(&c->l, "no column %lld among %u", (long long)col->of.at, c->fields.n);
        }
        const eg__field f = c->fields.of[at];
        st = col->of.dtype == EG_U8 ? add_text(c, col, f, !c->rows) : add_number(c, col, f);
    }
    c->rows++;
    return st;
}

/* ---- rows of CoNLL-U ------------------------------------------------------------------------ */

/* The numbers in front of and behind a '-' or '.', which is 0 if there is none. */
static bool read_id(const eg__bytes *line, eg__field f, int64_t *first, char *mark, int64_t *second)
{
    const char *s = (const char *)line->p + f.at;
    int64_t i = 0;
    while (i < f.n && s[i] >= '0' && s[i] <= '9') {
        i++;
    }
    *mark = i < f.n ? s[i] : 0;
    *second = 0;
    return eg__parse_integer(s, i, first) && (!*mark || eg__parse_integer(s + i + 1, f.n - i - 1, second));
}

/* Adds the row unless it is one of those that the options leave out. */
static eg_status add_row_u(conll *c)
{
    int64_t first, second;
    char mark;
    if (c->fields.n != 10) {
        return eg__lines_bad(&c->l, "%u columns, not 10", c->fields.n);
    }
    bool good = read_id(&c->l.line, c->fields.of[0], &first, &mark, &second);
    good = good && (mark == '.'   ? first == c->words && second > 0
                    : mark == '-' ? first == c->words + 1 && second >= first && first > c->until
                                  : !mark && first == c->words + 1);
    if (!good) {
        return eg__lines_bad(&c->l, "\"%.*s\" is no number behind %lld", (int)eg__min(c->fields.of[0].n, 40),
                             (const char *)c->l.line.p + c->fields.of[0].at, (long long)c->words);
    }
    c->words += !mark;
    if (mark == '-') {
        c->until = c->o.surface ? second : c->until;
        return c->o.surface ? add_row(c) : EG_OK;
    }
    return (mark == '.' && !c->o.empty) || first <= c->until ? EG_OK : add_row(c);
}

/* "# key = value". */
static eg_status read_comment(conll *c)
{
    const char *s = (const char *)c->l.line.p;
    const int64_t n = c->l.line.n;
    const char *equals = memchr(s, '=', (size_t)n);
    eg_status st = EG_OK;
    int64_t begin = 1, end = equals ? equals - s : 0, value = end + 1;
    while (begin < end && s[begin] == ' ') {
        begin++;
    }
    while (begin < end && s[end - 1] == ' ') {
        end--;
    }
    while (value < n && s[value] == ' ') {
        value++;
    }
    for (int k = 0; k < c->columns && equals && !st; k++) {
        column *col = &c->column[k];
        if (col->comment && !col->seen && eg__field_is(&c->l.line, (eg__field){begin, end - begin}, col->of.name)) {
            col->seen = true;
            st = add_text(c, col, (eg__field){value, n - value}, true);
        }
    }
    return st;
}

/* ---- a sentence ----------------------------------------------------------------------------- */

static void forget(conll *c)
{
    c->rows = c->words = c->until = 0;
    for (int k = 0; k < c->columns; k++) {
        c->column[k].words.n = 0;
        c->column[k].seen = false;
    }
}

/* What a line adds; *ends: the sentence is over. */
static eg_status read_line(conll *c, bool *ends)
{
    *ends = false;
    if (c->l.line.n && c->l.line.p[0] == '#' && c->comments) {
        return c->u ? read_comment(c) : EG_OK;
    }
    if (!eg__fields_split(&c->fields, &c->l.line, c->separator)) {
        return no_memory(c);
    }
    const bool empty = c->fields.n == 0 || (c->fields.n == 1 && !c->fields.of[0].n);
    if (empty || (!c->u && eg__field_is(&c->l.line, c->fields.of[0], "-DOCSTART-"))) {
        *ends = c->rows > 0 || c->words > 0;
        return EG_OK;
    }
    return c->u ? add_row_u(c) : add_row(c);
}

/* Lines up to the end of a sentence that has failed. */
static eg_status leave_lost(conll *c)
{
    eg__sample place = {0};
    bool more = true, fresh;
    while (c->lost) {
        const eg_status st = eg__lines_next(&c->l, &place, &more, &fresh);
        if (st == EG_ENOMEM) {
            return st;
        }
        c->lost = more && (st || c->l.line.n);
    }
    return EG_OK;
}

/* Within a file a sentence is not over before a line says so; a file's end ends it too. */
static eg_status read_sentence(conll *c, eg__sample *s, bool *there)
{
    bool more = true, fresh, ends = false;
    eg_status st = EG_OK;
    while (!st && !ends && more) {
        eg__sample place = {0};
        const bool begun = c->rows || c->words;
        c->l.stay = begun;
        st = eg__lines_next(&c->l, &place, &more, &fresh);
        if (!begun) {
            s->file = place.file;
            s->at = place.at;
        }
        c->lost = st && more;
        if (!st && more) {
            st = read_line(c, &ends);
            c->lost = st != EG_OK;
        }
    }
    c->l.stay = c->lost;
    *there = c->rows || c->words;
    return st;
}

static eg_tensor *make_tensor(const conll *c, const column *col)
{
    if (col->of.dtype == EG_U8) {
        return eg__bytes_tensor(col->words.p, col->words.n);
    }
    eg_tensor *t = eg__empty_on(0, EG_SHAPE(c->rows), col->of.dtype);
    for (int64_t i = 0; t && i < c->rows; i++) {
        if (eg__is_float(t->dtype)) {
            eg__store(eg__ptr(t), t->dtype, i, ((const double *)(const void *)col->words.p)[i]);
        } else {
            eg__store_int(eg__ptr(t), t->dtype, i, ((const int64_t *)(const void *)col->words.p)[i]);
        }
    }
    return t;
}

static eg_status conll_next(eg_dataset *d, eg__sample *s)
{
    conll *c = (conll *)d;
    eg_tensor *t[EG_SAMPLE_MAX];
    bool there = false;
    forget(c);
    eg_status st = leave_lost(c);
    c->l.stay = false;
    st = st ? st : read_sentence(c, s, &there);
    if (st || !there) {
        return st;
    }
    eg_scope scope = eg_scope_push();
    for (int k = 0; k < c->columns && !st; k++) {
        const column *col = &c->column[k];
        if (col->comment && !col->seen && !col->of.optional) {
            st = eg__lines_bad(&c->l, "the sentence in front of it has no comment \"%.60s\"", col->of.name);
            break;
        }
        t[k] = make_tensor(c, col);
        st = t[k] ? EG_OK : eg__why();
    }
    st = st ? st : eg__sample_keep(d->is->name, s, t, c->columns);
    eg_scope_pop(scope, NULL);
    return st;
}

static eg_status conll_start(eg_dataset *d, uint64_t epoch)
{
    ((conll *)d)->lost = false;
    return eg__lines_start(d, epoch);
}

static void conll_free(eg_dataset *d)
{
    conll *c = (conll *)d;
    eg__lines_free(d);
    for (int k = 0; k < c->columns; k++) {
        free((char *)c->column[k].of.name);
        eg__bytes_free(&c->column[k].words);
    }
    free(c->column);
    eg__fields_free(&c->fields);
}

/* ---- making --------------------------------------------------------------------------------- */

#define CONLL(its_name)                                                                                          \
    {                                                                                                            \
        .name = its_name, .start = conll_start, .next = conll_next, .count = eg__lines_count, .free = conll_free \
    }
static const eg__dataset_class conll_class = CONLL("eg_conll_new"), conllu_class = CONLL("eg_conllu_new");

static eg_status check(const char *op, const eg_column *columns, int n)
{
    if (!columns) {
        return eg__null_argument(op, "columns");
    }
    if (n < 1 || n > EG_SAMPLE_MAX) {
        return eg__fail(EG_EINVAL, op, "%d columns, 1..%d are possible", n, EG_SAMPLE_MAX);
    }
    for (int k = 0; k < n; k++) {
        if ((unsigned)columns[k].dtype >= EG_DTYPE_COUNT || columns[k].count) {
            return eg__fail(EG_EINVAL, op, "column %d: dtype %s, count %lld, which must be 0", k,
                            eg_dtype_name(columns[k].dtype), (long long)columns[k].count);
        }
    }
    return EG_OK;
}

/* Where CoNLL-U has a column; that of a comment is none. */
static eg_status find_column(const char *op, column *col)
{
    static const char *const names[] = {"id",    "form", "lemma",  "upos", "xpos",
                                        "feats", "head", "deprel", "deps", "misc"};
    int k = 0;
    while (col->of.name && k < EG__COUNT(names) && strcmp(names[k], col->of.name)) {
        k++;
    }
    col->comment = k == EG__COUNT(names);
    if (col->of.name && !col->comment) {
        col->of.at = k;
    }
    return col->comment && col->of.dtype != EG_U8 ? eg__fail(EG_EINVAL, op, "comment \"%.60s\" is %s, must be u8",
                                                             col->of.name, eg_dtype_name(col->of.dtype))
                                                  : EG_OK;
}

static eg_status copy_columns(conll *c, const eg_column *columns, int n)
{
    const char *op = c->l.d.is->name;
    eg_status st = EG_OK;
    c->column = eg__malloc((size_t)n * sizeof *c->column);
    if (!c->column) {
        return eg__no_memory(op, n);
    }
    for (int k = 0; k < n && !st; k++) {
        column *col = &c->column[c->columns++];
        *col = (column){.of = columns[k]};
        col->of.name = NULL;
        if (columns[k].name && c->u) {
            const size_t length = strlen(columns[k].name) + 1;
            char *name = eg__malloc(length);
            col->of.name = name ? memcpy(name, columns[k].name, length) : NULL;
            st = name ? find_column(op, col) : eg__no_memory(op, (int64_t)length);
        }
    }
    return st;
}

static eg_dataset *conll_new(const eg__dataset_class *is, const char *pattern, const eg_column *columns, int n,
                             const conll *as, eg_utf8_policy invalid)
{
    conll *c = check(is->name, columns, n) ? NULL : (conll *)eg__lines_new(is, sizeof *c, pattern, invalid);
    if (!c) {
        return NULL;
    }
    c->separator = as->separator;
    c->comments = as->comments;
    c->u = as->u;
    c->o = as->o;
    if (copy_columns(c, columns, n)) {
        eg_dataset_free(&c->l.d);
        return NULL;
    }
    return &c->l.d;
}

eg_dataset *eg_conll_new_with(const char *pattern, const eg_column *columns, int n, const eg_conll_options *options)
{
    eg_conll_options o;
    eg__options(&o, sizeof o, options);
    return conll_new(&conll_class, pattern, columns, n, &(conll){.separator = o.separator, .comments = o.comments},
                     o.invalid);
}

eg_dataset *eg_conllu_new_with(const char *pattern, const eg_column *columns, int n, const eg_conllu_options *options)
{
    eg_conllu_options o;
    eg__options(&o, sizeof o, options);
    return conll_new(&conllu_class, pattern, columns, n,
                     &(conll){.separator = '\t', .comments = true, .u = true, .o = o}, o.invalid);
}
