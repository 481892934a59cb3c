/* carrier.h - carriers of CUDA devices' memory, and groups of cards. */
#ifndef EGRET_CUDA_CARRIER_H
#define EGRET_CUDA_CARRIER_H

#include "lib/cuda/ranks/ranks.h"
#include "lib/cuda/runtime/cuda.h"

struct eg__carrier {
    eg_device *device; /* first, as the library expects */
    cudaStream_t stream;
};

extern const eg__carriers eg__cuda_carriers;
extern const eg__cards eg__cuda_cards;

#endif
