/* flags.c - the flags of egret-cnn-bench, and what of them does not go together. */
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "rates.h"

#define UPDATES                                                                                                    \
    "parameter_server|replicated|independent|distributed_replicated|distributed_all_reduce|collective_all_reduce|" \
    "horovod"

int options_flags(options *o, eg_flag *rows)
{
    const eg_flag all[] = {
        EG_FLAG_GROUP("what is run"),
        EG_FLAG_TEXT("model", &o->model, "trivial", "NAME",
                     "vgg16, resnet50, inception3, ..., or a net of the library"),
        EG_FLAG_SWITCH("eval", &o->eval, "judge the latest checkpoint of --train_dir"),
        EG_FLAG_SWITCH("forward_only", &o->forward_only, "measure the net alone, as in evaluation, not its training"),
        EG_FLAG_SWITCH("print_training_accuracy", &o->print_training_accuracy, "also of each batch trained on"),
        EG_FLAG_INTEGER("batch_size", &o->batch_size, "0", 0, 65535, "images of a step on each device; 0: the model's"),
        EG_FLAG_INTEGER("num_batches", &o->num_batches, "0", 0, 1000000000,
                        "batches that are timed; 0: those of --num_epochs, or 100"),
        EG_FLAG_REAL("num_epochs", &o->num_epochs, "0", 0, 1000000, "the same in passes over the data set"),
        EG_FLAG_INTEGER("num_warmup_batches", &o->num_warmup_batches, "10", 0, 1000000, "batches before, not timed"),
        EG_FLAG_INTEGER("display_every", &o->display_every, "10", 1, 1000000000, "batches from line to line"),
        EG_FLAG_CHOICE("loss_type_to_report", &o->loss_type_to_report, "total_loss", "total_loss|base_loss",
                       "with or without the decay of weights"),
        EG_FLAG_CHOICE("data_format", &o->data_format, "NCHW", "NCHW|NHWC", "how images lie in memory"),
        EG_FLAG_INTEGER("image_size", &o->image_size, "0", 0, 4096, "side of the images; 0: the model's"),
        EG_FLAG_SWITCH("auxiliary", &o->auxiliary, "with the net's second head, whose loss counts 0.4"),
        EG_FLAG_SWITCH("smoke", &o->smoke, "seconds only: at most two batches, of two images on each device"),

        EG_FLAG_GROUP("judging while it trains"),
        EG_FLAG_INTEGER("eval_during_training_every_n_steps", &o->eval_during_training_every_n_steps, "0", 0,
                        1000000000, "behind so many batches; 0: never"),
        EG_FLAG_REAL("eval_during_training_every_n_epochs", &o->eval_during_training_every_n_epochs, "0", 0, 1000000,
                     "the same in passes over the data set"),
        EG_FLAG_INTEGER("num_eval_batches", &o->num_eval_batches, "0", 0, 1000000000,
                        "batches it is judged by; 0: as many as it trains on"),
        EG_FLAG_REAL("num_eval_epochs", &o->num_eval_epochs, "0", 0, 1000000, "the same in passes over what it is"),
        EG_FLAG_REAL("stop_at_top_1_accuracy", &o->stop_at_top_1_accuracy, "0", 0, 1, "end once it is as good; 0: not"),

        EG_FLAG_GROUP("data"),
        EG_FLAG_TEXT("data_dir", &o->data_dir, NULL, "DIR", "TFRecord files; without it a batch is made up, once"),
        EG_FLAG_TEXT(
            "data_name", &o->data_name, NULL, "NAME",
            "imagenet, cifar10, flowers or mnist; without it the one that is named in --data_dir, or imagenet"),
        EG_FLAG_BOOL("distortions", &o->distortions, "true", "change colours by chance; of cifar10 the place"),
        EG_FLAG_CHOICE("resize_method", &o->resize_method, "bilinear", "bilinear|nearest|bicubic|area|round_robin",
                       "how images of imagenet and flowers get their size"),
        EG_FLAG_BOOL("datasets_use_prefetch", &o->datasets_use_prefetch, "true", "make batches ahead"),
        EG_FLAG_INTEGER("datasets_prefetch_buffer_size", &o->datasets_prefetch_buffer_size, "1", 1, 65535, "so many"),
        EG_FLAG_BOOL("datasets_use_caching", &o->datasets_use_caching, "false", "keep the records in memory"),
        EG_FLAG_INTEGER("datasets_num_private_threads", &o->datasets_num_private_threads, "0", 0, 256,
                        "threads that decode; 0: one per processor"),

        EG_FLAG_GROUP("the learning rate"),
        EG_FLAG_REAL("init_learning_rate", &o->init_learning_rate, "0", 0, 1000, "at first; 0: the model's plan"),
        EG_FLAG_TEXT("piecewise_learning_rate_schedule", &o->piecewise_learning_rate_schedule, NULL, "LR0;E1;LR1;...",
                     "LR0, from epoch E1 on LR1, and so on"),
        EG_FLAG_REAL("num_epochs_per_decay", &o->num_epochs_per_decay, "0", 0, 1000000, "epochs until it decays"),
        EG_FLAG_REAL("learning_rate_decay_factor", &o->learning_rate_decay_factor, "0", 0, 1, "by what, each time"),
        EG_FLAG_REAL("minimum_learning_rate", &o->minimum_learning_rate, "0", 0, 1000, "where that ends"),
        EG_FLAG_REAL("num_learning_rate_warmup_epochs", &o->num_learning_rate_warmup_epochs, "0", 0, 1000000,
                     "epochs in which it rises from 0, straight"),

        EG_FLAG_GROUP("the optimizer"),
        EG_FLAG_CHOICE("optimizer", &o->optimizer, "sgd", "momentum|sgd|rmsprop|adam", "momentum is Nesterov's"),
        EG_FLAG_REAL("momentum", &o->momentum, "0.9", 0, 0.9999999, "momentum: of the steps before"),
        EG_FLAG_REAL("rmsprop_decay", &o->rmsprop_decay, "0.9", 0, 0.9999999, "rmsprop: of the mean square"),
        EG_FLAG_REAL("rmsprop_momentum", &o->rmsprop_momentum, "0.9", 0, 0.9999999, "rmsprop: of the steps before"),
        EG_FLAG_REAL("rmsprop_epsilon", &o->rmsprop_epsilon, "1.0", 1e-30, 1e9, "rmsprop: added below"),
        EG_FLAG_REAL("adam_beta1", &o->adam_beta1, "0.9", 0, 0.9999999, "adam: decay of the mean"),
        EG_FLAG_REAL("adam_beta2", &o->adam_beta2, "0.999", 0, 0.9999999, "adam: decay of the mean square"),
        EG_FLAG_REAL("adam_epsilon", &o->adam_epsilon, "1e-8", 1e-30, 1e9, "adam: added below"),
        EG_FLAG_REAL("weight_decay", &o->weight_decay, "4e-5", 0, 1, "of all that learns"),
        EG_FLAG_REAL("gradient_clip", &o->gradient_clip, "0", 0, 1e9, "what gradients are cut to; 0: they are not"),

        EG_FLAG_GROUP("half precision"),
        EG_FLAG_SWITCH("use_fp16", &o->use_fp16, "products in half precision, of weights in single"),
        EG_FLAG_REAL("fp16_loss_scale", &o->fp16_loss_scale, "128", 1e-6, 1e9, "what the loss is multiplied by"),
        EG_FLAG_SWITCH("fp16_enable_auto_loss_scale", &o->fp16_enable_auto_loss_scale,
                       "it begins so, doubles after a while and is halved where it is too much"),
        EG_FLAG_INTEGER("fp16_inc_loss_scale_every_n", &o->fp16_inc_loss_scale_every_n, "1000", 1, 1000000000,
                        "good steps until it doubles"),

        EG_FLAG_GROUP("what is kept"),
        EG_FLAG_INTEGER("tf_random_seed", &o->tf_random_seed, "1234", 0, 1000000000, "of weights, order and noise"),
        EG_FLAG_TEXT("train_dir", &o->train_dir, NULL, "DIR",
                     "where checkpoints and logs go; without it there are no checkpoints"),
        EG_FLAG_INTEGER("save_model_secs", &o->save_model_secs, "0", 0, 1000000000, "seconds between; 0: one, at last"),
        EG_FLAG_INTEGER("save_model_steps", &o->save_model_steps, "0", 0, 1000000000, "batches between"),
        EG_FLAG_INTEGER("max_ckpts_to_keep", &o->max_ckpts_to_keep, "5", 0, 1000000, "how many stay; 0: all"),
        EG_FLAG_TEXT("trace_file", &o->trace_file, NULL, "FILE", "for a timeline of the last but one warm-up batch"),

        EG_FLAG_GROUP("devices and machines"),
        EG_FLAG_INTEGER("num_gpus", &o->num_gpus, "1", 1, 64, "devices of this process, each with a thread of its own"),
        EG_FLAG_CHOICE("variable_update", &o->variable_update, "parameter_server", UPDATES, "who has the weights"),
        EG_FLAG_CHOICE("job_name", &o->job_name, NULL, "ps|worker|controller", "several machines: what this one does"),
        EG_FLAG_TEXT("worker_hosts", &o->worker_hosts, NULL, "HOSTS", "several machines: workers"),
        EG_FLAG_INTEGER("task_index", &o->task_index, "0", 0, 100000, "which of them this is"),
        EG_FLAG_BOOL("cross_replica_sync", &o->cross_replica_sync, "true", "several machines: step together"),
    };
    _Static_assert(EG_FLAG_COUNT(all) <= OPTIONS_FLAGS, "OPTIONS_FLAGS is too small");
    memcpy(rows, all, sizeof all);
    return EG_FLAG_COUNT(all);
}

