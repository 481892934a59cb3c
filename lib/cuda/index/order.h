/* order.h - sorting many pairs: keys of 32 or 64 bits, and where their elements are. Plain C and CUDA. */
#ifndef EGRET_CUDA_ORDER_H
#define EGRET_CUDA_ORDER_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sorts n pairs stably by bits low..high-1 of their keys: from buffers 0 into buffers *in. With temp NULL it
 * only says how much memory it wants there: *bytes. */
cudaError_t eg__order32(void *temp, size_t *bytes, uint32_t *const key[2], uint32_t *const at[2], uint32_t n, int low,
                        int high, int *in, cudaStream_t s);
cudaError_t eg__order64(void *temp, size_t *bytes, uint64_t *const key[2], uint32_t *const at[2], uint32_t n, int low,
                        int high, int *in, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
