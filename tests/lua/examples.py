#!/usr/bin/env python3
"""The examples in Lua do what they say: a short run whose loss falls, pictures that are whole, also of a run that is
stopped, runs that are killed or stopped and go on bit for bit, an earlier run put aside, refusals in words.

    examples.py EGRET SCRIPT CURVE PICTURE...     CURVE: a loss in its log
"""
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/common"))
from checking import (SPEED, check, finish, is_png, kill, logged, needs, output_of, runner,  # noqa: E402
                      started, stopped_and_resumed)

egret, script, curve, *pictures = sys.argv[1:]
name = os.path.basename(script)[:-len(".lua")]


def run(*words, expect=0):
    return runner(egret)(script, *words, expect=expect)


def killed_and_resumed(at, whole):
    kill({"pix2pix": 6, "dcgan": 8}.get(name, 15), egret, script, "--smoke", out=at)
    said = run("--smoke", "--resume", "--out", at)
    check("killed and resumed, the losses are the same to the last bit", logged(at, curve) == logged(whole, curve), said)


def speed_is_printed(said):
    """Once, in the unit of the program in C; where batches are of no fixed size, in steps."""
    with open(script[:-len(".lua")] + ".c", encoding="utf8") as file:
        unit = (re.findall(r'\.unit = "(.+?)"', file.read()) or ["steps"])[0]
    lines = SPEED.findall(said)
    check("the speed of training is printed", len(lines) == 1 and lines[0].endswith(f" {unit} per second\n"), said)


def has_pictures(at):
    """A stopped run has those of a whole one, but for those of single epochs and steps, and curves of evaluations, of which
    there may have been none."""
    fields = {"precision.png": "AP", "angle.png": "angle"}
    for picture in pictures:
        if not re.match(r"(epoch|step)-\d+\.png$", picture) and (picture not in fields or logged(at, fields[picture])):
            check(f"{picture} of a stopped run is a PNG", is_png(f"{at}/{picture}"))


def stopped(at, whole):
    stopped_and_resumed(3, egret, script, "--smoke", out=at, when_stopped=lambda: has_pictures(at))
    check("stopped and resumed, the losses are the same to the last bit", logged(at, curve) == logged(whole, curve))


def full_disk(at):
    part = started(3, egret, script, "--smoke", out=at, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                   restore_signals=False)  # Python ignores SIGXFSZ
    resource.prlimit(part.pid, resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
    part.send_signal(signal.SIGINT)
    said = part.communicate(timeout=300)[0]
    check("a checkpoint that cannot be written", part.returncode == 1 and "too large" in said, said)


with tempfile.TemporaryDirectory() as at:
    if name in ("nmt", "transformer", "bert", "cvt", "caption"):
        needs("utf8proc", egret, script, "--smoke", "--steps", "1", "--out", at + "/one")
    speed_is_printed(output_of(egret, script, "--smoke", "--out", at + "/run"))
    for picture in pictures:
        check(f"{picture} is a PNG", is_png(f"{at}/run/{picture}"))
    check("a row for each step", sorted(logged(at + "/run", curve)) == list(range(1, len(logged(at + "/run")) + 1)))
    killed_and_resumed(at + "/killed", at + "/run")
    stopped(at + "/it's stopped", at + "/run")
    if name == "digits":
        run("--smoke", "--steps", "15", "--out", at + "/killed")
        check("an earlier run is put aside", len(logged(at + "/killed-earlier-1")) == 40)
        run("--smoke", "--steps", "12", "--out", at + "/killed//")
        check("and one whose folder is named with a slash", os.path.exists(at + "/killed-earlier-2/log.jsonl"))
        full_disk(at + "/full")
    if "--data" in run("--help"):
        check("no data", "not/there" in run("--data", "not/there", "--out", at + "/none", expect=1))
    check("no device", "nowhere" in run("--smoke", "--device", "nowhere", "--out", at + "/none", expect=1))
    check("help", "--steps" in run("--help"))
    for wrong in (["--batch", "0"], ["--epochs", "-1"], ["--batch", "1.5"], ["--nonsense"], ["--steps"], ["word"],
                  ["--out", ""]):
        run(*wrong, expect=2)

finish()
