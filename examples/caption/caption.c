/* caption.c - says what is on a photo, looking where each word is (Xu et al. 2015), as TensorFlow's notebook of image
 * captioning with attention. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "setup.h"
#include "writer.h"

enum { SCENES = 1200 };

typedef struct options {
    look_options look;
    const char *caption, *checkpoint;
    int64_t most, held_out, words, embedding, units, shown;
    double rate;
    bool remembers;
    writer writer; /* beams, longest, length_power */
} options;

typedef struct job {
    eg_run *run;
    const options *o;
    photos all;
    int64_t learned; /* photos before it are learned from, the others are not */
    look seen;
    eg_vocabulary *words;
    eg_module *net;
    eg_dataset *held;
    eg_optim *adam;
    writer writer;
} job;

/* ---- before -------------------------------------------------------------------------------------- */

static void keep_words(job *j, eg_vocabulary *words)
{
    j->words = words;
    if (words) {
        eg_run_own(j->run, words, (void (*)(void *))eg_vocabulary_free);
    }
}

static eg_status open_photos(job *j)
{
    const options *o = j->o;
    const char *data = eg_run_settings_of(j->run)->data;
    eg_status st = data ? photos_read(&j->all, data, o->most) : photos_draw(&j->all, o->most ? o->most : SCENES);
    const int64_t held = o->held_out ? o->held_out : (j->all.count + 9) / 10;
    j->learned = j->all.count - held;
    return st || j->learned > 0
               ? st
               : eg_failf(
                     EG_EFORMAT, "caption",
                     "of %lld photos %lld are held out, and none is left to learn from: use a smaller --held-out, or "
                     "more photos",
                     (long long)j->all.count, (long long)held);
}

static eg_status open_data(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    captions c = {.all = &j->all, .to = j->learned, .seen = &j->seen, .words = j->words};
    int64_t learned = 0, held = 0;
    eg_dataset *train = captions_dataset(&c, &learned);
    train = eg_dataset_shuffle(train, learned ? learned : 1, .seed = (uint64_t)s->seed);
    eg_run_train_on(j->run, captions_batches(train, s->batch, false));
    c.from = j->learned;
    c.to = j->all.count;
    j->held = eg_run_dataset(j->run, NULL, captions_batches(captions_dataset(&c, &held), s->batch, true));
    eg_run_say(j->run, "%lld captions of %lld photos to learn from, %lld of %lld to be judged by, %lld words (%s)",
               (long long)learned, (long long)j->learned, (long long)held, (long long)(j->all.count - j->learned),
               (long long)eg_vocabulary_size(j->words), s->data ? s->data : "drawn scenes");
    return eg_run_status(j->run);
}

static eg_status open_net(job *j, int64_t embedding, int64_t units, bool remembers)
{
    const captioner_sizes sizes = {j->seen.channels, eg_vocabulary_size(j->words), embedding, units, remembers};
    j->net = eg_run_module(j->run, "net", captioner_new(&sizes));
    j->writer = j->o->writer;
    j->writer.net = j->net;
    j->writer.seen = &j->seen;
    j->writer.words = j->words;
    return eg_run_status(j->run);
}

static eg_status open_job(job *j)
{
    eg_status st = open_photos(j);
    st = st ? st : look_open(&j->seen, j->run, &j->o->look);
    st = st ? st : look_make(&j->seen, j->run, &j->all);
    if (!st) {
        keep_words(j, captions_words(&j->all, j->learned, j->o->words));
        st = j->words ? eg_run_status(j->run) : eg_last_error()->code;
    }
    st = st ? st : open_data(j);
    st = st ? st : open_net(j, j->o->embedding, j->o->units, j->o->remembers);
    if (st) {
        return st;
    }
    j->adam = eg_run_optim(j->run, "adam", eg_adam_new(eg_module_parameters(j->net), .lr = j->o->rate));
    st = eg_run_open(j->run);
    st = st ? st : setup_save(j->run, &j->o->look, j->o->embedding, j->o->units, j->o->remembers);
    return st ? st : eg_vocabulary_save(j->words, eg_run_path(j->run, "words.txt").text);
}

