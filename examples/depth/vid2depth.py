"""net.c, loss.c and icp.c in PyTorch, for twin.py, golden numbers and benchmarks."""
import torch
import torch.nn.functional as F
from torch import nn

SCALES, FRAMES, CLOUD, ROUNDS = 4, 3, 200, 4
SOURCES, TARGETS = (0, 1, 1, 2), (1, 0, 2, 1)


# ---- nets --------------------------------------------------------------------------------------------


class Same(nn.Conv2d):
    """Padded as TensorFlow pads: the odd cell goes to the end."""

    def forward(self, x):
        needs = [max((-(-n // s) - 1) * s + k - n, 0) for n, s, k in zip(x.shape[2:], self.stride, self.kernel_size)]
        (top, left) = (n // 2 for n in needs)
        return super().forward(F.pad(x, (left, needs[1] - left, top, needs[0] - top)))


class Up(nn.ConvTranspose2d):
    """Twice as large, cut at the end."""

    def forward(self, x):
        return super().forward(x)[:, :, :2 * x.shape[2], :2 * x.shape[3]]


class Norm(nn.BatchNorm2d):
    """Without a scale."""

    def __init__(self, channels):
        super().__init__(channels, eps=1e-3)
        self.weight.requires_grad_(False)


def normed(conv, channels):
    return nn.Sequential(conv, Norm(channels), nn.ReLU())


def conv(inner, outer, kernel, stride):
    return normed(Same(inner, outer, kernel, stride, bias=False), outer)


def twice(x):
    """Bilinear, where pixel o of the result lies at o / 2."""
    for axis in (2, 3):
        last = x.shape[axis] - 1
        after = torch.cat([x.narrow(axis, 1, last), x.narrow(axis, last, 1)], axis)
        x = torch.stack([x, (x + after) / 2], axis + 1).flatten(axis, axis + 1)
    return x


class Depth(nn.Module):
    def __init__(self, narrower):
        super().__init__()
        widths = [c // narrower for c in (32, 64, 128, 256, 512, 512, 512)]
        ups = [c // narrower for c in (16, 32, 64, 128, 256, 512, 512)]
        self.down, self.up, self.join, self.say = (nn.ModuleDict() for _ in range(4))
        self.order, inner = [], 3
        for i, outer in enumerate(widths):
            kernel = {0: 7, 1: 5}.get(i, 3)
            self.down[str(i)] = nn.Sequential(conv(inner, outer, kernel, 2), conv(outer, outer, kernel, 1))
            self.order.append(self.down[str(i)])
            inner = outer
        for i in reversed(range(7)):
            outer, beside, said = ups[i], widths[i - 1] if i else 0, int(i < SCALES - 1)
            self.up[str(i)] = normed(Up(inner, outer, 3, 2, bias=False), outer)
            self.join[str(i)] = conv(outer + beside + said, outer, 3, 1)
            self.order += [self.up[str(i)], self.join[str(i)]]
            if i < SCALES:
                self.say[str(i)] = nn.Conv2d(outer, 1, 3, padding=1)
                nn.init.constant_(self.say[str(i)].bias, -2.5)
                self.order.append(self.say[str(i)])
            inner = outer

    def forward(self, x):
        seen, said, out = [], None, {}
        for i in range(7):
            x = self.down[str(i)](x)
            seen.append(x)
        for i in reversed(range(7)):
            up = self.up[str(i)](x)
            parts = [up]
            if i:
                if up.shape[2:] != seen[i - 1].shape[2:]:
                    parts = [F.interpolate(up, seen[i - 1].shape[2:], mode="nearest")]
                parts.append(seen[i - 1])
            if said is not None:
                parts.append(twice(said))
            x = self.join[str(i)](torch.cat(parts, 1))
            if i < SCALES:
                out[i] = said = self.say[str(i)](x).sigmoid() * 10 + .01
        return [out[i] for i in range(SCALES)]


class Nets(nn.Module):
    def __init__(self, narrower):
        super().__init__()
        self.depth = Depth(narrower)
        widths = [c // narrower for c in (16, 32, 64, 128, 256, 256, 256)]
        layers = [conv(inner, outer, {0: 7, 1: 5}.get(i, 3), 2) if i < 5
                  else nn.Sequential(Same(inner, outer, 3, 2), nn.ReLU())
                  for i, (inner, outer) in enumerate(zip([3 * FRAMES, *widths], widths))]
        self.motion = nn.Sequential(*layers, nn.Conv2d(widths[-1], 6 * (FRAMES - 1), 1))

    def motions(self, frames):
        return .01 * self.motion(frames).mean((2, 3)).reshape(-1, FRAMES - 1, 6)

    def learned(self):
        """Parameters in the order of net.c."""
        return [p for part in [*self.depth.order, self.motion] for p in part.parameters() if p.requires_grad]


# ---- geometry ----------------------------------------------------------------------------------------


def points_of(disparity, lens):
    n, _, h, w = disparity.shape
    fx, fy, cx, cy = (lens[:, i].reshape(n, 1, 1, 1) for i in range(4))
    u, v = (torch.arange(k, dtype=lens.dtype, device=lens.device) for k in (w, h))
    depth = 1 / disparity
    return torch.cat([(u - cx) / fx * depth, (v.reshape(-1, 1) - cy) / fy * depth, depth], 1).flatten(2)


def lens_at(lens, by):
    return torch.cat([lens[:, :2] / by, (lens[:, 2:] + .5) / by - .5], 1)


def rotations(motions):
    zero, one = torch.zeros_like(motions[:, 0]), torch.ones_like(motions[:, 0])
    (a, b, c), (x, y, z) = motions[:, 3:].cos().unbind(1), motions[:, 3:].sin().unbind(1)

    def matrix(*rows):
        return torch.stack(rows, 1).reshape(-1, 3, 3)
    return (matrix(one, zero, zero, zero, a, -x, zero, x, a) @ matrix(b, zero, y, zero, one, zero, -y, zero, b)
            @ matrix(c, -z, zero, z, c, zero, zero, zero, one))


def moved(points, motions):
    return rotations(motions) @ points + motions[:, :3, None]


def warp(source, disparity, motions, lens):
    points = moved(points_of(disparity, lens), motions)
    n, _, h, w = source.shape
    ahead = points[:, 2].clamp(min=1e-3)
    at = [(points[:, i] / ahead * lens[:, i, None] + lens[:, 2 + i, None]) * (2 / (size - 1)) - 1
          for i, size in enumerate((w, h))]
    mask = ((at[0].abs() <= 1) & (at[1].abs() <= 1)).to(source.dtype).reshape(n, 1, h, w)
    grid = torch.stack(at, 2).reshape(n, h, w, 2)
    return F.grid_sample(source, grid, padding_mode="border", align_corners=True), mask


# ---- losses ------------------------------------------------------------------------------------------


def difference(warped, target, mask):
    return ((warped - target).abs() * mask).mean()


def dissimilarity(x, y, mask):
    def mean(v):
        return F.avg_pool2d(v, 3, 1)
    mx, my = mean(x), mean(y)
    above = (2 * mx * my + .01 ** 2) * (2 * (mean(x * y) - mx * my) + .03 ** 2)
    below = (mx ** 2 + my ** 2 + .01 ** 2) * (mean(x ** 2) - mx ** 2 + mean(y ** 2) - my ** 2 + .03 ** 2)
    return (((1 - above / below) / 2).clamp(0, 1) * mean(mask)).mean()


def roughness(disparity, image):
    return sum((disparity.diff(dim=axis).abs() * (-image.diff(dim=axis).abs().mean(1, True)).exp()).mean()
               for axis in (3, 2))


def neighbours(points, others):
    centre = others.mean(2, True)
    p, q = points - centre, others - centre
    nearest = ((q * q).sum(1, True) - 2 * p.transpose(1, 2) @ q).argmin(2)
    return others.gather(2, nearest[:, None].expand(-1, 3, -1))


def best(points, to):
    p, t = points.mean(2, True), to.mean(2, True)
    u, _, vh = torch.linalg.svd((to - t) @ (points - p).transpose(1, 2))
    turn = torch.cat([u[:, :, :2], u[:, :, 2:] * torch.det(u @ vh)[:, None, None]], 2) @ vh
    return turn, t - turn @ p


@torch.no_grad()
def icp(points, others):
    now = points
    for _ in range(ROUNDS):
        turn, shift = best(points, neighbours(now, others))
        now = turn @ points + shift
    angles = [-torch.atan2(turn[:, 1, 2], turn[:, 2, 2]), torch.asin(turn[:, 0, 2].clamp(-1, 1)),
              -torch.atan2(turn[:, 0, 1], turn[:, 0, 0])]
    return torch.cat([shift[:, :, 0], torch.stack(angles, 1)], 1), neighbours(now, others) - now


def clouds(source, motions, target):
    more, left = icp(moved(source, motions).detach(), target.detach())
    return (more - (motions - motions.detach())).abs().mean() + (left - (source - source.detach())).abs().mean()


def thinned(points, h, w):
    step = 1
    while -(-h // step) * -(-w // step) > CLOUD:
        step += 1
    return points.reshape(-1, 3, h, w)[:, :, step // 2::step, step // 2::step].flatten(2)


def of_pairs(x, which):
    return torch.cat([x[:, i] for i in which])


def losses(nets, frames, lens, smooth=.05, weight=.1):
    """The loss and its parts, each a sum over scales, pairs and frames: warp, ssim, smooth, icp."""
    n, _, h, w = frames.shape
    a, b = nets.motions(frames).unbind(1)
    motions, lens = torch.cat([a, -a, b, -b]), lens.repeat(4, 1)
    disparities = nets.depth(frames.reshape(n * FRAMES, 3, h, w))
    part = dict(warp=0, ssim=0, smooth=0, icp=0)
    for scale, disparity in enumerate(disparities):
        size, share, k = disparity.shape[2:], .5 ** scale, lens_at(lens, 2 ** scale)
        images = F.adaptive_avg_pool2d(frames, size).reshape(n, FRAMES, 3, *size)
        each = disparity.reshape(n, FRAMES, 1, *size)
        here, target = of_pairs(each, TARGETS), of_pairs(images, TARGETS)
        warped, mask = warp(of_pairs(images, SOURCES), here, motions, k)
        part["warp"] += 4 * difference(warped, target, mask)
        part["ssim"] += 4 * dissimilarity(warped, target, mask)
        part["smooth"] += FRAMES * share * roughness(disparity, images.flatten(0, 1))
        if weight:
            part["icp"] += 4 * share * clouds(thinned(points_of(here, k), *size), motions,
                                              thinned(points_of(of_pairs(each, SOURCES), k), *size))
    return .85 * part["warp"] + .15 * part["ssim"] + smooth * part["smooth"] + weight * part["icp"], part
