/* tokens.h - texts as numbers, one for each of their tokens: equal tokens have equal numbers. */
#ifndef EGRET_LANGUAGE_TOKENS_H
#define EGRET_LANGUAGE_TOKENS_H

#include <egret/metrics.h>

#include "data/text/word_table.h"

/* What tokens are: first those of eg_bleu_tokens. */
typedef enum eg__token_rule {
    EG__TOKENS_ROUGE = EG_BLEU_TRANSFORMER + 1, /* of ASCII's letters, in lower case, and digits */
    EG__TOKENS_STEMS,                           /* the same, of words of more than three letters their stems */
    EG__TOKENS_ANSWER,                          /* SQuAD's normalisation */
    EG__TOKENS_SPOKEN,     /* between spaces; other blanks are so if there are several side by side (jiwer) */
    EG__TOKENS_CHARACTERS, /* all between the blanks around */
} eg__token_rule;

typedef struct eg__sequence {
    eg__bytes ids; /* uint32_t */
} eg__sequence;

static inline const uint32_t *eg__ids(const eg__sequence *s)
{
    return (const uint32_t *)(const void *)s->ids.p;
}

static inline int64_t eg__ids_count(const eg__sequence *s)
{
    return s->ids.n / (int64_t)sizeof(uint32_t);
}

/* The tokens of a text in `to`, which is filled anew; those not known are added to them. */
eg_status eg__tokens_of(const char *op, const char *text, eg__token_rule rule, bool lower, eg__words *known,
                        eg__sequence *to);

/* What is said and what there is to say: texts of one call. */
typedef struct eg__said {
    eg__words known;
    eg__sequence text, *references; /* n of these */
    int n;
} eg__said;

/* Free it in any case. */
eg_status eg__said_read(eg__said *s, const char *op, const char *text, const char *const *references, int n,
                        eg__token_rule rule, bool lower);
void eg__said_free(eg__said *s);

/* Sequences of ids, integers [n] or [N, n], side by side. Free it in any case. */
typedef struct eg__rows {
    double *text, *reference;
    int64_t n, text_length, reference_length;
} eg__rows;

eg_status eg__rows_read(eg__rows *r, const char *op, eg_tensor *ids, eg_tensor *reference);
void eg__rows_free(eg__rows *r);
/* Row i of both, as text and the only reference; s is used again for each. */
eg_status eg__rows_at(const eg__rows *r, const char *op, int64_t i, eg__said *s);

#endif
