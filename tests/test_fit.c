/* test_fit.c - runs from C: fitting, evaluating, predicting, the best checkpoint, stopping early, hooks, the watch,
 * what is refused, going on to the last bit. */
#define _DEFAULT_SOURCE
#include <egret/run.h>
#include <unistd.h>

#include "tests/egt.h"

enum { EXAMPLES = 96, TESTS = 24, FEATURES = 6, CLASSES = 3 };

/* What a trial is to do, and what came of it. */
typedef struct trial {
    eg_fit_options fit;
    eg_status (*work)(eg_run *run, struct trial *t);
    double lr;
    int poison; /* the step whose loss is NaN; 0: none */
    double loss, accuracy;
    int64_t steps, hooked, epochs_hooked;
    float weights[FEATURES * CLASSES];
    char out[16384], err[8192];
    int status;
} trial;

/* Classes that a line can tell apart: the largest of three sums. */
static eg_dataset *examples(int64_t n, uint64_t seed)
{
    eg_seed(seed);
    eg_tensor *x = eg_normal(EG_SHAPE(n, FEATURES), 0, 1, EG_F32);
    eg_tensor *sums = eg_sum(eg_reshape(x, EG_SHAPE(n, CLASSES, FEATURES / CLASSES)), .axes = EG_AXES(2));
    eg_tensor *label = eg_argmax(sums, .axes = EG_AXES(1));
    return eg_dataset_from_tensors((eg_tensor *[]){x, label}, 2);
}

static eg_tensor *loss(eg_module *net, eg_tensor *const *sample, eg_metrics *m, void *user)
{
    const trial *t = user;
    eg_tensor *logits = eg_module_forward(net, sample[0]);
    eg_metrics_accuracy(m, "accuracy", logits, sample[1]);
    eg_tensor *mean = eg_cross_entropy(logits, sample[1]);
    return t->poison < 0 ? eg_mul_scalar(mean, (double)NAN) : mean;
}

static eg_status work(eg_run *run, void *user)
{
    trial *t = user;
    eg_status st = EG_OK;
    EG_SCOPE {
        st = t->work(run, t);
    }
    return st;
}

/* A run of these words in the test's folder. */
static void run_words(trial *t, char **words)
{
    static const eg_flag none[1];
    static const eg_flag_alias aliases[] = {EG_FLAG_ALIAS("train_steps", "steps"),
                                            EG_FLAG_ALIAS_VALUE("use_fp16", "precision", "f16"),
                                            EG_FLAG_IGNORED_BOOL("xla", "there is no graph compiler")};
    char *argv[24] = {"learn", "--out", NULL}, folder[4096], *out = NULL, *err = NULL;
    size_t size;
    int argc = 3;
    snprintf(folder, sizeof folder, "%s", egt_path("run"));
    argv[2] = folder;
    while (words[argc - 3]) {
        argv[argc] = words[argc - 3];
        argc++;
    }
    FILE *to = open_memstream(&out, &size), *about = open_memstream(&err, &size);
    t->status = eg_run_main(argc, argv, work, t, .name = "learn", .about = "Learns.", .flags = none, .epochs = 4,
                            .batch = 16, .data = "a folder", .out = to, .err = about, .aliases = aliases,
                            .alias_count = EG_FLAG_COUNT(aliases));
    fclose(to);
    fclose(about);
    snprintf(t->out, sizeof t->out, "%s", out ? out : "");
    snprintf(t->err, sizeof t->err, "%s", err ? err : "");
    free(out);
    free(err);
    eg_clear_error();
}
#define RUN(t, ...) run_words(t, (char *[]){"--threads", "1", __VA_ARGS__, NULL})

static eg_dataset *batches(int64_t n, uint64_t seed, int64_t batch)
{
    return eg_dataset_batch(eg_dataset_shuffle(examples(n, seed), n, .seed = 1), batch);
}

