#!/usr/bin/env python3
"""The same training in PyTorch, to be compared: subtokens, net, batches, rates, loss and search of transformer.c.

    twin.py DIR --subtokens FILE [--epochs 12] [--seed 1] [--threads 2] [--device cpu] [--model small] ...

DIR is what transformer takes for --data, FILE the subtokens.txt in its folder. Weights begin anew, drawn the same way.
Says the loss of pairs not learned from behind each epoch, and at the end writes translations of the test into --out, for
`transformer --bleu-source OUT --bleu-ref DIR/test...`."""
import argparse
import glob
import gzip
import math
import random
import time
import unicodedata

import torch
from torch import nn
from torch.nn import functional as F

# width, heads, hidden, layers, tokens, warm-up, rate
SIZES = {"tiny": (32, 4, 256, 6, 1024, 16000, 2.), "small": (256, 4, 1024, 3, 2048, 1000, 1.),
         "base": (512, 8, 2048, 6, 2048, 16000, 2.)}
PAD, END = 0, 1


# ---- texts -----------------------------------------------------------------------------------------------


def lines(folder, name, language):
    path = sorted(glob.glob(f"{folder}/{name}*.{language}*"))[0]
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().rstrip("\n").split("\n")


def alike(c):
    return unicodedata.category(c)[0] in "LN"


class Subtokens:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.list = [line.rstrip("\n")[1:-1] for line in file]
        self.numbers = {part: i for i, part in enumerate(self.list)}
        self.longest = max(map(len, self.list))

    def escape(self, token):
        token = token.replace("\\", "\\\\").replace("_", "\\u")
        return "".join(c if c in self.numbers and c != "\n" else f"\\{ord(c)};" for c in token) + "_"

    def encode(self, text):
        ids, begin = [], 0
        for i in range(1, len(text) + 1):
            if i == len(text) or alike(text[i]) != alike(text[i - 1]):
                if text[begin:i] != " " or begin == 0 or i == len(text):
                    token, at = self.escape(text[begin:i]), 0
                    while at < len(token):
                        end = next(e for e in range(min(len(token), at + self.longest), at, -1)
                                   if token[at:e] in self.numbers)
                        ids.append(self.numbers[token[at:end]])
                        at = end
                begin = i
        return ids + [END]

    def decode(self, ids):
        words = "".join(self.list[i] for i in ids if i > END).split("_")
        words = [w.replace("\\u", "_").replace("\\\\", "\\") for w in (words if words[-1] else words[:-1])]
        text = ""
        for before, word in zip([""] + words, words):
            text += " " * bool(before and word and alike(before[0]) and alike(word[0])) + word
        return text


def batches(pairs, tokens, longest, order, rest):
    """Buckets of the longer side, each filled and given in turn, the rest at the end or not at all."""
    below, x = [], 8
    while x < longest or not below:
        below.append(x)
        x = x + 1 if x < 20 else x * 11 // 10
    most = [max(1, tokens // b) for b in below + [longest + 1]]
    held = [[] for _ in most]
    for i in order:
        pair = pairs[i]
        k = sum(max(map(len, pair)) >= b for b in below)
        held[k].append(pair)
        if len(held[k]) == most[k]:
            yield held[k]
            held[k] = []
    yield from (batch for batch in held if batch and rest)


def padded(rows):
    rows = [torch.tensor(row, device="cpu") for row in rows]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True).to(torch.get_default_device())


# ---- the net ------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x, memory, mask):
        q, k, v = (f(y).unflatten(2, (self.heads, -1)).transpose(1, 2)
                   for f, y in ((self.q, x), (self.k, memory), (self.v, memory)))
        y = F.scaled_dot_product_attention(q, k, v, mask, self.dropout if self.training else 0.)
        return self.out(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, width, heads, hidden, dropout, decodes):
        super().__init__()
        self.attention = nn.ModuleList(Attention(width, heads, dropout) for _ in range(1 + decodes))
        self.norms = nn.ModuleList(nn.LayerNorm(width, 1e-6) for _ in range(2 + decodes))
        self.first, self.second = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.drop, self.hidden_drop = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x, mask, memory=None, memory_mask=None):
        y = self.norms[0](x)
        x = x + self.drop(self.attention[0](y, y, mask))
        if memory is not None:
            x = x + self.drop(self.attention[1](self.norms[1](x), memory, memory_mask))
        y = self.hidden_drop(F.relu(self.first(self.norms[-1](x))))
        return x + self.drop(self.second(y))


