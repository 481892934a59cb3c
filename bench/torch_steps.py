"""The models of `compare.py steps` in PyTorch: torch_cpu_steps.py and torch_device_steps.py run them.

They are written as people write them: modules, an optimizer's default step. Where there are two common ways the faster
one stands here."""
import math
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

MODELS, IMAGES = {}, set()
FORMAT = "nchw"
SMOKE = False    # small sizes
DEVICE = "cpu"   # what models are made on
LOW = None       # what autocast computes products in
COMPILE = None   # options for torch.compile; None: it is not used
SPREAD = None    # what makes of a net one of several processes; None: it is of this one


def size(full, small):
    return small if SMOKE else full


def forward_of(function):
    """A forward with its loss, as it is to be run."""
    def low():
        with torch.autocast(DEVICE.split(":")[0], LOW):
            return function()
    forward = low if LOW else function
    return torch.compile(forward, **COMPILE) if COMPILE is not None else forward


def spread(net):
    return SPREAD(net) if SPREAD else net


class Whole(nn.Module):
    """Modules and what is made of them, as a net that can be spread."""

    def __init__(self, modules, function):
        super().__init__()
        self.parts, self.function = nn.ModuleList(modules), function

    def forward(self):
        return self.function()


def optimizer_of(kind, parameters, *options, **more):
    """The default one on a CPU, the fused one on a device."""
    if DEVICE != "cpu":
        more["fused"] = True
        if kind is not torch.optim.SGD:
            more["capturable"] = True
    return kind(parameters, *options, **more)


def model(function):
    MODELS[function.__name__.replace("_", "-")] = function
    return function


def image_model(function):
    IMAGES.add(function.__name__.replace("_", "-"))
    return model(function)


def formed(x):
    return x.to(memory_format=torch.channels_last) if FORMAT == "nhwc" else x


def image(*shape):
    return formed(torch.rand(*shape))


def train(net, x, y, optimizer=None):
    net = spread(net)
    forward = forward_of(lambda: F.cross_entropy(net(x), y))

    def step():
        net.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        if optimizer:
            optimizer.step()
        return loss
    return step


@model
def mlp():
    net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Dropout(.2), nn.Linear(512, 10))
    n = size(128, 8)
    return train(net, torch.rand(n, 784), torch.randint(10, (n,)),
                 optimizer_of(torch.optim.Adam, net.parameters()))


@image_model
def cnn():
    net = formed(nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 1024), nn.ReLU(), nn.Dropout(.4),
        nn.Linear(1024, 10)))
    n = size(64, 2)
    return train(net, image(n, 1, 28, 28), torch.randint(10, (n,)),
                 optimizer_of(torch.optim.SGD, net.parameters(), lr=1e-3))


# ---- residual nets ---------------------------------------------------------------------------------


def conv(i, o, kernel, stride=1):
    return nn.Conv2d(i, o, kernel, stride, kernel // 2, bias=False)


class Residual(nn.Module):
    def __init__(self, body, i, o, stride):
        super().__init__()
        self.body = body
        plain = stride == 1 and i == o
        self.shortcut = nn.Identity() if plain else nn.Sequential(conv(i, o, 1, stride), nn.BatchNorm2d(o))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def basic(i, o, s):
    return Residual(nn.Sequential(conv(i, o, 3, s), nn.BatchNorm2d(o), nn.ReLU(), conv(o, o, 3),
                                  nn.BatchNorm2d(o)), i, o, s)


def bottleneck(i, w, s):
    return Residual(nn.Sequential(conv(i, w, 1), nn.BatchNorm2d(w), nn.ReLU(), conv(w, w, 3, s),
                                  nn.BatchNorm2d(w), nn.ReLU(), conv(w, 4 * w, 1),
                                  nn.BatchNorm2d(4 * w)), i, 4 * w, s)


@image_model
def resnet20():
    parts, i = [conv(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU()], 16
    for o in (16, 16, 16, 32, 32, 32, 64, 64, 64):
        parts.append(basic(i, o, 1 if i == o else 2))
        i = o
    net = formed(nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)))
    optimizer = optimizer_of(torch.optim.SGD, net.parameters(), .1, .9, weight_decay=1e-4)
    n, side = size(128, 2), size(32, 8)
    return train(net, image(n, 3, side, side), torch.randint(10, (n,)), optimizer)


