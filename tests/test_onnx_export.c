/* test_onnx_export.c - the table of what is written as ONNX, held against the op table and its options; and every case
 * of the sweep, written and read again. With EGT_ONNX models and their tensors stay in that folder. */
#define _POSIX_C_SOURCE 200809L
#include "tests/cases.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/io.h>
#include <egret/onnx.h>
#include <egret/ops.h>

/* ---- the table ------------------------------------------------------------------------------------------ */

typedef struct op_row {
    const char *name, *options; /* "sizeof(struct)", or "0" */
} op_row;

static const op_row ops[] = {
#define EG_OP(name, kernel, grad, cast, least, most, outputs, dtypes, flags, options, ...) {#name, #options},
#include "lib/ops/ops.def"
#undef EG_OP
};

/* Parameters of the pointwise ops. */
typedef struct parameters {
    const char *name, *words;
} parameters;

#define P0       ""
#define P1(p)    "p"
#define P2(p, q) "p q"
static const parameters unaries[] = {
#define EG_UNARY(name, params, ...) {#name, params},
#include "lib/ops/unary.def"
#undef EG_UNARY
};
#undef P0
#undef P1
#undef P2

typedef struct written_row {
    const char *name, *options, *why; /* why: it is not written, or NULL */
    bool whole;                       /* one of write's own functions, which sees the options' struct */
} written_row;

static const written_row written[] = {
#define NODE(row, operator)                        {#row, "", NULL, false},
#define POINT(row, function, options)              {#row, options, NULL, false},
#define WRITE(row, function, told, batch, options) {#row, options, NULL, true},
#define NONE(row, why)                             {#row, "", #why, false},
#include "nn/onnx/write.def"
#undef NODE
#undef POINT
#undef WRITE
#undef NONE
};

enum { OPS = sizeof ops / sizeof *ops, WRITTEN = sizeof written / sizeof *written };

EGT(every_op_has_a_row_in_order)
{
    for (int i = 0; i < OPS && i < WRITTEN; i++) {
        EGT_STR(written[i].name, ops[i].name);
    }
    EGT_EQ(WRITTEN, OPS);
}

/* The text without comments. */
static void strip(char *s)
{
    for (char *at; (at = strstr(s, "/*"));) {
        char *end = strstr(at, "*/");
        memset(at, ' ', (size_t)((end ? end + 2 : at + strlen(at)) - at));
    }
}

/* Adds the names that a struct's text declares: in each statement those before a comma, a bracket or the end. */
static void names_of(char *body, char *to, size_t size)
{
    for (char *rest = body, *statement; (statement = strtok_r(rest, ";{}", &rest));) {
        for (char *piece, *more = statement; (piece = strtok_r(more, ",", &more));) {
            char *end = strchr(piece, '[');
            end = end ? end : piece + strlen(piece);
            while (end > piece && isspace((unsigned char)end[-1])) {
                end--;
            }
            char *begin = end;
            while (begin > piece && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_')) {
                begin--;
            }
            const int n = (int)(end - begin);
            const bool word = n > 0 && strncmp(begin, "struct", 6) && strncmp(begin, "union", 5);
            snprintf(to + strlen(to), size - strlen(to), "%s%.*s", word && *to ? " " : "", word ? n : 0, begin);
        }
    }
}

/* The fields of a struct of the headers in lib/ops, one word each. */
static void fields_of(const char *type, char *to, size_t size)
{
    static const char *const headers[] = {"lib/ops/options.h", "lib/ops/pool.h", "lib/ops/sample.h"};
    char ending[80];
    snprintf(ending, sizeof ending, "} %s;", type);
    *to = '\0';
    for (size_t i = 0; i < sizeof headers / sizeof *headers && !*to; i++) {
        size_t n;
        char *text = egt_read(headers[i], &n), *end = text ? strstr(text, ending) : NULL;
        if (end) {
            *end = '\0';
            char *begin = strstr(text, "typedef ");
            for (char *next = begin; next; next = strstr(next + 1, "typedef ")) {
                begin = next;
            }
            strip(begin);
            names_of(strchr(begin, '{') + 1, to, size);
        }
        free(text);
    }
}

