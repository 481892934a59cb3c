/* text.c - see text.h. */
#include "text.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* How many bytes the character that starts with this one has; 0: none does. */
static size_t length_of(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    return first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The length of the character that begins here; 0: none, or an overlong form or a surrogate. */
static size_t character(const unsigned char *p, size_t n)
{
    size_t length = length_of(p[0]);
    if (length == 0 || length > n) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) {
        return 0;
    }
    return length;
}

json_t *text_json(const char *bytes, size_t n)
{
    json_t *json = json_stringn(bytes, n);
    if (json || n > SIZE_MAX / 3 - 1) {
        return json;
    }
    char *clean = malloc(3 * n + 1);
    if (!clean) {
        return NULL;
    }
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        size_t length = character((const unsigned char *)bytes + i, n - i);
        memcpy(clean + used, length ? bytes + i : replacement, length ? length : 3);
        used += length ? length : 3;
        i += length ? length : 1;
    }
    json = json_stringn_nocheck(clean, used);
    free(clean);
    return json;
}

size_t text_unfinished(const char *bytes, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)bytes[n - back];
        if ((c & 0xc0) != 0x80) {
            return length_of(c) > back ? back : 0;
        }
    }
    return 0;
}

size_t text_offset(const char *text, size_t n, long long count)
{
    for (size_t i = 0; i < n; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80 && count-- <= 0) {
            return i;
        }
    }
    return n;
}

long long text_count(const char *text, size_t n)
{
    long long count = 0;
    for (size_t i = 0; i < n; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return count;
}

char *text_base64(const void *bytes, size_t n)
{
    if (n > INT_MAX / 2) {
        return NULL;
    }
    char *text = malloc(4 * ((n + 2) / 3) + 1);
    if (text) {
        EVP_EncodeBlock((unsigned char *)text, bytes, (int)n);
    }
    return text;
}
