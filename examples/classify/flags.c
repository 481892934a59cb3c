/* flags.c - the flags of egret-classify, and what follows from several of them. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "options.h"

#define HOOKS "StopAtStepHook,ProfilerHook,LoggingTensorHook,CheckpointSaverHook"

int options_flags(options *o, eg_flag *rows)
{
    const eg_flag all[] = {
        EG_FLAG_GROUP("the data set"),
        EG_FLAG_TEXT("dataset_name", &o->dataset_name, "mock", "NAME",
                     "mock (made up), mnist, cifar10, flowers, imagenet, or any name with --train_files, --eval_files"),
        EG_FLAG_TEXT("dataset_dir", &o->dataset_dir, NULL, "DIR", "folder with its TFRecord files"),
        EG_FLAG_INTEGER(
            "num_sample_per_epoch", &o->num_sample_per_epoch, "0", 0, 1000000000000,
            "training images of an epoch, for the log and --num_epochs_per_decay; 0: those of the data set"),
        EG_FLAG_INTEGER("num_classes", &o->num_classes, "100", 1, 1000000, "outputs of the net"),
        EG_FLAG_TEXT("train_files", &o->train_files, NULL, "FILES",
                     "files in --dataset_dir, between commas, instead of the data set's own; patterns are fine"),
        EG_FLAG_TEXT("eval_files", &o->eval_files, NULL, "FILES", "the same of the files to judge by"),
        EG_FLAG_TEXT("dataset_split_name", &o->dataset_split_name, NULL, "NAME",
                     "train: learn from, or judge by, the training files; another name: the others; without it as the "
                     "task asks for"),
        EG_FLAG_INTEGER("labels_offset", &o->labels_offset, "0", -1000, 1000, "subtracted from labels"),
        EG_FLAG_INTEGER("mock_batches", &o->mock_batches, "80", 1, 1000000, "mock: batches there are"),

        EG_FLAG_GROUP("input"),
        EG_FLAG_TEXT("preprocessing_name", &o->preprocessing_name, NULL, "NAME",
                     "what images go through, a recipe's or a net's name; without it what the model's do"),
        EG_FLAG_INTEGER("shuffle_buffer_size", &o->shuffle_buffer_size, "1024", 1, 100000000,
                        "examples of which the next one is drawn"),
        EG_FLAG_INTEGER("num_parallel_batches", &o->num_parallel_batches, "8", 1, 1024,
                        "batches whose images are decoded ahead"),
        EG_FLAG_INTEGER("prefetch_buffer_size", &o->prefetch_buffer_size, "32", 0, 65535,
                        "batches ready ahead; 0: each is made when it is asked for"),
        EG_FLAG_INTEGER("num_preprocessing_threads", &o->num_preprocessing_threads, "16", 0, 256,
                        "threads that decode; 0: the one that trains"),
        EG_FLAG_BOOL("datasets_use_caching", &o->datasets_use_caching, "false", "keep the records in memory"),
        EG_FLAG_INTEGER("image_size", &o->image_size, "0", 0, 4096, "side of the images; 0: the model's"),

        EG_FLAG_GROUP("the model"),
        EG_FLAG_CHOICE("task_type", &o->task_type, "pretrain", "pretrain|finetune|evaluate",
                       "train anew, from another net's weights, or only judge a checkpoint"),
        EG_FLAG_TEXT("model_name", &o->model_name, "inception_resnet_v2", "NAME", "a net of docs/models.md"),
        EG_FLAG_INTEGER("num_epochs", &o->num_epochs, "100", 1, 1000000,
                        "epochs at most, each a pass over the training images"),
        EG_FLAG_REAL("weight_decay", &o->weight_decay, "4e-5", 0, 1, "of weights, not of biases and norms"),
        EG_FLAG_REAL("max_gradient_norm", &o->max_gradient_norm, "0", 0, 1e9,
                     "gradients of a larger norm, all together, are scaled down to it; 0: none is"),
        EG_FLAG_INTEGER("batch_size", &o->batch_size, "32", 1, 1000000, "examples of a step"),
        EG_FLAG_TEXT("model_dir", &o->model_dir, NULL, "DIR", "folder of --ckpt_file_name; without it --output_dir"),
        EG_FLAG_TEXT("ckpt_file_name", &o->ckpt_file_name, NULL, "FILE",
                     "what finetune begins with and evaluate judges: a checkpoint or a file of weights; without it "
                     "the latest checkpoint of --model_dir"),
        EG_FLAG_TEXT(
            "checkpoint_path", &o->checkpoint_path, NULL, "FILE",
            "the same by its path, or a folder of checkpoints; then pretrain is finetune, with what norms have "
            "seen"),
        EG_FLAG_TEXT("prefix_map", &o->prefix_map, NULL, "OLD:NEW",
                     "finetune: names that begin so in the file begin so in the net; several between commas"),
        EG_FLAG_TEXT("checkpoint_exclude_scopes", &o->checkpoint_exclude_scopes, NULL, "NAMES",
                     "finetune: weights whose names, here or in the file, begin so, between commas, stay as they are "
                     "made"),
        EG_FLAG_TEXT("trainable_scopes", &o->trainable_scopes, NULL, "NAMES",
                     "only weights whose names begin so, between commas, learn"),
        EG_FLAG_BOOL("restore_statistics", &o->restore_statistics, "false",
                     "finetune: also what norms have seen, not what learns alone"),

        EG_FLAG_GROUP("the learning rate"),
        EG_FLAG_REAL("learning_rate", &o->learning_rate, "0.01", 1e-12, 1000, "before warm-up and decay"),
        EG_FLAG_INTEGER("warmup_steps", &o->warmup_steps, "0", 0, 1000000000, "steps until it is reached"),
        EG_FLAG_TEXT("warmup_scheme", &o->warmup_scheme, "t2t", "NAME",
                     "t2t begins with a hundredth of it; with another name there is no warm-up"),
        EG_FLAG_CHOICE("decay_scheme", &o->decay_scheme, NULL, "none|luong234|luong5|luong10",
                       "when it decays: from 2/3 of the steps 4 times, from 1/2 5 or 10 times"),
        EG_FLAG_REAL("learning_rate_decay_factor", &o->learning_rate_decay_factor, "0.94", 1e-6, 1,
                     "exponential: what it is multiplied by each time"),
        EG_FLAG_CHOICE("learning_rate_decay_type", &o->learning_rate_decay_type, "exponential",
                       "fixed|exponential|polynomial",
                       "not, without a warm-up either; in stairs; straight down within one of these times"),
        EG_FLAG_REAL("num_epochs_per_decay", &o->num_epochs_per_decay, "0", 0, 1e9,
                     "decay every so many epochs from the beginning, as TF-Slim does; 0: by --decay_scheme"),
        EG_FLAG_REAL("label_smoothing", &o->label_smoothing, "0", 0, 1, "share of each target spread over all classes"),
        EG_FLAG_REAL("end_learning_rate", &o->end_learning_rate, "1e-4", 0, 1000, "polynomial: where it ends"),

        EG_FLAG_GROUP("the optimizer"),
        EG_FLAG_CHOICE("optimizer", &o->optimizer, "rmsprop",
                       "adadelta|adagrad|adam|adamweightdecay|ftrl|momentum|sgd|rmsprop", "how it learns"),
        EG_FLAG_REAL("adadelta_rho", &o->adadelta_rho, "0.95", 0, 1, "adadelta: decay of its means"),
        EG_FLAG_REAL("adagrad_initial_accumulator_value", &o->adagrad_initial_accumulator_value, "0.1", 0, 1e9,
                     "adagrad: what its sums begin with"),
        EG_FLAG_REAL("adam_beta1", &o->adam_beta1, "0.9", 0, 0.9999999, "adam: decay of the mean"),
        EG_FLAG_REAL("adam_beta2", &o->adam_beta2, "0.999", 0, 0.9999999, "adam: decay of the mean square"),
        EG_FLAG_REAL("opt_epsilon", &o->opt_epsilon, "1.0", 1e-30, 1e9,
                     "adadelta, adam, rmsprop: added below; 1 is the seed's, 1e-8 is usual"),
        EG_FLAG_REAL("ftrl_learning_rate_power", &o->ftrl_learning_rate_power, "-0.5", -10, 0, "ftrl: of the sums"),
        EG_FLAG_REAL("ftrl_initial_accumulator_value", &o->ftrl_initial_accumulator_value, "0.1", 0, 1e9,
                     "ftrl: what its sums begin with"),
        EG_FLAG_REAL("ftrl_l1", &o->ftrl_l1, "0", 0, 1e9, "ftrl: strength of l1"),
        EG_FLAG_REAL("ftrl_l2", &o->ftrl_l2, "0", 0, 1e9, "ftrl: strength of l2"),
        EG_FLAG_REAL("momentum", &o->momentum, "0.9", 0, 0.9999999, "momentum: of the steps before"),
        EG_FLAG_REAL("rmsprop_momentum", &o->rmsprop_momentum, "0.9", 0, 0.9999999, "rmsprop: of the steps before"),
        EG_FLAG_REAL("rmsprop_decay", &o->rmsprop_decay, "0.9", 0, 0.9999999, "rmsprop: decay of the mean square"),

        EG_FLAG_GROUP("what is told and kept"),
        EG_FLAG_INTEGER("stop_at_step", &o->stop_at_step, "100", 1, 1000000000, "steps in all"),
        EG_FLAG_INTEGER("log_loss_every_n_iters", &o->log_loss_every_n_iters, "10", 1, 1000000000,
                        "steps from line to line"),
        EG_FLAG_INTEGER("evaluate_every_n_epochs", &o->evaluate_every_n_epochs, "0", 0, 1000000,
                        "judge by the data set's other files behind so many epochs, and keep the best; 0: never"),
        EG_FLAG_INTEGER("max_num_batches", &o->max_num_batches, "0", 0, 1000000000,
                        "judge by so many batches; 0: by all"),
        EG_FLAG_INTEGER("profile_every_n_iters", &o->profile_every_n_iters, "0", 0, 1000000000,
                        "a timeline of every so many-th step; 0: none"),
        EG_FLAG_INTEGER("profile_at_task", &o->profile_at_task, "0", 0, 100000, "the worker that writes them"),
        EG_FLAG_BOOL("log_device_placement", &o->log_device_placement, "false", "say where each weight is"),
        EG_FLAG_BOOL("print_model_statistics", &o->print_model_statistics, "false", "list layers and weights"),
        EG_FLAG_BOOL("print_optimizer_statistics", &o->print_optimizer_statistics, "false",
                     "list what the optimizer keeps"),
        EG_FLAG_TEXT("hooks", &o->hooks, HOOKS, "NAMES", "what watches the steps; one left out does not"),
        EG_FLAG_INTEGER("save_checkpoints_steps", &o->save_checkpoints_steps, "1000", 1, 1000000000,
                        "steps from checkpoint to checkpoint"),
        EG_FLAG_TEXT("output_dir", &o->output_dir, NULL, "DIR",
                     "where checkpoints, logs and curves go (egret-out/egret-classify)"),

        EG_FLAG_GROUP("speed and machines"),
        EG_FLAG_BOOL("use_fp16", &o->use_fp16, "true", "products in half precision, of weights in single"),
        EG_FLAG_REAL("loss_scale", &o->loss_scale, "1.0", 1e-6, 1e9,
                     "of half precision: what the loss is multiplied by"),
        EG_FLAG_BOOL("auto_loss_scale", &o->auto_loss_scale, "false",
                     "it begins so, doubles after 1000 good steps and is halved by a bad one"),
        EG_FLAG_BOOL("enable_paisoar", &o->enable_paisoar, "true",
                     "several machines: average gradients all to all; else states are shared out among them"),
        EG_FLAG_TEXT("worker_hosts", &o->worker_hosts, NULL, "HOSTS", "several machines: host:port, between commas"),
        EG_FLAG_TEXT("job_name", &o->job_name, NULL, "NAME", "several machines: what this one does"),
        EG_FLAG_INTEGER("task_index", &o->task_index, "0", 0, 100000, "which of them this is"),
    };
    _Static_assert(EG_FLAG_COUNT(all) <= OPTIONS_FLAGS, "OPTIONS_FLAGS is too small");
    memcpy(rows, all, sizeof all);
    return EG_FLAG_COUNT(all);
}

/* The next word between commas without the blanks around it, and its length; NULL: there is none. */
static const char *next_word(const char **list, size_t *length)
{
    const char *word = *list;
    if (!word) {
        return NULL;
    }
    size_t all = strcspn(word, ",");
    *list = word[all] ? word + all + 1 : NULL;
    size_t blanks = strspn(word, " ");
    *length = blanks < all ? all - blanks : 0;
    word += blanks < all ? blanks : all;
    while (*length && word[*length - 1] == ' ') {
        (*length)--;
    }
    return word;
}

