/* transformer.c - learns to translate by attention alone (Vaswani et al. 2017), as TensorFlow's official/transformer.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "judge.h"
#include "numbers.h"

enum { VALID = 500, PREFETCH = 8 };

/* The sizes, and how each is trained unless told otherwise. */
static const struct plan {
    const char *name;
    int64_t width, heads, hidden, layers, tokens, warm_up;
    double rate;
} plans[] = {
    {"tiny", 32, 4, 256, 6, 1024, 16000, 2},
    {"small", 256, 4, 1024, 3, 2048, 1000, 1}, /* our own, for tens of thousands of pairs */
    {"base", 512, 8, 2048, 6, 2048, 16000, 2},
    {"big", 1024, 16, 4096, 6, 4096, 16000, 2},
};

typedef struct options {
    const char *model, *from, *to, *vocabulary_file, *checkpoint;
    const char *translate, *translate_file, *evaluate, *reference;
    int64_t pairs, vocabulary, vocabulary_bytes, tokens, longest, warm_up, judged;
    double rate, smoothing, dropout;
    search search;
} options;

typedef struct job {
    eg_run *run;
    const options *o;
    translator t;
    lines train, valid, test;
    eg_dataset *valid_batches;
    eg_optim *adam;
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

static eg_status read_lines(job *j, const char *data)
{
    const char *const languages[2] = {j->o->from, j->o->to};
    eg_status st = lines_read(&j->train, data, "train", languages, j->o->pairs);
    st = st ? st : lines_read(&j->valid, data, "val", languages, INT32_MAX);
    return st ? st : lines_read(&j->test, data, "test", languages, INT32_MAX);
}

/* Numbers that are all different. */
static eg_status make_lines(job *j)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *order = eg_permutation(NUMBERS);
        int64_t n = j->o->pairs < NUMBERS - 2 * VALID ? j->o->pairs : NUMBERS - 2 * VALID;
        st = lines_make(&j->train, eg_slice(order, 0, 2 * VALID, 2 * VALID + n, 1));
        st = st ? st : lines_make(&j->valid, eg_slice(order, 0, 0, VALID, 1));
        st = st ? st : lines_make(&j->test, eg_slice(order, 0, VALID, 2 * VALID, 1));
    }
    return st;
}

static eg_tokenizer *open_words(job *j)
{
    const options *o = j->o;
    eg_tokenizer *words = o->vocabulary_file ? eg_tokenizer_load(o->vocabulary_file)
                                             : lines_subtokens(&j->train, o->vocabulary, o->vocabulary_bytes);
    if (words && eg_tokenizer_frame(words, "$A <EOS>", NULL)) {
        eg_tokenizer_free(words);
        words = NULL;
    }
    return words;
}

static eg_status open_data(job *j)
{
    const options *o = j->o;
    const eg_run_settings *s = eg_run_settings_of(j->run);
    int64_t learned = 0, others = 0;
    eg_dataset *train = lines_pairs(&j->train, j->t.words, o->longest, &learned);
    train = eg_dataset_shuffle(train, learned ? learned : 1, .seed = (uint64_t)s->seed);
    /* The few pairs that are left over at the end of a pass would undo what the rest has taught. */
    eg_run_train_on(j->run, eg_dataset_prefetch(pairs_batches(train, o->tokens, o->longest, false), PREFETCH));
    eg_dataset *valid = lines_pairs(&j->valid, j->t.words, o->longest, &others);
    j->valid_batches = eg_run_dataset(j->run, NULL, pairs_batches(valid, o->tokens, o->longest, true));
    eg_run_say(j->run, "%lld pairs to learn from, %lld and %lld to be judged by, %lld subtokens (%s)",
               (long long)learned, (long long)others, (long long)j->test.count,
               (long long)eg_tokenizer_size(j->t.words), s->data ? s->data : "numbers in words");
    return eg_run_status(j->run);
}

