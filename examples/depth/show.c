/* show.c - see show.h. */
#include "show.h"

#include "loss.h"

enum { SHOWN = 4, DEPTH_COLUMNS = 2 };

/* ---- sheets ------------------------------------------------------------------------------------ */

/* Pictures beside each other, axis 2, or below, axis 1: smaller ones end in white. */
static eg_tensor *together(eg_tensor **pictures, int n, int axis)
{
    const int across = 3 - axis;
    int64_t most = 0;
    for (int i = 0; i < n; i++) {
        most = eg_size(pictures[i], across) > most ? eg_size(pictures[i], across) : most;
    }
    for (int i = 0; i < n; i++) {
        int64_t after[3] = {0};
        after[across] = most - eg_size(pictures[i], across);
        pictures[i] = eg_pad(pictures[i], .value = 255, .after = {0, after[1], after[2]});
    }
    return eg_concat(pictures, n, axis);
}

/* A frame, f32 [3, H, W], as large as maps are drawn. */
static eg_tensor *frame(eg_tensor *image, const char *title)
{
    const int64_t w = eg_size(image, 2);
    return eg_draw_grid(eg_unsqueeze(image, 0), .scale = (int)(w < 400 ? 800 / w : 2), .title = title);
}

static eg_tensor *map(eg_tensor *disparity, double most, const char *title)
{
    return eg_draw_heatmap(disparity, .title = title, .least = 0, .most = most);
}

static double middle(eg_tensor *x)
{
    eg_tensor *flat = eg_flatten(x, 0, -1), *value;
    return eg_kthvalue(flat, (eg_numel(flat) + 1) / 2, 0, &value, NULL) ? 0 : eg_item(value);
}

/* A frame over its disparities, and the true ones, on whose scale the others are. */
static eg_tensor *column(eg_tensor *image, eg_tensor *disparity, eg_tensor *depth)
{
    const bool known = depth && eg_item(eg_min(depth)) > 0;
    eg_tensor *truth = known ? eg_reciprocal(depth) : NULL;
    eg_tensor *found = known ? eg_mul_scalar(disparity, middle(truth) / middle(disparity)) : disparity;
    const double most = found ? eg_item(eg_max(known ? truth : found)) : 0;
    eg_tensor *parts[3] = {frame(image, "Input frame"), map(found, most, "Inverse depth, predicted")};
    int n = 2;
    if (known) {
        parts[n++] = map(truth, most, "Inverse depth, ground truth");
    }
    return together(parts, n, 1);
}

/* ---- of videos --------------------------------------------------------------------------------- */

/* What is drawn of, on the CPU and kept: frames spread over the videos. */
typedef struct shown {
    eg_tensor *image[SHOWN], *disparity[SHOWN], *depth[SHOWN], *before[SHOWN], *warped[SHOWN];
    int count;
} shown;

static eg_tensor *keep_one(eg_tensor *x, int64_t i)
{
    return eg_keep(eg_contiguous(eg_to(eg_select(x, 0, i), eg_cpu())));
}

static eg_status add_shown(shown *s, eg_module *nets, eg_tensor *const *x)
{
    eg_tensor *d[SCALES], *mask = NULL, *motions = nets_motions(nets, x[IMAGES]);
    eg_tensor *now = eg_slice(x[IMAGES], 1, 3, 6, 1), *before = eg_slice(x[IMAGES], 1, 0, 3, 1);
    eg_status st = nets_disparities(nets, now, d);
    eg_tensor *warped = st ? NULL : loss_warp(before, d[0], eg_select(motions, 1, 0), x[LENS], &mask);
    warped = eg_mul(warped, mask);
    const int i = s->count;
    s->image[i] = keep_one(now, 0);
    s->before[i] = keep_one(before, 0);
    s->warped[i] = keep_one(warped, 0);
    s->disparity[i] = st ? NULL : keep_one(eg_select(d[0], 1, 0), 0);
    s->depth[i] = keep_one(eg_select(x[DEPTHS], 1, 0), 0);
    s->count++;
    return s->image[i] && s->before[i] && s->warped[i] && s->disparity[i] && s->depth[i] ? EG_OK
                                                                                         : eg_last_error()->code;
}

