"""detectors.safetensors: torchvision's Faster R-CNN, Mask R-CNN and RetinaNet, all small, and those of c4.py: losses,
what three steps of SGD make of them, and what is found on photos.

    python3 detectors.py [FILE]

needs PyTorch, torchvision and safetensors. Of a net NAME there are NAME/state/..., of each tensor of torchvision's
state its number and its sizes, NAME/losses/..., one number for each step, and NAME/found/...: what is found after them
on each photo. Weights and photos are numbers both sides make by a rule (`nets.hashed`). Enough anchors and proposals
are sampled that all are, so chance has no part. All is computed in f64.
"""
import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from torchvision.models import resnet
from torchvision.models.detection import FasterRCNN, MaskRCNN, RetinaNet
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import BackboneWithFPN
from torchvision.models.detection.image_list import ImageList
from torchvision.ops import MultiScaleRoIAlign
from torchvision.ops.feature_pyramid_network import LastLevelMaxPool, LastLevelP6P7
from torchvision.ops.misc import FrozenBatchNorm2d

from c4 import C4
from nets import hashed

WIDTH, HIDDEN, CLASSES, ANCHOR, FOUND, ALL = 16, 24, 3, 8, 12, 100000
HEIGHT, WIDE, SIZES = 64, 96, [(64, 90), (57, 96)]
BOXES = [[[4, 6, 30, 40], [20, 10, 85, 60], [50, 30, 62, 41]], [[10, 5, 70, 50]]]
LABELS = [[2, 0, 1], [1]]
PHOTOS = 1000000
out = {}


def spread(name, shape, gain):
    """Of tensors with axes, by what they do: nets that hardly say anything find nothing, and those that shout find
    nothing but sure things."""
    fan = shape.numel() // shape[0]
    last = any(part in name for part in ("cls_logits", "bbox_pred", "bbox_reg", "cls_score")) \
        or name.startswith(("objectness.", "codes.", "label.", "box."))
    return 1 / fan ** .5 if last else gain * (6 / fan) ** .5


def fill(net, gain):
    for k, (name, t) in enumerate(net.state_dict().items()):
        if not t.is_floating_point():
            continue
        if t.ndim > 1:
            low, wide = 0., spread(name, t.shape, gain)
        else:
            one = name.endswith("weight") or name.endswith("running_var")
            low, wide = float(one), .5 if name.endswith("running_var") else .2 if one else .1
        numbers = torch.from_numpy((low + wide * hashed(k, t.numel())).astype("float32"))
        t.copy_(numbers.double().reshape(t.shape))


def trunk(first, top, norm):
    net = resnet.resnet18(weights=None, norm_layer=norm)
    layers = {f"layer{k}": str(k - first) for k in range(first, 5)}
    return BackboneWithFPN(net, layers, [64 << (k - 1) for k in range(first, 5)], WIDTH, extra_blocks=top)


def two_stages(kind, norm, **more):
    anchors = AnchorGenerator(tuple((ANCHOR << k,) for k in range(5)), ((.5, 1., 2.),) * 5)
    net = kind(trunk(1, LastLevelMaxPool(), norm), CLASSES + 1, rpn_anchor_generator=anchors,
               rpn_batch_size_per_image=ALL, box_batch_size_per_image=ALL, box_detections_per_img=FOUND, **more)
    net.roi_heads.box_head.fc6 = nn.Linear(WIDTH * 49, HIDDEN)
    net.roi_heads.box_head.fc7 = nn.Linear(HIDDEN, HIDDEN)
    net.roi_heads.box_predictor.cls_score = nn.Linear(HIDDEN, CLASSES + 1)
    net.roi_heads.box_predictor.bbox_pred = nn.Linear(HIDDEN, 4 * (CLASSES + 1))
    return net


def faster():
    return two_stages(FasterRCNN, nn.BatchNorm2d)


def mask():
    net = two_stages(MaskRCNN, FrozenBatchNorm2d)
    head, predictor = net.roi_heads.mask_head, net.roi_heads.mask_predictor
    for k in range(4):
        head[k][0] = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
    predictor.conv5_mask = nn.ConvTranspose2d(WIDTH, WIDTH, 2, 2)
    predictor.mask_fcn_logits = nn.Conv2d(WIDTH, CLASSES + 1, 1)
    return net


def retina():
    sizes = tuple(tuple(int((ANCHOR << k) * 2 ** (i / 3)) for i in range(3)) for k in range(5))
    anchors = AnchorGenerator(sizes, ((.5, 1., 2.),) * 5)
    return RetinaNet(trunk(2, LastLevelP6P7(WIDTH, WIDTH), nn.BatchNorm2d), CLASSES, anchor_generator=anchors,
                     detections_per_img=FOUND)


def photos():
    x = torch.from_numpy(hashed(PHOTOS, 2 * 3 * HEIGHT * WIDE)).reshape(2, 3, HEIGHT, WIDE)
    for image, (height, width) in zip(x, SIZES):
        image[:, height:] = 0
        image[:, :, width:] = 0
    return ImageList(x, SIZES)


