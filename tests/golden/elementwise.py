"""Golden cases of pointwise and binary ops, reductions, scans and dtype promotion."""
import math

import torch
import torch.nn.functional as F

inf, nan = math.inf, math.nan

# name: (function, low, high of the drawn values, points where a formula changes its branch)
UNARY = {
    "abs": (torch.abs, -2, 2, [-1, 0, 1]), "neg": (torch.neg, -2, 2, [-1, 0, 1]),
    "sign": (torch.sign, -2, 2, [-1, 0, 1]), "square": (torch.square, -2, 2, [0]),
    "sqrt": (torch.sqrt, .1, 4, [1, 4]), "rsqrt": (torch.rsqrt, .1, 4, [1, 4]),
    "reciprocal": (torch.reciprocal, .2, 2, [-1, 1]),
    "exp": (torch.exp, -3, 3, [-20, 0, 20]), "exp2": (torch.exp2, -3, 3, [-20, 0, 20]),
    "expm1": (torch.expm1, -3, 3, [-1e-9, 0, 1e-9, 20]),
    "log": (torch.log, .1, 4, [1]), "log2": (torch.log2, .1, 4, [1, 8]),
    "log10": (torch.log10, .1, 4, [1, 100]), "log1p": (torch.log1p, -.9, 4, [-1e-9, 0, 1e-9]),
    "sin": (torch.sin, -4, 4, [0, 100]), "cos": (torch.cos, -4, 4, [0, 100]),
    "tan": (torch.tan, -1.4, 1.4, [0, 3]), "asin": (torch.asin, -.95, .95, [0]),
    "acos": (torch.acos, -.95, .95, [0]), "atan": (torch.atan, -4, 4, [0, 1e6]),
    "sinh": (torch.sinh, -3, 3, [0, 1e-9]), "cosh": (torch.cosh, -3, 3, [0]),
    "tanh": (torch.tanh, -3, 3, [-40, 0, 1e-9, 40]), "asinh": (torch.asinh, -4, 4, [0, 1e-9]),
    "acosh": (torch.acosh, 1.1, 4, [2]), "atanh": (torch.atanh, -.95, .95, [0, 1e-9]),
    "erf": (torch.erf, -2, 2, [-8, 0, 8]), "erfc": (torch.erfc, -2, 2, [-8, 0, 8]),
    "lgamma": (torch.lgamma, .2, 5, [-1.5, .5, 1, 2, 30]),
    "digamma": (torch.digamma, .2, 5, [-1.5, .5, 1, 30]),
    "floor": (torch.floor, -3, 3, [-1.5, -1, -.5, 0, .5, 1]),
    "ceil": (torch.ceil, -3, 3, [-1.5, -1, -.5, 0, .5, 1]),
    "round": (torch.round, -3, 3, [-2.5, -1.5, -.5, 0, .5, 1.5, 2.5]),
    "trunc": (torch.trunc, -3, 3, [-1.5, -1, -.5, 0, .5, 1]),
    "frac": (torch.frac, -3, 3, [-1.5, -1, 0, 1]),
    "relu": (F.relu, -2, 2, [-1, 0, 1]), "relu6": (F.relu6, -3, 9, [0, 6]),
    "selu": (F.selu, -3, 3, [0]), "silu": (F.silu, -4, 4, [-40, 0, 40]),
    "mish": (F.mish, -4, 4, [0]), "sigmoid": (torch.sigmoid, -4, 4, [-40, 0, 40]),
    "log_sigmoid": (F.logsigmoid, -4, 4, [-40, 0, 40]), "softsign": (F.softsign, -3, 3, [0]),
    "hardswish": (F.hardswish, -5, 5, [-4, 0, 4]),
    "hardsigmoid": (lambda x: F.relu6(x + 3) / 6, -5, 5, [-4, 0, 4]),  # its own has an f32 1/6
    "logit": (torch.logit, .05, .95, [1e-9, .5]), "sinc": (torch.sinc, -4, 4, [0, 1e-3]),
    "erfinv": (torch.erfinv, -.95, .95, [0, 1e-9, 1 - 2**-20]),
    "tanhshrink": (F.tanhshrink, -3, 3, [0, 40]),
}