static eg_status fit_line(eg_run *run, trial *t)
{
    int64_t batch = eg_run_settings_of(run)->batch;
    eg_dataset *train = batches(EXAMPLES, 1, batch);
    t->fit.valid = eg_dataset_batch(examples(TESTS, 2), 8);
    t->fit.user = t;
    t->fit.size = sizeof t->fit;
    eg_seed(3);
    eg_module *net = eg_run_module(run, "net", eg_linear_new(FEATURES, CLASSES));
    eg_optim *sgd = eg_run_optim(run, "sgd", eg_sgd_new(eg_module_parameters(net), .lr = t->lr ? t->lr : 0.5));
    eg_status st = eg_fit_with(run, net, sgd, loss, train, &t->fit);
    t->steps = eg_run_step(run);
    if (!st) {
        eg_metrics *m = eg_run_metrics(run, "again");
        st = eg_evaluate(run, net, loss, t->fit.valid, m, t);
        t->loss = eg_metrics_value(m, "loss");
        t->accuracy = eg_metrics_value(m, "accuracy");
        EGT_CHECK(eg_copy_out(eg_module_parameters(net).tensors[0], t->weights, sizeof t->weights) == EG_OK);
    }
    return st;
}

EGT(fits_a_line)
{
    trial t = {.work = fit_line};
    RUN(&t, "--epochs", "20");
    EGT_EQ(t.status, 0);
    EGT_EQ(t.steps, 20 * EXAMPLES / 16);
    EGT_CHECK(t.accuracy > 0.8);
    EGT_CHECK(t.loss < 0.5);
    EGT_CHECK(strstr(t.out, "epoch 20: loss ") && strstr(t.out, ", accuracy ") && strstr(t.out, "valid/accuracy "));
    EGT_EQ(egt_files("run"), 1);
    EGT_CHECK(access(egt_path("run/best.safetensors"), R_OK) == 0 && access(egt_path("run/log.jsonl"), R_OK) == 0);
}

EGT(goes_on_to_the_last_bit)
{
    trial whole = {.work = fit_line}, part = {.work = fit_line};
    RUN(&whole, "--steps", "40");
    egt_remove_folder();
    RUN(&part, "--steps", "15");
    EGT_EQ(part.steps, 15);
    RUN(&part, "--steps", "40", "--resume");
    EGT_CHECK(strstr(part.out, "going on behind step 15") && part.steps == 40);
    EGT_CHECK(memcmp(whole.weights, part.weights, sizeof whole.weights) == 0 && whole.loss == part.loss);
}

static eg_status two_paces(eg_run *run, trial *t)
{
    (void)t;
    eg_run_train_on(run, batches(EXAMPLES, 1, 16));
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(sample, run)
        {
            EGT_CHECK(eg_run_step(run) > 2 ? eg_run_speed(run) > 0 : isnan(eg_run_speed(run)));
            usleep(eg_run_step(run) == 1 ? 200000 : 1000);
        }
        usleep(200000);
    }
    t->loss = eg_run_speed(run);
    return eg_run_status(run);
}

EGT(speed_is_that_of_steps)
{
    trial t = {.work = two_paces};
    RUN(&t, "--epochs", "2");
    EGT_EQ(t.status, 0);
    EGT_CHECK(t.loss > 0 && t.loss < 1000); /* none takes less than it sleeps */
}

EGT(batches_of_the_evaluation_do_not_matter)
{
    double found[3];
    int64_t sizes[] = {1, 8, 24};
    eg_module *net = eg_linear_new(FEATURES, CLASSES);
    for (int i = 0; i < 3; i++) {
        EG_SCOPE {
            eg_metrics *m = eg_metrics_new();
            eg_dataset *data = eg_dataset_batch(examples(TESTS, 2), sizes[i]);
            trial t = {0};
            int status;
            char *argv[] = {"learn", "--out", (char *)egt_path("run"), NULL};
            eg_run *run = eg_run_begin(3, argv, &status, NULL, .name = "learn");
            EGT_CHECK(run && eg_evaluate(run, net, loss, data, m, &t) == EG_OK);
            found[i] = eg_metrics_value(m, "accuracy");
            eg_tensor *made = eg_predict(run, net, data);
            EGT_CHECK(eg_size(made, 0) == TESTS && eg_size(made, 1) == CLASSES);
            EGT_EQ(eg_run_end(run, EG_OK), 0);
            eg_dataset_free(data);
            eg_metrics_free(m);
        }
    }
    EGT_CHECK(found[0] == found[1] && found[1] == found[2]);
    eg_module_free(net);
}

