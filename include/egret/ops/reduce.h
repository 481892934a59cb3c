/* reduce.h - reductions over chosen axes. */
#ifndef EGRET_OPS_REDUCE_H
#define EGRET_OPS_REDUCE_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* Zero-initialised: all axes, which then go. eg_sum(x, .axes = EG_AXES(0, -1), .keepdim = true). */
typedef struct eg_reduce_options {
    size_t size;
    eg_axes axes; /* none: all */
    bool keepdim; /* reduced axes stay with size 1 */
} eg_reduce_options;
#define EG_REDUCE_(function, x, ...) function(x, &(eg_reduce_options){__VA_ARGS__})
#define EG_REDUCE(function, ...)                                                                   \
    EG_REDUCE_(function, __VA_ARGS__, .size = sizeof(eg_reduce_options))

/* Sum of the elements; integers and bools give i64, an empty sum is 0. f16 and bf16 accumulate in f32.
 * grad: dy expanded. */
EG_API eg_tensor *eg_sum_with(eg_tensor *x, const eg_reduce_options *options);
#define eg_sum(...) EG_REDUCE(eg_sum_with, __VA_ARGS__)

EG_END_DECLS

#endif