# Ops with options: name, function, options, low, high, branch points.
UNARY_OPTIONS = [
    ("leaky_relu", F.leaky_relu, dict(negative_slope=.01), -2, 2, [0]),
    ("leaky_relu", F.leaky_relu, dict(negative_slope=.2), -2, 2, [0]),
    ("leaky_relu", F.leaky_relu, dict(negative_slope=1.5), -2, 2, [-1, 1]),
    ("elu", F.elu, dict(alpha=1.0), -3, 3, [0]), ("elu", F.elu, dict(alpha=.5), -3, 3, [-20]),
    ("elu", F.elu, dict(alpha=2.0), -3, 3, [1]),
    ("celu", F.celu, dict(alpha=1.0), -3, 3, [0]), ("celu", F.celu, dict(alpha=.5), -3, 3, [-20]),
    ("celu", F.celu, dict(alpha=2.0), -3, 3, [1]),
    ("gelu", F.gelu, dict(approximate="none"), -4, 4, [0]),
    ("gelu", F.gelu, dict(approximate="none"), -1, 1, [-10, 10]),
    ("gelu", F.gelu, dict(approximate="tanh"), -4, 4, [0]),
    ("gelu", F.gelu, dict(approximate="tanh"), -1, 1, [-10, 10]),
    ("softplus", F.softplus, dict(beta=1.0), -4, 4, [0, 19, 21]),
    ("softplus", F.softplus, dict(beta=2.0), -4, 4, [0]),
    ("softplus", F.softplus, dict(beta=.5), -4, 9, [-40]),
    ("hardtanh", F.hardtanh, dict(min_val=-1.0, max_val=1.0), -2, 2, [0]),
    ("hardtanh", F.hardtanh, dict(min_val=-.5, max_val=1.5), -2, 2, [0]),
    ("hardtanh", F.hardtanh, dict(min_val=0.0, max_val=6.0), -2, 9, [3]),
    ("hardshrink", F.hardshrink, dict(lambd=.5), -2, 2, [0]),
    ("hardshrink", F.hardshrink, dict(lambd=1.0), -2, 2, [0]),
    ("hardshrink", F.hardshrink, dict(lambd=0.0), -2, 2, [1]),
    ("softshrink", F.softshrink, dict(lambd=.5), -2, 2, [0]),
    ("softshrink", F.softshrink, dict(lambd=1.0), -2, 2, [0]),
    ("softshrink", F.softshrink, dict(lambd=.1), -2, 2, [0]),
    ("clamp", torch.clamp, dict(min=-1.0, max=.5), -2, 2, [-3, 0, 3]),
    ("clamp", torch.clamp, dict(min=0.0), -2, 2, [-1, .5]),
    ("clamp", torch.clamp, dict(max=1.0), -2, 2, [0, 2]),
]

SPECIALS = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 2.0, 1e-300, -1e300]
# Where PyTorch's special values are nobody's rule: NumPy or the limit of the formula says otherwise.
DISPUTED = ("sign", "silu", "mish", "hardswish", "softsign", "frac", "tan", "sin", "cos", "digamma",
            "heaviside")


def pointwise(r):
    for name, (function, lo, hi, points) in UNARY.items():
        r.case(name, function, r.uniform(3, 4, lo=lo, hi=hi))
        r.case(name, function, r.uniform(7, lo=lo, hi=hi, dtype=torch.float32), diff=())
        r.case(name, function, torch.tensor(points, dtype=torch.float64))
        if name not in DISPUTED:
            r.case(name, function, torch.tensor(SPECIALS, dtype=torch.float64), diff=())
    for name, function, options, lo, hi, points in UNARY_OPTIONS:
        x = torch.cat([r.uniform(6, lo=lo, hi=hi), torch.tensor(points, dtype=torch.float64)])
        r.case(name, lambda x: function(x, **options), x, **options)
    x = torch.tensor(SPECIALS, dtype=torch.float64)
    for name in ("isnan", "isinf", "isfinite", "logical_not", "signbit"):
        function = getattr(torch, name)
        r.case(name, function, x)
        r.case(name, function, torch.tensor([[0, 3], [-1, 0]]))
        r.case(name, function, x.to(torch.float16))
    for dtype in (torch.int64, torch.int32, torch.uint8):
        for name in ("abs", "neg", "sign", "square", "bitwise_not"):
            r.case(name, getattr(torch, name), torch.tensor([0, 1, 2, 7, 100, 127], dtype=dtype))
        r.case("clamp", lambda x: torch.clamp(x, min=2, max=9), r.integers(7, hi=20, dtype=dtype),
               min=2, max=9)
    r.case("bitwise_not", torch.bitwise_not, torch.tensor([True, False]))
    for shape, channels in (((2, 3), 3), ((2, 3, 2, 2), 3), ((5,), 1)):
        r.case("prelu", F.prelu, r.normal(*shape), r.normal(channels))
        r.case("glu", lambda x: F.glu(x, 0), r.normal(2, *shape), axis=0)
    r.case("glu", F.glu, r.normal(3, 4), axis=-1)
    finite = dict(nan=.5, posinf=7.0, neginf=-8.0)
    r.case("nan_to_num", lambda x: torch.nan_to_num(x, **finite), x, **finite)
    for limit, value in ((0.0, -1.0), (.5, 20.0), (-1.0, 0.0)):
        r.case("threshold", lambda x: F.threshold(x, limit, value), r.uniform(6, lo=-2, hi=2),
               limit=limit, value=value)
    for lo, hi in ((.2, 5), (-.9, -.1), (20, 40)):
        r.case("trigamma", lambda x: torch.polygamma(1, x), r.uniform(6, lo=lo, hi=hi), diff=())


