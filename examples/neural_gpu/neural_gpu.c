/* neural_gpu.c - learns an algorithm from examples of what it makes, on short tapes, and runs it on long ones (Kaiser
 * and Sutskever 2015). */
#include <egret/run.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "tasks.h"

enum { MOST_DIGITS = 200, SURE = 4 /* batches of an examination */, KEPT = 4 };

typedef struct options {
    const char *task;
    neural_gpu_options net;
    int64_t digits, longest, report;
    double lr, falls, eps, clip, smoothing, enough, pull, pull_grows, noise;
    bool examine;
} options;

typedef struct job {
    eg_run *run;
    const options *o;
    const task *task;
    eg_module *net;
    eg_optim *adam;
    int64_t digits;     /* of the longest tapes so far */
    eg_tensor *numbers; /* what else a checkpoint has of it, f64: */
    double *wrong, *pull,
        *kept; /* mean share of wrong tapes of that length; pull; KEPT mean losses, and the sum of now */
} job;

/* ---- tapes ----------------------------------------------------------------------------------- */

/* A batch of tapes for so many digits: in and out, i64 [n, length], on the run's device. */
static eg_status make_tapes(const job *j, int64_t n, int digits, eg_tensor **in, eg_tensor **out)
{
    int length = task_length(j->task, digits);
    int row[2][2 * MOST_DIGITS + 1];
    int64_t *at[2];
    eg_tensor *made[2];
    eg_tensor *drawn = eg_to(eg_uniform(EG_SHAPE(n, length), 0, 1, EG_F64), eg_cpu());
    const double *chance = eg_data(drawn);
    for (int k = 0; k < 2; k++) {
        made[k] = eg_to(eg_zeros(EG_SHAPE(n, length), EG_I64), eg_cpu());
        at[k] = eg_data_mut(made[k]);
    }
    if (!chance || !at[0] || !at[1]) {
        return eg_last_error()->code;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int c = 0; c < length; c++) {
            row[0][c] = row[1][c] = BLANK;
        }
        j->task->make(j->task, chance + i * length, digits, row[0], row[1]);
        for (int c = 0; c < length; c++) {
            at[0][i * length + c] = row[0][c];
            at[1][i * length + c] = row[1][c];
        }
    }
    *in = eg_run_here(j->run, made[0]);
    *out = eg_run_here(j->run, made[1]);
    return *in && *out ? EG_OK : eg_last_error()->code;
}

/* The share of tapes that are not right in every place, f32 []. */
static eg_tensor *wrong_of(eg_tensor *logits, eg_tensor *out)
{
    eg_tensor *off = eg_ne(eg_argmax(logits, .axes = EG_AXES(2)), out);
    return eg_mean(eg_cast(eg_any(off, .axes = EG_AXES(1)), EG_F32));
}

/* ---- learning -------------------------------------------------------------------------------- */

static eg_tensor *loss_of(const job *j, eg_tensor *logits, eg_tensor *out)
{
    return eg_cross_entropy(eg_reshape(logits, EG_SHAPE(-1, SYMBOLS)), eg_reshape(out, EG_SHAPE(-1)),
                            .label_smoothing = j->o->smoothing);
}

/* Gradients with normal noise, the less the further it is (Neelakantan et al. 2015), and the fewer tapes are wrong. */
static eg_status step_with_noise(job *j, eg_tape tape, eg_tensor *loss)
{
    eg_parameters p = eg_module_parameters(j->net);
    eg_tensor **gradients = calloc((size_t)p.count, sizeof *gradients);
    double std = j->o->noise * *j->wrong * pow((double)eg_run_step(j->run), -0.55);
    eg_status st = gradients ? eg_tape_gradients(tape, loss, p.tensors, p.count, gradients)
                             : eg_fail(EG_ENOMEM, "neural_gpu", "out of memory");
    for (int i = 0; i < p.count && !st; i++) {
        gradients[i] = eg_add(gradients[i], eg_normal(eg_shape_of(p.tensors[i]), 0, std, EG_F32));
        st = gradients[i] ? EG_OK : eg_last_error()->code;
    }
    st = st ? st : eg_optim_step(j->adam, gradients);
    free(gradients);
    return st;
}

