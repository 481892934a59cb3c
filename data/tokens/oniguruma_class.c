/* oniguruma_class.c - Oniguruma's classes of characters as PCRE2 writes them.
 *
 * PCRE2 10.42 has no sets within sets. A set is kept as the items of one PCRE2 class, and as expressions that match one
 * character each; complements and intersections of what is not one class are written with lookaheads. */
#include "data/tokens/oniguruma.h"

#include <stdio.h>

#include "data/tokens/unicode.h"
#include "lib/io/file.h"

enum { MOST_DEPTH = 32, MOST_NAME = 60 };

#define SPACE      "\\x{9}-\\x{d}\\x{85}\\p{Z}"
#define ANYTHING   "(?s:.)"
#define ALPHABETIC "\\p{Alphabetic}"

#define WORD                                                                                         \
    "\\p{L}\\p{M}\\p{Nl}\\p{Nd}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}" \
    "\\x{1f170}-\\x{1f189}"
/* Outside of classes Oniguruma looks Latin-1 up in another table, in which raised digits and fractions belong to words.
 */
const char eg__onig_word[] = WORD "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";

/* Names, small and without blanks, "_" and "-". whole: it has all letters that are equal without case to one of it. */
static const struct {
    const char *name, *items;
    bool complement, whole;
} named[] = {
    {"word", WORD, false, true},
    {"alnum", ALPHABETIC "\\p{Nd}", false, false},
    {"alpha", ALPHABETIC, false, false},
    {"alphabetic", ALPHABETIC, false, false},
    {"ascii", "\\x{0}-\\x{7f}", false, false},
    {"blank", "\\x{9}\\p{Zs}", false, true},
    {"cntrl", "\\p{Cc}", false, true},
    {"digit", "\\p{Nd}", false, true},
    {"graph", "\\p{Cc}\\p{Cn}\\p{Cs}\\p{Z}", true, true},
    {"print", "\\p{Cc}\\p{Cn}\\p{Cs}\\p{Zl}\\p{Zp}", true, true},
    {"lower", "\\p{Lowercase}", false, false},
    {"lowercase", "\\p{Lowercase}", false, false},
    {"upper", "\\p{Uppercase}", false, false},
    {"uppercase", "\\p{Uppercase}", false, false},
    {"posixpunct", "\\p{P}\\p{S}", false, true},
    {"space", SPACE, false, true},
    {"whitespace", SPACE, false, true},
    {"wspace", SPACE, false, true},
    {"xdigit", "0-9A-Fa-f", false, true},
    {"any", "\\x{0}-\\x{10ffff}", false, true},
    {"assigned", "\\p{Cn}", true, true},
    {"lc", "\\p{Lu}\\p{Ll}\\p{Lt}", false, false},
    {"casedletter", "\\p{Lu}\\p{Ll}\\p{Lt}", false, false},
};

