/* learn.c - the optimizer, and the steps it makes. */
#include "bench.h"

#include <math.h>
#include <string.h>

#include "../common/logits.h"

/* ---- accuracy ---- */

bool bench_tells_accuracy(const bench *b)
{
    return b->o.print_training_accuracy || b->o.forward_only;
}

void bench_add_accuracy(bench *b, eg_tensor *logits, eg_tensor *labels)
{
    int64_t classes = eg_size(logits, 1);
    eg_run_heed(b->run, eg_metrics_accuracy(b->metrics, "top_1", logits, labels));
    eg_run_heed(b->run, eg_metrics_top_k(b->metrics, "top_5", logits, labels, classes < 5 ? classes : 5));
}

/* ---- the optimizer ---- */

/* Whether the decay is in the loss, where its gradient is cut with the rest; else the optimizer adds it. */
static bool cuts_decay(const options *o)
{
    return o->gradient_clip > 0 && o->weight_decay > 0;
}

/* An option whose 0 is meant. */
static double meant(double value)
{
    return value == 0 ? EG_ZERO : value;
}

static eg_optim *make_optim(const bench *b)
{
    const options *o = &b->o;
    eg_parameters p = eg_module_parameters(b->net);
    double decay = cuts_decay(o) ? 0 : o->weight_decay;
    eg_optim *made = strcmp(o->optimizer, "momentum") == 0
                         ? eg_sgd_new(p, .momentum = o->momentum, .nesterov = o->momentum > 0, .weight_decay = decay)
                     : strcmp(o->optimizer, "rmsprop") == 0
                         ? eg_rmsprop_new(p, .alpha = meant(o->rmsprop_decay), .momentum = o->rmsprop_momentum,
                                          .eps = o->rmsprop_epsilon, .weight_decay = decay, .tensorflow = true)
                     : strcmp(o->optimizer, "adam") == 0
                         ? eg_adam_new(p, .beta1 = meant(o->adam_beta1), .beta2 = meant(o->adam_beta2),
                                       .eps = o->adam_epsilon, .weight_decay = decay, .epsilon_outside = true)
                         : eg_sgd_new(p, .weight_decay = decay);
    if (made && eg_optim_clip_value(made, o->gradient_clip)) {
        eg_optim_free(made);
        return NULL;
    }
    return made;
}

eg_status bench_prepare(bench *b)
{
    const options *o = &b->o;
    const eg_scaler_options scaling = {.size = sizeof scaling,
                                       .start = o->fp16_loss_scale,
                                       .growth = o->fp16_enable_auto_loss_scale ? 2 : 1,
                                       .backoff = o->fp16_enable_auto_loss_scale ? 0.5 : 1,
                                       .interval = o->fp16_inc_loss_scale_every_n};
    eg_run_scaling(b->run, &scaling);
    b->optim = eg_run_optim(b->run, "optimizer", make_optim(b));
    return eg_run_heed(b->run, rates_make(o, &b->by, b->report.batch, b->in.of->train_size, &b->plan));
}

/* ---- a step ---- */

/* Half the sum of squares of all that learns, times --weight_decay: as a number, */
static double decay_of(bench *b)
{
    eg_parameters p = eg_module_parameters(b->net);
    double norm = NAN;
    eg_status st = eg_clip_grad_norm(p.tensors, p.count, INFINITY, &norm); /* measures, and scales nothing */
    eg_run_heed(b->run, st == EG_EINVAL ? EG_OK : st); /* one that is not finite is told as the loss */
    return 0.5 * norm * norm * b->o.weight_decay;
}

/* or for a tape. */
static eg_tensor *decay_term(const bench *b)
{
    eg_parameters p = eg_module_parameters(b->net);
    eg_tensor *all = NULL;
    for (int i = 0; i < p.count; i++) {
        eg_tensor *sum = eg_sum(eg_square(p.tensors[i]));
        all = all ? eg_add(all, sum) : sum;
    }
    return eg_mul_scalar(all, 0.5 * b->o.weight_decay);
}

/* Forward, backward, update. */
static eg_tensor *learn(bench *b, eg_tensor *const *sample)
{
    const options *o = &b->o;
    bool total = strcmp(o->loss_type_to_report, "total_loss") == 0, on_tape = cuts_decay(o);
    double decay = total && o->weight_decay > 0 && !on_tape ? decay_of(b) : 0;
    eg_run_heed(b->run, eg_optim_set_rate(b->optim, rates_at(&b->plan, eg_run_step(b->run) - 1)));
    eg_tape tape = eg_tape_open();
    eg_logits l = eg_model_forward(b->net, sample[0]);
    eg_tensor *base = logits_loss(l, sample[1], 0), *loss = on_tape ? eg_add(base, decay_term(b)) : base;
    eg_run_minimize(b->run, b->optim, tape, loss);
    if (eg_run_status(b->run)) {
        return NULL;
    }
    b->loss = eg_item(total ? loss : base) + decay;
    return l.logits;
}

void bench_step(bench *b, eg_tensor *const *sample)
{
    eg_run *run = b->run;
    bool judged = bench_tells_accuracy(b);
    eg_tensor *logits = b->o.forward_only ? eg_module_forward(b->net, sample[0]) : learn(b, sample);
    if (!logits) {
        eg_run_heed(run, eg_last_error()->code);
        return;
    }
    if (judged) {
        eg_run_heed(run, eg_metrics_reset(b->metrics));
        bench_add_accuracy(b, eg_cast(logits, EG_F32), sample[1]);
    }
    eg_run_heed(run, eg_device_synchronize(eg_run_device(run)));
    b->took = report_now() - b->report.asked;
    if (judged) {
        b->accuracy[0] = eg_metrics_value(b->metrics, "top_1");
        b->accuracy[1] = eg_metrics_value(b->metrics, "top_5");
    }
    double all[] = {b->loss, b->accuracy[0], b->accuracy[1]}; /* of several ranks their means */
    eg_run_all_reduce(run, all, 3, EG_COMM_MEAN);
    b->loss = all[0];
    memcpy(b->accuracy, all + 1, sizeof b->accuracy);
    const eg_run_value told[] = {EG_RUN_NUMBER("loss", b->loss),
                                 EG_RUN_NUMBER("rate", b->optim ? eg_optim_rate(b->optim) : 0),
                                 EG_RUN_NUMBER("seconds", b->took), EG_RUN_NUMBER("top_1", b->accuracy[0]),
                                 EG_RUN_NUMBER("top_5", b->accuracy[1])};
    eg_run_note_with(run, told, judged ? 5 : 3);
}
