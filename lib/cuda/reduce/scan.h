/* scan.h - between the kernels of running sums and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_SCAN_H
#define EGRET_CUDA_SCAN_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/axes.h"
#include "lib/cuda/common/elements.h"

enum { EG__SCAN_BYTES = 16 }; /* of what is known of a part */

typedef enum eg__scanner {
    EG__SCAN_SUM,
    EG__SCAN_PRODUCT,
    EG__SCAN_MAX, /* operands: x, values, places */
    EG__SCAN_MIN,
    EG__SCAN_RECURRENCE /* a, b, y */
} eg__scanner;

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t eg__launch_scan(const eg__lines *l, eg__scanner how, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
