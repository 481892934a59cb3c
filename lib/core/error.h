/* error.h - failing in words, and the log. */
#ifndef EGRET_CORE_ERROR_H
#define EGRET_CORE_ERROR_H

#include <stdarg.h>
#include <egret/error.h>

#include "lib/core/base.h"

/* The only way to fail: records code, op and words; returns the code. */
eg_status eg__fail(eg_status code, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4), cold));
eg_status eg__fail_list(eg_status code, const char *op, const char *format, va_list args)
    __attribute__((format(printf, 3, 0), cold));
/* The same, returning NULL. */
#define eg__fail_null(...) (eg__fail(__VA_ARGS__), NULL)
/* For a NULL argument: the recorded code, or EG_EINVAL naming it if nothing was recorded. */
eg_status eg__null_argument(const char *op, const char *name);
eg_status eg__no_memory(const char *op, int64_t bytes);
eg_status eg__no_memory_on(uint8_t device, const char *op, int64_t bytes);
/* What is on record after something returned NULL: never EG_OK. */
eg_status eg__why(void);
/* Around a call of the user's function, whose status st becomes: what was on record before is put aside, so that a
 * failure without a word is seen and gets one (EG_EUSER, "its <what> failed without a word"), and back after
 * success. */
void eg__user_begin(eg_error *before);
eg_status eg__user_end(const eg_error *before, eg_status st, const char *op, const char *what);

/* Something for the log (eg_log_to), of the topic whose EG_DEBUG word sets this bit. */
void eg__log(uint32_t topic, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4), cold));
void eg__log_words(uint32_t topic, const char *op, const char *words);
/* The bit of a word of EG_DEBUG, its first n bytes; 0: it is none. */
uint32_t eg__debug_bit(const char *name, size_t n);
/* All words of EG_DEBUG, separated by ", ". */
extern const char *const eg__debug_words;
double eg__seconds(void);
/* Logs what was done once and took long. */
void eg__took(const char *op, const char *what, double seconds);

typedef struct eg__text {
    char s[160];
} eg__text;
eg__text eg__shape_text(int ndim, const int64_t *shape);
#define EG__SHAPE_OF(t) (eg__shape_text((t)->ndim, (t)->shape).s)

#endif
