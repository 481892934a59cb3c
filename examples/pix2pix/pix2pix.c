/* pix2pix.c - turns plans of house fronts into photos (Isola, Zhu, Zhou, Efros 2016).
 *
 * A generator makes a picture out of a plan. A discriminator is shown plans with photos and plans
 * with made pictures and learns to tell them apart, patch by patch; the generator learns from what
 * gives it away, and from how far it is from the photo. */
#include <stdio.h>

#include "get_data.h"
#include "infer.h"
#include "net.h"
#include "pairs.h"

enum { DRAWN_FOR_TESTS = 20, DRAWN_FOR_SMOKE = 3, WIDTH_FOR_SMOKE = 16 };

typedef struct options {
    int64_t drawn, width;
    const char *model, *sha256;
    double lr;
    bool infer;
} options;

/* What a run is made of. */
typedef struct job {
    eg_run *run;
    eg_module *generator, *discriminator;
    eg_optim *generator_adam, *discriminator_adam;
    eg_dataset *test; /* plans and photos, [1, 3, 256, 256] of -1..1 */
} job;

/* ---- the beginning ----------------------------------------------------------------------- */

static void free_pairs(void *p)
{
    pairs_free(p);
}

/* Pairs that live as long as the run. */
static pairs *open_part(eg_run *run, eg_split_name split, int64_t drawn)
{
    const eg_run_settings *s = eg_run_settings_of(run);
    pairs *p = eg_run_status(run) ? NULL : pairs_open(s->data, split, (uint64_t)s->seed, drawn);
    return eg_run_own(run, p, free_pairs) ? NULL : p;
}

static void open_pairs(job *j, const options *o)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    uint64_t seed = (uint64_t)s->seed;
    pairs *train = open_part(j->run, EG_TRAIN, s->smoke ? DRAWN_FOR_SMOKE : o->drawn);
    pairs *test = open_part(j->run, EG_TEST, s->smoke ? 2 : DRAWN_FOR_TESTS);
    int64_t n = train ? pairs_count(train) : 0;
    if (!test || n < s->batch) {
        eg_run_heed(j->run,
                    eg_failf(EG_EINVAL, "pix2pix",
                             "%lld pairs are not enough for a batch of %lld: use a smaller --batch, or more --data",
                             (long long)n, (long long)s->batch));
        return;
    }
    eg_dataset *order = eg_dataset_shuffle(pairs_numbers(train), n, .seed = seed);
    eg_dataset *jittered = eg_dataset_map(order, pairs_jittered, train, .workers = 2, .seed = seed);
    eg_run_train_on(j->run, eg_dataset_prefetch(eg_dataset_batch(jittered, s->batch, .drop_last = true), 2));
    j->test = eg_run_dataset(j->run, NULL, eg_dataset_batch(eg_dataset_map(pairs_numbers(test), pairs_plain, test), 1));
}

static eg_optim *adam(eg_run *run, const char *name, eg_module *net, double lr)
{
    return eg_run_optim(run, name,
                        eg_adam_new(eg_module_parameters(net), .lr = lr, .beta1 = 0.5, .epsilon_outside = true));
}

static eg_status open_job(job *j, const options *o)
{
    j->generator = eg_run_module(j->run, "generator", pix2pix_generator(o->width));
    j->discriminator = eg_run_module(j->run, "discriminator", pix2pix_discriminator(o->width));
    j->generator_adam = adam(j->run, "generator-adam", j->generator, o->lr);
    j->discriminator_adam = adam(j->run, "discriminator-adam", j->discriminator, o->lr);
    open_pairs(j, o);
    return eg_run_status(j->run);
}

/* ---- training ---------------------------------------------------------------------------- */

/* One step: both nets see the same forward, and what one learns does not touch what the other learns from. */
static void learn(job *j, eg_tensor *plan, eg_tensor *photo)
{
    eg_tape tape = eg_tape_open(.persistent = true);
    pix2pix_losses l = pix2pix_play(j->generator, j->discriminator, plan, photo);
    eg_run_minimize(j->run, j->generator_adam, tape, l.generator);
    eg_run_minimize(j->run, j->discriminator_adam, tape, l.discriminator);
    eg_run_note(j->run, EG_RUN_VALUE("generator", l.generator), EG_RUN_VALUE("discriminator", l.discriminator),
                EG_RUN_VALUE("distance", eg_l1_loss(photo, l.made)));
}

/* Plan, photo and what is made of the plan side by side. The net stays in training mode, as it was
 * published: then dropout is the noise by which it makes different pictures of one plan. */
