/* test_virtual.c - the driver's virtual memory calls as the fake runtime has them. */
#include <cuda.h>

#include "tests/cuda/check.h"
#include "tools/emulator/fake.h"
#include "tests/cuda/test_emulator.h"

#define PAGE ((size_t)2 << 20)

static struct {
    CUresult (*granularity)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags);
    CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*unreserve)(CUdeviceptr, size_t);
    CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long);
    CUresult (*release)(CUmemGenericAllocationHandle);
    CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    CUresult (*unmap)(CUdeviceptr, size_t);
    CUresult (*access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
} cu;

static bool find(const char *name, void *function)
{
    enum cudaDriverEntryPointQueryResult result;
    void *found = NULL;
    CU(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
    memcpy(function, &found, sizeof found);
    return found && result == cudaDriverEntryPointSuccess;
}

static void find_all(void)
{
    EGT_CHECK(find("cuMemGetAllocationGranularity", &cu.granularity));
    EGT_CHECK(find("cuMemAddressReserve", &cu.reserve));
    EGT_CHECK(find("cuMemAddressFree", &cu.unreserve));
    EGT_CHECK(find("cuMemCreate", &cu.create));
    EGT_CHECK(find("cuMemRelease", &cu.release));
    EGT_CHECK(find("cuMemMap", &cu.map));
    EGT_CHECK(find("cuMemUnmap", &cu.unmap));
    EGT_CHECK(find("cuMemSetAccess", &cu.access));
}

static const CUmemAllocationProp of_device_0 = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
static const CUmemAccessDesc by_device_0 = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                                            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

/* Pages of memory at an address, touchable; the handle is released and lives as long as it is
 * mapped. */
static CUresult put_pages(CUdeviceptr at, size_t bytes)
{
    CUmemGenericAllocationHandle handle;
    CUresult e = cu.create(&handle, bytes, &of_device_0, 0);
    if (e) {
        return e;
    }
    EGT_EQ(cu.map(at, bytes, 0, handle, 0), CUDA_SUCCESS);
    EGT_EQ(cu.release(handle), CUDA_SUCCESS);
    return cu.access(at, bytes, &by_device_0, 1);
}

EGT(pages_grow_under_a_range)
{
    CUdeviceptr at;
    size_t page;
    float host[4];
    cudaStream_t s;
    find_all();
    EGT_EQ(cu.granularity(&page, &of_device_0, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_SUCCESS);
    EGT_EQ(page, PAGE);
    EGT_EQ(cu.reserve(&at, 10 * PAGE, 0, 0, 0), CUDA_SUCCESS);
    EGT_EQ(put_pages(at, PAGE), CUDA_SUCCESS);
    EGT_EQ(put_pages(at + PAGE, 2 * PAGE), CUDA_SUCCESS);
    EGT_EQ(eg_fake_used(0), 3 * PAGE);
    CU(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    /* across the edge of two mappings */
    float *x = (float *)(uintptr_t)(at + PAGE - 2 * sizeof(float));
    CU(launch_scale(x, 4, 0, 5, 32, 0, s));
    CU(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, s));
    EGT_EQ(host[0] + host[3], 10);
    EGT_EQ(cudaMemcpyAsync(host, (void *)(uintptr_t)(at + 3 * PAGE - 4), 8, cudaMemcpyDeviceToHost, s),
           cudaErrorInvalidValue);
    cudaGetLastError();
    EGT_EQ(cu.unreserve(at, 10 * PAGE), CUDA_ERROR_INVALID_VALUE);
    EGT_EQ(cu.unmap(at + PAGE, 2 * PAGE), CUDA_SUCCESS);
    EGT_EQ(eg_fake_used(0), PAGE);
    EGT_EQ(cu.unmap(at, PAGE), CUDA_SUCCESS);
    EGT_EQ(cu.unreserve(at, 10 * PAGE), CUDA_SUCCESS);
    EGT_EQ(eg_fake_used(0), 0);
    CU(cudaStreamDestroy(s));
}

EGT(what_the_driver_refuses)
{
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    int64_t alive = eg_fake_alive();
    find_all();
    EGT_EQ(cu.reserve(&at, PAGE + 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EGT_EQ(cu.reserve(&at, 2 * PAGE, 0, 0, 0), CUDA_SUCCESS);
    EGT_EQ(cu.create(&handle, PAGE, &of_device_0, 0), CUDA_SUCCESS);
    EGT_EQ(cu.map(at + 2 * PAGE, PAGE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    EGT_EQ(cu.access(at, PAGE, &by_device_0, 1), CUDA_ERROR_INVALID_VALUE);
    EGT_EQ(cu.map(at, PAGE, 0, handle, 0), CUDA_SUCCESS);
    EGT_EQ(cu.map(at + PAGE, PAGE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    EGT_EQ(cu.unmap(at, PAGE), CUDA_SUCCESS);
    EGT_EQ(cu.release(handle), CUDA_SUCCESS);
    EGT_EQ(cu.release(handle), CUDA_ERROR_INVALID_VALUE);

    eg_fake_fail("cuMemCreate", 1, CUDA_ERROR_OUT_OF_MEMORY);
    EGT_EQ(put_pages(at, PAGE), CUDA_ERROR_OUT_OF_MEMORY);
    eg_fake_memory((int64_t)PAGE);
    EGT_EQ(put_pages(at, 2 * PAGE), CUDA_ERROR_OUT_OF_MEMORY);
    eg_fake_memory((int64_t)1 << 30);
    EGT_EQ(cu.unreserve(at, 2 * PAGE), CUDA_SUCCESS);
    EGT_EQ(eg_fake_alive(), alive);
}

EGT(an_old_driver)
{
    void *function;
    eg_fake_no_virtual_memory(1);
    EGT_CHECK(!find("cuMemCreate", &function));
    eg_fake_no_virtual_memory(0);
    EGT_CHECK(!find("cuMemNothing", &function));
}
