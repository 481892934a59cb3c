#!/usr/bin/env python3
"""The training of ocr.c in PyTorch: the same net, first weights by the same rules, signs, changes of them, steps.

    ocr --write DIR; twin.py DIR [--epochs 5] [--threads N]

Prints shares of letters and of whole texts that are read right of the set "validation" behind each epoch. Needs PyTorch,
torchvision and Pillow."""
import argparse
import glob
import io
import math
import os
import random
import sys
import time

import numpy
import torch
from PIL import Image
from torchvision.transforms import ColorJitter, functional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from records import examples  # noqa: E402
from torch_net import Ocr, loss_of, step  # noqa: E402

p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
p.add_argument("data")
p.add_argument("--epochs", type=int, default=5)
p.add_argument("--steps", type=int, default=0, help="after which it ends; 0: of the epochs")
p.add_argument("--batch", type=int, default=16)
p.add_argument("--lr", type=float, default=.02)
p.add_argument("--width", type=float, default=.25)
p.add_argument("--changes", choices=("files", "none"), default="files", help="as in ocr")
p.add_argument("--threads", type=int, default=os.cpu_count())
p.add_argument("--seed", type=int, default=1)
o = p.parse_args()
torch.set_num_threads(o.threads)
torch.manual_seed(o.seed)
random.seed(o.seed)

# ---- records -----------------------------------------------------------------------------------------


def example(features):
    image = Image.open(io.BytesIO(features["image/encoded"][0])).convert("RGB")
    return torch.from_numpy(numpy.array(image)).permute(2, 0, 1).contiguous(), torch.tensor(features["image/class"])


def load(name):
    return [example(e) for path in sorted(glob.glob(f"{o.data}/{name}/{name}*")) for e in examples(path)]


# ---- changes -----------------------------------------------------------------------------------------

jitter = ColorJitter(.125, .5, .5, .2)


def box(side):
    """As tf.image.sample_distorted_bounding_box with ratios of 0.8..1.2 and areas of 0.8..1."""
    for _ in range(100):
        ratio, area = random.uniform(.8, 1.2), random.uniform(.8, 1)
        high, wide = round(side * (area / ratio) ** .5), round(side * (area * ratio) ** .5)
        if high <= side and wide <= side and high * wide >= .8 * side * side:
            return random.randint(0, side - high), random.randint(0, side - wide), high, wide
    return 0, 0, side, side


def changed(view):
    side = view.shape[1]
    return jitter(functional.resized_crop(view, *box(side), [side, side], antialias=True))


def ready(image, change):
    views = image.shape[2] // image.shape[1]
    if change:
        image = torch.cat([changed(view) for view in image.chunk(views, 2)], 2)
    return (image.float() / 255 - .5) * 2.5


def batch_of(signs, change):
    return torch.stack([ready(image, change) for image, _ in signs]), torch.stack([text for _, text in signs])


# ---- learning ----------------------------------------------------------------------------------------

train, valid = load("train"), load("validation")
letters = sum(1 for _ in open(glob.glob(f"{o.data}/charset_size=*.txt")[0], encoding="utf-8"))
null, (_, side, wide) = letters - 1, train[0][0].shape
net = Ocr(side, wide // side, letters, len(train[0][1]), width=o.width, untold=.3).to(memory_format=torch.channels_last)
sgd = torch.optim.SGD([w for w in net.parameters() if w.requires_grad], o.lr, momentum=.9)


def judge():
    right = there = texts = 0
    net.eval()
    with torch.no_grad():
        for first in range(0, len(valid), o.batch):
            images, wanted = batch_of(valid[first:first + o.batch], False)
            read = net(images).argmax(2)
            right += ((read == wanted) & (wanted != null)).sum().item()
            there += (wanted != null).sum().item()
            texts += (read == wanted).all(1).sum().item()
    net.train()
    return right / there, texts / len(valid)


if __name__ == "__main__":
    per_epoch, done = len(train) // o.batch, 0
    for epoch in range(o.epochs):
        order, begin, total = random.sample(range(len(train)), len(train)), time.time(), 0
        for first in range(0, per_epoch * o.batch, o.batch):
            for group in sgd.param_groups:
                group["lr"] = o.lr * (1 + math.cos(math.pi * done / (per_epoch * o.epochs))) / 2
            images, texts = batch_of([train[i] for i in order[first:first + o.batch]], o.changes == "files")
            loss = loss_of(net(images, texts), texts)
            step(net, sgd, loss)
            total += loss.item()
            done += 1
            if done % 100 == 0:
                print(f"step {done}: loss {loss.item():.3f}", flush=True)
            if done == o.steps:
                break
        seconds = time.time() - begin
        share, texts = judge()
        print(f"epoch {epoch + 1}: loss {total / (done - epoch * per_epoch):.3f}, letters {share:.4f}, texts {texts:.4f}, {seconds:.1f} s",
              flush=True)
        if done == o.steps:
            break
