/* oniguruma.c - groups, quantifiers, anchors and literals of Oniguruma's syntax, as PCRE2 writes them. */
#include "data/tokens/oniguruma.h"

#include <stdarg.h>
#include <stdio.h>

#include "data/tokens/unicode.h"
#include "lib/io/file.h"

enum { MOST_DEPTH = 100, MOST_REPEATS = 65535 };

/* ---- shared with classes ---------------------------------------------------------------------- */

void eg__onig_refuse(eg__onig *p, const char *format, ...)
{
    if (p->st) {
        return;
    }
    char why[160];
    va_list ap;
    va_start(ap, format);
    vsnprintf(why, sizeof why, format, ap);
    va_end(ap);
    p->st = eg__fail(EG_EFORMAT, p->op, "the regular expression \"%.80s\" at byte %lld: %s", (const char *)p->s,
                     (long long)p->at, why);
}

void eg__onig_put(eg__onig *p, eg__bytes *b, const char *text)
{
    const int64_t n = (int64_t)strlen(text);
    if (!p->st && !eg__bytes_add(b, text, n)) {
        p->st = eg__no_memory(p->op, n);
    }
}

void eg__onig_put_character(eg__onig *p, eg__bytes *b, int32_t c)
{
    char text[16];
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    snprintf(text, sizeof text, plain ? "%c" : "\\x{%x}", (unsigned)c);
    eg__onig_put(p, b, text);
}

int32_t eg__onig_next(eg__onig *p)
{
    if (p->at >= p->n) {
        return -1;
    }
    int bytes;
    const int32_t c = eg__character(p->s + p->at, &bytes);
    p->at += bytes;
    return c;
}

static int digit_of(int32_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

/* Up to `most` digits of this base; how many there were in *digits. */
static int64_t digits(eg__onig *p, int base, int most, int *count)
{
    int64_t value = 0;
    int k = 0;
    for (; k < most && p->at < p->n && digit_of(p->s[p->at]) < base; k++, p->at++) {
        value = base * value + digit_of(p->s[p->at]);
    }
    *count = k;
    return value;
}

/* x and o: {digits}, or two of them. */
static int64_t by_number(eg__onig *p, int32_t kind)
{
    int count;
    const int base = kind == 'o' ? 8 : 16;
    if (kind != 'u' && p->s[p->at] == '{') {
        p->at++;
        const int64_t c = digits(p, base, 11, &count);
        if (!count || p->s[p->at] != '}') {
            eg__onig_refuse(p, "\\%c{ expects one number and \"}\"", (int)kind);
        }
        p->at++;
        return c;
    }
    const int wants = kind == 'u' ? 4 : 2;
    const int64_t c = digits(p, base, wants, &count);
    if (kind == 'o' || (kind == 'u' ? count < wants : !count)) {
        eg__onig_refuse(p, "\\%c without a number", (int)kind);
    } else if (kind == 'x' && c > 0x7f) {
        eg__onig_refuse(p, "\\x%02X is a byte of UTF-8 alone; write \\x{%02X}", (unsigned)c, (unsigned)c);
    }
    return c;
}

static int64_t control(eg__onig *p, int32_t kind)
{
    if (kind == 'C' && p->s[p->at++] != '-') {
        eg__onig_refuse(p, "\\C is not supported: it would match a single byte of a character");
        return 0;
    }
    const int32_t c = eg__onig_next(p);
    if (c < '?' || c > 'z') {
        eg__onig_refuse(p, "\\%c expects a letter", (int)kind);
    }
    return c == '?' ? 0x7f : c & 0x1f;
}

int32_t eg__onig_escaped(eg__onig *p)
{
    static const char letters[] = "tnrfvae";
    static const char means[] = "\t\n\r\f\v\a\033";
    const int64_t from = p->at;
    const int32_t c = eg__onig_next(p);
    const char *simple = c > 0 && c < 0x80 ? strchr(letters, c) : NULL;
    int64_t value = c;
    int count;
    if (simple) {
        value = means[simple - letters];
    } else if (c == 'x' || c == 'o' || c == 'u') {
        value = by_number(p, c);
    } else if (c == 'c' || c == 'C') {
        value = control(p, c);
    } else if (c == '0') {
        value = digits(p, 8, 2, &count);
    } else if (c >= '1' && c <= '7' && digit_of(p->s[p->at]) < 8 && digit_of(p->s[p->at + 1]) < 8) {
        p->at--;
        value = digits(p, 8, 3, &count);
        if (value > 0x7f) {
            eg__onig_refuse(p, "\\%03o is a byte of UTF-8 alone; write \\x{%02X}", (unsigned)value, (unsigned)value);
        }
    } else if (c < 0 || (c < 0x80 && digit_of(c) < 10) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) {
        p->at = from;
        return -1;
    }
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
        eg__onig_refuse(p, "there is no character %llx (hexadecimal)", (unsigned long long)value);
    }
    return p->st ? 0 : (int32_t)value;
}

