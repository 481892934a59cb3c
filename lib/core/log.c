/* log.c - what is told besides failures: to a function of the program, or to stderr where a word of EG_DEBUG asks for
 * it. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/core/error.h"
#include "lib/core/subsystem.h"
#include "lib/core/thread.h"

#define WORDS(X)                      \
    X("ops", EG__DEBUG_OPS)           \
    X("nan", EG__DEBUG_NAN)           \
    X("ref", EG__DEBUG_REF)           \
    X("poison", EG__DEBUG_POISON)     \
    X("nocache", EG__DEBUG_NOCACHE)   \
    X("sync", EG__DEBUG_SYNC)         \
    X("scope", EG__DEBUG_SCOPE)       \
    X("tape", EG__DEBUG_TAPE)         \
    X("fallback", EG__DEBUG_FALLBACK) \
    X("slow", EG__DEBUG_SLOW)         \
    X("step", EG__DEBUG_STEP)         \
    X("env", EG__DEBUG_ENV)           \
    X("abort", EG__DEBUG_ABORT)

#define ROW(name, bit)  {name, bit},
#define NAME(name, bit) ", " name
static const struct {
    const char *name;
    uint32_t bit;
} words[] = {WORDS(ROW)};
const char *const eg__debug_words = &(WORDS(NAME))[2]; /* after the first comma */

/* ---- the log ------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock; /* held while f runs: nobody is told any more when eg_log_to has returned */
    eg_log_fn f;
    void *user;
    _Atomic bool set; /* whether there is an f, for a look without the lock */
} hook = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool telling; /* this thread is inside of f */

/* A fork waits for f, unless f itself forks. */
static void around_fork(eg__fork when)
{
    if (!telling) {
        eg__fork_lock(&hook.lock, when);
    }
}

EG__SUBSYSTEM_OF_CORE(.order = EG__ORDER_LOG, .fork = around_fork)

eg_status eg_log_to(eg_log_fn f, void *user)
{
    if (telling) {
        return eg__fail(EG_ESTATE, "eg_log_to", "called by the function that is told");
    }
    pthread_mutex_lock(&hook.lock);
    hook.f = f;
    hook.user = user;
    atomic_store(&hook.set, f != NULL);
    pthread_mutex_unlock(&hook.lock);
    return EG_OK;
}

uint32_t eg__debug_bit(const char *name, size_t n)
{
    for (int i = 0; i < EG__COUNT(words); i++) {
        if (strlen(words[i].name) == n && !strncmp(name, words[i].name, n)) {
            return words[i].bit;
        }
    }
    return 0;
}

static const char *topic_name(uint32_t topic)
{
    int i = 0;
    while (words[i].bit != topic) {
        i++;
    }
    return words[i].name;
}

void eg__log_words(uint32_t topic, const char *op, const char *text)
{
    bool told = false;
    if (atomic_load(&hook.set) && !telling) {
        pthread_mutex_lock(&hook.lock);
        if ((told = hook.f != NULL)) {
            telling = true;
            hook.f(topic_name(topic), op, text, hook.user);
            telling = false;
        }
        pthread_mutex_unlock(&hook.lock);
    }
    if (!told && eg__mode(eg__thread_get()) & topic) {
        fprintf(stderr, "egret: %s: %s\n", op, text); /* as asked for by the word */
    }
}

void eg__log(uint32_t topic, const char *op, const char *format, ...)
{
    char text[400];
    va_list ap;
    if (!atomic_load(&hook.set) && !(eg__mode(eg__thread_get()) & topic)) {
        return;
    }
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    eg__log_words(topic, op, text);
}

void eg__took(const char *op, const char *what, double seconds)
{
    static const double long_ago = 5e-3;
    if (seconds >= long_ago) {
        eg__log(EG__DEBUG_SLOW, op, "%s took %.0f ms, this once", what, seconds * 1e3);
    }
}

double eg__seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
