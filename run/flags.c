/* flags.c - the walk over a command line; see egret/run/flags.h. */
#include "run/flags.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    [FLAG_FLAGFILE] = {.name = "flagfile",
                       .kind = EG_FLAG_IS_TEXT,
                       .value = "FILE",
                       .help = "a file of flags, one per line, read in place of this flag"},
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

flag_match flag_look_up(const eg_flags *line, const char *given, size_t length)
{
    const eg_flag *f = flag_find(line, given, length);
    for (int i = 0; i < line->alias_count && !f; i++) {
        const eg_flag_alias *a = &line->aliases[i];
        if (flag_is(a->name, given, length)) {
            f = a->flag ? flag_find(line, a->flag, strlen(a->flag)) : NULL;
            return (flag_match){.flag = f, .alias = f || !a->flag ? a : NULL};
        }
    }
    return (flag_match){.flag = f};
}

bool flag_is_bool(flag_match m)
{
    return m.alias && (m.alias->value || !m.alias->flag) ? m.alias->value || m.alias->is_bool
                                                         : m.flag && m.flag->kind == EG_FLAG_IS_BOOL;
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

/* Returns the edit distance between a name and the typed word, at most `most`. A prefix of a name has distance 1. */
static int slips(const char *name, const char *typed, int most)
{
    size_t length = strlen(typed);
    int distance = length >= 2 && strncmp(typed, name, length) == 0 ? 1 : edit_distance(typed, name);
    return distance < most ? distance : most;
}

/* The name that was probably meant, or NULL. */
static const char *nearest_name(const eg_flags *line, const char *typed)
{
    const char *nearest = NULL;
    int length = (int)strlen(typed), least = (length > 9 ? 9 : length) / 3 + 2;
    for (int i = 0; i < flag_rows(line) + line->alias_count; i++) {
        const eg_flag *f = i < flag_rows(line) ? flag_at(line, i) : NULL;
        const char *name = i >= flag_rows(line) ? line->aliases[i - flag_rows(line)].name : f ? f->name : NULL;
        int distance = name ? slips(name, typed, least) : least;
        if (distance < least) {
            least = distance;
            nearest = name;
        }
    }
    return nearest;
}

static bool refuse_unknown(const eg_flags *line, const char *place, const char *word)
{
    char name[TYPED_MOST + 1];
    int dashes = word[1] == '-' ? 2 : 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + dashes, "="), word + dashes);
    const char *nearest = nearest_name(line, name);
    return flags_refuse(line, "%sunknown flag %.*s%s%s%s%s", place, dashes, word, name,
                        nearest ? ": did you mean --" : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* ---- memory ---- */

struct eg_flags_text {
    eg_flags_text *next;
    max_align_t room[];
};

void *flags_keep(eg_flags *line, size_t size, int *status)
{
    eg_flags_text *text = malloc(sizeof *text + size);
    if (!text) {
        *status = 1;
        fprintf(flags_err(line), "%s: out of memory\n", line->program);
        return NULL;
    }
    text->next = line->texts;
    line->texts = text;
    return text->room;
}

void eg_flags_free(eg_flags *line)
{
    while (line->texts) {
        eg_flags_text *next = line->texts->next;
        free(line->texts);
        line->texts = next;
    }
}

/* ---- the walk over the words ---- */

static bool set_defaults(eg_flags *line)
{
    bool good = true;
    int status;
    for (int i = 0; i < line->count && good; i++) {
        const eg_flag *f = &line->table[i];
        if (f->fallback) {
            good = flag_set(line, "the default of --", f, f->fallback, &status);
        } else if (f->kind == EG_FLAG_IS_TEXT) {
            *f->as.text.into = NULL;
        } else if (f->kind == EG_FLAG_IS_BOOL) {
            *f->as.flag.into = false;
        }
    }
    return good;
}

/* What one word, and perhaps the next, say. */
typedef struct given {
    flag_match match;  /* of nothing: there is no such flag */
    const char *value; /* NULL: none was typed */
    int words;
} given;

static bool is_flag(const char *word)
{
    return word[0] == '-' && word[1];
}

/* --no-name and --noname, which is TensorFlow's way. */
static given read_negated(const eg_flags *line, const char *name)
{
    size_t skip = name[2] == '-' || name[2] == '_' ? 3 : 2;
    flag_match m = flag_look_up(line, name + skip, strlen(name + skip));
    bool is_bool = flag_is_bool(m) && (!m.flag || m.flag->kind != EG_FLAG_IS_BOOL || m.flag->as.flag.into);
    return (given){.match = is_bool ? m : (flag_match){.flag = NULL}, .value = "false", .words = 1};
}

static given read_flag(const eg_flags *line, const flag_words *words, int at)
{
    const char *word = words->texts[at], *next = at + 1 < words->count ? words->texts[at + 1] : NULL;
    const char *name = word + (word[1] == '-' ? 2 : 1);
    size_t length = strcspn(name, "=");
    given g = {.match = flag_look_up(line, name, length), .value = name[length] ? name + length + 1 : NULL, .words = 1};
    bool known = g.match.flag || g.match.alias;
    if (!known && strcmp(word, "-h") == 0) {
        return (given){.match = {.flag = &standard_flags[FLAG_HELP]}, .words = 1};
    }
    if (!known) {
        return strncmp(name, "no", 2) == 0 && !g.value ? read_negated(line, name) : g;
    }
    bool takes = flag_is_bool(g.match) ? next && (strcasecmp(next, "true") == 0 || strcasecmp(next, "false") == 0)
                                       : next && strncmp(next, "--", 2) != 0;
    if (!g.value && takes) {
        g.value = next;
        g.words = 2;
    }
    return g;
}

/* What the standard flags ask for; *stop if it is done with that. */
static bool heed_standard(eg_flags *line, const flag_words *words, int *status, bool *stop)
{
    const char *config = NULL;
    for (int i = 1; i < words->count && strcmp(words->texts[i], "--") != 0;) {
        given g = is_flag(words->texts[i]) ? read_flag(line, words, i) : (given){.words = 1};
        const eg_flag *f = g.match.alias || line->known_only ? NULL : g.match.flag;
        *stop = true;
        if (f == &standard_flags[FLAG_HELP]) {
            flags_print_help(line);
            return true;
        }
        if (f == &standard_flags[FLAG_MAN]) {
            flags_print_man(line);
            return true;
        }
        if (f == &standard_flags[FLAG_COMPLETION]) {
            return (g.value && flags_print_completion(line, g.value)) ||
                   flags_refuse(line, "--completion is of bash, zsh or fish");
        }
        *stop = false;
        config = g.match.flag == &standard_flags[FLAG_CONFIG] ? g.value : config;
        i += g.words;
    }
    return !config || flags_read_file(line, config, status);
}

/* Prefix of an error message: empty, or the file and line of the word. */
typedef struct place {
    char text[160];
} place;

static place place_of(const flag_words *words, int at)
{
    place p = {""};
    if (words->origins && words->origins[at].file) {
        snprintf(p.text, sizeof p.text, "%.120s:%d: ", words->origins[at].file, words->origins[at].line);
    }
    return p;
}

/* Returns whether the flag was given twice on the command line itself; in flag files the last value counts. */
static bool seen_before(const eg_flags *line, const eg_flag *f, bool *seen, bool typed)
{
    bool *before = &seen[f >= line->table && f < line->table + line->count ? (int)(f - line->table) : FLAGS_MOST];
    bool was = *before;
    *before = was || typed;
    return was && typed;
}

static bool set_given(eg_flags *line, const flag_words *words, int at, const given *g, bool *seen, int *status)
{
    const place where = place_of(words, at);
    const eg_flag *f = g->match.flag, *row = NULL;
    const char *name = g->match.alias ? g->match.alias->name : f ? f->name : NULL;
    char dashed[sizeof where.text + 2];
    if (!name) {
        return line->known_only || refuse_unknown(line, where.text, words->texts[at]);
    }
    if (!g->value && !flag_is_bool(g->match)) {
        return flags_refuse(line, "%s--%s needs a value (%s)", where.text, name, f && f->value ? f->value : "any");
    }
    bool good = true;
    if (f >= standard_flags && f < standard_flags + STANDARD_FLAGS) {
        row = f;
    } else {
        snprintf(dashed, sizeof dashed, "%s--", where.text);
        good = flag_set_match(line, dashed, g->match, g->value ? g->value : "true", &row, status);
    }
    if (good && row && seen_before(line, row, seen, !*where.text)) {
        return flags_refuse(line, "--%s is given twice", row->name);
    }
    return good;
}

static bool parse_words(eg_flags *line, const flag_words *words, int *status)
{
    bool seen[FLAGS_MOST + 1] = {false}, good = true, flags = true;
    line->operands = words->count > 0 ? words->texts + 1 : words->texts;
    line->operand_count = 0;
    for (int i = 1; i < words->count && good;) {
        int taken = 1;
        if (flags && strcmp(words->texts[i], "--") == 0) {
            flags = false;
        } else if (flags && is_flag(words->texts[i])) {
            given g = read_flag(line, words, i);
            good = set_given(line, words, i, &g, seen, status);
            taken = g.words;
        } else if (line->operand_count == line->most_operands && !line->known_only) {
            good = flags_refuse(line, "%s'%.*s' is one word too many", place_of(words, i).text, TYPED_MOST,
                                words->texts[i]);
        } else if (!line->known_only) {
            line->operands[line->operand_count++] = words->texts[i];
        }
        i += taken;
    }
    if (good && line->operand_count < line->least_operands) {
        return flags_refuse(line, "%s is missing", line->operand);
    }
    return good;
}

bool eg_flags_parse(eg_flags *line, int argc, char **argv, int *status)
{
    bool stop = false;
    flag_words words;
    *status = 2;
    line->texts = NULL;
    if (line->count > FLAGS_MOST) {
        return flags_refuse(line, "a table has at most %d flags, not %d", FLAGS_MOST, line->count);
    }
    bool sound = set_defaults(line), good = sound && flags_expand(line, argc, argv, &words, status);
    good = good && heed_standard(line, &words, status, &stop);
    *status = good && stop ? 0 : *status;
    good = good && !stop && parse_words(line, &words, status);
    if (!good) {
        eg_flags_free(line);
        if (sound) {
            set_defaults(line); /* no target keeps a text that is gone */
        }
    }
    return good;
}