static eg_tensor *show(job *j, eg_tensor *const *pair, double *distance)
{
    eg_tensor *made = eg_cast(eg_module_forward(j->generator, pair[0]), EG_F32);
    *distance = eg_item(eg_l1_loss(pair[1], made));
    return eg_draw_grid(eg_concat((eg_tensor *[]){pair[0], pair[1], made}, 3, 0), .low = -1, .high = 1, .columns = 3);
}

static void train(job *j)
{
    double distance;
    EG_RUN_EPOCHS(j->run)
    {
        EG_RUN_STEPS(pair, j->run)
        {
            learn(j, pair[0], pair[1]);
        }
        EG_RUN_EACH(pair, j->run, j->test)
        {
            eg_run_epoch_picture(j->run, "epoch", show(j, pair, &distance));
            break;
        }
    }
}

/* ---- what comes out ---------------------------------------------------------------------- */

/* Renders every test pair. */
static void test(job *j)
{
    int64_t n = 0;
    double sum = 0, distance = 0;
    EG_RUN_EACH(pair, j->run, j->test)
    {
        char name[32];
        snprintf(name, sizeof name, "test/%04lld.png", (long long)++n);
        eg_run_heed(j->run, eg_png_save(show(j, pair, &distance), eg_run_path(j->run, name).text));
        sum += distance;
    }
    eg_run_say(j->run, "%lld test pairs: distance %.4f, pictures in %s", (long long)n, sum / (double)n,
               eg_run_path(j->run, "test").text);
}

static eg_status report(job *j)
{
    eg_run *run = j->run;
    if (eg_run_heed(run, eg_module_save(j->generator, eg_run_path(run, "generator.safetensors").text)) ||
        eg_run_folder(run, "test")) {
        return eg_run_status(run);
    }
    test(j);
    eg_run_plot(run, "losses.png", "Losses", "generator, discriminator");
    eg_run_plot(run, "distance.png", "Distance from the photo", "distance");
    eg_run_film(run, "epoch");
    return eg_run_check_fell(run, "distance", 0.95);
}

static eg_status get_data(const char *folder, const char *url, void *user)
{
    const options *o = user;
    return pix2pix_get_data(folder, url, o->sha256);
}

static eg_status work(eg_run *run, void *user)
{
    options *o = user;
    job j = {.run = run};
    int words;
    char *const *files = eg_run_operands(run, &words);
    const bool smoke = eg_run_settings_of(run)->smoke;
    o->width = o->width ? o->width : smoke ? WIDTH_FOR_SMOKE : PIX2PIX_WIDTH;
    o->lr = o->lr > 0 ? o->lr : smoke ? 1e-3 : 2e-4; /* narrow nets have few steps and bear a higher rate */
    if (o->infer) {
        return pix2pix_infer(run, files, words, o->model, o->width);
    }
    if (words) {
        return eg_run_refuse(run, "'%s' is not get-data; to make pictures of files say --infer", files[0]);
    }
    if (!open_job(&j, o)) {
        eg_run_say(run, "%lld steps of %lld pairs (%s)", (long long)eg_run_steps(run),
                   (long long)eg_run_settings_of(run)->batch,
                   eg_run_settings_of(run)->data ? eg_run_settings_of(run)->data : "drawn");
        train(&j);
    }
    return eg_run_status(run) ? eg_run_status(run) : report(&j);
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("drawn", &o.drawn, "400", 1, 1000000, "how many pairs to draw per epoch"),
        EG_FLAG_INTEGER("width", &o.width, "0", 0, 4096,
                        "channels of the first layers of both nets; 0: 64 as in the paper, with --smoke 16"),
        EG_FLAG_REAL("lr", &o.lr, "0", 0, 10, "learning rate of both nets; 0: 2e-4, with --smoke 1e-3"),
        EG_FLAG_SWITCH("infer", &o.infer,
                       "make a picture of each FILE, a plan or a pair, with a trained net, into --out"),
        EG_FLAG_TEXT("model", &o.model, NULL, "FILE",
                     "generator for --infer; without it that of the latest checkpoint in --out"),
        EG_FLAG_TEXT("sha256", &o.sha256, NULL, "SUM",
                     "of facades.tar.gz; else the one it has when first fetched is recorded, and holds from then on"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "pix2pix", .unit = "images",
                       .about = "Learns to turn plans of house fronts into photos. `pix2pix get-data` fetches the CMP "
                                "facades into --data (egret-data/facades).",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .epochs = 200, .batch = 1, .smoke_steps = 9,
                       .operand = "get-data|FILE", .most_operands = 10000, .get_data = get_data,
                       .data_folder = "egret-data/facades",
                       .data = "folder with the folders train, and test or val, of pictures: photo left, plan right; "
                               "without it pairs are drawn");
}
