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

/* The whole file with a 0 behind it, for free; NULL where errno says why. */
static char *read_whole(const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    char *text = file ? malloc(FILE_MOST + 1) : NULL;
    size_t length = text ? fread(text, 1, FILE_MOST + 1, file) : 0;
    bool is_file = file && fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode);
    if (text && (!is_file || ferror(file) || length > FILE_MOST)) {
        errno = length > FILE_MOST ? EFBIG : is_file ? EIO : EINVAL;
        free(text);
        text = NULL;
    }
    if (file) {
        int error = errno;
        fclose(file);
        errno = error;
    }
    if (text) {
        text[length] = '\0';
    }
    return text;
}

/* Without the white space around it; ends it there. */
static char *trimmed(char *text)
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

static bool set_line(const eg_flags *line, const char *place, char *text, bool *seen)
{
    char *name = trimmed(text);
    if (!*name || *name == '#') {
        return true;
    }
    char *value = strchr(name, '=');
    if (!value) {
        return flags_refuse(line, "%sa line is name = value, not '%.60s'", place, name);
    }
    *value++ = '\0';
    name = trimmed(name);
    const eg_flag *f = flag_find(line, name, strlen(name));
    if (!f || f < line->table || f >= line->table + line->count) {
        return flags_refuse(line, "%sthere is no flag '%.60s'", place, name);
    }
    if (seen[f - line->table]) {
        return flags_refuse(line, "%s%s is there twice", place, f->name);
    }
    seen[f - line->table] = true;
    return flag_set(line, place, f, trimmed(value));
}

bool flags_read_file(eg_flags *line, const char *path, int *status)
{
    bool seen[FLAGS_MOST] = {false}, good = true;
    line->file = read_whole(path);
    if (!line->file) {
        *status = 1;
        fprintf(flags_err(line), "%s: cannot read %s: %s\n", line->program, path, strerror(errno));
        return false;
    }
    int number = 1;
    for (char *at = line->file, *next; at && good; at = next, number++) {
        char place[160];
        snprintf(place, sizeof place, "%.120s:%d: ", path, number);
        next = strchr(at, '\n');
        if (next) {
            *next++ = '\0';
        }
        good = set_line(line, place, at, seen);
    }
    return good;
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
