/* boxes.h - the kernels of non-maximum suppression. Plain C and CUDA. */
#ifndef EGRET_CUDA_BOXES_H
#define EGRET_CUDA_BOXES_H

#include <cuda_runtime_api.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Boxes in order, 64 to a word: of rows of boxes first..first+count-1 the bits of mask say which later boxes each
 * would remove. */
enum { EG__NMS_WORD = 64, EG__NMS_ROWS = 4096 };
typedef struct eg__suppressing {
    const char *boxes;
    const int64_t *order, *classes; /* classes: of boxes, NULL: none */
    const uint8_t *candidate;       /* in order */
    bool *keep;
    uint64_t *mask, *removed; /* scratch: words for each of EG__NMS_ROWS rows, and once */
    int64_t *kept;            /* scratch: one */
    int64_t n, words, first, count, most;
    double threshold;
    int f64;
} eg__suppressing;

/* Nothing is removed yet but what is no candidate. */
cudaError_t eg__launch_nms_begin(const eg__suppressing *k, cudaStream_t s);
/* One stretch of rows after the other. */
cudaError_t eg__launch_nms_rows(const eg__suppressing *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
