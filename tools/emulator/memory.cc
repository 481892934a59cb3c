/* memory.cc - the fake runtime's memory. Each device has a range of addresses of its own. The host
 * cannot touch them, but while queued work runs; where the address sanitizer is, it can, and blocks
 * stand between poisoned bytes instead. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tools/emulator/fiber.h"
#include "tools/emulator/runtime.h"

#ifdef EG__ASAN
#include <sanitizer/asan_interface.h>
constexpr int HIDDEN = PROT_READ | PROT_WRITE;
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)0)
constexpr int HIDDEN = PROT_NONE;
#endif
constexpr int TOUCHABLE = PROT_READ | PROT_WRITE;
enum : size_t { STEP = 512, RED_ZONE = 512 };
enum { FRESH = 0xcb, FREED = 0xdd, RED = 0xa5 };

static size_t round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

struct block {
    size_t bytes, span; /* asked for; with the red zone */
};

/* A device's addresses that cudaMalloc gives. */
struct region {
    char *base;
    size_t high; /* bytes that were ever used */
    std::map<char *, block> blocks;
};

struct host_block {
    size_t bytes;
    bool registered;
};

struct all_memory {
    region regions[EG_FAKE_MAX_DEVICES];
    std::map<char *, host_block> pinned;
    unsigned open;
};

/* Never taken down: programs end with work still queued. */
static all_memory &memory = *new all_memory();

char *eg__region(int device)
{
    region &r = memory.regions[device];
    if (!r.base) {
        void *at = mmap(nullptr, EG__REGION + EG__PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) {
            perror("fake CUDA: no addresses for a device");
            abort();
        }
        r.base = reinterpret_cast<char *>(round_up(reinterpret_cast<uintptr_t>(at), EG__PAGE));
        /* Hiding memory takes time for each page. */
        madvise(r.base, EG__REGION, MADV_HUGEPAGE);
    }
    return r.base;
}

static void protect(char *at, size_t bytes, int how)
{
    if (bytes && mprotect(at, bytes, how)) {
        perror("fake CUDA: mprotect");
        abort();
    }
}

/* Neighbouring pages for the same devices in one call. */
static void protect_mappings(unsigned before, unsigned after)
{
    char *at = nullptr;
    size_t bytes = 0;
    int how = HIDDEN;
    for (auto &m : eg__mappings()) {
        bool was = before & m.second.access, is = after & m.second.access;
        int want = is ? TOUCHABLE : HIDDEN;
        if (was == is) {
            continue;
        }
        if (at + bytes != m.first || how != want) {
            protect(at, bytes, how);
            at = m.first;
            bytes = 0;
            how = want;
        }
        bytes += m.second.bytes;
    }
    protect(at, bytes, how);
}

void eg__open_memory(unsigned reach)
{
    unsigned before = memory.open;
    if (HIDDEN == TOUCHABLE || before == reach) {
        return;
    }
    for (int i = 0; i < EG_FAKE_MAX_DEVICES; i++) {
        if ((before ^ reach) >> i & 1) {
            protect(memory.regions[i].base, memory.regions[i].high, reach >> i & 1 ? TOUCHABLE : HIDDEN);
        }
    }
    protect_mappings(before, reach);
    memory.open = reach;
}

void eg__fresh_pages(char *at, size_t bytes, unsigned access)
{
    protect(at, bytes, TOUCHABLE);
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
    memset(at, FRESH, bytes);
    protect(at, bytes, memory.open & access ? TOUCHABLE : HIDDEN);
}

bool eg__take_memory(eg__fake &fake, int device, int64_t bytes)
{
    eg__device &d = fake.device[device];
    if (bytes > fake.memory - d.used) {
        return false;
    }
    d.used += bytes;
    d.peak = d.used > d.peak ? d.used : d.peak;
    return true;
}

void eg__give_memory(eg__fake &fake, int device, int64_t bytes)
{
    fake.device[device].used -= bytes;
}

int64_t eg__memory_alive(void)
{
    size_t alive = memory.pinned.size();
    for (const region &r : memory.regions) {
        alive += r.blocks.size();
    }
    return int64_t(alive);
}

