/* test_token_patterns.c - regular expressions of tokenizers: classes of characters beside those of Hugging Face's
 * `tokenizers`, Oniguruma's syntax, what is refused, and limits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egt.h"

/* A tokenizer whose tokens are the matches. */
static eg_tokenizer *words_of(const char *pattern)
{
    eg_word_counts *c = eg_word_counts_new();
    eg_vocabulary *v = eg_vocabulary_new(c, .reserved = (const char *const[]){"u"}, .reserved_count = 1);
    eg_tokenizer *t = eg_word_tokenizer_new(v, .pattern = pattern, .unknown = "u");
    eg_vocabulary_free(v);
    eg_word_counts_free(c);
    return t;
}

/* Tests of what needs PCRE2. */
static void need(void)
{
    eg_tokenizer *t = words_of("[ab]+");
    egt_need(t, "PCRE2, or utf8proc");
    eg_tokenizer_free(t);
}

/* ---- classes of characters ------------------------------------------------------------------ */

enum { LAST = 0x30000, MOST_EXPRESSIONS = 192, MOST_KINDS = 2048, BLOCK = 4096 };

/* tests/golden/tokens/classes.txt */
static struct {
    char *text;
    const char *expression[MOST_EXPRESSIONS];
    uint64_t kind[MOST_KINDS][MOST_EXPRESSIONS / 64];
    int expressions, kinds;
    uint16_t of[LAST]; /* the kind of a character */
} golden;

static bool bit_of(int32_t c, int expression)
{
    return golden.kind[golden.of[c]][expression / 64] >> expression % 64 & 1;
}

/* A hexadecimal number of any length. */
static void read_set(const char *s, uint64_t *to)
{
    const size_t n = strlen(s);
    for (size_t i = 0; i < n; i++) {
        const char digit[2] = {s[n - 1 - i], 0};
        to[i / 16] |= (uint64_t)strtoul(digit, NULL, 16) << 4 * (i % 16);
    }
}

static bool is_surrogate(int32_t c)
{
    return c >= 0xd800 && c < 0xe000;
}

static void read_golden(void)
{
    size_t n;
    golden.text = egt_read("tests/golden/tokens/classes.txt", &n);
    int part = 0;
    int32_t at = 0;
    for (char *line = golden.text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (!*line) {
            part++;
        } else if (part == 0) {
            golden.expression[golden.expressions++] = line;
        } else if (part == 1) {
            read_set(line, golden.kind[golden.kinds++]);
        } else {
            unsigned length, kind;
            EGT_CHECK(sscanf(line, "%x %x", &length, &kind) == 2);
            for (; length; length--, at++) {
                at = is_surrogate(at) ? 0xe000 : at;
                golden.of[at] = (uint16_t)kind;
            }
        }
    }
    EGT_EQ(at, LAST);
    EGT_CHECK(golden.expressions > 100 && golden.expressions <= MOST_EXPRESSIONS && golden.kinds <= MOST_KINDS);
}

static int put(uint8_t *to, int32_t c)
{
    const int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = n - 1; i > 0; i--, c >>= 6) {
        to[i] = (uint8_t)(0x80 | (c & 63));
    }
    to[0] = (uint8_t)(first[n] | c);
    return n;
}

/* Sets, for each character, whether the pattern matches it. */
static void match_all(const eg_tokenizer *t, bool *is)
{
    memset(is, 0, LAST * sizeof *is);
    for (int32_t first = 0; first < LAST; first += BLOCK) {
        uint8_t text[4 * BLOCK];
        int32_t at[4 * BLOCK];
        int64_t n = 0;
        for (int32_t c = first; c < first + BLOCK; c++) {
            at[n] = c;
            n += is_surrogate(c) ? 0 : put(text + n, c);
        }
        EG_SCOPE {
            eg_tokens x = eg_tokenizer_encode(t, eg_from(EG_SHAPE(n), EG_U8, text));
            EGT_CHECK(n == 0 || x.ids);
            const int64_t *offsets = x.offsets ? eg_data(x.offsets) : NULL;
            for (int64_t i = 0; x.ids && i < eg_numel(x.ids); i++) {
                is[at[offsets[2 * i]]] = true;
            }
        }
    }
}

