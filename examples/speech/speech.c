/* speech.c - says which of a few words is in a clip, and when they are said in a long recording (Warden 2018). */
#include <stdlib.h>
#include <string.h>

#include "listen.h"
#include "nets.h"
#include "words.h"

enum { SHOWN = 24, PLANS = 8 };

typedef struct options {
    words_options words;
    listen_options listen;
    const char *net, *steps, *rates, *start, *checkpoint;
    int64_t every;
    bool judge;
} options;

typedef struct job {
    eg_run *run;
    const options *o;
    words *w;
    eg_module *net;
    eg_optim *sgd;
    eg_dataset *valid, *test;
    eg_metrics *found;
    int64_t judged; /* the step behind which it was last judged */
} job;

/* ---- steps and rates ------------------------------------------------------------------------- */

/* Numbers between commas; how many, 0: that is no list of up to PLANS of them above 0. */
static int numbers_of(const char *text, double *numbers)
{
    int n = 0;
    for (char *end = NULL; n < PLANS; text = end + 1) {
        numbers[n] = strtod(text, &end);
        if (end == text || !(numbers[n] > 0 && numbers[n] < 1e12) || (*end && *end != ',')) {
            return 0;
        }
        n++;
        if (!*end) {
            return n;
        }
    }
    return 0;
}

/* A rate for each number of steps; of another number in all (--steps) so much of each. */
static eg_status follow_plan(job *j)
{
    double steps[PLANS], rates[PLANS], sum = 0, so_far = 0;
    int n = numbers_of(j->o->steps, steps);
    if (n == 0 || n != numbers_of(j->o->rates, rates)) {
        return eg_run_refuse(j->run, "--how-many-training-steps and --learning-rate are as many numbers, not %s and %s",
                             j->o->steps, j->o->rates);
    }
    for (int i = 0; i < n; i++) {
        sum += steps[i];
    }
    eg_schedule plan = EG_SCHEDULE(.kind = n > 1 ? EG_RATE_PIECEWISE : EG_RATE_FIXED, .lr = rates[0]);
    for (int i = 1; i < n; i++) {
        so_far += steps[i - 1];
        int64_t at = (int64_t)(so_far / sum * (double)eg_run_steps(j->run));
        plan.at[i - 1] = i > 1 && at <= plan.at[i - 2] ? plan.at[i - 2] + 1 : at > 0 ? at : 1;
        plan.rates[i - 1] = rates[i];
    }
    return eg_optim_follow(j->sgd, &plan);
}

/* ---- training -------------------------------------------------------------------------------- */

static eg_tensor *loss(eg_module *net, eg_tensor *const *sample, eg_metrics *m, void *user)
{
    (void)user;
    eg_tensor *logits = eg_module_forward(net, sample[0]);
    eg_metrics_confusion(m, "accuracy", logits, sample[1]);
    return eg_cross_entropy(logits, sample[1]);
}

static void say_confusion(const job *j, const char *what)
{
    int n = 0;
    const char *const *labels = words_labels(j->w, &n);
    eg_tensor *counts = eg_to(eg_metrics_matrix(j->found, "accuracy"), eg_cpu());
    eg_run_say(j->run, "what was said (rows) and heard (columns), %s:", what);
    for (int i = 0; counts && i < n; i++) {
        char line[16 + 7 * WORDS_CLASSES_MAX];
        int at = snprintf(line, sizeof line, "%12.12s", labels[i]);
        for (int k = 0; k < n; k++) {
            at += snprintf(line + at, sizeof line - (size_t)at, "%6lld", (long long)eg_get(counts, i * n + k));
        }
        eg_run_say(j->run, "%s", line);
    }
}

/* Counts gathered over a part, as shares of what was said. */
static void draw_confusion(const job *j)
{
    int n = 0;
    const char *const *labels = words_labels(j->w, &n);
    eg_tensor *counts = eg_cast(eg_to(eg_metrics_matrix(j->found, "accuracy"), eg_cpu()), EG_F32);
    eg_tensor *all = eg_clamp_min(eg_sum(counts, .axes = EG_AXES(1), .keepdim = true), 1);
    eg_run_picture(j->run, "confusion",
                   eg_draw_heatmap(eg_div(counts, all), .title = "What was said (rows), what was heard",
                                   .row_words = labels, .column_words = labels, .most = 1));
}

