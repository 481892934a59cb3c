/* cifar10.c - a residual net tells ten kinds of small images apart (He et al. 2015). */
#include <egret/models.h>
#include <egret/run.h>

#include "images.h"
#include "thin.h"

enum { BATCH = 128 };

typedef struct options {
    int64_t layers, eval_batch, drawn;
    double lr, momentum, weight_decay, decay, epsilon;
    bool distort;
    thinning thin;
} options;

static eg_tensor *loss(eg_module *net, eg_tensor *const *sample, eg_metrics *m, void *user)
{
    (void)user;
    eg_tensor *logits = eg_module_forward(net, sample[0]);
    eg_metrics_accuracy(m, "accuracy", logits, sample[1]);
    return eg_cross_entropy(logits, sample[1]);
}

static eg_dataset *batches(const eg_run_settings *s, const options *o, bool train)
{
    int64_t drawn = s->smoke ? 80 : train ? o->drawn : o->drawn / 5;
    eg_dataset *d = cifar10_images(s->data, train, drawn);
    if (!train) {
        return eg_dataset_prefetch(eg_dataset_batch(eg_dataset_map(d, cifar10_prepare, NULL), o->eval_batch), 2);
    }
    uint64_t seed = (uint64_t)s->seed;
    void *distort = o->distort ? (void *)o : NULL;
    d = eg_dataset_shuffle(d, 50000, .seed = seed);
    d = eg_dataset_map(d, cifar10_prepare, distort, .workers = 1, .seed = seed);
    return eg_dataset_prefetch(eg_dataset_batch(d, s->batch, .drop_last = true), 4);
}

/* The published rates change after epochs 82 and 123 of 228: so much of any number of steps. */
static eg_schedule plan(const options *o, int64_t steps)
{
    int64_t first = steps * 28782 / 80000 + 1, second = steps * 43173 / 80000 + 1;
    return EG_SCHEDULE(.kind = EG_RATE_PIECEWISE, .lr = o->lr, .at = {first, second > first ? second : first + 1},
                       .rates = {0.1 * o->lr, 0.01 * o->lr});
}

static eg_status work(eg_run *run, void *user)
{
    const options *o = user;
    const eg_run_settings *s = eg_run_settings_of(run);
    eg_dataset *train = eg_run_train_on(run, batches(s, o, true)), *test = batches(s, o, false);
    eg_module *net = eg_run_module(
        run, "net", eg_resnet_cifar_v1_new((int)o->layers, .bn_momentum = 1 - o->decay, .bn_eps = o->epsilon));
    eg_run_heed(run, net ? eg_module_init(net, EG_GLOROT_UNIFORM) : EG_OK);
    eg_optim *sgd = eg_run_optim(
        run, "sgd",
        eg_sgd_new(eg_module_parameters(net), .lr = o->lr, .momentum = o->momentum, .weight_decay = o->weight_decay));
    eg_schedule rates = plan(o, eg_run_steps(run));
    eg_run_heed(run, sgd ? thin_out(run, sgd, &o->thin) : EG_OK);
    if (eg_fit(run, net, sgd, loss, train, .valid = test, .best = "accuracy", .schedule = &rates)) {
        return eg_run_status(run);
    }
    eg_run_heed(run, thin_save(run, net, &o->thin));
    EG_SCOPE {
        eg_run_heed(run, eg_module_eval(net));
        eg_run_picture(run, "images", cifar10_sheet(run, net, test));
    }
    eg_run_plot(run, "accuracy.png", "Accuracy", "accuracy, valid/accuracy");
    eg_run_plot(run, "loss.png", "Cross entropy", "loss, valid/loss");
    return eg_run_check_fell(run, "loss", 0.95);
}

/* The published rate is for batches of 128: those of a --smoke are smaller, and so is their rate. */
static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    o->lr = s->smoke && s->batch * s->ranks < BATCH ? o->lr * (double)(s->batch * s->ranks) / BATCH : o->lr;
}

/* Flags of TensorFlow's cifar10_main.py. */
static const eg_flag_alias aliases[] = {
    EG_FLAG_ALIAS("data-dir", "data"),
    EG_FLAG_ALIAS("job-dir", "out"),
    EG_FLAG_ALIAS("num-intra-threads", "threads"),
    EG_FLAG_ALIAS("train-batch-size", "batch"),
    EG_FLAG_ALIAS("train-steps", "steps"),
    EG_FLAG_IGNORED("data-format", "images have one layout on every device"),
    EG_FLAG_IGNORED_BOOL("log-device-placement", "all is on --device"),
    EG_FLAG_IGNORED("num-gpus", "mpirun -n starts a process for each device"),
    EG_FLAG_IGNORED("num-inter-threads", "operations run one after the other"),
    EG_FLAG_IGNORED_BOOL("sync", "all processes step together"),
    EG_FLAG_IGNORED("variable-strategy", "there are no parameter servers"),
};

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("num-layers", &o.layers, "44", 8, 1202, "6 n + 2: 20, 32, 44, 56, 110"),
        EG_FLAG_INTEGER("eval-batch-size", &o.eval_batch, "100", 1, 100000, "images of an evaluation's step"),
        EG_FLAG_INTEGER("drawn", &o.drawn, "5000", 100, 10000000, "images to draw per epoch where there are no files"),
        EG_FLAG_REAL("momentum", &o.momentum, "0.9", 0, 0.9999, "of the steps before"),
        EG_FLAG_REAL("weight-decay", &o.weight_decay, "2e-4", 0, 1, "of all that learns"),
        EG_FLAG_REAL("learning-rate", &o.lr, "0.1", 1e-9, 10, "at the start"),
        EG_FLAG_BOOL("use-distortion-for-training", &o.distort, "true", "cut and mirror images by chance"),
        EG_FLAG_REAL("density", &o.thin.density, "1", 1e-3, 1,
                     "share of the weights that stay: from a quarter to half of the steps the smallest others go"),
        EG_FLAG_TEXT("keep", &o.thin.keep, NULL, "N:M", "of every M weights along the inputs only N stay"),
        EG_FLAG_REAL("batch-norm-decay", &o.decay, "0.997", 0, 0.999999, "of the statistics of norms"),
        EG_FLAG_REAL("batch-norm-epsilon", &o.epsilon, "1e-5", 1e-12, 1, "added to variances"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "cifar10", .unit = "images",
                       .about = "Trains a residual net to tell ten kinds of small images apart. `cifar10 get-data` "
                                "fetches CIFAR-10 into --data (egret-data/cifar10).",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .epochs = 228, .batch = BATCH,
                       .smoke_batch = 16, .smoke_steps = 15, .settle = settle, .aliases = aliases,
                       .alias_count = EG_FLAG_COUNT(aliases), .get_data = cifar10_get,
                       .data_folder = "egret-data/cifar10",
                       .data = "folder with CIFAR-10's binary files; without it shapes are drawn");
}
