/* segmentation.c - a U-Net says where in an image something is (Ronneberger et al. 2015). */
#include <egret/models.h>
#include <egret/run.h>

#include "pairs.h"

typedef struct options {
    int64_t side, drawn;
    double lr, width, decay;
} options;

/* 1 - (2 sum of t p + 1) / (sum of t + sum of p + 1), over the whole batch. */
static eg_tensor *dice_loss(eg_tensor *p, eg_tensor *t)
{
    eg_tensor *both = eg_add_scalar(eg_mul_scalar(eg_sum(eg_mul(p, t)), 2), 1);
    return eg_add_scalar(eg_neg(eg_div(both, eg_add_scalar(eg_add(eg_sum(p), eg_sum(t)), 1))), 1);
}

static eg_tensor *loss(eg_module *net, eg_tensor *const *sample, eg_metrics *m, void *user)
{
    (void)user;
    eg_tensor *logits = eg_cast(eg_module_forward(net, sample[0]), EG_F32), *p = eg_sigmoid(logits);
    eg_metrics_dice(m, "dice", p, sample[1]);
    return eg_add(eg_bce_with_logits(logits, sample[1]), dice_loss(p, sample[1]));
}

static eg_status report(eg_run *run, eg_module *net, eg_dataset *others)
{
    eg_path best = eg_run_path(run, "best.safetensors");
    eg_run_heed(run, eg_saver_restore_from(eg_run_saver(run), best.text, NULL, .allow_others = true));
    eg_metrics *m = eg_run_metrics(run, "found");
    if (!eg_evaluate(run, net, loss, others, m, NULL)) {
        eg_run_say(run, "the best net's dice is %.4f on images it has not learned from", eg_metrics_value(m, "dice"));
    }
    EG_SCOPE {
        eg_run_picture(run, "found", pairs_sheet(run, net, others));
    }
    eg_run_plot(run, "dice.png", "Dice", "dice, valid/dice");
    eg_run_plot(run, "loss.png", "Cross entropy and dice loss", "loss, valid/loss");
    return eg_run_check_fell(run, "loss", 0.95);
}

static eg_status work(eg_run *run, void *user)
{
    const options *o = user;
    const eg_run_settings *s = eg_run_settings_of(run);
    bool small = s->smoke && !s->data;
    if (o->side % 32) {
        return eg_run_refuse(run, "--side is a multiple of 32, not %lld", (long long)o->side);
    }
    pairs *p = pairs_open(run, s->data, s->smoke ? 32 : o->side, small ? 15 : o->drawn);
    eg_dataset *train = eg_run_train_on(
        run, eg_dataset_prefetch(eg_dataset_batch(pairs_dataset(p, true, (uint64_t)s->seed), s->batch), 4));
    eg_dataset *others = eg_dataset_batch(pairs_dataset(p, false, 0), s->batch);
    eg_module *net =
        eg_run_module(run, "net", eg_unet_new(.width = s->smoke ? 0.125 : o->width, .bn_momentum = 1 - o->decay));
    eg_optim *adam = eg_run_optim(
        run, "adam", eg_adam_new(eg_module_parameters(net), .lr = o->lr, .eps = 1e-7, .epsilon_outside = true));
    return eg_fit(run, net, adam, loss, train, .valid = others, .best = "dice") ? eg_run_status(run)
                                                                                : report(run, net, others);
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("side", &o.side, "256", 32, 4096, "of the images, a multiple of 32"),
        EG_FLAG_INTEGER("drawn", &o.drawn, "100", 5, 1000000, "pairs to draw where there are no files"),
        EG_FLAG_REAL("lr", &o.lr, "1e-3", 1e-9, 10, "learning rate"),
        EG_FLAG_REAL("batch-norm-decay", &o.decay, "0.99", 0, 0.999999, "of the statistics of norms"),
        EG_FLAG_REAL("width", &o.width, "1", 0.03125, 4, "channels, as a share of the published 32 to 1024"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "segmentation", .unit = "images",
                       .about = "Trains a U-Net to say where in an image something is.", .flags = flags,
                       .flag_count = EG_FLAG_COUNT(flags), .epochs = 5, .batch = 3, .smoke_steps = 20,
                       .data = "folder with train/*.jpg and train_masks/*_mask.gif, or train/image/*.png and "
                               "train/label/*.png; without it pairs are drawn");
}
