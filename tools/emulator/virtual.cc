/* virtual.cc - the driver's virtual memory calls, found by name as in a real driver. Memory has an
 * address as soon as it is mapped, and no other; a handle is mapped once at a time and as a whole.
 */
#include "tools/emulator/fiber.h"
#include "tools/emulator/runtime.h"

#include <sys/mman.h>

#ifdef EG__ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)0)
#endif

struct pages {
    size_t bytes;
    int device;
    bool mapped, released;
};

struct address_space {
    std::map<char *, size_t> reserved;
    std::map<char *, eg__mapping> mappings;
    std::map<CUmemGenericAllocationHandle, pages> handles;
    CUmemGenericAllocationHandle last;
};

/* Never taken down: programs end with work still queued. */
static address_space &space = *new address_space();

std::map<char *, eg__mapping> &eg__mappings(void)
{
    return space.mappings;
}

int64_t eg__virtual_alive(void)
{
    return int64_t(space.reserved.size() + space.handles.size());
}

static char *address(CUdeviceptr at)
{
    return reinterpret_cast<char *>(at);
}

/* As eg__call, of a function called fake_ and the driver's name for it, whose errors it gives. */
struct driver_call : eg__call {
    CUresult refused;
    explicit driver_call(const char *name) : eg__call(name + 5, eg__fake_device), refused(CUresult(error))
    {
        if (!refused && eg__capture_forbids(fake)) {
            refused = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
};

#define DRIVER_CALL             \
    driver_call call(__func__); \
    eg__fake &fake = call.fake; \
    (void)fake;                 \
    if (call.refused) {         \
        return call.refused;    \
    }

static CUresult fake_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *,
                                                   CUmemAllocationGranularity_flags)
{
    DRIVER_CALL
    *granularity = EG__PAGE;
    return CUDA_SUCCESS;
}

static CUresult fake_cuMemAddressReserve(CUdeviceptr *at, size_t bytes, size_t alignment, CUdeviceptr,
                                         unsigned long long)
{
    DRIVER_CALL
    if (!bytes || bytes % EG__PAGE || (alignment & (alignment - 1))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    size_t step = alignment > EG__PAGE ? alignment : size_t(EG__PAGE);
    char *low = eg__region(eg__fake_device) + EG__REGION / 2, *high = low + EG__REGION / 2, *p = low;
    auto aligned = [step](char *q) {
        return reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(q) + step - 1) / step * step);
    };
    for (auto r = space.reserved.lower_bound(low); r != space.reserved.end() && r->first < high; ++r) {
        if (aligned(p) + bytes <= r->first) {
            break;
        }
        p = r->first + r->second + EG__PAGE; /* pages between, so that runs past an end are seen */
    }
    p = aligned(p);
    if (bytes > EG__REGION || p + bytes > high) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    space.reserved[p] = bytes;
    *at = CUdeviceptr(p);
    return CUDA_SUCCESS;
}

/* Mappings that lie in a range; false: one crosses its edge. */
static bool mappings_in(char *at, size_t bytes, std::vector<char *> &found)
{
    for (auto &m : space.mappings) {
        bool starts = m.first >= at && m.first < at + bytes;
        bool ends = m.first + m.second.bytes > at && m.first + m.second.bytes <= at + bytes;
        if (starts != ends) {
            return false;
        }
        if (starts) {
            found.push_back(m.first);
        }
    }
    return true;
}

static CUresult fake_cuMemAddressFree(CUdeviceptr at, size_t bytes)
{
    DRIVER_CALL
    auto r = space.reserved.find(address(at));
    std::vector<char *> mapped;
    if (r == space.reserved.end() || r->second != bytes || !mappings_in(r->first, bytes, mapped) || !mapped.empty()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    space.reserved.erase(r);
    return CUDA_SUCCESS;
}

static CUresult fake_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop,
                                 unsigned long long)
{
    DRIVER_CALL
    fake.counts.creates++;
    int device = prop->location.id;
    if (!bytes || bytes % EG__PAGE || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || device < 0 || device >= fake.devices) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!eg__take_memory(fake, device, int64_t(bytes))) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = ++space.last;
    space.handles[*handle] = {bytes, device, false, false};
    return CUDA_SUCCESS;
}

