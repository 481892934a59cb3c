/* classify.c - egret-classify: any net of the library on any data set, everything else by flags. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../common/logits.h"
#include "optimizers.h"
#include "restore.h"
#include "sets.h"
#include "tell.h"

enum { SMOKE_BATCH = 4, SMOKE_STEPS = 12, SMOKE_SIDE = 128 };

/* What a run is made of. */
typedef struct job {
    eg_run *run;
    const options *o;
    const set *of;
    const char *recipe;
    int64_t side, channels;
    eg_module *net;
    eg_tensors *names; /* what the file calls the weights, as texts; NULL: there is no file */
    eg_optim *optim;
    eg_dataset *others; /* to judge by */
    eg_metrics *metrics;
} job;

/* ---- before ---- */

/* Judging needs no logits in the middle, which published weights may be without. */
static eg_module *make_net(const options *o, const eg_model_info *info)
{
    return eg_model_new(info->name, .classes = o->num_classes, .side = info->sided ? o->image_size : 0,
                        .no_aux = info->aux && strcmp(o->task_type, "evaluate") == 0);
}

static eg_status open_net(job *j)
{
    const options *o = j->o;
    eg_model_info info = eg_model_find(o->model_name);
    if (!info.name) {
        return eg_last_error()->code;
    }
    j->side = o->image_size ? o->image_size : info.side;
    j->channels = info.channels;
    j->recipe = o->preprocessing_name ? sets_recipe(o->preprocessing_name) : info.preprocessing;
    if (!j->recipe) {
        return eg_last_error()->code;
    }
    j->net = eg_run_module(j->run, "net", make_net(o, &info));
    return eg_run_status(j->run);
}

static eg_dataset *batches(job *j, bool train)
{
    return sets_batches(j->run, j->of, j->o, j->recipe, j->side, j->channels,
                        (uint64_t)eg_run_settings_of(j->run)->seed, train);
}

/* ---- judging ---- */

typedef struct judged {
    int64_t classes, examples;
} judged;

static eg_tensor *judge_batch(eg_module *net, eg_tensor *const *sample, eg_metrics *m, void *user)
{
    judged *all = user;
    eg_tensor *logits = eg_cast(eg_module_forward(net, sample[0]), EG_F32);
    eg_metrics_accuracy(m, "accuracy", logits, sample[1]);
    eg_metrics_top_k(m, "top5", logits, sample[1], all->classes < 5 ? all->classes : 5);
    all->examples += eg_size(logits, 0);
    return eg_cross_entropy(logits, sample[1]);
}

/* The metrics of the data set's other files; the run's. */
static eg_metrics *judge(job *j, judged *all)
{
    if (!j->others) {
        j->others = eg_run_dataset(j->run, NULL, batches(j, false));
        j->metrics = eg_run_metrics(j->run, "judged");
    }
    *all = (judged){.classes = j->o->num_classes};
    if (eg_run_status(j->run) || eg_run_heed(j->run, eg_metrics_reset(j->metrics)) ||
        eg_evaluate(j->run, j->net, judge_batch, j->others, j->metrics, all)) {
        return NULL;
    }
    return j->metrics;
}

/* Training images of an epoch, which is one pass over them everywhere: as given, of the data set, or counted; 0: not
 * known. */
static int64_t examples_of(const job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    return j->o->num_sample_per_epoch ? j->o->num_sample_per_epoch
           : j->of->train_size        ? j->of->train_size
                                      : eg_run_per_epoch(j->run) * s->batch * s->ranks;
}

/* Behind an epoch: the log has it, and the folder the best checkpoint. */
static void judge_epoch(job *j)
{
    judged all;
    int64_t every = j->o->evaluate_every_n_epochs;
    if (eg_run_status(j->run) || !every || eg_run_epoch(j->run) % every != 0) {
        return;
    }
    eg_metrics *m = judge(j, &all);
    if (m && !eg_run_log_metrics(j->run, "valid/", m)) {
        double score = eg_metrics_value(m, "accuracy");
        eg_run_heed(j->run, eg_saver_save_best(eg_run_saver(j->run), eg_run_step(j->run), score));
    }
}