BINARY = {
    "add": (torch.add, -2, 2), "sub": (torch.sub, -2, 2), "mul": (torch.mul, -2, 2),
    "div": (torch.div, .3, 2), "pow": (torch.pow, .2, 3), "atan2": (torch.atan2, -2, 2),
    "maximum": (torch.maximum, -2, 2), "minimum": (torch.minimum, -2, 2),
    "fmod": (torch.fmod, .3, 4), "remainder": (torch.remainder, .3, 4),
    "floor_divide": (torch.floor_divide, .3, 4), "hypot": (torch.hypot, -2, 2),
    "fmax": (torch.fmax, -2, 2), "fmin": (torch.fmin, -2, 2), "xlogy": (torch.xlogy, .2, 3),
    "copysign": (torch.copysign, -2, 2), "heaviside": (torch.heaviside, -2, 2),
    "logaddexp": (torch.logaddexp, -2, 2), "logaddexp2": (torch.logaddexp2, -2, 2),
}
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
LOGIC = ("logical_and", "logical_or", "logical_xor")
POINTS = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.5, -2.0], dtype=torch.float64)
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")


def binary(r):
    shapes = [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((2, 3), ()), ((4,), (2, 1, 4)), ((0, 3), (3,))]
    for name, (function, lo, hi) in BINARY.items():
        diff = () if name in ("floor_divide", "heaviside") else (0,) if name == "copysign" else None
        for sa, sb in shapes if name in ("add", "div", "maximum") else shapes[:4]:
            a, b = r.uniform(*sa, lo=lo, hi=hi), r.uniform(*sb, lo=lo, hi=hi)
            r.case(name, function, a, b, diff=diff)
        r.case(name, function, r.uniform(5, lo=lo, hi=hi, dtype=torch.float32),
               r.uniform(5, lo=lo, hi=hi, dtype=torch.float32), diff=diff)
        if name not in DISPUTED:
            r.case(name, function, POINTS.reshape(-1, 1), POINTS, diff=())
    for name in ("maximum", "minimum", "fmax", "fmin"):
        tied = torch.tensor([1.0, 2, 2, -3], dtype=torch.float64)
        r.case(name, BINARY[name][0], tied, torch.tensor([1.0, 3, 2, -4], dtype=torch.float64))
    signs = torch.tensor([-3.5, -3, -.5, .5, 3, 3.5], dtype=torch.float64).reshape(-1, 1)
    steps = torch.tensor([-2, -1.25, 1.25, 2], dtype=torch.float64)
    for name in ("fmod", "remainder"):
        r.case(name, BINARY[name][0], signs, steps)
    r.case("floor_divide", torch.floor_divide, signs, steps, diff=())
    r.case("floor_divide", torch.floor_divide, torch.tensor([1.0, -1.0]).double(),
           torch.tensor([.1, .1]).double(), diff=())  # 1 / .1 rounds up to 10
    r.case("pow", torch.pow, torch.tensor([-2.0, -1, 0, 1, 2], dtype=torch.float64),
           torch.tensor([3.0, 2, 2, 0, -1], dtype=torch.float64), diff=(0,))
    for dtype in (torch.int64, torch.int32, torch.uint8):
        a = torch.tensor([7, 8, 9, 100, 3, 1], dtype=dtype)
        b = torch.tensor([2, 3, 9, 7, 5, 6], dtype=dtype)
        if dtype == torch.uint8:
            sets = [(a.reshape(2, 3), b[:3])]
        else:
            sets = [(torch.cat((a, -a, -a)), torch.cat((b, b, -b)))]
        for x, y in sets:
            for name in ("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "maximum",
                         "minimum") + COMPARE + BITS + LOGIC:
                r.case(name, getattr(torch, name), x, y)
        r.case("pow", torch.pow, b, torch.tensor([3, 2, 1, 0, 2, 2], dtype=dtype))
        for name, function in (("bitwise_left_shift", torch.bitwise_left_shift),
                               ("bitwise_right_shift", torch.bitwise_right_shift)):
            r.case(name, function, a, torch.tensor([1, 2, 0, 1, 3, 2], dtype=dtype))
    for name in COMPARE + LOGIC:
        r.case(name, getattr(torch, name), POINTS.reshape(-1, 1), POINTS)
    for name in LOGIC + BITS + ("add", "mul", "maximum"):
        r.case(name, getattr(torch, name), torch.tensor([[True], [False]]),
               torch.tensor([True, False]))
    for sa, sb, st in (((3, 4), (3, 4), (3, 4)), ((3, 1), (1, 4), ()), ((2, 3), (3,), (2, 1))):
        r.case("lerp", torch.lerp, r.normal(*sa), r.normal(*sb), r.uniform(*st))
        r.case("where", torch.where, r.bools(*sa), r.normal(*sb), r.normal(*st))
    r.case("where", torch.where, r.bools(5), r.integers(5), torch.tensor(-1))


