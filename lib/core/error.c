/* error.c - the thread's record of what went wrong. */
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "lib/core/error.h"
#include "lib/core/thread.h"

const char *eg_version(void)
{
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
    return TEXT(EG_VERSION_MAJOR) "." TEXT(EG_VERSION_MINOR) "." TEXT(EG_VERSION_PATCH);
}

const eg_error *eg_last_error(void)
{
    return &eg__thread_get()->error;
}

void eg_clear_error(void)
{
    eg_error *e = &eg__thread_get()->error;
    e->code = EG_OK;
    e->op = "";
    e->message[0] = 0;
}

int eg_error_print(FILE *stream)
{
    const eg_error *e = eg_last_error();
    if (e->code == EG_OK) {
        return 0;
    }
    fprintf(stream, "egret: %s: %s (%s)\n", e->op, e->message, eg_status_words(e->code));
    return 1;
}

const char *eg_status_words(eg_status code)
{
    switch (code) {
    case EG_OK:
        return "ok";
#define WORDS(name, value, words) \
    case name:                    \
        return words;
        EG_STATUS_LIST(WORDS)
#undef WORDS
    }
    return "unknown status";
}

eg_status eg__fail_list(eg_status code, const char *op, const char *format, va_list args)
{
    eg__thread *T = eg__thread_get();
    char words[sizeof T->error.message]; /* a value may be what is on record */
    vsnprintf(words, sizeof words, format, args);
    T->error.code = code;
    T->error.op = op;
    memcpy(T->error.message, words, strlen(words) + 1);
    if (eg__mode(T) & EG__DEBUG_ABORT) {
        raise(SIGTRAP);
    }
    return code;
}

eg_status eg__fail(eg_status code, const char *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eg__fail_list(code, op, format, args);
    va_end(args);
    return code;
}

eg_status eg_fail(eg_status code, const char *op, const char *words)
{
    return code ? eg__fail(code, op ? op : "", "%s", words ? words : "") : EG_OK;
}

eg_status eg_failf(eg_status code, const char *op, const char *format, ...)
{
    if (!code || !format) {
        return eg_fail(code, op, NULL);
    }
    va_list args;
    va_start(args, format);
    eg__fail_list(code, op ? op : "", format, args);
    va_end(args);
    return code;
}

eg_status eg__why(void)
{
    eg_status code = eg_last_error()->code;
    return code ? code : eg__fail(EG_EINVAL, "egret", "a NULL tensor was given");
}

void eg__user_begin(eg_error *before)
{
    eg_error *e = &eg__thread_get()->error;
    before->code = e->code;
    if (unlikely(e->code)) {
        *before = *e;
        eg_clear_error();
    }
}

eg_status eg__user_end(const eg_error *before, eg_status st, const char *op, const char *what)
{
    eg_error *e = &eg__thread_get()->error;
    if (unlikely(st)) {
        return e->code ? e->code : eg__fail(EG_EUSER, op, "its %s failed without a word", what);
    }
    if (unlikely(before->code)) {
        *e = *before;
    }
    return EG_OK;
}

eg_status eg__null_argument(const char *op, const char *name)
{
    eg_status code = eg_last_error()->code;
    return code ? code : eg__fail(EG_EINVAL, op, "%s is NULL", name);
}

eg__text eg__shape_text(int ndim, const int64_t *shape)
{
    eg__text t;
    size_t size = sizeof t.s, k = 1;
    t.s[0] = '[';
    for (int d = 0; d < ndim && k < size; d++) {
        k += (size_t)snprintf(t.s + k, size - k, "%s%lld", d ? ", " : "", (long long)shape[d]);
    }
    snprintf(t.s + (k < size ? k : size - 2), k < size ? size - k : 2, "]");
    return t;
}
