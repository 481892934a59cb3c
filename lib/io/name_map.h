/* name_map.h - maps of names: their lines, the words of these, and whether they are in order. io.h has the rules. */
#ifndef EGRET_NAME_MAP_H
#define EGRET_NAME_MAP_H

#include <egret/base.h>

enum { EG__STARS_MOST = 9 };

typedef struct eg__span {
    const char *text;
    size_t length;
} eg__span;
bool eg__span_is(eg__span a, eg__span b);

typedef struct eg__map_line {
    int number;
    bool list, also;      /* "list: ..."; "+ ..." */
    eg__span first, ours; /* a list has no ours */
    const char *rest;     /* of the line, in words: layouts, or what is in the list */
} eg__map_line;

/* The next line that has words. `l` begins as zeros. */
bool eg__map_next(const char **at, eg__map_line *l);
/* The next word of a line; of no length at its end. */
eg__span eg__map_word(const char **at);
/* What is in the list of that name, or NULL. */
const char *eg__map_list(const char *map, eg__span name);
/* Both sides of "theirs=ours" in a list; false if it is no such thing. */
bool eg__map_pair(eg__span item, eg__span *theirs, eg__span *ours);
/* A number of a few digits; -1: it is none. */
int64_t eg__map_number(eg__span s);

/* EG_EINVAL, naming the line, for what is no map. What the others are given must be one. */
eg_status eg__map_check(const char *op, const char *map);

#endif
