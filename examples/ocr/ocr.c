/* ocr.c - reads what is on street signs, letter by letter, from several views of each (Wojna et al. 2017). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <egret/run.h>

#include "photo.h"
#include "sets.h"
#include "setup.h"
#include "show.h"

typedef struct options {
    sets_options sets;
    ocr_sizes sizes;
    const char *valid_set, *write, *schedule, *changes;
    double lr, decay, clip, smoothing;
    int64_t shown, judge_every;
    bool feedback, evaluate;
} options;

typedef struct job {
    eg_run *run;
    const options *o;
    sets sets;
    ocr_sizes sizes;
    eg_module *net;
    eg_optim *sgd;
    eg_dataset *others;
} job;

/* ---- learning ------------------------------------------------------------------------------------ */

static void learn(job *j, eg_tensor *const *sample)
{
    const options *o = j->o;
    eg_tape tape = eg_tape_open();
    eg_tensor *logits = ocr_read(j->net, sample[IMAGES], sample[TEXTS]).logits;
    eg_tensor *loss = ocr_loss(logits, sample[TEXTS], o->smoothing);
    eg_run_heed(j->run, loss ? ocr_step(j->net, j->sgd, tape, loss, o->decay, o->clip) : eg_last_error()->code);
    eg_tensor *right = eg_eq(eg_argmax(logits, .axes = EG_AXES(2)), sample[TEXTS]);
    eg_run_note(j->run, EG_RUN_VALUE("loss", loss), EG_RUN_VALUE("letters", eg_mean(eg_cast(right, EG_F32))),
                EG_RUN_NUMBER("rate", eg_optim_rate(j->sgd)));
}

/* What the net reads by itself, beside what there is: shares of letters and of whole texts. */
static eg_tensor *judge(eg_module *net, eg_tensor *const *sample, eg_metrics *m, void *user)
{
    const job *j = user;
    eg_tensor *logits = ocr_read(net, sample[IMAGES], NULL).logits, *texts = sample[TEXTS];
    eg_tensor *null = eg_eq_int(texts, j->sets.letters.null);
    eg_tensor *letters = eg_where(null, eg_full_like(texts, -1), texts);
    eg_status st = eg_metrics_accuracy(m, "letters", eg_flatten(logits, 0, 1), eg_flatten(letters, 0, 1));
    st = st ? st : eg_metrics_sequences(m, "texts", eg_argmax(logits, .axes = EG_AXES(2)), texts);
    return st ? NULL : ocr_loss(logits, texts, 0);
}

/* Behind an epoch. */
static void evaluate(job *j, eg_metrics *m)
{
    eg_run *run = j->run;
    if (eg_run_status(run) || eg_run_heed(run, eg_metrics_reset(m)) ||
        eg_evaluate(run, j->net, judge, j->others, m, j)) {
        return;
    }
    eg_run_log_metrics(run, "valid/", m);
    eg_saver *saver = eg_run_saver(run);
    const double score = eg_metrics_value(m, "texts");
    if (!(score <= eg_saver_best_score(saver))) {
        eg_run_heed(run, eg_saver_save_best(saver, eg_run_step(run), score));
    }
    eg_run_heed(run, eg_module_train(j->net));
}

/* ---- what was learned ---------------------------------------------------------------------------- */

/* The first text that is read right, or the first of all. */
static int64_t first_right(eg_tensor *read, eg_tensor *texts)
{
    eg_tensor *right = eg_cast(eg_all(eg_eq(read, texts), .axes = EG_AXES(1)), EG_I64);
    return right ? (int64_t)eg_item(eg_argmax(right)) : 0;
}

/* The first signs of the others with what is read, and for one of them from where. */
static void show(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EACH(sample, run, j->others)
    {
        const int64_t n = eg_size(sample[IMAGES], 0) < j->o->shown ? eg_size(sample[IMAGES], 0) : j->o->shown;
        eg_tensor *images = eg_slice(sample[IMAGES], 0, 0, n, 1), *texts = eg_slice(sample[TEXTS], 0, 0, n, 1);
        ocr_reading r = ocr_read(j->net, images, NULL);
        eg_tensor *read = eg_argmax(r.logits, .axes = EG_AXES(2));
        eg_run_picture(run, "read", show_read(&j->sets.letters, eg_to(images, eg_cpu()), read, texts));
        const int64_t one = first_right(read, texts);
        eg_run_picture(run, "attention",
                       show_attention(&j->sets.letters, eg_select(images, 0, one), eg_select(read, 0, one),
                                      eg_select(r.weights, 0, one)));
        break;
    }
}