def resnet50_of(n):
    least, side = size(64, 4), size(224, 32)
    parts, i = [conv(3, least, 7, 2), nn.BatchNorm2d(least), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], least
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            parts.append(bottleneck(i, least << stage, 2 if stage and not block else 1))
            i = 4 * least << stage
    net = formed(nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32 * least, 1000)))
    return net, image(n, 3, side, side), torch.randint(1000, (n,))


@image_model
def resnet50():
    return train(*resnet50_of(size(8, 2)))


def torchvision_net(name, n, side, **options):
    """A net of torchvision's, gradients alone, as the library of models has it."""
    import torchvision
    net = formed(getattr(torchvision.models, name)(weights=None, **options))
    return net, image(n, 3, side, side), torch.randint(1000, (n,))


@image_model
def vgg16():
    return train(*torchvision_net("vgg16", size(4, 1), 224))


@image_model
def resnet152():
    return train(*torchvision_net("resnet152", size(4, 2), size(224, 32)))


@image_model
def mobilenet_v2():
    return train(*torchvision_net("mobilenet_v2", size(16, 2), size(224, 32)))


@image_model
def inception_v3():
    net, x, y = torchvision_net("inception_v3", size(4, 2), 299, init_weights=True)

    def loss():
        out = net(x)
        return F.cross_entropy(out.logits, y) + .4 * F.cross_entropy(out.aux_logits, y)
    forward = forward_of(loss)

    def step():
        net.zero_grad(set_to_none=True)
        value = forward()
        value.backward()
        return value
    return step


@image_model
def resnet50_train():
    net, x, y = resnet50_of(size(128, 2))
    return train(net, x, y, optimizer_of(torch.optim.SGD, net.parameters(), .1, .9, weight_decay=1e-4))


def learn(optimizer, forward, parameters=None, clip=0):
    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        return loss
    return step


# ---- detectors -------------------------------------------------------------------------------------


@image_model
def faster_rcnn():
    """torchvision's, which is not to resize."""
    from torchvision.models import detection
    n, height, width = size(2, 1), size(256, 64), size(320, 64)
    trunk = detection.backbone_utils.resnet_fpn_backbone(
        backbone_name=size("resnet50", "resnet18"), weights=None, trainable_layers=5,
        norm_layer=nn.BatchNorm2d)
    net = formed(detection.FasterRCNN(trunk, 21, min_size=height, max_size=width))
    net.train()
    x = image(n, 3, height, width)
    low, more = torch.rand(n, 10, 2) / 2, 1 / 16 + torch.rand(n, 10, 2) * (.5 - 1 / 16)
    boxes = torch.cat([low, low + more], 2) * torch.tensor([width, height, width, height])
    targets = [{"boxes": b, "labels": c} for b, c in zip(boxes, 1 + torch.randint(20, (n, 10)))]
    optimizer = optimizer_of(torch.optim.SGD, net.parameters(), .002, .9, weight_decay=1e-4)
    return learn(optimizer, forward_of(lambda: sum(net(list(x), targets).values())))


# ---- depth -----------------------------------------------------------------------------------------