/* Memory goes when its handle is released and it is mapped nowhere. */
static void drop(eg__fake &fake, CUmemGenericAllocationHandle handle)
{
    pages &p = space.handles[handle];
    if (p.released && !p.mapped) {
        eg__give_memory(fake, p.device, int64_t(p.bytes));
        space.handles.erase(handle);
    }
}

static CUresult fake_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    DRIVER_CALL
    auto found = space.handles.find(handle);
    if (found == space.handles.end() || found->second.released) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    fake.counts.releases++;
    found->second.released = true;
    drop(fake, handle);
    return CUDA_SUCCESS;
}

static bool is_reserved(char *at, size_t bytes)
{
    auto r = space.reserved.upper_bound(at);
    return r != space.reserved.begin() && at + bytes <= (--r)->first + r->second;
}

static CUresult fake_cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                              unsigned long long)
{
    DRIVER_CALL
    auto found = space.handles.find(handle);
    std::vector<char *> mapped;
    if (found == space.handles.end() || found->second.released || found->second.mapped || offset ||
        bytes != found->second.bytes || !is_reserved(address(at), bytes) || !mappings_in(address(at), bytes, mapped) ||
        !mapped.empty()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    fake.counts.maps++;
    found->second.mapped = true;
    space.mappings[address(at)] = {bytes, found->second.device, 0, handle};
    return CUDA_SUCCESS;
}

static CUresult fake_cuMemUnmap(CUdeviceptr at, size_t bytes)
{
    DRIVER_CALL
    std::vector<char *> mapped;
    if (!mappings_in(address(at), bytes, mapped) || mapped.empty()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    eg__drain(call);
    for (char *one : mapped) {
        eg__mapping m = space.mappings[one];
        fake.counts.unmaps++;
        space.mappings.erase(one);
        mprotect(one, m.bytes, PROT_NONE);
        madvise(one, m.bytes, MADV_DONTNEED);
        space.handles[m.handle].mapped = false;
        drop(fake, m.handle);
    }
    return CUDA_SUCCESS;
}

static CUresult fake_cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *who, size_t count)
{
    DRIVER_CALL
    std::vector<char *> mapped;
    size_t covered = 0;
    if (!mappings_in(address(at), bytes, mapped)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (char *one : mapped) {
        covered += space.mappings[one].bytes;
    }
    for (size_t i = 0; i < count; i++) {
        int device = who[i].location.id;
        if (who[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || device < 0 || device >= fake.devices) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (covered != bytes) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (char *one : mapped) {
        eg__mapping &m = space.mappings[one];
        bool fresh = !m.access;
        for (size_t i = 0; i < count; i++) {
            unsigned bit = 1u << who[i].location.id;
            m.access = who[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? m.access & ~bit : m.access | bit;
        }
        if (fresh && m.access) {
            eg__fresh_pages(one, m.bytes, m.access);
        }
    }
    return CUDA_SUCCESS;
}

static CUresult fake_cuGetErrorString(CUresult error, const char **words)
{
    *words = cudaGetErrorString(cudaError_t(error));
    return CUDA_SUCCESS;
}

static CUresult fake_cuGetErrorName(CUresult error, const char **name)
{
    *name = cudaGetErrorName(cudaError_t(error));
    return CUDA_SUCCESS;
}

/* The real prototype must fit. */
#define FUNCTION(name)                                                                \
    {                                                                                 \
#name, reinterpret_cast < void *>(static_cast <decltype(&name)>(fake_##name)) \
    }
static const struct {
    const char *name;
    void *function;
} functions[] = {
    FUNCTION(cuMemGetAllocationGranularity),
    FUNCTION(cuMemAddressReserve),
    FUNCTION(cuMemAddressFree),
    FUNCTION(cuMemCreate),
    FUNCTION(cuMemRelease),
    FUNCTION(cuMemMap),
    FUNCTION(cuMemUnmap),
    FUNCTION(cuMemSetAccess),
    FUNCTION(cuGetErrorString),
    FUNCTION(cuGetErrorName),
};

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *result)
{
    *function = nullptr;
    EG__CALL(EG__NO_DEVICE)
    for (const auto &f : functions) {
        if (!strcmp(f.name, symbol) && !(fake.no_virtual_memory && !strncmp(symbol, "cuMem", 5))) {
            *function = f.function;
        }
    }
    if (result) {
        *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult *result)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, result);
}