/* How it does with a part of the clips; whether that came off. */
static bool judge(job *j, eg_dataset *part, const char *before)
{
    eg_run_heed(j->run, eg_metrics_reset(j->found));
    if (eg_evaluate(j->run, j->net, loss, part, j->found, NULL)) {
        return false;
    }
    EG_SCOPE {
        say_confusion(j, before);
        draw_confusion(j);
        char fields[2][32];
        snprintf(fields[0], sizeof fields[0], "%s/accuracy", before);
        snprintf(fields[1], sizeof fields[1], "%s/loss", before);
        double right = eg_metrics_value(j->found, "accuracy"), mean = eg_metrics_value(j->found, "loss");
        eg_run_log(j->run, EG_REAL(fields[0], right), EG_REAL(fields[1], mean));
        eg_run_say(j->run, "step %lld: %s accuracy %.1f %%, cross entropy %.4f (N=%lld)",
                   (long long)eg_run_step(j->run), before, 100 * right, mean,
                   (long long)eg_item(eg_sum(eg_metrics_matrix(j->found, "accuracy"))));
    }
    return !eg_run_status(j->run);
}

static eg_status validate(eg_run *run, void *user)
{
    job *j = user;
    if (j->judged == eg_run_step(run)) {
        return EG_OK;
    }
    j->judged = eg_run_step(run);
    if (!judge(j, j->valid, "valid")) {
        return eg_run_status(run);
    }
    eg_saver *saver = eg_run_saver(run);
    double right = eg_metrics_value(j->found, "accuracy");
    eg_status st = right <= eg_saver_best_score(saver) ? EG_OK : eg_saver_save_best(saver, j->judged, right);
    return st ? st : eg_module_train(j->net);
}

static void learn(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(sample, run)
        {
            eg_tape tape = eg_tape_open();
            eg_tensor *logits = eg_module_forward(j->net, sample[0]), *mean = eg_cross_entropy(logits, sample[1]);
            eg_run_minimize(run, j->sgd, tape, mean);
            eg_tensor *right = eg_eq(eg_argmax(logits, .axes = EG_AXES(1)), sample[1]);
            eg_run_note(run, EG_RUN_VALUE("loss", mean), EG_RUN_VALUE("accuracy", eg_mean(eg_cast(right, EG_F32))),
                        EG_RUN_NUMBER("rate", eg_optim_rate(j->sgd)));
        }
    }
}

/* ---- what came out --------------------------------------------------------------------------- */

/* Features of some clips with what they were heard as, in red where that is wrong. */
static eg_tensor *draw_clips(const job *j)
{
    int n = 0;
    const char *captions[SHOWN];
    bool wrong[SHOWN];
    const char *const *labels = words_labels(j->w, &n);
    eg_tensor *made = NULL;
    EG_RUN_EACH(sample, j->run, j->test)
    {
        int64_t count = eg_size(sample[0], 0), shown = count < SHOWN ? count : SHOWN;
        eg_tensor *at =
            eg_cast(eg_mul_scalar(eg_arange(0, (double)shown, 1, EG_F64), (double)count / (double)shown), EG_I64);
        at = eg_run_here(j->run, at);
        eg_tensor *some = eg_index_select(sample[0], 0, at);
        eg_tensor *said = eg_to(eg_index_select(sample[1], 0, at), eg_cpu());
        eg_tensor *heard = eg_to(eg_argmax(eg_module_forward(j->net, some), .axes = EG_AXES(1)), eg_cpu());
        for (int64_t i = 0; heard && said && i < shown; i++) {
            captions[i] = labels[(int)eg_get(heard, i)];
            wrong[i] = eg_get(heard, i) != eg_get(said, i);
        }
        /* Time to the right; the first coefficient, which says how loud it is, would outshine the others. */
        some = eg_transpose(eg_slice(some, 3, 1, eg_size(some, 3), 1), 2, 3);
        made = heard ? eg_keep(eg_draw_grid(some, .low = -8, .high = 8, .captions = captions, .wrong = wrong,
                                            .columns = 6, .scale = 2))
                     : NULL;
        break;
    }
    return eg_scope_adopt(made);
}

