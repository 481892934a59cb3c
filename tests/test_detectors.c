/* test_detectors.c - nets that find objects: torchvision's numbers (tests/golden/detectors.py), what is refused, and
 * that they learn. */
#include "tests/detectors.h"

static void as_torchvision(eg_module *net, const char *name)
{
    as_theirs(net, name, eg_detector_names(net));
}

EGT(faster_rcnn_as_torchvision)
{
    as_torchvision(eg_faster_rcnn_new(CLASSES, .layers = 18, .width = WIDTH, .hidden = HIDDEN, .anchor = ANCHOR,
                                      .anchor_samples = ALL, .box_samples = ALL, .found = FOUND),
                   "faster_rcnn");
}

EGT(mask_rcnn_as_torchvision)
{
    as_torchvision(eg_mask_rcnn_new(CLASSES, .layers = 18, .width = WIDTH, .hidden = HIDDEN, .anchor = ANCHOR,
                                    .anchor_samples = ALL, .box_samples = ALL, .found = FOUND, .frozen_norms = true),
                   "mask_rcnn");
}

EGT(retinanet_as_torchvision)
{
    as_torchvision(eg_retinanet_new(CLASSES, .layers = 18, .width = WIDTH, .anchor = ANCHOR, .found = FOUND),
                   "retinanet");
}

/* ---- in f32, sampled, and in other forms ---------------------------------------------------------- */

static eg_module *small(void)
{
    return eg_mask_rcnn_new(CLASSES, .layers = 18, .width = WIDTH, .hidden = HIDDEN, .anchor = ANCHOR,
                            .anchor_samples = 64, .box_samples = 32, .found = FOUND);
}

EGT(they_learn)
{
    eg_seed(7);
    eg_module *nets[] = {small(), eg_retinanet_new(CLASSES, .layers = 18, .width = WIDTH, .anchor = ANCHOR)};
    make_batch(EG_F32);
    for (int k = 0; k < 2; k++) {
        eg_optim *adam = eg_adam_new(eg_module_parameters(nets[k]), .lr = 3e-3);
        double first = 0, last = 0;
        for (int step = 0; step < 30; step++) {
            EG_SCOPE {
                eg_tape tape = eg_tape_open();
                eg_detector_losses l = learn(nets[k], !k);
                last = eg_item(l.loss);
                first = step ? first : last;
                EGT_OK(eg_optim_minimize(adam, tape, l.loss));
            }
        }
        EGT_CHECK(last < (k ? 0.8 : 0.6) * first);
        eg_optim_free(adam);
        EGT_OK(eg_module_free(nets[k]));
    }
}

EGT(photos_without_objects)
{
    eg_module *net = eg_faster_rcnn_new(CLASSES, .layers = 18, .width = WIDTH, .hidden = HIDDEN);
    make_batch(EG_F32);
    eg_tensor *none = eg_full_like(batch.labels, -1), *no = eg_slice(batch.boxes, 1, 0, 0, 1);
    eg_tensor *params = eg_module_parameters(net).tensors[0], *g;
    for (int k = 0; k < 3; k++) {
        eg_tape tape = eg_tape_open();
        eg_detector_losses l =
            k == 0   ? eg_detector_loss(net, batch.images, batch.boxes, none)
            : k == 1 ? eg_detector_loss(net, batch.images, no, eg_slice(none, 1, 0, 0, 1))
                     : eg_detector_loss(net, batch.images, eg_zeros_like(batch.boxes), batch.labels); /* all empty */
        EGT_CHECK(l.loss);
        EGT_EQ(eg_item(l.proposal) + eg_item(l.box), 0);
        EGT_CHECK(eg_item(l.objectness) > 0 && eg_item(l.label) > 0);
        EGT_OK(eg_tape_gradients(tape, l.loss, &params, 1, &g));
        EGT_CHECK(eg_item(eg_sum(eg_abs(g))) > 0);
    }
    EGT_OK(eg_module_free(net));
    net = eg_retinanet_new(CLASSES, .layers = 18, .width = WIDTH);
    eg_detector_losses l = eg_detector_loss(net, batch.images, batch.boxes, none);
    EGT_CHECK(l.loss && eg_item(l.box) == 0 && eg_item(l.label) > 0 && !l.objectness);
    EGT_OK(eg_module_free(net));
    net = small();
    l = eg_detector_loss(net, batch.images, batch.boxes, none, .masks = batch.masks);
    EGT_CHECK(l.loss && eg_item(l.mask) == 0);
    EGT_OK(eg_module_free(net));
}

