#!/usr/bin/env python3
"""pix2pix does what it says: a short run after which its pictures are closer to the photos, films and curves,
pictures of plans it is given, runs that are killed or stopped and go on, folders of files, a download of the wrong
length or with the wrong pictures in it, and refusals in words.

    check.py PIX2PIX
"""
import io
import os
import shutil
import struct
import sys
import tarfile
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import (Files, begins, bytes_of, check, finish, is_png, kill, logged, runner, served,  # noqa: E402
                      skip, stopped_and_resumed)

program = sys.argv[1]
run = runner(program)


# ---- pictures -------------------------------------------------------------------------------------------------

def png(path, width, height, colour):
    """One colour all over; `colour` may differ from column to column."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    row = b"\0" + b"".join(bytes(colour(x)) for x in range(width))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b""))


def jpeg(width, height):
    """Gray all over: each block is the same as the one before, said in two bits."""
    def part(kind, data):
        return bytes([0xff, kind]) + struct.pack(">H", len(data) + 2) + data
    one_code = bytes([1] + 15 * [0] + [0])
    return (b"\xff\xd8" + part(0xdb, b"\0" + bytes([1]) * 64)
            + part(0xc0, struct.pack(">BHHB", 8, height, width, 1) + b"\1\x11\0")
            + part(0xc4, b"\0" + one_code) + part(0xc4, b"\x10" + one_code) + part(0xda, b"\1\1\0\0\x3f\0")
            + bytes(width * height // 64 // 4) + b"\xff\xd9")


# ---- runs -----------------------------------------------------------------------------------------------------

def killed_and_resumed(at, whole):
    """Kills a run with no warning, in the middle of an epoch and after a checkpoint."""
    kill(7, program, "--smoke", out=at)
    said = run("--smoke", "--resume", "--out", at)
    check("it goes on", "going on behind step 6" in said, said)
    is_the_same(at, whole)


def is_the_same(at, whole):
    check("gone on with, the losses are the same to the last bit", logged(at) == logged(whole))
    check("and the pictures too", all(bytes_of(f"{at}/{name}") == bytes_of(f"{whole}/{name}")
                                      for name in ("epoch-0003.png", "test/0001.png", "test/0002.png")))


def infer(at, whole):
    plan, pair = at + "/plan.png", at + "/a pair.png"
    png(plan, 256, 256, lambda x: (0, 128, 255) if x // 32 % 2 else (0, 52, 255))
    png(pair, 512, 256, lambda x: (9, 9, 9) if x < 256 else (0, 128, 255) if x // 32 % 2 else (0, 52, 255))
    said = run("--infer", plan, pair, "--width", "16", "--out", whole)
    made = [f"{whole}/plan-made.png", f"{whole}/a pair-made.png"]
    check("both are named", all(path in said for path in made), said)
    check("both are there", all(is_png(path) for path in made))
    run("--infer", pair, "--width", "16", "--out", at + "/made", "--model", whole + "/generator.safetensors")
    run("--infer", plan, "--width", "16", "--out", at + "/made", "--model", whole + "/generator.safetensors")
    check("the model is the checkpoint's, a pair is its plan, and the same seed the same picture",
          bytes_of(made[0]) == bytes_of(at + "/made/plan-made.png") == bytes_of(at + "/made/a pair-made.png"))
    run("--infer", plan, "--width", "16", "--out", at + "/made", "--model", whole + "/generator.safetensors", "--seed", "2")
    check("another seed, another picture", bytes_of(made[0]) != bytes_of(at + "/made/plan-made.png"))
    check("no checkpoint", "no checkpoint" in run("--infer", plan, "--out", at + "/none", expect=1))
    check("no such plan", "not/there.png" in run("--infer", "not/there.png", "--width", "16", "--out", whole,
                                               expect=1))
    check("no such model", "not/there" in run("--infer", plan, "--model", "not/there", "--out", at, expect=1))
    check("no plan", "FILE" in run("--infer", expect=2))


def from_files(at):
    for part in ("train", "val"):
        os.makedirs(f"{at}/data/{part}")
        png(f"{at}/data/{part}/1.png", 512, 256, lambda x: (200, 180, 160) if x < 256 else (0, 52, 255))
    said = run("--data", at + "/data", "--steps", "1", "--out", at + "/files")
    check("it learns from files", "1 test pairs" in said, said)
    shutil.rmtree(at + "/files")
    said = run("--data", at + "/data", "--batch", "2", "--width", "16", "--out", at + "/files", expect=1)
    check("too few for a batch", "1 pairs are not enough" in said, said)
    os.remove(at + "/data/val/1.png")
    check("an empty folder is named", "/val" in run("--data", at + "/data", "--width", "16", "--out", at + "/files",
                                                expect=1))
    check("no folder", "not/there" in run("--data", "not/there", "--out", at + "/files", expect=1))


# ---- the download ---------------------------------------------------------------------------------------------

LENGTH = 30168306


def archive(path, odd=None, fewer=0):
    """An archive as long as the real one, with pictures of one gray."""
    good, wrong, out = jpeg(512, 256), jpeg(256, 256), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for part, n in (("train", 400 - fewer), ("val", 100), ("test", 106)):
            for i in range(1, n + 1):
                name = f"facades/{part}/{i}.jpg"
                data = wrong if name == odd else good
                member = tarfile.TarInfo(name)
                member.size = len(data)
                t.addfile(member, io.BytesIO(data))
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as f:
        f.write(out.getvalue())
        f.truncate(LENGTH)


def download(at, folder, address):
    def get(name, expect=0):
        url = f"{address}/{name}/facades.tar.gz"
        return run("get-data", "--data", f"{at}/got/{name}", "--url", url, expect=expect)

    os.mkdir(folder + "/short")
    with open(folder + "/short/facades.tar.gz", "wb") as f:
        f.write(bytes(1000))
    said = get("short", expect=1)
    if "lacks" in said:
        return skip("this build cannot download")
    check("a wrong length is told", f"1000 bytes, not {LENGTH}" in said, said)
    check("and leaves nothing", os.listdir(at + "/got/short") == [])
    check("404 is told", "404" in get("absent", expect=1))
    archive(folder + "/good/facades.tar.gz")
    said = get("good")
    if "libjpeg" in said:
        return skip("this build cannot read JPEG")
    folders = [name for name in sorted(os.listdir(at + "/got/good")) if "." not in name]
    check("the folders are in their places", folders == ["test", "train", "val"], folders)
    check("with all their pictures", [len(os.listdir(f"{at}/got/good/{name}")) for name in folders] == [106, 400, 100])
    seen = len(Files.requests)
    get("good")
    check("what is there is not fetched again", len(Files.requests) == seen)
    archive(folder + "/fewer/facades.tar.gz", fewer=1)
    check("a missing picture is told", "399 JPEG files, not 400" in get("fewer", expect=1))
    archive(folder + "/odd/facades.tar.gz", odd="facades/val/7.jpg")
    said = get("odd", expect=1)
    check("a picture of another size is named", "val/7.jpg has 256 x 256 pixels" in said, said)
    check("and nothing is in its place", not os.path.exists(at + "/got/odd/train"))


with tempfile.TemporaryDirectory() as at:
    said = run("--help")
    check("help", all(word in said for word in ("--infer", "get-data", "--resume", "--data")), said)
    for wrong in (["--lr", "nan"], ["--batch", "0"], ["--epochs", "-1"], ["--nonsense"], ["--steps"], ["fetch"],
                  ["get-data", "more"]):
        run(*wrong, expect=2)
    os.mkdir(at + "/served")
    with served(at + "/served") as address:
        download(at, at + "/served", address)
    from_files(at)
    smoke = at + "/smoke"
    said = run("--smoke", "--out", smoke)
    check("three epochs and the test", "epoch 3:" in said and "2 test pairs" in said, said)
    check("pictures and curves", all(is_png(f"{smoke}/{name}.png") for name in (
        "epoch-0001", "epoch-0003", "test/0001", "test/0002", "losses", "distance")))
    check("a film", not os.path.exists(smoke + "/epoch.gif") or begins(smoke + "/epoch.gif", b"GIF89a"))
    infer(at, smoke)
    killed_and_resumed(at + "/killed", smoke)
    shutil.rmtree(at + "/killed")
    stopped_and_resumed(3, program, "--smoke", out=at + "/stopped")
    is_the_same(at + "/stopped", smoke)

finish()
