/* cvt.c - says of every word of a sentence what it is, learned from sentences with marks and from sentences without
 * (Clark et al. 2018), as TensorFlow's research/cvt_text. */
#include <math.h>
#include <string.h>

#include "net.h"

/* The sizes of the encoder. */
static const struct plan {
    const char *name;
    eg_cvt_encoder_options o;
} plans[] = {
    {"tiny", {sizeof(eg_cvt_encoder_options), 16, 8, 8, 24, 24, 16}},
    {"small", {sizeof(eg_cvt_encoder_options), 100, 25, 40, 192, 128, 128}}, /* our own, for a processor's patience */
    {"paper", {sizeof(eg_cvt_encoder_options), 300, 50, 100, 1024, 512, 512}},
};

typedef struct options {
    const char *size, *tasks, *unmarked, *vectors, *read, *read_file;
    bool supervised;
    int64_t min_count, held_out, warm_up;
    double share, rate, decay, dropout, light_dropout, smoothing, averaging, norm;
} options;

typedef struct job {
    eg_run *run;
    const options *o;
    source from;
    book *words; /* the run's */
    net net;
    eg_dataset *dev, *test;
    eg_optim *sgd;
    bool views; /* there are sentences without marks */
    int tasks;  /* how many */
} job;

/* ---- what there is to learn from ----------------------------------------------------------------- */

/* The tasks that a list names. */
static eg_status name_tasks(const char *list, bool tasks[TASKS])
{
    size_t length;
    for (const char *at = list + strspn(list, ", "); *at; at += length, at += strspn(at, ", ")) {
        int t = 0;
        length = strcspn(at, ", ");
        while (t < TASKS && (strlen(task_names[t]) != length || strncmp(at, task_names[t], length) != 0)) {
            t++;
        }
        if (t == TASKS) {
            return eg_failf(EG_EINVAL, "cvt", "--tasks: \"%.*s\" is none of tags, chunks, arcs", (int)length, at);
        }
        tasks[t] = true;
    }
    return EG_OK;
}

/* Those that are asked for; else all that the sentences have but tags. */
static eg_status choose_tasks(job *j, bool tasks[TASKS])
{
    bool has[TASKS];
    sentences_tasks(&j->from, has);
    eg_status st = j->o->tasks ? name_tasks(j->o->tasks, tasks) : EG_OK;
    for (int t = 0; t < TASKS && !st; t++) {
        tasks[t] = j->o->tasks ? tasks[t] : has[t] && t != TAGS;
        j->tasks += tasks[t];
        if (tasks[t] && !has[t]) {
            st = eg_failf(EG_EINVAL, "cvt", "these sentences have no %s", task_names[t]);
        }
    }
    return st || j->tasks ? st : eg_fail(EG_EINVAL, "cvt", "--tasks names none");
}

/* Sentences without marks: those of the training behind its share, and those of a file; NULL: there are none. */
static eg_dataset *open_texts(job *j, int64_t marked, int64_t all)
{
    const uint64_t seed = (uint64_t)eg_run_settings_of(j->run)->seed;
    eg_dataset *both[2];
    int n = 0;
    if (j->o->supervised || (marked == all && !j->o->unmarked)) {
        return NULL;
    }
    if (marked < all) {
        both[n++] = eg_dataset_skip(sentences_open(&j->from, TRAIN), marked);
    }
    if (j->o->unmarked) {
        both[n++] = eg_text_lines_new(j->o->unmarked);
    }
    eg_dataset *texts = n == 2 ? eg_dataset_interleave(both, 2, 1) : both[0];
    return texts_batches(eg_dataset_shuffle(texts, 10000, .seed = seed + 1), j->words,
                         eg_run_settings_of(j->run)->batch);
}

static eg_status open_book(job *j)
{
    bool tasks[TASKS] = {false};
    eg_status st = choose_tasks(j, tasks);
    eg_dataset *sentences = st ? NULL : sentences_open(&j->from, TRAIN);
    eg_dataset *others = sentences && j->o->unmarked && !j->o->supervised ? eg_text_lines_new(j->o->unmarked) : NULL;
    bool whole = sentences && (others || !j->o->unmarked || j->o->supervised);
    st = st ? st : whole ? book_make(j->words, sentences, others, tasks, j->o->min_count) : eg_last_error()->code;
    eg_dataset_free(sentences);
    eg_dataset_free(others);
    return st ? st : book_save(j->words, j->run);
}