static eg_status open_optim(job *j)
{
    const options *o = j->o;
    const eg_schedule rates = EG_SCHEDULE(.kind = EG_RATE_INVERSE_SQRT, .lr = o->rate, .steps = o->warm_up, .start = -1,
                                          .width = (double)plan_of(o)->width);
    j->adam = eg_run_optim(j->run, "adam",
                           eg_adam_new(eg_module_parameters(j->t.net), .lr = o->rate, .beta1 = 0.9, .beta2 = 0.997,
                                       .eps = 1e-9, .epsilon_outside = true, .lazy = true));
    return eg_run_status(j->run) ? eg_run_status(j->run) : eg_optim_follow(j->adam, &rates);
}

static eg_status open_job(job *j)
{
    const options *o = j->o;
    const struct plan *p = plan_of(o);
    const double dropout = o->dropout > 0 ? o->dropout : EG_ZERO;
    const char *data = eg_run_settings_of(j->run)->data;
    eg_status st = data ? read_lines(j, data) : make_lines(j);
    eg_tokenizer *words = st ? NULL : open_words(j);
    if (!words) {
        return eg_last_error()->code;
    }
    st = translator_new(&j->t, j->run, words,
                        &(eg_transformer_options){.width = p->width,
                                                  .heads = p->heads,
                                                  .hidden = p->hidden,
                                                  .layers = p->layers,
                                                  .dropout = dropout,
                                                  .attention_dropout = dropout,
                                                  .hidden_dropout = dropout});
    st = st ? st : open_data(j);
    st = st ? st : open_optim(j);
    st = st ? st : eg_run_open(j->run);
    return st ? st : eg_tokenizer_save(j->t.words, eg_run_path(j->run, "subtokens.txt").text);
}

/* ---- training -------------------------------------------------------------------------------- */

/* Translations of texts nobody learned from, the first of them shown. */
static void show(job *j, const lines *l, int64_t n, bool all)
{
    eg_tensor **made = calloc((size_t)n + 1, sizeof *made);
    eg_status st = made ? translate(&j->t, j->run, l->texts[0], n, &j->o->search, made)
                        : eg_fail(EG_ENOMEM, "transformer", "out of memory for the translations");
    for (int64_t i = 0; i < n && i < 3 && !st; i++) {
        eg_run_say(j->run, "  %.*s\n  -> %.*s", (int)eg_numel(l->texts[0][i]), (const char *)eg_data(l->texts[0][i]),
                   (int)eg_numel(made[i]), (const char *)eg_data(made[i]));
    }
    bleus b = st ? (bleus){0} : judge_texts(made, l->texts[1], n);
    eg_run_heed(j->run, st ? st : b.st);
    if (!eg_run_status(j->run)) {
        eg_run_log(j->run, EG_REAL(all ? "test bleu" : "valid bleu", b.uncased));
        eg_run_say(j->run, "  BLEU %.2f, with case %.2f, %.2f %% right to the letter, of %lld texts by %lld beams",
                   b.uncased, b.cased, 100 * b.right, (long long)n, (long long)j->o->search.beams);
    }
    if (all && !eg_run_status(j->run)) {
        eg_run_heed(j->run, translator_draw(&j->t, j->run, l->texts[0][0], made[0]));
    }
    for (int64_t i = 0; made && i < n; i++) {
        eg_release(made[i]);
    }
    free(made);
}

static void end_of_epoch(job *j)
{
    judged v = judge_pairs(&j->t, j->run, j->valid_batches);
    eg_run_log(j->run, EG_REAL("valid loss", v.loss), EG_REAL("valid accuracy", v.accuracy));
    eg_run_say(j->run, "of pairs not learned from: loss %.4f, %.2f %% of subtokens, %.2f %% of whole texts", v.loss,
               100 * v.accuracy, 100 * v.whole);
    if (!eg_run_status(j->run) && j->o->judged) {
        show(j, &j->valid, j->o->judged < j->valid.count ? j->o->judged : j->valid.count, false);
    }
    eg_run_plot(j->run, "losses.png", "Translating: loss per subtoken", "loss, valid loss");
    eg_run_heed(j->run, eg_module_train(j->t.net));
}

/* Pairs [N, S] and [N, T], 0 behind their ends. */
static void learn_pairs(job *j, eg_tensor *source, eg_tensor *target)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *loss = smoothed_loss(eg_transformer_forward(j->t.net, source, target), target, j->o->smoothing);
    eg_run_minimize(j->run, j->adam, tape, loss);
    eg_run_note(j->run, EG_RUN_VALUE("loss", loss), EG_RUN_NUMBER("rate", eg_optim_rate(j->adam)));
}

