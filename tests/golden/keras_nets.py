"""Writes keras_nets.safetensors: logits of Keras' nets, for a test of the maps of their names.

    KERAS_BACKEND=torch python3 keras_nets.py [--out DIR]

Weights and images are numbers that both sides make by the same rule (`hashed` in nets.py), in the order that names.txt.gz
has them in, so that only logits are stored. names.py takes the names from here: those that Keras 3 gives the weights in
its files of HDF5, and those of the files that come with keras.applications. Needs Keras on PyTorch."""
import argparse
import os
import re

import keras
import numpy
import torch

from nets import IMAGES, hashed
from recorder import Recorder

# Of ours, theirs.
NETS = {"vgg_16": "VGG16", "vgg_19": "VGG19", "inception_v3": "InceptionV3", "mobilenet_v1": "MobileNet",
        "mobilenet_v2": "MobileNetV2"}
REPLAYED = ["vgg_16", "inception_v3", "mobilenet_v1", "mobilenet_v2"]


def make(name):
    keras.backend.clear_session()  # or layers are counted on
    return getattr(keras.applications, NETS[name])(weights=None, classifier_activation=None)


def parts(weight):
    """Of the layer and of the weight; Keras counts layers without a name from none, the published files from 1."""
    layer, part = weight.path.split("/")
    number = re.fullmatch(r"(conv2d|batch_normalization)(?:_(\d+))?", layer)
    return (f"{number[1]}_{int(number[2] or 0) + 1}" if number else layer), part


def name_of(net, weight, published):
    layer, part = parts(weight)
    if not published:
        return f"{layer}/{layer}/{part}"
    if net.startswith("vgg"):
        return f"{layer}/{layer}_{'W' if part == 'kernel' else 'b'}_1:0"
    depthwise = part == "kernel" and (layer.startswith("conv_dw") or layer.endswith("_depthwise"))
    return f"{layer}/{layer}/{'depthwise_' if depthwise else ''}{part}:0"


def rows(net, published):
    return [(name_of(net, weight, published), weight.shape) for weight in make(net).weights]


def filled(k, weight):
    shape, part = weight.shape, parts(weight)[1]
    n = int(numpy.prod(shape))
    if len(shape) > 1:  # a depthwise kernel is the one whose last axis is 1
        low, spread = 0, numpy.sqrt(6 / (n // shape[-1] if shape[-1] > 1 else shape[0] * shape[1]))
    else:
        low, spread = {"moving_variance": (1, .5), "gamma": (1, .2)}.get(part, (0, .1))
    return (low + spread * hashed(k, n)).astype(numpy.float32).reshape(shape)


def case(r, name):
    net = make(name)
    for k, weight in enumerate(net.weights):
        weight.assign(filled(k, weight))
    side = net.input_shape[1]
    x = hashed(IMAGES, 3 * side * side).astype(numpy.float32).reshape(1, 3, side, side)
    with torch.no_grad():
        y = net(numpy.ascontiguousarray(x.transpose(0, 2, 3, 1)), training=False)
    r.add(name, {"side": side}, {"y": y.cpu().float()})


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=here, help="folder to write to")
    recorder = Recorder("keras_nets")
    out = parser.parse_args().out
    for name in REPLAYED:
        case(recorder, name)
    path = recorder.write(out)
    print(f"{path}: {os.path.getsize(path) / 1024:.1f} KiB with Keras {keras.__version__}")


if __name__ == "__main__":
    main()
