#!/usr/bin/env python3
"""cifar10 does what it says: a short run whose loss falls, pictures, runs that are stopped and go on, files of images in
all their forms, refusals in words.

    check.py CIFAR10
"""
import io
import os
import random
import re
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import bytes_of, check, finish, is_png, kill, logged, output_of, runner  # noqa: E402

program = sys.argv[1]
run = runner(program)
SMALL = ["--num-layers", "8", "--batch", "16", "--threads", "1"]


def records(path, labels):
    chance = random.Random(len(labels))
    with open(path, "wb") as file:
        for label in labels:
            file.write(bytes([label]) + bytes(chance.randrange(25) * label for _ in range(3072)))


def rates(at):
    """The published ones, of 80,000 steps, in as many as there are."""
    run(*SMALL, "--drawn", "100", "--steps", "20", "--out", at)
    got = logged(at, "rate")
    want = {t: .1 if t <= 20 * 28782 // 80000 + 1 else .01 if t <= 20 * 43173 // 80000 + 1 else .001 for t in got}
    check("rates change where they should", all(abs(got[t] - want[t]) < 1e-9 for t in want), got)


def thin(at):
    """Weights are left out, of a run that goes on too, and of the file."""
    words = [*SMALL, "--drawn", "100", "--epochs", "3", "--density", "0.1"]
    said = run(*words, "--out", at + "/thin")
    check("a tenth is left", "10.0 % of the weights are left" in said, said)
    size = {name: os.path.getsize(f"{at}/thin/{name}.safetensors") for name in ("thin", "best")}
    check("the file is small", size["thin"] < .25 * size["best"], size)
    kill(9, program, *words, out=at + "/thin-killed")
    run(*words, "--resume", "--out", at + "/thin-killed")
    check("thinned, killed and resumed", bytes_of(at + "/thin/thin.safetensors") ==
          bytes_of(at + "/thin-killed/thin.safetensors"))
    said = run(*SMALL, "--drawn", "100", "--epochs", "2", "--keep", "2:4", "--out", at + "/keep")
    check("two of four are left", "50.3 % of the weights are left" in said, said)
    for wrong in ["--keep", "2.4"], ["--keep", "4:2"], ["--keep", "2:4", "--density", "0.5"]:
        run(*SMALL, "--smoke", *wrong, "--out", at + "/wrong", expect=1)


def from_files(at):
    os.makedirs(at + "/data")
    records(at + "/data/data_batch_1.bin", [i % 10 for i in range(100)])
    run("--data", at + "/data", *SMALL, "--epochs", "1", "--out", at + "/tenth")
    check("a tenth is kept to test with", len(logged(at + "/tenth", "loss")) == 90 // 16)
    with tarfile.open(at + "/data/jpeg-test.tar", "w") as tar:
        for i, name in enumerate(("cat", "dog")):
            data = open(at + "/tenth/images.png", "rb").read()
            member = tarfile.TarInfo(f"test/{name}/{i}.jpg")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    said = run("--data", at + "/data", *SMALL, "--epochs", "1", "--out", at + "/odd", expect=1)
    check("an image of another size is told", "32" in said or "inner" in said or "shape" in said, said)
    os.remove(at + "/data/jpeg-test.tar")
    records(at + "/data/test_batch.bin", list(range(10)))
    run("--data", at + "/data", *SMALL, "--epochs", "1", "--out", at + "/all")
    check("all are learned from", len(logged(at + "/all", "loss")) == 100 // 16)
    with open(at + "/data/data_batch_1.bin", "ab") as file:
        file.write(b"x")
    check("a damaged file is named", "data_batch_1" in run("--data", at + "/data", *SMALL, "--out", at + "/x", expect=1))
    check("no data", "not/there" in run("--data", "not/there", "--out", at + "/x", expect=1))


with tempfile.TemporaryDirectory() as at:
    words = ["--smoke", *SMALL]
    said = output_of(program, *words, "--out", at + "/whole")
    check("the speed of training is printed once", re.findall(r"images per second|examples/s", said)
          == ["images per second"], said)
    for name in ("images.png", "loss.png", "accuracy.png"):
        check(f"{name} is a PNG", is_png(f"{at}/whole/{name}"))
    check("there is a best one", os.path.exists(at + "/whole/best.safetensors"))
    kill(8, program, *words, out=at + "/killed")
    run(*words, "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit", logged(at + "/killed") == logged(at + "/whole"))
    plain = logged((run(*words, "--no-use-distortion-for-training", "--out", at + "/plain"), at + "/plain")[1], "loss")
    check("without distortion it learns otherwise", plain != logged(at + "/whole", "loss"))
    thin(at)
    rates(at + "/rates")
    from_files(at + "/files")
    check("help", "get-data" in run("--help"))
    for wrong in (["--num-layers", "9"],):
        check("no such depth", "6 n + 2" in run(*wrong, "--smoke", "--out", at + "/deep", expect=1))
    for wrong in (["--momentum", "1"], ["--batch", "0"], ["--nonsense"], ["fetch"]):
        run(*wrong, expect=2)

finish()
