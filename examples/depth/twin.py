#!/usr/bin/env python3
"""The training of depth.c in PyTorch: same nets, first weights by the same rules, frames, changes by chance, steps.

    twin.py DIR [--epochs 20] [--threads N]

DIR is what `depth --write DIR` wrote. Prints behind each epoch how far off depths are and the absolute trajectory error
of three frames, of the videos that are not learned from. Needs PyTorch, NumPy and Pillow."""
import argparse
import glob
import os
import time

import numpy
import torch
import torch.nn.functional as F
from PIL import Image

import vid2depth

p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
p.add_argument("data")
p.add_argument("--epochs", type=int, default=20)
p.add_argument("--batch", type=int, default=4)
p.add_argument("--width", type=int, default=4)
p.add_argument("--lr", type=float, default=1e-3)
p.add_argument("--smooth", type=float, default=.005)
p.add_argument("--icp", type=float, default=.1)
p.add_argument("--threads", type=int, default=os.cpu_count())
p.add_argument("--seed", type=int, default=1)
o = p.parse_args()
torch.set_num_threads(o.threads)
torch.manual_seed(o.seed)


class Video:
    def __init__(self, folder):
        numbers = numpy.array(open(folder + "/calib.txt").read().split()[1:], float)
        self.lens = torch.tensor([numbers[0], numbers[5], numbers[2], numbers[6]])
        frames = [numpy.array(Image.open(f)) for f in sorted(glob.glob(folder + "/image_2/*.png"))]
        self.frames = torch.from_numpy(numpy.stack(frames)).permute(0, 3, 1, 2).float() / 255
        self.depths = torch.from_numpy(numpy.stack([numpy.load(f) for f in sorted(glob.glob(folder + "/depth/*.npy"))]))
        poses = f"{folder}/../../poses/{os.path.basename(folder)}.txt"
        self.poses = torch.from_numpy(numpy.loadtxt(poses)).reshape(-1, 3, 4)


videos = [Video(folder) for folder in sorted(glob.glob(o.data + "/sequences/*"))]
held = (len(videos) + 6) // 7
learned = [(v, t) for v in videos[:-held] for t in range(len(v.frames) - 2)]
judged = [(v, t) for v in videos[-held:] for t in range(len(v.frames) - 2)]


def between(low, high, *shape):
    return low + (high - low) * torch.rand(*shape)


def changed(video, t):
    """Of another light, and a part of the frames as large as they were."""
    x = video.frames[t:t + 3].reshape(9, *video.frames.shape[2:])
    x = (x ** between(.8, 1.2, 1) * (between(.8, 1.2, 3) * between(.5, 2, 1)).repeat(3)[:, None, None]).clamp(0, 1)
    h, w = x.shape[1:]
    high, across = (int(n * between(1, 1.15, 1)) for n in (h, w))
    top, left = (int(torch.rand(1) * (large - n + 1)) for large, n in ((high, h), (across, w)))
    fx, fy, cx, cy = video.lens
    lens = torch.stack([fx * across / w, fy * high / h, (cx + .5) * across / w - .5 - left, (cy + .5) * high / h - .5 - top])
    x = F.interpolate(x[None], (high, across), mode="bilinear")[0]
    return x[:, top:top + h, left:left + w], lens.float()


def ways(places):
    """Points on the way that matrices [2, 3, 4] lead along, from 0 on."""
    points, turn, at = [torch.zeros(3)], torch.eye(3), torch.zeros(3)
    for m in places:
        at = at + turn @ m[:, 3]
        turn = turn @ m[:, :3]
        points.append(at)
    return torch.stack(points)


def true_ways(poses):
    turn, at = poses[:, :, :3], poses[:, :, 3]
    return [torch.cat([turn[i].T @ turn[i + 1], (turn[i].T @ (at[i + 1] - at[i]))[:, None]], 1).float() for i in (0, 1)]


def snippet(found, truth):
    scale = (found * truth).sum() / (found ** 2).sum()
    return ((found * scale - truth) ** 2).sum() ** .5 / len(found)


@torch.no_grad()
def judge():
    nets.eval()
    errors, off, losses = [], [], []
    for v, t in judged:
        x = v.frames[t:t + 3]
        losses.append(vid2depth.losses(nets, x.reshape(1, 9, *x.shape[2:]), v.lens[None].float(), o.smooth, o.icp)[0])
        found, truth = 1 / nets.depth(x[1:2])[0][0, 0], v.depths[t + 1]
        found = (found * (numpy.median(truth) / numpy.median(found))).clamp(1e-3, 80)
        errors.append(((found - truth).abs() / truth).mean())
        m = nets.motions(x.reshape(1, 9, *x.shape[2:]))[0]
        places = torch.cat([vid2depth.rotations(m), m[:, :3, None]], 2)
        off.append(snippet(ways(places), ways(true_ways(v.poses[t:t + 3]))))
    nets.train()
    return [torch.stack(n).mean() for n in (losses, errors, off)]


nets = vid2depth.Nets(o.width)
adam = torch.optim.Adam(nets.learned(), o.lr)
per_epoch = len(learned) // o.batch
for epoch in range(o.epochs):
    order, begin, total = torch.randperm(len(learned)).tolist(), time.time(), 0
    for first in range(0, per_epoch * o.batch, o.batch):
        batch = [changed(*learned[i]) for i in order[first:first + o.batch]]
        loss, _ = vid2depth.losses(nets, *(torch.stack(x) for x in zip(*batch)), o.smooth, o.icp)
        adam.zero_grad()
        loss.backward()
        adam.step()
        total += loss.item()
    seconds = time.time() - begin
    loss, error, off = judge()
    print(f"epoch {epoch + 1}: loss {total / per_epoch:.4f}, of others {loss:.4f}, depths off by {error:.4f}, ways by "
          f"{off:.5f}, {seconds:.1f} s", flush=True)
