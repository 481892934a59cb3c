/* dcgan.c - two nets play a game until one of them can write digits (Radford, Metz, Chintala 2015).
 *
 * The generator makes images out of noise, the discriminator learns to tell them from real ones, and the
 * generator learns from what gives it away. */
#include <stdio.h>

#include "../common/curves.h"
#include "../common/progress.h"
#include "../common/sheet.h"
#include "../digits/source.h"
#include "net.h"

enum { SHEET = 16, COLUMNS = 4, SCALE = 4, GENERATOR = 0, DISCRIMINATOR = 1 };

typedef struct options {
    run_options run;
    int64_t drawn, save_every;
    const char *url;
    double lr;
    bool sample;
} options;

typedef struct game {
    const options *o;
    eg_module *generator, *discriminator;
    eg_optim *adam[2];
    eg_dataset *digits;
    eg_tensor *noise; /* of the sheets, always the same */
    int64_t step, steps, per_epoch;
} game;

/* ---- the game -------------------------------------------------------------------------------- */

/* -1..1, as the generator's tanh has it. */
static eg_status to_tanh(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_sub_scalar(eg_mul_scalar(in[0], 2), 1);
    *m = 1;
    return out[0] ? EG_OK : eg_last_error()->code;
}

static bool game_open(game *g, const options *o)
{
    const run_options *r = &o->run;
    uint64_t seed = (uint64_t)r->seed;
    *g = (game){.o = o, .generator = dcgan_generator(), .discriminator = dcgan_discriminator()};
    eg_dataset *digits = digits_source(r->data, EG_TRAIN, seed, o->drawn);
    digits = eg_dataset_shuffle(eg_dataset_map(digits, to_tanh, NULL), 60000, .seed = seed);
    g->digits = eg_dataset_prefetch(eg_dataset_batch(digits, r->batch), 4);
    g->adam[GENERATOR] = eg_adam_new(eg_module_parameters(g->generator), .lr = o->lr, .epsilon_outside = true);
    g->adam[DISCRIMINATOR] = eg_adam_new(eg_module_parameters(g->discriminator), .lr = o->lr, .epsilon_outside = true);
    g->per_epoch = g->digits ? eg_dataset_count(g->digits) : 0;
    g->steps = r->steps ? r->steps : r->epochs * g->per_epoch;
    EG_SCOPE {
        g->noise = eg_keep(eg_normal(EG_SHAPE(SHEET, NOISE), 0, 1, EG_F32));
    }
    return g->adam[GENERATOR] && g->adam[DISCRIMINATOR] && g->digits && g->noise;
}

static void game_close(game *g)
{
    eg_release(g->noise);
    eg_dataset_free(g->digits);
    for (int i = 0; i < 2; i++) {
        eg_optim_free(g->adam[i]);
    }
    eg_module_free(g->discriminator);
    eg_module_free(g->generator);
}

/* One turn: both see the same forward, and what one learns does not touch what the other learns from. */
static bool turn(game *g, run *r, eg_tensor *real)
{
    bool good = false;
    RUN_COMPUTES(r) {
        eg_tensor *noise = eg_normal(EG_SHAPE(g->o->run.batch, NOISE), 0, 1, EG_F32);
        eg_tape tape = eg_tape_open(.persistent = true);
        dcgan_losses l = dcgan_play(g->generator, g->discriminator, run_here(r, real), noise);
        good = run_minimize(r, g->adam[GENERATOR], tape, l.generator) &&
               run_minimize(r, g->adam[DISCRIMINATOR], tape, l.discriminator) &&
               run_note(r, ++g->step, RUN_VALUE("generator", l.generator), RUN_VALUE("discriminator", l.discriminator));
    }
    return good;
}

/* What the generator makes of the noise, as it would for a user. */
static bool draw(game *g, run *r, eg_tensor *noise, int64_t epoch, const char *path)
{
    bool good = false;
    eg_module_eval(g->generator);
    EG_SCOPE {
        eg_tensor *digits = NULL;
        RUN_COMPUTES(r) {
            digits = eg_module_forward(g->generator, run_here(r, noise));
        }
        eg_tensor *sheet = sheet_of(digits, -1, 1, COLUMNS, SCALE);
        good = sheet && eg_png_save(sheet, path) == EG_OK &&
               (!r->board || eg_events_image(r->board, "digits", epoch, sheet) == EG_OK);
    }
    eg_module_train(g->generator);
    return good;
}

static bool end_of_epoch(game *g, run *r, double seconds)
{
    int64_t epoch = (g->step + g->per_epoch - 1) / g->per_epoch, first = (epoch - 1) * g->per_epoch;
    if (!run_catch_up(r)) {
        return false;
    }
    EG_SCOPE {
        printf("epoch %lld: generator %.3f, discriminator %.3f, %.1f s\n", (long long)epoch,
               curve_mean(curve_of(r, "generator"), first, g->step),
               curve_mean(curve_of(r, "discriminator"), first, g->step), seconds);
    }
    return draw(g, r, g->noise, epoch, sheet_path(&r->folder, epoch).text);
}

