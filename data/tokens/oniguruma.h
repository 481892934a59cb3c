/* oniguruma.h - translates regular expressions from Oniguruma's syntax, which the files of Hugging Face's `tokenizers`
 * are written in, to PCRE2's. What PCRE2 cannot match in the same way is refused. */
#ifndef EGRET_TOKENS_ONIGURUMA_H
#define EGRET_TOKENS_ONIGURUMA_H

#include "data/readers/bytes.h"

/* A translation in progress. */
typedef struct eg__onig {
    const char *op;
    const uint8_t *s; /* the pattern, UTF-8, with a 0 after its n bytes */
    int64_t n, at;
    eg__bytes *out; /* PCRE2's */
    eg_status st;
    int depth;
    bool named;                   /* a group has a name: groups without one do not capture */
    bool fold, dot_all, extended; /* (?i), (?m), (?x) */
    int32_t before;               /* the literal character before this place; -1: something else */
} eg__onig;

/* Translates the n bytes at s, which are UTF-8 and end with a 0. EG_EFORMAT names what is malformed or not supported.
 */
eg_status eg__onig_translate(const char *op, const char *s, int64_t n, eg__bytes *to);

/* Records EG_EFORMAT with the place in the pattern, unless something failed before. */
void eg__onig_refuse(eg__onig *p, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* Appends text to b. */
void eg__onig_put(eg__onig *p, eg__bytes *b, const char *text);
/* Appends a character to b so that it has no special meaning, in a class or outside. */
void eg__onig_put_character(eg__onig *p, eg__bytes *b, int32_t c);
/* The next character of the pattern, -1 at its end. */
int32_t eg__onig_next(eg__onig *p);
/* After a backslash: the character that the escape stands for; -1: it stands for something else, nothing was read. */
int32_t eg__onig_escaped(eg__onig *p);

/* oniguruma_class.c */

/* After "[": writes an expression that matches one character of the class to p->out. */
void eg__onig_class(eg__onig *p);
/* Writes the set that `letter` names after a backslash (w, d, s, h and their complements; p and P with the name that
 * follows) to p->out; false: it names none. */
bool eg__onig_shorthand(eg__onig *p, int32_t letter);
/* Items of a PCRE2 class that are Oniguruma's \w outside of classes. */
extern const char eg__onig_word[];
/* Refuses a character that (?i) compares with several others at once, such as U+00DF. */
void eg__onig_check_fold(eg__onig *p, int32_t first, int32_t last);

#endif
