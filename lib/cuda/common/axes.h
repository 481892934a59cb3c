/* axes.h - some axes of an op's tensors, gone over by one index: row-major, merged where that is possible.
 * Plain C and CUDA. */
#ifndef EGRET_CUDA_AXES_H
#define EGRET_CUDA_AXES_H

#include <egret/tensor.h>

enum { EG__AXES_OPERANDS = 4 };

typedef struct eg__axes {
    int64_t n; /* how many places */
    int ndim;
    int64_t shape[EG_MAX_DIMS];
    unsigned magic[EG_MAX_DIMS], shift[EG_MAX_DIMS]; /* division by shape, for n below 2^31 */
    double inverse[EG_MAX_DIMS];                     /* of shape, for others */
    int64_t stride[EG__AXES_OPERANDS][EG_MAX_DIMS];  /* bytes */
} eg__axes;

/* The axes of the mask, of operands with these strides. In the order of falling strides of operand 0 if
 * `sorted`, else in their own. */
void eg__axes_make(eg__axes *a, int ndim, const int64_t *shape, unsigned mask, int nops,
                   const int64_t (*strides)[EG_MAX_DIMS], int sorted);

/* Tensors of one shape gone over along one axis: a line at each place of the others. Plain what kernels need. */
typedef struct eg__lines {
    eg__axes at; /* where lines begin: strides of the operands */
    int64_t n;   /* elements of a line */
    char *p[EG__AXES_OPERANDS];
    int64_t step[EG__AXES_OPERANDS]; /* bytes along a line */
    int dtype[EG__AXES_OPERANDS], size[EG__AXES_OPERANDS];
    int nops, in;   /* what it is computed in, EG__IN_F32 ... */
    int side;       /* elements of all lines lie side by side, and are of one dtype */
    unsigned lanes; /* threads of a line, a power of two */
    int along;      /* neighbouring threads are at neighbouring elements, else on neighbouring lines */
    unsigned parts; /* pieces of lines, where there are few */
    int64_t part;   /* elements of one */
    char *parts_at; /* what is known of each */
} eg__lines;

/* The size of the step in bytes of operand 0 along the innermost axis; 0 if there is none. */
static inline int64_t eg__innermost(const eg__axes *a)
{
    const int64_t step = a->ndim ? a->stride[0][a->ndim - 1] : 0;
    return step < 0 ? -step : step;
}

/* The least power of two that is not below n, at most `most`. */
static inline int eg__power(int64_t n, int most)
{
    int p = 1;
    while (p < n && p < most) {
        p *= 2;
    }
    return p;
}

#endif
