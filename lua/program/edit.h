/* edit.h - lines from whoever types them: edited, remembered and completed on a terminal, plainly
 * read where they come from elsewhere. */
#ifndef EGRET_EDIT_H
#define EGRET_EDIT_H

#include <lua.h>
#include <stdbool.h>

#include "past.h"

typedef struct editor editor;

typedef enum edit_result {
    EDIT_LINE,
    EDIT_CLEARED, /* Ctrl-C: what was typed is not meant */
    EDIT_END
} edit_result;

/* An editor of standard input that completes by what is in L; NULL: out of memory. */
editor *editor_new(lua_State *L, bool terminal, const past *h);
void editor_free(editor *e);

/* Reads a line; *line is valid until the next call and has no newline. A space follows the prompt,
 * which is coloured if `colours`. */
edit_result editor_read(editor *e, const char *prompt, bool colours, const char **line);

/* Makes a line one that the arrow keys bring back. */
void editor_remember(editor *e, const char *line);

#endif
