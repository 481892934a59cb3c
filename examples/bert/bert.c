/* bert.c - BERT learns a task of pairs of sentences (Devlin et al. 2018), as its authors' run_classifier.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "encoder.h"
#include "pairs.h"

typedef struct options {
    encoder_options net;
    bool predict;
    int64_t length;
    tuning tuning;
} options;

typedef struct job {
    eg_run *run;
    const options *o;
    eg_tokenizer *words;
    eg_module *net;
    pairs train, dev;
    eg_dataset *dev_batches;
    eg_optim *adam;
} job;

/* ---- before ---------------------------------------------------------------------------------- */

static eg_status open_data(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    int64_t most = s->smoke ? 64 : INT32_MAX;
    eg_status st = pairs_read(&j->train, s->data, PAIRS_TRAIN, j->words, j->o->length, most);
    st = st ? st : pairs_read(&j->dev, s->data, PAIRS_DEV, j->words, j->o->length, most);
    if (st) {
        return st;
    }
    eg_run_say(j->run,
               "%lld pairs to learn from, %lld to be judged by, %lld ids at most, %.0f %% of the latter of "
               "class 1",
               (long long)j->train.count, (long long)j->dev.count, (long long)j->o->length, 100 * j->dev.positive);
    eg_dataset *train = eg_dataset_shuffle(pairs_dataset(&j->train), j->train.count, .seed = (uint64_t)s->seed);
    eg_run_train_on(j->run, eg_dataset_batch(train, s->batch, .drop_last = true));
    j->dev_batches = eg_run_dataset(j->run, NULL, eg_dataset_batch(pairs_dataset(&j->dev), 32));
    return eg_run_status(j->run);
}

static eg_status open_net(job *j)
{
    const options *o = j->o;
    eg_module *bert = encoder_new(&o->net, j->words);
    j->net = eg_run_module(j->run, "net", bert ? eg_bert_classifier_new(bert, 2) : NULL);
    eg_status st = eg_run_status(j->run);
    return st || !o->net.init ? st : encoder_load(j->run, j->net, &o->net);
}

/* ---- judging --------------------------------------------------------------------------------- */

typedef struct found {
    double accuracy, f1, loss;
} found;

/* Over the pairs that are not learned from; probabilities of both classes into `to`, if that is not NULL. */
static found judge(job *j, FILE *to)
{
    eg_metrics *m = eg_metrics_new();
    eg_status st = m ? eg_module_eval(j->net) : eg_last_error()->code;
    EG_RUN_EACH(x, j->run, j->dev_batches)
    {
        if (!st) {
            eg_tensor *logits = eg_bert_forward(j->net, x[0], .types = x[1], .mask = x[2]).logits;
            st = eg_metrics_confusion(m, "accuracy", logits, x[3]);
            st = st ? st : eg_metrics_perplexity(m, "loss", eg_cross_entropy(logits, x[3]), eg_numel(x[3]));
            eg_tensor *p = to ? eg_to(eg_softmax(logits, 1), eg_cpu()) : NULL;
            for (int64_t i = 0; p && i < eg_size(p, 0); i++) {
                fprintf(to, "%.7g\t%.7g\n", eg_get(p, 2 * i), eg_get(p, 2 * i + 1));
            }
        }
    }
    found f = {NAN, NAN, NAN};
    eg_run_heed(j->run, st ? st : eg_module_train(j->net));
    if (!eg_run_status(j->run)) {
        f = (found){eg_metrics_value(m, "accuracy"), eg_metrics_of(m, "accuracy", EG_F1, 1),
                    log(eg_metrics_value(m, "loss"))};
    }
    eg_metrics_free(m);
    return f;
}

