/* depth.c - learns from video alone how far away things are and how the camera moves (Mahjourian et al. 2018). */
#include <egret/run.h>

#include "../common/tools.h"
#include "frames.h"
#include "judge.h"
#include "loss.h"
#include "net.h"
#include "show.h"

typedef struct options {
    frames_options frames;
    const char *write;
    int64_t width;
    double lr, l2;
    loss_weights by;
    bool evaluate;
} options;

/* Kernels decay, norms and biases do not. */
static eg_optim *optim_new(eg_run *run, const options *o, eg_module *nets)
{
    eg_optim *adam =
        eg_run_optim(run, "adam", eg_adam_new(eg_module_parameters(nets), .lr = o->lr, .weight_decay = o->l2));
    return adam && eg_run_heed(run, eg_optim_group(adam, .max_axes = 1)) ? NULL : adam;
}

static void learn(eg_run *run, eg_module *nets, eg_optim *adam, eg_tensor *const *x, const loss_weights *by)
{
    eg_tape tape = eg_tape_open();
    losses l = loss_of(nets, x[IMAGES], x[LENS], by);
    if (!l.loss) {
        eg_run_heed(run, eg_last_error()->code);
        return;
    }
    eg_run_minimize(run, adam, tape, l.loss);
    eg_run_value values[5] = {EG_RUN_VALUE("loss", l.loss), EG_RUN_VALUE("warp", l.warp), EG_RUN_VALUE("ssim", l.ssim),
                              EG_RUN_VALUE("smooth", l.smooth)};
    int n = 4;
    if (l.icp) {
        values[n++] = EG_RUN_VALUE("icp", l.icp);
    }
    eg_run_note_with(run, values, n);
}

/* Behind an epoch. */
static void evaluate(eg_run *run, eg_module *nets, eg_dataset *others, const loss_weights *by, judge *j)
{
    if (eg_run_status(run) || judge_videos(run, nets, others, by, j) || judge_log(run, j)) {
        return;
    }
    eg_run_heed(run, eg_saver_save_best(eg_run_saver(run), eg_run_step(run), -judge_worth(j)));
    eg_run_heed(run, eg_module_train(nets));
}

static eg_status report(eg_run *run, eg_module *nets, eg_dataset *others, const loss_weights *by, judge *j)
{
    if (eg_run_status(run) || judge_videos(run, nets, others, by, j)) {
        return eg_run_status(run);
    }
    judge_tell(run, j);
    return show_all(run, nets, others, j);
}

static void say_data(eg_run *run, const frames *f)
{
    int64_t videos[2], threes[2];
    const char *data = eg_run_settings_of(run)->data;
    frames_count(f, true, &videos[0], &threes[0]);
    frames_count(f, false, &videos[1], &threes[1]);
    eg_run_say(run, "%lld threes of frames of %lld videos to learn from, %lld of %lld to be judged by (%s)",
               (long long)threes[0], (long long)videos[0], (long long)threes[1], (long long)videos[1],
               data ? data : "drawn flights");
}

static eg_status train(eg_run *run, const options *o, eg_module *nets, eg_dataset *others, judge *j)
{
    eg_optim *adam = optim_new(run, o, nets);
    eg_run_heed(run, eg_run_open(run));
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(x, run)
        {
            learn(run, nets, adam, x, &o->by);
        }
        evaluate(run, nets, others, &o->by, j);
    }
    if (!eg_run_status(run)) {
        eg_path best = eg_run_path(run, "best.safetensors");
        eg_run_heed(run, eg_saver_restore_from(eg_run_saver(run), best.text, NULL, .allow_others = true));
    }
    report(run, nets, others, &o->by, j);
    eg_run_plot(run, "loss.png", "Losses", "loss, warp, ssim, smooth, icp, valid/loss");
    if (judge_has(j, "depth")) {
        eg_run_plot(run, "error.png", "Relative error of depths", "valid/depth");
    }
    return eg_run_check_fell(run, "loss", 0.98);
}

