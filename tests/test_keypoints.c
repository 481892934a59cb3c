/* test_keypoints.c - the net of examples/keypoints and its losses: PyTorch's numbers (golden/keypoints.py), the
 * published size, slopes of rotations by differences, what is seen where. */
#include "examples/keypoints/loss.h"
#include "examples/keypoints/render.h"
#include "examples/keypoints/shapes.h"
#include "tests/egt.h"

enum { PARTS = 7, STEPS = 3, KEYPOINTS = 5, PARAMETERS = 2 * 12 * 2 + 3 * 2 };

static eg_tensors *golden(void)
{
    return eg_safetensors_load("tests/golden/keypoints.safetensors");
}

static eg_tensor *want(const eg_tensors *file, const char *name)
{
    eg_tensor *t = eg_tensors_get(file, name);
    EGT_CHECK(t);
    return t;
}

/* ---- PyTorch's numbers ---------------------------------------------------------------------------- */

static void compare(const keypoint_losses *l, eg_tensor *rows, int step, double tolerance)
{
    const eg_tensor *parts[PARTS] = {l->consistency, l->pose,        l->separation, l->silhouette,
                                     l->variance,    l->orientation, l->loss};
    for (int i = 0; i < PARTS; i++) {
        EGT_CHECK(parts[i]);
        EGT_NEAR(eg_item(parts[i]), eg_get(rows, step * PARTS + i), tolerance);
    }
}

/* Named behind the prefix. */
static void compare_all(eg_parameters p, eg_tensor *const *made, const eg_tensors *file, const char *prefix)
{
    EGT_EQ(p.count, PARAMETERS);
    for (int i = 0; i < p.count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%s", prefix, p.names[i]);
        EGT_CHECK(egt_distance(made[i], want(file, name)) <= 1e-9);
    }
}

/* Three steps of Adam; in the last the net itself says which way objects look. */
static void train(eg_dtype dtype, double tolerance)
{
    const keypoint_net_options o = {.filters = 4, .keypoints = KEYPOINTS, .distance = 6, .momentum = 0.01};
    keypoint_weights w = KEYPOINT_WEIGHTS;
    w.apart = 0.5;
    eg_tensors *file = golden();
    eg_module *net = keypoint_net_new(&o);
    EGT_OK(eg_module_to(net, dtype));
    EGT_OK(eg_module_load_state(net, file, .prefix = "weights/", .allow_missing = true, .allow_unexpected = true));
    eg_optim *adam = eg_adam_new(eg_module_parameters(net), .lr = 1e-3);
    EGT_OK(eg_optim_clip_norm(adam, 5, .eps = 1e-6));
    const views v = {eg_cast(want(file, "into"), dtype), eg_cast(want(file, "back"), dtype), 4};
    for (int step = 0; step < STEPS; step++) {
        eg_tensor *gradients[PARAMETERS];
        eg_tape tape = eg_tape_open();
        keypoints found =
            keypoint_net_find(net, eg_cast(want(file, "pictures"), dtype), step < STEPS - 1 ? views_facing(&v) : NULL);
        EGT_CHECK(found.uvz);
        keypoint_losses l = keypoint_losses_of(&found, eg_cast(want(file, "inside"), dtype), &v,
                                               eg_cast(want(file, "noise"), dtype), &w);
        compare(&l, want(file, "losses"), step, tolerance);
        eg_parameters p = eg_module_parameters(net);
        EGT_OK(eg_tape_gradients(tape, l.loss, p.tensors, p.count, gradients));
        if (!step && dtype == EG_F64) {
            compare_all(p, gradients, file, "gradients");
        }
        EGT_OK(eg_optim_step(adam, gradients));
    }
    if (dtype == EG_F64) { /* Adam makes steps of what is only rounding, such as a bias before a softmax */
        eg_parameters p = eg_module_parameters(net);
        compare_all(p, p.tensors, file, "after");
    }
    eg_optim_free(adam);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(file);
}

EGT(three_steps_as_pytorch_does_them)
{
    train(EG_F64, 1e-9);
    train(EG_F32, 2e-3);
}

EGT(the_published_size)
{
    const keypoint_net_options o = {.filters = 64, .keypoints = 10, .distance = 30, .momentum = 0.001};
    eg_module *net = keypoint_net_new(&o);
    EGT_EQ(eg_module_numel(net), 523318);
    EGT_OK(eg_module_free(net));
}

/* ---- rotations ------------------------------------------------------------------------------------ */

EGT(rotations_as_pytorch_finds_them)
{
    eg_tensors *file = golden();
    eg_tensor *x = want(file, "x"), *y = want(file, "y"), *gradient;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *r = keypoints_rotation(x, y);
    EGT_CHECK(egt_distance(r, want(file, "rotation")) < 1e-12);
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_mul(r, want(file, "mixed"))), &x, 1, &gradient));
    EGT_CHECK(egt_distance(gradient, want(file, "gradient/x")) < 1e-11);
    for (int64_t i = 0; i < eg_size(x, 0); i++) {
        EGT_NEAR(eg_item(eg_det(eg_select(r, 0, i))), 1, 1e-12);
    }
    eg_tensors_free(file);
}

static eg_tensor *angle_of(eg_tensor *const *in, int n, void *user)
{
    (void)n;
    return rotation_angle(keypoints_rotation(in[0], in[1]), user);
}