/* Returns whether later versions of Unicode give the character other properties. */
static bool has_changed(int32_t c)
{
    static const int32_t ranges[][2] = {{0x363, 0x36f},   {0xc04, 0xc04},     {0xf82, 0xf83},
                                        {0x10fc, 0x10fc}, {0x1dd3, 0x1de6},   {0xa7f2, 0xa7f4},
                                        {0xab69, 0xab69}, {0x11080, 0x11081}, {0x1171e, 0x1171e}};
    bool is = false;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        is |= c >= ranges[i][0] && c <= ranges[i][1];
    }
    return is;
}

/* Returns the number of characters for which golden.expression[i] differs from `tokenizers`, without those that one of
 * the two Unicode tables lacks or defines otherwise. */
static int differing(int i, const bool *is, const bool *unassigned)
{
    int wrong = 0;
    for (int32_t c = 0; c < LAST; c++) {
        if (!is_surrogate(c) && !unassigned[c] && !bit_of(c, 0) && !has_changed(c) && is[c] != bit_of(c, i)) {
            if (!wrong++) {
                printf("  %s: U+%04X\n", golden.expression[i], (unsigned)c);
            }
        }
    }
    return wrong;
}

EGT(classes_match_what_tokenizers_matches)
{
    need();
    read_golden();
    static bool is[LAST], unassigned[LAST];
    int wrong = 0;
    EGT_CHECK(!strcmp(golden.expression[0], "\\p{Cn}"));
    for (int i = 0; i < golden.expressions; i++) {
        eg_tokenizer *t = words_of(golden.expression[i]);
        if (!t) {
            printf("  %s: %s\n", golden.expression[i], eg_last_error()->message);
        }
        EGT_CHECK(t);
        match_all(t, i ? is : unassigned);
        wrong += i ? differing(i, is, unassigned) : 0;
        eg_tokenizer_free(t);
    }
    free(golden.text);
    EGT_EQ(wrong, 0);
}

/* ---- syntax ------------------------------------------------------------------------------- */

/* Returns the text with each match of the pattern in brackets. */
static const char *found(const char *pattern, const char *text)
{
    static char out[400];
    size_t n = 0;
    out[0] = '\0';
    eg_tokenizer *t = words_of(pattern);
    EG_SCOPE {
        eg_tokens x = t ? eg_tokenizer_encode(t, eg_text(text)) : (eg_tokens){0};
        n = (size_t)snprintf(out, sizeof out, "%s", x.ids ? "" : eg_last_error()->message);
        for (int64_t i = 0; x.ids && i < eg_numel(x.ids) && n < sizeof out; i++) {
            const int from = (int)eg_get(x.offsets, 2 * i), to = (int)eg_get(x.offsets, 2 * i + 1);
            n += (size_t)snprintf(out + n, sizeof out - n, "[%.*s]", to - from, text + from);
        }
    }
    eg_tokenizer_free(t);
    return out;
}

static void finds(const char *pattern, const char *text, const char *expected)
{
    const char *is = found(pattern, text);
    if (strcmp(is, expected) != 0) {
        printf("  \"%s\" in \"%s\": %s, not %s\n", pattern, text, is, expected);
    }
    EGT_CHECK(!strcmp(is, expected));
}

/* Expected values are of `tokenizers`. */
EGT(patterns_are_in_syntax_of_oniguruma)
{
    need();
    finds("a{,2}", "aaab", "[aa][a]");
    finds("a{2}+", "aaaaa", "[aaaa]");
    finds("(?:a{2}+)a", "aaaaa", "[aaaaa]");
    finds("a{3,1}a", "aaaaaa", "[aaaa]");
    finds("b{2}?", "bbb", "[bb]");
    finds("x{,}|{", "x{,}{", "[x{,}][{]");
    finds("^b", "a\nb", "[b]");
    finds("a$", "a\na", "[a][a]");
    finds("\\Ab", "a\nb", "");
    finds("a.b", "a\nb a\rb", "[a\rb]");
    finds("(?m:a.b)", "a\nb", "[a\nb]");
    finds("a(?i)b|C", "aB ac c", "[aB][ac]");
    finds("(?x) a b # c\n |\\ ", "ab a", "[ab][ ]");
    finds("a(?#no)+", "aa", "[aa]");
    finds("[[:alpha:]]+", "a\xc3\xa4:", "[a\xc3\xa4]");
    finds("[a-c[1-3]&&[^b2]]+", "abc123", "[a][c1][3]");
    finds("[]a]+", "a]b", "[a]]");
    finds("[a\\]b-]+", "-]", "[-]]");
    finds("\\h+", "09afAFg", "[09afAF]");
    finds("\\v", "\x0b\n", "[\x0b]");
    finds("\\b\\w", "a\xcc\x81z \xe0\xa4\xa8\xe0\xa4\xbf", "[a][\xe0\xa4\xa8]");
    finds("\\p{Han}+", "\xe3\x80\x81\xe4\xb8\xad", "[\xe4\xb8\xad]");
    finds("\\p{^lowercase_letter}", "aB", "[B]");
    finds("(a|b)\\1", "abba", "[bb]");
    finds("(?<first>a|b)(.)\\k<first>", "axa", "[axa]");
    finds("(?<=a|bc)d", "ad bcd", "[d][d]");
    finds("\\R", "\r\n\n", "[\r\n][\n]");
    finds("\\x{e4}|\\u00f6|\\x41|\\o{102}|\\103|\\-",
          "\xc3\xa4\xc3\xb6"
          "ABC-",
          "[\xc3\xa4][\xc3\xb6][A][B][C][-]");
}

