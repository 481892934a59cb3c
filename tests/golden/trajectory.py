"""trajectory.safetensors: paths laid on others by Umeyama's method, without scale, and as SfMLearner does it, and how far
off they are then, in NumPy.

    python3 trajectory.py [FILE]

needs NumPy, PyTorch and safetensors."""
import os
import sys

import numpy
import torch
from safetensors.torch import save_file

from nets import hashed

N, T = 4, 7
path, truth = (numpy.array(hashed(k, N * T * 3)).reshape(N, T, 3) for k in (11, 12))
truth = truth * .2 + path @ numpy.linalg.qr(path[0, :3])[0] * 3 + 5
truth[3] *= [1, 1, -1]  # only a reflection would do


def umeyama(p, t, scaled):
    """Least-squares estimation of transformation parameters between two point patterns, 1991, equations 38 to 43."""
    mp, mt = p.mean(0), t.mean(0)
    u, d, vt = numpy.linalg.svd((t - mt).T @ (p - mp) / len(p))
    s = numpy.diag([1, 1, numpy.sign(numpy.linalg.det(u) * numpy.linalg.det(vt))])
    r = u @ s @ vt
    c = (d * s.diagonal()).sum() / ((p - mp) ** 2).sum(1).mean() if scaled else 1
    return c * (p - mp) @ r.T + mt


def snippet(p, t):
    """Both from their beginnings."""
    p, t0 = p - p[0], t - t[0]
    return p * (t0 * p).sum() / (p ** 2).sum() + t[0]


out = {}
for name, fit in (("similarity", lambda p, t: umeyama(p, t, True)), ("rigid", lambda p, t: umeyama(p, t, False)),
                  ("scale", snippet)):
    fitted = numpy.stack([fit(p, t) for p, t in zip(path, truth)])
    squares = ((fitted - truth) ** 2).sum((1, 2))
    out[name] = torch.from_numpy(fitted)
    out[name + "/error"] = torch.from_numpy(squares ** .5 / T if name == "scale" else (squares / T) ** .5).mean()
out["path"], out["truth"] = torch.from_numpy(path), torch.from_numpy(truth)
file = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                          "trajectory.safetensors")
save_file(out, file)
