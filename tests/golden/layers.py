"""Golden cases of matrix products, convolution, pooling, normalisation and resizing."""
import torch
import torch.nn.functional as F


def linalg(r):
    f32 = torch.float32
    for sa, sb in (((3, 4), (4, 5)), ((1, 7), (7, 1)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)),
                   ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 2)),
                   ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((3, 0), (0, 2)), ((0, 3), (3, 2))):
        r.case("matmul", torch.matmul, r.normal(*sa), r.normal(*sb))
    r.case("matmul", torch.matmul, r.normal(9, 19, dtype=f32), r.normal(19, 7, dtype=f32))
    for ta, tb, batch in ((1, 0, ()), (0, 1, ()), (1, 1, ()), (1, 0, (2,)), (0, 1, (2,)), (1, 1, (2,))):
        a = r.normal(*batch, *((4, 3) if ta else (3, 4)))
        b = r.normal(*batch, *((5, 4) if tb else (4, 5)))
        r.case("matmul", lambda a, b: (a.mT if ta else a) @ (b.mT if tb else b), a, b,
               transpose_a=ta, transpose_b=tb)
    for equation, shapes in (
            ("ij,jk->ik", [(3, 4), (4, 5)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]),
            ("ii->i", [(4, 4)]), ("ii", [(4, 4)]), ("ij->ji", [(2, 3)]), ("ij->", [(2, 3)]),
            ("ijk->j", [(2, 3, 4)]), ("i,j->ij", [(3,), (4,)]), ("i,i->", [(5,), (5,)]),
            ("ij,ij->j", [(3, 4), (3, 4)]), ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]),
            ("ijk,jl,kl->il", [(2, 3, 4), (3, 2), (4, 2)]),
            ("...ij,...jk->...ik", [(2, 3, 4), (4, 2)]), ("ba,cb", [(2, 3), (4, 2)]),
            ("abc,cd->dab", [(2, 3, 4), (4, 2)]), ("ij,kj->ik", [(1, 4), (3, 4)])):
        r.case("einsum", lambda *x: torch.einsum(equation, *x), *[r.normal(*s) for s in shapes],
               equation=equation)
    acts = {"none": lambda x: x, "relu": F.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
            "gelu": F.gelu}
    for act, function in acts.items():
        for shape in ((5, 4), (2, 3, 4)):
            r.case("linear", lambda x, w, b: function(F.linear(x, w, b)), r.normal(*shape),
                   r.normal(3, 4), r.normal(3), act=act)
    r.case("linear", F.linear, r.normal(4), r.normal(3, 4), act="none")
    r.case("linear", F.linear, r.normal(1, 6), r.normal(1, 6), act="none")
    for n, m in ((3, 4), (1, 5), (6, 1)):
        r.case("outer", torch.outer, r.normal(n), r.normal(m))
        r.case("dot", torch.dot, r.normal(n + m), r.normal(n + m))


def same_pads(size, kernel, stride, dilation):
    """SAME: the output has ceil(size / stride) places; an odd cell of padding goes to the end."""
    reach = (kernel - 1) * dilation + 1
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def pad_axes(x, pads, value=0.0):
    """pads: (front, end) per spatial axis, first axis first."""
    return F.pad(x, [n for pair in reversed(pads) for n in pair], value=value)


def every_axis(value, rank):
    return list(value) if isinstance(value, (list, tuple)) else [value] * rank


def conv_case(r, x_shape, w_shape, bias=True, stride=1, padding=0, dilation=1, groups=1, pads=None,
              same=False):
    rank = len(x_shape) - 2
    s, d = every_axis(stride, rank), every_axis(dilation, rank)
    if same:
        pads = [same_pads(n, k, si, di) for n, k, si, di in zip(x_shape[2:], w_shape[2:], s, d)]
    function = getattr(F, f"conv{rank}d")

    def run(x, w, b=None):
        if pads is not None:
            return function(pad_axes(x, pads), w, b, s, 0, d, groups)
        return function(x, w, b, s, padding, d, groups)

    inputs = [r.normal(*x_shape), r.normal(*w_shape)] + ([r.normal(w_shape[0])] if bias else [])
    options = dict(stride=s, dilation=d, groups=groups)
    if same:
        options["padding"] = "same"
    elif pads is not None:
        options.update(pad_front=[p[0] for p in pads], pad_end=[p[1] for p in pads])
    else:
        options["padding"] = every_axis(padding, rank)
    r.case(f"conv{rank}d", run, *inputs, **options)


