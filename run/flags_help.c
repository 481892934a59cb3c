/* flags_help.c - what a table of flags says of itself: usage, help, a manual page. */
#include <string.h>

#include "run/flags.h"

enum { HELP_COLUMN = 24, LINE_WIDTH = 80, LINES_OF_USAGE = 24 };

/* Prints words separated by single spaces, starting at column `at`, breaking lines before LINE_WIDTH and indenting what
 * follows. Returns the column reached. */
static int print_wrapped(FILE *to, const char *text, int at, int indent)
{
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (at + length > LINE_WIDTH && at > indent) {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
        }
        fprintf(to, "%.*s", length, text);
        at += length;
        text += length;
        if (*text == ' ') {
            text++;
            if (at + 1 + (int)strcspn(text, " ") <= LINE_WIDTH) {
                fputc(' ', to);
            }
            at++;
        }
    }
    return at;
}

/* "--name VALUE", and of a bool that is true by default "--[no-]name". */
static void name_flag(const eg_flag *f, char *text, size_t size)
{
    bool is_on = f->kind == EG_FLAG_IS_BOOL && f->fallback && strcmp(f->fallback, "true") == 0;
    snprintf(text, size, "--%s%s%s%s", is_on ? "[no-]" : "", f->name, f->value ? " " : "", f->value ? f->value : "");
}

/* What there may be, and what it is if nothing is said. */
static void describe_flag(const eg_flag *f, char *text, size_t size)
{
    char range[120] = "", fallback[160] = "";
    if (f->kind == EG_FLAG_IS_INTEGER) {
        snprintf(range, sizeof range, ", %lld to %lld", (long long)f->as.integer.least, (long long)f->as.integer.most);
    } else if (f->kind == EG_FLAG_IS_REAL) {
        snprintf(range, sizeof range, ", %g to %g", f->as.real.least, f->as.real.most);
    }
    if (f->fallback && strcmp(f->fallback, "false") != 0) {
        snprintf(fallback, sizeof fallback, " (default %s)", f->fallback);
    }
    snprintf(text, size, "%s%s%s", f->help, range, fallback);
}

/* ---- usage and help ---- */

/* A table that would fill the screen is told of in three words. */
static bool is_short(const eg_flags *line)
{
    return line->count <= LINES_OF_USAGE;
}

void flags_print_usage(FILE *to, const eg_flags *line)
{
    int indent = fprintf(to, "usage: %s", line->program) + 1, at = indent - 1;
    for (int i = 0; i <= flag_rows(line); i++) {
        const eg_flag *f = i < flag_rows(line) ? flag_at(line, i) : NULL;
        char name[200], word[208] = "";
        if (f && is_short(line) && i <= line->count) {
            name_flag(f, name, sizeof name);
            snprintf(word, sizeof word, "[%s]", name);
        } else if (f && i == line->count) {
            snprintf(word, sizeof word, "[FLAGS] [--help]");
        } else if (i == flag_rows(line) && line->most_operands > 0) {
            snprintf(word, sizeof word, line->least_operands > 0 ? "%s%s" : "[%s%s]", line->operand,
                     line->most_operands > 1 ? "..." : "");
        }
        if (*word && at + 1 + (int)strlen(word) > LINE_WIDTH) {
            fprintf(to, "\n%*s", indent - 1, "");
            at = indent - 1;
        }
        at += *word ? fprintf(to, " %s", word) : 0;
    }
    fputc('\n', to);
}

static void print_row(FILE *to, const eg_flag *f)
{
    char name[200], help[640];
    name_flag(f, name, sizeof name);
    describe_flag(f, help, sizeof help);
    int at = fprintf(to, "  %s", name);
    if (at + 2 > HELP_COLUMN) {
        fputc('\n', to);
        at = 0;
    }
    fprintf(to, "%*s", HELP_COLUMN - at, "");
    print_wrapped(to, help, HELP_COLUMN, HELP_COLUMN);
    fputc('\n', to);
}

/* ---- flags of other programs ---- */

