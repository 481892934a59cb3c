/* letters.h - the characters of UTF-8, and the names of Lua. */
#ifndef EGRET_SHELL_LETTERS_H
#define EGRET_SHELL_LETTERS_H

#include <stdbool.h>
#include <stddef.h>

/* How many bytes the character that starts with this one has; 0: none does. */
size_t shell_character_length(char first);

/* The length of the character that begins here, in n > 0 bytes; 0: none, or an overlong form or a
 * surrogate. */
size_t shell_character(const char *text, size_t n);

/* How many characters begin in the first n bytes. */
long long shell_count(const char *text, size_t n);

bool shell_is_name_part(char c);
bool shell_is_name(const char *text, size_t n);

#endif
