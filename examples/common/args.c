/* args.c - see args.h. */
#include "args.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 24, LINE_WIDTH = 80, TYPED_MOST = 60 };

/* ---- help and usage ---- */

/* Prints words separated by single spaces, starting at column `at`, breaking lines before
 * LINE_WIDTH and indenting what follows. Returns the column reached. */
static int print_wrapped(FILE *stream, const char *text, int at, int indent)
{
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (at + length > LINE_WIDTH && at > indent) {
            fprintf(stream, "\n%*s", indent, "");
            at = indent;
        }
        fprintf(stream, "%.*s", length, text);
        at += length;
        text += length;
        if (*text == ' ') {
            text++;
            if (at + 1 + (int)strcspn(text, " ") <= LINE_WIDTH) {
                fputc(' ', stream);
            }
            at++;
        }
    }
    return at;
}

static void print_usage(FILE *stream, const args *line)
{
    int indent = fprintf(stream, "usage: %s", line->program) + 1;
    int at = indent - 1;
    for (int i = 0; i <= line->count + 1; i++) {
        char word[160];
        if (i < line->count) {
            const arg *a = &line->table[i];
            snprintf(word, sizeof word, a->value ? "[--%s %s]" : "[--%s]", a->name, a->value);
        } else if (i == line->count) {
            snprintf(word, sizeof word, "[--help]");
        } else if (line->most_operands > 0) {
            snprintf(word, sizeof word, line->least_operands > 0 ? "%s%s" : "[%s%s]", line->operand,
                     line->most_operands > 1 ? "..." : "");
        } else {
            break;
        }
        if (at + 1 + (int)strlen(word) > LINE_WIDTH) {
            fprintf(stream, "\n%*s", indent - 1, "");
            at = indent - 1;
        }
        at += fprintf(stream, " %s", word);
    }
    fputc('\n', stream);
}

static void print_row(const char *name, const char *value, const char *help)
{
    int at = printf(value ? "  --%s %s" : "  --%s", name, value);
    if (at + 2 > HELP_COLUMN) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", HELP_COLUMN - at, "");
    print_wrapped(stdout, help, HELP_COLUMN, HELP_COLUMN);
    putchar('\n');
}

static void print_help(const args *line)
{
    print_usage(stdout, line);
    putchar('\n');
    print_wrapped(stdout, line->about, 0, 0);
    printf("\n\noptions:\n");
    for (int i = 0; i < line->count; i++) {
        const arg *a = &line->table[i];
        char range[80] = "", fallback[160] = "", help[640];
        if (a->type == ARG_IS_INTEGER) {
            snprintf(range, sizeof range, ", %lld to %lld", (long long)a->as.integer.least,
                     (long long)a->as.integer.most);
        } else if (a->type == ARG_IS_REAL) {
            snprintf(range, sizeof range, ", %g to %g", a->as.real.least, a->as.real.most);
        }
        if (a->fallback) {
            snprintf(fallback, sizeof fallback, " (default %s)", a->fallback);
        }
        snprintf(help, sizeof help, "%s%s%s", a->help, range, fallback);
        print_row(a->name, a->value, help);
    }
    print_row("help", NULL, "show this and stop");
}

/* Explains a mistake with the usage; always false. */
static bool refuse(const args *line, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fprintf(stderr, "%s: ", line->program);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    print_usage(stderr, line);
    fprintf(stderr, "%s --help explains the options\n", line->program);
    return false;
}

/* ---- values ---- */

static bool starts_a_number(const char *typed)
{
    return *typed && strchr("+-.0123456789", *typed);
}

static bool set_integer(const args *line, const arg *a, const char *typed)
{
    char *end;
    errno = 0;
    long long number = strtoll(typed, &end, 10);
    if (!starts_a_number(typed) || *end || end == typed || errno || number < a->as.integer.least ||
        number > a->as.integer.most) {
        return refuse(line, "--%s wants a whole number from %lld to %lld, not '%.*s'", a->name,
                      (long long)a->as.integer.least, (long long)a->as.integer.most, TYPED_MOST, typed);
    }
    *a->as.integer.into = number;
    return true;
}

static bool set_real(const args *line, const arg *a, const char *typed)
{
    char *end;
    double number = strtod(typed, &end);
    if (!starts_a_number(typed) || *end || end == typed || !isfinite(number) || number < a->as.real.least ||
        number > a->as.real.most) {
        return refuse(line, "--%s wants a number from %g to %g, not '%.*s'", a->name, a->as.real.least, a->as.real.most,
                      TYPED_MOST, typed);
    }
    *a->as.real.into = number;
    return true;
}

static bool set_value(const args *line, const arg *a, const char *typed)
{
    switch (a->type) {
    case ARG_IS_FLAG:
        *a->as.flag.into = typed != NULL;
        return true;
    case ARG_IS_INTEGER:
        return set_integer(line, a, typed);
    case ARG_IS_REAL:
        return set_real(line, a, typed);
    case ARG_IS_TEXT:
        if (typed && !*typed) {
            return refuse(line, "--%s wants a %s, not an empty text", a->name, a->value);
        }
        break;
    }
    *a->as.text.into = typed;
    return true;
}

