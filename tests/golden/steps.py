"""Three training steps of the tutorials' models in f64, written out with PyTorch: what tests/test_steps.c
compares Egret's models with.

    python3 steps.py [--out DIR]

Weights and batches are numbers both sides make by the same rule (`hashed`), so that nothing large is
stored; dropout draws the words of Philox 4x32-10 as include/egret/ops/random.h describes. Per model and
step there are the losses and a row of numbers for the gradient of each parameter: its largest absolute
value, its norm, its product with a hashed vector, and SAMPLES of its elements."""
import argparse
import math
import os

import numpy
import torch
import torch.nn.functional as F

from recorder import write_safetensors

f64 = torch.float64
STEPS, SAMPLES = 3, 6
U = numpy.uint64


# ---- numbers both sides know -------------------------------------------------------------------------


def hashed_bits(seed, n):
    with numpy.errstate(over="ignore"):
        z = U(seed) * U(0xD1342543DE82EF95) + (numpy.arange(n, dtype=U) + U(1)) * U(0x9E3779B97F4A7C15)
        z = (z ^ z >> U(30)) * U(0xBF58476D1CE4E5B9)
        z = (z ^ z >> U(27)) * U(0x94D049BB133111EB)
        return z ^ z >> U(31)


def hashed(seed, *shape):
    """Multiples of 2^-23 in [-1, 1)."""
    n = math.prod(shape)
    values = (hashed_bits(seed, n) >> U(40)).astype(numpy.float64) * 2.0 ** -23 - 1
    return torch.from_numpy(values).reshape(shape)


def weight(seed, name, shape):
    """Spread as Glorot has it; biases and norms small changes of 0 and 1."""
    if len(shape) < 2:
        return hashed(seed, *shape) * .1 + (1 if name == "weight" else 0)
    cells = math.prod(shape[2:])
    return hashed(seed, *shape) * math.sqrt(6 / (cells * (shape[0] + shape[1])))


class Philox:
    """The words of dropout, block after block."""

    def __init__(self, seed):
        self.key, self.block = (seed & 0xFFFFFFFF, seed >> 32), 0

    def words(self, n):
        blocks = (n + 3) // 4
        counter = numpy.arange(self.block, self.block + blocks, dtype=U)
        self.block += blocks
        low = U(0xFFFFFFFF)
        c = [counter & low, counter >> U(32), numpy.zeros_like(counter), numpy.zeros_like(counter)]
        k0, k1 = self.key
        for _ in range(10):
            p0, p1 = U(0xD2511F53) * c[0], U(0xCD9E8D57) * c[2]
            c = [(p1 >> U(32)) ^ c[1] ^ U(k0), p1 & low, (p0 >> U(32)) ^ c[3] ^ U(k1), p0 & low]
            k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
        return numpy.stack(c, 1).reshape(-1)[:n]

    def dropout(self, x, p):
        """Images lie channels-last in memory."""
        kept = (self.words(x.numel()) >> U(8)) >= U(math.ceil(p * 2 ** 24))
        mask = torch.from_numpy(kept)
        if x.ndim == 4:
            n, c, h, w = x.shape
            mask = mask.reshape(n, h, w, c).permute(0, 3, 1, 2)
        return x * mask.reshape(x.shape) / (1 - p)


class Net:
    """Parameters in the order they are asked for, the order of the module's members."""

    def __init__(self, seed):
        self.seed, self.made, self.at = seed, [], 0

    def begin(self):
        self.at = 0

    def __call__(self, name, *shape):
        if self.at == len(self.made):
            value = weight(self.seed + self.at, name, shape)
            self.made.append(value.requires_grad_(True))
        self.at += 1
        assert self.made[self.at - 1].shape == shape
        return self.made[self.at - 1]

    def count(self):
        return sum(p.numel() for p in self.made)


class Adam:
    """The form in which eps is not corrected."""

    def __init__(self, net, rate, beta1=.9, beta2=.999, eps=1e-8):
        self.net, self.rate, self.betas, self.eps, self.t, self.state = net, rate, (beta1, beta2), eps, 0, None

    def step(self, grads):
        b1, b2 = self.betas
        self.t += 1
        self.state = self.state or [(torch.zeros_like(g), torch.zeros_like(g)) for g in grads]
        rate = self.rate * math.sqrt(1 - b2 ** self.t) / (1 - b1 ** self.t)
        with torch.no_grad():
            for p, g, (m, v) in zip(self.net.made, grads, self.state):
                m.mul_(b1).add_(g, alpha=1 - b1)
                v.mul_(b2).addcmul_(g, g, value=1 - b2)
                p.sub_(rate * m / (v.sqrt() + self.eps))


# ---- layers ------------------------------------------------------------------------------------------


