/* fields.c - a line's fields. */
#include "data/readers/fields.h"
#include "lib/core/counted.h"

#include <stdlib.h>

static bool add(eg__fields *f, int64_t begin, int64_t end)
{
    if (f->n == f->room && !eg__counted_grow(&f->of, &f->room, sizeof *f->of)) {
        return false;
    }
    f->of[f->n++] = (eg__field){begin, end - begin};
    return true;
}

static bool ends(uint8_t c, char separator)
{
    return separator ? c == (uint8_t)separator : c == ' ' || c == '\t';
}

bool eg__fields_split(eg__fields *f, const eg__bytes *line, char separator)
{
    bool ok = true;
    int64_t begin = 0;
    f->n = 0;
    for (int64_t i = 0; i <= line->n && ok; i++) {
        if (i == line->n || ends(line->p[i], separator)) {
            ok = (!separator && i == begin) || add(f, begin, i);
            begin = i + 1;
        }
    }
    return ok;
}

void eg__fields_free(eg__fields *f)
{
    eg__counted_free(f->of);
    *f = (eg__fields){0};
}

bool eg__field_is(const eg__bytes *line, eg__field f, const char *word)
{
    return f.n == (int64_t)strlen(word) && !memcmp(line->p + f.at, word, (size_t)f.n);
}
