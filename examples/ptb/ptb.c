/* ptb.c - a language model of LSTM layers: learns which word comes next, and writes (Zaremba, Sutskever, Vinyals
 * 2014). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "reader.h"

enum { REPORTS = 10, SAMPLE_WORDS = 40 };

/* How the sizes of eg_lstm_lm_new are trained, as TensorFlow's program has it: the rate is that of --rate for `full`
 * epochs, and falls by `decay` at each one behind. */
static const struct plan {
    const char *name;
    int64_t window, full, epochs;
    double clip, decay;
} plans[] = {
    {"small", 20, 4, 13, 5, 0.5},
    {"medium", 35, 6, 39, 5, 0.8},
    {"large", 35, 14, 55, 10, 1 / 1.15},
    {"test", 2, 1, 1, 1, 0.5},
};

typedef struct options {
    const char *model, *generate, *checkpoint, *prompt;
    int64_t epochs, window, test_window, sentences, count;
    double rate, clip, dropout, temperature, ar, tar;
    eg_lstm_lm_options net;
} options;

typedef struct job {
    eg_run *run;
    const options *o;
    corpus c;
    reader reader;
    states states; /* behind the window before */
    eg_dataset *valid, *test;
    eg_optim *sgd;
    eg_metrics *learned; /* of the epoch so far */
} job;

static const struct plan *plan_of(const options *o)
{
    int i = 0;
    while (strcmp(plans[i].name, o->model) != 0) { /* one of them, or the flag was refused */
        i++;
    }
    return &plans[i];
}

/* ---- before ---------------------------------------------------------------------------------- */

static eg_status open_text(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    const options *o = j->o;
    corpus *c = &j->c;
    eg_status st = s->data ? corpus_read(c, s->data) : corpus_make(c, s->smoke ? 1000 : o->sentences);
    if (st) {
        return st;
    }
    eg_run_say(j->run, "%lld words to learn from, %lld and %lld to be judged by, %lld different ones (%s)",
               (long long)eg_numel(c->train), (long long)eg_numel(c->valid), (long long)eg_numel(c->test),
               (long long)eg_vocabulary_size(c->words), s->data ? s->data : "made by a grammar");
    if (c->least > 0) {
        eg_run_say(j->run, "knowing the grammar the perplexity of the test would be %.3f", c->least);
    }
    const eg_tensor *parts[2] = {c->train, c->valid};
    for (int i = 0; i < 2; i++) {
        const int64_t rows = i ? s->batch : s->batch * s->ranks;
        if (eg_numel(parts[i]) <= rows * o->window) {
            return eg_failf(
                EG_EINVAL, "ptb",
                "%s text of %lld words is too short for %lld rows of %lld words and one more: use a smaller "
                "--batch or --window, or more --data",
                i ? "a validation" : "a training", (long long)eg_numel(parts[i]), (long long)rows,
                (long long)o->window);
        }
    }
    eg_run_train_on(j->run, eg_token_windows_new(c->train, s->batch, o->window, .rank = s->rank, .ranks = s->ranks));
    j->valid = eg_run_dataset(j->run, NULL, eg_token_windows_new(c->valid, s->batch, o->window));
    j->test = eg_run_dataset(j->run, NULL, eg_token_windows_new(c->test, 1, o->test_window, .last = true));
    return eg_run_status(j->run);
}

/* Step t of epoch e, from 1, has the rate times decay^max(e - full, 0). */
static eg_status open_optim(job *j)
{
    const struct plan *p = plan_of(j->o);
    int64_t per_epoch = eg_run_per_epoch(j->run);
    eg_schedule rates = EG_SCHEDULE(.kind = EG_RATE_STEP, .lr = j->o->rate, .steps = per_epoch,
                                    .start = (p->full - 1) * per_epoch, .factor = p->decay);
    j->sgd = eg_run_optim(j->run, "sgd", eg_sgd_new(eg_module_parameters(j->reader.net), .lr = j->o->rate));
    j->learned = eg_run_metrics(j->run, "learned");
    eg_status st = eg_run_status(j->run);
    st = st ? st : eg_optim_clip_norm(j->sgd, j->o->clip);
    return st ? st : eg_optim_follow(j->sgd, &rates);
}

static void release(void *t)
{
    eg_release(t);
}

