/* nmt.c - learns to translate Spanish into English, and shows where it looks while it writes (Bahdanau, Cho,
 * Bengio 2014). */
#include <stdio.h>

#include "../common/curves.h"
#include "../common/progress.h"
#include "fetch.h"
#include "translator.h"

enum { SAMPLES = 4, SAY_EVERY = 100 };

/* What is translated after each epoch: of the real sentences, and of the made ones. */
static const char *const samples[2][SAMPLES] = {
    {"Hace mucho frío aquí.", "Esta es mi vida.", "¿Todavía están en casa?", "Trata de averiguarlo."},
    {"El perro ve la casa.", "¿Buscan los niños una flor roja?", "No queremos los huevos verdes.",
     "Limpias unas sillas viejas cada día."}};

typedef struct options {
    run_options run;
    int64_t pairs, embedding, units, save_every;
    const char *infer, *model, *url, *sha256;
} options;

/* What a run is made of. */
typedef struct job {
    const options *o;
    corpus c;
    translator t;
    eg_dataset *train, *test; /* batches of sentences: sources [N, S], targets [N, T] */
    eg_optim *adam;
    int64_t step, steps, per_epoch;
} job;

/* ---- before ---------------------------------------------------------------------------------- */

static eg_status read_corpus(job *j)
{
    const options *o = j->o;
    eg_status st = o->run.data ? corpus_read(&j->c, o->run.data, o->pairs) : corpus_make(&j->c, o->pairs);
    if (st) {
        return st;
    }
    printf("%lld pairs (%s): Spanish of %lld words and marks at most, %lld different ones; English of %lld, "
           "%lld\n",
           (long long)j->c.pairs, o->run.data ? o->run.data : "made by a grammar", (long long)j->c.spanish.longest,
           (long long)eg_vocabulary_size(j->c.spanish.words) - 1, (long long)j->c.english.longest,
           (long long)eg_vocabulary_size(j->c.english.words) - 1);
    return EG_OK;
}

static bool job_open(job *j)
{
    const options *o = j->o;
    const run_options *ro = &o->run;
    eg_status st = read_corpus(j);
    j->t = (translator){.spanish = j->c.spanish, .english = j->c.english};
    if (st || !translator_new(&j->t, j->c.spanish, j->c.english, o->embedding, o->units) ||
        !corpus_split(&j->c, &j->train, &j->test)) {
        return false;
    }
    j->t.pairs = j->c.pairs;
    j->train = eg_dataset_batch(eg_dataset_shuffle(j->train, j->c.pairs, .seed = (uint64_t)ro->seed), ro->batch,
                                .drop_last = true);
    j->test = eg_dataset_batch(j->test, ro->batch);
    j->adam = eg_adam_new(eg_module_parameters(j->t.both), .lr = 1e-3, .epsilon_outside = true);
    j->per_epoch = j->train ? eg_dataset_count(j->train) : 0;
    j->steps = ro->steps ? ro->steps : ro->epochs * j->per_epoch;
    if (j->train && j->per_epoch < 1) {
        eg_fail(EG_EINVAL, "nmt", "there are not enough pairs for one batch");
        return false;
    }
    return j->test && j->adam;
}

static void job_close(job *j)
{
    eg_optim_free(j->adam);
    eg_dataset_free(j->test);
    eg_dataset_free(j->train);
    translator_free(&j->t);
    corpus_free(&j->c);
}

/* ---- training -------------------------------------------------------------------------------- */

/* One step on a batch: the loss per word, padding counted, as the tutorial prints it. */
static bool learn(job *j, run *r, eg_tensor *const *pairs)
{
    bool good = false;
    RUN_COMPUTES(r) {
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = nmt_loss(j->t.encoder, j->t.decoder, run_here(r, pairs[0]), run_here(r, pairs[1]));
        good = run_minimize(r, j->adam, tape, loss) &&
               run_note(r, ++j->step, RUN_SHARE("loss", loss, (double)j->t.english.longest));
    }
    return good;
}

/* The loss per word of the pairs it does not learn from. */
static bool test(job *j, run *r, double *value)
{
    double sum = 0, seen = 0;
    EG_FOR_EACH(pairs, j->test) {
        double n = (double)eg_size(pairs[0], 0);
        RUN_COMPUTES(r) {
            eg_tensor *loss = nmt_loss(j->t.encoder, j->t.decoder, run_here(r, pairs[0]), run_here(r, pairs[1]));
            sum += n * eg_item(loss);
        }
        seen += n;
    }
    *value = sum / seen / (double)j->t.english.longest;
    return eg_dataset_status(j->test) == EG_OK;
}