static eg_status save_labels(const job *j)
{
    int n = 0;
    const char *const *labels = words_labels(j->w, &n);
    eg_json *all = eg_json_object(), *list = eg_json_add_array(all, "labels");
    eg_status st = list ? eg_json_add_text(all, "net", j->o->net, strlen(j->o->net)) : eg_last_error()->code;
    for (int i = 0; i < n && !st; i++) {
        st = eg_json_add_text(list, NULL, labels[i], strlen(labels[i]));
    }
    st = st ? st : eg_json_save(all, eg_run_path(j->run, "labels.json").text, .indent = 2);
    eg_json_free(all);
    return st;
}

static void report(job *j)
{
    eg_path best = eg_run_path(j->run, "best.safetensors");
    eg_run_heed(j->run, eg_saver_restore_from(eg_run_saver(j->run), best.text, NULL, .allow_others = true));
    if (!eg_run_status(j->run) && judge(j, j->test, "test")) {
        EG_SCOPE {
            eg_run_picture(j->run, "clips", draw_clips(j));
        }
    }
    eg_run_plot(j->run, "loss.png", "Cross entropy", "loss, valid/loss");
    eg_run_plot(j->run, "accuracy.png", "Accuracy", "accuracy, valid/accuracy");
    eg_run_check_fell(j->run, "loss", 0.9);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static eg_dataset *batches(const job *j, words_part part)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    eg_dataset *d = words_dataset(j->w, part, (uint64_t)s->seed);
    return eg_dataset_prefetch(eg_dataset_batch(d, s->batch, .drop_last = part == WORDS_LEARNED), 4);
}

static eg_status open_job(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    int classes = 0;
    j->w = words_open(j->run, s->data, &j->o->words);
    if (!j->w) {
        return eg_run_status(j->run);
    }
    words_labels(j->w, &classes);
    eg_module *net = speech_net(j->o->net, words_frames(j->w), words_width(j->w), classes);
    j->net = eg_run_module(j->run, "net", net);
    j->found = eg_run_metrics(j->run, "found");
    return eg_run_status(j->run);
}

/* The best there is, or that of --checkpoint. */
static eg_status restore(const job *j)
{
    eg_path best = eg_run_path(j->run, "best.safetensors");
    return eg_run_restore(j->run, j->o->checkpoint ? j->o->checkpoint : best.text);
}

/* The weights of --start-checkpoint, which must be of the same net. */
static eg_status load_start(const job *j)
{
    eg_tensors *file = eg_tensors_open(j->o->start), *state = eg_module_state(j->net), *own = eg_tensors_new();
    eg_status st = file && state && own ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; !st && i < eg_tensors_count(state); i++) {
        char name[512];
        snprintf(name, sizeof name, "net/%s", eg_tensors_name(state, i));
        eg_tensor *t = eg_tensors_has(file, name) ? eg_tensors_get(file, name) : NULL;
        st = t ? eg_tensors_set(own, eg_tensors_name(state, i), t)
               : eg_failf(EG_EFORMAT, "speech", "--start-checkpoint %.200s has no %s", j->o->start, name);
    }
    st = st ? st : eg_module_load_state(j->net, own);
    eg_tensors_free(own);
    eg_tensors_free(state);
    eg_tensors_free(file);
    return st;
}