EGT(stops_when_nothing_becomes_better)
{
    trial t = {.work = fit_line, .lr = 1e-12, .fit = {.best = "accuracy", .patience = 2}};
    RUN(&t, "--epochs", "50");
    EGT_EQ(t.status, 0);
    EGT_EQ(t.steps, 3 * EXAMPLES / 16);
    EGT_CHECK(strstr(t.out, "valid/accuracy has not become better for 2 evaluations"));
}

EGT(evaluates_every_n_steps)
{
    trial t = {.work = fit_line, .fit = {.evaluate_every = 4, .best = "accuracy"}};
    RUN(&t, "--steps", "10");
    size_t n;
    char *log = egt_read(egt_path("run/log.jsonl"), &n);
    int found = 0;
    for (const char *at = log; (at = strstr(at, "valid/accuracy")); at++) {
        found++;
    }
    free(log);
    EGT_EQ(found, 3);
}

EGT(unknown_metrics_are_refused)
{
    trial t = {.work = fit_line, .fit = {.best = "beauty"}};
    RUN(&t, "--steps", "10");
    EGT_CHECK(t.status == 1 && strstr(t.err, "beauty"));
}

/* ---- loops of one's own --------------------------------------------------------------------------- */

static eg_status count_hook(eg_run *run, void *user)
{
    trial *t = user;
    t->hooked += eg_run_step(run);
    return EG_OK;
}

static eg_status count_epochs(eg_run *run, void *user)
{
    trial *t = user;
    t->epochs_hooked += eg_run_epoch(run);
    return EG_OK;
}

static eg_status fail_silently(eg_run *run, void *user)
{
    (void)run, (void)user;
    return EG_EUSER;
}

static eg_status own_loop(eg_run *run, trial *t)
{
    eg_module *net = eg_run_module(run, "net", eg_linear_new(FEATURES, CLASSES));
    eg_optim *sgd = eg_run_optim(run, "sgd", eg_sgd_new(eg_module_parameters(net), .lr = 0.1));
    eg_run_train_on(run, batches(EXAMPLES, 1, eg_run_settings_of(run)->batch));
    eg_run_hook(run, &(eg_hook){.every = 3, .step = count_hook, .epoch = count_epochs, .user = t});
    eg_run_timeline(run, 5);
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(sample, run)
        {
            eg_tape tape = eg_tape_open();
            eg_tensor *mean = eg_cross_entropy(eg_module_forward(net, sample[0]), sample[1]);
            mean = t->poison == eg_run_step(run) ? eg_mul_scalar(mean, (double)NAN) : mean;
            eg_run_minimize(run, sgd, tape, mean);
            eg_run_note(run, EG_RUN_VALUE("loss", mean), EG_RUN_NUMBER("step twice", 2.0 * (double)eg_run_step(run)));
            if (t->lr > 0 && eg_run_step(run) == (int64_t)t->lr) {
                eg_run_stop(run, "enough");
            }
        }
    }
    t->steps = eg_run_step(run);
    return eg_run_status(run);
}

EGT(hooks_are_called)
{
    trial t = {.work = own_loop};
    RUN(&t, "--epochs", "2");
    EGT_EQ(t.status, 0);
    EGT_EQ(t.hooked, 3 + 6 + 9 + 12);
    EGT_EQ(t.epochs_hooked, 2 + 3);
    EGT_CHECK(access(egt_path("run/timeline-10.json"), R_OK) == 0 && access(egt_path("run/timeline-4.json"), R_OK));
}