def transposed_case(r, x_shape, w_shape, bias=True, stride=1, padding=0, output_padding=0,
                    dilation=1, groups=1, same=False):
    rank = len(x_shape) - 2
    s, d = every_axis(stride, rank), every_axis(dilation, rank)
    function = getattr(F, f"conv_transpose{rank}d")

    def run(x, w, b=None):
        if not same:
            return function(x, w, b, s, padding, output_padding, groups, d)
        y = function(x, w, None, s, 0, [max(si - k, 0) for si, k in zip(s, w_shape[2:])], groups, d)
        for axis, (n, k) in enumerate(zip(x_shape[2:], w_shape[2:])):
            front, _ = same_pads(n * s[axis], k, s[axis], d[axis])
            y = y.narrow(axis + 2, front, n * s[axis])
        return y if b is None else y + b.reshape([-1] + [1] * rank)

    outs = w_shape[1] * groups
    inputs = [r.normal(*x_shape), r.normal(*w_shape)] + ([r.normal(outs)] if bias else [])
    options = dict(stride=s, dilation=d, groups=groups)
    if same:
        options["padding"] = "same"
    else:
        options.update(padding=every_axis(padding, rank),
                       output_padding=every_axis(output_padding, rank))
    r.case(f"conv_transpose{rank}d", run, *inputs, **options)


