"""What TF-Slim calls the weights of its nets, and their shapes: [H, W, in, out], [H, W, in, n] of each channel.

From the papers' tables, and from the scopes in which TF-Slim's programs make layers. Each function gives a list of
(name, shape). names.py writes them down; `slim_names.py NET` prints those of one net."""
import re
import sys

BIASES, NORM = (), ("gamma", "beta", "moving_mean", "moving_variance")
NORM_WITHOUT_SCALE = NORM[1:]


class Net:
    """Grows by layers inside of a scope; they have norms of these parts, or biases."""

    def __init__(self, scope, parts=BIASES):
        self.scope, self.parts, self.rows = scope, parts, []

    def add(self, name, *shape):
        self.rows.append((f"{self.scope}/{name}" if self.scope else name, shape))

    def norm(self, name, channels):
        for part in self.parts:
            self.add(f"{name}/{part}", channels)

    def plain(self, name, *shape):
        self.add(name + "/weights", *shape)
        self.add(name + "/biases", shape[-1])

    def conv(self, name, rows, columns, channels, out):
        if not self.parts:
            self.plain(name, rows, columns, channels, out)
        else:
            self.add(name + "/weights", rows, columns, channels, out)
            self.norm(name + "/BatchNorm", out)
        return out

    def depthwise(self, name, kernel, channels, n=1):
        self.add(name + "/depthwise_weights", kernel, kernel, channels, n)

    def words(self, at, channels, text):
        """Convolutions one behind the other: "0a_1x1:64" is Conv2d_0a_1x1 of 64 channels; "A|B": both of the same;
        "name=3x3:64" has another kernel than its name says; "max" and "mean" are none."""
        for word in text.split():
            into, made = channels, 0
            for part in word.split("|"):
                if part in ("max", "mean"):
                    made = into
                    continue
                name, rows, columns, out = re.fullmatch(r"(\w+?(?:=|_(?=\dx\d:)))(\d)x(\d):(\d+)", part).groups()
                name = name[:-1] if name.endswith("=") else f"{name}{rows}x{columns}"
                name = name if name.startswith("Conv") else "Conv2d_" + name
                made += self.conv(at + name, int(rows), int(columns), into, int(out))
            channels = made
        return channels

    def mixed(self, name, channels, *branches):
        return sum(self.words(f"{name}/Branch_{k}/", channels, words) for k, words in enumerate(branches))


# ---- plain stacks ------------------------------------------------------------------------------------


def lenet():
    net = Net("LeNet")
    net.plain("conv1", 5, 5, 1, 32)
    net.plain("conv2", 5, 5, 32, 64)
    net.plain("fc3", 7 * 7 * 64, 1024)
    net.plain("fc4", 1024, 10)
    return net


def cifarnet():
    net = Net("CifarNet")
    net.plain("conv1", 5, 5, 3, 64)
    net.plain("conv2", 5, 5, 64, 64)
    net.plain("fc3", 8 * 8 * 64, 384)
    net.plain("fc4", 384, 192)
    net.plain("logits", 192, 10)
    return net


def stack(scope, kernels, channels, dense):
    net, before = Net(scope), 3
    for i, (kernel, out) in enumerate(zip(kernels, channels)):
        before = net.conv(f"conv{i + 1}", kernel, kernel, before, out)
    for name, kernel, out in zip(("fc6", "fc7", "fc8"), (dense[0], 1, 1), dense[1:]):
        before = net.conv(name, kernel, kernel, before, out)
    return net


def alexnet_v2():
    return stack("alexnet_v2", (11, 5, 3, 3, 3), (64, 192, 384, 384, 256), (5, 4096, 4096, 1000))


def overfeat():
    return stack("overfeat", (11, 5, 3, 3, 3), (64, 256, 512, 1024, 1024), (6, 3072, 4096, 1000))


def vgg(letter, *counts):
    net, channels = Net(f"vgg_{letter}"), 3
    for k, (count, out) in enumerate(zip(counts, (64, 128, 256, 512, 512)), 1):
        for i in range(1, count + 1):
            channels = net.conv(f"conv{k}/conv{k}_{i}", 3, 3, channels, out)
    for name, kernel, out in ("fc6", 7, 4096), ("fc7", 1, 4096), ("fc8", 1, 1000):
        channels = net.conv(name, kernel, kernel, channels, out)
    return net


# ---- Inception ---------------------------------------------------------------------------------------


