/* ngram.c - language models of n-grams, as a tree: an n-gram is its first n - 1 words and one more. */
#include <egret/data/ngram.h>

#include <math.h>
#include <stdlib.h>

#include "data/text/ngram.h"
#include "lib/core/counted.h"
#include "data/text/text.h"
#include "lib/core/live.h"
#include "lib/io/file.h"

/* ---- the tree -------------------------------------------------------------------------------- */

static uint32_t slot_of(const eg_ngram *lm, uint32_t parent, uint32_t word)
{
    uint64_t h = ((uint64_t)parent << 32 | word) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32) & (lm->slots - 1);
}

uint32_t eg__ngram_find(const eg_ngram *lm, uint32_t parent, uint32_t word)
{
    for (uint32_t i = slot_of(lm, parent, word); lm->slots && lm->slot[i]; i = (i + 1) & (lm->slots - 1)) {
        const eg__gram *g = &lm->gram[lm->slot[i]];
        if (g->parent == parent && g->word == word) {
            return lm->slot[i];
        }
    }
    return 0;
}

static bool more_slots(eg_ngram *lm)
{
    uint32_t slots = lm->slots ? 2 * lm->slots : 1024, *slot = eg__counted_alloc(slots * sizeof *slot);
    if (!slot) {
        return false;
    }
    memset(slot, 0, slots * sizeof *slot);
    eg__counted_free(lm->slot);
    lm->slot = slot;
    lm->slots = slots;
    for (uint32_t k = 1; k < lm->n; k++) {
        uint32_t i = slot_of(lm, lm->gram[k].parent, lm->gram[k].word);
        while (slot[i]) {
            i = (i + 1) & (slots - 1);
        }
        slot[i] = k;
    }
    return true;
}

uint32_t eg__ngram_add(eg_ngram *lm, uint32_t parent, uint32_t word)
{
    uint32_t at = eg__ngram_find(lm, parent, word);
    if (at) {
        return at;
    }
    if (lm->n == lm->room) {
        uint32_t room = lm->room ? 2 * lm->room : 512;
        eg__gram *gram =
            room > 1u << 30 ? NULL : eg__counted_realloc(lm->gram, lm->n * sizeof *gram, room * sizeof *gram);
        if (!gram) {
            return 0;
        }
        lm->gram = gram;
        lm->room = room;
    }
    if (!lm->n) {
        lm->gram[lm->n++] = (eg__gram){.parent = 0};
    }
    if (2 * (uint64_t)lm->n >= lm->slots && !more_slots(lm)) {
        return 0;
    }
    uint32_t i = slot_of(lm, parent, word);
    while (lm->slot[i]) {
        i = (i + 1) & (lm->slots - 1);
    }
    lm->gram[lm->n] = (eg__gram){.parent = parent, .word = word, .score = (float)-INFINITY};
    lm->slot[i] = lm->n;
    return lm->n++;
}

eg_ngram *eg__ngram_new(const char *op)
{
    eg_ngram *lm = eg__handle_new(sizeof *lm);
    if (!lm) {
        eg__no_memory(op, (int64_t)sizeof *lm);
        return NULL;
    }
    if (!more_slots(lm)) {
        eg_ngram_free(lm);
        eg__no_memory(op, 4096);
        return NULL;
    }
    return lm;
}

void eg_ngram_free(eg_ngram *lm)
{
    if (eg__handle_ends(lm, "eg_ngram_free")) {
        eg__words_free(&lm->words);
        eg__counted_free(lm->gram);
        eg__counted_free(lm->slot);
        free(lm);
    }
}

int eg_ngram_order(const eg_ngram *lm)
{
    return lm ? lm->order : 0;
}

int64_t eg_ngram_count(const eg_ngram *lm, int n)
{
    return lm && n >= 1 && n <= lm->order ? lm->count[n - 1] : 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

int64_t eg_ngram_id(const eg_ngram *lm, const char *word, size_t bytes)
{
    if (!lm || !word) {
        eg__null_argument("eg_ngram_id", lm ? "word" : "lm");
        return -1;
    }
    int64_t id = bytes < INT64_MAX ? eg__words_find(&lm->words, word, (int64_t)bytes) : -1;
    return id < 0 ? eg__words_find(&lm->words, "<unk>", 5) : id;
}

/* The n-gram of these words; 0: there is none. */
static uint32_t find_all(const eg_ngram *lm, const int64_t *words, int64_t n)
{
    uint32_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        at = eg__ngram_find(lm, at, (uint32_t)words[i]);
        if (!at) {
            return 0;
        }
    }
    return at;
}

