/* unicode.c - what characters are, by utf8proc. */
#include "data/tokens/unicode.h"

#include <pthread.h>

#include "lib/core/library.h"
#include "lib/core/subsystem.h"

struct eg__unicode eg__unicode;

int eg__put_character(uint8_t *to, int32_t c)
{
    const int n = eg__utf8_bytes(c);
    if (n == 1) {
        to[0] = (uint8_t)c;
    } else {
        static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (int i = n - 1; i > 0; i--, c >>= 6) {
            to[i] = (uint8_t)(0x80 | (c & 63));
        }
        to[0] = (uint8_t)(first[n] | c);
    }
    return n;
}

#ifdef EG_HAVE_UTF8PROC
#include <utf8proc.h>

#define FUNCTIONS(X)            \
    X(utf8proc_decompose_char)  \
    X(utf8proc_get_property)    \
    X(utf8proc_normalize_utf32) \
    X(utf8proc_tolower)
EG__LIBRARY(lib, FUNCTIONS, .title = "utf8proc", .files = {EG_SO_UTF8PROC},
            .package = "libutf8proc2 (libutf8proc3 from Debian 13 on)");

#define BIT(category) (1u << UTF8PROC_CATEGORY_##category)
#define LETTERS       (BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO))
#define MARKS         (BIT(MN) | BIT(MC) | BIT(ME))

static const struct {
    uint32_t categories;
    uint16_t bit;
} by_category[] = {
    {LETTERS, EG__LETTER},
    {BIT(ND) | BIT(NL) | BIT(NO), EG__NUMBER},
    {BIT(MN), EG__ACCENT},
    {MARKS, EG__MARK},
    {BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO), EG__PUNCTUATION},
    {BIT(CC) | BIT(CF) | BIT(CS) | BIT(CO), EG__CONTROL},
    {BIT(LU) | BIT(LT), EG__UPPER},
    {BIT(LL), EG__LOWER},
    {LETTERS | MARKS | BIT(ND) | BIT(NL) | BIT(PC), EG__WORD},
};

/* What no category says. */
static const struct {
    int32_t first, last;
    uint16_t bits;
} by_range[] = {
    {0x09, 0x0d, EG__BLANK},           {0x20, 0x20, EG__BLANK},           {0x85, 0x85, EG__BLANK},
    {0xa0, 0xa0, EG__BLANK},           {0x1680, 0x1680, EG__BLANK},       {0x2000, 0x200a, EG__BLANK},
    {0x2028, 0x2029, EG__BLANK},       {0x202f, 0x202f, EG__BLANK},       {0x205f, 0x205f, EG__BLANK},
    {0x3000, 0x3000, EG__BLANK},       {0x0a, 0x0a, EG__NEWLINE},         {0x0d, 0x0d, EG__NEWLINE},
    {'!', '/', EG__PUNCTUATION},       {':', '@', EG__PUNCTUATION},       {'[', '`', EG__PUNCTUATION},
    {'{', '~', EG__PUNCTUATION},       {0x200c, 0x200d, EG__WORD}, /* Join_Control, Other_Alphabetic */
    {0x24b6, 0x24e9, EG__WORD},        {0x1f130, 0x1f149, EG__WORD},      {0x1f150, 0x1f169, EG__WORD},
    {0x1f170, 0x1f189, EG__WORD},      {0x3400, 0x4dbf, EG__IDEOGRAPH},   {0x4e00, 0x9fff, EG__IDEOGRAPH},
    {0xf900, 0xfaff, EG__IDEOGRAPH},   {0x20000, 0x2a6df, EG__IDEOGRAPH}, {0x2a700, 0x2b73f, EG__IDEOGRAPH},
    {0x2b740, 0x2b81f, EG__IDEOGRAPH}, {0x2b920, 0x2ceaf, EG__IDEOGRAPH}, {0x2f800, 0x2fa1f, EG__IDEOGRAPH},
};

