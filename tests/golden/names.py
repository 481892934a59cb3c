"""Writes names.txt.gz: what others call the weights of the nets, and their shapes, for tests of the maps of names.

    python3 names.py [--out DIR]

Of each net a line "= NET WHOSE", then a line "NAME SIZE ..." for each tensor. torchvision's are those of its own nets,
as are those of the package efficientnet_lite_pytorch; TF-Slim's come from slim_names.py, Keras' from keras_nets.py.
Needs PyTorch, torchvision, that package, and Keras on PyTorch (KERAS_BACKEND=torch)."""
import argparse
import gzip
import os

import efficientnet_lite_pytorch
import torch
import torchvision

import keras_nets
import slim_names

TORCHVISION = {
    "vgg_a": "vgg11", "vgg_16": "vgg16", "vgg_19": "vgg19",
    **{name: name for name in [f"resnet{n}" for n in (18, 34, 50, 101, 152)]
       + [f"efficientnet_b{n}" for n in range(8)]
       + [f"convnext_{size}" for size in ("tiny", "small", "base", "large")]
       + [f"vit_{size}_{patch}" for size in "bl" for patch in (16, 32)]},
}


def torchvision_rows(name):
    with torch.device("meta"):
        net = getattr(torchvision.models, name)()
    return rows_of(net)


def lite_rows(i):
    return rows_of(efficientnet_lite_pytorch.EfficientNet.from_name(f"efficientnet-lite{i}"))


def rows_of(net):
    return [(key, value.shape) for key, value in net.state_dict().items()]


def text():
    lines = []
    for whose, nets in (("TF-Slim", {name: make().rows for name, make in slim_names.NETS.items()}),
                        ("torchvision", {name: torchvision_rows(theirs) for name, theirs in TORCHVISION.items()}),
                        ("efficientnet_lite_pytorch", {f"efficientnet_lite{i}": lite_rows(i) for i in range(5)}),
                        ("Keras", {name: keras_nets.rows(name, False) for name in keras_nets.NETS}),
                        ("Keras-files", {name: keras_nets.rows(name, True) for name in keras_nets.NETS})):
        for name, rows in nets.items():
            lines += [f"= {name} {whose}"] + [" ".join([key, *map(str, shape)]) for key, shape in rows]
    return "".join(line + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)), help="folder to write to")
    path = os.path.join(parser.parse_args().out, "names.txt.gz")
    with open(path, "wb") as file:
        file.write(gzip.compress(text().encode(), 9, mtime=0))
    print(f"{path}: {os.path.getsize(path) / 1024:.1f} KiB")


main()
