"""Golden cases of losses, recurrent layers, optimizers, clipping and schedules."""
import math

import torch
import torch.nn.functional as F

f64 = torch.float64


def softmax(r):
    for shape, axis in (((3, 5), -1), ((3, 2), 0), ((2, 4, 2), 1), ((1, 7), 1), ((6,), 0)):
        for name in ("softmax", "log_softmax"):
            r.case(name, lambda x: getattr(torch, name)(x, axis), r.normal(*shape) * 3, axis=axis)
    wild = torch.tensor([[1e4, 1e4 + 1, 0], [-math.inf, 0, 1], [-1e4, -1e4, -1e4]], dtype=f64)
    for name in ("softmax", "log_softmax"):
        r.case(name, lambda x: getattr(torch, name)(x, 1), wild, diff=(), axis=1)


def attention(r):
    """Scaled dot products; `causal` aligns the last query with the last key. Shared: one head of k and v for all."""
    for lead, t, s, d, v in (((), 3, 5, 4, 4), ((2,), 4, 4, 3, 5), ((2, 2), 3, 5, 3, 3), ((1, 2), 1, 6, 2, 3)):
        for kind in ("plain", "causal", "seen", "added", "shared"):
            one_attention(r, kind, lead, t, s, d, v)
    shared_heads(r)
    rotary(r)


def one_attention(r, kind, lead, t, s, d, v):
    others = (*lead[:-1], 1) if lead and kind == "shared" else lead
    q, k, x = r.normal(*lead, t, d), r.normal(*others, s, d), r.normal(*others, s, v)
    scale = .4 if kind == "shared" else None
    options, mask = {"kind": kind, "scale": scale}, []
    if kind == "seen":
        mask = [r.bools(t, s)]
        mask[0][:, 0] = True
    elif kind == "added":
        mask = [r.normal(*lead, t, s)]

    def run(q, k, x, m=None):
        if kind == "causal":
            m = torch.ones(t, s, dtype=torch.bool).tril(s - t)
        return F.scaled_dot_product_attention(q, k, x, attn_mask=m, scale=scale)

    r.case("attention", run, q, k, x, *mask, **options)


def slopes_of(heads):
    """ALiBi's (Press et al. 2022): of a power of two; of another number every second one of twice as many behind those."""
    below = 1 << heads.bit_length() - 1
    first = [2 ** (-8 * (i + 1) / below) for i in range(below)]
    more = [2 ** (-4 * (2 * i + 1) / below) for i in range(heads - below)]
    return torch.tensor(first + more, dtype=torch.float64)


def shared_heads(r):
    """`heads` of q for every few of k and v, windows of keys before the last ones, slopes times distances."""
    for heads, others, t, s, window, alibi, causal in ((4, 2, 5, 5, None, False, False), (6, 1, 4, 7, None, False, True),
                                                       (4, 4, 6, 6, 2, False, True), (4, 4, 6, 6, 1, False, False),
                                                       (8, 8, 5, 5, None, True, True), (6, 3, 5, 5, 3, True, True)):
        distance = torch.arange(s) - torch.arange(s - t, s)[:, None]
        seen = torch.ones(t, s, dtype=torch.bool) if not causal else distance <= 0
        if window:
            seen &= distance.abs() <= window if not causal else distance >= -window
        bias = torch.zeros(t, s, dtype=torch.float64).masked_fill(~seen, -torch.inf).expand(heads, t, s)
        if alibi:
            bias = bias - slopes_of(heads)[:, None, None] * distance.abs()

        def run(q, k, v):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, enable_gqa=heads != others)

        r.case("shared_heads", run, r.normal(2, heads, t, 4), r.normal(2, others, s, 4), r.normal(2, others, s, 3),
               heads=heads, causal=causal, window=window, alibi=alibi)


