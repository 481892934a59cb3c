/* json.c - a strict pull parser for JSON. */
#include <string.h>

#include "lib/io/file.h"
#include "lib/io/json.h"

enum { WANT_VALUE, WANT_ITEM_OR_CLOSE, WANT_KEY, WANT_KEY_OR_CLOSE, WANT_COMMA_OR_CLOSE, WANT_END };

void eg__json_begin(eg__json *j, char *s, int64_t size)
{
    *j = (eg__json){.s = s, .size = size, .want = WANT_VALUE};
}

static eg__json_token bad(eg__json *j, const char *error)
{
    j->error = error;
    return EG__JSON_ERROR;
}

static int peek(const eg__json *j)
{
    return j->at < j->size ? (unsigned char)j->s[j->at] : -1;
}

static void skip_blanks(eg__json *j)
{
    for (int c = peek(j); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(j)) {
        j->at++;
    }
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Four hexadecimal digits at j->at, or -1. */
static int hex4(eg__json *j)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int c = peek(j);
        int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (d < 0) {
            return -1;
        }
        v = 16 * v + d;
        j->at++;
    }
    return v;
}

static char *put_utf8(char *to, int c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 63));
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

/* The character a \u escape stands for; -1 if it is malformed. */
static int unicode_escape(eg__json *j)
{
    int c = hex4(j);
    if (c < 0xd800 || c > 0xdfff) {
        return c;
    }
    if (c > 0xdbff || j->size - j->at < 6 || j->s[j->at] != '\\' || j->s[j->at + 1] != 'u') {
        return -1;
    }
    j->at += 2;
    int low = hex4(j);
    return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : -1;
}

/* After a backslash. NULL: no such escape. */
static char *escape(eg__json *j, char *to)
{
    static const char from[] = "\"\\/bfnrt", made[] = "\"\\/\b\f\n\r\t";
    int c = peek(j);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    j->at++;
    if (known) {
        *to = made[known - from];
        return to + 1;
    }
    int u = c == 'u' ? unicode_escape(j) : -1;
    return u < 0 ? NULL : put_utf8(to, u);
}

