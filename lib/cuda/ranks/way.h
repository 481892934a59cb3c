/* way.h - ways of CUDA devices, and groups of cards. */
#ifndef EGRET_CUDA_WAY_H
#define EGRET_CUDA_WAY_H

#include "lib/cuda/ranks/ranks.h"
#include "lib/cuda/runtime/cuda.h"

struct eg__way {
    eg_device *device; /* first, as the library expects */
    cudaStream_t stream;
};

extern const eg__ways eg__cuda_ways;
extern const eg__cards eg__cuda_cards;

#endif
