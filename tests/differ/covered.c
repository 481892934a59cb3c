/* covered.c - what nobody draws: rows of the op table, functions of the headers, fields of their options. */
#include "tests/differ/differ.h"

/* Rows that no function of ops.h runs alone: copies between devices, steps of optimizers (test_optim_rules.c). */
static const char *const other_rows[] = {"to", "total_norm", "_update"};
/* Functions with no arithmetic of their own. */
static const char *const other_functions[] = {"eg_as_strided"};

static const char *const headers[] = {"attention", "boxes",  "conv",   "ctc",    "fft",     "index",     "join",
                                      "linalg",    "linear", "loss",   "norm",   "padding", "pointwise", "pool",
                                      "random",    "reduce", "resize", "rnn",    "sample",  "softmax",   "sort",
                                      "views"};

static bool among(const char *const *list, int n, const char *name, bool as_end)
{
    for (int i = 0; i < n; i++) {
        size_t all = strlen(name), part = strlen(list[i]);
        if (all >= part && (as_end ? !strcmp(name + all - part, list[i]) : !strcmp(name, list[i]))) {
            return true;
        }
    }
    return false;
}
#define AMONG(list, name, as_end) among(list, (int)(sizeof(list) / sizeof *(list)), name, as_end)

/* ---- rows ------------------------------------------------------------------------------------- */

typedef struct ran {
    eg_profile_total totals[512];
    int n, missing;
} ran;

static void look_for_row(const eg_op_info *info, void *user)
{
    ran *r = user;
    bool found = !strcmp(info->kind, "view") || AMONG(other_rows, info->name, true);
    for (int i = 0; i < r->n && !found; i++) {
        found = !strcmp(r->totals[i].name, info->name) && r->totals[i].calls > 0;
    }
    if (!found) {
        printf("FAIL covered\n  op %s never ran\n", info->name);
        r->missing++;
    }
}

/* ---- functions and fields, as the headers declare them ------------------------------------------- */

static char *read_header(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "include/egret/ops/%s.h", name);
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 18);
    if (f) {
        size_t n = fread(text, 1, (1 << 18) - 1, f);
        text[n] = 0;
        fclose(f);
    }
    for (char *p = text; (p = strstr(p, "/*"));) { /* comments become blanks */
        char *end = strstr(p, "*/");
        memset(p, ' ', end ? (size_t)(end + 2 - p) : strlen(p));
    }
    return text;
}

static bool drawn_function(const char *name)
{
    for (const row *r = differ_rows; r; r = r->next) {
        for (const char *p = r->text; (p = strstr(p, name)); p++) {
            if (p[strlen(name)] == '(') {
                return true;
            }
        }
    }
    return false;
}

static int look_for_functions(const char *text)
{
    int missing = 0;
    for (const char *p = text; (p = strstr(p, "EG_API ")); p++) {
        const char *open = strchr(p, '('), *name = open;
        while (name[-1] == '_' || (name[-1] >= '0' && name[-1] <= '9') || (name[-1] >= 'a' && name[-1] <= 'z')) {
            name--;
        }
        char word[128];
        snprintf(word, sizeof word, "%.*s", (int)(open - name), name);
        if (!drawn_function(word) && !AMONG(other_functions, word, false)) {
            printf("FAIL covered\n  nobody draws %s\n", word);
            missing++;
        }
    }
    return missing;
}

static const options_table *table_of(const char *type)
{
    const options_table *t = differ_tables;
    while (t && strcmp(t->type, type)) {
        t = t->next;
    }
    return t;
}

static int look_for_field(const options_table *t, const char *name)
{
    for (int f = 0; f < t->count; f++) {
        if (!strcmp(t->fields[f].name, name)) {
            return 0;
        }
    }
    printf("FAIL covered\n  nobody draws %s of %s\n", name, t->type);
    return 1;
}

/* Every word of a struct's body that a comma, a semicolon, a bracket or a parenthesis follows is a field. */
static int look_for_fields(const options_table *t, const char *body, const char *end)
{
    int missing = 0;
    char word[64] = "";
    size_t n = 0;
    for (const char *p = body; p < end; p++) {
        bool letter = *p == '_' || (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z');
        if (letter && n + 1 < sizeof word) {
            word[n++] = *p;
            word[n] = 0;
        } else if (!letter) {
            if (strchr(",;[)", *p) && n && word[0] >= 'a' && strcmp(word, "size")) {
                missing += look_for_field(t, word);
            }
            if (*p == ')') { /* a function's arguments */
                p = strchr(p, ';');
            } else if (*p == '[') {
                p += strcspn(p, ",;") - 1;
            }
            n *= *p == ' ' && p[1] == '[';
        }
    }
    return missing;
}

static int look_for_options(const char *text)
{
    int missing = 0;
    for (const char *p = text; (p = strstr(p, "typedef struct eg_")); p++) {
        char type[80] = "";
        sscanf(p, "typedef struct %79s", type);
        const char *body = strchr(p, '{'), *end = strchr(p, '}');
        if (!strstr(type, "_options") || !body || !end) {
            continue;
        }
        const options_table *t = table_of(type);
        if (!t) {
            printf("FAIL covered\n  nobody draws %s\n", type);
        }
        missing += t ? look_for_fields(t, body, end) : 1;
    }
    return missing;
}

int uncovered(void)
{
    static ran r;
    r.n = eg_profile_totals(r.totals, 512);
    eg_op_walk(look_for_row, &r);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char *text = read_header(headers[i]);
        if (!text[0]) {
            printf("FAIL covered\n  %s.h is not under include/egret/ops, seen from the folder this runs in\n", headers[i]);
            r.missing++;
        }
        r.missing += look_for_functions(text) + look_for_options(text);
        free(text);
    }
    return r.missing;
}