/* Checkpoints have the states too: a run may go on within a text. */
static eg_status open_states(job *j)
{
    states *s = &j->states;
    eg_status st = states_new(s, j->run, &j->reader, eg_run_settings_of(j->run)->batch);
    st = st ? st : eg_run_own(j->run, s->h, release);
    st = st ? st : eg_run_own(j->run, s->c, release);
    st = st ? st : eg_run_tensor_share(j->run, "h", s->h, 1);
    return st ? st : eg_run_tensor_share(j->run, "c", s->c, 1);
}

static eg_status open_job(job *j)
{
    eg_status st = open_text(j);
    st = st ? st : reader_new(&j->reader, j->run, j->o->model, j->o->net, j->c.words);
    j->reader.tokens = eg_numel(j->c.train);
    st = st ? st : reader_train_in(j->run, &j->reader);
    st = st ? st : open_optim(j);
    return st ? st : open_states(j);
}

/* ---- training -------------------------------------------------------------------------------- */

/* Ten times an epoch: how much of it is done, the perplexity of all of its words so far. */
static void report(job *j)
{
    eg_run *run = j->run;
    const eg_run_settings *s = eg_run_settings_of(run);
    int64_t of = eg_run_per_epoch(run), done = (eg_run_step(run) - 1) % of + 1;
    if (done * REPORTS / of != (done - 1) * REPORTS / of) {
        double perplexity = eg_metrics_value(j->learned, "perplexity");
        eg_run_log(run, EG_REAL("perplexity", perplexity));
        eg_run_say(run, "%.3f perplexity: %.3f speed: %.0f words/s", (double)done / (double)of, perplexity,
                   eg_run_speed(run) * (double)(s->batch * j->o->window));
    }
}

/* What activations cost: large ones, and those that change from step to step (Merity et al. 2017, section 4.3). */
static eg_tensor *restrain(const options *o, const eg_lm *made, eg_tensor *loss)
{
    int64_t steps = eg_size(made->y, 0);
    if (o->ar > 0) {
        loss = eg_add(loss, eg_mul_scalar(eg_mean(eg_square(made->dropped)), o->ar));
    }
    if (o->tar > 0 && steps > 1) {
        eg_tensor *change = eg_sub(eg_slice(made->y, 0, 1, steps, 1), eg_slice(made->y, 0, 0, steps - 1, 1));
        loss = eg_add(loss, eg_mul_scalar(eg_mean(eg_square(change)), o->tar));
    }
    return loss;
}

/* Words x [T, N] and the ones behind them. The cost is the sum over time of the mean over rows: clipping and rate are
 * made for that. */
static void learn_window(job *j, eg_tensor *x, eg_tensor *y)
{
    eg_run *run = j->run;
    eg_tape tape = eg_tape_open();
    eg_lm made = eg_lstm_lm_forward(j->reader.net, x, j->states.h, j->states.c);
    eg_tensor *loss = eg_cross_entropy(eg_flatten(made.logits, 0, 1), eg_flatten(y, 0, 1));
    eg_tensor *cost = eg_mul_scalar(restrain(j->o, &made, loss), (double)eg_size(x, 0));
    eg_run_minimize(run, j->sgd, tape, cost);
    eg_run_heed(run, eg_run_status(run) ? EG_OK : states_carry(&j->states, &made));
    eg_run_note(run, EG_RUN_VALUE("loss", loss), EG_RUN_NUMBER("rate", eg_optim_rate(j->sgd)));
    eg_run_heed(run, eg_metrics_perplexity(j->learned, "perplexity", loss, eg_numel(y)));
}

/* A text's beginning, for a person. */
static void show_text(job *j)
{
    const char *prompt = j->o->prompt ? j->o->prompt : "";
    char *text = reader_write(&j->reader, j->run, prompt, SAMPLE_WORDS, j->o->temperature);
    eg_run_heed(j->run, text ? EG_OK : eg_last_error()->code);
    if (text) {
        eg_run_say(j->run, "\n%s\n", text);
    }
    free(text);
}

