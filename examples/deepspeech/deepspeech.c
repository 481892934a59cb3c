/* deepspeech.c - writes down what is said: spectra, convolutions and recurrent layers learn letters without being told
 * when each is said (Amodei et al. 2015, Deep Speech 2; Graves et al. 2006, CTC). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "talk.h"

enum { SHOWN = 4, WORDS_MOST = 64 };

typedef struct options {
    const char *test, *lm, *listen, *checkpoint;
    deepspeech_options net;
    int64_t held_out, made, width, order;
    double lr, alpha, beta;
} options;

typedef struct job {
    eg_run *run;
    options *o;
    talk learned, others;
    eg_module *features, *net;
    eg_optim *adam;
    eg_dataset *test;
    eg_ngram *lm;
    eg_metrics *found;
} job;

/* ---- letters ---------------------------------------------------------------------------------- */

/* Each word that ends is weighed by what was said before it, and counts by itself. */
static double language(void *user, const int64_t *labels, int64_t n, int64_t next)
{
    const job *j = user;
    int64_t words[WORDS_MOST], count = 0, to = n;
    if (next >= 0 && next != talk_letter(' ')) {
        return 0;
    }
    if (n ? labels[n - 1] == talk_letter(' ') : next >= 0) {
        return -(double)INFINITY; /* blanks are between words */
    }
    int order = eg_ngram_order(j->lm);
    while (to > 0 && count < order) { /* the words from behind */
        int64_t from = to;
        while (from > 0 && labels[from - 1] != talk_letter(' ')) {
            from--;
        }
        char *word = talk_text(labels + from, to - from);
        words[WORDS_MOST - ++count] = word ? eg_ngram_id(j->lm, word, strlen(word)) : -1;
        free(word);
        to = from - 1;
    }
    if (to <= 0 && count < order) {
        words[WORDS_MOST - ++count] = eg_ngram_id(j->lm, "<s>", 3);
    }
    const int64_t *from = words + WORDS_MOST - count;
    double p = n > 0 ? fmax(eg_ngram_score(j->lm, from, count), -50) * j->o->alpha + j->o->beta : 0;
    if (next < 0) {
        memmove(words, from, (size_t)count * sizeof *words);
        words[count] = eg_ngram_id(j->lm, "</s>", 4);
        p += fmax(eg_ngram_score(j->lm, words, count + 1), -50) * j->o->alpha;
    }
    return p;
}

/* Log probabilities [T, N, classes] as letters, i64 [N, T]. */
static eg_status decode(job *j, eg_tensor *log_probs, eg_tensor *frames, bool beams, eg_tensor **letters)
{
    eg_tensor *counts;
    if (!beams) {
        return eg_ctc_greedy(log_probs, frames, BLANK, letters, &counts);
    }
    return eg_ctc_beam(log_probs, letters, NULL, NULL, .input_lengths = frames, .blank = BLANK, .width = j->o->width,
                       .language = j->lm ? language : NULL, .user = j);
}

/* ---- learning --------------------------------------------------------------------------------- */

/* The mean over the rows. */
static eg_tensor *loss_of(eg_tensor *log_probs, eg_tensor *frames, eg_tensor *const *x)
{
    return eg_mean(eg_ctc_loss(log_probs, x[2], .input_lengths = frames, .target_lengths = x[3], .blank = BLANK,
                               .reduction = EG_NONE, .zero_infinity = true));
}

/* What a row was taken for, beside what was said. */
static eg_status compare(job *j, eg_tensor *letters, eg_tensor *const *x, int64_t row, const char *which, bool say)
{
    int64_t n = eg_size(letters, 1), said = (int64_t)eg_get(x[3], row);
    eg_tensor *heard = eg_contiguous(eg_select(letters, 0, row)), *truth = eg_contiguous(eg_select(x[2], 0, row));
    char *a = heard ? talk_text(eg_data(heard), n) : NULL, *b = truth ? talk_text(eg_data(truth), said) : NULL;
    char names[2][32];
    snprintf(names[0], sizeof names[0], "wer%s", which);
    snprintf(names[1], sizeof names[1], "cer%s", which);
    eg_status st = a && b ? EG_OK : eg_fail(EG_ENOMEM, "deepspeech", "out of memory");
    st = st ? st : eg_metrics_wer(j->found, names[0], a, b);
    st = st ? st : eg_metrics_cer(j->found, names[1], a, b);
    if (!st && say) {
        eg_run_say(j->run, "  said:  %s", b);
        eg_run_say(j->run, "  heard: %s", a);
    }
    free(a);
    free(b);
    return st;
}

