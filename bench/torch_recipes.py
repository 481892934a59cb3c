"""PyTorch's side of `compare.py recipes`: torchvision's v2 transforms on tensors, behind a DataLoader. Where
torchvision has no such step its nearest one stands for it: its saturation for HSV's, its own random part.

    python3 torch_recipes.py FOLDER WORKERS RECIPE"""
import json
import sys
import time

import torch
import torchvision
from torchvision import datasets, io
from torchvision.transforms import v2

SIDE = 224
PLAIN = {"antialias": False}


class ShorterSide(torch.nn.Module):
    """Resized so that the shorter side is any of low..high."""

    def __init__(self, low, high):
        super().__init__()
        self.range = (low, high + 1)

    def forward(self, x):
        return v2.functional.resize(x, [int(torch.randint(*self.range, ()))], antialias=False)


def floats(mean, std):
    return [v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)]


RECIPES = {
    "inception": [v2.RandomResizedCrop(SIDE, (.05, 1), (.75, 1.33), **PLAIN), v2.RandomHorizontalFlip(),
                  v2.ColorJitter(brightness=32 / 255, saturation=.5), *floats([.5] * 3, [.5] * 3)],
    "vgg": [ShorterSide(256, 512), v2.RandomCrop(SIDE), v2.RandomHorizontalFlip(),
            *floats([123.68 / 255, 116.78 / 255, 103.94 / 255], [1 / 255] * 3)],
    "torch": [v2.RandomResizedCrop(SIDE, antialias=True), v2.RandomHorizontalFlip(),
              *floats([.485, .456, .406], [.229, .224, .225])],
}


def main():
    folder, workers, recipe = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    photos = datasets.ImageFolder(folder, v2.Compose(RECIPES[recipe]),
                                  loader=lambda path: io.decode_image(path, io.ImageReadMode.RGB))
    loader = torch.utils.data.DataLoader(photos, 32, shuffle=True, num_workers=workers,
                                         persistent_workers=workers > 0)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "about":
            answer = {"library": f"PyTorch {torch.__version__}, torchvision {torchvision.__version__}"}
        else:
            start, images = time.perf_counter(), 0
            while not images or (time.perf_counter() - start) * 1e6 < float(words[1]):
                for batch, _ in loader:
                    images += len(batch)
            answer = {"samples": images, "seconds": time.perf_counter() - start}
        print(json.dumps(answer), flush=True)


main()