EGT(every_option_of_a_written_op_is_named)
{
    for (int i = 0; i < WRITTEN && i < OPS; i++) {
        char fields[400] = "", type[60];
        if (written[i].whole && sscanf(ops[i].options, "sizeof(%59[a-z_0-9])", type) == 1) {
            fields_of(type, fields, sizeof fields);
            EGT_CHECK(*fields);
        }
        for (size_t k = 0; k < sizeof unaries / sizeof *unaries && !written[i].why; k++) {
            if (!strcmp(unaries[k].name, written[i].name)) {
                snprintf(fields, sizeof fields, "%s", unaries[k].words);
            }
        }
        snprintf(egt_case, sizeof egt_case, "%s", written[i].name);
        if (!written[i].why) {
            EGT_STR(written[i].options, fields);
        }
    }
    egt_case[0] = '\0';
}

/* Ops that ONNX has an operator for, or a short composition. */
EGT(the_document_has_the_count)
{
    char sentence[200];
    int is = 0, could = 0;
    for (int i = 0; i < WRITTEN; i++) {
        is += !written[i].why;
        could += !written[i].why || !strcmp(written[i].why, "TO_DO") || !strcmp(written[i].why, "OF_CHANCE");
    }
    snprintf(sentence, sizeof sentence, "%d of %d", is, could);
    size_t n;
    char *text = egt_read("docs/onnx.md", &n);
    printf("%s ops that ONNX can compute are written (%.1f %%)\n", sentence, 100.0 * is / could);
    const bool there = text && strstr(text, sentence);
    free(text);
    EGT_CHECK(there);
    EGT_CHECK(is >= 0.95 * could);
}

/* ---- the sweep ------------------------------------------------------------------------------------------ */

static egt_op_cases *families;

void egt_add_cases(egt_op_cases *c)
{
    c->next = families;
    families = c;
}

static eg_status of_case(eg_tensor *const *in, int nin, eg_tensor **out, int nout, void *user)
{
    const egt_op_case *k = user;
    (void)nout;
    eg_seed(7);
    out[0] = k->f(in, nin, k->user);
    return out[0] ? EG_OK : eg_last_error()->code;
}

static void make_inputs(const egt_op_case *k, eg_dtype dtype, eg_tensor **x)
{
    for (int i = 0; i < egt_inputs(k); i++) {
        const egt_input *in = &k->in[i];
        const eg_dtype to = in->fixed ? (eg_dtype)(in->fixed - 1) : dtype;
        const bool whole = to != EG_F32 && to != EG_F64 && to != EG_F16 && to != EG_BF16;
        eg_tensor *v = egt_random(in->shape, EG_F64, in->low, in->high);
        x[i] = eg_cast(whole ? eg_floor(v) : v, to);
    }
}

static double tolerance_of(const egt_op_case *k, eg_dtype dtype)
{
    const double single = k->tolerance > 0 ? k->tolerance : 1e-5;
    return dtype == EG_F64 ? 1e-9 : dtype == EG_F16 || dtype == EG_BF16 ? 2e-2 : 2 * single;
}

/* Inputs and result, as the model has them. */
static void keep(const char *path, eg_tensor **x, int n, eg_tensor *y)
{
    char name[16], file[700];
    eg_tensors *all = eg_tensors_new();
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "in%d", i);
        EGT_OK(eg_tensors_set(all, name, eg_contiguous(x[i])));
    }
    EGT_OK(eg_tensors_set(all, "out0", eg_contiguous(y)));
    snprintf(file, sizeof file, "%.*s.safetensors", (int)strlen(path) - 5, path);
    EGT_OK(eg_tensors_save(all, file));
    eg_tensors_free(all);
}

static bool same_kind(const eg_tensor *a, const eg_tensor *b)
{
    const eg_shape s = eg_shape_of(a), t = eg_shape_of(b);
    return eg_dtype_of(a) == eg_dtype_of(b) && s.ndim == t.ndim &&
           !memcmp(s.dim, t.dim, (size_t)s.ndim * sizeof *s.dim);
}

