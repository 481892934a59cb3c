/* flags.c - the walk over a command line; see egret/run/flags.h. */
#include "run/flags.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TYPED_MOST = 60 };

const eg_flag standard_flags[STANDARD_FLAGS] = {
    [FLAG_HELP] = {.name = "help", .kind = EG_FLAG_IS_BOOL, .help = "show this and stop"},
    [FLAG_MAN] = {.name = "man", .kind = EG_FLAG_IS_BOOL, .help = "write this as a manual page and stop"},
    [FLAG_COMPLETION] = {.name = "completion",
                         .kind = EG_FLAG_IS_TEXT,
                         .value = "SHELL",
                         .choices = "bash|zsh|fish",
                         .help = "write what bash, zsh or fish needs to complete these, and stop"},
    [FLAG_CONFIG] = {.name = "config",
                     .kind = EG_FLAG_IS_TEXT,
                     .value = "FILE",
                     .help = "lines of name = value to begin with; what is typed outranks them"},
};

bool flags_refuse(const eg_flags *line, const char *format, ...)
{
    FILE *err = flags_err(line);
    va_list values;
    va_start(values, format);
    fprintf(err, "%s: ", line->program);
    vfprintf(err, format, values);
    va_end(values);
    fputc('\n', err);
    flags_print_usage(err, line);
    fprintf(err, "%s --help explains the flags\n", line->program);
    return false;
}

/* ---- names ---- */

static char plain(char c)
{
    return c == '_' ? '-' : c;
}

bool flag_is(const char *name, const char *given, size_t length)
{
    size_t i = 0;
    while (i < length && name[i] && plain(name[i]) == plain(given[i])) {
        i++;
    }
    return i == length && !name[i];
}

const eg_flag *flag_at(const eg_flags *line, int i)
{
    if (i < line->count) {
        return line->table[i].kind == EG_FLAG_IS_GROUP ? NULL : &line->table[i];
    }
    const eg_flag *f = &standard_flags[i - line->count];
    return flag_find(line, f->name, strlen(f->name)) == f ? f : NULL;
}

const eg_flag *flag_find(const eg_flags *line, const char *given, size_t length)
{
    for (int i = 0; i < flag_rows(line); i++) {
        const eg_flag *f = i < line->count ? &line->table[i] : &standard_flags[i - line->count];
        if (f->kind != EG_FLAG_IS_GROUP && flag_is(f->name, given, length)) {
            return f;
        }
    }
    return NULL;
}

/* Letters to insert, remove, change or swap with a neighbour to turn a into b; names longer than the table count as far
 * apart. */
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
            int best = cost[i - 1][j - 1] + (plain(a[i - 1]) != plain(b[j - 1]));
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
static const char *nearest_name(const eg_flags *line, const char *typed)
{
    const char *nearest = NULL;
    int length = (int)strlen(typed), least = (length > 9 ? 9 : length) / 3 + 2;
    for (int i = 0; i < flag_rows(line); i++) {
        const eg_flag *f = flag_at(line, i);
        int distance = f ? edit_distance(typed, f->name) : least;
        if (f && length >= 2 && strncmp(typed, f->name, (size_t)length) == 0) {
            distance = 1;
        }
        if (distance < least) {
            least = distance;
            nearest = f->name;
        }
    }
    return nearest;
}

static bool refuse_unknown(const eg_flags *line, const char *word)
{
    char name[TYPED_MOST + 1];
    int dashes = word[1] == '-' ? 2 : 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + dashes, "="), word + dashes);
    const char *nearest = nearest_name(line, name);
    if (nearest) {
        return flags_refuse(line, "unknown flag %.*s%s: did you mean --%s?", dashes, word, name, nearest);
    }
    return flags_refuse(line, "unknown flag %.*s%s", dashes, word, name);
}

/* ---- values ---- */

static bool starts_a_number(const char *typed)
{
    return *typed && strchr("+-.0123456789", *typed);
}