/* The longest n-gram there is says it; what was too long to be there has weights for that. */
double eg__ngram_score(const eg_ngram *lm, const int64_t *words, int64_t n)
{
    double back = 0;
    for (; n > 0; words++, n--) {
        uint32_t at = find_all(lm, words, n), before = n > 1 ? find_all(lm, words, n - 1) : 0;
        if (at && lm->gram[at].score > -INFINITY) {
            return back + (double)lm->gram[at].score;
        }
        back += before ? (double)lm->gram[before].back : 0;
    }
    return -(double)INFINITY;
}

double eg_ngram_score(const eg_ngram *lm, const int64_t *words, int64_t n)
{
    static const char op[] = "eg_ngram_score";
    if (!lm || !words || n < 1) {
        lm &&words ? eg__fail(EG_EINVAL, op, "of %lld words there is no last", (long long)n)
                   : eg__null_argument(op, lm ? "words" : "lm");
        return 0;
    }
    int64_t most = n < lm->order ? n : lm->order;
    for (int64_t i = n - most; i < n; i++) {
        if (words[i] < 0 || words[i] >= lm->words.n) {
            if (i == n - 1) {
                return -(double)INFINITY;
            }
            most = n - 1 - i; /* behind a word that nobody knows nothing is known */
        }
    }
    return eg__ngram_score(lm, words + n - most, most);
}

double eg_ngram_sentence(const eg_ngram *lm, const char *text, int64_t *words)
{
    static const char op[] = "eg_ngram_sentence";
    int64_t window[EG__NGRAM_MOST], held = 1, count = 0, at = 0, n = 0;
    double sum = 0;
    if (!lm || !text) {
        eg__null_argument(op, lm ? "text" : "lm");
        return (double)NAN;
    }
    const int64_t size = (int64_t)strlen(text);
    window[0] = eg_ngram_id(lm, "<s>", 3);
    do {
        if (eg__next_word(op, (const uint8_t *)text, size, &at, &n)) {
            return (double)NAN;
        }
        if (held == EG__NGRAM_MOST) {
            memmove(window, window + 1, sizeof *window * (EG__NGRAM_MOST - 1));
            held--;
        }
        window[held++] = n ? eg_ngram_id(lm, text + at, (size_t)n) : eg_ngram_id(lm, "</s>", 4);
        sum += eg_ngram_score(lm, window, held);
        count++;
        at += n;
    } while (n);
    if (words) {
        *words = count;
    }
    return sum;
}

/* ---- learning -------------------------------------------------------------------------------- */

static eg_status count_sentence(eg_ngram *lm, eg_tensor *text)
{
    static const char op[] = "eg_ngram_train";
    eg_tensor *t = eg__text_check(op, text);
    const char *s = t ? (const char *)eg__ptr(t) : NULL;
    uint32_t open[EG__NGRAM_MOST]; /* n-grams that end here, by their lengths */
    int64_t at = 0, n = 0;
    int held = 1;
    if (!t) {
        return eg__why();
    }
    open[0] = eg__ngram_add(lm, 0, 0); /* <s> */
    do {
        eg_status st = eg__next_word(op, (const uint8_t *)s, t->n, &at, &n);
        int64_t word = st ? 0 : n ? eg__words_add(&lm->words, s + at, n) : 1;
        if (st || word < 0) {
            return st ? st : eg__no_memory(op, n);
        }
        for (int k = held < lm->order ? held : lm->order - 1; k >= 0; k--) {
            uint32_t known = lm->n, g = eg__ngram_add(lm, k ? open[k - 1] : 0, (uint32_t)word);
            if (!g) {
                return eg__no_memory(op, (int64_t)sizeof(eg__gram));
            }
            lm->gram[g].count = g < known ? lm->gram[g].count + 1 : 1;
            open[k] = g;
        }
        held += held < lm->order;
        at += n;
    } while (n);
    return EG_OK;
}

