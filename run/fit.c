/* fit.c - the ordinary training; see egret/run/fit.h. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/base.h"
#include "run/run.h"

/* What a training knows beside the run. */
typedef struct fit {
    eg_run *run;
    eg_module *net;
    eg_loss_fn loss;
    eg_fit_options o;
    eg_metrics *trained, *valid;
    bool evaluated; /* behind this step */
} fit;

/* ---- evaluation ---- */

/* What is gathered of each rank's share of the samples, every so many-th. */
static void evaluate_share(eg_run *run, eg_module *net, eg_loss_fn loss, eg_dataset *data, eg_metrics *metrics,
                           void *user)
{
    EG_RUN_EACH_SHARE(sample, run, data)
    {
        eg_tensor *mean = loss(net, sample, metrics, user);
        eg_tensor *each = eg_expand(eg_reshape(mean, EG_SHAPE(1)), EG_SHAPE(eg_size(sample[0], 0)));
        eg_run_heed(run, each ? eg_metrics_mean(metrics, "loss", each) : eg_last_error()->code);
    }
}

eg_status eg_evaluate(eg_run *run, eg_module *net, eg_loss_fn loss, eg_dataset *data, eg_metrics *metrics, void *user)
{
    if (eg_run_heed(run, eg_module_eval(net))) {
        return run->status;
    }
    if (run->ranks == 1) {
        evaluate_share(run, net, loss, data, metrics, user);
        return run->status;
    }
    eg_metrics *here = eg_metrics_new();
    eg_run_heed(run, here ? EG_OK : eg_last_error()->code);
    evaluate_share(run, net, loss, data, here, user);
    if (!run->status && !eg_run_heed(run, eg_metrics_all_reduce(here, run->comm))) {
        eg_run_heed(run, eg_metrics_add(metrics, here));
    }
    eg_metrics_free(here);
    return run->status;
}

/* What the net makes of each sample, kept, behind each other in a list that grows; how many. */
static int64_t predict_each(eg_run *run, eg_module *net, eg_dataset *data, eg_tensor ***made)
{
    int64_t n = 0, room = 0;
    EG_RUN_EACH(sample, run, data)
    {
        if (n == room) {
            eg_tensor **more = realloc(*made, (size_t)(room = 2 * room + 16) * sizeof *more);
            if (!more) {
                eg_run_heed(run, eg_fail(EG_ENOMEM, "eg_predict", "out of memory"));
                break;
            }
            *made = more;
        }
        (*made)[n] = eg_keep(eg_to(eg_module_forward(net, sample[0]), eg_cpu()));
        if (!(*made)[n]) {
            eg_run_heed(run, eg_last_error()->code);
            break;
        }
        n++;
    }
    return n;
}

eg_tensor *eg_predict(eg_run *run, eg_module *net, eg_dataset *data)
{
    eg_tensor **made = NULL, *all = NULL;
    int64_t n = eg_run_heed(run, eg_module_eval(net)) ? 0 : predict_each(run, net, data, &made);
    if (n > INT_MAX) {
        eg_run_heed(run, eg_fail(EG_EINVAL, "eg_predict", "too many samples"));
    }
    if (n && !run->status) {
        all = eg_concat(made, (int)n, 0);
        eg_run_heed(run, all ? EG_OK : eg_last_error()->code);
    }
    for (int64_t i = 0; i < n; i++) {
        eg_release(made[i]);
    }
    free(made);
    return all;
}

/* ---- the best ---- */

/* Saves the best, and ends the run where there has been no better one for too long. */
static void judge(fit *f)
{
    eg_run *run = f->run;
    const char *name = f->o.best ? f->o.best : "loss";
    bool lowest = f->o.lowest || strcmp(name, "loss") == 0;
    double value = eg_metrics_value(f->valid, name), score = lowest ? -value : value;
    if (isnan(value)) {
        eg_run_heed(run, eg_failf(EG_EINVAL, "eg_fit", "the metric %s of the evaluation is not a number", name));
        return;
    }
    if (!(score <= eg_saver_best_score(run->saver))) {
        run->no_better = 0;
        eg_run_heed(run, eg_saver_save_best(run->saver, run->step, score));
    } else if (++run->no_better == f->o.patience) {
        char why[160];
        snprintf(why, sizeof why, "valid/%s has not become better for %lld evaluations", name,
                 (long long)f->o.patience);
        eg_run_stop(run, why);
    }
}

static void evaluate(fit *f)
{
    eg_run *run = f->run;
    if (!f->o.valid || run->status || f->evaluated) {
        return;
    }
    f->evaluated = true;
    eg_run_heed(run, eg_metrics_reset(f->valid));
    if (!eg_evaluate(run, f->net, f->loss, f->o.valid, f->valid, f->o.user) &&
        !eg_run_log_metrics(run, "valid/", f->valid)) {
        judge(f);
    }
    eg_run_heed(run, eg_module_train(f->net));
}

/* ---- training ---- */

static void learn(fit *f, eg_optim *optim, eg_tensor *const *sample)
{
    eg_run *run = f->run;
    eg_tape tape = eg_tape_open();
    eg_tensor *loss = f->loss(f->net, sample, f->trained, f->o.user);
    if (!loss) {
        eg_status st = eg_last_error()->code;
        eg_run_heed(run, st ? st : eg_fail(EG_EUSER, "eg_fit", "the loss function failed without a word"));
        return;
    }
    eg_run_minimize(run, optim, tape, loss);
    eg_run_note(run, EG_RUN_VALUE("loss", loss), EG_RUN_NUMBER("rate", eg_optim_rate(optim)));
    f->evaluated = false;
    if (f->o.evaluate_every && run->step % f->o.evaluate_every == 0) {
        evaluate(f);
    }
}

static void train(fit *f, eg_optim *optim)
{
    eg_run *run = f->run;
    EG_RUN_EPOCHS(run)
    {
        eg_run_heed(run, eg_module_train(f->net));
        EG_RUN_STEPS(sample, run)
        {
            learn(f, optim, sample);
        }
        if (!run->status && run->ranks > 1) {
            eg_run_heed(run, eg_metrics_all_reduce(f->trained, run->comm));
        }
        if (!run->status) {
            eg_run_log_metrics(run, "", f->trained);
            eg_run_heed(run, eg_metrics_reset(f->trained));
            if (!f->o.evaluate_every || !run_has_steps_left(run)) {
                evaluate(f);
            }
        }
    }
}

eg_status eg_fit_with(eg_run *run, eg_module *net, eg_optim *optim, eg_loss_fn loss, eg_dataset *train_data,
                      const eg_fit_options *options)
{
    fit f = {.run = run, .net = net, .loss = loss};
    eg__options(&f.o, sizeof f.o, options);
    f.trained = eg_run_metrics(run, "metrics");
    f.valid = eg_run_metrics(run, "valid-metrics");
    eg_run_train_on(run, train_data);
    if (f.o.valid) {
        eg_run_dataset(run, "valid", f.o.valid);
    }
    if (f.o.schedule && !run->status) {
        eg_run_heed(run, eg_optim_follow(optim, f.o.schedule));
    }
    train(&f, optim);
    return run->status;
}
