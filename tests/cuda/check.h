/* check.h - for tests that call the runtime. */
#ifndef EGRET_TESTS_CUDA_CHECK_H
#define EGRET_TESTS_CUDA_CHECK_H

#include <cuda_runtime_api.h>

#include "tests/egt.h"

#define CU(call)                                                                     \
    do {                                                                             \
        cudaError_t cu_e = (call);                                                   \
        if (cu_e) {                                                                  \
            egt_fail(__FILE__, __LINE__, "%s: %s", #call, cudaGetErrorString(cu_e)); \
        }                                                                            \
    } while (0)

#endif
