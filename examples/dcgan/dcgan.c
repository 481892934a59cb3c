/* dcgan.c - two nets play a game until one of them can write digits (Radford, Metz, Chintala 2015).
 *
 * The generator makes images out of noise, the discriminator learns to tell them from real ones, and the
 * generator learns from what gives it away. */
#include "../digits/source.h"
#include "net.h"

enum { SHEET = 16 };

typedef struct options {
    int64_t drawn;
    double lr;
    bool sample;
} options;

typedef struct game {
    eg_run *run;
    eg_module *generator, *discriminator;
    eg_optim *generator_adam, *discriminator_adam;
    eg_tensor *noise; /* of the sheets, always the same */
} game;

/* -1..1, as the generator's tanh has it. */
static eg_status to_tanh(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_sub_scalar(eg_mul_scalar(in[0], 2), 1);
    *m = 1;
    return out[0] ? EG_OK : eg_last_error()->code;
}

static eg_optim *adam(eg_run *run, const char *name, eg_module *net, double lr)
{
    return eg_run_optim(run, name, eg_adam_new(eg_module_parameters(net), .lr = lr, .epsilon_outside = true));
}

static void open_game(game *g, eg_run *run, const options *o)
{
    const eg_run_settings *s = eg_run_settings_of(run);
    uint64_t seed = (uint64_t)s->seed;
    eg_dataset *digits = digits_source(s->data, EG_TRAIN, seed, s->smoke && o->drawn > 2000 ? 2000 : o->drawn);
    digits = eg_dataset_shuffle(eg_dataset_map(digits, to_tanh, NULL), 60000, .seed = seed);
    eg_run_train_on(run, eg_dataset_prefetch(eg_dataset_batch(digits, s->batch), 4));
    g->generator = eg_run_module(run, "generator", dcgan_generator());
    g->discriminator = eg_run_module(run, "discriminator", dcgan_discriminator());
    g->generator_adam = adam(run, "adam-generator", g->generator, o->lr);
    g->discriminator_adam = adam(run, "adam-discriminator", g->discriminator, o->lr);
    g->noise = eg_normal(EG_SHAPE(SHEET, NOISE), 0, 1, EG_F32);
    eg_run_tensor(run, "noise", g->noise);
}

/* What the generator makes of the noise, as it would for a user. */
static eg_tensor *draw(game *g, eg_tensor *noise)
{
    eg_tensor *digits = NULL;
    eg_module_eval(g->generator);
    EG_RUN_COMPUTES(g->run)
    {
        digits = eg_module_forward(g->generator, eg_run_here(g->run, noise));
    }
    eg_module_train(g->generator);
    return eg_draw_grid(digits, .low = -1, .high = 1, .columns = 4, .scale = 4);
}

/* One turn: both see the same forward, and what one learns does not touch what the other learns from. */
static void turn(game *g, eg_tensor *real)
{
    eg_tensor *noise = eg_normal(EG_SHAPE(eg_run_settings_of(g->run)->batch, NOISE), 0, 1, EG_F32);
    eg_tape tape = eg_tape_open(.persistent = true);
    dcgan_losses l = dcgan_play(g->generator, g->discriminator, real, noise);
    eg_run_minimize(g->run, g->generator_adam, tape, l.generator);
    eg_run_minimize(g->run, g->discriminator_adam, tape, l.discriminator);
    eg_run_note(g->run, EG_RUN_VALUE("generator", l.generator), EG_RUN_VALUE("discriminator", l.discriminator));
}

static eg_status play(game *g)
{
    eg_run *run = g->run;
    if (!eg_run_open(run) && eg_run_step(run) == 0) {
        eg_run_epoch_picture(run, "epoch", draw(g, g->noise));
    }
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(sample, run)
        {
            turn(g, sample[0]);
        }
        EG_SCOPE {
            eg_run_epoch_picture(run, "epoch", eg_run_status(run) ? NULL : draw(g, g->noise));
        }
    }
    eg_run_plot(run, "losses.png", "DCGAN", "generator, discriminator");
    eg_run_film(run, "epoch");
    return eg_run_check_fell(run, "discriminator", 0.9);
}

/* New digits from a finished generator. */
static eg_status sample(game *g)
{
    if (!eg_run_restore(g->run, NULL)) {
        eg_seed((uint64_t)eg_run_settings_of(g->run)->seed);
        eg_run_picture(g->run, "sample", draw(g, eg_normal(EG_SHAPE(SHEET, NOISE), 0, 1, EG_F32)));
        eg_run_say(g->run, "%s", eg_run_path(g->run, "sample.png").text);
    }
    return eg_run_status(g->run);
}

static eg_status introduce(game *g)
{
    EG_RUN_COMPUTES(g->run)
    {
        eg_run_heed(g->run, eg_summary(eg_run_out(g->run), g->generator, eg_run_here(g->run, g->noise)));
        eg_run_heed(g->run,
                    eg_summary(eg_run_out(g->run), g->discriminator, eg_zeros(EG_SHAPE(SHEET, 1, 28, 28), EG_F32)));
    }
    eg_run_say(g->run, "%lld steps", (long long)eg_run_steps(g->run));
    return eg_run_status(g->run);
}

static eg_status work(eg_run *run, void *user)
{
    const options *o = user;
    game g = {.run = run};
    EG_SCOPE {
        open_game(&g, run, o);
        if (!eg_run_status(run) && o->sample) {
            sample(&g);
        } else if (!eg_run_status(run) && !introduce(&g)) {
            play(&g);
        }
    }
    return eg_run_status(run);
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("drawn", &o.drawn, "20000", 1, 10000000, "how many digits to draw per epoch"),
        EG_FLAG_REAL("lr", &o.lr, "1e-4", 1e-9, 10, "learning rate of both players"),
        EG_FLAG_SWITCH("sample", &o.sample, "only write sample.png with new digits of the latest checkpoint"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "dcgan", .unit = "images",
                       .about = "Lets two nets play until one of them writes digits. `dcgan get-data` fetches MNIST "
                                "into --data (egret-data/mnist).",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .epochs = 20, .batch = 256,
                       .smoke_batch = 32, .get_data = digits_get, .data_folder = "egret-data/mnist",
                       .data = "folder with the MNIST files, plain or .gz; without it digits are drawn from installed "
                               "fonts");
}