def axes_of(x, axes):
    return tuple(range(x.dim())) if axes is None else axes


def several(function, x, axes, keepdim):
    """A one-axis reduction applied to several axes, last first."""
    for axis in sorted((a % x.dim() for a in axes_of(x, axes)), reverse=True):
        x = function(x, axis, True)
    if not keepdim:
        x = x.squeeze(tuple(a % x.dim() for a in axes_of(x, axes)))
    return x


REDUCE = {
    "sum": lambda x, a, k: torch.sum(x, axes_of(x, a), k),
    "mean": lambda x, a, k: torch.mean(x, axes_of(x, a), k),
    "max": lambda x, a, k: torch.amax(x, axes_of(x, a), k),
    "min": lambda x, a, k: torch.amin(x, axes_of(x, a), k),
    "prod": lambda x, a, k: several(lambda t, d, kk: torch.prod(t, d, kk), x, a, k),
    "logsumexp": lambda x, a, k: torch.logsumexp(x, axes_of(x, a), k),
    "any": lambda x, a, k: torch.any(x > 1, axes_of(x, a), k),
    "all": lambda x, a, k: torch.all(x > -1, axes_of(x, a), k),
    "count_nonzero": lambda x, a, k: torch.count_nonzero(x > 0, axes_of(x, a)),
}
LAYOUTS = [((3, 5), None, False), ((3, 5), (0,), False), ((3, 5), (-1,), True),
           ((2, 3, 4), (0, 2), False), ((2, 3, 4), (1,), True), ((2, 3, 2, 2), (-1, 1), True),
           ((), None, False), ((1, 7), (1,), False)]


