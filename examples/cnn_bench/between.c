/* between.c - what is between the steps: lines, checkpoints, judging, a timeline. */
#include "bench.h"

#include <math.h>

/* ---- judging ---- */

int64_t bench_eval_batches(const bench *b)
{
    const options *o = &b->o;
    bool own = o->num_eval_batches || o->num_eval_epochs > 0;
    return options_batches(own ? o->num_eval_batches : o->num_batches, own ? o->num_eval_epochs : o->num_epochs,
                           b->in.of->test_size, b->in.batch);
}

double bench_judge(bench *b, int64_t batches)
{
    eg_run *run = b->run;
    int64_t n = 0;
    b->others = b->others ? b->others : eg_run_dataset(run, NULL, input_batches(&b->in, false, batches));
    eg_run_heed(run, eg_metrics_reset(b->metrics));
    eg_run_heed(run, eg_module_eval(b->net));
    double began = report_now(), since = began;
    EG_RUN_EACH_SHARE(sample, run, b->others)
    {
        bench_add_accuracy(b, eg_cast(eg_module_forward(b->net, sample[0]), EG_F32), sample[1]);
        eg_run_heed(run, eg_device_synchronize(eg_run_device(run)));
        if (++n % b->o.display_every == 0) {
            double now = report_now();
            eg_run_say(run, "%lld\t%.1f examples/sec", (long long)n,
                       (double)(b->report.batch * b->o.display_every) / (now - since));
            since = now;
        }
    }
    if (eg_run_status(run)) {
        return 0;
    }
    const int ranks = eg_run_settings_of(run)->ranks;
    n = batches;
    if (ranks > 1 && eg_run_heed(run, eg_metrics_all_reduce(b->metrics, eg_run_comm(run)))) {
        return 0;
    }
    double seconds = report_now() - began, top_1 = eg_metrics_value(b->metrics, "top_1");
    eg_run_say(run, "Accuracy @ 1 = %.4f Accuracy @ 5 = %.4f [%lld examples]", top_1,
               eg_metrics_value(b->metrics, "top_5"), (long long)(n * b->in.batch));
    if (b->o.eval) {
        report_total(run, (double)(n * b->in.batch), seconds);
    }
    return top_1;
}

void bench_judge_meanwhile(bench *b, const char *what)
{
    double began = report_now(), good = b->o.stop_at_top_1_accuracy;
    eg_run_say(b->run, "Running %sevaluation at global_step %lld", what, (long long)eg_run_step(b->run));
    double top_1 = bench_judge(b, bench_eval_batches(b));
    if (!eg_run_status(b->run) && !*what && good > 0 && top_1 >= good) {
        eg_run_say(b->run, "Stopping, as eval accuracy at least %g was reached", good);
        eg_run_stop(b->run, NULL);
    } else if (!*what) {
        eg_run_say(b->run, "Resuming training");
        eg_run_heed(b->run, eg_module_train(b->net));
    }
    b->report.began += report_now() - began;
}

/* Passes over the data set, of so many images each, that so many batches end. */
static double passes(const bench *b, int64_t batches)
{
    double of = b->o.eval_during_training_every_n_epochs * (double)b->in.of->train_size;
    return floor((double)(batches * b->report.batch) / of);
}

static bool judges(const bench *b, int64_t batches)
{
    const options *o = &b->o;
    return batches > 0 && eg_run_step(b->run) < eg_run_steps(b->run) &&
           ((o->eval_during_training_every_n_steps && batches % o->eval_during_training_every_n_steps == 0) ||
            (o->eval_during_training_every_n_epochs > 0 && passes(b, batches) > passes(b, batches - 1)));
}

/* ---- checkpoints ---- */

void bench_save(bench *b)
{
    eg_run_latest_value(b->run, "loss"); /* the log has all of the steps that a checkpoint has */
    if (!eg_run_status(b->run)) {
        eg_run_heed(b->run, eg_saver_save(eg_run_saver(b->run), eg_run_step(b->run)));
    }
    b->saved = report_now();
}

/* By the clock of the first of several ranks. */
static bool is_late(const bench *b)
{
    double late = eg_run_settings_of(b->run)->rank == 0 && report_now() - b->saved >= (double)b->o.save_model_secs;
    return eg_run_all_reduce(b->run, &late, 1, EG_COMM_MAX) == EG_OK && late > 0;
}

static bool saves(const bench *b, int64_t batches)
{
    const options *o = &b->o;
    return o->train_dir && !o->forward_only && batches > 0 &&
           ((o->save_model_steps && batches % o->save_model_steps == 0) || (o->save_model_secs && is_late(b)));
}

/* ---- behind each step ---- */

void bench_turn(bench *b, int64_t batches)
{
    if (b->o.trace_file && batches == -2) {
        eg_run_heed(b->run, eg_profile_begin(.memory = true));
    } else if (b->o.trace_file && batches == -1) {
        eg_run_say(b->run, "Dumping trace to %s", b->o.trace_file);
        eg_run_heed(b->run, eg_profile_end(b->o.trace_file));
    }
    if (batches == 0) {
        report_begin(&b->report);
    }
    if (batches > 0) {
        eg_run_heed(b->run, report_add(&b->report, b->took));
    }
    if (batches == 1 || (batches > 0 && batches % b->o.display_every == 0)) {
        report_line(&b->report, b->loss, bench_tells_accuracy(b) ? b->accuracy : NULL);
    }
    if (saves(b, batches)) {
        bench_save(b);
    }
    if (judges(b, batches)) {
        bench_judge_meanwhile(b, "");
    }
    b->report.asked = report_now();
}
