/* flags_file.c - settings in a file: lines of `name = value`. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <egret/io.h>

#include "run/flags.h"

enum { FILE_MOST = 1 << 20 };

/* ---- reading ---- */

/* The text with a 0 behind it; NULL where errno says why, EFBIG: it is longer than that. */
static char *read_whole(eg_flags *line, FILE *file, size_t most, size_t *length, int *status)
{
    struct stat info;
    if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
        errno = EINVAL;
        return NULL;
    }
    size_t room = (size_t)info.st_size < most ? (size_t)info.st_size : most;
    char *text = flags_keep(line, room + 2, status);
    if (!text) {
        errno = 0; /* which was reported */
        return NULL;
    }
    *length = fread(text, 1, room + 1, file);
    text[*length] = '\0';
    errno = ferror(file) ? EIO : *length > most ? EFBIG : *length > room ? EINVAL : 0; /* of a size of its own */
    return errno ? NULL : text;
}

char *flags_read_text(eg_flags *line, const char *path, size_t most, size_t *length, int *status)
{
    FILE *file = fopen(path, "rb");
    int before = *status;
    *status = 1;
    *length = 0;
    char *text = file ? read_whole(line, file, most, length, status) : NULL;
    int error = errno;
    if (file) {
        fclose(file);
    }
    if (text && memchr(text, 0, *length)) {
        fprintf(flags_err(line), "%s: %s is not a text file: it has zero bytes\n", line->program, path);
        return NULL;
    }
    if (!text && error) {
        fprintf(flags_err(line), "%s: cannot read %s: %s\n", line->program, path, strerror(error));
    }
    *status = text ? before : 1;
    return text;
}

char *flags_trim(char *text)
{
    static const char white[] = " \t\r";
    text += strspn(text, white);
    size_t length = strlen(text);
    while (length && strchr(white, text[length - 1])) {
        length--;
    }
    text[length] = '\0';
    return text;
}

static bool set_line(eg_flags *line, const char *place, char *text, bool *seen, int *status)
{
    char *name = flags_trim(text);
    if (!*name || *name == '#') {
        return true;
    }
    char *value = strchr(name, '=');
    if (!value) {
        return flags_refuse(line, "%sa line is name = value, not '%.60s'", place, name);
    }
    *value++ = '\0';
    name = flags_trim(name);
    flag_match m = flag_look_up(line, name, strlen(name));
    bool standard = m.flag && (m.flag < line->table || m.flag >= line->table + line->count);
    if (standard || (!m.flag && !m.alias)) {
        return line->known_only || flags_refuse(line, "%sthere is no flag '%.60s'", place, name);
    }
    const eg_flag *row;
    bool *before = m.flag ? &seen[m.flag - line->table] : NULL;
    if (before && *before) {
        return flags_refuse(line, "%s%s is there twice", place, m.flag->name);
    }
    bool good = flag_set_match(line, place, m, flags_trim(value), &row, status);
    if (before && row) {
        *before = true;
    }
    return good;
}

bool flags_read_file(eg_flags *line, const char *path, int *status)
{
    bool seen[FLAGS_MOST] = {false}, good = true;
    size_t length;
    char *text = flags_read_text(line, path, FILE_MOST, &length, status);
    int number = 1;
    for (char *at = text, *next; at && good; at = next, number++) {
        char place[160];
        snprintf(place, sizeof place, "%.120s:%d: ", path, number);
        next = strchr(at, '\n');
        if (next) {
            *next++ = '\0';
        }
        good = set_line(line, place, at, seen, status);
    }
    return text && good;
}

/* ---- writing ---- */

static void print_value(FILE *to, const eg_flag *f)
{
    switch (f->kind) {
    case EG_FLAG_IS_GROUP:
        break;
    case EG_FLAG_IS_BOOL:
        fprintf(to, "%s = %s\n", f->name, *f->as.flag.into ? "true" : "false");
        break;
    case EG_FLAG_IS_INTEGER:
        fprintf(to, "%s = %lld\n", f->name, (long long)*f->as.integer.into);
        break;
    case EG_FLAG_IS_REAL:
        fprintf(to, "%s = %.17g\n", f->name, *f->as.real.into);
        break;
    case EG_FLAG_IS_TEXT:
        if (*f->as.text.into && !strpbrk(*f->as.text.into, "\r\n")) {
            fprintf(to, "%s = %s\n", f->name, *f->as.text.into);
        }
        break;
    }
}

eg_status eg_flags_save(const eg_flags *line, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to) {
        return eg_failf(EG_ENOMEM, "eg_flags_save", "out of memory");
    }
    fprintf(to, "# %s --config FILE takes these lines.\n", line->program);
    for (int i = 0; i < line->count; i++) {
        const eg_flag *f = &line->table[i];
        fprintf(to, f->kind == EG_FLAG_IS_GROUP ? "\n# ---- %s ----\n" : "\n# %s\n",
                f->kind == EG_FLAG_IS_GROUP ? f->name : f->help);
        print_value(to, f);
    }
    bool good = !ferror(to);
    good = fclose(to) == 0 && good;
    eg_status st = good ? eg_file_write(path, text, length) : eg_failf(EG_ENOMEM, "eg_flags_save", "out of memory");
    free(text);
    return st;
}
