/* op.h - the row of an op, a call of it, and the kernel it comes to. */
#ifndef EGRET_CORE_OP_H
#define EGRET_CORE_OP_H

#include "lib/core/tensor.h"

enum { EG__MAX_OPS = 512, EG__MAX_OUT = 4, EG__MAX_SAVED_IN = 16 };

/* Bits naming what an entry saves. */
#define EG__IN(i)  (1u << (i))
#define EG__OUT(j) (1u << (EG__MAX_SAVED_IN + (j)))

enum {
    EG__STRIDED = 1,     /* the kernel takes any strides */
    EG__VIEW = 2,        /* the output shares the first input's storage */
    EG__NO_GRAD = 4,     /* never recorded */
    EG__PROMOTE = 8,     /* inputs are brought to one dtype */
    EG__INT_TO_F32 = 16, /* integers and bools become f32 first */
    EG__POINTWISE = 32,
    EG__SHAPES = 64,   /* the gradient asks for the shapes of untracked inputs too */
    EG__LENGTHS = 128, /* integers may stay on the CPU where the rest is on a device */
};

/* What autocast does to inputs: nothing, its dtype, f32 for halves. */
enum { EG__CAST_KEEP, EG__CAST_LOW, EG__CAST_FULL };

typedef struct eg__walk eg__walk;
typedef eg_status eg__infer(eg__call *c);
typedef eg_status eg__rule(eg__walk *w);

typedef struct eg__op {
    const char *name;
    uint16_t id, opts_size, flags, dtypes;
    uint16_t nin_min, nin_max;
    uint8_t nout, cast; /* cast: an EG__CAST */
    eg__infer *infer;
    int64_t (*macs)(const eg__call *c); /* multiply-adds of a finished call; NULL: it is no product */
    /* saves[i]: what the gradient of input i needs; inputs past the last listed need nothing */
    uint32_t saves[EG__MAX_SAVED_IN];
} eg__op;

/* One op in flight. Inference reads in and opts and fills desc; kernels read in, out, opts. */
struct eg__call {
    const eg__op *op;
    eg__thread *T;
    eg_tensor **in;
    int nin;
    uint8_t device; /* where it runs and its results are */
    const void *opts;
    eg_tensor *out[EG__MAX_OUT];
    eg__desc desc[EG__MAX_OUT];
};

#endif
