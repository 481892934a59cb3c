"""A small net of keypoints (Suwajanakorn et al. 2018), its losses and three steps of training, by PyTorch: what
tests/test_keypoints.c compares examples/keypoints with.

    python3 keypoints.py [--out DIR]

weights/NAME are those the net begins with, under the names it has here; pictures, inside, into, back and noise a
batch of two pairs, first views first. losses has a row for each step, of the losses in LOSSES and their weighted sum:
which way objects look is told in all but the last. gradients/NAME are those of the first step, after/NAME the weights
behind the last. Besides there are rotations: x, y, the rotation that brings x to y, of which the last needs a
reflection to be undone, and gradient/x of what `mixed` weighs. All in f64, the weights exact in f32."""
import argparse
import math
import os

import torch
import torch.nn.functional as F
from torch import nn

from recorder import write_safetensors

PAIRS, SIDE, FILTERS, KEYPOINTS, STEPS, DISTANCE, FOCAL, APART = 2, 16, 4, 5, 3, 6., 4., .5
DILATIONS = (1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 1)
LOSSES = {"consistency": 1, "pose": .2, "separation": 1, "silhouette": 1, "variance": .5, "orientation": 1}


class Norm(nn.Module):
    """Batch norm with a bias and no weight."""

    def __init__(self, n):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return F.batch_norm(x, None, None, None, self.bias, True, 0., 1e-3)


