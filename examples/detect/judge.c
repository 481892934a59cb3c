/* judge.c - see judge.h. */
#include "judge.h"

#include <math.h>
#include <stdlib.h>

#include <egret/models.h>

enum { SHOWN = 6 };

static void free_judge(void *given)
{
    judge *j = given;
    eg_detection_scores_free(j->coco);
    eg_detection_scores_free(j->voc);
    eg_detection_scores_free(j->masks);
    free(j);
}

judge *judge_new(eg_run *run, int64_t classes, bool masks)
{
    judge *j = calloc(1, sizeof *j);
    if (!j) {
        eg_fail(EG_ENOMEM, "detect", "out of memory");
    }
    if (eg_run_own(run, j, free_judge)) {
        return NULL;
    }
    j->coco = eg_detection_scores_new(classes);
    j->voc = eg_detection_scores_new(classes, .kind = EG_DETECTION_VOC);
    j->masks = masks ? eg_detection_scores_new(classes) : NULL;
    bool good = j->coco && j->voc && (j->masks || !masks);
    return eg_run_heed(run, good ? EG_OK : eg_last_error()->code) ? NULL : j;
}

/* ---- gathering ---- */

/* What is true of photo i of a batch, without what the batch was filled up with. */
static eg_tensor *true_part(eg_tensor *const *sample, int part, int64_t i, int64_t count)
{
    return eg_slice(eg_to(eg_select(sample[part], 0, i), eg_cpu()), 0, 0, count, 1);
}

static int64_t true_count(eg_tensor *const *sample, int64_t i)
{
    eg_tensor *there = eg_sum(eg_cast(eg_ge_scalar(eg_select(sample[LABELS], 0, i), 0), EG_I64));
    return there ? (int64_t)eg_item(there) : 0;
}

static eg_status judge_masks(const judge *j, const eg_detections *f, eg_tensor *const *sample, int64_t i, int64_t count)
{
    eg_tensor *all = true_part(sample, MASKS, i, count);
    eg_tensor *found = eg_detection_masks(f->boxes, f->masks, eg_size(all, 1), eg_size(all, 2));
    return eg_detection_scores_add(j->masks, f->boxes, f->scores, f->labels, true_part(sample, BOXES, i, count),
                                   true_part(sample, LABELS, i, count), .flags = true_part(sample, FLAGS, i, count),
                                   .areas = true_part(sample, AREAS, i, count), .masks = found, .true_masks = all);
}

static eg_status judge_photo(const judge *j, const eg_detections *all, eg_tensor *const *sample, int64_t i)
{
    eg_detections f = eg_detections_at(all, i);
    int64_t n = true_count(sample, i);
    eg_tensor *boxes = eg_to(f.boxes, eg_cpu()), *scores = eg_to(f.scores, eg_cpu()),
              *labels = eg_to(f.labels, eg_cpu());
    f = (eg_detections){boxes, scores, labels, f.masks ? eg_to(f.masks, eg_cpu()) : NULL};
    eg_tensor *wanted = true_part(sample, BOXES, i, n), *names = true_part(sample, LABELS, i, n);
    eg_tensor *flags = true_part(sample, FLAGS, i, n), *areas = true_part(sample, AREAS, i, n);
    eg_status st =
        eg_detection_scores_add(j->coco, boxes, scores, labels, wanted, names, .flags = flags, .areas = areas);
    st = st ? st : eg_detection_scores_add(j->voc, boxes, scores, labels, wanted, names, .flags = flags);
    return st || !j->masks ? st : judge_masks(j, &f, sample, i, n);
}

eg_status judge_photos(eg_run *run, eg_module *net, eg_dataset *others, judge *j)
{
    eg_detection_scores *all[] = {j->coco, j->voc, j->masks};
    for (int k = 0; k < 3; k++) {
        if (all[k]) {
            eg_detection_scores_reset(all[k]);
        }
    }
    if (eg_run_heed(run, eg_module_eval(net))) {
        return eg_run_status(run);
    }
    EG_RUN_EACH_SHARE(sample, run, others)
    {
        eg_detections found = eg_detector_find(net, sample[IMAGE], sample[SIZE]);
        eg_status st = found.boxes ? EG_OK : eg_last_error()->code;
        for (int64_t i = 0; i < eg_size(sample[IMAGE], 0) && !st; i++) {
            EG_SCOPE {
                st = judge_photo(j, &found, sample, i);
            }
        }
        eg_run_heed(run, st);
    }
    for (int k = 0; k < 3 && eg_run_comm(run) && !eg_run_status(run); k++) {
        eg_run_heed(run, all[k] ? eg_detection_scores_all_reduce(all[k], eg_run_comm(run)) : EG_OK);
    }
    return eg_run_status(run);
}

