"""Golden cases of images: what TensorFlow computes for tf.image's operations and for recipes of slim and of
tf_cnn_benchmarks.

    python3 pictures.py [--out DIR]      writes pictures.safetensors; needs TensorFlow on the CPU and nothing else

Where chance is at work, the numbers it draws are read from Philox here too, in the order in which the library draws
them (data/image/recipes.c), and TensorFlow's operations are given them. Boxes are TensorFlow's own draws: its op reads
the same words of the same stream."""
import argparse
import json
import os
import struct

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from dice import Dice  # noqa: E402

v1 = tf.compat.v1
CODES = {np.dtype("float32"): "F32", np.dtype("int64"): "I64", np.dtype("uint8"): "U8"}


# ---- the file (README.md) ------------------------------------------------------------------------------------

class Recorder:
    def __init__(self):
        self.tensors, self.metadata, self.counts = {}, {}, {}

    def add(self, op, y, *inputs, **options):
        number = self.counts[op] = self.counts.get(op, -1) + 1
        key = f"{op}/{number}"
        self.metadata[key] = ";".join(f"{k}={self.text(v)}" for k, v in options.items() if v is not None)
        for i, x in enumerate(inputs):
            self.tensors[f"{key}/x{i}"] = np.ascontiguousarray(x)
        self.tensors[f"{key}/y"] = np.ascontiguousarray(y)

    def text(self, value):
        if isinstance(value, (list, tuple)):
            return ",".join(self.text(v) for v in value)
        return str(int(value)) if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)

    def write(self, path):
        names = sorted(self.tensors, key=lambda n: (-self.tensors[n].itemsize, n))
        header, at = {"__metadata__": dict(sorted(self.metadata.items()))}, 0
        for name in names:
            t = self.tensors[name]
            header[name] = {"dtype": CODES[t.dtype], "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
            at += t.nbytes
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for name in names:
                file.write(self.tensors[name].tobytes())


def distorted_box(seed, height, width, boxes=None, covered=.1, ratio=(.75, 1.33), area=(.05, 1.), attempts=100):
    with v1.Graph().as_default():
        given = np.zeros((1, 0, 4), np.float32) if boxes is None else np.asarray(boxes, np.float32)[None]
        made = tf.raw_ops.SampleDistortedBoundingBoxV2(
            image_size=tf.constant([height, width, 3]), bounding_boxes=tf.constant(given),
            min_object_covered=tf.constant(covered, tf.float32), seed=seed, seed2=0, aspect_ratio_range=list(ratio),
            area_range=list(area), max_attempts=attempts, use_image_if_no_bounding_boxes=True)
        with v1.Session() as session:
            begin, size = session.run([made.begin, made.size])
    return [int(begin[0]), int(begin[1]), int(size[0]), int(size[1])]


# ---- images [C, H, W] here, [H, W, C] there ----------------------------------------------------------------------

def hwc(x):
    return np.transpose(x, (1, 2, 0))


def chw(x):
    return np.transpose(np.asarray(x), (2, 0, 1))


def image(generator, channels, height, width):
    """Smooth, with noise, of bytes."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [127 + 70 * np.sin(.11 * x * (c + 1) + c) + 40 * np.cos(.17 * y - c) for c in range(channels)]
    noise = generator.normal(0, 12, (channels, height, width))
    return np.clip(np.stack(planes) + noise, 0, 255).astype(np.uint8)


def resized(x, height, width, how="bilinear"):
    """x [H, W, C] of floats, as TensorFlow 1 resizes."""
    methods = {"bilinear": v1.image.resize_bilinear, "nearest": v1.image.resize_nearest_neighbor,
               "bicubic": v1.image.resize_bicubic, "area": v1.image.resize_area}
    return methods[how](x[None], [height, width], align_corners=False)[0]


# ---- operations ------------------------------------------------------------------------------------------------

def operations(r, g):
    wide = g.normal(.4, .5, (3, 5, 7)).astype(np.float32)   # also outside 0..1
    plain = g.uniform(0, 1, (3, 6, 5)).astype(np.float32)
    plain[:, 2, 2], plain[:, 3, 1], plain[:, 0, 0] = .25, 0, 1  # gray, black, white
    plain[:, 4, 4], plain[:, 4, 3] = (.5, .5, .2), (.3, .7, .7)
    for x in (wide, plain):
        for by in (.3, -.25):
            r.add("tf_brightness", chw(tf.image.adjust_brightness(hwc(x), by)), x, by=by)
        for by in (.5, 1.7, 0., -1.):
            r.add("tf_contrast", chw(tf.image.adjust_contrast(hwc(x), by)), x, by=by)
        for by in (0., .5, 1., 1.5, 8.):
            r.add("tf_saturation", chw(tf.image.adjust_saturation(hwc(x), by)), x, by=by)
        for by in (0., .1, -.35, .5, -.9, 1.):
            r.add("tf_hue", chw(tf.image.adjust_hue(hwc(x), by)), x, by=by)
    flat = np.full((3, 4, 4), 100, np.uint8)
    nearly = flat.astype(np.float32) + g.uniform(0, .01, flat.shape).astype(np.float32)
    for x in (wide, image(g, 3, 5, 4), image(g, 1, 4, 6), flat, nearly):
        r.add("standardise", chw(tf.image.per_image_standardization(hwc(x))), x)
    for size in ((5, 5), (9, 4), (3, 10), (8, 8), (2, 3)):
        x = image(g, 3, 6, 7)
        r.add("crop_or_pad", chw(tf.image.resize_with_crop_or_pad(hwc(x), *size)), x, size=size)
    for right, down in ((2., -1.), (1.3, .4), (-2.7, 3.2), (20., 0.), (0., 0.)):
        x = plain * 255
        for how in ("NEAREST", "BILINEAR"):
            y = tf.raw_ops.ImageProjectiveTransformV3(
                images=hwc(x)[None], transforms=[[1, 0, -right, 0, 1, -down, 0, 0]], output_shape=x.shape[1:],
                fill_value=0., interpolation=how, fill_mode="CONSTANT")[0]
            r.add("translate", chw(y), x, right=right, down=down, nearest=how == "NEAREST")


def boxes(r, g):
    """Results are i64 [4]: top, left, height, width."""
    objects = np.array([[.2, .2, .3, .35], [.6, .5, .9, .7], [.1, .7, .1, .7]], np.float32)
    cases = [(375, 500, {}), (500, 333, {}), (32, 32, {}), (1, 1, {}), (3, 700, {}),
             (375, 500, {"covered": .9, "boxes": objects}), (64, 48, {"covered": 1., "boxes": objects[1:2]}),
             (100, 80, {"covered": .6, "area": (.2, .3), "boxes": objects}),
             (100, 80, {"ratio": (2., 5.), "area": (.01, .1)}), (90, 200, {"ratio": (.1, .1), "attempts": 3}),
             (200, 300, {"covered": 0., "area": (1., 1.)}), (60, 60, {"covered": 1., "boxes": objects[2:]}),
             (75, 51, {"ratio": (1., 1.), "area": (.5, .5), "attempts": 5})]
    for height, width, options in cases:
        for _ in range(6):
            seed = int(g.integers(1, 2 ** 31))
            y = np.array(distorted_box(seed, height, width, **options), np.int64)
            given = dict(options)
            x = (given.pop("boxes"),) if "boxes" in given else ()
            given = {k: tuple(int(round(1000 * n)) for n in v) if isinstance(v, tuple) else v for k, v in given.items()}
            r.add("distorted_box", y, *x, seed=seed, size=(height, width), **given)


# ---- recipes ---------------------------------------------------------------------------------------------------

def unit(x):
    return tf.image.convert_image_dtype(hwc(x), tf.float32)


def changed(x, order, by):
    """Colours in the order of letters; by: amounts of brightness, contrast, saturation, hue."""
    amount = dict(zip("bcsh", by))
    how = {"b": tf.image.adjust_brightness, "c": tf.image.adjust_contrast, "s": tf.image.adjust_saturation,
           "h": tf.image.adjust_hue}
    for k in order:
        x = how[k](x, amount[k])
    return tf.clip_by_value(x, 0., 1.)


def colours(dice):
    return [dice.between(-32 / 255, 32 / 255), dice.between(.5, 1.5), dice.between(.5, 1.5), dice.between(-.2, .2)]


def cut(x, box):
    return x[box[0]:box[0] + box[2], box[1]:box[1] + box[3]]


def shorter_to(x, side):
    h, w = x.shape[:2]
    scale = np.float32(side) / np.float32(min(h, w))
    return resized(x, int(np.rint(np.float32(h) * scale)), int(np.rint(np.float32(w) * scale)))


MEANS = np.array([123.68, 116.78, 103.94], np.float32)


def train_inception(x, side, seed, thorough=False):
    image_, dice = unit(x), Dice(seed, 100)
    image_ = cut(image_, distorted_box(seed, *x.shape[1:]))
    how = ("bilinear", "nearest", "bicubic", "area")[dice.below(4)]
    flip, order, by = dice.chance(), dice.below(4), colours(dice)
    image_ = resized(image_, side, side, how if thorough else "bilinear")
    image_ = image_[:, ::-1] if flip else image_
    orders = ("bshc", "sbch", "chbs", "hscb") if thorough else ("bs", "sb", "sb", "sb")
    return (changed(image_, orders[order], by) - .5) * 2


def evaluate_inception(x, side):
    image_ = tf.image.central_crop(unit(x), .875)
    return (resized(image_, side, side) - .5) * 2


def train_vgg(x, side, seed):
    dice, low, high = Dice(seed), round(side * 256 / 224), round(side * 512 / 224)
    image_ = shorter_to(hwc(x).astype(np.float32), low + dice.below(high - low + 1))
    top, left = dice.below(image_.shape[0] - side + 1), dice.below(image_.shape[1] - side + 1)
    image_ = cut(image_, (top, left, side, side))
    return (image_[:, ::-1] if dice.chance() else image_) - MEANS


def evaluate_vgg(x, side):
    image_ = shorter_to(hwc(x).astype(np.float32), round(side * 256 / 224))
    top, left = (image_.shape[0] - side) // 2, (image_.shape[1] - side) // 2
    return cut(image_, (top, left, side, side)) - MEANS


def train_cifarnet(x, side, seed):
    dice = Dice(seed)
    image_ = tf.pad(hwc(x).astype(np.float32), [[4, 4], [4, 4], [0, 0]])
    top, left = dice.below(image_.shape[0] - side + 1), dice.below(image_.shape[1] - side + 1)
    image_ = cut(image_, (top, left, side, side))
    image_ = image_[:, ::-1] if dice.chance() else image_
    image_ = tf.image.adjust_brightness(image_, dice.between(-63, 63))
    return tf.image.per_image_standardization(tf.image.adjust_contrast(image_, dice.between(.2, 1.8)))


def evaluate_cifarnet(x, side):
    return tf.image.per_image_standardization(
        tf.image.resize_with_crop_or_pad(hwc(x).astype(np.float32), side, side))


def lenet(x, side, seed=None):
    return (tf.image.resize_with_crop_or_pad(hwc(x).astype(np.float32), side, side) - 128) / 128


def train_cnn_benchmarks(x, side, seed, place=None):
    dice = Dice(seed, 100)
    image_ = cut(hwc(x), distorted_box(seed, *x.shape[1:]))
    image_ = image_[:, ::-1] if dice.chance() else image_
    drawn, by = dice.below(2), colours(dice)
    order = drawn if place is None else (place - 1) % 2
    image_ = changed(resized(image_, side, side) / 255., ("bshc", "bcsh")[order], by) * 255
    return image_ / 127.5 - 1


def evaluate_cnn_benchmarks(x, side):
    h, w = (np.float32(n) for n in x.shape[1:])
    ratio = max(np.float32(side) / h, np.float32(side) / w)
    tall, wide = int(h * ratio * np.float32(1.145)), int(w * ratio * np.float32(1.145))
    image_ = resized(hwc(x).astype(np.float32), tall, wide)
    return cut(image_, ((tall - side) // 2, (wide - side) // 2, side, side)) / 127.5 - 1


def recipes(r, g):
    for name in ("inception", "vgg", "cifarnet", "lenet", "cnn_benchmarks"):
        train = globals().get("train_" + name, lenet)
        evaluate = globals().get("evaluate_" + name, lenet)
        channels = 1 if name == "lenet" else 3
        side = 10
        for height, width in ((25, 34), (19, 15), (9, 12)):
            x = image(g, channels, height, width)
            r.add("preprocess", chw(evaluate(x, side)), x, name=name, side=side)
            for k in range(2):
                seed = int(g.integers(1, 2 ** 31))
                r.add("preprocess", chw(train(x, side, seed)), x, name=name, side=side, train=True, seed=seed)
    for seed in range(1, 9):
        x = image(g, 3, 21, 30)
        r.add("preprocess", chw(train_inception(x, 10, seed, True)), x, name="inception", side=10, train=True,
              thorough=True, seed=seed)
    for place in range(1, 4):
        x = image(g, 3, 21, 30)
        r.add("preprocess", chw(train_cnn_benchmarks(x, 10, place, place)), x, name="cnn_benchmarks", side=10,
              train=True, place=place, seed=place)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=here, help="folder to write to (default: beside pictures.py)")
    path = os.path.join(parser.parse_args().out, "pictures.safetensors")
    # A generator whose pixels have no red with green a rounding below blue: its hue is a whole turn then, of which
    # TensorFlow's saturation makes a gray.
    r, g = Recorder(), np.random.default_rng(21)
    operations(r, g)
    boxes(r, g)
    recipes(r, g)
    r.write(path)
    print(f"{sum(n + 1 for n in r.counts.values())} cases of {len(r.counts)} ops, "
          f"{os.path.getsize(path) / 1024:.1f} KiB with TensorFlow {tf.__version__}")


if __name__ == "__main__":
    main()