/* ---- training ------------------------------------------------------------------------------------ */

static double held_loss(job *j)
{
    eg_metrics *m = eg_metrics_new();
    eg_status st = m ? eg_module_eval(j->net) : eg_last_error()->code;
    EG_RUN_EACH(x, j->run, j->held)
    {
        if (!st) {
            eg_tensor *loss = captioner_loss(captioner_forward(j->net, x[0], x[1]), x[1]);
            const int64_t words = loss ? (int64_t)eg_item(captioner_words(x[1])) : 0;
            st = loss ? eg_metrics_perplexity(m, "words", captioner_word_loss(loss, x[1]), words)
                      : eg_last_error()->code;
        }
    }
    eg_run_heed(j->run, st ? st : eg_module_train(j->net));
    const double loss = eg_run_status(j->run) ? NAN : log(eg_metrics_value(m, "words"));
    eg_metrics_free(m);
    return loss;
}

/* A file of all held out captions, a photo a line, behind its name. */
static eg_status write_captions(job *j, eg_tensor *const *made)
{
    eg_path path = eg_run_path(j->run, "captions.txt");
    FILE *to = fopen(path.text, "w");
    for (int64_t i = j->learned; i < j->all.count && to; i++) {
        EG_SCOPE {
            eg_tensor *text = writer_text(&j->writer, made[i - j->learned]);
            const int n = text ? (int)eg_numel(text) : 0;
            fprintf(to, "%s\t%.*s\n", j->all.at[i].name, n, n ? (const char *)eg_data(text) : "");
        }
    }
    bool whole = to && !ferror(to);
    whole &= to && fclose(to) == 0;
    return whole ? EG_OK : eg_failf(EG_EIO, "caption", "cannot write %.200s", path.text);
}

static void draw_some(job *j, eg_tensor *const *made)
{
    for (int64_t i = 0; i < j->o->shown && j->learned + i < j->all.count; i++) {
        char name[32];
        snprintf(name, sizeof name, "words-%lld", (long long)i + 1);
        EG_RUN_COMPUTES(j->run)
        {
            eg_run_heed(j->run, eg_run_picture(j->run, name,
                                               writer_draw(&j->writer, j->run, &j->all.at[j->learned + i], made[i])));
        }
    }
}

/* What it writes of photos it did not learn from. */
static void judge(job *j)
{
    const int64_t held = j->all.count - j->learned;
    eg_tensor **made = calloc((size_t)held + 1, sizeof *made);
    eg_status st = made ? writer_write(&j->writer, j->run, &j->all, j->learned, j->all.count, made)
                        : eg_fail(EG_ENOMEM, "caption", "out of memory for the captions");
    bleus b = st ? (bleus){.st = st} : writer_judge(&j->writer, &j->all, j->learned, j->all.count, made);
    eg_run_heed(j->run, b.st);
    for (int64_t i = 0; i < 3 && i < held && !b.st; i++) {
        EG_SCOPE {
            eg_tensor *text = writer_text(&j->writer, made[i]);
            eg_run_say(j->run, "  %s: %.*s", j->all.at[j->learned + i].name, text ? (int)eg_numel(text) : 0,
                       text && eg_numel(text) ? (const char *)eg_data(text) : "");
        }
    }
    if (!eg_run_status(j->run)) {
        eg_run_log(j->run, EG_REAL("valid bleu", b.of[3]));
        eg_run_say(j->run, "  BLEU-1 to 4: %.1f %.1f %.1f %.1f, of %lld photos", b.of[0], b.of[1], b.of[2], b.of[3],
                   (long long)held);
        eg_run_heed(j->run, write_captions(j, made));
        draw_some(j, made);
    }
    for (int64_t i = 0; i < held && made; i++) {
        eg_release(made[i]);
    }
    free(made);
    eg_run_heed(j->run, eg_module_train(j->net));
}

