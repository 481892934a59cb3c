"""The nets of nn/models: logits, and what three steps of training make of them.

torchvision's nets are its own; TF-Slim's are written out here. Weights and images are numbers both sides make by the
same rule (`hashed`, `filled`), so that only logits and losses are stored: y the logits in eval mode; where there are
`steps`, `losses` of the steps of SGD on one batch in train mode, and y after them. Nothing is dropped, and there are
no auxiliary heads (`no_aux` says which nets would have one). All is computed in f64."""
import operator
import re
from collections import namedtuple

import numpy
import torch
import torch.nn.functional as F
from torch import nn

from recorder import Recorder  # noqa: F401  (what r is)

IMAGES, CLASSES = 1000000, 10

# ---- numbers both sides know -------------------------------------------------------------------------


def hashed(k, n):
    """Multiples of 2^-23 in [-1, 1): u of the elements 0 ... n - 1 of tensor k."""
    h = numpy.arange(n, dtype=numpy.uint32) * 2654435761 + (k * 40503 + 12345) % 2 ** 32
    h ^= h >> 16
    h *= 0x7feb352d
    h ^= h >> 15
    h *= 0x846ca68b
    h ^= h >> 16
    return (h >> 8) * 2.0 ** -23 - 1


def filled(k, name, shape):
    """Tensor k of a net's state: He's spread, statistics and one-axis weights near those of a new net. Exact in f32."""
    n, part = shape.numel(), name.split(".")[-1]
    if part == "num_batches_tracked":
        return torch.zeros(shape, dtype=torch.int64)
    if part == "running_var":
        low, spread = 1, .5
    elif len(shape) > 1:
        low, spread = 0, numpy.sqrt(6 / (n // shape[0]))
    else:
        low, spread = (0, .1) if part == "running_mean" or part.endswith("bias") else (1, .2)
    return torch.from_numpy((low + spread * hashed(k, n)).astype(numpy.float32)).double().reshape(shape)


# ---- layers as TensorFlow has them -------------------------------------------------------------------

# What the convolutions of a family share: no norm where momentum is None.
Style = namedtuple("Style", "momentum eps act scale bias", defaults=(1e-3, F.relu, True, False))
PLAIN = Style(None, bias=True)
INCEPTION = Style(1 - .9997, scale=False)
RESNET = Style(1 - .997, 1e-5)
MOBILE_V1, MOBILE_V2 = Style(1 - .9997, act=F.relu6), Style(1 - .997, act=F.relu6)
LITE = Style(.01, act=F.relu6)
NASNET, NASNET_CIFAR = Style(1 - .9997), Style(.1, 1e-5)
UNET = Style(.01, bias=True)


class Of(nn.Module):
    """A function of what each of the modules makes of x, or of x itself."""

    def __init__(self, function, *modules):
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(modules)

    def forward(self, x):
        return self.function(*[part(x) for part in self.parts] or [x])


def side_by_side(*xs):
    return torch.cat(xs, 1)


def add_relu(x, y):
    return F.relu(x + y)


def padded(x, kernel, stride, how, value=0.):
    """x with zeros, or another value, around: "v": none (VALID); "p": as many on both sides whatever the stride;
    "": TensorFlow's SAME, which has the odd cell at the end."""
    pads = []
    for size, k in ((x.shape[3], kernel[1]), (x.shape[2], kernel[0])):
        all_of_them = {"v": 0, "p": k // 2 * 2, "": max((-(-size // stride) - 1) * stride + k - size, 0)}[how]
        pads += [all_of_them // 2, all_of_them - all_of_them // 2]
    return F.pad(x, pads, value=value)


def max_pool(x, kernel, stride, how):
    return F.max_pool2d(padded(x, kernel, stride, how, -torch.inf), kernel, stride)


def avg_pool(x, kernel, stride, how):
    """Means of the cells that there are."""
    real = padded(torch.ones_like(x), kernel, stride, how)
    return F.avg_pool2d(padded(x, kernel, stride, how), kernel, stride) / F.avg_pool2d(real, kernel, stride)


class Conv(nn.Conv2d):
    def __init__(self, channels, out, kernel, stride, how, groups=1, bias=False):
        super().__init__(channels, out, kernel, stride, groups=groups, bias=bias)
        self.how = how

    def forward(self, x):
        return super().forward(padded(x, self.kernel_size, self.stride[0], self.how))


def norm(style, channels):
    module = nn.BatchNorm2d(channels, style.eps, style.momentum)
    if not style.scale:
        module.weight = None
    return module


WORD = re.compile(r"(max|avg|deep|)(\d+)(?:x(\d+))?(?:/(\d))?([vp]?)(?::(\d+))?([-+=]?)")


class Tower(nn.Sequential):
    """Layers one behind the other, most of them from words of the form

        KIND KERNEL /STRIDE PADDING :CHANNELS END       "3:64"  "1x7:192"  "3/2v:384"  "max3/2"  "deep3/2"

    KIND: a convolution, one of each channel for itself (deep), max, avg. PADDING as `padded` has it. Norm and
    activation follow a convolution; END "-": a norm alone, "+": only a bias, "=": nothing. "A|B" is A and B side by
    side. `channels` are those of the result."""

    def __init__(self, style, channels, words=""):
        super().__init__()
        self.style, self.channels = style, channels
        self.words(words)

    def put(self, module, channels=None):
        self.append(module)
        self.channels = channels or self.channels
        return self

    def words(self, text):
        for word in text.split():
            if "|" in word:
                self.mixed(*word.split("|"))
            else:
                self.layer(*WORD.fullmatch(word).groups())
        return self

    def layer(self, kind, rows, columns, stride, how, out, end):
        kernel, stride, style = (int(rows), int(columns or rows)), int(stride or 1), self.style
        if kind in ("max", "avg"):
            pool = max_pool if kind == "max" else avg_pool
            self.put(Of(lambda x: pool(x, kernel, stride, how)))
            return
        groups = self.channels if kind else 1
        bias = end == "+" or style.bias and end != "="
        self.put(Conv(self.channels, int(out or self.channels), kernel, stride, how, groups, bias), int(out or 0))
        if style.momentum is not None and end in ("", "-"):
            self.put(norm(style, self.channels))
        if not end:
            self.put(Of(style.act))

    def mixed(self, *branches):
        """Towers of words side by side."""
        towers = [Tower(self.style, self.channels, words) for words in branches]
        return self.put(Of(side_by_side, *towers), sum(tower.channels for tower in towers))

    def relu(self):
        return self.put(Of(F.relu))

    def dense(self, out):
        return self.put(nn.Linear(self.channels, out), out)

    def head(self):
        return self.put(Of(lambda x: x.mean((2, 3)))).dense(CLASSES)


# ---- plain stacks ------------------------------------------------------------------------------------


def lenet():
    net = Tower(PLAIN, 1, "5:32 max2/2v 5:64 max2/2v")
    return net.put(nn.Flatten(), 7 * 7 * 64).dense(1024).relu().dense(CLASSES)


def cifarnet():
    def response_norm():
        return nn.LocalResponseNorm(9, .001, .75, 1)  # TensorFlow's radius 4 and alpha .001 / 9
    net = Tower(PLAIN, 3, "5:64 max2/2v").put(response_norm()).words("5:64").put(response_norm()).words("max2/2v")
    return net.put(nn.Flatten(), 8 * 8 * 64).dense(384).relu().dense(192).relu().dense(CLASSES)


def alexnet_v2():
    features = "11/4v:64 max3/2v 5:192 max3/2v 3:384 3:384 3:256 max3/2v"
    return Tower(PLAIN, 3, features + " 5v:4096 1:4096").head()


# ---- Inception ---------------------------------------------------------------------------------------


def inception_v1():
    net = Tower(INCEPTION, 3, "7/2:64 max3/2 1:64 3:192 max3/2")
    for row in ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), "max3/2",
                (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
                (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128), "max2/2",
                (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)):
        if isinstance(row, str):
            net.words(row)
        else:
            a, b, c, d, e, f = row
            net.mixed(f"1:{a}", f"1:{b} 3:{c}", f"1:{d} 3:{e}", f"max3 1:{f}")
    return net.head()


def inception_v2():
    net = Tower(INCEPTION, 3, "").put(Conv(3, 24, 7, 2, "", groups=3), 24)  # 8 of each colour
    net.words("1:64+").relu().words("max3/2 1:64 3:192 max3/2")
    for row in ((64, 64, 64, 64, 96, "avg", 32), (64, 64, 96, 64, 96, "avg", 64), (128, 160, 64, 96),
                (224, 64, 96, 96, 128, "avg", 128), (192, 96, 128, 96, 128, "avg", 128),
                (160, 128, 160, 128, 160, "avg", 96), (96, 128, 192, 160, 192, "avg", 96), (128, 192, 192, 256),
                (352, 192, 320, 160, 224, "avg", 128), (352, 192, 320, 192, 224, "max", 128)):
        if len(row) == 4:
            a, b, c, d = row
            net.mixed(f"1:{a} 3/2:{b}", f"1:{c} 3:{d} 3/2:{d}", "max3/2")
        else:
            a, b, c, d, e, pool, f = row
            net.mixed(f"1:{a}", f"1:{b} 3:{c}", f"1:{d} 3:{e} 3:{e}", f"{pool}3 1:{f}")
    return net.head()


def inception_v3():
    net = Tower(INCEPTION, 3, "3/2v:32 3v:32 3:64 max3/2v 1:80 3v:192 max3/2v")
    for c in (32, 64, 64):
        net.mixed("1:64", "1:48 5:64", "1:64 3:96 3:96", f"avg3 1:{c}")
    net.mixed("3/2v:384", "1:64 3:96 3/2v:96", "max3/2v")
    for c in (128, 160, 160, 192):
        net.mixed("1:192", f"1:{c} 1x7:{c} 7x1:192", f"1:{c} 7x1:{c} 1x7:{c} 7x1:{c} 1x7:192", "avg3 1:192")
    net.mixed("1:192 3/2v:320", "1:192 1x7:192 7x1:192 3/2v:192", "max3/2v")
    for _ in range(2):
        net.mixed("1:320", "1:384 1x3:384|3x1:384", "1:448 3:384 1x3:384|3x1:384", "avg3 1:192")
    return net.head()


def inception_v4():
    net = Tower(INCEPTION, 3, "3/2v:32 3v:32 3:64 max3/2v|3/2v:96")
    net.mixed("1:64 3v:96", "1:64 1x7:64 7x1:64 3v:96").words("3/2v:192|max3/2v")
    for _ in range(4):
        net.mixed("1:96", "1:64 3:96", "1:64 3:96 3:96", "avg3 1:96")
    net.mixed("3/2v:384", "1:192 3:224 3/2v:256", "max3/2v")
    for _ in range(7):
        net.mixed("1:384", "1:192 1x7:224 7x1:256", "1:192 7x1:192 1x7:224 7x1:224 1x7:256", "avg3 1:128")
    net.mixed("1:192 3/2v:192", "1:256 1x7:256 7x1:320 3/2v:320", "max3/2v")
    for _ in range(3):
        net.mixed("1:256", "1:384 1x3:256|3x1:256", "1:384 3x1:448 1x3:512 1x3:256|3x1:256", "avg3 1:256")
    return net.head()


def inception_resnet_v2():
    def blocks(count, scale, act, *branches):
        for _ in range(count):
            up = Tower(INCEPTION, net.channels).mixed(*branches).words(f"1:{net.channels}+")
            net.put(Of(lambda x, y: act(x + scale * y), nn.Identity(), up))

    net = Tower(INCEPTION, 3, "3/2v:32 3v:32 3:64 max3/2v 1:80 3v:192 max3/2v")
    net.mixed("1:96", "1:48 5:64", "1:64 3:96 3:96", "avg3 1:64")
    blocks(10, .17, F.relu, "1:32", "1:32 3:32", "1:32 3:48 3:64")
    net.mixed("3/2v:384", "1:256 3:256 3/2v:384", "max3/2v")
    blocks(20, .1, F.relu, "1:192", "1:128 1x7:160 7x1:192")
    net.mixed("1:256 3/2v:384", "1:256 3/2v:288", "1:256 3:288 3/2v:320", "max3/2v")
    for count, scale, act in ((9, .2, F.relu), (1, 1., lambda x: x)):
        blocks(count, scale, act, "1:192", "1:192 1x3:224 3x1:256")
    return net.words("1:1536").head()


# ---- residual nets -----------------------------------------------------------------------------------


def norm_relu(channels):
    return Tower(RESNET, channels).put(norm(RESNET, channels)).relu()


def slim_resnet(v2):
    """50 layers; the last unit of a stage strides. With norms in front where it is v2."""
    end = "+" if v2 else "-"
    net = Tower(RESNET, 3, "7/2p:64+ max3/2" if v2 else "7/2p:64 max3/2")
    for stage, units in enumerate((3, 4, 6, 3)):
        inner, out = 64 << stage, 256 << stage
        for i in range(units):
            stride = 2 if i == units - 1 and stage < 3 else 1
            body = Tower(RESNET, net.channels, f"1:{inner} 3/{stride}p:{inner} 1:{out}{end}")
            projects = net.channels != out
            shortcut = Tower(RESNET, net.channels, f"1/{stride}:{out}{end}" if projects else f"max1/{stride}")
            if not v2:
                net.put(Of(add_relu, body, shortcut), out)
            elif projects:  # both ways begin behind the norm
                net.put(norm_relu(net.channels)).put(Of(operator.add, body, shortcut), out)
            else:
                net.put(Of(operator.add, nn.Sequential(norm_relu(out), body), shortcut))
    return (net.put(norm_relu(net.channels)) if v2 else net).head()


def cifar_resnet(v2):
    """20 layers, shortcuts without parameters: means, and half of the new channels in front as zeros."""
    net = Tower(RESNET, 3, "3:16=" if v2 else "3:16")
    for stage in range(3):
        for i in range(3):
            channels, out = net.channels, 16 << stage
            stride, more = out // channels, out - channels
            words = f"3/{stride}p:{out} 3:{out}" + ("=" if v2 else "-")
            front = norm_relu(channels) if v2 else Tower(RESNET, channels)
            shortcut = Of(lambda x, s=stride, half=more // 2: F.pad(F.avg_pool2d(x, s), (0, 0, 0, 0, half, half)))
            net.put(Of(operator.add if v2 else add_relu, front.words(words), shortcut), out)
    return (net.put(norm_relu(net.channels)) if v2 else net).head()


# ---- MobileNet ---------------------------------------------------------------------------------------


def mobilenet_v1(width=1.):
    def wide(c):
        return max(int(c * width), 8)
    net = Tower(MOBILE_V1, 3, f"3/2:{wide(32)}")
    for stride, c in ((1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512), *5 * [(1, 512)], (2, 1024), (1, 1024)):
        net.words(f"deep3/{stride} 1:{wide(c)}")
    return net.head()


def mobilenet_v2(width):
    def wide(c):
        """To a multiple of 8, but not below nine tenths."""
        near = max(int(c * width + 4) // 8 * 8, 8)
        return near + 8 if near < .9 * c * width else near
    net = Tower(MOBILE_V2, 3, f"3/2:{wide(32)}")
    for expand, c, units, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                     (6, 160, 3, 2), (6, 320, 1, 1)):
        inverted_residuals(net, expand, 3, wide(c), units, stride)
    return net.words("1:1280").head()


def inverted_residuals(net, expand, kernel, out, units, stride):
    for i in range(units):
        channels, s = net.channels, 1 if i else stride
        body = Tower(net.style, channels, f"1:{expand * channels}" if expand > 1 else "")
        body.words(f"deep{kernel}/{s} 1:{out}-")
        net.put(Of(operator.add, body, nn.Identity()) if s == 1 and channels == out else body, out)


def efficientnet_lite0():
    net = Tower(LITE, 3, "3/2:32")
    for row in ((1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2), (6, 5, 112, 3, 1),
                (6, 5, 192, 4, 2), (6, 3, 320, 1, 1)):
        inverted_residuals(net, *row)
    return net.words("1:1280").head()


# ---- NASNet ------------------------------------------------------------------------------------------

# Five sums of two operations on states: 0 the input, 1 what was in front of it, 2 ... the sums. The cell's result are
# the states from the first number on.
NORMAL = 1, "sep5:0 sep3:1, sep5:1 sep3:1, avg:0 none:1, avg:1 avg:1, sep3:0 none:0"
REDUCTION = 3, "sep5:0 sep7:1, max:0 sep7:1, avg:0 sep5:1, none:3 avg:2, sep3:2 max:0"
PROGRESSIVE = 2, "sep5:1 max:1, sep7:0 max:0, sep5:0 sep3:0, sep3:4 max:0, sep3:1 none:0"

Made = namedtuple("Made", "channels halved")  # by a cell: how many channels, and how often its places are halved


class Factorized(nn.Module):
    """Half of the channels from every second place, half from those one further along both axes."""

    def __init__(self, style, channels, out):
        super().__init__()
        self.here, self.there = (nn.Conv2d(channels, c, 1, 2, bias=False) for c in (out // 2, out - out // 2))
        self.norm = norm(style, out)

    def forward(self, x):
        x = F.relu(x)
        return self.norm(torch.cat([self.here(x), self.there(F.pad(x, (0, 1, 0, 1))[:, :, 1:, 1:])], 1))


class Cell(nn.Module):
    def __init__(self, style, plan, filters, stride, now, before):
        super().__init__()
        self.first, sums = plan
        self.now = Tower(style, now.channels).relu().words(f"1:{filters}-")
        if not before or before == Made(filters, now.halved):
            self.before = nn.Identity()
        elif before.halved == now.halved:
            self.before = Tower(style, before.channels).relu().words(f"1:{filters}-")
        else:
            self.before = Factorized(style, before.channels, filters)
        channels = [filters, filters if before else now.channels, *5 * [filters]]
        self.sums = [[(op, int(state)) for op, state in (word.split(":") for word in pair.split())]
                     for pair in sums.split(",")]
        self.terms = nn.ModuleList(self.term(style, op, channels[state], filters, stride if state < 2 else 1)
                                   for pair in self.sums for op, state in pair)
        self.rest = nn.ModuleList(Tower(style, c, f"1:{filters}-" if c != filters else "")
                                  for c in channels[self.first:])
        self.made = Made(filters * len(self.rest), now.halved + (stride > 1))

    @staticmethod
    def term(style, op, channels, filters, stride):
        tower, fit = Tower(style, channels), f"1:{filters}-" if channels != filters else ""
        if op.startswith("sep"):
            for s in (stride, 1):
                tower.relu().words(f"deep{op[3:]}/{s}= 1:{filters}-")
            return tower
        if op == "none":
            return tower.relu().words(f"1/{stride}:{filters}-") if fit or stride > 1 else tower
        return tower.words(f"{op}3/{stride} {fit}")

    def forward(self, now, before):
        states = [self.now(now), self.before(now if before is None else before)]
        terms = iter(self.terms)
        for pair in self.sums:
            states.append(sum(next(terms)(states[state]) for _, state in pair))
        return torch.cat([fit(state) for fit, state in zip(self.rest, states[self.first:])], 1)


class NasNet(nn.Module):
    """Cells in three parts, of twice the filters and half the places each. The first two of a net for large images
    are part of its stem."""

    def __init__(self, style, filters, cells, stem, progresses=False):
        super().__init__()
        self.stem, self.cells, self.fronts = Tower(style, 3, stem), nn.ModuleList(), []
        halving, plain = (PROGRESSIVE, PROGRESSIVE) if progresses else (REDUCTION, NORMAL)
        made = [None, Made(self.stem.channels, 0)]

        def cell(plan, times, stride, front):
            self.fronts.append(front)
            self.cells.append(Cell(style, plan, int(filters * times), stride, made[-1], made[front]))
            made.append(self.cells[-1].made)

        if "v" in stem:
            cell(halving, 1 / 4, 2, -2)
            cell(halving, 1 / 2, 2, -2)
        for i in range(cells):
            part = 3 * i // cells
            halves = i > 0 and part > 3 * (i - 1) // cells
            if halves and not progresses:
                cell(halving, 2 ** part, 2, -2)
            cell(plain, 2 ** part, 2 if halves and progresses else 1, -2)
        self.head = Tower(style, made[-1].channels).relu().head()

    def forward(self, x):
        made = [None, self.stem(x)]
        for cell, front in zip(self.cells, self.fronts):
            made.append(cell(made[-1], made[front]))
        return self.head(made[-1])


# ---- U-Net -------------------------------------------------------------------------------------------


class UNet(nn.Module):
    def __init__(self):
        super().__init__()

        def two(channels, out):
            return Tower(UNET, channels, f"3:{out} 3:{out}")

        self.centre, self.head, self.levels = two(512, 1024), nn.Conv2d(32, 1, 1), nn.ModuleList()
        for above, c in ((3, 32), (32, 64), (64, 128), (128, 256), (256, 512)):
            up, both = nn.ConvTranspose2d(2 * c, c, 2, 2), nn.Sequential(norm(UNET, 2 * c), nn.ReLU())
            self.levels.append(nn.ModuleList([two(above, c), up, both, two(2 * c, c)]))

    def forward(self, x):
        kept = []
        for down, _, _, _ in self.levels:
            kept.append(down(x))
            x = F.max_pool2d(kept[-1], 2)
        x = self.centre(x)
        for _, up, both, convs in reversed(self.levels):
            x = convs(both(torch.cat([kept.pop(), up(x)], 1)))
        return self.head(x)


# ---- torchvision's -----------------------------------------------------------------------------------


def zoo(name):
    def make():
        import torchvision
        return getattr(torchvision.models, name)(num_classes=CLASSES)
    return make


def c_state(net):
    """Names in torch with shapes in C, in C's order, where torchvision's layers hold their parameters in another."""
    state = net.state_dict()
    names, shapes = list(state), {name: value.shape for name, value in state.items()}
    for i in reversed(range(len(names))):
        if names[i].endswith("layer_scale"):  # of a block of ConvNeXt: behind its eight others, without axes of 1
            shapes[names[i]] = shapes[names[i]][:1]
            names.insert(i + 8, names.pop(i))
        elif names[i].endswith("ln_1.weight"):  # of a layer of ViT: attention, dense layers, norms
            layer = names[i:i + 12]
            names[i:i + 12] = layer[2:6] + layer[8:12] + layer[:2] + layer[6:8]
        elif names[i].endswith("pos_embedding"):
            shapes[names[i]] = shapes[names[i]][1:]
    return [(name, shapes[name]) for name in names]


# ---- cases -------------------------------------------------------------------------------------------

NETS = {  # side of the images, the net
    "lenet": (28, lenet), "cifarnet": (32, cifarnet), "alexnet_v2": (224, alexnet_v2), "vgg_a": (224, zoo("vgg11")),
    "inception_v1": (96, inception_v1), "inception_v2": (96, inception_v2), "inception_v3": (107, inception_v3),
    "inception_v4": (107, inception_v4), "inception_resnet_v2": (107, inception_resnet_v2),
    "resnet_v1_50": (96, lambda: slim_resnet(False)), "resnet_v2_50": (96, lambda: slim_resnet(True)),
    "mobilenet_v1": (96, mobilenet_v1), "mobilenet_v1_025": (96, lambda: mobilenet_v1(.25)),
    "mobilenet_v2_035": (96, lambda: mobilenet_v2(.35)),
    "nasnet_cifar": (32, lambda: NasNet(NASNET_CIFAR, 32, 18, "3:96-")),
    "nasnet_mobile": (96, lambda: NasNet(NASNET, 44, 12, "3/2v:32-")),
    "pnasnet_mobile": (96, lambda: NasNet(NASNET, 54, 9, "3/2v:32-", progresses=True)),
    "resnet_cifar_20": (32, lambda: cifar_resnet(False)), "resnet_cifar_v2_20": (32, lambda: cifar_resnet(True)),
    "resnet18": (64, zoo("resnet18")), "resnet50": (64, zoo("resnet50")),
    "efficientnet_b0": (96, zoo("efficientnet_b0")), "efficientnet_lite0": (96, efficientnet_lite0),
    "convnext_tiny": (64, zoo("convnext_tiny")),
    "vit_b_16": (224, zoo("vit_b_16")), "unet": (64, UNet),
}
AUXILIARY = "inception_v3", "inception_v4", "inception_resnet_v2", "nasnet_cifar", "nasnet_mobile", "pnasnet_mobile"
TRAINED = "lenet", "resnet_cifar_20", "resnet18", "mobilenet_v2_035"


def train(net, images, steps, **options):
    """Losses in front of each step."""
    labels, losses = torch.arange(len(images)) % CLASSES, []
    optimizer = torch.optim.SGD(net.parameters(), **options)
    net.train()
    for _ in range(steps):
        loss = F.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).float()


def case(r, name, n, training=None):
    side, make = NETS[name]
    with torch.device("meta"):
        net = make()
    shapes = {key: value.shape for key, value in net.state_dict().items()}
    state = {key: filled(k, key, shape).reshape(shapes[key]) for k, (key, shape) in enumerate(c_state(net))}
    net.load_state_dict(state, assign=True)
    channels = 1 if name == "lenet" else 3
    images = torch.from_numpy(hashed(IMAGES, n * channels * side * side)).reshape(n, channels, side, side)
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.
    roles = {"losses": train(net, images, **training)} if training else {}
    with torch.no_grad():
        roles["y"] = net.eval()(images).float()
    r.add(name, {"n": n, "channels": channels, "side": side, "classes": roles["y"].shape[1],
                 "no_aux": name in AUXILIARY or None, **(training or {})}, roles)


def models(r):
    for name in NETS:
        case(r, name, 2)
    for name in TRAINED:
        case(r, name, 4, {"steps": 3, "lr": .01, "momentum": .9})
