"""Faster and Mask R-CNN over one level of features, as TensorFlow's object detection has them, written out with
PyTorch's ops and torchvision's assigners, for detectors.py."""
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models.detection import _utils as utils
from torchvision.ops import batched_nms, box_iou, clip_boxes_to_image, nms

CODER = utils.BoxCoder((10., 10., 5., 5.))
SIZES, SIDE = 4, 33


class Conv(nn.Sequential):
    def __init__(self, i, o, kernel, stride=1, rate=1):
        super().__init__(nn.Conv2d(i, o, kernel, stride, kernel // 2 * rate, rate, bias=False),
                         nn.BatchNorm2d(o, 1e-5, .003))


class Unit(nn.Module):
    def __init__(self, i, inner, stride, rate):
        super().__init__()
        o = 4 * inner
        self.body = nn.ModuleList([Conv(i, inner, 1), Conv(inner, inner, 3, stride, rate), Conv(inner, o, 1)])
        self.shortcut = Conv(i, o, 1, stride) if i != o else None
        self.stride = stride

    def forward(self, x):
        a, b, c = self.body
        shortcut = self.shortcut(x) if self.shortcut else x[:, :, ::self.stride, ::self.stride]
        return F.relu(c(F.relu(b(F.relu(a(x))))) + shortcut)


def stages(first, last, most):
    parts, i, now, rate = OrderedDict(), 64 if not first else 128 << first, 4 << first, 1
    for stage in range(first, last):
        units = (3, 4, 6, 3)[stage]
        for k in range(units):
            strides = stage < 3 and k == units - 1
            dilates = strides and now == most
            parts[f"block{stage + 1}_unit{k + 1}"] = Unit(i, 64 << stage, 2 if strides and not dilates else 1, rate)
            now *= 2 if strides and not dilates else 1
            rate *= 2 if dilates else 1
            i = 256 << stage
    return nn.Sequential(parts)


class C4(nn.Module):
    def __init__(self, classes, width, anchor, proposals, found, masks):
        super().__init__()
        self.classes, self.anchor, self.proposals, self.found, self.masks = classes, anchor, proposals, found, masks
        self.stem, self.features = Conv(3, 64, 7, 2), stages(0, 3, 8 if masks else 16)
        self.conv, self.objectness = nn.Conv2d(1024, width, 3, padding=1), nn.Conv2d(width, 24, 1)
        self.codes, self.stage4 = nn.Conv2d(width, 48, 1), stages(3, 4, 32)
        self.label, self.box = nn.Linear(2048, classes + 1), nn.Linear(2048, 4 * classes)
        if masks:
            self.mask = nn.ModuleList([nn.Conv2d(2048, 256, 3, padding=1), nn.Conv2d(256, 256, 3, padding=1),
                                       nn.Conv2d(256, 256, 3, padding=1), nn.Conv2d(256, classes, 3, padding=1)])

    def first(self, images):
        x = F.max_pool2d(F.pad(F.relu(self.stem(images)), (0, 1, 0, 1), value=-torch.inf), 3, 2)
        x = self.features(x)
        h = F.relu(self.conv(x))
        n, _, rows, columns = h.shape
        logits = self.objectness(h).permute(0, 2, 3, 1).reshape(n, -1, 2)
        codes = self.codes(h).permute(0, 2, 3, 1).reshape(n, -1, 4)
        sizes = torch.tensor([self.anchor * 2. ** k for k in range(SIZES)], dtype=x.dtype)
        roots = torch.tensor([.5, 1, 2], dtype=x.dtype).sqrt()
        w, h = (1 / roots[:, None] * sizes).flatten(), (roots[:, None] * sizes).flatten()
        stride = images.shape[2] // rows
        y, x0 = torch.meshgrid(torch.arange(rows) * stride, torch.arange(columns) * stride, indexing="ij")
        centre = torch.stack([x0, y, x0, y], -1).reshape(-1, 1, 4)
        anchors = centre.float() + (torch.stack([-w, -h, w, h], 1) / 2).float()  # as places are kept
        return x, logits, codes, anchors.to(x.dtype).reshape(-1, 4)

    def propose(self, logits, codes, anchors, size):
        boxes = clip_boxes_to_image(CODER.decode_single(codes.detach(), anchors), size)
        scores = (logits[:, 1] - logits[:, 0]).detach()
        keep = ((boxes[:, 2:] - boxes[:, :2]) >= 1e-3).all(1)
        boxes, scores = boxes[keep], scores[keep]
        return boxes[nms(boxes, scores, .7)[:self.proposals]]

    def crop(self, x, boxes, which, images, side):
        """TensorFlow's crop_and_resize: a grid from corner to corner."""
        height, width = images.shape[2:]
        steps = torch.linspace(0, 1, side, dtype=boxes.dtype)
        xs = (boxes[:, :1] + (boxes[:, 2:3] - boxes[:, :1]) * steps) / width * 2 - 1
        ys = (boxes[:, 1:2] + (boxes[:, 3:] - boxes[:, 1:2]) * steps) / height * 2 - 1
        grid = torch.stack([xs[:, None].expand(-1, side, -1), ys[:, :, None].expand(-1, -1, side)], -1)
        return F.grid_sample(x[which], grid, align_corners=True)

    def look(self, x, boxes, which, images):
        return self.stage4(F.max_pool2d(self.crop(x, boxes, which, images, 14), 2))

    def masks_of(self, cells, labels):
        h = F.interpolate(cells, (SIDE, SIDE), mode="bilinear", align_corners=True)
        for conv in self.mask[:-1]:
            h = F.relu(conv(h))
        return self.mask[-1](h)[torch.arange(len(labels)), labels]

    def losses(self, images, wanted):
        x, logits, codes, anchors = self.first(images.tensors)
        first, second = utils.Matcher(.7, .3, True), utils.Matcher(.5, .5, False)
        yes, said, moved, boxes, which, labels, targets, masks = ([] for _ in range(8))
        count = 0
        for i, t in enumerate(wanted):
            match = first(box_iou(t["boxes"], anchors))
            keep = match != first.BETWEEN_THRESHOLDS
            said.append(logits[i][keep])
            yes.append((match[keep] >= 0).long())
            found = match >= 0
            moved.append(F.smooth_l1_loss(codes[i][found], CODER.encode_single(t["boxes"][match[found]], anchors[found]),
                                          reduction="sum"))
            all_ = torch.cat([self.propose(logits[i], codes[i], anchors, images.image_sizes[i]), t["boxes"]])
            match = second(box_iou(t["boxes"], all_))
            boxes.append(all_)
            which += [i] * len(all_)
            labels.append(torch.where(match >= 0, t["labels"][match.clamp(min=0)] + 1, 0))
            targets.append(t["boxes"][match.clamp(min=0)])
            masks.append(match.clamp(min=0) + count)
            count += len(t["boxes"])
        said, yes, boxes, labels = torch.cat(said), torch.cat(yes), torch.cat(boxes), torch.cat(labels)
        targets, masks, which = torch.cat(targets), torch.cat(masks), torch.tensor(which)
        out = {"loss_objectness": F.cross_entropy(said, yes), "loss_rpn_box_reg": 2 * sum(moved) / len(said)}
        cells = self.look(x, boxes, which, images.tensors)
        h = cells.mean((2, 3))
        out["loss_classifier"] = F.cross_entropy(self.label(h), labels)
        objects = labels > 0
        codes = self.box(h).reshape(len(h), -1, 4)[objects, labels[objects] - 1]
        out["loss_box_reg"] = 2 * F.smooth_l1_loss(codes, CODER.encode_single(targets[objects], boxes[objects]),
                                                   reduction="sum") / len(labels)
        if self.masks:
            every = torch.cat([t["masks"] for t in wanted])[:, None].to(x.dtype)
            target = self.crop(every, boxes[objects], masks[objects], images.tensors, SIDE)[:, 0]
            out["loss_mask"] = 4 * F.binary_cross_entropy_with_logits(
                self.masks_of(cells[objects], labels[objects] - 1), target)
        return out

    def find(self, images):
        x, logits, codes, anchors = self.first(images.tensors)
        found = []
        for i, size in enumerate(images.image_sizes):
            boxes = self.propose(logits[i], codes[i], anchors, size)
            h = self.look(x, boxes, torch.full((len(boxes),), i), images.tensors).mean((2, 3))
            scores = F.softmax(self.label(h), 1)[:, 1:].flatten()
            moved = CODER.decode_single(self.box(h), boxes).reshape(-1, 4)
            moved = clip_boxes_to_image(moved, size)
            labels = torch.arange(self.classes).repeat(len(boxes))
            keep = (scores > .05) & ((moved[:, 2:] - moved[:, :2]) >= 1e-2).all(1)
            moved, scores, labels = moved[keep], scores[keep], labels[keep]
            keep = batched_nms(moved, scores, labels, .6)[:self.found]
            f = dict(boxes=moved[keep], scores=scores[keep], labels=labels[keep])
            if self.masks:
                cells = self.look(x, f["boxes"], torch.full((len(keep),), i), images.tensors)
                f["masks"] = self.masks_of(cells, f["labels"]).sigmoid()[:, None]
            found.append(f)
        return found