EGT(patterns_without_counterpart_are_refused)
{
    need();
    static const char *const bad[][2] = {
        {"\\C", "\\C is not supported"},
        {"[\\C]", "\\C is not supported"},
        {"\\X", "\\X is not supported"},
        {"\\K", "\\K is not supported"},
        {"\\q", "\\q is not supported"},
        {"\\Qa", "\\Q is not supported"},
        {"\\g<1>", "\\g is not supported"},
        {"\\xe4", "a byte of UTF-8"},
        {"\\x{110000}", "no character"},
        {"\\x{d800}", "no character"},
        {"\\pL", "a name in braces"},
        {"\\p{Tengwar}", "refused by PCRE2"},
        {"(*FAIL)", "callouts"},
        {"(*UTF)a", "callouts"},
        {"(?~a)", "is not supported"},
        {"(?P<a>b)", "is not supported"},
        {"(?s:.)", "is not supported"},
        {"(?=a)*", "cannot be repeated"},
        {"*a", "nothing that"},
        {"a**", "two quantifiers"},
        {"a{70000}", "more than 65535"},
        {"(?i:ss)", "equal to one"},
        {"(?i:\xc3\x9f)", "equal to several"},
        {"(?i:[\\p{Lu}])", "(?i) with the set"},
        {"[a-\\d]", "ends with a set"},
        {"[z-a]", "empty"},
        {"[a&&]", "empty"},
        {"[[:foo:]]", "no class [:foo:]"},
        {"[a", "no end"},
        {"(a", "missing"},
        {"a)", "without"},
        {"(?<=a+)b", "refused by PCRE2"},
        {"\xff", "not UTF-8"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EGT_REFUSED(words_of(bad[i][0]), EG_EFORMAT, bad[i][1]);
    }
}

/* Each of these never came to an end. */
EGT(empty_matches_advance)
{
    need();
    static const char *const empty[] = {"", "a*", "x?", "^", "$", "\\b", "(?=[A-Z])", "(?<=b)", "|a", "(a|)*", "\\z"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        eg_tokenizer *t = words_of(empty[i]);
        EGT_CHECK(t);
        EG_SCOPE {
            EGT_CHECK(eg_tokenizer_encode(t, eg_text("aB\xc3\xa4 b")).ids);
            EGT_CHECK(eg_tokenizer_encode(t, eg_text("")).ids);
        }
        eg_tokenizer_free(t);
    }
    finds("a*", "baac", "[aa]");
}

EGT(limits_of_pcre2_are_named)
{
    need();
    enum { LONG = 1 << 20 };
    static char text[LONG + 1];
    memset(text, 'a', LONG);
    eg_tokenizer *t = words_of("(?:a|(b))*[^a]");
    EG_SCOPE {
        EGT_REFUSED(eg_tokenizer_encode(t, eg_text(text)).ids, EG_EINVAL, "exceeds PCRE2's heap limit of 65536 KiB");
    }
    eg_tokenizer_free(t);
    text[100] = '\0';
    t = words_of("(?:a+)+[^a]");
    EG_SCOPE {
        EGT_REFUSED(eg_tokenizer_encode(t, eg_text(text)).ids, EG_EINVAL, "exceeds PCRE2's match limit of 10000000");
    }
    eg_tokenizer_free(t);
}