static eg_status train(job *j)
{
    const char *data = eg_run_settings_of(j->run)->data;
    if (!words_count(j->w, WORDS_LEARNED) || !words_count(j->w, WORDS_VALID) || !words_count(j->w, WORDS_TEST)) {
        return eg_run_heed(j->run, eg_fail(EG_EINVAL, "speech",
                                           "learning takes wanted words to learn from, to be "
                                           "judged by and to be tested by"));
    }
    eg_run_say(j->run, "%lld clips to learn from, %lld and %lld to be judged by (%s)",
               (long long)words_count(j->w, WORDS_LEARNED), (long long)words_count(j->w, WORDS_VALID),
               (long long)words_count(j->w, WORDS_TEST), data ? data : "made up");
    eg_run_say(j->run, "%s: %lld parameters", j->o->net, (long long)eg_module_numel(j->net));
    eg_run_train_on(j->run, batches(j, WORDS_LEARNED));
    j->valid = eg_run_dataset(j->run, NULL, batches(j, WORDS_VALID));
    j->test = eg_run_dataset(j->run, NULL, batches(j, WORDS_TEST));
    j->sgd = eg_run_optim(j->run, "sgd", eg_sgd_new(eg_module_parameters(j->net), .lr = 1e-3));
    eg_status st = eg_run_status(j->run);
    st = st || !j->o->start ? st : load_start(j);
    st = st ? st : follow_plan(j);
    st = st ? st : save_labels(j);
    st = st ? st
            : eg_run_hook(j->run,
                          &(eg_hook){.size = sizeof(eg_hook), .every = j->o->every, .step = validate, .user = j});
    if (!eg_run_heed(j->run, st)) {
        learn(j);
    }
    if (!eg_run_status(j->run)) {
        eg_run_heed(j->run, validate(j->run, j));
        report(j);
    }
    return eg_run_status(j->run);
}

/* What a trained net makes of the clips to test by. */
static eg_status test(job *j)
{
    j->test = eg_run_dataset(j->run, NULL, batches(j, WORDS_TEST));
    eg_status st = restore(j);
    if (!st && judge(j, j->test, "test")) {
        eg_run_picture(j->run, "clips", draw_clips(j));
    }
    return st ? st : eg_run_status(j->run);
}

/* Words in a recording. */
static eg_status listen_to(job *j)
{
    eg_status st = restore(j);
    return st ? st : listen(j->run, j->net, j->w, &j->o->listen);
}

static eg_status work(eg_run *run, void *user)
{
    job *j = calloc(1, sizeof *j);
    if (!j) {
        return eg_fail(EG_ENOMEM, "speech", "out of memory");
    }
    *j = (job){.run = run, .o = user};
    eg_status st = eg_run_heed(run, eg_run_own(run, j, free));
    EG_SCOPE {
        st = st ? st : open_job(j);
        st = st ? st : j->o->listen.recording ? listen_to(j) : j->o->judge ? test(j) : train(j);
    }
    return st;
}

/* ---- the command line ------------------------------------------------------------------------ */

static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    double steps[PLANS], sum = 0;
    o->rates = o->rates ? o->rates : s->smoke ? "0.02,0.002" : "0.001,0.0001";
    for (int i = 0, n = numbers_of(o->steps, steps); i < n; i++) {
        sum += steps[i];
    }
    s->steps = s->steps ? s->steps : (int64_t)sum;
    if (o->listen.recording) {
        s->data = NULL; /* no clip is needed */
        o->words.voices = 0;
    } else if (s->smoke) {
        o->words.voices = o->words.voices < 12 ? o->words.voices : 12;
    }
}

/* Flags of TensorFlow's speech_commands/train.py. */
static const eg_flag_alias aliases[] = {
    EG_FLAG_ALIAS("batch_size", "batch"),
    EG_FLAG_ALIAS("check_nans", "watch"),
    EG_FLAG_ALIAS("data_dir", "data"),
    EG_FLAG_ALIAS("data_url", "url"),
    EG_FLAG_ALIAS("save_step_interval", "save-every"),
    EG_FLAG_ALIAS("train_dir", "out"),
    EG_FLAG_IGNORED_BOOL("quantize", "weights are not quantized"),
    EG_FLAG_IGNORED("summaries_dir", "event files are in --out"),
    EG_FLAG_IGNORED("verbosity", "there is one level of messages"),
};