static eg_status report(job *j, eg_metrics *m)
{
    eg_run *run = j->run;
    if (eg_run_status(run) || eg_run_heed(run, eg_metrics_reset(m)) ||
        eg_evaluate(run, j->net, judge, j->others, m, j)) {
        return eg_run_status(run);
    }
    eg_run_say(run, "letters %.2f %% right, whole texts %.2f %%", 100 * eg_metrics_value(m, "letters"),
               100 * eg_metrics_value(m, "texts"));
    if (j->o->shown) {
        show(j);
    }
    return eg_run_status(run);
}

/* ---- a run --------------------------------------------------------------------------------------- */

static eg_status open_net(job *j)
{
    j->net = eg_run_module(j->run, "net", ocr_new(&j->sizes));
    return eg_run_status(j->run);
}

static eg_status read_photos(job *j, char *const *files, int n)
{
    eg_run *run = j->run;
    eg_status st = eg_run_heed(run, setup_load(run, &j->sizes, &j->sets.letters));
    st = st ? st : open_net(j);
    st = st ? st : eg_run_restore(run, eg_run_path(run, "best.safetensors").text);
    st = st ? st : eg_run_heed(run, eg_module_eval(j->net));
    for (int i = 0; i < n && !st; i++) {
        EG_RUN_COMPUTES(run)
        {
            st = eg_run_heed(run, photo_read(run, j->net, &j->sizes, &j->sets.letters, files[i]));
        }
    }
    return eg_run_status(run);
}

static eg_status open_sets(job *j, const sets_options *o)
{
    eg_status st = eg_run_heed(j->run, sets_open(&j->sets, eg_run_settings_of(j->run)->data, o));
    if (st) {
        return st;
    }
    const eg_run_settings *s = eg_run_settings_of(j->run);
    const set_name valid = strcmp(j->o->valid_set, "test") == 0 ? SET_TEST : SET_VALIDATION;
    j->others = eg_run_dataset(j->run, NULL, sets_batches(&j->sets, valid, s->batch, 0));
    return eg_run_status(j->run);
}

/* Only what the best net in the folder is worth. */
static eg_status examine(job *j, eg_metrics *m)
{
    eg_run *run = j->run;
    charset letters;
    eg_status st = eg_run_heed(run, setup_load(run, &j->sizes, &letters));
    sets_options o = j->o->sets;
    o.side = j->sizes.side;
    o.views = j->sizes.views;
    o.length = j->sizes.length;
    st = st ? st : open_sets(j, &o);
    if (!st && memcmp(&letters, &j->sets.letters, sizeof letters) != 0) {
        return eg_failf(EG_EFORMAT, "ocr", "the net in this folder knows other letters than these signs have");
    }
    st = st ? st : open_net(j);
    st = st ? st : eg_run_restore(run, eg_run_path(run, "best.safetensors").text);
    return st ? st : report(j, m);
}

static eg_optim *optim_new(job *j)
{
    const options *o = j->o;
    const int64_t steps = eg_run_steps(j->run);
    eg_optim *sgd = eg_run_optim(j->run, "sgd", eg_sgd_new(eg_module_parameters(j->net), .lr = o->lr, .momentum = 0.9));
    if (!sgd || strcmp(o->schedule, "cosine") != 0) {
        return sgd;
    }
    if (steps <= 0) {
        eg_run_refuse(j->run, "how many records there are is not known: say --steps, or --schedule constant");
        return NULL;
    }
    const eg_schedule falls = EG_SCHEDULE(.kind = EG_RATE_COSINE, .lr = o->lr, .steps = steps);
    eg_run_heed(j->run, eg_optim_follow(sgd, &falls));
    return sgd;
}

