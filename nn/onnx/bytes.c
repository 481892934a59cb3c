/* bytes.c - see bytes.h. */
#include "nn/onnx/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT, WIDE, BYTES, NARROW = 5, LENGTH = 5 /* bytes kept for a message's length */ };

void eg__bytes_put(eg__bytes *b, const void *data, size_t n)
{
    if (n > b->room - b->n && !b->failed) {
        const size_t room = (b->room > SIZE_MAX / 4 ? b->room : 2 * b->room) + n + 256;
        char *s = realloc(b->s, room);
        b->failed = !s;
        b->s = s ? s : b->s;
        b->room = s ? room : b->room;
    }
    if (!b->failed && n) {
        memcpy(b->s + b->n, data, n);
        b->n += n;
    }
}

static void put_varint(eg__bytes *b, uint64_t v)
{
    char s[10];
    int n = 0;
    for (; v > 127; v >>= 7) {
        s[n++] = (char)(v | 128);
    }
    s[n++] = (char)v;
    eg__bytes_put(b, s, (size_t)n);
}

void eg__bytes_int(eg__bytes *b, uint32_t field, int64_t v)
{
    put_varint(b, (uint64_t)field << 3 | VARINT);
    put_varint(b, (uint64_t)v);
}

void eg__bytes_float(eg__bytes *b, uint32_t field, double v)
{
    const float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    const char s[4] = {(char)bits, (char)(bits >> 8), (char)(bits >> 16), (char)(bits >> 24)};
    put_varint(b, (uint64_t)field << 3 | NARROW);
    eg__bytes_put(b, s, sizeof s);
}

void eg__bytes_data(eg__bytes *b, uint32_t field, const void *data, size_t n)
{
    put_varint(b, (uint64_t)field << 3 | BYTES);
    put_varint(b, n);
    eg__bytes_put(b, data, n);
}

void eg__bytes_text(eg__bytes *b, uint32_t field, const char *text)
{
    eg__bytes_data(b, field, text, strlen(text));
}

/* The length has five bytes, whatever it is: 7 bits in each, all but the last marked as going on. */
size_t eg__bytes_begin(eg__bytes *b, uint32_t field)
{
    static const char room[LENGTH];
    put_varint(b, (uint64_t)field << 3 | BYTES);
    eg__bytes_put(b, room, LENGTH);
    return b->n;
}

void eg__bytes_end(eg__bytes *b, size_t began)
{
    if (b->failed) {
        return;
    }
    const uint64_t n = b->n - began;
    b->failed = n >> 35;
    for (int i = 0; i < LENGTH; i++) {
        b->s[began - LENGTH + (size_t)i] = (char)((n >> 7 * i & 127) | (i < LENGTH - 1 ? 128 : 0));
    }
}