def rotary(r):
    """Pairs of columns as complex numbers, times e^(i angle)."""
    for shape, width, interleaved, start, base in (((2, 3, 5, 8), 8, True, 0, 1e4), ((2, 3, 5, 8), 8, False, 7, 1e4),
                                                   ((3, 4, 6), 4, True, 2, 100.), ((1, 2, 3, 7), 6, False, 0, 5e5)):
        at = torch.arange(start, start + shape[-2], dtype=torch.float64)
        angles = at[:, None] * base ** (-2 * torch.arange(width // 2, dtype=torch.float64) / width)
        turned = torch.polar(torch.ones_like(angles), angles)

        def run(x):
            pairs = x[..., :width].unflatten(-1, (-1, 2) if interleaved else (2, -1))
            pairs = pairs if interleaved else pairs.transpose(-1, -2)
            y = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turned)
            y = y if interleaved else y.transpose(-1, -2)
            return torch.cat([y.flatten(-2), x[..., width:]], -1)

        r.case("rotary", run, r.normal(*shape), width=width, interleaved=interleaved, start=start, base=base)


def loss(r):
    classification(r)
    pairs(r)
    focal(r)


def classification(r):
    for shape, reductions in (((4, 3), ("mean", "sum", "none")), ((2, 3, 2), ("mean", "none")),
                              ((1, 2, 2, 2), ("sum",))):
        for reduction in reductions:
            for smoothing in (0.0, .1):
                cross_entropy(r, shape, dict(reduction=reduction, label_smoothing=smoothing))
            nll(r, shape, dict(reduction=reduction))


def cross_entropy(r, shape, options):
    n, c, *rest = shape
    logits, dense = r.normal(*shape), torch.softmax(r.normal(*shape), 1)
    ids, weight = r.integers(n, *rest, hi=c), r.uniform(c, lo=.3, hi=2)
    ids.view(-1)[0] = 1
    holed = ids.clone()
    holed.view(-1)[::3] = -100
    plain = {**options, "target": "index"}
    r.case("cross_entropy", lambda x, t: F.cross_entropy(x, t, **options), logits, ids, **plain)
    r.case("cross_entropy", lambda x, t, w: F.cross_entropy(x, t, w, **options), logits, holed,
           weight, diff=(0,), ignore_index=-100, **plain)
    r.case("cross_entropy", lambda x, t: F.cross_entropy(x, t, ignore_index=1, **options), logits,
           ids, ignore_index=1, **plain)
    r.case("cross_entropy", lambda x, t, w: F.cross_entropy(x, t, w, **options), logits, dense,
           weight, diff=(0, 1), target="dense", **options)
    r.case("cross_entropy", lambda x, t: F.cross_entropy(x, t, **options), logits, dense,
           target="dense", **options)


def nll(r, shape, options):
    n, c, *rest = shape
    ids, weight = r.integers(n, *rest, hi=c), r.uniform(c, lo=.3, hi=2)
    ids.view(-1)[0] = 1
    r.case("nll_loss", lambda x, t: F.nll_loss(x, t, **options), r.normal(*shape), ids, **options)
    r.case("nll_loss", lambda x, t, w: F.nll_loss(x, t, w, ignore_index=1, **options),
           r.normal(*shape), ids, weight, diff=(0,), ignore_index=1, **options)


def pairs(r):
    for shape, reduction in (((5,), "mean"), ((2, 3), "sum"), ((2, 1, 2), "none")):
        how = dict(reduction=reduction)
        x, t = r.normal(*shape), r.uniform(*shape)
        r.case("bce_with_logits", lambda x, t: F.binary_cross_entropy_with_logits(x, t, **how),
               x, t, **how)
        r.case("bce_with_logits", lambda x, t, p: F.binary_cross_entropy_with_logits(
            x, t, pos_weight=p, **how), x, t, r.uniform(shape[-1], lo=.5, hi=3), diff=(0, 1),
            inputs="pos_weight", **how)
        r.case("bce_with_logits", lambda x, t, w: F.binary_cross_entropy_with_logits(
            x, t, w, **how), x, t, r.uniform(*shape, lo=.5, hi=3), diff=(0, 1),
            inputs="weight", **how)
        r.case("bce", lambda x, t: F.binary_cross_entropy(x, t, **how),
               r.uniform(*shape, lo=.05, hi=.95), t, diff=(0,), **how)
        for name, function in (("l1_loss", F.l1_loss), ("mse_loss", F.mse_loss)):
            r.case(name, lambda x, t: function(x, t, **how), x, r.normal(*shape), **how)
        for delta in (1.0, .3):
            r.case("huber_loss", lambda x, t: F.huber_loss(x, t, delta=delta, **how), x,
                   r.normal(*shape), delta=delta, **how)
            r.case("smooth_l1_loss", lambda x, t: F.smooth_l1_loss(x, t, beta=delta, **how), x,
                   r.normal(*shape), beta=delta, **how)
        for reduction in ("sum", "none", "batchmean"):
            x, t = F.log_softmax(r.normal(*shape), -1), F.softmax(r.normal(*shape), -1)
            for log in (False, True):
                r.case("kl_div", lambda x, t: F.kl_div(x, t, reduction=reduction, log_target=log), x,
                       t.log() if log else t, diff=(0,), reduction=reduction, log_target=log)
    extreme = torch.tensor([-800.0, -40, 0, 40, 800], dtype=f64)
    for target in (0.0, 1.0, .5):
        r.case("bce_with_logits", lambda x, t: F.binary_cross_entropy_with_logits(
            x, t, reduction="none"), extreme, torch.full((5,), target, dtype=f64), diff=(0,),
            reduction="none")


def focal(r):
    for reduction in ("mean", "sum", "none"):
        for alpha, gamma in ((.25, 2.0), (.7, 1.5), (-1.0, 3.0)):
            r.case("sigmoid_focal_loss", lambda x, t: sigmoid_focal(x, t, alpha, gamma, reduction), r.normal(3, 4),
                   r.integers(3, 4, hi=2).double(), diff=(0,), alpha=alpha, gamma=gamma, reduction=reduction)


def sigmoid_focal(x, t, alpha, gamma, reduction):
    each = []
    for logit, wanted in zip(x.flatten(), t.flatten()):
        right = torch.sigmoid(logit) if wanted else 1 - torch.sigmoid(logit)
        weight = 1.0 if alpha < 0 else alpha if wanted else 1 - alpha
        each.append(-weight * (1 - right) ** gamma * torch.log(right))
    each = torch.stack(each).reshape(x.shape)
    return each if reduction == "none" else getattr(each, reduction)()


def ctc(r):
    for frames, rows, classes, longest, reductions in ((6, 3, 4, 2, ("mean", "sum", "none")),
                                                       (9, 2, 3, 4, ("mean",)), (4, 2, 5, 3, ("none",))):
        for reduction in reductions:
            for blank in (0, classes - 1):
                for joined in (False, True):
                    ctc_case(r, frames, rows, classes, longest, blank, joined, reduction=reduction)


def ctc_case(r, frames, rows, classes, longest, blank, joined, **options):
    """x0 = log_probs, x1 = targets, x2 = input_lengths, x3 = target_lengths; the last row is too short for its
    labels unless infinite losses are 0."""
    x = F.log_softmax(r.normal(frames, rows, classes), -1).float().double()
    labels = r.integers(rows, longest, hi=classes - 1)
    labels[0] = labels[0, 0]
    labels = labels + (labels >= blank).long()
    counts, lengths = r.integers(rows, hi=longest + 1), r.integers(rows, lo=frames - 2, hi=frames + 1)
    counts[0] = min(longest, 2)
    for zero in (False, True):
        if zero:
            lengths[-1], counts[-1] = 1, min(longest, 2)
        targets = torch.cat([row[:n] for row, n in zip(labels, counts)]) if joined else labels
        if not zero and torch.isinf(F.ctc_loss(x, targets, lengths, counts, blank, "none")).any():
            continue
        r.case("ctc_loss", lambda x, t, i, n: F.ctc_loss(x, t, i, n, blank, zero_infinity=zero, **options), x,
               targets, lengths.clone(), counts.clone(), blank=blank, zero_infinity=zero, **options)


def recurrent_case(r, kind, inputs, hidden, steps, batch, layers=1, both=False, bias=True, proj=0,
                   lengths=None):
    """x0 = input [steps, batch, inputs], then the initial states, then per layer and direction
    w_ih, w_hh, b_ih, b_hh, w_hr (those that exist); y0 = output, then the last states."""
    torch.manual_seed(0)
    extra = dict(proj_size=proj) if proj else {}
    module = getattr(torch.nn, kind.upper())(inputs, hidden, layers, bias=bias, bidirectional=both,
                                             dtype=f64, **extra)
    names = [name for name, _ in module.named_parameters()]
    weights = [r.uniform(*p.shape, lo=-.6, hi=.6) for p in module.parameters()]
    lanes = layers * (2 if both else 1)
    states = [r.normal(lanes, batch, proj or hidden) * .5]
    if kind == "lstm":
        states.append(r.normal(lanes, batch, hidden) * .5)

    def run(x, *rest):
        state, values = rest[:len(states)], rest[len(states):]
        if lengths is not None:
            x = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        y, last = torch.func.functional_call(module, dict(zip(names, values)),
                                             (x, state if kind == "lstm" else state[0]))
        if lengths is not None:
            y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=steps)
        return (y, *last) if kind == "lstm" else (y, last)

    r.case(kind, run, r.normal(steps, batch, inputs), *states, *weights, inputs=inputs,
           hidden=hidden, layers=layers, bidirectional=both, bias=bias, proj=proj, lengths=lengths,
           names=names)