def conv(r):
    conv_case(r, (2, 2, 8), (3, 2, 3))
    conv_case(r, (1, 4, 9), (4, 2, 3), stride=2, padding=1, groups=2)
    conv_case(r, (1, 3, 9), (3, 1, 4), bias=False, dilation=2, padding=3, groups=3)
    conv_case(r, (1, 2, 7), (3, 2, 4), stride=2, same=True)
    conv_case(r, (1, 2, 6), (2, 2, 3), pads=[(2, 0)])

    conv_case(r, (2, 2, 4, 5), (3, 2, 3, 3))
    conv_case(r, (1, 2, 7, 6), (2, 2, 3, 3), bias=False, stride=2, padding=1)
    conv_case(r, (1, 2, 6, 7), (2, 2, 3, 2), stride=[2, 1], padding=[1, 0], dilation=[1, 2])
    conv_case(r, (1, 4, 4, 5), (4, 2, 3, 3), padding=1, groups=2)
    conv_case(r, (2, 2, 5, 4), (2, 1, 3, 3), bias=False, padding=1, groups=2)
    conv_case(r, (1, 3, 7, 5), (6, 1, 3, 3), stride=2, padding=1, groups=3)
    conv_case(r, (2, 3, 3, 2), (4, 3, 1, 1))
    conv_case(r, (1, 4, 5, 3), (3, 4, 1, 1), bias=False, stride=2)
    conv_case(r, (1, 2, 3, 8), (2, 2, 1, 7), padding=[0, 3])
    conv_case(r, (1, 2, 5, 5), (2, 2, 5, 5))
    conv_case(r, (1, 1, 6, 7), (2, 1, 4, 4), bias=False, stride=2, same=True)
    conv_case(r, (1, 2, 7, 6), (2, 2, 3, 3), stride=2, same=True)
    conv_case(r, (1, 2, 6, 5), (2, 2, 2, 4), same=True)
    conv_case(r, (1, 1, 7, 6), (2, 1, 3, 3), stride=1, dilation=2, same=True)
    conv_case(r, (1, 3, 5, 6), (3, 1, 3, 3), stride=2, same=True, groups=3)
    conv_case(r, (1, 2, 5, 4), (2, 2, 3, 3), pads=[(0, 2), (1, 0)])
    conv_case(r, (1, 2, 4, 4), (2, 2, 3, 3), padding=2)

    conv_case(r, (1, 2, 4, 4, 3), (2, 2, 3, 2, 3))
    conv_case(r, (1, 2, 3, 4, 3), (2, 1, 2, 3, 2), stride=[1, 2, 1], padding=[1, 1, 0], groups=2)
    conv_case(r, (1, 1, 5, 3, 4), (2, 1, 2, 2, 2), bias=False, dilation=[2, 1, 2])
    conv_case(r, (1, 1, 3, 4, 3), (2, 1, 2, 3, 3), stride=2, same=True)

    transposed_case(r, (2, 2, 5), (2, 3, 3))
    transposed_case(r, (1, 4, 6), (4, 2, 4), stride=2, padding=1, groups=2)
    transposed_case(r, (1, 2, 5), (2, 3, 3), bias=False, stride=2, padding=1, output_padding=1)
    transposed_case(r, (1, 2, 4), (2, 3, 5), stride=2, same=True)

    transposed_case(r, (2, 2, 3, 4), (2, 3, 3, 3))
    transposed_case(r, (1, 2, 4, 3), (2, 1, 4, 4), bias=False, stride=2, padding=1)
    transposed_case(r, (1, 2, 4, 3), (2, 3, 3, 3), stride=2, padding=1, output_padding=1)
    transposed_case(r, (1, 4, 2, 3), (4, 2, 3, 3), stride=[2, 1], padding=[1, 0], groups=2)
    transposed_case(r, (1, 3, 4, 4), (3, 1, 3, 3), bias=False, groups=3, padding=1)
    transposed_case(r, (1, 2, 4, 3), (2, 2, 3, 2), dilation=2, padding=1)
    for kernel, stride in ((5, 2), (4, 2), (5, 1), (3, 2), (3, 1), (2, 2)):
        transposed_case(r, (1, 1, 4, 3), (1, 2, kernel, kernel), stride=stride, same=True)
    transposed_case(r, (1, 2, 3, 3), (2, 1, 1, 2), bias=False, stride=3, same=True)

    transposed_case(r, (1, 2, 2, 3, 2), (2, 1, 3, 2, 3))
    transposed_case(r, (1, 2, 2, 2, 3), (2, 1, 2, 3, 2), stride=2, padding=[0, 1, 0], groups=2)
    transposed_case(r, (1, 1, 2, 2, 3), (1, 1, 3, 2, 3), stride=2, same=True)


def pool_same(kind, x, kernel, stride):
    pads = [same_pads(n, k, s, 1) for n, k, s in zip(x.shape[2:], kernel, stride)]
    rank = len(kernel)
    if kind == "max":
        return getattr(F, f"max_pool{rank}d")(pad_axes(x, pads, -torch.inf), kernel, stride)
    average = getattr(F, f"avg_pool{rank}d")
    total = average(pad_axes(x, pads), kernel, stride)
    return total / average(pad_axes(torch.ones_like(x), pads), kernel, stride)


