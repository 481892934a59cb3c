#!/usr/bin/env python3
"""The same training in PyTorch, to be compared: drawings, net, first weights, batches and steps of quickdraw.c with
--cell_type lstm.

    twin.py DIR [--train 20] [--eval 5] [--steps 100000] [--batch 8] [--lr 1e-4] [--seed 1] [--threads 2]

DIR is what create_dataset takes for --ndjson-path, --train and --eval its observations per class.
"""
import argparse
import glob
import json
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence


def ink_of(drawing):
    rows = [(x, y, float(i + 1 == len(xs))) for xs, ys in drawing for i, (x, y) in enumerate(zip(xs, ys))]
    ink = torch.tensor(rows, dtype=torch.float32)
    low, high = ink[:, :2].min(0).values, ink[:, :2].max(0).values
    scale = torch.where(high > low, high - low, torch.ones(2))
    ink[:, :2] = (ink[:, :2] - low) / scale
    ink[1:, :2] -= ink[:-1, :2].clone()
    return ink[1:]


def turned(x, lengths):
    """Each row's first steps from behind. Packed sequences would do the same, several times slower."""
    at = torch.arange(x.shape[1]).expand(len(x), -1)
    at = torch.where(at < lengths[:, None], lengths[:, None] - 1 - at, at)
    return x.gather(1, at[..., None].expand_as(x))


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.convs = nn.Sequential(nn.Conv1d(3, 48, 5, padding=2), nn.Dropout(.3), nn.Conv1d(48, 64, 5, padding=2),
                                   nn.Dropout(.3), nn.Conv1d(64, 96, 3, padding=1))
        self.there = nn.ModuleList(nn.LSTM(96 if i == 0 else 256, 128, batch_first=True) for i in range(3))
        self.back = nn.ModuleList(nn.LSTM(96 if i == 0 else 256, 128, batch_first=True) for i in range(3))
        self.out = nn.Linear(256, classes)
        for name, p in self.named_parameters():
            nn.init.xavier_uniform_(p) if p.ndim > 1 else nn.init.zeros_(p)
            if "bias_ih" in name:
                nn.init.ones_(p[128:256])
            if "bias_hh" in name:  # TensorFlow's cells have one bias
                p.requires_grad_(False)

    def forward(self, ink, lengths):
        x = self.convs(ink.transpose(1, 2)).transpose(1, 2)
        for there, back in zip(self.there, self.back):
            x = torch.cat([there(x)[0], turned(back(turned(x, lengths))[0], lengths)], 2)
        mask = torch.arange(x.shape[1])[None] < lengths[:, None]
        return self.out((x * mask[..., None]).sum(1))


def batch_of(rows):
    ink = [row[0] for row in rows]
    return pad_sequence(ink, batch_first=True), torch.tensor([len(i) for i in ink]), torch.tensor([row[1] for row in rows])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    for name, default in (("train", 20), ("eval", 5), ("steps", 100000), ("batch", 8), ("seed", 1), ("threads", 2)):
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--lr", type=float, default=1e-4)
    o = p.parse_args()
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    learned, others = [], []
    for label, path in enumerate(sorted(glob.glob(o.folder + "/*.ndjson"))):
        rows = [(ink_of(json.loads(line)["drawing"]), label) for line in open(path)]
        learned += rows[:o.train]
        others += rows[o.train:o.train + o.eval]
    net = Net(label + 1)
    print(f"{label + 1} classes, {sum(p.numel() for p in net.parameters() if p.requires_grad)} parameters", flush=True)
    adam = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=o.lr)
    order, began, best = [], time.time(), 0
    for step in range(1, o.steps + 1):
        if len(order) < o.batch:
            order = torch.randperm(len(learned)).tolist()
        at, order = order[:o.batch], order[o.batch:]
        ink, lengths, labels = batch_of([learned[i] for i in at])
        loss = F.cross_entropy(net(ink, lengths), labels)
        adam.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 9)
        adam.step()
        if step % 1000 == 0 or step == o.steps:
            net.eval()
            with torch.no_grad():
                right = n = 0
                for i in range(0, len(others), 64):
                    ink, lengths, labels = batch_of(others[i:i + 64])
                    right += (net(ink, lengths).argmax(1) == labels).sum().item()
                    n += len(labels)
            net.train()
            best = max(best, right / n)
            print(f"step {step}: loss {loss.item():.4f}, valid/accuracy {right / n:.4f}, best {best:.4f}, "
                  f"{step / (time.time() - began):.1f} steps/s", flush=True)


main()