/* Translates a sentence and draws what it looked at. Step 0: not for TensorBoard. */
static eg_status show(const translator *t, run *r, int64_t step, const char *sentence, const char *picture)
{
    run_path path = run_folder_path(&r->folder, picture);
    eg_status st = EG_OK;
    EG_SCOPE {
        translation made;
        st = translate(t, r, sentence, &made);
        if (!st) {
            translation_print(t, &made);
            st = translation_draw(t, &made, path.text);
        }
        if (!st && step && r->board) {
            st = eg_events_image(r->board, picture, step, eg_image_load(path.text));
        }
    }
    return st;
}

static bool end_of_epoch(job *j, run *r, double seconds)
{
    int64_t epoch = (j->step + j->per_epoch - 1) / j->per_epoch, first = (epoch - 1) * j->per_epoch;
    double tested;
    if (!run_catch_up(r) || !test(j, r, &tested) || !run_log(r, j->step, EG_REAL("test loss", tested))) {
        return false;
    }
    EG_SCOPE {
        printf("Epoch %lld Loss %.4f, of pairs not learned from %.4f; %.1f s\n", (long long)epoch,
               curve_mean(curve_of(r, "loss"), first, j->step), tested, seconds);
    }
    for (int i = 0; i < SAMPLES; i++) {
        char picture[32];
        snprintf(picture, sizeof picture, "attention-%d.png", i + 1);
        eg_status st = show(&j->t, r, j->step, samples[!j->o->run.data][i], picture);
        if (st == EG_EINDEX) { /* words it has never read */
            eg_error_print(stderr);
            eg_clear_error();
        } else if (st) {
            return false;
        }
    }
    return curves_draw(r, "Translating: cross entropy per word", (const char *[]){"loss", "test loss"}, 2,
                       "losses.png") == EG_OK;
}

/* Whether --save-every asks for a checkpoint. */
static bool is_due(const job *j)
{
    return j->o->save_every && j->step % j->o->save_every == 0;
}

/* Whether the epoch ends here: then its checkpoint comes behind what is made of it. */
static bool is_last(const job *j)
{
    return j->step % j->per_epoch == 0 || j->step == j->steps;
}

static bool train_epoch(job *j, run *r)
{
    progress bar;
    bool good = true;
    progress_start(&bar, "learning", j->steps, "steps");
    EG_FOR_EACH(pairs, j->train) {
        int64_t epoch = j->step / j->per_epoch, batch = j->step % j->per_epoch;
        good = learn(j, r, pairs) && (is_last(j) || run_checkpoint(r, j->step, is_due(j)));
        progress_update(&bar, j->step, "loss %.4f", r->latest);
        if (good && batch % SAY_EVERY == 0) {
            progress_clear(&bar);
            good = run_catch_up(r);
            printf("Epoch %lld Batch %lld Loss %.4f\n", (long long)epoch + 1, (long long)batch, r->latest);
        }
        if (!good || j->step == j->steps) {
            break;
        }
    }
    progress_clear(&bar);
    return good && eg_dataset_status(j->train) == EG_OK && end_of_epoch(j, r, progress_seconds(&bar));
}

static bool train(job *j, run *r)
{
    bool good = true;
    while (good && run_goes_on(j->step, j->steps)) {
        good = train_epoch(j, r);
        int64_t epoch = j->step / j->per_epoch;
        good = good && run_checkpoint(r, j->step, epoch % 2 == 0 || is_due(j) || j->step == j->steps);
    }
    return good;
}

/* Whether the last tenth of the losses is clearly below the first. */
static eg_status fell(const job *j, const run *r)
{
    int64_t tenth = j->steps / 10 + 1;
    bool good = false;
    EG_SCOPE {
        eg_tensor *loss = curve_of(r, "loss");
        good = curve_mean(loss, -tenth, j->steps) < 0.8 * curve_mean(loss, 0, tenth);
    }
    return good ? EG_OK : eg_fail(EG_ESTATE, "nmt", "the loss did not fall");
}