def masks_of(boxes, k):
    """Of each object the cells of its box, but for every third diagonal."""
    m = torch.zeros(len(boxes), HEIGHT, WIDE, dtype=torch.uint8)
    for i, (x1, y1, x2, y2) in enumerate(boxes):
        y, x = torch.meshgrid(torch.arange(y1, y2), torch.arange(x1, x2), indexing="ij")
        m[i, y1:y2, x1:x2] = ((x + y) % 3 != 0).to(torch.uint8)
    return m


def targets(first):
    return [dict(boxes=torch.tensor(b, dtype=torch.float64), labels=torch.tensor(c) + first, masks=masks_of(b, k))
            for k, (b, c) in enumerate(zip(BOXES, LABELS))]


def run(net, images, wanted=None):
    """What detectors do between resizing and resizing back."""
    if isinstance(net, C4):
        return (None, net.losses(images, wanted)) if wanted else (net.find(images), {})
    features = net.backbone(images.tensors)
    if not isinstance(net, RetinaNet):
        proposals, first = net.rpn(images, features, wanted)
        found, second = net.roi_heads(features, proposals, images.image_sizes, wanted)
        return found, {**first, **second}
    features = list(features.values())
    made, anchors = net.head(features), net.anchor_generator(images, features)
    if net.training:
        return None, net.compute_loss(wanted, made, anchors)
    per_level = [f.size(2) * f.size(3) * 9 for f in features]
    split = {k: list(v.split(per_level, 1)) for k, v in made.items()}
    return net.postprocess_detections(split, [list(a.split(per_level)) for a in anchors], images.image_sizes), {}


PARTS = {"loss_objectness": "objectness", "loss_rpn_box_reg": "proposal", "loss_classifier": "label",
         "loss_box_reg": "box", "loss_mask": "mask", "classification": "label", "bbox_regression": "box"}


def keep(name, make, first, rate, gain):
    net = make().double()
    with torch.no_grad():
        fill(net, gain)
    for k, (key, t) in enumerate(net.state_dict().items()):
        out[f"{name}/state/{key}"] = torch.tensor([k, *t.shape])
    out[f"{name}/rate_gain"] = torch.tensor([rate, gain], dtype=torch.float64)
    images, wanted = photos(), targets(first)
    net.train()
    if isinstance(net, C4):
        freeze(net)
    sgd = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=rate)
    losses = {}
    for _ in range(3):
        parts = run(net, images, wanted)[1]
        for key, value in parts.items():
            losses.setdefault(PARTS[key], []).append(value.item())
        sgd.zero_grad()
        sum(parts.values()).backward()
        sgd.step()
    for key, values in losses.items():
        out[f"{name}/losses/{key}"] = torch.tensor(values, dtype=torch.float64)
    net.eval()
    with torch.no_grad():
        found = run(net, images)[0]
    for i, f in enumerate(found):
        print(name, "photo", i, "has", len(f["scores"]), "objects; scores", f["scores"][:3].tolist())
        out[f"{name}/found/{i}/boxes"] = f["boxes"]
        out[f"{name}/found/{i}/scores"] = f["scores"]
        out[f"{name}/found/{i}/labels"] = f["labels"] - first
        if "masks" in f:
            out[f"{name}/found/{i}/masks"] = f["masks"][:, 0]
            whole = paste(f["masks"], f["boxes"], SIZES[i])
            out[f"{name}/found/{i}/pixels"] = (whole[:, 0] > .5).to(torch.uint8)
    print(name, {k: [round(x, 4) for x in v] for k, v in losses.items()})


def freeze(net):
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()
            m.weight.requires_grad_(False)
            m.bias.requires_grad_(False)


def paste(masks, boxes, size):
    """As Detectron2, without moving boxes to whole pixels, as torchvision does."""
    whole = []
    for mask, (left, top, right, bottom) in zip(masks, boxes):
        x = (torch.arange(size[1]).to(boxes) + .5 - left) / (right - left) * 2 - 1
        y = (torch.arange(size[0]).to(boxes) + .5 - top) / (bottom - top) * 2 - 1
        grid = torch.stack([x.expand(*size), y[:, None].expand(*size)], 2)
        whole.append(F.grid_sample(mask[None], grid[None], align_corners=False))
    return torch.cat(whole)


keep("faster_rcnn", faster, 1, 1e-3, 1.)
keep("mask_rcnn", mask, 1, 1e-3, .75)
keep("retinanet", retina, 0, 1e-3, .7)
keep("faster_rcnn_c4", lambda: C4(CLASSES, WIDTH, 16, 20, FOUND, False), 0, 1e-4, .7)
keep("mask_rcnn_c4", lambda: C4(CLASSES, WIDTH, 16, 20, FOUND, True), 0, 1e-4, .7)
save_file({k: v.contiguous() for k, v in out.items()},
          sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                             "detectors.safetensors"))
