#!/usr/bin/env python3
"""The same training in PyTorch, to be compared: split, noises, features, net, rates, batches and steps of speech.c.

    twin.py DIR [--net conv] [--steps 800,150] [--rates 0.01,0.001] [--batch 100] [--seed 1] [--threads 2]

DIR is what speech takes for --data. The net is conv or tiny_conv.
"""
import argparse
import array
import glob
import hashlib
import math
import os
import re
import time
import wave

import torch
from torch import nn
from torch.nn import functional as F

LABELS = "_silence_ _unknown_ yes no up down left right on off stop go".split()
RATE, FRAME, HOP, FFT, BANDS = 16000, 480, 160, 512, 40


def part_of(name):
    digest = hashlib.sha1(re.sub(r"_nohash_.*$", "", name).encode()).hexdigest()
    percent = int(digest, 16) % (1 << 27) * (100 / ((1 << 27) - 1))
    return "valid" if percent < 10 else "test" if percent < 20 else "learned"


def read(path):
    with wave.open(path) as file:
        x = torch.tensor(array.array("h", file.readframes(file.getnframes())), dtype=torch.float32) / 32768
        rate = file.getframerate()
    if rate != RATE:
        n = math.ceil(len(x) * RATE / rate)
        x = torch.fft.irfft(torch.fft.rfft(x)[:n // 2 + 1], n) * (n / len(x))
    return x


def fitted(x):
    return F.pad(x, (0, max(RATE - len(x), 0)))[:RATE]


def tables():
    """Mel bands and cosines as TensorFlow's kernels have them."""
    mel = lambda f: 1127 * math.log1p(f / 700)  # noqa: E731
    step = (mel(4000) - mel(20)) / (BANDS + 1)
    centres = [mel(20) + step * (i + 1) for i in range(BANDS + 1)]
    filters = torch.zeros(FFT // 2 + 1, BANDS)
    for i in range(2, 129):
        m = mel(i * RATE / FFT)
        k = next((j for j, c in enumerate(centres) if c > m), BANDS)
        low = centres[k - 1] if k else mel(20)
        w = (centres[k] - m) / (centres[k] - low) if k <= BANDS else 0
        if k > 0:
            filters[i, k - 1] += w
        if k < BANDS:
            filters[i, k] += 1 - w
    n = torch.arange(BANDS)
    return filters, math.sqrt(2 / BANDS) * torch.cos(math.pi / BANDS * (n[:, None] + .5) * n[None])


FILTERS, COSINES = tables()
WINDOW = .5 - .5 * torch.cos(2 * math.pi * torch.arange(FRAME) / FRAME)


def features(x):
    frames = x.unfold(-1, FRAME, HOP) * WINDOW
    return (((torch.fft.rfft(frames, FFT).abs() @ FILTERS).clamp(min=1e-12)).log() @ COSINES).unsqueeze(1)


class Same(nn.Module):
    def __init__(self, inner, kernel, stride=1):
        super().__init__()
        self.inner, self.kernel, self.stride = inner, kernel, stride

    def forward(self, x):
        pads = []
        for size, kernel in zip(x.shape[:1:-1], self.kernel[::-1]):
            more = max((-(-size // self.stride) - 1) * self.stride + kernel - size, 0)
            pads += [more // 2, more - more // 2]
        return self.inner(F.pad(x, pads))


def make(name):
    if name == "conv":
        layers = [Same(nn.Conv2d(1, 64, (20, 8)), (20, 8)), nn.ReLU(), nn.Dropout(), nn.MaxPool2d(2, ceil_mode=True),
                  Same(nn.Conv2d(64, 64, (10, 4)), (10, 4)), nn.ReLU(), nn.Dropout(), nn.Flatten(),
                  nn.Linear(64 * 49 * 20, 12)]
    else:
        layers = [Same(nn.Conv2d(1, 8, (10, 8), 2), (10, 8), 2), nn.ReLU(), nn.Dropout(), nn.Flatten(),
                  nn.Linear(8 * 49 * 20, 12)]
    net = nn.Sequential(*layers)
    for p in net.parameters():
        nn.init.zeros_(p) if p.ndim == 1 else nn.init.trunc_normal_(p, std=.01, a=-.02, b=.02)
    return net


def gather(folder, part):
    wanted, others = [], []
    for path in sorted(glob.glob(folder + "/*/*.wav")):
        word, name = path.split("/")[-2:]
        if word[0] != "_" and part_of(name) == part:
            (wanted if word in LABELS else others).append((path, LABELS.index(word) if word in LABELS else 1))
    order = torch.randperm(len(others))[:math.ceil(len(wanted) / 10)].tolist()
    silence = [(None, 0)] * math.ceil(len(wanted) / 10)
    rows = wanted + [others[i] for i in order] + silence
    return torch.stack([fitted(read(p)) if p else torch.zeros(RATE) for p, _ in rows]), torch.tensor([k for _, k in rows])


def some_noise(noises):
    x = noises[torch.randint(len(noises), ()).item()]
    at = torch.randint(len(x) - RATE + 1, ()).item()
    return x[at:at + RATE]


def changed(x, label, noises, learned):
    """Moved by up to a tenth of a second, and with a noise, most of the time; silence has one always."""
    if learned:
        by = torch.randint(-1600, 1601, ()).item()
        x = F.pad(x, (by, -by))
    if label == 0 or learned and torch.rand(()) < .8:
        x = x + some_noise(noises) * torch.rand(()) * (1 if label == 0 else .1)
    return x.clamp(-1, 1)


def judge(net, clips, noises):
    net.eval()
    x, y = clips
    with torch.no_grad():
        inputs = torch.stack([changed(a, b, noises, False) for a, b in zip(x, y.tolist())])
        guess = torch.cat([net(features(part)).argmax(1) for part in inputs.split(100)])
    net.train()
    return (guess == y).float().mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    for name, default in (("net", "conv"), ("steps", "800,150"), ("rates", "0.01,0.001")):
        p.add_argument("--" + name, default=default)
    for name, default in (("batch", 100), ("seed", 1), ("threads", 2)):
        p.add_argument("--" + name, type=int, default=default)
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    noises = [read(path) for path in sorted(glob.glob(o.folder + "/_background_noise_/*.wav"))]
    parts = {part: gather(o.folder, part) for part in ("learned", "valid", "test")}
    print({part: len(rows[1]) for part, rows in parts.items()}, flush=True)
    net = make(o.net).to(memory_format=torch.channels_last)
    sgd = torch.optim.SGD(net.parameters(), lr=1)
    (clips, labels), order, step, began = parts["learned"], [], 0, time.time()
    for steps, rate in zip(map(int, o.steps.split(",")), map(float, o.rates.split(","))):
        sgd.param_groups[0]["lr"] = rate
        for _ in range(steps):
            if len(order) < o.batch:
                order = torch.randperm(len(labels)).tolist()
            at, order = order[:o.batch], order[o.batch:]
            x = features(torch.stack([changed(clips[i], labels[i].item(), noises, True) for i in at]))
            loss = F.cross_entropy(net(x.contiguous(memory_format=torch.channels_last)), labels[at])
            sgd.zero_grad(set_to_none=True)
            loss.backward()
            sgd.step()
            step += 1
            if step % 100 == 0:
                print(f"step {step}: loss {loss.item():.4f}, valid {judge(net, parts['valid'], noises):.4f}, "
                      f"{step / (time.time() - began):.2f} steps/s", flush=True)
    print(f"test {judge(net, parts['test'], noises):.4f}")


main()