/* ---- what follows from several ---- */

static void limit(int64_t *number, int64_t most)
{
    *number = *number > 0 && *number < most ? *number : most;
}

void options_settle(options *o)
{
    if (!o->smoke) {
        return;
    }
    limit(&o->batch_size, 2);
    limit(&o->num_batches, 2);
    limit(&o->num_eval_batches, 2);
    o->num_warmup_batches = o->num_warmup_batches < 2 ? o->num_warmup_batches : 2;
    o->num_epochs = o->num_eval_epochs = 0;
}

bool options_judges(const options *o)
{
    return o->eval_during_training_every_n_steps || o->eval_during_training_every_n_epochs > 0;
}

int64_t options_batches(int64_t batches, double epochs, int64_t examples, int64_t batch)
{
    int64_t of_epochs = ((int64_t)(epochs * (double)examples) + batch - 1) / batch;
    return epochs <= 0 ? (batches ? batches : 100) : of_epochs ? of_epochs : 1;
}

/* ---- mistakes ---- */

typedef struct mistake {
    bool is;
    const char *words;
} mistake;

static const char *first_of(const mistake *all, int count)
{
    for (int i = 0; i < count; i++) {
        if (all[i].is) {
            return all[i].words;
        }
    }
    return NULL;
}

static const char *rate_mistake(const options *o)
{
    bool step = o->num_epochs_per_decay > 0, factor = o->learning_rate_decay_factor > 0,
         rate = o->init_learning_rate > 0;
    bool least = o->minimum_learning_rate > 0, pieces = o->piecewise_learning_rate_schedule != NULL;
    const mistake all[] = {
        {pieces && (rate || step || factor || least),
         "--piecewise_learning_rate_schedule is all of the rate: no other flag of it but the warm-up goes with it"},
        {(step || factor) && !(step && factor && rate),
         "--num_epochs_per_decay, --learning_rate_decay_factor and --init_learning_rate go together"},
        {least && !step, "--minimum_learning_rate is of a rate that decays: --num_epochs_per_decay"},
        {pieces && !rates_read(o->piecewise_learning_rate_schedule, &(rates_pieces){.count = 0}),
         "--piecewise_learning_rate_schedule is rates and whole epochs that rise from 1, \"LR0;E1;LR1\", at most 16"},
    };
    return first_of(all, (int)(sizeof all / sizeof *all));
}