def reduce(r):
    for name, function in REDUCE.items():
        for shape, axes, keepdim in LAYOUTS:
            if name in ("any", "all", "count_nonzero"):
                if name == "count_nonzero" and keepdim:
                    continue
                x = r.normal(*shape)
                r.add(name, dict(axes=axes, keepdim=keepdim),
                      {"x0": {"any": x > 1, "all": x > -1, "count_nonzero": x > 0}[name],
                       "y": function(x, axes, keepdim)})
            else:
                r.case(name, lambda x: function(x, axes, keepdim), r.normal(*shape), axes=axes,
                       keepdim=keepdim)
    for name in ("sum", "mean", "max", "min", "prod", "logsumexp"):
        r.case(name, lambda x: REDUCE[name](x, (0,), False), r.normal(19, 5, dtype=torch.float32),
               axes=(0,), keepdim=False)
    for name in ("sum", "prod"):
        r.case(name, lambda x: REDUCE[name](x, (1,), False), r.normal(3, 0), axes=(1,),
               keepdim=False)
    for zeros in ([0], [1, 3]):
        x = r.normal(5)
        x[zeros] = 0
        r.case("prod", torch.prod, x, keepdim=False)
    tied = torch.tensor([[1.0, 3, 3, 0], [2, 2, 2, 2]], dtype=torch.float64)
    for name in ("max", "min"):
        r.case(name, lambda x: REDUCE[name](x, (1,), False), tied, axes=(1,), keepdim=False)
        spoiled = torch.tensor([[1.0, nan, 3], [inf, 0, -inf]], dtype=torch.float64)
        r.case(name, lambda x: REDUCE[name](x, (1,), False), spoiled, diff=(), axes=(1,),
               keepdim=False)
    r.case("logsumexp", lambda x: torch.logsumexp(x, 1),
           torch.tensor([[-inf, -inf], [1000.0, 1000], [-inf, 2]], dtype=torch.float64), diff=(),
           axes=(1,), keepdim=False)
    for number, (shape, axes, keepdim) in enumerate(LAYOUTS[:6]):
        for p in ((2.0, 1.0), (2.0, 3.0), (0.5, 2.0))[number % 3]:
            r.case("norm", lambda x: torch.linalg.vector_norm(x, p, axes, keepdim),
                   r.normal(*shape), p=p, axes=axes, keepdim=keepdim)
        for name in ("var", "std"):
            correction = number % 2
            r.case(name, lambda x: getattr(torch, name)(x, axes_of(x, axes), correction=correction,
                                                        keepdim=keepdim),
                   r.normal(*shape), axes=axes, correction=correction, keepdim=keepdim)
    for p in (inf, -inf):
        r.case("norm", lambda x: torch.linalg.vector_norm(x, p, 1), r.normal(3, 5), diff=(), p=p,
               axes=(1,), keepdim=False)
    r.case("norm", lambda x: torch.linalg.vector_norm(x, 2, 1), torch.zeros(2, 3).double(), p=2.0,
           axes=(1,), keepdim=False)
    for name in ("argmax", "argmin"):
        for shape, axis, keepdim in (((3, 5), None, False), ((3, 5), 0, False), ((3, 5), -1, True),
                                     ((2, 3, 4), 1, False), ((7,), 0, False)):
            r.case(name, lambda x: getattr(torch, name)(x, axis, keepdim), r.normal(*shape),
                   diff=(), axis=axis, keepdim=keepdim)
        r.case(name, lambda x: getattr(torch, name)(x, 1), tied, diff=(), axis=1, keepdim=False)
        r.case(name, lambda x: getattr(torch, name)(x, 0),
               torch.tensor([1.0, nan, 5, nan], dtype=torch.float64), diff=(), axis=0, keepdim=False)


def scan(r):
    layouts = [((6,), 0), ((3, 4), 1), ((3, 4), 0), ((2, 3, 4), -2), ((1, 5), -1)]
    for shape, axis in layouts:
        r.case("cumsum", lambda x: torch.cumsum(x, axis), r.normal(*shape), axis=axis)
        r.case("cumprod", lambda x: torch.cumprod(x, axis), r.normal(*shape), axis=axis)
        for n in (1, 2):
            r.case("diff", lambda x: torch.diff(x, n, axis), r.normal(*shape), n=n, axis=axis)
        for name in ("cummax", "cummin"):
            r.case(name, lambda x: getattr(torch, name)(x, axis), r.normal(*shape), axis=axis)
    for name in ("cummax", "cummin"):
        r.case(name, lambda x: getattr(torch, name)(x, 0), r.integers(9, hi=4), axis=0)
        r.case(name, lambda x: getattr(torch, name)(x, 0),
               torch.tensor([1.0, -inf, 1, inf, nan, 2, nan, inf]).double(), diff=(), axis=0)
    for zeros in ([2], [1, 3]):
        x = r.normal(5)
        x[zeros] = 0
        r.case("cumprod", lambda x: torch.cumprod(x, 0), x, axis=0)
    for dtype in (torch.int64, torch.int32, torch.uint8):
        r.case("cumsum", lambda x: torch.cumsum(x, 0), r.integers(5, 2, dtype=dtype), axis=0)
        r.case("cumprod", lambda x: torch.cumprod(x, 0), r.integers(5, dtype=dtype), axis=0)
    r.case("cumsum", lambda x: torch.cumsum(x, 0), r.bools(6), axis=0)
    r.case("cumsum", lambda x: torch.cumsum(x, 1), r.normal(5, 40, dtype=torch.float32), axis=1)


DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
          "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32, "u8": torch.uint8,
          "bool": torch.bool}
TABLES = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow,
    "floor_divide": torch.floor_divide, "remainder": torch.remainder, "maximum": torch.maximum,
    "atan2": torch.atan2, "lt": torch.lt, "eq": torch.eq, "logical_and": torch.logical_and,
    "bitwise_and": torch.bitwise_and,
    "where": lambda a, b: torch.where(torch.tensor(True), a, b),
}
UNARY_TABLES = {
    "exp": torch.exp, "sqrt": torch.sqrt, "sigmoid": torch.sigmoid, "abs": torch.abs,
    "neg": torch.neg, "floor": torch.floor, "isnan": torch.isnan,
    "relu": F.relu, "sum": torch.sum, "prod": torch.prod, "mean": torch.mean, "max": torch.amax,
    "argmax": torch.argmax, "var": torch.var,
    "cumsum": lambda x: torch.cumsum(x.reshape(-1), 0),
    "logsumexp": lambda x: torch.logsumexp(x, 0), "softmax": lambda x: torch.softmax(x, 0),
}


def result_code(function, *inputs):
    """The place of the result's dtype in DTYPES; -1 where PyTorch refuses the combination."""
    try:
        return list(DTYPES.values()).index(function(*inputs).dtype)
    except (RuntimeError, NotImplementedError):
        return -1


def promotion(r):
    names = list(DTYPES)
    ranks = {"dims": lambda t: torch.ones(2).to(t), "zero": lambda t: torch.ones(()).to(t)}
    for op, function in TABLES.items():
        for left in ranks:
            for right in ranks:
                codes = [[result_code(function, ranks[left](a), ranks[right](b))
                          for b in DTYPES.values()] for a in DTYPES.values()]
                r.add(f"table_{op}", dict(left=left, right=right, dtypes=names),
                      {"y": torch.tensor(codes)})
    codes = [[result_code(lambda x, y: torch.cat((x, y)), ranks["dims"](a), ranks["dims"](b))
              for b in DTYPES.values()] for a in DTYPES.values()]
    r.add("table_concat", dict(left="dims", right="dims", dtypes=names), {"y": torch.tensor(codes)})
    for op, function in UNARY_TABLES.items():
        codes = [result_code(function, torch.ones(3).to(t)) for t in DTYPES.values()]
        r.add(f"table_{op}", dict(left="dims", dtypes=names), {"y": torch.tensor(codes)})
    mixed(r)


def mixed(r):
    """Values where the operands' dtypes differ or are narrow, so rounding and wrapping show."""
    values = torch.tensor([-3.7, -1, 0, .3, 1, 2.6, 77, 200.5], dtype=torch.float64)
    positive = torch.tensor([3, 1, 2, 7, 1, 2, 5, 250], dtype=torch.float64)
    types = {name: t for name, t in DTYPES.items() if name != "bool"}
    for a in types.values():
        for b in types.values():
            x = (values.abs() if a == torch.uint8 else values).to(a)
            y = positive.to(b)
            r.case("add", torch.add, x, y, diff=())
            if a == b or torch.float16 in (a, b):
                r.case("div", torch.div, x, y, diff=())
    flags = torch.tensor([True, False] * 4)
    for t in types.values():
        r.case("add", torch.add, flags, positive.to(t), diff=())
        r.case("mul", torch.mul, positive.to(t), flags, diff=())
    for source in DTYPES.values():
        for target in DTYPES.values():
            x = (values.abs() if target == torch.uint8 else values).to(torch.float32)
            x = (x.abs() if source == torch.uint8 else x).to(source)
            r.case("cast", lambda x: x.to(target), x, diff=())
    wide = torch.tensor([65504.0, 65520, 70000, 1e-8, 6e-8, 1.0009765625, 1.00048828125, 3.3895e38,
                         -0.0, inf, -inf, nan], dtype=torch.float64)
    for source in (torch.float64, torch.float32):
        for target in (torch.float32, torch.float16, torch.bfloat16):
            r.case("cast", lambda x: x.to(target), wide.to(source), diff=())
