/* names.c - lists of files. */
#define _POSIX_C_SOURCE 200809L
#include <glob.h>
#include <stdlib.h>

#include "data/readers/stream.h"
#include "lib/core/counted.h"

bool eg__names_add(eg__names *names, const char *name, size_t length)
{
    if (names->n == names->capacity && !eg__counted_grow(&names->name, &names->capacity, sizeof *names->name)) {
        return false;
    }
    char *copy = eg__counted_alloc(length + 1);
    if (copy) {
        memcpy(copy, name, length);
        copy[length] = 0;
        names->name[names->n++] = copy;
    }
    return copy != NULL;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void eg__names_sort(eg__names *names)
{
    if (names->n > 1) {
        qsort(names->name, names->n, sizeof *names->name, by_bytes);
    }
}

void eg__names_free(eg__names *names)
{
    while (names->n) {
        eg__counted_free(names->name[--names->n]);
    }
    eg__counted_free(names->name);
    *names = (eg__names){0};
}

eg_status eg__names_match(eg__names *names, const char *op, const char *pattern)
{
    glob_t found = {0};
    *names = (eg__names){0};
    if (!pattern) {
        return eg__null_argument(op, "pattern");
    }
    int r = glob(pattern, 0, NULL, &found);
    eg_status st = EG_OK;
    if (r == GLOB_NOSPACE) {
        st = eg__no_memory(op, 0);
    } else if (r || !found.gl_pathc) {
        st = eg__fail(EG_EIO, op, "no file matches \"%.180s\"", pattern);
    }
    for (size_t i = 0; !st && i < found.gl_pathc; i++) {
        if (!eg__names_add(names, found.gl_pathv[i], strlen(found.gl_pathv[i]))) {
            st = eg__no_memory(op, 0);
        }
    }
    globfree(&found);
    if (st) {
        eg__names_free(names);
    }
    eg__names_sort(names);
    return st;
}
