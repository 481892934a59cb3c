/* text.c - see text.h. */
#include "text.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "lua/shell/letters.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

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
        size_t length = shell_character(bytes + i, n - i);
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
            return shell_character_length(bytes[n - back]) > back ? back : 0;
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
