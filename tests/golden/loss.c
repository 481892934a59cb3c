/* loss.c - what the golden cases of losses stand for. */
#include "tests/golden/golden.h"

static eg_reduction reduction(const golden_case *c)
{
    return golden_is(c, "reduction", "sum")         ? EG_SUM
           : golden_is(c, "reduction", "none")      ? EG_NONE
           : golden_is(c, "reduction", "batchmean") ? EG_BATCH_MEAN
                                                    : EG_MEAN;
}

static eg_cross_entropy_options of_classes(const golden_case *c)
{
    return (eg_cross_entropy_options){.size = sizeof(eg_cross_entropy_options),
                                      .reduction = reduction(c),
                                      .label_smoothing = golden_number(c, "label_smoothing", 0),
                                      .ignore = golden_has(c, "ignore_index"),
                                      .ignore_index = (int64_t)golden_number(c, "ignore_index", 0),
                                      .weight = c->nx > 2 ? c->x[2] : NULL};
}

static eg_tensor *cross_entropy(const golden_case *c)
{
    eg_cross_entropy_options o = of_classes(c);
    return eg_cross_entropy_with(c->x[0], c->x[1], &o);
}

static eg_tensor *nll_loss(const golden_case *c)
{
    eg_cross_entropy_options o = of_classes(c);
    return eg_nll_loss_with(c->x[0], c->x[1], &o);
}

#define PAIR(name)                                                                                                  \
    static eg_tensor *name(const golden_case *c)                                                                    \
    {                                                                                                               \
        bool positive = golden_is(c, "inputs", "pos_weight");                                                       \
        bool weighted = golden_is(c, "inputs", "weight");                                                           \
        return eg_##name(c->x[0], c->x[1], .reduction = reduction(c), .delta = golden_number(c, "delta", 0),        \
                         .beta = golden_number(c, "beta", 0), .log_target = golden_number(c, "log_target", 0) != 0, \
                         .alpha = golden_number(c, "alpha", 0), .gamma = golden_number(c, "gamma", 0),              \
                         .weight = weighted ? c->x[2] : NULL, .pos_weight = positive ? c->x[2] : NULL);             \
    }
PAIR(l1_loss)
PAIR(mse_loss)
PAIR(huber_loss)
PAIR(smooth_l1_loss)
PAIR(bce)
PAIR(bce_with_logits)
PAIR(kl_div)
PAIR(sigmoid_focal_loss)

GOLDEN_ROWS(loss, {.op = "cross_entropy", .one = cross_entropy}, {.op = "nll_loss", .one = nll_loss},
            {.op = "l1_loss", .one = l1_loss}, {.op = "mse_loss", .one = mse_loss},
            {.op = "huber_loss", .one = huber_loss}, {.op = "smooth_l1_loss", .one = smooth_l1_loss},
            {.op = "bce", .one = bce}, {.op = "bce_with_logits", .one = bce_with_logits},
            {.op = "kl_div", .one = kl_div}, {.op = "sigmoid_focal_loss", .one = sigmoid_focal_loss})
