/* write_rows.h - rows of the op table that take more than a word to be written. */
#ifndef EGRET_ONNX_WRITE_ROWS_H
#define EGRET_ONNX_WRITE_ROWS_H

#include "nn/onnx/graph.h"
#include "nn/onnx/write.h"

/* Row, function eg__onnx_write_..., what is told to it: an operator, mostly. */
#define EG__ONNX_ROWS(X)                      \
    X("argmax", place, "ArgMax")              \
    X("argmin", place, "ArgMin")              \
    X("attention", attention, "")             \
    X("avg_pool", avg_pool, "AveragePool")    \
    X("batch_norm", batch_norm, "")           \
    X("concat", concat, "Concat")             \
    X("conv", conv, "Conv")                   \
    X("conv_act", conv, "Conv")               \
    X("conv_data", conv_transpose, "")        \
    X("cumsum", cumsum, "CumSum")             \
    X("expand", expand, "Expand")             \
    X("gather", gather, "GatherElements")     \
    X("group_norm", group_norm, "")           \
    X("gru", gru, "GRU")                      \
    X("index_select", index_select, "Gather") \
    X("layer_norm", layer_norm, "")           \
    X("linear", linear, "")                   \
    X("linear_act", linear, "")               \
    X("log_softmax", softmax, "LogSoftmax")   \
    X("logsumexp", reduce, "ReduceLogSumExp") \
    X("lstm", lstm, "LSTM")                   \
    X("matmul", matmul, "MatMul")             \
    X("max", reduce, "ReduceMax")             \
    X("max_pool", max_pool, "MaxPool")        \
    X("mean", reduce, "ReduceMean")           \
    X("min", reduce, "ReduceMin")             \
    X("norm", norm, "")                       \
    X("pad", pad, "Pad")                      \
    X("permute", permute, "Transpose")        \
    X("prod", reduce, "ReduceProd")           \
    X("reshape", reshape, "Reshape")          \
    X("resize", resize, "Resize")             \
    X("scale_channels", scale_channels, "")   \
    X("slice", slice, "Slice")                \
    X("softmax", softmax, "Softmax")          \
    X("std", variance, "Sqrt")                \
    X("sum", reduce, "ReduceSum")             \
    X("var", variance, "")

#define DECLARE(row, write, told) \
    eg_status eg__onnx_write_##write(eg__onnx_writer *w, const eg_op_call *c, const char *op);
EG__ONNX_ROWS(DECLARE)
#undef DECLARE

/* Whether the call repeats a constant for each of the batch, whose size may be any. */
bool eg__onnx_makes_batch(const eg__onnx_writer *w, const eg_op_call *c);
/* Fails: the call cannot be written, for this reason. */
eg_status eg__onnx_cannot(const eg_op_call *c, const char *why);
/* One node of x and lists of numbers: the first output is y's, or a new name. */
eg__onnx_temp eg__onnx_node_ints(eg__onnx_writer *w, const char *op, const char *x, const int64_t *v, int n,
                                 eg_tensor *y);
/* The name of a tensor, to be used as an input. */
const char *eg__onnx_name_of(eg__onnx_writer *w, eg_tensor *t);
/* One node of one or two names (b NULL: of one); y NULL: a new name. */
eg__onnx_temp eg__onnx_node_names(eg__onnx_writer *w, const char *op, const char *a, const char *b, eg_tensor *y);
/* A number without axes as an initializer. */
eg__onnx_temp eg__onnx_number_name(eg__onnx_writer *w, double v, eg_dtype dtype);
/* A tensor that a function makes and that is written as an initializer; it is not seen again. */
eg__onnx_temp eg__onnx_constant_name(eg__onnx_writer *w, eg_tensor *t);
/* What comes behind a convolution or a product: the activation of it, from a name to y. */
eg_status eg__onnx_write_act(eg__onnx_writer *w, const eg_op_call *c, int act, const char *from);

#endif
