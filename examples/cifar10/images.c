/* images.c - see images.h. */
#include "images.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../common/published.h"

enum { SIDE = 32, CLASSES = 10, SHOWN = 40 };

const char *const cifar10_classes[CLASSES] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                              "dog",      "frog",       "horse", "ship", "truck"};

/* ---- files ------------------------------------------------------------------------------- */

static bool is_there(const char *pattern)
{
    glob_t found;
    bool any = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return any;
}

/* A member "test/cat/0001.jpg" as its image and label. */
static eg_status read_member(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    char name[256], *class = NULL, *rest = NULL;
    (void)n, (void)user;
    snprintf(name, sizeof name, "%.*s", (int)eg_numel(in[0]), (const char *)eg_data(in[0]));
    class = strchr(name, '/');
    rest = class ? strchr(class + 1, '/') : NULL;
    for (int i = 0; rest && i < CLASSES; i++) {
        *rest = '\0';
        if (strcmp(class + 1, cifar10_classes[i]) == 0) {
            out[0] = eg_image_decode(eg_data(in[1]), (size_t)eg_numel(in[1]), .channels = 3);
            out[1] = eg_full_int(EG_SCALAR, i, EG_I64);
            *m = 2;
            return out[0] && out[1] ? EG_OK : eg_last_error()->code;
        }
    }
    return eg_failf(EG_EFORMAT, "cifar10", "'%.100s' is not SPLIT/CLASS/NUMBER.jpg", name);
}

/* The share of the training files that is kept for testing where there is nothing else. */
static eg_dataset *part(eg_dataset *all, bool train)
{
    int64_t n = eg_dataset_count(all), kept = n - n / 10;
    return train ? eg_dataset_take(all, kept) : eg_dataset_skip(all, kept);
}

static eg_dataset *read_files(const char *folder, bool train)
{
    eg_path in = eg_path_in(folder, "unpacked/cifar-10-batches-bin");
    in = is_there(in.text) ? in : eg_path_in(folder, "cifar-10-batches-bin");
    in = is_there(in.text) ? in : eg_path_in(folder, "");
    eg_path batches = eg_path_in(in.text, "data_batch*.bin"), test = eg_path_in(in.text, "test_batch*.bin");
    eg_path tar = eg_path_in(in.text, "jpeg-test.tar");
    bool has_test = is_there(test.text), has_tar = is_there(tar.text);
    if (!train && has_test) {
        return eg_cifar10_new(test.text);
    }
    if (!train && has_tar) {
        return eg_dataset_map(eg_tar_new(tar.text), read_member, NULL);
    }
    eg_dataset *all = eg_cifar10_new(batches.text);
    return has_test || has_tar || !all ? all : part(all, train);
}

eg_status cifar10_get(const char *folder, const char *url, void *user)
{
    (void)user;
    return published_cifar10(folder, url, NULL);
}

/* ---- drawn ------------------------------------------------------------------------------- */

/* How far (x, y) is inside of a shape of a kind and size 1 around 0; negative outside. */
static double inside(int kind, double x, double y)
{
    double r = hypot(x, y), square = 0.8 - fmax(fabs(x), fabs(y));
    switch (kind) {
    case 0:
        return 0.9 - r; /* disc */
    case 1:
        return 0.28 - fabs(r - 0.7); /* ring */
    case 2:
        return square;
    case 3:
        return fmin(square, fmax(fabs(x), fabs(y)) - 0.4); /* frame */
    case 4:
        return fmin(0.7 - y, y + 0.8 - 1.7 * fabs(x)); /* triangle */
    case 5:
        return fmax(fmin(0.25 - fabs(x), 0.9 - fabs(y)), fmin(0.25 - fabs(y), 0.9 - fabs(x))); /* cross */
    case 6:
        return fmax(0.35 - hypot(x - 0.55, y), 0.35 - hypot(x + 0.55, y)); /* two dots beside each other */
    case 7:
        return fmax(0.35 - hypot(x, y - 0.55), 0.35 - hypot(x, y + 0.55)); /* above each other */
    case 8:
        return fmin(0.9 - fabs(y), 0.3 - fabs(x)); /* a standing bar */
    default:
        return fmin(0.9 - fabs(x), 0.3 - fabs(y)); /* a lying one; no kind may be another one mirrored */
    }
}

