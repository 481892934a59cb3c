#!/usr/bin/env python3
"""The same training in PyTorch, to be compared: features, words, net, loss, Adam and batches of caption.c.

    twin.py DIR --features FOLDER --words FILE [--epochs 20] [--batch 64] [--rate 1e-3] [--seed 1] [--threads 2] [--remember]

DIR has captions.txt of Flickr8k; FOLDER the files that caption keeps of its photos, FILE its words.txt. The last tenth of
the photos is not learned from, as there. Weights begin anew, drawn the same way. Says the loss of a word behind each
epoch, of captions learned from and of others, and at the end BLEU of captions that are written word by word."""
import argparse
import collections
import csv
import math
import time

import numpy
import torch
from torch import nn
from torch.nn import functional as F

PAD, UNKNOWN, START, END = range(4)
BLANK = str.maketrans({c: " " for c in '!"#$%&()*+.,-/:;=?@[\\]^_`{|}~\t\n\r'})


def read(folder):
    photos = {}
    with open(f"{folder}/captions.txt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            photos.setdefault(row["image"], []).append(row["caption"].lower().translate(BLANK).split())
    return list(photos.items())


class Captioner(nn.Module):
    def __init__(self, channels, words, remember, embedding=256, units=512):
        super().__init__()
        self.remember = remember
        self.see, self.embedding = nn.Linear(channels, embedding), nn.Embedding(words, embedding)
        self.keys, self.query, self.score = nn.Linear(embedding, units), nn.Linear(units, units), nn.Linear(units, 1)
        self.gru = nn.GRU(2 * embedding, units)
        self.hidden, self.word = nn.Linear(units, units), nn.Linear(units, words)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
            else:
                nn.init.zeros_(p)
        nn.init.uniform_(self.embedding.weight, -.05, .05)

    def look(self, features):
        places = F.relu(self.see(features))
        return places, self.keys(places), places.new_zeros(len(places), self.hidden.in_features)

    def step(self, before, state, places, keys):
        weights = torch.softmax(self.score(torch.tanh(keys + self.query(state)[:, None])), 1)
        x = torch.cat([(weights * places).sum(1), self.embedding(before)], 1)
        # from zeros, unless it remembers: the state is only what attention asks with
        return self.gru(x[None], state[None] if self.remember else None)[1][0]

    def forward(self, features, captions):
        places, keys, state = self.look(features)
        states = []
        for t in range(captions.shape[1] - 1):
            state = self.step(captions[:, t], state, places, keys)
            states.append(state)
        return self.word(self.hidden(torch.stack(states, 1)))

    def write(self, features, longest=40):
        places, keys, state = self.look(features)
        ids, said = torch.full((len(features),), START), []
        for _ in range(longest):
            state = self.step(ids, state, places, keys)
            ids = self.word(self.hidden(state)).argmax(1)
            said.append(ids)
        return torch.stack(said, 1)


def batch_of(samples, ids, folder):
    rows = [ids(caption) for _, caption in samples]
    width = max(map(len, rows))
    captions = torch.tensor([row + [PAD] * (width - len(row)) for row in rows])
    features = numpy.stack([numpy.load(f"{folder}/{photo}.npy") for photo, _ in samples])
    return torch.from_numpy(features), captions


def losses(net, batch):
    features, captions = batch
    logits = net(features, captions).flatten(0, 1)
    return F.cross_entropy(logits, captions[:, 1:].flatten(), ignore_index=PAD, reduction="sum")


def bleu(said, references, order):
    right, all_, length, known = [0] * order, [0] * order, 0, 0
    for words, others in zip(said, references):
        length += len(words)
        known += min((abs(len(o) - len(words)), len(o)) for o in others)[1]
        for n in range(1, order + 1):
            grams = collections.Counter(tuple(words[i:i + n]) for i in range(len(words) - n + 1))
            most = collections.Counter()
            for o in others:
                most |= collections.Counter(tuple(o[i:i + n]) for i in range(len(o) - n + 1))
            right[n - 1] += sum((grams & most).values())
            all_[n - 1] += sum(grams.values())
    if not all(right):
        return 0.
    return 100 * min(1, math.exp(1 - known / length)) * math.exp(sum(math.log(a / b) for a, b in zip(right, all_)) / order)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--features", required=True)
    parser.add_argument("--words", required=True)
    for name, kind, value in (("epochs", int, 20), ("batch", int, 64), ("rate", float, 1e-3), ("seed", int, 1),
                              ("threads", int, 2)):
        parser.add_argument("--" + name, type=kind, default=value)
    parser.add_argument("--remember", action="store_true")
    o = parser.parse_args()
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    photos = read(o.folder)
    with open(o.words, encoding="utf-8") as file:
        words = file.read().split("\n")[:-1]
    numbers = {word: i for i, word in enumerate(words)}
    learned = len(photos) - (len(photos) + 9) // 10

    def ids(caption):
        return [START, *(numbers.get(word, UNKNOWN) for word in caption), END]

    train, held = ([(name, c) for name, cs in part for c in cs] for part in (photos[:learned], photos[learned:]))
    net = Captioner(numpy.load(f"{o.features}/{photos[0][0]}.npy").shape[1], len(words), o.remember)
    print(f"{sum(p.numel() for p in net.parameters())} parameters, {len(train)} captions to learn from", flush=True)
    adam = torch.optim.Adam(net.parameters(), o.rate)
    for epoch in range(o.epochs):
        began, sum_, count = time.time(), 0., 0
        order = torch.randperm(len(train)).tolist()
        for at in range(0, len(train) // o.batch * o.batch, o.batch):
            batch = batch_of([train[i] for i in order[at:at + o.batch]], ids, o.features)
            loss = losses(net, batch)
            adam.zero_grad()
            (loss / o.batch).backward()
            adam.step()
            sum_ += loss.item() / (batch[1][:, 1:] != PAD).sum().item()
            count += 1
        with torch.no_grad():
            other = [(losses(net, b).item(), (b[1][:, 1:] != PAD).sum().item()) for b in
                     (batch_of(held[at:at + o.batch], ids, o.features) for at in range(0, len(held), o.batch))]
        print(f"epoch {epoch + 1}: loss {sum_ / count:.4f}, of photos not learned from "
              f"{sum(a for a, _ in other) / sum(b for _, b in other):.4f}, {time.time() - began:.1f} s", flush=True)
    with torch.no_grad():
        features = torch.from_numpy(numpy.stack([numpy.load(f"{o.features}/{name}.npy") for name, _ in photos[learned:]]))
        said = [[words[i] for i in (row[:row.index(END)] if END in row else row)] for row in net.write(features).tolist()]
    print("BLEU-1 to 4:", *(f"{bleu(said, [cs for _, cs in photos[learned:]], n):.1f}" for n in (1, 2, 3, 4)))


if __name__ == "__main__":
    main()