static eg_status open_training(job *j)
{
    eg_run *run = j->run;
    const options *o = j->o;
    const eg_run_settings *s = eg_run_settings_of(run);
    if (open_sets(j, &o->sets)) {
        return eg_run_status(run);
    }
    j->sizes = o->sizes;
    j->sizes.side = j->sets.o.side;
    j->sizes.views = j->sets.o.views;
    j->sizes.length = j->sets.o.length;
    j->sizes.classes = j->sets.letters.count;
    eg_run_train_on(run, sets_batches(&j->sets, SET_TRAIN, s->batch, (uint64_t)s->seed));
    if (open_net(j)) {
        return eg_run_status(run);
    }
    j->sgd = optim_new(j);
    if (eg_run_status(run)) {
        return eg_run_status(run);
    }
    eg_run_heed(run, eg_run_open(run));
    return eg_run_heed(run, setup_save(run, &j->sizes, &j->sets.letters));
}

/* Whether that comes behind this step. */
static bool is_judged(const job *j)
{
    return j->o->judge_every && eg_run_step(j->run) % j->o->judge_every == 0;
}

static eg_status train(job *j, eg_metrics *m)
{
    eg_run *run = j->run;
    eg_status st = open_training(j);
    if (st) {
        return st;
    }
    eg_run_say(run, "%lld parameters; views of %lld pixels, %lld of a sign, %lld letters of %lld kinds",
               (long long)eg_module_numel(j->net), (long long)j->sizes.side, (long long)j->sizes.views,
               (long long)j->sizes.length, (long long)j->sizes.classes);
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(sample, run)
        {
            learn(j, sample);
            if (is_judged(j)) {
                evaluate(j, m);
            }
        }
        if (!is_judged(j)) {
            evaluate(j, m);
        }
    }
    if (!eg_run_status(run)) {
        eg_path best = eg_run_path(run, "best.safetensors");
        eg_run_heed(run, eg_saver_restore_from(eg_run_saver(run), best.text, NULL, .allow_others = true));
    }
    report(j, m);
    eg_run_plot(run, "loss.png", "Loss of a text", "loss, valid/loss");
    eg_run_plot(run, "accuracy.png", "Shares that are right", "letters, valid/letters, valid/texts");
    return eg_run_check_fell(run, "loss", 0.9);
}

static eg_status write_sets(job *j)
{
    eg_status st = eg_run_heed(j->run, sets_open(&j->sets, NULL, &j->o->sets));
    return st ? st : eg_run_heed(j->run, sets_write(&j->sets, j->run, j->o->write));
}

static void close_job(void *user)
{
    job *j = user;
    sets_close(&j->sets);
    free(j);
}

static eg_status work(eg_run *run, void *user)
{
    job *j = calloc(1, sizeof *j);
    if (!j) {
        return eg_fail(EG_ENOMEM, "ocr", "out of memory");
    }
    *j = (job){.run = run, .o = user};
    if (eg_run_heed(run, eg_run_own(run, j, close_job))) {
        return eg_run_status(run);
    }
    if (strcmp(eg_run_settings_of(run)->precision, "f16") == 0) {
        return eg_run_refuse(run, "--precision is f32, tf32 or bf16: of f16 gradients are scaled, and each is clipped");
    }
    int words;
    char *const *files = eg_run_operands(run, &words);
    eg_metrics *m = eg_run_metrics(run, "metrics");
    if (!m || words) {
        return m ? read_photos(j, files, words) : eg_run_status(run);
    }
    return j->o->write ? write_sets(j) : j->o->evaluate ? examine(j, m) : train(j, m);
}

/* ---- the command line ---------------------------------------------------------------------------- */

static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    o->sizes.no_feedback = !o->feedback;
    o->sets.plain = strcmp(o->changes, "all") != 0 && (!s->data || strcmp(o->changes, "files") != 0);
    if (s->smoke) {
        o->sets.side = o->sets.side ? o->sets.side : 48;
        o->sets.length = o->sets.length ? o->sets.length : NAME_LEAST;
        o->sets.drawn = o->sets.drawn < 64 ? o->sets.drawn : 64;
        o->sets.others = o->sets.others < 8 ? o->sets.others : 8;
        o->sizes.units = o->sizes.units < 32 ? o->sizes.units : 32;
        o->sizes.width = fmin(o->sizes.width, 0.125);
    }
}