/* Half of the batches are as long as it has come, the others shorter. */
static int draw_digits(const job *j)
{
    double chance[2] = {0, 0};
    eg_run_heed(j->run, eg_to_values(eg_uniform(EG_SHAPE(2), 0, 1, EG_F64), chance));
    return chance[0] < 0.5 ? (int)j->digits : 1 + (int)(chance[1] * (double)j->digits);
}

/* Longer tapes as soon as enough of these are right. At the end of that the sets of parameters are pulled together. */
static void go_on(job *j, int digits, double wrong)
{
    if (digits < j->digits) {
        return;
    }
    *j->wrong += 0.1 * (wrong - *j->wrong);
    if (*j->wrong < j->o->enough && j->digits < j->o->digits) {
        j->digits++;
        *j->wrong = fmin(1, 2 * j->o->enough);
    }
}

/* Every so many steps: the rate falls if the loss does not; and the end, where nothing is wrong any more. */
static void report(job *j)
{
    eg_run *run = j->run;
    double mean = j->kept[KEPT] / (double)j->o->report, most = 0, apart = 0;
    for (int i = 0; i < KEPT; i++) {
        most = fmax(most, j->kept[i]);
        j->kept[i] = i + 1 < KEPT ? j->kept[i + 1] : mean;
    }
    j->kept[KEPT] = 0;
    if (mean > most) {
        eg_run_heed(run, eg_optim_set_rate(j->adam, eg_optim_rate(j->adam) * j->o->falls));
    }
    EG_SCOPE {
        apart = eg_item(neural_gpu_apart(j->net));
    }
    bool all = j->digits == j->o->digits && *j->wrong < 0.01;
    *j->pull *= all ? j->o->pull_grows : 1;
    eg_run_log(run, EG_REAL("apart", apart));
    eg_run_say(run, "step %lld: %lld digits, loss %.4f, %.1f %% of the longest tapes wrong, rate %.2g, apart %.3g",
               (long long)eg_run_step(run), (long long)j->digits, mean, 100 * *j->wrong, eg_optim_rate(j->adam), apart);
    if (all && *j->wrong < 1e-4 && apart < 1e-3) {
        eg_run_stop(run, "there is no mistake any more");
    }
}

static void learn(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(none, run)
        {
            (void)none;
            int digits = draw_digits(j);
            eg_tensor *in = NULL, *out = NULL;
            eg_run_heed(run, make_tapes(j, eg_run_settings_of(run)->batch, digits, &in, &out));
            eg_tape tape = eg_tape_open();
            eg_tensor *logits = eg_cast(eg_module_forward(j->net, in), EG_F32), *loss = loss_of(j, logits, out), *all;
            all = j->o->net.relaxed > 1 ? eg_add(loss, eg_mul_scalar(neural_gpu_apart(j->net), *j->pull)) : loss;
            eg_run_heed(run,
                        j->o->noise > 0 ? step_with_noise(j, tape, all) : eg_run_minimize(run, j->adam, tape, all));
            double wrong = eg_run_status(run) ? 1 : eg_item(wrong_of(logits, out));
            eg_run_note(run, EG_RUN_VALUE("loss", loss), EG_RUN_NUMBER("wrong", wrong),
                        EG_RUN_NUMBER("digits", (double)j->digits));
            j->kept[KEPT] += eg_run_status(run) ? 0 : eg_item(loss);
            go_on(j, digits, wrong);
            if (eg_run_step(run) % j->o->report == 0 && !eg_run_status(run)) {
                report(j);
            }
        }
    }
}

/* ---- what was learned ------------------------------------------------------------------------ */

/* The share of tapes of so many digits that are wholly right. */
static double examine(const job *j, int digits)
{
    double wrong = 0;
    EG_RUN_COMPUTES(j->run)
    {
        for (int i = 0; i < SURE && !eg_run_status(j->run); i++) {
            eg_tensor *in, *out;
            EG_SCOPE {
                eg_run_heed(j->run, make_tapes(j, eg_run_settings_of(j->run)->batch, digits, &in, &out));
                eg_tensor *share = eg_run_status(j->run) ? NULL : wrong_of(eg_module_forward(j->net, in), out);
                wrong += share ? eg_item(share) : 0;
                eg_run_heed(j->run, share ? EG_OK : eg_last_error()->code);
            }
        }
    }
    return 1 - wrong / SURE;
}

