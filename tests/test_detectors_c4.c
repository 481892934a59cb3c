/* test_detectors_c4.c - detectors over one level of features, beside tests/golden/c4.py: of the published width, in
 * f64, so they take long. */
#include "tests/detectors.h"

/* What tests/golden/c4.py calls them. */
#define UNITS(part)                                                                                    \
    part ".block*_unit*.body.*.*.* " part ".block{1}_unit{2}.unit.body.conv{3+1}.{4:half}.{5} \n" part \
         ".block*_unit*.shortcut.*.* " part ".block{1}_unit{2}.unit.shortcut.{3:half}.{4} \n"
static const char names[] = "half: 0=conv 1=norm\n" UNITS("features") UNITS(
    "stage4") "stem.*.* features.conv1.{1:half}.{2} \n"
              "conv.* rpn.conv.{1} \nobjectness.* rpn.objectness.{1} \ncodes.* rpn.codes.{1} \nlabel.* label.{1} \n"
              "box.* box.{1} \nmask.3.* mask.out.{1} \nmask.*.* mask.conv{1+1}.{2} \n";

EGT(c4_as_written_out)
{
    as_theirs(eg_faster_rcnn_c4_new(CLASSES, .width = WIDTH, .anchor = 16, .proposals = 20, .anchor_samples = ALL,
                                    .box_samples = ALL, .found = FOUND, .frozen_norms = true),
              "faster_rcnn_c4", names);
}

EGT(c4_with_masks)
{
    as_theirs(eg_mask_rcnn_c4_new(CLASSES, .width = WIDTH, .anchor = 16, .proposals = 20, .anchor_samples = ALL,
                                  .box_samples = ALL, .found = FOUND, .frozen_norms = true),
              "mask_rcnn_c4", names);
    eg_module *net = eg_faster_rcnn_c4_new(CLASSES);
    EGT_REFUSED(eg_detector_names(net), EG_EINVAL, "nobody else");
    EGT_OK(eg_module_free(net));
    EGT_REFUSED(eg_faster_rcnn_c4_new(CLASSES, .hidden = 8), EG_EINVAL, "no place for hidden");
    EGT_REFUSED(eg_faster_rcnn_c4_new(CLASSES, .layers = 18), EG_EINVAL, "18 layers");
}
