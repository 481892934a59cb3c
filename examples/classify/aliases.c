/* aliases.c - flags of FastNN's trainer and of TF-Slim's train_image_classifier and eval_image_classifier that have
 * another name here, or no meaning. */
#include "options.h"

#define GRADIENTS "gradients of all ranks are averaged in one order, in pieces of one size"
#define GRAPH     "there is no graph: operations run as they are called"
#define LOG       "log.jsonl and the event files are in --output_dir"
#define MESSAGES  "messages go to the standard output and error"
#define RANKS     "mpirun starts the processes and numbers them"
#define SERVERS   "there are no parameter servers"
#define TABLES    "records are read from files"

const eg_flag_alias options_aliases[] = {
    EG_FLAG_ALIAS("batch", "batch_size"),
    EG_FLAG_ALIAS("checkpointDir", "output_dir"),
    EG_FLAG_ALIAS("data", "dataset_dir"),
    EG_FLAG_ALIAS("epochs", "num_epochs"),
    EG_FLAG_ALIAS("eval_dir", "output_dir"),
    EG_FLAG_ALIAS("eval_image_size", "image_size"),
    EG_FLAG_ALIAS("intra_op_parallelism_threads", "threads"),
    EG_FLAG_ALIAS("log_every_n_steps", "log_loss_every_n_iters"),
    EG_FLAG_ALIAS("log_optimizer_vars_statistics", "print_optimizer_statistics"),
    EG_FLAG_ALIAS("log_trainable_vars_statistics", "print_model_statistics"),
    EG_FLAG_ALIAS("max_number_of_steps", "stop_at_step"),
    EG_FLAG_ALIAS("out", "output_dir"),
    EG_FLAG_ALIAS("save-every", "save_checkpoints_steps"),
    EG_FLAG_ALIAS("steps", "stop_at_step"),
    EG_FLAG_ALIAS("train_dir", "output_dir"),
    EG_FLAG_ALIAS("train_image_size", "image_size"),

    EG_FLAG_IGNORED_BOOL("alsologtostderr", MESSAGES),
    EG_FLAG_IGNORED("buckets", TABLES),
    EG_FLAG_IGNORED_BOOL("clone_on_cpu", "--device says where to compute"),
    EG_FLAG_IGNORED_BOOL("colocate_gradients_with_ops", GRAPH),
    EG_FLAG_IGNORED("communication_policy", GRADIENTS),
    EG_FLAG_IGNORED("file_pattern", "--train_files and --eval_files take patterns"),
    EG_FLAG_IGNORED_BOOL("ignore_missing_vars", "what a checkpoint lacks is listed and stays as it was made"),
    EG_FLAG_IGNORED("inter_op_parallelism_threads", GRAPH),
    EG_FLAG_IGNORED_BOOL("logtostderr", MESSAGES),
    EG_FLAG_IGNORED("master", RANKS),
    EG_FLAG_IGNORED("moving_average_decay", "weights are not averaged"),
    EG_FLAG_IGNORED("num_clones", "mpirun -n starts a process for each device"),
    EG_FLAG_IGNORED("num_ps_tasks", SERVERS),
    EG_FLAG_IGNORED("num_readers", "files are read one after the other"),
    EG_FLAG_IGNORED("outputs", LOG),
    EG_FLAG_IGNORED("protocol", "mpirun decides how processes communicate"),
    EG_FLAG_IGNORED("ps_count", SERVERS),
    EG_FLAG_IGNORED("ps_hosts", SERVERS),
    EG_FLAG_IGNORED_BOOL("quantize", "weights are not quantized"),
    EG_FLAG_IGNORED("reader", TABLES),
    EG_FLAG_IGNORED("replicas_to_aggregate", "all ranks step together"),
    EG_FLAG_IGNORED("save_interval_secs", "--save_checkpoints_steps counts steps"),
    EG_FLAG_IGNORED("save_summaries_secs", LOG),
    EG_FLAG_IGNORED("summaryDir", LOG),
    EG_FLAG_IGNORED_BOOL("sync_replicas", "all ranks step together"),
    EG_FLAG_IGNORED("tables", TABLES),
    EG_FLAG_IGNORED("task", RANKS),
    EG_FLAG_IGNORED("taskId", RANKS),
    EG_FLAG_IGNORED("tensor_fusion_max_bytes", GRADIENTS),
    EG_FLAG_IGNORED("tensor_fusion_policy", GRADIENTS),
    EG_FLAG_IGNORED_BOOL("use_grayscale", "images have as many channels as the model's"),
    EG_FLAG_IGNORED("worker_count", RANKS),
    EG_FLAG_IGNORED("worker_replicas", RANKS),
};
const int options_alias_count = EG_FLAG_COUNT(options_aliases);
