/* step_photos.c - detectors, depth from video, and what reads signs. */
#include <egret/models.h>

#include "examples/depth/loss.h"
#include "examples/ocr/net.h"
#include "step.h"

/* Boxes [n, 10, 4] somewhere on images of these sides, at least a sixteenth of them wide and high. */
static eg_tensor *some_boxes(int64_t n, int64_t height, int64_t width)
{
    eg_scope s = eg_scope_push();
    eg_shape places = EG_SHAPE(n, 10, 2);
    double side[2] = {(double)width, (double)height};
    eg_tensor *low = eg_uniform(places, 0, 0.5, EG_F32), *more = eg_uniform(places, 1.0 / 16, 0.5, EG_F32);
    eg_tensor *scale = eg_from_values(EG_SHAPE(2), EG_F32, side);
    eg_tensor *corners[2] = {eg_mul(low, scale), eg_mul(eg_add(low, more), scale)};
    return eg_keep(eg_scope_pop(s, eg_concat(corners, 2, 2)));
}

/* As in its paper, but for smaller photos. */
static void faster_rcnn(training *s)
{
    int64_t n = step_size(2, 1), height = step_size(256, 64), width = step_size(320, 64);
    s->net[0] = eg_faster_rcnn_new(20, .layers = (int)step_size(50, 18));
    s->optim[0] = eg_sgd_new(eg_module_parameters(s->net[0]), .lr = 0.002, .momentum = 0.9, .weight_decay = 1e-4);
    s->x[0] = step_random(EG_SHAPE(n, 3, height, width));
    s->x[1] = some_boxes(n, height, width);
    s->x[2] = step_integers(EG_SHAPE(n, 10), 20);
}

static eg_status find(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    *loss = eg_detector_loss(s->net[0], s->x[0], s->x[1], s->x[2]).loss;
    return eg_optim_minimize(s->optim[0], tape, *loss);
}

/* vid2depth as published, of one three of frames. */
static void vid2depth(training *s)
{
    const int64_t n = step_size(1, 2), height = step_size(128, 32), width = step_size(416, 64);
    const double lens[4] = {0.58 * (double)width, 1.92 * (double)height, 0.5 * (double)width, 0.5 * (double)height};
    s->net[0] = nets_new(step_size(1, 8));
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]), .lr = 2e-4);
    s->x[0] = step_random(EG_SHAPE(n, 3 * FRAMES, height, width));
    eg_scope scope = eg_scope_push();
    eg_tensor *one = eg_from_values(EG_SHAPE(1, 4), EG_F32, lens);
    s->x[1] = eg_keep(eg_scope_pop(scope, eg_copy(eg_expand(one, EG_SHAPE(n, 4)))));
}

static eg_status see_from_elsewhere(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    *loss = loss_of(s->net[0], s->x[0], s->x[1], &(loss_weights){0.05, 0.1}).loss;
    return eg_optim_minimize(s->optim[0], tape, *loss);
}

/* As in its paper: FSNS's sizes. */
static void ocr(training *s)
{
    const ocr_sizes sizes = {.side = step_size(150, 43),
                             .views = step_size(4, 2),
                             .classes = 134,
                             .length = step_size(37, 3),
                             .units = 256,
                             .width = 1,
                             .norm_decay = 0.9997};
    int64_t n = step_size(2, 1);
    s->net[0] = ocr_new(&sizes);
    s->optim[0] = eg_sgd_new(eg_module_parameters(s->net[0]), .lr = 0.004, .momentum = 0.9);
    s->x[0] = step_random(EG_SHAPE(n, 3, sizes.side, sizes.views * sizes.side));
    s->x[1] = step_integers(EG_SHAPE(n, sizes.length), sizes.classes);
}

static eg_status read_signs(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    *loss = ocr_loss(ocr_read(s->net[0], s->x[0], s->x[1]).logits, s->x[1], 0.1);
    return ocr_step(s->net[0], s->optim[0], tape, *loss, 4e-5, 2);
}

const step_model step_photos[] = {
    {"faster-rcnn", faster_rcnn, find},
    {"depth", vid2depth, see_from_elsewhere},
    {"ocr", ocr, read_signs},
    {NULL, NULL, NULL},
};
