/* gguf_texts.c - what GGUF's header says besides tensors: keys with values, which become texts. */
#include <math.h>
#include <stdlib.h>

#include "lib/io/gguf.h"

/* ---- bytes of the header -------------------------------------------------------------------------- */

/* The next bytes, at least one and at most n of them. */
static eg_status next(eg__gguf_cursor *c, int64_t *n, const uint8_t **p)
{
    if (c->at < c->begin || c->at >= c->end) {
        const int64_t some = eg__max(1, eg__min((int64_t)sizeof c->piece, c->source->size - c->at));
        eg_status st = eg__source_read(c->source, c->at, c->piece, some);
        if (st) {
            return st;
        }
        c->begin = c->at;
        c->end = c->at + some;
    }
    *p = c->piece + (c->at - c->begin);
    *n = eg__min(*n, c->end - c->at);
    c->at += *n;
    return EG_OK;
}

eg_status eg__gguf_read(eg__gguf_cursor *c, int bytes, uint64_t *v)
{
    eg_status st = EG_OK;
    *v = 0;
    for (int i = 0; i < bytes && !st; i++) {
        const uint8_t *p = NULL;
        int64_t one = 1;
        st = next(c, &one, &p);
        *v |= st ? 0 : (uint64_t)*p << 8 * i;
    }
    return st;
}

eg_status eg__gguf_count(eg__gguf_cursor *c, int64_t least, const char *what, uint64_t *n)
{
    const int64_t at = c->at;
    eg_status st = eg__gguf_read(c, 8, n);
    return st || *n <= (uint64_t)((c->source->size - c->at) / least)
               ? st
               : eg__source_bad(c->source, at, "%llu %s, more than the file has room for", (unsigned long long)*n,
                                what);
}

/* ---- strings ----------------------------------------------------------------------------------- */

static eg_status no_room(const eg__gguf_cursor *c)
{
    return eg__no_memory(c->source->op, c->text.n);
}

/* The letter for a byte that a line of a list cannot have in it; 0: it can. */
static char letter_for(uint8_t byte)
{
    return byte == '\n' ? 'n' : byte == '\\' ? '\\' : byte == 0 ? '0' : 0;
}

/* A string; in a list as a line of its own. */
static eg_status put_string(eg__gguf_cursor *c, eg__buffer *to, bool in_list)
{
    uint64_t left = 0;
    eg_status st = eg__gguf_count(c, 1, "bytes of a string", &left);
    while (left && !st) {
        const uint8_t *p = NULL;
        int64_t n = (int64_t)left, plain = 0;
        if ((st = next(c, &n, &p))) {
            break;
        }
        for (int64_t i = 0; i < n; i++) {
            const char letter = letter_for(p[i]);
            if (in_list && letter) {
                eg__put(to, p + plain, (size_t)(i - plain));
                eg__put(to, (char[]){'\\', letter}, 2);
                plain = i + 1;
            } else if (!p[i]) {
                return eg__source_bad(c->source, c->at - n + i, "a string with a zero inside");
            }
        }
        eg__put(to, p + plain, (size_t)(n - plain));
        left -= (uint64_t)n;
    }
    return st;
}

eg_status eg__gguf_name(eg__gguf_cursor *c, const char *what)
{
    const int64_t at = c->at;
    c->name.n = 0;
    eg_status st = put_string(c, &c->name, false);
    if (st) {
        return st;
    }
    const int64_t n = c->name.n;
    eg__put(&c->name, "", 1);
    if (c->name.full) {
        return no_room(c);
    }
    return n <= EG__GGUF_NAME && eg__utf8(c->name.s, n)
               ? EG_OK
               : eg__source_bad(c->source, at, "the name of a %s is no UTF-8 of at most %d bytes", what, EG__GGUF_NAME);
}

/* ---- values ------------------------------------------------------------------------------------- */

typedef enum kind { UNSIGNED, SIGNED, REAL, BOOLEAN, STRING, LIST } kind;

/* Of numbers, the bytes; of others the least. */
static const struct value {
    kind kind;
    int bytes;
} values[] = {
    {UNSIGNED, 1}, {SIGNED, 1}, {UNSIGNED, 2}, {SIGNED, 2},   {UNSIGNED, 4}, {SIGNED, 4}, {REAL, 4},
    {BOOLEAN, 1},  {STRING, 8}, {LIST, 12},    {UNSIGNED, 8}, {SIGNED, 8},   {REAL, 8},
};
enum { U32 = 4 };

