/* schedule.h - learning rates as functions of the step, by value.
 *
 *     eg_schedule plan = EG_SCHEDULE(.kind = EG_RATE_COSINE, .lr = 1e-3, .steps = 10000,
 *                                    .warm_up = 500);
 *     eg_optim_follow(adam, &plan);
 *
 * Step t counts from 0: it is the number of steps done before. So a warm-up begins with a rate of
 * 0, as TensorFlow's and BERT's do; .start = -1 counts from 1. */
#ifndef EGRET_SCHEDULE_H
#define EGRET_SCHEDULE_H

#include <egret/base.h>

EG_BEGIN_DECLS

/* The rate at u = max(t - start, 0); lr, steps, factor and the rest are the fields below. "Needed"
 * fields are refused when 0. The names in brackets are PyTorch's (torch.optim.lr_scheduler) or
 * TensorFlow's (tf.train) for the same numbers. */
typedef enum eg_rate_kind {
    /* lr */
    EG_RATE_FIXED,
    /* lr factor^floor(u / steps); steps needed; factor 0: 0.1 [StepLR; exponential_decay,
     * staircase] */
    EG_RATE_STEP,
    /* lr factor^(how many of at[] are <= u); factor 0: 0.1 [MultiStepLR] */
    EG_RATE_MULTI_STEP,
    /* lr, from at[i] on rates[i] [piecewise_constant, whose boundary b is at = b + 1] */
    EG_RATE_PIECEWISE,
    /* lr factor^(u / steps); factor needed; steps 0: 1 [ExponentialLR; exponential_decay] */
    EG_RATE_EXPONENTIAL,
    /* (lr - end) (1 - min(u, steps) / steps)^power + end; steps needed; power 0: 1
     * [PolynomialLR, LinearLR; polynomial_decay] */
    EG_RATE_POLYNOMIAL,
    /* end + (lr - end) (1 + cos(pi u / steps)) / 2 and then end for good; with cycle it rises again
     * after that, as PyTorch's does; steps needed [CosineAnnealingLR; cosine_decay]. Loshchilov and
     * Hutter 2016. */
    EG_RATE_COSINE,
    /* the same, beginning anew after steps, and again each time the period has been multiplied;
     * multiply 0: 1 [CosineAnnealingWarmRestarts] */
    EG_RATE_COSINE_RESTARTS,
    /* From lr / divide up to lr within the first peak of the steps, then down to lr / divide /
     * final_divide, along half a cosine each or, with linear, straight; steps needed; peak 0: 0.3,
     * divide 0: 25, final_divide 0: 1e4 [OneCycleLR, whose max_lr is lr]. Smith and Topin 2017. */
    EG_RATE_ONE_CYCLE,
    /* lr width^-0.5 min(u^-0.5, u steps^-1.5): steps of warm-up, then 1 / sqrt(u); steps needed;
     * width, of the model, 0: 1. Vaswani et al. 2017 ("Noam", with u from 1: .start = -1). */
    EG_RATE_INVERSE_SQRT,
    /* Of steps S in all, needed: lr until begin, then lr factor^floor((u - begin) / period), factor
     * 0: 0.5, with begin = floor(S / 2), period = floor((S - begin) / 5) or / 10; for LUONG234
     * begin = floor(2 S / 3) and / 4. (github.com/tensorflow/nmt: decay_scheme) */
    EG_RATE_LUONG5,
    EG_RATE_LUONG10,
    EG_RATE_LUONG234,
    EG_RATE_KINDS_
} eg_rate_kind;

/* What goes on during the first warm_up steps W. */
typedef enum eg_warm_up_kind {
    /* t / W of the plan's first rate; the plan begins after it: u = max(t - W - start, 0) */
    EG_WARM_UP_FRONT,
    /* the same, but the plan counts from step 0, under it (BERT, ResNet) */
    EG_WARM_UP_OVER,
    /* the plan times 0.01^((W - t) / W) (github.com/tensorflow/nmt: warmup_scheme) */
    EG_WARM_UP_T2T,
    EG_WARM_UP_KINDS_
} eg_warm_up_kind;

enum { EG_MAX_MILESTONES = 16 };

/* Zero-initialised but for lr: that rate for ever. */
typedef struct eg_schedule {
    size_t size;
    eg_rate_kind kind;
    double lr;     /* must be above 0 */
    int64_t steps; /* the length or the period */
    int64_t start; /* the step the plan begins at; before it the rate is that of u = 0 */
    double factor; /* 0: 0.1, or 0.5 for Luong's plans; EG_RATE_EXPONENTIAL needs one */
    double end;
    double power;                  /* 0: 1 */
    int64_t at[EG_MAX_MILESTONES]; /* rising, from 1; the first 0 ends the list */
    double rates[EG_MAX_MILESTONES];
    int64_t multiply;    /* 0: 1 */
    double peak;         /* 0: 0.3; EG_ZERO: no step goes up */
    double divide;       /* 0: 25 */
    double final_divide; /* 0: 1e4 */
    double width;        /* 0: 1 */
    bool cycle, linear;
    int64_t warm_up;
    eg_warm_up_kind warm_up_kind;
} eg_schedule;
#ifdef __cplusplus
#define EG_SCHEDULE(...) (*EG_OPTIONS_(eg_schedule, __VA_ARGS__))
#else /* which may stand in front of a static object */
#define EG_SCHEDULE(...) ((eg_schedule){.size = sizeof(eg_schedule) + 0 * EG_NAMES_(#__VA_ARGS__), __VA_ARGS__})
#endif

/* The rate of step t; NaN, and EG_EINVAL naming the field, for a senseless plan, t < 0 or a rate that is not finite. */
EG_API double eg_schedule_at(const eg_schedule *schedule, int64_t t);

EG_END_DECLS

#endif