/* From the opening quote; the text never grows by unescaping. */
static bool read_string(eg__json *j)
{
    char *to = j->text = j->s + ++j->at;
    while (j->at < j->size) {
        unsigned char c = (unsigned char)j->s[j->at];
        if (c == '"') {
            j->at++;
            j->length = to - j->text;
            *to = 0;
            return true;
        }
        if (c < 0x20) {
            j->error = "a control character inside a string";
            return false;
        }
        if (c == '\\') {
            j->at++;
            to = escape(j, to);
            if (!to) {
                j->error = "no such escape in a string";
                return false;
            }
            continue;
        }
        int n = eg__utf8_length(j->s + j->at, j->size - j->at);
        if (!n) {
            j->error = "a string that is not UTF-8";
            return false;
        }
        for (int i = 0; i < n; i++) {
            *to++ = j->s[j->at++];
        }
    }
    j->error = "a string without an end";
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool digits(eg__json *j)
{
    int64_t from = j->at;
    while (peek(j) >= '0' && peek(j) <= '9') {
        j->at++;
    }
    return j->at > from;
}

static bool read_number(eg__json *j)
{
    j->text = j->s + j->at;
    if (peek(j) == '-') {
        j->at++;
    }
    bool ok = true;
    if (peek(j) == '0') {
        j->at++; /* no digits may follow */
    } else {
        ok = digits(j);
    }
    if (ok && peek(j) == '.') {
        j->at++;
        ok = digits(j);
    }
    if (ok && (peek(j) | 32) == 'e') {
        j->at++;
        if (peek(j) == '+' || peek(j) == '-') {
            j->at++;
        }
        ok = digits(j);
    }
    j->length = j->s + j->at - j->text;
    return ok;
}

static bool word(eg__json *j, const char *w)
{
    size_t n = strlen(w);
    if (j->size - j->at < (int64_t)n || memcmp(j->s + j->at, w, n)) {
        return false;
    }
    j->at += (int64_t)n;
    return true;
}

static void after_value(eg__json *j)
{
    j->want = j->depth ? WANT_COMMA_OR_CLOSE : WANT_END;
}

static bool in_object(const eg__json *j)
{
    return j->depth && j->objects >> (j->depth - 1) & 1;
}

static eg__json_token open_level(eg__json *j, bool object)
{
    if (j->depth == EG__JSON_DEPTH) {
        return bad(j, "nesting deeper than 64 levels");
    }
    uint64_t bit = (uint64_t)1 << j->depth++;
    j->objects = object ? j->objects | bit : j->objects & ~bit;
    j->at++;
    j->want = object ? WANT_KEY_OR_CLOSE : WANT_ITEM_OR_CLOSE;
    return object ? EG__JSON_OBJECT : EG__JSON_ARRAY;
}

static eg__json_token close_level(eg__json *j)
{
    eg__json_token t = in_object(j) ? EG__JSON_OBJECT_END : EG__JSON_ARRAY_END;
    j->at++;
    j->depth--;
    after_value(j);
    return t;
}

static eg__json_token read_value(eg__json *j)
{
    int c = peek(j);
    if (c == '{' || c == '[') {
        return open_level(j, c == '{');
    }
    eg__json_token t = EG__JSON_ERROR;
    if (c == '"') {
        if (!read_string(j)) {
            return EG__JSON_ERROR;
        }
        t = EG__JSON_STRING;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        if (!read_number(j)) {
            return bad(j, "a number without digits");
        }
        t = EG__JSON_NUMBER;
    } else if (word(j, "true")) {
        t = EG__JSON_TRUE;
    } else if (word(j, "false")) {
        t = EG__JSON_FALSE;
    } else if (word(j, "null")) {
        t = EG__JSON_NULL;
    } else {
        return bad(j, c < 0 ? "the text ends early" : "a value was expected");
    }
    after_value(j);
    return t;
}

static eg__json_token read_key(eg__json *j)
{
    if (peek(j) != '"') {
        return bad(j, "a key in quotes was expected");
    }
    if (!read_string(j)) {
        return EG__JSON_ERROR;
    }
    skip_blanks(j);
    if (peek(j) != ':') {
        return bad(j, "a colon was expected");
    }
    j->at++;
    j->want = WANT_VALUE;
    return EG__JSON_KEY;
}

eg__json_token eg__json_next(eg__json *j)
{
    if (j->error) {
        return EG__JSON_ERROR;
    }
    skip_blanks(j);
    if (j->want == WANT_COMMA_OR_CLOSE) {
        if (peek(j) == (in_object(j) ? '}' : ']')) {
            return close_level(j);
        }
        if (peek(j) != ',') {
            return bad(j, "a comma or the closing bracket was expected");
        }
        j->at++;
        j->want = in_object(j) ? WANT_KEY : WANT_VALUE;
        skip_blanks(j);
    }
    j->start = j->at;
    switch (j->want) {
    case WANT_KEY_OR_CLOSE:
        return peek(j) == '}' ? close_level(j) : read_key(j);
    case WANT_KEY:
        return read_key(j);
    case WANT_ITEM_OR_CLOSE:
        return peek(j) == ']' ? close_level(j) : read_value(j);
    case WANT_END:
        return j->at == j->size ? EG__JSON_END : bad(j, "something after the value's end");
    default:
        return read_value(j);
    }
}

bool eg__json_integer(const eg__json *j, int64_t *v)
{
    bool negative = j->text[0] == '-';
    int64_t sum = 0;
    for (int64_t i = negative; i < j->length; i++) {
        int d = j->text[i] - '0';
        if (d < 0 || d > 9 || __builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, d, &sum)) {
            return false;
        }
    }
    *v = negative ? -sum : sum;
    return true;
}

bool eg__json_is(const eg__json *j, const char *w)
{
    return j->length == (int64_t)strlen(w) && !memcmp(j->text, w, (size_t)j->length);
}