/* What run_classifier.py leaves: figures by name, and the probabilities of each pair. */
static eg_status write_results(job *j, bool predicted)
{
    char text[256];
    FILE *to = fopen(eg_run_path(j->run, "test_results.tsv").text, "w");
    if (!to) {
        return eg_failf(EG_EIO, "bert", "cannot write %s", eg_run_path(j->run, "test_results.tsv").text);
    }
    found f = judge(j, to);
    bool whole = !ferror(to);
    whole &= fclose(to) == 0;
    int n = snprintf(text, sizeof text, "eval_accuracy = %.6f\neval_f1 = %.6f\neval_loss = %.6f\nglobal_step = %lld\n",
                     f.accuracy, f.f1, f.loss, (long long)eg_run_step(j->run));
    eg_status st = eg_run_status(j->run);
    st = st || whole ? st : eg_fail(EG_EIO, "bert", "the disk is full");
    st = st ? st : eg_file_write(eg_run_path(j->run, "eval_results.txt").text, text, (size_t)n);
    if (!st) {
        eg_run_say(j->run, "%s%.2f %% right, F1 %.2f %%, loss %.4f", predicted ? "" : "in the end ", 100 * f.accuracy,
                   100 * f.f1, f.loss);
    }
    return st;
}

/* ---- training -------------------------------------------------------------------------------- */

static eg_status learn(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(x, run)
        {
            eg_tape tape = eg_tape_open();
            eg_tensor *logits = eg_bert_forward(j->net, x[0], .types = x[1], .mask = x[2]).logits;
            eg_tensor *loss = eg_cross_entropy(logits, x[3]);
            eg_run_minimize(run, j->adam, tape, loss);
            eg_run_note(run, EG_RUN_VALUE("loss", loss), EG_RUN_NUMBER("rate", eg_optim_rate(j->adam)));
        }
        if (!eg_run_status(run)) {
            found f = judge(j, NULL);
            eg_run_log(run, EG_REAL("valid accuracy", f.accuracy), EG_REAL("valid f1", f.f1),
                       EG_REAL("valid loss", f.loss));
            eg_run_plot(run, "losses.png", "Cross entropy per pair", "loss, valid loss");
        }
    }
    eg_status st = eg_run_status(run);
    st = st ? st : write_results(j, false);
    return st ? st : eg_run_check_fell(run, "loss", 0.95);
}

static eg_status open_job(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    j->words = encoder_words(&j->o->net, s->data);
    eg_status st = j->words ? EG_OK : eg_last_error()->code;
    st = st ? st : open_data(j);
    st = st ? st : open_net(j);
    if (!st) {
        j->adam = encoder_optim(j->run, j->net, &j->o->tuning);
    }
    return st ? st : eg_run_status(j->run);
}

static eg_status work(eg_run *run, void *user)
{
    job j = {.run = run, .o = user};
    eg_status st = eg_run_heed(run, open_job(&j));
    if (!st) {
        eg_run_say(run, "%lld steps of %lld pairs", (long long)eg_run_steps(run),
                   (long long)eg_run_settings_of(run)->batch);
        if (j.o->predict) {
            st = eg_run_restore(run, NULL);
            st = st ? st : write_results(&j, true);
        } else {
            st = learn(&j);
        }
    }
    pairs_free(&j.train);
    pairs_free(&j.dev);
    eg_tokenizer_free(j.words);
    return st;
}

/* ---- the command line ------------------------------------------------------------------------ */

static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    const bool small = !s->data || s->smoke;
    encoder_settle(&o->net, small);
    o->length = o->length ? o->length : small ? 32 : 128;
    o->tuning.rate = o->tuning.rate > 0 ? o->tuning.rate : small ? 5e-4 : 2e-5;
}

int main(int argc, char **argv)
{
    options o = {0};
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("max-length", &o.length, "0", 0, 512,
                        "ids of a pair, its special ones too; 0: 128, of the small world 32"),
        TUNING_FLAGS(&o.tuning, "2e-5, of the small world 5e-4"),
        EG_FLAG_SWITCH("predict", &o.predict, "only judge, by the newest checkpoint in --out"),
        ENCODER_FLAGS(&o.net),
    };
    return eg_run_main(argc, argv, work, &o, .name = "bert", .unit = "sentence pairs",
                       .about = "BERT learns whether two sentences say the same.", .flags = flags,
                       .flag_count = EG_FLAG_COUNT(flags), .settle = settle, .epochs = 3, .batch = 32,
                       .save_every = 1000, .smoke_steps = 120, .smoke_batch = 8,
                       .data = "folder with msr_paraphrase_train.txt and msr_paraphrase_test.txt, or GLUE's train.tsv "
                               "and dev.tsv of MRPC; without it pairs about a small world");
}
