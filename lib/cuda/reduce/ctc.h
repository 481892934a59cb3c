/* ctc.h - between the kernels of connectionist temporal classification and their host side. Plain C and CUDA. */
#ifndef EGRET_CUDA_CTC_H
#define EGRET_CUDA_CTC_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "lib/cuda/runtime/fault.h"
#include "lib/ops/ctc.h"

/* What the first kernel of the gradient finds out of a row for the second. */
typedef struct eg__ctc_known {
    int64_t labels; /* where its labels begin */
    int64_t count;  /* of them; 0 if they count for nothing */
    int64_t frames;
    double share; /* of the loss in the result: 0 or NaN where it is infinite */
    int possible;
} eg__ctc_known;

typedef struct eg__ctc {
    const char *x; /* log_probs [T, N, C] */
    int64_t frames, rows, classes;
    int64_t x_step[3], dx_step[3], dy_step;                  /* in elements */
    const int64_t *targets, *input_lengths, *target_lengths; /* lengths: NULL, all */
    int64_t ntargets, width;                                 /* width: of targets by rows; 0: end to end */
    char *alpha, *loss;
    int64_t states; /* alphas have room for */
    char *columns;  /* two columns of states per row, where shared memory has no room; else NULL */
    /* of the gradient */
    const char *dy;
    char *dx, *shares; /* shares: of the paths through each state, as alpha */
    int64_t *links;    /* [N, longest]: twice the next equal label's place, or 0, and 1 if none is before it */
    eg__ctc_known *known;
    int f64;
    eg__ctc_opts o;
    int op;
    eg__fault *fault;
} eg__ctc;

/* Greedy decoding. */
typedef struct eg__collapsing {
    const int64_t *path, *input_lengths;
    int64_t *labels, *lengths;
    int64_t frames, rows, blank;
    int op;
    eg__fault *fault;
} eg__collapsing;

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of shared memory up to which columns lie there; a block has a little of its own beside them. */
enum { EG__CTC_SHARED = (48 << 10) - 256 };

cudaError_t eg__launch_ctc_loss(const eg__ctc *k, cudaStream_t s);
cudaError_t eg__launch_ctc_loss_grad(const eg__ctc *k, cudaStream_t s);
cudaError_t eg__launch_ctc_collapse(const eg__collapsing *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
