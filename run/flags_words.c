/* flags_words.c - the words of a command line, with those of flag files in their place. */
#include <ctype.h>
#include <string.h>

#include "run/flags.h"

enum { FILES_MOST = 64, DEPTH_MOST = 8, BYTES_MOST = 1 << 20 };

typedef struct reading {
    eg_flags *line;
    char **texts;
    flag_origin *origins;
    int count, capacity, files;
    size_t bytes;
    bool ended; /* by a word -- */
    int *status;
} reading;

static bool grow(reading *r)
{
    int capacity = r->capacity ? 2 * r->capacity : 64;
    char **texts = flags_keep(r->line, (size_t)capacity * sizeof *texts, r->status);
    flag_origin *origins = texts ? flags_keep(r->line, (size_t)capacity * sizeof *origins, r->status) : NULL;
    if (!origins) {
        return false;
    }
    if (r->count) {
        memcpy(texts, r->texts, (size_t)r->count * sizeof *texts);
        memcpy(origins, r->origins, (size_t)r->count * sizeof *origins);
    }
    r->texts = texts;
    r->origins = origins;
    r->capacity = capacity;
    return true;
}

static bool add_word(reading *r, char *text, flag_origin from)
{
    if (r->count == r->capacity && !grow(r)) {
        return false;
    }
    r->ended = r->ended || strcmp(text, "--") == 0;
    r->texts[r->count] = text;
    r->origins[r->count++] = from;
    return true;
}

/* Returns whether the word is --flagfile or -flagfile. *value: the text after =, NULL without one. */
static bool is_flag_file(const eg_flags *line, const char *word, const char **value)
{
    const eg_flag *own = &standard_flags[FLAG_FLAGFILE];
    if (word[0] != '-' || line == NULL) {
        return false;
    }
    const char *name = word + (word[1] == '-' ? 2 : 1);
    size_t length = strcspn(name, "=");
    *value = name[length] ? name + length + 1 : NULL;
    return flag_is(own->name, name, length) && flag_find(line, own->name, strlen(own->name)) == own;
}

static bool refuse_without_value(const eg_flags *line)
{
    return flags_refuse(line, "--flagfile needs a value (FILE)");
}

static bool add_file(reading *r, const char *path, int depth);

/* One line of a file: a word, a flag and its value, or another file. */
static bool add_line(reading *r, char *text, flag_origin from, int depth)
{
    const char *value = NULL;
    char *end = text + strcspn(text, " \t="), *rest = *end && *end != '=' ? end + 1 : NULL;
    if (!*text || *text == '#' || strncmp(text, "//", 2) == 0) {
        return true;
    }
    if (*text == '-' && rest) {
        *end = '\0';
        rest = flags_trim(rest);
    } else {
        rest = NULL;
    }
    if (!r->ended && is_flag_file(r->line, text, &value)) {
        value = value ? value : rest;
        return value ? add_file(r, value, depth + 1) : refuse_without_value(r->line);
    }
    return add_word(r, text, from) && (!rest || add_word(r, rest, from));
}

static bool add_file(reading *r, const char *path, int depth)
{
    size_t length;
    if (depth > DEPTH_MOST) {
        return flags_refuse(r->line, "%.120s: flag files are nested more than %d deep: does one name itself?", path,
                            DEPTH_MOST);
    }
    if (++r->files > FILES_MOST) {
        return flags_refuse(r->line, "%.120s: there are more than %d flag files", path, FILES_MOST);
    }
    char *text = flags_read_text(r->line, path, BYTES_MOST - r->bytes, &length, r->status);
    bool good = text != NULL;
    r->bytes += good ? length : 0;
    flag_origin from = {.file = path, .line = 1};
    for (char *at = text, *next; at && good; at = next, from.line++) {
        next = strchr(at, '\n');
        if (next) {
            *next++ = '\0';
        }
        good = add_line(r, flags_trim(at), from, depth);
    }
    return good;
}

static bool has_flag_file(const eg_flags *line, int argc, char **argv)
{
    const char *value;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (is_flag_file(line, argv[i], &value)) {
            return true;
        }
    }
    return false;
}

bool flags_expand(eg_flags *line, int argc, char **argv, flag_words *words, int *status)
{
    reading r = {.line = line, .status = status};
    bool good = true;
    *words = (flag_words){.texts = argv, .count = argc};
    if (!has_flag_file(line, argc, argv)) {
        return true;
    }
    for (int i = 0; i < argc && good; i++) {
        const char *value = NULL;
        if (i == 0 || r.ended || !is_flag_file(line, argv[i], &value)) {
            good = add_word(&r, argv[i], (flag_origin){.file = NULL});
        } else {
            value = value ? value : ++i < argc ? argv[i] : NULL;
            good = value ? add_file(&r, value, 1) : refuse_without_value(line);
        }
    }
    *words = (flag_words){.texts = r.texts, .origins = r.origins, .count = r.count};
    return good;
}
