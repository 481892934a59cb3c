/* check.c - whether a device can be used, and what the driver and kernels say when something goes wrong. */
#include <stdio.h>

#include "lib/cuda/runtime/cuda.h"
#include "lib/math/matrices.h"
#include "lib/ops/rnn.h"

/* Errors after which the context is of no use: what ran before them left memory in any state. */
static bool fatal(cudaError_t e)
{
    switch (e) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorECCUncorrectable:
    case cudaErrorAssert:
    case cudaErrorLaunchTimeout:
    case cudaErrorUnknown:
        return true;
    default:
        return false;
    }
}

static eg_status lost(const eg__cuda *d, const char *op)
{
    return eg__fail(EG_EFAULT, op, "%s is lost to this process after a fault: %s", d->device->name, d->why);
}

eg_status eg__cuda_check(eg__cuda *d, const char *op, cudaError_t e, const char *what)
{
    if (likely(e == cudaSuccess)) {
        return EG_OK;
    }
    cudaGetLastError(); /* what is not fatal is over with this */
    if (e == cudaErrorMemoryAllocation) {
        return eg__fail(EG_ENOMEM, op, "%s has no memory for it (%s)", d->device->name, what);
    }
    if (!d->lost && fatal(e)) {
        d->lost = true;
        snprintf(d->why, sizeof d->why, "%s (%s), seen in %s", cudaGetErrorString(e), cudaGetErrorName(e), op);
    }
    if (d->lost) {
        return lost(d, op);
    }
    return eg__fail(EG_EFAULT, op, "%s: %s: %s (%s)", d->device->name, what, cudaGetErrorString(e),
                    cudaGetErrorName(e));
}

eg_status eg__cuda_faults(eg__cuda *d)
{
    eg__fault *f = d->fault;
    if (likely(!*(volatile unsigned *)&f->taken)) {
        return EG_OK;
    }
    eg__fault found = *f;
    memset(f, 0, sizeof *f);
    const char *op = found.op >= 0 && found.op < EG__OP_COUNT ? eg__host_ops()[found.op]->name : "?";
    op = found.name ? found.name : op;
    switch (found.kind) {
    case EG__FAULT_WEIGHT:
        return eg__fail(EG_EINVAL, op, "row %lld, class %lld: no probability or logit", found.value, found.low);
    case EG__FAULT_SUM:
        return eg__fail(EG_EINVAL, op, "row %lld: the probabilities sum to 0", found.value);
    case EG__FAULT_NAN:
        return eg__fail(EG_EINVAL, op, "the line has NaN at %lld", found.value);
    case EG__FAULT_FALL:
        return eg__fail(EG_EINVAL, op, "the line falls at %lld", found.value);
    case EG__FAULT_SINGULAR:
        return eg__fail(EG_EINVAL, op, EG__SAY_SINGULAR, found.value, found.high, found.low);
    case EG__FAULT_NOT_POSITIVE:
        return eg__fail(EG_EINVAL, op, EG__SAY_NOT_POSITIVE, found.value, found.high, found.low);
    case EG__FAULT_LENGTH:
        return eg__fail(EG_EINDEX, op, EG__SAY_LENGTH, found.value, found.low, found.high);
    case EG__FAULT_BLANK:
        return eg__fail(EG_EINVAL, op, "label %lld of row %lld is the blank, %lld", found.low, found.high, found.value);
    default:
        return eg__fail(EG_EINDEX, op, "index %lld is outside %lld..%lld", found.value, found.low, found.high - 1);
    }
}

/* More than one device in use: the current one is a host thread's and must be set. */
static bool several;

void eg__cuda_in_use(int ordinal)
{
    static int first = -1;
    several |= first >= 0 && first != ordinal;
    first = ordinal;
}

eg_status eg__cuda_enter(eg__cuda *d, const char *op)
{
    static _Thread_local bool entered;
    if (unlikely(d->lost)) {
        return lost(d, op);
    }
    if (likely(entered && !several)) {
        return EG_OK;
    }
    entered = true;
    return eg__cuda_check(d, op, cudaSetDevice(d->ordinal), "choosing it");
}