/* Lengths up to those never seen: what is right of each, and the first of which something is not. */
static void examine_all(job *j)
{
    double x[64], y[64];
    int n = 0, fails = 0;
    const int most = (int)j->o->longest;
    for (int d = 1; d <= most && n < 64 && !eg_run_status(j->run); d += d < 5 ? 1 : d < 30 ? 5 : 10) {
        x[n] = d;
        y[n] = examine(j, d);
        eg_run_say(j->run, "%4d digits: %6.2f %% right", d, 100 * y[n]);
        fails = y[n] < 1 && !fails ? d : fails;
        n++;
    }
    if (fails) {
        eg_run_say(j->run, "mistakes begin at %d digits; it learned from up to %lld", fails, (long long)j->digits);
    } else {
        eg_run_say(j->run, "no mistake at these lengths, up to %d digits; it learned from up to %lld", most,
                   (long long)j->digits);
    }
    EG_SCOPE {
        const eg_draw_series right = {.x = eg_from_values(EG_SHAPE(n), EG_F64, x),
                                      .y = eg_from_values(EG_SHAPE(n), EG_F64, y)};
        eg_run_picture(j->run, "right",
                       eg_draw_plot(&right, 1, .title = "Tapes that are wholly right", .x_label = "digits"));
    }
}

/* The states of one tape: from step to step, what its first row holds, maps downwards. */
static void draw_states(const job *j)
{
    int digits = (int)(j->digits < 12 ? j->digits : 12);
    eg_tensor *in = NULL, *out = NULL, *states = NULL;
    EG_RUN_COMPUTES(j->run)
    {
        eg_run_heed(j->run, make_tapes(j, 1, digits, &in, &out));
        states = eg_run_status(j->run) ? NULL : neural_gpu_states(j->net, in);
    }
    eg_tensor *rows = eg_select(eg_select(eg_to(states, eg_cpu()), 1, 0), 3, 0); /* [steps + 1, maps, length] */
    eg_run_picture(j->run, "states",
                   eg_draw_grid(eg_unsqueeze(rows, 1), .low = -1, .high = 1, .columns = 5, .scale = 6,
                                .title = "What the tape holds, step by step"));
}

static eg_status show(job *j)
{
    eg_run_heed(j->run, eg_module_eval(j->net));
    eg_run_heed(j->run, neural_gpu_unite(j->net));
    if (!eg_run_status(j->run)) {
        examine_all(j);
        draw_states(j);
    }
    return eg_run_status(j->run);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void close_job(void *user)
{
    job *j = user;
    eg_release(j->numbers);
    free(j);
}

static eg_status open_job(job *j)
{
    const options *o = j->o;
    eg_run *run = j->run;
    j->task = task_called(o->task);
    j->digits = o->digits < 3 ? o->digits : 3;
    j->numbers = eg_keep(eg_to(eg_zeros(EG_SHAPE(3 + KEPT), EG_F64), eg_cpu()));
    j->wrong = eg_data_mut(j->numbers);
    if (!j->wrong) {
        return eg_last_error()->code;
    }
    j->pull = j->wrong + 1;
    j->kept = j->wrong + 2;
    *j->wrong = 1;
    *j->pull = o->pull;
    j->net = eg_run_module(run, "net", neural_gpu_new(SYMBOLS, &o->net));
    j->adam = eg_run_optim(run, "adam", eg_adam_new(eg_module_parameters(j->net), .lr = o->lr, .eps = o->eps));
    eg_status st = eg_run_status(run);
    st = st ? st : eg_optim_clip_norm(j->adam, o->clip);
    st = st ? st : eg_run_number(run, "digits", &j->digits);
    return st ? st : eg_run_tensor(run, "numbers", j->numbers);
}

static eg_status work(eg_run *run, void *user)
{
    job *j = calloc(1, sizeof *j);
    if (!j) {
        return eg_fail(EG_ENOMEM, "neural_gpu", "out of memory");
    }
    *j = (job){.run = run, .o = user};
    eg_status st = eg_run_heed(run, eg_run_own(run, j, close_job));
    if (!st && j->o->noise > 0 && strcmp(eg_run_settings_of(run)->precision, "f16") == 0) {
        return eg_run_refuse(run, "--noise goes with f32, tf32 and bf16: of f16 gradients are scaled");
    }
    EG_SCOPE {
        st = st ? st : eg_run_heed(run, open_job(j));
        if (!st && j->o->examine) {
            st = eg_run_restore(run, NULL);
            st = st ? st : show(j);
        } else if (!st) {
            eg_run_say(run, "%s, %s: %lld parameters", j->task->name, j->task->about,
                       (long long)eg_module_numel(j->net));
            learn(j);
            st = eg_run_status(run) ? eg_run_status(run) : show(j);
            eg_run_plot(run, "loss.png", "Cross entropy", "loss");
            eg_run_plot(run, "digits.png", "Digits of the longest tapes", "digits");
            st = eg_run_check_fell(run, "loss", 0.95);
        }
    }
    return st ? st : eg_run_status(run);
}

static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    if (s->smoke) {
        o->net.maps = o->net.maps < 8 ? o->net.maps : 8;
        o->net.relaxed = o->net.relaxed < 2 ? o->net.relaxed : 2;
        o->digits = o->digits < 4 ? o->digits : 4;
        o->longest = o->longest < 6 ? o->longest : 6;
        o->lr = 5e-3;
        o->report = 10;
    }
}

