#!/usr/bin/env python3
"""caption does what it says: a short run whose loss falls, features kept for the next run, sheets of where it looked,
runs that are killed or stopped and go on, files as Flickr8k's and COCO's, a photo of one's own, refusals in words.

    check.py CAPTION
"""
import json
import os
import shutil
import struct
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, is_png, kill, logged, needs, runner, stopped_and_resumed  # noqa: E402

program = sys.argv[1]
run = runner(program)
SMALL = ["--smoke", "--threads", "1"]


def killed_and_resumed(at, whole):
    words = [*SMALL, "--cache", at + "/kept", "--save-every", "10"]
    kill(45, program, *words, out=at)
    said = run(*words, "--resume", "--out", at)
    check("it goes on", "going on behind step" in said and "1 photos of 120 looked at" in said, said)
    for field in ("loss", "valid loss", "valid bleu"):
        check(f"gone on with, {field} is the same to the last bit", logged(at, field) == logged(whole, field))
    stopped_and_resumed(30, program, *words, out=at + "/stopped")
    check("stopped too", logged(at + "/stopped", "loss") == logged(whole, "loss"))


def write_png(path, colour, side=40):
    """A square of one colour on black."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    inside = range(side // 4, 3 * side // 4)
    rows = b"".join(b"\0" + b"".join(bytes(colour if x in inside and y in inside else (0, 0, 0)) for x in range(side))
                    for y in range(side))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


COLOURS = {"red": (200, 30, 30), "green": (30, 180, 30), "blue": (40, 40, 220)}


def write_flickr(folder, count=24):
    os.makedirs(folder + "/images")
    with open(folder + "/captions.txt", "w", encoding="utf8") as file:
        file.write("image,caption\n")
        for i in range(count):
            name = list(COLOURS)[i % 3]
            write_png(f"{folder}/images/{i}.png", COLOURS[name])
            file.write(f'{i}.png,"A {name} square, on black ."\n{i}.png,One {name} square .\n')


def write_coco(folder, flickr):
    os.makedirs(folder + "/annotations")
    shutil.copytree(flickr + "/images", folder + "/tiny2014")
    names = list(COLOURS)
    everything = {"images": [{"id": 1000 - i, "file_name": f"{i}.png", "width": 40} for i in range(24)],
                  "annotations": [{"id": i, "image_id": 1000 - i % 23, "caption": f"a {names[i % 23 % 3]} square"}
                                  for i in range(46)]}
    with open(folder + "/annotations/captions_tiny2014.json", "w", encoding="utf8") as file:
        json.dump(everything, file)


def files(at):
    write_flickr(at + "/flickr")
    tiny = ["--trunk", "resnet_cifar_20", "--tap", "block2_unit1", "--side", "32", "--units", "32", "--embedding", "16",
            "--batch", "8", "--threads", "1", "--rate", "0.01"]
    said = run("--data", at + "/flickr", *tiny, "--steps", "60", "--out", at + "/a")
    check("Flickr8k's files", "42 captions of 21 photos to learn from, 6 of 3 to be judged by" in said, said)
    check("256 places of 32 channels", "256 places of 32 channels" in said, said)
    with open(at + "/a/captions.txt", encoding="utf8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    check("a caption for each", [row[0] for row in rows] == ["21.png", "22.png", "23.png"], rows)
    check("colours are seen", [c in row[1] for c, row in zip(COLOURS, rows)] == [True] * 3, rows)
    one = ["--caption", at + "/flickr/images/1.png"]
    said = run(*one, "--out", at + "/a")
    check("a photo of one's own", "green square" in said and said.count("\n") == 1, said)
    check("and where it looked", is_png(at + "/a/words.png"))
    run("--data", at + "/flickr", *tiny, "--steps", "60", "--remember", "--out", at + "/r")
    check("it remembers", run(*one, "--out", at + "/r").strip() in ("one green square", "a green square on black"))
    check("by beams", "green square" in run(*one, "--beams", "3", "--out", at + "/a"))
    check("no photo", "none.png" in run("--caption", at + "/none.png", "--out", at + "/a", expect=1))
    check("nothing to say it with", "no checkpoint" in run(*one, "--out", at + "/new", expect=1))
    write_coco(at + "/coco", at + "/flickr")
    said = run("--data", at + "/coco", *tiny, "--steps", "3", "--out", at + "/b")
    check("COCO's files", "40 captions of 20 photos to learn from, 6 of 3 to be judged by" in said, said)
    said = run("--data", at + "/coco", *tiny, "--steps", "3", "--photos", "10", "--out", at + "/c")
    check("some of them", "of 9 photos to learn from" in said, said)
    os.remove(at + "/coco/tiny2014/3.png")
    check("a photo that is missing is named", "3.png" in run("--data", at + "/coco", *tiny, "--out", at + "/x", expect=1))
    for wrong in ('{"images": []}', '{"images": [{"id": 1}], "annotations": []}', "[",
                  '{"images": [], "annotations": [{"image_id": 1, "caption": "x"}]}'):
        with open(at + "/coco/annotations/captions_tiny2014.json", "w", encoding="utf8") as file:
            file.write(wrong)
        run("--data", at + "/coco", *tiny, "--out", at + "/x", expect=1)
    check("neither", "neither captions.txt nor" in run("--data", at, *tiny, "--out", at + "/x", expect=1))
    said = run("--data", at + "/flickr", "--trunk", "alexnet_v2", "--out", at + "/x", expect=1)
    check("a layer that is not known", "--tap says it" in said, said)
    said = run("--data", at + "/flickr", "--trunk", "resnet_cifar_20", "--tap", "nowhere", "--out", at + "/x", expect=1)
    check("a layer there is not", "nowhere" in said, said)
    check("too few photos", "none is left" in run("--data", at + "/flickr", *tiny, "--photos", "1", "--out", at + "/x", expect=1))


with tempfile.TemporaryDirectory() as at:
    needs("utf8proc", program, *SMALL, "--steps", "1", "--out", at + "/first")
    said = run(*SMALL, "--out", at + "/whole")
    check("drawn scenes", "324 captions of 108 photos to learn from, 36 of 12 to be judged by" in said, said)
    check("BLEU", "BLEU-1 to 4:" in said, said)
    check("curves, and words over what was looked at", is_png(at + "/whole/losses.png") and is_png(at + "/whole/words-1.png"))
    said = run(*SMALL, "--out", at + "/again", "--cache", at + "/whole/features")
    check("features are kept", "1 photos of 120 looked at" in said, said)
    killed_and_resumed(at + "/killed", at + "/whole")
    files(at)
    check("no data", "not/there" in run("--data", "not/there", "--out", at + "/x", expect=1))
    for wrong in (["--rate", "2"], ["--beams", "0"], ["--nonsense"]):
        run(*wrong, expect=2)

finish()