/* Returns whether the word is in a comma-separated list, in any case. */
static bool is_listed(const char *list, const char *word, size_t length)
{
    size_t n;
    for (const char *at; (at = next_word(&list, &n));) {
        if (n == length && strncasecmp(at, word, length) == 0) {
            return true;
        }
    }
    return false;
}

bool options_hook(const options *o, const char *name)
{
    return is_listed(o->hooks, name, strlen(name));
}

bool options_begins(const char *scopes, const char *name)
{
    size_t length;
    for (const char *at; (at = next_word(&scopes, &length));) {
        if (length && strncmp(name, at, length) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the rate ---- */

/* Into how many periods of equal length the decay falls; 0: there is none. */
static int64_t decays(const options *o)
{
    const char *scheme = o->decay_scheme ? o->decay_scheme : "none";
    return strcmp(scheme, "luong234") == 0  ? 4
           : strcmp(scheme, "luong5") == 0  ? 5
           : strcmp(scheme, "luong10") == 0 ? 10
                                            : 0;
}

static int64_t decay_start(const options *o)
{
    return decays(o) == 4 ? 2 * o->stop_at_step / 3 : o->stop_at_step / 2;
}

/* TF-Slim's: the steps of so many epochs, cut to a whole number. */
static int64_t steps_per_decay(const options *o, int64_t examples)
{
    int64_t steps = (int64_t)((double)examples / (double)o->batch_size * o->num_epochs_per_decay);
    return steps > 0 ? steps : 1;
}

eg_schedule options_schedule(const options *o, int64_t examples)
{
    eg_schedule plan = EG_SCHEDULE(.kind = EG_RATE_FIXED, .lr = o->learning_rate);
    if (strcmp(o->learning_rate_decay_type, "fixed") == 0) {
        return plan;
    }
    if (o->warmup_steps && strcmp(o->warmup_scheme, "t2t") == 0) {
        plan.warm_up = o->warmup_steps;
        plan.warm_up_kind = EG_WARM_UP_T2T;
    }
    if (o->num_epochs_per_decay > 0) {
        bool stairs = strcmp(o->learning_rate_decay_type, "polynomial") != 0;
        plan.kind = stairs ? EG_RATE_STEP : EG_RATE_POLYNOMIAL;
        plan.steps = steps_per_decay(o, examples);
        plan.factor = stairs ? o->learning_rate_decay_factor : 0;
        plan.end = stairs ? 0 : o->end_learning_rate;
    } else if (decays(o) && strcmp(o->learning_rate_decay_type, "polynomial") == 0) {
        plan.kind = EG_RATE_POLYNOMIAL;
        plan.start = decay_start(o);
        plan.steps = (o->stop_at_step - plan.start) / decays(o);
        plan.end = o->end_learning_rate;
    } else if (decays(o)) {
        plan.kind = decays(o) == 4 ? EG_RATE_LUONG234 : decays(o) == 5 ? EG_RATE_LUONG5 : EG_RATE_LUONG10;
        plan.steps = o->stop_at_step;
        plan.factor = o->learning_rate_decay_factor;
    }
    return plan;
}

/* ---- mistakes ---- */

const char *options_mistake(const options *o, int ranks)
{
    static _Thread_local char words[256];
    bool fixed = strcmp(o->learning_rate_decay_type, "fixed") == 0;
    if (decays(o) && !fixed && (o->stop_at_step - decay_start(o)) / decays(o) == 0) {
        snprintf(words, sizeof words, "with --decay_scheme %s, %lld steps are too few to decay in", o->decay_scheme,
                 (long long)o->stop_at_step);
        return words;
    }
    size_t length;
    const char *hooks = o->hooks;
    for (const char *at; (at = next_word(&hooks, &length));) {
        if (!is_listed(HOOKS, at, length)) {
            snprintf(words, sizeof words, "--hooks are of %s, not '%.*s'", HOOKS, (int)length, at);
            return words;
        }
    }
    if (o->checkpoint_path && (o->model_dir || o->ckpt_file_name)) {
        return "of --checkpoint_path and --model_dir with --ckpt_file_name only one can be";
    }
    if (decays(o) && o->num_epochs_per_decay > 0) {
        return "of --decay_scheme and --num_epochs_per_decay only one can be";
    }
    if (o->worker_hosts && strchr(o->worker_hosts, ',') && ranks == 1) {
        return "--worker_hosts names several machines: mpirun --host starts the program on all of them";
    }
    if (o->job_name && strcasecmp(o->job_name, "ps") == 0) {
        return "--job_name ps: there are no servers, all processes train";
    }
    if (o->task_index > 0) {
        return "--task_index is what mpirun says of each of them; here it is 0";
    }
    return NULL;
}