int main(int argc, char **argv)
{
    options o = {.task = NULL};
    const eg_flag flags[] = {
        EG_FLAG_CHOICE("task", &o.task, "rev", TASK_NAMES, "the algorithm"),
        EG_FLAG_INTEGER("max-length", &o.digits, "20", 1, MOST_DIGITS, "digits of the longest tapes it learns from"),
        EG_FLAG_INTEGER("test-length", &o.longest, "100", 1, MOST_DIGITS, "and of those it is examined with"),
        EG_FLAG_REAL("curriculum", &o.enough, "0.3", 0, 1, "share of wrong tapes below which they become longer"),
        EG_FLAG_GROUP("net"),
        EG_FLAG_INTEGER("maps", &o.net.maps, "64", 1, 4096, "of the state"),
        EG_FLAG_INTEGER("height", &o.net.height, "4", 1, 64, "rows of the state, beside the tape's length"),
        EG_FLAG_INTEGER("layers", &o.net.layers, "2", 1, 16, "convolutional GRUs of a step"),
        EG_FLAG_INTEGER("relaxed", &o.net.relaxed, "6", 1, 64, "sets of parameters that take turns"),
        EG_FLAG_REAL("pull", &o.pull, "0.0005", 0, 100, "of these sets towards each other"),
        EG_FLAG_REAL("pull-grows", &o.pull_grows, "1.2", 1, 100, "by this factor, once the longest tapes are right"),
        EG_FLAG_REAL("dropout", &o.net.dropout, "0.1", 0, 1, "times 3 / sqrt(length)"),
        EG_FLAG_GROUP("learning"),
        EG_FLAG_REAL("lr", &o.lr, "5e-4", 1e-9, 10, "Adam's learning rate"),
        EG_FLAG_REAL("lr-decay", &o.falls, "0.995", 0.01, 1, "its factor where the loss makes no progress"),
        EG_FLAG_REAL("epsilon", &o.eps, "1e-3", 1e-12, 1, "Adam's"),
        EG_FLAG_REAL("clip", &o.clip, "4", 1e-6, 1e6, "norm of all gradients"),
        EG_FLAG_REAL("smoothing", &o.smoothing, "0.1", 0, 0.9, "of targets"),
        EG_FLAG_REAL("noise", &o.noise, "0", 0, 100, "of gradients, times step^-0.55 and the share of wrong tapes"),
        EG_FLAG_INTEGER("report", &o.report, "100", 1, 1000000, "steps between two reports"),
        EG_FLAG_SWITCH("examine", &o.examine, "only see how long tapes the latest checkpoint is right with"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "neural_gpu", .unit = "sequences",
                       .about = "Learns an algorithm from examples of what it makes, and runs it on longer ones.",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .settle = settle, .batch = 32,
                       .save_every = 500, .smoke_steps = 60, .smoke_batch = 16, .without = "epochs");
}
