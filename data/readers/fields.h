/* fields.h - a line's fields. */
#ifndef EGRET_FIELDS_H
#define EGRET_FIELDS_H

#include "data/readers/bytes.h"

typedef struct eg__field {
    int64_t at, n;
} eg__field;

typedef struct eg__fields {
    eg__field *of;
    uint32_t n, room;
} eg__fields;

/* Between separators; with 0 as separator between blanks and tabs, of which there may be any number. False: no memory.
 */
bool eg__fields_split(eg__fields *f, const eg__bytes *line, char separator);
void eg__fields_free(eg__fields *f);
bool eg__field_is(const eg__bytes *line, eg__field f, const char *word);

#endif