/* "--name" of one that is ignored, "--name for --flag" or "--name for --flag value" of another. */
static void name_alias(const eg_flag_alias *a, char *text, size_t size)
{
    snprintf(text, size, "--%s%s%s%s%s", a->name, a->flag ? " for --" : "", a->flag ? a->flag : "", a->value ? " " : "",
             a->value ? a->value : "");
}

static int count_aliases(const eg_flags *line, bool ignored)
{
    int count = 0;
    for (int i = 0; i < line->alias_count; i++) {
        count += !line->aliases[i].flag == ignored;
    }
    return count;
}

static void print_aliases(FILE *to, const eg_flags *line, bool ignored, const char *title)
{
    int at = 2, left = count_aliases(line, ignored);
    if (left) {
        fprintf(to, "\n%s:\n  ", title);
    }
    for (int i = 0; i < line->alias_count; i++) {
        char name[200], word[208];
        if (!line->aliases[i].flag == ignored) {
            name_alias(&line->aliases[i], name, sizeof name);
            snprintf(word, sizeof word, "%s%s%s", at > 2 ? " " : "", name, --left ? "," : "\n");
            at = print_wrapped(to, word, at, 2);
        }
    }
}

void flags_print_help(const eg_flags *line)
{
    FILE *to = flags_out(line);
    flags_print_usage(to, line);
    fputc('\n', to);
    print_wrapped(to, line->about, 0, 0);
    fputs("\n", to);
    const char *title = "flags";
    for (int i = 0; i < flag_rows(line); i++) {
        const eg_flag *f = flag_at(line, i);
        title = i < line->count && !f ? line->table[i].name : i == line->count ? "in every program" : title;
        if (f && title) {
            fprintf(to, "\n%s:\n", title);
            title = NULL;
        }
        if (f) {
            print_row(to, f);
        }
    }
    print_aliases(to, line, false, "other names");
    print_aliases(to, line, true, "accepted and ignored, with a warning");
}

/* ---- a manual page ---- */

/* Text as troff wants it: no line begins with a dot or a quote, and \ and - are meant. */
static void print_troff(FILE *to, const char *text)
{
    for (const char *c = text; *c; c++) {
        if ((*c == '.' || *c == '\'') && (c == text || c[-1] == '\n')) {
            fputs("\\&", to);
        }
        fputs(*c == '\\' ? "\\e" : *c == '-' ? "\\-" : (char[]){*c, '\0'}, to);
    }
    fputc('\n', to);
}

static void man_aliases(FILE *to, const eg_flags *line, bool ignored, const char *title)
{
    if (count_aliases(line, ignored)) {
        fprintf(to, ".SH %s\n", title);
    }
    for (int i = 0; i < line->alias_count; i++) {
        const eg_flag_alias *a = &line->aliases[i];
        char name[200];
        if (!a->flag == ignored) {
            name_alias(a, name, sizeof name);
            fputs(".TP\n.B ", to);
            print_troff(to, name);
            print_troff(to, ignored ? a->reason : "another name");
        }
    }
}

void flags_print_man(const eg_flags *line)
{
    FILE *to = flags_out(line);
    fprintf(to, ".TH \"%s\" 1\n.SH NAME\n", line->program);
    print_troff(to, line->program);
    fputs(".SH SYNOPSIS\n.B ", to);
    print_troff(to, line->program);
    fputs("[flags]", to);
    fprintf(to, line->most_operands > 0 ? " [%s%s]\n" : "\n", line->operand, line->most_operands > 1 ? "..." : "");
    fputs(".SH DESCRIPTION\n", to);
    print_troff(to, line->about);
    fputs(".SH OPTIONS\n", to);
    for (int i = 0; i < flag_rows(line); i++) {
        const eg_flag *f = flag_at(line, i);
        char name[200], help[640];
        if (!f && i < line->count) {
            fputs(".SS ", to);
            print_troff(to, line->table[i].name);
        } else if (f) {
            name_flag(f, name, sizeof name);
            describe_flag(f, help, sizeof help);
            fputs(".TP\n.B ", to);
            print_troff(to, name);
            print_troff(to, help);
        }
    }
    man_aliases(to, line, false, "OTHER NAMES");
    man_aliases(to, line, true, "IGNORED");
}
