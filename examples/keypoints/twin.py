#!/usr/bin/env python3
"""The training of keypoints.c in PyTorch: same net, first weights by the same rules, records, losses, steps.

    twin.py DIR [--epochs 8] [--threads N]

DIR is as keypoints --write makes it. Prints what the net is worth on the objects in dev.txt behind each epoch. Needs
PyTorch and Pillow."""
import argparse
import glob
import io
import os
import random
import sys
import time

import numpy
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from records import examples  # noqa: E402

p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
p.add_argument("data")
p.add_argument("--epochs", type=int, default=8)
p.add_argument("--batch", type=int, default=8)
p.add_argument("--filters", type=int, default=16)
p.add_argument("--keypoints", type=int, default=10)
p.add_argument("--distance", type=float, default=30)
p.add_argument("--lr", type=float, default=1e-3)
p.add_argument("--noise", type=float, default=.02)
p.add_argument("--told", type=int, default=400)
p.add_argument("--pose", type=float, default=2)
p.add_argument("--variance", type=float, default=.5)
p.add_argument("--threads", type=int, default=os.cpu_count())
p.add_argument("--seed", type=int, default=1)
o = p.parse_args()
torch.set_num_threads(o.threads)
torch.manual_seed(o.seed)
random.seed(o.seed)
FOCAL = float(open(o.data + "/projection.txt").read().split()[0])
WEIGHTS = {"consistency": 1, "pose": o.pose, "separation": 1, "silhouette": 1, "variance": o.variance, "orientation": 1}
APART = .05

# ---- records ---------------------------------------------------------------------------------------------


def pair(e):
    pictures = [numpy.array(Image.open(io.BytesIO(e[f"img{k}"][0]))).transpose(2, 0, 1) for k in range(2)]
    matrices = [numpy.stack([numpy.array(e[f"{name}{k}"], "f4").reshape(4, 4) for k in range(2)]) for name in ("mv", "mvi")]
    return tuple(map(torch.from_numpy, [numpy.stack(pictures), *matrices]))


dev = open(o.data + "/dev.txt").read().split()
learned, others = [], []
for path in sorted(glob.glob(o.data + "/*.tfrecord")):
    (others if os.path.basename(path)[:-9] in dev else learned).extend(map(pair, examples(path)))


def batch_of(pairs):
    """First views first."""
    pictures, into, back = (torch.stack(x).transpose(0, 1).flatten(0, 1) for x in zip(*pairs))
    pictures = pictures.float() / 255
    return (pictures[:, :3].contiguous(memory_format=torch.channels_last), (pictures[:, 3] > 0).float(), into, back)


# ---- the net ---------------------------------------------------------------------------------------------


class Norm(nn.BatchNorm2d):
    """With a bias and no weight."""

    def __init__(self, n):
        super().__init__(n, 1e-3, .01)
        self.weight.requires_grad_(False)