EGT(slopes_of_angles_by_differences)
{
    eg_tensors *file = golden();
    eg_tensor *in[] = {eg_copy(want(file, "x")), eg_copy(want(file, "y"))};
    eg_tensor *still = eg_expand(eg_eye(3, 3, 0, EG_F64), EG_SHAPE(3, 3, 3));
    EGT_OK(eg_gradcheck(angle_of, in, 2, still));
    eg_tensors_free(file);
}

/* A turn that is known is found, and so is the angle between it and none, also at both ends of the scale. */
EGT(a_turn_is_found_again)
{
    static const double turns[] = {0, 0.4, 1.5707963267948966, 3.1};
    eg_tensor *x = egt_random(EG_SHAPE(1, KEYPOINTS, 3), EG_F64, -1, 1);
    for (int i = 0; i < 4; i++) {
        const double c = cos(turns[i]), s = sin(turns[i]);
        eg_tensor *turn = eg_from_values(EG_SHAPE(1, 3, 3), EG_F64, (double[]){c, -s, 0, s, c, 0, 0, 0, 1});
        eg_tensor *y = eg_add_scalar(eg_matmul(x, eg_transpose(turn, 1, 2)), 0.7);
        eg_tensor *r = keypoints_rotation(x, y);
        EGT_CHECK(egt_distance(r, turn) < 1e-12);
        EGT_NEAR(eg_item(rotation_angle(r, eg_eye(3, 3, 0, EG_F64))), turns[i], 2e-6);
    }
}

/* ---- views ---------------------------------------------------------------------------------------- */

/* A point of the object is seen in both views where their matrices say, and each says so of the other. */
EGT(views_agree_about_a_point)
{
    const view one = render_view(0.3, 0.2), two = render_view(1.1, 0.5);
    eg_tensor *into[] = {eg_from_values(EG_SHAPE(4, 4), EG_F64, one.into),
                         eg_from_values(EG_SHAPE(4, 4), EG_F64, two.into)};
    eg_tensor *back[] = {eg_from_values(EG_SHAPE(4, 4), EG_F64, one.back),
                         eg_from_values(EG_SHAPE(4, 4), EG_F64, two.back)};
    const views v = {eg_stack(into, 2, 0), eg_stack(back, 2, 0), RENDER_FOCAL};
    EGT_CHECK(egt_distance(eg_matmul(v.into, v.back), eg_expand(eg_eye(4, 4, 0, EG_F64), EG_SHAPE(2, 4, 4))) < 1e-12);
    eg_tensor *point = eg_from_values(EG_SHAPE(1, 4, 1), EG_F64, (double[]){0.4, -0.3, 0.6, 1});
    eg_tensor *seen = eg_slice(eg_transpose(eg_matmul(v.into, point), 1, 2), 2, 0, 3, 1);
    eg_tensor *uvz = keypoints_project(seen, RENDER_FOCAL);
    EGT_CHECK(egt_distance(keypoints_unproject(uvz, RENDER_FOCAL), seen) < 1e-12);
    EGT_CHECK(egt_distance(keypoints_in_other(uvz, &v), eg_roll(uvz, 1, 0)) < 1e-12);
    EGT_EQ(eg_item(eg_sum(views_facing(&v))), 2);
}

static double pixel(eg_tensor *image, int64_t channel, int64_t y, int64_t x)
{
    return eg_item(eg_select(eg_select(eg_select(image, 0, channel), 0, y), 0, x));
}

/* A red box whose right half is nearer than a green one behind it: what is seen at the middle, beside it, and outside.
 */
EGT(what_is_nearer_hides_what_is_behind)
{
    static const double red[3] = {1, 0, 0}, green[3] = {0, 1, 0};
    const extent front = {{0.25, 0, 0.5}, {0.25, 0.25, 0.1}}, behind = {{0, 0, -0.5}, {0.5, 0.5, 0.1}};
    const view v = render_view(0, 0);
    solid *s = calloc(1, sizeof *s);
    EGT_CHECK(s);
    solid_box(s, &front, red);
    solid_box(s, &behind, green);
    EGT_EQ(s->count, 24);
    eg_tensor *image = render_solid(s, &v, 32);
    EGT_CHECK(pixel(image, 0, 15, 18) > 100 && pixel(image, 1, 15, 18) == 0); /* in front */
    EGT_CHECK(pixel(image, 1, 15, 12) > 100 && pixel(image, 0, 15, 12) == 0); /* beside it, to the left */
    EGT_CHECK(pixel(image, 1, 10, 18) > 100 && pixel(image, 0, 10, 18) == 0); /* above it */
    EGT_CHECK(pixel(image, 0, 2, 2) == 255 && pixel(image, 3, 2, 2) == 0);    /* nothing there */
    EGT_CHECK(pixel(image, 3, 15, 18) == 255);
    free(s);
}

EGT(shapes_fit_and_are_the_same_again)
{
    static const char *const names[] = {"car", "plane", "chair"};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 20; i++) {
            solid *a = shapes_new(names[k], i), *b = shapes_new(names[k], i);
            double most = 0;
            EGT_CHECK(a && b && a->count > 0 && a->count < SOLID_MOST && a->count == b->count);
            EGT_EQ(memcmp(a->at, b->at, (size_t)a->count * sizeof *a->at), 0);
            for (int c = 0; c < 3 * a->count; c++) {
                const double *at = a->at[c / 3].corner[c % 3].at;
                most = fmax(most, sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]));
            }
            EGT_NEAR(most, 1, 1e-12);
            free(a);
            free(b);
        }
    }
}