static void forget(shown *s)
{
    for (int i = 0; i < s->count; i++) {
        eg_tensor *all[] = {s->image[i], s->disparity[i], s->depth[i], s->before[i], s->warped[i]};
        for (int k = 0; k < 5; k++) {
            eg_release(all[k]);
        }
    }
}

static eg_tensor *draw_depths(const shown *s)
{
    eg_tensor *columns[DEPTH_COLUMNS];
    int n = 0;
    for (; n < DEPTH_COLUMNS && n < s->count; n++) {
        columns[n] = column(s->image[n], s->disparity[n], s->depth[n]);
    }
    return together(columns, n, 2);
}

static eg_tensor *draw_warped(const shown *s)
{
    static const char *const words[4 * SHOWN] = {"frame t", "frame t - 1", "frame t - 1, warped to t",
                                                 "difference, times 3"};
    eg_tensor *cells[4 * SHOWN];
    const char *captions[4 * SHOWN];
    for (int i = 0; i < s->count; i++) {
        eg_tensor *off = eg_abs(eg_sub(s->warped[i], s->image[i]));
        eg_tensor *there = eg_cast(eg_gt_scalar(eg_sum(s->warped[i], .axes = EG_AXES(0), .keepdim = true), 0), EG_F32);
        eg_tensor *row[4] = {s->image[i], s->before[i], s->warped[i],
                             eg_clamp_max(eg_mul_scalar(eg_mul(off, there), 3), 1)};
        for (int k = 0; k < 4; k++) {
            cells[4 * i + k] = row[k];
            captions[4 * i + k] = words[k];
        }
    }
    eg_tensor *all = eg_stack(cells, 4 * s->count, 0);
    return eg_draw_grid(all, .columns = 4, .captions = captions,
                        .scale = eg_size(all, 3) < 200 ? (int)(300 / eg_size(all, 3)) : 1,
                        .title = "The previous frame, warped by the predicted depth and motion");
}

/* Axis k of a path, [1, T, 3]. */
static eg_tensor *along(eg_tensor *path, int k)
{
    return eg_select(eg_select(path, 2, k), 0, 0);
}

static eg_tensor *draw_track(const track *t)
{
    eg_tensor *found = t->truth ? eg_trajectory_fitted(t->found, t->truth, EG_FIT_SIMILARITY) : t->found;
    eg_draw_series series[2] = {{"predicted", along(found, 2), eg_neg(along(found, 0)), 0}};
    if (t->truth) {
        series[1] = (eg_draw_series){"ground truth", along(t->truth, 2), eg_neg(along(t->truth, 0)), 0};
    }
    return found ? eg_draw_plot(series, t->truth ? 2 : 1, .title = "Camera trajectory, from above", .x_label = "ahead",
                                .y_label = "to the left", .equal = true)
                 : NULL;
}

static eg_status gather(eg_run *run, eg_module *nets, eg_dataset *others, shown *s)
{
    const int64_t batches = eg_dataset_count(others), every = batches > SHOWN ? batches / SHOWN : 1;
    int64_t i = 0;
    EG_RUN_EACH(x, run, others)
    {
        if (i++ % every == 0 && s->count < SHOWN) {
            eg_run_heed(run, add_shown(s, nets, x));
        }
    }
    return eg_run_status(run);
}

eg_status show_all(eg_run *run, eg_module *nets, eg_dataset *others, const judge *j)
{
    shown s = {.count = 0};
    eg_run_heed(run, eg_module_eval(nets));
    eg_status st = eg_run_status(run) ? eg_run_status(run) : gather(run, nets, others, &s);
    EG_SCOPE {
        if (!st) {
            eg_run_picture(run, "depth", draw_depths(&s));
            eg_run_picture(run, "warped", draw_warped(&s));
            eg_run_picture(run, "trajectory", j->count ? draw_track(&j->tracks[0]) : NULL);
        }
    }
    forget(&s);
    return eg_run_status(run);
}

/* ---- of a photo -------------------------------------------------------------------------------- */

eg_tensor *show_photo(eg_module *nets, eg_tensor *photo, int64_t height, int64_t width)
{
    eg_tensor *d[SCALES], *x = eg_image_resize(eg_image_to_float(photo), height, width, .antialias = true);
    if (!x || nets_disparities(nets, eg_unsqueeze(x, 0), d)) {
        return NULL;
    }
    return column(x, eg_to(eg_select(eg_select(d[0], 0, 0), 0, 0), eg_cpu()), NULL);
}
