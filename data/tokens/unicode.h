/* unicode.h - what characters are, in a table made from utf8proc when something first asks. */
#ifndef EGRET_TOKENS_UNICODE_H
#define EGRET_TOKENS_UNICODE_H

#include "lib/core/error.h"

enum {
    EG__LETTER = 1,
    EG__NUMBER = 2,       /* N */
    EG__BLANK = 4,        /* White_Space */
    EG__ACCENT = 8,       /* Mn */
    EG__MARK = 16,        /* M */
    EG__PUNCTUATION = 32, /* P, and ASCII's symbols */
    EG__CONTROL = 64,     /* Cc, Cf, Co, Cs */
    EG__UPPER = 128,      /* Lu, Lt */
    EG__LOWER = 256,      /* Ll */
    EG__WORD = 512,       /* \w as Unicode's Annex 18 has it */
    EG__EXTENDS = 1024,   /* stays in a grapheme with what is before it */
    EG__PREPENDS = 2048,  /* with what is behind it */
    EG__IDEOGRAPH = 4096, /* those that BERT's tokenizer sets apart */
    EG__NEWLINE = 8192,   /* CR, LF */
};

enum { EG__UNICODE_PAGES = 512 };
struct eg__unicode {
    uint16_t page[0x110000 >> 8];
    uint16_t of[EG__UNICODE_PAGES][256];
};
extern struct eg__unicode eg__unicode; /* after eg__unicode_open */

/* EG_ENOKERNEL without utf8proc. */
eg_status eg__unicode_open(const char *op);

static inline unsigned eg__class(int32_t c)
{
    return eg__unicode.of[eg__unicode.page[c >> 8]][c & 255];
}

/* The character at s, which is UTF-8, and its bytes. */
static inline int32_t eg__character(const uint8_t *s, int *n)
{
    if (s[0] < 0x80) {
        *n = 1;
        return s[0];
    }
    *n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    return *n == 2   ? (s[0] & 31) << 6 | (s[1] & 63)
           : *n == 3 ? (s[0] & 15) << 12 | (s[1] & 63) << 6 | (s[2] & 63)
                     : (s[0] & 7) << 18 | (s[1] & 63) << 12 | (s[2] & 63) << 6 | (s[3] & 63);
}

static inline unsigned eg__class_at(const uint8_t *s, int *n)
{
    return eg__class(eg__character(s, n));
}

/* Where the character that ends at s + n begins. */
static inline int64_t eg__character_before(const uint8_t *s, int64_t n)
{
    do {
        n--;
    } while (n > 0 && (s[n] & 0xc0) == 0x80);
    return n;
}

static inline int eg__utf8_bytes(int32_t c)
{
    return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/* Puts a character; its bytes. */
int eg__put_character(uint8_t *to, int32_t c);

/* Lower case, one character or two; how many. */
int eg__small(int32_t c, int32_t to[2]);
/* Canonical or compatible decomposition, into up to 32 characters. */
int eg__decompose(int32_t c, bool compatible, int32_t to[32]);
int eg__combining(int32_t c);
/* What a and b compose to, 0: nothing. */
int32_t eg__compose(int32_t a, int32_t b);

#endif