static eg_status learn(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(pairs, run)
        {
            learn_pairs(j, pairs[0], pairs[1]);
        }
        if (!eg_run_status(run)) {
            end_of_epoch(j);
        }
    }
    if (!eg_run_status(run)) {
        eg_run_say(run, "the test:");
        show(j, &j->test, eg_run_settings_of(run)->smoke ? 4 : j->test.count, true);
    }
    return eg_run_check_fell(run, "loss", 0.8);
}

static eg_status train(eg_run *run, const options *o)
{
    job j = {.run = run, .o = o};
    eg_status st = eg_run_heed(run, open_job(&j));
    if (!st) {
        eg_run_say(run, "%s: %lld parameters, about %lld tokens of each language in a step", o->model,
                   (long long)eg_module_numel(j.t.net), (long long)o->tokens);
        st = learn(&j);
    }
    translator_free(&j.t);
    lines_free(&j.train);
    lines_free(&j.valid);
    lines_free(&j.test);
    return st;
}

/* ---- using it -------------------------------------------------------------------------------- */

static eg_status translate_one(eg_run *run, const translator *t, const options *o)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *text = eg_text(o->translate), *made = NULL;
        st = translate(t, run, &text, 1, &o->search, &made);
        if (!st) {
            eg_run_say(run, "%.*s", (int)eg_numel(made), (const char *)eg_data(made));
            st = translator_draw(t, run, text, made);
        }
        eg_release(made);
    }
    return st;
}

/* A line of translation for each of a file. */
static eg_status translate_lines(eg_run *run, const translator *t, const options *o)
{
    lines l = {0};
    eg_status st = lines_of(&l, o->translate_file, 0);
    eg_tensor **made = calloc((size_t)l.count + 1, sizeof *made);
    st = st || made ? st : eg_fail(EG_ENOMEM, "transformer", "out of memory for the translations");
    st = st ? st : translate(t, run, l.texts[0], l.count, &o->search, made);
    for (int64_t i = 0; i < l.count && made; i++) {
        if (!st) {
            eg_run_say(run, "%.*s", (int)eg_numel(made[i]), (const char *)eg_data(made[i]));
        }
        eg_release(made[i]);
    }
    free(made);
    lines_free(&l);
    return st;
}

static eg_status use(eg_run *run, const options *o)
{
    translator t = {0};
    eg_status st = translator_open(&t, run, o->checkpoint, o->vocabulary_file);
    st = st ? st : o->translate ? translate_one(run, &t, o) : translate_lines(run, &t, o);
    translator_free(&t);
    return st;
}

/* BLEU of one file by another. */
static eg_status evaluate(eg_run *run, const options *o)
{
    lines l = {0};
    eg_status st = lines_of(&l, o->evaluate, 0);
    st = st ? st : lines_of(&l, o->reference, 1);
    bleus b = st ? (bleus){.st = st} : judge_texts(l.texts[0], l.texts[1], l.count);
    if (!b.st) {
        eg_run_say(run, "BLEU %.2f, with case %.2f, of %lld texts", b.uncased, b.cased, (long long)l.count);
    }
    lines_free(&l);
    return b.st;
}

/* ---- the command line ------------------------------------------------------------------------ */

static eg_status work(eg_run *run, void *user)
{
    const options *o = user;
    if (o->evaluate || o->reference) {
        return o->evaluate && o->reference ? evaluate(run, o)
                                           : eg_run_refuse(run, "--bleu-source and --bleu-ref need each other");
    }
    return o->translate || o->translate_file ? use(run, o) : train(run, o);
}

/* What was not asked for is the model's. */
static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    if (s->smoke) {
        o->model = "tiny";
    }
    const struct plan *p = plan_of(o);
    o->tokens = o->tokens ? o->tokens : s->smoke ? 512 : p->tokens;
    o->warm_up = o->warm_up ? o->warm_up : s->smoke ? 30 : p->warm_up;
    o->rate = o->rate > 0 ? o->rate : s->smoke ? 0.3 : p->rate;
    o->pairs = o->pairs ? o->pairs : s->smoke ? 1000 : s->data ? INT32_MAX : 20000;
    o->vocabulary = o->vocabulary ? o->vocabulary : s->data ? 8192 : 200;
    o->judged = s->smoke ? 4 : o->judged;
}

