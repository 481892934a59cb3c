/* arpa.c - n-grams as ARPA files. */
#include <math.h>
#include <stdlib.h>

#include "data/text/ngram.h"
#include "lib/core/counted.h"
#include "lib/core/live.h"
#include "lib/io/file.h"
#include "lib/io/number.h"

static const double ln10 = 2.302585092994045684;

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct arpa {
    eg__source *s;
    eg_ngram *lm;
    const char *p, *end;
    int64_t line;
    const char *from; /* of the line under way, without blanks around it */
    int64_t n;
} arpa;

static eg_status bad(const arpa *a, const char *what)
{
    return eg__source_bad(a->s, (int64_t)(a->from - (a->end - a->s->size)), "line %lld: %s: \"%.*s\"",
                          (long long)a->line, what, (int)eg__min(a->n, 60), a->from);
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next line that is not empty; false: there is none. */
static bool next_line(arpa *a)
{
    while (a->p < a->end) {
        const char *stop = memchr(a->p, '\n', (size_t)(a->end - a->p));
        const char *to = stop ? stop : a->end;
        a->from = a->p;
        a->p = stop ? stop + 1 : a->end;
        a->line++;
        while (a->from < to && blank(*a->from)) {
            a->from++;
        }
        while (to > a->from && blank(to[-1])) {
            to--;
        }
        a->n = to - a->from;
        if (a->n) {
            return true;
        }
    }
    a->from = a->end;
    a->n = 0;
    return false;
}

static bool is(const arpa *a, const char *text)
{
    return a->n == (int64_t)strlen(text) && memcmp(a->from, text, (size_t)a->n) == 0;
}

/* The next word of the line at *at; its length, 0 at the end. */
static int64_t next_field(const arpa *a, int64_t *at)
{
    while (*at < a->n && blank(a->from[*at])) {
        (*at)++;
    }
    int64_t n = 0;
    while (*at + n < a->n && !blank(a->from[*at + n])) {
        n++;
    }
    return n;
}

/* A logarithm to the base 10, as a natural one; -99 and less: none. */
static bool read_log(const char *s, int64_t n, bool most_0, float *to)
{
    double x;
    if (!eg__parse_real(s, n, EG_F64, &x) || isnan(x) || (most_0 && x > 0) || x > 100) {
        return false;
    }
    *to = (float)(fmax(x, -99) * ln10);
    return true;
}

/* "ngram 2=1234", for each length in turn. */
static eg_status read_counts(arpa *a)
{
    while (next_line(a) && a->from[0] != '\\') {
        int64_t at = 5, count = 0, n = 0;
        const char *equals = memchr(a->from, '=', (size_t)a->n);
        bool good = a->n > 6 && memcmp(a->from, "ngram", 5) == 0 && blank(a->from[5]) && equals;
        (void)next_field(a, &at);
        good = good && eg__parse_integer(a->from + at, equals - a->from - at, &n) && n == a->lm->order + 1 &&
               n <= EG__NGRAM_MOST;
        at = good ? equals + 1 - a->from : 0;
        good = good && eg__parse_integer(a->from + at, a->n - at, &count) && count >= 0;
        if (!good) {
            return bad(a, "no count of n-grams, up to 16 words, in order");
        }
        a->lm->count[a->lm->order++] = count;
    }
    return a->lm->order ? EG_OK : bad(a, "no counts of n-grams");
}

static eg_status read_gram(arpa *a, int order)
{
    int64_t at = 0, n = next_field(a, &at);
    float score, back = 0;
    uint32_t g = 0;
    if (!n || !read_log(a->from + at, n, true, &score)) {
        return bad(a, "no logarithm of a probability");
    }
    for (int i = 0; i < order; i++) {
        at += n;
        n = next_field(a, &at);
        int64_t word = !n           ? -1
                       : order == 1 ? eg__words_add(&a->lm->words, a->from + at, n)
                                    : eg__words_find(&a->lm->words, a->from + at, n);
        uint32_t up = g;
        if (word < 0) {
            return n && order == 1 ? eg__no_memory(a->s->op, n) : bad(a, "a word that is no 1-gram, or too few words");
        }
        g = i + 1 < order ? eg__ngram_find(a->lm, up, (uint32_t)word) : g;
        if (i + 1 < order && !g) {
            return bad(a, "its beginning is no n-gram");
        }
        if (i + 1 == order) {
            if (eg__ngram_find(a->lm, up, (uint32_t)word)) {
                return bad(a, "an n-gram twice");
            }
            g = eg__ngram_add(a->lm, up, (uint32_t)word);
        }
    }
    at += n;
    n = next_field(a, &at);
    if (n && (!read_log(a->from + at, n, false, &back) || at + n != a->n)) {
        return bad(a, "no weight, or more behind it");
    }
    if (!g) {
        return eg__no_memory(a->s->op, (int64_t)sizeof(eg__gram));
    }
    a->lm->gram[g].score = score;
    a->lm->gram[g].back = back;
    return EG_OK;
}

static eg_status read_all(arpa *a)
{
    do {
        if (!next_line(a)) {
            return bad(a, "nothing begins with \\data\\");
        }
    } while (!is(a, "\\data\\"));
    eg_status st = read_counts(a);
    for (int order = 1; !st && order <= a->lm->order; order++) {
        char head[24];
        int64_t n = 0;
        snprintf(head, sizeof head, "\\%d-grams:", order);
        if (!is(a, head)) {
            return bad(a, "n-grams of the next length should begin here");
        }
        while (!st && next_line(a) && a->from[0] != '\\') {
            st = read_gram(a, order);
            n++;
        }
        st = st || n == a->lm->count[order - 1] ? st : bad(a, "not as many n-grams as was said, up to here");
    }
    return st ? st : is(a, "\\end\\") ? EG_OK : bad(a, "the end is missing");
}

static eg_ngram *read(eg__source *s)
{
    char *text = eg__counted_alloc((size_t)s->size + 1);
    eg_ngram *lm = text ? eg__ngram_new(s->op) : NULL;
    arpa a = {.s = s, .lm = lm, .p = text, .end = text ? text + s->size : NULL, .from = text};
    eg_status st = lm ? eg__source_read(s, 0, text, s->size) : text ? eg__why() : eg__no_memory(s->op, s->size);
    st = st ? st : read_all(&a);
    eg__counted_free(text);
    if (st) {
        eg_ngram_free(lm);
        return NULL;
    }
    return lm;
}

eg_ngram *eg_ngram_parse(const void *data, size_t bytes)
{
    eg__source s;
    return eg__source_memory(&s, "eg_ngram_parse", data, bytes) ? NULL : read(&s);
}

eg_ngram *eg_ngram_load(const char *path)
{
    eg__source s;
    if (eg__source_open(&s, "eg_ngram_load", path)) {
        return NULL;
    }
    eg_ngram *lm = read(&s);
    eg__source_close(&s);
    return lm;
}

/* ---- writing --------------------------------------------------------------------------------- */

static eg_status write_text(eg__target *t, const char *text)
{
    return eg__target_write(t, text, strlen(text));
}

/* The words of a gram, with blanks between them. */
static eg_status write_words(eg__target *t, const eg_ngram *lm, uint32_t g)
{
    uint32_t words[EG__NGRAM_MOST];
    int n = 0;
    eg_status st = EG_OK;
    for (; g; g = lm->gram[g].parent) {
        words[n++] = lm->gram[g].word;
    }
    while (n-- && !st) {
        const eg__word *w = &lm->words.word[words[n]];
        st = eg__target_write(t, eg__words_text(&lm->words, words[n]), w->bytes);
        st = st || !n ? st : write_text(t, " ");
    }
    return st;
}

static eg_status write_grams(eg__target *t, const eg_ngram *lm, int order)
{
    char text[64];
    snprintf(text, sizeof text, "\n\\%d-grams:\n", order);
    eg_status st = write_text(t, text);
    for (uint32_t g = 1; g < lm->n && !st; g++) {
        const eg__gram *it = &lm->gram[g];
        if (eg__ngram_length(lm, g) != order) {
            continue;
        }
        snprintf(text, sizeof text, "%.6f\t", fmin(0, (double)it->score / ln10));
        st = write_text(t, text);
        st = st ? st : write_words(t, lm, g);
        snprintf(text, sizeof text, "\t%.6f\n", (double)it->back / ln10);
        st = st ? st : write_text(t, it->back != 0 ? text : "\n");
    }
    return st;
}

eg_status eg_ngram_save(const eg_ngram *lm, const char *path)
{
    static const char op[] = "eg_ngram_save";
    eg__target t;
    if (!lm) {
        return eg__null_argument(op, "lm");
    }
    eg_status st = eg__target_open(&t, op, path);
    if (st) {
        return st;
    }
    st = write_text(&t, "\\data\\\n");
    for (int n = 1; n <= lm->order && !st; n++) {
        char text[64];
        snprintf(text, sizeof text, "ngram %d=%lld\n", n, (long long)lm->count[n - 1]);
        st = write_text(&t, text);
    }
    for (int n = 1; n <= lm->order && !st; n++) {
        st = write_grams(&t, lm, n);
    }
    st = st ? st : write_text(&t, "\n\\end\\\n");
    return eg__target_close(&t, st);
}
