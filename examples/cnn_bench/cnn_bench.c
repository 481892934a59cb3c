/* cnn_bench.c - egret-cnn-bench: how many images per second a net learns from, with the names, flags and lines of
 * tf_cnn_benchmarks. */
#include "bench.h"

#include <string.h>

#include "devices.h"

/* ---- training ---- */

static eg_status behind_step(eg_run *run, void *user)
{
    bench *b = user;
    bench_turn(b, eg_run_step(run) - b->before - b->o.num_warmup_batches);
    return eg_run_status(run);
}

/* Trains, or runs the net alone. */
static eg_status measure(bench *b)
{
    eg_run *run = b->run;
    const options *o = &b->o;
    eg_run_train_on(run, input_batches(&b->in, true, eg_run_settings_of(run)->steps * eg_run_settings_of(run)->ranks));
    if (!o->forward_only && !eg_run_status(run)) {
        bench_prepare(b);
    }
    if (eg_run_status(run) || eg_run_open(run)) {
        return eg_run_status(run);
    }
    b->before = eg_run_step(run);
    b->saved = report_now();
    eg_run_heed(run, o->forward_only ? eg_module_eval(b->net) : eg_module_train(b->net));
    eg_run_hook(run, &(eg_hook){.every = 1, .step = behind_step, .user = b});
    eg_run_hush(run);
    eg_run_say(run, "Running warm up");
    bench_turn(b, -o->num_warmup_batches);
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(sample, run)
        {
            bench_step(b, sample);
        }
    }
    if (!eg_run_status(run) && b->report.count) {
        report_total(run, (double)(b->report.count * b->report.batch), report_now() - b->report.began);
    }
    if (!eg_run_status(run) && options_judges(o) && eg_run_step(run) == eg_run_steps(run)) {
        bench_judge_meanwhile(b, "final ");
    }
    if (!eg_run_status(run) && o->train_dir && !o->forward_only) {
        bench_save(b);
    }
    return eg_run_status(run);
}

/* Data set, net, batches. */
static eg_status begin(bench *b)
{
    const eg_run_settings *s = eg_run_settings_of(b->run);
    eg_status st = input_find(&b->o, &b->in.of);
    st = st ? st : models_find(b->o.model, b->in.of->name, &b->by);
    if (st) {
        return st;
    }
    b->in.o = &b->o;
    b->in.device = eg_run_device(b->run);
    b->in.seed = (uint64_t)s->seed;
    b->in.batch = b->o.batch_size ? b->o.batch_size : b->by.batch;
    b->in.side = b->o.image_size ? b->o.image_size : b->by.side;
    b->report = (report){.run = b->run, .o = &b->o, .batch = b->in.batch * s->ranks};
    b->metrics = eg_metrics_new();
    b->net = eg_run_module(b->run, "net", models_make(&b->by, b->in.of->classes, b->in.side, b->o.auxiliary));
    st = eg_run_status(b->run) || b->metrics ? eg_run_status(b->run) : eg_last_error()->code;
    return st ? st : input_begin(&b->in);
}

static eg_status work(eg_run *run, void *user)
{
    bench *b = user;
    b->run = run;
    const char *mistake = options_mistake(&b->o, eg_run_settings_of(run));
    if (mistake) {
        return eg_run_refuse(run, "%s", mistake);
    }
    eg_status st = begin(b);
    if (st) {
        return st;
    }
    int64_t examples = b->o.eval ? b->in.of->test_size : b->in.of->train_size;
    int64_t batches = b->o.eval ? bench_eval_batches(b)
                                : options_batches(b->o.num_batches, b->o.num_epochs, examples, b->report.batch);
    report_header(run, &b->o, &b->in, batches, examples);
    if (!b->o.eval) {
        return measure(b);
    }
    if (!eg_run_restore(run, NULL)) {
        bench_judge(b, batches);
    }
    return eg_run_status(run);
}

/* What the flags of every run are called here. A name that is not known is refused later. */
static void settle(eg_run_settings *s, void *user)
{
    bench *b = user;
    const options *o = &b->o;
    const input_set *of;
    model by = {.batch = 1};
    options_settle(&b->o);
    bool known = !input_find(o, &of) && !models_find(o->model, of->name, &by);
    int64_t batch = (o->batch_size ? o->batch_size : by.batch) * s->ranks;
    s->steps =
        known ? o->num_warmup_batches + options_batches(o->num_batches, o->num_epochs, of->train_size, batch) : 1;
    s->save_every = 0;
    s->keep = o->max_ckpts_to_keep;
    s->out = o->train_dir;
    s->seed = o->tf_random_seed;
    s->precision = o->use_fp16 ? "f16" : s->precision;
    s->zero = !s->zero && strcmp(o->variable_update, "parameter_server") == 0 ? 1 : s->zero;
}

static int run_one(int argc, char **argv, eg_comm *comm)
{
    bench b = {.run = NULL};
    eg_flag flags[OPTIONS_FLAGS];
    int count = options_flags(&b.o, flags);
    int status = eg_run_main(argc, argv, work, &b, .name = "egret-cnn-bench", .unit = "",
                             .about = "Measures how many images per second a net learns from, trains it, or judges it.",
                             .flags = flags, .flag_count = count, .settle = settle,
                             .without = "data epochs batch steps save-every out smoke seed", .comm = comm,
                             .aliases = options_aliases, .alias_count = options_alias_count);
    input_end(&b.in);
    eg_metrics_free(b.metrics);
    report_end(&b.report);
    return status;
}

int main(int argc, char **argv)
{
    return on_devices(argc, argv, run_one);
}