int main(int argc, char **argv)
{
    options o = {.write = NULL};
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("side", &o.sets.side, "0", 0, 1024,
                        "of a view in pixels; 0: as files have it, of drawn signs 80; FSNS: 150"),
        EG_FLAG_INTEGER("views", &o.sets.views, "0", 0, VIEWS_MOST,
                        "of a sign; 0: as files have them, of drawn signs 2; FSNS: 4"),
        EG_FLAG_INTEGER("length", &o.sets.length, "0", 0, SETS_LONGEST,
                        "letters of a text at most; 0: as files have them, of drawn signs 10; FSNS: 37"),
        EG_FLAG_GROUP("net"),
        EG_FLAG_REAL("width", &o.sizes.width, "0.25", 0.01, 4, "of the trunk: its channels times that; published: 1"),
        EG_FLAG_INTEGER("units", &o.sizes.units, "256", 1, 8192, "of the LSTM"),
        EG_FLAG_BOOL("coordinates", &o.sizes.coordinates, "true", "places know their row and column"),
        EG_FLAG_BOOL("feedback", &o.feedback, "true", "a letter is told the one before it"),
        EG_FLAG_REAL("untold", &o.sizes.untold, "0.3", 0, 1,
                     "share of letters that are not told while learning, so that it looks; published: 0"),
        EG_FLAG_REAL("norm-decay", &o.sizes.norm_decay, "0.99", 0, 0.99999,
                     "of what norms know of earlier batches; published: 0.9997, for far more steps"),
        EG_FLAG_GROUP("learning"),
        EG_FLAG_REAL("lr", &o.lr, "0.02", 1e-9, 10, "learning rate; published: 0.004, for far more steps"),
        EG_FLAG_CHOICE("schedule", &o.schedule, "cosine", "cosine|constant",
                       "how it goes on: down along half a cosine, or, as published, as it is"),
        EG_FLAG_REAL("decay", &o.decay, "4e-5", 0, 1, "of the trunk's kernels and the last layer"),
        EG_FLAG_REAL("clip", &o.clip, "2", 0, 1e9, "norm that each gradient has at most; 0: any"),
        EG_FLAG_REAL("smoothing", &o.smoothing, "0.1", 0, 0.9, "of labels"),
        EG_FLAG_CHOICE("changes", &o.changes, "files", "files|all|none",
                       "signs that are cut and take other colours by chance while it learns: those of files, as none "
                       "that is drawn looks like another"),
        EG_FLAG_GROUP("signs"),
        EG_FLAG_INTEGER("drawn", &o.sets.drawn, "64000", 32, 100000000,
                        "signs to learn from, where there are no files"),
        EG_FLAG_INTEGER("others", &o.sets.others, "500", 1, 1000000,
                        "and not to learn from, for each of the two other sets"),
        EG_FLAG_INTEGER("lines", &o.sets.lines, "3", 1, 8, "of a drawn sign, at most"),
        EG_FLAG_CHOICE("valid-set", &o.valid_set, "validation", "validation|test", "the signs it is judged by"),
        EG_FLAG_TEXT("write", &o.write, NULL, "DIR", "only write the drawn signs as records, as FSNS has them"),
        EG_FLAG_SWITCH("evaluate", &o.evaluate, "only tell what the best net in --out is worth"),
        EG_FLAG_INTEGER("judge-every", &o.judge_every, "1000", 0, INT32_MAX,
                        "steps between two looks at what it is worth, beside those behind epochs; 0: none"),
        EG_FLAG_INTEGER("shown", &o.shown, "16", 0, 1000, "signs of a batch that are drawn with what was read"),
    };
    return eg_run_main(
        argc, argv, work, &o, .name = "ocr", .unit = "images",
        .about = "Trains a net to read street signs, letter by letter, looking at one place and another of "
                 "several views. `ocr PHOTO ...` reads what is on photos with the best net in --out.",
        .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .settle = settle, .epochs = 5, .batch = 16,
        .smoke_steps = 40, .smoke_batch = 8, .operand = "PHOTO", .most_operands = 10000,
        .data = "folder with records as FSNS has them and charset_size=*.txt; without it signs are drawn");
}