static bool set_integer(const eg_flags *line, const char *place, const eg_flag *f, const char *typed)
{
    char *end;
    errno = 0;
    long long number = strtoll(typed, &end, 10);
    if (!starts_a_number(typed) || *end || end == typed || errno || number < f->as.integer.least ||
        number > f->as.integer.most) {
        return flags_refuse(line, "%s%s wants a whole number from %lld to %lld, not '%.*s'", place, f->name,
                            (long long)f->as.integer.least, (long long)f->as.integer.most, TYPED_MOST, typed);
    }
    *f->as.integer.into = number;
    return true;
}

static bool set_real(const eg_flags *line, const char *place, const eg_flag *f, const char *typed)
{
    char *end;
    double number = strtod(typed, &end);
    if (!starts_a_number(typed) || *end || end == typed || !isfinite(number) || number < f->as.real.least ||
        number > f->as.real.most) {
        return flags_refuse(line, "%s%s wants a number from %g to %g, not '%.*s'", place, f->name, f->as.real.least,
                            f->as.real.most, TYPED_MOST, typed);
    }
    *f->as.real.into = number;
    return true;
}

static bool set_bool(const eg_flags *line, const char *place, const eg_flag *f, const char *typed)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (int i = 0; i < EG_FLAG_COUNT(words); i++) {
        if (strcmp(typed, words[i]) == 0) {
            *f->as.flag.into = i % 2;
            return true;
        }
    }
    return flags_refuse(line, "%s%s wants true or false, not '%.*s'", place, f->name, TYPED_MOST, typed);
}