/* The model's result of x; other: it may be that the call refuses such numbers, or that sizes hang on them. */
static void compare(const egt_op_case *k, eg_module *m, eg_dtype dtype, eg_tensor **x, bool other)
{
    eg_tensor *y[1] = {NULL}, *out[1] = {NULL};
    if (of_case(x, egt_inputs(k), y, 1, (void *)k)) {
        EGT_CHECK(other);
        eg_clear_error();
        return;
    }
    if (eg_onnx_forward(m, x, egt_inputs(k), out)) {
        EGT_CHECK(other);
        eg_clear_error();
        return;
    }
    if (!same_kind(y[0], out[0])) {
        EGT_CHECK(other);
        return;
    }
    const double d = egt_distance(out[0], y[0]), allowed = tolerance_of(k, dtype);
    if (!(d <= allowed)) {
        egt_fail(__FILE__, __LINE__, "the model differs by %g, %g is allowed%s", d, allowed,
                 other ? ", of other numbers" : "");
    }
}

static bool try_case(const egt_op_case *k, eg_dtype dtype, int number)
{
    eg_tensor *x[EGT_MAX_INPUTS], *y[1] = {NULL};
    const char *folder = getenv("EGT_ONNX");
    const int n = egt_inputs(k);
    char path[600];
    snprintf(egt_case, sizeof egt_case, "%s (%s), %s", k->ops, k->name, eg_dtype_name(dtype));
    eg_clear_error();
    make_inputs(k, dtype, x);
    if (!n || of_case(x, n, y, 1, (void *)k)) {
        eg_clear_error();
        return false;
    }
    if (folder) {
        const int first = (int)strcspn(k->ops, " "); /* of the names, which are separated by spaces */
        snprintf(path, sizeof path, "%s/%.*s-case-%d-%s.onnx", folder, first, k->ops, number, eg_dtype_name(dtype));
    } else {
        snprintf(path, sizeof path, "%s", egt_path("case.onnx"));
    }
    eg_status st = eg_onnx_save_function(of_case, (void *)k, NULL, x, n, 1, path);
    if (st) {
        EGT_CHECK(st == EG_ENOKERNEL && eg_last_error()->message[0]);
        eg_clear_error();
        return false;
    }
    eg_module *m = eg_onnx_load(path);
    EGT_CHECK(m);
    compare(k, m, dtype, x, false);
    if (folder && !of_case(x, n, y, 1, (void *)k)) {
        keep(path, x, n, y[0]);
    }
    make_inputs(k, dtype, x);
    compare(k, m, dtype, x, true);
    EGT_OK(eg_module_free(m));
    return true;
}

EGT(cases_of_the_sweep_are_written_as_they_compute_or_refused)
{
    static const eg_dtype dtypes[] = {EG_F32, EG_F64, EG_F16, EG_BF16, EG_I64, EG_I32, EG_U8, EG_BOOL};
    int number = 0, written_here = 0, tried = 0;
    for (const egt_op_cases *c = families; c; c = c->next) {
        for (int i = 0; i < c->count; i++, number++) {
            const egt_op_case *k = &c->cases[i];
            for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
                const bool real = dtypes[d] <= EG_BF16, half = dtypes[d] == EG_F16 || dtypes[d] == EG_BF16;
                const bool wanted = real ? !(k->flags & EGT_NO_FLOAT) && !(half && k->flags & EGT_NO_HALF)
                                         : k->flags & (dtypes[d] == EG_BOOL ? EGT_BOOL : EGT_INTS);
                if (wanted) {
                    eg_scope s = eg_scope_push();
                    tried++;
                    written_here += try_case(k, dtypes[d], number);
                    eg_scope_pop(s, NULL);
                }
            }
        }
    }
    egt_case[0] = '\0';
    printf("%d of %d calls are written\n", written_here, tried);
    EGT_CHECK(written_here > tried / 2);
}
