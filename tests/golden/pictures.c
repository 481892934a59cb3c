/* pictures.c - what the golden cases of images stand for: tf.image, slim's recipes, torchvision's augmentations. */
#include "tests/golden/golden.h"

static double by(const golden_case *c)
{
    return golden_number(c, "by", NAN);
}

static eg_tensor *brightness(const golden_case *c)
{
    return eg_image_tf_brightness(c->x[0], by(c));
}

static eg_tensor *contrast(const golden_case *c)
{
    return eg_image_tf_contrast(c->x[0], by(c));
}

static eg_tensor *saturation(const golden_case *c)
{
    return eg_image_tf_saturation(eg_to(c->x[0], eg_cpu()), by(c));
}

static eg_tensor *hue(const golden_case *c)
{
    return eg_image_tf_hue(eg_to(c->x[0], eg_cpu()), by(c));
}

static eg_tensor *crop_or_pad(const golden_case *c)
{
    eg_shape size = golden_shape(c, "size");
    return eg_image_crop_or_pad(c->x[0], size.dim[0], size.dim[1]);
}

static eg_tensor *translate(const golden_case *c)
{
    return eg_image_translate(eg_to(c->x[0], eg_cpu()), golden_number(c, "right", 0), golden_number(c, "down", 0),
                              .nearest = golden_is(c, "nearest", "1"));
}

/* Ranges are written in thousandths. */
static void range(const golden_case *c, const char *key, double *of)
{
    int64_t v[GOLDEN_LIST];
    for (int i = golden_list(c, key, v); i > 0; i--) {
        of[i - 1] = (double)v[i - 1] / 1000;
    }
}

static eg_tensor *distorted_box(const golden_case *c)
{
    eg_shape size = golden_shape(c, "size");
    eg_distorted_box_options o = {.size = sizeof o,
                                  .boxes = c->nx ? eg_to(c->x[0], eg_cpu()) : NULL,
                                  .covered = golden_number(c, "covered", 0.1),
                                  .attempts = (int)golden_number(c, "attempts", 0)};
    int64_t box[4];
    range(c, "ratio", o.ratio);
    range(c, "area", o.area);
    o.covered = o.covered == 0 ? EG_ZERO : o.covered;
    eg_seed((uint64_t)golden_number(c, "seed", 0));
    return eg_image_distorted_box_with(size.dim[0], size.dim[1], box, &o) ? NULL : eg_from(EG_SHAPE(4), EG_I64, box);
}

static eg_tensor *preprocess(const golden_case *c)
{
    char name[32];
    snprintf(name, sizeof name, "%s", golden_word(c, "name"));
    eg_seed((uint64_t)golden_number(c, "seed", 0));
    return eg_preprocess(name, eg_to(c->x[0], eg_cpu()), .side = (int64_t)golden_number(c, "side", 0),
                         .train = golden_has(c, "train"), .thorough = golden_has(c, "thorough"),
                         .place = (int64_t)golden_number(c, "place", 0));
}

/* ---- augmentation ---------------------------------------------------------------------------------- */

static eg_tensor *affine(const golden_case *c)
{
    double v[6] = {0};
    int64_t centre[GOLDEN_LIST] = {0};
    bool about = golden_list(c, "centre", centre) == 2;
    range(c, "numbers", v);
    eg_affine_options o = {.size = sizeof o,
                           .degrees = v[0],
                           .right = v[1],
                           .down = v[2],
                           .scale = v[3],
                           .shear = {v[4], v[5]},
                           .nearest = golden_is(c, "nearest", "1")};
    for (int i = 0; about && i < 2; i++) {
        o.centre[i] = centre[i] ? (double)centre[i] : EG_ZERO;
    }
    return eg_image_affine_with(eg_to(c->x[0], eg_cpu()), &o);
}

static eg_tensor *augment(const golden_case *c)
{
    return eg_image_augment(eg_to(c->x[0], eg_cpu()), (eg_augment)golden_number(c, "what", 99),
                            golden_number(c, "magnitude", 0));
}

static eg_tensor *rand_augment(const golden_case *c)
{
    eg_seed((uint64_t)golden_number(c, "seed", 0));
    return eg_image_rand_augment(eg_to(c->x[0], eg_cpu()), .magnitude = golden_number(c, "magnitude", 0));
}

static bool mixup(const golden_case *c, eg_tensor **out)
{
    return !eg_mixup(c->x[0], c->x[1], 5, &out[0], &out[1], .share = golden_number(c, "share", 0));
}

static bool cutmix(const golden_case *c, eg_tensor **out)
{
    eg_seed((uint64_t)golden_number(c, "seed", 0));
    return !eg_cutmix(c->x[0], c->x[1], 5, &out[0], &out[1], .share = golden_number(c, "share", 0));
}

GOLDEN_ROWS(augment, {.op = "affine", .one = affine}, {.op = "augment", .one = augment},
            {.op = "rand_augment", .one = rand_augment}, {.op = "mixup", .many = mixup},
            {.op = "cutmix", .many = cutmix})
GOLDEN_ROWS(pictures, {.op = "tf_brightness", .one = brightness}, {.op = "tf_contrast", .one = contrast},
            {.op = "tf_saturation", .one = saturation}, {.op = "tf_hue", .one = hue},
            {.op = "standardise", .f1 = eg_image_standardise}, {.op = "crop_or_pad", .one = crop_or_pad},
            {.op = "translate", .one = translate}, {.op = "distorted_box", .one = distorted_box},
            {.op = "preprocess", .one = preprocess})
