/* detect.c - finds objects in photos: Faster R-CNN, Mask R-CNN and RetinaNet. */
#include <stdlib.h>
#include <string.h>

#include <egret/models.h>
#include <egret/run.h>

#include "../common/tools.h"
#include "judge.h"
#include "photos.h"
#include "start.h"

typedef struct options {
    photos_options photos;
    const char *net, *weights;
    int64_t layers, width, hidden, proposals, warm_up, frozen_stages;
    double lr, anchor, clip, least;
    bool frozen_norms, evaluate;
} options;

/* X(name, maker, takes hidden, takes proposals, has masks, least layers) */
#define NETS(X)                                                             \
    X("faster-rcnn", eg_faster_rcnn_new_with, true, true, false, 18)        \
    X("mask-rcnn", eg_mask_rcnn_new_with, true, true, true, 18)             \
    X("faster-rcnn-c4", eg_faster_rcnn_c4_new_with, false, true, false, 50) \
    X("mask-rcnn-c4", eg_mask_rcnn_c4_new_with, false, true, true, 50)      \
    X("retinanet", eg_retinanet_new_with, false, false, false, 18)
#define ROW(...)          {__VA_ARGS__},
#define CHOICE(name, ...) "|" name
static const struct {
    const char *name;
    eg_module *(*make)(int64_t classes, const eg_detector_options *o);
    bool hidden, proposals, masks;
    int least_layers;
} nets[] = {NETS(ROW)};
static const char choices[] = NETS(CHOICE);

static int net_of(const options *o)
{
    int i = 0;
    while (strcmp(nets[i].name, o->net)) {
        i++;
    }
    return i;
}

static eg_module *net_new(const options *o, int64_t classes, bool smoke)
{
    int i = net_of(o), layers = smoke ? 18 : (int)o->layers;
    const eg_detector_options d = {.size = sizeof d,
                                   .layers = layers > nets[i].least_layers ? layers : nets[i].least_layers,
                                   .width = smoke ? 16 : o->width,
                                   .hidden = !nets[i].hidden ? 0
                                             : smoke         ? 32
                                                             : o->hidden,
                                   .proposals = !nets[i].proposals ? 0
                                                : smoke            ? 50
                                                                   : o->proposals,
                                   .anchor = o->anchor,
                                   .frozen_norms = o->frozen_norms,
                                   .frozen_stages = (int)o->frozen_stages};
    return nets[i].make(classes, &d);
}

static eg_optim *optim_new(eg_run *run, const options *o, eg_module *net, int64_t steps)
{
    eg_optim *sgd = eg_run_optim(
        run, "sgd", eg_sgd_new(eg_module_parameters(net), .lr = o->lr, .momentum = 0.9, .weight_decay = 1e-4));
    eg_schedule plan = EG_SCHEDULE(.kind = EG_RATE_COSINE, .lr = o->lr, .steps = steps > 0 ? steps : 1,
                                   .warm_up = o->warm_up, .warm_up_kind = EG_WARM_UP_OVER);
    if (sgd && (eg_run_heed(run, eg_optim_follow(sgd, &plan)) || eg_run_heed(run, eg_optim_clip_norm(sgd, o->clip)))) {
        return NULL;
    }
    return sgd;
}

static void learn(eg_run *run, eg_module *net, eg_optim *sgd, eg_tensor *const *sample, bool masks)
{
    eg_tape tape = eg_tape_open();
    eg_detector_losses l = eg_detector_loss(net, eg_channels_last(sample[IMAGE]), sample[BOXES], sample[LABELS],
                                            .sizes = sample[SIZE], .masks = masks ? sample[MASKS] : NULL);
    if (!l.loss) {
        eg_run_heed(run, eg_last_error()->code);
        return;
    }
    eg_run_minimize(run, sgd, tape, l.loss);
    const struct {
        const char *name;
        eg_tensor *value;
    } parts[] = {{"loss", l.loss},         {"objectness", l.objectness},
                 {"proposal", l.proposal}, {"label", l.label},
                 {"box", l.box},           {"mask", l.mask}};
    eg_run_value values[7];
    int n = 0;
    for (int i = 0; i < 6; i++) {
        if (parts[i].value) {
            values[n++] = EG_RUN_VALUE(parts[i].name, parts[i].value);
        }
    }
    values[n++] = EG_RUN_NUMBER("rate", eg_optim_rate(sgd));
    eg_run_note_with(run, values, n);
}

