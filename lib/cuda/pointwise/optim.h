/* optim.h - optimizer steps and norms of many tensors: what kernels and their host side share. Plain C and
 * CUDA. */
#ifndef EGRET_CUDA_OPTIM_H
#define EGRET_CUDA_OPTIM_H

#include <cuda_runtime_api.h>

#include "lib/ops/update.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are told to kernels in their arguments: no copy to the device comes before a step, and one launch
 * has room for as many as 32 KB take, one of few tensors for what 4 KB take. */
enum {
    EG__UPDATE_MANY = 320, /* of a launch */
    EG__UPDATE_FEW = 32,
    EG__UPDATE_NUMBERS_FEW = 4, /* sets of numbers, of a launch; else EG__OPTIM_NUMBERS */
    EG__UPDATE_CHUNK = 4096,    /* elements of a block, or rows that come to them */
    EG__NORM_MANY = 1024,
    EG__NORM_FEW = 96,
    EG__NORM_CHUNK = 16384,
};

/* The rules. */
enum {
#define EG_UPDATE(name, ...) EG__UPDATE_##name,
#include "lib/ops/updates.def"
#undef EG_UPDATE
    EG__UPDATE_RULES
};

/* A parameter. */
typedef struct eg__update_tensor {
    char *at[6];    /* by slot; NULL: not there */
    int64_t n, row; /* row: elements of one, where rows are left alone whose gradient is zero; else 0 */
    unsigned first; /* its first block */
    uint8_t group;
    uint8_t dtype, slope; /* of the parameter, of the gradient; the rest is f32, or f64 with f64 */
    uint8_t grouped;      /* groups of eight elements are aligned */
} eg__update_tensor;

typedef struct eg__update {
    int rule;
    bool wide; /* f64 */
    const eg__update_tensor *tensors;
    int count;
    unsigned blocks;
    const eg__optim_group *groups; /* for no skipped step since `base`, for one, ... */
    int ngroups, sets;
    const double *gate;       /* on the device, NULL: the step is done */
    const eg__optim_now *now; /* on the device: instead of groups, sets and base; or NULL */
    double base;              /* steps that were skipped when the first set was the right one */
} eg__update;

cudaError_t eg__launch_update(const eg__update *u, cudaStream_t s);

typedef struct eg__norm_tensor {
    const char *at;
    int64_t n;
    unsigned first;
    uint8_t dtype, grouped;
} eg__norm_tensor;

/* One number per block of what the p-norm of all adds up; p as 1, 2, or 0 for infinity. */
cudaError_t eg__launch_norm_parts(const eg__norm_tensor *tensors, int count, unsigned blocks, int p, double *parts,
                                  cudaStream_t s);
/* The norm out of n such numbers into *norm, and what follows from it; NULLs are not there. */
cudaError_t eg__launch_norm(const double *parts, int64_t n, int p, const eg__gate_rule *rule, double *norm,
                            double *gate, double *scaler, cudaStream_t s);

#ifdef __cplusplus
}
#endif

#endif