/* ---- telling ---- */

eg_status judge_log(eg_run *run, const judge *j)
{
    const eg_field fields[] = {EG_REAL("valid/AP", eg_detection_scores_value(j->coco, "AP")),
                               EG_REAL("valid/AP50", eg_detection_scores_value(j->coco, "AP50")),
                               EG_REAL("valid/VOC", eg_detection_scores_value(j->voc, "AP")),
                               EG_REAL("valid/AR", eg_detection_scores_value(j->coco, "AR100")),
                               EG_REAL("valid/mask AP", j->masks ? eg_detection_scores_value(j->masks, "AP") : 0)};
    return eg_run_log_with(run, fields, j->masks ? 5 : 4);
}

static void tell_numbers(eg_run *run, const char *of, const eg_detection_scores *s)
{
    static const char *const names[] = {"AP",  "AP50", "AP75",  "APs", "APm", "APl",
                                        "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"};
    char line[400];
    int n = snprintf(line, sizeof line, "%s:", of);
    for (int i = 0; i < 12; i++) {
        double v = eg_detection_scores_value(s, names[i]);
        n += isnan(v) ? 0 : snprintf(line + n, sizeof line - (size_t)n, " %s %.4f", names[i], v);
    }
    eg_run_say(run, "%s", line);
}

/* Precision over recall of the first classes. */
static eg_status plot_precision(eg_run *run, const judge *j, const char *const *classes, int64_t count)
{
    eg_draw_series series[EG_DRAW_SERIES_MAX];
    int n = 0;
    for (int64_t c = 0; c < count && n < EG_DRAW_SERIES_MAX; c++) {
        eg_tensor *curve = eg_detection_scores_curve(j->coco, c, 0.5);
        if (curve && eg_size(curve, 1)) {
            series[n++] = (eg_draw_series){classes[c], eg_select(curve, 0, 0), eg_select(curve, 0, 1), 0};
        }
    }
    eg_tensor *plot = n ? eg_draw_plot(series, n, .title = "Precision over recall, overlap 0.5", .x_label = "recall",
                                       .y_label = "precision")
                        : NULL;
    return plot ? eg_run_picture(run, "precision", plot) : EG_OK;
}

eg_status judge_tell(eg_run *run, const judge *j, const char *const *classes, int64_t count)
{
    tell_numbers(run, "boxes", j->coco);
    if (j->masks) {
        tell_numbers(run, "masks", j->masks);
    }
    eg_run_say(run, "Pascal VOC: mAP %.4f", eg_detection_scores_value(j->voc, "AP"));
    for (int64_t c = 0; c < count; c++) {
        double v = eg_detection_scores_of(j->voc, "AP", c);
        if (!isnan(v)) {
            eg_run_say(run, "  %-24.60s AP %.4f, AP50 %.4f", classes[c], eg_detection_scores_of(j->coco, "AP", c), v);
        }
    }
    EG_SCOPE {
        eg_run_heed(run, plot_precision(run, j, classes, count));
    }
    return eg_run_status(run);
}

/* ---- showing ---- */

static eg_tensor *draw_found(eg_tensor *photo, const eg_detections *f, const char *const *classes, int64_t count,
                             double least)
{
    eg_tensor *masks = f->masks ? eg_detection_masks(f->boxes, f->masks, eg_size(photo, 1), eg_size(photo, 2)) : NULL;
    return eg_draw_objects(photo, f->boxes, .labels = f->labels, .scores = f->scores, .masks = masks,
                           .classes = classes, .classes_count = (int)count, .least = least);
}

/* Small photos are enlarged before boxes and letters are drawn on them: times this. */
static int64_t enlarged_by(const eg_tensor *photo)
{
    enum { SIDE = 320 };
    const int64_t width = eg_size(photo, 2);
    return width > 0 && width < SIDE ? (SIDE + width - 1) / width : 1;
}

static eg_tensor *enlarge(eg_tensor *photo, int64_t times)
{
    return times == 1 ? photo : eg_repeat_interleave(eg_repeat_interleave(photo, times, 1), times, 2);
}

