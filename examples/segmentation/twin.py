#!/usr/bin/env python3
"""The same training in PyTorch, to be compared: net, data, losses, batches and steps of segmentation.c.

    twin.py DIR [--others 1,2,3] [--side 256] [--width 1] [--epochs 5] [--batch 3] [--lr 1e-3] [--decay 0.99] [--seed 1]

DIR has photos without colour, whose hue cannot change, as train/image/*.png, and train/label/*.png; --others are the
places, from 0 and in the order of the names, of those that are not learned from. segmentation.c draws them once;
`egret -e 'eg.seed(42) print(eg.permutation(30))'` has them for 30 images: the last six.
"""
import argparse
import glob
import time

import numpy
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

LEVELS = 5


class Convs(nn.Sequential):
    """Two 3 x 3 convolutions with a norm behind each."""

    def __init__(self, channels, features, momentum):
        rows = []
        for c in (channels, features):
            rows += [nn.Conv2d(c, features, 3, 1, 1), nn.BatchNorm2d(features, 1e-3, momentum), nn.ReLU()]
        super().__init__(*rows)


class UNet(nn.Module):
    def __init__(self, width, momentum):
        super().__init__()
        sizes = [int(32 * width + .5) << i for i in range(LEVELS)]
        self.down = nn.ModuleList(Convs(a, b, momentum) for a, b in zip([3] + sizes, sizes))
        self.centre = Convs(sizes[-1], 2 * sizes[-1], momentum)
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * c, c, 2, 2) for c in sizes)
        self.norm = nn.ModuleList(nn.Sequential(nn.BatchNorm2d(2 * c, 1e-3, momentum), nn.ReLU()) for c in sizes)
        self.convs = nn.ModuleList(Convs(2 * c, c, momentum) for c in sizes)
        self.head = nn.Conv2d(sizes[0], 1, 1)
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
                nn.init.xavier_uniform_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        level = []
        for down in self.down:
            level.append(down(x))
            x = F.max_pool2d(level[-1], 2)
        x = self.centre(x)
        for i in reversed(range(LEVELS)):
            x = self.convs[i](self.norm[i](torch.cat([level[i], self.up[i](x)], 1)))
        return self.head(x)


def read(pattern, side, mode):
    images = [numpy.array(Image.open(path).convert(mode), numpy.float32) for path in sorted(glob.glob(pattern))]
    x = torch.from_numpy(numpy.stack(images))
    x = x.permute(0, 3, 1, 2) if mode == "RGB" else x[:, None]
    return F.interpolate(x, size=(side, side), mode="bilinear", align_corners=False) / 255


def moved(x, right, down):
    """By whole pixels, zeros behind it."""
    out, (h, w) = torch.zeros_like(x), x.shape[-2:]
    out[..., max(0, down):h + min(0, down), max(0, right):w + min(0, right)] = \
        x[..., max(0, -down):h - max(0, down), max(0, -right):w - max(0, right)]
    return out


def changed(image, mask):
    c = (torch.rand(3) * 2 - 1).tolist()
    pair = [x.flip(-1) if c[0] < 0 else x for x in (image, mask)]
    side = image.shape[-1]
    return [moved(x, round(.1 * side * c[1]), round(.1 * side * c[2])) for x in pair]


def dice(p, t):
    return (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


def loss_of(logits, t):
    return F.binary_cross_entropy_with_logits(logits, t) + 1 - dice(logits.sigmoid(), t)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--others", default="0,1,2,3,4,5")
    for name, default in (("side", 256), ("epochs", 5), ("batch", 3), ("seed", 1)):
        p.add_argument("--" + name, type=int, default=default)
    for name, default in (("width", 1.), ("decay", .99), ("lr", 1e-3)):
        p.add_argument("--" + name, type=float, default=default)
    o = p.parse_args()
    torch.manual_seed(o.seed)
    images = read(o.folder + "/train/image/*.png", o.side, "RGB")
    masks = read(o.folder + "/train/label/*.png", o.side, "L")
    others = [int(i) for i in o.others.split(",")]
    mine = torch.tensor([i for i in range(len(images)) if i not in others])
    net = UNet(o.width, 1 - o.decay).to(memory_format=torch.channels_last)
    adam = torch.optim.Adam(net.parameters(), o.lr, eps=1e-7)
    best, began = 0, time.time()
    for epoch in range(1, o.epochs + 1):
        net.train()
        for at in mine[torch.randperm(len(mine))].split(o.batch):
            x, t = (torch.stack(part) for part in zip(*(changed(images[i], masks[i]) for i in at)))
            loss = loss_of(net(x.contiguous(memory_format=torch.channels_last)), t)
            adam.zero_grad(set_to_none=True)
            loss.backward()
            adam.step()
        net.eval()
        with torch.no_grad():
            found = torch.cat([net(images[at].contiguous(memory_format=torch.channels_last)).sigmoid()
                               for at in torch.tensor(others).split(o.batch)])
        score = dice(found, masks[others]).item()
        best = max(best, score)
        print(f"epoch {epoch}: loss {loss.item():.4f}, valid/dice {score:.4f}, best {best:.4f}, "
              f"{time.time() - began:.0f} s", flush=True)


main()