/* ---- letters without case ---------------------------------------------------------------------- */

void eg__onig_check_fold(eg__onig *p, int32_t first, int32_t last)
{
    /* Characters that are equal to several others without case (Unicode's CaseFolding, status F), and what is between.
     */
    static const int32_t several[][2] = {{0xdf, 0xdf},     {0x130, 0x130},   {0x149, 0x149},  {0x1f0, 0x1f0},
                                         {0x390, 0x390},   {0x3b0, 0x3b0},   {0x587, 0x587},  {0x1e96, 0x1e9e},
                                         {0x1f50, 0x1f57}, {0x1f80, 0x1ffc}, {0xfb00, 0xfb17}};
    for (int i = 0; p->fold && i < EG__COUNT(several); i++) {
        if (first <= several[i][1] && last >= several[i][0]) {
            eg__onig_refuse(p, "(?i) with U+%04X, which is equal to several letters, is not supported",
                            (unsigned)eg__max(first, several[i][0]));
        }
    }
}

/* Refuses two characters which (?i) compares with one: "ss" with U+00DF, "fi" with U+FB01. */
static void check_pair(eg__onig *p, int32_t c)
{
    static const char ascii[][3] = {"ss", "ff", "fi", "fl", "st"};
    const int32_t b = p->before;
    bool joins = b >= 0 && ((c >= 0x2be && c <= 0x345) || (b >= 0x2bc && c == 'n') ||
                            (b >= 0x370 && b < 0x590 && c >= 0x370 && c < 0x590 && (c < 0x400 || c >= 0x530)));
    for (int i = 0; i < EG__COUNT(ascii); i++) {
        joins |= b < 0x80 && c < 0x80 && (b | 32) == ascii[i][0] && (c | 32) == ascii[i][1];
    }
    if (joins) {
        eg__onig_refuse(p, "(?i) with two letters that are equal to one, such as \"ss\", is not supported");
    }
}

static void literal(eg__onig *p, int32_t c)
{
    if (p->fold) {
        eg__onig_check_fold(p, c, c);
        check_pair(p, c);
    }
    eg__onig_put_character(p, p->out, c);
    p->before = c;
}

/* ---- quantifiers --------------------------------------------------------------------------------- */

static void insert(eg__onig *p, int64_t at, const char *text)
{
    const int64_t n = (int64_t)strlen(text), old = p->out->n;
    eg__onig_put(p, p->out, text);
    if (!p->st) {
        memmove(p->out->p + at + n, p->out->p + at, (size_t)(old - at));
        memcpy(p->out->p + at, text, (size_t)n);
    }
}