static eg_status judge_batch(job *j, eg_tensor *const *x, int64_t *said)
{
    eg_tensor *frames, *letters[2] = {NULL, NULL}, *here[4];
    eg_tensor *log_probs = deepspeech_forward(j->net, x[0], x[1], &frames), *mean = loss_of(log_probs, frames, x);
    eg_status st = mean ? eg_metrics_mean(j->found, "loss", mean) : eg_last_error()->code;
    for (int k = 0; k < 2 && !st; k++) {
        st = k && j->o->width <= 1 ? EG_OK : decode(j, log_probs, frames, k, &letters[k]);
        letters[k] = letters[k] ? eg_to(letters[k], eg_cpu()) : NULL;
        here[2 + k] = eg_to(x[2 + k], eg_cpu());
    }
    for (int64_t i = 0; i < eg_size(x[0], 0) && !st; i++) {
        bool say = (*said)++ < SHOWN;
        st = compare(j, letters[0], here, i, letters[1] ? " greedy" : "", say && !letters[1]);
        st = st || !letters[1] ? st : compare(j, letters[1], here, i, "", say);
    }
    return st;
}

static eg_status judge(job *j)
{
    int64_t said = 0;
    eg_status st = eg_metrics_reset(j->found);
    st = st ? st : eg_module_eval(j->net);
    EG_RUN_EACH(x, j->run, j->test)
    {
        eg_run_heed(j->run, st ? st : judge_batch(j, x, &said));
    }
    if (eg_run_status(j->run)) {
        return eg_run_status(j->run);
    }
    double wer = eg_metrics_value(j->found, "wer"), cer = eg_metrics_value(j->found, "cer");
    eg_run_log_metrics(j->run, "valid/", j->found);
    if (j->o->width > 1) {
        eg_run_say(j->run, "without beams: words %.2f %% wrong, letters %.2f %%",
                   100 * eg_metrics_value(j->found, "wer greedy"), 100 * eg_metrics_value(j->found, "cer greedy"));
    }
    eg_run_say(j->run, "epoch %lld: words %.2f %% wrong, letters %.2f %%", (long long)eg_run_epoch(j->run), 100 * wer,
               100 * cer);
    eg_saver *saver = eg_run_saver(j->run);
    st = -wer <= eg_saver_best_score(saver) ? EG_OK : eg_saver_save_best(saver, eg_run_step(j->run), -wer);
    return eg_run_heed(j->run, st ? st : eg_module_train(j->net));
}

static eg_status learn(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(x, run)
        {
            eg_tensor *frames;
            eg_tape tape = eg_tape_open();
            eg_tensor *log_probs = deepspeech_forward(j->net, x[0], x[1], &frames);
            eg_tensor *loss = loss_of(log_probs, frames, x);
            eg_run_minimize(run, j->adam, tape, loss);
            eg_run_note(run, EG_RUN_VALUE("loss", loss));
        }
        EG_SCOPE {
            eg_run_heed(run, eg_run_status(run) ? EG_OK : judge(j));
        }
    }
    eg_run_plot(run, "loss.png", "CTC loss of an utterance", "loss, valid/loss");
    eg_run_plot(run, "errors.png", "Errors", "valid/wer, valid/cer");
    return eg_run_check_fell(run, "loss", 0.9);
}

/* ---- using it --------------------------------------------------------------------------------- */