static eg_status bad_hook(eg_run *run, trial *t)
{
    eg_run_hook(run, &(eg_hook){.every = 1, .step = fail_silently});
    return own_loop(run, t);
}

EGT(hooks_that_fail_get_a_word)
{
    trial t = {.work = bad_hook};
    RUN(&t, "--epochs", "2");
    EGT_CHECK(t.status == 1 && strstr(t.err, "a hook failed at step 1 without a word"));
}

EGT(stops_when_told)
{
    trial t = {.work = own_loop, .lr = 8};
    RUN(&t, "--epochs", "9");
    EGT_CHECK(t.status == 0 && t.steps == 8 && strstr(t.out, "enough"));
    EGT_CHECK(access(egt_path("run/checkpoint-0000000008.safetensors"), R_OK) == 0);
}

EGT(what_is_no_number_is_named)
{
    trial t = {.work = own_loop, .poison = 7};
    RUN(&t, "--epochs", "2");
    EGT_CHECK(t.status == 1 && t.steps == 7);
    EGT_CHECK(strstr(t.err, "loss is not a number at step 7; the first tensor that is not finite is net/weight"));
    egt_remove_folder();
    RUN(&t, "--epochs", "2", "--watch");
    EGT_CHECK(t.status == 1 && strstr(t.err, "step 7"));
}

/* A weight that becomes infinite is found by the watch alone. */
static eg_status infinite(eg_run *run, trial *t)
{
    eg_module *net = eg_run_module(run, "net", eg_linear_new(2, 2));
    (void)t;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(none, run)
        {
            if (eg_run_step(run) == 3) {
                eg_set(eg_module_parameters(net).tensors[1], 0, (double)INFINITY);
            }
        }
    }
    return eg_run_status(run);
}

EGT(the_watch_finds_infinity)
{
    trial t = {.work = infinite};
    RUN(&t, "--steps", "5");
    EGT_EQ(t.status, 0);
    egt_remove_folder();
    RUN(&t, "--steps", "5", "--watch");
    EGT_CHECK(t.status == 1 && strstr(t.err, "net/bias is not finite behind step 3"));
}

EGT(two_runs_live_in_one_process)
{
    int status;
    FILE *quiet = fopen("/dev/null", "w");
    char *first[] = {"a", "--out", (char *)egt_path("first"), "--steps", "2", NULL};
    char *second[] = {"b", "--out", (char *)egt_path("second"), "--steps", "3", NULL};
    eg_run *a = eg_run_begin(5, first, &status, NULL, .name = "a", .out = quiet);
    eg_run *b = eg_run_begin(5, second, &status, NULL, .name = "b", .out = quiet);
    int64_t in_a = 0, in_b = 0;
    EGT_CHECK(a && b);
    EG_RUN_EPOCHS(a)
    {
        EG_RUN_STEPS(none, a)
        {
            in_a++;
            EG_RUN_EPOCHS(b)
            {
                EG_RUN_STEPS(other, b)
                {
                    in_b++;
                }
            }
        }
    }
    EGT_CHECK(in_a == 2 && in_b == 3);
    EGT_EQ(eg_run_end(b, EG_OK), 0);
    EGT_EQ(eg_run_end(a, EG_OK), 0);
    fclose(quiet);
}

static eg_status misuse(eg_run *run, trial *t)
{
    (void)t;
    EGT_CHECK(eg_run_note(run, EG_RUN_NUMBER("x", 1)) == EG_ESTATE && eg_run_status(run) == EG_ESTATE);
    EGT_CHECK(!eg_run_module(run, "net", NULL) && !eg_run_train_on(run, NULL));
    return EG_OK;
}

EGT(the_first_failure_is_told)
{
    trial t = {.work = misuse};
    RUN(&t, "--steps", "2");
    EGT_CHECK(t.status == 1 && strstr(t.err, "there is no step under way"));
}

