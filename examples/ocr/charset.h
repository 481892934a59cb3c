/* charset.h - the letters that a net knows, each with a number. */
#ifndef EXAMPLES_OCR_CHARSET_H
#define EXAMPLES_OCR_CHARSET_H

#include <egret/egret.h>

enum { CHARSET_MOST = 1024, LETTER_BYTES = 16 };

typedef struct charset {
    int64_t count; /* with the null, which stands behind the end of a text */
    int64_t null;
    char letters[CHARSET_MOST][LETTER_BYTES]; /* UTF-8; "" of numbers there are none for, and of the null */
} charset;

/* Those of the drawn signs, the null last. */
void charset_drawn(charset *set);
/* A file with a number, a tab and a letter in each line, <nul> for the null, as FSNS has it. EG_EIO, EG_EFORMAT. */
eg_status charset_load(charset *set, const char *path);
eg_status charset_save(const charset *set, const char *path);

/* A text as numbers, nulls behind it; how many were there before these, -1 with EG_EFORMAT for a letter that is not in
 * the set or a text that is too long. */
int64_t charset_encode(const charset *set, const char *text, int64_t *ids, int64_t length);
/* And back, up to the first null, cut to what fits. */
void charset_decode(const charset *set, const int64_t *ids, int64_t length, char *text, size_t bytes);

#endif
