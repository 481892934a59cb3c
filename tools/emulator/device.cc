/* device.cc - the fake runtime's devices, errors and controls. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/emulator/runtime.h"

thread_local int eg__fake_device;
thread_local cudaStreamCaptureMode eg__fake_mode = cudaStreamCaptureModeGlobal;
thread_local eg__where eg__inside;
static thread_local cudaError_t last_error;

static int64_t from_environment(const char *name, int64_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? strtoll(s, nullptr, 0) : otherwise;
}

eg__fake::eg__fake()
{
    devices = int(from_environment("EG_FAKE_DEVICES", 1));
    devices = devices > EG_FAKE_MAX_DEVICES ? EG_FAKE_MAX_DEVICES : devices;
    memory = from_environment("EG_FAKE_MEMORY", int64_t(1) << 30);
    defer = from_environment("EG_FAKE_DEFER", 1);
    random = uint64_t(from_environment("EG_FAKE_SEED", 1)) * 2 + 1;
    no_virtual_memory = false;
    clock_rate = 1;
    clock_offset = 0;
    counts = eg_fake_counts{};
    for (eg__device &d : device) {
        d = eg__device{};
    }
    fault = 0;
    captures_begun = 0;
}

/* Never destroyed: threads and other libraries may call while the program ends. */
eg__fake &eg__fake_all(void)
{
    static eg__fake *all = new eg__fake;
    return *all;
}

uint64_t eg__fake_thread(void)
{
    static std::mutex lock;
    static uint64_t count;
    static thread_local uint64_t number;
    if (!number) {
        std::lock_guard<std::mutex> guard(lock);
        number = ++count;
    }
    return number;
}

uint32_t eg__draw(eg__fake &fake, uint32_t below)
{
    fake.random = fake.random * 6364136223846793005u + 1442695040888963407u;
    return uint32_t((fake.random >> 32) * below >> 32);
}

int eg__injected(eg__fake &fake, const char *function)
{
    for (size_t i = 0; i < fake.injections.size(); i++) {
        eg__injection &in = fake.injections[i];
        if (in.function == function && --in.nth == 0) {
            int error = in.error;
            fake.injections.erase(fake.injections.begin() + long(i));
            return error;
        }
    }
    return 0;
}

eg__call::eg__call(const char *function, int device) : fake(eg__fake_all()), error(cudaSuccess)
{
    if (eg__inside == EG__IN_KERNEL) {
        fprintf(stderr, "fake CUDA: a kernel calls %s\n", function);
        abort();
    }
    lock = std::unique_lock<std::mutex>(fake.lock);
    if (eg__inside == EG__IN_HOST_FUNCTION) {
        error = cudaErrorNotPermitted;
    } else if (fake.devices <= 0) {
        error = fake.devices < 0 ? cudaErrorInsufficientDriver : cudaErrorNoDevice;
    } else {
        error = cudaError_t(eg__injected(fake, function));
        if (!error && device != EG__NO_DEVICE) {
            error = fake.device[device].broken;
        }
    }
}

cudaError_t eg__call::done(cudaError_t e)
{
    if (e && e != cudaErrorNotReady) {
        last_error = e;
    }
    return e;
}

unsigned eg__reach(const eg__fake &fake, int device)
{
    return 1u << device | fake.device[device].peers;
}

/* Errors. */

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = last_error;
    last_error = cudaSuccess;
    return e;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

static const struct {
    cudaError_t code;
    const char *name, *words;
} known[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
};

const char *cudaGetErrorName(cudaError_t error)
{
    for (const auto &k : known) {
        if (k.code == error) {
            return k.name;
        }
    }
    return "cudaErrorUnknown";
}

const char *cudaGetErrorString(cudaError_t error)
{
    for (const auto &k : known) {
        if (k.code == error) {
            return k.words;
        }
    }
    return "unknown error";
}

/* Devices. */

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 0;
    EG__CALL(EG__NO_DEVICE)
    *count = fake.devices;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    EG__CALL(EG__NO_DEVICE)
    if (device < 0 || device >= fake.devices) {
        return call.done(cudaErrorInvalidDevice);
    }
    eg__fake_device = device;
    return call.done(fake.device[device].broken);
}

cudaError_t cudaGetDevice(int *device)
{
    EG__CALL(EG__NO_DEVICE)
    *device = eg__fake_device;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    eg__fake &fake = eg__fake_all();
    std::lock_guard<std::mutex> guard(fake.lock);
    *version = fake.devices < 0 ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    EG__CALL(EG__NO_DEVICE)
    if (device < 0 || device >= fake.devices) {
        return call.done(cudaErrorInvalidDevice);
    }
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "Emulated H200");
    p->uuid.bytes[0] = char(device + 1);
    p->totalGlobalMem = size_t(fake.memory);
    p->sharedMemPerBlock = 49152;
    p->sharedMemPerBlockOptin = 232448;
    p->sharedMemPerMultiprocessor = 233472;
    p->reservedSharedMemPerBlock = 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->memPitch = INT32_MAX;
    p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = INT32_MAX;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 65536;
    p->major = 9;
    p->textureAlignment = 512;
    p->multiProcessorCount = 132;
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->ECCEnabled = 1;
    p->pciBusID = device + 1;
    p->asyncEngineCount = 3;
    p->memoryBusWidth = 6144;
    p->l2CacheSize = 62914560;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->streamPrioritiesSupported = p->cooperativeLaunch = p->clusterLaunch = 1;
    p->hostRegisterSupported = p->memoryPoolsSupported = 1;
    return cudaSuccess;
}