/* The shortest decimal that reads back as v. */
static void put_float(eg__buffer *b, float v)
{
    char s[40];
    double near = v;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, (double)v);
        near = strtod(s, NULL);
        if ((float)near == v) {
            break;
        }
    }
    eg__put_real(b, near);
}

static void put_real(eg__buffer *b, int bytes, uint64_t bits)
{
    double v;
    float f;
    const uint32_t few = (uint32_t)bits;
    memcpy(&v, &bits, sizeof v);
    memcpy(&f, &few, sizeof f);
    v = bytes == 4 ? (double)f : v;
    if (!isfinite(v)) {
        eg__put_word(b, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
    } else if (bytes == 4) {
        put_float(b, f);
    } else {
        eg__put_real(b, v);
    }
}

/* Anything but a list. */
static eg_status put_value(eg__gguf_cursor *c, const struct value *as, bool in_list, uint64_t *v)
{
    if (as->kind == STRING) {
        return put_string(c, &c->text, in_list);
    }
    eg_status st = eg__gguf_read(c, as->bytes, v);
    if (st) {
        return st;
    }
    char s[24];
    const uint64_t sign = (uint64_t)1 << (8 * as->bytes - 1);
    if (as->kind == REAL) {
        put_real(&c->text, as->bytes, *v);
    } else if (as->kind == BOOLEAN) {
        eg__put_word(&c->text, *v ? "true" : "false");
        st = *v > 1 ? eg__source_bad(c->source, c->at - 1, "a boolean is %u", (unsigned)*v) : EG_OK;
    } else if (as->kind == SIGNED) {
        eg__put_int(&c->text, (int64_t)((*v ^ sign) - sign));
    } else {
        eg__put(&c->text, s, (size_t)snprintf(s, sizeof s, "%llu", (unsigned long long)*v));
    }
    return st;
}

static eg_status read_type(eg__gguf_cursor *c, uint64_t *type)
{
    const int64_t at = c->at;
    eg_status st = eg__gguf_read(c, 4, type);
    return st || *type < EG__COUNT(values)
               ? st
               : eg__source_bad(c->source, at, "type %llu of a value is none known", (unsigned long long)*type);
}

/* That what became of the values so far is no more than the file may unpack to. */
static eg_status check_texts(const eg__gguf_cursor *c)
{
    return c->text.full ? no_room(c) : eg__source_unpacks(c->source, c->at, "its texts have", c->texts + c->text.n);
}

static eg_status put_list(eg__gguf_cursor *c)
{
    const int64_t at = c->at;
    uint64_t type = 0, count = 0, v = 0;
    eg_status st = read_type(c, &type);
    const struct value *as = st ? NULL : &values[type];
    if (!st && as->kind == LIST) {
        st = eg__source_bad(c->source, at, "a list of lists");
    }
    st = st ? st : eg__gguf_count(c, as->bytes, "values of a list", &count);
    for (uint64_t i = 0; i < count && !st; i++) {
        eg__put(&c->text, "\n", i > 0);
        st = put_value(c, as, true, &v);
        st = st ? st : check_texts(c);
    }
    return st;
}

static eg_status align(eg__gguf_cursor *c, int64_t at, uint64_t type, uint64_t v)
{
    c->alignment = v;
    return type == U32 && v && !(v & (v - 1))
               ? EG_OK
               : eg__source_bad(c->source, at, "%s is no u32 that is a power of two", EG__GGUF_ALIGNS);
}

static eg_status read_text(eg__gguf_cursor *c, eg_tensors *map)
{
    const int64_t at = c->at;
    uint64_t type = 0, v = 0;
    eg_status st = eg__gguf_name(c, "key");
    st = st ? st : read_type(c, &type);
    if (!st && eg_tensors_text(map, c->name.s)) {
        return eg__source_bad(c->source, at, "key \"%.80s\" is there twice", c->name.s);
    }
    c->text.n = 0;
    st = st ? st : values[type].kind == LIST ? put_list(c) : put_value(c, &values[type], false, &v);
    if (!st && !strcmp(c->name.s, EG__GGUF_ALIGNS)) {
        st = align(c, at, type, v);
    }
    eg__put(&c->text, "", 1);
    st = st ? st : check_texts(c);
    c->texts += c->text.n;
    return st ? st : eg_tensors_set_text(map, c->name.s, c->text.s);
}

eg_status eg__gguf_texts(eg__gguf_cursor *c, uint64_t count, eg_tensors *map)
{
    eg_status st = EG_OK;
    for (uint64_t i = 0; i < count && !st; i++) {
        st = read_text(c, map);
    }
    return st;
}
