/* text.c - characters and words. */
#include "data/text/text.h"
#include "lib/core/counted.h"

#include <stdlib.h>

#include "lib/io/file.h"
#include "lib/core/device.h"

#ifdef EG_HAVE_UTF8PROC
#include <utf8proc.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)            \
    X(utf8proc_category)        \
    X(utf8proc_decompose)       \
    X(utf8proc_encode_char)     \
    X(utf8proc_errmsg)          \
    X(utf8proc_iterate)         \
    X(utf8proc_normalize_utf32) \
    X(utf8proc_tolower)
EG__LIBRARY(lib, FUNCTIONS, .title = "utf8proc", .files = {EG_SO_UTF8PROC},
            .package = "libutf8proc2 (libutf8proc3 from Debian 13 on)");
#endif

eg_tensor *eg__text_check(const char *op, eg_tensor *text)
{
    if (eg__check(text, op, "text")) {
        return NULL;
    }
    if (text->dtype != EG_U8 || text->ndim != 1) {
        return eg__fail_null(text->ndim == 1 ? EG_EDTYPE : EG_ESHAPE, op, "a text is u8 [n], not %s %s",
                             eg_dtype_name((eg_dtype)text->dtype), EG__SHAPE_OF(text));
    }
    return eg__host_only(text, op, "text") ? NULL : eg_contiguous(text);
}

static eg_status no_utf8(const char *op, int64_t at)
{
    return eg__fail(EG_EFORMAT, op, "byte %lld of the text: no UTF-8", (long long)at);
}

eg_tensor *eg_text(const char *s)
{
    if (!s) {
        return eg__null_argument("eg_text", "s"), NULL;
    }
    return eg__bytes_tensor(s, (int64_t)strlen(s));
}

/* ---- words ---------------------------------------------------------------------------------- */

