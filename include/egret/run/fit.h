/* fit.h - the ordinary training: a net, a loss, an optimizer, data to learn from and data to be judged by.
 *
 *     static eg_tensor *loss(eg_module *net, eg_tensor *const *sample, eg_metrics *m, void *user)
 *     {
 *         eg_tensor *logits = eg_module_forward(net, sample[0]);
 *         eg_metrics_accuracy(m, "accuracy", logits, sample[1]);
 *         return eg_cross_entropy(logits, sample[1]);
 *     }
 *     ...
 *     eg_fit(run, net, sgd, loss, train, .valid = valid, .best = "accuracy", .patience = 5);
 *
 * It is a few lines over the calls of run.h: who needs another loop writes it. */
#ifndef EGRET_RUN_FIT_H
#define EGRET_RUN_FIT_H

#include <egret/metrics.h>
#include <egret/run.h>
#include <egret/schedule.h>

EG_BEGIN_DECLS

/* The loss of a sample, a tensor of one element, and what else it is worth. The sample is on the run's device. Called
 * in training and, in eval mode and without a tape, in evaluation. NULL is a failure. */
typedef eg_tensor *(*eg_loss_fn)(eg_module *net, eg_tensor *const *sample, eg_metrics *metrics, void *user);

typedef struct eg_fit_options {
    size_t size;
    void *user;                  /* the loss function's */
    eg_dataset *valid;           /* to evaluate on, the run's from now on; NULL: nothing is */
    int64_t evaluate_every;      /* steps; 0: behind each epoch */
    const char *best;            /* the metric of valid that says which checkpoint is best; NULL: "loss" */
    bool lowest;                 /* the lower the better; of "loss" it always is */
    int64_t patience;            /* evaluations in a row that may be no better before the run ends; 0: any number */
    const eg_schedule *schedule; /* for the optimizer (eg_optim_follow); NULL: as it is */
} eg_fit_options;

/* Trains net, which is the run's as optim is (eg_run_module, eg_run_optim), on `train`, the run's from now on, for the
 * run's epochs or steps. Each step notes "loss" and "rate"; behind an epoch the log has the metrics of its steps and of
 * the evaluation, those with "valid/" before their names, and the folder has best.safetensors of the best. Returns the
 * run's status. */
EG_API eg_status eg_fit_with(eg_run *run, eg_module *net, eg_optim *optim, eg_loss_fn loss, eg_dataset *train,
                             const eg_fit_options *options);
#define eg_fit(...) EG_FIT_(__VA_ARGS__, )
#define EG_FIT_(run, net, optim, loss, train, ...) \
    eg_fit_with(run, net, optim, loss, train, EG_OPTIONS_(eg_fit_options, __VA_ARGS__))

/* One pass over the data in eval mode, which the net is left in, without a tape: adds to metrics what the loss function
 * gathers, and "loss", the mean over all examples (the first axis of a sample's first tensor). The run's status. */
EG_API eg_status eg_evaluate(eg_run *run, eg_module *net, eg_loss_fn loss, eg_dataset *data, eg_metrics *metrics,
                             void *user);

/* What the net makes, in eval mode, of the first tensor of each sample, on the CPU and behind each other along axis 0,
 * in the scope. NULL after a failure. */
EG_API eg_tensor *eg_predict(eg_run *run, eg_module *net, eg_dataset *data);

EG_END_DECLS

#endif
