"""The PyTorch side of compare.py: speaks compare.py's line protocol on stdin and stdout.

    python3 torch_serve.py OPS_FILE THREADS [DEVICE [smoke]]

Each op below gives the ways a user might write it (memory formats, optimizer implementations); all
are timed once and the fastest is kept. Results are freshly allocated, as in a user's program.
Gradients alone call the backward kernel itself, without the autograd engine around it. On a CUDA device
samples are calls queued between two events, as Egret's are."""
import json
import sys
import time

import torch
import torch.nn.functional as F

from opsfile import read_cases

aten = torch.ops.aten
FORMATS = {"nchw": torch.contiguous_format, "nhwc": torch.channels_last}
OPS = {}
DEVICE = torch.device(sys.argv[3] if len(sys.argv) > 3 else "cpu")
dtype = torch.float32  # of the case being prepared


def op(function):
    """Registers function(p) -> {variant: callable}, p the parameters of a case."""
    OPS[function.__name__] = function
    return function


def rand(*shape, form="nchw"):
    return (torch.rand(*shape) - .5).to(dtype).contiguous(memory_format=FORMATS[form])


def per_format(build):
    return {form: build(form) for form in FORMATS}


@op
def matmul(p):
    a, b = rand(p.b, *((p.k, p.m) if p.ta else (p.m, p.k))), rand(p.b, *((p.n, p.k) if p.tb else (p.k, p.n)))
    a, b = a.mT if p.ta else a, b.mT if p.tb else b
    if p.b == 1:
        a, b = a[0], b[0]
    return {"": lambda: a @ b}


@op
def linear(p):
    x, w, b = rand(p.m, p.k), rand(p.n, p.k), rand(p.n)
    act = {"none": lambda y: y, "relu": torch.relu, "gelu": F.gelu}[p.act]
    ways = {"": lambda: act(F.linear(x, w, b))}
    if p.act == "relu" and DEVICE.type == "cuda":
        ways["epilogue"] = lambda: torch._addmm_activation(b, x, w.t())
    return ways


