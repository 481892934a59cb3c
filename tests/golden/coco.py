"""Average precision as pycocotools counts it, and as the devkit of Pascal VOC does: what tests/test_detection_scores.c
compares egret/detection.h with.

    python3 coco.py [--out DIR]

Photos are made up: found/box, found/score, found/label and found/photo of each box that was found, true/box, true/label,
true/flags (1 difficult, 4 a crowd), true/area and true/photo of each object. Boxes are multiples of a quarter pixel, scores of
1/64, so that some are alike. A mask is the ellipse in a box, of the pixels whose centres are in it. box/coco and mask/coco are
pycocotools' twelve numbers, box/classes [12, classes] those of one class alone; voc/all and voc/2007 [classes] the devkit's,
without crowds, written down here from its text. corners/I [k, 2] are polygons, some of them beyond the photo, runs/I the
letters of pycocotools' mask of each. Needs NumPy and pycocotools; the file here came from pycocotools 2.0.11."""
import argparse
import contextlib
import io
import os

import numpy
import torch
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from recorder import write_safetensors

PHOTOS, CLASSES, WIDTH, HEIGHT = 14, 5, 200, 160
KEYS = "box", "label", "flags", "area", "photo"


def some_box(r):
    w, h = r.choice([12, 40, 130], p=[.4, .4, .2]) * r.uniform(.5, 1.2, 2)
    x, y = r.uniform(0, max(WIDTH - w, 1)), r.uniform(0, max(HEIGHT - h, 1))
    return numpy.round(4 * numpy.array([x, y, min(x + w, WIDTH), min(y + h, HEIGHT)])) / 4


def make(r):
    true = {key: [] for key in KEYS}
    found = {key: [] for key in ("box", "score", "label", "photo")}
    for photo in range(PHOTOS):
        for _ in range(r.integers(0, 9)):
            box, label = some_box(r), r.integers(0, CLASSES - 1)  # of the last class there is none
            flags = int(r.choice([0, 1, 4], p=[.85, .05, .1]))
            area = (box[2] - box[0]) * (box[3] - box[1]) * r.choice([1, .5])
            for key, value in zip(KEYS, (box, label, flags, area, photo)):
                true[key].append(value)
            for _ in range(r.integers(0, 4)):
                near = numpy.round(4 * (box + r.normal(0, .08, 4) * (box[2] - box[0]))) / 4
                if near[2] > near[0] and near[3] > near[1]:
                    other = label if r.random() < .85 else r.integers(0, CLASSES)
                    for key, value in zip(found, (near, r.integers(1, 64) / 64, other, photo)):
                        found[key].append(value)
        for _ in range(r.integers(0, 5)):
            for key, value in zip(found, (some_box(r), r.integers(1, 64) / 64, r.integers(0, CLASSES), photo)):
                found[key].append(value)
    return true, found


def ellipse(box):
    x, y = numpy.arange(WIDTH) + .5, numpy.arange(HEIGHT)[:, None] + .5
    cx, cy, rx, ry = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2, (box[2] - box[0]) / 2, (box[3] - box[1]) / 2
    return ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 <= 1


def xywh(box):
    return [float(box[0]), float(box[1]), float(box[2] - box[0]), float(box[3] - box[1])]


def by_coco(true, found, kind, label=None):
    """The twelve numbers, of all classes or one."""
    coco = COCO()
    coco.dataset = {"images": [{"id": i + 1, "width": WIDTH, "height": HEIGHT} for i in range(PHOTOS)],
                    "categories": [{"id": k + 1} for k in range(CLASSES)], "annotations": []}
    for i, box in enumerate(true["box"]):
        shape = ellipse(box)
        coco.dataset["annotations"].append({
            "id": i + 1, "image_id": true["photo"][i] + 1, "category_id": int(true["label"][i]) + 1, "bbox": xywh(box),
            "area": float(shape.sum() if kind == "segm" else true["area"][i]), "iscrowd": int(true["flags"][i] > 0),
            "segmentation": mask.encode(numpy.asfortranarray(shape.astype("uint8")))})
    coco.createIndex()
    results = [{"image_id": found["photo"][i] + 1, "category_id": int(found["label"][i]) + 1, "score": found["score"][i],
                **({"bbox": xywh(box)} if kind == "bbox" else
                   {"segmentation": mask.encode(numpy.asfortranarray(ellipse(box).astype("uint8")))})}
               for i, box in enumerate(found["box"])]
    judge = COCOeval(coco, coco.loadRes(results), kind)
    judge.params.catIds = [label + 1] if label is not None else judge.params.catIds
    judge.evaluate()
    judge.accumulate()
    judge.summarize()
    return torch.tensor(judge.stats)


def overlap(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    both = max(w, 0) * max(h, 0)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def by_devkit(true, found, label, old):
    """VOCevaldet of the devkit, without its one more pixel in each side."""
    there = [i for i in range(len(true["box"])) if true["label"][i] == label and true["flags"][i] < 4]
    count = sum(true["flags"][i] == 0 for i in there)
    if not count:
        return float("nan")
    boxes = sorted((i for i in range(len(found["box"])) if found["label"][i] == label), key=lambda i: -found["score"][i])
    taken, hits, misses, recall, precision = set(), 0, 0, [], []
    for i in boxes:
        near = [(overlap(found["box"][i], true["box"][j]), -j) for j in there if true["photo"][j] == found["photo"][i]]
        best, j = max(near, default=(0, 0))
        if best >= .5 and true["flags"][-j]:
            continue
        good = best >= .5 and -j not in taken
        taken |= {-j} if good else set()
        hits, misses = hits + good, misses + (not good)
        recall.append(hits / count)
        precision.append(hits / (hits + misses))
    if old:
        return sum(max((p for p, r in zip(precision, recall) if r >= t * .1), default=0) for t in range(11)) / 11
    area, before = 0, 0
    for k, r in enumerate(recall):
        area += (r - before) * max(precision[k:])
        before = r
    return area


def polygons(r):
    for i in range(12):
        n = int(r.integers(3, 9))
        corners = r.uniform(-20, 1.1 * WIDTH if i % 3 else WIDTH / 2, (n, 2)) if i else numpy.array(
            [[10, 10], [10, 20], [30, 20], [30, 10.]])
        runs = mask.frPyObjects([corners.flatten().tolist()], HEIGHT, WIDTH)[0]["counts"]
        yield torch.tensor(corners), torch.tensor(list(runs), dtype=torch.uint8)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    out = p.parse_args().out
    true, found = make(numpy.random.default_rng(7))
    tensors = {}
    for name, of in (("true", true), ("found", found)):
        for key, values in of.items():
            kind = {"box": "f8", "area": "f8", "score": "f8", "flags": "u1"}.get(key, "i8")
            tensors[f"{name}/{key}"] = torch.tensor(numpy.array(values, kind))
    with contextlib.redirect_stdout(io.StringIO()):
        tensors["box/coco"], tensors["mask/coco"] = by_coco(true, found, "bbox"), by_coco(true, found, "segm")
        tensors["box/classes"] = torch.stack([by_coco(true, found, "bbox", k) for k in range(CLASSES)], 1)
    for name, old in (("all", False), ("2007", True)):
        tensors["voc/" + name] = torch.tensor([by_devkit(true, found, k, old) for k in range(CLASSES)]).double()
    for i, (corners, runs) in enumerate(polygons(numpy.random.default_rng(3))):
        tensors[f"corners/{i}"], tensors[f"runs/{i}"] = corners, runs
    write_safetensors(os.path.join(out, "coco.safetensors"), tensors, {})


if __name__ == "__main__":
    main()