/* "{n}", "{n,}", "{,m}", "{n,m}" at p->at; false: a brace that stands for itself. */
static bool interval(eg__onig *p, int64_t *least, int64_t *most, bool *fixed)
{
    const int64_t from = p->at++;
    int low, high = 0;
    *least = digits(p, 10, 7, &low);
    *most = *least;
    *fixed = p->s[p->at] != ',';
    if (!*fixed) {
        p->at++;
        *most = digits(p, 10, 7, &high);
        *most = high ? *most : -1;
    }
    if ((!low && !high) || p->s[p->at] != '}') {
        p->at = from;
        return false;
    }
    p->at++;
    if (*least > MOST_REPEATS || *most > MOST_REPEATS) {
        eg__onig_refuse(p, "more than %d repetitions are not supported", MOST_REPEATS);
    }
    return true;
}

/* A quantifier at p->at, of what p->out has from `from` on; 0: none, 1: of one sign, 2: an interval. */
static int quantifier(eg__onig *p, int64_t from, int last)
{
    const int32_t c = p->at < p->n ? p->s[p->at] : -1;
    char text[40] = {(char)c, 0};
    int64_t least, most;
    bool fixed = false;
    int kind = c == '*' || c == '+' || c == '?';
    bool swapped = false;
    if (kind) {
        p->at++;
    } else if (c == '{' && interval(p, &least, &most, &fixed)) {
        kind = 2;
        swapped = most >= 0 && least > most;
        snprintf(text, sizeof text, swapped || most < 0 || !fixed ? most < 0 ? "{%lld,}" : "{%lld,%lld}" : "{%lld}",
                 (long long)(swapped ? most : least), (long long)(swapped ? least : most));
    }
    if (!kind) {
        return 0;
    }
    if (last == 1 && kind == 1) {
        eg__onig_refuse(p, "two quantifiers one after the other are not supported; put a group around the first");
    }
    if (last) {
        insert(p, from, "(?:");
        eg__onig_put(p, p->out, ")");
    }
    eg__onig_put(p, p->out, text);
    if (swapped) {
        eg__onig_put(p, p->out, "+"); /* {5,2} is possessive */
    } else if (p->at < p->n && ((p->s[p->at] == '?' && !fixed) || (p->s[p->at] == '+' && kind == 1))) {
        eg__onig_put(p, p->out, p->s[p->at++] == '?' ? "?" : "+");
    }
    return kind;
}

/* ---- groups --------------------------------------------------------------------------------------- */

static void alternatives(eg__onig *p);

/* Comments, and blanks where they do not count. */
static void skip(eg__onig *p)
{
    while (p->at < p->n) {
        const uint8_t *s = p->s + p->at;
        if (p->extended && (*s == ' ' || (*s >= 9 && *s <= 13))) {
            p->at++;
        } else if (p->extended && *s == '#') {
            const uint8_t *end = memchr(s, '\n', (size_t)(p->n - p->at));
            p->at = end ? end - p->s + 1 : p->n;
        } else if (!strncmp((const char *)s, "(?#", 3)) {
            while (p->at < p->n && p->s[p->at] != ')') {
                p->at += 1 + (p->s[p->at] == '\\');
            }
            if (p->at++ >= p->n) {
                p->at = p->n;
                eg__onig_refuse(p, "a comment has no end");
            }
        } else {
            return;
        }
    }
}

static void close_group(eg__onig *p)
{
    if (p->at >= p->n || p->s[p->at] != ')') {
        eg__onig_refuse(p, "\")\" is missing");
        return;
    }
    p->at++;
    eg__onig_put(p, p->out, ")");
}

static void inside(eg__onig *p, const char *opens)
{
    const eg__onig outside = *p;
    eg__onig_put(p, p->out, opens);
    alternatives(p);
    p->fold = outside.fold;
    p->dot_all = outside.dot_all;
    p->extended = outside.extended;
}