/* Of the blocks by address, that which starts last at or before an address. */
template <typename B> static typename std::map<char *, B>::iterator before(std::map<char *, B> &blocks, const char *at)
{
    auto next = blocks.upper_bound(const_cast<char *>(at));
    return next == blocks.begin() ? blocks.end() : std::prev(next);
}

static bool is_mapped(const char *at, size_t bytes)
{
    const char *end = at + bytes;
    auto &mappings = eg__mappings();
    for (auto m = before(mappings, at); m != mappings.end() && m->first <= at; ++m) {
        if (at >= m->first + m->second.bytes || !m->second.access) {
            return false;
        }
        at = m->first + m->second.bytes;
        if (at >= end) {
            return true;
        }
    }
    return false;
}

eg__place eg__place_of(const void *pointer, size_t bytes)
{
    const char *at = static_cast<const char *>(pointer);
    for (int i = 0; i < EG_FAKE_MAX_DEVICES; i++) {
        region &r = memory.regions[i];
        if (!r.base || at < r.base || at >= r.base + EG__REGION) {
            continue;
        }
        if (at >= r.base + EG__REGION / 2) {
            return {is_mapped(at, bytes) ? EG__DEVICE : EG__NOWHERE, i, false};
        }
        auto b = before(r.blocks, at);
        bool inside = b != r.blocks.end() && at + bytes <= b->first + b->second.bytes;
        return {inside ? EG__DEVICE : EG__NOWHERE, i, false};
    }
    auto h = before(memory.pinned, at);
    return {EG__HOST, -1, h != memory.pinned.end() && at + bytes <= h->first + h->second.bytes};
}

/* The first gap between blocks that is wide enough, or the end. */
static char *find_gap(region &r, size_t span)
{
    char *at = r.base;
    for (auto &b : r.blocks) {
        if (size_t(b.first - at) >= span) {
            break;
        }
        at = b.first + b.second.span;
    }
    return at + span <= r.base + EG__REGION / 2 ? at : nullptr;
}

static void place_block(eg__fake &fake, int device, char *at, size_t bytes, size_t span)
{
    region &r = memory.regions[device];
    size_t high = round_up(size_t(at - r.base) + span, EG__PAGE);
    if (high > r.high) {
        protect(r.base + r.high, high - r.high, memory.open >> device & 1 ? TOUCHABLE : HIDDEN);
        ASAN_POISON_MEMORY_REGION(r.base + r.high, high - r.high);
        r.high = high;
    }
    unsigned was = memory.open;
    eg__open_memory(eg__reach(fake, device));
    ASAN_UNPOISON_MEMORY_REGION(at, span);
    memset(at, FRESH, bytes);
    memset(at + bytes, RED, span - bytes);
    ASAN_POISON_MEMORY_REGION(at + bytes, span - bytes);
    eg__open_memory(was);
    r.blocks[at] = {bytes, span};
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    *pointer = nullptr;
    EG__UNSAFE_CALL(eg__fake_device)
    fake.counts.mallocs++;
    if (!bytes) {
        return cudaSuccess;
    }
    int device = eg__fake_device;
    eg__region(device);
    if (bytes > EG__REGION / 2 || !eg__take_memory(fake, device, int64_t(round_up(bytes, STEP)))) {
        return call.done(cudaErrorMemoryAllocation);
    }
    size_t span = round_up(bytes, STEP) + RED_ZONE;
    char *at = find_gap(memory.regions[device], span);
    if (!at) {
        eg__give_memory(fake, device, int64_t(round_up(bytes, STEP)));
        return call.done(cudaErrorMemoryAllocation);
    }
    place_block(fake, device, at, bytes, span);
    *pointer = at;
    return cudaSuccess;
}

static void check_red_zone(const char *at, const block &b)
{
#ifndef EG__ASAN
    for (size_t i = b.bytes; i < b.span; i++) {
        if (static_cast<unsigned char>(at[i]) != RED) {
            fprintf(stderr, "fake CUDA: the block of %zu bytes at %p was written past its end\n", b.bytes,
                    static_cast<const void *>(at));
            abort();
        }
    }
#else
    (void)at;
    (void)b;
#endif
}

