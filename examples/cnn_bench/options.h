/* options.h - what the flags of egret-cnn-bench say; flags.c has their names, defaults and words. */
#ifndef EXAMPLES_CNN_BENCH_OPTIONS_H
#define EXAMPLES_CNN_BENCH_OPTIONS_H

#include <egret/run.h>

/* Numbers and texts that were not given are 0 and NULL. */
typedef struct options {
    /* what is run */
    const char *model, *data_format, *loss_type_to_report;
    bool eval, forward_only, print_training_accuracy, auxiliary, smoke;
    int64_t batch_size, num_batches, num_warmup_batches, display_every, image_size;
    double num_epochs;
    /* judging while it trains */
    int64_t eval_during_training_every_n_steps, num_eval_batches;
    double eval_during_training_every_n_epochs, num_eval_epochs, stop_at_top_1_accuracy;
    /* data */
    const char *data_dir, *data_name, *resize_method;
    bool distortions, datasets_use_prefetch, datasets_use_caching;
    int64_t datasets_prefetch_buffer_size, datasets_num_private_threads;
    /* the rate */
    const char *piecewise_learning_rate_schedule;
    double init_learning_rate, num_epochs_per_decay, learning_rate_decay_factor, minimum_learning_rate,
        num_learning_rate_warmup_epochs;
    /* the optimizer */
    const char *optimizer;
    double momentum, rmsprop_decay, rmsprop_momentum, rmsprop_epsilon, adam_beta1, adam_beta2, adam_epsilon;
    double weight_decay, gradient_clip;
    /* half precision */
    bool use_fp16, fp16_enable_auto_loss_scale;
    double fp16_loss_scale;
    int64_t fp16_inc_loss_scale_every_n;
    /* what is kept */
    const char *train_dir, *trace_file;
    int64_t tf_random_seed, save_model_secs, save_model_steps, max_ckpts_to_keep;
    /* machines */
    const char *variable_update, *job_name, *worker_hosts;
    int64_t num_gpus, task_index;
    bool cross_replica_sync;
} options;

enum { OPTIONS_FLAGS = 80 };

/* The rows of all of them; how many. */
int options_flags(options *o, eg_flag *rows);

/* Flags of tf_cnn_benchmarks with another name here, or without a meaning. */
extern const eg_flag_alias options_aliases[];
extern const int options_alias_count;

/* Applies the reduced sizes of --smoke. */
void options_settle(options *o);

/* What cannot be, in words: for eg_run_refuse. NULL: all is well. */
const char *options_mistake(const options *o, const eg_run_settings *s);

/* Whether it is judged while it trains. */
bool options_judges(const options *o);

/* How many batches are timed: those that were asked for, or those of so many epochs of `examples`, rounded up. */
int64_t options_batches(int64_t batches, double epochs, int64_t examples, int64_t batch);

#endif