/* ---- names ---- */

/* Letters to insert, remove, change or swap with a neighbour to turn a into b; names longer than
 * the table count as far apart. */
static int edit_distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    int cost[MOST + 1][MOST + 1];
    int n = (int)strlen(a), m = (int)strlen(b);
    if (n > MOST || m > MOST) {
        return MOST;
    }
    for (int i = 0; i <= n; i++) {
        for (int j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            int best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = best < cost[i - 1][j] + 1 ? best : cost[i - 1][j] + 1;
            best = best < cost[i][j - 1] + 1 ? best : cost[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && cost[i - 2][j - 2] + 1 < best) {
                best = cost[i - 2][j - 2] + 1;
            }
            cost[i][j] = best;
        }
    }
    return cost[n][m];
}

/* The name that was probably meant, or NULL. The beginning of a name counts as one slip. */
static const char *nearest_name(const args *line, const char *typed)
{
    const char *nearest = NULL;
    int length = (int)strlen(typed), least = (length > 9 ? 9 : length) / 3 + 2;
    for (int i = 0; i <= line->count; i++) {
        const char *name = i < line->count ? line->table[i].name : "help";
        int distance = edit_distance(typed, name);
        if (length >= 2 && strncmp(typed, name, (size_t)length) == 0) {
            distance = 1;
        }
        if (distance < least) {
            least = distance;
            nearest = name;
        }
    }
    return nearest;
}

/* The row of --name, or -1; *typed becomes the text after '=' or NULL. */
static int find_option(const args *line, char *word, char **typed)
{
    *typed = NULL;
    if (word[0] != '-' || word[1] != '-') {
        return -1;
    }
    size_t length = strcspn(word + 2, "=");
    for (int i = 0; i < line->count; i++) {
        const char *name = line->table[i].name;
        if (strlen(name) == length && memcmp(name, word + 2, length) == 0) {
            *typed = word[2 + length] ? word + 2 + length + 1 : NULL;
            return i;
        }
    }
    return -1;
}

static bool refuse_unknown(const args *line, const char *word)
{
    char name[TYPED_MOST + 1];
    int dashes = word[1] == '-' ? 2 : 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + dashes, "="), word + dashes);
    const char *nearest = nearest_name(line, name);
    if (nearest) {
        return refuse(line, "unknown option %.*s%s: did you mean --%s?", dashes, word, name, nearest);
    }
    return refuse(line, "unknown option %.*s%s", dashes, word, name);
}

/* ---- the walk over argv ---- */

/* Reads the option at argv[*at], leaving *at on its last word. */
static bool parse_option(args *line, uint64_t *seen, int argc, char **argv, int *at)
{
    char *typed;
    int row = find_option(line, argv[*at], &typed);
    if (row < 0) {
        return refuse_unknown(line, argv[*at]);
    }
    const arg *a = &line->table[row];
    if (*seen >> row & 1) {
        return refuse(line, "--%s is given twice", a->name);
    }
    *seen |= (uint64_t)1 << row;
    if (a->type == ARG_IS_FLAG) {
        return typed ? refuse(line, "--%s takes no value", a->name) : set_value(line, a, "");
    }
    if (!typed) {
        if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0) {
            return refuse(line, "--%s needs a value (%s)", a->name, a->value);
        }
        typed = argv[++*at];
    }
    return set_value(line, a, typed);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

static bool parse_words(args *line, int argc, char **argv)
{
    uint64_t seen = 0;
    for (int i = 0; i < line->count; i++) {
        const arg *a = &line->table[i];
        bool number = a->type == ARG_IS_INTEGER || a->type == ARG_IS_REAL;
        if ((a->fallback || !number) && !set_value(line, a, a->fallback)) {
            return false;
        }
    }
    line->operands = argc > 0 ? argv + 1 : argv;
    line->operand_count = 0;
    bool options = true;
    for (int i = 1; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && argv[i][0] == '-' && argv[i][1]) {
            if (!parse_option(line, &seen, argc, argv, &i)) {
                return false;
            }
        } else if (line->operand_count == line->most_operands) {
            return refuse(line, "'%.*s' is one word too many", TYPED_MOST, argv[i]);
        } else {
            line->operands[line->operand_count++] = argv[i];
        }
    }
    if (line->operand_count < line->least_operands) {
        return refuse(line, "%s is missing", line->operand);
    }
    return true;
}

bool args_parse(args *line, int argc, char **argv, int *status)
{
    if (asks_for_help(argc, argv)) {
        print_help(line);
        *status = 0;
        return false;
    }
    *status = 2;
    return parse_words(line, argc, argv);
}
