/* error.h - failures in words.
 *
 * Functions that return an object return NULL on failure; given a NULL object they return NULL and
 * leave the record alone, so in eg_relu(eg_add(eg_matmul(x, w), b)) the complaint that survives is
 * the first one. Functions that return eg_status pass the recorded code on when given NULL. Arguments
 * are unchanged after a refusal. The library never prints, aborts or exits.
 *
 * Freeing a module, dataset, optimizer or other handle a second time is refused (on record, EG_ESTATE), and so is
 * giving a freed module or dataset to another one, until something new is made at its address. Other uses of freed
 * handles are not noticed. */
#ifndef EGRET_ERROR_H
#define EGRET_ERROR_H

#include <stdio.h>

#include <egret/base.h>

EG_BEGIN_DECLS

typedef struct eg_error {
    eg_status code;    /* EG_OK: nothing has failed in this thread since the last clear */
    const char *op;    /* the op or function that refused, a static string; "" when nothing failed */
    char message[256]; /* the rule and the values, cut to fit; "" when nothing failed */
} eg_error;

/* The latest failure of the calling thread. Never NULL; valid until the thread ends, overwritten by
 * its next failure; success never touches it. */
EG_API const eg_error *eg_last_error(void);

/* Forgets the calling thread's failure. */
EG_API void eg_clear_error(void);

/* Records a failure of your own, in words, and returns its code: for functions that Egret calls, whose words then
 * travel to whoever called Egret. One that fails and leaves no record gets EG_EUSER, "... failed without a word". op
 * is a static string; the words are copied, cut to fit. */
EG_API eg_status eg_fail(eg_status code, const char *op, const char *words);

/* The same with values in the words, as printf has them. A value may be what is on record, so that one failure can be
 * told inside of another: eg_failf(code, "load", "%s: %s", path, eg_last_error()->message). */
EG_API eg_status eg_failf(eg_status code, const char *op, const char *format, ...) EG_PRINTF(3, 4);

/* Writes "egret: op: message (code)" and a newline to the stream, or nothing when nothing failed.
 * Returns 1 if there was something to say, else 0: fit to be main's exit status. */
EG_API int eg_error_print(FILE *stream);

/* "out of memory" for EG_ENOMEM and so on; "ok" for EG_OK; "unknown status" for a value not in the list. */
EG_API const char *eg_status_words(eg_status code);

EG_END_DECLS

#endif