static eg_status evaluate(job *j)
{
    judged all;
    if (eg_run_heed(j->run, restore_all(j->run, j->o, j->net))) {
        return eg_run_status(j->run);
    }
    eg_metrics *m = judge(j, &all);
    double examples = (double)all.examples;
    if (m && !eg_run_all_reduce(j->run, &examples, 1, EG_COMM_SUM)) {
        eg_run_say(j->run, "accuracy @ 1 = %.4f, accuracy @ 5 = %.4f, loss %.6f of %lld examples",
                   eg_metrics_value(m, "accuracy"), eg_metrics_value(m, "top5"), eg_metrics_value(m, "loss"),
                   (long long)examples);
    }
    return eg_run_status(j->run);
}

/* ---- training ---- */

static eg_status train(job *j)
{
    eg_run *run = j->run;
    log_lines lines = {.run = run, .o = j->o, .optim = j->optim, .per_epoch = examples_of(j)};
    if (options_hook(j->o, "LoggingTensorHook")) {
        eg_run_hook(run, &(eg_hook){.every = 1, .step = tell_step, .user = &lines});
    }
    if (options_hook(j->o, "ProfilerHook") && j->o->profile_at_task == eg_run_settings_of(run)->rank) {
        eg_run_timeline(run, j->o->profile_every_n_iters);
    }
    EG_RUN_EPOCHS(run)
    {
        eg_run_heed(run, eg_module_train(j->net));
        EG_RUN_STEPS(sample, run)
        {
            eg_tape tape = eg_tape_open();
            eg_logits l = eg_model_forward(j->net, sample[0]);
            eg_tensor *loss = logits_loss(l, sample[1], j->o->label_smoothing);
            eg_run_minimize(run, j->optim, tape, loss);
            eg_tensor *right = eg_eq(eg_argmax(eg_detach(l.logits), .axes = EG_AXES(1)), sample[1]);
            eg_run_note(run, EG_RUN_VALUE("loss", loss), EG_RUN_VALUE("accuracy", eg_mean(eg_cast(right, EG_F32))),
                        EG_RUN_NUMBER("rate", eg_optim_rate(j->optim)));
            lines.examples = eg_size(sample[0], 0) * eg_run_settings_of(run)->ranks;
        }
        judge_epoch(j);
        if (eg_run_epoch(run) >= j->o->num_epochs) {
            eg_run_stop(run, NULL);
        }
    }
    eg_run_plot(run, "loss.png", j->o->model_name, "loss");
    eg_run_plot(run, "accuracy.png", j->o->model_name, "accuracy, valid/accuracy");
    return eg_run_check_fell(run, "loss", 0.98);
}

static void free_names(void *names)
{
    eg_tensors_free(names);
}

static eg_status learn(job *j)
{
    eg_run *run = j->run;
    const options *o = j->o;
    const eg_scaler_options scaling = {.size = sizeof scaling,
                                       .start = o->loss_scale,
                                       .growth = o->auto_loss_scale ? 2 : 1,
                                       .backoff = o->auto_loss_scale ? 0.5 : 1,
                                       .interval = 1000};
    eg_run_scaling(run, &scaling);
    eg_run_train_on(run, batches(j, true));
    if (!eg_run_status(run) && o->num_epochs_per_decay > 0 && !examples_of(j)) {
        return eg_run_refuse(run,
                             "--num_epochs_per_decay needs --num_sample_per_epoch: how many images this data set has "
                             "is not known");
    }
    if (!eg_run_status(run) && strcmp(o->task_type, "finetune") == 0) {
        j->names = eg_tensors_new();
        eg_run_heed(run, eg_run_own(run, j->names, free_names));
        eg_run_heed(run, eg_run_status(run) ? EG_OK : restore_weights(run, o, j->net, j->names));
    }
    j->optim =
        eg_run_status(run) ? NULL : eg_run_optim(run, "optimizer", optimizer_new(o, j->net, examples_of(j), j->names));
    if (!eg_run_status(run)) {
        eg_run_heed(run, tell_model(run, o, j->net, j->channels, j->side, j->optim));
    }
    return eg_run_status(run) ? eg_run_status(run) : train(j);
}