int main(int argc, char **argv)
{
    options o = {.net = NULL};
    words_options *w = &o.words;
    listen_options *l = &o.listen;
    const eg_flag flags[] = {
        EG_FLAG_CHOICE("model-architecture", &o.net, "conv", SPEECH_NETS, "the net"),
        EG_FLAG_TEXT("how-many-training-steps", &o.steps, "15000,3000", "N,..", "steps with each of the rates"),
        EG_FLAG_TEXT("learning-rate", &o.rates, NULL, "X,..",
                     "the rates (default 0.001,0.0001, with --smoke 0.02,0.002)"),
        EG_FLAG_TEXT("start-checkpoint", &o.start, NULL, "FILE", "begin with the weights of this checkpoint"),
        EG_FLAG_INTEGER("eval-step-interval", &o.every, "400", 1, INT32_MAX, "steps between two evaluations"),
        EG_FLAG_GROUP("clips"),
        EG_FLAG_TEXT("wanted-words", &w->wanted, "yes,no,up,down,left,right,on,off,stop,go", "WORD,..",
                     "those to tell apart; others are unknown"),
        EG_FLAG_REAL("silence-percentage", &w->silence, "10", 0, 1000, "so much silence, of the wanted words"),
        EG_FLAG_REAL("unknown-percentage", &w->unknown, "10", 0, 1000, "so many other words"),
        EG_FLAG_REAL("validation-percentage", &w->validation, "10", 0, 100, "of the speakers"),
        EG_FLAG_REAL("testing-percentage", &w->test, "10", 0, 100, "of the speakers"),
        EG_FLAG_REAL("background-volume", &w->volume, "0.1", 0, 1, "of noises, at most"),
        EG_FLAG_REAL("background-frequency", &w->often, "0.8", 0, 1, "how many clips have a noise"),
        EG_FLAG_REAL("time-shift-ms", &w->shift, "100", 0, 10000, "by how much clips are moved either way"),
        EG_FLAG_INTEGER("sample-rate", &w->rate, "16000", 1000, 192000, "samples a second"),
        EG_FLAG_INTEGER("clip-duration-ms", &w->clip, "1000", 50, 60000, "of a clip"),
        EG_FLAG_INTEGER("voices", &w->voices, "60", 3, 10000, "that are made up where there are no files"),
        EG_FLAG_GROUP("features"),
        EG_FLAG_CHOICE("preprocess", &w->features, "mfcc", "mfcc|average", "cepstra, or means of 6 bins of spectra"),
        EG_FLAG_REAL("window-size-ms", &w->frame, "30", 1, 1000, "of a frame"),
        EG_FLAG_REAL("window-stride-ms", &w->hop, "10", 1, 1000, "from frame to frame"),
        EG_FLAG_INTEGER("feature-bin-count", &w->bands, "40", 1, 1000, "cepstra of a frame"),
        EG_FLAG_GROUP("using it"),
        EG_FLAG_SWITCH("test", &o.judge, "only try a trained net on the clips to test by"),
        EG_FLAG_TEXT("listen", &l->recording, NULL, "FILE", "only say which words are in this recording, and when"),
        EG_FLAG_TEXT("checkpoint", &o.checkpoint, NULL, "FILE", "to do that with; else the best in --out"),
        EG_FLAG_INTEGER("clip-stride-ms", &l->stride, "30", 1, 10000, "from clip to clip"),
        EG_FLAG_INTEGER("average-window-ms", &l->window, "500", 1, 60000, "whose scores are averaged"),
        EG_FLAG_INTEGER("suppression-ms", &l->suppression, "500", 0, 60000, "behind a word no other one is heard"),
        EG_FLAG_INTEGER("minimum-count", &l->least, "3", 1, 1000, "scores that an average takes"),
        EG_FLAG_REAL("detection-threshold", &l->threshold, "0.7", 0, 1, "the average that is a word"),
    };
    return eg_run_main(
        argc, argv, work, &o, .name = "speech", .unit = "recordings",
        .about = "Learns to tell a few spoken words apart. `speech get-data` fetches Speech Commands into "
                 "--data (egret-data/speech_commands).",
        .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .settle = settle, .batch = 100, .save_every = 100,
        .smoke_steps = 30, .smoke_batch = 16, .without = "epochs", .aliases = aliases,
        .alias_count = EG_FLAG_COUNT(aliases), .get_data = words_get, .data_folder = "egret-data/speech_commands",
        .data = "folder with WORD/SPEAKER_nohash_TAKE.wav and _background_noise_/*.wav; without it words "
                "of vowels are made up");
}
