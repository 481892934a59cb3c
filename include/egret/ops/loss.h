/* loss.h - losses. All but cross entropy with labels are compositions of other ops; each
 * differentiates as often as one likes. An empty loss has the mean 0. That of sequences whose labels
 * have no places is in ctc.h. */
#ifndef EGRET_OPS_LOSS_H
#define EGRET_OPS_LOSS_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* What becomes of the losses of the elements; EG_BATCH_MEAN: their sum by the size of axis 0. */
typedef enum eg_reduction { EG_MEAN, EG_SUM, EG_NONE, EG_BATCH_MEAN } eg_reduction;

/* ---- of two tensors, element by element ------------------------------------------------------ */

typedef struct eg_loss_options {
    size_t size;
    eg_reduction reduction;
    double delta;          /* huber: where the square becomes a line; 0: 1 */
    double beta;           /* smooth_l1: the same; 0: 1; EG_ZERO is l1_loss */
    double alpha;          /* sigmoid_focal: weight where y is 1, 1 - alpha where it is 0; 0: 0.25, below: 1 for both */
    double gamma;          /* sigmoid_focal: how much less what is right counts already; 0: 2 */
    bool log_target;       /* kl_div: y is given as its logarithm */
    eg_tensor *weight;     /* of each element's loss, broadcast; NULL: 1. Not in a mean's divisor */
    eg_tensor *pos_weight; /* bce_with_logits: of the positive part, broadcast; NULL: 1 */
} eg_loss_options;
#define EG_LOSS_(function, x, y, ...) function(x, y, EG_OPTIONS_(eg_loss_options, __VA_ARGS__))
#define EG_LOSS(function, ...)        EG_LOSS_(function, __VA_ARGS__, )

/* x and y, floats, broadcast against each other; gradients flow to both and to the weights. With
 * d = x - y:
 *
 *   l1_loss         |d|
 *   mse_loss        d^2
 *   huber_loss      d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2)
 *   smooth_l1_loss  d^2 / (2 beta) for |d| <= beta, else |d| - beta / 2
 *
 * Huber 1964, Girshick 2015.
 *
 * EG_EINVAL for a delta or beta below 0, and for an option that another loss has and this one does not. */
EG_API eg_tensor *eg_l1_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
EG_API eg_tensor *eg_mse_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
EG_API eg_tensor *eg_huber_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
EG_API eg_tensor *eg_smooth_l1_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
#define eg_l1_loss(...)        EG_LOSS(eg_l1_loss_with, __VA_ARGS__)
#define eg_mse_loss(...)       EG_LOSS(eg_mse_loss_with, __VA_ARGS__)
#define eg_huber_loss(...)     EG_LOSS(eg_huber_loss_with, __VA_ARGS__)
#define eg_smooth_l1_loss(...) EG_LOSS(eg_smooth_l1_loss_with, __VA_ARGS__)

/* Cross entropy of a sigmoid with logits x and targets y in 0..1, p being pos_weight:
 * -p y log sigmoid(x) - (1 - y) log(1 - sigmoid(x)); max(x, 0) - x y + log(1 + e^-|x|) if p = 1. */
EG_API eg_tensor *eg_bce_with_logits_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
#define eg_bce_with_logits(...) EG_LOSS(eg_bce_with_logits_with, __VA_ARGS__)
/* The same with probabilities x: -y log x - (1 - y) log(1 - x), logarithms not below -100 and
 * without slope where the argument is below 1e-38. NaN for x outside 0..1. */
EG_API eg_tensor *eg_bce_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
#define eg_bce(...) EG_LOSS(eg_bce_with, __VA_ARGS__)
/* Cross entropy of a sigmoid with logits x and targets y, 0 or 1, times alpha_y (1 - q)^gamma, q being what sigmoid(x)
 * gives the right answer: of very many places of which few hold anything those that are settled count little.
 * Lin et al. 2017, torchvision's sigmoid_focal_loss. EG_EINVAL: alpha above 1, gamma below 0. */
EG_API eg_tensor *eg_sigmoid_focal_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
#define eg_sigmoid_focal_loss(...) EG_LOSS(eg_sigmoid_focal_loss_with, __VA_ARGS__)

/* Divergence of log-probabilities x from probabilities y: y (log y - x), 0 where y is 0; with
 * log_target e^y (y - x). Of a batch of distributions its mean is EG_BATCH_MEAN.
 * Kullback and Leibler 1951 */
EG_API eg_tensor *eg_kl_div_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *options);
#define eg_kl_div(...) EG_LOSS(eg_kl_div_with, __VA_ARGS__)

/* ---- of classes ------------------------------------------------------------------------------ */

typedef struct eg_cross_entropy_options {
    size_t size;
    eg_reduction reduction;
    double label_smoothing; /* s: target 1 - s + s / classes, others s / classes; 0..1 */
    bool ignore;            /* rows with the label ignore_index count nothing, nor in the mean */
    int64_t ignore_index;
    eg_tensor *weight; /* [classes], floats, of the targets; NULL: 1. No gradient by labels */
} eg_cross_entropy_options;
/* -sum over classes of target weight log softmax(x), for logits x [N, C, ...] or [C]. `target` is
 *
 *   labels [N, ...] or [], i64, i32 or u8: the class of each row. The mean divides by the sum of
 *   the weights of the labels that count, whatever its sign; by their number without weights; it is
 *   0 where that is 0. Saves x and two numbers per row; the gradient writes dx in one pass. Logits
 *   whose classes lie side by side ([N, C], channels-last) are not copied; f16 and bf16 compute in
 *   f32. EG_EINDEX for a label outside 0..C-1, naming row and label; on a device when the host next
 *   waits for it, naming the label;
 *
 *   or floats of x's shape: probabilities of the classes, with a gradient. The mean divides by the
 *   rows. No ignore_index.
 *
 * The loss has the labels' shape before it is reduced. EG_ESHAPE, EG_EDTYPE; EG_EINVAL for
 * options. */
EG_API eg_tensor *eg_cross_entropy_with(eg_tensor *x, eg_tensor *target, const eg_cross_entropy_options *options);
/* The same of log-probabilities x and labels: -weight[label] x[label], as a composition. */
EG_API eg_tensor *eg_nll_loss_with(eg_tensor *x, eg_tensor *labels, const eg_cross_entropy_options *options);
#define eg_cross_entropy(...)                 EG_CLASSES(eg_cross_entropy_with, __VA_ARGS__)
#define eg_nll_loss(...)                      EG_CLASSES(eg_nll_loss_with, __VA_ARGS__)
#define EG_CLASSES(function, ...)             EG_CLASSES_(function, __VA_ARGS__, )
#define EG_CLASSES_(function, x, target, ...) function(x, target, EG_OPTIONS_(eg_cross_entropy_options, __VA_ARGS__))

EG_END_DECLS

#endif
