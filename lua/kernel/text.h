/* text.h - Lua's strings are bytes; those of messages are UTF-8, and positions count characters. */
#ifndef EGRET_LUA_KERNEL_TEXT_H
#define EGRET_LUA_KERNEL_TEXT_H

#include <jansson.h>
#include <stddef.h>

/* The bytes as a string of JSON; each one that is not UTF-8 becomes U+FFFD. NULL: out of memory. */
json_t *text_json(const char *bytes, size_t n);

/* How many bytes at the end begin a character that is not complete, 0 to 3. */
size_t text_unfinished(const char *bytes, size_t n);

/* Where character `count` begins, as bytes from the start; n if there are fewer. */
size_t text_offset(const char *text, size_t n, long long count);

/* The bytes as base64, for free(). NULL: out of memory, or too many. */
char *text_base64(const void *bytes, size_t n);

#endif