/* Those that a library asks for; the rest are as of a device that does not have the feature. */
static int attribute_of(const cudaDeviceProp &p, cudaDeviceAttr attribute)
{
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        return p.maxThreadsPerBlock;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        return int(p.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        return int(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        return int(p.sharedMemPerMultiprocessor);
    case cudaDevAttrReservedSharedMemoryPerBlock:
        return int(p.reservedSharedMemPerBlock);
    case cudaDevAttrWarpSize:
        return p.warpSize;
    case cudaDevAttrMaxGridDimX:
        return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
        return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ:
        return p.maxGridSize[2];
    case cudaDevAttrMaxBlockDimX:
        return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY:
        return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ:
        return p.maxThreadsDim[2];
    case cudaDevAttrMaxRegistersPerBlock:
        return p.regsPerBlock;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
        return p.regsPerMultiprocessor;
    case cudaDevAttrMultiProcessorCount:
        return p.multiProcessorCount;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
        return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrClockRate:
        return 1980000;
    case cudaDevAttrMemoryClockRate:
        return 3201000;
    case cudaDevAttrGlobalMemoryBusWidth:
        return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize:
        return p.l2CacheSize;
    case cudaDevAttrComputeCapabilityMajor:
        return p.major;
    case cudaDevAttrComputeCapabilityMinor:
        return p.minor;
    case cudaDevAttrPciBusId:
        return p.pciBusID;
    case cudaDevAttrAsyncEngineCount:
        return p.asyncEngineCount;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
        return 1;
    default:
        return 0;
    }
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp p;
    cudaError_t e = cudaGetDeviceProperties(&p, device);
    if (!e) {
        *value = attribute_of(p, attribute);
    }
    return e;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int bytes, int device)
{
    EG__CALL(EG__NO_DEVICE)
    if (device < 0 || device >= fake.devices) {
        return call.done(cudaErrorInvalidDevice);
    }
    int n = snprintf(id, size_t(bytes), "0000:%02X:00.0", unsigned(device + 1));
    return call.done(n < bytes ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    EG__CALL(EG__NO_DEVICE)
    if (device < 0 || device >= fake.devices || peer < 0 || peer >= fake.devices) {
        return call.done(cudaErrorInvalidDevice);
    }
    *can = device != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    EG__CALL(eg__fake_device)
    if (peer < 0 || peer >= fake.devices || peer == eg__fake_device || flags) {
        return call.done(flags ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
    }
    unsigned &peers = fake.device[eg__fake_device].peers;
    if (peers >> peer & 1) {
        return call.done(cudaErrorPeerAccessAlreadyEnabled);
    }
    peers |= 1u << peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    EG__CALL(eg__fake_device)
    unsigned &peers = fake.device[eg__fake_device].peers;
    if (peer < 0 || peer >= fake.devices || !(peers >> peer & 1)) {
        return call.done(cudaErrorPeerAccessNotEnabled);
    }
    peers &= ~(1u << peer);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    EG__CALL(eg__fake_device)
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

/* Kernels. */

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value)
{
    EG__CALL(eg__fake_device)
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || value > 232448) {
            return call.done(cudaErrorInvalidValue);
        }
        fake.opted_in[kernel] = value;
    }
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel)
{
    EG__CALL(eg__fake_device)
    memset(attributes, 0, sizeof *attributes);
    auto found = fake.opted_in.find(kernel);
    attributes->maxDynamicSharedSizeBytes = found == fake.opted_in.end() ? 49152 : found->second;
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int threads, size_t shared)
{
    EG__CALL(eg__fake_device)
    if (threads < 1 || threads > 1024) {
        return call.done(cudaErrorInvalidValue);
    }
    int by_shared = int(233472 / (shared + 1024)), by_threads = 2048 / threads;
    *blocks = by_shared < by_threads ? by_shared : by_threads;
    *blocks = *blocks < 32 ? *blocks : 32;
    return cudaSuccess;
}

/* Controls. */

#define LOCKED                       \
    eg__fake &fake = eg__fake_all(); \
    std::lock_guard<std::mutex> guard(fake.lock)

eg_fake_counts eg_fake_read(void)
{
    LOCKED;
    return fake.counts;
}

void eg_fake_zero(void)
{
    LOCKED;
    fake.counts = eg_fake_counts{};
    for (eg__device &d : fake.device) {
        d.peak = d.used;
    }
}

int64_t eg_fake_used(int device)
{
    LOCKED;
    return fake.device[device].used;
}

int64_t eg_fake_peak(int device)
{
    LOCKED;
    return fake.device[device].peak;
}

void eg_fake_devices(int count)
{
    LOCKED;
    fake.devices = count > EG_FAKE_MAX_DEVICES ? EG_FAKE_MAX_DEVICES : count;
}

void eg_fake_memory(int64_t bytes_per_device)
{
    LOCKED;
    fake.memory = bytes_per_device;
}

void eg_fake_defer(int on)
{
    LOCKED;
    fake.defer = on;
}

void eg_fake_clock(double rate, double offset)
{
    LOCKED;
    fake.clock_rate = rate;
    fake.clock_offset = offset;
}

void eg_fake_seed(uint64_t seed)
{
    LOCKED;
    fake.random = seed * 2 + 1;
}

void eg_fake_no_virtual_memory(int none)
{
    LOCKED;
    fake.no_virtual_memory = none;
}

void eg_fake_fail(const char *function, int64_t nth, int error)
{
    LOCKED;
    fake.injections.push_back({function, nth, error});
}

void eg_fake_fault(int64_t nth)
{
    LOCKED;
    fake.fault = nth;
}

void eg_fake_mend(void)
{
    LOCKED;
    fake.injections.clear();
    fake.fault = 0;
    for (eg__device &d : fake.device) {
        d.broken = cudaSuccess;
    }
    last_error = cudaSuccess;
}
