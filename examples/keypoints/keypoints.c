/* keypoints.c - finds keypoints in space that are the same on all objects of a kind, from pairs of views alone
 * (Suwajanakorn et al. 2018). */
#include "../common/tools.h"
#include "judge.h"
#include "records.h"
#include "shapes.h"

typedef struct options {
    pairs_options pairs;
    keypoint_net_options net;
    keypoint_weights weights;
    int64_t told;
    double lr, clip, noise;
    const char *write;
    bool evaluate;
} options;

static void learn(eg_run *run, const options *o, eg_module *net, eg_optim *adam, const batch *b)
{
    eg_tape tape = eg_tape_open();
    const int64_t n = eg_size(b->pictures, 0);
    keypoints found = keypoint_net_find(net, b->pictures, eg_run_step(run) <= o->told ? views_facing(&b->v) : NULL);
    eg_tensor *noise = eg_normal(EG_SHAPE(n, o->net.keypoints, 3), 0, o->noise, EG_F32);
    keypoint_losses l = {0};
    if (found.uvz && noise) {
        l = keypoint_losses_of(&found, b->inside, &b->v, noise, &o->weights);
    }
    if (!l.loss) {
        eg_run_heed(run, eg_last_error()->code);
        return;
    }
    eg_run_minimize(run, adam, tape, l.loss);
    eg_run_note(run, EG_RUN_VALUE("loss", l.loss), EG_RUN_VALUE("consistency", l.consistency),
                EG_RUN_VALUE("pose", l.pose), EG_RUN_VALUE("separation", l.separation),
                EG_RUN_VALUE("silhouette", l.silhouette), EG_RUN_VALUE("variance", l.variance),
                EG_RUN_VALUE("orientation", l.orientation));
}

/* Behind an epoch. */
static void evaluate(eg_run *run, eg_module *net, eg_dataset *others, double focal)
{
    worth w;
    if (eg_run_status(run) || judge_pairs(run, net, others, focal, &w) || judge_log(run, &w)) {
        return;
    }
    eg_saver *saver = eg_run_saver(run);
    if (!(-w.angle <= eg_saver_best_score(saver))) {
        eg_run_heed(run, eg_saver_save_best(saver, eg_run_step(run), -w.angle));
    }
    eg_run_heed(run, eg_module_train(net));
}

/* What the best net is worth. */
static eg_status report(eg_run *run, const options *o, eg_module *net, eg_dataset *others, double focal)
{
    worth w;
    if (eg_run_status(run) || judge_pairs(run, net, others, focal, &w)) {
        return eg_run_status(run);
    }
    judge_tell(run, &w);
    judge_show(run, net, others);
    return eg_run_settings_of(run)->data ? eg_run_status(run) : judge_turn(run, net, &o->pairs);
}

static eg_status train(eg_run *run, const options *o)
{
    const eg_run_settings *s = eg_run_settings_of(run);
    pairs *p = pairs_open(run, s->data, &o->pairs);
    if (p && !o->evaluate) {
        eg_run_train_on(run, pairs_dataset(p, true, (uint64_t)s->seed));
    }
    eg_dataset *others = p ? eg_run_dataset(run, NULL, pairs_dataset(p, false, 0)) : NULL;
    eg_module *net = p ? eg_run_module(run, "net", keypoint_net_new(&o->net)) : NULL;
    if (eg_run_status(run)) {
        return eg_run_status(run);
    }
    const double focal = pairs_focal(p);
    if (o->evaluate) {
        eg_path best = eg_run_path(run, "best.safetensors");
        return eg_run_restore(run, best.text) ? eg_run_status(run) : report(run, o, net, others, focal);
    }
    eg_optim *adam = eg_run_optim(run, "adam", eg_adam_new(eg_module_parameters(net), .lr = o->lr));
    eg_run_heed(run, adam ? eg_optim_clip_norm(adam, o->clip) : EG_OK);
    eg_run_heed(run, eg_run_open(run));
    if (!eg_run_status(run)) {
        eg_run_say(run, "%lld parameters; pairs of %s", (long long)eg_module_numel(net),
                   s->data ? s->data : "drawn shapes");
    }
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(sample, run)
        {
            const batch b = batch_of(sample, focal);
            learn(run, o, net, adam, &b);
        }
        evaluate(run, net, others, focal);
    }
    if (!eg_run_status(run)) {
        eg_path best = eg_run_path(run, "best.safetensors");
        eg_run_heed(run, eg_saver_restore_from(eg_run_saver(run), best.text, NULL, .allow_others = true));
    }
    report(run, o, net, others, focal);
    judge_curves(run);
    eg_run_plot(run, "angle.png", "Degrees between rotations", "valid/angle, valid/median angle");
    return eg_run_check_fell(run, "loss", 0.98);
}

