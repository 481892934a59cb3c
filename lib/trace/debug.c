/* debug.c - the EG_DEBUG words. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/core/device.h"
#include "lib/core/engine.h"
#include "lib/core/environment.h"
#include "lib/core/fork.h"

static const struct {
    const char *name;
    uint32_t bit;
} words[] = {
    {"ops", EG__DEBUG_OPS},         {"nan", EG__DEBUG_NAN},     {"poison", EG__DEBUG_POISON},
    {"nocache", EG__DEBUG_NOCACHE}, {"abort", EG__DEBUG_ABORT}, {"ref", EG__DEBUG_REF},
    {"sync", EG__DEBUG_SYNC},       {"step", EG__DEBUG_STEP},   {"scope", EG__DEBUG_SCOPE},
    {"tape", EG__DEBUG_TAPE},       {"slow", EG__DEBUG_SLOW},   {"fallback", EG__DEBUG_FALLBACK},
};

/* ---- the log ------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock; /* held while f runs: nobody is told any more when eg_log_to has returned */
    eg_log_fn f;
    void *user;
    _Atomic bool set; /* whether there is an f, for a look without the lock */
} hook = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool telling; /* this thread is inside of f */

/* A fork waits for f, unless f itself forks. */
void eg__log_fork(eg__fork when)
{
    if (!telling) {
        eg__fork_lock(&hook.lock, when);
    }
}

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

/* ---- the words ----------------------------------------------------------------------------- */

eg_status eg_debug(const char *list)
{
    uint32_t mode = 0;
    for (const char *p = list ? list : ""; *p;) {
        size_t n = strcspn(p, ",");
        uint32_t bit = 0;
        for (int i = 0; i < EG__COUNT(words); i++) {
            if (strlen(words[i].name) == n && !strncmp(p, words[i].name, n)) {
                bit = words[i].bit;
            }
        }
        if (n && !bit) {
            return eg__fail(EG_EINVAL, "eg_debug", "\"%.*s\" is no debug word", (int)n, p);
        }
        mode |= bit;
        p += n + (p[n] == ',');
    }
    eg__thread *T = eg__thread_get();
    atomic_fetch_and(&T->mode, EG__MODE_PROFILE | EG__MODE_CAPTURE);
    atomic_fetch_or(&T->mode, mode);
    T->kernels = mode & EG__DEBUG_REF ? eg__ref_kernels : eg__cpu_best();
    return EG_OK;
}

void eg__debug_from_environment(void)
{
    const char *list = eg__getenv("EG_DEBUG");
    if (list && *list) {
        eg_debug(list);
    }
}

double eg__seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool all_finite(const eg_tensor *given)
{
    const eg_tensor *t = eg__on_host(given, "eg_debug");
    for (int64_t i = 0; t && eg__is_float(t->dtype) && i < t->n; i++) {
        int64_t at = eg__place(t->ndim, t->shape, t->strides, i);
        if (!isfinite(eg__load(eg__ptr(t), t->dtype, at))) {
            return false;
        }
    }
    return true;
}

eg_status eg__debug_call(const eg__call *c, double seconds)
{
    if (eg__mode(c->T) & EG__MODE_MACS) {
        c->T->macs += eg__macs(c);
    }
    if (eg__mode(c->T) & EG__DEBUG_OPS) {
        char line[300] = "";
        for (int i = 0, k = 0; i < c->nin && k < 200; i++) {
            if (c->in[i]) {
                k += snprintf(line + k, sizeof line - (size_t)k, "%s%s ", eg_dtype_name((eg_dtype)c->in[i]->dtype),
                              EG__SHAPE_OF(c->in[i]));
            }
        }
        eg__log(EG__DEBUG_OPS, c->op->name, "%s-> %s%s %.1f us", line, eg_dtype_name((eg_dtype)c->out[0]->dtype),
                EG__SHAPE_OF(c->out[0]), seconds * 1e6);
    }
    if (eg__mode(c->T) & EG__DEBUG_NAN) {
        for (int i = 0; i < c->nin; i++) {
            if (c->in[i] && !all_finite(c->in[i])) {
                return EG_OK; /* not the first */
            }
        }
        for (int j = 0; j < c->op->nout; j++) {
            if (!all_finite(c->out[j])) {
                return eg__fail(EG_EUSER, c->op->name, "made a non-finite value from finite inputs, "
                                "first input %s", c->nin ? EG__SHAPE_OF(c->in[0]) : "none");
            }
        }
    }
    return EG_OK;
}
