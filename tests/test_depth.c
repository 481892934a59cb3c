/* test_depth.c - depth and motion from video (examples/depth): the published sizes, and the numbers of PyTorch
 * (tests/golden/depth.py). */
#include "examples/depth/icp.h"
#include "examples/depth/loss.h"
#include "examples/depth/net.h"
#include "tests/egt.h"

enum { N = 2, HEIGHT = 24, WIDE = 32, POINTS = 40, NARROWER = 8, STEPS = 3 };

static const double lenses[N][4] = {{18, 17, 11.5, 7.5}, {20, 21, 12, 7}};

static eg_tensor *numbers(uint32_t k, eg_shape shape, double low, double high)
{
    eg_tensor *t = eg_zeros(shape, EG_F64);
    for (int64_t i = 0; i < eg_numel(t); i++) {
        EGT_OK(eg_set(t, i, low + (high - low) * (egt_hashed(k, (uint32_t)i) + 1) / 2));
    }
    return t;
}

static eg_tensor *lens(void)
{
    return eg_from_values(EG_SHAPE(N, 4), EG_F64, lenses[0]);
}

/* Whether a tensor is as PyTorch has it. */
static void as_written(const char *name, eg_tensor *t)
{
    eg_tensors *file = eg_tensors_open("tests/golden/depth.safetensors");
    eg_tensor *wanted = eg_tensors_get(file, name);
    EGT_CHECK(t && wanted);
    EGT_EQ(eg_numel(t), eg_numel(wanted));
    EGT_NEAR(eg_item(eg_max(eg_abs(eg_sub(eg_flatten(t, 0, -1), eg_flatten(wanted, 0, -1))))), 0, 1e-10);
    eg_tensors_free(file);
}

/* A loss, and its gradients to those of two tensors that have a name. */
static void loss_as_written(const char *name, eg_tape tape, eg_tensor *loss, eg_tensor *const *xs,
                            const char *const *names)
{
    eg_tensor *grads[2] = {0};
    char of[60];
    as_written(name, loss);
    EGT_OK(eg_tape_gradients(tape, loss, xs, names[1] ? 2 : 1, grads));
    for (int i = 0; i < 2 && names[i]; i++) {
        snprintf(of, sizeof of, "%s/%s", name, names[i]);
        as_written(of, grads[i]);
    }
}

EGT(published_sizes)
{
    eg_module *nets = nets_new(1);
    EGT_EQ(eg_module_numel(eg_module_find(nets, "depth")), 31596900);
    EGT_EQ(eg_module_numel(eg_module_find(nets, "motion")), 1590668);
    EGT_OK(eg_module_free(nets));
}

EGT(frames_seen_from_elsewhere)
{
    eg_tensor *source = numbers(1, EG_SHAPE(N, 3, HEIGHT, WIDE), 0, 1);
    eg_tensor *target = numbers(2, EG_SHAPE(N, 3, HEIGHT, WIDE), 0, 1);
    eg_tensor *xs[2] = {numbers(3, EG_SHAPE(N, 1, HEIGHT, WIDE), 0.2, 1), numbers(4, EG_SHAPE(N, 6), -0.1, 0.1)};
    static const char *const names[2] = {"disparity", "motions"};
    eg_tensor *mask;
    as_written("warped", loss_warp(source, xs[0], xs[1], lens(), &mask));
    as_written("mask", mask);
    for (int i = 0; i < 2; i++) {
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, xs[0]);
        eg_tape_watch(tape, xs[1]);
        eg_tensor *warped = loss_warp(source, xs[0], xs[1], lens(), &mask);
        eg_tensor *loss = i ? loss_dissimilarity(warped, target, mask) : loss_difference(warped, target, mask);
        loss_as_written(i ? "dissimilarity" : "difference", tape, loss, xs, names);
    }
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, xs[0]);
    loss_as_written("roughness", tape, loss_roughness(xs[0], target), xs, (const char *[]){"disparity", NULL});
}