static eg_status open_data(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    eg_dataset *sentences = sentences_open(&j->from, TRAIN);
    const int64_t all = sentences ? sentences_count(sentences) : -1;
    if (all < 1) {
        eg_dataset_free(sentences);
        return all ? eg_last_error()->code : eg_fail(EG_EFORMAT, "cvt", "there are no sentences to learn from");
    }
    const int64_t marked = j->o->share < 1 ? (int64_t)ceil(j->o->share * (double)all) : all;
    sentences = eg_dataset_shuffle(eg_dataset_take(sentences, marked), marked, .seed = (uint64_t)s->seed);
    eg_dataset *both[2] = {sentences_batches(sentences, j->words, s->batch, true), open_texts(j, marked, all)};
    j->views = both[1] != NULL;
    if (!j->views && !j->o->supervised && (marked < all || j->o->unmarked)) {
        eg_dataset_free(both[0]);
        return eg_last_error()->code;
    }
    eg_run_train_on(j->run, eg_dataset_prefetch(j->views ? eg_dataset_zip(both, 2) : both[0], 4));
    j->dev = eg_run_dataset(j->run, NULL, sentences_batches(sentences_open(&j->from, DEV), j->words, s->batch, true));
    j->test = eg_run_dataset(j->run, NULL, sentences_batches(sentences_open(&j->from, TEST), j->words, s->batch, true));
    eg_run_say(j->run, "%lld sentences with marks, %s without, %lld words (%s)", (long long)marked,
               !j->views         ? "none"
               : !j->o->unmarked ? "the others"
               : marked < all    ? "the others and those of files"
                                 : "those of files",
               (long long)eg_vocabulary_size(j->words->words), s->data ? s->data : "of a small grammar");
    return eg_run_status(j->run);
}

static eg_status open_net(job *j)
{
    const struct plan *p = plans;
    while (strcmp(p->name, j->o->size) != 0) { /* one of them, or the flag was refused */
        p++;
    }
    eg_status st = net_new(&j->net, j->run, j->words, &p->o, j->o->averaging);
    st = st || !j->o->vectors ? st : net_words(&j->net, j->words, j->o->vectors);
    if (st) {
        return st;
    }
    j->sgd =
        eg_run_optim(j->run, "sgd", eg_sgd_new(eg_module_parameters(j->net.all), .lr = j->o->rate, .momentum = 0.9));
    st = eg_run_status(j->run);
    return st ? st : eg_optim_clip_norm(j->sgd, j->o->norm);
}

/* ---- learning ------------------------------------------------------------------------------------ */

/* The rate of update t, from 0. */
static double rate_of(const options *o, int64_t t)
{
    const double risen = t < o->warm_up ? (double)t / (double)o->warm_up : 1;
    return o->rate * risen / (1 + o->decay * sqrt((double)t));
}

static eg_status update(job *j, int64_t t, eg_tape tape, eg_tensor *loss)
{
    eg_status st = eg_optim_set_rate(j->sgd, rate_of(j->o, t));
    eg_run_heed(j->run, st);
    eg_run_minimize(j->run, j->sgd, tape, loss);
    return eg_run_heed(j->run, eg_run_status(j->run) ? EG_OK : eg_ema_update(j->net.averages));
}

static void learn_batch(job *j, eg_tensor *const *batch)
{
    const int64_t t = (eg_run_step(j->run) - 1) * (j->views ? 2 : 1);
    eg_tape tape = eg_tape_open();
    eg_tensor *loss = net_marked_loss(&j->net, batch, j->o->dropout, j->o->smoothing);
    if (update(j, t, tape, loss) || !j->views) {
        eg_run_note(j->run, EG_RUN_VALUE("loss", loss), EG_RUN_NUMBER("rate", rate_of(j->o, t)));
        return;
    }
    eg_tensor *taught[TASKS] = {NULL}, *const *texts = batch + 2 + j->tasks;
    if (eg_run_heed(j->run, net_teach(&j->net, texts, taught))) {
        return;
    }
    eg_tape other = eg_tape_open();
    eg_tensor *views = net_views_loss(&j->net, texts, taught, j->o->light_dropout);
    update(j, t + 1, other, views);
    eg_run_note(j->run, EG_RUN_VALUE("loss", loss), EG_RUN_VALUE("views", views),
                EG_RUN_NUMBER("rate", rate_of(j->o, t + 1)));
}

