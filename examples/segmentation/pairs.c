/* pairs.c - see pairs.h. */
#include "pairs.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 5 };

struct pairs {
    glob_t images, masks;
    int64_t side, count;
    bool drawn;
    eg_tensor *order; /* i64 [count], the same in all runs; kept */
};

static void free_pairs(void *given)
{
    pairs *p = given;
    globfree(&p->images);
    globfree(&p->masks);
    eg_release(p->order);
    free(p);
}

/* ---- files ---- */

static bool find(pairs *p, const char *folder, const char *images, const char *masks)
{
    globfree(&p->images);
    globfree(&p->masks);
    bool found = glob(eg_path_in(folder, images).text, 0, NULL, &p->images) == 0;
    return glob(eg_path_in(folder, masks).text, 0, NULL, &p->masks) == 0 && found;
}

static eg_status find_files(pairs *p, const char *folder)
{
    if (!find(p, folder, "train/*.jpg", "train_masks/*_mask.gif") &&
        !find(p, folder, "train/image/*.png", "train/label/*.png")) {
        return eg_failf(EG_EIO, "segmentation",
                        "%.120s has neither train/*.jpg and train_masks/*_mask.gif nor train/image/*.png and "
                        "train/label/*.png",
                        folder);
    }
    p->count = (int64_t)p->images.gl_pathc;
    if (p->images.gl_pathc != p->masks.gl_pathc) {
        return eg_failf(EG_EFORMAT, "segmentation", "%.120s has %lld images and %lld masks", folder,
                        (long long)p->count, (long long)p->masks.gl_pathc);
    }
    return EG_OK;
}

pairs *pairs_open(eg_run *run, const char *folder, int64_t side, int64_t drawn)
{
    pairs *p = calloc(1, sizeof *p);
    if (!p) {
        eg_fail(EG_ENOMEM, "segmentation", "out of memory");
    }
    if (eg_run_own(run, p, free_pairs)) {
        return NULL;
    }
    *p = (pairs){.side = side, .drawn = !folder, .count = drawn};
    if (folder && eg_run_heed(run, find_files(p, folder))) {
        return NULL;
    }
    EG_SCOPE {
        eg_seed(42);
        p->order = eg_keep(eg_permutation(p->count));
        eg_seed((uint64_t)eg_run_settings_of(run)->seed);
    }
    return p->order ? p : NULL;
}

static eg_tensor *read(const pairs *p, const char *path, int channels)
{
    eg_tensor *image = eg_image_load(path, .channels = channels, .other_formats = true);
    return eg_mul_scalar(eg_image_resize(eg_cast(image, EG_F32), p->side, p->side), 1 / 255.0);
}

/* ---- drawn ---- */

/* A bright blob with a wavy edge on a darker ground, both with stripes and noise. */
static eg_status draw(const pairs *p, int64_t index, eg_tensor **image, eg_tensor **mask)
{
    double c[12];
    int64_t n = p->side;
    eg_seed(0xb10b + (uint64_t)index);
    *image = eg_normal(EG_SHAPE(3, n, n), 0, 0.05, EG_F32);
    *mask = eg_zeros(EG_SHAPE(1, n, n), EG_F32);
    eg_status st = eg_to_values(eg_uniform(EG_SHAPE(12), 0, 1, EG_F64), c);
    float *pixel = eg_data_mut(*image), *in = eg_data_mut(*mask);
    if (st || !pixel || !in) {
        return eg_last_error()->code;
    }
    for (int64_t i = 0; i < n * n; i++) {
        double x = (double)(i % n) / (double)n - 0.3 - 0.4 * c[0], y = (double)(i / n) / (double)n - 0.3 - 0.4 * c[1];
        double angle = atan2(y, x),
               edge = (0.12 + 0.15 * c[2]) * (1 + 0.25 * sin(angle * (2 + floor(4 * c[3])) + 6 * c[4]));
        bool inside = hypot(x, y) < edge;
        double stripes = 0.08 * sin(40 * (x * c[5] + y * (1 - c[5])));
        in[i] = inside;
        for (int64_t k = 0; k < 3; k++) {
            double colour = inside ? 0.5 + 0.4 * c[6 + k] : 0.15 + 0.35 * c[9 + k];
            float *v = &pixel[k * n * n + i];
            *v = (float)fmin(1, fmax(0, *v + colour + stripes));
        }
    }
    return EG_OK;
}