@image_model
def depth():
    """vid2depth as published, of one three of frames."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../examples/depth"))
    import vid2depth
    n, height, width = size(1, 2), size(128, 32), size(416, 64)
    nets = formed(vid2depth.Nets(size(1, 8)))
    frames, lens = image(n, 9, height, width), torch.tensor([[.58 * width, 1.92 * height, .5 * width, .5 * height]] * n)
    optimizer = optimizer_of(torch.optim.Adam, nets.learned(), 2e-4)
    return learn(optimizer, forward_of(lambda: vid2depth.losses(nets, frames, lens)[0]))


@image_model
def ocr():
    """That of examples/ocr, which gives its twin this net too."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../examples/ocr"))
    from torch_net import Ocr, loss_of, step
    n, side, views, length = size(2, 1), size(150, 43), size(4, 2), size(37, 3)
    net = formed(Ocr(side, views, 134, length, decay=.9997, coordinates=False))
    x, texts = torch.rand(n, 3, side, views * side), torch.randint(134, (n, length))
    optimizer = optimizer_of(torch.optim.SGD, [p for p in net.parameters() if p.requires_grad], .004, .9)
    forward = forward_of(lambda: loss_of(net(x, texts), texts))

    def run():
        loss = forward()
        step(net, optimizer, loss)
        return loss
    return run


# ---- generators ------------------------------------------------------------------------------------


def against(logits, target):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))


def duel(generator, judge, optimizers, losses):
    """Both gradients of one forward before either update."""
    parameters = [list(generator.parameters()), list(judge.parameters())]
    forward = forward_of(losses)

    def step():
        both = forward()
        grads = [torch.autograd.grad(both[i], parameters[i], retain_graph=i == 0) for i in range(2)]
        for i in range(2):
            for p, g in zip(parameters[i], grads[i]):
                p.grad = g
            optimizers[i].step()
        return both[0]
    return step


class Shape(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.shape = shape

    def forward(self, x):
        x = x.view(-1, *self.shape)
        return x.contiguous(memory_format=torch.channels_last) if FORMAT == "nhwc" else x


@image_model
def dcgan():
    def up(i, o, stride):
        return nn.ConvTranspose2d(i, o, 5, stride, 2, stride - 1, bias=False)

    g = formed(nn.Sequential(
        nn.Linear(100, 12544, bias=False), nn.BatchNorm1d(12544), nn.LeakyReLU(.3), Shape(256, 7, 7),
        up(256, 128, 1), nn.BatchNorm2d(128), nn.LeakyReLU(.3), up(128, 64, 2), nn.BatchNorm2d(64),
        nn.LeakyReLU(.3), up(64, 1, 2), nn.Tanh()))
    d = formed(nn.Sequential(
        nn.Conv2d(1, 64, 5, 2, 2), nn.LeakyReLU(.3), nn.Dropout(.3), nn.Conv2d(64, 128, 5, 2, 2),
        nn.LeakyReLU(.3), nn.Dropout(.3), nn.Flatten(), nn.Linear(6272, 1)))
    x = image(size(256, 2), 1, 28, 28)

    def losses():
        fake = g(torch.randn(len(x), 100, device=x.device))
        real, judged = d(x), d(fake)
        return against(judged, 1.), against(real, 1.) + against(judged, 0.)
    return duel(g, d, [optimizer_of(torch.optim.Adam, n.parameters(), 1e-4) for n in (g, d)], losses)


def log_normal(z, mean, log_var):
    return (-.5 * ((z - mean) ** 2 * torch.exp(-log_var) + log_var + math.log(2 * math.pi))).sum(1)


@image_model
def cvae():
    def up(i, o):
        return nn.ConvTranspose2d(i, o, 3, 2, 1, 1)

    encoder = formed(nn.Sequential(
        nn.Conv2d(1, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 64, 3, 2), nn.ReLU(), nn.Flatten(),
        nn.Linear(2304, 100)))
    decoder = formed(nn.Sequential(
        nn.Linear(50, 1568), nn.ReLU(), Shape(32, 7, 7), up(32, 64), nn.ReLU(), up(64, 32), nn.ReLU(),
        nn.ConvTranspose2d(32, 1, 3, 1, 1)))
    optimizer = optimizer_of(torch.optim.Adam, [*encoder.parameters(), *decoder.parameters()], 1e-4)
    x, zero = image(size(100, 2), 1, 28, 28).round(), torch.zeros(())

    def loss_of():
        mean, log_var = encoder(x).chunk(2, 1)
        z = torch.randn_like(mean) * torch.exp(log_var * .5) + mean
        px = -F.binary_cross_entropy_with_logits(decoder(z), x, reduction="none").sum((1, 2, 3))
        return -(px + log_normal(z, zero, zero) - log_normal(z, mean, log_var)).mean()
    return learn(optimizer, forward_of(loss_of))


class UNet(nn.Module):
    """The innermost map is 1 x 1: batch norm refuses it in training, so it has none."""

    def __init__(self):
        super().__init__()
        w = size(64, 4)
        c = [3, w, 2 * w, 4 * w, 8 * w, 8 * w, 8 * w, 8 * w, 8 * w]
        self.downs = nn.ModuleList(down(c[k], c[k + 1], 0 < k < 7) for k in range(8))
        ups = [up(c[8] if k == 0 else 2 * c[8 - k], c[7 - k], k < 3) for k in range(7)]
        self.ups = nn.ModuleList([*ups, nn.ConvTranspose2d(2 * w, 3, 4, 2, 1)])

    def forward(self, x):
        skips = []
        for module in self.downs:
            x = module(x)
            skips.append(x)
        for module, skip in zip(self.ups, skips[-2::-1]):
            x = torch.cat([module(x), skip], 1)
        return torch.tanh(self.ups[-1](x))


def down(i, o, norm):
    return nn.Sequential(nn.Conv2d(i, o, 4, 2, 1, bias=False), *([nn.BatchNorm2d(o)] if norm else []),
                         nn.LeakyReLU(.3))


def up(i, o, drop):
    return nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o),
                         *([nn.Dropout(.5)] if drop else []), nn.ReLU())


