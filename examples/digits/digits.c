/* digits.c - trains a small convolutional network to read digits, eagerly, and shows what it learned. */
#include <stdlib.h>

#include "net.h"
#include "results.h"
#include "source.h"

typedef struct options {
    int64_t drawn;
    double lr;
} options;

static eg_tensor *loss(eg_module *net, eg_tensor *const *sample, eg_metrics *m, void *user)
{
    (void)user;
    eg_tensor *scores = eg_module_forward(net, sample[0]);
    eg_metrics_accuracy(m, "accuracy", scores, sample[1]);
    return eg_cross_entropy(scores, sample[1]);
}

/* What the folder gets: the model, the digits as they were read, the curve. */
static eg_status report(eg_run *run, eg_module *net, eg_dataset *test)
{
    results *found = malloc(sizeof *found);
    eg_status st =
        found ? results_collect(found, net, test, eg_run_device(run)) : eg_fail(EG_ENOMEM, "digits", "out of memory");
    st = st ? st : eg_module_save(net, eg_run_path(run, "digits.safetensors").text);
    if (!st) {
        eg_run_say(run, "read right: %.2f %% of %lld digits it has never seen", results_accuracy(found),
                   (long long)found->seen);
        st = results_grid(found, eg_run_path(run, "digits.png").text);
    }
    free(found);
    eg_run_heed(run, st);
    eg_run_plot(run, "loss.png", "Cross entropy while training", "loss");
    return eg_run_check_fell(run, "loss", 0.8);
}

static eg_status work(eg_run *run, void *user)
{
    const options *o = user;
    const eg_run_settings *s = eg_run_settings_of(run);
    uint64_t seed = (uint64_t)s->seed;
    int64_t drawn = s->smoke && o->drawn > 2000 ? 2000 : o->drawn, tests = s->smoke ? 200 : (drawn + 3) / 4;
    eg_dataset *digits = eg_dataset_shuffle(digits_source(s->data, EG_TRAIN, seed, drawn), 10000, .seed = seed);
    eg_dataset *train =
        eg_run_train_on(run, eg_dataset_prefetch(eg_dataset_batch(digits, s->batch, .drop_last = true), 4));
    eg_dataset *test = eg_run_dataset(
        run, NULL, eg_dataset_prefetch(eg_dataset_batch(digits_source(s->data, EG_TEST, seed, tests), 100), 4));
    eg_module *net = eg_run_module(run, "net", digits_net());
    eg_optim *adam = eg_run_optim(run, "adam", eg_adam_new(eg_module_parameters(net), .lr = o->lr));
    eg_schedule plan = EG_SCHEDULE(.kind = EG_RATE_COSINE, .lr = o->lr, .steps = eg_run_steps(run));
    if (!eg_run_status(run)) {
        eg_run_say(run, "%lld steps of %lld digits (%s)", (long long)eg_run_steps(run), (long long)s->batch,
                   s->data ? s->data : "drawn from fonts");
    }
    return eg_fit(run, net, adam, loss, train, .schedule = &plan) ? eg_run_status(run) : report(run, net, test);
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("drawn", &o.drawn, "20000", 1, 10000000, "how many digits to draw per epoch"),
        EG_FLAG_REAL("lr", &o.lr, "2e-3", 1e-9, 10, "learning rate at the start"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "digits", .unit = "images",
                       .about = "Trains a small convolutional network to read digits and shows what it learned.",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .epochs = 3, .batch = 64, .smoke_steps = 40,
                       .get_data = digits_get, .data_folder = "egret-data/mnist",
                       .data = "folder with the four MNIST files, plain or .gz; without it digits are drawn from "
                               "installed fonts");
}
