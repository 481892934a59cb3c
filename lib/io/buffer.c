/* buffer.c - see buffer.h. */
#include "lib/io/buffer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/core/counted.h"
#include "lib/io/file.h"

void eg__buffer_free(eg__buffer *b)
{
    eg__counted_free(b->s);
    *b = (eg__buffer){0};
}

void eg__put(eg__buffer *b, const void *s, size_t n)
{
    while (!b->full && b->capacity - b->n < n) {
        b->full = b->capacity >= 1u << 30 || !eg__counted_grow(&b->s, &b->capacity, 1);
    }
    if (!b->full && n) {
        memcpy(b->s + b->n, s, n);
        b->n += (uint32_t)n;
    }
}

void eg__put_word(eg__buffer *b, const char *s)
{
    eg__put(b, s, strlen(s));
}

void eg__put_int(eg__buffer *b, int64_t v)
{
    char s[24];
    eg__put(b, s, (size_t)snprintf(s, sizeof s, "%lld", (long long)v));
}

void eg__put_real(eg__buffer *b, double v)
{
    char s[40];
    if (!isfinite(v)) {
        eg__put_word(b, "null");
        return;
    }
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(s, sizeof s, "%.*g", digits, v);
        if (strtod(s, NULL) == v) {
            break;
        }
    }
    size_t whole = strspn(s, "0123456789+-e"), rest = whole;
    while (s[rest] && !strchr("0123456789+-e", s[rest])) {
        rest++;
    }
    eg__put(b, s, whole);
    eg__put(b, ".", rest > whole); /* whatever the locale has there, of several bytes maybe */
    eg__put(b, s + rest, (size_t)n - rest);
}

bool eg__put_text(eg__buffer *b, const char *s, size_t bytes)
{
    bool clean = true;
    eg__put_word(b, "\"");
    for (int64_t left = (int64_t)bytes; left > 0;) {
        int n = eg__utf8_length(s, left);
        unsigned char c = (unsigned char)*s;
        char escaped[8];
        if (!n) {
            eg__put_word(b, "\xef\xbf\xbd");
            clean = false;
            n = 1;
        } else if (c < 0x20 || c == '"' || c == '\\') {
            eg__put(b, escaped, (size_t)snprintf(escaped, sizeof escaped, c < 0x20 ? "\\u%04x" : "\\%c", c));
        } else {
            eg__put(b, s, (size_t)n);
        }
        s += n;
        left -= n;
    }
    eg__put_word(b, "\"");
    return clean;
}

bool eg__put_string(eg__buffer *b, const char *s)
{
    return eg__put_text(b, s, strlen(s));
}