def pool(r):
    sizes = {1: (2, 2, 9), 2: (1, 2, 5, 6), 3: (1, 1, 4, 3, 5)}
    for rank, shape in sizes.items():
        name = f"max_pool{rank}d"
        for kernel, stride, padding, dilation, ceil in (
                (2, 2, 0, 1, False), (3, 2, 1, 1, False), (3, 1, 1, 1, False), (3, 2, 0, 1, True),
                (2, 1, 0, 2, False), (3, 2, 1, 1, True)):
            r.case(name, lambda x: getattr(F, name)(x, kernel, stride, padding, dilation, ceil),
                   r.normal(*shape), kernel=every_axis(kernel, rank), stride=every_axis(stride, rank),
                   padding=every_axis(padding, rank), dilation=every_axis(dilation, rank),
                   ceil_mode=ceil)
        name = f"avg_pool{rank}d"
        for kernel, stride, padding, ceil, counted in (
                (2, 2, 0, False, True), (3, 2, 1, False, True), (3, 2, 1, False, False),
                (3, 2, 0, True, True), (3, 2, 1, True, False), (3, 2, 1, True, True)):
            r.case(name, lambda x: getattr(F, name)(x, kernel, stride, padding, ceil, counted),
                   r.normal(*shape), kernel=every_axis(kernel, rank), stride=every_axis(stride, rank),
                   padding=every_axis(padding, rank), ceil_mode=ceil, count_include_pad=counted)
        for kind in ("max", "avg"):
            for kernel, stride in ((2, 2), (3, 2), (2, 3)):
                k, s = every_axis(kernel, rank), every_axis(stride, rank)
                r.case(f"{kind}_pool{rank}d", lambda x: pool_same(kind, x, k, s), r.normal(*shape),
                       kernel=k, stride=s, padding="same")
            for size in (1, 2, 3):
                name = f"adaptive_{kind}_pool{rank}d"
                r.case(name, lambda x: getattr(F, name)(x, size), r.normal(*shape),
                       size=every_axis(size, rank))
    r.case("max_pool2d", lambda x: F.max_pool2d(x, (3, 2), (1, 2), (1, 0)), r.normal(1, 2, 5, 6),
           kernel=(3, 2), stride=(1, 2), padding=(1, 0), dilation=(1, 1), ceil_mode=False)
    r.case("avg_pool2d", lambda x: F.avg_pool2d(x, (3, 2), (1, 2), (1, 0)), r.normal(1, 2, 5, 6),
           kernel=(3, 2), stride=(1, 2), padding=(1, 0), ceil_mode=False, count_include_pad=True)
    tied = torch.zeros(1, 1, 4, 4, dtype=torch.float64)
    r.case("max_pool2d", lambda x: F.max_pool2d(x, 2, 2), tied, kernel=(2, 2), stride=(2, 2),
           padding=(0, 0), dilation=(1, 1), ceil_mode=False)
    r.case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), r.normal(1, 2, 7, 6),
           size=(3, 5))
    r.case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 5)), r.normal(1, 2, 7, 6),
           size=(3, 5))
    for p in (1.0, 2.0, 3.0):
        r.case("lp_pool1d", lambda x: F.lp_pool1d(x, p, 3, 2), r.uniform(2, 2, 9, lo=.1), p=p,
               kernel=[3], stride=[2], ceil_mode=False)
        r.case("lp_pool2d", lambda x: F.lp_pool2d(x, p, (2, 3), 2), r.uniform(1, 2, 6, 7, lo=.1),
               p=p, kernel=(2, 3), stride=(2, 2), ceil_mode=False)