def inception_v1():
    net = Net("InceptionV1", NORM_WITHOUT_SCALE)
    channels = net.words("", 3, "1a_7x7:64 2b_1x1:64 2c_3x3:192")
    for name, a, b, c, d, e, f in (
            ("3b", 64, 96, 128, 16, 32, 32), ("3c", 128, 128, 192, 32, 96, 64), ("4b", 192, 96, 208, 16, 48, 64),
            ("4c", 160, 112, 224, 24, 64, 64), ("4d", 128, 128, 256, 24, 64, 64), ("4e", 112, 144, 288, 32, 64, 64),
            ("4f", 256, 160, 320, 32, 128, 128), ("5b", 256, 160, 320, 32, 128, 128),
            ("5c", 384, 192, 384, 48, 128, 128)):
        second = "0a" if name == "5b" else "0b"
        channels = net.mixed(f"Mixed_{name}", channels, f"0a_1x1:{a}", f"0a_1x1:{b} 0b_3x3:{c}",
                             f"0a_1x1:{d} {second}_3x3:{e}", f"max 0b_1x1:{f}")
    net.plain("Logits/Conv2d_0c_1x1", 1, 1, channels, 1001)
    return net


def inception_v2():
    net = Net("InceptionV2", NORM_WITHOUT_SCALE)
    net.depthwise("Conv2d_1a_7x7", 7, 3, 8)
    net.add("Conv2d_1a_7x7/pointwise_weights", 1, 1, 24, 64)
    net.add("Conv2d_1a_7x7/biases", 64)
    channels = net.words("", 64, "2b_1x1:64 2c_3x3:192")
    for name, *row in (("3b", 64, 64, 64, 64, 96, 32), ("3c", 64, 64, 96, 64, 96, 64), ("4a", 128, 160, 64, 96),
                       ("4b", 224, 64, 96, 96, 128, 128), ("4c", 192, 96, 128, 96, 128, 128),
                       ("4d", 160, 128, 160, 128, 160, 96), ("4e", 96, 128, 192, 160, 192, 96),
                       ("5a", 128, 192, 192, 256), ("5b", 352, 192, 320, 160, 224, 128),
                       ("5c", 352, 192, 320, 192, 224, 128)):
        if len(row) == 4:
            a, b, c, d = row
            branches = f"0a_1x1:{a} 1a_3x3:{b}", f"0a_1x1:{c} 0b_3x3:{d} 1a_3x3:{d}", "max"
        else:
            a, b, c, d, e, f = row
            branches = (f"0a_1x1:{a}", f"0a_1x1:{b} 0b_3x3:{c}", f"0a_1x1:{d} 0b_3x3:{e} 0c_3x3:{e}",
                        f"mean 0b_1x1:{f}")
        channels = net.mixed(f"Mixed_{name}", channels, *branches)
    net.plain("Logits/Conv2d_1c_1x1", 1, 1, channels, 1001)
    return net


def aux(net, channels, second, last, dense):
    net.words("AuxLogits/", channels, f"1b_1x1:128 {second}=5x5:768")
    net.plain(f"AuxLogits/{last}", *(() if dense else (1, 1)), 768, 1001)