/* Padding has no part in what is found, and neither have other photos of the batch. */
EGT(alone_and_in_a_batch)
{
    eg_module *net = small();
    make_batch(EG_F32);
    EGT_OK(eg_module_eval(net));
    eg_detections both = eg_detector_find(net, batch.images, NULL);
    eg_detections second = eg_detections_at(&both, 1);
    eg_tensor *alone = eg_slice(batch.images, 0, 1, 2, 1);
    eg_detections found = eg_detector_find(net, eg_channels_last(alone), NULL);
    EGT_CHECK(eg_size(second.boxes, 0) && eg_size(found.boxes, 1) == eg_size(second.boxes, 0));
    EGT_CHECK(egt_distance(eg_select(found.boxes, 0, 0), second.boxes) < 1e-3);
    EGT_CHECK(egt_distance(eg_select(found.masks, 0, 0), second.masks) < 1e-3);
    /* The last rows of a batch stand for nothing. */
    EGT_REFUSED(eg_detections_at(&both, 2).boxes, EG_EINDEX, "photo 2");
    EGT_REFUSED(eg_detections_at(NULL, 0).boxes, EG_EINVAL, "no detections");
    EGT_OK(eg_module_free(net));
}

EGT(frozen_parts)
{
    eg_module *whole = eg_faster_rcnn_new(CLASSES, .layers = 18, .width = WIDTH, .hidden = HIDDEN);
    eg_module *norms =
        eg_faster_rcnn_new(CLASSES, .layers = 18, .width = WIDTH, .hidden = HIDDEN, .frozen_norms = true);
    eg_module *stages = eg_faster_rcnn_new(CLASSES, .layers = 18, .width = WIDTH, .hidden = HIDDEN, .frozen_stages = 5);
    int n = eg_module_parameters(whole).count;
    EGT_EQ(eg_module_parameters(norms).count, n - 40); /* a weight and a bias of each of 20 norms */
    EGT_EQ(eg_module_parameters(stages).count, n - 60);
    make_batch(EG_F32);
    eg_tensors *state = eg_module_state(norms);
    eg_tensor *mean = eg_tensors_get(state, "features.trunk.conv1.norm.running_mean"), *before = eg_copy(mean);
    EGT_CHECK(eg_detector_loss(norms, batch.images, batch.boxes, batch.labels).loss);
    EGT_EQ(egt_distance(mean, before), 0);
    eg_tensors_free(state);
    state = eg_module_state(whole);
    mean = eg_tensors_get(state, "features.trunk.conv1.norm.running_mean");
    before = eg_copy(mean);
    EGT_CHECK(eg_detector_loss(whole, batch.images, batch.boxes, batch.labels).loss);
    EGT_CHECK(egt_distance(mean, before) > 0);
    eg_tensors_free(state);
    EGT_OK(eg_module_free(whole));
    EGT_OK(eg_module_free(norms));
    EGT_OK(eg_module_free(stages));
}