static eg_status learn(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(x, run)
        {
            eg_tape tape = eg_tape_open();
            eg_tensor *logits = captioner_forward(j->net, x[0], x[1]), *loss = captioner_loss(logits, x[1]);
            eg_run_minimize(run, j->adam, tape, loss);
            eg_run_note(run, EG_RUN_VALUE("loss", captioner_word_loss(loss, x[1])));
        }
        if (!eg_run_status(run)) {
            double loss = held_loss(j);
            eg_run_log(run, EG_REAL("valid loss", loss));
            eg_run_say(run, "of photos not learned from: loss %.4f a word", loss);
            judge(j);
            eg_run_plot(run, "losses.png", "Cross entropy per word", "loss, valid loss");
        }
    }
    return eg_run_check_fell(run, "loss", 0.9);
}

static eg_status train(job *j)
{
    eg_status st = eg_run_heed(j->run, open_job(j));
    if (!st) {
        eg_run_say(j->run, "%lld parameters", (long long)eg_module_numel(j->net));
        st = learn(j);
    }
    return st;
}

/* ---- using it ------------------------------------------------------------------------------------ */

/* What is on the photo whose features these are. */
static eg_status say(job *j, const photo *p, eg_tensor *features)
{
    eg_tensor *made = NULL;
    eg_status st = writer_write_one(&j->writer, j->run, features, &made);
    if (!st) {
        eg_tensor *text = writer_text(&j->writer, made);
        const int n = text ? (int)eg_numel(text) : 0;
        eg_run_say(j->run, "%.*s", n, n ? (const char *)eg_data(text) : "");
        st = eg_run_picture(j->run, "words", writer_draw(&j->writer, j->run, p, made));
    }
    eg_release(made);
    return st;
}

static eg_status caption_photo(job *j, const setup *s)
{
    const photo p = {.name = (char *)j->o->caption, .path = (char *)j->o->caption};
    eg_status st = EG_OK;
    EG_RUN_COMPUTES(j->run)
    {
        eg_tensor *features = look_compute(&j->seen, j->run, &p);
        st = features ? open_net(j, s->embedding, s->units, s->remembers) : eg_last_error()->code;
        st = st ? st : eg_run_restore(j->run, j->o->checkpoint);
        st = st ? st : eg_module_eval(j->net);
        st = st ? st : say(j, &p, features);
    }
    return st;
}

static eg_status use(job *j)
{
    setup s = {.embedding = 0};
    if (!j->o->checkpoint && !*eg_run_latest(j->run).text) {
        return eg_failf(EG_ESTATE, "caption",
                        "there is no checkpoint in %.200s: train first, or say which --checkpoint",
                        eg_run_path(j->run, "").text);
    }
    keep_words(j, eg_vocabulary_load(eg_run_path(j->run, "words.txt").text));
    eg_status st = j->words ? setup_load(&s, j->run, &j->o->look) : eg_last_error()->code;
    st = st ? st : look_open(&j->seen, j->run, &s.look);
    return st ? st : caption_photo(j, &s);
}

static void close_job(void *user)
{
    job *j = user;
    photos_free(&j->all);
    look_free(&j->seen);
    free(j);
}

static eg_status work(eg_run *run, void *user)
{
    job *j = calloc(1, sizeof *j);
    if (!j) {
        return eg_fail(EG_ENOMEM, "caption", "out of memory");
    }
    *j = (job){.run = run, .o = user};
    eg_status st = eg_run_heed(run, eg_run_own(run, j, close_job));
    return st ? st : j->o->caption ? use(j) : train(j);
}

/* ---- the command line ---------------------------------------------------------------------------- */

