#!/usr/bin/env python3
"""keypoints does what it says: a short run of each kind of shape whose loss falls, pictures, the best net, runs that
are killed and go on, records that are written and read, refusals in words.

    check.py KEYPOINTS
"""
import os
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import begins, bytes_of, check, finish, is_png, kill, logged, runner, stopped_and_resumed  # noqa: E402

program = sys.argv[1]
run = runner(program)
SMALL = ["--smoke", "--threads", "1"]
NAMES = [f"car-{i:06}" for i in range(8)]
LOSSES = ("consistency", "pose", "separation", "silhouette", "variance", "orientation")


def told(said):
    """The lines of what the net is worth."""
    return [line for line in said.splitlines() if line.startswith(("the rotation", "keypoints are", "which way"))]


def edit(folder, name, change):
    with open(f"{folder}/{name}", "rb") as file:
        data = file.read()
    with open(f"{folder}/{name}", "wb") as file:
        file.write(change(data))


def picture_of(record):
    """The first PNG in the bytes of a file."""
    at = record.index(b"\x89PNG")
    return record[at:record.index(b"IEND", at) + 8]


def written_and_read(at):
    """What is drawn and what is read from files is the same to the last bit, so the same net is worth as much."""
    folder = at + "/records"
    run(*SMALL, "--write", folder)
    check("files", sorted(os.listdir(folder)) == [f"{n}.tfrecord" for n in NAMES]
          + ["dev.txt", "projection.txt", "test.txt"], os.listdir(folder))
    check("those to be judged by", open(folder + "/dev.txt").read().split() == NAMES[6:])
    drawn = run(*SMALL, "--evaluate", "--out", at + "/car")
    read = run(*SMALL, "--evaluate", "--data", folder, "--out", at + "/car")
    check("judged alike", told(drawn) == told(read) and len(told(read)) == 3, drawn + read)
    said = run(*SMALL, "--data", folder, "--epochs", "1", "--out", at + "/read")
    check("an epoch of them", len(logged(at + "/read", "loss")) == 24 and is_png(at + "/read/pairs.png"), said)
    check("shapes are not drawn then", not os.path.exists(at + "/read/turn.png"))
    with open(at + "/one.png", "wb") as file:
        file.write(picture_of(bytes_of(f"{folder}/{NAMES[0]}.tfrecord")))
    run(*SMALL, "--out", at + "/car", at + "/one.png")
    check("a picture is drawn on", is_png(at + "/car/one-keypoints.png"))
    return folder


def left_alone(at, folder):
    """Of eight objects with four pairs each, in batches of four."""
    other = at + "/some"
    shutil.copytree(folder, other)
    with open(other + "/test.txt", "w") as file:
        file.write("".join(f"{n}\n" for n in NAMES[:4]))
    run("--filters", "4", "--batch", "4", "--epochs", "1", "--data", other, "--out", at + "/left")
    check("those of test.txt are left alone", len(logged(at + "/left", "loss")) == 2)


def broken(at, folder):
    def refused(what, words, name, change):
        other = f"{at}/broken-{len(os.listdir(at))}"
        shutil.copytree(folder, other)
        if change:
            edit(other, name, change)
        else:
            os.remove(f"{other}/{name}")
        said = run(*SMALL, "--data", other, "--out", at + "/odd", expect=1)
        check(what, words in said, said)

    refused("no camera", "no projection.txt", "projection.txt", None)
    refused("a camera of words", "no projection.txt", "projection.txt", lambda _: b"none")
    refused("nothing to be judged by", "no dev.txt", "dev.txt", None)
    refused("an empty list", "be judged by", "dev.txt", lambda _: b"")
    refused("all is to be judged by", "learn from", "dev.txt", lambda _: "\n".join(NAMES).encode())
    refused("a file cut short", NAMES[6] + ".tfrecord", NAMES[6] + ".tfrecord", lambda b: b[:len(b) // 2])
    refused("a wrong bit", NAMES[6] + ".tfrecord", NAMES[6] + ".tfrecord",
            lambda b: b[:99] + bytes([b[99] ^ 1]) + b[100:])
    refused("no Example", NAMES[6] + ".tfrecord", NAMES[6] + ".tfrecord", lambda _: record(b"\xff\xff"))
    refused("one without pictures", "img0", NAMES[6] + ".tfrecord", lambda _: record(b"\x0a\x00"))
    empty = at + "/empty"
    os.makedirs(empty)
    check("no records", "no dev.txt" in run(*SMALL, "--data", empty, "--out", at + "/odd", expect=1))


def crc(data):
    """Masked CRC-32C."""
    c = 0xffffffff
    for byte in data:
        c ^= byte
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    c ^= 0xffffffff
    return struct.pack("<I", ((c >> 15 | c << 17) + 0xa282ead8) & 0xffffffff)


def record(data):
    size = struct.pack("<Q", len(data))
    return size + crc(size) + data + crc(data)


with tempfile.TemporaryDirectory() as at:
    for shape in ("car", "plane", "chair"):
        out = f"{at}/{shape}"
        said = run(*SMALL, "--shape", shape, "--out", out)
        for name in ("pairs.png", "turn.png", "losses.png", "angle.png"):
            check(f"{shape}: {name} is a PNG", is_png(f"{out}/{name}"), said)
        check(f"{shape}: a film", begins(out + "/turn.gif", b"GIF89a") or not os.path.exists(out + "/turn.gif"))
        again = run(*SMALL, "--shape", shape, "--evaluate", "--out", out)
        check(f"{shape}: evaluated again, the numbers are the same", told(said) == told(again) and len(told(said)) == 3,
              said + again)
    rows = logged(at + "/car")
    weights = dict.fromkeys(LOSSES, 1) | {"pose": 2, "variance": .5}
    check("the loss is that of its parts", all(abs(sum(weights[n] * row[n] for n in LOSSES) - row["loss"]) < 1e-4
                                               for row in rows.values() if "loss" in row), rows)
    kill(13, program, *SMALL, out=at + "/killed")
    run(*SMALL, "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit", logged(at + "/killed") == rows)
    stopped_and_resumed(9, program, *SMALL, out=at + "/stopped")
    check("stopped too", logged(at + "/stopped") == rows)
    run(*SMALL, "--pose", "0", "--told", "0", "--out", at + "/weighted")
    check("weights and telling count", logged(at + "/weighted", "loss")[1] != logged(at + "/car", "loss")[1])
    folder = written_and_read(at)
    left_alone(at, folder)
    broken(at, folder)
    check("no such picture", "nowhere.png" in run(*SMALL, "--out", at + "/car", "nowhere.png", expect=1))
    run(*SMALL, "--out", at + "/nothing", at + "/one.png", expect=1)
    run("--filters", "4", "--evaluate", "--threads", "1", "--out", at + "/car", expect=1)
    for wrong in (["--shape", "boat"], ["--keypoints", "2"], ["--lr", "x"], ["--nonsense"]):
        run(*wrong, expect=2)

finish()