static eg_status write_down(job *j)
{
    eg_path best = eg_run_path(j->run, "best.safetensors");
    eg_status st = eg_run_restore(j->run, j->o->checkpoint ? j->o->checkpoint : best.text);
    st = st ? st : eg_module_eval(j->net);
    EG_RUN_COMPUTES(j->run)
    {
        eg_tensor *x = st ? NULL : talk_load(j->features, j->o->listen), *frames, *letters;
        eg_tensor *lengths = x ? eg_run_here(j->run, eg_full_int(EG_SHAPE(1), eg_size(x, 0), EG_I64)) : NULL;
        eg_tensor *log_probs =
            lengths ? deepspeech_forward(j->net, eg_unsqueeze(eg_run_here(j->run, x), 0), lengths, &frames) : NULL;
        st = st ? st : log_probs ? decode(j, log_probs, frames, j->o->width > 1, &letters) : eg_last_error()->code;
        letters = st ? NULL : eg_to(letters, eg_cpu());
        char *text = letters ? talk_text(eg_data(letters), eg_numel(letters)) : NULL;
        eg_run_say(j->run, "%s", text ? text : "");
        free(text);
        eg_tensor *paths = st ? NULL : eg_transpose(eg_exp(eg_to(eg_select(log_probs, 1, 0), eg_cpu())), 0, 1);
        const char *rows[CLASSES];
        static char names[CLASSES][2];
        for (int i = 0; i < CLASSES; i++) {
            char *one = i == BLANK ? NULL : talk_text(&(int64_t){i}, 1);
            names[i][0] = i == BLANK ? '-' : one && *one != ' ' ? *one : '_';
            rows[i] = names[i];
            free(one);
        }
        if (paths && eg_size(paths, 1) <= 2000) {
            eg_run_picture(
                j->run, "letters",
                eg_draw_heatmap(paths, .title = "When which letter was heard", .row_words = rows, .most = 1));
        }
    }
    return st ? st : eg_run_status(j->run);
}

/* ---- a run ------------------------------------------------------------------------------------ */

static eg_status open_talk(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    const options *o = j->o;
    eg_status st = s->data ? talk_read(&j->learned, s->data) : talk_make(&j->learned, o->made, false);
    if (o->test) {
        st = st ? st : talk_read(&j->others, o->test);
    } else if (!s->data) {
        st = st ? st : talk_make(&j->others, (o->made + 9) / 10, true);
    } else if (o->held_out) {
        st = st ? st : talk_split(&j->learned, o->held_out, &j->others);
    }
    j->learned.features = j->others.features = j->features;
    eg_run_say(j->run, "%lld utterances to learn from, %lld to be judged by (%s)", (long long)j->learned.count,
               (long long)(j->others.count ? j->others.count : j->learned.count), s->data ? s->data : "made up");
    return st ? st
           : j->learned.count >= s->batch
               ? EG_OK
               : eg_failf(EG_EINVAL, "deepspeech",
                          "%lld recordings to learn from are not enough for a batch of %lld: "
                          "use a smaller --batch or --held-out, or more --data",
                          (long long)j->learned.count, (long long)s->batch);
}

static eg_status open_language(job *j)
{
    if (!j->o->lm && !j->o->order) {
        return EG_OK;
    }
    j->lm = j->o->lm ? eg_ngram_load(j->o->lm) : eg_ngram_train(talk_sentences(&j->learned), (int)j->o->order);
    return !j->lm     ? eg_last_error()->code
           : j->o->lm ? EG_OK
                      : eg_ngram_save(j->lm, eg_run_path(j->run, "words.arpa").text);
}

static eg_status train(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    eg_status st = open_talk(j);
    if (st) {
        return st;
    }
    j->adam = eg_run_optim(j->run, "adam", eg_adam_new(eg_module_parameters(j->net), .lr = j->o->lr));
    j->found = eg_run_metrics(j->run, "found");
    eg_run_train_on(j->run, talk_batches(&j->learned, s->batch, true, (uint64_t)s->seed));
    j->test =
        eg_run_dataset(j->run, NULL, talk_batches(j->others.count ? &j->others : &j->learned, s->batch, false, 0));
    st = eg_run_status(j->run) ? eg_run_status(j->run) : eg_run_open(j->run);
    st = st ? st : open_language(j);
    if (st) {
        return st;
    }
    eg_run_say(j->run, "%lld parameters", (long long)eg_module_numel(j->net));
    return learn(j);
}

static void close_job(void *user)
{
    job *j = user;
    talk_free(&j->learned);
    talk_free(&j->others);
    eg_ngram_free(j->lm);
    eg_module_free(j->features);
    free(j);
}

