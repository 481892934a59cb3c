/* write_rows.h - the table of what becomes of each op, and parts that its functions share. */
#ifndef EGRET_ONNX_WRITE_ROWS_H
#define EGRET_ONNX_WRITE_ROWS_H

#include "nn/onnx/graph.h"
#include "nn/onnx/write.h"

/* Position of the batch axis in the results, for .any_batch. */
typedef enum eg__batch_rule {
    EG__BATCH_EACH,  /* where it is in the inputs, which are broadcast */
    EG__BATCH_FREE,  /* where it is in the first input, whatever its size; other inputs have none */
    EG__BATCH_OWN,   /* the function says it */
    EG__BATCH_NEVER, /* inputs must not have one */
} eg__batch_rule;

/* Why no function writes a row. */
typedef enum eg__unwritten {
    EG__WRITTEN,
    EG__OF_GRADIENT, /* runs in backward passes */
    EG__OF_UPDATE,   /* is a step of an optimizer */
    EG__OF_CHANCE,   /* draws random numbers, which would be others there */
    EG__WITHOUT,     /* has no inputs: its result is a constant */
    EG__NO_OPERATOR, /* ONNX has neither an operator nor a short composition that is exact enough */
    EG__TO_DO,       /* ONNX has an operator, of a later version */
} eg__unwritten;

typedef struct eg__write_row {
    const char *op;
    eg_status (*write)(eg__onnx_writer *w, const eg_op_call *c, const char *told);
    eg__val (*point)(eg__onnx_writer *w, const eg_op_call *c, eg__val a, eg__val b);
    const char *told; /* what the function is told: an operator, mostly */
    eg__batch_rule batch;
    eg__unwritten why;
} eg__write_row;

#define NODE(row, operator)
#define POINT(row, function, options) \
    eg__val eg__point_##function(eg__onnx_writer *w, const eg_op_call *c, eg__val a, eg__val b);
#define WRITE(row, function, told, batch, options) \
    eg_status eg__write_##function(eg__onnx_writer *w, const eg_op_call *c, const char *told_);
#define NONE(row, why)
#include "nn/onnx/write.def"
#undef NODE
#undef POINT
#undef WRITE
#undef NONE

/* A name that lives as long as the writer. */
const char *eg__onnx_text_new(eg__onnx_writer *w, const char *s);
/* Returns whether the call repeats a constant for each row of the batch. */
bool eg__onnx_makes_batch(const eg__onnx_writer *w, const eg_op_call *c);
/* Fails: the call cannot be written, for this reason. */
eg_status eg__onnx_cannot(const eg_op_call *c, const char *why);
/* Fails if an input's axis of the batch is this one (counted from the first of in[0]), which the nodes have a size of.
 */
eg_status eg__not_along_batch(const eg__onnx_writer *w, const eg_op_call *c, int axis);
/* Returns whether ONNX's f32 attributes represent v exactly enough for a tensor of this dtype. */
bool eg__attribute_holds(double v, eg_dtype dtype);

/* ---- parts of formulas ------------------------------------------------------------------------------- */

/* The result of an activation; EG__ACT_NONE: x. */
eg__val eg__put_act(eg__onnx_writer *w, int act, eg__val x);
eg__val eg__put_where(eg__onnx_writer *w, eg__val when, eg__val a, eg__val b);
/* To a shape whose sizes are known; -1 as ONNX means it. */
eg__val eg__put_reshape(eg__onnx_writer *w, eg__val x, const int64_t *shape, int ndim);
/* x[..., start : end : step, ...] along one axis. */
eg__val eg__put_slice(eg__onnx_writer *w, eg__val x, int64_t axis, int64_t start, int64_t end, int64_t step);
eg__val eg__put_reduce(eg__onnx_writer *w, const char *op, eg__val x, const int64_t *axes, int n, bool keepdim);
eg__val eg__put_transpose(eg__onnx_writer *w, eg__val x, const int64_t *perm, int ndim);
eg__val eg__put_unsqueeze(eg__onnx_writer *w, eg__val x, int64_t axis);
/* x as f32 if it is a half, which compositions are computed in. */
eg__val eg__put_wide(eg__onnx_writer *w, eg__val x);
/* x W along an axis of a tensor of ndim axes. */
eg__val eg__put_product(eg__onnx_writer *w, eg__val x, int axis, int ndim, eg__val matrix);

#endif
