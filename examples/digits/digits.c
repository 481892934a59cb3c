/* digits.c - trains a small convolutional network to read digits, eagerly, and shows what it learned. */
#include <stdlib.h>

#include "../common/curves.h"
#include "../common/progress.h"
#include "../common/run.h"
#include "net.h"
#include "results.h"
#include "source.h"

enum { SAVE_EVERY = 200, SAVE_EVERY_IN_SMOKE = 10 };

typedef struct options {
    run_options run;
    int64_t drawn;
    double lr;
} options;

/* What a run is made of. */
typedef struct job {
    const options *o;
    int64_t steps;
    eg_module *net;
    eg_dataset *train, *test;
    eg_optim *adam;
} job;

static bool job_open(job *j, const options *o)
{
    const run_options *r = &o->run;
    uint64_t seed = (uint64_t)r->seed;
    *j = (job){.o = o, .net = digits_net()};
    j->train = eg_dataset_prefetch(
        eg_dataset_batch(eg_dataset_shuffle(digits_source(r->data, EG_TRAIN, seed, o->drawn), 10000, .seed = seed),
                         r->batch, .drop_last = true),
        4);
    j->test = eg_dataset_prefetch(
        eg_dataset_batch(digits_source(r->data, EG_TEST, seed, r->smoke ? 200 : (o->drawn + 3) / 4), 100), 4);
    j->adam = eg_adam_new(eg_module_parameters(j->net), .lr = o->lr);
    int64_t per_epoch = eg_dataset_count(j->train);
    if (j->train && per_epoch < 1) {
        eg_fail(EG_EINVAL, "digits", "there are not enough digits for one batch");
        return false;
    }
    j->steps = r->steps ? r->steps : r->epochs * per_epoch;
    /* Half a cosine from the full rate down to nothing. */
    eg_schedule plan = EG_SCHEDULE(.kind = EG_RATE_COSINE, .lr = o->lr, .steps = j->steps);
    return j->net && j->train && j->test && eg_optim_follow(j->adam, &plan) == EG_OK;
}

static void job_close(job *j)
{
    eg_optim_free(j->adam);
    eg_dataset_free(j->test);
    eg_dataset_free(j->train);
    eg_module_free(j->net);
}

static bool learn(job *j, run *r, eg_tensor *const *sample, int64_t step)
{
    bool good = false;
    RUN_COMPUTES(r) {
        eg_tape tape = eg_tape_open();
        eg_tensor *guess = eg_module_forward(j->net, run_here(r, sample[0]));
        eg_tensor *loss = eg_cross_entropy(guess, run_here(r, sample[1]));
        good = run_minimize(r, j->adam, tape, loss) &&
               run_note(r, step, RUN_VALUE("loss", loss), RUN_NUMBER("rate", eg_optim_rate(j->adam)));
    }
    return good;
}

static bool train(job *j, run *r)
{
    progress bar;
    int64_t step = 0, every = j->o->run.smoke ? SAVE_EVERY_IN_SMOKE : SAVE_EVERY;
    bool ok = run_module(r, "net", j->net) && run_optim(r, "adam", j->adam) &&
              eg_saver_dataset(r->saver, "train", j->train) == EG_OK && run_resume(r, &step);
    progress_start(&bar, "training", j->steps, "steps");
    while (ok && run_goes_on(step, j->steps)) {
        EG_FOR_EACH(sample, j->train) {
            step++;
            ok = learn(j, r, sample, step) && run_checkpoint(r, step, step % every == 0 || step == j->steps);
            progress_update(&bar, step, "loss %.4f", r->latest);
            if (!ok || step == j->steps) {
                break;
            }
        }
        ok = ok && eg_dataset_status(j->train) == EG_OK;
    }
    progress_clear(&bar);
    return ok && run_catch_up(r);
}

/* What the folder gets: the model, the digits as they were read, the curve. */
static bool report(const job *j, const run *r, const results *found)
{
    bool drawn = false;
    run_path model = run_folder_path(&r->folder, "digits.safetensors");
    run_path grid = run_folder_path(&r->folder, "digits.png"), curve = run_folder_path(&r->folder, "loss.png");
    printf("read right: %.2f %% of %lld digits it has never seen\n", results_accuracy(found), (long long)found->seen);
    if (eg_module_save(j->net, model.text) != EG_OK) {
        return false;
    }
    EG_SCOPE {
        eg_tensor *losses = curve_of(r, "loss");
        drawn = losses && results_grid(found, grid.text) == EG_OK &&
                results_curve(eg_data(losses), (int)eg_numel(losses), curve.text) == EG_OK;
    }
    if (!drawn) {
        return false;
    }
    printf("model   %s\ndigits  %s\ncurve   %s\n", model.text, grid.text, curve.text);
    return true;
}

/* Whether the last tenth of the losses is clearly below the first. */
static eg_status fell(const job *j, const run *r)
{
    int64_t tenth = j->steps / 10 + 1;
    bool good = false;
    EG_SCOPE {
        eg_tensor *losses = curve_of(r, "loss");
        good = curve_mean(losses, -tenth, j->steps) < 0.8 * curve_mean(losses, 0, tenth);
    }
    return good ? EG_OK : eg_fail(EG_ESTATE, "digits", "the loss did not fall");
}

static bool work(run *r, const options *o)
{
    job j;
    results *found = malloc(sizeof *found);
    bool good = job_open(&j, o) && found;
    if (good) {
        printf("%lld steps of %lld digits (%s)\n", (long long)j.steps, (long long)o->run.batch,
               o->run.data ? o->run.data : "drawn from fonts");
        good = train(&j, r) && results_collect(found, j.net, j.test, r->device) == EG_OK && report(&j, r, found) &&
               (!o->run.smoke || fell(&j, r) == EG_OK);
    }
    job_close(&j);
    free(found);
    return good;
}

int main(int argc, char **argv)
{
    options o;
    const arg table[] = {
        RUN_OPTIONS(&o.run,
                    "folder with the four MNIST files, plain or .gz; without it digits are drawn from "
                    "installed fonts",
                    "3", "64"),
        ARG_INTEGER("drawn", &o.drawn, "20000", 1, 10000000, "how many digits to draw per epoch"),
        ARG_REAL("lr", &o.lr, "2e-3", 1e-9, 10, "learning rate at the start"),
    };
    args line = {.program = "digits",
                 .about = "Trains a small convolutional network to read digits and shows what it learned.",
                 .table = table,
                 .count = ARG_COUNT(table)};
    int status;
    if (!args_parse(&line, argc, argv, &status)) {
        return status;
    }
    if (o.run.smoke) {
        o.drawn = o.drawn < 2000 ? o.drawn : 2000;
        o.run.steps = o.run.steps ? o.run.steps : 40;
    }
    run r;
    return run_end(&r, run_begin(&r, &o.run, "digits", argv) && work(&r, &o));
}
