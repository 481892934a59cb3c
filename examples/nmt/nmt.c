/* nmt.c - learns to translate Spanish into English, and shows where it looks while it writes (Bahdanau, Cho,
 * Bengio 2014). */
#include <stdio.h>
#include <string.h>

#include "fetch.h"
#include "infer.h"

enum { SAMPLES = 4, SAY_EVERY = 100 };

/* What is translated after each epoch: of the real sentences, and of the made ones. */
static const char *const samples[2][SAMPLES] = {
    {"Hace mucho frío aquí.", "Esta es mi vida.", "¿Todavía están en casa?", "Trata de averiguarlo."},
    {"El perro ve la casa.", "¿Buscan los niños una flor roja?", "No queremos los huevos verdes.",
     "Limpias unas sillas viejas cada día."}};

typedef struct options {
    int64_t pairs, embedding, units, warmup_steps, keep;
    double rate, clip;
    const char *infer, *infer_file, *infer_to, *model, *sha256;
    const char *prefix, *source, *target; /* of two files of sentences */
    const char *optimizer, *decay;
} options;

/* What a run is made of. */
typedef struct job {
    eg_run *run;
    corpus c;
    translator t;
    bool files;       /* sentences are those of --train-prefix */
    eg_dataset *test; /* batches of sentences: sources [N, S], targets [N, T] */
    eg_optim *optim;
} job;

/* ---- before ---------------------------------------------------------------------------------- */

/* PREFIX.SRC and PREFIX.TGT, as tensorflow/nmt names its files. */
static eg_status read_files(corpus *c, const options *o)
{
    char source[4096], target[4096];
    snprintf(source, sizeof source, "%s.%s", o->prefix, o->source);
    snprintf(target, sizeof target, "%s.%s", o->prefix, o->target);
    return corpus_read_files(c, source, target, o->pairs);
}