static eg_status work(eg_run *run, void *user)
{
    job *j = calloc(1, sizeof *j);
    if (!j) {
        return eg_fail(EG_ENOMEM, "deepspeech", "out of memory");
    }
    *j = (job){.run = run, .o = user};
    eg_status st = eg_run_heed(run, eg_run_own(run, j, close_job));
    EG_SCOPE {
        j->features = st ? NULL : talk_features();
        j->net = eg_run_module(run, "net", j->features ? deepspeech_net(BINS, CLASSES, &j->o->net) : NULL);
        st = eg_run_status(run);
        if (!st && j->o->listen) {
            j->lm = j->o->lm ? eg_ngram_load(j->o->lm) : NULL;
            st = j->o->lm && !j->lm ? eg_last_error()->code : write_down(j);
        } else if (!st) {
            st = train(j);
        }
    }
    return st ? st : eg_run_status(run);
}

static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    if (s->smoke) {
        o->made = o->made < 80 ? o->made : 80;
        o->net.filters = o->net.filters < 4 ? o->net.filters : 4;
        o->net.hidden = o->net.hidden < 24 ? o->net.hidden : 24;
        o->net.layers = o->net.layers < 2 ? o->net.layers : 2;
        o->net.decay = 0.8;
        o->lr = 5e-3;
    }
}

int main(int argc, char **argv)
{
    options o = {.test = NULL};
    const eg_flag flags[] = {
        EG_FLAG_TEXT("test-data", &o.test, NULL, "DIR", "utterances to be judged by; else some of --data"),
        EG_FLAG_INTEGER("held-out", &o.held_out, "10", 0, 1000000,
                        "each so many-th of --data is not learned from; 0: judged by those learned from"),
        EG_FLAG_INTEGER("made", &o.made, "2000", 10, 10000000, "utterances that are made up where there are no files"),
        EG_FLAG_REAL("learning-rate", &o.lr, "5e-4", 1e-9, 10, "Adam's"),
        EG_FLAG_GROUP("net"),
        EG_FLAG_INTEGER("filters", &o.net.filters, "32", 1, 4096, "of a convolution"),
        EG_FLAG_INTEGER("rnn-hidden-layers", &o.net.layers, "5", 1, 32, "recurrent ones"),
        EG_FLAG_INTEGER("rnn-hidden-size", &o.net.hidden, "800", 1, 100000, "units of each direction"),
        EG_FLAG_CHOICE("rnn-type", &o.net.cell, "gru", "gru|lstm", "kind of them"),
        EG_FLAG_REAL("batch-norm-decay", &o.net.decay, "0.997", 0, 0.999999, "of the statistics of norms"),
        EG_FLAG_SWITCH("one-way", &o.net.one_way, "they read forwards only"),
        EG_FLAG_GROUP("writing down"),
        EG_FLAG_INTEGER("beams", &o.width, "1", 1, 65536, "beginnings that are followed; 1: the likeliest letters"),
        EG_FLAG_TEXT("lm", &o.lm, NULL, "FILE", "n-grams of words, an ARPA file, that beams listen to"),
        EG_FLAG_INTEGER("lm-order", &o.order, "0", 0, 16, "instead: n-grams of what is learned from; words.arpa"),
        EG_FLAG_REAL("lm-weight", &o.alpha, "0.8", 0, 100, "of a word's logarithm"),
        EG_FLAG_REAL("word-bonus", &o.beta, "1", -100, 100, "for each word, as more words are less likely"),
        EG_FLAG_TEXT("listen", &o.listen, NULL, "FILE", "only write down what is said in this file"),
        EG_FLAG_TEXT("checkpoint", &o.checkpoint, NULL, "FILE", "to do that with; else the best in --out"),
    };
    return eg_run_main(
        argc, argv, work, &o, .name = "deepspeech", .unit = "recordings", .about = "Learns to write down what is said.",
        .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .settle = settle, .epochs = 10, .batch = 128,
        .save_every = 500, .smoke_steps = 30, .smoke_batch = 8,
        .data = "folder of LibriSpeech's layout (*.trans.txt and .flac) or LJ Speech's (metadata.csv and "
                "wavs); without it utterances are made up of tones");
}
