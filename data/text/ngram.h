/* ngram.h - the tree of n-grams, for what learns, reads and writes it. */
#ifndef EGRET_NGRAM_H
#define EGRET_NGRAM_H

#include <egret/data.h>
#include <egret/data/ngram.h>

#include "data/text/word_table.h"

enum { EG__NGRAM_MOST = 16 };

typedef struct eg__gram {
    uint32_t parent, word; /* parent: of its words but the last; 0: none */
    union {
        struct {
            float score, back; /* natural logarithms; score -INFINITY: only a beginning of others */
        };
        uint64_t count; /* while they are learned: how often it was there */
    };
} eg__gram;

struct eg_ngram {
    eg__words words;
    eg__gram *gram; /* number 0 is none */
    uint32_t n, room;
    uint32_t *slot, slots; /* of grams by parent and word; a power of two */
    int order;
    int64_t count[EG__NGRAM_MOST];
};

eg_ngram *eg__ngram_new(const char *op);
/* The gram behind another; 0: there is none; of add: out of memory. */
uint32_t eg__ngram_find(const eg_ngram *lm, uint32_t parent, uint32_t word);
uint32_t eg__ngram_add(eg_ngram *lm, uint32_t parent, uint32_t word);
/* How many words it has. */
int eg__ngram_length(const eg_ngram *lm, uint32_t g);
/* Of checked words. */
double eg__ngram_score(const eg_ngram *lm, const int64_t *words, int64_t n);

#endif
