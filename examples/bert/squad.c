/* squad.c - BERT learns where in a passage the answer to a question stands (Devlin et al. 2018), as its authors'
 * run_squad.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "encoder.h"
#include "world.h"

enum { WORLD = 6000 }; /* questions about the small world */

typedef struct options {
    encoder_options net;
    windows_options windows;
    answers_options answers;
    tuning tuning;
    bool predict;
} options;

typedef struct job {
    eg_run *run;
    const options *o;
    eg_tokenizer *words;
    eg_module *net;
    windows train, dev;
    eg_dataset *dev_batches;
    eg_optim *adam;
} job;

/* ---- before -------------------------------------------------------------------------------------- */

static eg_dataset *questions_of(job *j, bool train)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    return s->data ? eg_squad_new(eg_path_in(s->data, train ? "train-v1.1.json" : "dev-v1.1.json").text)
                   : world_questions(train ? WORLD : WORLD / 12, (uint64_t)s->seed + !train);
}

static eg_status open_data(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    const int64_t most = s->smoke ? 64 : INT32_MAX;
    eg_status st = windows_read(&j->dev, questions_of(j, false), j->words, &j->o->windows, most);
    if (!st && !j->o->predict) {
        st = windows_read(&j->train, questions_of(j, true), j->words, &j->o->windows, most);
    }
    if (st) {
        return st;
    }
    eg_run_say(j->run, "%lld questions in %lld windows to learn from, %lld in %lld to be judged by",
               (long long)j->train.question_count, (long long)j->train.count, (long long)j->dev.question_count,
               (long long)j->dev.count);
    if (!j->o->predict) {
        eg_dataset *train = eg_dataset_shuffle(windows_dataset(&j->train), j->train.count, .seed = (uint64_t)s->seed);
        eg_run_train_on(j->run, eg_dataset_batch(train, s->batch, .drop_last = true));
    }
    j->dev_batches = eg_run_dataset(j->run, NULL, eg_dataset_batch(windows_dataset(&j->dev), 32));
    return eg_run_status(j->run);
}

static eg_status open_job(job *j)
{
    const char *data = eg_run_settings_of(j->run)->data;
    j->words = encoder_words(&j->o->net, data);
    eg_status st = j->words ? open_data(j) : eg_last_error()->code;
    eg_module *bert = st ? NULL : encoder_new(&j->o->net, j->words);
    if (!st) {
        j->net = eg_run_module(j->run, "net", bert ? eg_bert_spans_new(bert) : NULL);
        st = eg_run_status(j->run);
    }
    st = st || !j->o->net.init ? st : encoder_load(j->run, j->net, &j->o->net);
    if (!st && !j->o->predict) {
        j->adam = encoder_optim(j->run, j->net, &j->o->tuning);
        st = eg_run_status(j->run);
    }
    return st;
}

/* ---- judging ------------------------------------------------------------------------------------- */

/* Of questions that are not learned from; answers into files, if they are asked for. */
static scores judge(job *j, bool write)
{
    answers *a = answers_new(&j->dev, &j->o->answers);
    eg_status st = a ? eg_module_eval(j->net) : eg_last_error()->code;
    EG_RUN_EACH(x, j->run, j->dev_batches)
    {
        eg_tensor *logits = st ? NULL : eg_bert_forward(j->net, x[0], .types = x[1], .mask = x[2]).logits;
        st = st ? st : logits ? answers_add(a, x[5], logits) : eg_last_error()->code;
    }
    scores s = {st, NAN, NAN};
    if (!st && !eg_run_status(j->run)) {
        s = answers_score(a);
        st = s.st || !write ? s.st : answers_write(a, j->run);
    }
    eg_run_heed(j->run, st ? st : eg_module_train(j->net));
    answers_free(a);
    return s;
}

static void tell(job *j, scores s, const char *when)
{
    if (!eg_run_status(j->run)) {
        eg_run_say(j->run, "%s%.2f %% to the letter, F1 %.2f %%", when, s.exact, s.f1);
    }
}