def gru_reset_before(x, h, w_ih, w_hh, b):
    """The reset gate before the recurrent product; gates r, z, n as PyTorch stacks them."""
    ys = []
    for step in x:
        ri, zi, ni = (step @ w_ih.T + b).chunk(3, 1)
        rw, zw, nw = w_hh.chunk(3)
        reset, update = torch.sigmoid(ri + h @ rw.T), torch.sigmoid(zi + h @ zw.T)
        h = update * h + (1 - update) * torch.tanh(ni + (reset * h) @ nw.T)
        ys.append(h)
    return torch.stack(ys), h


def lstm_clipped(x, h, c, w_ih, w_hh, b, clip):
    ys = []
    for step in x:
        i, f, g, o = (step @ w_ih.T + h @ w_hh.T + b).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        c = torch.clamp(c, -clip, clip)
        h = torch.sigmoid(o) * torch.tanh(c)
        ys.append(h)
    return torch.stack(ys), h, c


def rnn(r):
    for kind in ("lstm", "gru"):
        recurrent_case(r, kind, 3, 4, 3, 2)
        recurrent_case(r, kind, 1, 1, 1, 1)
        recurrent_case(r, kind, 2, 3, 4, 3, bias=False)
        recurrent_case(r, kind, 2, 3, 3, 2, both=True)
        recurrent_case(r, kind, 3, 2, 4, 2, layers=2)
        recurrent_case(r, kind, 2, 1, 3, 2, layers=2, both=True)
        recurrent_case(r, kind, 2, 2, 4, 3, lengths=[3, 4, 1])
        recurrent_case(r, kind, 2, 2, 4, 3, both=True, lengths=[2, 4, 3])
        recurrent_case(r, kind, 1, 2, 3, 2, layers=2, both=True, lengths=[3, 2])
    recurrent_case(r, "lstm", 3, 3, 3, 2, proj=2)
    recurrent_case(r, "lstm", 2, 3, 3, 2, proj=2, both=True)
    recurrent_case(r, "lstm", 2, 2, 4, 2, proj=1, layers=2, lengths=[2, 4])
    for inputs, hidden, batch in ((3, 4, 2), (1, 2, 3), (5, 3, 1)):
        for name, function, gates, states in (("lstm_cell", torch.lstm_cell, 4, 2),
                                              ("gru_cell", torch.gru_cell, 3, 1)):
            state = [r.normal(batch, hidden) for _ in range(states)]
            weights = [r.uniform(gates * hidden, n, lo=-.6, hi=.6) for n in (inputs, hidden)]
            biases = [r.uniform(gates * hidden, lo=-.6, hi=.6) for _ in range(2)]
            r.case(name, lambda x, *rest: function(
                x, rest[:2] if states == 2 else rest[0], *rest[states:]), r.normal(batch, inputs),
                *state, *weights, *biases, inputs=inputs, hidden=hidden)
        steps = inputs + 1
        r.case("gru_reset_before", gru_reset_before, r.normal(steps, batch, inputs),
               r.normal(batch, hidden), r.uniform(3 * hidden, inputs, lo=-.6, hi=.6),
               r.uniform(3 * hidden, hidden, lo=-.6, hi=.6), r.uniform(3 * hidden, lo=-.6, hi=.6),
               inputs=inputs, hidden=hidden)
        r.case("lstm_clipped", lambda *a: lstm_clipped(*a, .4), r.normal(steps, batch, inputs),
               r.normal(batch, hidden), r.normal(batch, hidden),
               r.uniform(4 * hidden, inputs, lo=-.6, hi=.6),
               r.uniform(4 * hidden, hidden, lo=-.6, hi=.6), r.uniform(4 * hidden, lo=-.6, hi=.6),
               inputs=inputs, hidden=hidden, clip=.4)


