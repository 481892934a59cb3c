/* pix2pix.c - turns plans of house fronts into photos (Isola, Zhu, Zhou, Efros 2016).
 *
 * A generator makes a picture out of a plan. A discriminator is shown plans with photos and plans
 * with made pictures and learns to tell them apart, patch by patch; the generator learns from what
 * gives it away, and from how far it is from the photo. */
#include <stdio.h>

#include "../common/curves.h"
#include "../common/progress.h"
#include "../common/sheet.h"
#include "get_data.h"
#include "infer.h"
#include "net.h"
#include "pairs.h"

enum { DRAWN_FOR_TESTS = 20 };

typedef struct options {
    run_options run;
    int64_t drawn, save_every;
    const char *model, *url, *sha256;
    double lr;
    bool infer;
} options;

/* What a run is made of. */
typedef struct job {
    const options *o;
    eg_module *generator, *discriminator;
    eg_optim *generator_adam, *discriminator_adam;
    pairs *train_pairs, *test_pairs;
    eg_dataset *train, *test; /* plans and photos, [N, 3, 256, 256] of -1..1 */
    int64_t step, steps, per_epoch;
} job;

/* ---- the beginning ----------------------------------------------------------------------- */

static eg_status open_pairs(job *j, const run_options *r)
{
    uint64_t seed = (uint64_t)r->seed;
    j->train_pairs = pairs_open(r->data, EG_TRAIN, seed, j->o->drawn);
    j->test_pairs = j->train_pairs ? pairs_open(r->data, EG_TEST, seed, r->smoke ? 2 : DRAWN_FOR_TESTS) : NULL;
    if (!j->test_pairs) {
        return eg_last_error()->code;
    }
    eg_dataset *order = eg_dataset_shuffle(pairs_numbers(j->train_pairs), pairs_count(j->train_pairs), .seed = seed);
    eg_dataset *jittered = eg_dataset_map(order, pairs_jittered, j->train_pairs, .workers = 2, .seed = seed);
    j->train = eg_dataset_prefetch(eg_dataset_batch(jittered, r->batch, .drop_last = true), 2);
    j->test = eg_dataset_batch(eg_dataset_map(pairs_numbers(j->test_pairs), pairs_plain, j->test_pairs), 1);
    if (!j->train || !j->test) {
        return eg_last_error()->code;
    }
    j->per_epoch = eg_dataset_count(j->train);
    return j->per_epoch > 0 ? EG_OK
                            : eg_failf(EG_EINVAL, "pix2pix", "%lld pairs are not enough for a batch of %lld",
                                       (long long)pairs_count(j->train_pairs), (long long)r->batch);
}

static bool job_open(job *j, run *r, const options *o)
{
    *j = (job){.o = o, .generator = pix2pix_generator(), .discriminator = pix2pix_discriminator()};
    j->generator_adam =
        eg_adam_new(eg_module_parameters(j->generator), .lr = o->lr, .beta1 = 0.5, .epsilon_outside = true);
    j->discriminator_adam =
        eg_adam_new(eg_module_parameters(j->discriminator), .lr = o->lr, .beta1 = 0.5, .epsilon_outside = true);
    if (!j->generator_adam || !j->discriminator_adam || open_pairs(j, &o->run)) {
        return false;
    }
    j->steps = o->run.steps ? o->run.steps : o->run.epochs * j->per_epoch;
    return run_module(r, "generator", j->generator) && run_module(r, "discriminator", j->discriminator) &&
           run_optim(r, "generator-adam", j->generator_adam) &&
           run_optim(r, "discriminator-adam", j->discriminator_adam) &&
           eg_saver_dataset(r->saver, "train", j->train) == EG_OK && run_resume(r, &j->step);
}

static void job_close(job *j)
{
    eg_dataset_free(j->test);
    eg_dataset_free(j->train);
    pairs_free(j->test_pairs);
    pairs_free(j->train_pairs);
    eg_optim_free(j->discriminator_adam);
    eg_optim_free(j->generator_adam);
    eg_module_free(j->discriminator);
    eg_module_free(j->generator);
}

/* ---- training ---------------------------------------------------------------------------- */