/* ---- training ------------------------------------------------------------------------------------ */

static eg_tensor *loss_of(job *j, eg_tensor *const *x)
{
    eg_tensor *logits = eg_bert_forward(j->net, x[0], .types = x[1], .mask = x[2]).logits;
    eg_tensor *begin = eg_cross_entropy(eg_select(logits, 2, 0), x[3]);
    eg_tensor *end = eg_cross_entropy(eg_select(logits, 2, 1), x[4]);
    return eg_mul_scalar(eg_add(begin, end), 0.5);
}

static eg_status learn(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(x, run)
        {
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = loss_of(j, x);
            eg_run_minimize(run, j->adam, tape, loss);
            eg_run_note(run, EG_RUN_VALUE("loss", loss), EG_RUN_NUMBER("rate", eg_optim_rate(j->adam)));
        }
        if (!eg_run_status(run)) {
            scores s = judge(j, false);
            eg_run_log(run, EG_REAL("valid exact", s.exact), EG_REAL("valid f1", s.f1));
            eg_run_plot(run, "losses.png", "Cross entropy of beginnings and ends", "loss");
        }
    }
    tell(j, eg_run_status(run) ? (scores){EG_OK, NAN, NAN} : judge(j, true), "in the end ");
    return eg_run_check_fell(run, "loss", 0.95);
}

static eg_status work(eg_run *run, void *user)
{
    job j = {.run = run, .o = user};
    eg_status st = eg_run_heed(run, open_job(&j));
    if (!st && j.o->predict) {
        st = eg_run_heed(run, eg_run_restore(run, NULL));
        tell(&j, st ? (scores){st, NAN, NAN} : judge(&j, true), "");
        st = eg_run_status(run);
    } else if (!st) {
        eg_run_say(run, "%lld steps of %lld windows", (long long)eg_run_steps(run),
                   (long long)eg_run_settings_of(run)->batch);
        st = learn(&j);
    }
    windows_free(&j.train);
    windows_free(&j.dev);
    eg_tokenizer_free(j.words);
    return st;
}

/* ---- the command line ---------------------------------------------------------------------------- */

static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    const bool world = !s->data;
    encoder_settle(&o->net, world || s->smoke);
    o->windows.length = o->windows.length ? o->windows.length : world ? 96 : s->smoke ? 64 : 384;
    o->windows.step = o->windows.step ? o->windows.step : o->windows.length / 3;
    o->tuning.rate = o->tuning.rate > 0 ? o->tuning.rate : world || s->smoke ? 1e-3 : 3e-5;
}

int main(int argc, char **argv)
{
    options o = {0};
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("max-length", &o.windows.length, "0", 0, 512,
                        "ids of a window, its question and special ones too; 0: 384, of the small world 96"),
        EG_FLAG_INTEGER("stride", &o.windows.step, "0", 0, 512,
                        "ids from one window of a passage to the next; 0: a third of a window, 128"),
        EG_FLAG_INTEGER("question-length", &o.windows.question, "64", 1, 500, "ids of a question that count"),
        EG_FLAG_INTEGER("answer-length", &o.answers.longest, "30", 1, 512, "ids of an answer, at most"),
        EG_FLAG_INTEGER("best", &o.answers.best, "20", 1, 64, "beginnings and ends that are looked at, and told"),
        TUNING_FLAGS(&o.tuning, "3e-5, of the small world 1e-3"),
        EG_FLAG_SWITCH("predict", &o.predict, "only judge, by the newest checkpoint in --out"),
        ENCODER_FLAGS(&o.net),
    };
    return eg_run_main(argc, argv, work, &o, .name = "bert-squad", .unit = "questions",
                       .about = "BERT learns where in a passage the answer to a question stands.", .flags = flags,
                       .flag_count = EG_FLAG_COUNT(flags), .settle = settle, .epochs = 2, .batch = 12,
                       .save_every = 1000, .smoke_steps = 40, .smoke_batch = 8,
                       .data = "folder with train-v1.1.json and dev-v1.1.json of SQuAD; without it questions about a "
                               "small world");
}
