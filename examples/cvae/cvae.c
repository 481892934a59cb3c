/* cvae.c - learns to write digits by reading them through a bottleneck (Kingma and Welling 2013).
 *
 * The encoder says where in a space of 50 numbers an image might lie, the decoder makes an image of a place
 * there. Trained together to lose little on the way, the decoder makes digits of places never visited. */
#include "../digits/source.h"
#include "net.h"

enum { SHEET = 16 };

typedef struct options {
    int64_t drawn;
    double lr;
    bool sample;
} options;

typedef struct school {
    eg_run *run;
    eg_module *encoder, *decoder;
    eg_optim *adam;
    eg_dataset *test;
    eg_tensor *codes; /* of the sheets, always the same */
} school;

/* Pixels are black or white, once and for all. */
static eg_status binarise(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_cast(eg_ge_scalar(in[0], 0.5), EG_F32);
    *m = 1;
    return out[0] ? EG_OK : eg_last_error()->code;
}

static eg_dataset *batches(const eg_run_settings *s, eg_split_name split, int64_t drawn)
{
    uint64_t seed = (uint64_t)s->seed;
    eg_dataset *digits = eg_dataset_map(digits_source(s->data, split, seed, drawn), binarise, NULL);
    return eg_dataset_prefetch(eg_dataset_batch(eg_dataset_shuffle(digits, 60000, .seed = seed), s->batch), 4);
}

static void open_school(school *s, const options *o)
{
    const eg_run_settings *set = eg_run_settings_of(s->run);
    int64_t drawn = set->smoke && o->drawn > 2000 ? 2000 : o->drawn;
    s->encoder = cvae_encoder();
    s->decoder = cvae_decoder();
    eg_module *net = eg_run_module(s->run, "net", eg_module_list_new(s->encoder, s->decoder));
    double lr = set->smoke ? 1e-3 : o->lr;
    s->adam = eg_run_optim(s->run, "adam", eg_adam_new(eg_module_parameters(net), .lr = lr, .epsilon_outside = true));
    eg_run_train_on(s->run, batches(set, EG_TRAIN, drawn));
    s->test = eg_run_dataset(s->run, "test", batches(set, EG_TEST, drawn / 6));
    s->codes = eg_normal(EG_SHAPE(SHEET, LATENT), 0, 1, EG_F32);
    eg_run_tensor(s->run, "codes", s->codes);
}

static eg_tensor *loss_of(const school *s, eg_tensor *images)
{
    return cvae_loss(s->encoder, s->decoder, images, eg_normal(EG_SHAPE(eg_size(images, 0), LATENT), 0, 1, EG_F32));
}

/* The evidence lower bound of digits never seen: the mean over their batches, one code per image. */
static double examine(const school *s)
{
    double sum = 0;
    int64_t n = 0;
    EG_RUN_EACH(sample, s->run, s->test)
    {
        sum -= eg_item(loss_of(s, sample[0]));
        n++;
    }
    return sum / (double)n;
}

/* What the decoder makes of these places. */
static eg_tensor *draw(const school *s, eg_tensor *codes)
{
    eg_tensor *digits = NULL;
    EG_RUN_COMPUTES(s->run)
    {
        digits = eg_sigmoid(eg_module_forward(s->decoder, eg_run_here(s->run, codes)));
    }
    return eg_draw_grid(digits, .low = 0, .high = 1, .columns = 4, .scale = 4);
}

static eg_status learn(school *s)
{
    eg_run *run = s->run;
    if (!eg_run_open(run) && eg_run_step(run) == 0) {
        eg_run_epoch_picture(run, "epoch", draw(s, s->codes));
    }
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(sample, run)
        {
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = loss_of(s, sample[0]);
            eg_run_minimize(run, s->adam, tape, loss);
            eg_run_note(run, EG_RUN_VALUE("loss", loss));
        }
        EG_SCOPE {
            eg_run_log(run, EG_REAL("elbo", examine(s)));
            eg_run_epoch_picture(run, "epoch", eg_run_status(run) ? NULL : draw(s, s->codes));
        }
    }
    eg_run_plot(run, "losses.png", "Variational autoencoder: minus the ELBO", "loss");
    eg_run_film(run, "epoch");
    return eg_run_check_fell(run, "loss", 0.8);
}

/* New digits from a finished decoder. */
static eg_status sample(school *s)
{
    if (!eg_run_restore(s->run, NULL)) {
        eg_seed((uint64_t)eg_run_settings_of(s->run)->seed);
        eg_run_picture(s->run, "sample", draw(s, eg_normal(EG_SHAPE(SHEET, LATENT), 0, 1, EG_F32)));
        eg_run_say(s->run, "%s", eg_run_path(s->run, "sample.png").text);
    }
    return eg_run_status(s->run);
}

static eg_status introduce(const school *s)
{
    EG_RUN_COMPUTES(s->run)
    {
        eg_run_heed(s->run, eg_summary(eg_run_out(s->run), s->encoder, eg_zeros(EG_SHAPE(SHEET, 1, 28, 28), EG_F32)));
        eg_run_heed(s->run, eg_summary(eg_run_out(s->run), s->decoder, eg_run_here(s->run, s->codes)));
    }
    eg_run_say(s->run, "%lld steps", (long long)eg_run_steps(s->run));
    return eg_run_status(s->run);
}

static eg_status work(eg_run *run, void *user)
{
    const options *o = user;
    school s = {.run = run};
    EG_SCOPE {
        open_school(&s, o);
        if (!eg_run_status(run) && o->sample) {
            sample(&s);
        } else if (!eg_run_status(run) && !introduce(&s)) {
            learn(&s);
        }
    }
    return eg_run_status(run);
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("drawn", &o.drawn, "20000", 6, 10000000, "how many digits to draw per epoch"),
        EG_FLAG_REAL("lr", &o.lr, "1e-4", 1e-9, 10, "learning rate"),
        EG_FLAG_SWITCH("sample", &o.sample, "only write sample.png with new digits of the latest checkpoint"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "cvae", .unit = "images",
                       .about = "Trains a variational autoencoder on digits and lets it write new ones. `cvae "
                                "get-data` fetches MNIST into --data (egret-data/mnist).",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .epochs = 20, .batch = 100,
                       .save_every = 500, .get_data = digits_get, .data_folder = "egret-data/mnist",
                       .data = "folder with the MNIST files, plain or .gz; without it digits are drawn from installed "
                               "fonts");
}
