/* json.h - reading JSON (RFC 8259), strictly, one token at a time, with no memory of its own. */
#ifndef EGRET_IO_JSON_H
#define EGRET_IO_JSON_H

#include <stdbool.h>
#include <stdint.h>

typedef enum eg__json_token {
    EG__JSON_ERROR, /* what and where: error, at */
    EG__JSON_END,
    EG__JSON_OBJECT,
    EG__JSON_OBJECT_END,
    EG__JSON_ARRAY,
    EG__JSON_ARRAY_END,
    EG__JSON_KEY, /* of an object; its value is the next token */
    EG__JSON_STRING,
    EG__JSON_NUMBER,
    EG__JSON_TRUE,
    EG__JSON_FALSE,
    EG__JSON_NULL,
} eg__json_token;

enum { EG__JSON_DEPTH = 64 };

typedef struct eg__json {
    char *s; /* strings are unescaped in place */
    int64_t size, at;
    int64_t start;  /* where the latest token began */
    char *text;     /* the latest key or string, ended by 0 (and may contain others), or number */
    int64_t length; /* of text */
    const char *error;
    uint64_t objects; /* bit d: level d is an object, else an array */
    int depth, want;
} eg__json;

/* Begins reading `size` bytes, which are changed by it. */
void eg__json_begin(eg__json *j, char *s, int64_t size);
eg__json_token eg__json_next(eg__json *j);
/* The latest number as an integer; false if it is none or does not fit. */
bool eg__json_integer(const eg__json *j, int64_t *v);
/* Whether the latest key or string is this word. */
bool eg__json_is(const eg__json *j, const char *word);

#endif
