/* past.h - what was typed at the prompt, kept in a file from session to session. */
#ifndef EGRET_PAST_H
#define EGRET_PAST_H

#include <stddef.h>

enum { PAST_MOST = 2000 };

typedef struct past {
    char **line; /* the oldest first */
    size_t count;
} past;

/* What is in $XDG_STATE_HOME/egret/history (else ~/.local/state/egret/history); empty if that
 * cannot be read. */
past past_load(void);
void past_free(past *h);

/* Adds a line to the file, which other sessions may have changed, and replaces it as a whole. A
 * file that cannot be read or written is left: a prompt without a memory is better than none. */
void past_add(const char *line);

#endif
