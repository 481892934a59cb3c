/* test_resume.c - a run that is killed and started again goes on bit for bit as if nothing had been: weights,
 * optimizer, average, loss scale, dropout and the order of the data. */
#define _XOPEN_SOURCE 700
#include "tests/egt.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <egret/saver.h>

enum { STEPS = 60, EVERY = 7 };

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct run {
    eg_dtype dtype;
    eg_module *net;
    eg_optim *adam;
    eg_ema *ema;
    eg_scaler *scaler;
    eg_dataset *data;
    eg_saver *saver;
} run;

static eg_dataset *make_data(void)
{
    eg_dataset *d = NULL;
    EG_SCOPE {
        eg_tensor *x = eg_reshape(eg_sin(eg_arange(0, 400, 1, EG_F32)), EG_SHAPE(50, 8));
        eg_tensor *y = eg_sum(eg_square(x), .axes = EG_AXES(1));
        d = eg_dataset_prefetch(
            eg_dataset_batch(eg_dataset_shuffle(eg_dataset_from_tensors((eg_tensor *[]){x, y}, 2), 20, .seed = 3), 4),
            2);
    }
    return d;
}

/* Everything that does not come from a checkpoint is as a program would make it again; the seed is not. */
static void start(run *r, eg_dtype dtype, uint64_t seed)
{
    eg_seed(seed);
    *r = (run){.dtype = dtype, .data = make_data()};
    r->net = eg_sequential_new(eg_linear_new(8, 16, .dtype = dtype), eg_activation_new(eg_tanh), eg_dropout_new(0.3),
                               eg_linear_new(16, 1, .dtype = dtype));
    r->adam = eg_adam_new(eg_module_parameters(r->net), .lr = 1e-2, .weight_decay = 1e-3);
    r->ema = eg_ema_new(eg_module_parameters(r->net), .decay = 0.9);
    r->scaler = eg_scaler_new(.start = 1024, .interval = 10);
    r->saver = eg_saver_new(egt_folder(), .keep = 2);
    EGT_OK(eg_optim_follow(r->adam, &EG_SCHEDULE(.kind = EG_RATE_COSINE, .lr = 1e-2, .steps = STEPS)));
    EGT_OK(eg_saver_module(r->saver, "net", r->net));
    EGT_OK(eg_saver_optim(r->saver, "adam", r->adam));
    EGT_OK(eg_saver_ema(r->saver, "ema", r->ema));
    EGT_OK(eg_saver_scaler(r->saver, "scaler", r->scaler));
    EGT_OK(eg_saver_dataset(r->saver, "data", r->data));
}

static void stop(run *r)
{
    eg_saver_free(r->saver);
    eg_dataset_free(r->data);
    eg_scaler_free(r->scaler);
    eg_ema_free(r->ema);
    eg_optim_free(r->adam);
    eg_module_free(r->net);
}

static double train_step(run *r, eg_tensor *const *sample)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *x = eg_cast(sample[0], r->dtype), *y = eg_reshape(eg_cast(sample[1], r->dtype), EG_SHAPE(-1, 1));
    eg_tensor *loss = eg_mean(eg_square(eg_sub(eg_module_forward(r->net, x), y)));
    double value = eg_item(loss);
    EGT_OK(eg_scaler_minimize(r->scaler, r->adam, tape, loss));
    EGT_OK(eg_ema_update(r->ema));
    return value;
}