@image_model
def pix2pix():
    g, w = formed(UNet()), size(64, 4)
    d = formed(nn.Sequential(
        down(6, w, False), down(w, 2 * w, True), down(2 * w, 4 * w, True),
        nn.Conv2d(4 * w, 8 * w, 4, padding=1, bias=False), nn.BatchNorm2d(8 * w), nn.LeakyReLU(.3),
        nn.Conv2d(8 * w, 1, 4, padding=1)))
    x, t = image(1, 3, 256, 256), image(1, 3, 256, 256)

    def losses():
        fake = g(x)
        real, judged = d(torch.cat([x, t], 1)), d(torch.cat([x, fake], 1))
        return (against(judged, 1.) + 100 * (t - fake).abs().mean(),
                against(real, 1.) + against(judged, 0.))
    return duel(g, d, [optimizer_of(torch.optim.Adam, n.parameters(), 2e-4, (.5, .999)) for n in (g, d)], losses)


# ---- texts -----------------------------------------------------------------------------------------


def language_model(width, steps, dropout, clip=5.):
    words, rows = size(10000, 100), 20
    embedding, out = nn.Embedding(words, width), nn.Linear(width, words)
    lstm = nn.LSTM(width, width, 2, dropout=dropout)
    parameters = [p for m in (embedding, lstm, out) for p in m.parameters()]
    optimizer = optimizer_of(torch.optim.SGD, parameters, 1.)
    x, y = torch.randint(words, (steps, rows)), torch.randint(words, (steps * rows,))

    def loss_of():
        seen = F.dropout(lstm(F.dropout(embedding(x), dropout))[0], dropout)
        return F.cross_entropy(out(seen.flatten(0, 1)), y) * steps
    forward = forward_of(spread(Whole([embedding, lstm, out], loss_of)))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        return loss
    return step


@model
def ptb_small():
    return language_model(size(200, 16), size(20, 4), 0.)


@model
def ptb_medium():
    return language_model(size(650, 16), size(35, 4), .5)


@model
def ptb_large():
    return language_model(size(1500, 16), size(35, 4), .65, 10.)


