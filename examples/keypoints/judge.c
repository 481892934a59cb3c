/* judge.c - see judge.h. */
#include "judge.h"

#include <math.h>
#include <stdlib.h>

#include "shapes.h"

enum { PAIRS_SHOWN = 8, SHAPES_SHOWN = 4, TURNS = 8, FRAMES = 48, LARGE = 192 /* pixels that are seen well */ };

static const double degrees = 57.295779513082321;

/* ---- batches ------------------------------------------------------------------------------------- */

/* [B, 2, ...] as [2 B, ...]: what is of first views first. */
static eg_tensor *by_view(eg_tensor *x)
{
    return eg_flatten(eg_transpose(x, 0, 1), 0, 1);
}

batch batch_of(eg_tensor *const *sample, double focal)
{
    eg_tensor *all = by_view(sample[PICTURES]);
    eg_tensor *inside = eg_cast(eg_gt_scalar(eg_select(all, 1, 3), 0), EG_F32);
    return (batch){
        eg_channels_last(eg_slice(all, 1, 0, 3, 1)), inside, {by_view(sample[INTO]), by_view(sample[BACK]), focal}};
}

/* ---- gathering ----------------------------------------------------------------------------------- */

typedef struct angles {
    double *at;
    int64_t count, room;
} angles;

static eg_status add_angles(angles *a, eg_tensor *radians)
{
    const int64_t n = radians ? eg_numel(radians) : 0;
    if (a->count + n > a->room) {
        const int64_t room = 2 * a->room + n;
        double *grown = realloc(a->at, (size_t)room * sizeof *grown);
        if (!grown) {
            return eg_fail(EG_ENOMEM, "keypoints", "out of memory");
        }
        a->at = grown;
        a->room = room;
    }
    eg_status st = radians ? eg_to_values(radians, a->at + a->count) : eg_last_error()->code;
    a->count += st ? 0 : n;
    return st;
}

