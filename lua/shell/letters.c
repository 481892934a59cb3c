/* letters.c - see letters.h. */
#include "letters.h"

#include <ctype.h>

size_t shell_character_length(char first)
{
    unsigned char c = (unsigned char)first;
    if (c < 0x80) {
        return 1;
    }
    return c < 0xc2 || c > 0xf4 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

size_t shell_character(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t length = shell_character_length(*text);
    if (length == 0 || length > n) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f)) {
        return 0;
    }
    return length;
}

long long shell_count(const char *text, size_t n)
{
    long long count = 0;
    for (size_t i = 0; i < n; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return count;
}

bool shell_is_name_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool shell_is_name(const char *text, size_t n)
{
    bool good = n > 0 && !isdigit((unsigned char)*text);
    for (size_t i = 0; good && i < n; i++) {
        good = shell_is_name_part(text[i]);
    }
    return good;
}
