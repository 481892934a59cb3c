#!/usr/bin/env python3
"""The same in PyTorch, to be compared: weights, pictures, losses, rules, clipping and steps of style.c with a VGG net.

    twin.py OUT [--optimizer adam] [--steps 300] [--threads 0]

OUT is where `style --keep-trunk` has put trunk.safetensors, content.png and style.png. The canvas with the lowest loss
becomes twin-adam.png or twin-lbfgs.png there.
"""
import argparse
import json
import struct
import time

import numpy
import torch
from PIL import Image
from torch.nn import functional as F

STYLE, CONTENT = ["conv1_1", "conv2_1", "conv3_1", "conv4_1", "conv5_1"], "conv5_2"
MEANS = torch.tensor([103.939, 116.779, 123.68]).view(1, 3, 1, 1)  # of B, G, R


def read_weights(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    return {name: torch.from_numpy(numpy.frombuffer(data[slice(*what["data_offsets"])], "<f4").copy()).view(what["shape"])
            for name, what in header.items() if name != "__metadata__"}


def canvas_of(path):
    picture = numpy.array(Image.open(path).convert("RGB"), dtype=numpy.float32)
    return torch.from_numpy(picture.transpose(2, 0, 1)[::-1].copy()).unsqueeze(0) - MEANS


def save(canvas, path):
    picture = (canvas + MEANS).clamp(0, 255).round()[0].numpy()[::-1].transpose(1, 2, 0)
    Image.fromarray(numpy.ascontiguousarray(picture.astype(numpy.uint8))).save(path)


def look(weights, x):
    seen, last = {}, "1"
    for name in sorted({key.split(".")[0] for key in weights}):
        if name[4] != last:
            x, last = F.max_pool2d(x, 2), name[4]
        x = seen[name] = F.relu(F.conv2d(x, weights[name + ".conv.weight"], weights[name + ".conv.bias"], padding=1))
    grams = []
    for name in STYLE:
        f = seen[name].flatten(2)
        grams.append(f @ f.transpose(1, 2) / f.shape[2])
    return grams, seen[CONTENT]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--optimizer", choices=("adam", "lbfgs"), default="adam")
    p.add_argument("--threads", type=int, default=0)
    o = p.parse_args()
    if o.threads:
        torch.set_num_threads(o.threads)
    weights = read_weights(o.folder + "/trunk.safetensors")
    with torch.no_grad():
        canvas = canvas_of(o.folder + "/content.png")
        style, _ = look(weights, canvas_of(o.folder + "/style.png"))
        _, content = look(weights, canvas)
    canvas.requires_grad_()
    rule = torch.optim.LBFGS([canvas], max_iter=20, history_size=20, line_search_fn="strong_wolfe")
    m, v, lowest, past_first = torch.zeros_like(canvas), torch.zeros_like(canvas), float("inf"), 0
    best = canvas.detach().clone()

    def losses():
        grams, places = look(weights, canvas)
        return (1e-2 * sum(((a - b) ** 2).mean() for a, b in zip(grams, style)) / len(style),
                1e3 * ((places - content) ** 2).mean())

    def again():
        canvas.grad = None
        texture, where = losses()
        parts.append((texture.item(), where.item()))
        loss = texture + where
        loss.backward()
        return loss

    for step in range(o.steps):
        parts = []
        (rule.step if o.optimizer == "lbfgs" else lambda f: f())(again)
        texture, where = parts[0]
        with torch.no_grad():
            if o.optimizer == "adam":
                g, t = canvas.grad, step + 1
                m = .99 * m + .01 * g
                v = .999 * v + .001 * g * g
                canvas -= 5 * (1 - .999 ** t) ** .5 / (1 - .99 ** t) * m / (v.sqrt() + .1)
            canvas.copy_(torch.minimum(torch.maximum(canvas, -MEANS), 255 - MEANS))
            if texture + where < lowest:
                lowest, best = texture + where, canvas.clone()
        past_first = past_first or time.time()
        if step % max(o.steps // 10, 1) == 0:
            print(f"step {step}: total {texture + where:.4e}, style {texture:.4e}, content {where:.4e}", flush=True)
    save(best, f"{o.folder}/twin-{o.optimizer}.png")
    print(f"lowest loss {lowest:.4e}, {(o.steps - 1) / (time.time() - past_first):.2f} steps/s")


main()