static int by_size(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

/* Places u, v as pixels from the left upper corner, [N, K, 2]. */
static eg_tensor *pixels_of(eg_tensor *uvz, int64_t height, int64_t width)
{
    eg_tensor *u = eg_slice(uvz, 2, 0, 1, 1), *v = eg_slice(uvz, 2, 1, 2, 1);
    eg_tensor *x = eg_mul_scalar(eg_add_scalar(u, 1), (double)width / 2);
    eg_tensor *y = eg_mul_scalar(eg_add_scalar(eg_neg(v), 1), (double)height / 2);
    return eg_concat((eg_tensor *[]){x, y}, 2, 2);
}

/* What the mask is at each keypoint, [N, K]. */
static eg_tensor *inside_of(eg_tensor *pixels, eg_tensor *inside)
{
    const int64_t height = eg_size(inside, 1), width = eg_size(inside, 2);
    eg_tensor *x = eg_clamp(eg_cast(eg_select(pixels, 2, 0), EG_I64), 0, (double)width - 1);
    eg_tensor *y = eg_clamp(eg_cast(eg_select(pixels, 2, 1), EG_I64), 0, (double)height - 1);
    return eg_gather(eg_flatten(inside, 1, 2), 1, eg_add(eg_mul_scalar(y, (double)width), x));
}

static eg_status judge_batch(eg_module *net, const batch *b, eg_metrics *m, angles *all)
{
    keypoints found = keypoint_net_find(net, b->pictures, NULL);
    if (!found.uvz) {
        return eg_last_error()->code;
    }
    const int64_t n = eg_size(b->pictures, 0) / 2, height = eg_size(b->pictures, 2), width = eg_size(b->pictures, 3);
    eg_tensor *xyz = keypoints_unproject(found.uvz, b->v.focal), *turned = views_rotation(&b->v);
    eg_tensor *rotation = keypoints_rotation(eg_slice(xyz, 0, 0, n, 1), eg_slice(xyz, 0, n, 2 * n, 1));
    eg_tensor *at = pixels_of(found.uvz, height, width);
    eg_tensor *from_other = pixels_of(eg_roll(keypoints_in_other(found.uvz, &b->v), n, 0), height, width);
    eg_tensor *off = eg_sqrt(eg_sum(eg_square(eg_sub(at, from_other)), .axes = EG_AXES(2)));
    eg_tensor *still = eg_to(eg_eye(3, 3, 0, EG_F32), eg_device_of(b->pictures));
    eg_status st = add_angles(all, rotation_angle(rotation, turned));
    st = st ? st : eg_metrics_mean(m, "apart", rotation_angle(still, turned));
    st = st ? st : eg_metrics_mean(m, "pixels", off);
    st = st ? st : eg_metrics_mean(m, "inside", inside_of(at, b->inside));
    return st ? st : eg_metrics_mean(m, "facing", eg_eq(keypoints_facing(found.axis), views_facing(&b->v)));
}

eg_status judge_pairs(eg_run *run, eg_module *net, eg_dataset *others, double focal, worth *w)
{
    angles all = {NULL, 0, 0};
    eg_metrics *m = eg_metrics_new();
    eg_run_heed(run, m ? eg_module_eval(net) : eg_last_error()->code);
    EG_RUN_EACH(sample, run, others)
    {
        const batch b = batch_of(sample, focal);
        eg_run_heed(run, judge_batch(net, &b, m, &all));
    }
    if (!eg_run_status(run) && all.count) {
        double sum = 0;
        for (int64_t i = 0; i < all.count; i++) {
            sum += all.at[i];
        }
        qsort(all.at, (size_t)all.count, sizeof *all.at, by_size);
        *w = (worth){.angle = degrees * sum / (double)all.count,
                     .median = degrees * (all.at[(all.count - 1) / 2] + all.at[all.count / 2]) / 2,
                     .apart = degrees * eg_metrics_value(m, "apart"),
                     .pixels = eg_metrics_value(m, "pixels"),
                     .inside = eg_metrics_value(m, "inside"),
                     .facing = eg_metrics_value(m, "facing")};
    }
    free(all.at);
    eg_metrics_free(m);
    return eg_run_status(run);
}

/* ---- telling ------------------------------------------------------------------------------------- */

eg_status judge_log(eg_run *run, const worth *w)
{
    return eg_run_log(run, EG_REAL("valid/angle", w->angle), EG_REAL("valid/median angle", w->median),
                      EG_REAL("valid/pixels", w->pixels), EG_REAL("valid/inside", w->inside),
                      EG_REAL("valid/facing", w->facing));
}

void judge_tell(eg_run *run, const worth *w)
{
    eg_run_say(run,
               "the rotation between two views, %.2f degrees in the mean, is found with an error of %.2f, median %.2f",
               w->apart, w->angle, w->median);
    eg_run_say(run, "keypoints are %.3f pixels from where the other view says, %.2f %% are on the object", w->pixels,
               100 * w->inside);
    eg_run_say(run, "which way it looks is told right of %.2f %%", 100 * w->facing);
}

eg_status judge_curves(eg_run *run)
{
    static const char *const names[] = {"consistency", "pose", "separation", "silhouette", "variance", "orientation"};
    EG_SCOPE {
        eg_draw_series all[6];
        const double smooth = eg_run_step(run) < 200 ? 0 : 0.95;
        for (int i = 0; i < 6; i++) {
            all[i] = (eg_draw_series){names[i], NULL, eg_run_curve(run, names[i]), smooth};
        }
        eg_tensor *plot =
            eg_run_status(run) ? NULL : eg_draw_plot(all, 6, .title = "Losses", .x_label = "step", .log_y = true);
        eg_run_heed(run, plot ? eg_run_picture(run, "losses", plot) : eg_last_error()->code);
    }
    return eg_run_status(run);
}

/* ---- showing ------------------------------------------------------------------------------------- */

eg_tensor *judge_draw(eg_module *net, eg_tensor *picture, eg_tensor *seen, int scale)
{
    keypoints found = keypoint_net_find(net, eg_channels_last(eg_unsqueeze(seen, 0)), NULL);
    eg_tensor *at = found.uvz ? eg_to(pixels_of(found.uvz, eg_size(picture, 1), eg_size(picture, 2)), eg_cpu()) : NULL;
    return at ? eg_draw_objects(picture, NULL, .scale = scale, .keypoints = at) : NULL;
}

/* Draws both views of the pairs of a batch, until there are enough; how many there are then. */
static int draw_batch(eg_run *run, eg_module *net, eg_tensor *pictures, eg_tensor **cells, int n)
{
    const int scale = (int)(LARGE / eg_size(pictures, 4));
    for (int64_t i = 0; i < 2 * eg_size(pictures, 0) && n < 2 * PAIRS_SHOWN && !eg_run_status(run); i++) {
        eg_tensor *seen = eg_slice(eg_select(eg_select(pictures, 0, i / 2), 0, i % 2), 0, 0, 3, 1);
        eg_tensor *cell = judge_draw(net, eg_image_to_u8(eg_to(seen, eg_cpu())), seen, scale > 1 ? scale : 1);
        if (!eg_run_heed(run, cell ? EG_OK : eg_last_error()->code)) {
            cells[n++] = eg_keep(cell);
        }
    }
    return n;
}

eg_status judge_show(eg_run *run, eg_module *net, eg_dataset *others)
{
    eg_tensor *cells[2 * PAIRS_SHOWN];
    int n = 0;
    eg_run_heed(run, eg_module_eval(net));
    EG_RUN_EACH(sample, run, others)
    {
        n = draw_batch(run, net, sample[PICTURES], cells, n);
        if (n == 2 * PAIRS_SHOWN || eg_run_status(run)) {
            break;
        }
    }
    EG_SCOPE {
        eg_tensor *sheet = n && !eg_run_status(run) ? eg_draw_grid(eg_stack(cells, n, 0), .columns = 4) : NULL;
        eg_run_heed(run, sheet ? eg_run_picture(run, "pairs", sheet) : eg_last_error()->code);
    }
    for (int i = 0; i < n; i++) {
        eg_release(cells[i]);
    }
    return eg_run_status(run);
}

/* Shape number i, seen from an angle, as large as is seen well. */
static eg_tensor *draw_turned(eg_run *run, eg_module *net, const pairs_options *o, const solid *s, double around)
{
    const view v = render_view(around, 0.35);
    eg_tensor *shown = render_solid(s, &v, LARGE), *seen = render_solid(s, &v, o->side);
    seen = eg_mul_scalar(eg_cast(eg_slice(seen, 0, 0, 3, 1), EG_F32), 1 / 255.0);
    return seen ? judge_draw(net, eg_slice(shown, 0, 0, 3, 1), eg_run_here(run, seen), 1) : NULL;
}

static eg_status draw_sheet(eg_run *run, eg_module *net, const pairs_options *o, solid *const *shapes, int n)
{
    eg_tensor *cells[SHAPES_SHOWN * TURNS];
    for (int i = 0; i < n * TURNS; i++) {
        cells[i] = draw_turned(run, net, o, shapes[i / TURNS], 2 * acos(-1) * (i % TURNS) / TURNS);
    }
    eg_tensor *sheet = eg_draw_grid(eg_stack(cells, n * TURNS, 0), .columns = TURNS);
    return sheet ? eg_run_picture(run, "turn", sheet) : eg_last_error()->code;
}

static eg_status draw_film(eg_run *run, eg_module *net, const pairs_options *o, solid *const *shapes, int n)
{
    eg_film *film = eg_film_new(eg_run_path(run, "turn.gif").text, 0.08);
    if (!film && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error();
        return EG_OK; /* a build without giflib has no films */
    }
    eg_status st = film ? EG_OK : eg_last_error()->code;
    for (int i = 0; i < FRAMES && !st; i++) {
        EG_SCOPE {
            eg_tensor *cells[SHAPES_SHOWN];
            for (int k = 0; k < n; k++) {
                cells[k] = draw_turned(run, net, o, shapes[k], 2 * acos(-1) * i / FRAMES);
            }
            eg_tensor *frame = eg_draw_grid(eg_stack(cells, n, 0), .columns = 2);
            st = frame ? eg_film_add(film, frame) : eg_last_error()->code;
        }
    }
    eg_status closed = film ? eg_film_close(film) : st;
    return st ? st : closed;
}

eg_status judge_turn(eg_run *run, eg_module *net, const pairs_options *o)
{
    solid *shapes[SHAPES_SHOWN];
    int n = 0;
    eg_run_heed(run, eg_module_eval(net));
    for (; n < SHAPES_SHOWN && n < o->others && !eg_run_status(run); n++) {
        shapes[n] = shapes_new(o->shape, o->shapes + n);
        if (eg_run_heed(run, shapes[n] ? EG_OK : eg_last_error()->code)) {
            break;
        }
    }
    EG_RUN_COMPUTES(run)
    {
        eg_run_heed(run, eg_run_status(run) ? EG_OK : draw_sheet(run, net, o, shapes, n));
        eg_run_heed(run, eg_run_status(run) ? EG_OK : draw_film(run, net, o, shapes, n));
    }
    for (int i = 0; i < n; i++) {
        free(shapes[i]);
    }
    return eg_run_status(run);
}