/* Steps up to `to`, a checkpoint after every few. */
static void train(run *r, int64_t step, int64_t to, double *losses)
{
    while (step < to) {
        EG_FOR_EACH(sample, r->data) {
            losses[step++] = train_step(r, sample);
            if (step % EVERY == 0) {
                EGT_OK(eg_saver_save(r->saver, step));
            }
            if (step == to) {
                break;
            }
        }
        EGT_OK(eg_dataset_status(r->data));
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Trains in another process, which is killed after some steps. */
static void train_and_die(eg_dtype dtype, uint64_t seed, int64_t to)
{
    egt_folder(); /* the same on both sides */
    pid_t child = fork();
    EGT_CHECK(child >= 0);
    if (!child) {
        run r;
        double losses[STEPS];
        int64_t step = 0;
        start(&r, dtype, seed);
        EGT_OK(eg_saver_restore(r.saver, &step));
        train(&r, step, to, losses);
        kill(getpid(), SIGKILL);
    }
    int how;
    EGT_CHECK(waitpid(child, &how, 0) == child && WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

static void check(eg_dtype dtype)
{
    run whole, last;
    double losses[STEPS], again[STEPS];
    int64_t step = 0;
    start(&whole, dtype, 1);
    train(&whole, 0, STEPS, losses);
    egt_remove_folder();
    EGT_CHECK(isfinite(losses[STEPS - 1]) && losses[STEPS - 1] != losses[0]);
    train_and_die(dtype, 1, 17); /* after the checkpoint of step 14 */
    train_and_die(dtype, 2, 41);
    start(&last, dtype, 3);
    EGT_OK(eg_saver_restore(last.saver, &step));
    EGT_EQ(step, 35);
    train(&last, step, STEPS, again);
    for (int64_t i = step; i < STEPS; i++) {
        if (memcmp(&again[i], &losses[i], sizeof(double))) {
            egt_fail(__FILE__, __LINE__, "loss %d is %.17g, was %.17g", (int)i, again[i], losses[i]);
        }
    }
    EGT_OK(eg_ema_swap(whole.ema));
    EGT_OK(eg_ema_swap(last.ema));
    eg_tensors *a = eg_module_state(whole.net), *b = eg_module_state(last.net);
    for (int64_t i = 0; i < eg_tensors_count(a); i++) {
        EGT_EQ(egt_distance(eg_tensors_at(a, i), eg_tensors_at(b, i)), 0);
    }
    EGT_EQ(eg_scaler_scale(whole.scaler), eg_scaler_scale(last.scaler));
    EGT_EQ(eg_optim_steps(whole.adam), eg_optim_steps(last.adam));
    eg_tensors_free(a);
    eg_tensors_free(b);
    stop(&whole);
    stop(&last);
}

EGT(single_precision)
{
    check(EG_F32);
}

EGT(brain_floats_with_masters)
{
    check(EG_BF16);
}

EGT(half_precision_with_a_scaler)
{
    check(EG_F16);
}

EGT(another_optimizer_is_refused)
{
    run r;
    double losses[STEPS];
    start(&r, EG_F32, 1);
    train(&r, 0, EVERY, losses);
    eg_tensors *before = eg_module_state(r.net);
    double first = eg_get(eg_tensors_at(before, 0), 0);
    train(&r, EVERY, EVERY + 1, losses);
    EGT_CHECK(first != eg_get(eg_tensors_at(before, 0), 0));
    first = eg_get(eg_tensors_at(before, 0), 0);
    eg_optim *sgd = eg_sgd_new(eg_module_parameters(r.net), .lr = 0.5, .momentum = 0.9);
    eg_saver_free(r.saver);
    r.saver = eg_saver_new(egt_folder());
    EGT_OK(eg_saver_module(r.saver, "net", r.net));
    EGT_OK(eg_saver_optim(r.saver, "adam", sgd));
    EGT_REFUSED(eg_saver_restore(r.saver, NULL, .allow_others = true), EG_EFORMAT, "exp_avg");
    EGT_EQ(eg_optim_rate(sgd), 0.5);
    EGT_EQ(eg_get(eg_tensors_at(before, 0), 0), first);
    EGT_REFUSED(eg_saver_optim(r.saver, "o", NULL), EG_EINVAL, "part");
    EGT_REFUSED(eg_saver_ema(r.saver, "o", NULL), EG_EINVAL, "part");
    EGT_REFUSED(eg_saver_scaler(r.saver, "o", NULL), EG_EINVAL, "part");
    EGT_REFUSED(eg_saver_dataset(r.saver, "o", NULL), EG_EINVAL, "part");
    eg_tensors_free(before);
    eg_optim_free(sgd);
    stop(&r);
}