/* A shape in a colour on another, somewhere, with noise. */
static eg_status draw(int64_t index, eg_tensor **sample, int *n, void *user)
{
    int kind = (int)(index % CLASSES);
    double chance[9];
    if (user) { /* to test with: the same ones in each pass */
        eg_seed(0x5eed + (uint64_t)index);
    }
    eg_tensor *image = eg_normal(EG_SHAPE(3, SIDE, SIDE), 0, 12, EG_F32);
    eg_status st = eg_to_values(eg_uniform(EG_SHAPE(9), 0, 1, EG_F64), chance);
    float *pixel = eg_data_mut(image);
    if (st || !pixel) {
        return eg_last_error()->code;
    }
    double size = 6 + 7 * chance[0], x0 = SIDE / 2.0 + 5 * (chance[1] - 0.5), y0 = SIDE / 2.0 + 5 * (chance[2] - 0.5);
    for (int i = 0; i < SIDE * SIDE; i++) {
        double edge = inside(kind, (i % SIDE - x0) / size, ((double)(i / SIDE) - y0) / size) * size;
        double share = edge > 0.5 ? 1 : edge < -0.5 ? 0 : edge + 0.5;
        for (int c = 0; c < 3; c++) {
            double paper = 110 * chance[3 + c], ink = 130 + 125 * chance[6 + c];
            float *p = &pixel[c * SIDE * SIDE + i];
            *p = (float)fmin(255, fmax(0, *p + paper + share * (ink - paper)));
        }
    }
    sample[0] = image;
    sample[1] = eg_full_int(EG_SCALAR, kind, EG_I64);
    *n = 2;
    return sample[1] ? EG_OK : eg_last_error()->code;
}

eg_dataset *cifar10_images(const char *folder, bool train, int64_t drawn)
{
    static char same;
    return folder ? read_files(folder, train) : eg_dataset_from(draw, drawn, train ? NULL : &same, NULL);
}

/* ---- on the way to the net ----------------------------------------------------------------- */

eg_status cifar10_prepare(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    eg_tensor *x = eg_cast(in[0], EG_F32);
    if (user) {
        x = eg_image_random_crop(eg_image_pad(x, 4, 4, 4, 4, EG_PAD_CONSTANT, 0), SIDE, SIDE);
        x = eg_image_random_flip(x, 0.5, 0);
    }
    out[0] = eg_sub_scalar(eg_mul_scalar(x, 1 / 128.0), 1);
    out[1] = in[1];
    *m = 2;
    return out[0] ? EG_OK : eg_last_error()->code;
}

/* ---- what it was taken for --------------------------------------------------------------- */

eg_tensor *cifar10_sheet(eg_run *run, eg_module *net, eg_dataset *images)
{
    char text[SHOWN][48];
    const char *words[SHOWN];
    bool wrong[SHOWN];
    eg_tensor *made = NULL;
    EG_RUN_EACH(sample, run, images)
    {
        int64_t n = eg_size(sample[0], 0) < SHOWN ? eg_size(sample[0], 0) : SHOWN;
        eg_tensor *some = eg_slice(sample[0], 0, 0, n, 1), *labels = eg_to(sample[1], eg_cpu());
        eg_tensor *guess = eg_to(eg_argmax(eg_module_forward(net, some), .axes = EG_AXES(1)), eg_cpu());
        for (int64_t i = 0; guess && i < n; i++) {
            wrong[i] = eg_get(guess, i) != eg_get(labels, i);
            snprintf(text[i], sizeof text[i], wrong[i] ? "%s, not %s" : "%s", cifar10_classes[(int)eg_get(guess, i)],
                     cifar10_classes[(int)eg_get(labels, i)]);
            words[i] = text[i];
        }
        made = eg_keep(eg_draw_grid(some, .low = -1, .high = 1, .captions = words, .wrong = wrong, .columns = 8,
                                    .scale = 5, .title = "Test images and their predicted classes; wrong ones in red"));
        break;
    }
    return eg_scope_adopt(made);
}