@model
def nmt():
    units, embedded, n, length, source, target = (64, 8, 4, 4, 60, 50) if SMOKE else (1024, 256, 64, 16, 9414, 4935)
    read, written = nn.Embedding(source, embedded), nn.Embedding(target, embedded)
    reader, writer = nn.GRU(embedded, units), nn.GRU(embedded + units, units)
    w1, w2, v, word = nn.Linear(units, units), nn.Linear(units, units), nn.Linear(units, 1), \
        nn.Linear(units, target)
    parameters = [p for m in (read, written, reader, writer, w1, w2, v, word) for p in m.parameters()]
    optimizer = optimizer_of(torch.optim.Adam, parameters)
    x, y = torch.randint(source, (length, n)), torch.randint(target, (length, n))

    def loss_of():
        states, h = reader(read(x))
        keys, loss = states.transpose(0, 1), 0.
        for t in range(1, length):
            score = v(torch.tanh(w1(keys) + w2(h[0])[:, None]))
            context = (torch.softmax(score, 1) * keys).sum(1)
            out, h = writer(torch.cat([context, written(y[t - 1])], 1)[None], h)
            losses = F.cross_entropy(word(out[0]), y[t], reduction="none")
            loss = loss + (losses * (y[t] != 0)).mean()
        return loss
    return learn(optimizer, forward_of(loss_of))


class Attention(nn.Module):
    def __init__(self, width, heads, bias=True):
        super().__init__()
        self.qkv, self.o = nn.Linear(width, 3 * width, bias), nn.Linear(width, width, bias)
        self.heads = heads

    def forward(self, x, memory=None, mask=None, causal=False):
        n, t, width = x.shape
        if memory is None:
            q, k, v = self.qkv(x).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        else:
            q = F.linear(x, self.qkv.weight[:width]).view(n, t, self.heads, -1).transpose(1, 2)
            k, v = F.linear(memory, self.qkv.weight[width:]).view(n, -1, 2, self.heads,
                                                                  width // self.heads).permute(2, 0, 3, 1, 4)
        return self.o(ATTENTION(q, k, v, mask, causal).transpose(1, 2).reshape(n, t, width))


class Think(nn.Module):
    def __init__(self, width, wide, act, dropped=0.):
        super().__init__()
        self.wide, self.narrow, self.act, self.dropped = nn.Linear(width, wide), nn.Linear(wide, width), act, dropped

    def forward(self, x):
        return self.narrow(F.dropout(self.act(self.wide(x)), self.dropped))


class Encoder(nn.Module):
    """A layer with norms behind its sums, or in front of its parts."""

    def __init__(self, width, heads, wide, act, first=False, bias=True, dropped=0., eps=1e-5):
        super().__init__()
        self.attention, self.think = Attention(width, heads, bias), Think(width, wide, act, dropped)
        self.norm, self.last, self.first = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps), first

    def forward(self, x, mask=None, causal=False):
        if self.first:
            x = x + F.dropout(self.attention(self.norm(x), None, mask, causal), .1)
            return x + F.dropout(self.think(self.last(x)), .1)
        x = self.norm(x + F.dropout(self.attention(x, None, mask, causal), .1))
        return self.last(x + F.dropout(self.think(x), .1))


class Decoder(nn.Module):
    def __init__(self, width, heads, wide):
        super().__init__()
        self.own, self.other = Attention(width, heads, False), Attention(width, heads, False)
        self.think = Think(width, wide, torch.relu, .1)
        self.norms = nn.ModuleList(nn.LayerNorm(width, 1e-6) for _ in range(3))

    def forward(self, x, memory, mask):
        x = x + F.dropout(self.own(self.norms[0](x), causal=True), .1)
        x = x + F.dropout(self.other(self.norms[1](x), memory, mask), .1)
        return x + F.dropout(self.think(self.norms[2](x)), .1)