def inception_v3():
    net = Net("InceptionV3", NORM_WITHOUT_SCALE)
    channels = net.words("", 3, "1a_3x3:32 2a_3x3:32 2b_3x3:64 3b_1x1:80 4a_3x3:192")
    for name, second, c in (("5b", "0a_1x1:48 0b_5x5:64", 32), ("5c", "0b_1x1:48 Conv_1_0c_5x5:64", 64),
                            ("5d", "0a_1x1:48 0b_5x5:64", 64)):
        channels = net.mixed(f"Mixed_{name}", channels, "0a_1x1:64", second, "0a_1x1:64 0b_3x3:96 0c_3x3:96",
                             f"mean 0b_1x1:{c}")
    channels = net.mixed("Mixed_6a", channels, "1a_1x1=3x3:384", "0a_1x1:64 0b_3x3:96 1a_1x1=3x3:96", "max")
    for name, c in ("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192):
        channels = net.mixed(f"Mixed_{name}", channels, "0a_1x1:192", f"0a_1x1:{c} 0b_1x7:{c} 0c_7x1:192",
                             f"0a_1x1:{c} 0b_7x1:{c} 0c_1x7:{c} 0d_7x1:{c} 0e_1x7:192", "mean 0b_1x1:192")
    aux(net, channels, "2a_5x5", "Conv2d_2b_1x1", False)
    channels = net.mixed("Mixed_7a", channels, "0a_1x1:192 1a_3x3:320", "0a_1x1:192 0b_1x7:192 0c_7x1:192 1a_3x3:192",
                         "max")
    for name, down in ("7b", "0b"), ("7c", "0c"):
        channels = net.mixed(f"Mixed_{name}", channels, "0a_1x1:320", f"0a_1x1:384 0b_1x3:384|{down}_3x1:384",
                             "0a_1x1:448 0b_3x3:384 0c_1x3:384|0d_3x1:384", "mean 0b_1x1:192")
    net.plain("Logits/Conv2d_1c_1x1", 1, 1, channels, 1001)
    return net


def inception_v4():
    net = Net("InceptionV4", NORM_WITHOUT_SCALE)
    channels = net.words("", 3, "1a_3x3:32 2a_3x3:32 2b_3x3:64")
    channels = net.mixed("Mixed_3a", channels, "max", "0a_3x3:96")
    channels = net.mixed("Mixed_4a", channels, "0a_1x1:64 1a_3x3:96", "0a_1x1:64 0b_1x7:64 0c_7x1:64 1a_3x3:96")
    channels = net.mixed("Mixed_5a", channels, "1a_3x3:192", "max")
    for letter in "bcde":
        channels = net.mixed(f"Mixed_5{letter}", channels, "0a_1x1:96", "0a_1x1:64 0b_3x3:96",
                             "0a_1x1:64 0b_3x3:96 0c_3x3:96", "mean 0b_1x1:96")
    channels = net.mixed("Mixed_6a", channels, "1a_3x3:384", "0a_1x1:192 0b_3x3:224 1a_3x3:256", "max")
    for letter in "bcdefgh":
        channels = net.mixed(f"Mixed_6{letter}", channels, "0a_1x1:384", "0a_1x1:192 0b_1x7:224 0c_7x1:256",
                             "0a_1x1:192 0b_7x1:192 0c_1x7:224 0d_7x1:224 0e_1x7:256", "mean 0b_1x1:128")
    aux(net, channels, "2a", "Aux_logits", True)
    channels = net.mixed("Mixed_7a", channels, "0a_1x1:192 1a_3x3:192", "0a_1x1:256 0b_1x7:256 0c_7x1:320 1a_3x3:320",
                         "max")
    for letter in "bcd":
        channels = net.mixed(f"Mixed_7{letter}", channels, "0a_1x1:256", "0a_1x1:384 0b_1x3:256|0c_3x1:256",
                             "0a_1x1:384 0b_3x1:448 0c_1x3:512 0d_1x3:256|0e_3x1:256", "mean 0b_1x1:256")
    net.plain("Logits/Logits", channels, 1001)
    return net


def inception_resnet_v2():
    net = Net("InceptionResnetV2", NORM_WITHOUT_SCALE)

    def block(at, *branches):
        net.plain(f"{at}/Conv2d_1x1", 1, 1, net.mixed(at, channels, *branches), channels)

    channels = net.words("", 3, "1a_3x3:32 2a_3x3:32 2b_3x3:64 3b_1x1:80 4a_3x3:192")
    channels = net.mixed("Mixed_5b", channels, "Conv2d_1x1:96", "0a_1x1:48 0b_5x5:64", "0a_1x1:64 0b_3x3:96 0c_3x3:96",
                         "mean 0b_1x1:64")
    for i in range(1, 11):
        block(f"Repeat/block35_{i}", "Conv2d_1x1:32", "0a_1x1:32 0b_3x3:32", "0a_1x1:32 0b_3x3:48 0c_3x3:64")
    channels = net.mixed("Mixed_6a", channels, "1a_3x3:384", "0a_1x1:256 0b_3x3:256 1a_3x3:384", "max")
    for i in range(1, 21):
        block(f"Repeat_1/block17_{i}", "Conv2d_1x1:192", "0a_1x1:128 0b_1x7:160 0c_7x1:192")
    aux(net, channels, "2a_5x5", "Logits", True)
    channels = net.mixed("Mixed_7a", channels, "0a_1x1:256 1a_3x3:384", "0a_1x1:256 1a_3x3:288",
                         "0a_1x1:256 0b_3x3:288 1a_3x3:320", "max")
    for at in [f"Repeat_2/block8_{i}" for i in range(1, 10)] + ["Block8"]:
        block(at, "Conv2d_1x1:192", "0a_1x1:192 0b_1x3:224 0c_3x1:256")
    net.plain("Logits/Logits", net.words("", channels, "7b_1x1:1536"), 1001)
    return net


# ---- residual nets, MobileNet ------------------------------------------------------------------------


def resnet(version, layers, *units):
    """Of bottlenecks; v2 has norms in front of convolutions, so that the last of a unit, and what stands in for a
    shortcut, have biases."""
    net, v2, channels = Net(f"resnet_v{version}_{layers}", NORM), version == 2, 64
    bare = net.plain if v2 else net.conv
    bare("conv1", 7, 7, 3, 64)
    for k, count in enumerate(units):
        inner, out = 64 << k, 256 << k
        for i in range(count):
            at = f"block{k + 1}/unit_{i + 1}/bottleneck_v{version}/"
            if v2:
                net.norm(at + "preact", channels)
            if channels != out:
                bare(at + "shortcut", 1, 1, channels, out)
            net.conv(at + "conv1", 1, 1, channels, inner)
            net.conv(at + "conv2", 3, 3, inner, inner)
            bare(at + "conv3", 1, 1, inner, out)
            channels = out
    if v2:
        net.norm("postnorm", channels)
    net.plain("logits", 1, 1, channels, 1001 if v2 else 1000)
    return net


def mobilenet_v1(width=1.):
    net, channels = Net("MobilenetV1", NORM), max(int(32 * width), 8)
    net.conv("Conv2d_0", 3, 3, 3, channels)
    for i, c in enumerate((64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024), 1):
        net.depthwise(f"Conv2d_{i}_depthwise", 3, channels)
        net.norm(f"Conv2d_{i}_depthwise/BatchNorm", channels)
        channels = net.conv(f"Conv2d_{i}_pointwise", 1, 1, channels, max(int(c * width), 8))
    net.plain("Logits/Conv2d_1c_1x1", 1, 1, channels, 1001)
    return net


def mobilenet_v2(width=1.):
    """Narrow ones keep the last convolution's channels."""
    def wide(c):
        near = max(int(c * width + 4) // 8 * 8, 8)
        return near + 8 if near < .9 * c * width else near

    net, channels, number = Net("MobilenetV2", NORM), wide(32), 0
    net.conv("Conv", 3, 3, 3, channels)
    for expand, c, units in (1, 16, 1), (6, 24, 2), (6, 32, 3), (6, 64, 4), (6, 96, 3), (6, 160, 3), (6, 320, 1):
        for _ in range(units):
            at, inner = f"expanded_conv_{number}/" if number else "expanded_conv/", channels * expand
            if expand > 1:
                net.conv(at + "expand", 1, 1, channels, inner)
            net.depthwise(at + "depthwise", 3, inner)
            net.norm(at + "depthwise/BatchNorm", inner)
            channels, number = net.conv(at + "project", 1, 1, inner, wide(c)), number + 1
    last = net.conv("Conv_1", 1, 1, channels, wide(1280) if width > 1 else 1280)
    net.plain("Logits/Conv2d_1c_1x1", 1, 1, last, 1001)
    return net


# ---- NASNet ------------------------------------------------------------------------------------------

# Left and right of each sum: an operation, and what it reads: 0 the last cell's, 1 the one in front of it, 2 ... sums.
# Behind it what is in no sum.
NORMAL = "5:0 3:1 5:1 3:1 mean:0 none:1 mean:1 mean:1 3:0 none:0", (1, 2, 3, 4, 5, 6)
REDUCTION = "5:0 7:1 max:0 7:1 mean:0 5:1 none:3 mean:2 3:2 max:0", (3, 4, 5, 6)
PROGRESSIVE = "5:1 max:1 7:0 max:0 5:0 3:0 3:4 max:0 3:1 none:0", (2, 3, 4, 5, 6)


class Cells(Net):
    def __init__(self):
        super().__init__("", NORM)
        self.made = [None]  # by the stem and by each cell: channels, and how often their places were halved

    def one(self, name, norm, channels, out):
        self.add(f"{name}/weights", 1, 1, channels, out)
        self.norm(norm, out)

    def halved(self, at, channels, out):
        self.add(at + "path1_conv/weights", 1, 1, channels, out // 2)
        self.add(at + "path2_conv/weights", 1, 1, channels, out - out // 2)
        self.norm(at + "final_path_bn", out)

    def separable(self, at, kernel, channels, out):
        for i in "12":
            name = f"{kernel}x{kernel}_{i}"
            self.depthwise(f"{at}separable_{name}", kernel, channels)
            self.add(f"{at}separable_{name}/pointwise_weights", 1, 1, channels, out)
            self.norm(f"{at}bn_sep_{name}", out)
            channels = out

    def cell(self, name, plan, filters, stride, before):
        (channels, halvings), at = self.made[-1], name + "/"
        if before and before[1] != halvings:
            self.halved(at, before[0], filters)
        elif before and before[0] != filters:
            self.one(at + "prev_1x1", at + "prev_bn", before[0], filters)
        self.one(at + "1x1", at + "beginning_bn", channels, filters)
        states = [filters, filters if before else channels] + 5 * [filters]
        for k, word in enumerate(plan[0].split()):
            op, state = word.split(":")
            into, side = states[int(state)], f"{at}comb_iter_{k // 2}/{'right' if k % 2 else 'left'}/"
            if op.isdigit():
                self.separable(side, int(op), into, filters)
            elif into != filters or op == "none" and stride > 1 and int(state) < 2:
                self.one(side + "1x1", side + "bn_1", into, filters)
        for k in plan[1]:
            side = f"{at}cell_output/reduction_{k}/"
            if stride > 1 and k < 2:
                self.halved(side, states[k], filters)
            elif states[k] != filters:
                self.one(side + "path_conv", side + "path_bn", states[k], filters)
        self.made.append((filters * len(plan[1]), halvings + stride - 1))


def nasnet(filters, cells, stem, classes, places, halving=REDUCTION, plain=NORMAL):
    """Where both plans are one, cells stride instead of standing behind one that does. Those of CIFAR-10 have a stem
    without cells. The auxiliary head's last convolution is as large as its places."""
    net, cifar, number = Cells(), classes == 10, 0
    net.add("l1_stem_3x3/weights" if cifar else "conv0/weights", 3, 3, 3, stem)
    net.norm("l1_stem_bn" if cifar else "conv0_bn", stem)
    net.made.append((stem, 0))
    if not cifar:
        net.cell("cell_stem_0", halving, int(filters / 4), 2, None)
        net.cell("cell_stem_1", halving, int(filters / 2), 2, net.made[-2])
    for i in range(cells):
        part, before = 3 * i // cells, net.made[-2]
        strides = i > 0 and part != 3 * (i - 1) // cells
        if strides and halving is not plain:
            net.cell(f"reduction_cell_{number}", halving, filters << part, 2, before)
            number, strides = number + 1, False
            before = net.made[-3] if filters == 168 else net.made[-2]  # the large one looks past the reduction
        net.cell(f"cell_{i}", plain, filters << part, 1 + strides, before)
        if i == cells // 3 * 2 - 1:
            at = f"aux_{i}/aux_logits/"
            net.one(at + "proj", at + "aux_bn0", net.made[-1][0], 128)
            net.add(at + "Conv/weights", places, places, 128, 768)
            net.norm(at + "aux_bn1", 768)
            net.plain(at + "FC", 768, classes)
    net.plain("final_layer/FC", net.made[-1][0], classes)
    return net


def pnasnet(*sizes):
    return nasnet(*sizes, PROGRESSIVE, PROGRESSIVE)


# ---- by name -----------------------------------------------------------------------------------------

NETS = {
    "lenet": lenet, "cifarnet": cifarnet, "alexnet_v2": alexnet_v2, "overfeat": overfeat,
    "vgg_a": lambda: vgg("a", 1, 1, 2, 2, 2), "vgg_16": lambda: vgg("16", 2, 2, 3, 3, 3),
    "vgg_19": lambda: vgg("19", 2, 2, 4, 4, 4),
    "inception_v1": inception_v1, "inception_v2": inception_v2, "inception_v3": inception_v3,
    "inception_v4": inception_v4, "inception_resnet_v2": inception_resnet_v2,
    **{f"resnet_v{v}_{n}": lambda v=v, n=n, units=units: resnet(v, n, *units)
       for v in (1, 2) for n, units in ((50, (3, 4, 6, 3)), (101, (3, 4, 23, 3)), (152, (3, 8, 36, 3)),
                                        (200, (3, 24, 36, 3)))},
    "mobilenet_v1": mobilenet_v1, "mobilenet_v1_075": lambda: mobilenet_v1(.75),
    "mobilenet_v1_050": lambda: mobilenet_v1(.5), "mobilenet_v1_025": lambda: mobilenet_v1(.25),
    "mobilenet_v2": mobilenet_v2, "mobilenet_v2_140": lambda: mobilenet_v2(1.4),
    "mobilenet_v2_035": lambda: mobilenet_v2(.35),
    "nasnet_cifar": lambda: nasnet(32, 18, 96, 10, 4), "nasnet_mobile": lambda: nasnet(44, 12, 32, 1001, 4),
    "nasnet_large": lambda: nasnet(168, 18, 96, 1001, 6), "pnasnet_mobile": lambda: pnasnet(54, 9, 32, 1001, 4),
    "pnasnet_large": lambda: pnasnet(216, 12, 96, 1001, 6),
}

if __name__ == "__main__":
    for row_name, row_shape in NETS[sys.argv[1]]().rows:
        print(row_name, *row_shape)
