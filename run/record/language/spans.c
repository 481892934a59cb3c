/* spans.c - spans that tags mark. */
#include <stdlib.h>

#include "data/text/word_table.h"
#include "lib/core/memory.h"
#include "run/record/language/tokens.h"
#include "run/record/metrics.h"

/* ---- schemes --------------------------------------------------------------------------------------- */

/* A letter, the one behind it, and whether their types are the same (=), are not (!), or may be either (*); ? is any
 * letter. */
typedef struct tagging {
    const char *letters, *begins, *inside, *ends; /* of the second: it begins a span, goes on with one, is behind one */
} tagging;

static const tagging schemes[] = {
    [EG_SPANS_IOB1] = {"IOB", "OI* II! BI* IB= BB=", "BI= II=", "II! IO* IB* BO* BI! BB="},
    [EG_SPANS_IOB2] = {"IOB", "?B*", "BI= II=", "IO* II! IB* BO* BI! BB*"},
    [EG_SPANS_IOE1] = {"IOE", "OI* II! EI* EE=", "II= IE=", "II! IO* IE! EI= EE="},
    [EG_SPANS_IOE2] = {"IOE", "OI* OE* EI* EE* II! IE!", "IE= II=", "E?*"},
    [EG_SPANS_IOBES] = {"IOBES", "?B* ?S*", "BI= BE= II= IE=", "S?* E?*"},
    [EG_SPANS_BILOU] = {"BILOU", "?B* ?U*", "BI= BL= II= IL=", "U?* L?*"},
};

typedef struct tag {
    char letter;
    int64_t type; /* -1: of none */
} tag;

static bool fits(const char *patterns, tag before, tag t)
{
    for (const char *p = patterns; *p; p += p[3] ? 4 : 3) {
        const bool letters = (p[0] == '?' || p[0] == before.letter) && (p[1] == '?' || p[1] == t.letter);
        if (letters && (p[2] == '*' || (p[2] == '=') == (before.type == t.type))) {
            return true;
        }
    }
    return false;
}

/* conlleval's rules, as such patterns; what follows another type begins or ends a span, whatever the letters. */
static bool ends_leniently(tag before, tag t)
{
    return fits("E?* S?* BB* BS* BO* IB* IS* IO*", before, t) ||
           (before.letter != 'O' && before.letter != '.' && before.type != t.type);
}

static bool begins_leniently(tag before, tag t)
{
    return fits("?B* ?S* EE* EI* SE* SI* OE* OI*", before, t) ||
           (t.letter != 'O' && t.letter != '.' && before.type != t.type);
}

/* ---- spans ------------------------------------------------------------------------------------------- */

typedef struct span {
    int64_t begin, end, type;
} span;

static bool add_span(eg__bytes *spans, int64_t begin, int64_t end, int64_t type)
{
    return type < 0 || eg__bytes_add(spans, &(span){begin, end, type}, sizeof(span));
}

static const tag outside = {'O', -1};

static bool find_leniently(const tag *t, int64_t n, eg__bytes *spans)
{
    tag before = outside;
    bool ok = true;
    int64_t begin = 0;
    for (int64_t i = 0; i <= n && ok; i++) {
        const tag now = i < n ? t[i] : outside;
        ok = !ends_leniently(before, now) || add_span(spans, begin, i, before.type);
        begin = begins_leniently(before, now) ? i : begin;
        before = now;
    }
    return ok;
}

static bool find_strictly(const tagging *s, const tag *t, int64_t n, eg__bytes *spans)
{
    bool ok = true;
    for (int64_t i = 0, end; i < n && ok; i = end) {
        end = i + 1;
        if (!fits(s->begins, i ? t[i - 1] : outside, t[i])) {
            continue;
        }
        while (end < n && fits(s->inside, t[end - 1], t[end])) {
            end++;
        }
        ok = !fits(s->ends, t[end - 1], end < n ? t[end] : outside) || add_span(spans, i, end, t[i].type);
    }
    return ok;
}

static bool find_spans(eg_span_scheme scheme, const tag *t, int64_t n, eg__bytes *spans)
{
    spans->n = 0;
    return scheme == EG_SPANS_LENIENT ? find_leniently(t, n, spans) : find_strictly(&schemes[scheme], t, n, spans);
}

/* Adds what of each type was taken, there, and both: of spans in the order of their ends, of which none are the same.
 */
static void compare(const eg__bytes *taken, const eg__bytes *there, double *sums)
{
    const span *a = (const span *)(const void *)taken->p, *b = (const span *)(const void *)there->p;
    const int64_t n = taken->n / (int64_t)sizeof *a, m = there->n / (int64_t)sizeof *b;
    for (int64_t i = 0, j = 0; i < n || j < m;) {
        const bool first = i < n && (j == m || a[i].end <= b[j].end),
                   second = j < m && (i == n || b[j].end <= a[i].end);
        if (first && second && a[i].begin == b[j].begin && a[i].type == b[j].type) {
            sums[3 * a[i].type + 2]++;
        }
        if (first) {
            sums[3 * a[i].type]++;
        }
        if (second) {
            sums[3 * b[j].type + 1]++;
        }
        i += first;
        j += second;
    }
}

/* ---- a batch ----------------------------------------------------------------------------------------- */

