/* frames.c - see frames.h. */
#include "frames.h"

#include <stdlib.h>
#include <string.h>

#include "videos.h"

/* From one frame of a video to behind another. */
typedef struct part {
    int64_t video, from, to;
} part;

struct frames {
    frames_options o;
    videos all;
    part *parts; /* those that are not learned from come last */
    int64_t count, held;
};

static void free_frames(void *given)
{
    frames *f = given;
    videos_free(&f->all);
    free(f->parts);
    free(f);
}

/* ---- opening ----------------------------------------------------------------------------------- */

/* A video each; of a single one the first three quarters, and the rest. */
static eg_status divide(frames *f)
{
    const bool single = f->all.count == 1;
    f->count = single ? 2 : f->all.count;
    f->held = single ? 1 : f->o.held_out ? f->o.held_out : (f->count + 6) / 7;
    f->parts = calloc((size_t)f->count, sizeof *f->parts);
    if (!f->parts) {
        return eg_fail(EG_ENOMEM, "depth", "out of memory");
    }
    for (int64_t i = 0; i < f->count; i++) {
        f->parts[i] = (part){i, 0, f->all.at[single ? 0 : i].count};
    }
    if (single) {
        f->parts[0].to = f->parts[1].from = f->parts[0].to * 3 / 4;
        f->parts[1].video = 0;
    }
    int64_t threes[2], parts;
    frames_count(f, true, &parts, &threes[0]);
    frames_count(f, false, &parts, &threes[1]);
    return threes[0] && threes[1]
               ? EG_OK
               : eg_failf(
                     EG_EFORMAT, "depth",
                     "%lld videos, of which %lld are held out: too few frames are left; use a smaller --held-out, or "
                     "videos of more frames",
                     (long long)f->all.count, (long long)f->held);
}

frames *frames_open(eg_run *run, const char *folder, const frames_options *o)
{
    frames *f = calloc(1, sizeof *f);
    if (!f) {
        eg_fail(EG_ENOMEM, "depth", "out of memory");
    }
    if (eg_run_own(run, f, free_frames)) {
        return NULL;
    }
    f->o = *o;
    eg_status st = folder ? videos_read(&f->all, folder, o->height, o->width)
                          : videos_draw(&f->all, o->drawn, o->height, o->width);
    return eg_run_heed(run, st ? st : divide(f)) ? NULL : f;
}

eg_status frames_write(const frames *f, const char *folder)
{
    return videos_write(&f->all, folder);
}

void frames_count(const frames *f, bool learned_from, int64_t *count, int64_t *threes)
{
    const int64_t first = learned_from ? 0 : f->count - f->held, end = learned_from ? f->count - f->held : f->count;
    *count = *threes = 0;
    for (int64_t i = first > 0 ? first : 0; i < end; i++) {
        const int64_t n = f->parts[i].to - f->parts[i].from - (FRAMES - 1);
        ++*count;
        *threes += n > 0 ? n : 0;
    }
}

/* ---- by chance --------------------------------------------------------------------------------- */

/* Numbers by chance, low..high. */
static eg_status chance(double *v, int64_t n, double low, double high)
{
    eg_tensor *t = eg_uniform(EG_SHAPE(n), low, high, EG_F64);
    return t ? eg_to_values(t, v) : eg_last_error()->code;
}

/* Darker or brighter, and of another tint, all frames alike. */
static eg_tensor *recoloured(eg_tensor *images)
{
    double c[4], brightness, tint[3 * FRAMES];
    if (!images || chance(c, 4, 0.8, 1.2) || chance(&brightness, 1, 0.5, 2)) {
        return NULL;
    }
    for (int i = 0; i < 3 * FRAMES; i++) {
        tint[i] = c[1 + i % 3] * brightness;
    }
    eg_tensor *tints = eg_from_values(EG_SHAPE(3 * FRAMES, 1, 1), EG_F32, tint);
    return eg_clamp(eg_mul(eg_pow_scalar(images, c[0]), tints), 0, 1);
}

