#!/usr/bin/env python3
"""The same training in PyTorch, to be compared: pairs, ids, net, Adam, rates and batches of bert.c.

    twin.py DIR --init FOLDER [--epochs 3] [--batch 32] [--rate 2e-5] [--length 128] [--seed 1] [--threads 2]
            [--device cpu] [--fresh]

DIR is what bert takes for --data, with the files of the Microsoft Research Paraphrase Corpus; FOLDER has config.json,
model.safetensors and a tokenizer as Hugging Face has them, whose `transformers` makes the net of it; with --fresh its
weights are drawn. Says accuracy, F1 of class 1 and loss of the pairs it does not learn from behind each epoch."""
import argparse
import time

import torch
from torch.nn import functional as F
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification


def read(path, tokenizer, length):
    """Ids, types, mask and label of each line: the label, two numbers, two sentences."""
    with open(path, encoding="utf-8-sig") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    rows = [row for row in rows if row[0] in ("0", "1")]
    x = tokenizer([row[3] for row in rows], [row[4] for row in rows], truncation=True, max_length=length,
                  padding="max_length", return_tensors="pt")
    labels = torch.tensor([int(row[0]) for row in rows])
    return [x["input_ids"], x["token_type_ids"], x["attention_mask"], labels]


class Adam:
    """The authors' own, without bias correction; what has one axis does not decay."""

    def __init__(self, parameters, rate, steps, decay=.01, eps=1e-6):
        self.all, self.rate, self.steps, self.decay, self.eps = list(parameters), rate, steps, decay, eps
        self.m, self.v = ([torch.zeros_like(p) for p in self.all] for _ in range(2))

    @torch.no_grad()
    def step(self, t):
        torch.nn.utils.clip_grad_norm_(self.all, 1.)
        warm = int(self.steps * .1)
        rate = self.rate * (1 - t / self.steps) * (t / warm if t < warm else 1)
        for p, m, v in zip(self.all, self.m, self.v):
            m.mul_(.9).add_(p.grad, alpha=.1)
            v.mul_(.999).addcmul_(p.grad, p.grad, value=.001)
            p.sub_(rate * (m / (v.sqrt() + self.eps) + (self.decay * p if p.dim() > 1 else 0)))


def judge(net, data):
    net.eval()
    right = loss = both = taken = there = 0
    with torch.no_grad():
        for at in range(0, len(data[3]), 32):
            ids, types, mask, label = (x[at:at + 32] for x in data)
            logits = net(ids, token_type_ids=types, attention_mask=mask).logits
            said = logits.argmax(1)
            loss += F.cross_entropy(logits, label, reduction="sum").item()
            right += (said == label).sum().item()
            both += (said * label).sum().item()
            taken += said.sum().item()
            there += label.sum().item()
    net.train()
    n = len(data[3])
    return f"{100 * right / n:.2f} % right, F1 {200 * both / max(1, taken + there):.2f} %, loss {loss / n:.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--init", required=True)
    for name, kind, value in (("epochs", int, 3), ("batch", int, 32), ("rate", float, 2e-5), ("length", int, 128),
                              ("seed", int, 1), ("threads", int, 2)):
        parser.add_argument("--" + name, type=kind, default=value)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--fresh", action="store_true")
    o = parser.parse_args()
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    tokenizer = AutoTokenizer.from_pretrained(o.init)
    train, dev = ([x.to(o.device) for x in read(f"{o.folder}/msr_paraphrase_{part}.txt", tokenizer, o.length)]
                  for part in ("train", "test"))
    config = BertConfig.from_pretrained(o.init, num_labels=2, attn_implementation="sdpa")
    net = (BertForSequenceClassification(config) if o.fresh else
           BertForSequenceClassification.from_pretrained(o.init, config=config, dtype=torch.float32))
    net.to(o.device).train()
    per_epoch = len(train[3]) // o.batch
    adam, t = Adam(net.parameters(), o.rate, o.epochs * per_epoch), 0
    print(f"{len(train[3])} pairs to learn from, {len(dev[3])} to be judged by", flush=True)
    for epoch in range(o.epochs):
        began, order, total = time.time(), torch.randperm(len(train[3])), 0.
        for at in range(0, per_epoch * o.batch, o.batch):
            ids, types, mask, label = (x[order[at:at + o.batch]] for x in train)
            loss = F.cross_entropy(net(ids, token_type_ids=types, attention_mask=mask).logits, label)
            net.zero_grad()
            loss.backward()
            adam.step(t)
            t += 1
            total += loss.item()
        seconds = time.time() - began
        print(f"epoch {epoch + 1}: loss {total / per_epoch:.4f}, {judge(net, dev)}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
