/* print.c - a draw as C: tensors, options, the call. */
#include <ctype.h>

#include "tests/differ/differ.h"

static void print_number(FILE *to, double v)
{
    if (isnan(v)) {
        fputs("NAN", to);
    } else if (isinf(v)) {
        fputs(v > 0 ? "INFINITY" : "-INFINITY", to);
    } else {
        fprintf(to, "%.17g", v);
    }
}

static void print_shape(FILE *to, eg_shape s)
{
    if (!s.ndim) {
        fputs("EG_SCALAR", to);
        return;
    }
    for (int a = 0; a < s.ndim; a++) {
        fprintf(to, "%s%lld", a ? ", " : "EG_SHAPE(", (long long)s.dim[a]);
    }
    fputs(")", to);
}

static void print_axes(FILE *to, eg_axes axes)
{
    if (!axes.count) {
        fputs("(eg_axes){0}", to);
        return;
    }
    for (int a = 0; a < axes.count; a++) {
        fprintf(to, "%s%d", a ? ", " : "EG_AXES(", axes.axis[a]);
    }
    fputs(")", to);
}

static void print_dtype(FILE *to, eg_dtype t)
{
    fputs("EG_", to);
    for (const char *p = eg_dtype_name(t); *p; p++) {
        fputc(toupper(*p), to);
    }
}

/* The text with every word that `fill` knows replaced by what it prints. */
static void print_filled(FILE *to, const char *text, bool (*fill)(FILE *to, const char *word, size_t n, const void *of),
                         const void *of)
{
    while (*text) {
        size_t n = 0;
        while (isalnum((unsigned char)text[n]) || text[n] == '_') {
            n++;
        }
        if (!n) {
            fputc(*text++, to);
        } else {
            if (!fill(to, text, n, of)) {
                fwrite(text, 1, n, to);
            }
            text += n;
        }
    }
}

static bool is(const char *word, size_t n, const char *name)
{
    return strlen(name) == n && !strncmp(word, name, n);
}

/* ---- tensors ---------------------------------------------------------------------------------- */

enum { SPELT_OUT = 40 }; /* so many numbers stand there one by one */

static bool fill_values(FILE *to, const char *word, size_t n, const void *of)
{
    const spec *s = of;
    if (is(word, n, "base")) {
        print_shape(to, s->base);
    } else if (is(word, n, "low")) {
        print_number(to, s->low);
    } else if (is(word, n, "high")) {
        print_number(to, s->high > s->low ? s->high : s->low + 1);
    } else {
        return false;
    }
    return true;
}

static bool fill_step(FILE *to, const char *word, size_t n, const void *of)
{
    const step *s = of;
    if (is(word, n, "a")) {
        fprintf(to, "%d", s->a);
    } else if (is(word, n, "b")) {
        fprintf(to, "%d", s->b);
    } else if (is(word, n, "end")) {
        fprintf(to, "%lld", (long long)(s->b + s->shape.dim[s->a]));
    } else if (is(word, n, "shape")) {
        print_shape(to, s->shape);
    } else {
        return false;
    }
    return true;
}

static void print_leaf(FILE *to, const spec *s, int k)
{
    if (s->absent) {
        return;
    }
    if (s->shares) {
        fprintf(to, "    eg_tensor *t%d = t%d;\n", k, s->shares - 1);
        return;
    }
    eg_tensor *t = make_base(s, s->dtype);
    if (eg_numel(t) <= SPELT_OUT || s->values >= SPREAD) {
        fprintf(to, "    eg_tensor *t%d = eg_from_values(", k);
        print_shape(to, s->base);
        fputs(", ", to);
        print_dtype(to, s->dtype);
        fputs(", (double[]){", to);
        for (int64_t i = 0; i < eg_numel(t); i++) {
            fputs(i ? ", " : "", to);
            print_number(to, eg_get(t, i));
        }
        fprintf(to, "%s});\n", eg_numel(t) ? "" : "0");
    } else {
        fprintf(to, "    eg_seed(%llu);\n    eg_tensor *t%d = eg_cast(", (unsigned long long)s->seed, k);
        print_filled(to, values_text(s), fill_values, s);
        fputs(", ", to);
        print_dtype(to, s->dtype);
        fputs(");\n", to);
    }
}

static void print_steps(FILE *to, const spec *s, int k)
{
    for (int i = 0; i < s->nsteps && !s->absent; i++) {
        char text[128];
        snprintf(text, sizeof text, "    t%d = %s;\n", k, step_text(s->steps[i].kind));
        char *at = strstr(text, "(t");
        char whole[160];
        snprintf(whole, sizeof whole, "%.*s(t%d%s", (int)(at - text), text, k, at + 2);
        print_filled(to, whole, fill_step, &s->steps[i]);
    }
}

/* ---- options ---------------------------------------------------------------------------------- */

