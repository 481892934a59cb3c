/* word_table.h - different words, numbered in the order they came, found by hashing. */
#ifndef EGRET_WORDS_H
#define EGRET_WORDS_H

#include "data/readers/bytes.h"

typedef struct eg__word {
    int64_t at; /* in the text of all, ended by a 0 */
    uint32_t bytes, hash;
    int64_t count;
} eg__word;

typedef struct eg__words {
    eg__bytes text;
    eg__word *word;
    uint32_t n, capacity;
    uint32_t *slot, slots; /* number + 1; a power of two */
} eg__words;

/* The word's number, -1: not there. */
int64_t eg__words_find(const eg__words *w, const void *s, int64_t bytes);
/* The number of the word, which is added if it is not there; -1: out of memory. */
int64_t eg__words_add(eg__words *w, const void *s, int64_t bytes);
/* Forgets the words from number n on. */
void eg__words_cut(eg__words *w, uint32_t n);
void eg__words_free(eg__words *w);

static inline const char *eg__words_text(const eg__words *w, int64_t i)
{
    return (const char *)w->text.p + w->word[i].at;
}

#endif
