#!/usr/bin/env python3
"""style and fast_style do what they say: a short run whose loss falls, pictures, runs that are killed and go on, weights
under everybody's names, the same numbers in Lua, refusals in words.

    check.py STYLE FAST_STYLE [EGRET]
"""
import json
import os
import shutil
import struct
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../common"))
from checking import check, finish, is_png, kill, logged, runner  # noqa: E402

program, quick = sys.argv[1:3]
run, fast = runner(program), runner(quick)
SMALL = ["--trunk", "resnet_cifar_20", "--threads", "1"]


def painted(at):
    words = ["--smoke", *SMALL]
    said = run(*words, "--keep-trunk", "--out", at + "/whole")
    check("weights by chance are told", "chance" in said, said)
    losses = [line for line in said.splitlines() if line.startswith("step ")]
    check("ten snapshots are told of", len(losses) == 10 and losses[0].startswith("step 0: total "), said)
    for name in ("content.png", "style.png", "result.png", "sheet.png", "steps.png", "loss.png", "step-00018.png"):
        check(f"{name} is a PNG", is_png(f"{at}/whole/{name}"))
    log = logged(at + "/whole", "loss")
    check("the lowest loss is told", f"lowest loss {min(log.values()):.4e}" in said, said)
    check("it begins with what is where", logged(at + "/whole", "content")[1] == 0)
    kill(8, program, *words, out=at + "/killed")
    run(*words, "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit", logged(at + "/killed") == logged(at + "/whole"))
    check("and the best image", open(at + "/killed/result.png", "rb").read() == open(at + "/whole/result.png", "rb").read())
    run(*words, "--weights", at + "/whole/trunk.safetensors", "--prepared", "caffe", "--out", at + "/again")
    check("its own trunk as weights is the same", logged(at + "/again") == logged(at + "/whole"))
    smooth = logged((run(*words, "--tv", "10", "--out", at + "/smooth"), at + "/smooth")[1], "loss")
    check("neighbours count", smooth[1] > log[1])
    lbfgs = ["--optimizer", "lbfgs", "--size", "32", "--steps", "4", "--save-every", "1", *SMALL]
    run(*lbfgs, "--out", at + "/lbfgs")
    fell, adams = logged(at + "/lbfgs", "loss"), list(log.values())
    check("L-BFGS begins at the same loss", fell[1] == log[1])
    check("and gets further in 4 steps than Adam in 20", len(fell) == 4 and fell[4] < min(adams), f"{fell}\n{adams}")
    kill(2, program, *lbfgs, out=at + "/lbfgs-killed")
    run(*lbfgs, "--resume", "--out", at + "/lbfgs-killed")
    check("killed and resumed, L-BFGS goes on the same", logged(at + "/lbfgs-killed") == logged(at + "/lbfgs"))
    for pool in ("max", "avg"):
        run("--trunk", "resnet18", "--size", "32", "--steps", "1", "--pool", pool, "--out", f"{at}/{pool}")
    check("means are others than maxima", logged(at + "/max", "loss") != logged(at + "/avg", "loss"))


def files(at):
    for part in ("content", "style"):
        os.makedirs(f"{at}/data/{part}")
        shutil.copy(f"{at}/whole/{part}.png", f"{at}/data/{part}/a.jpg")
    words = ["--steps", "3", "--size", "48", *SMALL]
    run("--data", at + "/data", *words, "--out", at + "/folder")
    run("--content", at + "/data/content/a.jpg", "--style", at + "/data/style/a.jpg", *words, "--out", at + "/files")
    check("a folder's first are the files'", logged(at + "/folder") == logged(at + "/files"))
    check("no data", "not/there" in run("--data", "not/there", "--out", at + "/x", expect=1))
    check("no photo", "not/there" in run("--content", "not/there", "--out", at + "/x", expect=1))
    check("no weights", "not/there" in run("--smoke", *SMALL, "--weights", "not/there", "--out", at + "/x", expect=1))
    check("weights of another net", "conv1.conv.weight" in
          run("--smoke", *SMALL, "--weights", at + "/vgg.safetensors", "--out", at + "/x", expect=1))
    check("no such layer", "conv9_9" in run("--smoke", *SMALL, "--content-layer", "conv9_9", "--out", at + "/x", expect=1))
    check("layers of a net that has no usual ones", "--style-layers" in
          run("--smoke", "--trunk", "lenet", "--out", at + "/x", expect=1))


