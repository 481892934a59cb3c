#!/usr/bin/env python3
"""depth does what it says: a short run whose loss falls, pictures, the best nets, a run that is killed and goes on,
flights as files from which the same is learned, one video of one's own, refusals in words.

    check.py DEPTH
"""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, is_png, kill, logged, runner  # noqa: E402

program = sys.argv[1]
run = runner(program)
SMALL = ["--smoke", "--threads", "1", "--steps", "24"]
# What --smoke makes of flags that flights are written with.
WRITTEN = ["--frame-height", "32", "--frame-width", "64", "--drawn", "3"]
STEP = [*WRITTEN[:4], "--width", "8", "--batch", "2", "--threads", "1", "--steps", "1"]


def text_of(path):
    with open(path) as file:
        return file.read()


def change(path, text):
    with open(path, "w") as file:
        file.write(text)


def single(at, flights):
    """One video as people keep it: calib.txt of lines without names, poses.txt beside the frames."""
    os.makedirs(at)
    shutil.copytree(flights + "/sequences/00/image_2", at + "/image_l")
    change(at + "/calib.txt", text_of(flights + "/sequences/00/calib.txt").replace("P2: ", ""))
    shutil.copy(flights + "/poses/00.txt", at + "/poses.txt")


def files(at):
    flights = at + "/flights"
    run("--write", flights, *WRITTEN, "--out", at + "/written")
    said = run("--data", flights, *SMALL, "--out", at + "/read")
    check("flights as files", "36 threes of frames of 2 videos to learn from, 18 of 1" in said, said)
    for field in ("loss", "valid/loss", "valid/depth"):
        check(f"from files {field} is the same to the last bit",
              logged(at + "/read", field) == logged(at + "/whole", field))
    said = run("--data", flights, *STEP, "--held-out", "2", "--icp", "0", "--out", at + "/less")
    check("videos that are held out", "18 threes of frames of 1 videos to learn from, 36 of 2" in said, said)
    check("without clouds", "icp" not in logged(at + "/less")[1] and "icp" in logged(at + "/read")[1])
    one = at + "/one"
    single(one, flights)
    said = run("--data", one, *STEP, "--out", at + "/single")
    check("one video", "13 threes of frames of 1 videos to learn from, 3 of 1" in said and "ways:" in said
          and "depths:" not in said, said)
    os.remove(one + "/poses.txt")
    check("whose way is not known", "ways:" not in run("--data", one, *STEP, "--out", at + "/lost"))
    refusals(at, one, flights)


def refusals(at, one, flights):
    def refused(what, words, data=one):
        said = run("--data", data, *STEP, "--out", at + "/odd", expect=1)
        check(what, words in said and said.count("\n") < 6, said)
    change(one + "/poses.txt", "1 0 0 0 0 1")
    refused("too few poses", "12 numbers for each of 20 frames")
    os.remove(one + "/poses.txt")
    calib = text_of(one + "/calib.txt")
    for wrong in ("", "1 2 3\n", calib.replace("4", "x"), "P0: " + calib):
        change(one + "/calib.txt", wrong)
        refused("no projection", "no projection of the camera of image_l")
    os.remove(one + "/calib.txt")
    refused("no calib.txt", "calib.txt")
    change(one + "/calib.txt", calib)
    shutil.copy(at + "/whole/depth.png", one + "/image_l/000017.png")
    refused("a frame of another size", "000017.png")
    change(one + "/image_l/000017.png", "none")
    refused("a frame that is none", "neither as JPEG nor as PNG")
    shutil.rmtree(one + "/image_l")
    refused("no frames", "neither sequences nor frames")
    os.makedirs(one + "/image_l")
    refused("an empty folder", "there are no frames")
    refused("nowhere", "not/there", data="not/there")
    said = run("--data", flights, *SMALL, "--held-out", "3", "--out", at + "/odd", expect=1)
    check("nothing is left to learn from", "too few frames" in said, said)


with tempfile.TemporaryDirectory() as at:
    said = run(*SMALL, "--out", at + "/whole")
    for name in ("depth.png", "warped.png", "trajectory.png", "loss.png", "error.png"):
        check(f"{name} is a PNG", is_png(f"{at}/whole/{name}"), said)
    check("what it is worth", re.search(r"depths: abs rel 0\.\d{4}, .*< 1.25\^3 0\.\d+\nways: .* 0\.\d{5}, .*\nloss: ", said),
          said)
    check("judged again, the numbers are the same",
          said.splitlines()[-3:] == run(*SMALL, "--evaluate", "--out", at + "/whole").splitlines()[-3:], said)
    kill(13, program, *SMALL, out=at + "/killed")
    run(*SMALL, "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit", logged(at + "/killed") == logged(at + "/whole"))
    run(*SMALL, "--out", at + "/whole", at + "/whole/depth.png")
    check("a photo's depths", is_png(at + "/whole/depth-depth.png"))
    check("no such photo", "nowhere.png" in run(*SMALL, "--out", at + "/whole", "nowhere.png", expect=1))
    check("no nets", "best.safetensors" in run("--out", at + "/nothing", at + "/whole/depth.png", expect=1))
    check("nothing to judge", "best.safetensors" in run(*SMALL, "--evaluate", "--out", at + "/nothing", expect=1))
    files(at)
    for wrong in (["--frame-height", "36"], ["--width", "9"], ["--lr", "x"], ["--nonsense"],
                  ["--write", at + "/x", "--data", at + "/flights"]):
        run(*wrong, expect=2)

finish()