/* Behind an epoch. */
static void evaluate(eg_run *run, eg_module *net, eg_dataset *others, judge *j)
{
    if (eg_run_status(run) || judge_photos(run, net, others, j) || judge_log(run, j)) {
        return;
    }
    eg_saver *saver = eg_run_saver(run);
    double score = eg_detection_scores_value(j->masks ? j->masks : j->coco, "AP50");
    if (!(score <= eg_saver_best_score(saver))) {
        eg_run_heed(run, eg_saver_save_best(saver, eg_run_step(run), score));
    }
    eg_run_heed(run, eg_module_train(net));
}

static eg_status report(eg_run *run, eg_module *net, eg_dataset *others, judge *j, const photos *p, double least)
{
    int64_t count;
    const char *const *classes = photos_classes(p, &count);
    if (eg_run_status(run) || judge_photos(run, net, others, j)) {
        return eg_run_status(run);
    }
    judge_tell(run, j, classes, count);
    return judge_show(run, net, others, classes, count, least);
}

static eg_status train(eg_run *run, const options *o)
{
    const eg_run_settings *s = eg_run_settings_of(run);
    int64_t count = 0;
    photos *p = photos_open(run, s->data, &o->photos);
    const char *const *classes = p ? photos_classes(p, &count) : NULL;
    if (p && !o->evaluate) {
        eg_run_train_on(run, photos_dataset(p, true, (uint64_t)s->seed));
    }
    eg_dataset *others = p ? eg_run_dataset(run, NULL, photos_dataset(p, false, 0)) : NULL;
    eg_module *net = p ? eg_run_module(run, "net", net_new(o, count, s->smoke)) : NULL;
    judge *j = p ? judge_new(run, count, o->photos.masks) : NULL;
    if (o->weights && net) {
        eg_run_heed(run, start_from(run, net, o->weights));
    }
    if (eg_run_status(run)) {
        return eg_run_status(run);
    }
    if (o->evaluate) {
        eg_path best = eg_run_path(run, "best.safetensors");
        return !o->weights && eg_run_restore(run, best.text) ? eg_run_status(run)
                                                             : report(run, net, others, j, p, o->least);
    }
    eg_optim *sgd = optim_new(run, o, net, eg_run_steps(run));
    eg_run_heed(run, eg_run_open(run));
    eg_run_heed(run, start_note_classes(run, classes, count));
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(sample, run)
        {
            learn(run, net, sgd, sample, o->photos.masks);
        }
        evaluate(run, net, others, j);
    }
    if (!eg_run_status(run)) {
        eg_path best = eg_run_path(run, "best.safetensors");
        eg_run_heed(run, eg_saver_restore_from(eg_run_saver(run), best.text, NULL, .allow_others = true));
    }
    report(run, net, others, j, p, o->least);
    eg_run_plot(run, "loss.png", "Losses", "loss, objectness, proposal, label, box, mask");
    eg_run_plot(run, "precision-by-epoch.png", "Average precision", "valid/AP, valid/AP50, valid/VOC, valid/mask AP");
    return eg_run_check_fell(run, "loss", 0.98);
}

/* What a trained net finds on each of the files, as NAME-found.png in the folder. */
static eg_status find(eg_run *run, const options *o, char *const *files, int n)
{
    int64_t count;
    char **classes = start_classes(run, &count);
    eg_run_heed(run, classes ? EG_OK : eg_last_error()->code);
    eg_module *net = classes ? eg_run_module(run, "net", net_new(o, count, eg_run_settings_of(run)->smoke)) : NULL;
    eg_run_heed(run, net ? eg_run_restore(run, eg_run_path(run, "best.safetensors").text) : EG_OK);
    eg_run_heed(run, net ? eg_module_eval(net) : EG_OK);
    for (int i = 0; i < n && !eg_run_status(run); i++) {
        EG_RUN_COMPUTES(run)
        {
            char to[TOOL_NAME];
            eg_tensor *photo = eg_image_load(files[i], .channels = 3, .other_formats = true);
            eg_tensor *drawn =
                photo ? judge_draw(net, photo, &o->photos, (const char *const *)classes, count, o->least) : NULL;
            eg_run_heed(run, drawn ? eg_png_save(drawn, eg_run_path(run, tool_named(files[i], "-found.png", to)).text)
                                   : eg_last_error()->code);
        }
    }
    free(classes);
    return eg_run_status(run);
}