/* (?imx-imx:...), and without ":" of all that follows in the group. */
static void options(eg__onig *p)
{
    const eg__onig outside = *p;
    bool on = true;
    for (; p->at < p->n && strchr("imx-", p->s[p->at]); p->at++) {
        const uint8_t c = p->s[p->at];
        on = c == '-' ? false : on;
        p->fold = c == 'i' ? on : p->fold;
        p->dot_all = c == 'm' ? on : p->dot_all;
        p->extended = c == 'x' ? on : p->extended;
    }
    const int32_t end = p->at < p->n ? p->s[p->at] : -1;
    if (end != ':' && end != ')') {
        eg__onig_refuse(p, "the group \"(?%.*s\" is not supported", (int)eg__min(p->n - p->at, 1),
                        (const char *)p->s + p->at);
        return;
    }
    p->at++;
    p->before = -1;
    eg__onig_put(p, p->out, p->fold ? "(?i:" : "(?-i:");
    alternatives(p);
    p->fold = outside.fold;
    p->dot_all = outside.dot_all;
    p->extended = outside.extended;
    if (end == ':') {
        close_group(p);
    } else {
        eg__onig_put(p, p->out, ")");
    }
}

static void name(eg__onig *p, char end)
{
    const int64_t from = p->at;
    eg__onig_put(p, p->out, "<");
    for (; p->at < p->n && p->s[p->at] != end && !p->st; p->at++) {
        const uint8_t c = p->s[p->at];
        const bool good =
            c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && p->at > from);
        const char one[2] = {(char)c, 0};
        eg__onig_put(p, p->out, one);
        if (!good || p->at - from >= 32) {
            eg__onig_refuse(p, "the name of a group has up to 32 letters, digits and \"_\"");
        }
    }
    if (p->at >= p->n || p->at == from) {
        eg__onig_refuse(p, "the name of a group is missing, or its end");
    }
    p->at++;
    eg__onig_put(p, p->out, ">");
}

/* After "(". Whether it may be repeated. */
static bool group(eg__onig *p)
{
    static const char *const opens[] = {"?:", "?>", "?=", "?!", "?<=", "?<!"};
    const char *s = (const char *)p->s + p->at;
    p->before = -1;
    for (int i = 0; i < EG__COUNT(opens); i++) {
        if (!strncmp(s, opens[i], strlen(opens[i]))) {
            char text[8];
            snprintf(text, sizeof text, "(%s", opens[i]);
            p->at += (int64_t)strlen(opens[i]);
            inside(p, text);
            close_group(p);
            return i < 2;
        }
    }
    if (!strncmp(s, "?<", 2) || !strncmp(s, "?'", 2)) {
        p->at += 2;
        eg__onig_put(p, p->out, "(?");
        name(p, s[1] == '<' ? '>' : '\'');
        inside(p, "");
        close_group(p);
    } else if (s[0] == '?') {
        p->at++;
        options(p);
    } else if (s[0] == '*') {
        eg__onig_refuse(p, "callouts, (*NAME), are not supported");
    } else {
        inside(p, p->named ? "(?:" : "(");
        close_group(p);
    }
    return true;
}

/* ---- escapes outside of classes -------------------------------------------------------------------- */

static void boundary(eg__onig *p, bool is)
{
    const char *const parts[] = {"(?:(?<=[", is ? "])(?![" : "])(?=[", "])|(?<![", is ? "])(?=[" : "])(?!["};
    for (int i = 0; i < EG__COUNT(parts); i++) {
        eg__onig_put(p, p->out, parts[i]);
        eg__onig_put(p, p->out, eg__onig_word);
    }
    eg__onig_put(p, p->out, "]))");
}