def written_out(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return F.dropout(torch.softmax(scores, -1), .1) @ v


def built_in(q, k, v, mask=None, causal=False):
    return F.scaled_dot_product_attention(q, k, v, mask, dropout_p=.1, is_causal=causal)


ATTENTION = built_in


def fastest_attention(make):
    """The faster of the two ways to attend, by a few steps of each."""
    global ATTENTION
    best = {}
    for way in (written_out, built_in):
        ATTENTION = way
        step = make()
        for _ in range(2):
            step()
        best[way] = min(timed(step) for _ in range(3))
    ATTENTION = min(best, key=best.get)
    return make()


@model
def transformer():
    def make():
        width = size(512, 32)
        net = Encoder(width, size(8, 2), 4 * width, torch.relu)
        x = torch.rand(size(32, 2), size(128, 8), width, requires_grad=True)
        forward = forward_of(lambda: net(x).mean())

        def step():
            net.zero_grad(set_to_none=True)
            x.grad = None
            loss = forward()
            loss.backward()
            return loss
        return step
    return fastest_attention(make)


class Translator(nn.Module):
    """The base model of TensorFlow's official ones: one table, norms in front."""

    def __init__(self):
        super().__init__()
        width, heads, wide, layers = size(512, 32), size(8, 2), size(2048, 64), size(6, 1)
        self.table = nn.Embedding(size(33708, 100), width)
        self.encoder = nn.ModuleList(Encoder(width, heads, wide, torch.relu, True, False, .1, 1e-6)
                                     for _ in range(layers))
        self.decoder = nn.ModuleList(Decoder(width, heads, wide) for _ in range(layers))
        self.read, self.written = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        half = width // 2
        rates = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
        angles = torch.arange(size(64, 8))[:, None] * rates
        self.register_buffer("places", torch.cat([angles.sin(), angles.cos()], 1))

    def embed(self, ids):
        return self.table(ids) * (ids != 0)[..., None] * math.sqrt(self.table.embedding_dim)

    def forward(self, source, targets):
        mask = (source != 0)[:, None, None]
        x = F.dropout(self.embed(source) + self.places, .1)
        for layer in self.encoder:
            x = layer(x, mask)
        memory = self.read(x)
        x = F.dropout(F.pad(self.embed(targets), (0, 0, 1, 0))[:, :-1] + self.places, .1)
        for layer in self.decoder:
            x = layer(x, memory, mask)
        return F.linear(self.written(x), self.table.weight)


@model
def transformer_base():
    def make():
        net, n, t, words = Translator(), size(32, 2), size(64, 8), size(33708, 100)
        source, targets = torch.randint(1, words, (n, t)), torch.randint(1, words, (n, t))
        optimizer = optimizer_of(torch.optim.Adam, net.parameters(), 1e-4, (.9, .997), 1e-9)
        return learn(optimizer, forward_of(lambda: F.cross_entropy(net(source, targets).flatten(0, 1),
                                                                   targets.flatten(), label_smoothing=.1)))
    return fastest_attention(make)


@model
def gpt2():
    def make():
        width, heads, layers, words, n, t = (24, 2, 2, 100, 2, 8) if SMOKE else (768, 12, 12, 50257, 2, 256)
        table, places = nn.Embedding(words, width), nn.Embedding(t, width)
        gelu = nn.GELU(approximate="tanh")
        blocks = nn.ModuleList(Encoder(width, heads, 4 * width, gelu, True) for _ in range(layers))
        net = nn.ModuleList([table, places, blocks, nn.LayerNorm(width)])
        x, y = torch.randint(words, (n, t)), torch.randint(words, (n * t,))
        optimizer = optimizer_of(torch.optim.AdamW, net.parameters(), 1e-4, weight_decay=1e-2)

        def loss_of():
            h = F.dropout(table(x) + places.weight, .1)
            for block in blocks:
                h = block(h, causal=True)
            return F.cross_entropy(F.linear(net[3](h), table.weight).flatten(0, 1), y)
        return learn(optimizer, forward_of(loss_of))
    return fastest_attention(make)


def gpt2_says_of(rows):
    """transformers' own net and loop, with the keys and values it keeps."""
    import transformers
    width, heads, layers, words, steps = (24, 2, 2, 100, 4) if SMOKE else (768, 12, 12, 50257, 64)
    net = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=words, n_embd=width, n_head=heads,
                                                               n_layer=layers, bos_token_id=None, eos_token_id=None))
    net.eval()
    x = torch.randint(words, (rows, steps))

    def step():
        said = net.generate(x, attention_mask=torch.ones_like(x), max_new_tokens=steps, min_new_tokens=steps,
                            do_sample=False, use_cache=True, eos_token_id=None, pad_token_id=0)
        assert said.shape == (rows, 2 * steps)
        return said.double().mean()
    return step


