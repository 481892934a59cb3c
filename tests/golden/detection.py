"""Golden cases of reading images at points and of detection. What PyTorch itself does not have is computed here,
one box and one pixel after the other."""
import torch
import torch.nn.functional as F


def sample(r):
    for mode in ("bilinear", "nearest", "bicubic"):
        for border in ("zeros", "border", "reflection"):
            for align in (False, True):
                for shape, points in (((2, 2, 4, 5), (2, 3, 4, 2)), ((1, 3, 3, 2), (1, 2, 5, 2))):
                    r.case("grid_sample", lambda x, g: F.grid_sample(x, g, mode, border, align), r.normal(*shape),
                           r.uniform(*points, lo=-1.6, hi=1.6), mode=mode, border=border, align_corners=align)
    for size in ((3, 4), (1, 1), (2, 5)):
        for align in (False, True):
            r.case("affine_grid", lambda t: F.affine_grid(t, (2, 1, *size), align), r.normal(2, 2, 3), size=size,
                   align_corners=align)
    where = torch.tensor([1, 0, 0])
    for size in ((3, 4), (1, 2), (5, 1)):
        boxes = torch.cat([r.uniform(3, 2, hi=.5), r.uniform(3, 2, lo=.4, hi=1.3)], 1)
        r.case("crop_and_resize", lambda x, b, n: crop(x, b, n, size, .5), r.normal(2, 2, 4, 5), boxes, where, size=size,
               extrapolation=.5)
    for ratio in (1, 2, 0):
        for aligned in (False, True):
            boxes = torch.cat([r.uniform(3, 2, lo=-1, hi=4), r.uniform(3, 2, lo=3, hi=13)], 1)
            r.case("roi_align", lambda x, b, n: roi_align(x, b, n, (2, 3), .75, ratio, aligned), r.normal(2, 2, 7, 6),
                   boxes, where, diff=(0,), size=(2, 3), scale=.75, sampling_ratio=ratio, aligned=aligned)


def read(image, y, x):
    """Pixels of [C, H, W] between the four around a place inside."""
    top, left = min(int(y), image.shape[1] - 1), min(int(x), image.shape[2] - 1)
    low, right = min(top + 1, image.shape[1] - 1), min(left + 1, image.shape[2] - 1)
    v, u = y - top, x - left
    return ((image[:, top, left] * (1 - u) + image[:, top, right] * u) * (1 - v)
            + (image[:, low, left] * (1 - u) + image[:, low, right] * u) * v)


def crop(x, boxes, where, size, outside):
    def at(a, b, i, n, pixels):
        return (a + (b - a) * i / (n - 1) if n > 1 else (a + b) / 2) * (pixels - 1)

    def point(image, box, i, j):
        y = at(box[0], box[2], i, size[0], image.shape[1])
        x = at(box[1], box[3], j, size[1], image.shape[2])
        inside = 0 <= y <= image.shape[1] - 1 and 0 <= x <= image.shape[2] - 1
        return read(image, y, x) if inside else torch.full_like(image[:, 0, 0], outside)

    return torch.stack([torch.stack([torch.stack([point(x[n], box, i, j) for j in range(size[1])], -1)
                                     for i in range(size[0])], 1) for box, n in zip(boxes, where)])


def roi_align(x, boxes, where, size, scale, ratio, aligned):
    def axis(low, high, cells):
        low, high = low * scale - .5 * aligned, high * scale - .5 * aligned
        cell = (high - low if aligned else (high - low).clamp(min=1)) / cells
        count = ratio or max(int(torch.ceil(cell)), 0)
        return [[low + (k + (i + .5) / count) * cell for i in range(count)] for k in range(cells)]

    def point(image, y, x):
        _, h, w = image.shape
        if y < -1 or y > h or x < -1 or x > w:
            return torch.zeros_like(image[:, 0, 0])
        return read(image, y.clamp(0, h - 1), x.clamp(0, w - 1))

    def box(image, b):
        rows, cols = axis(b[1], b[3], size[0]), axis(b[0], b[2], size[1])
        return torch.stack([torch.stack([sum(point(image, y, x) for y in ys for x in xs) / (len(ys) * len(xs))
                                         for xs in cols], -1) for ys in rows], 1)

    return torch.stack([box(x[n], b) for b, n in zip(boxes, where)])


def boxes(r):
    def some(n, spread=8.0):
        low = r.uniform(n, 2, hi=spread)
        return torch.cat([low, low + r.uniform(n, 2, lo=1, hi=6)], 1)

    for n in (1, 12, 60):
        for threshold in (.1, .5, .7):
            r.case("nms", lambda b, s: nms(b, s, threshold), some(n), r.uniform(n), diff=(), iou_threshold=threshold)
        r.case("nms", lambda b, s, c: nms(b, s, .2, c), some(n), r.uniform(n), r.integers(n, hi=3), diff=(),
               iou_threshold=.2)
    for n, m in ((3, 4), (1, 5)):
        r.case("box_iou", iou, some(n), some(m))
        r.case("box_giou", giou, some(n), some(m))
    for best in (False, True):
        for positive, negative in ((.5, .5), (.6, .2)):
            r.case("box_match", lambda a, b: match(iou(a, b), positive, negative, best), some(25), some(6), diff=(),
                   positive=positive, negative=negative, best=best)
    for n in (1, 5):
        r.case("box_encode", encode, some(n), some(n))
        r.case("box_decode", decode, some(n), r.normal(n, 4))


def match(overlaps, positive, negative, best):
    """As torchvision's Matcher, one anchor after the other."""
    found = []
    for row in overlaps:
        first = max(range(len(row)), key=lambda k: row[k])
        likes = best and any(0 < row[k] == overlaps[:, k].max() for k in range(len(row)))
        found.append(first if row[first] >= positive or likes else -1 if row[first] < negative else -2)
    return torch.tensor(found)


def area(b):
    return (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])


def sizes(a, b):
    a = a[:, None]
    both = (torch.minimum(a[..., 2:], b[:, 2:]) - torch.maximum(a[..., :2], b[:, :2])).clamp(min=0).prod(-1)
    return both, area(a) + area(b) - both


def iou(a, b):
    both, either = sizes(a, b)
    return both / either


def giou(a, b):
    both, either = sizes(a, b)
    hull = (torch.maximum(a[:, None, 2:], b[:, 2:]) - torch.minimum(a[:, None, :2], b[:, :2])).prod(-1)
    return both / either - (hull - either) / hull


def nms(b, scores, threshold, classes=None):
    kept, overlap = [], iou(b, b)
    for i in scores.argsort(descending=True, stable=True).tolist():
        if not any(overlap[i, k] > threshold and (classes is None or classes[i] == classes[k]) for k in kept):
            kept.append(i)
    return torch.tensor(kept)


WEIGHTS = torch.tensor([10., 10, 5, 5], dtype=torch.float64)


def encode(anchors, b):
    size, wanted = anchors[:, 2:] - anchors[:, :2], b[:, 2:] - b[:, :2]
    move = (b[:, :2] + wanted / 2 - anchors[:, :2] - size / 2) / size
    return torch.cat([move, torch.log(wanted / size)], 1) * WEIGHTS


def decode(anchors, codes):
    size, codes = anchors[:, 2:] - anchors[:, :2], codes / WEIGHTS
    centre = anchors[:, :2] + size / 2 + codes[:, :2] * size
    half = torch.exp(codes[:, 2:]) * size / 2
    return torch.cat([centre - half, centre + half], 1)
