/* elements.h - what a kernel of elements goes over: operands of one broadcast shape, axes merged where that
 * is possible. Plain C and CUDA. */
#ifndef EGRET_CUDA_ELEMENTS_H
#define EGRET_CUDA_ELEMENTS_H

#include <egret/tensor.h>

enum { EG__OPERANDS = 4 };

typedef struct eg__operand {
    char *p;                     /* NULL: the number */
    int64_t stride[EG_MAX_DIMS]; /* bytes */
    int dtype, size;             /* of an element */
    double number;
    int64_t whole; /* the same for integers */
} eg__operand;

/* Fewer than 2^31 elements: more are several launches. */
typedef struct eg__elements {
    unsigned n;
    int ndim, nops;
    unsigned shape[EG_MAX_DIMS];
    unsigned magic[EG_MAX_DIMS], shift[EG_MAX_DIMS]; /* division by shape: (umulhi(i, magic) + i) >> shift */
    eg__operand at[EG__OPERANDS];                    /* the result first */
    /* Elements of one run along the last axis lie side by side or are all the same, and groups of
     * EG__GROUP of them are aligned to their size, at most 16 bytes. */
    int grouped;
} eg__elements;

enum { EG__GROUP = 8 };

/* Parameters of a formula, for floats and for integers. */
typedef struct eg__numbers {
    double p, q;
    int64_t ip, iq;
} eg__numbers;

/* What formulas are computed in: f16, bf16 and f32; f64; integers and bool. */
enum { EG__IN_F32, EG__IN_F64, EG__IN_I64, EG__CLASSES };

#endif
