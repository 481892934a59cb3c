/* names.c - see names.h. Files of before 2022 number some layers otherwise. */
#include "nn/models/detection/names.h"

#include "nn/models/rules.h"

#define TRUNK                                                                                                          \
    LIST("half", "0=conv 1=norm")                                                                                      \
    RULE("backbone.body.conv1.weight", "features.trunk.conv1.conv.weight", "")                                         \
    RULE("backbone.body.bn1.*", "features.trunk.conv1.norm.{1}", "")                                                   \
    RULE("backbone.body.layer*.*.conv*.weight", "features.trunk.block{1}_unit{2+1}.unit.body.conv{3}.conv.weight", "") \
    RULE("backbone.body.layer*.*.bn*.*", "features.trunk.block{1}_unit{2+1}.unit.body.conv{3}.norm.{4}", "")           \
    RULE("backbone.body.layer*.*.downsample.*.*", "features.trunk.block{1}_unit{2+1}.unit.shortcut.{3:half}.{4}", "")

/* Levels of the pyramid from a stage on. */
#define PYRAMID(first)                                                             \
    RULE("backbone.fpn.inner_blocks.*.0.*", "features.inner{1+" first "}.{2}", "") \
    RULE("backbone.fpn.layer_blocks.*.0.*", "features.layer{1+" first "}.{2}", "") \
    RULE("backbone.fpn.inner_blocks.*.*", "features.inner{1+" first "}.{2}", "")   \
    RULE("backbone.fpn.layer_blocks.*.*", "features.layer{1+" first "}.{2}", "")   \
    RULE("backbone.fpn.extra_blocks.p6.*", "features.top1.{1}", "")                \
    RULE("backbone.fpn.extra_blocks.p7.*", "features.top2.{1}", "")

const char eg__names_rcnn[] =
    TRUNK PYRAMID("1") RULE("rpn.head.conv.0.0.*", "rpn.conv.{1}", "") RULE("rpn.head.conv.*", "rpn.conv.{1}", "")
        RULE("rpn.head.cls_logits.*", "rpn.objectness.{1}", "") RULE("rpn.head.bbox_pred.*", "rpn.codes.{1}", "")
            RULE("roi_heads.box_head.fc6.*", "hidden1.{1}", "") RULE("roi_heads.box_head.fc7.*", "hidden2.{1}", "")
                RULE("roi_heads.box_predictor.cls_score.*", "label.{1}", "")
                    RULE("roi_heads.box_predictor.bbox_pred.*", "box.{1}", "")
                        RULE("roi_heads.mask_head.*.0.*", "mask.conv{1+1}.{2}", "")
                            RULE("roi_heads.mask_head.mask_fcn*.*", "mask.conv{1}.{2}", "")
                                RULE("roi_heads.mask_predictor.conv5_mask.*", "mask.up.{1}", "")
                                    RULE("roi_heads.mask_predictor.mask_fcn_logits.*", "mask.logits.{1}", "");

#define HEAD(theirs, ours, last)                            \
    RULE(theirs ".conv.*.0.*", ours ".conv{1+1}.{2}", "")   \
    RULE(theirs ".conv.*.*", ours ".conv{1:older}.{2}", "") \
    RULE(theirs "." last ".*", ours ".out.{1}", "")
const char eg__names_retinanet[] = TRUNK PYRAMID("2") LIST("older", "0=1 2=2 4=3 6=4")
    HEAD("head.classification_head", "label", "cls_logits") HEAD("head.regression_head", "box", "bbox_reg");
