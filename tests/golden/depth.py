"""depth.safetensors: the nets and losses of examples/depth, as examples/depth/vid2depth.py has them in PyTorch.

    python3 depth.py [FILE]

needs PyTorch and safetensors. Numbers of inputs and weights are those both sides make by a rule (`nets.hashed`). Of
warp, difference, dissimilarity, roughness and clouds there are values and gradients; of the nets what they say to begin
with; of three steps of Adam the loss and its parts. All is computed in f64."""
import os
import sys

import torch
from safetensors.torch import save_file

from nets import hashed

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../examples/depth"))
import vid2depth  # noqa: E402

N, HEIGHT, WIDTH, POINTS, NARROWER, STEPS = 2, 24, 32, 40, 8, 3
out = {}


def numbers(k, *shape, low=-1., high=1.):
    t = torch.from_numpy(hashed(k, torch.Size(shape).numel())).reshape(shape)
    return low + (high - low) * (t + 1) / 2


def leaf(*a, **k):
    return numbers(*a, **k).requires_grad_()


LENS = torch.tensor([[18, 17, 11.5, 7.5], [20, 21, 12, 7]], dtype=torch.float64)
source, target = numbers(1, N, 3, HEIGHT, WIDTH, low=0), numbers(2, N, 3, HEIGHT, WIDTH, low=0)
disparity, motions = leaf(3, N, 1, HEIGHT, WIDTH, low=.2, high=1), leaf(4, N, 6, low=-.1, high=.1)

warped, mask = vid2depth.warp(source, disparity, motions, LENS)
out["warped"], out["mask"] = warped, mask
for name in ("difference", "dissimilarity"):
    loss = getattr(vid2depth, name)(*vid2depth.warp(source, disparity, motions, LENS)[:1], target, mask)
    out[name] = loss
    out[name + "/disparity"], out[name + "/motions"] = torch.autograd.grad(loss, [disparity, motions])
out["roughness"] = vid2depth.roughness(disparity, target)
out["roughness/disparity"], = torch.autograd.grad(out["roughness"], disparity)

points = leaf(5, N, 3, POINTS)
others = torch.cat([vid2depth.moved(points.detach(), motions.detach())[:, :, 5:] + .02, numbers(6, N, 3, 20)], 2)
out["clouds"] = vid2depth.clouds(points, motions * .5, others)
out["clouds/points"], out["clouds/motions"] = torch.autograd.grad(out["clouds"], [points, motions])
out["icp/motions"], out["icp/left"] = vid2depth.icp(points.detach(), others)

nets = vid2depth.Nets(NARROWER).double()
with torch.no_grad():
    for k, p in enumerate(nets.learned()):
        spread = .1 if p.ndim == 1 else (6 / (p.numel() / p.shape[0])) ** .5
        p.copy_(spread * torch.from_numpy(hashed(100 + k, p.numel())).reshape(p.shape))
frames = numbers(7, N, 9, HEIGHT, WIDTH, low=0)
with torch.no_grad():
    for i, said in enumerate(nets.depth(frames.reshape(-1, 3, HEIGHT, WIDTH))):
        out[f"disparity{i}"] = said
    out["motions"] = nets.motions(frames)
adam = torch.optim.Adam(nets.learned(), lr=1e-3)
rows = []
for step in range(STEPS):
    loss, part = vid2depth.losses(nets, frames, LENS)
    rows.append(torch.stack([loss, *part.values()]))
    adam.zero_grad()
    loss.backward()
    adam.step()
out["steps"] = torch.stack(rows)

file = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "depth.safetensors")
save_file({k: v.detach().double().contiguous() for k, v in out.items()}, file)