static void end_of_epoch(job *j)
{
    eg_run *run = j->run;
    double learned = eg_metrics_value(j->learned, "perplexity");
    double valid = reader_perplexity(&j->reader, run, j->valid, eg_run_settings_of(run)->batch);
    eg_run_log(run, EG_REAL("train perplexity", learned), EG_REAL("valid perplexity", valid));
    eg_run_say(run, "epoch %lld: rate %.4f, perplexity %.3f, of text not learned from %.3f",
               (long long)eg_run_epoch(run), eg_run_latest_value(run, "rate"), learned, valid);
    if (!eg_run_status(run) && !(-valid <= eg_saver_best_score(eg_run_saver(run)))) {
        eg_run_heed(run, eg_saver_save_best(eg_run_saver(run), eg_run_step(run), -valid));
    }
    show_text(j);
    eg_run_heed(run, eg_metrics_reset(j->learned)); /* the next epoch begins the text anew */
    eg_run_heed(run, states_clear(&j->states));
}

/* Perplexities over epochs. */
static void draw_curves(job *j)
{
    static const char *const names[] = {"perplexity", "train perplexity", "valid perplexity"};
    EG_SCOPE {
        eg_draw_series all[3];
        int n = 0;
        for (int i = 0; i < 3; i++) {
            eg_tensor *y = eg_run_curve(j->run, names[i]), *there = eg_nonzero(eg_logical_not(eg_isnan(y)));
            eg_tensor *at = eg_reshape(there, EG_SHAPE(-1));
            eg_tensor *epoch = eg_div_scalar(eg_cast(eg_add_scalar(at, 1), EG_F64), (double)eg_run_per_epoch(j->run));
            if (eg_numel(at) > 0) {
                all[n++] = (eg_draw_series){.name = names[i], .x = epoch, .y = eg_index_select(y, 0, at)};
            }
        }
        eg_tensor *picture = eg_draw_plot(all, n, .title = "Perplexity", .x_label = "epoch", .log_y = true);
        eg_run_heed(j->run,
                    picture ? eg_png_save(picture, eg_run_path(j->run, "perplexity.png").text) : eg_last_error()->code);
    }
}

static eg_status learn(job *j)
{
    eg_run *run = j->run;
    eg_run_hush(run);
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(window, run)
        {
            learn_window(j, window[0], window[1]);
            report(j);
        }
        if (!eg_run_status(run)) {
            end_of_epoch(j);
        }
    }
    if (!eg_run_status(run)) {
        eg_run_say(run, "test perplexity: %.3f", reader_perplexity(&j->reader, run, j->test, 1));
        draw_curves(j);
    }
    return eg_run_check_fell(run, "loss", 0.8);
}

static eg_status train(eg_run *run, const options *o)
{
    job j = {.run = run, .o = o};
    eg_status st = eg_run_heed(run, open_job(&j));
    if (!st) {
        eg_run_say(run, "%s: %lld parameters, %lld windows of %lld words in %lld rows an epoch", o->model,
                   (long long)eg_module_numel(j.reader.net), (long long)eg_run_per_epoch(run), (long long)o->window,
                   (long long)eg_run_settings_of(run)->batch);
        st = learn(&j);
    }
    reader_free(&j.reader);
    corpus_free(&j.c);
    return st;
}

/* ---- writing --------------------------------------------------------------------------------- */

static eg_status generate(eg_run *run, const options *o)
{
    reader r = {0};
    eg_path newest = eg_run_latest(run);
    const char *path = o->checkpoint ? o->checkpoint : newest.text;
    if (!*path) {
        return eg_failf(EG_ESTATE, "ptb", "there is no checkpoint in %s: train first, or say which --checkpoint",
                        eg_run_path(run, "").text);
    }
    eg_status st = reader_open(&r, run, path);
    char *text = st ? NULL : reader_write(&r, run, o->generate, o->count, o->temperature);
    if (text) {
        eg_run_say(run, "%s", text);
    }
    st = st || text ? st : eg_last_error()->code;
    free(text);
    reader_free(&r);
    return st;
}

/* ---- the command line ------------------------------------------------------------------------ */

static eg_status work(eg_run *run, void *user)
{
    const options *o = user;
    return o->generate ? generate(run, o) : train(run, o);
}

/* What was not asked for is the model's. */
static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    const struct plan *p = plan_of(o);
    s->epochs = o->epochs ? o->epochs : p->epochs;
    o->window = o->window ? o->window : p->window;
    o->clip = o->clip > 0 ? o->clip : p->clip;
    o->net.dropout = o->dropout < 0 ? 0 : o->dropout > 0 ? o->dropout : EG_ZERO;
    o->net.width = s->smoke && !o->net.width ? 48 : o->net.width;
}