static eg_status learn_or_judge(eg_run *run, const options *o)
{
    const eg_run_settings *s = eg_run_settings_of(run);
    frames *f = frames_open(run, s->data, &o->frames);
    if (!f || o->write) {
        return f ? frames_write(f, o->write) : eg_run_status(run);
    }
    int64_t videos, threes;
    frames_count(f, false, &videos, &threes);
    say_data(run, f);
    if (!o->evaluate) {
        eg_run_train_on(run, frames_dataset(f, true, (uint64_t)s->seed));
    }
    eg_dataset *others = eg_run_dataset(run, NULL, frames_dataset(f, false, 0));
    eg_module *nets = eg_run_module(run, "nets", nets_new(o->width));
    judge *j = judge_new(run, videos);
    if (eg_run_status(run)) {
        return eg_run_status(run);
    }
    if (o->evaluate) {
        eg_path best = eg_run_path(run, "best.safetensors");
        return eg_run_restore(run, best.text) ? eg_run_status(run) : report(run, nets, others, &o->by, j);
    }
    return train(run, o, nets, others, j);
}

/* The depth of each photo, as NAME-depth.png in the folder. */
static eg_status look_at(eg_run *run, const options *o, char *const *files, int n)
{
    eg_module *nets = eg_run_module(run, "nets", nets_new(o->width));
    eg_run_heed(run, nets ? eg_run_restore(run, eg_run_path(run, "best.safetensors").text) : EG_OK);
    eg_run_heed(run, nets ? eg_module_eval(nets) : EG_OK);
    for (int i = 0; i < n && !eg_run_status(run); i++) {
        EG_RUN_COMPUTES(run)
        {
            char to[TOOL_NAME];
            eg_tensor *photo = eg_image_load(files[i], .channels = 3, .other_formats = true);
            eg_tensor *drawn = show_photo(nets, eg_run_here(run, photo), o->frames.height, o->frames.width);
            eg_run_heed(run, drawn ? eg_png_save(drawn, eg_run_path(run, tool_named(files[i], "-depth.png", to)).text)
                                   : eg_last_error()->code);
        }
    }
    return eg_run_status(run);
}

static eg_status work(eg_run *run, void *user)
{
    options o = *(options *)user;
    const eg_run_settings *s = eg_run_settings_of(run);
    int words;
    char *const *files = eg_run_operands(run, &words);
    o.frames.batch = s->batch;
    if (s->smoke) {
        o.frames.height = 32;
        o.frames.width = 64;
        o.frames.drawn = 3;
        o.width = 8;
        o.lr = 2e-3;
    }
    if (o.frames.height % 8 || o.frames.width % 8) {
        return eg_run_refuse(run, "frames of %lld x %lld: sides must be multiples of 8", (long long)o.frames.height,
                             (long long)o.frames.width);
    }
    if (o.write && s->data) {
        return eg_run_refuse(run, "--write writes flights, which are drawn without --data");
    }
    return words ? look_at(run, &o, files, words) : learn_or_judge(run, &o);
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("width", &o.width, "4", 1, 8, "channels of the published nets are divided by it"),
        EG_FLAG_INTEGER("frame-height", &o.frames.height, "64", 24, 4096, "of frames, pixels; published: 128"),
        EG_FLAG_INTEGER("frame-width", &o.frames.width, "128", 24, 4096, "of frames, pixels; published: 416"),
        EG_FLAG_REAL("lr", &o.lr, "1e-3", 1e-9, 1, "Adam's learning rate; published: 2e-4"),
        EG_FLAG_REAL("l2", &o.l2, "0", 0, 10, "weight of half the sum of the kernels' squares; published: 0.05"),
        EG_FLAG_REAL("smooth", &o.by.smooth, "0.005", 0, 100,
                     "weight of steps of disparities; published: 0.05, of frames 416 pixels wide"),
        EG_FLAG_REAL("icp", &o.by.icp, "0.1", 0, 100,
                     "weight of clouds of points that are to lie on each other; 0: none"),
        EG_FLAG_INTEGER("drawn", &o.frames.drawn, "28", 2, 10000, "flights to draw where there are no files"),
        EG_FLAG_INTEGER("held-out", &o.frames.held_out, "0", 0, 10000,
                        "videos, the last ones, that are not learned from; 0: every seventh"),
        EG_FLAG_TEXT("write", &o.write, NULL, "DIR", "only write the drawn flights there, as KITTI's files"),
        EG_FLAG_SWITCH("evaluate", &o.evaluate, "only tell what the best nets in --out are worth"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "depth", .unit = "videos",
                       .about = "Learns from video alone how far away things are and how the camera moves. "
                                "`depth PHOTO ...` draws how far away things on photos are.",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .epochs = 20, .batch = 4, .smoke_steps = 72,
                       .smoke_batch = 2, .operand = "PHOTO", .most_operands = 10000,
                       .data = "folder as KITTI's odometry; without it flights are drawn");
}
