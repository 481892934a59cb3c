#!/usr/bin/env python3
"""segmentation does what it says: a short run whose loss falls, pictures, the best net, runs that are killed and go on,
files in both forms, refusals in words.

    check.py SEGMENTATION
"""
import os
import struct
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, is_png, kill, logged, runner  # noqa: E402

program = sys.argv[1]
run = runner(program)


def png(path, side, inside):
    """A square of 200 on 40, or of 255 on 0 for masks."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    low, high = (0, 255) if inside else (40, 200)
    rows = b"".join(b"\0" + bytes(high if side // 4 <= x < side // 2 and side // 4 <= y < side // 2 else low
                                  for x in range(side)) for y in range(side))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", side, side, 8, 0, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def from_files(at):
    for part in ("image", "label"):
        os.makedirs(f"{at}/data/train/{part}")
        for i in range(10):
            png(f"{at}/data/train/{part}/{i}.png", 40, part == "label")
    words = ["--data", at + "/data", "--side", "32", "--width", "0.125", "--lr", "0.01", "--batch-norm-decay", "0.5"]
    said = run(*words, "--epochs", "30", "--out", at + "/out")
    check("four fifths are learned from", len(logged(at + "/out", "loss")) == 30 * 3, said)
    dice = logged(at + "/out", "valid/dice")
    check("squares are found", dice[90] > .6 and dice[3] < .3, dice)
    check("the best is told", f"{max(dice.values()):.4f}" in said.splitlines()[-1], said)
    os.remove(at + "/data/train/label/3.png")
    said = run(*words, "--out", at + "/odd", expect=1)
    check("a missing mask", "10 images and 9 masks" in said, said)
    check("no data", "not/there" in run("--data", "not/there", "--out", at + "/odd", expect=1))


with tempfile.TemporaryDirectory() as at:
    run("--smoke", "--threads", "1", "--out", at + "/whole")
    for name in ("found.png", "loss.png", "dice.png"):
        check(f"{name} is a PNG", is_png(f"{at}/whole/{name}"))
    kill(9, program, "--smoke", "--threads", "1", out=at + "/killed")
    run("--smoke", "--threads", "1", "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit", logged(at + "/killed") == logged(at + "/whole"))
    from_files(at + "/files")
    check("sides are multiples of 32", "multiple of 32" in run("--side", "40", "--out", at + "/odd", expect=2))
    for wrong in (["--width", "0"], ["--lr", "x"], ["--nonsense"], ["more"]):
        run(*wrong, expect=2)

finish()
