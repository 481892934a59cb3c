/* device.c - CUDA devices: finding and opening them, and what the driver says when something goes wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/core/capture.h"
#include "lib/cuda/runtime/cuda.h"
#include "lib/math/matrices.h"
#include "lib/ops/rnn.h"

/* ---- errors -------------------------------------------------------------------------------------- */

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

/* ---- devices ------------------------------------------------------------------------------------- */

int eg__cuda_count(char *why, size_t size)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess) {
        return n;
    }
    cudaGetLastError();
    bool driver = e != cudaErrorInsufficientDriver && e != cudaErrorStubLibrary;
    snprintf(why, size, "no CUDA %s: %s (%s)", driver ? "device" : "driver", cudaGetErrorString(e),
             cudaGetErrorName(e));
    return -1;
}

/* More than one device in use: the current one is a host thread's and must be set. */
static bool several;

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

static eg_status make_fault(eg__cuda *d)
{
    void *host, *at;
    cudaError_t e = cudaHostAlloc(&host, sizeof *d->fault, cudaHostAllocMapped);
    if (!e) {
        d->fault = host;
        memset(d->fault, 0, sizeof *d->fault);
        e = cudaHostGetDevicePointer(&at, host, 0);
    }
    if (!e) {
        d->fault_at = at;
    }
    return eg__cuda_check(d, "eg_cuda", e, "pinned memory");
}

eg_status eg__cuda_open(eg_device *device, int64_t bytes)
{
    static int first = -1;
    eg__cuda *d = eg__malloc(sizeof *d);
    if (!d) {
        return eg__no_memory("eg_cuda", (int64_t)sizeof *d);
    }
    *d = (eg__cuda){.device = device, .ordinal = device->index};
    pthread_mutex_init(&d->lock, NULL);
    device->state = d;
    several |= first >= 0 && first != d->ordinal;
    first = d->ordinal;
    eg_status st = eg__cuda_check(d, "eg_cuda", cudaSetDevice(d->ordinal), "opening it");
    st = st ? st
            : eg__cuda_check(d, "eg_cuda",
                             cudaDeviceGetAttribute(&d->processors, cudaDevAttrMultiProcessorCount, d->ordinal),
                             "its multiprocessors");
    st = st ? st : make_fault(d);
    if (!st && !(d->heap = eg__heap_new(d->ordinal, bytes))) {
        st = eg__no_memory("eg_cuda", 0);
    }
    if (st) {
        eg__cuda_close(device);
    }
    return st;
}

void eg__cuda_close(eg_device *device)
{
    eg__cuda *d = eg__cuda_of(device);
    cudaSetDevice(d->ordinal);
    eg__cuda_streams_end(d);
    eg__cuda_timers_end(d);
    if (d->heap) {
        eg__heap_free(d->heap);
    }
    if (d->fault) {
        cudaFreeHost(d->fault);
    }
    pthread_mutex_destroy(&d->lock);
    free(d);
    device->state = NULL;
}

eg_status eg__cuda_describe(eg_device *device, eg_device_info *info)
{
    eg__cuda *d = eg__cuda_of(device);
    struct cudaDeviceProp p;
    size_t available = 0, all = 0;
    eg_status st = eg__cuda_enter(d, "eg_device_describe");
    st = st ? st : eg__cuda_check(d, "eg_device_describe", cudaGetDeviceProperties(&p, d->ordinal), "its properties");
    st = st ? st : eg__cuda_check(d, "eg_device_describe", cudaMemGetInfo(&available, &all), "its memory");
    if (st) {
        return st;
    }
    snprintf(info->name, sizeof info->name, "%.63s", p.name);
    info->major = p.major;
    info->minor = p.minor;
    info->processors = p.multiProcessorCount;
    info->memory_bytes = (int64_t)all;
    info->free_bytes = (int64_t)available;
    snprintf(info->pci, sizeof info->pci, "%04x:%02x:%02x.0", (unsigned)p.pciDomainID & 0xffff,
             (unsigned)p.pciBusID & 0xff, (unsigned)p.pciDeviceID & 0xff);
    cudaDriverGetVersion(&info->driver);
    cudaRuntimeGetVersion(&info->runtime);
    return EG_OK;
}

eg_status eg__cuda_synchronize(eg_device *device)
{
    static const char op[] = "eg_device_synchronize";
    eg__cuda *d = eg__cuda_of(device);
    eg_status st = eg__capture_stop(op, "it waits for the device");
    st = st ? st : eg__cuda_enter(d, op);
    st = st ? st : eg__cuda_check(d, op, cudaDeviceSynchronize(), "waiting");
    return st ? st : eg__cuda_faults(d);
}
