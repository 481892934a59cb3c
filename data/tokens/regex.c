/* regex.c - regular expressions, by PCRE2. */
#include "data/tokens/tokens.h"

#ifdef EG_HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)               \
    X(pcre2_code_free_8)           \
    X(pcre2_compile_8)             \
    X(pcre2_get_error_message_8)   \
    X(pcre2_get_ovector_pointer_8) \
    X(pcre2_jit_compile_8)         \
    X(pcre2_match_8)               \
    X(pcre2_match_data_create_8)   \
    X(pcre2_match_data_free_8)
EG__LIBRARY(lib, FUNCTIONS, .title = "PCRE2", .files = {EG_SO_PCRE2}, .package = "libpcre2-8-0");

static bool scan(eg__encoder *w, const eg__pattern *p, const uint8_t *s, int64_t n, int64_t *begin, int64_t *end)
{
    if (!w->match && !(w->match = lib.pcre2_match_data_create_8(32, NULL))) {
        eg__encoder_fail(w, EG_ENOMEM, "what PCRE2 needs for a match");
        return false;
    }
    const int found = lib.pcre2_match_8(p->code, s, (size_t)n, (size_t)*begin, PCRE2_NO_UTF_CHECK, w->match, NULL);
    if (found < 0) {
        if (found != PCRE2_ERROR_NOMATCH) {
            uint8_t words[120];
            lib.pcre2_get_error_message_8(found, words, sizeof words);
            eg__encoder_fail(w, EG_ENOMEM, "PCRE2 gives up: %s", (const char *)words);
        }
        return false;
    }
    const size_t *at = lib.pcre2_get_ovector_pointer_8(w->match);
    *begin = (int64_t)at[0];
    *end = (int64_t)at[1];
    return true;
}

eg_status eg__regex_new(const char *op, eg__pattern *p)
{
    eg_status st = eg__library_open(&lib_library, op);
    if (st) {
        return st;
    }
    int why = 0;
    size_t at = 0;
    p->code = lib.pcre2_compile_8((const uint8_t *)p->text, (size_t)p->bytes, PCRE2_UTF | PCRE2_UCP, &why, &at, NULL);
    if (!p->code) {
        uint8_t words[120];
        lib.pcre2_get_error_message_8(why, words, sizeof words);
        return eg__fail(EG_EFORMAT, op, "the regular expression \"%.80s\" at %zu: %s", p->text, at,
                        (const char *)words);
    }
    lib.pcre2_jit_compile_8(p->code, PCRE2_JIT_COMPLETE); /* without it all goes on, slower */
    p->scan = scan;
    return EG_OK;
}

void eg__regex_free(void *code)
{
    if (code) {
        lib.pcre2_code_free_8(code);
    }
}

void eg__regex_match_free(void *match)
{
    if (match) {
        lib.pcre2_match_data_free_8(match);
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
