#!/usr/bin/env python3
"""A program that learns to make digits does what it says: a short run whose loss falls, pictures, a film, new
digits from a checkpoint, runs that are killed or stopped and go on, a download whose sum is wrong, refusals in words.

    generators.py PROGRAM FIELD       FIELD: a loss in its log
"""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "common"))
from checking import (begins, bytes_of, check, finish, is_png, kill, logged, runner, served, started,  # noqa: E402
                      stopped_and_resumed)

program, field = sys.argv[1:3]
run = runner(program)


def killed_and_resumed(at, whole):
    kill(8, program, "--smoke", out=at)
    said = run("--smoke", "--resume", "--out", at)
    check("it goes on", "going on behind step" in said, said)
    check("killed and resumed, the losses are the same to the last bit",
          logged(at, field) == logged(whole, field))


def gone_on_with(at):
    """In the middle of an epoch, at its end, and in between: what is made of an epoch comes before the checkpoint."""
    words = ("--drawn", "60", "--batch", "10", "--steps", "60", "--save-every", "3", "--threads", "1")
    run(*words, "--out", at + "/whole")
    for rows in (2, 5):
        stopped_and_resumed(rows, program, *words, out=f"{at}/{rows}")
    part = started(6, program, *words, out=at + "/6", stdout=subprocess.DEVNULL)
    while part.poll() is None and not os.path.exists(at + "/6/checkpoint-0000000006.safetensors"):
        time.sleep(.002)
    part.kill()
    part.wait()
    run(*words, "--resume", "--out", at + "/6")
    for rows in (2, 5, 6):
        out, whole = f"{at}/{rows}", at + "/whole"
        check(f"from {rows}, every row is the same to the last bit", logged(out) == logged(whole))
        check(f"from {rows}, every picture too", all(os.path.exists(f"{out}/epoch-{k:04}.png") and
              bytes_of(f"{out}/epoch-{k:04}.png") == bytes_of(f"{whole}/epoch-{k:04}.png") for k in range(11)))


def download(at):
    os.mkdir(at + "/served")
    with open(at + "/served/train-images-idx3-ubyte.gz", "wb") as file:
        file.write(b"not what it should be")
    with served(at + "/served") as url:
        said = run("get-data", "--data", at + "/got", "--url", url, expect=1)
        check("a wrong sum is named", "train-images" in said and "SHA-256" in said, said)
        check("what is wrong does not stay", not os.path.exists(at + "/got/train-images-idx3-ubyte.gz"))
        said = run("get-data", "--data", at + "/none", "--url", url + "/nowhere", expect=1)
        check("what is not there is named", "404" in said, said)


with tempfile.TemporaryDirectory() as at:
    run("--smoke", "--out", at)
    check("a sheet of the start and of the end", all(is_png(f"{at}/epoch-000{k}.png") for k in (0, 1)))
    check("curves", is_png(at + "/losses.png"))
    check("a film", not os.path.exists(at + "/epoch.gif") or begins(at + "/epoch.gif", b"GIF89a"))
    run("--sample", "--out", at)
    check("new digits", is_png(at + "/sample.png"))
    check("sampling leaves the run alone", os.path.exists(at + "/log.jsonl"))
    killed_and_resumed(at + "/killed", at)
    gone_on_with(at + "/stopped")
    check("nothing to sample from", "checkpoint" in run("--sample", "--out", at + "/new", expect=1))
    check("no data", "not/there" in run("--data", "not/there", "--out", at, expect=1))
    check("help", "get-data" in run("--help"))
    run("fetch", expect=2)
    for wrong in (["--lr", "nan"], ["--batch", "0"], ["--epochs", "-1"], ["--nonsense"], ["--steps"]):
        run(*wrong, expect=2)
    download(at)

finish()