EGT(what_does_not_move_stays)
{
    eg_tensor *source = numbers(1, EG_SHAPE(N, 3, HEIGHT, WIDE), 0, 1), *mask;
    eg_tensor *disparity = numbers(3, EG_SHAPE(N, 1, HEIGHT, WIDE), 0.2, 1), *none = eg_zeros(EG_SHAPE(N, 6), EG_F64);
    eg_tensor *warped = loss_warp(source, disparity, none, lens(), &mask);
    EGT_NEAR(eg_item(eg_max(eg_abs(eg_sub(warped, source)))), 0, 1e-12);
    EGT_NEAR(eg_item(loss_dissimilarity(source, source, eg_ones_like(disparity))), 0, 1e-12);
    eg_tensor *points = loss_points(disparity, lens());
    EGT_NEAR(eg_item(loss_clouds(points, none, points)), 0, 1e-9);
}

/* Points moved by motions and a little more, without the first, and twenty that have nothing to do with them. */
static eg_tensor *others_of(eg_tensor *points, eg_tensor *motions)
{
    eg_tensor *most = eg_add_scalar(eg_slice(loss_moved(points, motions), 2, 5, POINTS, 1), 0.02);
    return eg_concat((eg_tensor *[]){most, numbers(6, EG_SHAPE(N, 3, 20), -1, 1)}, 2, 2);
}

EGT(clouds_laid_on_each_other)
{
    eg_tensor *xs[2] = {numbers(5, EG_SHAPE(N, 3, POINTS), -1, 1), numbers(4, EG_SHAPE(N, 6), -0.1, 0.1)};
    eg_tensor *others = others_of(xs[0], xs[1]);
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, xs[0]);
    eg_tape_watch(tape, xs[1]);
    eg_tensor *loss = loss_clouds(xs[0], eg_mul_scalar(xs[1], 0.5), others);
    loss_as_written("clouds", tape, loss, xs, (const char *[]){"points", "motions"});
    icp_result found = icp_fit(xs[0], others);
    as_written("icp/motions", found.motions);
    as_written("icp/left", found.left);
    /* A motion that they have made is found again. */
    found = icp_fit(xs[0], loss_moved(xs[0], eg_mul_scalar(xs[1], 0.2)));
    EGT_NEAR(eg_item(eg_max(eg_abs(eg_sub(found.motions, eg_mul_scalar(xs[1], 0.2))))), 0, 1e-9);
}

static eg_module *filled(void)
{
    eg_module *nets = nets_new(NARROWER);
    EGT_OK(eg_module_to(nets, EG_F64));
    eg_parameters p = eg_module_parameters(nets);
    for (int k = 0; k < p.count; k++) {
        const int64_t n = eg_numel(p.tensors[k]);
        const double spread =
            eg_ndim(p.tensors[k]) == 1 ? 0.1 : sqrt(6 / ((double)n / (double)eg_size(p.tensors[k], 0)));
        eg_tensor *v = numbers(100 + (uint32_t)k, eg_shape_of(p.tensors[k]), -spread, spread);
        EGT_CHECK(eg_copy_(p.tensors[k], v));
    }
    return nets;
}

EGT(nets_and_three_steps)
{
    eg_module *nets = filled();
    eg_tensor *frames = numbers(7, EG_SHAPE(N, 9, HEIGHT, WIDE), 0, 1), *said[SCALES];
    EGT_OK(nets_disparities(nets, eg_reshape(frames, EG_SHAPE(3 * N, 3, HEIGHT, WIDE)), said));
    for (int i = 0; i < SCALES; i++) {
        char name[20];
        snprintf(name, sizeof name, "disparity%d", i);
        as_written(name, said[i]);
    }
    as_written("motions", nets_motions(nets, frames));
    eg_optim *adam = eg_adam_new(eg_module_parameters(nets), .lr = 1e-3);
    eg_tensors *file = eg_tensors_open("tests/golden/depth.safetensors");
    for (int i = 0; i < STEPS; i++) {
        eg_tape tape = eg_tape_open();
        losses l = loss_of(nets, frames, lens(), &(loss_weights){0.05, 0.1});
        eg_tensor *parts[5] = {l.loss, l.warp, l.ssim, l.smooth, l.icp};
        for (int k = 0; k < 5; k++) {
            EGT_NEAR(eg_item(parts[k]), eg_get(eg_tensors_get(file, "steps"), 5 * i + k), 1e-9);
        }
        EGT_OK(eg_optim_minimize(adam, tape, l.loss));
    }
    losses l = loss_of(nets, frames, lens(), &(loss_weights){0.05, 0});
    EGT_CHECK(l.loss && !l.icp);
    eg_tensors_free(file);
    eg_optim_free(adam);
    EGT_OK(eg_module_free(nets));
}
