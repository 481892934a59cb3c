/* cvae.c - learns to write digits by reading them through a bottleneck (Kingma and Welling 2013).
 *
 * The encoder says where in a space of 50 numbers an image might lie, the decoder makes an image of a place
 * there. Trained together to lose little on the way, the decoder makes digits of places never visited. */
#include <stdio.h>

#include "../common/curves.h"
#include "../common/progress.h"
#include "../common/sheet.h"
#include "../digits/source.h"
#include "net.h"

enum { SHEET = 16, COLUMNS = 4, SCALE = 4 };

typedef struct options {
    run_options run;
    int64_t drawn, save_every;
    const char *url;
    double lr;
    bool sample;
} options;

typedef struct school {
    const options *o;
    eg_module *net; /* of both, for the optimizer; encoder and decoder are its parts */
    eg_module *encoder, *decoder;
    eg_optim *adam;
    eg_dataset *train, *test;
    eg_tensor *codes; /* of the sheets, always the same */
    int64_t step, steps, per_epoch;
} school;

/* ---- training -------------------------------------------------------------------------------- */

/* Pixels are black or white, once and for all. */
static eg_status binarise(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_cast(eg_ge_scalar(in[0], 0.5), EG_F32);
    *m = 1;
    return out[0] ? EG_OK : eg_last_error()->code;
}

static eg_dataset *batches(const options *o, eg_split_name split, int64_t drawn)
{
    uint64_t seed = (uint64_t)o->run.seed;
    eg_dataset *digits = eg_dataset_map(digits_source(o->run.data, split, seed, drawn), binarise, NULL);
    return eg_dataset_prefetch(eg_dataset_batch(eg_dataset_shuffle(digits, 60000, .seed = seed), o->run.batch), 4);
}

static bool school_open(school *s, const options *o)
{
    *s = (school){.o = o, .encoder = cvae_encoder(), .decoder = cvae_decoder()};
    s->net = eg_module_list_new(s->encoder, s->decoder);
    s->adam = eg_adam_new(eg_module_parameters(s->net), .lr = o->lr, .epsilon_outside = true);
    s->train = batches(o, EG_TRAIN, o->drawn);
    s->test = batches(o, EG_TEST, o->drawn / 6);
    s->per_epoch = s->train ? eg_dataset_count(s->train) : 0;
    s->steps = o->run.steps ? o->run.steps : o->run.epochs * s->per_epoch;
    EG_SCOPE {
        s->codes = eg_keep(eg_normal(EG_SHAPE(SHEET, LATENT), 0, 1, EG_F32));
    }
    return s->adam && s->test && s->codes;
}

static void school_close(school *s)
{
    eg_release(s->codes);
    eg_dataset_free(s->test);
    eg_dataset_free(s->train);
    eg_optim_free(s->adam);
    eg_module_free(s->net);
}

/* Within RUN_COMPUTES. */
static eg_tensor *loss_of(school *s, run *r, eg_tensor *images)
{
    eg_tensor *noise = eg_normal(EG_SHAPE(eg_size(images, 0), LATENT), 0, 1, EG_F32);
    return cvae_loss(s->encoder, s->decoder, run_here(r, images), noise);
}

static bool learn(school *s, run *r, eg_tensor *images)
{
    bool good = false;
    RUN_COMPUTES(r) {
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = loss_of(s, r, images);
        good = run_minimize(r, s->adam, tape, loss) && run_note(r, ++s->step, RUN_VALUE("loss", loss));
    }
    return good;
}

/* The evidence lower bound of digits never seen: the mean over their batches, one code per image. */
static bool examine(school *s, run *r, double *elbo)
{
    double sum = 0;
    int64_t n = 0;
    EG_FOR_EACH(sample, s->test) {
        RUN_COMPUTES(r) {
            sum -= eg_item(loss_of(s, r, sample[0]));
        }
        n++;
    }
    *elbo = sum / (double)n;
    return eg_dataset_status(s->test) == EG_OK;
}

/* What the decoder makes of these places. */
static bool draw(school *s, run *r, eg_tensor *codes, int64_t epoch, const char *path)
{
    bool good = false;
    EG_SCOPE {
        eg_tensor *digits = NULL;
        RUN_COMPUTES(r) {
            digits = eg_sigmoid(eg_module_forward(s->decoder, run_here(r, codes)));
        }
        eg_tensor *sheet = sheet_of(digits, 0, 1, COLUMNS, SCALE);
        good = sheet && eg_png_save(sheet, path) == EG_OK &&
               (!r->board || eg_events_image(r->board, "digits", epoch, sheet) == EG_OK);
    }
    return good;
}

static bool end_of_epoch(school *s, run *r, double seconds)
{
    int64_t epoch = (s->step + s->per_epoch - 1) / s->per_epoch;
    double elbo;
    if (!run_catch_up(r) || !examine(s, r, &elbo) || !run_log(r, s->step, EG_REAL("elbo", elbo))) {
        return false;
    }
    printf("epoch %lld: test ELBO %.3f, %.1f s\n", (long long)epoch, elbo, seconds);
    return draw(s, r, s->codes, epoch, sheet_path(&r->folder, epoch).text);
}

static bool introduce(school *s, run *r)
{
    bool good = false;
    EG_SCOPE {
        eg_tensor *images = eg_zeros(EG_SHAPE(SHEET, 1, 28, 28), EG_F32);
        good = eg_summary(stdout, s->encoder, run_here(r, images)) == EG_OK &&
               eg_summary(stdout, s->decoder, run_here(r, s->codes)) == EG_OK;
    }
    return good;
}

