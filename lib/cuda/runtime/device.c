/* device.c - CUDA devices: finding, opening and closing them. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/core/capture.h"
#include "lib/cuda/runtime/cuda.h"

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
    eg__cuda *d = eg__malloc(sizeof *d);
    if (!d) {
        return eg__no_memory("eg_cuda", (int64_t)sizeof *d);
    }
    *d = (eg__cuda){.device = device, .ordinal = device->index};
    pthread_mutex_init(&d->lock, NULL);
    device->state = d;
    eg__cuda_in_use(d->ordinal);
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