/* Keypoints that the best net finds on each of the files, as NAME-keypoints.png in the folder. */
static eg_status find(eg_run *run, const options *o, char *const *files, int n)
{
    eg_module *net = eg_run_module(run, "net", keypoint_net_new(&o->net));
    eg_run_heed(run, net ? eg_run_restore(run, eg_run_path(run, "best.safetensors").text) : EG_OK);
    eg_run_heed(run, net ? eg_module_eval(net) : EG_OK);
    for (int i = 0; i < n && !eg_run_status(run); i++) {
        EG_RUN_COMPUTES(run)
        {
            char to[TOOL_NAME];
            eg_tensor *photo = eg_image_load(files[i], .channels = 3);
            eg_tensor *seen = eg_image_resize(eg_mul_scalar(eg_cast(photo, EG_F32), 1 / 255.0), o->pairs.side,
                                              o->pairs.side, .antialias = true);
            eg_tensor *drawn = seen ? judge_draw(net, photo, eg_run_here(run, seen), 1) : NULL;
            eg_run_heed(run, drawn
                                 ? eg_png_save(drawn, eg_run_path(run, tool_named(files[i], "-keypoints.png", to)).text)
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
    o.pairs.batch = s->batch;
    if (s->smoke) {
        o.pairs.side = 24;
        o.pairs.shapes = 6;
        o.pairs.others = 2;
        o.pairs.each = 4;
        o.net.filters = 8;
        o.net.keypoints = 4;
        o.told = 12;
    }
    return words     ? find(run, &o, files, words)
           : o.write ? eg_run_heed(run, records_write(&o.pairs, o.write))
                     : train(run, &o);
}

int main(int argc, char **argv)
{
    options o = {.net = {.momentum = 0.01}, .weights = KEYPOINT_WEIGHTS};
    const eg_flag flags[] = {
        EG_FLAG_CHOICE("shape", &o.pairs.shape, "car", SHAPES_CHOICES, "what is drawn"),
        EG_FLAG_INTEGER("side", &o.pairs.side, "32", 16, 1024, "pixels of a picture that is drawn; published: 128"),
        EG_FLAG_INTEGER("shapes", &o.pairs.shapes, "100", 1, 1000000, "to draw and to learn from"),
        EG_FLAG_INTEGER("others", &o.pairs.others, "16", 1, 1000000, "to be judged by"),
        EG_FLAG_INTEGER("each", &o.pairs.each, "24", 1, 1000000, "pairs of views of each shape"),
        EG_FLAG_TEXT("write", &o.write, NULL, "DIR", "only put what is drawn there, in files as --data takes them"),
        EG_FLAG_INTEGER("filters", &o.net.filters, "16", 2, 1024, "width of the net; published: 64"),
        EG_FLAG_INTEGER("keypoints", &o.net.keypoints, "10", 3, 100, "how many to find"),
        EG_FLAG_REAL("distance", &o.net.distance, "30", 1e-3, 1e6, "of the camera, which depths are learned from"),
        EG_FLAG_REAL("lr", &o.lr, "1e-3", 1e-9, 10, "learning rate"),
        EG_FLAG_REAL("clip", &o.clip, "5", 0, 1e9, "norm that gradients have at most; 0: any"),
        EG_FLAG_REAL("noise", &o.noise, "0.02", 0, 10,
                     "added to keypoints before their rotation is found; published: 0.1"),
        EG_FLAG_INTEGER("told", &o.told, "400", 0, 1000000000,
                        "steps in which the net is told which way the object looks; published: 45000"),
        EG_FLAG_REAL("consistency", &o.weights.consistency, "1", 0, 1e6, "weight of this loss"),
        EG_FLAG_REAL("pose", &o.weights.pose, "2", 0, 1e6, "and of this one; published: 0.2"),
        EG_FLAG_REAL("separation", &o.weights.separation, "1", 0, 1e6, "and of this one"),
        EG_FLAG_REAL("silhouette", &o.weights.silhouette, "1", 0, 1e6, "and of this one"),
        EG_FLAG_REAL("variance", &o.weights.variance, "0.5", 0, 1e6, "and of this one"),
        EG_FLAG_REAL("orientation", &o.weights.orientation, "1", 0, 1e6, "and of this one"),
        EG_FLAG_SWITCH("evaluate", &o.evaluate, "only tell what the best net in --out is worth"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "keypoints", .unit = "images",
                       .about =
                           "Finds keypoints in space that are the same on all objects of a kind, from pairs of views. "
                           "`keypoints PICTURE ...` draws those that the best net in --out finds.",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .epochs = 8, .batch = 8, .smoke_steps = 24,
                       .smoke_batch = 4, .operand = "PICTURE", .most_operands = 10000,
                       .data = "folder of KeypointNet's records; without it shapes are drawn");
}
