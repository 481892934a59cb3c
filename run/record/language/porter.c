/* porter.c - English words without their endings (Porter 1980), with the changes that NLTK has by default. */
#include <stdbool.h>
#include <string.h>

#include "run/record/language/porter.h"

/* A word that grows shorter; y is a consonant unless one is in front of it. */
typedef struct word {
    char *s;
    int64_t n;
} word;

static bool is_vowel(const char *s, int64_t i)
{
    bool vowel = false; /* of what is in front */
    int64_t from = i;
    while (from > 0 && s[from] == 'y') {
        from--;
    }
    for (int64_t k = from; k <= i; k++) {
        vowel = s[k] == 'y' ? k > 0 && !vowel : strchr("aeiou", s[k]) != NULL;
    }
    return vowel;
}

/* How often a consonant follows a vowel. */
static int64_t measure(const char *s, int64_t n)
{
    int64_t m = 0;
    bool before = false;
    for (int64_t i = 0; i < n; i++) {
        const bool vowel = s[i] == 'y' ? i > 0 && !before : strchr("aeiou", s[i]) != NULL;
        m += before && !vowel;
        before = vowel;
    }
    return m;
}

static bool has_vowel(const char *s, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (is_vowel(s, i)) {
            return true;
        }
    }
    return false;
}

static bool is_doubled(const char *s, int64_t n)
{
    return n > 1 && s[n - 1] == s[n - 2] && !is_vowel(s, n - 1);
}

/* A short syllable: consonant, vowel, consonant but w, x and y; or a vowel and a consonant alone. */
static bool is_short(const char *s, int64_t n)
{
    if (n == 2) {
        return is_vowel(s, 0) && !is_vowel(s, 1);
    }
    return n > 2 && !is_vowel(s, n - 3) && is_vowel(s, n - 2) && !is_vowel(s, n - 1) && !strchr("wxy", s[n - 1]);
}

static bool ends(const word *w, const char *with)
{
    const int64_t n = (int64_t)strlen(with);
    return n <= w->n && !memcmp(w->s + w->n - n, with, (size_t)n);
}

/* An ending of so many letters becomes another, which is no longer. */
static void put(word *w, int64_t letters, const char *by)
{
    const int64_t n = (int64_t)strlen(by);
    memcpy(w->s + w->n - letters, by, (size_t)n);
    w->n += n - letters;
}

/* The first of the endings that is the word's becomes what is beside it if the rest has a measure above `least`. */
static void replace(word *w, const char *const (*endings)[2], int64_t least)
{
    for (; (*endings)[0]; endings++) {
        const int64_t letters = (int64_t)strlen((*endings)[0]);
        if (ends(w, (*endings)[0])) {
            if (measure(w->s, w->n - letters) > least) {
                put(w, letters, (*endings)[1]);
            }
            return;
        }
    }
}

static void plurals(word *w)
{
    static const char *const endings[][2] = {{"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}, {NULL, NULL}};
    if (w->n == 4 && ends(w, "ies")) {
        put(w, 3, "ie");
        return;
    }
    replace(w, endings, -1);
}

/* What is left behind "ed" and "ing" becomes a word again. */
static void mend(word *w)
{
    const char last = w->s[w->n - 1];
    if (ends(w, "at") || ends(w, "bl") || ends(w, "iz")) {
        w->s[w->n++] = 'e';
    } else if (is_doubled(w->s, w->n)) {
        w->n -= !strchr("lsz", last);
    } else if (measure(w->s, w->n) == 1 && is_short(w->s, w->n)) {
        w->s[w->n++] = 'e';
    }
}

static void pasts(word *w)
{
    if (ends(w, "ied")) {
        put(w, 3, w->n == 4 ? "ie" : "i");
        return;
    }
    if (ends(w, "eed")) {
        w->n -= measure(w->s, w->n - 3) > 0;
        return;
    }
    const int64_t letters = ends(w, "ed") ? 2 : ends(w, "ing") ? 3 : 0;
    if (letters && has_vowel(w->s, w->n - letters)) {
        w->n -= letters;
        mend(w);
    }
}

static void double_endings(word *w)
{
    static const char *const endings[][2] = {
        {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
        {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},     {"ousli", "ous"},
        {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},  {"iveness", "ive"},
        {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"}, {"biliti", "ble"},
        {"fulli", "ful"},   {NULL, NULL}};
    if (ends(w, "alli") && measure(w->s, w->n - 4) > 0) {
        put(w, 4, "al");
        double_endings(w);
        return;
    }
    if (ends(w, "logi")) {
        w->n -= measure(w->s, w->n - 3) > 0;
        return;
    }
    replace(w, endings, 0);
}

static void endings_of_words(word *w)
{
    static const char *const endings[][2] = {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
                                             {"ical", "ic"},  {"ful", ""},   {"ness", ""},    {NULL, NULL}};
    replace(w, endings, 0);
}

static void single_endings(word *w)
{
    static const char *const endings[][2] = {{"al", ""},   {"ance", ""}, {"ence", ""}, {"er", ""},    {"ic", ""},
                                             {"able", ""}, {"ible", ""}, {"ant", ""},  {"ement", ""}, {"ment", ""},
                                             {"ent", ""},  {"ou", ""},   {"ism", ""},  {"ate", ""},   {"iti", ""},
                                             {"ous", ""},  {"ive", ""},  {"ize", ""},  {NULL, NULL}};
    if (ends(w, "ion")) {
        w->n -= w->n > 3 && strchr("st", w->s[w->n - 4]) && measure(w->s, w->n - 3) > 1 ? 3 : 0;
        return;
    }
    replace(w, endings, 1);
}

static void last_letter(word *w)
{
    if (ends(w, "e")) {
        const int64_t m = measure(w->s, w->n - 1);
        w->n -= m > 1 || (m == 1 && !is_short(w->s, w->n - 1));
    }
    if (ends(w, "ll")) {
        w->n -= measure(w->s, w->n - 1) > 1;
    }
}

/* Words that go by no rule; false: the word is none. */
static bool is_irregular(word *w)
{
    static const char *const words[][2] = {
        {"sky", "sky"},        {"skies", "sky"},       {"dying", "die"},        {"lying", "lie"},
        {"tying", "tie"},      {"news", "news"},       {"innings", "inning"},   {"inning", "inning"},
        {"outings", "outing"}, {"outing", "outing"},   {"cannings", "canning"}, {"canning", "canning"},
        {"howe", "howe"},      {"proceed", "proceed"}, {"exceed", "exceed"},    {"succeed", "succeed"}};
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        if (w->n == (int64_t)strlen(words[i][0]) && ends(w, words[i][0])) {
            put(w, w->n, words[i][1]);
            return true;
        }
    }
    return false;
}

int64_t eg__stem(char *letters, int64_t n)
{
    word w = {letters, n};
    if (is_irregular(&w) || n < 3) {
        return w.n;
    }
    plurals(&w);
    pasts(&w);
    if (ends(&w, "y") && w.n > 2 && !is_vowel(w.s, w.n - 2)) {
        w.s[w.n - 1] = 'i';
    }
    double_endings(&w);
    endings_of_words(&w);
    single_endings(&w);
    last_letter(&w);
    return w.n;
}
