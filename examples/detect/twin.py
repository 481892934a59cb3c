#!/usr/bin/env python3
"""The training of detect.c with torchvision's Faster R-CNN: same net, first weights by the same rules, photos, steps.

    twin.py DIR [--epochs 20] [--threads N]

DIR is as Pascal VOC's. Prints AP and AP50 of the set "val" behind each epoch, by pycocotools. Needs PyTorch,
torchvision, Pillow and pycocotools."""
import argparse
import contextlib
import io
import math
import os
import random
import time
import xml.etree.ElementTree

import numpy
import torch
import torch.nn.functional as F
from PIL import Image
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from torch import nn
from torchvision.models import resnet
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import BackboneWithFPN
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.ops.feature_pyramid_network import LastLevelMaxPool

p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
p.add_argument("data")
p.add_argument("--epochs", type=int, default=20)
p.add_argument("--batch", type=int, default=4)
p.add_argument("--lr", type=float, default=.02)
p.add_argument("--warm-up", type=int, default=100)
p.add_argument("--shorter", type=int, default=240)
p.add_argument("--longer", type=int, default=320)
p.add_argument("--width", type=int, default=128)
p.add_argument("--hidden", type=int, default=512)
p.add_argument("--anchor", type=int, default=16)
p.add_argument("--proposals", type=int, default=500)
p.add_argument("--threads", type=int, default=os.cpu_count())
p.add_argument("--seed", type=int, default=1)
o = p.parse_args()
torch.set_num_threads(o.threads)
torch.manual_seed(o.seed)
random.seed(o.seed)


def read(name):
    tree = xml.etree.ElementTree.parse(f"{o.data}/Annotations/{name}.xml").getroot()
    objects = [(x.find("name").text, [float(x.find("bndbox").find(k).text) for k in ("xmin", "ymin", "xmax", "ymax")])
               for x in tree.findall("object")]
    x = numpy.array(Image.open(f"{o.data}/JPEGImages/{tree.find('filename').text}").convert("RGB"))
    x = torch.from_numpy(x).permute(2, 0, 1).float()
    scale = min(o.shorter / min(x.shape[1:]), o.longer / max(x.shape[1:]))
    size = [round(n * scale) for n in x.shape[1:]]
    ratio = torch.tensor([size[1] / x.shape[2], size[0] / x.shape[1]] * 2)
    x = F.interpolate(x[None], size, mode="bilinear", antialias=True)[0] / 255
    mean, deviation = torch.tensor([.485, .456, .406]), torch.tensor([.229, .224, .225])
    x = (x - mean[:, None, None]) / deviation[:, None, None]
    boxes = [(c, b) for c, b in objects if b[2] > b[0] and b[3] > b[1]]
    return x, torch.tensor([b for _, b in boxes]).reshape(-1, 4) * ratio, [c for c, _ in boxes], ratio


def load(which):
    with open(f"{o.data}/ImageSets/Main/{which}.txt") as names:
        return [read(name.split()[0]) for name in names if name.strip()]


train, valid = load("train"), load("val")
classes = sorted({c for _, _, names, _ in train for c in names})


def net_of():
    trunk = resnet.resnet18(weights=None, norm_layer=nn.BatchNorm2d)
    features = BackboneWithFPN(trunk, {f"layer{k}": str(k - 1) for k in range(1, 5)}, [64, 128, 256, 512], o.width,
                               extra_blocks=LastLevelMaxPool())
    net = FasterRCNN(features, rpn_anchor_generator=AnchorGenerator(
        tuple((o.anchor << k,) for k in range(5)), ((.5, 1., 2.),) * 5), min_size=o.shorter, max_size=o.longer,
        image_mean=[0.] * 3, image_std=[1.] * 3, rpn_pre_nms_top_n_train=o.proposals, rpn_pre_nms_top_n_test=o.proposals,
        rpn_post_nms_top_n_train=o.proposals, rpn_post_nms_top_n_test=o.proposals,
        box_head=TwoMLPHead(o.width * 49, o.hidden), box_predictor=FastRCNNPredictor(o.hidden, len(classes) + 1))
    return net.to(memory_format=torch.channels_last)


def target(boxes, names):
    return {"boxes": boxes, "labels": torch.tensor([classes.index(c) + 1 for c in names])}


def flipped(x, boxes):
    if random.random() < .5:
        return x, boxes
    return x.flip(2), torch.stack([x.shape[2] - boxes[:, 2], boxes[:, 1], x.shape[2] - boxes[:, 0], boxes[:, 3]], 1)


def judge(net):
    truth, found = [], []
    net.eval()
    for i, (x, boxes, names, ratio) in enumerate(valid):
        for b, c in zip(boxes / ratio, names):
            w, h = (b[2] - b[0]).item(), (b[3] - b[1]).item()
            truth.append(dict(id=len(truth) + 1, image_id=i, category_id=classes.index(c) + 1, iscrowd=0, area=w * h,
                              bbox=[b[0].item(), b[1].item(), w, h]))
        with torch.no_grad():
            f = net([x])[0]
        for b, s, c in zip(f["boxes"] / ratio, f["scores"], f["labels"]):
            found.append(dict(image_id=i, category_id=c.item(), score=s.item(),
                              bbox=[b[0].item(), b[1].item(), (b[2] - b[0]).item(), (b[3] - b[1]).item()]))
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = dict(images=[dict(id=i) for i in range(len(valid))], annotations=truth,
                            categories=[dict(id=i + 1, name=c) for i, c in enumerate(classes)])
        coco.createIndex()
        if not found:
            return 0, 0
        e = COCOeval(coco, coco.loadRes(found), "bbox")
        e.evaluate(), e.accumulate(), e.summarize()
    return e.stats[0], e.stats[1]


net = net_of()
sgd = torch.optim.SGD(net.parameters(), o.lr, momentum=.9, weight_decay=1e-4)
per_epoch, step = len(train) // o.batch, 0
steps = per_epoch * o.epochs
for epoch in range(o.epochs):
    net.train()
    order, begin, total = random.sample(range(len(train)), len(train)), time.time(), 0
    for first in range(0, per_epoch * o.batch, o.batch):
        rate = o.lr * (1 + math.cos(math.pi * step / steps)) / 2 * min(1, step / o.warm_up)
        for group in sgd.param_groups:
            group["lr"] = rate
        batch = [train[i] for i in order[first:first + o.batch]]
        images, targets = [], []
        for x, boxes, names, _ in batch:
            x, boxes = flipped(x, boxes)
            images.append(x)
            targets.append(target(boxes, names))
        loss = sum(net(images, targets).values())
        sgd.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 10)
        sgd.step()
        total += loss.item()
        step += 1
    seconds = time.time() - begin
    ap, ap50 = judge(net)
    print(f"epoch {epoch + 1}: loss {total / per_epoch:.4f}, AP {ap:.4f}, AP50 {ap50:.4f}, {seconds:.1f} s", flush=True)
