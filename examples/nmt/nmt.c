/* nmt.c - learns to translate Spanish into English, and shows where it looks while it writes (Bahdanau, Cho,
 * Bengio 2014). */
#include <stdio.h>

#include "fetch.h"
#include "infer.h"

enum { SAMPLES = 4, SAY_EVERY = 100 };

/* What is translated after each epoch: of the real sentences, and of the made ones. */
static const char *const samples[2][SAMPLES] = {
    {"Hace mucho frío aquí.", "Esta es mi vida.", "¿Todavía están en casa?", "Trata de averiguarlo."},
    {"El perro ve la casa.", "¿Buscan los niños una flor roja?", "No queremos los huevos verdes.",
     "Limpias unas sillas viejas cada día."}};

typedef struct options {
    int64_t pairs, embedding, units;
    const char *infer, *model, *sha256;
} options;

/* What a run is made of. */
typedef struct job {
    eg_run *run;
    corpus c;
    translator t;
    eg_dataset *test; /* batches of sentences: sources [N, S], targets [N, T] */
    eg_optim *adam;
} job;

/* ---- before ---------------------------------------------------------------------------------- */

static eg_status read_corpus(job *j, const char *data, int64_t pairs)
{
    corpus *c = &j->c;
    eg_status st = data ? corpus_read(c, data, pairs) : corpus_make(c, pairs);
    if (!st) {
        eg_run_say(
            j->run,
            "%lld pairs (%s): Spanish of %lld words and marks at most, %lld different ones; English of %lld, %lld",
            (long long)c->pairs, data ? data : "made by a grammar", (long long)c->spanish.longest,
            (long long)eg_vocabulary_size(c->spanish.words) - 1, (long long)c->english.longest,
            (long long)eg_vocabulary_size(c->english.words) - 1);
    }
    return st;
}

static eg_status open_data(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    eg_dataset *train, *test;
    if (!corpus_split(&j->c, &train, &test)) {
        return eg_last_error()->code;
    }
    train = eg_dataset_shuffle(train, j->c.pairs, .seed = (uint64_t)s->seed);
    j->test = eg_run_dataset(j->run, NULL, eg_dataset_batch(test, s->batch));
    eg_run_train_on(j->run, eg_dataset_batch(train, s->batch, .drop_last = true));
    return eg_run_status(j->run);
}

/* What was not asked for depends on the sentences and on how much time there is. */
static void fill_in(options *o, const eg_run_settings *s)
{
    o->pairs = o->pairs ? o->pairs : s->smoke ? 1000 : s->data ? 30000 : 12000;
    o->units = o->units ? o->units : s->smoke ? 64 : s->data ? 1024 : 128;
    o->embedding = o->embedding ? o->embedding : s->data ? 256 : 64;
}

static eg_status open_job(job *j, options *o)
{
    fill_in(o, eg_run_settings_of(j->run));
    eg_status st = read_corpus(j, eg_run_settings_of(j->run)->data, o->pairs);
    st = st ? st : translator_new(&j->t, j->run, j->c.spanish, j->c.english, o->embedding, o->units);
    j->t.pairs = j->c.pairs;
    st = st ? st : open_data(j);
    j->adam = st ? NULL : eg_adam_new(eg_module_parameters(j->t.both), .lr = 1e-3, .epsilon_outside = true);
    eg_run_optim(j->run, "adam", j->adam);
    return st ? st : translator_train_in(j->run, &j->t);
}

/* ---- training -------------------------------------------------------------------------------- */

/* The loss per word of the pairs it does not learn from. */
static double test(job *j)
{
    double sum = 0, seen = 0;
    EG_RUN_EACH(pairs, j->run, j->test)
    {
        double n = (double)eg_size(pairs[0], 0);
        sum += n * eg_item(nmt_loss(j->t.encoder, j->t.decoder, pairs[0], pairs[1]));
        seen += n;
    }
    return sum / seen / (double)j->t.english.longest;
}

static void end_of_epoch(job *j)
{
    bool real = eg_run_settings_of(j->run)->data;
    eg_run_log(j->run, EG_REAL("test loss", test(j)));
    for (int i = 0; i < SAMPLES && !eg_run_status(j->run); i++) {
        char picture[32];
        snprintf(picture, sizeof picture, "attention-%d", i + 1);
        eg_status st = nmt_show(j->run, &j->t, samples[!real][i], picture);
        if (st == EG_EINDEX) { /* a sentence with words that are not in the vocabulary is not shown */
            eg_clear_error();
        } else {
            eg_run_heed(j->run, st);
        }
    }
    eg_run_plot(j->run, "losses.png", "Translating: cross entropy per word", "loss, test loss");
}

/* The loss per word, padding counted, as the tutorial prints it. */
static eg_status learn(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(pairs, run)
        {
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = nmt_loss(j->t.encoder, j->t.decoder, pairs[0], pairs[1]);
            eg_run_minimize(run, j->adam, tape, loss);
            eg_run_note(run, EG_RUN_SHARE("loss", loss, (double)j->t.english.longest));
        }
        if (!eg_run_status(run)) {
            end_of_epoch(j);
        }
    }
    return eg_run_check_fell(run, "loss", 0.8);
}

static eg_status train(eg_run *run, options *o)
{
    job j = {.run = run};
    eg_status st = eg_run_heed(run, open_job(&j, o));
    if (!st) {
        eg_run_say(run, "%lld steps of %lld pairs, %lld units, %lld parameters", (long long)eg_run_steps(run),
                   (long long)eg_run_settings_of(run)->batch, (long long)o->units,
                   (long long)eg_module_numel(j.t.both));
        st = learn(&j);
    }
    if (!st) {
        eg_run_say(run, "checkpoints, attention maps and losses.png are in %s", eg_run_path(run, "").text);
    }
    translator_free(&j.t);
    corpus_free(&j.c);
    return st;
}

/* ---- the command line ------------------------------------------------------------------------ */

static eg_status work(eg_run *run, void *user)
{
    options *o = user;
    return o->infer ? nmt_infer(run, o->infer, o->model) : train(run, o);
}

static eg_status get_data(const char *folder, const char *url, void *user)
{
    const options *o = user;
    return fetch_sentences(folder, url, o->sha256);
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("pairs", &o.pairs, "0", 0, 10000000, "the first lines; 0: 30000, of the grammar 12000"),
        EG_FLAG_INTEGER("embedding", &o.embedding, "0", 0, 65536, "numbers per word; 0: 256, for the grammar 64"),
        EG_FLAG_INTEGER("units", &o.units, "0", 0, 65536, "numbers per state; 0: 1024, for the grammar 128"),
        EG_FLAG_TEXT("infer", &o.infer, NULL, "SENTENCE", "only translate this and draw attention.png"),
        EG_FLAG_TEXT("model", &o.model, NULL, "FILE", "the checkpoint to translate with; else the newest in --out"),
        EG_FLAG_TEXT("sha256", &o.sha256, NULL, "SUM",
                     "what spa.txt there has as its sum, if it is another one; the archive's own is recorded when it "
                     "is first fetched, and holds from then on"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "nmt", .unit = "sentences",
                       .about = "Learns to translate Spanish into English and shows where it looks while it writes. "
                                "`nmt get-data` fetches spa.txt into --data (egret-data/spa-eng).",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .epochs = 10, .batch = 64, .smoke_steps = 80,
                       .get_data = get_data, .data_folder = "egret-data/spa-eng",
                       .data = "folder with spa.txt or spa.txt.gz; without it sentences are made by a grammar");
}