def batch_norm(net, x):
    c = x.shape[1]
    w, b = net("weight", c), net("bias", c)
    axes = [0] if x.ndim == 2 else [0, 2, 3]
    mean = x.mean(axes, keepdim=True)
    var = ((x - mean) ** 2).mean(axes, keepdim=True)
    form = (1, c) + (1,) * (x.ndim - 2)
    return (x - mean) / torch.sqrt(var + 1e-3) * w.view(form) + b.view(form)


def conv_same(net, x, out, k, stride, bias=True):
    w = net("weight", out, x.shape[1], k, k)
    pads = []
    for size in (x.shape[3], x.shape[2]):
        total = max((math.ceil(size / stride) - 1) * stride + k - size, 0)
        pads += [total // 2, total - total // 2]
    return F.conv2d(F.pad(x, pads), w, net("bias", out) if bias else None, stride)


def conv_up(net, x, out, k, stride, bias=True):
    """The whole transposed convolution, cropped to stride times the size."""
    w = net("weight", x.shape[1], out, k, k)
    y = F.conv_transpose2d(x, w, net("bias", out) if bias else None, stride)
    front, size = max(k - stride, 0) // 2, x.shape[2] * stride
    return y[:, :, front:front + size, front:front + size]


def linear(net, x, out, bias=True):
    w = net("weight", out, x.shape[-1])
    return F.linear(x, w, net("bias", out) if bias else None)


def answer(logits, value):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, value))


# ---- the models --------------------------------------------------------------------------------------


class Model:
    def __init__(self, nets, optimizers):
        self.nets, self.optimizers = nets, optimizers


def dcgan():
    g, d, philox, n = Net(1000), Net(2000), Philox(5), 16

    def generator(z):
        g.begin()
        x = torch.relu(batch_norm(g, linear(g, z, 3136, False))).view(-1, 64, 7, 7)
        x = torch.relu(batch_norm(g, conv_up(g, x, 64, 5, 1, False)))
        x = torch.relu(batch_norm(g, conv_up(g, x, 32, 5, 2, False)))
        return torch.tanh(conv_up(g, x, 1, 5, 2, False))

    def discriminator(x):
        d.begin()
        for c in (64, 128):
            x = philox.dropout(F.leaky_relu(conv_same(d, x, c, 5, 2), .2), .3)
        return linear(d, x.flatten(1), 1)

    def losses(step):
        real, noise = hashed(10 + step, n, 1, 28, 28), hashed(20 + step, n, 100)
        made = generator(noise)
        of_real, of_made = discriminator(real), discriminator(made)
        return [answer(of_made, 1.), answer(of_real, 1.) + answer(of_made, 0.)]
    return [g, d], [Adam(g, 1e-4), Adam(d, 1e-4)], losses, (474464, 212865)


def cvae():
    e, d, n = Net(1000), Net(2000), 20

    def losses(step):
        e.begin(), d.begin()
        x, noise = (hashed(10 + step, n, 1, 28, 28) >= 0).double(), hashed(20 + step, n, 50)
        h = F.relu(F.conv2d(x, e("weight", 32, 1, 3, 3), e("bias", 32), 2))
        h = F.relu(F.conv2d(h, e("weight", 64, 32, 3, 3), e("bias", 64), 2))
        mean, log_var = linear(e, h.flatten(1), 100).chunk(2, 1)
        z = mean + torch.exp(log_var / 2) * noise
        y = F.relu(linear(d, z, 1568)).view(-1, 32, 7, 7)
        y = F.relu(conv_up(d, y, 64, 3, 2))
        y = F.relu(conv_up(d, y, 32, 3, 2))
        y = conv_up(d, y, 1, 3, 1)
        px = -F.binary_cross_entropy_with_logits(y, x, reduction="none").sum((1, 2, 3))
        normal = lambda z, m, v: (-.5 * ((z - m) ** 2 * torch.exp(-v) + v + math.log(2 * math.pi))).sum(1)
        zero = torch.zeros((), dtype=f64)
        return [-(px + normal(z, zero, zero) - normal(z, mean, log_var)).mean()]
    both = Both(e, d)
    return [e, d], [Adam(both, 1e-4)], losses, (249316, 117217)


class Both:
    """Two nets that one optimizer moves."""

    def __init__(self, *nets):
        self.nets = nets

    @property
    def made(self):
        return [p for net in self.nets for p in net.made]


