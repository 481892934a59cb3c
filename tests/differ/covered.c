/* covered.c - what nobody draws: rows of the op table, functions of the headers, fields of their options. */
#define _DEFAULT_SOURCE
#include <sys/mman.h>

#include "tests/differ/differ.h"

/* Rows that ops.h does not run on a CPU: of devices, steps of optimizers (test_optim_rules.c), the gradients of what
 * gives bools and bits. */
static const char *const other_rows[] = {"to",           "total_norm",       "_update",
                                         "isnan_grad",   "isinf_grad",       "isfinite_grad",
                                         "signbit_grad", "logical_not_grad", "bitwise_not_grad"};
/* Functions with no arithmetic of their own. */
static const char *const other_functions[] = {"eg_as_strided"};

static const char *const headers[] = {"attention", "boxes",  "conv",    "ctc",    "fft",    "index",
                                      "join",      "linalg", "linear",  "loss",   "norm",   "padding",
                                      "pointwise", "pool",   "random",  "reduce", "resize", "rnn",
                                      "rotary",    "sample", "softmax", "sort",   "views"};

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

enum { MOST_OPS = 512 };
static bool *ran; /* by row, in memory that the processes share */
static int at, missing;

void share_ops(void)
{
    ran = mmap(NULL, MOST_OPS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void note_op(const eg_op_info *info, void *user)
{
    const eg_profile_total *totals = user;
    for (int i = 0; i < MOST_OPS && totals[i].name; i++) {
        ran[at] |= !strcmp(totals[i].name, info->name);
    }
    at++;
}

void note_ops(void)
{
    static eg_profile_total totals[MOST_OPS];
    eg_profile_totals(totals, MOST_OPS);
    at = 0;
    eg_op_walk(note_op, totals);
}

static void look_for_row(const eg_op_info *info, void *user)
{
    (void)user;
    if (!ran[at++] && strcmp(info->kind, "view") && !AMONG(other_rows, info->name, true)) {
        printf("FAIL covered\n  op %s never ran\n", info->name);
        missing++;
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

static void look_for_functions(const char *text)
{
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
}

static const options_table *table_of(const char *type)
{
    const options_table *t = differ_tables;
    while (t && strcmp(t->type, type)) {
        t = t->next;
    }
    return t;
}

static void look_for_field(const options_table *t, const char *name)
{
    for (int f = 0; f < t->count; f++) {
        if (!strcmp(t->fields[f].name, name)) {
            return;
        }
    }
    printf("FAIL covered\n  nobody draws %s of %s\n", name, t->type);
    missing++;
}

/* Every word of a struct's body that a comma, a semicolon, a bracket or a parenthesis follows is a field. */
static void look_for_fields(const options_table *t, const char *body, const char *end)
{
    char word[64] = "";
    size_t n = 0;
    for (const char *p = body; p < end; p++) {
        bool letter = *p == '_' || (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z');
        if (letter && n + 1 < sizeof word) {
            word[n++] = *p;
            word[n] = 0;
        } else if (!letter) {
            if (strchr(",;[)", *p) && n && word[0] >= 'a' && strcmp(word, "size")) {
                look_for_field(t, word);
            }
            if (*p == ')') { /* a function's arguments */
                p = strchr(p, ';');
            } else if (*p == '[') {
                p += strcspn(p, ",;") - 1;
            }
            n *= *p == ' ' && p[1] == '[';
        }
    }
}

static void look_for_options(const char *text)
{
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
            missing++;
        } else {
            look_for_fields(t, body, end);
        }
    }
}

int uncovered(void)
{
    eg_op_walk(look_for_row, NULL);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char *text = read_header(headers[i]);
        if (!text[0]) {
            printf("FAIL covered\n  no include/egret/ops/%s.h, seen from the folder this runs in\n", headers[i]);
            missing++;
        }
        look_for_functions(text);
        look_for_options(text);
        free(text);
    }
    return missing;
}