static eg_status work(eg_run *run, void *user)
{
    options o = *(options *)user;
    const eg_run_settings *s = eg_run_settings_of(run);
    int words;
    char *const *files = eg_run_operands(run, &words);
    o.photos.masks = nets[net_of(&o)].masks;
    o.photos.batch = s->batch;
    if (s->smoke) {
        o.photos.shorter = 64;
        o.photos.longer = 128;
        o.photos.drawn = 24;
        o.anchor = 8;
        o.warm_up = 2;
        o.lr = 0.05;
    }
    return words ? find(run, &o, files, words) : train(run, &o);
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_CHOICE("net", &o.net, "faster-rcnn", choices + 1, "what finds"),
        EG_FLAG_INTEGER("layers", &o.layers, "18", 18, 152,
                        "of its residual net: 18, 34, 50, 101 or 152; of C4 50 at least"),
        EG_FLAG_INTEGER("width", &o.width, "128", 8, 1024,
                        "channels of the pyramid of features, published: 256; of C4's first look, published: 512"),
        EG_FLAG_INTEGER("hidden", &o.hidden, "512", 8, 8192,
                        "width of the dense layers that look again; published: 1024"),
        EG_FLAG_INTEGER("proposals", &o.proposals, "500", 1, 100000, "of a photo that are looked at again"),
        EG_FLAG_REAL("anchor", &o.anchor, "16", 1, 1024, "side of the smallest anchors, pixels; published: 32"),
        EG_FLAG_INTEGER("shorter", &o.photos.shorter, "240", 32, 4096, "pixels that the shorter side of a photo gets"),
        EG_FLAG_INTEGER("longer", &o.photos.longer, "400", 32, 4096, "and that the longer one has at most"),
        EG_FLAG_TEXT("weights", &o.weights, NULL, "FILE",
                     "to begin with: a detector's, or a classifier's with the same residual net"),
        EG_FLAG_INTEGER("frozen-stages", &o.frozen_stages, "0", 0, 5, "of the residual net that do not learn"),
        EG_FLAG_SWITCH("frozen-norms", &o.frozen_norms, "batch norms of the residual net stay as they are"),
        EG_FLAG_REAL("lr", &o.lr, "0.02", 1e-9, 10, "learning rate, which falls along half a cosine"),
        EG_FLAG_INTEGER("warm-up", &o.warm_up, "100", 0, 1000000, "steps in which it rises"),
        EG_FLAG_REAL("clip", &o.clip, "10", 0, 1e9, "norm that gradients have at most; 0: any"),
        EG_FLAG_SWITCH("crops", &o.photos.crops, "photos are cut and made smaller by chance, as SSD has it"),
        EG_FLAG_TEXT("train-set", &o.photos.train, NULL, "NAME",
                     "of the photos to learn from; without it train, of COCO train2017"),
        EG_FLAG_TEXT("valid-set", &o.photos.valid, NULL, "NAME",
                     "of those to be judged by; without it val, of COCO val2017"),
        EG_FLAG_INTEGER("drawn", &o.photos.drawn, "800", 8, 1000000,
                        "pictures of shapes to draw where there are no files"),
        EG_FLAG_SWITCH("evaluate", &o.evaluate, "only tell what the best net in --out, or --weights, is worth"),
        EG_FLAG_REAL("least", &o.least, "0.5", 0, 1, "score of what is drawn"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "detect", .unit = "images",
                       .about =
                           "Trains a net to find objects in photos: boxes, classes and, with --net mask-rcnn, masks. "
                           "`detect PHOTO ...` draws what the best net in --out finds.",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .epochs = 12, .batch = 4, .smoke_steps = 24,
                       .smoke_batch = 2, .operand = "PHOTO", .most_operands = 10000,
                       .data = "folder as Pascal VOC, COCO or YOLO's users lay it out; without it shapes are drawn");
}