OPTIMIZERS = [
    ("sgd", "SGD", [dict(), dict(weight_decay=.1), dict(momentum=.9),
                    dict(momentum=.9, dampening=.3), dict(momentum=.9, nesterov=True),
                    dict(momentum=.8, nesterov=True, weight_decay=.05)]),
    ("adam", "Adam", [dict(), dict(betas=(.5, .9), eps=1e-3), dict(weight_decay=.1)]),
    ("adamw", "AdamW", [dict(), dict(weight_decay=.3), dict(betas=(.5, .9), eps=1e-3)]),
]
MORE_OPTIMIZERS = [
    ("rmsprop", "RMSprop", [dict(), dict(alpha=.9, eps=1e-3), dict(momentum=.9),
                            dict(centered=True), dict(momentum=.5, centered=True, weight_decay=.1)]),
    ("adagrad", "Adagrad", [dict(), dict(lr_decay=.1), dict(initial_accumulator_value=.1, eps=1e-3),
                            dict(weight_decay=.1)]),
    ("adadelta", "Adadelta", [dict(), dict(rho=.8, eps=1e-3), dict(weight_decay=.1)]),
    ("adamax", "Adamax", [dict(), dict(betas=(.5, .9), eps=1e-3), dict(weight_decay=.1)]),
    ("nadam", "NAdam", [dict(), dict(momentum_decay=.01), dict(weight_decay=.1)]),
    ("radam", "RAdam", [dict(), dict(betas=(.5, .9)), dict(weight_decay=.1)]),
    ("rprop", "Rprop", [dict(), dict(etas=(.3, 1.5)), dict(step_sizes=(.001, .02))]),
]


