/* pointwise.h - the kernels of unary.def and binary.def, and those that move elements. Plain C and CUDA. */
#ifndef EGRET_CUDA_POINTWISE_H
#define EGRET_CUDA_POINTWISE_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/elements.h"
#include "lib/ops/terms.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
#define EG_UNARY(name, ...) EG__UNARY_##name,
#include "lib/ops/unary.def"
#undef EG_UNARY
    EG__UNARY_COUNT
};
enum {
#define EG_BINARY(name, ...) EG__BINARY_##name,
#include "lib/ops/binary.def"
#undef EG_BINARY
    EG__BINARY_COUNT
};

/* Operands: y; x. Of the gradient: dx; dy, what was saved. Of two: y; a, b. */
cudaError_t eg__launch_unary(int row, int in, const eg__elements *e, const eg__numbers *o, cudaStream_t s);
cudaError_t eg__launch_unary_grad(int row, int in, const eg__elements *e, const eg__numbers *o, cudaStream_t s);
cudaError_t eg__launch_binary(int row, int in, const eg__elements *e, cudaStream_t s);

/* y = x, of another dtype; the class is x's. */
cudaError_t eg__launch_cast(int in, const eg__elements *e, cudaStream_t s);
/* y = x, bit for bit. */
cudaError_t eg__launch_copy(const eg__elements *e, cudaStream_t s);
/* y = condition ? a : b, of one dtype. */
cudaError_t eg__launch_where(const eg__elements *e, cudaStream_t s);
/* y = a + weight (b - a). */
cudaError_t eg__launch_lerp(int in, const eg__elements *e, cudaStream_t s);
/* Operands: y and x at the first of a pair, whose other is so many bytes on; cos and sin, of the type that is computed
 * in. */
cudaError_t eg__launch_rotary(int in, const eg__elements *e, int64_t y_step, int64_t x_step, cudaStream_t s);
/* n elements of `size` bytes become the low bytes of bits. */
cudaError_t eg__launch_fill(void *p, int64_t n, int size, uint64_t bits, cudaStream_t s);
/* n terms, of this dtype and size. */
cudaError_t eg__launch_terms(void *p, int64_t n, int dtype, int size, const eg__terms *t, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
