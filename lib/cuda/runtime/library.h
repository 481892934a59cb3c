/* library.h - NVIDIA's libraries beside the runtime: large, and not on every machine. */
#ifndef EGRET_CUDA_LIBRARY_H
#define EGRET_CUDA_LIBRARY_H

#include "lib/cuda/runtime/cuda.h"
#include "lib/core/library.h"

/* eg__library_open, in the folder EGRET_CUDA_PATH names or lib64 or lib of it, where the loader looks, in the toolkit's
 * usual place. */
eg_status eg__cuda_library_open(eg__library *l, const char *op);

#endif