def pix2pix():
    g, d, philox = Net(1000), Net(2000), Philox(5)

    def down(net, x, out, normed):
        x = conv_same(net, x, out, 4, 2, False)
        return F.leaky_relu(batch_norm(net, x) if normed else x, .2)

    def generator(x):
        g.begin()
        seen = []
        for i, c in enumerate((64, 128, 256, 512, 512, 512, 512, 512)):
            x = down(g, x, c, i > 0)
            seen.append(x)
        for i, c in enumerate((512, 512, 512, 512, 256, 128, 64)):
            x = batch_norm(g, conv_up(g, x, c, 4, 2, False))
            x = torch.relu(philox.dropout(x, .5) if i < 3 else x)
            x = torch.cat([x, seen[6 - i]], 1)
        return torch.tanh(conv_up(g, x, 3, 4, 2))

    def discriminator(x, image):
        d.begin()
        x = torch.cat([x, image], 1)
        for c in (64, 128, 256):
            x = down(d, x, c, c > 64)
        x = F.conv2d(x, d("weight", 512, 256, 4, 4), None, 1, 1)
        x = F.leaky_relu(batch_norm(d, x), .2)
        return F.conv2d(x, d("weight", 1, 512, 4, 4), d("bias", 1), 1, 1)

    def losses(step):
        x, target = hashed(10 + step, 1, 3, 256, 256), hashed(20 + step, 1, 3, 256, 256)
        made = generator(x)
        of_real, of_made = discriminator(x, target), discriminator(x, made)
        return [answer(of_made, 1.) + 100 * (target - made).abs().mean(),
                answer(of_real, 1.) + answer(of_made, 0.)]
    return [g, d], [Adam(g, 2e-4, .5), Adam(d, 2e-4, .5)], losses, (54414979, 2768641)


def gru(net, xs, h, units):
    """The reset gate before the recurrent product; gates r, z, n."""
    w, u, b = net("weight", 3 * units, xs[0].shape[1]), net("weight", 3 * units, units), \
        net("bias", 3 * units)
    ys = []
    for x in xs:
        ri, zi, ni = F.linear(x, w, b).chunk(3, 1)
        ru, zu, nu = u.chunk(3)
        r, z = torch.sigmoid(ri + h @ ru.T), torch.sigmoid(zi + h @ zu.T)
        h = z * h + (1 - z) * torch.tanh(ni + (r * h) @ nu.T)
        ys.append(h)
    return ys


def nmt():
    e, d, n, length, target_length, units = Net(1000), Net(2000), 4, 16, 11, 1024

    def ids(seed, words, *shape):
        bits = hashed_bits(seed, math.prod(shape)) % U(words)
        return torch.from_numpy(bits.astype(numpy.int64)).reshape(shape)

    def losses(step):
        source, target = ids(10 + step, 9414, n, length), ids(20 + step, 4935, n, target_length)
        source[:, -3:], target[0, -4:] = 0, 0
        zero = torch.zeros(n, units, dtype=f64)
        e.begin()
        x = F.embedding(source, e("weight", 9414, 256))
        keys = torch.stack(gru(e, list(x.unbind(1)), zero, units), 1)
        state, total = keys[:, -1], 0.
        for t in range(1, target_length):
            d.begin()
            before = F.embedding(target[:, t - 1], d("weight", 4935, 256))
            at = d.at
            if len(d.made) == at:  # the GRU's come before the attention's
                d("weight", 3 * units, units + 256), d("weight", 3 * units, units), d("bias", 3 * units)
            d.at = at + 3
            projected, asked = linear(d, keys, units), linear(d, state, units)
            weights = torch.softmax(linear(d, torch.tanh(projected + asked[:, None]), 1), 1)
            after = d.at
            d.at = at
            state = gru(d, [torch.cat([(weights * keys).sum(1), before], 1)], zero, units)[0]
            d.at = after
            logits = linear(d, state, 4935)
            word = target[:, t]
            total = total + F.cross_entropy(logits, word, ignore_index=0, reduction="sum") / n
        return [total]
    return [e, d], [Adam(Both(e, d), 1e-3)], losses, (6345216, 15502920)


# ---- what is kept --------------------------------------------------------------------------------------


def digest(grad):
    flat = grad.reshape(-1)
    at = (hashed_bits(77, SAMPLES) % U(flat.numel())).astype(numpy.int64)
    return torch.stack([flat.abs().max(), flat.norm(), flat @ hashed(99, flat.numel()),
                        *flat[torch.from_numpy(at)]])


def run(name, make, tensors):
    nets, optimizers, losses, counts = make()
    lost = []
    for step in range(STEPS):
        values = losses(step)
        lists = [net.made for net in nets] if len(values) == 2 else [[p for net in nets for p in net.made]]
        grads = [torch.autograd.grad(value, wanted, retain_graph=i + 1 < len(values))
                 for i, (value, wanted) in enumerate(zip(values, lists))]
        for optimizer, g in zip(optimizers, grads):
            optimizer.step(g)
        lost.append(torch.stack([value.detach() for value in values]))
        tensors[f"{name}/{step}"] = torch.stack([digest(g) for some in grads for g in some])
    assert tuple(net.count() for net in nets) == counts, [net.count() for net in nets]
    tensors[f"{name}/losses"] = torch.stack(lost)
    tensors[f"{name}/parameters"] = torch.tensor(counts)
    print(name, tensors[f"{name}/losses"].tolist())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    tensors = {}
    for name, make in (("dcgan", dcgan), ("cvae", cvae), ("pix2pix", pix2pix), ("nmt", nmt)):
        run(name, make, tensors)
    write_safetensors(os.path.join(arguments.out, "steps.safetensors"), tensors, {})


if __name__ == "__main__":
    main()