bool eg__is_blank(int32_t c)
{
    return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
           c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Bytes of the blank at s; 0 if there is none, -1 if what is there is no UTF-8. `*n`: bytes of the
 * character. */
static int blank_at(const uint8_t *s, int64_t left, int *n)
{
    *n = eg__utf8_length((const char *)s, left);
    if (*n < 1) {
        return -1;
    }
    int32_t c = *n == 1   ? s[0]
                : *n == 2 ? (s[0] & 31) << 6 | (s[1] & 63)
                : *n == 3 ? (s[0] & 15) << 12 | (s[1] & 63) << 6 | (s[2] & 63)
                          : 0xffff;
    return eg__is_blank(c) ? *n : 0;
}

eg_status eg__next_word(const char *op, const uint8_t *s, int64_t size, int64_t *at, int64_t *n)
{
    int64_t i = *at, begin = -1;
    for (int bytes; i < size; i += bytes) {
        int blank = blank_at(s + i, size - i, &bytes);
        if (blank < 0) {
            return no_utf8(op, i);
        }
        if (blank && begin >= 0) {
            break;
        }
        begin = !blank && begin < 0 ? i : begin;
    }
    *at = begin < 0 ? size : begin;
    *n = i - *at;
    return EG_OK;
}

eg_tensor *eg_text_words(eg_tensor *text)
{
    static const char op[] = "eg_text_words";
    eg__bytes found = {0};
    eg_scope scope = eg_scope_push();
    eg_tensor *t = scope.depth ? eg__text_check(op, text) : NULL, *words = NULL;
    eg_status st = t ? EG_OK : eg__why();
    int64_t word[2] = {0, 0};
    while (!st && !(st = eg__next_word(op, (const uint8_t *)eg__ptr(t), t->n, &word[0], &word[1])) && word[1]) {
        st = eg__bytes_add(&found, word, sizeof word) ? EG_OK : eg__no_memory(op, found.n);
        word[0] += word[1];
    }
    if (!st) {
        words = eg__empty_on(0, EG_SHAPE(found.n / (int64_t)sizeof word, 2), EG_I64);
    }
    if (words && found.n) {
        memcpy(eg__ptr(words), found.p, (size_t)found.n);
    }
    eg__bytes_free(&found);
    return scope.depth ? eg_scope_pop(scope, words) : NULL;
}

/* ---- characters ----------------------------------------------------------------------------- */

#ifdef EG_HAVE_UTF8PROC

/* By utf8proc's numbers. */
static const char categories[][3] = {"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
                                     "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
                                     "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};

eg_status eg__characters_open(const char *op)
{
    return eg__library_open(&lib_library, op);
}

const char *eg__category(int32_t c)
{
    return categories[lib.utf8proc_category(c)];
}

typedef struct range {
    int32_t first, last;
} range;

static bool is_in(const range *of, int n, int32_t c)
{
    for (int i = 0; i < n; i++) {
        if (c >= of[i].first && c <= of[i].last) {
            return true;
        }
    }
    return false;
}

/* Unicode's property Cased: letters of a case, and what Other_Lowercase and Other_Uppercase add. */
static bool is_cased(int32_t c)
{
    static const range others[] = {{0xaa, 0xaa},       {0xba, 0xba},       {0x2b0, 0x2b8},     {0x2c0, 0x2c1},
                                   {0x2e0, 0x2e4},     {0x345, 0x345},     {0x37a, 0x37a},     {0x1d2c, 0x1d6a},
                                   {0x1d78, 0x1d78},   {0x1d9b, 0x1dbf},   {0x2071, 0x2071},   {0x207f, 0x207f},
                                   {0x2090, 0x209c},   {0x2160, 0x217f},   {0x24b6, 0x24e9},   {0x2c7c, 0x2c7d},
                                   {0xa69c, 0xa69d},   {0xa770, 0xa770},   {0xa7f8, 0xa7f9},   {0xab5c, 0xab5f},
                                   {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107b0}, {0x107b2, 0x107ba},
                                   {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};
    const char *k = eg__category(c);
    return (k[0] == 'L' && strchr("ult", k[1])) || is_in(others, EG__COUNT(others), c);
}

/* Its property Case_Ignorable: marks and modifiers, and the points of Word_Break that stand within words. */
static bool is_case_ignorable(int32_t c)
{
    static const range points[] = {{'\'', '\''},     {'.', '.'},       {':', ':'},       {0xb7, 0xb7},
                                   {0x387, 0x387},   {0x55f, 0x55f},   {0x5f4, 0x5f4},   {0x2018, 0x2019},
                                   {0x2024, 0x2024}, {0x2027, 0x2027}, {0xfe13, 0xfe13}, {0xfe52, 0xfe52},
                                   {0xfe55, 0xfe55}, {0xff07, 0xff07}, {0xff0e, 0xff0e}, {0xff1a, 0xff1a}};
    static const char *const kinds[] = {"Mn", "Me", "Cf", "Lm", "Sk"};
    for (int i = 0; i < EG__COUNT(kinds); i++) {
        if (!strcmp(eg__category(c), kinds[i])) {
            return true;
        }
    }
    return is_in(points, EG__COUNT(points), c);
}

/* Unicode's Final_Sigma: a cased letter before, none after, case-ignorable characters aside. */
static bool is_final(const int32_t *c, int64_t n, int64_t i)
{
    int64_t before = i - 1, after = i + 1;
    while (before >= 0 && is_case_ignorable(c[before])) {
        before--;
    }
    while (after < n && is_case_ignorable(c[after])) {
        after++;
    }
    return before >= 0 && is_cased(c[before]) && !(after < n && is_cased(c[after]));
}

int eg__lower_at(const int32_t *c, int64_t n, int64_t i, int32_t to[2])
{
    enum { CAPITAL_I_DOT = 0x130, DOT = 0x307, CAPITAL_SIGMA = 0x3a3, SIGMA = 0x3c3, FINAL_SIGMA = 0x3c2 };
    to[1] = DOT;
    to[0] = c[i] == CAPITAL_I_DOT   ? 'i'
            : c[i] == CAPITAL_SIGMA ? (is_final(c, n, i) ? FINAL_SIGMA : SIGMA)
                                    : lib.utf8proc_tolower(c[i]);
    return c[i] == CAPITAL_I_DOT ? 2 : 1;
}

/* ---- normalising ---------------------------------------------------------------------------- */

static const char me[] = "eg_text_normalise";

enum { MOST_SET = 256 };

/* Characters of an option. */
typedef struct set {
    int32_t c[MOST_SET];
    int n;
} set;

static eg_status read_set(const char *s, const char *name, set *to)
{
    to->n = 0;
    int64_t left = s ? (int64_t)strlen(s) : 0;
    while (left > 0) {
        utf8proc_ssize_t n = lib.utf8proc_iterate((const utf8proc_uint8_t *)s, left, &to->c[to->n]);
        if (n < 1 || ++to->n == MOST_SET) {
            return eg__fail(EG_EINVAL, me, "%s is %s", name, n < 1 ? "no UTF-8" : "too many characters");
        }
        s += n;
        left -= n;
    }
    return EG_OK;
}

static bool has(const set *s, int32_t c)
{
    for (int i = 0; i < s->n; i++) {
        if (s->c[i] == c) {
            return true;
        }
    }
    return false;
}

/* Bit k: category k of utf8proc is dropped. */
static eg_status read_categories(const char *s, uint32_t *dropped)
{
    *dropped = 0;
    while (s && *s) {
        size_t n = strcspn(s, " ");
        uint32_t found = 0;
        for (int k = 0; k < EG__COUNT(categories); k++) {
            if ((n == 1 || n == 2) && !strncmp(categories[k], s, n)) {
                found |= 1u << k;
            }
        }
        if (!found && n) {
            return eg__fail(EG_EINVAL, me, "no general category \"%.20s\"", s);
        }
        *dropped |= found;
        s += n + (s[n] == ' ');
    }
    return EG_OK;
}

typedef struct rules {
    set blank, apart, only;
    uint32_t dropped;
    bool lower, trim, filter;
} rules;

static bool put(eg__bytes *out, int32_t c, bool trim)
{
    uint8_t b[4];
    int n;
    if (c == ' ' && trim && (!out->n || out->p[out->n - 1] == ' ')) {
        return true;
    }
    n = (int)lib.utf8proc_encode_char(c, b);
    return eg__bytes_add(out, b, n);
}

static bool put_character(const rules *r, int32_t c, eg__bytes *out)
{
    if (has(&r->apart, c)) {
        return put(out, ' ', r->trim) && put(out, c, false) && put(out, ' ', r->trim);
    }
    bool blank = has(&r->blank, c) || (r->filter && !has(&r->only, c)) || (r->trim && eg__is_blank(c));
    return put(out, blank ? ' ' : c, r->trim);
}

static bool put_characters(const rules *r, const int32_t *c, int64_t n, eg__bytes *out)
{
    bool ok = true;
    for (int64_t i = 0; i < n && ok; i++) {
        int32_t to[2] = {c[i]};
        int count = r->lower ? eg__lower_at(c, n, i, to) : 1;
        count = r->dropped >> lib.utf8proc_category(c[i]) & 1 ? 0 : count;
        for (int k = 0; k < count && ok; k++) {
            ok = put_character(r, to[k], out);
        }
    }
    return ok;
}

/* The characters in the form asked for; free them. */
static int32_t *decode(const eg_tensor *t, eg_unicode_form form, utf8proc_ssize_t *n)
{
    static const int options[] = {[EG_UNICODE_KEEP] = 0,
                                  [EG_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
                                  [EG_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
                                  [EG_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
                                  [EG_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT};
    const utf8proc_uint8_t *s = (const utf8proc_uint8_t *)eg__ptr(t);
    utf8proc_option_t o = (utf8proc_option_t)options[form];
    for (int64_t i = 0, k; i < t->n; i += k) {
        if (!(k = eg__utf8_length((const char *)s + i, t->n - i))) {
            no_utf8(me, i);
            return NULL;
        }
    }
    *n = lib.utf8proc_decompose(s, t->n, NULL, 0, o);
    int32_t *c = *n >= 0 ? eg__counted_alloc(((size_t)*n + 1) * sizeof *c) : NULL;
    if (!c) {
        eg__no_memory(me, 4 * t->n);
        return NULL;
    }
    *n = lib.utf8proc_decompose(s, t->n, c, *n, o);
    if (*n > 0 && o & UTF8PROC_COMPOSE) {
        *n = lib.utf8proc_normalize_utf32(c, *n, o);
    }
    if (*n < 0) {
        eg__fail(EG_EFORMAT, me, "%s", lib.utf8proc_errmsg(*n));
        eg__counted_free(c);
        return NULL;
    }
    return c;
}

static eg_tensor *normalise(eg_tensor *text, eg_unicode_form form, const rules *r)
{
    eg__bytes out = {0};
    utf8proc_ssize_t n = 0;
    eg_tensor *t = eg__text_check(me, text), *made = NULL;
    int32_t *c = t ? decode(t, form, &n) : NULL;
    bool ok = c && put_characters(r, c, n, &out);
    if (c && !ok) {
        eg__no_memory(me, out.n);
    }
    if (ok) {
        out.n -= r->trim && out.n && out.p[out.n - 1] == ' ';
        made = eg__bytes_tensor(out.p, out.n);
    }
    eg__counted_free(c);
    eg__bytes_free(&out);
    return made;
}

eg_tensor *eg_text_normalise_with(eg_tensor *text, const eg_text_options *options)
{
    eg_text_options o;
    rules r;
    eg__options(&o, sizeof o, options);
    if ((unsigned)o.form > EG_NFKD) {
        return eg__fail_null(EG_EINVAL, me, "no form %d", o.form);
    }
    r.lower = o.lower;
    r.trim = o.trim;
    r.filter = o.only != NULL;
    if (eg__library_open(&lib_library, me) || read_set(o.blank, "blank", &r.blank) ||
        read_set(o.apart, "apart", &r.apart) || read_set(o.only, "only", &r.only) ||
        read_categories(o.drop, &r.dropped)) {
        return NULL;
    }
    eg_scope scope = eg_scope_push();
    return scope.depth ? eg_scope_pop(scope, normalise(text, o.form, &r)) : NULL;
}

#else

static const char without[] = "this build has no utf8proc";

eg_status eg__characters_open(const char *op)
{
    return eg__fail(EG_ENOKERNEL, op, without);
}

const char *eg__category(int32_t c)
{
    (void)c;
    return "Cn";
}

int eg__lower_at(const int32_t *c, int64_t n, int64_t i, int32_t to[2])
{
    (void)n;
    to[0] = c[i];
    return 1;
}

eg_tensor *eg_text_normalise_with(eg_tensor *text, const eg_text_options *options)
{
    (void)text, (void)options;
    return eg__fail_null(EG_ENOKERNEL, "eg_text_normalise", without);
}

#endif