/* General categories, by both of their names. */
static const struct {
    const char *name, *category;
} categories[] = {
    {"other", "C"},
    {"control", "Cc"},
    {"format", "Cf"},
    {"unassigned", "Cn"},
    {"privateuse", "Co"},
    {"surrogate", "Cs"},
    {"letter", "L"},
    {"lowercaseletter", "Ll"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"titlecaseletter", "Lt"},
    {"uppercaseletter", "Lu"},
    {"mark", "M"},
    {"combiningmark", "M"},
    {"spacingmark", "Mc"},
    {"enclosingmark", "Me"},
    {"nonspacingmark", "Mn"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punctuation", "P"},
    {"punct", "P"},
    {"connectorpunctuation", "Pc"},
    {"dashpunctuation", "Pd"},
    {"closepunctuation", "Pe"},
    {"finalpunctuation", "Pf"},
    {"initialpunctuation", "Pi"},
    {"otherpunctuation", "Po"},
    {"openpunctuation", "Ps"},
    {"symbol", "S"},
    {"currencysymbol", "Sc"},
    {"modifiersymbol", "Sk"},
    {"mathsymbol", "Sm"},
    {"othersymbol", "So"},
    {"separator", "Z"},
    {"lineseparator", "Zl"},
    {"paragraphseparator", "Zp"},
    {"spaceseparator", "Zs"},
};

typedef struct set {
    eg__bytes items, others; /* others: expressions, a "|" after each */
    int many;                /* of them */
    bool alone;              /* it stands outside of a class */
} set;

static void set_free(set *x)
{
    eg__bytes_free(&x->items);
    eg__bytes_free(&x->others);
}

static void put_all(eg__onig *p, eg__bytes *to, const eg__bytes *from, int64_t n)
{
    if (!p->st && n > 0 && !eg__bytes_add(to, from->p, n)) {
        p->st = eg__no_memory(p->op, n);
    }
}

/* An expression that matches one character of the set. */
static void put_set(eg__onig *p, eg__bytes *to, const set *x)
{
    const int parts = x->many + (x->items.n > 0);
    eg__onig_put(p, to, parts > 1 ? "(?:" : "");
    if (x->items.n) {
        eg__onig_put(p, to, "[");
        put_all(p, to, &x->items, x->items.n);
        eg__onig_put(p, to, x->many ? "]|" : "]");
    }
    put_all(p, to, &x->others, x->others.n - 1);
    eg__onig_put(p, to, parts > 1 ? ")" : "");
}

/* An expression that matches one character outside of it. */
static void put_complement(eg__onig *p, eg__bytes *to, const set *x)
{
    if (!x->many) {
        eg__onig_put(p, to, "[^");
        put_all(p, to, &x->items, x->items.n);
        eg__onig_put(p, to, "]");
        return;
    }
    eg__onig_put(p, to, "(?:(?!");
    put_set(p, to, x);
    eg__onig_put(p, to, ")" ANYTHING ")");
}

/* A set by its items, or its complement, becomes part of x. */
static void add_items(eg__onig *p, set *x, const char *items, bool complement)
{
    if (!complement) {
        eg__onig_put(p, &x->items, items);
        return;
    }
    eg__onig_put(p, &x->others, "[^");
    eg__onig_put(p, &x->others, items);
    eg__onig_put(p, &x->others, "]|");
    x->many++;
}

/* ---- sets with names ------------------------------------------------------------------------------ */

static bool is_plain(const char *name, const char *other)
{
    for (; *name && *other; name++, other++) {
        if (*name != (*other | 32)) {
            return false;
        }
    }
    return !*name && !*other;
}

static void add_named(eg__onig *p, set *x, const char *name, bool complement)
{
    char items[MOST_NAME + 16];
    for (int i = 0; i < EG__COUNT(named); i++) {
        if (!strcmp(name, named[i].name)) {
            if (p->fold && !named[i].whole) {
                eg__onig_refuse(p, "(?i) with the set \"%s\" is not supported", name);
            }
            const bool word = x->alone && !strcmp(name, "word");
            add_items(p, x, word ? eg__onig_word : named[i].items, complement != named[i].complement);
            return;
        }
    }
    const char *category = NULL;
    for (int i = 0; i < EG__COUNT(categories); i++) {
        if (!strcmp(name, categories[i].name) || is_plain(name, categories[i].category)) {
            category = categories[i].category;
        }
    }
    if (p->fold && !(category && strchr("CNPZ", *category))) {
        eg__onig_refuse(p, "(?i) with the set \"%s\" is not supported", name);
    }
    /* else the script, which PCRE2 knows by the same name, or does not know */
    snprintf(items, sizeof items, category ? "\\p{%s}" : "\\p{sc:%s}", category ? category : name);
    add_items(p, x, items, complement);
}

/* Reads a name up to the text `end`, small and without what does not count; whether a "^" is before it. */
static bool read_name(eg__onig *p, const char *end, char name[MOST_NAME])
{
    const bool complement = p->s[p->at] == '^';
    const size_t bytes = strlen(end);
    int n = 0;
    p->at += complement;
    for (; p->at < p->n && strncmp((const char *)p->s + p->at, end, bytes) && !p->st; p->at++) {
        const uint8_t c = p->s[p->at];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if ((!letter && c != ' ' && c != '_' && c != '-') || n + 1 >= MOST_NAME) {
            eg__onig_refuse(p, "the name of a set has letters, blanks, \"_\" and \"-\"");
        } else if (letter) {
            name[n++] = (char)(c | 32);
        }
    }
    if (p->at >= p->n || !n) {
        eg__onig_refuse(p, "the name of a set is missing, or \"%s\" after it", end);
    }
    name[n] = '\0';
    p->at += (int64_t)bytes;
    return complement;
}

/* After \p or \P. */
static void property(eg__onig *p, set *x, bool complement)
{
    char name[MOST_NAME] = "";
    if (p->s[p->at] == '{') {
        p->at++;
        complement ^= read_name(p, "}", name);
    } else { /* versions differ in whether \pL is a set */
        eg__onig_refuse(p, "\\p expects a name in braces");
    }
    if (!p->st) {
        add_named(p, x, name, complement);
    }
}

static bool add_shorthand(eg__onig *p, set *x, int32_t letter)
{
    const bool complement = letter >= 'A' && letter <= 'Z';
    switch (letter | 32) {
    case 'w':
        add_named(p, x, "word", complement);
        return true;
    case 'd':
        add_named(p, x, "digit", complement);
        return true;
    case 's':
        add_named(p, x, "space", complement);
        return true;
    case 'h':
        add_named(p, x, "xdigit", complement);
        return true;
    case 'p':
        property(p, x, complement);
        return true;
    default:
        return false;
    }
}

bool eg__onig_shorthand(eg__onig *p, int32_t letter)
{
    set x = {.alone = true};
    const bool is = letter > 0 && letter < 0x80 && add_shorthand(p, &x, letter);
    if (is && !p->st) {
        put_set(p, p->out, &x);
    }
    set_free(&x);
    return is;
}

/* ---- classes ---------------------------------------------------------------------------------------- */

static void class(eg__onig *p, set *into);

static bool follows(const eg__onig *p, const char *text)
{
    return !strncmp((const char *)p->s + p->at, text, strlen(text));
}

/* One item: a set, which is added, gives -1; else the character. */
static int32_t item(eg__onig *p, set *x)
{
    if (follows(p, "[:")) {
        char name[MOST_NAME] = "";
        static const char *const posix[] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit",  "graph",
                                            "lower", "print", "punct", "space", "upper", "xdigit", "word"};
        p->at += 2;
        const bool complement = read_name(p, ":]", name);
        bool known = false;
        for (int i = 0; i < EG__COUNT(posix); i++) {
            known |= !strcmp(posix[i], name);
        }
        if (!known) {
            eg__onig_refuse(p, "there is no class [:%s:]", name);
        } else {
            add_named(p, x, strcmp(name, "punct") ? name : "posixpunct", complement);
        }
        return -1;
    }
    const int32_t c = eg__onig_next(p);
    if (c == '[') {
        class(p, x);
        return -1;
    }
    if (c != '\\') {
        return c;
    }
    if (p->s[p->at] == 'b') {
        p->at++;
        return '\b';
    }
    const int32_t escaped = eg__onig_escaped(p);
    if (escaped >= 0 || p->st) {
        return escaped;
    }
    const int32_t letter = eg__onig_next(p);
    if (letter < 0 || !add_shorthand(p, x, letter)) {
        eg__onig_refuse(p, "the escape \\%c is not supported in a class", (int)letter);
    }
    return -1;
}

