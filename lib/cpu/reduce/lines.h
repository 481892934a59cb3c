/* lines.h - ops that go along one axis: all lines of the operands, side by side in blocks. */
#ifndef EGRET_LINES_H
#define EGRET_LINES_H

#include "lib/cpu/common/isa.h"

enum { EG__LINES_MAX = 3 };

/* What one op does with a block of lines. Operand 0 is the result; its shape is that of the others. */
typedef struct eg__lines eg__lines;
/* cols lines, whose first elements lie at ptr[k] and across[k] bytes apart. */
typedef void eg__lines_fn(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across);
struct eg__lines {
    eg__lines_fn *block;
    int64_t n;                   /* elements of a line */
    int64_t step[EG__LINES_MAX]; /* bytes between them */
    int axis, type;              /* set by the op */
    bool reverse, stream;
};

/* Runs the block function over all lines, on all threads when they hold many elements of such `cost`. */
void ISA(eg__lines_run)(eg__lines *l, eg_tensor *const *ops, int nops, int cost);

/* Runs a kernel for f32 on halves: inputs are widened first, the result is narrowed. */
eg_status ISA(eg__through_f32)(const eg__call *c, eg__kernel *kernel);

#endif
