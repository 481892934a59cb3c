#!/usr/bin/env python3
"""The same training in PyTorch, to be compared: net, data, rates, batches and steps of cifar10.c.

    twin.py DIR [--layers 20] [--epochs 50] [--batch 128] [--distort] [--seed 1] [--decay 0.9]

DIR is what cifar10 takes for --data, with data_batch*.bin and jpeg-test.tar or test_batch.bin.
"""
import argparse
import glob
import io
import os
import tarfile
import time

import numpy
import torch
from torch import nn
from torch.nn import functional as F

CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


class Block(nn.Module):
    """Shortcuts without parameters: means of places, zeros for new channels on both sides."""

    def __init__(self, channels, features, stride, momentum):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, features, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(features, momentum=momentum)
        self.conv2 = nn.Conv2d(features, features, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(features, momentum=momentum)
        self.stride, self.more = stride, features - channels

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        if self.more:
            x = F.pad(F.avg_pool2d(x, self.stride), (0, 0, 0, 0, self.more // 2, self.more - self.more // 2))
        return F.relu(x + y)


class Net(nn.Sequential):
    def __init__(self, layers, momentum):
        blocks, channels = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16, momentum=momentum), nn.ReLU()], 16
        for features in (16, 32, 64):
            for i in range((layers - 2) // 6):
                blocks.append(Block(channels, features, 2 if i == 0 and features > 16 else 1, momentum))
                channels = features
        super().__init__(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.xavier_uniform_(m.weight)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)


def read_binary(pattern):
    data = numpy.concatenate([numpy.fromfile(path, numpy.uint8) for path in sorted(glob.glob(pattern))])
    data = data.reshape(-1, 3073)
    return torch.from_numpy(data[:, 1:].reshape(-1, 3, 32, 32).copy()), torch.from_numpy(data[:, 0].astype(numpy.int64))


def read_test(folder):
    from PIL import Image
    if os.path.exists(folder + "/test_batch.bin"):
        return read_binary(folder + "/test_batch.bin")
    images, labels = [], []
    with tarfile.open(folder + "/jpeg-test.tar") as tar:
        for member in tar:
            image = numpy.array(Image.open(io.BytesIO(tar.extractfile(member).read())).convert("RGB"))
            images.append(torch.from_numpy(image.transpose(2, 0, 1).copy()))
            labels.append(CLASSES.index(member.name.split("/")[1]))
    return torch.stack(images), torch.tensor(labels)


def distorted(x):
    x = F.pad(x, (4, 4, 4, 4))
    out = torch.empty(len(x), 3, 32, 32)
    for i in range(len(x)):
        top, left = torch.randint(9, (2,)).tolist()
        cut = x[i, :, top:top + 32, left:left + 32]
        out[i] = cut.flip(2) if torch.rand(()) < .5 else cut
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    for name, default in (("layers", 20), ("epochs", 50), ("batch", 128), ("seed", 1)):
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--decay", type=float, default=.9)
    p.add_argument("--distort", action="store_true")
    o = p.parse_args()
    torch.manual_seed(o.seed)
    net = Net(o.layers, 1 - o.decay).to(memory_format=torch.channels_last)
    (images, labels), (others, truth) = read_binary(o.folder + "/data_batch*.bin"), read_test(o.folder)
    per_epoch = len(images) // o.batch
    steps, step, began = o.epochs * per_epoch, 0, time.time()
    sgd = torch.optim.SGD(net.parameters(), lr=.1, momentum=.9, weight_decay=2e-4)
    for epoch in range(1, o.epochs + 1):
        net.train()
        right = 0
        order = torch.randperm(len(images))
        for i in range(per_epoch):
            at = order[i * o.batch:(i + 1) * o.batch]
            for group in sgd.param_groups:
                group["lr"] = .1 if step <= steps * 28782 // 80000 else .01 if step <= steps * 43173 // 80000 else .001
            x = images[at].float()
            x = (distorted(x) if o.distort else x) / 128 - 1
            logits = net(x.contiguous(memory_format=torch.channels_last))
            loss = F.cross_entropy(logits, labels[at])
            sgd.zero_grad(set_to_none=True)
            loss.backward()
            sgd.step()
            step += 1
            right += (logits.argmax(1) == labels[at]).sum().item()
        net.eval()
        with torch.no_grad():
            guess = torch.cat([net((part.float() / 128 - 1).contiguous(memory_format=torch.channels_last)).argmax(1)
                               for part in others.split(100)])
        print(f"epoch {epoch}: loss {loss.item():.4f}, accuracy {right / per_epoch / o.batch:.4f}, "
              f"valid/accuracy {(guess == truth).float().mean().item():.4f}, "
              f"{step * o.batch / (time.time() - began):.1f} examples/s", flush=True)


main()