/* A part of the frames, nearly all of it, as large as they were; the lens is another one then. */
static eg_tensor *cropped(eg_tensor *images, double k[4])
{
    const int64_t h = eg_size(images, 1), w = eg_size(images, 2);
    double larger[2], at[2];
    if (!images || chance(larger, 2, 1, 1.15) || chance(at, 2, 0, 1)) {
        return NULL;
    }
    const int64_t high = (int64_t)((double)h * larger[0]), across = (int64_t)((double)w * larger[1]);
    const int64_t top = (int64_t)(at[0] * (double)(high - h + 1)), left = (int64_t)(at[1] * (double)(across - w + 1));
    videos_scale_lens(k, (double)across / (double)w, (double)high / (double)h);
    k[2] -= (double)left;
    k[3] -= (double)top;
    return eg_image_crop(eg_image_resize(images, high, across), top, left, h, w);
}

/* ---- samples ----------------------------------------------------------------------------------- */

static eg_tensor *three(const video *v, int64_t first)
{
    eg_tensor *at[FRAMES];
    for (int i = 0; i < FRAMES; i++) {
        at[i] = video_frame(v, first + i);
    }
    return eg_concat(at, FRAMES, 0);
}

static eg_status where(eg_tensor *const *in, double of[2])
{
    return eg_to_values(in[0], of);
}

static eg_status ready_to_learn(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    const frames *f = user;
    double of[2], k[4];
    if (where(in, of)) {
        return eg_last_error()->code;
    }
    const video *v = &f->all.at[f->parts[(int64_t)of[0]].video];
    memcpy(k, v->lens, sizeof k);
    out[IMAGES] = cropped(recoloured(three(v, (int64_t)of[1])), k);
    out[IMAGES] = eg_contiguous(out[IMAGES]);
    out[LENS] = eg_from_values(EG_SHAPE(4), EG_F32, k);
    *m = 2;
    return out[IMAGES] && out[LENS] ? EG_OK : eg_last_error()->code;
}

static eg_status ready_to_judge(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    const frames *f = user;
    double of[2], ways[2][12] = {{0}};
    if (where(in, of)) {
        return eg_last_error()->code;
    }
    const video *v = &f->all.at[f->parts[(int64_t)of[0]].video];
    const int64_t first = (int64_t)of[1];
    for (int i = 0; i < FRAMES - 1 && v->poses; i++) {
        videos_way(v->poses[first + i], v->poses[first + i + 1], ways[i]);
    }
    out[IMAGES] = three(v, first);
    out[LENS] = eg_from_values(EG_SHAPE(4), EG_F32, v->lens);
    out[DEPTHS] = video_depth(v, first + 1);
    out[WAYS] = eg_from_values(EG_SHAPE(2, 3, 4), EG_F32, ways[0]);
    out[VIDEO] = eg_from_values(EG_SHAPE(1), EG_I64, of);
    *m = 5;
    return out[IMAGES] && out[LENS] && out[DEPTHS] && out[WAYS] && out[VIDEO] ? EG_OK : eg_last_error()->code;
}

/* The part and the first frame of each three, [n, 2]. */
static eg_tensor *list(const frames *f, bool learned_from)
{
    int64_t parts, n, k = 0;
    frames_count(f, learned_from, &parts, &n);
    int64_t *at = malloc((size_t)n * 2 * sizeof *at);
    if (!at) {
        eg_fail(EG_ENOMEM, "depth", "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < f->count; i++) {
        const part *p = &f->parts[i];
        for (int64_t t = p->from; t + FRAMES <= p->to && (i < f->count - f->held) == learned_from; t++, k++) {
            at[2 * k] = i;
            at[2 * k + 1] = t;
        }
    }
    eg_tensor *all = eg_from(EG_SHAPE(n, 2), EG_I64, at);
    free(at);
    return all;
}

eg_dataset *frames_dataset(frames *f, bool learned_from, uint64_t seed)
{
    if (!f) {
        return NULL;
    }
    eg_dataset *d = NULL;
    EG_SCOPE {
        eg_tensor *all = list(f, learned_from);
        d = eg_dataset_from_tensors(&all, 1);
    }
    if (learned_from) {
        d = eg_dataset_shuffle(d, eg_dataset_count(d), .seed = seed);
    }
    d = eg_dataset_map(d, learned_from ? ready_to_learn : ready_to_judge, f, .workers = 1, .seed = seed);
    return eg_dataset_prefetch(eg_dataset_batch(d, f->o.batch, .drop_last = learned_from), 2);
}
