/* wire.h - protocol buffers' wire format, read in place: fields of a message one after the other
 * (protobuf.dev/programming-guides/encoding). Nothing is copied, nothing fails but by `bad`. */
#ifndef EGRET_WIRE_H
#define EGRET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is left of a message; bad: it was none. */
typedef struct eg__wire {
    const uint8_t *at, *end;
    bool bad;
} eg__wire;

typedef enum eg__wire_kind { EG__WIRE_VARINT, EG__WIRE_64, EG__WIRE_BYTES, EG__WIRE_32 = 5 } eg__wire_kind;

/* One field: its number, and a value (of 64, 32 or up to 64 bits) or a stretch of bytes: a text, a message, or packed
 * numbers. */
typedef struct eg__wire_field {
    uint32_t number;
    eg__wire_kind kind;
    uint64_t value;
    eg__wire bytes;
} eg__wire_field;

static inline eg__wire eg__wire_of(const void *data, size_t bytes)
{
    return (eg__wire){data, (const uint8_t *)data + bytes, false};
}

static inline size_t eg__wire_size(const eg__wire *w)
{
    return (size_t)(w->end - w->at);
}

static inline uint64_t eg__wire_varint(eg__wire *w)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 70 && w->at < w->end; shift += 7) {
        const uint8_t b = *w->at++;
        v |= shift < 64 ? (uint64_t)(b & 127) << shift : 0;
        if (b < 128) {
            return v;
        }
    }
    w->bad = true;
    w->at = w->end;
    return 0;
}

/* A number of 4 or 8 bytes, little-endian. */
static inline uint64_t eg__wire_fixed(eg__wire *w, int bytes)
{
    uint64_t v = 0;
    if (eg__wire_size(w) < (size_t)bytes) {
        w->bad = true;
        w->at = w->end;
        return 0;
    }
    for (int i = bytes; i-- > 0;) {
        v = v << 8 | w->at[i];
    }
    w->at += bytes;
    return v;
}

/* The next field; false at the end, and where there is none though there should be. */
static inline bool eg__wire_next(eg__wire *w, eg__wire_field *f)
{
    if (w->at >= w->end || w->bad) {
        return false;
    }
    const uint64_t key = eg__wire_varint(w);
    *f = (eg__wire_field){.number = (uint32_t)(key >> 3), .kind = (eg__wire_kind)(key & 7)};
    uint64_t length;
    switch (key & 7) {
    case EG__WIRE_VARINT:
        f->value = eg__wire_varint(w);
        break;
    case EG__WIRE_64:
        f->value = eg__wire_fixed(w, 8);
        break;
    case EG__WIRE_32:
        f->value = eg__wire_fixed(w, 4);
        break;
    case EG__WIRE_BYTES:
        length = eg__wire_varint(w);
        if (length > eg__wire_size(w)) {
            w->bad = true;
            break;
        }
        f->bytes = (eg__wire){w->at, w->at + length, false};
        w->at += length;
        break;
    default: /* groups, which nobody writes any more */
        w->bad = true;
    }
    w->bad = w->bad || !f->number || key >> 3 > 0x1fffffff;
    return !w->bad;
}

static inline bool eg__wire_is(const eg__wire *bytes, const char *word)
{
    const size_t n = strlen(word);
    return eg__wire_size(bytes) == n && (!n || !memcmp(bytes->at, word, n));
}

#endif