static bool work(run *r, const options *o)
{
    job j = {.o = o};
    bool good = job_open(&j) && translator_save_with(&j.t, r) && run_optim(r, "adam", j.adam) &&
                eg_saver_dataset(r->saver, "train", j.train) == EG_OK && run_resume(r, &j.step);
    if (good) {
        printf("%lld steps of %lld pairs, %lld units, %lld parameters\n", (long long)j.steps, (long long)o->run.batch,
               (long long)o->units, (long long)translator_size(&j.t));
        good = train(&j, r) && (!o->run.smoke || fell(&j, r) == EG_OK);
    }
    if (good) {
        printf("checkpoints, attention maps and losses.png are in %s\n", r->folder.path.text);
    }
    job_close(&j);
    return good;
}

/* ---- translating ----------------------------------------------------------------------------- */

/* With a checkpoint, by default the newest of the folder. */
static bool infer(run *r, const options *o)
{
    translator t = {0};
    char name[64];
    long long latest = (long long)eg_saver_latest(r->saver);
    snprintf(name, sizeof name, "checkpoint-%010lld.safetensors", latest);
    run_path newest = run_folder_path(&r->folder, name);
    if (!o->model && latest < 0) {
        eg_failf(EG_ESTATE, "nmt", "there is no checkpoint in %s: train first, or say which --model",
                 r->folder.path.text);
        return false;
    }
    eg_status st = translator_open(&t, r, o->model ? o->model : newest.text);
    st = st ? st : show(&t, r, 0, o->infer, "attention.png");
    translator_free(&t);
    if (!st) {
        printf("%s\n", run_folder_path(&r->folder, "attention.png").text);
    }
    return st == EG_OK;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* What was not asked for depends on the sentences and on how much time there is. */
static void fill_in(options *o)
{
    bool real = o->run.data, smoke = o->run.smoke;
    o->pairs = o->pairs ? o->pairs : smoke ? 1000 : real ? 30000 : 12000;
    o->units = o->units ? o->units : smoke ? 64 : real ? 1024 : 128;
    o->embedding = o->embedding ? o->embedding : real ? 256 : 64;
    o->run.steps = smoke && !o->run.steps ? 80 : o->run.steps;
    o->save_every = smoke && !o->save_every ? 5 : o->save_every;
}

int main(int argc, char **argv)
{
    options o;
    const arg table[] = {
        RUN_OPTIONS(&o.run, "folder with spa.txt or spa.txt.gz; without it sentences are made by a grammar", "10",
                    "64"),
        ARG_INTEGER("pairs", &o.pairs, "0", 0, 10000000, "the first lines; 0: 30000, of the grammar 12000"),
        ARG_INTEGER("embedding", &o.embedding, "0", 0, 65536, "numbers per word; 0: 256, for the grammar 64"),
        ARG_INTEGER("units", &o.units, "0", 0, 65536, "numbers per state; 0: 1024, for the grammar 128"),
        ARG_INTEGER("save-every", &o.save_every, "0", 0, 1000000, "checkpoints also after so many steps"),
        ARG_TEXT("infer", &o.infer, NULL, "SENTENCE", "only translate this and draw attention.png"),
        ARG_TEXT("model", &o.model, NULL, "FILE", "the checkpoint to translate with; else the newest in --out"),
        ARG_TEXT("url", &o.url, NULL, "URL", "where get-data finds spa-eng.zip"),
        ARG_TEXT("sha256", &o.sha256, NULL, "SUM",
                 "what spa.txt there has as its sum, if it is another one; the archive's own is recorded when it is "
                 "first fetched, and holds from then on"),
    };
    args line = {.program = "nmt",
                 .about = "Learns to translate Spanish into English and shows where it looks while it writes. "
                          "`nmt get-data` fetches spa.txt into --data (egret-data/spa-eng).",
                 .table = table,
                 .count = ARG_COUNT(table),
                 .operand = "get-data",
                 .most_operands = 1};
    int status;
    if (!args_parse(&line, argc, argv, &status)) {
        return status;
    }
    if (line.operand_count) {
        return get_data(line.operands[0], o.run.data, o.url, o.sha256, line.program);
    }
    fill_in(&o);
    o.run.resume |= o.infer != NULL;
    run r;
    return run_end(&r, run_begin(&r, &o.run, "nmt", argv) && (o.infer ? infer : work)(&r, &o));
}
