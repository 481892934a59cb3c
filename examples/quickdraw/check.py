#!/usr/bin/env python3
"""quickdraw does what it says: files of drawings become records that are learned from, the published numbers of
parameters, a short run whose loss falls, pictures, runs that are killed or stopped and go on, a drawing guessed in the
terminal, refusals in words.

    check.py QUICKDRAW CREATE_DATASET [EGRET DRAW]
"""
import glob
import json
import math
import os
import pty
import random
import select
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import (check, finish, has_terminals, is_png, kill, logged, runner, skip,  # noqa: E402
                      stopped_and_resumed)

program, create = sys.argv[1:3]
run = runner(program)
SMALL = ["--smoke", "--threads", "1"]


def drawing(kind, chance):
    """A ring, or a cross, in 0..255."""
    x, y, r = chance.uniform(90, 160), chance.uniform(90, 160), chance.uniform(40, 90)
    if kind == "ring":
        points = [(x + r * math.cos(i / 2), y + r * math.sin(i / 2)) for i in range(14)]
        return [[[int(p[k]) for p in points] for k in (0, 1)]]
    return [[[int(x - r), int(x + r)], [int(y), int(y) + 3]], [[int(x), int(x) + 2], [int(y - r), int(y + r)]]]


def files(at):
    chance = random.Random(2)
    os.makedirs(at + "/ndjson")
    for kind in ("cross", "ring"):
        with open(f"{at}/ndjson/a {kind}.ndjson", "w") as file:
            for _ in range(40):
                row = {"word": "a " + kind, "countrycode": "DE", "recognized": True, "drawing": drawing(kind, chance)}
                file.write(json.dumps(row) + "\n")
    said = runner(create)("--ndjson_path", at + "/ndjson", "--output_path", at + "/sets", "--train_observations_per_class",
                          "30", "--eval_observations_per_class", "10", "--output_shards", "3")
    check("both sets are there", "2 classes: 60 drawings to learn from, 20 to be judged by" in said, said)
    check("in shards", sorted(os.listdir(at + "/sets")) == sorted(
        [f"{part}.tfrecord-0000{i}-of-00003" for part in ("training", "eval") for i in range(3)]
        + ["training.tfrecord.classes", "eval.tfrecord.classes"]))
    check("the classes have names", open(at + "/sets/training.tfrecord.classes").read() == "a cross\na ring\n")
    words = ["--training_data", at + "/sets/training.tfrecord-?????-of-?????", "--eval_data",
             at + "/sets/eval.tfrecord-?????-of-?????", "--classes_file", at + "/sets/training.tfrecord.classes"]
    for cell in ("lstm", "cudnn_lstm", "block_lstm"):
        said = run(*words, "--model_dir", f"{at}/{cell}", "--cell_type", cell, "--steps", "40", *SMALL)
        right = float(said.split("takes ")[1].split(" %")[0])
        check(f"{cell} tells them apart", right > 90, said)
    said = run(*words, "--model_dir", at + "/norms", "--batch_norm", "--steps", "10", *SMALL)
    check("without steps' lines", "step" not in said, said)
    run(*words[:2], *SMALL, "--out", at + "/x", expect=2)
    said = run(*words, "--num_conv", "[8]", "--steps", "1", "--out", at + "/x", "--threads", "1", expect=2)
    check("as many kernels as convolutions", "as many" in said, said)
    shard = sorted(glob.glob(at + "/sets/training*00002-of-00003"))[0]
    with open(shard, "r+b") as file:
        file.seek(40)
        file.write(b"damage")
    check("damage is named", os.path.basename(shard) in run(*words, *SMALL, "--out", at + "/damaged", expect=1))
    with open(at + "/ndjson/a ring.ndjson", "a") as file:
        file.write('{"word": "a ring", "drawing": [[[1, 2], [3]]]}\n')
    said = runner(create)("--ndjson_path", at + "/ndjson", "--output_path", at + "/bad", expect=1)
    check("a drawing that is none", "pairs of x and y" in said, said)
    check("leaves nothing half done", not glob.glob(at + "/bad/*-of-*"), os.listdir(at + "/bad"))
    check("no drawings", "no file" in runner(create)("--ndjson_path", at + "/none", "--output_path", at + "/x", expect=1))


def whole_net(at):
    said = run("--steps", "1", "--drawn", "50", "--eval-batches", "1", "--threads", "1", "--out", at + "/net")
    check("1,142,265 parameters of 345 classes", f"{1142265 - 257 * 335} parameters" in said, said)
    said = run("--steps", "1", "--drawn", "50", "--eval-batches", "1", "--cell_type", "cudnn_lstm", "--threads", "1", "--out",
               at + "/cudnn")
    check("two biases of cudnn_lstm", f"{1145337 - 257 * 335} parameters" in said, said)


def terminal(at, egret, script):
    """A circle is drawn with the mouse, and guessed."""
    if not has_terminals():
        return skip("this system gives out no terminals")
    runner(egret)(os.path.join(os.path.dirname(script), "quickdraw.lua"), "--smoke", "--out", at + "/lua")
    child, there = pty.fork()
    if child == 0:
        os.execv(egret, [egret, script, at + "/lua"])
    said = b""

    def listen(until, seconds=60):
        nonlocal said
        end = time.time() + seconds
        while until not in said and time.time() < end:
            if select.select([there], [], [], .05)[0]:
                try:
                    said += os.read(there, 65536)
                except OSError:
                    return
    listen(b"draw with the mouse")
    points = [(int(20 + 10 * math.cos(a / 2)), int(12 + 5 * math.sin(a / 2))) for a in range(14)]
    for i, (x, y) in enumerate(points):
        os.write(there, f"\x1b[<{32 if i else 0};{x};{y}M".encode())
    os.write(there, f"\x1b[<0;{x};{y}m".encode())
    listen(b"take back, c: clear")
    os.write(there, b"u")
    listen(b"draw something")
    os.write(there, b"q")
    listen(b"\x1b[?1049l")
    status = os.waitpid(child, 0)[1]
    check("a drawing is guessed in the terminal", b" %, " in said and b"draw something" in said and status == 0, said[-500:])


with tempfile.TemporaryDirectory() as at:
    run(*SMALL, "--out", at + "/whole")
    for name in ("guesses.png", "loss.png", "accuracy.png"):
        check(f"{name} is a PNG", is_png(f"{at}/whole/{name}"))
    run(*SMALL, "--steps", "100", "--save-every", "0", "--out", at + "/told")
    check("gradients are told of", list(logged(at + "/told", "gradient_norm")) == [100])
    events = b"".join(open(path, "rb").read() for path in glob.glob(at + "/told/events/*"))
    check("all of them", events.count(b"gradients/lstm.weight_hh_l0") >= 2 and b"gradients/out.bias" in events)
    kill(20, program, *SMALL, "--save-every", "7", out=at + "/killed")
    run(*SMALL, "--save-every", "7", "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit", logged(at + "/killed", "loss") == logged(at + "/whole", "loss"))
    stopped_and_resumed(10, program, *SMALL, out=at + "/stopped")
    check("stopped and resumed, too", logged(at + "/stopped", "loss") == logged(at + "/whole", "loss"))
    run("--self_test", "--threads", "1", "--out", at + "/self")
    whole_net(at)
    files(at)
    if len(sys.argv) > 3:
        terminal(at, *sys.argv[3:5])
    for wrong in (["--cell-type", "none"], ["--batch-size", "0"], ["--nonsense"]):
        run(*wrong, expect=2)

finish()