def trunk(i, o, *last):
    layers = []
    for k, d in enumerate(DILATIONS):
        layers += [nn.Conv2d(o if k else i, o, 3, padding=d, dilation=d, bias=False), Norm(o), nn.LeakyReLU(.1)]
    return nn.Sequential(*layers, *last)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = trunk(4, FILTERS)
        self.place, self.depth = (nn.Conv2d(FILTERS, KEYPOINTS, 3, padding=1) for _ in range(2))
        self.orientation = trunk(3, FILTERS // 2, nn.Conv2d(FILTERS // 2, 2, 3, padding=1))

    def forward(self, pictures, facing):
        side = (torch.arange(SIDE) + .5) * 2 / SIDE - 1
        v, u = torch.meshgrid(-side, side, indexing="ij")
        places = torch.stack([u, v], -1).reshape(-1, 2).double()

        def spread(logits):
            return F.softmax(logits.flatten(2), 2)

        axis = spread(self.orientation(pictures)) @ places
        if facing is None:
            facing = (axis[:, 0, 0] > axis[:, 1, 0]).double()
        x = self.trunk(torch.cat([pictures, facing[:, None, None, None].expand(-1, 1, SIDE, SIDE)], 1))
        maps = spread(self.place(x))
        uv = maps @ places
        z = (maps * (self.depth(x) - DISTANCE).flatten(2)).sum(2, keepdim=True)
        variance = (maps * (places[None, None] - uv[:, :, None]).square().sum(3)).sum(2)
        return torch.cat([uv, z], 2), maps, variance, axis


def swapped(x):
    return torch.cat([x[len(x) // 2:], x[:len(x) // 2]])


def unproject(uvz):
    return torch.cat([-uvz[..., :2] * uvz[..., 2:] / FOCAL, uvz[..., 2:]], -1)


def project(xyz):
    return -FOCAL * xyz[..., :2] / xyz[..., 2:]


def moved(xyz, matrices):
    ones = torch.ones_like(xyz[..., :1])
    return (torch.cat([xyz, ones], -1) @ matrices.transpose(1, 2))[..., :3]


def rotation_of(x, y):
    x, y = x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
    u, _, vh = torch.linalg.svd(y.transpose(1, 2) @ x)
    sign = torch.linalg.det(u @ vh)
    return torch.cat([u[..., :2], u[..., 2:] * sign[:, None, None]], 2) @ vh


def losses_of(found, batch):
    uvz, maps, variance, axis = found
    xyz, n = unproject(uvz), len(uvz) // 2
    away = project(moved(moved(xyz, batch["back"]), swapped(batch["into"]))) - swapped(uvz)[..., :2]
    both = (batch["into"][n:] @ batch["back"][:n])[:, :3, :3]
    noisy = xyz + batch["noise"]
    chord = (rotation_of(noisy[:n], noisy[n:]) - both).square().sum((1, 2)).add(1e-12).sqrt()
    nearer = F.relu(APART - (xyz[:, :, None] - xyz[:, None]).square().sum(3))
    each = nearer.sum((1, 2)) - KEYPOINTS * APART
    on = (maps * batch["inside"].flatten(1)[:, None]).sum(2)
    ends = torch.tensor([[[1., 0, 0], [-1., 0, 0]]]).double().expand(2 * n, -1, -1)
    losses = {"consistency": away.square().sum(2).mean(), "pose": (2 * torch.asin(chord / 8 ** .5)).mean() / 2,
              "separation": (each / 2 / KEYPOINTS).mean(), "silhouette": -(on + 1e-12).log().mean(),
              "variance": variance.mean(), "orientation": (axis - project(moved(ends, batch["into"]))).square().mean()}
    return {name: 2 * value for name, value in losses.items()}


def view():
    """Somewhere around and above."""
    a, b = torch.rand(2).double() * torch.tensor([2 * math.pi, .6]).double()
    around = torch.tensor([[a.cos(), 0, a.sin()], [0, 1, 0], [-a.sin(), 0, a.cos()]]).double()
    up = torch.tensor([[1, 0, 0], [0, b.cos(), -b.sin()], [0, b.sin(), b.cos()]]).double()
    m = torch.eye(4).double()
    m[:3, :3], m[2, 3] = up @ around, -DISTANCE
    return m


def rotations():
    x = torch.randn(3, KEYPOINTS, 3).double().requires_grad_()
    y = x.detach() @ torch.linalg.qr(torch.randn(3, 3, 3).double()).Q + .1 * torch.randn(x.shape).double()
    determinants = torch.linalg.det((y - y.mean(1, keepdim=True)).transpose(1, 2) @ (x - x.mean(1, keepdim=True)))
    y[:2] *= determinants[:2, None, None].sign()
    y[2] *= -determinants[2].sign()
    r, mixed = rotation_of(x, y), torch.randn(3, 3, 3).double()
    return {"x": x, "y": y, "rotation": r, "mixed": mixed, "gradient/x": torch.autograd.grad((r * mixed).sum(), x)[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    torch.manual_seed(12)
    net, n = Net(), 2 * PAIRS
    with torch.no_grad():
        for p in net.parameters():
            p += .1 * torch.randn(p.shape)
    net.double()
    into = torch.stack([view() for _ in range(n)])
    batch = {"pictures": torch.rand(n, 3, SIDE, SIDE).double(), "into": into, "back": torch.linalg.inv(into),
             "inside": (torch.rand(n, SIDE, SIDE) < .5).double(), "noise": .1 * torch.randn(n, KEYPOINTS, 3).double()}
    tensors = {f"weights/{name}": p.detach().clone() for name, p in net.named_parameters()}
    adam, rows = torch.optim.Adam(net.parameters(), 1e-3), []
    for step in range(STEPS):
        facing = (into[:, 0, 0] > 0).double() if step < STEPS - 1 else None
        losses = losses_of(net(batch["pictures"], facing), batch)
        loss = sum(LOSSES[name] * value for name, value in losses.items())
        adam.zero_grad()
        loss.backward()
        if step == 0:
            tensors.update({f"gradients/{name}": p.grad.clone() for name, p in net.named_parameters()})
        nn.utils.clip_grad_norm_(net.parameters(), 5.)
        adam.step()
        rows.append(torch.stack([*losses.values(), loss]).detach())
    tensors.update({f"after/{name}": p for name, p in net.named_parameters()})
    tensors.update(batch, losses=torch.stack(rows), **rotations())
    write_safetensors(os.path.join(parser.parse_args().out, "keypoints.safetensors"), tensors, {})


if __name__ == "__main__":
    main()