/* One step: both nets see the same forward, and what one learns does not touch what the other learns from. */
static bool learn(job *j, run *r, eg_tensor *plan, eg_tensor *photo)
{
    bool good = false;
    RUN_COMPUTES(r) {
        eg_tape tape = eg_tape_open(.persistent = true);
        plan = run_here(r, plan);
        photo = run_here(r, photo);
        pix2pix_losses l = pix2pix_play(j->generator, j->discriminator, plan, photo);
        good = run_minimize(r, j->generator_adam, tape, l.generator) &&
               run_minimize(r, j->discriminator_adam, tape, l.discriminator) &&
               run_note(r, ++j->step, RUN_VALUE("generator", l.generator), RUN_VALUE("discriminator", l.discriminator),
                        RUN_VALUE("distance", eg_l1_loss(photo, l.made)));
    }
    return good;
}

/* Writes plan, photo and what is made of the plan side by side. The net stays in training mode, as
 * it was published: then dropout is the noise by which it makes different pictures of one plan. */
static bool show(job *j, run *r, eg_tensor *const *pair, const char *path, double *distance)
{
    eg_tensor *made = NULL;
    RUN_COMPUTES(r) {
        made = eg_module_forward(j->generator, run_here(r, pair[0]));
    }
    made = eg_cast(eg_to(made, eg_cpu()), EG_F32);
    eg_tensor *sheet = sheet_of(eg_concat((eg_tensor *[]){pair[0], pair[1], made}, 3, 0), -1, 1, 3, 1);
    *distance = eg_item(eg_l1_loss(pair[1], made));
    return sheet && eg_png_save(sheet, path) == EG_OK &&
           (!r->board || eg_events_image(r->board, "test", j->step, sheet) == EG_OK);
}

/* Tells how the epoch went, and shows the first test pair. */
static bool end_of_epoch(job *j, run *r, double seconds)
{
    int64_t epoch = (j->step + j->per_epoch - 1) / j->per_epoch, first = (epoch - 1) * j->per_epoch;
    double distance;
    bool good = false;
    if (!run_catch_up(r)) {
        return false;
    }
    EG_SCOPE {
        printf("epoch %lld: %.1f s, generator %.3f, discriminator %.3f, distance %.4f\n", (long long)epoch, seconds,
               curve_mean(curve_of(r, "generator"), first, j->step),
               curve_mean(curve_of(r, "discriminator"), first, j->step),
               curve_mean(curve_of(r, "distance"), first, j->step));
        fflush(stdout);
    }
    EG_FOR_EACH(pair, j->test) {
        good = show(j, r, pair, sheet_path(&r->folder, epoch).text, &distance);
        break;
    }
    return good;
}

/* At the end of an epoch the checkpoint comes after the picture, whose noise moves the random
 * numbers on. */
static bool train(job *j, run *r)
{
    bool good = true;
    while (good && run_goes_on(j->step, j->steps)) {
        progress bar;
        progress_start(&bar, "training", j->steps, "steps");
        EG_FOR_EACH(pair, j->train) {
            good = learn(j, r, pair[0], pair[1]);
            progress_update(&bar, j->step, "%lld per epoch", (long long)j->per_epoch);
            bool last = j->step == j->steps;
            if (good && (last || j->step % j->per_epoch == 0)) {
                progress_clear(&bar);
                good = end_of_epoch(j, r, progress_seconds(&bar));
            }
            good = good && run_checkpoint(r, j->step, last || j->step % j->o->save_every == 0);
            if (!good || last) {
                break;
            }
        }
        progress_clear(&bar);
        good = good && eg_dataset_status(j->train) == EG_OK;
    }
    return good;
}

/* ---- what comes out ---------------------------------------------------------------------- */

/* Renders every test pair. */
static bool test(job *j, run *r)
{
    run_folder to;
    int64_t n = 0;
    double sum = 0;
    bool good = true;
    if (run_folder_open(&to, run_folder_path(&r->folder, "test").text, "")) {
        return false;
    }
    EG_FOR_EACH(pair, j->test) {
        char name[32];
        double distance;
        snprintf(name, sizeof name, "%04lld.png", (long long)++n);
        good = good && show(j, r, pair, run_folder_path(&to, name).text, &distance);
        sum += good ? distance : 0;
    }
    printf("%lld test pairs: distance %.4f, pictures in %s\n", (long long)n, sum / (double)n, to.path.text);
    return good && eg_dataset_status(j->test) == EG_OK;
}