static uint16_t bits_of(int32_t c)
{
    const utf8proc_property_t *p = lib.utf8proc_get_property(c);
    uint16_t bits = 0;
    for (int i = 0; i < EG__COUNT(by_category); i++) {
        bits |= by_category[i].categories >> p->category & 1 ? by_category[i].bit : 0;
    }
    switch (p->boundclass) {
    case UTF8PROC_BOUNDCLASS_EXTEND:
    case UTF8PROC_BOUNDCLASS_SPACINGMARK:
    case UTF8PROC_BOUNDCLASS_ZWJ:
        bits |= EG__EXTENDS;
        break;
    case UTF8PROC_BOUNDCLASS_PREPEND:
        bits |= EG__PREPENDS;
        break;
    default:
        break;
    }
    return bits;
}

/* Pages that are alike are one. */
static eg_status fill(const char *op)
{
    int pages = 0;
    for (int k = 0; k < EG__COUNT(eg__unicode.page); k++) {
        if (pages == EG__UNICODE_PAGES) {
            return eg__fail(EG_ENOKERNEL, op, "utf8proc has more kinds of characters than %d pages hold", pages);
        }
        uint16_t *page = eg__unicode.of[pages];
        for (int i = 0; i < 256; i++) {
            page[i] = bits_of(k << 8 | i);
        }
        for (int r = 0; r < EG__COUNT(by_range); r++) {
            int32_t from = (int32_t)eg__max(by_range[r].first, k << 8);
            int32_t to = (int32_t)eg__min(by_range[r].last, k << 8 | 255);
            for (int32_t c = from; c <= to; c++) {
                page[c & 255] |= by_range[r].bits;
            }
        }
        int same = 0;
        while (memcmp(eg__unicode.of[same], page, sizeof eg__unicode.of[0])) {
            same++;
        }
        eg__unicode.page[k] = (uint16_t)same;
        pages += same == pages;
    }
    return EG_OK;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool filled;

static void around_fork(eg__fork when)
{
    eg__fork_lock(&lock, when);
}

static eg__subsystem part = {.fork = around_fork};

eg_status eg__unicode_open(const char *op)
{
    if (atomic_load_explicit(&filled, memory_order_acquire)) {
        return EG_OK;
    }
    eg_status st = eg__library_open(&lib_library, op);
    if (st) {
        return st;
    }
    eg__subsystem_join(&part);
    pthread_mutex_lock(&lock);
    st = atomic_load(&filled) ? EG_OK : fill(op);
    atomic_store(&filled, !st);
    pthread_mutex_unlock(&lock);
    return st;
}

int eg__small(int32_t c, int32_t to[2])
{
    if (c == 0x130) { /* the one with two */
        to[0] = 'i';
        to[1] = 0x307;
        return 2;
    }
    to[0] = lib.utf8proc_tolower(c);
    return 1;
}

int eg__decompose(int32_t c, bool compatible, int32_t to[32])
{
    int before = UTF8PROC_BOUNDCLASS_START;
    int how = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
    utf8proc_ssize_t n = lib.utf8proc_decompose_char(c, to, 32, (utf8proc_option_t)how, &before);
    if (n < 1 || n > 32) {
        to[0] = c;
        n = 1;
    }
    return (int)n;
}

int eg__combining(int32_t c)
{
    return lib.utf8proc_get_property(c)->combining_class;
}

int32_t eg__compose(int32_t a, int32_t b)
{
    utf8proc_int32_t pair[3] = {a, b};
    return lib.utf8proc_normalize_utf32(pair, 2, UTF8PROC_STABLE | UTF8PROC_COMPOSE) == 1 ? pair[0] : 0;
}

#else

eg_status eg__unicode_open(const char *op)
{
    return eg__fail(EG_ENOKERNEL, op, "this build has no utf8proc");
}

int eg__small(int32_t c, int32_t to[2])
{
    to[0] = c;
    return 1;
}

int eg__decompose(int32_t c, bool compatible, int32_t to[32])
{
    (void)compatible;
    to[0] = c;
    return 1;
}

int eg__combining(int32_t c)
{
    return c & 0;
}

int32_t eg__compose(int32_t a, int32_t b)
{
    return a & b & 0;
}

#endif