int eg__ngram_length(const eg_ngram *lm, uint32_t g)
{
    int n = 0;
    for (; g; g = lm->gram[g].parent) {
        n++;
    }
    return n;
}

/* What was counted. */
typedef struct counts {
    double *of, *behind, *kinds; /* each gram; all that came behind it, and how many different ones */
} counts;

static void estimate_one(eg_ngram *lm, const counts *c, uint32_t g, int n)
{
    eg__gram *it = &lm->gram[g];
    const uint32_t h = it->parent;
    int64_t words[EG__NGRAM_MOST];
    for (uint32_t i = (uint32_t)n, up = g; i-- > 0; up = lm->gram[up].parent) {
        words[i] = lm->gram[up].word;
    }
    double lower = n > 1 ? exp(eg__ngram_score(lm, words + 1, n - 1)) : 1.0 / (double)(lm->words.n - 1);
    bool said = n > 1 || it->word != 0; /* but <s> */
    double p = (c->of[g] + c->kinds[h] * lower) / (c->behind[h] + c->kinds[h]);
    it->score = (float)(said ? log(p) : -99 * log(10));
    it->back = (float)(c->kinds[g] > 0 ? log(c->kinds[g] / (c->behind[g] + c->kinds[g])) : 0);
}

/* Counts become logarithms, short n-grams first, as longer ones are mixed with them. */
static eg_status estimate(eg_ngram *lm)
{
    double *room = calloc((size_t)lm->n * 3, sizeof *room);
    if (!room) {
        return eg__no_memory("eg_ngram_train", (int64_t)lm->n * 24);
    }
    const counts c = {room, room + lm->n, room + 2 * (size_t)lm->n};
    for (uint32_t g = 1; g < lm->n; g++) {
        c.of[g] = (double)lm->gram[g].count;
        c.behind[lm->gram[g].parent] += c.of[g];
        c.kinds[lm->gram[g].parent] += c.of[g] > 0;
    }
    for (int n = 1; n <= lm->order; n++) {
        for (uint32_t g = 1; g < lm->n; g++) {
            if (eg__ngram_length(lm, g) == n) {
                estimate_one(lm, &c, g, n);
                lm->count[n - 1]++;
            }
        }
    }
    free(room);
    return EG_OK;
}

static eg_status learn(eg_ngram *lm, eg_dataset *sentences, int order)
{
    static const char op[] = "eg_ngram_train";
    int64_t n = 0;
    bool known = eg__words_add(&lm->words, "<s>", 3) == 0 && eg__words_add(&lm->words, "</s>", 4) == 1 &&
                 eg__words_add(&lm->words, "<unk>", 5) == 2 && eg__ngram_add(lm, 0, 0) && eg__ngram_add(lm, 0, 2);
    eg_status st = known ? EG_OK : eg__no_memory(op, 64);
    for (uint32_t g = 1; g < lm->n; g++) {
        lm->gram[g].count = 0; /* neither is said */
    }
    lm->order = order;
    EG_FOR_EACH(sample, sentences) {
        st = st ? st : count_sentence(lm, sample[0]);
        n++;
    }
    st = st ? st : eg_dataset_status(sentences);
    st = st ? st : n ? EG_OK : eg__fail(EG_EINVAL, op, "there is no sentence to learn from");
    return st ? st : estimate(lm);
}

eg_ngram *eg_ngram_train(eg_dataset *sentences, int order)
{
    static const char op[] = "eg_ngram_train";
    eg_ngram *lm = NULL;
    if (!sentences) {
        eg__null_argument(op, "sentences");
    } else if (order < 1 || order > EG__NGRAM_MOST) {
        eg__fail(EG_EINVAL, op, "order is %d, must be 1..%d", order, EG__NGRAM_MOST);
    } else {
        lm = eg__ngram_new(op);
    }
    if (lm && learn(lm, sentences, order)) {
        eg_ngram_free(lm);
        lm = NULL;
    }
    eg_dataset_free(sentences);
    return lm;
}