@model
def gpt2_says():
    return gpt2_says_of(1)


@model
def gpt2_says_8():
    return gpt2_says_of(8)


def bert_of(n, updated, clipped=None):
    def make():
        t, words, width = size(128, 8), size(30522, 100), size(768, 24)
        tokens, places, segments = nn.Embedding(words, width), nn.Embedding(512, width), \
            nn.Embedding(2, width)
        norm = nn.LayerNorm(width, 1e-12)
        layers = nn.ModuleList(Encoder(width, size(12, 2), 4 * width, F.gelu, eps=1e-12) for _ in range(size(12, 2)))
        pool, classes = nn.Linear(width, width), nn.Linear(width, 2)
        net = nn.ModuleList([tokens, places, segments, norm, layers, pool, classes])
        x, y = torch.randint(words, (n, t)), torch.randint(2, (n,))
        segment, place, mask = torch.zeros(n, t, dtype=torch.long), torch.arange(t), torch.ones(n, t)
        optimizer = optimizer_of(torch.optim.AdamW, net.parameters(), 1e-4, weight_decay=1e-2) if updated else None

        def loss_of():
            h = F.dropout(norm(tokens(x) + segments(segment) + places(place)), .1)
            seen = (mask != 0)[:, None, None]
            for layer in layers:
                h = layer(h, seen)
            return F.cross_entropy(classes(F.dropout(torch.tanh(pool(h[:, 0])), .1)), y)
        forward = forward_of(spread(Whole([net], loss_of)))

        def step():
            net.zero_grad(set_to_none=True)
            loss = forward()
            loss.backward()
            if clipped:
                nn.utils.clip_grad_norm_(net.parameters(), clipped)
            if updated:
                optimizer.step()
            return loss
        return step
    return fastest_attention(make)


@model
def bert():
    return bert_of(size(4, 2), False)


@model
def bert_train():
    return bert_of(size(32, 2), True)


@model
def bert_finetune():
    return bert_of(size(8, 2), True, 1.)


# ---- sound, strokes, algorithms ----------------------------------------------------------------------


