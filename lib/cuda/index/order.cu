/* order.cu - sorting many pairs, by the radix sort of CUB. Only nvcc can compile it: tools/emulator/order.cc stands
 * in for it on the emulated device. */
#include <cub/device/device_radix_sort.cuh>

#include "lib/cuda/index/order.h"

template <class K>
static cudaError_t order(void *temp, size_t *bytes, K *const key[2], uint32_t *const at[2], uint32_t n, int low,
                         int high, int *in, cudaStream_t s)
{
    cub::DoubleBuffer<K> keys(key[0], key[1]);
    cub::DoubleBuffer<uint32_t> ats(at[0], at[1]);
    cudaError_t e = cub::DeviceRadixSort::SortPairs(temp, *bytes, keys, ats, n, low, high, s);
    *in = ats.selector;
    return e;
}

cudaError_t eg__order32(void *temp, size_t *bytes, uint32_t *const key[2], uint32_t *const at[2], uint32_t n, int low,
                        int high, int *in, cudaStream_t s)
{
    return order(temp, bytes, key, at, n, low, high, in, s);
}

cudaError_t eg__order64(void *temp, size_t *bytes, uint64_t *const key[2], uint32_t *const at[2], uint32_t n, int low,
                        int high, int *in, cudaStream_t s)
{
    return order(temp, bytes, key, at, n, low, high, in, s);
}
