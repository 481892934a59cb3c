/* regex.c - regular expressions of Oniguruma's syntax, matched by PCRE2. */
#include "data/tokens/tokens.h"

#ifdef EG_HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "data/tokens/oniguruma.h"
#include "lib/core/library.h"

#define FUNCTIONS(X)                  \
    X(pcre2_code_free_8)              \
    X(pcre2_compile_8)                \
    X(pcre2_general_context_create_8) \
    X(pcre2_general_context_free_8)   \
    X(pcre2_get_error_message_8)      \
    X(pcre2_get_ovector_pointer_8)    \
    X(pcre2_jit_compile_8)            \
    X(pcre2_match_8)                  \
    X(pcre2_match_context_create_8)   \
    X(pcre2_match_context_free_8)     \
    X(pcre2_match_data_create_8)      \
    X(pcre2_match_data_free_8)        \
    X(pcre2_set_heap_limit_8)         \
    X(pcre2_set_match_limit_8)
EG__LIBRARY(lib, FUNCTIONS, .title = "PCRE2", .files = {EG_SO_PCRE2}, .package = "libpcre2-8-0");

/* Of one match: calls of PCRE2's matching function, and memory for what it may have to go back to. */
enum { MATCH_LIMIT = 10000000, HEAP_LIMIT_KIB = 65536 };

/* Match data and context of one thread. */
typedef struct matcher {
    pcre2_general_context_8 *general;
    pcre2_match_context_8 *context;
    pcre2_match_data_8 *data;
} matcher;

static void *take(size_t bytes, void *user)
{
    (void)user;
    return eg__counted_alloc(bytes);
}

static void give(void *p, void *user)
{
    (void)user;
    eg__counted_free(p);
}

static matcher *matcher_new(void)
{
    matcher *m = eg__counted_alloc(sizeof *m);
    if (!m) {
        return NULL;
    }
    m->general = lib.pcre2_general_context_create_8(take, give, NULL);
    m->context = m->general ? lib.pcre2_match_context_create_8(m->general) : NULL;
    m->data = m->context ? lib.pcre2_match_data_create_8(32, m->general) : NULL;
    if (!m->data) {
        eg__regex_match_free(m);
        return NULL;
    }
    lib.pcre2_set_match_limit_8(m->context, MATCH_LIMIT);
    lib.pcre2_set_heap_limit_8(m->context, HEAP_LIMIT_KIB);
    return m;
}

static void fail(eg__encoder *w, const eg__pattern *p, int why)
{
    if (why == PCRE2_ERROR_MATCHLIMIT) {
        eg__encoder_fail(w, EG_EINVAL, "the regular expression \"%.60s\" exceeds PCRE2's match limit of %d steps",
                         p->text, MATCH_LIMIT);
    } else if (why == PCRE2_ERROR_HEAPLIMIT) {
        eg__encoder_fail(w, EG_EINVAL, "the regular expression \"%.60s\" exceeds PCRE2's heap limit of %d KiB", p->text,
                         HEAP_LIMIT_KIB);
    } else if (why == PCRE2_ERROR_NOMEMORY) {
        eg__encoder_fail(w, EG_ENOMEM, "memory for a match by PCRE2");
    } else {
        uint8_t words[120] = "";
        lib.pcre2_get_error_message_8(why, words, sizeof words);
        eg__encoder_fail(w, EG_EINVAL, "the regular expression \"%.60s\": PCRE2: %s", p->text, (const char *)words);
    }
}

static bool scan(eg__encoder *w, const eg__pattern *p, const uint8_t *s, int64_t n, int64_t *begin, int64_t *end)
{
    if (!w->match && !(w->match = matcher_new())) {
        eg__encoder_fail(w, EG_ENOMEM, "what PCRE2 needs for a match");
        return false;
    }
    const matcher *m = w->match;
    int found = lib.pcre2_match_8(p->code, s, (size_t)n, (size_t)*begin, PCRE2_NO_UTF_CHECK, m->data, m->context);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) { /* the interpreter keeps what it needs on the heap */
        found = lib.pcre2_match_8(p->code, s, (size_t)n, (size_t)*begin, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, m->data,
                                  m->context);
    }
    if (found < 0) {
        if (found != PCRE2_ERROR_NOMATCH) {
            fail(w, p, found);
        }
        return false;
    }
    const size_t *at = lib.pcre2_get_ovector_pointer_8(m->data);
    *begin = (int64_t)at[0];
    *end = (int64_t)at[1];
    return true;
}

static eg_status compile(const char *op, eg__pattern *p, const eg__bytes *text)
{
    int why = 0;
    size_t at = 0;
    p->code =
        lib.pcre2_compile_8(text->p, (size_t)text->n, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &why, &at, NULL);
    if (!p->code) {
        uint8_t words[120] = "";
        lib.pcre2_get_error_message_8(why, words, sizeof words);
        return eg__fail(EG_EFORMAT, op, "the regular expression \"%.80s\" is refused by PCRE2: %s (\"%.*s\")", p->text,
                        (const char *)words, (int)eg__min(text->n - (int64_t)at, 20), (const char *)text->p + at);
    }
    lib.pcre2_jit_compile_8(p->code, PCRE2_JIT_COMPLETE); /* without it all goes on, slower */
    p->scan = scan;
    return EG_OK;
}

eg_status eg__regex_new(const char *op, eg__pattern *p)
{
    eg__bytes text = {0};
    eg_status st = eg__library_open(&lib_library, op);
    st = st ? st : eg__onig_translate(op, p->text, p->bytes, &text);
    st = st ? st : compile(op, p, &text);
    eg__bytes_free(&text);
    return st;
}

void eg__regex_free(void *code)
{
    if (code) {
        lib.pcre2_code_free_8(code);
    }
}

void eg__regex_match_free(void *match)
{
    matcher *m = match;
    if (m) {
        lib.pcre2_match_data_free_8(m->data);
        lib.pcre2_match_context_free_8(m->context);
        lib.pcre2_general_context_free_8(m->general);
        eg__counted_free(m);
    }
}

#else

eg_status eg__regex_new(const char *op, eg__pattern *p)
{
    return eg__fail(EG_ENOKERNEL, op, "the regular expression \"%.80s\" needs PCRE2, which this build has not",
                    p->text);
}

void eg__regex_free(void *code)
{
    (void)code;
}

void eg__regex_match_free(void *match)
{
    (void)match;
}

#endif
