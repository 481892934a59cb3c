/* flags_values.c - what is typed as a value: bools, numbers, texts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "run/flags.h"

enum { TYPED_MOST = 60 };

static bool starts_a_number(const char *typed)
{
    return *typed && strchr("+-.0123456789", *typed);
}

/* An integer: digits, or a float without a fraction, 32.0 or 1e2, that a double holds exactly. */
static bool read_integer(const char *typed, int64_t *into)
{
    char *end;
    errno = 0;
    *into = strtoll(typed, &end, 10);
    if (!starts_a_number(typed) || end == typed) {
        return false;
    }
    if (!*end) {
        return !errno;
    }
    double number = typed[strspn(typed, "+-.0123456789eE")] ? (double)NAN : strtod(typed, &end);
    if (*end || !(fabs(number) <= 0x1p53) || number != floor(number)) {
        return false;
    }
    *into = (int64_t)number;
    return true;
}

static bool set_integer(const eg_flags *line, const char *place, const eg_flag *f, const char *typed)
{
    int64_t number;
    if (!read_integer(typed, &number) || number < f->as.integer.least || number > f->as.integer.most) {
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

bool flag_read_bool(const char *typed, bool *into)
{
    static const char *const words[] = {"false", "true", "f", "t", "no", "yes", "n", "y", "off", "on", "0", "1"};
    for (int i = 0; i < EG_FLAG_COUNT(words); i++) {
        if (strcasecmp(typed, words[i]) == 0) {
            *into = i % 2;
            return true;
        }
    }
    return false;
}

static bool set_bool(const eg_flags *line, const char *place, const eg_flag *f, const char *typed)
{
    return flag_read_bool(typed, f->as.flag.into) ||
           flags_refuse(line, "%s%s wants true or false, not '%.*s'", place, f->name, TYPED_MOST, typed);
}

/* Returns the matching choice of a list separated by |, NULL if there is none. */
static const char *find_choice(const char *choices, const char *typed, bool any_case)
{
    size_t length = strlen(typed);
    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        if (strcspn(at, "|") == length &&
            (any_case ? strncasecmp(at, typed, length) : strncmp(at, typed, length)) == 0) {
            return at;
        }
    }
    return NULL;
}

/* One of the choices, spelled as the table has it. */
static bool set_choice(eg_flags *line, const char *place, const eg_flag *f, const char *typed, int *status)
{
    if (!*typed && !f->fallback) { /* as if it were not given */
        *f->as.text.into = NULL;
        return true;
    }
    if (find_choice(f->choices, typed, false)) {
        *f->as.text.into = typed;
        return true;
    }
    const char *choice = find_choice(f->choices, typed, true);
    if (!choice) {
        return flags_refuse(line, "%s%s is one of %s, not '%.*s'", place, f->name, f->choices, TYPED_MOST, typed);
    }
    size_t length = strlen(typed);
    char *copy = flags_keep(line, length + 1, status);
    if (copy) {
        memcpy(copy, choice, length);
        copy[length] = '\0';
        *f->as.text.into = copy;
    }
    return copy != NULL;
}

static bool set_text(eg_flags *line, const char *place, const eg_flag *f, const char *typed, int *status)
{
    if (f->choices) {
        return set_choice(line, place, f, typed, status);
    }
    if (!*typed) {
        return flags_refuse(line, "%s%s wants a %s, not an empty text", place, f->name, f->value);
    }
    *f->as.text.into = typed;
    return true;
}

bool flag_set(eg_flags *line, const char *place, const eg_flag *f, const char *typed, int *status)
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
    return set_text(line, place, f, typed, status);
}

bool flag_set_match(eg_flags *line, const char *place, flag_match m, const char *typed, const eg_flag **row,
                    int *status)
{
    bool given = true;
    *row = m.flag;
    if (!m.flag) {
        fprintf(flags_err(line), "%s: warning: %s%s is ignored: %s\n", line->program, place, m.alias->name,
                m.alias->reason);
        return true;
    }
    if (!m.alias || !m.alias->value) {
        return flag_set(line, place, m.flag, typed, status);
    }
    if (!flag_read_bool(typed, &given)) {
        return flags_refuse(line, "%s%s wants true or false, not '%.*s'", place, m.alias->name, TYPED_MOST, typed);
    }
    *row = given ? m.flag : NULL;
    return !given || flag_set(line, place, m.flag, m.alias->value, status);
}
