/* order.cc - what stands in for lib/cuda/index/order.cu on the emulated device. */
#include <string.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "lib/cuda/index/order.h"
#include "tools/emulator/fake.h"

template <class K> struct order_job {
    char *temp;
    K *key[2];
    uint32_t *at[2];
    uint32_t n;
    int low, high;
};

template <class K> static void run(void *arguments)
{
    const order_job<K> *j = static_cast<const order_job<K> *>(arguments);
    const int unused = int(8 * sizeof(K)) - j->high;
    auto part = [j, unused](uint32_t i) {
        return j->high > j->low ? K(j->key[0][i] << unused) >> unused >> j->low : K(0);
    };
    std::vector<uint32_t> order(j->n);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return part(a) < part(b); });
    for (uint32_t i = 0; i < j->n; i++) {
        j->key[1][i] = j->key[0][order[i]];
        j->at[1][i] = j->at[0][order[i]];
    }
    memset(j->key[0], 0xa5, j->n * sizeof(K)); /* nothing is left where it was */
    memset(j->at[0], 0xa5, j->n * sizeof(uint32_t));
    memset(j->temp, 0xa5, j->n);
}

template <class K>
static cudaError_t order(void *temp, size_t *bytes, K *const key[2], uint32_t *const at[2], uint32_t n, int low,
                         int high, int *in, cudaStream_t s)
{
    if (!temp) {
        *bytes = n;
        return cudaSuccess;
    }
    if (*bytes < n) {
        return cudaErrorInvalidValue;
    }
    const order_job<K> j = {static_cast<char *>(temp), {key[0], key[1]}, {at[0], at[1]}, n, low, high};
    *in = 1;
    return eg_fake_enqueue(s, run<K>, &j, sizeof j);
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
