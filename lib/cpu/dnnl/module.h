/* module.h - where the library and the module of oneDNN meet. */
#ifndef EGRET_DNNL_MODULE_H
#define EGRET_DNNL_MODULE_H

#include <stdarg.h>

#include "lib/cpu/dnnl/dnnl.h"
#include "lib/cpu/common/pack.h"
#include "lib/core/workers.h"

/* X(result, name, parameters, arguments): internal functions of the library under their own names on both sides. */
#define EG__DNNL_HOST_FUNCTIONS(X)                                                                             \
    X(void *, eg__malloc, (size_t bytes), (bytes))                                                             \
    X(eg_status, eg__fail_list, (eg_status code, const char *op, const char *format, va_list args),            \
      (code, op, format, args))                                                                                \
    X(eg_status, eg__no_memory, (const char *op, int64_t bytes), (op, bytes))                                  \
    X(double, eg__seconds, (void), ())                                                                         \
    X(uint32_t, eg__forks, (void), ())                                                                         \
    X(int, eg_threads, (void), ())                                                                             \
    X(int, eg__workers_ready, (int n), (n))                                                                    \
    X(int, eg__workers_number, (void), ())                                                                     \
    X(int, eg__workers_size, (void), ())                                                                       \
    X(bool, eg__workers_inside, (void), ())                                                                    \
    X(eg_status, eg__scratch_get, (const eg__call *c, size_t bytes, eg__scratch *s), (c, bytes, s))            \
    X(eg__pack *, eg__pack_get, (eg__thread * T, eg__storage * s, const int64_t *key, int nkey, size_t bytes), \
      (T, s, key, nkey, bytes))

#define EG__DNNL_HOST_PROCEDURES(X)                                                                 \
    X(void, eg__log_words, (uint32_t topic, const char *op, const char *words), (topic, op, words)) \
    X(void, eg__took, (const char *op, const char *what, double seconds), (op, what, seconds))      \
    X(void, eg__workers_run_together, (int n, eg__member_fn *fn, void *ctx), (n, fn, ctx))          \
    X(void, eg__workers_barrier, (void), ())                                                        \
    X(void, eg__scratch_put, (const eg__call *c, eg__scratch *s), (c, s))                           \
    X(void, eg__pack_filled, (eg__pack * p), (p))                                                   \
    X(void, eg__pack_put, (eg__pack * p), (p))

typedef struct eg__dnnl_host {
#define EG__MEMBER(result, name, parameters, arguments) result(*name) parameters;
    EG__DNNL_HOST_FUNCTIONS(EG__MEMBER) EG__DNNL_HOST_PROCEDURES(EG__MEMBER)
#undef EG__MEMBER
} eg__dnnl_host;

/* What the module gives; the sizes tell a module of another build. */
typedef struct eg__dnnl_module {
    size_t host_size, tensor_size, call_size, thread_size;
    eg_status (*find)(const eg__call *c, const eg__dnnl_op *op, eg__dnnl_prim **p);
    eg_status (*run)(const eg__call *c, eg__dnnl_prim *p, const eg__dnnl_data *at);
    void (*thread_end)(eg__thread *T);
    void (*counts)(eg__thread *T, int64_t *held, int64_t *made);
} eg__dnnl_module;

typedef const eg__dnnl_module *eg__dnnl_start(const eg__dnnl_host *host);

#endif
