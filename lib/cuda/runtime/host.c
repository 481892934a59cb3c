/* host.c - the library's functions under their own names in the CUDA module. */
#include "lib/core/capture.h"
#include "lib/core/forward.h"
#include "lib/core/live.h"
#include "lib/cuda/runtime/cuda.h"
#include "lib/ops/resize.h"

static const eg__host *host;
eg_device *const *eg__host_devices;

EG__HOST_FUNCTIONS(EG__FORWARD)
EG__HOST_PROCEDURES(EG__FORWARD_VOID)

eg_status eg__fail(eg_status code, const char *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eg_status st = host->fail(code, op, format, args);
    va_end(args);
    return st;
}

const eg__op *const *eg__host_ops(void)
{
    return host->ops;
}

void eg__host_given(const eg__host *given)
{
    host = given;
    eg__host_devices = given->devices;
}