/* ---- the whole ---- */

static eg_status work(eg_run *run, void *user)
{
    job j = {.run = run, .o = user};
    const char *mistake = options_mistake(j.o, eg_run_settings_of(run)->ranks);
    if (mistake) {
        return eg_run_refuse(run, "%s", mistake);
    }
    j.of = sets_find(j.o);
    if (!j.of) {
        return eg_last_error()->code;
    }
    if (j.of->parse && !j.o->dataset_dir) {
        return eg_run_refuse(run, "--dataset_name %s needs --dataset_dir; egret-convert makes one", j.o->dataset_name);
    }
    eg_status st = open_net(&j);
    return st ? st : strcmp(j.o->task_type, "evaluate") == 0 ? evaluate(&j) : learn(&j);
}

/* A checkpoint by its path, or a folder of some: TF-Slim's --checkpoint_path. */
static void settle_checkpoint(options *o)
{
    struct stat info;
    if (!o->checkpoint_path || o->model_dir || o->ckpt_file_name) {
        return;
    }
    bool folder = stat(o->checkpoint_path, &info) == 0 && S_ISDIR(info.st_mode);
    o->model_dir = folder ? o->checkpoint_path : NULL;
    o->ckpt_file_name = folder ? NULL : o->checkpoint_path;
    o->checkpoint_path = NULL;
    o->task_type = strcmp(o->task_type, "pretrain") == 0 ? "finetune" : o->task_type;
    o->restore_statistics = true;
}

static int64_t at_most(int64_t number, int64_t most)
{
    return number < most ? number : most;
}

/* A few steps of a few images; of one where images are large. */
static void settle_smoke(options *o)
{
    const int64_t side = o->image_size ? o->image_size : eg_model_find(o->model_name).side, whole = o->batch_size;
    o->batch_size = at_most(o->batch_size, side > SMOKE_SIDE ? 1 : SMOKE_BATCH);
    if (strcmp(o->optimizer, "sgd") == 0 || strcmp(o->optimizer, "momentum") == 0) { /* whose rates go with the batch */
        o->learning_rate *= (double)o->batch_size / (double)whole;
    }
    o->stop_at_step = at_most(o->stop_at_step, SMOKE_STEPS);
    o->num_epochs = SMOKE_STEPS; /* of the one batch that there is */
    o->shuffle_buffer_size = at_most(o->shuffle_buffer_size, 64);
    o->max_num_batches = o->max_num_batches ? at_most(o->max_num_batches, 2) : 2;
    o->decay_scheme = NULL; /* there are too few steps to decay in */
    eg_clear_error();       /* open_net reports a name that is not known */
}

/* What the seed calls otherwise. */
static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    settle_checkpoint(o);
    if (s->smoke) {
        settle_smoke(o);
    }
    s->epochs = o->num_epochs;
    s->batch = o->batch_size;
    s->steps = options_hook(o, "StopAtStepHook") ? o->stop_at_step : 0;
    s->save_every = options_hook(o, "CheckpointSaverHook") ? o->save_checkpoints_steps : 0;
    s->out = o->output_dir;
    s->precision = o->use_fp16 ? "f16" : s->precision;
    s->zero = !o->enable_paisoar && !s->zero ? 1 : s->zero;
}

int main(int argc, char **argv)
{
    options o;
    eg_flag flags[OPTIONS_FLAGS];
    int count = options_flags(&o, flags);
    return eg_run_main(argc, argv, work, &o, .name = "egret-classify", .unit = "images",
                       .about = "Trains a net of the library on labelled images, from nothing or from another net's "
                                "weights, or judges one.",
                       .flags = flags, .flag_count = count, .without = "data epochs batch steps save-every out",
                       .settle = settle, .aliases = options_aliases, .alias_count = options_alias_count);
}