/* Whether the epoch ends here: then its checkpoint comes behind what is made of it. */
static bool is_last(const school *s)
{
    return s->step % s->per_epoch == 0 || s->step == s->steps;
}

static bool train(school *s, run *r)
{
    bool good = s->step || draw(s, r, s->codes, 0, sheet_path(&r->folder, 0).text);
    while (good && run_goes_on(s->step, s->steps)) {
        progress bar;
        progress_start(&bar, "training", s->steps, "steps");
        EG_FOR_EACH(sample, s->train) {
            good =
                learn(s, r, sample[0]) && (is_last(s) || run_checkpoint(r, s->step, s->step % s->o->save_every == 0));
            progress_update(&bar, s->step, "%lld per epoch", (long long)s->per_epoch);
            if (!good || s->step == s->steps) {
                break;
            }
        }
        progress_clear(&bar);
        good = good && eg_dataset_status(s->train) == EG_OK && end_of_epoch(s, r, progress_seconds(&bar)) &&
               run_checkpoint(r, s->step, true);
    }
    return good;
}

/* ---- what comes out -------------------------------------------------------------------------- */

static bool report(const school *s, const run *r)
{
    int64_t epochs = (s->step + s->per_epoch - 1) / s->per_epoch;
    if (curves_draw(r, "Variational autoencoder: minus the ELBO", (const char *[]){"loss"}, 1, "losses.png") ||
        sheet_film(&r->folder, 0, epochs)) {
        return false;
    }
    printf("pictures and curves are in %s\n", r->folder.path.text);
    return true;
}

static eg_status learned(const school *s, const run *r)
{
    int64_t tenth = s->steps / 10 + 1;
    bool fell = false;
    EG_SCOPE {
        eg_tensor *loss = curve_of(r, "loss");
        fell = curve_mean(loss, -tenth, s->steps) < 0.8 * curve_mean(loss, 0, tenth);
    }
    return fell ? EG_OK : eg_fail(EG_ESTATE, "cvae", "the loss did not fall");
}

/* New digits from a finished decoder. */
static bool sample(school *s, run *r)
{
    bool good = false;
    run_path path = run_folder_path(&r->folder, "sample.png");
    EG_SCOPE {
        eg_seed((uint64_t)s->o->run.seed);
        good = draw(s, r, eg_normal(EG_SHAPE(SHEET, LATENT), 0, 1, EG_F32), s->step, path.text);
    }
    printf("%s\n", good ? path.text : "");
    return good;
}

static bool work(run *r, const options *o)
{
    school s;
    bool good = school_open(&s, o) && run_module(r, "net", s.net) && run_optim(r, "adam", s.adam) &&
                eg_saver_dataset(r->saver, "train", s.train) == EG_OK &&
                eg_saver_dataset(r->saver, "test", s.test) == EG_OK &&
                eg_saver_tensor(r->saver, "codes", s.codes) == EG_OK && run_resume(r, &s.step);
    if (good && o->sample) {
        good = s.step ? sample(&s, r) : eg_fail(EG_ESTATE, "cvae", "there is no checkpoint to draw from") == EG_OK;
    } else if (good) {
        printf("%lld steps of %lld digits (%s)\n", (long long)s.steps, (long long)o->run.batch,
               o->run.data ? o->run.data : "drawn from fonts");
        good = introduce(&s, r) && train(&s, r) && report(&s, r) && (!o->run.smoke || learned(&s, r) == EG_OK);
    }
    school_close(&s);
    return good;
}

int main(int argc, char **argv)
{
    options o;
    const arg table[] = {
        RUN_OPTIONS(&o.run,
                    "folder with the MNIST files, plain or .gz; without it digits are drawn from "
                    "installed fonts",
                    "20", "100"),
        ARG_INTEGER("drawn", &o.drawn, "20000", 6, 10000000, "how many digits to draw per epoch"),
        ARG_REAL("lr", &o.lr, "1e-4", 1e-9, 10, "learning rate"),
        ARG_INTEGER("save-every", &o.save_every, "500", 1, 1000000, "steps from checkpoint to checkpoint"),
        ARG_FLAG("sample", &o.sample, "only write sample.png with new digits of the latest checkpoint"),
        ARG_TEXT("url", &o.url, NULL, "URL", "where get-data finds the files of MNIST"),
    };
    args line = {.program = "cvae",
                 .about = "Trains a variational autoencoder on digits and lets it write new ones. `cvae get-data` "
                          "fetches MNIST into --data (egret-data/mnist).",
                 .table = table,
                 .count = ARG_COUNT(table),
                 .operand = "get-data",
                 .most_operands = 1};
    int status;
    if (!args_parse(&line, argc, argv, &status)) {
        return status;
    }
    if (line.operand_count) {
        return digits_get_data(line.operands[0], o.run.data, o.url, line.program);
    }
    if (o.run.smoke) {
        o.drawn = o.drawn < 2000 ? o.drawn : 2000;
        o.run.steps = o.run.steps ? o.run.steps : 20;
        o.lr = 1e-3;
        o.save_every = 5;
    }
    o.run.resume |= o.sample;
    run r;
    return run_end(&r, run_begin(&r, &o.run, "cvae", argv) && work(&r, &o));
}
