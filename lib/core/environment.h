/* environment.h - variables of the environment (docs/environment.md lists them). A program that runs with more rights
 * than whoever started it does not heed them: some name libraries to load. */
#ifndef EGRET_ENVIRONMENT_H
#define EGRET_ENVIRONMENT_H

#include <stdlib.h>

#ifdef EG_HAVE_SECURE_GETENV
extern char *secure_getenv(const char *name); /* which stdlib.h has only under _GNU_SOURCE */
#endif

static inline const char *eg__getenv(const char *name)
{
#ifdef EG_HAVE_SECURE_GETENV
    return secure_getenv(name);
#else
    return getenv(name);
#endif
}

#endif
