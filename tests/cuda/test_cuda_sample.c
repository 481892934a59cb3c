/* test_cuda_sample.c - images read at points and suppression on a CUDA device: bad images of boxes, the same bits
 * every time, and what the sweep has no room for. */
#include "tests/cuda/module.h"

#define THERE(t) eg_to(t, cuda(0))

static bool same(eg_tensor *there, eg_tensor *here)
{
    eg_tensor *y = eg_contiguous(eg_to(there, eg_cpu()));
    return y && egt_distance(y, eg_contiguous(here)) == 0;
}

EGT(a_bad_image_is_found_later)
{
    eg_tensor *x = THERE(egt_random(EG_SHAPE(2, 3, 4, 5), EG_F32, -1, 1));
    eg_tensor *boxes = THERE(egt_random(EG_SHAPE(3, 4), EG_F32, 0, 1));
    for (int bad = -1; bad < 3; bad += 3) {
        eg_tensor *at = THERE(eg_from_values(EG_SHAPE(3), EG_I64, (double[]){0, bad, 1}));
        for (int kind = 0; kind < 2; kind++) {
            eg_clear_error();
            eg_tensor *y =
                kind ? eg_roi_align(x, boxes, at, 2, 2, .sampling_ratio = 2) : eg_crop_and_resize(x, boxes, at, 2, 2);
            EGT_CHECK(y != NULL);
            EGT_CHECK(eg_device_synchronize(cuda(0)) == EG_EINDEX);
            EGT_CHECK(strstr(eg_last_error()->op, kind ? "roi_align" : "crop_and_resize"));
            EGT_OK(eg_device_synchronize(cuda(0)));
        }
    }
    eg_clear_error();
}

/* What x gets of a sum of squares, on the CPU. */
static eg_tensor *gradient(eg_tensor *x, eg_tensor *grid)
{
    eg_tensor *dx = NULL;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *sum = eg_sum(eg_square(eg_grid_sample(x, grid)));
    EGT_OK(eg_tape_gradients(tape, sum, &x, 1, &dx));
    return eg_to(dx, eg_cpu());
}

/* Many points on few pixels, more channels than threads share: sums of which order matters. */
EGT(sums_have_one_order)
{
    for (int last = 0; last < 2; last++) {
        eg_tensor *x = egt_random(EG_SHAPE(2, 140, 3, 3), EG_F32, -1, 1);
        eg_tensor *grid = egt_random(EG_SHAPE(2, 10, 33, 2), EG_F32, -1.2, 1.2);
        x = last ? eg_channels_last(x) : x;
        eg_tensor *there = THERE(x), *grid_there = THERE(grid), *first = gradient(there, grid_there);
        EGT_EQ(egt_distance(gradient(there, grid_there), first), 0);
        EGT_CHECK(egt_distance(first, gradient(x, grid)) < 1e-5);
    }
}

/* More boxes than one stretch of rows has, some far down suppressed by the first. */
EGT(suppression_goes_on_over_stretches)
{
    eg_tensor *low = egt_random(EG_SHAPE(4500, 2), EG_F32, 0, 300);
    eg_tensor *size = egt_random(EG_SHAPE(4500, 2), EG_F32, 5, 30);
    eg_tensor *both[] = {low, eg_add(low, size)}, *boxes = eg_concat(both, 2, 1);
    eg_tensor *scores = egt_random(EG_SHAPE(4500), EG_F32, 0, 1);
    eg_tensor *classes = eg_cast(eg_floor(egt_random(EG_SHAPE(4500), EG_F32, 0, 3)), EG_I64);
    EGT_CHECK(
        same(eg_nms(THERE(boxes), THERE(scores), .iou_threshold = 0.3), eg_nms(boxes, scores, .iou_threshold = 0.3)));
    EGT_CHECK(same(eg_batched_nms(THERE(boxes), THERE(scores), THERE(classes), .iou_threshold = 0.3, .max_output = 700),
                   eg_batched_nms(boxes, scores, classes, .iou_threshold = 0.3, .max_output = 700)));
}
