#!/usr/bin/env python3
"""The same training in PyTorch, to be compared: text, net, first weights, windows, steps and rates of ptb.c.

    twin.py DIR [--model small|medium|large|test] [--epochs 13] [--windows 0] [--seed 1] [--threads 2] [--device cpu]
            [--from FILE]

DIR is what ptb takes for --data. --windows ends after so many and says the loss of each; --from goes on behind a
checkpoint of ptb with the weights and states in it, so that these losses can be set against those in log.jsonl.
"""
import argparse
import collections
import json
import math
import re
import struct
import time

import numpy
import torch
from torch import nn
from torch.nn import functional as F

# width, layers, window, dropout, scale, clip, epochs at the full rate, epochs, decay
SIZES = {
    "small": (200, 2, 20, 0., .1, 5., 4, 13, .5),
    "medium": (650, 2, 35, .5, .05, 5., 6, 39, .8),
    "large": (1500, 2, 35, .65, .04, 10., 14, 55, 1 / 1.15),
    "test": (2, 1, 2, 0., .1, 1., 1, 1, .5),
}
ROWS = 20


def read(folder):
    texts = []
    for name in ("train", "valid", "test"):
        with open(f"{folder}/ptb.{name}.txt", encoding="utf8") as file:
            texts.append(file.read().replace("\n", " <eos> ").split())
    counts = collections.Counter(texts[0])
    ids = {word: i for i, word in enumerate(sorted(counts, key=lambda word: (-counts[word], word)))}
    return [torch.tensor([ids[word] for word in text if word in ids]) for text in texts], len(ids)


def windows(ids, rows, steps, whole=True):
    """Words [T, rows] and those behind them; what is left at the end of a row only if that is wanted."""
    table = ids[:len(ids) // rows * rows].view(rows, -1).t()
    last = len(table) - 1
    for at in range(0, last - steps + 1 if whole else last, steps):
        n = min(steps, last - at)
        yield table[at:at + n], table[at + 1:at + n + 1]


class Net(nn.Module):
    """nn.LSTM has two biases per layer: the second stays 0."""

    def __init__(self, words, width, layers, dropout, scale):
        super().__init__()
        self.embedding, self.logits = nn.Embedding(words, width), nn.Linear(width, words)
        self.lstm, self.drop = nn.LSTM(width, width, layers, dropout=dropout), nn.Dropout(dropout)
        for name, p in self.named_parameters():
            nn.init.zeros_(p) if "bias_" in name else nn.init.uniform_(p, -scale, scale)
            p.requires_grad_("bias_hh" not in name)

    def forward(self, x, states):
        y, states = self.lstm(self.drop(self.embedding(x)), states)
        return self.logits(self.drop(y)), [s.detach() for s in states]


def restore(path, net):
    """The states, and the step, of a checkpoint of ptb."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()

    def tensor(name):
        begin, end = header[name]["data_offsets"]
        return torch.tensor(numpy.frombuffer(data[begin:end], "<f4")).view(header[name]["shape"])

    own = dict(net.named_parameters())
    for name in header:
        if name.startswith("net/"):
            to = re.sub(r"layers\.(\d+)\.rnn\.(\w+)_l0", r"lstm.\2_l\1", name[4:])
            own[to].data.copy_(tensor(name))
    return [tensor("h"), tensor("c")], int(header["__metadata__"]["step"])


def perplexity(net, ids, rows, steps, whole):
    states, total, words = None, 0., 0
    net.eval()
    with torch.no_grad():
        for x, y in windows(ids, rows, steps, whole):
            logits, states = net(x, states)
            total += F.cross_entropy(logits.flatten(0, 1), y.flatten()).item() * y.numel()
            words += y.numel()
    net.train()
    return math.exp(total / words)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--model", choices=SIZES, default="small")
    for name, default in (("epochs", 0), ("windows", 0), ("seed", 1), ("threads", 2)):
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--device", default="cpu")
    p.add_argument("--from", dest="checkpoint")
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    torch.set_default_device(o.device)
    torch.manual_seed(o.seed)
    width, layers, steps, dropout, scale, clip, full, epochs, decay = SIZES[o.model]
    (train, valid, test), words = read(o.folder)
    net = Net(words, width, layers, dropout, scale)
    learns = [p for p in net.parameters() if p.requires_grad]
    sgd = torch.optim.SGD(learns, lr=1.)
    all_windows = list(windows(train, ROWS, steps))
    print(f"{o.model}: {sum(p.numel() for p in learns)} parameters, {len(all_windows)} windows")
    states, step = restore(o.checkpoint, net) if o.checkpoint else (None, 0)
    for epoch in range(step // len(all_windows) + 1, (o.epochs or epochs) + 1):
        total, seen, began = 0., 0, time.time()
        first = step % len(all_windows)
        for group in sgd.param_groups:
            group["lr"] = decay ** max(epoch - full, 0)
        for x, y in all_windows[first:first + o.windows if o.windows else None]:
            logits, states = net(x, states)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            sgd.zero_grad(set_to_none=True)
            (loss * len(x)).backward()
            nn.utils.clip_grad_norm_(learns, clip)
            sgd.step()
            step, seen, total = step + 1, seen + 1, total + loss.item()
            if o.windows:
                print(f"step {step}: loss {loss.item():.6f}", flush=True)
            if seen * 10 // len(all_windows) != (seen - 1) * 10 // len(all_windows):
                print(f"{seen / len(all_windows):.3f} perplexity: {math.exp(total / seen):.3f} "
                      f"speed: {seen * ROWS * steps / (time.time() - began):.0f} words/s", flush=True)
        if o.windows:
            break
        print(f"epoch {epoch}: rate {sgd.param_groups[0]['lr']:.4f}, perplexity {math.exp(total / seen):.3f}, "
              f"of text not learned from {perplexity(net, valid, ROWS, steps, True):.3f}", flush=True)
        states = None
    if not o.windows:
        print(f"test perplexity: {perplexity(net, test, 1, 200, False):.3f}")


main()