static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    bool scenes = !s->data && !o->caption;
    o->look.scenes = scenes;
    o->look.trunk.pool = "max";
    o->look.tap = o->look.tap || o->look.trunk.net || !scenes ? o->look.tap : "block3_unit1";
    o->look.trunk.net = o->look.trunk.net ? o->look.trunk.net : scenes ? "resnet_cifar_20" : "efficientnet_lite0";
    if (s->smoke) {
        o->most = o->most ? o->most : 120;
        o->shown = 1;
    }
    o->embedding = o->embedding ? o->embedding : s->smoke ? 32 : scenes ? 64 : 256;
    o->units = o->units ? o->units : s->smoke ? 64 : scenes ? 128 : 512;
    o->rate = o->rate > 0 ? o->rate : s->smoke ? 5e-3 : scenes ? 3e-3 : 1e-3;
}

int main(int argc, char **argv)
{
    options o = {.look = {.cache = NULL}};
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("photos", &o.most, "0", 0, INT32_MAX, "the first so many; 0: all, of drawn scenes 1200"),
        EG_FLAG_INTEGER("held-out", &o.held_out, "0", 0, INT32_MAX,
                        "the last so many, which are not learned from; 0: a tenth"),
        EG_FLAG_INTEGER("words", &o.words, "5001", 5, 1000000, "the most frequent, with the special ones"),
        EG_FLAG_INTEGER("embedding", &o.embedding, "0", 0, 100000,
                        "numbers of a word, and of a place of a photo; 0: 256, of drawn scenes 64"),
        EG_FLAG_INTEGER("units", &o.units, "0", 0, 100000,
                        "of the GRU, attention, and the layer behind; 0: 512, of drawn scenes 128"),
        EG_FLAG_SWITCH("remember", &o.remembers,
                       "the GRU goes on from its state; as the notebook has it, it begins from zeros at each word"),
        EG_FLAG_REAL("rate", &o.rate, "0", 0, 1, "Adam's learning rate; 0: 1e-3, of drawn scenes 3e-3"),
        EG_FLAG_INTEGER("shown", &o.shown, "4", 0, 1000, "photos drawn behind each epoch, a panel a word"),
        EG_FLAG_GROUP("what looks at photos"),
        EG_FLAG_TEXT("trunk", &o.look.trunk.net, NULL, "NAME",
                     "a net of egret/models.h; efficientnet_lite0, of drawn scenes resnet_cifar_20"),
        EG_FLAG_TEXT("weights", &o.look.trunk.weights, NULL, "FILE", "its weights, as published; else by chance"),
        EG_FLAG_TEXT("tap", &o.look.tap, NULL, "LAYER", "whose maps are looked at; else the last"),
        EG_FLAG_INTEGER("side", &o.look.side, "0", 0, 10000, "of photos, in pixels; 0: as the trunk was made for"),
        EG_FLAG_TEXT("cache", &o.look.cache, NULL, "DIR", "where features are kept; else in --out"),
        EG_FLAG_GROUP("writing"),
        EG_FLAG_INTEGER("beams", &o.writer.beams, "1", 1, 64, "of the search; 1: the likeliest word at each step"),
        EG_FLAG_REAL("length-power", &o.writer.length_power, "0", 0, 10, "p of ((5 + length) / 6)^p, a beam's divisor"),
        EG_FLAG_INTEGER("longest", &o.writer.longest, "40", 1, 500, "words of a caption that is written"),
        EG_FLAG_TEXT("caption", &o.caption, NULL, "FILE", "only say what is on this photo, and draw where it looks"),
        EG_FLAG_TEXT("checkpoint", &o.checkpoint, NULL, "FILE", "to do that with; else the newest in --out"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "caption", .unit = "captions",
                       .about = "Learns to say what is on photos, looking where each word is.", .flags = flags,
                       .flag_count = EG_FLAG_COUNT(flags), .settle = settle, .epochs = 20, .batch = 64,
                       .save_every = 1000, .smoke_steps = 80, .smoke_batch = 16,
                       .data = "folder with captions.txt and images of Flickr8k, or annotations and images of COCO; "
                               "without it scenes are drawn");
}
