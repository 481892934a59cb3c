"""Dumps golden numbers: what PyTorch computes for the operations Egret shares with it.

    python3 dump.py [--out DIR] [FAMILY ...]     default: every family, beside this file

Needs PyTorch on the CPU and nothing else; `augment` also torchvision, `audio` torchaudio and librosa. Run twice, it
writes the same bytes twice."""
import argparse
import os

import torch

import arrays
import audio
import augment
import detection
import elementwise
import layers
import modules
import nets
import signals
import solve
import training
from recorder import Recorder

FAMILIES = {
    "pointwise": elementwise.pointwise, "binary": elementwise.binary,
    "reduce": elementwise.reduce, "scan": elementwise.scan, "promotion": elementwise.promotion,
    "linalg": layers.linalg, "conv": layers.conv, "pool": layers.pool, "norm": layers.norm, "lrn": layers.lrn,
    "resize": layers.resize, "fft": signals.fft, "audio": audio.audio,
    "sample": detection.sample, "boxes": detection.boxes, "solve": solve.solve,
    "modules": modules.modules, "recurrent": modules.recurrent, "models": nets.models,
    "index": arrays.index, "sort": arrays.sort, "shape": arrays.shape,
    "attention": training.attention,
    "softmax": training.softmax, "loss": training.loss, "ctc": training.ctc, "rnn": training.rnn,
    "optim": training.optim, "optim_more": training.optim_more, "lbfgs": training.lbfgs, "clip": training.clip,
    "schedule": training.schedule, "augment": augment.augment,
}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", nargs="*", metavar="FAMILY", help=" ".join(FAMILIES))
    parser.add_argument("--out", default=here, help="folder to write to (default: beside dump.py)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.family if name not in FAMILIES]
    if unknown:
        parser.error("no such family: " + " ".join(unknown))
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    total = 0
    for name in arguments.family or FAMILIES:
        recorder = Recorder(name)
        FAMILIES[name](recorder)
        path = recorder.write(arguments.out)
        total += os.path.getsize(path)
        print(f"{name:14} {sum(recorder.counts.values()):4} cases of {len(recorder.counts):3} ops, "
              f"{os.path.getsize(path) / 1024:6.1f} KiB")
    print(f"{total / 1024:.1f} KiB with PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