cudaError_t cudaFree(void *pointer)
{
    EG__UNSAFE_CALL(eg__fake_device)
    if (!pointer) {
        return cudaSuccess;
    }
    char *at = static_cast<char *>(pointer);
    int device = eg__place_of(at, 1).device;
    if (device < 0 || !memory.regions[device].blocks.count(at)) {
        return call.done(cudaErrorInvalidValue);
    }
    fake.counts.frees++;
    eg__drain(call);
    region &r = memory.regions[device];
    auto found = r.blocks.find(at);
    block b = found->second;
    eg__open_memory(eg__reach(fake, device));
    check_red_zone(at, b);
    memset(at, FREED, b.bytes);
    eg__open_memory(0);
    ASAN_POISON_MEMORY_REGION(at, b.span);
    r.blocks.erase(found);
    eg__give_memory(fake, device, int64_t(round_up(b.bytes, STEP)));
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    EG__CALL(eg__fake_device)
    *total = size_t(fake.memory);
    *free_bytes = size_t(fake.memory - fake.device[eg__fake_device].used);
    return cudaSuccess;
}

/* Pinned memory of the host. */

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned)
{
    *pointer = nullptr;
    EG__UNSAFE_CALL(eg__fake_device)
    fake.counts.host_allocs++;
    void *at;
    if (posix_memalign(&at, 256, bytes ? bytes : 1)) {
        return call.done(cudaErrorMemoryAllocation);
    }
    memset(at, FRESH, bytes);
    memory.pinned[static_cast<char *>(at)] = {bytes, false};
    *pointer = at;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *pointer)
{
    EG__UNSAFE_CALL(eg__fake_device)
    auto found = memory.pinned.find(static_cast<char *>(pointer));
    if (!pointer) {
        return cudaSuccess;
    }
    if (found == memory.pinned.end() || found->second.registered) {
        return call.done(cudaErrorInvalidValue);
    }
    eg__drain(call);
    memory.pinned.erase(found);
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned)
{
    EG__UNSAFE_CALL(eg__fake_device)
    if (!pointer || !bytes || eg__place_of(pointer, 1).kind != EG__HOST) {
        return call.done(cudaErrorInvalidValue);
    }
    if (eg__place_of(pointer, 1).pinned) {
        return call.done(cudaErrorHostMemoryAlreadyRegistered);
    }
    memory.pinned[static_cast<char *>(pointer)] = {bytes, true};
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *pointer)
{
    EG__UNSAFE_CALL(eg__fake_device)
    auto found = memory.pinned.find(static_cast<char *>(pointer));
    if (found == memory.pinned.end() || !found->second.registered) {
        return call.done(cudaErrorHostMemoryNotRegistered);
    }
    eg__drain(call);
    memory.pinned.erase(found);
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned)
{
    EG__CALL(eg__fake_device)
    if (!eg__place_of(host, 1).pinned) {
        return call.done(cudaErrorInvalidValue);
    }
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer)
{
    EG__CALL(eg__fake_device)
    eg__place p = eg__place_of(pointer, 1);
    memset(attributes, 0, sizeof *attributes);
    attributes->device = p.kind == EG__DEVICE ? p.device : -1;
    attributes->type = p.kind == EG__DEVICE ? cudaMemoryTypeDevice
                       : p.pinned           ? cudaMemoryTypeHost
                                            : cudaMemoryTypeUnregistered;
    if (attributes->type != cudaMemoryTypeUnregistered) {
        attributes->devicePointer = const_cast<void *>(pointer);
        attributes->hostPointer = p.pinned ? const_cast<void *>(pointer) : nullptr;
    }
    return cudaSuccess;
}

/* ---- what is left of all that was asked for --------------------------------------------------------------- */

int64_t eg_fake_alive(void)
{
    eg__fake &fake = eg__fake_all();
    std::lock_guard<std::mutex> guard(fake.lock);
    size_t handles = fake.events.size() + fake.graphs.size() + fake.execs.size();
    for (cudaStream_t s : fake.streams) {
        handles += !s->destroyed;
    }
    return int64_t(handles) + eg__memory_alive() + eg__virtual_alive();
}
