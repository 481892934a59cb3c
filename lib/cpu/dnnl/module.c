/* module.c - the module of oneDNN: the library's functions under their own names, and what it gives in return. */
#include "lib/cpu/dnnl/module.h"

#include "lib/core/forward.h"
#include "lib/core/subsystem.h"

static const eg__dnnl_host *host;

EG__DNNL_HOST_FUNCTIONS(EG__FORWARD)
EG__DNNL_HOST_PROCEDURES(EG__FORWARD_VOID)

eg_status eg__fail(eg_status code, const char *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eg_status st = eg__fail_list(code, op, format, args);
    va_end(args);
    return st;
}

__attribute__((visibility("default"))) eg__dnnl_start eg__dnnl_begin;

const eg__dnnl_module *eg__dnnl_begin(const eg__dnnl_host *given)
{
    static const eg__dnnl_module module = {
        .host_size = sizeof *host,
        .tensor_size = sizeof(eg_tensor),
        .call_size = sizeof(eg__call),
        .thread_size = sizeof(eg__thread),
        .find = eg__dnnl_find,
        .run = eg__dnnl_run,
        .thread_end = eg__dnnl_thread_end,
        .counts = eg__dnnl_counts,
    };
    host = given;
    return &module;
}