EGT(flags_of_a_run)
{
    trial t = {.work = own_loop};
    RUN(&t, "--help");
    EGT_CHECK(t.status == 0 && strstr(t.out, "--resume") && strstr(t.out, "--save-every") &&
              strstr(t.out, "(default 16)"));
    RUN(&t, "--batch", "0");
    EGT_CHECK(t.status == 2 && strstr(t.err, "--batch wants"));
    RUN(&t, "--device", "abacus");
    EGT_CHECK(t.status == 1 && strstr(t.err, "--device is cpu, cuda or cuda:N"));
    RUN(&t, "--out", "x");
    EGT_CHECK(t.status == 2 && strstr(t.err, "given twice"));
}

static eg_status name_settings(eg_run *run, trial *t)
{
    const eg_run_settings *s = eg_run_settings_of(run);
    eg_run_say(run, "%s %s %lld", s->device, s->precision, (long long)s->steps);
    return own_loop(run, t);
}

EGT(devices_have_other_names)
{
    trial t = {.work = name_settings};
    RUN(&t, "--device", "CPU", "--train_steps=3.0", "--use_fp16=True", "--xla");
    EGT_CHECK(t.status == 0 && strstr(t.out, "cpu f16 3\n"));
    EGT_CHECK(strcmp(t.err, "learn: warning: --xla is ignored: there is no graph compiler\n") == 0);
    RUN(&t, "--device=gpu:63", "--steps", "2");
    EGT_CHECK(t.status == 1 && strstr(t.err, "--device cuda:63: "));
    RUN(&t, "--device=GPUS", "--steps", "2");
    EGT_CHECK(t.status == 1 && strstr(t.err, "--device is cpu, cuda or cuda:N, not 'GPUS'"));
}

EGT(smoke_limits_steps)
{
    trial t = {.work = name_settings};
    RUN(&t, "--smoke", "--steps", "1000000");
    EGT_CHECK(strstr(t.out, "cpu f32 200\n"));
    RUN(&t, "--smoke", "--steps", "30");
    EGT_CHECK(strstr(t.out, "cpu f32 30\n"));
    RUN(&t, "--smoke");
    EGT_CHECK(strstr(t.out, "cpu f32 20\n"));
}

/* ---- curves -------------------------------------------------------------------------------------- */

static eg_status look_back(eg_run *run, trial *t)
{
    own_loop(run, t);
    eg_tensor *curve = eg_run_curve(run, "step twice");
    EGT_EQ(eg_numel(curve), t->steps);
    EGT_EQ(eg_get(curve, 4), 10);
    EGT_EQ(eg_run_curve_mean(run, "step twice", -2, t->steps), 2.0 * (double)t->steps - 1);
    eg_run_plot(run, "curves.png", "Curves", "loss, step twice, absent");
    eg_run_picture(run, "square", eg_full(EG_SHAPE(3, 4, 4), 200, EG_U8));
    eg_run_epoch_picture(run, "square", eg_full(EG_SHAPE(3, 4, 4), 100, EG_U8));
    return eg_run_check_fell(run, "step twice", 0.5);
}

EGT(curves_and_pictures)
{
    trial t = {.work = look_back};
    egt_need(eg_png_encode(eg_zeros(EG_SHAPE(3, 1, 1), EG_U8)), "PNG");
    RUN(&t, "--epochs", "2");
    EGT_EQ(t.status, 0);
    EG_SCOPE {
        EGT_EQ(eg_size(eg_image_load(egt_path("run/curves.png")), 0), 3);
        EGT_EQ(eg_get(eg_image_load(egt_path("run/square.png")), 0), 200);
        EGT_EQ(eg_get(eg_image_load(egt_path("run/square-0003.png")), 0), 100);
    }
    egt_remove_folder();
    RUN(&t, "--smoke");
    EGT_CHECK(t.status == 1 && strstr(t.err, "step twice did not fall"));
}