int main(int argc, char **argv)
{
    options o = {0};
    const eg_flag flags[] = {
        EG_FLAG_CHOICE("model", &o.model, "small", "tiny|small|base|big", "size, and how it is trained"),
        EG_FLAG_TEXT("from", &o.from, "en", "LANGUAGE", "how the files to be read end: train.en, val.en, test.en"),
        EG_FLAG_TEXT("to", &o.to, "de", "LANGUAGE", "and those to be written"),
        EG_FLAG_INTEGER("pairs", &o.pairs, "0", 0, INT32_MAX, "the first lines; 0: all, of numbers 20000"),
        EG_FLAG_INTEGER("vocabulary", &o.vocabulary, "0", 0, 1000000,
                        "subtokens, about; 0: 8192, of numbers 200 (newstest: 32768)"),
        EG_FLAG_INTEGER("vocabulary-bytes", &o.vocabulary_bytes, "2000000", 1000, INT32_MAX,
                        "of text that subtokens are made of"),
        EG_FLAG_TEXT("vocabulary-file", &o.vocabulary_file, NULL, "FILE", "subtokens that were made before"),
        EG_FLAG_INTEGER("tokens", &o.tokens, "0", 0, 1000000,
                        "of a batch and each language, padding counted; 0: 1024, 2048, 2048, 4096"),
        EG_FLAG_INTEGER("longest", &o.longest, "256", 2, 100000,
                        "subtokens of a text; pairs with longer ones are left out"),
        EG_FLAG_REAL("rate", &o.rate, "0", 0, 1000, "times width^-0.5 min(t^-0.5, t warm-up^-1.5); 0: 2, of small 1"),
        EG_FLAG_INTEGER("warm-up", &o.warm_up, "0", 0, 1000000000, "steps; 0: 16000, of small 1000"),
        EG_FLAG_REAL("smoothing", &o.smoothing, "0.1", 0, 0.99, "probability that the other subtokens share"),
        EG_FLAG_REAL("dropout", &o.dropout, "0.1", 0, 0.99, "of sums, weights of attention and hidden columns"),
        EG_FLAG_INTEGER("judge", &o.judged, "200", 0, INT32_MAX, "texts translated behind each epoch, for their BLEU"),
        EG_FLAG_GROUP("translating"),
        EG_FLAG_TEXT("translate", &o.translate, NULL, "TEXT", "only that, and draw where all heads look"),
        EG_FLAG_TEXT("translate-file", &o.translate_file, NULL, "FILE", "only its lines"),
        EG_FLAG_TEXT("checkpoint", &o.checkpoint, NULL, "FILE", "to do that with; else the newest in --out"),
        EG_FLAG_INTEGER("beams", &o.search.beams, "4", 1, 64, "of the search"),
        EG_FLAG_REAL("length-power", &o.search.power, "0.6", 0, 10, "p of ((5 + length) / 6)^p, a beam's divisor"),
        EG_FLAG_INTEGER("extra", &o.search.extra, "50", 0, 10000, "steps beyond the length of what is read"),
        EG_FLAG_INTEGER("translate-batch", &o.search.batch, "32", 1, 4096, "texts at once"),
        EG_FLAG_GROUP("judging"),
        EG_FLAG_TEXT("bleu-source", &o.evaluate, NULL, "FILE", "only its BLEU"),
        EG_FLAG_TEXT("bleu-ref", &o.reference, NULL, "FILE", "by the lines of this one"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "transformer", .unit = "steps",
                       .about = "Learns to translate by attention alone. `transformer get-data` fetches Multi30k, "
                                "captions in English and German, into --data (egret-data/multi30k).",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .without = "batch", .settle = settle,
                       .epochs = 10, .save_every = 1000, .smoke_steps = 80, .get_data = corpus_get,
                       .data_folder = "egret-data/multi30k",
                       .data = "folder with train.en, train.de, val.en and so on, plain or .gz; without it numbers in "
                               "words");
}