static bool introduce(game *g, run *r)
{
    bool good = false;
    EG_SCOPE {
        eg_tensor *images = eg_zeros(EG_SHAPE(SHEET, 1, 28, 28), EG_F32);
        good = eg_summary(stdout, g->generator, run_here(r, g->noise)) == EG_OK &&
               eg_summary(stdout, g->discriminator, run_here(r, images)) == EG_OK;
    }
    return good;
}

/* Whether the epoch ends here: then its checkpoint comes behind what is made of it. */
static bool is_last(const game *g)
{
    return g->step % g->per_epoch == 0 || g->step == g->steps;
}

static bool play(game *g, run *r)
{
    bool good = g->step || draw(g, r, g->noise, 0, sheet_path(&r->folder, 0).text);
    while (good && run_goes_on(g->step, g->steps)) {
        progress bar;
        progress_start(&bar, "playing", g->steps, "steps");
        EG_FOR_EACH(sample, g->digits) {
            good = turn(g, r, sample[0]) && (is_last(g) || run_checkpoint(r, g->step, g->step % g->o->save_every == 0));
            progress_update(&bar, g->step, "%lld per epoch", (long long)g->per_epoch);
            if (!good || g->step == g->steps) {
                break;
            }
        }
        progress_clear(&bar);
        good = good && eg_dataset_status(g->digits) == EG_OK && end_of_epoch(g, r, progress_seconds(&bar)) &&
               run_checkpoint(r, g->step, true);
    }
    return good;
}

/* ---- what comes out -------------------------------------------------------------------------- */

static bool report(const game *g, const run *r)
{
    int64_t epochs = (g->step + g->per_epoch - 1) / g->per_epoch;
    if (curves_draw(r, "DCGAN", (const char *[]){"generator", "discriminator"}, 2, "losses.png") ||
        sheet_film(&r->folder, 0, epochs)) {
        return false;
    }
    printf("pictures and curves are in %s\n", r->folder.path.text);
    return true;
}

/* Whether the discriminator has learned to tell made digits from real ones. */
static eg_status learned(const game *g, const run *r)
{
    int64_t tenth = g->steps / 10 + 1;
    bool fell = false;
    EG_SCOPE {
        eg_tensor *lost = curve_of(r, "discriminator");
        fell = curve_mean(lost, -tenth, g->steps) < 0.9 * curve_mean(lost, 0, tenth);
    }
    return fell ? EG_OK : eg_fail(EG_ESTATE, "dcgan", "the discriminator's loss did not fall");
}

/* New digits from a finished generator. */
static bool sample(game *g, run *r)
{
    bool good = false;
    run_path path = run_folder_path(&r->folder, "sample.png");
    EG_SCOPE {
        eg_seed((uint64_t)g->o->run.seed);
        good = draw(g, r, eg_normal(EG_SHAPE(SHEET, NOISE), 0, 1, EG_F32), g->step, path.text);
    }
    printf("%s\n", good ? path.text : "");
    return good;
}

static bool work(run *r, const options *o)
{
    game g;
    bool good = game_open(&g, o) && run_module(r, "generator", g.generator) &&
                run_module(r, "discriminator", g.discriminator) && run_optim(r, "adam-generator", g.adam[GENERATOR]) &&
                run_optim(r, "adam-discriminator", g.adam[DISCRIMINATOR]) &&
                eg_saver_dataset(r->saver, "digits", g.digits) == EG_OK &&
                eg_saver_tensor(r->saver, "noise", g.noise) == EG_OK && run_resume(r, &g.step);
    if (good && o->sample) {
        good = g.step ? sample(&g, r) : eg_fail(EG_ESTATE, "dcgan", "there is no checkpoint to draw from") == EG_OK;
    } else if (good) {
        printf("%lld steps of %lld digits (%s)\n", (long long)g.steps, (long long)o->run.batch,
               o->run.data ? o->run.data : "drawn from fonts");
        good = introduce(&g, r) && play(&g, r) && report(&g, r) && (!o->run.smoke || learned(&g, r) == EG_OK);
    }
    game_close(&g);
    return good;
}

int main(int argc, char **argv)
{
    options o;
    const arg table[] = {
        RUN_OPTIONS(&o.run,
                    "folder with the MNIST files, plain or .gz; without it digits are drawn from "
                    "installed fonts",
                    "20", "256"),
        ARG_INTEGER("drawn", &o.drawn, "20000", 1, 10000000, "how many digits to draw per epoch"),
        ARG_REAL("lr", &o.lr, "1e-4", 1e-9, 10, "learning rate of both players"),
        ARG_INTEGER("save-every", &o.save_every, "200", 1, 1000000, "steps from checkpoint to checkpoint"),
        ARG_FLAG("sample", &o.sample, "only write sample.png with new digits of the latest checkpoint"),
        ARG_TEXT("url", &o.url, NULL, "URL", "where get-data finds the files of MNIST"),
    };
    args line = {.program = "dcgan",
                 .about = "Lets two nets play until one of them writes digits. `dcgan get-data` fetches MNIST "
                          "into --data (egret-data/mnist).",
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
        o.run.batch = o.run.batch < 32 ? o.run.batch : 32;
        o.save_every = 5;
    }
    o.run.resume |= o.sample;
    run r;
    return run_end(&r, run_begin(&r, &o.run, "dcgan", argv) && work(&r, &o));
}