def optim(r):
    optimizers(r, OPTIMIZERS)


def optim_more(r):
    optimizers(r, MORE_OPTIMIZERS)


def optimizers(r, rules):
    """x0 = start, x1 = the gradients of each step, y = the parameter after each step."""
    for name, kind, settings in rules:
        for options in settings:
            for dtype in (f64,) if options else (f64, torch.float32):
                start, grads = r.normal(3, 2, dtype=dtype), r.normal(5, 3, 2, dtype=dtype)
                parameter = torch.nn.Parameter(start.clone())
                optimizer = getattr(torch.optim, kind)([parameter], lr=.05, foreach=False, **options)
                path = []
                for grad in grads:
                    parameter.grad = grad.clone()
                    optimizer.step()
                    path.append(parameter.detach().clone())
                r.add(name, {"lr": .05, **options}, {"x0": start, "x1": grads, "y": torch.stack(path)})


LOSSES = {  # of x, a symmetric matrix and a vector
    "bowl": lambda x, a, b: (x @ a @ x) / 2 - b @ x,
    "valley": lambda x, a, b: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (x[:-1] - 1) ** 2).sum(),
    "waves": lambda x, a, b: (x * x).sum() / 10 + torch.sin(a @ x - b).sum(),
}
SEARCHES = [
    ("bowl", dict(lr=.5)), ("bowl", dict(lr=.1, max_iter=4)), ("bowl", dict(history_size=2, max_iter=6)),
    ("bowl", dict(strong_wolfe=True, max_iter=7, tolerance_change=1e-3)),
    ("bowl", dict(strong_wolfe=True, max_iter=3, history_size=2)),
    ("bowl", dict(strong_wolfe=True, lr=4, max_iter=2)), ("bowl", dict(lr=.3, max_eval=3)),
    ("bowl", dict(lr=.5, tolerance_grad=.1)), ("bowl", dict(lr=.5, tolerance_change=.05)),
    ("valley", dict(strong_wolfe=True, max_iter=8)), ("valley", dict(strong_wolfe=True, history_size=3, max_iter=8)),
    ("valley", dict(strong_wolfe=True, lr=.3, max_iter=3)), ("valley", dict(strong_wolfe=True, max_eval=4)),
    ("valley", dict(lr=1e-3, max_iter=5)), ("valley", dict(strong_wolfe=True, lr=20, max_iter=4)),
    ("waves", dict(strong_wolfe=True, max_iter=6)), ("waves", dict(strong_wolfe=True, lr=10, max_iter=6)),
    ("waves", dict(lr=.1, max_iter=6)), ("waves", dict(strong_wolfe=True, lr=100, max_iter=3)),
]


