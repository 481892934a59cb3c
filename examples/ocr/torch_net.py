"""The net of net.c, its loss and its step in PyTorch, under the same names."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Conv(nn.Module):
    def __init__(self, i, o, kernel, stride=1, valid=False, decay=.99):
        super().__init__()
        self.conv = nn.Conv2d(i, o, kernel, stride, 0 if valid else kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(o, 1e-3, 1 - decay)
        self.norm.weight.requires_grad_(False)
        nn.init.kaiming_normal_(self.conv.weight, nonlinearity="relu")

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


def named(*modules):
    made = nn.Sequential()
    for name, module in modules:
        made.add_module(name, module)
    return made


class Mixed(nn.Module):
    def __init__(self, i, pool, wide, decay):
        super().__init__()

        def conv(i, o, kernel):
            return Conv(i, o, kernel, decay=decay)
        w48, w64, w96 = wide(48), wide(64), wide(96)
        self.channels = 2 * w64 + w96 + wide(pool)
        self.Branch_0 = named(("Conv2d_0a_1x1", conv(i, w64, 1)))
        self.Branch_1 = named(("Conv2d_0a_1x1", conv(i, w48, 1)), ("Conv2d_0b_5x5", conv(w48, w64, 5)))
        self.Branch_2 = named(("Conv2d_0a_1x1", conv(i, w64, 1)), ("Conv2d_0b_3x3", conv(w64, w96, 3)),
                              ("Conv2d_0c_3x3", conv(w96, w96, 3)))
        self.Branch_3 = named(("0", nn.AvgPool2d(3, 1, 1, count_include_pad=False)),
                              ("Conv2d_0b_1x1", conv(i, wide(pool), 1)))

    def forward(self, x):
        return torch.cat([self.Branch_0(x), self.Branch_1(x), self.Branch_2(x), self.Branch_3(x)], 1)


def trunk(width, decay):
    def wide(channels):
        return int(max(4, math.floor(width * channels + .5)))

    def conv(i, o, kernel, stride=1, valid=False):
        return Conv(wide(i) if i else 3, wide(o), kernel, stride, valid, decay)
    first = Mixed(wide(192), 32, wide, decay)
    second = Mixed(first.channels, 64, wide, decay)
    return named(("Conv2d_1a_3x3", conv(0, 32, 3, 2, True)), ("Conv2d_2a_3x3", conv(32, 32, 3, 1, True)),
                 ("Conv2d_2b_3x3", conv(32, 64, 3)), ("MaxPool_3a_3x3", nn.MaxPool2d(3, 2)),
                 ("Conv2d_3b_1x1", conv(64, 80, 1)), ("Conv2d_4a_3x3", conv(80, 192, 3, 1, True)),
                 ("MaxPool_5a_3x3", nn.MaxPool2d(3, 2)), ("Mixed_5b", first), ("Mixed_5c", second),
                 ("Mixed_5d", Mixed(second.channels, 64, wide, decay)))


class Lstm(nn.Module):
    """One step with a cell that is held in -10..10."""
    def __init__(self, i, units):
        super().__init__()
        both = nn.init.orthogonal_(torch.empty(4 * units, i + units))
        self.weight_ih_l0 = nn.Parameter(both[:, :i].clone())
        self.weight_hh_l0 = nn.Parameter(both[:, i:].clone())
        self.bias_ih_l0 = nn.Parameter(torch.zeros(4 * units))
        self.bias_ih_l0.data[units:2 * units] = 1

    def forward(self, x, h, c):
        i, f, g, o = (F.linear(x, self.weight_ih_l0, self.bias_ih_l0) + F.linear(h, self.weight_hh_l0)).chunk(4, 1)
        c = (f.sigmoid() * c + i.sigmoid() * g.tanh()).clamp(-10, 10)
        return o.sigmoid() * c.tanh(), c


class Ocr(nn.Module):
    def __init__(self, side, views, classes, length, units=256, width=1., decay=.99, coordinates=True, feedback=True,
                 untold=0.):
        super().__init__()
        self.side, self.views, self.classes, self.length, self.units = side, views, classes, length, units
        self.coordinates, self.feedback, self.untold = coordinates, feedback, untold
        self.trunk = trunk(width, decay)
        with torch.no_grad():
            _, channels, k, _ = self.trunk.eval()(torch.zeros(1, 3, side, side)).shape
        self.train()
        channels += 2 * k * coordinates
        self.keys = nn.Linear(channels, channels, bias=False)
        self.query = nn.Linear(2 * units, channels)
        self.mix = nn.Linear(classes + channels, classes)
        self.lstm = Lstm(classes, units)
        self.join = nn.Linear(units + channels, units)
        self.letter = nn.Linear(units, classes)
        bound = (3 / channels) ** .5
        self.attend = nn.Parameter(torch.empty(channels).uniform_(-bound, bound))
        for dense in (self.keys, self.query, self.mix, self.join):
            nn.init.xavier_uniform_(dense.weight)
        nn.init.orthogonal_(self.letter.weight)
        for dense in (self.query, self.mix, self.join, self.letter):
            nn.init.zeros_(dense.bias)

    def look(self, images):
        n = len(images)
        x = images.reshape(n, 3, self.side, self.views, self.side).permute(0, 3, 1, 2, 4)
        last = self.trunk[0].conv.weight.is_contiguous(memory_format=torch.channels_last)
        x = x.reshape(-1, 3, self.side, self.side)
        x = x.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)
        maps = self.trunk(x).permute(0, 2, 3, 1)
        if self.coordinates:
            k = maps.shape[1]
            one = torch.eye(k, dtype=maps.dtype, device=maps.device)
            where = torch.cat([one[:, None].expand(k, k, k), one[None].expand(k, k, k)], 2)
            maps = torch.cat([maps, where.expand(len(maps), k, k, 2 * k)], 3)
        return maps.reshape(n, -1, maps.shape[3])

    def forward(self, images, texts=None):
        """Logits [N, length, classes]; each letter is told the true one before it, or what it took that for."""
        places = self.look(images)
        keys = self.keys(places)
        seen = places.new_zeros(len(places), places.shape[2])
        h = c = places.new_zeros(len(places), self.units)
        before, logits = places.new_zeros(len(places), self.classes), []
        for t in range(self.length):
            h, c = self.lstm(self.mix(torch.cat([before, seen], 1)), h, c)
            asked = self.query(torch.cat([c, h], 1))[:, None]
            weights = ((keys + asked).tanh() @ self.attend).softmax(1)
            seen = (weights[:, None] @ places)[:, 0]
            logits.append(self.letter(self.join(torch.cat([h, seen], 1))))
            if self.feedback:
                told = texts[:, t] if texts is not None else logits[-1].argmax(1)
                before = F.one_hot(told, self.classes).to(places.dtype)
                if self.training and self.untold:
                    before = before * (torch.rand_like(before[:, :1]) >= self.untold)
        return torch.stack(logits, 1)


def loss_of(logits, texts, smoothing=.1):
    return F.cross_entropy(logits.flatten(0, 1), texts.flatten(), label_smoothing=smoothing, reduction="sum") / len(texts)


def decays(name, weight):
    return name.startswith("letter.") or name.startswith("trunk.") and weight.ndim > 1


def step(net, sgd, loss, decay=4e-5, clip=2.):
    """Each gradient is cut to a norm of its own."""
    sgd.zero_grad()
    loss.backward()
    for name, weight in net.named_parameters():
        if weight.grad is not None:
            if decays(name, weight):
                weight.grad.add_(weight.detach(), alpha=decay)
            weight.grad.mul_(clip / weight.grad.norm().clamp_min(clip))
    sgd.step()