@op
def pruned(p):
    w = rand(p.n, p.k)
    w[w.abs() < w.abs().flatten().kthvalue(p.n * p.k - p.n * p.k * p.left // 100).values] = 0
    thin = w.to_sparse_csr()
    if not p.ih:
        x = rand(p.m, p.k)
        return {"dense": lambda: F.linear(x, w), "csr": lambda: (thin @ x.t()).t(),
                "csr_contiguous": lambda: (thin @ x.t()).t().contiguous()}
    ways = {}
    for form in FORMATS:
        x, kernel = rand(p.m, p.k, p.ih, p.ih, form=form), w[:, :, None, None].contiguous()
        ways["dense_" + form] = lambda x=x, kernel=kernel: F.conv2d(x, kernel)
        if p.m == 1 and form == "nchw":
            ways["csr"] = lambda x=x: (thin @ x.view(p.k, -1)).view(1, p.n, p.ih, p.ih)
    return ways


def convolution(p, form, transposed):
    out_pad = [p.po] * 2 if transposed else [0, 0]
    groups = 1 if transposed else p.g
    x = rand(p.n, p.ic, p.ih, p.ih, form=form)
    w = rand(*((p.ic, p.oc) if transposed else (p.oc, p.ic // groups)), p.k, p.k, form=form)
    s, pad, ones = [p.s] * 2, [p.p] * 2, [1, 1]
    if transposed:
        forward = lambda: F.conv_transpose2d(x, w, None, s, pad, out_pad)
    else:
        forward = lambda: F.conv2d(x, w, None, s, pad, 1, groups)
    if p.dir == "fwd":
        return forward
    dy = rand(*forward().shape, form=form)
    mask = [p.dir == "data", p.dir == "weight", False]
    return lambda: aten.convolution_backward(dy, x, w, None, s, pad, ones, transposed, out_pad, groups,
                                             mask)[0 if mask[0] else 1]


@op
def conv(p):
    return per_format(lambda form: convolution(p, form, False))


@op
def convt(p):
    return per_format(lambda form: convolution(p, form, True))


UNARY = {"relu": torch.relu, "exp": torch.exp, "log": torch.log, "tanh": torch.tanh,
         "sigmoid": torch.sigmoid, "gelu": F.gelu,
         "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu,
         "sqrt": torch.sqrt, "square": torch.square}


@op
def unary(p):
    function = UNARY[p.f]
    x = rand(p.n) + .6 if p.f in ("log", "sqrt") else rand(p.n)
    if p.dir == "fwd":
        return {"": lambda: function(x)}
    y, dy = function(x), rand(p.n)
    return {"": {"relu": lambda: aten.threshold_backward(dy, y, 0),
                 "tanh": lambda: aten.tanh_backward(dy, y),
                 "sigmoid": lambda: aten.sigmoid_backward(dy, y),
                 "gelu": lambda: aten.gelu_backward(dy, x)}[p.f]}


@op
def binary(p):
    a, b = rand(p.n), rand(p.n) + 1
    function = getattr(torch, p.f)
    return {"": lambda: function(a, b)}


@op
def taped(p):
    a, b, dy = rand(p.n).requires_grad_(True), rand(p.n).requires_grad_(True), rand(p.n)
    return {"": lambda: torch.autograd.grad(a + b, (a, b), dy)}


@op
def copy(p):
    x, y = rand(p.n), torch.zeros(p.n)
    return {"": lambda: y.copy_(x)}


@op
def index_add(p):
    x, ids, source = rand(p.rows, p.cols), torch.randint(p.rows, (p.ids,)), rand(p.ids, p.cols)
    return {"": lambda: torch.index_add(x, 0, ids, source)}


@op
def sort(p):
    x = rand(p.rows, p.cols)
    return {"": lambda: torch.sort(x, 1), "stable": lambda: torch.sort(x, dim=1, stable=True)}


@op
def fft(p):
    x = torch.complex(rand(p.rows, p.cols), rand(p.rows, p.cols))
    return {"": lambda: torch.view_as_real(torch.fft.fft(x))}


@op
def rfft(p):
    x = rand(p.rows, p.cols)
    return {"": lambda: torch.view_as_real(torch.fft.rfft(x))}


@op
def matrices(p):
    a, b, linalg = rand(p.b, p.n, p.n), rand(p.b, p.n, 1), torch.linalg
    return {"": {"det": lambda: linalg.det(a), "inverse": lambda: linalg.inv(a), "solve": lambda: linalg.solve(a, b),
                 "svd": lambda: linalg.svd(a, full_matrices=False)[0], "eigh": lambda: linalg.eigh(a)[1]}[p.f]}


@op
def bias(p):
    x, b = rand(p.rows, p.cols), rand(p.cols)
    return {"": lambda: x + b}


@op
def cast(p):
    x, dtype = rand(p.n), {"bf16": torch.bfloat16}[p.to]
    return {"": lambda: x.to(dtype)}


@op
def reduce(p):
    x = rand(p.rows, p.cols)
    function = {"max": torch.amax, "argmax": torch.argmax}.get(p.f) or getattr(torch, p.f)
    axes = (0, 1) if p.axis < 0 and p.f in ("max", "logsumexp") else None if p.axis < 0 else p.axis
    return {"": (lambda: function(x)) if axes is None else (lambda: function(x, axes))}


@op
def cumsum(p):
    x = rand(p.rows, p.cols)
    return {"": lambda: torch.cumsum(x, 1)}


@op
def softmax(p):
    x = rand(p.rows, p.cols)
    if p.dir == "fwd":
        return {"": lambda: torch.softmax(x, 1)}
    y, dy = torch.softmax(x, 1), rand(p.rows, p.cols)
    return {"": lambda: aten._softmax_backward_data(dy, y, 1, x.dtype)}


@op
def log_softmax(p):
    x = rand(p.rows, p.cols)
    return {"": lambda: torch.log_softmax(x, 1)}


@op
def cross_entropy(p):
    x, t = rand(p.rows, p.cols), torch.randint(p.cols, (p.rows,))
    if p.dir == "fwd":
        return {"": lambda: F.cross_entropy(x, t)}
    x.requires_grad_(True)
    return {"": lambda: torch.autograd.grad(F.cross_entropy(x, t), x)}


@op
def ctc(p):
    x = torch.log_softmax(rand(p.t, p.n, p.classes), 2)
    labels = torch.randint(1, p.classes, (p.n, p.labels))
    counts, frames = torch.full((p.n,), p.labels), torch.full((p.n,), p.t)
    if p.dir == "fwd":
        return {"": lambda: F.ctc_loss(x, labels, frames, counts)}
    x.requires_grad_(True)
    return {"": lambda: torch.autograd.grad(F.ctc_loss(x, labels, frames, counts), x)}


@op
def layer_norm(p):
    x, w, b = rand(p.rows, p.cols), rand(p.cols), rand(p.cols)
    if p.dir == "fwd":
        return {"": lambda: F.layer_norm(x, (p.cols,), w, b)}
    dy = rand(p.rows, p.cols)
    _, mean, rstd = aten.native_layer_norm(x, (p.cols,), w, b, 1e-5)
    return {"": lambda: aten.native_layer_norm_backward(dy, x, (p.cols,), mean, rstd, w, b,
                                                        [True, True, True])}


@op
def batch_norm(p):
    def build(form):
        x = rand(p.n, p.c, p.h, p.h, form=form)
        w, b, mean, var = rand(p.c), rand(p.c), torch.zeros(p.c), torch.ones(p.c)
        if p.dir != "bwd":
            return lambda: F.batch_norm(x, mean, var, w, b, p.dir == "fwd")
        dy = rand(p.n, p.c, p.h, p.h, form=form)
        _, save_mean, save_rstd = aten.native_batch_norm(x, w, b, mean, var, True, .1, 1e-5)
        return lambda: aten.native_batch_norm_backward(dy, x, w, mean, var, save_mean, save_rstd,
                                                       True, 1e-5, [True, True, True])
    return per_format(build)


@op
def max_pool(p):
    x, window = rand(p.n, p.c, p.h, p.h, form=p.form), ([p.k] * 2, [p.s] * 2, [p.p] * 2, [1, 1])
    if p.dir == "fwd":
        return {"": lambda: F.max_pool2d(x, *window)}
    y, where = F.max_pool2d(x, *window, return_indices=True)
    dy = rand(*y.shape, form=p.form)
    return {"": lambda: aten.max_pool2d_with_indices_backward(dy, x, *window, False, where)}


@op
def avg_pool(p):
    x, window = rand(p.n, p.c, p.h, p.h, form=p.form), ([p.k] * 2, [p.s] * 2, [p.p] * 2)
    if p.dir == "fwd":
        return {"": lambda: F.avg_pool2d(x, *window)}
    dy = rand(*F.avg_pool2d(x, *window).shape, form=p.form)
    return {"": lambda: aten.avg_pool2d_backward(dy, x, *window, False, True, None)}


@op
def grid_sample(p):
    x, grid = rand(p.n, p.c, p.h, p.h, form=p.form), 2 * rand(p.n, p.h, p.h, 2)
    if p.dir == "fwd":
        return {"": lambda: F.grid_sample(x, grid, align_corners=False)}
    dy = rand(*x.shape, form=p.form)
    return {"": lambda: aten.grid_sampler_2d_backward(dy, x, grid, 0, 0, False, [True, True])}


@op
def attention(p):
    sizes = (p.t, p.s, p.s)
    q, k, v = (rand(p.n, p.h, steps, p.d) * 4 for steps in sizes)
    if p.dir == "fwd":
        return {"": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=bool(p.causal))}
    flash, back = {"cpu": (aten._scaled_dot_product_flash_attention_for_cpu,
                           aten._scaled_dot_product_flash_attention_for_cpu_backward)}[DEVICE.type]
    y, stats = flash(q, k, v, 0., bool(p.causal))[:2]
    dy = rand(*y.shape)
    return {"": lambda: back(dy, q, k, v, y, stats, 0., bool(p.causal))}


@op
def dropout(p):
    x = rand(p.n)
    return {"": lambda: F.dropout(x, .5, True)}


@op
def uniform(p):
    return {"": lambda: torch.rand(p.n, device=DEVICE)}


@op
def normal(p):
    return {"": lambda: torch.randn(p.n, device=DEVICE)}


@op
def embedding(p):
    table, ids = rand(p.vocab, p.width), torch.randint(p.vocab, (p.ids,))
    if p.dir == "fwd":
        return {"": lambda: F.embedding(ids, table)}
    dy = rand(p.ids, p.width)
    return {"": lambda: aten.embedding_dense_backward(dy, ids, p.vocab, -1, False)}


@op
def transpose(p):
    x = rand(p.rows, p.cols)
    return {"": lambda: x.t().contiguous()}


@op
def nhwc(p):
    x = rand(p.n, p.c, p.h, p.h)
    return {"permute": lambda: x.permute(0, 2, 3, 1).contiguous(),
            "memory_format": lambda: x.contiguous(memory_format=torch.channels_last)}


@op
def every_second(p):
    x = rand(2 * p.n)
    return {"": lambda: x[::2].contiguous()}


@op
def concat(p):
    a, b = rand(p.rows, p.cols), rand(p.rows, p.cols)
    return {"": lambda: torch.cat((a, b), p.axis)}


def recurrent(p, kind):
    module, x = kind(p.i, p.h), rand(p.t, p.n, p.i)
    if p.dir == "fwd":
        return {"": lambda: module(x)[0]}
    leaves, dy = [x.requires_grad_(True), *module.parameters()], rand(p.t, p.n, p.h)
    return {"": lambda: torch.autograd.grad(module(x)[0], leaves, dy)}


@op
def lstm(p):
    return recurrent(p, torch.nn.LSTM)


@op
def gru(p):
    return recurrent(p, torch.nn.GRU)


def optimizer(p, kind, **options):
    variants = {}
    ways = {"loop": dict(foreach=False), "foreach": dict(foreach=True), "fused": dict(fused=True)}
    if DEVICE.type == "cuda":
        del ways["loop"]
        if kind is torch.optim.Adam:
            ways["foreach capturable"] = dict(foreach=True, capturable=True)
            ways["fused capturable"] = dict(fused=True, capturable=True)
    for name, choice in ways.items():
        parameters = [torch.nn.Parameter(rand(p.each)) for _ in range(p.tensors)]
        for parameter in parameters:
            parameter.grad = rand(p.each)
        variants[name] = kind(parameters, lr=1e-4, **choice, **options).step
    return variants


@op
def sgd(p):
    return optimizer(p, torch.optim.SGD, momentum=.9)


@op
def adam(p):
    return optimizer(p, torch.optim.Adam)


NEEDS_GRAPH = ("lstm", "gru", "cross_entropy", "ctc", "sgd", "adam", "taped")


def samples(function, budget_us):
    """Seconds per call: samples of at least 20 us, at least 3, for about budget_us."""
    clock = time.perf_counter
    start = clock()
    function()
    once = clock() - start
    batch = max(1, int(20e-6 / max(once, 1e-8)))
    taken, start = [], clock()
    while len(taken) < 3 or clock() - start < budget_us * 1e-6:
        before = clock()
        for _ in range(batch):
            function()
        taken.append((clock() - before) / batch)
    return sorted(taken)


def queued(function, calls):
    """Seconds of the device and of the host per call."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    before = time.perf_counter()
    start.record()
    for _ in range(calls):
        function()
    host = time.perf_counter() - before
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e-3 / calls, host / calls


def samples_there(function, budget_us):
    """Of a CUDA device: seconds per call, samples of about 2 ms and at most 200 calls; and the host's."""
    once, _ = queued(function, 3)
    calls = 200 if once * 200 < 2e-3 else int(2e-3 / once) + 1
    taken, start = [], time.perf_counter()
    while len(taken) < 3 or time.perf_counter() - start < budget_us * 1e-6:
        taken.append(queued(function, calls))
    return [sorted(column) for column in zip(*taken)]


def measure(function, budget_us):
    if DEVICE.type == "cuda":
        return samples_there(function, budget_us)
    taken = samples(function, budget_us)
    return taken, taken


def elements(result):
    """Elements of a result, to be compared with what the other side made."""
    if result is None:
        return 0
    return sum(map(elements, result)) if isinstance(result, (tuple, list)) else result.numel()


class Current:
    """The case being measured; its tensors live until another case is asked for."""

    def __init__(self):
        self.name = self.variant = self.function = None

    def run(self, case, budget_us):
        graph = case.op in NEEDS_GRAPH and getattr(case, "dir", "train") != "fwd"
        with torch.inference_mode(not graph):
            if self.name != case.name:
                self.choose(case, budget_us)
            taken, host = measure(self.function, budget_us)
        return {"min_us": taken[0] * 1e6, "median_us": taken[len(taken) // 2] * 1e6,
                "host_us": host[len(host) // 2] * 1e6,
                "calls": len(taken), "variant": self.variant, "elements": self.made}

    def choose(self, case, budget_us):
        global dtype
        self.name = self.function = None
        torch.manual_seed(0)
        if DEVICE.type == "cuda":
            torch.cuda.empty_cache()  # others use the card too
        dtype = {"bf16": torch.bfloat16}.get(getattr(case, "dtype", ""), torch.float32)
        rounded = getattr(case, "math", "") == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = rounded
        torch.backends.cudnn.benchmark = True
        with torch.device(DEVICE):
            variants = OPS[case.op](case)
        for function in variants.values():
            self.made = elements(function())
        scores = dict.fromkeys(variants, float("inf"))
        for _ in range(3 if len(variants) > 1 else 0):  # in turn, for the machine has other users
            for name, function in variants.items():
                scores[name] = min(scores[name], measure(function, budget_us / 3)[0][0])
        self.variant = min(scores, key=scores.get)
        self.name, self.function = case.name, variants[self.variant]


def main():
    cases, current = read_cases(sys.argv[1], "smoke" in sys.argv[4:]), Current()
    torch.set_num_threads(int(sys.argv[2]))
    torch.set_num_interop_threads(1)
    for line in sys.stdin:
        words = line.split()
        try:
            if words[0] == "about":
                answer = {"library": f"PyTorch {torch.__version__}", "threads": torch.get_num_threads(),
                          "device": torch.cuda.get_device_name(DEVICE) if DEVICE.type == "cuda" else "CPU"}
            elif words[0] == "run":
                answer = current.run(cases[words[1]], float(words[2]))
            else:
                answer = {"error": f"unknown request: {words[0]}"}
        except Exception as error:  # the driver decides what a refusal means
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
