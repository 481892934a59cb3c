"""Golden cases of augmentation: torchvision's operations, RandAugment, MixUp and CutMix, whose chance is Egret's."""
import math

import torch

from dice import Dice

NAMES = ("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast",
         "Sharpness", "Posterize", "Solarize", "AutoContrast", "Equalize")
ROUNDED = ("Brightness", "Color", "Contrast", "Sharpness", "AutoContrast")  # of bytes torchvision cuts, Egret rounds


def image(r, height, width, dtype=torch.float32):
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    planes = [.5 + .3 * torch.sin(.31 * x * (c + 1)) + .2 * torch.cos(.27 * y + c) for c in range(3)]
    values = (torch.stack(planes) + r.normal(3, height, width, dtype=torch.float32) * .05).clamp(0, 1)
    return values if dtype == torch.float32 else (values * 255).round().to(dtype)


def augment(r):
    from torchvision.transforms import functional as F, v2, InterpolationMode
    from torchvision.transforms.autoaugment import RandAugment, _apply_op
    nearest, bilinear = InterpolationMode.NEAREST, InterpolationMode.BILINEAR

    for dtype in (torch.float32, torch.uint8):
        for options in ({"angle": 20., "translate": [1, -2], "scale": 1.2, "shear": [8., -5.]},
                        {"angle": -75., "translate": [0, 0], "scale": .6, "shear": [0., 0.], "center": [3, 5]},
                        {"angle": 0., "translate": [0, 0], "scale": 1., "shear": [30., 0.], "center": [0, 0]}):
            for how in (nearest, bilinear):
                if how == nearest or dtype == torch.float32:
                    x = image(r, 7, 8, dtype)
                    y = F.affine(x, interpolation=how, **options)
                    given = [options["angle"], *options["translate"], options["scale"], *options["shear"]]
                    r.add("affine", {"nearest": how == nearest, "centre": options.get("center"),
                                     "numbers": [int(round(1000 * n)) for n in given]}, {"x0": x, "y": y})

    def space(size, bins=31):
        return RandAugment()._augmentation_space(bins, size)

    for what, name in enumerate(NAMES):
        for place in (9, 30):
            for sign in (1, -1):
                for dtype in (torch.float32, torch.uint8):
                    # fewer than 255 pixels are equal enough
                    size = (24, 22) if name == "Equalize" else (7, 8)
                    x = image(r, *size, dtype)
                    magnitudes, signed = space(size)[name]
                    m = float(magnitudes[place]) if magnitudes.ndim else 0.
                    if sign < 0 and not signed or name in ROUNDED and dtype == torch.uint8 or \
                            not magnitudes.ndim and place > 9:
                        continue
                    if name in ("Posterize", "Equalize") and dtype == torch.float32:
                        continue
                    m *= sign
                    scale = 1 if dtype == torch.uint8 or name != "Solarize" else 255
                    y = _apply_op(x, name, m / scale, nearest, None)
                    r.add("augment", {"what": what, "magnitude": m}, {"x0": x, "y": y})

    for seed in range(40):
        # ops whose bytes are exact, or floats of the others
        dice, size, drawn = Dice(seed), (7, 8), []
        for _ in range(2):
            what = dice.below(14)
            magnitudes, signed = space(size)[NAMES[what]]
            m = float(magnitudes[12]) if magnitudes.ndim else 0.
            back = dice.chance()
            drawn.append((NAMES[what], -m if back and signed else m))
        bytes_ = {name for name, _ in drawn} & {"Posterize", "Equalize"}
        if bytes_ and {name for name, _ in drawn} & set(ROUNDED):
            continue
        x = image(r, *size, torch.uint8 if bytes_ else torch.float32)
        y = x
        for name, m in drawn:
            y = _apply_op(y, name, m / (255 if name == "Solarize" and not bytes_ else 1), nearest, None)
        r.add("rand_augment", {"seed": seed, "magnitude": 12}, {"x0": x, "y": y})

    for k, share in enumerate((.3, .9, .5)):
        x, labels = r.uniform(4, 3, 7, 6, dtype=torch.float32), r.integers(4, hi=5)
        params = {"lam": share, "labels": labels, "batch_size": 4, "num_classes": 5}
        mix = v2.MixUp(num_classes=5)
        r.add("mixup", {"share": share}, {"x0": x, "x1": labels, "y0": mix.transform(x, params),
                                          "y1": mix._mixup_label(labels, lam=share)})
        dice, half = Dice(k), .5 * math.sqrt(1 - share)
        column, row = dice.below(6), dice.below(7)
        wide, tall = int(half * 6), int(half * 7)
        box = (max(column - wide, 0), max(row - tall, 0), min(column + wide, 6), min(row + tall, 7))
        rest = 1 - (box[2] - box[0]) * (box[3] - box[1]) / 42
        cut = v2.CutMix(num_classes=5)
        r.add("cutmix", {"share": share, "seed": k},
              {"x0": x, "x1": labels, "y0": cut.transform(x, {**params, "box": box, "lam_adjusted": rest}),
               "y1": cut._mixup_label(labels, lam=rest)})