def norm(r):
    f64 = torch.float64
    shapes = [(6, 3), (3, 2, 4), (2, 3, 3, 2), (2, 2, 2, 1, 3)]
    for shape in shapes:
        c = shape[1]
        for affine, momentum, eps in ((True, .1, 1e-5), (False, .01, 1e-3)):
            weights = [r.uniform(c, lo=.5, hi=1.5), r.normal(c)] if affine else []

            def train(x, mean, var, *wb):
                mean, var = mean.clone(), var.clone()
                y = F.batch_norm(x, mean, var, *(wb or (None, None)), True, momentum, eps)
                return y, mean, var

            running = [r.normal(c), r.uniform(c, lo=.5, hi=2)]
            options = dict(momentum=momentum, eps=eps, affine=affine)
            r.case("batch_norm", train, r.normal(*shape), *running, *weights, training=True,
                   diff=(0, 3, 4), **options)
            r.case("batch_norm", lambda x, m, v, *wb: F.batch_norm(
                x, m, v, *(wb or (None, None)), False, momentum, eps), r.normal(*shape), *running,
                *weights, training=False, diff=(0, 3, 4), **options)
    for shape, dims in (((4, 5), 1), ((2, 3, 4), 2), ((2, 2, 3), 1), ((2, 2, 3, 2), 3)):
        tail = shape[-dims:]
        for eps in (1e-5, 1e-2):
            r.case("layer_norm", lambda x, w, b: F.layer_norm(x, tail, w, b, eps), r.normal(*shape),
                   r.uniform(*tail, lo=.5, hi=1.5), r.normal(*tail), dims=dims, eps=eps)
        r.case("layer_norm", lambda x: F.layer_norm(x, tail), r.normal(*shape), dims=dims, eps=1e-5)
        r.case("rms_norm", lambda x, w: F.rms_norm(x, tail, w, 1e-6), r.normal(*shape),
               r.uniform(*tail, lo=.5, hi=1.5), dims=dims, eps=1e-6)
        r.case("rms_norm", lambda x: F.rms_norm(x, tail, None, 1e-3), r.normal(*shape), dims=dims,
               eps=1e-3)
    r.case("layer_norm", lambda x: F.layer_norm(x, (3,)), torch.full((2, 3), 2.5, dtype=f64), dims=1,
           eps=1e-5)
    for shape in ((2, 3, 4), (1, 2, 4, 3), (1, 2, 3, 2, 2)):
        c = shape[1]
        r.case("instance_norm", lambda x, w, b: F.instance_norm(x, None, None, w, b, eps=1e-5),
               r.normal(*shape), r.uniform(c, lo=.5, hi=1.5), r.normal(c), eps=1e-5)
        r.case("instance_norm", lambda x: F.instance_norm(x, eps=1e-3), r.normal(*shape), eps=1e-3)
    for shape, groups in (((3, 6), 3), ((2, 4, 5), 2), ((1, 6, 3, 2), 3), ((1, 4, 3, 2), 1),
                          ((1, 4, 2, 3), 4)):
        c = shape[1]
        r.case("group_norm", lambda x, w, b: F.group_norm(x, groups, w, b, 1e-5), r.normal(*shape),
               r.uniform(c, lo=.5, hi=1.5), r.normal(c), groups=groups, eps=1e-5)
        r.case("group_norm", lambda x: F.group_norm(x, groups, eps=1e-3), r.normal(*shape),
               groups=groups, eps=1e-3)


def lrn(r):
    for size, alpha, beta, k in ((5, 1e-4, .75, 1.0), (3, .5, .5, 2.0), (4, 1.0, .75, 1.0),
                                 (1, .1, 1.0, .5)):
        for shape in ((2, 6, 3), (1, 7, 2, 3)):
            r.case("local_response_norm", lambda x: F.local_response_norm(x, size, alpha, beta, k),
                   r.normal(*shape), size=size, alpha=alpha, beta=beta, k=k)


def resize(r):
    line, plane, volume = (1, 2, 5), (1, 1, 5, 4), (1, 1, 3, 4, 3)
    sizes = {line: [(9,), (3,), (5,), (1,)], plane: [(7, 5), (3, 2), (10, 8), (1, 1)],
             volume: [(5, 3, 4), (2, 2, 2), (3, 6, 2)]}
    modes = {line: ["nearest", "nearest-exact", "linear", "area"],
             plane: ["nearest", "nearest-exact", "bilinear", "bicubic", "area"],
             volume: ["nearest", "nearest-exact", "trilinear", "area"]}
    for shape, targets in sizes.items():
        for size in targets:
            for mode in modes[shape]:
                corners = (False, True) if mode.endswith(("linear", "cubic")) else (None,)
                for align in corners:
                    r.case("resize", lambda x: F.interpolate(x, size, mode=mode, align_corners=align),
                           r.normal(*shape), mode=mode, size=size, align_corners=align)
    for mode in ("bilinear", "bicubic", "lanczos"):
        for size in ((2, 3), (9, 7), (4, 8)):
            r.case("resize", lambda x: F.interpolate(x, size, mode=mode, antialias=True),
                   r.normal(1, 1, 7, 6), mode=mode, size=size, align_corners=False, antialias=True)
    for scale in ((2.0, 2.0), (.6, 1.7), (1.5, .5)):
        for mode in ("nearest", "bilinear", "bicubic"):
            r.case("resize", lambda x: F.interpolate(x, scale_factor=scale, mode=mode),
                   r.normal(1, 1, 5, 6), mode=mode, scale=scale)