def trunk(i, n, *last):
    layers = []
    for k, d in enumerate((1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 1)):
        layers += [nn.Conv2d(n if k else i, n, 3, padding=d, dilation=d, bias=False), Norm(n), nn.LeakyReLU(.1)]
    return nn.Sequential(*layers, *last)


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.trunk = trunk(4, n)
        self.place, self.depth = (nn.Conv2d(n, o.keypoints, 3, padding=1) for _ in range(2))
        self.orientation = trunk(3, n // 2, nn.Conv2d(n // 2, 2, 3, padding=1))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.xavier_uniform_(m.weight)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, pictures, facing=None):
        h, w = pictures.shape[2:]
        v, u = torch.meshgrid(1 - (torch.arange(h) + .5) * 2 / h, (torch.arange(w) + .5) * 2 / w - 1, indexing="ij")
        grid = torch.stack([u, v, u * u + v * v], -1).reshape(-1, 3)
        axis = (F.softmax(self.orientation(pictures).flatten(2), 2) @ grid)[..., :2]
        if facing is None:
            facing = (axis[:, 0, 0] > axis[:, 1, 0]).float()
        x = self.trunk(torch.cat([pictures, facing[:, None, None, None].expand(-1, 1, h, w)], 1)
                       .contiguous(memory_format=torch.channels_last))
        maps = F.softmax(self.place(x).flatten(2), 2)
        moments = maps @ grid
        z = (maps * (self.depth(x) - o.distance).flatten(2)).sum(2, keepdim=True)
        uv = moments[..., :2]
        return torch.cat([uv, z], 2), maps, moments[..., 2] - uv.square().sum(2), axis


# ---- losses ----------------------------------------------------------------------------------------------


def swapped(x):
    return x.roll(len(x) // 2, 0)


def unproject(uvz):
    return torch.cat([-uvz[..., :2] * uvz[..., 2:] / FOCAL, uvz[..., 2:]], -1)


def project(xyz):
    return -FOCAL * xyz[..., :2] / xyz[..., 2:]


def moved(xyz, m):
    return xyz @ m[:, :3, :3].transpose(1, 2) + m[:, None, :3, 3]


def in_other(uvz, into, back):
    return project(moved(moved(unproject(uvz), back), swapped(into)))


def rotation_of(x, y):
    x, y = x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
    u, _, vh = torch.linalg.svd(y.transpose(1, 2) @ x)
    sign = torch.linalg.det(u @ vh)
    return torch.cat([u[..., :2], u[..., 2:] * sign[:, None, None]], 2) @ vh


def angle(r, s):
    sine = (r - s).square().sum((1, 2)).add(1e-12).sqrt() / 8 ** .5
    return 2 * torch.asin(sine.clamp(max=1 - 1e-6))


def turned(into, back):
    n = len(into) // 2
    return (into[n:] @ back[:n])[:, :3, :3]


def losses_of(found, inside, into, back):
    uvz, maps, variance, axis = found
    xyz, n, k = unproject(uvz), len(uvz) // 2, o.keypoints
    noisy = xyz + o.noise * torch.randn(xyz.shape)
    nearer = F.relu(APART - (xyz[:, :, None] - xyz[:, None]).square().sum(3)).triu(1)
    ends = torch.tensor([[[1., 0, 0], [-1., 0, 0]]]).expand(2 * n, -1, -1)
    return {"consistency": 2 * (in_other(uvz, into, back) - swapped(uvz)[..., :2]).square().sum(2).mean(),
            "pose": angle(rotation_of(noisy[:n], noisy[n:]), turned(into, back)).mean(),
            "separation": 2 * nearer.sum((1, 2)).mean() / k,
            "silhouette": -2 * ((maps @ inside.flatten(1)[..., None]) + 1e-12).log().mean(),
            "variance": 2 * variance.mean(),
            "orientation": 2 * (axis - project(moved(ends, into))).square().mean()}


# ---- training --------------------------------------------------------------------------------------------


@torch.no_grad()
def judge(net):
    net.eval()
    angles, pixels, on, facing = [], [], [], []
    for first in range(0, len(others), o.batch):
        pictures, inside, into, back = batch_of(others[first:first + o.batch])
        uvz, _, _, axis = net(pictures)
        xyz, n, (h, w) = unproject(uvz), len(into) // 2, pictures.shape[2:]
        angles.append(angle(rotation_of(xyz[:n], xyz[n:]), turned(into, back)).rad2deg())
        off = in_other(uvz, into, back) - swapped(uvz)[..., :2]
        pixels.append((off * torch.tensor([w / 2, h / 2])).norm(dim=2).flatten())
        x = ((uvz[..., 0] + 1) * w / 2).long().clamp(0, w - 1)
        y = ((1 - uvz[..., 1]) * h / 2).long().clamp(0, h - 1)
        on.append(inside.flatten(1).gather(1, y * w + x).flatten())
        facing.append((axis[:, 0, 0] > axis[:, 1, 0]) == (into[:, 0, 0] > 0))
    angles = torch.cat(angles)
    net.train()
    return (f"angle {angles.mean():.2f}, median {angles.quantile(.5):.2f}, pixels {torch.cat(pixels).mean():.3f}, "
            f"inside {torch.cat(on).mean():.4f}, facing {torch.cat(facing).float().mean():.4f}")


net = Net(o.filters).to(memory_format=torch.channels_last)
parameters = [q for q in net.parameters() if q.requires_grad]
adam, step = torch.optim.Adam(parameters, o.lr), 0
print(sum(q.numel() for q in parameters), "parameters,", len(learned), "pairs,", len(others), "others")
for epoch in range(o.epochs):
    order, begin, sums = random.sample(range(len(learned)), len(learned)), time.time(), dict.fromkeys(WEIGHTS, 0.)
    steps = len(learned) // o.batch
    for first in range(0, steps * o.batch, o.batch):
        step += 1
        pictures, inside, into, back = batch_of([learned[i] for i in order[first:first + o.batch]])
        losses = losses_of(net(pictures, (into[:, 0, 0] > 0).float() if step <= o.told else None), inside, into, back)
        adam.zero_grad()
        sum(WEIGHTS[name] * value for name, value in losses.items()).backward()
        nn.utils.clip_grad_norm_(parameters, 5)
        adam.step()
        for name, value in losses.items():
            sums[name] += value.item() / steps
    words = ", ".join(f"{name} {value:.4f}" for name, value in sums.items())
    print(f"epoch {epoch + 1}: {words}, {judge(net)}, {time.time() - begin:.1f} s", flush=True)
