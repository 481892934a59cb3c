#!/usr/bin/env python3
"""The same training in PyTorch, to be compared: features, net, first weights by the same rules, batches and steps of
deepspeech.c with --filters 16 --rnn-hidden-size 192 --rnn-hidden-layers 2, and its greedy decoding.

    twin.py DIR [--epochs 15] [--batch 16] [--lr 1e-3] [--decay 0.95] [--seed 1] [--threads 2]

DIR is what speak.py makes: DIR/train and DIR/test in the layout of LJ Speech. PyTorch's GRU has its reset gate behind the
product, and reads padding: rows here are turned by their lengths instead.
"""
import argparse
import array
import math
import os
import time
import wave

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

LETTERS = "abcdefghijklmnopqrstuvwxyz' "
WINDOW = .5 - .5 * torch.cos(2 * math.pi * torch.arange(320) / 320)


def features(path):
    with wave.open(path) as file:
        x = torch.tensor(array.array("h", file.readframes(file.getnframes())), dtype=torch.float32) / 32768
        rate = file.getframerate()
    if rate != 16000:
        n = math.ceil(len(x) * 16000 / rate)
        spectrum = torch.fft.rfft(x)[:n // 2 + 1]
        x = torch.fft.irfft(spectrum, n) * (n / len(x))
    spectra = torch.fft.rfft(x.unfold(0, 320, 160) * WINDOW).abs().square()
    x = (spectra + 1e-14).log()
    return (x - x.mean(0)) / (x.std(0, unbiased=False) + 1e-6)


def read(folder):
    rows = []
    for line in open(folder + "/metadata.csv"):
        name, _, text = line.rstrip("\n").split("|")
        path = f"{folder}/wavs/{name}.wav"
        rows.append((os.path.getsize(path), features(path), torch.tensor([LETTERS.index(c) for c in text]), text))
    return sorted(rows, key=lambda row: row[0])


def turned(x, lengths):
    at = torch.arange(x.shape[1]).expand(len(x), -1)
    at = torch.where(at < lengths[:, None], lengths[:, None] - 1 - at, at)
    return x.gather(1, at[..., None].expand_as(x))


class Net(nn.Module):
    def __init__(self, decay, filters=16, hidden=192, layers=2):
        super().__init__()
        def norm(kind, n): return kind(n, momentum=1 - decay)
        self.convs = nn.Sequential(
            nn.Conv2d(1, filters, (41, 11), (2, 2), (20, 5), bias=False), norm(nn.BatchNorm2d, filters), nn.ReLU6(),
            nn.Conv2d(filters, filters, (21, 11), (2, 1), (10, 5), bias=False), norm(nn.BatchNorm2d, filters), nn.ReLU6())
        self.there = nn.ModuleList(nn.GRU(2 * hidden if i else 81 * filters, hidden, batch_first=True) for i in range(layers))
        self.back = nn.ModuleList(nn.GRU(2 * hidden if i else 81 * filters, hidden, batch_first=True) for i in range(layers))
        self.norms = nn.ModuleList(norm(nn.BatchNorm1d, 2 * hidden) for _ in range(layers))
        self.out = nn.Linear(2 * hidden, 29)

    def forward(self, x, lengths):
        lengths = ((lengths + 1) // 2 + 1) // 2
        x = self.convs(x[:, None]).permute(0, 2, 3, 1).flatten(2, 3)
        mask = (torch.arange(x.shape[1])[None] < lengths[:, None])[..., None]
        for i, (there, back) in enumerate(zip(self.there, self.back)):
            x = self.norms[i - 1](x.flatten(0, 1)).view_as(x) if i else x
            x = torch.cat([there(x)[0], turned(back(turned(x, lengths))[0], lengths)], 2) * mask
        x = self.norms[-1](x.flatten(0, 1)).view_as(x)
        return F.log_softmax(self.out(x), 2).transpose(0, 1), lengths


def edits(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, row[0] = row[0], i + 1
        for j, y in enumerate(b):
            last, row[j + 1] = row[j + 1], min(last + (x != y), row[j] + 1, row[j + 1] + 1)
    return row[-1]


def greedy(p, n):
    best, text, last = p[:n].argmax(1).tolist(), "", 28
    for c in best:
        text += LETTERS[c] if c not in (28, last) else ""
        last = c
    return text


def batch_of(rows):
    return (pad_sequence([r[1] for r in rows], batch_first=True), torch.tensor([len(r[1]) for r in rows]),
            pad_sequence([r[2] for r in rows], batch_first=True), torch.tensor([len(r[2]) for r in rows]))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    for name, default in (("epochs", 15), ("batch", 16), ("seed", 1), ("threads", 2)):
        p.add_argument("--" + name, type=int, default=default)
    for name, default in (("lr", 1e-3), ("decay", .95)):
        p.add_argument("--" + name, type=float, default=default)
    o = p.parse_args()
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    learned, others = read(o.folder + "/train"), read(o.folder + "/test")
    net, began = Net(o.decay), time.time()
    adam = torch.optim.Adam(net.parameters(), lr=o.lr)
    for epoch in range(1, o.epochs + 1):
        starts = torch.arange(0, len(learned) - o.batch + 1, o.batch)
        for at in starts if epoch == 1 else starts[torch.randperm(len(starts))]:
            x, frames, y, counts = batch_of(learned[at:at + o.batch])
            log_probs, lengths = net(x, frames)
            loss = F.ctc_loss(log_probs, y, lengths, counts, 28, "none", True).mean()
            adam.zero_grad(set_to_none=True)
            loss.backward()
            adam.step()
        net.eval()
        words = letters = words_wrong = letters_wrong = 0
        with torch.no_grad():
            for i in range(0, len(others), o.batch):
                rows = others[i:i + o.batch]
                x, frames, _, _ = batch_of(rows)
                log_probs, lengths = net(x, frames)
                for k, row in enumerate(rows):
                    text = greedy(log_probs[:, k], lengths[k])
                    words_wrong += edits(text.split(), row[3].split())
                    letters_wrong += edits(text, row[3])
                    words += len(row[3].split())
                    letters += len(row[3])
        net.train()
        print(f"epoch {epoch}: loss {loss.item():.3f}, words {100 * words_wrong / words:.2f} % wrong, letters "
              f"{100 * letters_wrong / letters:.2f} %, {time.time() - began:.0f} s", flush=True)


main()
