/* dnnl.c - opens the module of oneDNN when it is first asked for something, and asks it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/cpu/dnnl/module.h"
#include "lib/core/environment.h"
#include "lib/core/subsystem.h"
#include "lib/core/module.h"

static struct {
    pthread_once_t once;
    void *file;
    const eg__dnnl_module *is; /* NULL: there is none */
    char why[200];
    _Atomic double loading; /* seconds it took, still to be told */
} module = {.once = PTHREAD_ONCE_INIT};

#ifdef EG_HAVE_ONEDNN
static void unload(void)
{
    if (module.file) {
        dlclose(module.file);
    }
}
#endif

static void load(void)
{
#ifdef EG_HAVE_ONEDNN
    static eg__subsystem part = {.end = unload};
    eg__subsystem_join(&part);
#define HOST(result, name, parameters, arguments) .name = name,
    static const eg__dnnl_host host = {EG__DNNL_HOST_FUNCTIONS(HOST) EG__DNNL_HOST_PROCEDURES(HOST)};
#undef HOST
    const double begin = eg__seconds();
    const bool first = dlsym(RTLD_DEFAULT, "GOMP_parallel"); /* of the program's OpenMP: ours go before it */
    module.file = eg__module_open("dnnl", first, module.why, sizeof module.why);
    eg__dnnl_start *start = NULL;
    void *symbol = module.file ? dlsym(module.file, "eg__dnnl_begin") : NULL;
    memcpy(&start, &symbol, sizeof start);
    const eg__dnnl_module *m = start ? start(&host) : NULL;
    module.loading = eg__seconds() - begin;
    if (m && m->host_size == sizeof host && m->tensor_size == sizeof(eg_tensor) && m->call_size == sizeof(eg__call) &&
        m->thread_size == sizeof(eg__thread)) {
        module.is = m;
    } else if (module.file) {
        snprintf(module.why, sizeof module.why, "the oneDNN module is of another build of Egret");
    }
#endif
}

/* The module for a call, NULL if there is none; that is told once, by whoever tried. */
static const eg__dnnl_module *module_for(const eg__call *c)
{
    pthread_once(&module.once, load);
    const double loading = atomic_exchange(&module.loading, 0);
    if (unlikely(loading > 0)) {
        eg__took(c->op->name, "loading oneDNN", loading);
        if (!module.is) {
            eg__log(EG__DEBUG_FALLBACK, c->op->name, "without oneDNN, own loops are taken: %s", module.why);
        }
    }
    return module.is;
}

eg_status eg__dnnl_find(const eg__call *c, const eg__dnnl_op *op, eg__dnnl_prim **p)
{
    const eg__dnnl_module *m = module_for(c);
    *p = NULL;
    return m ? m->find(c, op, p) : EG_OK;
}

eg_status eg__dnnl_run(const eg__call *c, eg__dnnl_prim *p, const eg__dnnl_data *at)
{
    return module.is->run(c, p, at);
}

void eg__dnnl_thread_end(eg__thread *T)
{
    if (T->lane[0].state) {
        module.is->thread_end(T);
    }
}

void eg__dnnl_counts(eg__thread *T, int64_t *held, int64_t *made)
{
    *held = *made = 0;
    if (T->lane[0].state) {
        module.is->counts(T, held, made);
    }
}
