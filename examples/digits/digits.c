/* digits.c - trains a small convolutional network to read digits, eagerly, and shows what it learned. */
#include <stdlib.h>

#include "../common/args.h"
#include "../common/progress.h"
#include "../common/run_folder.h"
#include "net.h"
#include "results.h"

typedef struct options {
    const char *data, *out;
    int64_t epochs, steps, batch, seed, drawn, threads;
    double lr;
    bool smoke;
} options;

/* Trains for o->steps steps and notes each one's loss; the number of steps done, or -1. */
static int64_t train(const options *o, eg_module *net, eg_dataset *digits, double *losses)
{
    eg_optim *adam = eg_adam_new(eg_module_parameters(net), .lr = o->lr);
    progress bar;
    int64_t step = 0;
    /* Half a cosine from the full rate down to nothing. */
    eg_schedule plan = EG_SCHEDULE(.kind = EG_RATE_COSINE, .lr = o->lr, .steps = o->steps);
    bool ok = eg_optim_follow(adam, &plan) == EG_OK;
    progress_start(&bar, "training", o->steps, "steps");
    while (ok && step < o->steps) {
        EG_FOR_EACH(sample, digits) {
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = eg_cross_entropy(eg_module_forward(net, sample[0]), sample[1]);
            ok = eg_optim_minimize(adam, tape, loss) == EG_OK;
            if (!ok) {
                break;
            }
            losses[step++] = eg_item(loss);
            progress_update(&bar, step, "loss %.4f", losses[step - 1]);
            if (step == o->steps) {
                break;
            }
        }
        ok = ok && eg_dataset_status(digits) == EG_OK;
    }
    progress_clear(&bar);
    eg_optim_free(adam);
    return ok ? step : -1;
}

static double mean(const double *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += v[i];
    }
    return sum / (double)n;
}

static int explain(const problem *why)
{
    fprintf(stderr, "digits: %s\n", why->text);
    return 1;
}

/* What the folder gets: the model, the digits as they were read, the curve. */
static int report(const run_folder *folder, eg_module *net, const results *r, const double *losses,
                  int64_t steps)
{
    problem why;
    run_path model = run_folder_path(folder, "digits.safetensors");
    run_path grid = run_folder_path(folder, "digits.png"), curve = run_folder_path(folder, "loss.png");
    if (eg_module_save(net, model.text) != EG_OK) {
        return eg_error_print(stderr);
    }
    if (!results_grid(r, grid.text, &why) ||
        !results_curve(losses, (int)steps, curve.text, &why)) {
        return explain(&why);
    }
    printf("model   %s\ndigits  %s\ncurve   %s\n", model.text, grid.text, curve.text);
    return 0;
}

static int run(options *o, const run_folder *folder)
{
    eg_seed((uint64_t)o->seed);
    eg_module *net = digits_net();
    eg_dataset *train_set = eg_dataset_prefetch(
        eg_dataset_batch(eg_dataset_shuffle(digits_source(o->data, EG_TRAIN, (uint64_t)o->seed, o->drawn),
                                            10000, .seed = (uint64_t)o->seed),
                         o->batch, .drop_last = true),
        4);
    eg_dataset *test_set = eg_dataset_prefetch(
        eg_dataset_batch(digits_source(o->data, EG_TEST, (uint64_t)o->seed, o->smoke ? 200 : 5000), 100),
        4);
    int64_t per_epoch = eg_dataset_count(train_set);
    o->steps = o->steps ? o->steps : o->epochs * per_epoch;
    double *losses = malloc((size_t)(o->steps + 1) * sizeof *losses);
    results *r = malloc(sizeof *r);
    int status = 1;
    if (!net || !train_set || !test_set || per_epoch < 1 || !losses || !r) {
        if (!eg_error_print(stderr)) {
            fprintf(stderr, "digits: there are not enough digits for one batch\n");
        }
    } else {
        printf("%lld steps of %lld digits (%s)\n", (long long)o->steps, (long long)o->batch,
               o->data ? o->data : "drawn from fonts");
        if (train(o, net, train_set, losses) < 0 || results_collect(r, net, test_set) != EG_OK) {
            status = eg_error_print(stderr);
        } else {
            printf("read right: %.2f %% of %lld digits it has never seen\n", results_accuracy(r),
                   (long long)r->seen);
            status = report(folder, net, r, losses, o->steps);
        }
        int64_t tenth = o->steps / 10 + 1;
        if (!status && o->smoke && !(mean(losses + o->steps - tenth, tenth) < 0.8 * mean(losses, tenth))) {
            fprintf(stderr, "digits: the loss did not fall\n");
            status = 1;
        }
    }
    free(r);
    free(losses);
    eg_dataset_free(test_set);
    eg_dataset_free(train_set);
    eg_module_free(net);
    return status;
}

int main(int argc, char **argv)
{
    options o;
    const arg table[] = {
        ARG_TEXT("data", &o.data, NULL, "DIR", "folder with the four MNIST files, plain or .gz; without it "
                                               "digits are drawn from installed fonts"),
        ARG_TEXT("out", &o.out, NULL, "DIR", "where model and pictures go (egret-out/digits)"),
        ARG_INTEGER("epochs", &o.epochs, "3", 1, 1000, "passes over the digits"),
        ARG_INTEGER("steps", &o.steps, "0", 0, 10000000, "steps in all, instead of epochs"),
        ARG_INTEGER("batch", &o.batch, "64", 1, 10000, "digits per step"),
        ARG_INTEGER("drawn", &o.drawn, "20000", 1, 10000000, "how many digits to draw per epoch"),
        ARG_REAL("lr", &o.lr, "2e-3", 1e-9, 10, "learning rate at the start"),
        ARG_INTEGER("seed", &o.seed, "1", 0, 1000000000, "of weights, order, dropout and drawing"),
        ARG_INTEGER("threads", &o.threads, "0", 0, 1024, "threads per op; 0: one per processor"),
        ARG_FLAG("smoke", &o.smoke, "seconds only, and fail unless the loss falls"),
    };
    args line = {.program = "digits",
                 .about = "Trains a small convolutional network to read digits and shows what it learned.",
                 .table = table,
                 .count = ARG_COUNT(table)};
    int status;
    if (!args_parse(&line, argc, argv, &status)) {
        return status;
    }
    run_folder folder;
    problem why;
    if (o.smoke) {
        o.drawn = o.drawn < 2000 ? o.drawn : 2000;
        o.steps = o.steps ? o.steps : 40;
    }
    if (!run_folder_open(&folder, o.out, "digits", &why)) {
        return explain(&why);
    }
    if (o.threads && eg_set_threads((int)o.threads) != EG_OK) {
        return eg_error_print(stderr);
    }
    return run(&o, &folder);
}