/* ---- datasets ---- */

static eg_status read_pair(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    const pairs *p = user;
    int64_t i = (int64_t)eg_item(in[0]);
    (void)n;
    *m = 2;
    if (p->drawn) {
        return draw(p, i, &out[0], &out[1]);
    }
    out[0] = read(p, p->images.gl_pathv[i], 3);
    out[1] = read(p, p->masks.gl_pathv[i], 1);
    return out[0] && out[1] ? EG_OK : eg_last_error()->code;
}

/* Hue by a tenth of the circle, mirrored half the time, moved by a tenth of each side: as the example does it. */
static eg_status change(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    double c[4];
    (void)n, (void)user;
    eg_status st = eg_to_values(eg_uniform(EG_SHAPE(4), -1, 1, EG_F64), c);
    double side = (double)eg_size(in[0], 2);
    out[0] = eg_image_tf_hue(in[0], 0.1 * c[0]);
    out[1] = in[1];
    for (int i = 0; i < 2; i++) {
        out[i] = c[1] < 0 ? eg_image_flip_horizontal(out[i]) : out[i];
        out[i] = eg_image_translate(out[i], 0.1 * side * c[2], 0.1 * side * c[3], .nearest = true);
    }
    *m = 2;
    return st || (out[0] && out[1]) ? st : eg_last_error()->code;
}

eg_dataset *pairs_dataset(pairs *p, bool train, uint64_t seed)
{
    if (!p) {
        return NULL;
    }
    int64_t kept = p->count * 4 / 5;
    eg_dataset *d = eg_dataset_from_tensors(&p->order, 1);
    d = train ? eg_dataset_shuffle(eg_dataset_take(d, kept), kept > 0 ? kept : 1, .seed = seed)
              : eg_dataset_skip(d, kept);
    d = eg_dataset_map(d, read_pair, p, .workers = 1, .seed = seed);
    return train ? eg_dataset_map(d, change, NULL, .workers = 1, .seed = seed) : d;
}

/* ---- what was found ---- */

eg_tensor *pairs_sheet(eg_run *run, eg_module *net, eg_dataset *others)
{
    static const char *const words[4] = {"image", "true mask", "predicted mask", "prediction over the image"};
    const char *captions[4 * SHOWN];
    eg_tensor *cells[4 * SHOWN];
    int n = 0;
    eg_scope s = eg_scope_push();
    EG_RUN_EACH(sample, run, others)
    {
        eg_tensor *p = eg_to(eg_sigmoid(eg_cast(eg_module_forward(net, sample[0]), EG_F32)), eg_cpu());
        for (int64_t i = 0; i < eg_size(sample[0], 0) && n < 4 * SHOWN; i++) {
            eg_tensor *image = eg_to(eg_select(sample[0], 0, i), eg_cpu()), *mask = eg_select(p, 0, i);
            eg_tensor *over = eg_draw_overlay(eg_image_to_u8(image), mask, 0xff4020, 0.6);
            memcpy(captions + n, words, sizeof words);
            cells[n++] = eg_keep(image);
            cells[n++] = eg_keep(eg_expand(eg_to(eg_select(sample[1], 0, i), eg_cpu()), EG_SHAPE(3, -1, -1)));
            cells[n++] = eg_keep(eg_expand(mask, EG_SHAPE(3, -1, -1)));
            cells[n++] = eg_keep(eg_image_to_float(over));
        }
        if (n == 4 * SHOWN) {
            break;
        }
    }
    const int64_t width = n ? eg_size(cells[0], 2) : 1;
    const int scale = width < 220 ? (int)(220 / width) : 1; /* so that the captions fit */
    eg_tensor *made = n ? eg_draw_grid(eg_stack(cells, n, 0), .scale = scale, .low = 0, .high = 1, .columns = 4,
                                       .captions = captions, .title = "Validation images")
                        : NULL;
    for (int i = 0; i < n; i++) {
        eg_release(cells[i]);
    }
    return eg_scope_pop(s, made);
}