/* Everything that needs more than this device. */
static const char *machine_mistake(const options *o, const eg_run_settings *s)
{
    static _Thread_local char words[256];
    const bool machines =
        (o->worker_hosts && strchr(o->worker_hosts, ',')) || strncmp(o->variable_update, "distributed", 11) == 0 ||
        strcmp(o->variable_update, "collective_all_reduce") == 0 || strcmp(o->variable_update, "horovod") == 0;
    if (machines && s->ranks == 1) {
        snprintf(words, sizeof words, "%s is of several processes: mpirun -n starts them, --host on which machines",
                 o->worker_hosts && strchr(o->worker_hosts, ',') ? "--worker_hosts" : o->variable_update);
        return words;
    }
    const mistake all[] = {
        {o->num_gpus > 1 && o->num_gpus != s->ranks,
         "--num_gpus is of one process; mpirun -n starts one for each device"},
        {o->job_name && strcmp(o->job_name, "worker") != 0,
         "there are no servers: with --variable_update parameter_server all share out what they would have"},
        {s->ranks > 1 && strcmp(o->variable_update, "independent") == 0,
         "--variable_update independent: devices that know nothing of each other are runs of their own"},
        {s->ranks > 1 && !o->cross_replica_sync, "--no-cross_replica_sync: all step together"},
        {o->task_index > 0, "--task_index is what mpirun says of each process; here it is 0"},
    };
    return first_of(all, (int)(sizeof all / sizeof *all));
}

const char *options_mistake(const options *o, const eg_run_settings *s)
{
    bool judges = options_judges(o);
    const mistake all[] = {
        {o->eval && o->forward_only, "of --eval and --forward_only only one can be"},
        {o->num_batches && o->num_epochs > 0, "of --num_batches and --num_epochs only one can be"},
        {o->num_eval_batches && o->num_eval_epochs > 0, "of --num_eval_batches and --num_eval_epochs only one can be"},
        {o->eval_during_training_every_n_steps && o->eval_during_training_every_n_epochs > 0,
         "of --eval_during_training_every_n_steps and --eval_during_training_every_n_epochs only one can be"},
        {judges && (o->eval || o->forward_only), "--eval_during_training_... is of training"},
        {o->stop_at_top_1_accuracy > 0 && !judges, "--stop_at_top_1_accuracy needs --eval_during_training_..."},
        {o->eval && !o->train_dir, "--eval judges what is in --train_dir"},
        {o->forward_only && o->train_dir, "--forward_only leaves nothing in a --train_dir"},
        {o->save_model_secs && o->save_model_steps, "of --save_model_secs and --save_model_steps only one can be"},
        {o->trace_file && (o->eval || o->num_warmup_batches < 2), "--trace_file is of a warm-up: two batches at least"},
        {o->trace_file && s->profile, "of --trace_file and --profile only one can be"},
    };
    const char *words = first_of(all, (int)(sizeof all / sizeof *all));
    words = words ? words : rate_mistake(o);
    return words ? words : machine_mistake(o, s);
}