static void tell(job *j, const char *of, judged v)
{
    char words[256] = "";
    size_t n = 0;
    const eg_module *const *heads = (const eg_module *const *)j->net.heads;
    if (heads[TAGS]) {
        n += (size_t)snprintf(words + n, sizeof words - n, "; tags %.2f %%", v.tags);
    }
    if (heads[CHUNKS]) {
        n += (size_t)snprintf(words + n, sizeof words - n, "; chunks F1 %.2f %% (precision %.2f, recall %.2f)", v.f1,
                              v.precision, v.recall);
    }
    if (heads[ARCS]) {
        snprintf(words + n, sizeof words - n, "; arcs %.2f %% unlabelled, %.2f %% labelled", v.unlabelled, v.labelled);
    }
    eg_run_say(j->run, "%s: %s", of, words + 2);
}

static void end_of_epoch(job *j)
{
    judged v = net_judge(&j->net, j->run, j->words, j->dev);
    eg_field fields[4];
    int n = 0;
    const struct {
        task of;
        const char *name;
        double value;
    } all[] = {{TAGS, "valid tags", v.tags},
               {CHUNKS, "valid f1", v.f1},
               {ARCS, "valid unlabelled", v.unlabelled},
               {ARCS, "valid labelled", v.labelled}};
    for (int i = 0; i < 4; i++) {
        if (j->net.heads[all[i].of]) {
            fields[n++] = (eg_field)EG_REAL(all[i].name, all[i].value);
        }
    }
    eg_run_log_with(j->run, fields, n);
    tell(j, "of sentences not learned from", v);
    eg_run_plot(j->run, "losses.png", "Cross entropy per word", "loss, views");
    eg_run_plot(j->run, "judged.png", "Of sentences not learned from, %",
                "valid tags, valid f1, valid unlabelled, valid labelled");
}

static eg_status learn(job *j)
{
    EG_RUN_EPOCHS(j->run)
    {
        EG_RUN_STEPS(batch, j->run)
        {
            learn_batch(j, batch);
        }
        if (!eg_run_status(j->run)) {
            end_of_epoch(j);
        }
    }
    if (!eg_run_status(j->run)) {
        judged v = net_judge(&j->net, j->run, j->words, j->test);
        tell(j, "the test", v);
        const char *of = j->net.heads[CHUNKS] ? "test f1" : j->net.heads[ARCS] ? "test labelled" : "test tags";
        eg_run_log(j->run, EG_REAL(of, j->net.heads[CHUNKS] ? v.f1 : j->net.heads[ARCS] ? v.labelled : v.tags));
    }
    return eg_run_check_fell(j->run, "loss", 0.9);
}

static eg_status train(job *j)
{
    eg_status st = eg_run_heed(j->run, open_book(j));
    st = st ? st : eg_run_heed(j->run, open_net(j));
    st = st ? st : eg_run_heed(j->run, open_data(j));
    if (!st) {
        eg_run_say(j->run, "%s: %lld parameters of the encoder, %lld in all", j->o->size,
                   (long long)eg_module_numel(j->net.encoder), (long long)eg_module_numel(j->net.all));
        st = learn(j);
    }
    return st;
}

/* ---- using it ------------------------------------------------------------------------------------ */

static eg_status read_file(job *j)
{
    eg_status st = EG_OK;
    eg_dataset *lines = eg_text_lines_new(j->o->read_file);
    if (!lines) {
        return eg_last_error()->code;
    }
    EG_FOR_EACH(line, lines) {
        st = net_read(&j->net, j->run, j->words, line[0], eg_run_out(j->run));
        if (st) {
            break;
        }
    }
    st = st ? st : eg_dataset_status(lines);
    eg_dataset_free(lines);
    return st;
}

static eg_status use(job *j)
{
    if (!*eg_run_latest(j->run).text) {
        return eg_failf(EG_ESTATE, "cvt", "there is no checkpoint in %.200s: train first",
                        eg_run_path(j->run, "").text);
    }
    eg_status st = book_load(j->words, j->run);
    st = st ? st : net_open(&j->net, j->run, j->words);
    if (!st && j->o->read) {
        EG_SCOPE {
            eg_tensor *text = eg_text(j->o->read);
            st = text ? net_read(&j->net, j->run, j->words, text, eg_run_out(j->run)) : eg_last_error()->code;
        }
    }
    return st || !j->o->read_file ? st : read_file(j);
}