EGT(known_sizes)
{
    eg_module *c4 = eg_faster_rcnn_c4_new(90, .layers = 101);
    EGT_EQ(eg_module_numel(c4), 42500160 + 4756040 + 924099);
    EGT_EQ(eg_module_numel(eg_module_find(c4, "features")) + eg_module_numel(eg_module_find(c4, "stage4")), 42500160);
    EGT_OK(eg_module_free(c4));
    eg_module *net = eg_faster_rcnn_new(90);
    EGT_EQ(eg_module_numel(net), 41808406);
    EGT_OK(eg_module_free(net));
    net = eg_mask_rcnn_new(90);
    EGT_EQ(eg_module_numel(net), 44454513);
    EGT_OK(eg_module_free(net));
    net = eg_retinanet_new(91);
    EGT_EQ(eg_module_numel(net), 34068119);
    EGT_OK(eg_module_free(net));
}

/* ---- masks ---------------------------------------------------------------------------------------- */

EGT(masks_of_boxes)
{
    eg_tensor *box = eg_from(EG_SHAPE(2, 4), EG_F32, ((float[]){2, 3, 12, 9, -4, -4, 3, 3}));
    eg_tensor *m = eg_detection_masks(box, eg_ones(EG_SHAPE(2, 28, 28), EG_F32), 20, 30);
    EGT_CHECK(m && eg_dtype_of(m) == EG_U8 && eg_size(m, 1) == 20 && eg_size(m, 2) == 30);
    EGT_CHECK(eg_get(m, 5 * 30 + 7) == 1 && eg_get(m, 15 * 30 + 7) == 0);
    EGT_EQ(eg_item(eg_sum(eg_cast(eg_select(m, 0, 0), EG_I64))), 60);
    EGT_EQ(eg_item(eg_sum(eg_cast(eg_select(m, 0, 1), EG_I64))), 9); /* what is outside of the photo is left out */
    EGT_CHECK(eg_get(m, 600) == 1);
    eg_tensor *half = eg_from(EG_SHAPE(1, 4), EG_F32, ((float[]){2.6F, 3, 11.4F, 9})); /* pixels by their middles */
    m = eg_detection_masks(half, eg_ones(EG_SHAPE(1, 28, 28), EG_F32), 20, 30);
    EGT_EQ(eg_item(eg_sum(eg_cast(m, EG_I64))), 48);
    EGT_CHECK(eg_get(m, 5 * 30 + 2) == 0 && eg_get(m, 5 * 30 + 3) == 1 && eg_get(m, 5 * 30 + 11) == 0);
    half = eg_from(EG_SHAPE(1, 4), EG_F32, ((float[]){5, 3, 5, 9})); /* nothing */
    EGT_EQ(eg_item(eg_sum(eg_cast(eg_detection_masks(half, eg_ones(EG_SHAPE(1, 4, 4), EG_F32), 20, 30), EG_I64))), 0);
    eg_tensor *none = eg_detection_masks(eg_zeros(EG_SHAPE(0, 4), EG_F32), eg_zeros(EG_SHAPE(0, 28, 28), EG_F32), 4, 5);
    EGT_CHECK(none && eg_numel(none) == 0 && eg_size(none, 1) == 4);
    EGT_REFUSED(eg_detection_masks(box, eg_ones(EG_SHAPE(2, 27, 28), EG_F32), 20, 30), EG_ESHAPE, "[k, S, S]");
    EGT_REFUSED(eg_detection_masks(box, eg_ones(EG_SHAPE(2, 28, 28), EG_I64), 20, 30), EG_EDTYPE, "floats");
    EGT_REFUSED(eg_detection_masks(box, eg_ones(EG_SHAPE(2, 28, 28), EG_F32), 0, 30), EG_EINVAL, "0 x 30");
    eg_tensor *far = eg_mul_scalar(box, 1e6);
    EGT_REFUSED(eg_detection_masks(far, eg_ones(EG_SHAPE(2, 28, 28), EG_F32), 20, 30), EG_EINVAL, "box 0");
    EGT_REFUSED(eg_detection_masks(NULL, NULL, 20, 30), EG_EINVAL, "boxes");
}

/* ---- refused -------------------------------------------------------------------------------------- */

