/* dispatch.h - the way every op takes, and what ops have in common. */
#ifndef EGRET_OPS_DISPATCH_H
#define EGRET_OPS_DISPATCH_H

#include "lib/core/layout.h"
#include "lib/core/op.h"
#include "lib/core/parallel.h"
#include "lib/core/recorder.h"

/* NULL check, infer, kernel, contiguous, allocate, run, record. The out[j] are borrowed. */
eg_status eg__dispatch(const eg__op *op, eg_tensor *const *in, int nin, const void *opts, eg_tensor **out);
/* The first output. */
eg_tensor *eg__op1(const eg__op *op, eg_tensor *a, const void *opts);
eg_tensor *eg__op2(const eg__op *op, eg_tensor *a, eg_tensor *b, const void *opts);
eg_tensor *eg__op3(const eg__op *op, eg_tensor *a, eg_tensor *b, eg_tensor *d, const void *opts);
/* The op's result written over in[0], whose shape and dtype stay; never recorded. `name` is what
 * messages and later version complaints call it. Returns in[0]. */
eg_tensor *eg__inplace(const eg__op *op, const char *name, eg_tensor *const *in, int nin, const void *opts);
/* Runs the op's kernel on checked operands into an existing tensor; nothing else. */
eg_status eg__run(const eg__op *op, eg_tensor *const *in, int nin, const void *opts, eg_tensor *out);

/* Where a call with these inputs runs, all of one device but for numbers of pointwise ops: sets c->device. */
eg_status eg__locate(eg__call *c);
/* The kernel of a located call, NULL if there is none; running it, seen by a profile and a capture. */
eg__kernel *eg__device_kernel(const eg__call *c);
eg_status eg__device_run(const eg__call *c, eg__kernel *k);
eg_status eg__watched_run(const eg__call *c, eg__kernel *k);
static inline eg__kernel *eg__kernel_of(const eg__call *c)
{
    return likely(!c->device) ? c->T->kernels[c->op->id] : eg__device_kernel(c);
}

static inline eg_status eg__run_kernel(const eg__call *c, eg__kernel *k)
{
    if (unlikely(eg__mode(c->T) & (EG__MODE_PROFILE | EG__MODE_CAPTURE))) {
        return eg__watched_run(c, k);
    }
    return likely(!c->device) ? k(c) : eg__device_run(c, k);
}
/* The kernel of a located call, or words if there is none. */
eg_status eg__run_call(const eg__call *c);

/* The dtype several inputs are brought to (eg_promote); NULLs are skipped. */
int eg__common_dtype(eg_tensor *const *in, int nin);

/* Looks at a finished call for the debug words (watch.c); may fail. */
eg_status eg__debug_call(const eg__call *c, double seconds);

/* ---- autocast (precision.c) ---------------------------------------------------------------------- */

/* What inputs are brought to: those whose dtype has a bit in `from`. */
typedef struct eg__recast {
    unsigned from;
    int dtype;
} eg__recast;

/* Whether autocast to `low` changes inputs of the op, and how. */
bool eg__autocast(const eg__op *op, eg_tensor *const *in, int nin, int low, eg__recast *how);

/* ---- compositions of halves (precision.c) ---------------------------------------------------------- */

static inline bool eg__is_half(int dtype)
{
    return dtype == EG_F16 || dtype == EG_BF16;
}

/* A composition of ops, in a scope of its own, that computes halves in f32, so that it neither overflows nor rounds
 * between its operands and its result, and the gradient of an operand is summed in f32 too. `dtype` is that of the
 * result, -1 if no operand is a half. */
typedef struct eg__wide {
    eg_scope scope;
    int dtype;
} eg__wide;

/* Opens the scope and replaces operands that are halves by f32, or all that are floats by f64; NULLs stay.
 * EG__WIDE_BEGIN(&a, &b), EG__WIDE_BEGIN_AS(EG_F64, &a, &b) */
eg__wide eg__wide_begin(eg_tensor **const *operands, int n, eg_dtype to);
#define EG__WIDE_BEGIN(...) EG__WIDE_BEGIN_AS(EG_F32, __VA_ARGS__)
#define EG__WIDE_BEGIN_AS(to, ...)                     \
    eg__wide_begin((eg_tensor **const[]){__VA_ARGS__}, \
                   (int)(sizeof((eg_tensor **const[]){__VA_ARGS__}) / sizeof(eg_tensor **)), to)
/* Returns whether x is f32 or bf16 on the CPU and has elements but 0 whose squares may lie outside the range of f32. */
bool eg__squares_pass(const eg_tensor *x);
/* Closes it; y is rounded to the dtype that the operands had in common. */
eg_tensor *eg__wide_end(eg__wide w, eg_tensor *y);
/* The same of what autocast computes in f32 (EG_FULL): there y stays f32. */
eg_tensor *eg__wide_end_full(eg__wide w, eg_tensor *y);

/* Inference shared by families. */
eg__infer eg__infer_same;    /* like the first input, packed order kept */
eg__infer eg__infer_binary;  /* broadcast, dtype of the first */
eg__infer eg__infer_compare; /* broadcast, bool */
eg__infer eg__infer_none;    /* refuses: the op's results are given to it */

#endif