/* Whether the text is one of those between the |. */
static bool is_choice(const char *choices, const char *typed)
{
    size_t length = strlen(typed);
    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        if (strcspn(at, "|") == length && memcmp(at, typed, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool set_text(const eg_flags *line, const char *place, const eg_flag *f, const char *typed)
{
    if (!*typed) {
        return flags_refuse(line, "%s%s wants a %s, not an empty text", place, f->name, f->value);
    }
    if (f->choices && !is_choice(f->choices, typed)) {
        return flags_refuse(line, "%s%s is one of %s, not '%.*s'", place, f->name, f->choices, TYPED_MOST, typed);
    }
    *f->as.text.into = typed;
    return true;
}

bool flag_set(const eg_flags *line, const char *place, const eg_flag *f, const char *typed)
{
    switch (f->kind) {
    case EG_FLAG_IS_GROUP:
        return true;
    case EG_FLAG_IS_BOOL:
        return set_bool(line, place, f, typed);
    case EG_FLAG_IS_INTEGER:
        return set_integer(line, place, f, typed);
    case EG_FLAG_IS_REAL:
        return set_real(line, place, f, typed);
    case EG_FLAG_IS_TEXT:
        break;
    }
    return set_text(line, place, f, typed);
}

static bool set_defaults(const eg_flags *line)
{
    bool good = true;
    for (int i = 0; i < line->count && good; i++) {
        const eg_flag *f = &line->table[i];
        if (f->fallback) {
            good = flag_set(line, "the default of --", f, f->fallback);
        } else if (f->kind == EG_FLAG_IS_TEXT) {
            *f->as.text.into = NULL;
        } else if (f->kind == EG_FLAG_IS_BOOL) {
            *f->as.flag.into = false;
        }
    }
    return good;
}

/* ---- the walk over argv ---- */

/* What one word, and perhaps the next, say. */
typedef struct given {
    const eg_flag *flag; /* NULL: there is none of that name */
    const char *value;   /* NULL: none was typed */
    int words;
} given;

static given read_flag(const eg_flags *line, int argc, char **argv, int at)
{
    const char *word = argv[at];
    given g = {.words = 1};
    if (strcmp(word, "-h") == 0) {
        return (given){.flag = &standard_flags[FLAG_HELP], .words = 1};
    }
    if (word[1] != '-') {
        return g;
    }
    size_t length = strcspn(word + 2, "=");
    const char *equals = word[2 + length] ? word + 2 + length : NULL;
    g.flag = flag_find(line, word + 2, length);
    if (g.flag) {
        g.value = equals ? equals + 1 : NULL;
    } else if (strncmp(word, "--no", 4) == 0 && !equals) {
        size_t skip = word[4] == '-' || word[4] == '_' ? 5 : 4; /* --nofoo is TensorFlow's way */
        g.flag = flag_find(line, word + skip, strlen(word + skip));
        bool is_bool = g.flag && g.flag->kind == EG_FLAG_IS_BOOL && g.flag->as.flag.into;
        g = (given){.flag = is_bool ? g.flag : NULL, .value = "false", .words = 1};
    }
    if (g.flag && g.flag->kind != EG_FLAG_IS_BOOL && !equals && at + 1 < argc && strncmp(argv[at + 1], "--", 2) != 0) {
        g.value = argv[at + 1];
        g.words = 2;
    }
    return g;
}

/* What the standard flags ask for; *stop if it is done with that. */
static bool heed_standard(eg_flags *line, int argc, char **argv, int *status, bool *stop)
{
    const char *config = NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0;) {
        given g = argv[i][0] == '-' && argv[i][1] ? read_flag(line, argc, argv, i) : (given){.words = 1};
        *stop = true;
        if (g.flag == &standard_flags[FLAG_HELP]) {
            flags_print_help(line);
            return true;
        }
        if (g.flag == &standard_flags[FLAG_MAN]) {
            flags_print_man(line);
            return true;
        }
        if (g.flag == &standard_flags[FLAG_COMPLETION]) {
            return (g.value && flags_print_completion(line, g.value)) ||
                   flags_refuse(line, "--completion is of bash, zsh or fish");
        }
        *stop = false;
        config = g.flag == &standard_flags[FLAG_CONFIG] ? g.value : config;
        i += g.words;
    }
    return !config || flags_read_file(line, config, status);
}

static bool set_given(const eg_flags *line, const given *g, bool *seen, const char *word)
{
    const eg_flag *f = g->flag;
    if (!f) {
        return refuse_unknown(line, word);
    }
    bool *before = &seen[f >= line->table && f < line->table + line->count ? (int)(f - line->table) : FLAGS_MOST];
    if (*before) {
        return flags_refuse(line, "--%s is given twice", f->name);
    }
    *before = true;
    if (!g->value && f->kind != EG_FLAG_IS_BOOL) {
        return flags_refuse(line, "--%s needs a value (%s)", f->name, f->value);
    }
    return f == &standard_flags[FLAG_CONFIG] || flag_set(line, "--", f, g->value ? g->value : "true");
}

static bool parse_words(eg_flags *line, int argc, char **argv)
{
    bool seen[FLAGS_MOST + 1] = {false}, good = true, flags = true;
    line->operands = argc > 0 ? argv + 1 : argv;
    line->operand_count = 0;
    for (int i = 1; i < argc && good;) {
        int words = 1;
        if (flags && strcmp(argv[i], "--") == 0) {
            flags = false;
        } else if (flags && argv[i][0] == '-' && argv[i][1]) {
            given g = read_flag(line, argc, argv, i);
            good = set_given(line, &g, seen, argv[i]);
            words = g.words;
        } else if (line->operand_count == line->most_operands) {
            good = flags_refuse(line, "'%.*s' is one word too many", TYPED_MOST, argv[i]);
        } else {
            line->operands[line->operand_count++] = argv[i];
        }
        i += words;
    }
    if (good && line->operand_count < line->least_operands) {
        return flags_refuse(line, "%s is missing", line->operand);
    }
    return good;
}

bool eg_flags_parse(eg_flags *line, int argc, char **argv, int *status)
{
    bool stop = false;
    *status = 2;
    line->file = NULL;
    if (line->count > FLAGS_MOST) {
        return flags_refuse(line, "a table has at most %d flags, not %d", FLAGS_MOST, line->count);
    }
    bool sound = set_defaults(line), good = sound && heed_standard(line, argc, argv, status, &stop);
    *status = good && stop ? 0 : *status;
    good = good && !stop && parse_words(line, argc, argv);
    if (!good) {
        eg_flags_free(line);
        if (sound) {
            set_defaults(line); /* no target keeps a text of the file */
        }
    }
    return good;
}

void eg_flags_free(eg_flags *line)
{
    free(line->file);
    line->file = NULL;
}