static eg_status work(eg_run *run, void *user)
{
    const eg_run_settings *s = eg_run_settings_of(run);
    job j = {.run = run, .o = user, .from = {s->data, (uint64_t)s->seed, ((options *)user)->held_out}};
    j.words = book_new(run);
    eg_status st = !j.words ? eg_run_status(run) : j.o->read || j.o->read_file ? use(&j) : train(&j);
    net_free(&j.net);
    return st;
}

/* ---- the command line ---------------------------------------------------------------------------- */

static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    o->size = s->smoke ? "tiny" : o->size ? o->size : s->data ? "small" : "tiny";
    o->share = o->share > 0 ? o->share : s->data ? 1 : 0.1;
    o->warm_up = o->warm_up >= 0 ? o->warm_up : s->data ? 5000 : 100;
    o->averaging = o->averaging > 0 ? o->averaging : s->data ? 0.998 : 0.98;
}

int main(int argc, char **argv)
{
    options o = {0};
    const eg_flag flags[] = {
        EG_FLAG_CHOICE("size", &o.size, NULL, "tiny|small|paper", "of the encoder; tiny without --data, else small"),
        EG_FLAG_TEXT("tasks", &o.tasks, NULL, "NAMES", "of tags, chunks, arcs; else all there are but tags"),
        EG_FLAG_REAL("share", &o.share, "0", 0, 1,
                     "of the sentences whose marks are learned, the others are read without; 0: 0.1, of files 1"),
        EG_FLAG_TEXT("unmarked", &o.unmarked, NULL, "PATTERN", "files of more sentences without marks, one a line"),
        EG_FLAG_SWITCH("supervised", &o.supervised, "learn from sentences with marks only"),
        EG_FLAG_TEXT("vectors", &o.vectors, NULL, "FILE", "what words begin with, as GloVe's or word2vec's files"),
        EG_FLAG_INTEGER("min-count", &o.min_count, "2", 1, 1000000, "a word that is met less often is unknown"),
        EG_FLAG_INTEGER("held-out", &o.held_out, "0", 0, 1000000,
                        "sentences of train.txt to be judged by behind each epoch; 0: a tenth"),
        EG_FLAG_REAL("rate", &o.rate, "0.5", 1e-9, 100, "learning rate at its highest"),
        EG_FLAG_INTEGER("warm-up", &o.warm_up, "-1", -1, 1000000000, "updates over which it rises; -1: 5000, else 100"),
        EG_FLAG_REAL("decay", &o.decay, "0.005", 0, 1, "d: update t has the rate over 1 + d sqrt(t)"),
        EG_FLAG_REAL("norm", &o.norm, "1", 1e-9, 1e9, "of gradients, at most"),
        EG_FLAG_REAL("dropout", &o.dropout, "0.5", 0, 0.99, "where marks are learned"),
        EG_FLAG_REAL("light-dropout", &o.light_dropout, "0.2", 0, 0.99, "where views learn"),
        EG_FLAG_REAL("smoothing", &o.smoothing, "0.1", 0, 0.99, "probability that all tags share"),
        EG_FLAG_REAL("averaging", &o.averaging, "0", 0, 0.999999,
                     "of weights, which are judged and used; 0: 0.998, of the small grammar 0.98"),
        EG_FLAG_GROUP("using it"),
        EG_FLAG_TEXT("read", &o.read, NULL, "TEXT", "only say of its words what they are, by the newest checkpoint"),
        EG_FLAG_TEXT("read-file", &o.read_file, NULL, "FILE", "only of its lines"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "cvt", .unit = "sentences",
                       .about = "Learns to say of every word of a sentence what it is, from sentences with marks and "
                                "from sentences without.",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .settle = settle, .epochs = 20, .batch = 64,
                       .save_every = 1000, .smoke_steps = 60, .smoke_batch = 16,
                       .data = "folder with train.txt and test.txt of CoNLL-2000, or with files that end in "
                               "train.conllu, dev.conllu, test.conllu");
}
