#!/usr/bin/env python3
"""ocr does what it says: short runs whose loss falls, with and without what a letter is told, pictures, the best net, runs
that are killed and go on, signs that are written as records and read again, photos, refusals in words.

    check.py OCR
"""
import json
import os
import random
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
import records  # noqa: E402
from checking import bytes_of, check, finish, is_png, kill, logged, runner  # noqa: E402

program = sys.argv[1]
run = runner(program)
SMOKE = ["--smoke", "--threads", "1"]


def files(at):
    """What is drawn and what is read again of records is the same, to the last bit."""
    sizes = ["--side", "48", "--length", "8", "--drawn", "64", "--others", "8"]
    run("--write", at + "/signs", *sizes, "--out", at + "/odd")
    for name in ("train/train", "validation/validation", "test/test"):
        check(f"{name} is written", os.path.exists(f"{at}/signs/{name}-00000-of-00001"))
    names = [e["image/text"][0] for e in records.examples(at + "/signs/train/train-00000-of-00001")]
    check("few signs have the same name", len(names) == 64 and len(set(names)) > 48, names)
    letters = open(at + "/signs/charset_size=79.txt", encoding="utf-8").read()
    check("letters are", letters.startswith("0\t \n1\t'\n") and letters.endswith("77\tù\n78\t<nul>\n"), letters)
    for name in ("validation", "test"):
        said = [run(*SMOKE, "--evaluate", "--valid-set", name, *more, "--out", at + "/run").splitlines()[-1]
                for more in ([], ["--data", at + "/signs"])]
        check(f"{name}: drawn and read signs are worth the same", said[0] == said[1] and "whole texts" in said[0], said)
    said = run(*SMOKE, "--data", at + "/signs", "--views", "1", "--out", at + "/one")
    check("one view of two", "views of 48 pixels, 1 of a sign, 8 letters of 79 kinds" in said, said)
    said = run("--data", at + "/signs", "--out", at + "/odd", expect=2)
    check("steps of which there is no number", "--steps" in said, said)
    flat = at + "/flat"
    os.makedirs(flat)
    for name in ("train", "validation"):
        shutil.copy(f"{at}/signs/{name}/{name}-00000-of-00001", flat)
    shutil.copy(at + "/signs/charset_size=79.txt", flat)
    said = run(*SMOKE, "--data", flat, "--out", at + "/again")
    check("files beside each other", "2 of a sign" in said, said)
    check("other sizes than files have", "must be 2 and 9" in run(*SMOKE, "--data", at + "/signs", "--length", "9", "--out",
                                                                  at + "/odd", expect=1))
    bad(at)


def signs(path, views, letters):
    """A file of records of signs, grey squares beside each other."""
    image = records.png(48 * views, 48, 3, [128] * (3 * 48 * 48 * views))
    data = records.example({"image/encoded": image, "image/class": [0] * letters})
    with open(path, "wb") as file:
        file.write(records.record(data) * 16)


def strange_nets(at):
    """Files of a net that tell of what there is no room for."""
    shutil.copytree(at + "/run", at + "/strange")
    with open(at + "/run/net.json") as file:
        sizes = json.load(file)
    for change in ({"views": 1000}, {"classes": 5000}, {"length": 0}, {"side": 1}, {"width": -1}):
        with open(at + "/strange/net.json", "w") as file:
            json.dump(sizes | change, file)
        said = run("--out", at + "/strange", at + "/run/read.png", expect=1)
        check(f"a net with {change}", "net.json" in said or "1 pixels" in said, said)


def bad(at):
    """Folders that do not have what they should."""
    said = run(*SMOKE, "--data", at + "/nowhere", "--out", at + "/odd", expect=1)
    check("no letters", "charset_size=" in said, said)
    folder = at + "/bad"
    os.makedirs(folder)
    letters = folder + "/charset_size=3.txt"
    for text, words in (("0\ta\n1\tb\n", "<nul>"), ("0\ta\nb\n", "a tab and a letter"), ("5000\ta\n", "below 1024")):
        with open(letters, "w") as file:
            file.write(text)
        said = run(*SMOKE, "--data", folder, "--out", at + "/odd", expect=1)
        check(f"letters {text!r}", words in said, said)
    with open(letters, "w") as file:
        file.write("0\ta\n1\tb\n2\t<nul>\n")
    said = run(*SMOKE, "--data", folder, "--out", at + "/odd", expect=1)
    check("no records", "train" in said, said)
    records.write(folder + "/train-0", [0, 1], 48, 3, random.Random(1))
    said = run(*SMOKE, "--data", folder, "--out", at + "/odd", expect=1)
    check("records without a text", "image/class" in said, said)
    signs(folder + "/train-0", 5, 8)
    signs(folder + "/validation-0", 5, 8)
    said = run(*SMOKE, "--data", folder, "--out", at + "/odd")
    check("of more views than there is room for the first ones are looked at", "4 of a sign" in said, said)
    signs(folder + "/train-0", 2, 0)
    said = run("--steps", "1", "--data", folder, "--out", at + "/odd", expect=1)
    check("texts without letters", "must be 1 to 256" in said, said)
    with open(folder + "/train-0", "r+b") as file:
        file.truncate(100)
    said = run(*SMOKE, "--data", folder, "--out", at + "/odd", expect=1)
    check("a file that is cut short", "train-0" in said, said)


with tempfile.TemporaryDirectory() as at:
    said = run(*SMOKE, "--out", at + "/run")
    for name in ("read.png", "attention.png", "loss.png", "accuracy.png"):
        check(f"{name} is a PNG", is_png(f"{at}/run/{name}"), said)
    again = run(*SMOKE, "--evaluate", "--out", at + "/run")
    check("evaluated again, the numbers are the same", said.splitlines()[-1] == again.splitlines()[-1], said + again)
    kill(13, program, *SMOKE, out=at + "/killed")
    run(*SMOKE, "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit", logged(at + "/killed") == logged(at + "/run"))
    run(*SMOKE, "--no-feedback", "--no-coordinates", "--changes", "none", "--schedule", "constant", "--out", at + "/alone")
    check("at the same rate", set(logged(at + "/alone", "rate").values()) == {.02}, logged(at + "/alone", "rate"))
    check("another net", bytes_of(at + "/alone/net.json") != bytes_of(at + "/run/net.json"))
    said = run("--out", at + "/alone", at + "/run/read.png", at + "/run/loss.png")
    check("photos are read", sum(line.startswith(at + "/run/") for line in said.splitlines()) == 2
          and is_png(at + "/alone/read-read.png"), said)
    check("no such photo", "nowhere.png" in run("--out", at + "/run", "nowhere.png", expect=1))
    check("no net", "net.json" in run("--out", at + "/nothing", at + "/run/read.png", expect=1))
    strange_nets(at)
    files(at)
    check("precision", "of f16" in run(*SMOKE, "--precision", "f16", "--out", at + "/odd", expect=2))
    said = run("--side", "20", "--others", "1", "--out", at + "/odd", expect=1)
    check("views that are too small", "20 pixels" in said, said)
    check("names that are too short", "8 letters" in run("--length", "7", "--out", at + "/odd", expect=1))
    for wrong in (["--views", "5"], ["--lr", "x"], ["--nonsense"]):
        run(*wrong, expect=2)

finish()
