/* loss.h - losses: compositions of other ops, so that each differentiates as often as those do. */
#ifndef EGRET_OPS_LOSS_H
#define EGRET_OPS_LOSS_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* What becomes of the losses of the elements. */
typedef enum eg_reduction { EG_MEAN, EG_SUM, EG_NONE } eg_reduction;

typedef struct eg_loss_options {
    size_t size;
    eg_reduction reduction;
    double delta; /* huber: where the square becomes a line; 0: 1 */
} eg_loss_options;
#define EG_LOSS_(function, x, y, ...) function(x, y, &(eg_loss_options){__VA_ARGS__})
#define EG_LOSS(function, ...) EG_LOSS_(function, __VA_ARGS__, .size = sizeof(eg_loss_options))

/* |x - y|, (x - y)^2, and Huber's (1964): d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2). x and y
 * broadcast. */
EG_API eg_tensor *eg_l1_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
EG_API eg_tensor *eg_mse_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
EG_API eg_tensor *eg_huber_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
#define eg_l1_loss(...) EG_LOSS(eg_l1_loss_with, __VA_ARGS__)
#define eg_mse_loss(...) EG_LOSS(eg_mse_loss_with, __VA_ARGS__)
#define eg_huber_loss(...) EG_LOSS(eg_huber_loss_with, __VA_ARGS__)

/* Cross entropy of a sigmoid: max(x, 0) - x z + log(1 + e^-|x|) for logits x and targets z in 0..1. */
EG_API eg_tensor *eg_bce_with_logits_with(eg_tensor *x, eg_tensor *z, const eg_loss_options *options);
#define eg_bce_with_logits(...) EG_LOSS(eg_bce_with_logits_with, __VA_ARGS__)

typedef struct eg_cross_entropy_options {
    size_t size;
    eg_reduction reduction;
    double label_smoothing; /* s: target 1 - s + s / classes, others s / classes; 0..1 */
    bool ignore;            /* rows with the label ignore_index count nothing, neither in the mean */
    int64_t ignore_index;
} eg_cross_entropy_options;
/* -log softmax(x)[label] for logits x [rows, classes] and labels [rows], i64 or i32. A mean over no rows, all
 * ignored or none there, is 0. EG_EINDEX for a label outside 0..classes-1, naming row and label; EG_ESHAPE,
 * EG_EDTYPE. */
EG_API eg_tensor *eg_cross_entropy_with(eg_tensor *x, eg_tensor *labels,
                                        const eg_cross_entropy_options *options);
#define eg_cross_entropy(...)                                                                      \
    EG_CROSS_ENTROPY_(__VA_ARGS__, .size = sizeof(eg_cross_entropy_options))
#define EG_CROSS_ENTROPY_(x, labels, ...)                                                          \
    eg_cross_entropy_with(x, labels, &(eg_cross_entropy_options){__VA_ARGS__})

EG_END_DECLS

#endif