static void range(eg__onig *p, set *x, int32_t first)
{
    int32_t last = first;
    const bool dash = p->s[p->at] == '-' && p->at + 1 < p->n && p->s[p->at + 1] != ']';
    if (dash) {
        p->at++;
        if (follows(p, "&&") || p->s[p->at] == '[') {
            eg__onig_refuse(p, "a range in a class has no end");
        }
        last = p->st ? first : item(p, x);
        if (last < first) {
            eg__onig_refuse(p, last < 0 ? "a range in a class ends with a set" : "a range in a class is empty");
        }
    }
    if (p->st) {
        return;
    }
    eg__onig_check_fold(p, first, last);
    eg__onig_put_character(p, &x->items, first);
    if (last > first) {
        eg__onig_put(p, &x->items, "-");
        eg__onig_put_character(p, &x->items, last);
    }
    if (dash && p->s[p->at] == '-' && p->s[p->at + 1] != ']') {
        eg__onig_refuse(p, "\"-\" after a range must be escaped");
    }
}

/* Items up to "]" or "&&". */
static void items(eg__onig *p, set *x)
{
    bool first = true;
    for (; !p->st && p->s[p->at] != ']' && !follows(p, "&&"); first = false) {
        if (p->at >= p->n) {
            eg__onig_refuse(p, "a class has no end");
            return;
        }
        if (p->s[p->at] == '-' && !first && p->s[p->at + 1] != ']') {
            eg__onig_refuse(p, "\"-\" between items of a class must be escaped");
            return;
        }
        const int32_t c = item(p, x);
        if (c >= 0 && !p->st) {
            range(p, x, c);
        }
    }
    if (!p->st && !x->items.n && !x->many) {
        eg__onig_refuse(p, "a class, or a side of \"&&\", is empty");
    }
}

/* After "[", whose end it reads: adds the class to a set. */
static void class(eg__onig *p, set *into)
{
    const bool complement = p->s[p->at] == '^';
    set x = {0};
    eg__bytes both = {0};
    p->at += complement;
    if (++p->depth > MOST_DEPTH) {
        eg__onig_refuse(p, "classes are nested more than %d deep", MOST_DEPTH);
    }
    if (p->s[p->at] == ']' && memchr(p->s + p->at + 1, ']', (size_t)(p->n - p->at - 1 > 0 ? p->n - p->at - 1 : 0))) {
        p->at++;
        eg__onig_put_character(p, &x.items, ']');
    }
    if (p->s[p->at] != ']' || !x.items.n) {
        items(p, &x);
    }
    while (!p->st && follows(p, "&&")) {
        p->at += 2;
        eg__onig_put(p, &both, both.n ? "(?=" : "(?:(?=");
        put_set(p, &both, &x);
        eg__onig_put(p, &both, ")");
        set_free(&x);
        x = (set){0};
        items(p, &x);
    }
    p->at++;
    p->depth--;
    if (!p->st && both.n) {
        put_set(p, &both, &x);
        eg__onig_put(p, &both, ")|");
        set_free(&x);
        x = (set){.others = both, .many = 1};
        both = (eg__bytes){0};
    }
    if (!p->st && complement) {
        put_complement(p, &into->others, &x);
        eg__onig_put(p, &into->others, "|");
        into->many++;
    } else if (!p->st) {
        put_all(p, &into->items, &x.items, x.items.n);
        put_all(p, &into->others, &x.others, x.others.n);
        into->many += x.many;
    }
    set_free(&x);
    eg__bytes_free(&both);
}

void eg__onig_class(eg__onig *p)
{
    set x = {0};
    class(p, &x);
    if (!p->st) {
        put_set(p, p->out, &x);
    }
    set_free(&x);
}