static eg_status read_corpus(job *j, const options *o)
{
    corpus *c = &j->c;
    const char *data = eg_run_settings_of(j->run)->data;
    eg_status st = o->prefix ? read_files(c, o) : data ? corpus_read(c, data, o->pairs) : corpus_make(c, o->pairs);
    if (!st) {
        data = o->prefix ? o->prefix : data;
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
    bool files = s->data || o->prefix;
    o->pairs = o->pairs ? o->pairs : s->smoke ? 1000 : files ? 30000 : 12000;
    o->units = o->units ? o->units : s->smoke ? 64 : files ? 1024 : 128;
    o->embedding = o->embedding ? o->embedding : files ? 256 : 64;
    if (s->smoke) {
        o->units = o->units < 64 ? o->units : 64;
        o->pairs = o->pairs < 1000 ? o->pairs : 1000;
    }
}

/* Adam as the notebook has it, or SGD; the rate rises and falls as tensorflow/nmt has it, if it is to. */
static eg_status open_optim(job *j, const options *o)
{
    eg_parameters p = eg_module_parameters(j->t.both);
    bool sgd = strcmp(o->optimizer, "sgd") == 0;
    eg_schedule plan =
        EG_SCHEDULE(.kind = EG_RATE_FIXED, .lr = o->rate, .warm_up = o->warmup_steps, .warm_up_kind = EG_WARM_UP_T2T);
    if (o->decay) {
        plan.kind = strcmp(o->decay, "luong234") == 0 ? EG_RATE_LUONG234
                    : strcmp(o->decay, "luong5") == 0 ? EG_RATE_LUONG5
                                                      : EG_RATE_LUONG10;
        plan.steps = eg_run_steps(j->run);
    }
    j->optim =
        eg_run_optim(j->run, o->optimizer,
                     sgd ? eg_sgd_new(p, .lr = o->rate) : eg_adam_new(p, .lr = o->rate, .epsilon_outside = true));
    eg_status st = eg_run_status(j->run);
    st = st ? st : eg_optim_clip_norm(j->optim, o->clip);
    return st || (!o->decay && !o->warmup_steps) ? st : eg_optim_follow(j->optim, &plan);
}

static eg_status open_job(job *j, options *o)
{
    fill_in(o, eg_run_settings_of(j->run));
    if (o->prefix && (!o->source || !o->target)) {
        return eg_run_refuse(j->run, "--train-prefix goes with --src and --tgt");
    }
    eg_status st = read_corpus(j, o);
    st = st ? st : translator_new(&j->t, j->run, j->c.spanish, j->c.english, o->embedding, o->units);
    j->t.pairs = j->c.pairs;
    st = st ? st : open_data(j);
    st = st ? st : open_optim(j, o);
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
    bool real = eg_run_settings_of(j->run)->data || j->files;
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
            eg_run_minimize(run, j->optim, tape, loss);
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
    job j = {.run = run, .files = o->prefix != NULL};
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
    if (o->infer_file) {
        return o->infer_to ? nmt_infer_file(run, o->infer_file, o->infer_to, o->model)
                           : eg_run_refuse(run, "--inference-input-file goes with --inference-output-file");
    }
    return o->infer ? nmt_infer(run, o->infer, o->model) : train(run, o);
}

static eg_status get_data(const char *folder, const char *url, void *user)
{
    const options *o = user;
    return fetch_sentences(folder, url, o->sha256);
}

static void settle(eg_run_settings *s, void *user)
{
    s->keep = ((options *)user)->keep;
}

#define ONE_LAYER "encoder and decoder have one GRU layer each"
#define WORDS     "the words are those of the training sentences"
#define GREEDY    "the likeliest word is always taken"
#define LENGTHS   "sentences are as long as they are"

/* Flags of tensorflow/nmt. */
static const eg_flag_alias aliases[] = {
    EG_FLAG_ALIAS("batch_size", "batch"),
    EG_FLAG_ALIAS("ckpt", "model"),
    EG_FLAG_ALIAS("max_train", "pairs"),
    EG_FLAG_ALIAS("num_intra_threads", "threads"),
    EG_FLAG_ALIAS("num_train_steps", "steps"),
    EG_FLAG_ALIAS("num_units", "units"),
    EG_FLAG_ALIAS("out_dir", "out"),
    EG_FLAG_ALIAS("random_seed", "seed"),
    EG_FLAG_IGNORED("attention", "attention is Bahdanau's"),
    EG_FLAG_IGNORED("attention_architecture", "attention is Bahdanau's"),
    EG_FLAG_IGNORED_BOOL("avg_ckpts", "checkpoints are not averaged"),
    EG_FLAG_IGNORED("beam_width", GREEDY),
    EG_FLAG_IGNORED_BOOL("check_special_token", WORDS),
    EG_FLAG_IGNORED_BOOL("colocate_gradients_with_ops", "there is no graph"),
    EG_FLAG_IGNORED("coverage_penalty_weight", GREEDY),
    EG_FLAG_IGNORED("dev_prefix", "a fifth of the training pairs is kept to test with"),
    EG_FLAG_IGNORED("dropout", "the network has no dropout"),
    EG_FLAG_IGNORED("embed_prefix", "embeddings are learned"),
    EG_FLAG_IGNORED("encoder_type", ONE_LAYER),
    EG_FLAG_IGNORED("eos", WORDS),
    EG_FLAG_IGNORED("forget_bias", "a GRU has none"),
    EG_FLAG_IGNORED("hparams_path", "--config reads settings"),
    EG_FLAG_IGNORED("infer_batch_size", "sentences are translated one by one"),
    EG_FLAG_IGNORED("infer_mode", GREEDY),
    EG_FLAG_IGNORED("inference_list", "all lines are translated"),
    EG_FLAG_IGNORED("inference_ref_file", "translations are not rated"),
    EG_FLAG_IGNORED("init_op", "weights begin as the notebook's do"),
    EG_FLAG_IGNORED("init_weight", "weights begin as the notebook's do"),
    EG_FLAG_IGNORED("jobid", "mpirun numbers the processes"),
    EG_FLAG_IGNORED_BOOL("language_model", "it translates"),
    EG_FLAG_IGNORED("length_penalty_weight", GREEDY),
    EG_FLAG_IGNORED_BOOL("log_device_placement", "all is on --device"),
    EG_FLAG_IGNORED("metrics", "the loss of the test pairs is logged"),
    EG_FLAG_IGNORED("num_buckets", LENGTHS),
    EG_FLAG_IGNORED("num_decoder_layers", ONE_LAYER),
    EG_FLAG_IGNORED("num_embeddings_partitions", "there are no parameter servers"),
    EG_FLAG_IGNORED("num_encoder_layers", ONE_LAYER),
    EG_FLAG_IGNORED("num_gpus", "mpirun -n starts a process for each device"),
    EG_FLAG_IGNORED("num_inter_threads", "operations run one after the other"),
    EG_FLAG_IGNORED("num_layers", ONE_LAYER),
    EG_FLAG_IGNORED("num_sampled_softmax", "the softmax is over all words"),
    EG_FLAG_IGNORED("num_translations_per_input", GREEDY),
    EG_FLAG_IGNORED("num_workers", "mpirun -n starts the processes"),
    EG_FLAG_IGNORED_BOOL("output_attention", "attention is Bahdanau's"),
    EG_FLAG_IGNORED_BOOL("override_loaded_hparams", "--config reads settings"),
    EG_FLAG_IGNORED_BOOL("pass_hidden_state", "the decoder begins with the encoder's last state"),
    EG_FLAG_IGNORED_BOOL("residual", ONE_LAYER),
    EG_FLAG_IGNORED("sampling_temperature", GREEDY),
    EG_FLAG_IGNORED("scope", "weights have names of their own"),
    EG_FLAG_IGNORED_BOOL("share_vocab", "each language has words of its own"),
    EG_FLAG_IGNORED("sos", WORDS),
    EG_FLAG_IGNORED("src_max_len", LENGTHS),
    EG_FLAG_IGNORED("src_max_len_infer", LENGTHS),
    EG_FLAG_IGNORED("steps_per_external_eval", "the test pairs are tried after each epoch"),
    EG_FLAG_IGNORED("steps_per_stats", "log.jsonl has every step"),
    EG_FLAG_IGNORED("subword_option", WORDS),
    EG_FLAG_IGNORED("test_prefix", "a fifth of the training pairs is kept to test with"),
    EG_FLAG_IGNORED("tgt_max_len", LENGTHS),
    EG_FLAG_IGNORED("tgt_max_len_infer", LENGTHS),
    EG_FLAG_IGNORED_BOOL("time_major", "sentences have one layout"),
    EG_FLAG_IGNORED("unit_type", ONE_LAYER),
    EG_FLAG_IGNORED_BOOL("use_char_encode", WORDS),
    EG_FLAG_IGNORED("vocab_prefix", WORDS),
    EG_FLAG_IGNORED("warmup_scheme", "--warmup-steps warm up as t2t"),
};

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("pairs", &o.pairs, "0", 0, 10000000, "the first lines; 0: 30000, of the grammar 12000"),
        EG_FLAG_INTEGER("embedding", &o.embedding, "0", 0, 65536, "numbers per word; 0: 256, for the grammar 64"),
        EG_FLAG_INTEGER("units", &o.units, "0", 0, 65536, "numbers per state; 0: 1024, for the grammar 128"),
        EG_FLAG_TEXT("train-prefix", &o.prefix, NULL, "FILE", "sentences of FILE.SRC and FILE.TGT, instead of --data"),
        EG_FLAG_TEXT("src", &o.source, NULL, "SRC", "ending of the file to translate from"),
        EG_FLAG_TEXT("tgt", &o.target, NULL, "TGT", "ending of the file of translations"),
        EG_FLAG_CHOICE("optimizer", &o.optimizer, "adam", "adam|sgd", "how it learns"),
        EG_FLAG_REAL("learning-rate", &o.rate, "0.001", 1e-9, 100, "learning rate"),
        EG_FLAG_INTEGER("warmup-steps", &o.warmup_steps, "0", 0, 1000000000,
                        "steps from a hundredth of it to all of it"),
        EG_FLAG_CHOICE("decay-scheme", &o.decay, NULL, "luong234|luong5|luong10",
                       "halve it 4 times after 2/3 of the steps, 5 or 10 times after 1/2"),
        EG_FLAG_REAL("max-gradient-norm", &o.clip, "0", 0, 1e9, "largest norm of all gradients; 0: any"),
        EG_FLAG_INTEGER("num-keep-ckpts", &o.keep, "3", 0, 100000, "checkpoints that stay; 0: all"),
        EG_FLAG_TEXT("inference-input-file", &o.infer_file, NULL, "FILE", "only translate the lines of this file"),
        EG_FLAG_TEXT("inference-output-file", &o.infer_to, NULL, "FILE", "where the translations go"),
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
                       .get_data = get_data, .data_folder = "egret-data/spa-eng", .settle = settle, .aliases = aliases,
                       .alias_count = EG_FLAG_COUNT(aliases),
                       .data = "folder with spa.txt or spa.txt.gz; without it sentences are made by a grammar");
}