class Same(nn.Sequential):
    """A convolution that keeps the size, also of even kernels."""

    def __init__(self, i, o, kernel):
        super().__init__(nn.ZeroPad2d([(kernel[1] - 1) // 2, kernel[1] // 2, (kernel[0] - 1) // 2, kernel[0] // 2]),
                         nn.Conv2d(i, o, kernel))


@image_model
def speech():
    net = formed(nn.Sequential(Same(1, 64, (20, 8)), nn.ReLU(), nn.Dropout(), nn.MaxPool2d(2), Same(64, 64, (10, 4)),
                               nn.ReLU(), nn.Dropout(), nn.Flatten(), nn.Linear(64 * 49 * 20, 12)))
    n = size(100, 2)
    return train(net, image(n, 1, 98, 40), torch.randint(12, (n,)),
                 optimizer_of(torch.optim.SGD, net.parameters(), lr=1e-3))


@image_model
def deepspeech():
    n, frames, filters, hidden, layers = (2, 40, 2, 8, 2) if SMOKE else (8, 200, 32, 800, 5)
    convs = formed(nn.Sequential(
        nn.Conv2d(1, filters, (41, 11), (2, 2), (20, 5), bias=False), nn.BatchNorm2d(filters), nn.ReLU6(),
        nn.Conv2d(filters, filters, (21, 11), (2, 1), (10, 5), bias=False), nn.BatchNorm2d(filters), nn.ReLU6()))
    grus = nn.ModuleList(nn.GRU(2 * hidden if i else 81 * filters, hidden, batch_first=True, bidirectional=True)
                         for i in range(layers))
    norms = nn.ModuleList(nn.BatchNorm1d(2 * hidden) for _ in range(layers))
    out = nn.Linear(2 * hidden, 29)
    net = nn.ModuleList([convs, grus, norms, out])
    x, y = image(n, 1, frames, 161), torch.randint(28, (n, frames // 10))
    lengths = torch.full((n,), frames // 10)
    optimizer = optimizer_of(torch.optim.Adam, net.parameters(), 5e-4)

    def loss_of():
        h = convs(x).permute(0, 2, 3, 1).flatten(2, 3)
        for i, gru in enumerate(grus):
            h = norms[i - 1](h.flatten(0, 1)).view_as(h) if i else h
            h = gru(h)[0]
        h = norms[-1](h.flatten(0, 1)).view_as(h)
        p = F.log_softmax(out(h), 2).transpose(0, 1)
        return F.ctc_loss(p, y, torch.full((n,), len(p)), lengths, 28, "none", True).mean()
    return learn(optimizer, forward_of(loss_of))


@model
def quickdraw():
    n, points, layers, width = (2, 8, 1, 8) if SMOKE else (8, 60, 3, 128)
    convs = nn.Sequential(nn.Conv1d(3, 48, 5, padding=2), nn.Dropout(.3), nn.Conv1d(48, 64, 5, padding=2), nn.Dropout(.3),
                          nn.Conv1d(64, 96, 3, padding=1))
    lstm = nn.LSTM(96, width, layers, bidirectional=True, batch_first=True, dropout=.3 if layers > 1 else 0)
    net = nn.ModuleList([convs, lstm, nn.Linear(2 * width, 345)])
    x, y, mask = torch.rand(n, points, 3), torch.randint(345, (n,)), torch.ones(n, points, 1)
    optimizer = optimizer_of(torch.optim.Adam, net.parameters(), 1e-4)
    forward = forward_of(lambda: F.cross_entropy(net[2](
        (lstm(convs(x.transpose(1, 2)).transpose(1, 2))[0] * mask).sum(1)), y))
    return learn(optimizer, forward, list(net.parameters()), 9)


@image_model
def neural_gpu():
    n, length, maps, height = (2, 4, 8, 4) if SMOKE else (32, 20, 64, 4)
    embedding, out = nn.Embedding(16, maps), nn.Linear(maps, 16)
    grus = formed(nn.ModuleList(nn.ModuleList([nn.Conv2d(maps, 2 * maps, 3, padding=1), nn.Conv2d(maps, maps, 3, padding=1)])
                                for _ in range(2)))
    net = nn.ModuleList([embedding, out, grus])
    x, y = torch.randint(16, (n, length)), torch.randint(16, (n * length,))
    optimizer = optimizer_of(torch.optim.Adam, net.parameters(), 5e-4, eps=1e-3)
    share = min(.5, .1 * 3 / length ** .5)

    def loss_of():
        s = F.pad(torch.tanh(embedding(x)).transpose(1, 2)[..., None], (0, height - 1))
        s = formed(s)
        for _ in range(length):
            for gates, candidate in grus:
                u, r = (torch.sigmoid(gates(s)) * 1.2 - .1).clamp(0, 1).chunk(2, 1)
                c = torch.tanh(candidate(r * s))
                s = c + u * (s - c)
            s = F.dropout(s, share)
        return F.cross_entropy(out(s[..., 0].transpose(1, 2)).flatten(0, 1), y, label_smoothing=.1)
    forward = forward_of(loss_of)
    return learn(optimizer, forward, list(net.parameters()), 4)


def timed(step):
    wait = torch.cuda.synchronize if DEVICE.startswith("cuda") else (lambda: None)
    wait()
    start = time.perf_counter()
    step()
    wait()
    return (time.perf_counter() - start) * 1e6