def lbfgs(r):
    """x0 = start, x1 and x2 = what the loss is made of, y = the parameter after each step, calls = evaluations so far."""
    for loss, options in SEARCHES:
        start, root, b = r.normal(5) / 2, r.normal(5, 5), r.normal(5)
        a = (root @ root.T / 5 + torch.eye(5, dtype=f64) / 2).to(torch.float32).to(f64)
        parameter, path, calls = torch.nn.Parameter(start.clone()), [], []
        settings = {k: v for k, v in options.items() if k != "strong_wolfe"}
        optimizer = torch.optim.LBFGS(
            [parameter], line_search_fn="strong_wolfe" if "strong_wolfe" in options else None, **settings)

        def again():
            optimizer.zero_grad()
            y = LOSSES[loss](parameter, a, b)
            y.backward()
            return y

        for _ in range(3):
            optimizer.step(again)
            path.append(parameter.detach().clone())
            calls.append(optimizer.state[parameter]["func_evals"])
        r.add("lbfgs", {"loss": loss, **options},
              {"x0": start, "x1": a, "x2": b, "y": torch.stack(path), "calls": torch.tensor(calls)})


def clip(r):
    for limit, p in ((1.0, 2.0), (100.0, 2.0), (.5, 1.0), (.5, math.inf)):
        grads = [r.normal(3, 2), r.normal(4), r.normal(1)]
        holders = [torch.nn.Parameter(torch.zeros_like(g)) for g in grads]
        for holder, grad in zip(holders, grads):
            holder.grad = grad.clone()
        total = torch.nn.utils.clip_grad_norm_(holders, limit, p)
        roles = {f"x{i}": g for i, g in enumerate(grads)}
        roles.update({f"y{i}": h.grad for i, h in enumerate(holders)})
        r.add("clip_grad_norm", dict(max_norm=limit, p=p), {**roles, "norm": total})


SCHEDULES = [
    ("step", "StepLR", [dict(step_size=4, gamma=.5), dict(step_size=1, gamma=.9),
                        dict(step_size=7, gamma=.1)]),
    ("multistep", "MultiStepLR", [dict(milestones=(3, 8, 12), gamma=.1),
                                  dict(milestones=(1,), gamma=.5),
                                  dict(milestones=(5, 6), gamma=2.0)]),
    ("exponential", "ExponentialLR", [dict(gamma=.9), dict(gamma=.5), dict(gamma=1.1)]),
    ("linear", "LinearLR", [dict(start_factor=.1, end_factor=1.0, total_iters=6),
                            dict(start_factor=1.0, end_factor=.2, total_iters=10),
                            dict(start_factor=.5, end_factor=.5, total_iters=3)]),
    ("polynomial", "PolynomialLR", [dict(total_iters=10, power=1.0), dict(total_iters=8, power=2.0),
                                    dict(total_iters=20, power=.5)]),
    ("cosine", "CosineAnnealingLR", [dict(T_max=15, eta_min=0.0), dict(T_max=10, eta_min=.01),
                                     dict(T_max=5, eta_min=0.0)]),
    ("cosine_restarts", "CosineAnnealingWarmRestarts", [dict(T_0=5, T_mult=1, eta_min=0.0),
                                                        dict(T_0=2, T_mult=2, eta_min=.01),
                                                        dict(T_0=16, T_mult=1, eta_min=0.0)]),
    ("one_cycle", "OneCycleLR", [dict(max_lr=1.0, total_steps=16),
                                 dict(max_lr=.5, total_steps=20, pct_start=.5),
                                 dict(max_lr=1.0, total_steps=16, anneal_strategy="linear")]),
]


def schedule(r):
    """y = the learning rate used by steps 0 to 15."""
    for name, kind, settings in SCHEDULES:
        for options in settings:
            parameter = torch.nn.Parameter(torch.zeros(1, dtype=f64))
            optimizer = torch.optim.SGD([parameter], lr=.1)
            plan = getattr(torch.optim.lr_scheduler, kind)(optimizer, **options)
            rates = []
            for _ in range(16):
                rates.append(optimizer.param_groups[0]["lr"])
                optimizer.step()
                plan.step()
            r.add(f"schedule_{name}", {"lr": .1, **options}, {"y": torch.tensor(rates, dtype=f64)})