typedef struct job {
    const char *op;
    eg_span_scheme scheme;
    eg__words types;
    tag *names; /* n of these */
    int n;
    eg__rows rows;
    tag *row[2]; /* of what was taken, and of what there is */
    eg__bytes spans[2];
    double *sums;
} job;

static eg_status no_tag(const job *j, int i, const char *name)
{
    return eg__fail(EG_EINVAL, j->op, "name %d, \"%.60s\", is no tag%s%s", i, name,
                    j->scheme == EG_SPANS_LENIENT ? "" : " of letters ",
                    j->scheme == EG_SPANS_LENIENT ? "" : schemes[j->scheme].letters);
}

/* Types in the order of first sight; one without a name is "_". */
static eg_status read_names(job *j, const char *const *names)
{
    eg_status st = EG_OK;
    for (int i = 0; i < j->n && !st; i++) {
        const char *s = names[i];
        if (!s || !*s || (j->scheme != EG_SPANS_LENIENT && !strchr(schemes[j->scheme].letters, *s))) {
            st = s ? no_tag(j, i, s) : eg__null_argument(j->op, "a name");
            continue;
        }
        const char *type = s[1] == '-' ? s + 2 : s + 1;
        type = *type ? type : "_";
        j->names[i] = (tag){*s, strchr("O.", *s) ? -1 : eg__words_add(&j->types, type, (int64_t)strlen(type))};
        st = !strchr("O.", *s) && j->names[i].type < 0 ? eg__no_memory(j->op, (int64_t)strlen(type)) : EG_OK;
    }
    return st || j->types.n ? st : eg__fail(EG_EINVAL, j->op, "none of %d names is a tag of spans", j->n);
}

static eg_status find_row(job *j, int64_t row)
{
    const int64_t length = j->rows.text_length;
    const double *ids[2] = {j->rows.text + row * length, j->rows.reference + row * length};
    int64_t n = 0;
    for (int64_t i = 0; i < length; i++) {
        if (ids[1][i] < 0) {
            continue;
        }
        for (int k = 0; k < 2; k++) {
            if (ids[k][i] < 0 || ids[k][i] >= j->n) {
                return eg__fail(EG_EINDEX, j->op, "%s %.0f in row %lld, place %lld: there are %d names",
                                k ? "label" : "tag", ids[k][i], (long long)row, (long long)i, j->n);
            }
            j->row[k][n] = j->names[(int)ids[k][i]];
        }
        n++;
    }
    for (int k = 0; k < 2; k++) {
        if (!find_spans(j->scheme, j->row[k], n, &j->spans[k])) {
            return eg__no_memory(j->op, n);
        }
    }
    compare(&j->spans[0], &j->spans[1], j->sums);
    return EG_OK;
}

static eg_status make_room(job *j)
{
    const size_t length = (size_t)j->rows.text_length + 1;
    j->row[0] = eg__malloc(length * sizeof(tag));
    j->row[1] = eg__malloc(length * sizeof(tag));
    j->sums = eg__malloc((size_t)j->types.n * 3 * sizeof *j->sums);
    if (!j->row[0] || !j->row[1] || !j->sums) {
        return eg__no_memory(j->op, (int64_t)(length * sizeof(tag)));
    }
    memset(j->sums, 0, (size_t)j->types.n * 3 * sizeof *j->sums);
    return EG_OK;
}

static eg_status count_spans(job *j, eg_tensor *tags, eg_tensor *labels, const char *const *names)
{
    j->names = eg__malloc(((size_t)j->n + 1) * sizeof *j->names);
    eg_status st = j->names ? read_names(j, names) : eg__no_memory(j->op, j->n);
    st = st ? st : eg__rows_read(&j->rows, j->op, tags, labels);
    if (!st && j->rows.text_length != j->rows.reference_length) {
        st =
            eg__fail(EG_ESHAPE, j->op, "tags %s and labels %s must be alike", EG__SHAPE_OF(tags), EG__SHAPE_OF(labels));
    }
    st = st ? st : make_room(j);
    for (int64_t i = 0; i < j->rows.n && !st; i++) {
        st = find_row(j, i);
    }
    return st;
}

static void job_free(job *j)
{
    eg__words_free(&j->types);
    eg__rows_free(&j->rows);
    free(j->names);
    free(j->sums);
    for (int k = 0; k < 2; k++) {
        free(j->row[k]);
        eg__bytes_free(&j->spans[k]);
    }
}

eg_status eg_metrics_spans(eg_metrics *m, const char *name, eg_tensor *tags, eg_tensor *labels,
                           const char *const *names, int n, eg_span_scheme scheme)
{
    static const char op[] = "eg_metrics_spans";
    job j = {.op = op, .scheme = scheme, .n = n};
    eg_status st = eg__metrics_check(op, m, name);
    if (!st && !names) {
        st = eg__null_argument(op, "names");
    }
    if (!st && ((unsigned)scheme > EG_SPANS_BILOU || n < 1)) {
        st = eg__fail(EG_EINVAL, op, "scheme %d, %d names: no such scheme, or no names", (int)scheme, n);
    }
    st = st ? st : count_spans(&j, tags, labels, names);
    st = st ? st : eg__metrics_gather_numbers(m, op, name, EG__METRIC_SPANS, EG_SHAPE(j.types.n, 3), j.sums);
    job_free(&j);
    return st;
}