class Translator(nn.Module):
    def __init__(self, words, width, heads, hidden, layers, dropout):
        super().__init__()
        self.width, self.table = width, nn.Embedding(words, width)
        self.encoder = nn.ModuleList(Layer(width, heads, hidden, dropout, False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(width, heads, hidden, dropout, True) for _ in range(layers))
        self.norms, self.drop = nn.ModuleList(nn.LayerNorm(width, 1e-6) for _ in range(2)), nn.Dropout(dropout)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.xavier_uniform_(p)
        for m in self.modules():
            if isinstance(m, nn.Linear) and m.bias is not None:
                nn.init.zeros_(m.bias)
        nn.init.normal_(self.table.weight, 0, width ** -.5)

    def embed(self, ids, shifted=False):
        x = self.table(ids) * (ids != PAD).unsqueeze(2) * self.width ** .5
        if shifted:
            x = F.pad(x, (0, 0, 1, 0))[:, :-1]
        half = self.width // 2
        rates = torch.exp(torch.arange(half) * (-math.log(1e4) / (half - 1)))
        at = torch.arange(ids.shape[1]).unsqueeze(1) * rates
        return self.drop(x + torch.cat([at.sin(), at.cos()], 1))

    def encode(self, source):
        x, mask = self.embed(source), (source != PAD)[:, None, None]
        for layer in self.encoder:
            x = layer(x, mask)
        return self.norms[0](x), mask

    def decode(self, target, memory, mask):
        x = self.embed(target, True)
        causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
        for layer in self.decoder:
            x = layer(x, causal, memory, mask)
        return F.linear(self.norms[1](x), self.table.weight)

    def forward(self, source, target):
        return self.decode(target, *self.encode(source))


# ---- search -----------------------------------------------------------------------------------------------------


def search(net, source, beams, power, extra):
    """The best target of each source, by beams with two lists; all of a prefix is read anew at each step."""
    n, longest = len(source), source.shape[1] + extra
    memory, mask = net.encode(source)
    memory, mask = (t.repeat_interleave(beams, 0) for t in (memory, mask))
    ids, scores = torch.zeros(n * beams, 0, dtype=torch.long), torch.full((n, beams), -math.inf)
    scores[:, 0] = 0
    best, over = [(-math.inf, []) for _ in range(n)], [[] for _ in range(n)]
    for step in range(longest):
        asked = torch.cat([ids, torch.full((n * beams, 1), END)], 1)
        logits = F.log_softmax(net.decode(asked, memory, mask)[:, -1], 1)
        words = logits.shape[1]
        sums, at = (scores.unsqueeze(2) + logits.view(n, beams, -1)).flatten(1).topk(2 * beams)
        worth = ((5 + step + 1) / 6) ** power
        next_ids, next_scores = [], torch.full((n, beams), -math.inf)
        for i in range(n):
            alive = []
            for score, k in zip(sums[i].tolist(), at[i].tolist()):
                row = ids[i * beams + k // words].tolist() + [k % words]
                if k % words == END:
                    over[i].append((score / worth, row))
                elif len(alive) < beams:
                    alive.append((score, row))
            over[i] = sorted(over[i], key=lambda x: -x[0])[:beams]
            for j, (score, row) in enumerate(alive):
                next_scores[i, j] = score
            next_ids += [row for _, row in alive]
        ids, scores = torch.tensor(next_ids), next_scores
        most = ((5 + longest) / 6) ** power
        if all(len(o) == beams and o[-1][0] >= scores[i, 0].item() / most for i, o in enumerate(over)):
            break
    for i in range(n):
        best[i] = over[i][0] if over[i] else (0, ids[i * beams].tolist())
    return [row for _, row in best]


# ---- training -----------------------------------------------------------------------------------------------------


def loss_of(logits, target, smoothing):
    words, here = logits.shape[2], target.flatten() != PAD
    loss = F.cross_entropy(logits.flatten(0, 1)[here], target.flatten()[here],
                           label_smoothing=smoothing * words / (words - 1))
    s = smoothing
    return loss + ((1 - s) * math.log(1 - s) + s * math.log(s / (words - 1)) if s else 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--subtokens", required=True)
    parser.add_argument("--model", default="small", choices=SIZES)
    parser.add_argument("--from", dest="source", default="en")
    parser.add_argument("--to", default="de")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", default="twin.txt")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    torch.set_default_device(options.device)
    words, shuffle = Subtokens(options.subtokens), random.Random(options.seed)
    train, valid = ([(words.encode(a), words.encode(b)) for a, b in
                     zip(lines(options.folder, name, options.source), lines(options.folder, name, options.to))]
                    for name in ("train", "val"))
    width, heads, hidden, layers, tokens, warm_up, rate = SIZES[options.model]
    net = Translator(len(words.list), width, heads, hidden, layers, .1)
    print(f"{sum(p.numel() for p in net.parameters())} parameters, {len(words.list)} subtokens", flush=True)
    adam = torch.optim.Adam(net.parameters(), 1, betas=(.9, .997), eps=1e-9)
    step, start = 0, time.time()
    for epoch in range(options.epochs):
        order, total, count = list(range(len(train))), 0., 0
        shuffle.shuffle(order)
        net.train()
        for batch in batches(train, tokens, 256, order, False):
            step += 1
            adam.param_groups[0]["lr"] = rate * width ** -.5 * min(step ** -.5, step * warm_up ** -1.5)
            source, target = (padded(side) for side in zip(*batch))
            loss = loss_of(net(source, target), target, .1)
            adam.zero_grad(set_to_none=True)
            loss.backward()
            adam.step()
            total, count = total + loss.item(), count + 1
        net.eval()
        other, seen = 0., 0
        with torch.no_grad():
            for batch in batches(valid, tokens, 256, range(len(valid)), True):
                source, target = (padded(side) for side in zip(*batch))
                n = (target != PAD).sum().item()
                other, seen = other + loss_of(net(source, target), target, 0).item() * n, seen + n
        print(f"epoch {epoch + 1}: {step} steps, loss {total / count:.4f}, of pairs not learned from {other / seen:.4f}, "
              f"{time.time() - start:.0f} s", flush=True)
    texts = lines(options.folder, "test", options.source)
    order = sorted(range(len(texts)), key=lambda i: len(words.encode(texts[i])))
    made = [""] * len(texts)
    with torch.no_grad():
        for at in range(0, len(order), 32):
            some = order[at:at + 32]
            for i, ids in zip(some, search(net, padded([words.encode(texts[i]) for i in some]), 4, .6, 50)):
                made[i] = words.decode(ids)
    with open(options.out, "w", encoding="utf-8") as out:
        out.writelines(text + "\n" for text in made)


if __name__ == "__main__":
    main()