def write_vgg(path, kernel, bias, order):
    """VGG 11's convolutions of small numbers, as others call them and lay them out."""
    header, at, blobs = {}, 0, []
    channels = 3
    for block, counts in enumerate(((64,), (128,), (256, 256), (512, 512), (512, 512)), 1):
        for i, n in enumerate(counts, 1):
            sizes = {"i": channels, "o": n, "h": 3, "w": 3}
            shape, channels = [sizes[c] for c in order], n
            for name, dims in ((kernel, shape), (bias, [n])):
                count = 1
                for d in dims:
                    count *= d
                name = name.format(block=block, i=i)
                header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [at, at + 4 * count]}
                at += 4 * count
                blobs.append(struct.pack("<f", 0.001) * count)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def named(at):
    """Our own names, Keras' and TF-Slim's: the same weights, the same losses."""
    names = (("features.conv{block}_{i}.conv.weight", "features.conv{block}_{i}.conv.bias", "oihw"),
             ("block{block}_conv{i}/block{block}_conv{i}_W_1:0", "block{block}_conv{i}/block{block}_conv{i}_b_1:0", "hwio"),
             ("block{block}_conv{i}/block{block}_conv{i}/kernel:0", "block{block}_conv{i}/block{block}_conv{i}/bias:0", "hwio"),
             ("vgg_a/conv{block}/conv{block}_{i}/weights", "vgg_a/conv{block}/conv{block}_{i}/biases", "hwio"))
    got = []
    for kernel, bias, order in names:
        write_vgg(at + "/vgg.safetensors", kernel, bias, order)
        run("--trunk", "vgg_a", "--size", "32", "--steps", "2", "--weights", at + "/vgg.safetensors", "--threads", "1",
            "--out", at + "/vgg")
        got.append(logged(at + "/vgg", "loss"))
    check("the same under everybody's names", all(g == got[0] for g in got) and len(got[0]) == 2, got)


def painter(at):
    words = ["--smoke", *SMALL]
    fast(*words, "--out", at + "/fast")
    for name in ("style.png", "painted.png", "loss.png"):
        check(f"{name} is a PNG", is_png(f"{at}/fast/{name}"))
    kill(8, quick, *words, out=at + "/fast-killed")
    fast(*words, "--resume", "--out", at + "/fast-killed")
    check("killed and resumed, it learns the same", logged(at + "/fast-killed") == logged(at + "/fast"))
    photo = at + "/whole/content.png"
    fast("--smoke", "--paint", photo, "--size", "50", "--out", at + "/fast")
    first = open(at + "/fast/content-painted.png", "rb").read()
    check("a photo is painted, in sides of fours", struct.unpack(">2I", first[16:24]) == (48, 36), first[:24])
    fast("--smoke", "--paint", photo, "--size", "50", "--model", at + "/fast/painter.safetensors", "--out", at + "/other")
    check("by the file as by the checkpoint", open(at + "/other/content-painted.png", "rb").read() == first)
    fast(*words, "--over", "--out", at + "/over")
    fast("--smoke", "--over", "--paint", photo, "--size", "50", "--out", at + "/over")
    check("over the photo it paints otherwise", open(at + "/over/content-painted.png", "rb").read() != first)
    check("which --paint has to know", "missing: " in
          fast("--smoke", "--paint", photo, "--size", "50", "--out", at + "/over", expect=1))
    check("no photos", "not/there" in fast("--data", "not/there", "--out", at + "/x", expect=1))
    check("a file without --paint", "--paint" in fast(photo, "--out", at + "/x", expect=2))
    check("--paint without a file", "FILE" in fast("--paint", "--out", at + "/x", expect=2))
    check("squares of fours", "multiple of 4" in fast("--side", "33", "--out", at + "/x", expect=2))


def in_lua(at, egret):
    words = ["--trunk", "resnet_cifar_20", "--data", at + "/data", "--size", "48", "--steps", "5"]
    run(*words, "--keep-trunk", "--out", at + "/c")
    runner(egret)(here + "/style.lua", *words, "--weights", at + "/c/trunk.safetensors", "--out", at + "/lua")
    c, lua = logged(at + "/c", "loss"), logged(at + "/lua", "loss")
    check("the same in C and in Lua", len(c) == 5 and c == lua, f"{c}\n{lua}")
    words += ["--optimizer", "lbfgs"]
    run(*words, "--out", at + "/c2")
    runner(egret)(here + "/style.lua", *words, "--weights", at + "/c/trunk.safetensors", "--out", at + "/lua2")
    c, lua = logged(at + "/c2", "loss"), logged(at + "/lua2", "loss")
    check("L-BFGS too", len(c) == 5 and c == lua, f"{c}\n{lua}")


with tempfile.TemporaryDirectory() as at:
    painted(at)
    named(at)
    files(at)
    painter(at)
    for egret in sys.argv[3:]:
        in_lua(at, egret)
    check("help", "--steps" in run("--help") and "--paint" in fast("--help"))
    for wrong in (["--size", "0"], ["--pool", "min"], ["--optimizer", "sgd"], ["--lr", "nan"], ["--epochs", "3"], ["--nonsense"], ["word"]):
        run(*wrong, expect=2)

finish()
