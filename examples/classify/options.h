/* options.h - what the flags of egret-classify say; flags.c has their names, defaults and words. */
#ifndef EXAMPLES_CLASSIFY_OPTIONS_H
#define EXAMPLES_CLASSIFY_OPTIONS_H

#include <egret/run.h>

typedef struct options {
    /* the data set */
    const char *dataset_name, *dataset_dir, *train_files, *eval_files, *dataset_split_name;
    int64_t num_sample_per_epoch, num_classes, labels_offset, mock_batches;
    /* input */
    const char *preprocessing_name;
    int64_t shuffle_buffer_size, num_parallel_batches, prefetch_buffer_size, num_preprocessing_threads, image_size;
    bool datasets_use_caching;
    /* the model */
    const char *task_type, *model_name, *model_dir, *ckpt_file_name, *checkpoint_path, *prefix_map,
        *checkpoint_exclude_scopes, *trainable_scopes;
    int64_t num_epochs, batch_size;
    double weight_decay, max_gradient_norm;
    bool restore_statistics;
    /* the rate */
    const char *warmup_scheme, *decay_scheme, *learning_rate_decay_type;
    int64_t warmup_steps;
    double learning_rate, learning_rate_decay_factor, end_learning_rate, num_epochs_per_decay, label_smoothing;
    /* the optimizer */
    const char *optimizer;
    double adadelta_rho, adagrad_initial_accumulator_value, adam_beta1, adam_beta2, opt_epsilon;
    double ftrl_learning_rate_power, ftrl_initial_accumulator_value, ftrl_l1, ftrl_l2;
    double momentum, rmsprop_momentum, rmsprop_decay;
    /* what is told */
    const char *output_dir, *hooks;
    int64_t evaluate_every_n_epochs, stop_at_step, log_loss_every_n_iters, profile_every_n_iters, profile_at_task,
        save_checkpoints_steps, max_num_batches;
    bool log_device_placement, print_model_statistics, print_optimizer_statistics;
    /* speed, and machines */
    bool use_fp16, auto_loss_scale, enable_paisoar;
    double loss_scale;
    const char *worker_hosts, *job_name;
    int64_t task_index;
} options;

enum { OPTIONS_FLAGS = 96 };

/* The rows of all of them; how many. */
int options_flags(options *o, eg_flag *rows);

/* Whether a hook of that name is among --hooks. */
bool options_hook(const options *o, const char *name);

/* Returns whether the name begins with an item of a comma-separated list; false for NULL. */
bool options_begins(const char *scopes, const char *name);

/* Flags of FastNN and TF-Slim with another name here, or without a meaning. */
extern const eg_flag_alias options_aliases[];
extern const int options_alias_count;

/* What cannot be, in words: for eg_run_refuse. NULL: all is well. */
const char *options_mistake(const options *o, int ranks);

/* The rate of each step; so many examples are an epoch. */
eg_schedule options_schedule(const options *o, int64_t examples);

#endif
