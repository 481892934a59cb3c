/* glue.c - sentences and their labels. */
#include <egret/data/corpora.h>

#include "data/readers/fields.h"
#include "data/readers/lines.h"
#include "lib/io/number.h"

enum { LABEL, FIRST, SECOND, COLUMNS };

typedef struct task {
    const char *name[COLUMNS];
    int64_t at[COLUMNS];
    const char *classes;
} task;

static const task tasks[] = {
#define X(label, first, second, label_at, first_at, second_at, classes) \
    {{label, first, second}, {label_at, first_at, second_at}, classes},
#include "data/readers/glue.def"
#undef X
};

typedef struct glue {
    eg__lines l;
    const task *is;
    eg__fields fields;
    int64_t at[COLUMNS]; /* in this file; -1: there is none */
} glue;

static int64_t find(const glue *g, const char *name)
{
    for (uint32_t i = 0; name && i < g->fields.n; i++) {
        if (eg__field_is(&g->l.line, g->fields.of[i], name)) {
            return i;
        }
    }
    return -1;
}

/* Whether a file's first line is one of names; where the columns are. */
static bool read_names(glue *g)
{
    const int64_t first = find(g, g->is->name[FIRST]), second = find(g, g->is->name[SECOND]);
    const bool names = first >= 0 && (second >= 0 || !g->is->name[SECOND]);
    g->at[LABEL] = names ? find(g, g->is->name[LABEL]) : g->is->at[LABEL];
    g->at[FIRST] = names ? first : g->is->at[FIRST];
    g->at[SECOND] = !g->is->name[SECOND] ? -1 : names ? second : g->is->at[SECOND];
    return names;
}

/* The number of a label among the classes, -1: it is none. */
static int64_t number_of(const char *classes, const char *label, int64_t n)
{
    int64_t k = 0;
    for (const char *s = classes; s[1]; s = strchr(s + 1, ' '), k++) {
        if (!strncmp(s + 1, label, (size_t)n) && s[1 + n] == ' ') {
            return k;
        }
    }
    return -1;
}

static eg_status make_label(glue *g, eg_tensor **t)
{
    const bool real = !g->is->classes;
    double value = -1;
    if (g->at[LABEL] >= 0) {
        const eg__field f = g->fields.of[g->at[LABEL]];
        const char *s = (const char *)g->l.line.p + f.at;
        if (!real) {
            value = f.n ? (double)number_of(g->is->classes, s, f.n) : -1;
        }
        if (real ? !eg__parse_real(s, f.n, EG_F32, &value) : value < 0) {
            return eg__lines_bad(&g->l, "\"%.*s\" is no label:%s", (int)eg__min(f.n, 40), s,
                                 real ? " no number" : g->is->classes);
        }
    }
    *t = eg__full_on(0, EG_SCALAR, value, real ? EG_F32 : EG_I64);
    return *t ? EG_OK : eg__why();
}

static eg_status make_sample(glue *g, eg__sample *s)
{
    eg_tensor *t[COLUMNS];
    int n = 0;
    eg_status st = EG_OK;
    for (int k = 0; k < COLUMNS; k++) {
        if (g->at[k] >= g->fields.n) {
            return eg__lines_bad(&g->l, "no column %lld among %u", (long long)g->at[k], g->fields.n);
        }
    }
    eg_scope scope = eg_scope_push();
    for (int k = FIRST; k < COLUMNS && !st; k++) {
        if (g->at[k] >= 0) {
            const eg__field f = g->fields.of[g->at[k]];
            t[n] = eg__bytes_tensor(g->l.line.p + f.at, f.n);
            st = t[n++] ? EG_OK : eg__why();
        }
    }
    st = st ? st : make_label(g, &t[n++]);
    st = st ? st : eg__sample_keep(g->l.d.is->name, s, t, n);
    eg_scope_pop(scope, NULL);
    return st;
}

static eg_status glue_next(eg_dataset *d, eg__sample *s)
{
    glue *g = (glue *)d;
    bool more, fresh, names;
    eg_status st;
    do {
        st = eg__lines_next(&g->l, s, &more, &fresh);
        if (!st && more && !eg__fields_split(&g->fields, &g->l.line, '\t')) {
            st = eg__no_memory(d->is->name, g->l.line.n);
        }
        names = !st && more && fresh && read_names(g);
    } while (!st && more && (names || !g->l.line.n));
    return st || !more ? st : make_sample(g, s);
}

static void glue_free(eg_dataset *d)
{
    eg__lines_free(d);
    eg__fields_free(&((glue *)d)->fields);
}

static const eg__dataset_class glue_class = {
    .name = "eg_glue_new", .start = eg__lines_start, .next = glue_next, .count = eg__lines_count, .free = glue_free};

eg_dataset *eg_glue_new(const char *pattern, eg_glue_task which)
{
    if ((unsigned)which >= EG__COUNT(tasks)) {
        return eg__fail_null(EG_EINVAL, glue_class.name, "no task %d", (int)which);
    }
    glue *g = (glue *)eg__lines_new(&glue_class, sizeof *g, pattern, EG_UTF8_REFUSE);
    if (g) {
        g->is = &tasks[which];
        memcpy(g->at, g->is->at, sizeof g->at);
    }
    return g ? &g->l.d : NULL;
}