/* Photo i of a batch, cut to what is photo, with what there is and what was found. */
static eg_tensor *draw_sample(eg_tensor *const *sample, int64_t i, const eg_detections *all, const char *const *classes,
                              int64_t count, double least)
{
    double size[2];
    if (eg_to_values(eg_select(sample[SIZE], 0, i), size)) {
        return NULL;
    }
    eg_tensor *seen =
        eg_slice(eg_slice(eg_select(sample[IMAGE], 0, i), 1, 0, (int64_t)size[0], 1), 2, 0, (int64_t)size[1], 1);
    eg_detections f = eg_detections_at(all, i);
    int64_t n = true_count(sample, i), times = enlarged_by(seen);
    f.boxes = eg_mul_scalar(f.boxes, (double)times);
    eg_tensor *photo = eg_draw_objects(enlarge(photos_shown(seen), times),
                                       eg_mul_scalar(true_part(sample, BOXES, i, n), (double)times),
                                       .labels = true_part(sample, LABELS, i, n), .dashed = true);
    return photo && f.boxes ? draw_found(photo, &f, classes, count, least) : NULL;
}

/* Pictures of one size: smaller ones end in white. */
static eg_tensor *sheet(eg_tensor **pictures, int n)
{
    int64_t height = 0, width = 0;
    for (int i = 0; i < n; i++) {
        height = eg_size(pictures[i], 1) > height ? eg_size(pictures[i], 1) : height;
        width = eg_size(pictures[i], 2) > width ? eg_size(pictures[i], 2) : width;
    }
    for (int i = 0; i < n; i++) {
        pictures[i] = eg_pad(pictures[i], .value = 255,
                             .after = {0, height - eg_size(pictures[i], 1), width - eg_size(pictures[i], 2)});
    }
    return n ? eg_draw_grid(eg_stack(pictures, n, 0), .columns = 3, .scale = 1,
                            .title = "Validation images. Dashed: ground truth; solid: found, with class and score")
             : NULL;
}

eg_status judge_show(eg_run *run, eg_module *net, eg_dataset *others, const char *const *classes, int64_t count,
                     double least)
{
    eg_tensor *pictures[SHOWN];
    int n = 0;
    eg_run_heed(run, eg_module_eval(net));
    eg_scope s = eg_scope_push();
    EG_RUN_EACH(sample, run, others)
    {
        eg_detections found = eg_detector_find(net, sample[IMAGE], sample[SIZE]);
        for (int64_t i = 0; i < eg_size(sample[IMAGE], 0) && n < SHOWN; i++) {
            pictures[n] = eg_keep(draw_sample(sample, i, &found, classes, count, least));
            if (!pictures[n]) {
                eg_run_heed(run, eg_last_error()->code);
                break;
            }
            n++;
        }
        if (n == SHOWN || eg_run_status(run)) {
            break;
        }
    }
    eg_tensor *kept[SHOWN];
    for (int i = 0; i < n; i++) {
        kept[i] = pictures[i];
    }
    if (n && !eg_run_status(run)) {
        eg_run_picture(run, "found", sheet(pictures, n));
    }
    for (int i = 0; i < n; i++) {
        eg_release(kept[i]);
    }
    eg_scope_pop(s, NULL);
    return eg_run_status(run);
}

eg_tensor *judge_draw(eg_module *net, eg_tensor *photo, const photos_options *o, const char *const *classes,
                      int64_t count, double least)
{
    eg_tensor *seen = photos_seen(photo, o->shorter, o->longer);
    if (!seen) {
        return NULL;
    }
    eg_detections all = eg_detector_find(net, eg_unsqueeze(seen, 0), NULL), f = eg_detections_at(&all, 0);
    if (!f.boxes) {
        return NULL;
    }
    const double down = (double)eg_size(photo, 1) / (double)eg_size(seen, 1);
    const double across = (double)eg_size(photo, 2) / (double)eg_size(seen, 2);
    eg_tensor *scale = eg_from_values(EG_SHAPE(4), EG_F32, (double[]){across, down, across, down});
    const int64_t times = enlarged_by(photo);
    f.boxes = eg_mul_scalar(eg_mul(eg_to(f.boxes, eg_cpu()), scale), (double)times);
    return draw_found(enlarge(photo, times), &f, classes, count, least);
}