static bool report(job *j, run *r)
{
    run_path model = run_folder_path(&r->folder, "generator.safetensors");
    int64_t epochs = (j->step + j->per_epoch - 1) / j->per_epoch;
    if (eg_module_save(j->generator, model.text) != EG_OK || !test(j, r)) {
        return false;
    }
    const char *fields[] = {"generator", "discriminator", "distance"};
    if (curves_draw(r, "Losses", fields, 2, "losses.png") ||
        curves_draw(r, "Distance from the photo", fields + 2, 1, "distance.png") || sheet_film(&r->folder, 1, epochs)) {
        return false;
    }
    printf("model %s; curves and a film of the epochs are beside it\n", model.text);
    return true;
}

/* Whether what is made came closer to the photos. */
static eg_status learned(const job *j, const run *r)
{
    int64_t third = j->steps / 3;
    bool fell = false;
    EG_SCOPE {
        eg_tensor *distance = curve_of(r, "distance");
        fell = curve_mean(distance, -third, j->steps) < 0.9 * curve_mean(distance, 0, third);
    }
    return fell ? EG_OK : eg_fail(EG_ESTATE, "pix2pix", "the distance from the photos did not fall");
}

static bool work(run *r, const options *o)
{
    job j;
    bool good = job_open(&j, r, o);
    if (good) {
        printf("%lld steps of %lld pairs (%s)\n", (long long)j.steps, (long long)o->run.batch,
               o->run.data ? o->run.data : "drawn");
        good = train(&j, r) && report(&j, r) && (!o->run.smoke || learned(&j, r) == EG_OK);
    }
    job_close(&j);
    return good;
}

int main(int argc, char **argv)
{
    options o;
    const arg table[] = {
        RUN_OPTIONS(&o.run,
                    "folder with the folders train, and test or val, of pictures: photo left, plan "
                    "right; without it pairs are drawn",
                    "200", "1"),
        ARG_INTEGER("drawn", &o.drawn, "400", 1, 1000000, "how many pairs to draw per epoch"),
        ARG_REAL("lr", &o.lr, "2e-4", 1e-9, 10, "learning rate of both nets"),
        ARG_INTEGER("save-every", &o.save_every, "200", 1, 1000000, "steps from checkpoint to checkpoint"),
        ARG_FLAG("infer", &o.infer, "make a picture of each FILE, a plan or a pair, with a trained net, into --out"),
        ARG_TEXT("model", &o.model, NULL, "FILE",
                 "generator for --infer; without it that of the latest checkpoint in --out"),
        ARG_TEXT("url", &o.url, NULL, "URL", "where get-data finds facades.tar.gz"),
        ARG_TEXT("sha256", &o.sha256, NULL, "SUM",
                 "of facades.tar.gz; else the one it has when first fetched is recorded, and holds from then on"),
    };
    args line = {.program = "pix2pix",
                 .about = "Learns to turn plans of house fronts into photos. `pix2pix get-data` "
                          "fetches the CMP facades into --data (egret-data/facades).",
                 .table = table,
                 .count = ARG_COUNT(table),
                 .operand = "get-data|FILE",
                 .most_operands = 10000};
    int status;
    if (!args_parse(&line, argc, argv, &status)) {
        return status;
    }
    if (o.infer) {
        return pix2pix_infer(line.operands, line.operand_count, o.model, &o.run);
    }
    if (line.operand_count) {
        return pix2pix_get_data(line.operands, line.operand_count, o.run.data, o.url, o.sha256);
    }
    if (o.run.smoke) {
        o.drawn = 3;
        o.run.steps = o.run.steps ? o.run.steps : 9;
        o.save_every = 5;
    }
    run r;
    return run_end(&r, run_begin(&r, &o.run, "pix2pix", argv) && work(&r, &o));
}
