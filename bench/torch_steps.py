"""PyTorch's side of `compare.py steps`: one model in a process of its own.

    python3 torch_steps.py MODEL THREADS FORMAT        FORMAT: nchw or nhwc, the memory format of images

Answers a line of JSON for each line on stdin:
    about     {"library": ..., "threads": n, "formats": 2 if the format matters, else 1}
    run US    {"steps_us": [...], "loss": .., "peak_kib": ..}
    work      {"flops": of the matrix products and convolutions of one step; of a convolution only the
               taps that lie inside the image}

The models are written as people write them: modules, an optimizer's default step. Where there are two
common ways the faster one stands here. torch_device_steps.py runs the same models elsewhere."""
import json
import math
import resource
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


def size(full, small):
    return small if SMOKE else full


def forward_of(function):
    """A forward with its loss, as it is to be run."""
    def low():
        with torch.autocast(DEVICE.split(":")[0], LOW):
            return function()
    forward = low if LOW else function
    return torch.compile(forward, **COMPILE) if COMPILE is not None else forward


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


def learn(optimizer, forward):
    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        optimizer.step()
        return loss
    return step


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
    forward = forward_of(loss_of)

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


class Encoder(nn.Module):
    def __init__(self, width, heads, wide, act):
        super().__init__()
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, wide), nn.Linear(wide, width)
        self.norm, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.heads, self.act = heads, act

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = ATTENTION(q, k, v).transpose(1, 2).reshape(n, t, width)
        x = self.norm(x + F.dropout(self.o(y), .1))
        return self.last(x + F.dropout(self.narrow(self.act(self.wide(x))), .1))


def written_out(q, k, v):
    w = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1)
    return F.dropout(w, .1) @ v


def built_in(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, dropout_p=.1)


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


def bert_of(n, updated):
    def make():
        t, words, width = size(128, 8), size(30522, 100), size(768, 24)
        tokens, places, segments = nn.Embedding(words, width), nn.Embedding(512, width), \
            nn.Embedding(2, width)
        norm = nn.LayerNorm(width)
        layers = nn.ModuleList(Encoder(width, size(12, 2), 4 * width, F.gelu) for _ in range(size(12, 2)))
        pool, classes = nn.Linear(width, width), nn.Linear(width, 2)
        net = nn.ModuleList([tokens, places, segments, norm, layers, pool, classes])
        x, y = torch.randint(words, (n, t)), torch.randint(2, (n,))
        segment, place = torch.zeros(n, t, dtype=torch.long), torch.arange(t)
        optimizer = optimizer_of(torch.optim.AdamW, net.parameters(), 1e-4, weight_decay=1e-2) if updated else None

        def loss_of():
            h = F.dropout(norm(tokens(x) + places(place) + segments(segment)), .1)
            for layer in layers:
                h = layer(h)
            return F.cross_entropy(classes(torch.tanh(pool(h[:, 0]))), y)
        forward = forward_of(loss_of)

        def step():
            net.zero_grad(set_to_none=True)
            loss = forward()
            loss.backward()
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


# ---- measuring -------------------------------------------------------------------------------------


def timed(step):
    wait = torch.cuda.synchronize if DEVICE.startswith("cuda") else (lambda: None)
    wait()
    start = time.perf_counter()
    step()
    wait()
    return (time.perf_counter() - start) * 1e6


def run(step, budget):
    times, start = [], time.perf_counter()
    while not times or (time.perf_counter() - start) * 1e6 < budget:
        begin = time.perf_counter()
        loss = step().item()
        times.append(round((time.perf_counter() - begin) * 1e6, 1))
    return {"steps_us": times, "loss": loss,
            "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def inside(large, kernel, stride, padding, small):
    """The share of a convolution's taps that lie inside the image, per axis multiplied."""
    share = 1
    for axis in range(len(stride)):
        size, k, s, p, out = large.shape[2 + axis], kernel.shape[2 + axis], stride[axis], padding[axis], \
            small.shape[2 + axis]
        share *= sum(max(0, min(k, size - (i * s - p)) - max(0, p - i * s)) for i in range(out)) / (k * out)
    return share


def convolution(small, large, weight, stride, padding):
    places = small.shape[0] * math.prod(small.shape[2:])
    return 2 * places * weight.numel() * inside(large, weight, stride, padding, small)


def flops_of(name, args, out):
    if name.startswith(("mm", "bmm")):
        return 2 * args[0].numel() * args[1].shape[-1]
    if name.startswith(("addmm", "baddbmm")):
        return 2 * args[1].numel() * args[2].shape[-1]
    if name.startswith("convolution."):
        small, large = (args[0], out) if args[6] else (out, args[0])
        return convolution(small, large, args[1], args[3], args[4])
    if name.startswith("convolution_backward"):
        small, large = (args[1], args[0]) if args[7] else (args[0], args[1])
        return convolution(small, large, args[2], args[4], args[5]) * (int(args[10][0]) + int(args[10][1]))
    return 0


def work(name):
    """Flops of a step, with everything that might be fused written out."""
    global ATTENTION, fastest_attention
    from torch.utils._python_dispatch import TorchDispatchMode
    total = 0

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal total
            out = function(*args, **(kwargs or {}))
            total += flops_of(str(function).replace("aten.", ""), args, out)
            return out

    ATTENTION = written_out
    fastest_attention = lambda make: make()
    torch.backends.mkldnn.enabled = False  # or recurrent layers are one op
    step = MODELS[name]()
    with Count():
        step()
    return {"flops": total}


def main():
    global FORMAT
    name, threads, FORMAT = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    step = None
    for line in sys.stdin:
        words = line.split()
        if words[0] == "work":
            answer = work(name)
        elif words[0] == "about":
            answer = {"library": f"PyTorch {torch.__version__}", "threads": torch.get_num_threads(),
                      "formats": 2 if name in IMAGES else 1}
        else:
            if step is None:
                step = MODELS[name]()
                for _ in range(3):
                    step()
            answer = run(step, float(words[1]))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
