/* launches.h - going over operands in launches: eg__launches_begin, then a launch per eg__launches_next. */
#ifndef EGRET_CUDA_LAUNCHES_H
#define EGRET_CUDA_LAUNCHES_H

#include "lib/cuda/runtime/cuda.h"
#include "lib/cuda/common/elements.h"

typedef struct eg__launches {
    eg__iter it;
    eg__elements elements;
    int cut;             /* the axis launches go along */
    int64_t inner, done; /* elements of a row of it; rows done */
} eg__launches;

/* Operand 0 is the result; others broadcast to it, and may be numbers of the CPU. */
void eg__launches_begin(eg__launches *w, const eg__call *c, eg_tensor *const *ops, int nops);
/* The elements of the next launch; false: no more. */
bool eg__launches_next(eg__launches *w);

/* Tensors of one shape along the axis; nobody has shared out the work yet. */
struct eg__lines;
void eg__lines_make(struct eg__lines *l, eg_tensor *const *t, int nops, int axis);

/* What elements of the dtype are computed in. */
static inline int eg__class_of(int dtype)
{
    return dtype == EG_F64 ? EG__IN_F64 : eg__is_float(dtype) ? EG__IN_F32 : EG__IN_I64;
}

#endif
