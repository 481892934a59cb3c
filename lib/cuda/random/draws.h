/* draws.h - random streams as kernels get them: host side. */
#ifndef EGRET_CUDA_DRAWS_H
#define EGRET_CUDA_DRAWS_H

#include "lib/cuda/runtime/cuda.h"
#include "lib/cuda/random/random.h"

/* Where a call begins to draw; in a captured step it moves with the thread's stream. */
eg__draws eg__cuda_draws(const eg__call *c, eg_random_state from);

#endif
