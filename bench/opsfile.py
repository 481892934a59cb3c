"""Reads ops.txt and says how much work a case is."""


class Case:
    """A line of ops.txt: name, op, and its keys as attributes."""

    def __init__(self, name, op, **keys):
        self.name, self.op = name, op
        self.__dict__.update(keys)


def value(text):
    try:
        return int(text)
    except ValueError:
        return text


SMOKE = 24  # sizes are cut to it where a run only is to show that all cases work


def read_cases(path, smoke=False):
    """The cases by name, in the order of the file."""
    cases = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) < 2 or words[0] in cases or not all("=" in word for word in words[2:]):
                raise SystemExit(f"{path}:{number}: not a case, or a name used twice: {line.strip()}")
            pairs = (word.split("=", 1) for word in words[2:])
            keys = {k: value(v) for k, v in pairs}
            if smoke:
                keys = {k: min(v, SMOKE) if isinstance(v, int) else v for k, v in keys.items()}
            cases[words[0]] = Case(words[0], words[1], **keys)
    return cases


def taps(size, kernel, stride, pad, out):
    """Kernel positions inside the image, summed over the places of one axis."""
    return sum(max(0, min(kernel, size - (i * stride - pad)) - max(0, pad - i * stride))
               for i in range(out))


def conv_work(p):
    if p.op == "conv":
        big, small, wide, narrow, groups = p.ih, (p.ih + 2 * p.p - p.k) // p.s + 1, p.ic, p.oc, p.g
    else:  # the adjoint of the convolution from its output to its input
        big, small = (p.ih - 1) * p.s - 2 * p.p + p.k + p.po, p.ih
        wide, narrow, groups = p.oc, p.ic, 1
    inside = taps(big, p.k, p.s, p.p, small) ** 2
    flops = 2 * p.n * wide * narrow // groups * inside
    parts = {"image": p.n * wide * big * big, "map": p.n * narrow * small * small,
             "weight": wide * narrow // groups * p.k * p.k}
    result = {("conv", "fwd"): "map", ("conv", "data"): "image", ("convt", "fwd"): "image",
              ("convt", "data"): "map"}.get((p.op, p.dir), "weight")
    written = parts.pop(result)
    return flops, 4 * sum(parts.values()), 4 * written


def recurrent_work(p, gates):
    """Two products forward, four more backward; weights, states and gates move once."""
    passes = 1 if p.dir == "fwd" else 3
    flops = 2 * p.t * p.n * gates * p.h * (p.i + p.h) * passes
    weights = gates * p.h * (p.i + p.h + 2)
    return flops, 4 * (weights + p.t * p.n * p.i) * passes, 4 * p.t * p.n * p.h * passes


def attention_work(p):
    """Two products forward, five backward, half of them where queries see no later keys; operands move once."""
    back = p.dir != "fwd"
    flops = (5 if back else 2) * 2 * p.n * p.h * p.t * p.s * p.d // (2 if p.causal else 1)
    queries, keys = (p.n * p.h * rows * p.d * (2 if getattr(p, "dtype", "") else 4) for rows in (p.t, p.s))
    return flops, (3 if back else 1) * queries + 2 * keys, queries + (2 * keys if back else 0)


def work(p):
    """(flops, bytes read, bytes written) that no implementation can do without, for numbers of f32. The
    arithmetic of pointwise functions counts nothing."""
    op = p.op
    if op == "matmul":
        return (2 * p.b * p.m * p.k * p.n, 4 * p.b * (p.m * p.k + p.k * p.n), 4 * p.b * p.m * p.n)
    if op == "linear":
        return 2 * p.m * p.k * p.n, 4 * (p.m * p.k + p.k * p.n + p.n), 4 * p.m * p.n
    if op == "pruned":
        m = p.m * (p.ih * p.ih or 1)
        left = p.k * p.n * p.left // 100
        return 2 * m * left, 4 * (m * p.k + 2 * left), 4 * m * p.n
    if op in ("conv", "convt"):
        return conv_work(p)
    if op == "attention":
        return attention_work(p)
    if op in ("lstm", "gru"):
        return recurrent_work(p, 4 if op == "lstm" else 3)
    if op in ("sgd", "adam"):
        n = 4 * p.tensors * p.each
        return (0, 3 * n, 2 * n) if op == "sgd" else (0, 4 * n, 3 * n)
    return (0, *moved(p))


def moved(p):
    """Bytes read and written by an op that memory bounds."""
    op, backward = p.op, getattr(p, "dir", "fwd") in ("bwd", "train")
    if op in ("unary", "dropout"):
        return (8 if backward else 4) * p.n, 4 * p.n
    if op == "binary":
        return 8 * p.n, 4 * p.n
    if op == "cast":
        return 4 * p.n, 2 * p.n
    if op in ("uniform", "normal"):
        return 0, 4 * p.n
    if op == "copy":
        return 4 * p.n, 4 * p.n
    if op == "matrices":
        n, results = 4 * p.b * p.n * p.n, {"det": 0, "solve": 0, "svd": 2}
        return n, n * results.get(p.f, 1)
    if op == "taped":
        return 12 * p.n, 8 * p.n
    if op == "index_add":
        return 4 * (p.rows + p.ids) * p.cols, 4 * p.rows * p.cols
    if op == "every_second":
        return 8 * p.n, 4 * p.n
    if op == "nhwc":
        return 4 * p.n * p.c * p.h * p.h, 4 * p.n * p.c * p.h * p.h
    if op == "batch_norm":
        n = 4 * p.n * p.c * p.h * p.h
        return (2 if backward else 1) * n, n
    if op in ("max_pool", "avg_pool"):
        big, small = p.n * p.c * p.h * p.h, p.n * p.c * ((p.h + 2 * p.p - p.k) // p.s + 1) ** 2
        if not backward:
            return 4 * big, 4 * small
        return 4 * (small + (big if op == "max_pool" else 0)), 4 * big
    if op == "grid_sample":
        n, points = 4 * p.n * p.c * p.h * p.h, 8 * p.n * p.h * p.h
        return (2 if backward else 1) * n + points, n + (points if backward else 0)
    if op == "embedding":
        rows = 4 * p.ids * p.width
        return (rows, rows) if not backward else (rows, 4 * p.vocab * p.width)
    if op == "ctc":
        n = 4 * p.n * p.t * p.classes
        return 4 * p.n * p.t * (p.labels + 1), n if backward else 4
    n = 4 * p.rows * p.cols
    if op == "reduce":
        return n, 4 * {-1: 1, 0: p.cols, 1: p.rows}[p.axis]
    if op == "concat":
        return 2 * n, 2 * n
    if op == "sort":
        return n, 3 * n
    if op == "fft":
        return 2 * n, 2 * n
    if op == "cross_entropy":
        return n, n if backward else 4
    return (2 * n if backward else n), n