/* The choice as it was written, else the number. */
static void print_choice(FILE *to, const field *f, double v)
{
    const char *p = f->text;
    for (int i = 0; i < f->nchoices; i++) {
        size_t n = strcspn(p, ",");
        if (f->choices[i] == v) {
            fwrite(p, 1, n, to);
            return;
        }
        p += n + strspn(p + n, ", ");
    }
    print_number(to, v);
}

static double load(const char *at, field_kind kind)
{
    switch (kind) {
    case F_INT:
        return (double)*(const int64_t *)(const void *)at;
    case F_INT32:
        return *(const int *)(const void *)at;
    case F_BOOL:
        return *(const bool *)(const void *)at;
    case F_DOUBLE:
        return *(const double *)(const void *)at;
    default:
        return 0;
    }
}

static void print_field(FILE *to, const field *f, const char *at)
{
    void *const *pointer = (void *const *)(const void *)at;
    fprintf(to, ", .%s = ", f->name);
    switch (f->kind) {
    case F_TENSOR:
        fprintf(to, "t%d", (int)((uintptr_t)*pointer - 1));
        return;
    case F_RESULT:
        fprintf(to, "&y[%d]", (int)((uintptr_t)*pointer - 1));
        return;
    case F_FUNCTION:
        fputs(activation_name(*(const activation *)(const void *)at), to);
        return;
    case F_AXES:
        print_axes(to, *(const eg_axes *)(const void *)at);
        return;
    default:
        break;
    }
    bool array = f->bytes > f->element;
    fputs(array ? (strstr(f->name, "pads") ? "{{" : "{") : "", to);
    for (size_t i = 0; i < f->bytes / f->element; i++) {
        fputs(!i ? "" : strstr(f->name, "pads") && i % 2 == 0 ? "}, {" : ", ", to);
        print_choice(to, f, load(at + i * f->element, f->kind));
    }
    fputs(array ? (strstr(f->name, "pads") ? "}}" : "}") : "", to);
}

static void print_options(FILE *to, const draw *d)
{
    static const char zeros[512];
    fprintf(to, "    %s o = {.size = sizeof o", d->table->type);
    for (int i = 0; i < d->table->count; i++) {
        const field *f = &d->table->fields[i];
        if (memcmp(d->options + f->offset, zeros, f->bytes)) {
            print_field(to, f, d->options + f->offset);
        }
    }
    fputs("};\n", to);
}

/* ---- the call --------------------------------------------------------------------------------- */

static void print_list(FILE *to, const draw *d)
{
    fputs("(eg_tensor *[]){", to);
    for (int k = 0; k < d->n; k++) {
        fprintf(to, "%st%d", k ? ", " : "", k);
    }
    fputs("}", to);
}

static bool fill_call(FILE *to, const char *word, size_t n, const void *of)
{
    const draw *d = of;
    if (n != 2 || !strchr("TNIKXSADWOY", word[0])) {
        return false;
    }
    int k = word[1] - '0';
    switch (word[0]) {
    case 'T':
        if (word[1] == 'S') {
            print_list(to, d);
        } else if (d->t[k].absent) {
            fputs("NULL", to);
        } else {
            fprintf(to, "t%d", k);
        }
        break;
    case 'N':
        fprintf(to, "%d", d->n);
        break;
    case 'I':
    case 'K':
        if (word[1] == 'S') {
            fputs("(int64_t[]){", to);
            for (int i = 0; i < 8; i++) {
                fprintf(to, "%s%lld", i ? ", " : "", (long long)d->i[i]);
            }
            fputs("}", to);
        } else {
            fprintf(to, "%lld", (long long)d->i[k]);
        }
        break;
    case 'X':
        print_number(to, d->x[k]);
        break;
    case 'S':
        print_shape(to, d->s[k]);
        break;
    case 'A':
        print_axes(to, d->a[k]);
        break;
    case 'D':
        print_dtype(to, d->d[k]);
        break;
    case 'W':
        fprintf(to, "\"%s\"", d->w[k]);
        break;
    case 'O':
        fputs(d->no_options ? "NULL" : "&o", to);
        break;
    default:
        fprintf(to, word[1] == 'S' ? "y" : "&y[%d]", k);
    }
    return true;
}

void print_draw(FILE *to, const draw *d)
{
    fprintf(to, "    /* differ --only %s --seed %llu --draw %d */\n", d->row->name, (unsigned long long)d->run,
            d->number);
    EG_SCOPE {
        for (int k = 0; k < d->n; k++) {
            print_leaf(to, &d->t[k], k);
        }
    }
    for (int k = 0; k < d->n; k++) {
        print_steps(to, &d->t[k], k);
    }
    fprintf(to, "    eg_tensor *y[%d] = {NULL};\n", MOST_RESULTS);
    if (d->table && !d->no_options) {
        print_options(to, d);
    }
    fprintf(to, "    eg_seed(%llu);\n    ", (unsigned long long)d->seed);
    print_filled(to, d->row->text, fill_call, d);
    fputs(";\n", to);
}