EGT(refused)
{
    EGT_REFUSED(eg_faster_rcnn_new(0), EG_EINVAL, "0 classes");
    EGT_REFUSED(eg_faster_rcnn_new(3, .layers = 17), EG_EINVAL, "17 layers");
    EGT_REFUSED(eg_mask_rcnn_new(3, .score_threshold = 1.5), EG_EINVAL, "thresholds");
    EGT_REFUSED(eg_mask_rcnn_new(3, .found = -1), EG_EINVAL, "counts");
    EGT_REFUSED(eg_retinanet_new(3, .hidden = 10), EG_EINVAL, "no place for hidden");
    eg_module *net = eg_faster_rcnn_new(CLASSES, .layers = 18, .width = WIDTH, .hidden = HIDDEN);
    make_batch(EG_F32);
    eg_tensor *x = batch.images, *b = batch.boxes, *l = batch.labels;
    EGT_REFUSED(eg_detector_loss(net, eg_select(x, 0, 0), b, l).loss, EG_ESHAPE, "images of 3 axes");
    EGT_REFUSED(eg_detector_loss(net, eg_cast(x, EG_I64), b, l).loss, EG_EDTYPE, "floats");
    EGT_REFUSED(eg_detector_loss(net, x, eg_select(b, 0, 0), l).loss, EG_ESHAPE, "boxes and labels");
    EGT_REFUSED(eg_detector_loss(net, x, b, eg_cast(l, EG_F32)).loss, EG_EDTYPE, "integers");
    EGT_REFUSED(eg_detector_loss(net, x, b, eg_add_int(l, 1)).loss, EG_EINDEX, "class 3");
    EGT_REFUSED(eg_detector_loss(net, x, b, l, .masks = batch.masks).loss, EG_EINVAL, "no masks");
    EGT_REFUSED(eg_detector_loss(net, x, b, l, .sizes = eg_mul_int(batch.sizes, 2)).loss, EG_EINVAL, "photo 0");
    EGT_REFUSED(eg_detector_loss(net, x, b, NULL).loss, EG_EINVAL, "labels");
    EGT_REFUSED(eg_detector_find(net, x, eg_slice(batch.sizes, 0, 0, 1, 1)).boxes, EG_ESHAPE, "sizes");
    EGT_REFUSED(eg_detector_find(net, NULL, NULL).boxes, EG_EINVAL, "images");
    eg_module *other = eg_linear_new(2, 3);
    EGT_REFUSED(eg_detector_find(other, x, NULL).boxes, EG_EINVAL, "linear is no detector");
    EGT_REFUSED(eg_detector_names(other), EG_EINVAL, "linear");
    EGT_REFUSED(eg_module_forward(net, x), EG_EINVAL, "faster_rcnn");
    EGT_OK(eg_module_free(other));
    EGT_OK(eg_module_free(net));
    net = small();
    EGT_REFUSED(eg_detector_loss(net, x, b, l).loss, EG_EINVAL, "learns from masks");
    eg_tensor *masks = eg_slice(batch.masks, 1, 0, 2, 1);
    EGT_REFUSED(eg_detector_loss(net, x, b, l, .masks = masks).loss, EG_ESHAPE, "masks");
    EGT_OK(eg_module_free(net));
}

/* ---- without memory -------------------------------------------------------------------------------- */

static bool make_and_use(void *user)
{
    eg_module *net =
        eg_mask_rcnn_new(2, .layers = 18, .width = 4, .hidden = 4, .anchor = ANCHOR, .proposals = 20, .found = 4);
    (void)user;
    bool good = false;
    EG_SCOPE {
        good = net &&
               eg_detector_loss(net, batch.images, batch.boxes, eg_minimum_int(batch.labels, 1), .masks = batch.masks)
                   .loss;
        good = good && !eg_module_eval(net) && eg_detector_find(net, batch.images, batch.sizes).boxes;
    }
    eg_module_free(net);
    return good;
}

EGT(no_memory)
{
    make_batch(EG_F32);
    EGT_CHECK(egt_fail_allocations(make_and_use, NULL) > 100);
}