/* Flags of TensorFlow's ptb_word_lm.py. */
static const eg_flag_alias aliases[] = {
    EG_FLAG_ALIAS("data_path", "data"),
    EG_FLAG_ALIAS("save_path", "out"),
    EG_FLAG_ALIAS_VALUE("use_fp16", "precision", "f16"),
    EG_FLAG_IGNORED("num_gpus", "mpirun -n starts a process for each device"),
    EG_FLAG_IGNORED("rnn_mode", "there is one implementation of the LSTM, with the same result"),
};

int main(int argc, char **argv)
{
    options o = {.net = {0}};
    const eg_flag flags[] = {
        EG_FLAG_CHOICE("model", &o.model, "small", "small|medium|large|test", "size, and how it is trained"),
        EG_FLAG_INTEGER("epochs", &o.epochs, "0", 0, 100000, "passes over the text; 0: the model's 13, 39, 55, 1"),
        EG_FLAG_INTEGER("window", &o.window, "0", 0, 100000,
                        "words read before each step; 0: the model's 20, 35, 35, 2"),
        EG_FLAG_REAL("rate", &o.rate, "1", 1e-9, 1000, "learning rate of the first epochs"),
        EG_FLAG_REAL("clip", &o.clip, "0", 0, 1e9, "largest norm of all gradients; 0: the model's 5, 5, 10, 1"),
        EG_FLAG_INTEGER("sentences", &o.sentences, "8000", 10, 10000000, "to learn from, where there are no files"),
        EG_FLAG_INTEGER(
            "test-window", &o.test_window, "200", 1, 100000,
            "words of the test that are read at once, all one behind the other; 1: as TensorFlow's program, "
            "with the same result"),
        EG_FLAG_GROUP("the net"),
        EG_FLAG_INTEGER("width", &o.net.width, "0", 0, 65536, "of words and layers; 0: the model's 200, 650, 1500, 2"),
        EG_FLAG_REAL("dropout", &o.dropout, "-1", -1, 1, "between layers; -1: the model's 0, 0.5, 0.65, 0"),
        EG_FLAG_SWITCH("tied", &o.net.tied, "logits by the words' own numbers (Press and Wolf 2016)"),
        EG_FLAG_SWITCH("two-biases", &o.net.two_biases, "per layer, as PyTorch and cuDNN have them"),
        EG_FLAG_GROUP("of AWD-LSTM (Merity et al. 2017)"),
        EG_FLAG_SWITCH("variational", &o.net.variational, "dropout drops the same numbers at all steps of a window"),
        EG_FLAG_REAL("embedding-dropout", &o.net.embedding_dropout, "0", 0, 1, "of whole words"),
        EG_FLAG_REAL("weight-dropout", &o.net.weight_dropout, "0", 0, 1, "of the weights between steps"),
        EG_FLAG_REAL("ar", &o.ar, "0", 0, 1000, "what large activations cost"),
        EG_FLAG_REAL("tar", &o.tar, "0", 0, 1000, "what activations cost that change"),
        EG_FLAG_GROUP("writing"),
        EG_FLAG_TEXT("prompt", &o.prompt, NULL, "WORDS", "what the sample after each epoch begins with"),
        EG_FLAG_TEXT("generate", &o.generate, NULL, "WORDS",
                     "only go on with these, by the latest checkpoint in --out"),
        EG_FLAG_TEXT("checkpoint", &o.checkpoint, NULL, "FILE", "the checkpoint to do that with"),
        EG_FLAG_INTEGER("count", &o.count, "100", 1, 1000000, "words that --generate writes"),
        EG_FLAG_REAL("temperature", &o.temperature, "1", 0, 100, "below 1: likelier words; 0: always the likeliest"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "ptb", .unit = "sequences",
                       .about =
                           "Learns which word of a text comes next, and writes. `ptb get-data` fetches the words of "
                           "the Penn Treebank into --data (egret-data/ptb).",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .without = "epochs", .settle = settle,
                       .batch = 20, .save_every = 1000, .smoke_steps = 150, .get_data = corpus_get,
                       .data_folder = "egret-data/ptb", .aliases = aliases, .alias_count = EG_FLAG_COUNT(aliases),
                       .data = "folder with ptb.train.txt, ptb.valid.txt and ptb.test.txt; without it a grammar makes "
                               "sentences");
}