/* After a backslash. Whether it may be repeated. */
static bool escape(eg__onig *p)
{
    static const struct {
        char letter;
        bool repeats;
        const char *text;
    } others[] = {{'A', false, "\\A"},
                  {'Z', false, "\\Z"},
                  {'z', false, "\\z"},
                  {'G', false, "\\G"},
                  {'N', true, "[^\\n]"},
                  {'O', true, "(?s:.)"},
                  {'R', true, "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])"}};
    const int32_t c = eg__onig_escaped(p);
    if (c >= 0) {
        if (!p->st) {
            literal(p, c);
        }
        return true;
    }
    const int32_t letter = eg__onig_next(p);
    p->before = -1;
    for (int i = 0; i < EG__COUNT(others); i++) {
        if (letter == others[i].letter) {
            eg__onig_put(p, p->out, others[i].text);
            return others[i].repeats;
        }
    }
    if (letter == 'b' || letter == 'B') {
        boundary(p, letter == 'b');
        return false;
    }
    if (letter >= '1' && letter <= '9' && !p->named && digit_of(p->s[p->at]) > 9) {
        const char text[] = {'\\', 'g', '{', (char)letter, '}', 0};
        eg__onig_put(p, p->out, text);
    } else if (letter == 'k' && (p->s[p->at] == '<' || p->s[p->at] == '\'')) {
        eg__onig_put(p, p->out, "\\k");
        name(p, p->s[p->at++] == '<' ? '>' : '\'');
    } else if (!eg__onig_shorthand(p, letter)) {
        eg__onig_refuse(p, letter < 0 ? "a backslash at the end" : "the escape \\%c is not supported", (int)letter);
    }
    return true;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

/* One character, class, group or anchor. Whether it may be repeated. */
static bool atom(eg__onig *p)
{
    const int32_t c = eg__onig_next(p);
    switch (c) {
    case '\\':
        return escape(p);
    case '[':
        p->before = -1;
        eg__onig_class(p);
        return true;
    case '(':
        return group(p);
    case '.':
        p->before = -1;
        eg__onig_put(p, p->out, p->dot_all ? "(?s:.)" : "[^\\n]");
        return true;
    case '^':
    case '$':
        p->before = -1;
        eg__onig_put(p, p->out, c == '^' ? "(?m:^)" : "(?m:$)");
        return false;
    case '*':
    case '+':
    case '?':
        eg__onig_refuse(p, "there is nothing that \"%c\" could repeat", (int)c);
        return false;
    default:
        literal(p, c);
        return true;
    }
}

/* Up to the end of the group, or of the pattern. */
static void alternatives(eg__onig *p)
{
    if (++p->depth > MOST_DEPTH) {
        eg__onig_refuse(p, "groups are nested more than %d deep", MOST_DEPTH);
    }
    for (skip(p); p->at < p->n && p->s[p->at] != ')' && !p->st; skip(p)) {
        if (p->s[p->at] == '|') {
            p->at++;
            p->before = -1;
            eg__onig_put(p, p->out, "|");
            continue;
        }
        const int64_t from = p->out->n;
        const bool repeats = atom(p);
        skip(p);
        for (int last = 0; !p->st && (last = quantifier(p, from, last)); skip(p)) {
            p->before = -1;
            if (!repeats) {
                eg__onig_refuse(p, "an assertion cannot be repeated");
            }
        }
    }
    p->before = -1;
    p->depth--;
}

/* Returns whether a group has a name. */
static bool has_names(const uint8_t *s, int64_t n)
{
    int classes = 0;
    for (int64_t i = 0; i < n; i++) {
        if (s[i] == '\\') {
            i++;
        } else if (s[i] == '[') {
            classes++;
        } else if (s[i] == ']' && classes) {
            classes--;
        } else if (!classes && i + 3 < n && s[i] == '(' && s[i + 1] == '?' &&
                   (s[i + 2] == '\'' || (s[i + 2] == '<' && s[i + 3] != '=' && s[i + 3] != '!'))) {
            return true;
        }
    }
    return false;
}

eg_status eg__onig_translate(const char *op, const char *s, int64_t n, eg__bytes *to)
{
    eg__onig p = {.op = op, .s = (const uint8_t *)s, .n = n, .out = to, .before = -1};
    p.named = has_names(p.s, n);
    to->n = 0;
    if (memchr(s, '\0', (size_t)n)) {
        eg__onig_refuse(&p, "it contains the character U+0000; write \\0");
    }
    eg__onig_put(&p, to, "(*LF)");
    alternatives(&p);
    if (!p.st && p.at < n) {
        eg__onig_refuse(&p, "\")\" without a \"(\"");
    }
    return p.st;
}
