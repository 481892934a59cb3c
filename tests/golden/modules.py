"""Whole modules: x0 is the input, x1 ... the parameters in the module's order, then further inputs."""
import torch

from recorder import Recorder  # noqa: F401  (what r is)

f64 = torch.float64


def run(r, name, module, inputs, forward=None, **options):
    module = module.double()
    names = [n for n, _ in module.named_parameters()]
    weights = [r.uniform(*p.shape, lo=-.6, hi=.6) for p in module.parameters()]
    count = len(weights)

    def call(x, *rest):
        values, more = rest[:count], rest[count:]
        return torch.func.functional_call(module, dict(zip(names, values)), (x, *more)) if not forward \
            else forward(dict(zip(names, values)), x, *more)

    x, *more = inputs
    r.case(name, call, x, *weights, *more, parameters=count, **options)


class Bahdanau(torch.nn.Module):
    def __init__(self, query, keys, units):
        super().__init__()
        self.w1, self.w2 = torch.nn.Linear(keys, units), torch.nn.Linear(query, units)
        self.v = torch.nn.Linear(units, 1)

    def forward(self, query, keys):
        score = self.v(torch.tanh(self.w1(keys) + self.w2(query)[:, None]))
        weights = torch.softmax(score, 1)
        return (weights * keys).sum(1), weights[..., 0]


class Attend(torch.nn.Module):
    """MultiheadAttention under the names of its own parameters."""

    def __init__(self, attention, **options):
        super().__init__()
        for name, p in attention.named_parameters():
            if "." not in name:
                self.register_parameter(name, p)
        self.out_proj = attention.out_proj
        self.inner, self.options = [attention], options

    def forward(self, q, k=None, v=None):
        k = q if k is None else k
        state = dict(self.named_parameters())
        return torch.func.functional_call(self.inner[0].double(), state, (q, k, k if v is None else v),
                                          {**self.options, "average_attn_weights": True})


def modules(r):
    nn = torch.nn
    for kernel, stride, padding, more, groups in ((4, 2, 1, 0, 1), (3, 2, 1, 1, 2), (5, 1, 2, 0, 1)):
        run(r, "conv_transpose2d", nn.ConvTranspose2d(4, 6, kernel, stride, padding, more, groups),
            [r.normal(2, 4, 3, 3)], channels=(4, 6), kernel=kernel, stride=stride, padding=padding,
            output_padding=more, groups=groups)
    run(r, "conv_transpose1d", nn.ConvTranspose1d(2, 3, 3, 2), [r.normal(2, 2, 4)], channels=(2, 3),
        kernel=3, stride=2)
    run(r, "embedding", nn.Embedding(7, 3), [r.integers(2, 5, hi=7)], sizes=(7, 3))
    for kind in ("LSTM", "GRU"):
        for layers, both, first, bias in ((1, False, False, True), (2, True, False, True),
                                          (3, False, True, True), (2, False, False, False)):
            states = [r.normal(layers * (1 + both), 2, 4) for _ in range(2 if kind == "LSTM" else 1)]
            module = nn.LSTM if kind == "LSTM" else nn.GRU
            module = module(3, 4, layers, bias, first, bidirectional=both)
            x = r.normal(2, 5, 3) if first else r.normal(5, 2, 3)
            wrap = StateLast(module)
            run(r, kind.lower(), wrap, [x, *states], sizes=(3, 4), layers=layers, bidirectional=both,
                batch_first=first, bias=bias)
    wrap = StateLast(nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True))
    run(r, "lstm", wrap, [r.normal(3, 2, 3), r.normal(4, 2, 2), r.normal(4, 2, 4)], sizes=(3, 4),
        layers=2, bidirectional=True, bias=True, projection=2)
    run(r, "additive_attention", Bahdanau(3, 4, 5), [r.normal(2, 3), r.normal(2, 6, 4)], sizes=(3, 4, 5))
    attention = nn.MultiheadAttention
    run(r, "multi_head", Attend(attention(6, 2, batch_first=True)), [r.normal(2, 4, 6)], sizes=(6, 2))
    run(r, "multi_head", Attend(attention(6, 3, batch_first=True, bias=False)), [r.normal(2, 4, 6)],
        sizes=(6, 3), bias=False)
    causal = torch.ones(4, 4).triu(1).bool()
    run(r, "multi_head", Attend(attention(6, 2, batch_first=True), attn_mask=causal),
        [r.normal(2, 4, 6)], sizes=(6, 2), causal=True)
    run(r, "multi_head", Attend(attention(6, 2, batch_first=True)), [r.normal(2, 4, 6), r.normal(2, 5, 6)],
        sizes=(6, 2))
    run(r, "multi_head", Attend(attention(4, 2, kdim=3, vdim=5, batch_first=True)),
        [r.normal(2, 3, 4), r.normal(2, 6, 3), r.normal(2, 6, 5)], sizes=(4, 2), widths=(3, 5))
    for first, activation in ((False, "relu"), (True, "gelu")):
        given = {"dropout": 0, "activation": activation, "norm_first": first, "batch_first": True}
        told = {"sizes": (6, 2, 8), "norm_first": first, "gelu": activation == "gelu"}
        run(r, "encoder_layer", nn.TransformerEncoderLayer(6, 2, 8, **given), [r.normal(2, 4, 6)], **told)
        run(r, "decoder_layer", Causal(nn.TransformerDecoderLayer(6, 2, 8, **given)),
            [r.normal(2, 4, 6), r.normal(2, 5, 6)], **told)


class Reader(torch.nn.Module):
    """A layer in both directions, one above it, and one that adds to what it reads; the states of all as one."""

    def __init__(self, layer, steps, lengths):
        super().__init__()
        self.both, self.middle, self.top = layer(3, 4, bidirectional=True), layer(8, 4), layer(4, 4)
        self.steps, self.lengths = steps, lengths

    def read(self, layer, x, states):
        if self.lengths:
            x = torch.nn.utils.rnn.pack_padded_sequence(x, self.lengths, enforce_sorted=False)
        y, last = layer(x, tuple(states) if len(states) == 2 else states[0])
        if self.lengths:
            y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=self.steps)
        return y, last if len(states) == 2 else (last,)

    def forward(self, x, *states):
        y, first = self.read(self.both, x, [s[:2] for s in states])
        y, second = self.read(self.middle, y, [s[2:3] for s in states])
        z, third = self.read(self.top, y, [s[3:] for s in states])
        return (y + z, *(torch.cat(parts) for parts in zip(first, second, third)))


def recurrent(r):
    for kind in ("LSTM", "GRU"):
        for lengths in (None, (3, 5)):
            states = [r.normal(4, 2, 4) for _ in range(2 if kind == "LSTM" else 1)]
            run(r, f"reader_{kind.lower()}", Reader(getattr(torch.nn, kind), 5, lengths), [r.normal(5, 2, 3), *states],
                lengths=lengths)


class Causal(torch.nn.Module):
    """A decoder's layer of which no step sees those behind it."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x, memory):
        return self.inner(x, memory, tgt_mask=torch.ones(x.shape[1], x.shape[1]).triu(1).bool())


class StateLast(torch.nn.Module):
    """A recurrent module that takes and gives its states one by one."""

    def __init__(self, inner):
        super().__init__()
        for name, p in inner.named_parameters():
            self.register_parameter(name, p)
        self.inner = [inner]

    def forward(self, x, *states):
        inner = self.inner[0].double()
        y, last = torch.func.functional_call(inner, dict(self.named_parameters()),
                                             (x, states if len(states) == 2 else states[0]))
        return (y, *last) if len(states) == 2 else (y, last)
